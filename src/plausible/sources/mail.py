"""Mail, articles and HTML to text.

What of the headers a text keeps is said by `headers`:

- "subject", the default: the text of the subject in a line of its own, without the name of the header;
- NAME,NAME: the same for every header named, in the order they have in the message;
- "all": the header block as it stands, and a blank line;
- "none": the body only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plausible.errors import CallError
from plausible.sources import encoding as encodings

if TYPE_CHECKING:
    from collections.abc import Collection
    from email.message import Message

DEFAULT_HEADERS = "subject"

_BLOCK = re.compile(r"(?:>?From [^\n]*\n)?((?:[ \t][^\n]*\n)*(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)+)\r?\n")
_TELLING = re.compile(r"^(?:from|subject|received|message-id|newsgroups|date):", re.I | re.M)
_STRUCTURED = re.compile(r"^content-(?:type|transfer-encoding):", re.I | re.M)
_FIELD = re.compile(r"([!-9;-~]+):[ \t]*([^\n]*\n(?:[ \t][^\n]*\n)*)")
_FOLD = re.compile(r"[\r\n]+[ \t]*")
_HTML = re.compile(r"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html)\b", re.I | re.S)
_UNSEEN = "script,style,head,noscript,template"
_BLOCKS = (
    r"(?i)(?=</?(?:address|article|aside|blockquote|body|br|center|dd|div|dl|dt|fieldset|figure|footer|form|h[1-6]|header"
    r"|hr|li|main|nav|ol|option|p|pre|section|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul)\b)"
)
_UNREADABLE = (RecursionError, ValueError, LookupError, AttributeError, TypeError, IndexError)
"""What the standard library raises on messages that are made wrongly."""


def looks_like_mail(text: str) -> bool:
    """Whether `text` begins with header lines and a blank line, one of them telling of mail or news."""
    block = _BLOCK.match(text)
    return block is not None and _TELLING.search(block[1]) is not None


def looks_like_html(text: str) -> bool:
    """Whether `text` begins as a page does."""
    return _HTML.match(text) is not None


def check_headers(headers: str) -> str:
    """`headers` in lower case; CallError unless it is all, none or names of headers."""
    names = [name.strip() for name in headers.lower().split(",")]
    if not all(re.fullmatch(r"[!-9;-~]+", name) for name in names):
        raise CallError(f"headers {headers!r}: write all, none, or names such as From,Subject")
    if len(names) > 1 and {"all", "none"} & set(names):
        raise CallError(f"headers {headers!r}: all and none stand alone")
    return ",".join(names)


def message_text(raw: str | bytes, headers: str = DEFAULT_HEADERS) -> str:
    """The readable text of a mail or article; a text that is neither comes back as it is.

    >>> article = "From: ann@example.org\\nSubject: =?utf-8?q?Caf=C3=A9?=\\n\\nSee you there.\\n"
    >>> message_text(article)
    'Café\\nSee you there.\\n'
    >>> message_text(article, "none")
    'See you there.\\n'
    >>> message_text(article, "all") == article
    True
    """
    text = raw.decode("latin-1") if isinstance(raw, bytes) else raw
    block = _BLOCK.match(text)
    if block is None or not _TELLING.search(block[1]):
        return raw if isinstance(raw, str) else encodings.decode(raw, "a text")[0]
    if _STRUCTURED.search(block[1]):
        body = _body(raw if isinstance(raw, bytes) else _as_bytes(raw), text[block.end() :])
    elif isinstance(raw, bytes):
        body = encodings.declared(raw[block.end() :], None)
    else:
        body = text[block.end() :]
    if headers == "all":
        head = text[: block.end()]
        return (head if isinstance(raw, str) else _header_text(head)) + body
    if headers == "none":
        return body
    wanted = headers.lower().split(",")
    kept = [_value(value) for name, value in _FIELD.findall(block[1]) if name.lower() in wanted]
    return "\n".join([*kept, body])


def document_text(raw: bytes, place: str, headers: str, encoding: str | None) -> tuple[str, str]:
    """The text of a file, by what it looks like (mail, HTML, plain), and the encoding it was read in."""
    if encoding is None:
        start = raw[: 1 << 16].decode("latin-1")
        block = _BLOCK.match(start)
        if block and _TELLING.search(block[1]) and _STRUCTURED.search(block[1]):
            return message_text(raw, headers), "utf-8"
    text, found = encodings.decode(raw, place, encoding)
    if looks_like_html(text):
        return html_text(text), found
    return message_text(text, headers), found


def html_text(html: str) -> str:
    """What a reader of the page sees, each block in lines of its own.

    >>> html_text("<style>p {}</style><p>Fish &amp; ch<b>i</b>ps<br>1&nbsp;&pound;</p>")
    'Fish & chips\\n1\\xa0£'
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(re.sub(_BLOCKS, "\n", html))
    if tree.root is None:
        return ""
    tree.strip_tags(_UNSEEN.split(","))
    lines = map(str.strip, tree.root.text().split("\n"))
    return "\n".join(filter(None, lines))


