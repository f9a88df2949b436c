"""Rows of numbers with gaps, checked once, those with the same gaps together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.errors import DataError
from plausible.learning.mixtures.moments import Array, Moments
from plausible.sources import Source

LARGEST = 1e150  # a square must stay finite


class Group(NamedTuple):
    """Rows that have numbers in the same columns: which rows, which columns, which not, and the numbers."""

    rows: slice | NDArray[np.intp]
    seen: NDArray[np.intp]
    unseen: NDArray[np.intp]
    values: Array


@dataclass(frozen=True, slots=True)
class Points:
    """A table of numbers; NaN is a gap. Whole rows are used as they lie in memory, without a copy."""

    values: Array
    names: tuple[str, ...]
    groups: tuple[Group, ...]

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def dimensions(self) -> int:
        return int(self.values.shape[1])

    def take(self, rows: NDArray[np.intp]) -> Points:
        values = self.values[rows]
        return Points(values, self.names, _grouped(values))


def points(x: Any) -> Points:
    """The table behind `x`: an array, a data frame or lists of rows; a flat list is one column."""
    if isinstance(x, Points):
        return x
    names = getattr(x, "columns", None)
    try:
        values = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"points must be rows of numbers of one length ({error}); drop or encode what isn't") from None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or 0 in values.shape:
        raise DataError(f"points must be a table with at least 1 row and 1 column, not of shape {values.shape}")
    values = np.ascontiguousarray(values)
    labels = tuple(str(name) for name in names) if names is not None else tuple(map(str, range(values.shape[1])))
    for name, low, high in zip(labels, np.fmin.reduce(values), np.fmax.reduce(values), strict=True):
        if low < -LARGEST or high > LARGEST:
            worst = high if high > LARGEST else low
            row = int(np.flatnonzero(values[:, labels.index(name)] == worst)[0])
            raise DataError(
                f"row {row}, column {name!r} is {worst}: make it a number below {LARGEST:g}, or a gap (NaN)"
            )
    return Points(values, labels, _grouped(values))


def read_points(source: Source, columns: Sequence[str]) -> Points:
    """The columns of a source as numbers."""
    parts: list[Array] = []
    for chunk in source.tables(list(columns), columns):
        cells = (
            np.array([chunk.columns[name] for name in columns], dtype=np.float64).reshape(len(columns), len(chunk)).T
        )
        wild = np.argwhere(np.abs(cells) > LARGEST)
        if len(wild):
            row, column = wild[0].tolist()
            raise DataError(
                f"{chunk.place(row)}: {cells[row, column]} in column {columns[column]!r} is too large; "
                f"make it a number below {LARGEST:g}, or leave it empty"
            )
        parts.append(cells)
    if not parts:
        raise DataError(f"{source.name} has no rows")
    table = points(np.concatenate(parts))
    return Points(table.values, tuple(columns), table.groups)


def spread(table: Points) -> Moments:
    """Each column's own count, mean and sum of squared deviations; a column is a component."""
    block = 1 << 12
    total: Moments | None = None
    for first in range(0, table.count, block):
        part = table.values[first : first + block].T
        n = np.isfinite(part).sum(axis=1).astype(np.float64)
        mean = np.nansum(part, axis=1) / np.maximum(n, 1)
        squares = np.nansum((part - mean[:, None]) ** 2, axis=1)
        moments = Moments(n, mean[:, None], squares[:, None])
        total = moments if total is None else total + moments
    assert total is not None
    return total


def _grouped(values: Array) -> tuple[Group, ...]:
    every = np.arange(values.shape[1])
    if not np.isnan(values.min(axis=0)).any():
        return (Group(slice(None), every, every[:0], values),)
    present = ~np.isnan(values)
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(patterns)))[:-1]
    return tuple(
        Group(rows, every[pattern], every[~pattern], np.ascontiguousarray(values[rows][:, pattern]))
        for pattern, rows in zip(patterns, np.split(order, ends), strict=True)
    )
