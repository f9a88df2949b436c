"""RSS and Atom feeds: fetched only if they changed, and never more often than they wish.

feedparser reads them. Before it does, expat goes over the feed once: entities that could grow or lead elsewhere,
elements nested without end, and feeds that are long and malformed as well are refused.
"""

from __future__ import annotations

import calendar
import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.parsers import expat

from plausible.collecting.articles import heading, identity, in_a_line, language_tag, web_address
from plausible.collecting.fetch import Page, fetch, retry_after
from plausible.collecting.outcome import Limits, Trouble, Visit, later, named
from plausible.errors import DataError
from plausible.reader.items import Article, Source
from plausible.sources import encoding, html_text

DAY = 86_400.0
_DEEPEST = 200
_MOST_ELEMENTS = 100_000
_LONGEST_MALFORMED = 1 << 20
_LONGEST_ENTITY = 64
_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*?\?>")
_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_ROOT = re.compile(r"<(rss|feed|rdf:RDF|channel|html|body)[\s>]", re.I)
_REFERENCE = re.compile(r"&#(?:x([0-9a-f]{1,8})|([0-9]{1,8}))[0-9a-f]*;?", re.I)
_HOURS = re.compile(r"<skipHours>(.{0,2000}?)</skipHours>", re.S)
_HOUR = re.compile(r"<hour>\s*(\d{1,2})\s*</hour>")
_MAX_AGE = re.compile(r"max-age\s*=\s*\"?(\d{1,9})")
_PERIODS = {"hourly": 3_600.0, "daily": DAY, "weekly": 7 * DAY, "monthly": 30 * DAY, "yearly": 365 * DAY}


def visit(source: Source, now: datetime, limits: Limits) -> Visit:
    """The articles of a feed, none where it has not changed; Trouble where it can't be read."""
    conditions = {"If-None-Match": source.etag, "If-Modified-Since": source.modified}
    page = fetch(source.address, headers=conditions, allow_private=source.allow_private, limits=limits)
    if page.status == 304:
        return Visit(later(source, now, _polite(source, page)))
    if page.status != 200:
        raise _refused(page, now)
    text, feed = parsed(page)
    if not feed.get("version") and not feed.entries:
        raise Trouble(f"{page.address} is no RSS or Atom feed ({_looks(text)}); check the address in a browser")
    changed = replace(
        named(source, title(feed)),
        etag=_header(page, "ETag"),
        modified=_header(page, "Last-Modified"),
    )
    wished = _polite(source, page, feed)
    return Visit(_awake(later(changed, now, wished), text), tuple(_articles(feed, page, now)))


def parsed(page: Page) -> tuple[str, Any]:
    """The text of a feed, and what feedparser finds in it; Trouble where it is no safe XML or no text."""
    import feedparser

    text = _REFERENCE.sub(_character, _DECLARATION.sub("", _text(page), count=1))
    raw = text.encode("utf-8", "replace")
    _check(raw, page.address)
    headers = {"content-type": "application/xml; charset=utf-8", "content-location": page.address}
    try:
        return text, feedparser.parse(io.BytesIO(raw), response_headers=headers, sanitize_html=False)
    except Exception as error:  # on some malformed feeds it raises whatever its parts do
        raise Trouble(
            f"{page.address} is malformed and can't be read ({type(error).__name__}); its makers must mend it"
        ) from error


def title(feed: Any) -> str:
    """The title of a feed."""
    return _readable(feed.feed.get("title_detail")) if "title_detail" in feed.feed else ""


def is_feed(page: Page) -> bool:
    """Whether a page is a feed, by what stands at its start."""
    root = _ROOT.search(_text(page)[:4096])
    return root is not None and root[1].lower() not in ("html", "body")


