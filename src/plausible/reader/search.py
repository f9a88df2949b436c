"""Search: what is written to the index of words, and what is asked of it.

SQLite's index knows no script without blanks, so it is given plausible's own tokens: of Chinese and its like each
character and each pair of neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from plausible import _native
from plausible.errors import CallError

_STROKES = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe"})
"""Letters whose stroke is no mark that the index takes off by itself."""

_PARTS = re.compile(r'(-?)(?:(title):)?(?:"([^"]*)"?|(\S+))')


def indexed(words: Sequence[str]) -> str:
    """What the index is given of a text's tokens."""
    return " ".join(words).translate(_STROKES)


def asked(query: str) -> str:
    """What is asked of the index (an FTS5 expression).

    All words must be there; "words in quotes" side by side; a word* by its start; -word not; title:word in the title.

    Raises
    ------
    CallError
        If no word is left that an item could hold.

    Examples
    --------
    >>> asked('solar "heat pump" -gas wind*')
    '("solar") AND ("heat pump") AND ("wind"*) NOT ("gas")'
    >>> asked("中文分词")
    '("文 中文 分 文分 词 分词")'
    """
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, column, phrase, word in _PARTS.findall(query):
        one = _one(phrase or word, by_start=word.endswith("*"))
        if one:
            (unwanted if minus else wanted).append(f"title : {one}" if column else one)
    if not wanted:
        raise CallError(f"the search {query!r} names no word to look for; give a word that items should hold")
    return " AND ".join(wanted) + "".join(f" NOT {one}" for one in unwanted)


def _one(text: str, *, by_start: bool) -> str:
    """Words side by side, and runs of characters without blanks."""
    parts: list[tuple[bool, list[str]]] = []
    for token in _native.tokens(text):
        unspaced = _unspaced(token[0])
        if not parts or parts[-1][0] != unspaced:
            parts.append((unspaced, []))
        parts[-1][1].append(token)
    out = []
    for unspaced, tokens in parts:
        # Of the tokens 中, 文, 中文, 分, 文分 the first may be followed by a pair with what stood before it.
        phrase = tokens[1:] if unspaced and len(tokens) > 1 else tokens
        out.append(f'"{indexed(phrase)}"' + "*" * (by_start and not unspaced))
    return f"({' AND '.join(out)})" if out else ""


@lru_cache(1 << 12)
def _unspaced(character: str) -> bool:
    """Whether pairs of the character with its neighbours are tokens."""
    return len(_native.tokens(2 * character)) == 3