def header_fields(raw: bytes, names: Collection[str]) -> dict[str, str]:
    """The headers of a mail or article that are named (in lower case), unfolded and decoded; the first of each.

    >>> header_fields(b"Subject: =?utf-8?q?Caf=C3=A9?=\\nX-Odd: 1\\n\\nbody", ["subject", "date"])
    {'subject': 'Café'}
    """
    block = _BLOCK.match(raw.decode("latin-1"))
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(block[1]) if block else ():
        if name.lower() in names:
            fields.setdefault(name.lower(), _value(value))
    return fields


def html_part(raw: bytes) -> str | None:
    """The HTML of a mail, as it was sent: the first part of that type that is no attachment."""
    import email

    try:
        message = email.message_from_bytes(raw)
        for part in message.walk():
            if part.get_content_type() == "text/html" and part.get_content_disposition() != "attachment":
                content = part.get_payload(decode=True)
                return encodings.declared(content, part.get_content_charset()) if isinstance(content, bytes) else None
    except _UNREADABLE:
        pass
    return None


def _body(raw: bytes, plain: str) -> str:
    import email

    try:
        return "\n".join(_parts(email.message_from_bytes(raw)))
    except _UNREADABLE:
        return encodings.declared(plain.encode("utf-8", "surrogatepass"), None)


def _parts(message: Message) -> list[str]:
    """The readable texts in a message, attachments left out."""
    if message.get_content_disposition() == "attachment":
        return []
    kind = message.get_content_type()
    payload = message.get_payload()
    if isinstance(payload, list):
        inner = [part for part in payload if not isinstance(part, str)]
        texts = [(part.get_content_type(), _parts(part)) for part in inner]
        if kind == "multipart/alternative":
            filled = [(of, text) for of, text in texts if any(piece.strip() for piece in text)]
            plain = [text for of, text in filled if of == "text/plain"]
            return (plain or [text for _, text in filled[-1:]] or [[]])[0]
        return [piece for _, text in texts for piece in text]
    if message.get_content_maintype() not in ("text", "multipart"):
        return []
    content = message.get_payload(decode=True)
    text = encodings.declared(content if isinstance(content, bytes) else b"", message.get_content_charset())
    return [html_text(text) if kind == "text/html" or looks_like_html(text) else text]


def _as_bytes(text: str) -> bytes:
    """The bytes of a message kept as text: in Latin-1, the custom of mail collections, or else in UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _header_text(block: str) -> str:
    return block if block.isascii() else encodings.declared(_as_bytes(block), None)


def _value(value: str) -> str:
    """A header's value unfolded, its encoded words decoded."""
    value = _FOLD.sub(" ", value.strip())
    if "=?" not in value:
        return _header_text(value)
    from email.errors import HeaderParseError
    from email.header import decode_header

    try:
        pieces = decode_header(_as_bytes(value).decode("latin-1"))
    except (HeaderParseError, ValueError, LookupError):
        return _header_text(value)
    return "".join(piece if isinstance(piece, str) else _word(piece, charset) for piece, charset in pieces)


def _word(raw: bytes, charset: str | None) -> str:
    try:
        return raw.decode(encodings.meant(charset) or "utf-8")
    except (LookupError, ValueError):
        return encodings.declared(raw, None)
