"""How names, strings and notes are spelled where a format allows only plain words; all can be turned back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
ODD = re.compile(r"[^A-Za-z0-9_]|_(?=x)")
ESCAPED = re.compile(r"_x([0-9A-F]{1,6})_")
START = "x_x_"
ATTRIBUTE = re.compile(rf"([A-Za-z]\w*) = ({STRING.pattern}|[\w.+-]+|\([\w.+\- ]*\))", re.DOTALL | re.ASCII)
NUMBERED = re.compile(r"note_\d+")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "q": '"'}


def quoted(text: str) -> str:
    """A string with backslashes before what would end or change it."""
    swaps = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(swaps.get(c, c) for c in text) + '"'


def unquoted(token: str) -> str:
    """What a token says: a string without its quotes and backslashes, a word as it is."""
    if not token.startswith('"'):
        return token
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), token[1:-1], flags=re.DOTALL)


def identifier(name: str) -> str:
    """A name as a plain identifier; `named` turns it back.

    >>> identifier("Asy/Patch"), identifier("Lung"), identifier("7")
    ('Asy_x2F_Patch', 'Lung', 'x_x_7')
    >>> named("Asy_x2F_Patch")
    'Asy/Patch'
    """
    if PLAIN.fullmatch(name) and not ESCAPED.search(name) and not name.startswith(START):
        return name
    spelled = ODD.sub(lambda found: f"_x{ord(found[0]):X}_", name)
    return spelled if PLAIN.match(spelled) else f"{START}{spelled}"


def named(word: str) -> str:
    """The name that `identifier` spelled."""
    return ESCAPED.sub(lambda found: _character(int(found[1], 16), found[0]), word.removeprefix(START))


def _character(code: int, spelled: str) -> str:
    return chr(code) if code < 0xD800 or 0xE000 <= code < 0x110000 else spelled


def noted(notes: Iterable[str], *own: str) -> Iterator[tuple[str, str]]:
    """Notes as attributes, key and value; `note` turns them back.

    A note that is no `key = value`, or whose key was there before or is one of the format's own, becomes a
    numbered string.
    """
    taken = set(own)
    for place, said in enumerate(notes, 1):
        found = ATTRIBUTE.fullmatch(said)
        if found is None or found[1] in taken or NUMBERED.fullmatch(found[1]):
            yield f"note_{place}", quoted(said)
        else:
            taken.add(found[1])
            yield found[1], found[2]


def note(key: str, value: str) -> str:
    """The note that an attribute stands for."""
    return unquoted(value) if NUMBERED.fullmatch(key) else f"{key} = {value}"
