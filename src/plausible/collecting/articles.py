"""What articles are made of: messages of mail and news, files, and the small parts that feeds share."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from email.utils import parseaddr, parsedate_to_datetime
from urllib.parse import urlsplit

from plausible.reader.items import Article
from plausible.sources import encoding
from plausible.sources.mail import (
    header_fields,
    html_part,
    html_text,
    looks_like_html,
    looks_like_mail,
    message_text,
)

_LANGUAGE = re.compile(r"[a-z]{2,8}(?:-[a-z0-9]{1,8})*", re.I)
_LONGEST_TITLE = 300
_LONGEST_START = 80
_LONGEST_KEY = 500
_HEADERS = frozenset(("archived-at", "content-language", "date", "from", "message-id", "subject"))


def message_article(raw: bytes, now: datetime, written: datetime | None = None) -> Article:
    """A mail or an article of news; where it gives no date, it has that at which it was written, or now.

    >>> raw = b"From: Ann <a@example.org>\\nSubject: Tea\\nMessage-ID: <1@example.org>\\n\\nOolong\\n"
    >>> article = message_article(raw, datetime(2026, 1, 1, tzinfo=UTC))
    >>> article.key, article.author, article.title, article.text
    ('<1@example.org>', 'Ann', 'Tea', 'Oolong')
    """
    raw = raw.replace(b"\r\n", b"\n")
    fields = header_fields(raw, _HEADERS)
    text = message_text(raw, "none").strip()
    author = fields.get("from", "")
    name, address = parseaddr(author)
    return Article(
        key=identity(fields.get("message-id", ""), raw.decode("latin-1")),
        url=web_address(fields.get("archived-at", "").strip("<> ")),
        title=heading(fields.get("subject", ""), text, "(no subject)"),
        author=in_a_line(name or address or author, _LONGEST_TITLE),
        published=min(now, _date(fields.get("date", "")) or written or now),
        html=html_part(raw),
        text=text,
        language=language_tag(fields.get("content-language")),
    )


def file_article(raw: bytes, name: str, now: datetime, written: datetime) -> Article:
    """A file of a folder: mail, HTML or text; DataError where it is none of them."""
    if looks_like_mail(raw[: 1 << 16].decode("latin-1")):
        return message_article(raw, now, written)
    page, _ = encoding.decode(raw, name)
    if not looks_like_html(page):
        return Article(
            identity("", name), None, heading("", page, name), "", min(now, written), None, page.strip(), None
        )
    from selectolax.lexbor import LexborHTMLParser

    text, tree = html_text(page), LexborHTMLParser(page)
    named, root = tree.css_first("title"), tree.css_first("html")
    return Article(
        key=identity("", name),
        url=None,
        title=heading(named.text() if named else "", text, name),
        author="",
        published=min(now, written),
        html=page,
        text=text,
        language=language_tag(root.attributes.get("lang") if root else None),
    )


def web_address(address: object) -> str | None:
    """An address that a browser may open: http or https, and nothing else such as `javascript:`."""
    given = re.sub(r"[\x00-\x20\x7f]", "", str(address or ""))
    try:
        parts = urlsplit(given)
    except ValueError:
        return None
    return given if parts.scheme in ("http", "https") and parts.netloc else None


def language_tag(*candidates: object) -> str | None:
    """The first that is a language of BCP 47; of a list of languages, its first.

    >>> language_tag(None, "", "zh_Hans, fr", "en")
    'zh-Hans'
    """
    for candidate in candidates:
        tag = str(candidate or "").partition(",")[0].strip().replace("_", "-")
        if _LANGUAGE.fullmatch(tag):
            return tag
    return None


def heading(title: str, text: str, otherwise: str) -> str:
    """A title in one line; that of an article without one is the start of its text."""
    return in_a_line(title, _LONGEST_TITLE) or in_a_line(text, _LONGEST_START) or otherwise


def in_a_line(text: str, most: int) -> str:
    """The start of a text in one line of at most that many characters, cut between words where there are any.

    >>> in_a_line("one two\\nthree", 9)
    'one two'
    """
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[: most + 1].rpartition(" ")[0] or line[:most]


def identity(given: str, *parts: str) -> str:
    """What an article says it is, or a hash of `parts` where it says nothing; a hash, too, of what is very long.

    >>> identity("tag:example.org,2026:1"), len(identity("", "https://example.org", "A title"))
    ('tag:example.org,2026:1', 32)
    """
    given = given.strip()
    if 0 < len(given) <= _LONGEST_KEY:
        return given
    said = "\0".join([given] if given else parts)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _date(value: str) -> datetime | None:
    """The date of a message in UTC."""
    try:
        moment = parsedate_to_datetime(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
