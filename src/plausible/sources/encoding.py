"""Bytes to text: UTF-8 unless the bytes say otherwise.

What is tried, in this order:

1. a byte-order mark: UTF-8, UTF-16, UTF-32;
2. UTF-8, strictly;
3. UTF-16 without a mark, in the byte order that gives more of the most common characters and no control
   characters;
4. GB18030, when 70 in 100 of the characters that aren't ASCII are punctuation or one of the 3,755 most common
   Chinese ones (the first level of GB 2312). Text in Latin-1 has its accented letters alone between ASCII
   letters, and Cyrillic pairs fall on rare characters, so neither comes near;
5. Windows-1252 (Latin-1 with quotation marks and the euro sign), or Latin-1 where a byte means nothing there.

Bytes of which over 10 in 100 (in valid UTF-8, 30) are control characters are no text: the first is named.
NUL characters in text that is otherwise fine stay; no word contains one, so they separate words.
"""

from __future__ import annotations

import codecs
import re

from plausible.errors import CallError, DataError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_CONTROL_TEXT = r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ud800-\uf8ff\ufffe\uffff]"
_ASCII = bytes(range(128))
_COMMON_CHINESE = rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]"
_COMMON_WIDE = "[ \r\n.,aeinorst。，、]"
"""Patterns that UTF-8 never needs are compiled when they are first used."""
_COMMON_SHARE = 0.7
_SAMPLE = 1 << 16
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030", "us-ascii": "cp1252", "iso-8859-1": "cp1252"}
"""The encodings that mail and pages mean by the names of smaller ones."""
_NO_TEXT = ("idna", "punycode", "raw-unicode-escape", "unicode-escape")
"""Codecs for names of hosts, whose time is quadratic in the length of a text, and for Python's own literals."""
_KNOWN_FILES = {
    b"PK\x03\x04": "a ZIP archive (as docx, xlsx and odt are): save it as text or CSV",
    b"%PDF": "a PDF: turn it into text first, for example with pdftotext",
    b"\xd0\xcf\x11\xe0": "an old Office file: save it as text or CSV",
    b"SQLite format 3": "an SQLite database: export its table as CSV",
}


def check(encoding: str | None) -> str | None:
    """The encoding, if it is one; CallError otherwise."""
    if encoding is None:
        return None
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, UnicodeError, ValueError):
        raise CallError(
            f"{encoding!r} is no text encoding; try utf-8, gb18030, iso-8859-2, windows-1251 or shift_jis"
        ) from None


def decode(raw: bytes, place: str, encoding: str | None = None) -> tuple[str, str]:
    """The text of `raw` and the name of the encoding it was read in.

    >>> decode("naïve".encode("latin-1"), "letter.txt")
    ('naïve', 'cp1252')
    >>> decode("文章分类".encode("gb18030"), "letter.txt")
    ('文章分类', 'gb18030')
    """
    name = encoding or recognise(raw, place)
    try:
        return raw.decode(name), name
    except UnicodeError as error:
        raise undecodable(place, name, getattr(error, "start", 0)) from None


def declared(raw: bytes, charset: str | None) -> str:
    """Text in a charset that a message declares, truly or not: never fails.

    >>> declared("分类".encode("gb18030"), "gb2312"), declared("café".encode(), "us-ascii")
    ('分类', 'café')
    """
    named = meant(charset)
    for name in (named, "utf-8") if raw.isascii() else ("utf-8", named):
        try:
            return raw.decode(name or "utf-8")
        except (LookupError, ValueError):
            continue
    return raw.decode(narrow(raw))


def meant(charset: str | None) -> str | None:
    """The encoding that a declared charset stands for."""
    name = (charset or "").strip().lower()
    return None if re.sub(r"[\s_]", "-", name) in _NO_TEXT else _SUPERSETS.get(name, name) or None


def undecodable(place: str, encoding: str, offset: int) -> DataError:
    return DataError(f"{place}: byte {offset} is not {encoding}; give the right --encoding, or mend the file")


def recognise(raw: bytes, place: str) -> str:
    """The encoding of `raw`: "utf-8" or another by the rules above; DataError where it is no text."""
    marked = by_mark(raw)
    if marked:
        return marked
    try:
        raw.decode()
        if b"\0" not in raw:
            return "utf-8"
        utf8 = True
    except UnicodeDecodeError:
        utf8 = False
    sample = raw[:_SAMPLE]
    crowded = len(_CONTROL.findall(sample)) > (0.3 if utf8 else 0.1) * len(sample)
    if not utf8 or crowded:
        wide = _utf16(sample)
        if wide:
            return wide
    if crowded:
        raise not_text(raw, place)
    return "utf-8" if utf8 else narrow(raw)


def by_mark(head: bytes) -> str | None:
    """The encoding that a byte-order mark at the start names."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def by_width(head: bytes) -> str | None:
    """UTF-16 or UTF-32, marked or not: the encodings whose line ends can't be found as single bytes."""
    marked = by_mark(head)
    if marked or b"\0" not in head[:_SAMPLE]:
        return marked
    try:
        found = recognise(head[:_SAMPLE], "")
    except DataError:
        return None
    return found if found.startswith("utf-16") else None


def narrow(raw: bytes) -> str:
    """GB18030, Windows-1252 or Latin-1, for bytes that are not UTF-8."""
    pairs = len(raw.translate(None, _ASCII)) / 2
    if len(re.findall(_COMMON_CHINESE, raw)) >= _COMMON_SHARE * pairs and _decodes(raw, "gb18030"):
        return "gb18030"
    return "cp1252" if _decodes(raw, "cp1252") else "latin-1"


def not_text(raw: bytes, place: str) -> DataError:
    known = next((what for magic, what in _KNOWN_FILES.items() if raw.startswith(magic)), None)
    if known:
        return DataError(f"{place} is {known}")
    control = _CONTROL.search(raw)
    offset = control.start() if control else 0
    return DataError(f"{place} is not text: byte {offset} is hexadecimal {raw[offset]:02x}; leave it out")


def _utf16(sample: bytes) -> str | None:
    """The byte order in which the sample is UTF-16 and holds most of the common characters, if either is."""
    whole = sample[: len(sample) // 2 * 2]
    common = {"utf-16-le": 0, "utf-16-be": 0}
    for name in common:
        try:
            text = codecs.getincrementaldecoder(name)().decode(whole)
        except UnicodeDecodeError:
            continue
        if not re.search(_CONTROL_TEXT, text):
            common[name] = len(re.findall(_COMMON_WIDE, text))
    best = max(common, key=lambda name: common[name])
    return best if common[best] else None


def _decodes(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
