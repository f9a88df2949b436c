"""A sample of a stream of rows that does not depend on their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from plausible import _native
from plausible.cells import taken, values_of
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
        """Of the rows kept, in order; all else is in the same order."""
        self._times = np.empty(0, np.int64)
        self._lengths = np.empty(0, np.int64)
        """Characters of each row."""
        self._columns: list[Any] = []
        """The cells of each attribute, the label and the weight."""
        self._names: tuple[str, ...] = ()
        self._weighted = False

    def add(
        self,
        cells: Mapping[str, Any],
        labels: Sequence[str] | Coded,
        times: Iterable[int] | None = None,
        weights: Sequence[float] | npt.NDArray[np.float64] | None = None,
    ) -> None:
        """Add rows: cells by attribute. Rows are different if their weights are."""
        import numpy as np

        if not len(labels) or not self._size:
            return
        self._names = tuple(cells)
        self._weighted = weights is not None
        given = [*cells.values(), labels, *([] if weights is None else [np.asarray(weights, float)])]
        bound = self._keys[-1] if len(self._keys) == self._size else ~np.uint64(0)
        often = None if times is None else np.fromiter(times, np.int64, len(labels))
        own, keys, first, others = _native.small_keys(
            list(map(_columns_of_keys, given)), len(labels), cell_text, self._keys, int(bound), often
        )
        self._times += own
        if not len(keys):
            return
        least = np.argsort(keys)[: self._size]
        columns = [_values(taken(column, first[least])) for column in given]
        keys = np.concatenate([self._keys, keys[least]])
        order = np.argsort(keys)[: self._size]
        lengths = np.concatenate([self._lengths, sum(_lengths(column) for column in columns)])[order]
        room = int(np.searchsorted(np.cumsum(lengths), LARGEST, side="right"))
        if room < len(order):  # what comes in may be longer than what it drives out, so there is less room from here on
            self._size, order, lengths = room, order[:room], lengths[:room]
        self._keys, self._lengths = keys[order], lengths
        self._times = np.concatenate([self._times, others[least]])[order]
        held = self._columns or [column[:0] for column in columns]
        self._columns = [np.concatenate([one, other])[order] for one, other in zip(held, columns, strict=True)]

    def kept(self) -> Kept:
        """The sample, in the order of the keys."""
        columns = list(map(values_of, self._columns)) or [[] for _ in range(len(self._names) + 1)]
        cells = dict(zip(self._names, columns, strict=False))
        weights = columns[-1] if self._weighted else None
        return Kept(cells, columns[len(self._names)], self._times.tolist(), weights)


def _columns_of_keys(column: Any) -> Any:
    """A column as the core takes it."""
    import numpy as np

    if isinstance(column, Coded):
        return column.codes, column.states
    if isinstance(column, list):
        return column
    return np.ascontiguousarray(column, np.float64) if column.dtype.kind == "f" else column.tolist()


def _values(column: Any) -> npt.NDArray[Any]:
    """A column as an array of floats or of objects."""
    import numpy as np

    if isinstance(column, Coded):
        codes, at = np.unique(column.codes, return_inverse=True)
        states = [None if code < 0 else column.states[code] for code in codes.tolist()]
        return np.array([*states, None], object)[at]
    if isinstance(column, np.ndarray) and column.dtype == np.float64:
        return column
    out: npt.NDArray[Any] = np.empty(len(column), object)
    out[:] = values_of(column)
    return out


def _lengths(column: npt.NDArray[Any]) -> npt.NDArray[np.int64] | int:
    """The characters of each value."""
    import numpy as np

    if column.dtype.kind == "f":
        return 0
    return np.fromiter((len(value) if isinstance(value, str) else 0 for value in column), np.int64, len(column))
