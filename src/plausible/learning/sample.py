"""A sample of a stream of rows that does not depend on their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from plausible import _native
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


class Kept(NamedTuple):
    """Different rows, their classes, how often each occurs, and the weight of each if they have weights."""

    cells: dict[str, Any]
    labels: list[str]
    times: list[int]
    weights: list[float] | None


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
        import numpy as np

        self._size = size
        self._keys: Keys = np.empty(0, np.uint64)
        """Of the rows kept, in order; `_times` and `_rows` are in the same order."""
        self._times = np.empty(0, np.int64)
        self._rows: list[tuple[tuple[Any, ...], str, float]] = []
        self._names: tuple[str, ...] = ()
        self._weighted = False
        self._characters = 0

    def add(
        self,
        cells: Mapping[str, Any],
        labels: Sequence[str] | Coded,
        times: Iterable[int] | None = None,
        weights: Sequence[float] | npt.NDArray[np.float64] | None = None,
    ) -> None:
        """Add rows: cells by attribute. Rows are different if their weights are."""
        import numpy as np

        if not len(labels):
            return
        self._names = tuple(cells)
        self._weighted = weights is not None
        given = np.ones(len(labels)) if weights is None else np.asarray(weights, float)
        keys = _keys([*cells.values(), labels, *([given] if self._weighted else [])], len(labels))
        bound = self._keys[-1:] if len(self._keys) == self._size else np.full(1, ~np.uint64(0))
        near = np.flatnonzero(keys <= bound) if len(bound) else np.empty(0, np.intp)
        keys = keys[near]
        numbers = np.ones(len(keys)) if times is None else np.fromiter(times, float, len(labels))[near]
        at = np.searchsorted(self._keys, keys)
        known = np.append(self._keys, np.uint64(0))[at] == keys
        known &= at < len(self._keys)
        self._times += np.bincount(at[known], numbers[known], len(self._keys)).astype(np.int64)
        if known.all():
            return
        different, first, group = np.unique(keys[~known], return_index=True, return_inverse=True)
        chosen = near[~known][first[: self._size]]
        columns = [values_of(taken(column, chosen)) for column in [*cells.values(), labels, given]]
        rows = [*self._rows, *((tuple(row), label, weight) for *row, label, weight in zip(*columns, strict=True))]
        self._characters += sum(_length(row) for row, _, _ in rows[len(self._rows) :])
        times_of_new = np.bincount(group, numbers[~known]).astype(np.int64)[: self._size]
        every = np.concatenate([self._keys, different[: self._size]])
        order = np.argsort(every)
        self._keys, self._times = every[order], np.concatenate([self._times, times_of_new])[order]
        self._rows = [rows[i] for i in order.tolist()]
        self._shrink()

    def _shrink(self) -> None:
        """Let the largest keys go, and once there is no more room all that are larger than those kept."""
        if len(self._rows) < self._size and self._characters <= LARGEST:
            return
        while len(self._rows) > self._size or self._characters > LARGEST:
            self._characters -= _length(self._rows.pop()[0])
        self._size = len(self._rows)
        self._keys, self._times = self._keys[: self._size], self._times[: self._size]

    def kept(self) -> Kept:
        """The sample, in the order of the keys."""
        cells = {name: [row[at] for row, _, _ in self._rows] for at, name in enumerate(self._names)}
        weights = [weight for _, _, weight in self._rows] if self._weighted else None
        return Kept(cells, [label for _, label, _ in self._rows], self._times.tolist(), weights)


def _keys(columns: Sequence[Any], rows: int) -> Keys:
    """A key for each row that depends on nothing but its values."""
    import numpy as np

    given = [
        (column.codes, column.states)
        if isinstance(column, Coded)
        else column
        if isinstance(column, list)
        else np.ascontiguousarray(column, np.float64)
        if column.dtype.kind == "f"
        else column.tolist()
        for column in columns
    ]
    return np.asarray(_native.row_keys(given, rows, cell_text))


def values_of(column: Any) -> list[Any]:
    """The values of a column, None where one is missing."""
    if isinstance(column, Coded):
        states = [*column.states, None]
        return [states[code] for code in column.codes.tolist()]
    if hasattr(column, "tolist"):
        return [None if isinstance(value, float) and value != value else value for value in column.tolist()]
    return list(column)


def _length(row: Sequence[Any]) -> int:
    return sum(len(cell) for cell in row if isinstance(cell, str))