def linked(page: Page) -> list[str]:
    """The addresses of the feeds that a page names in its head, in its order."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(_text(page))
    base = tree.css_first("base[href]")
    found = []
    with contextlib.suppress(ValueError):
        start = urljoin(page.address, (base.attributes.get("href") or "") if base else "")
        for link in tree.css("link[href]"):
            kind = (link.attributes.get("type") or "").strip().lower()
            if "alternate" in (link.attributes.get("rel") or "").lower().split() and kind in _FEED_TYPES:
                found.append(urljoin(start, (link.attributes.get("href") or "").strip()))
    return list(dict.fromkeys(found))


def _text(page: Page) -> str:
    """The text of an answer: by its byte-order mark, then UTF-8 if it is, then by what it declares."""
    if encoding.by_width(page.body[:4096]) is None:
        inside = _ENCODING.match(page.body)
        declared = page.headers.get_content_charset() or (inside[1].decode() if inside else None)
        if declared or page.body.isascii():
            return encoding.declared(page.body, declared).removeprefix("\ufeff")
    try:
        return encoding.decode(page.body, page.address)[0]
    except DataError as error:
        raise Trouble(f"{error}; is it the address of a feed?") from None


def _character(reference: re.Match[str]) -> str:
    """A numeric reference as it stands, or U+FFFD for one that is no character."""
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    return reference[0] if 0 < code < 0xD800 or 0xE000 <= code <= 0x10FFFF else "\ufffd"


def _check(raw: bytes, address: str) -> None:
    """Trouble for XML that is made to do harm."""
    parser = expat.ParserCreate()
    depth = count = 0

    def entity(name: str, parameter: bool, value: str | None, *_: object) -> None:
        if parameter or value is None or "&" in value or len(value) > _LONGEST_ENTITY:
            raise Trouble(f"{address} declares the entity {name!r}, which could grow or lead elsewhere; it is refused")

    def opened(*_: object) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > _DEEPEST:
            raise Trouble(f"{address} nests its elements more than {_DEEPEST} deep; it is refused")
        if count > _MOST_ELEMENTS:
            raise Trouble(f"{address} has more than {_MOST_ELEMENTS:,} elements; look for a feed with fewer articles")

    def closed(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.EntityDeclHandler = entity
    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        if len(raw) > _LONGEST_MALFORMED:
            raise Trouble(
                f"{address} is malformed in line {error.lineno} ({expat.ErrorString(error.code)}), and longer than "
                f"{_LONGEST_MALFORMED >> 20} MB; its makers must mend it"
            ) from None


def _articles(feed: Any, page: Page, now: datetime) -> Iterator[Article]:
    for entry in feed.entries:
        html, text = _content(entry)
        url = web_address(entry.get("link"))
        name = _readable(entry.get("title_detail"))
        details = [*entry.get("content", ()), entry.get("summary_detail"), entry.get("title_detail")]
        tags = [detail.get("language") for detail in details if detail]
        yield Article(
            key=identity(str(entry.get("id") or ""), url or "", name, "" if url or name else text),
            url=url,
            title=heading(name, text, url or "(no title)"),
            author=in_a_line(str(entry.get("author") or feed.feed.get("author") or ""), 300),
            published=_published(entry, now),
            html=html,
            text=text,
            language=language_tag(*tags, feed.feed.get("language"), page.headers["Content-Language"]),
        )


def _content(entry: Any) -> tuple[str | None, str]:
    """The longest text of an entry: its HTML, if it is that, and its readable text."""
    details = [*entry.get("content", ()), entry.get("summary_detail") or {}]
    best = max(details, key=lambda detail: len(detail.get("value") or ""))
    value = best.get("value") or ""
    if best.get("type") in ("text/html", "application/xhtml+xml"):
        return value or None, html_text(value)
    return None, value.strip()


def _readable(detail: Any) -> str:
    if not detail:
        return ""
    value = str(detail.get("value") or "")
    plain = html_text(value) if detail.get("type") in ("text/html", "application/xhtml+xml") else value
    return " ".join(plain.split())


def _published(entry: Any, now: datetime) -> datetime:
    """When an entry came out; now, where it says nothing, nothing sensible, or a time to come."""
    for name in ("published_parsed", "updated_parsed", "created_parsed"):
        if moment := entry.get(name) if name in entry else None:
            try:
                return min(now, datetime.fromtimestamp(calendar.timegm(moment), UTC))
            except (ValueError, OverflowError, OSError):
                continue
    return now


def _polite(source: Source, page: Page, feed: Any = None) -> float:
    """Seconds until the next visit: as long as the user, the server and the feed wish, the latter two up to a day."""
    wishes = [0.0]
    if age := _MAX_AGE.search((page.headers["Cache-Control"] or "").lower()):
        wishes.append(float(age[1]))
    if feed is not None:
        minutes = str(feed.feed.get("ttl") or "").strip()
        if minutes.isascii() and minutes.isdigit():
            wishes.append(60.0 * int(minutes[:6]))
        period = _PERIODS.get(str(feed.feed.get("sy_updateperiod") or "").strip().lower(), 0.0)
        often = str(feed.feed.get("sy_updatefrequency") or "1").strip()
        wishes.append(period / max(1, int(often[:6])) if often.isascii() and often.isdigit() else period)
    return max(float(source.interval), min(DAY, max(wishes)))


def _awake(source: Source, text: str) -> Source:
    """The next visit moved out of the hours (of UTC) that the feed asks to skip."""
    found = _HOURS.search(text)
    skipped = {int(hour) % 24 for hour in _HOUR.findall(found[1])} if found else set()
    moment = source.next_visit
    if moment is None or not skipped or len(skipped) == 24:
        return source
    while moment.hour in skipped:
        moment = moment.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return replace(source, next_visit=moment)


def _refused(page: Page, now: datetime) -> Trouble:
    status, wait = page.status, retry_after(page.headers, now)
    host = urlsplit(page.address).hostname
    if status == 410:
        return Trouble(
            f"{host} has taken this feed down for good (410); remove it, or look for its new address", 7 * DAY
        )
    if status == 404:
        return Trouble(f"{host} has no such page (404); look for the feed's new address", wait or DAY)
    if status in (401, 403):
        return Trouble(f"{host} does not let us read this ({status}); check the address in a browser", wait or DAY)
    if status == 429:
        return Trouble(f"{host} was visited too often (429); it is left alone for a while", wait or DAY / 4)
    if status >= 500:
        return Trouble(f"{host} has trouble of its own ({status}); it is tried again later", wait)
    return Trouble(f"{host} answers with the status {status}, not with a feed; check the address", wait)


def _header(page: Page, name: str) -> str | None:
    """A header to send back the next time, if it can be."""
    value = (page.headers[name] or "").strip()
    return value if value and value.isprintable() and len(value) <= 1000 else None


def _looks(text: str) -> str:
    start = text.lstrip()[:200].lower()
    if not start:
        return "it is empty"
    return (
        "it looks like a web page" if start.startswith(("<!doctype html", "<html")) else "it looks like something else"
    )
