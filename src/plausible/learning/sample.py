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

    def first(self, rows: int) -> Kept:
        cells = {name: column[:rows] for name, column in self.cells.items()}
        return Kept(cells, self.labels[:rows], self.times[:rows], self.weights and self.weights[:rows])


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
        self._rows: dict[int, tuple[tuple[Any, ...], str, float]] = {}
        self._times: dict[int, int] = {}
        self._names: tuple[str, ...] = ()
        self._weighted = False
        self._bound = (1 << 64) - 1
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
        near = np.flatnonzero(keys <= self._bound)
        counts = None if times is None else np.fromiter(times, np.int64, len(keys))[near]
        different, first, group = np.unique(keys[near], return_index=True, return_inverse=True)
        numbers = np.bincount(group, counts).astype(np.int64)
        different, chosen = different[: self._size].tolist(), near[first[: self._size]]
        new = [i for i, key in enumerate(different) if key not in self._rows]
        columns = [values_of(taken(column, chosen[new])) for column in [*cells.values(), labels, given]]
        for i, *row, label, weight in zip(new, *columns, strict=True):
            self._rows[different[i]] = (tuple(row), label, weight)
            self._characters += _length(row)
            self._times[different[i]] = 0
        for key, number in zip(different, numbers[: len(chosen)].tolist(), strict=True):
            self._times[key] += number
        self._shrink()

    def _shrink(self) -> None:
        """Let the largest keys go, and once there is no more room all that are larger than those kept."""
        if len(self._rows) < self._size and self._characters <= LARGEST:
            return
        order = sorted(self._rows)
        while len(order) > self._size or self._characters > LARGEST:
            key = order.pop()
            self._characters -= _length(self._rows.pop(key)[0])
            del self._times[key]
        self._size = len(order)
        self._bound = order[-1] if order else -1

    def kept(self) -> Kept:
        """The sample, in the order of the keys."""
        order = sorted(self._rows)
        cells = {name: [self._rows[key][0][at] for key in order] for at, name in enumerate(self._names)}
        weights = [self._rows[key][2] for key in order] if self._weighted else None
        return Kept(cells, [self._rows[key][1] for key in order], [self._times[key] for key in order], weights)


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
