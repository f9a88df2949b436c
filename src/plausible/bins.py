"""Continuous columns cut into intervals: of equal frequency, or where the class changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.cells import names_of
from plausible.columns import Columns, binning
from plausible.encode import batches, labelled
from plausible.errors import DataError
from plausible.schema import Variable
from plausible.sources import Source

Floats = npt.NDArray[np.float64]
LARGEST = float(np.finfo(float).max)


def with_cuts(source: Source, columns: Columns, kinds: Mapping[str, str]) -> Columns:
    """The columns, those of `kinds` cut into intervals by what a pass over the source holds."""
    wanted = {name: how for name, kind in kinds.items() if (how := binning(kind)) is not None}
    values: dict[str, list[Floats]] = {name: [] for name in wanted}
    labels: list[str] = []
    needed = tuple(variable for variable in columns.attributes if variable.name in wanted)
    for batch in batches(source, Columns((), columns.target, needed)):
        batch = labelled(batch, columns.target, strict=False)
        labels += names_of(batch.labels)
        for name in wanted:
            values[name].append(batch.cells[name])
    index = np.unique(np.array(labels, dtype=str), return_inverse=True)[1]
    cut = {}
    for name, how in wanted.items():
        column = np.concatenate(values[name]) if values[name] else np.empty(0)
        there = ~np.isnan(column)
        if not there.any():
            raise DataError(f"column {name!r} of {source.name} is empty, so it can't be cut into intervals; ignore it")
        cuts = mdl_cuts(column[there], index[there]) if how == "mdl" else equal_frequency(column[there], how)
        cut[name] = interval_variable(name, cuts)
    return replace(columns, attributes=tuple(cut.get(variable.name, variable) for variable in columns.attributes))


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


def equal_frequency(values: Floats, bins: int) -> list[float]:
    """At most `bins` intervals with about as many values each; equal values are never parted.

    >>> equal_frequency(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 3)
    [2.5, 4.5]
    """
    ordered = np.sort(values)
    cuts: list[float] = []
    for k in range(1, bins):
        at = len(ordered) * k // bins
        if at and ordered[at - 1] < ordered[at]:
            cuts.append(_between(ordered[at - 1], ordered[at]))
        elif at:
            above = np.searchsorted(ordered, ordered[at], side="right")
            if above < len(ordered):
                cuts.append(_between(ordered[at], ordered[above]))
    return sorted(set(cuts))


def _between(low: float, high: float) -> float:
    """A number that is at least `low` and below `high`, their middle where it can be had."""
    middle = float(low + (high - low) / 2)
    return middle if low <= middle < high else float(low)


def mdl_cuts(values: Floats, labels: npt.NDArray[Any]) -> list[float]:
    """Cuts by the minimum description length: Fayyad and Irani 1993, section 3.

    An interval is cut where the entropy of the class is least, if what that saves pays for telling the cut:

        Gain > (log2(N - 1) + log2(3^k - 2) - [k Ent(S) - k1 Ent(S1) - k2 Ent(S2)]) / N

    and both halves are cut again. Only boundaries between different values can be cuts.

    >>> mdl_cuts(np.array([1.0, 2.0, 3.0, 10.0, 11.0, 12.0] * 3), np.array([0, 0, 0, 1, 1, 1] * 3))
    [6.5]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    classes = np.zeros((len(order), int(labels.max()) + 1))
    classes[np.arange(len(order)), labels[order]] = 1
    ends = np.flatnonzero(np.diff(ordered)) + 1
    below = np.cumsum(classes, axis=0)[np.append(ends, len(order)) - 1]
    highest = ordered[np.append(ends, len(order)) - 1]
    cuts: list[float] = []
    waiting = [(0, len(below))]
    while waiting:
        first, last = waiting.pop()
        base = below[first - 1] if first else np.zeros(classes.shape[1])
        left = below[first : last - 1] - base
        everything = below[last - 1] - base
        if not len(left):
            continue
        right = everything - left
        n = everything.sum()
        whole, parts = _entropy(everything[None]), (_entropy(left), _entropy(right))
        cost = (left.sum(1) * parts[0] + right.sum(1) * parts[1]) / n
        at = int(cost.argmin())
        k, k1, k2 = (int((counts > 0).sum()) for counts in (everything, left[at], right[at]))
        told = np.log2(3.0**k - 2) - (k * whole[0] - k1 * parts[0][at] - k2 * parts[1][at])
        if whole[0] - cost[at] > (np.log2(n - 1) + told) / n:
            upper = np.searchsorted(ordered, highest[first + at], side="right")
            cuts.append(_between(highest[first + at], ordered[upper]))
            waiting += [(first, first + at + 1), (first + at + 1, last)]
    return sorted(cuts)


def _entropy(counts: Floats) -> Floats:
    """Of the classes in each row, in bits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = counts / counts.sum(axis=1, keepdims=True)
        terms = np.where(p > 0, p * np.log2(p), 0.0)
    out: Floats = -terms.sum(axis=1)
    return out
