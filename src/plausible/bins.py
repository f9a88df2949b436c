"""Continuous columns cut into intervals: of equal frequency, or where the class changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.categories import Categories
from plausible.counts import Coded
from plausible.schema import Variable

Floats = npt.NDArray[np.float64]
LARGEST = float(np.finfo(float).max)

MOST_VALUES = 1 << 18
"""Different values that a histogram holds; where there are more, all lose their last digits."""


class Histogram:
    """How often each class has each value of a continuous variable that is still to be cut: a family of counts.

    Once all is counted the cuts are chosen, and the counts of the values become those of the intervals; so one pass is
    enough, histograms can be added, and no row that was not counted has a say in the cuts.

    Examples
    --------
    >>> ages = Histogram()
    >>> ages.count(np.array([20.0, 22.0, 71.0, 75.0, np.nan]), np.array([0, 0, 1, 1, 0], np.int32))
    >>> ages.cuts(2, classes=2)
    [46.5]
    >>> ages.categories(interval_variable("age", [46.5]), 2).cells().tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """

    def __init__(self) -> None:
        self._values = _native.Histogram(MOST_VALUES)

    def count(
        self, cells: npt.ArrayLike, labels: npt.ArrayLike, threads: int = 1, weights: Floats | None = None
    ) -> None:
        self._values.count(np.ascontiguousarray(cells, float), np.asarray(labels), weights)

    def merge(self, other: Histogram, labels: Sequence[int]) -> None:
        self._values.merge(other._values, list(labels))

    @property
    def filled(self) -> bool:
        """Whether it has counted any value."""
        return bool(len(self.cells(1)[0]))

    def cells(self, classes: int) -> tuple[Floats, Floats, Floats]:
        """The values in order: the least and the greatest number that each stands for, and its counts by class."""
        low, high, counts = self._values.cells(classes)
        return low, high, counts

    def cuts(self, intervals: int | Literal["mdl"], classes: int) -> list[float]:
        """The cuts into so many intervals, or those of the minimum description length; none where there is no value."""
        low, high, counts = self.cells(classes)
        if not len(low):
            return []
        ends = mdl_ends(counts) if intervals == "mdl" else equal_ends(counts.sum(axis=1), intervals)
        return [_between(high[end], low[end + 1]) for end in ends]

    def categories(self, variable: Variable, classes: int) -> Categories:
        """The counts of the intervals of a variable that was cut."""
        low, _, counts = self.cells(classes)
        out = Categories(variable.states)
        at = np.searchsorted(variable.cuts, low).astype(np.int32)
        for label in range(classes):
            there = counts[:, label] > 0
            out.count(
                Coded(at[there], variable.states), np.full(there.sum(), label, np.int32), 1, counts[there, label].copy()
            )
        return out


def interval_variable(name: str, cuts: Sequence[float]) -> Variable:
    """A variable whose ordered states are the intervals between cuts.

    >>> interval_variable("age", [30.0, 45.5]).states
    ('up to 30', 'above 30 up to 45.5', 'above 45.5')
    """
    if not cuts:
        return Variable(name, "categorical", ("any number",), True, (LARGEST,))
    shown = [f"{cut:.17g}" if float(f"{cut:.6g}") != cut else f"{cut:.6g}" for cut in cuts]
    between = [f"above {low} up to {high}" for low, high in pairwise(shown)]
    return Variable(
        name, "categorical", (f"up to {shown[0]}", *between, f"above {shown[-1]}"), True, tuple(map(float, cuts))
    )


def equal_ends(counts: Floats, bins: int) -> list[int]:
    """The last values of at most `bins` intervals that are about as frequent; equal values are never parted.

    >>> equal_ends(np.ones(6), 3)
    [1, 3]
    """
    below = np.cumsum(counts)
    at = np.searchsorted(below, below[-1] * np.arange(1, bins) / bins)
    return sorted({int(end) for end in at if end < len(counts) - 1})


def _between(low: float, high: float) -> float:
    """A number that is at least `low` and below `high`, their middle where it can be had."""
    middle = float(low + (high - low) / 2)
    return middle if low <= middle < high else float(low)


def mdl_ends(counts: Floats) -> list[int]:
    """The last values of intervals by the minimum description length: Fayyad and Irani 1993, section 3.

    An interval is cut where the entropy of the class is least, if what that saves pays for telling the cut:

        Gain > (log2(N - 1) + log2(3^k - 2) - [k Ent(S) - k1 Ent(S1) - k2 Ent(S2)]) / N

    and both halves are cut again.

    Parameters
    ----------
    counts : array, shape (values, classes)
        How often each class has each value, the least value first.

    Examples
    --------
    >>> mdl_ends(np.array([[3, 0], [3, 0], [3, 0], [0, 3], [0, 3], [0, 3]]))
    [2]
    """
    below = np.cumsum(counts, axis=0, dtype=float)
    ends: list[int] = []
    waiting = [(0, len(below))]
    while waiting:
        first, last = waiting.pop()
        base = below[first - 1] if first else np.zeros(below.shape[1])
        left = below[first : last - 1] - base
        everything = below[last - 1] - base
        if not len(left):
            continue
        right = everything - left
        n = everything.sum()
        whole, parts = _entropy(everything[None]), (_entropy(left), _entropy(right))
        cost = (left.sum(1) * parts[0] + right.sum(1) * parts[1]) / n
        at = int(cost.argmin())
        k, k1, k2 = (int((each > 0).sum()) for each in (everything, left[at], right[at]))
        told = np.log2(3.0**k - 2) - (k * whole[0] - k1 * parts[0][at] - k2 * parts[1][at])
        if whole[0] - cost[at] > (np.log2(max(n - 1, 1)) + told) / n:
            ends.append(first + at)
            waiting += [(first, first + at + 1), (first + at + 1, last)]
    return sorted(ends)


def _entropy(counts: Floats) -> Floats:
    """Of the classes in each row, in bits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = counts / counts.sum(axis=1, keepdims=True)
        terms = np.where(p > 0, p * np.log2(p), 0.0)
    out: Floats = -terms.sum(axis=1)
    return out
