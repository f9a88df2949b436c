"""A sample of a stream of rows that does not depend on their order."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from plausible.cells import taken
from plausible.counts import Coded
from plausible.sources import cell_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Keys = npt.NDArray[np.uint64]

SIZE = 4000
LARGEST = 64 << 20
"""Characters that the sample holds at the most."""


SHORT = 64
"""Characters up to which the hash of a cell is remembered, since it may be one of few."""


class Kept(NamedTuple):
    """Different rows, their classes, and how often each occurs."""

    cells: dict[str, Any]
    labels: list[str]
    times: list[int]


class Sample:
    """The different rows whose key is least, and how often each occurs.

    They are the same, in the same order, however the stream is cut or shuffled. A row that leaves the sample never
    comes back, since only smaller keys come in; so the numbers are exact.

    Examples
    --------
    >>> one, other = Sample(2), Sample(2)
    >>> one.add({"text": ["a", "b", "c", "a"]}, ["x", "y", "x", "x"])
    >>> other.add({"text": ["c", "a"]}, ["x", "x"])
    >>> other.add({"text": ["a", "b"]}, ["x", "y"])
    >>> one.kept() == other.kept()
    True
    """

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._rows: dict[int, tuple[tuple[Any, ...], str]] = {}
        self._times: dict[int, int] = {}
        self._names: tuple[str, ...] = ()
        self._bound = (1 << 64) - 1
        self._characters = 0

    def add(self, cells: Mapping[str, Any], labels: Sequence[str] | Coded, times: Iterable[int] | None = None) -> None:
        """Add rows: cells by attribute."""
        import numpy as np

        if not len(labels):
            return
        self._names = tuple(cells)
        keys = _keys([*cells.values(), labels])
        near = np.flatnonzero(keys <= self._bound)
        counts = np.ones(len(keys), np.int64) if times is None else np.fromiter(times, np.int64, len(keys))
        different, first, group = np.unique(keys[near], return_index=True, return_inverse=True)
        numbers = np.zeros(len(different), np.int64)
        np.add.at(numbers, group, counts[near])
        chosen: Any = near[first]
        columns = [_values(taken(column, chosen)) for column in [*cells.values(), labels]]
        for key, number, *row, label in zip(different.tolist(), numbers.tolist(), *columns, strict=True):
            if key not in self._rows:
                self._rows[key] = (tuple(row), label)
                self._characters += _length(row)
            self._times[key] = self._times.get(key, 0) + number
        self._shrink()

    def _shrink(self) -> None:
        """Let the largest keys go."""
        surplus = len(self._rows) - self._size
        if surplus <= 0 and self._characters <= LARGEST:
            return
        for key in sorted(self._rows, reverse=True):
            if len(self._rows) <= self._size and self._characters <= LARGEST:
                break
            self._characters -= _length(self._rows.pop(key)[0])
            del self._times[key]
            self._bound = key - 1
        self._size = min(self._size, len(self._rows))

    def kept(self) -> Kept:
        """The sample, in the order of the keys."""
        order = sorted(self._rows)
        cells = {name: [self._rows[key][0][at] for key in order] for at, name in enumerate(self._names)}
        return Kept(cells, [self._rows[key][1] for key in order], [self._times[key] for key in order])


def _keys(columns: Sequence[Any]) -> Keys:
    """A key for each row that depends on nothing but its values."""
    import numpy as np

    out: Any = np.uint64(0)
    with np.errstate(over="ignore"):
        for column in columns:
            if isinstance(column, Coded):
                states = np.array([*map(_hash, column.states), _hash(None)], np.uint64)
                mine = states[column.codes]
            elif isinstance(column, np.ndarray) and column.dtype.kind != "f":
                mine = np.fromiter((_hash_of_cell(cell_text(value)) for value in column), np.uint64, len(column))
            elif isinstance(column, np.ndarray):
                numbers = column.astype(np.float64) + 0.0  # one zero
                mine = np.where(np.isnan(column), 0, numbers.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
            else:
                mine = np.fromiter(map(_hash_of_cell, column), np.uint64, len(column))
            out = (out ^ mine) * np.uint64(0xD6E8FEB86659FD93)
            out ^= out >> np.uint64(32)
    keys: Keys = out
    return keys


def _hash_of_cell(value: Any) -> int:
    return _hash(value) if isinstance(value, str) and len(value) > SHORT else _hash_of_short(value)


def _hash(value: Any) -> int:
    if value is None or value != value:
        return 0
    if not isinstance(value, str):
        (bits,) = struct.unpack("<Q", struct.pack("<d", value + 0.0))
        return int(bits * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
    return int.from_bytes(blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


_hash_of_short = lru_cache(1 << 12)(_hash)


def _values(column: Any) -> list[Any]:
    if isinstance(column, Coded):
        states = [*column.states, None]
        return [states[code] for code in column.codes.tolist()]
    if hasattr(column, "tolist"):
        return [None if value != value else value for value in column.tolist()]
    return list(column)


def _length(row: Sequence[Any]) -> int:
    return sum(len(cell) for cell in row if isinstance(cell, str))
