"""A sample of a stream of documents that does not depend on their order."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from plausible.counts import Coded

Row = tuple[str | float | None, ...]

SIZE = 4000
LARGEST = 64 << 20
"""Characters that the sample holds at the most."""


class Sample:
    """The documents whose hash is least: the same ones, in the same order, however the stream is cut or shuffled.

    Examples
    --------
    >>> one, other = Sample(2), Sample(2)
    >>> one.add({"text": ["a", "b", "c"]}, ["x", "y", "x"])
    >>> other.add({"text": ["c", "a"]}, ["x", "x"])
    >>> other.add({"text": ["b"]}, ["y"])
    >>> one.documents() == other.documents()
    True
    """

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._kept: list[tuple[int, Row, str]] = []  # the largest hash first: hashes are negative
        self._names: tuple[str, ...] = ()
        self._characters = 0

    def add(self, cells: Mapping[str, Any], labels: Sequence[str]) -> None:
        """Add rows: cells by attribute, of which "text" is one."""
        if not len(labels):
            return
        kept, size = self._kept, self._size
        self._names = tuple(cells)
        for row, label in zip(_rows(cells), labels, strict=True):
            text = row[0] if len(row) == 1 else "\x1f".join(map(str, row))
            digest = blake2b(str(text).encode("utf-8", "surrogatepass"), digest_size=7, key=label.encode("utf-8")[:64])
            entry = (-int.from_bytes(digest.digest(), "big"), row, label)
            if len(kept) < size:
                heapq.heappush(kept, entry)
            elif entry > kept[0]:
                self._characters -= _length(heapq.heapreplace(kept, entry)[1])
            else:
                continue
            self._characters += _length(row)
            while self._characters > LARGEST and len(kept) > 1:
                self._characters -= _length(heapq.heappop(kept)[1])
                self._size = size = len(kept)

    def documents(self) -> tuple[dict[str, Any], list[str]]:
        """The cells and labels, in the order of their hashes."""
        chosen = sorted(self._kept, reverse=True)
        cells: dict[str, Any] = {name: [row[at] for _, row, _ in chosen] for at, name in enumerate(self._names)}
        return cells, [label for _, _, label in chosen]


def _rows(cells: Mapping[str, Any]) -> Iterator[Row]:
    columns = []
    for column in cells.values():
        if isinstance(column, Coded):
            states = [*column.states, None]
            column = [states[code] for code in column.codes.tolist()]
        elif hasattr(column, "tolist"):
            column = [None if number != number else number for number in column.tolist()]
        columns.append(column)
    return zip(*columns, strict=True)


def _length(row: Row) -> int:
    return sum(len(cell) for cell in row if isinstance(cell, str))
