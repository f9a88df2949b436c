"""Data frames straight to cells: numbers and codes by the frame's own means, without a copy of our own making."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import narwhals
import numpy as np
import numpy.typing as npt

from plausible.cells import Batch, checked_weights, encoded
from plausible.columns import Columns
from plausible.counts import Coded
from plausible.errors import DataError
from plausible.schema import Variable
from plausible.sources import Source, cell_text
from plausible.sources.table import as_numbers, numbered

CHUNK = 1 << 18
"""Rows of a frame that are encoded at a time."""
NARROW = 1 << 16
"""Whole numbers that span no more than this are coded by their distance from the least."""


def frame_columns(frame: Any) -> dict[str, Any] | None:
    """The columns of an eager data frame by name, or None if it is no data frame."""
    try:
        known = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        return None
    names = [str(name) for name in known.columns]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DataError(f"two columns have the name {twice!r}; rename one")
    return dict(zip(names, known.iter_columns(), strict=True))


def collected(frame: Any) -> Any:
    """A data frame for narwhals, eager; a lazy one or a DuckDB relation is run."""
    known = narwhals.from_native(frame)
    return known.collect() if isinstance(known, narwhals.LazyFrame) else known


def as_given(held: Any, frame: Any) -> Any:
    """An eager data frame as one of the kind that `frame` is."""
    known = narwhals.from_native(frame)
    if not isinstance(known, narwhals.LazyFrame):
        return held.to_native()
    if known.implementation.is_duckdb():
        import duckdb

        return duckdb.from_arrow(held.to_arrow())
    return held.lazy().to_native()


def frame_batches(source: Source, columns: Columns) -> Iterator[Batch]:
    """The rows of a source that is a data frame, a chunk at a time, by the frame's own means."""
    held = collected(source.frame)
    for start in range(0, len(held), CHUNK):
        part = held[start : start + CHUNK]
        series = dict(zip(source.columns, part.iter_columns(), strict=True))
        place = numbered(source.name, "row", range(start + 1, start + len(part) + 1))
        cells = {
            variable.name: column_cells(series[variable.name], variable, place)
            if variable.name in series
            else encoded(None, variable, len(part), place)
            for variable in columns.attributes
        }
        labels: Any = [None] * len(part)
        if columns.target is not None:
            labels = _states(series[columns.target])
            labels = labels if isinstance(labels, Coded) else [cell_text(label) or None for label in labels]
        weights = None
        if columns.weights is not None:
            named = Variable(columns.weights, "continuous")
            weights = checked_weights(column_cells(series[columns.weights], named, place), columns.weights, place)
        yield Batch(cells, labels, place, weights)


def in_rows(i: int) -> str:
    return f"row {i + 1}"


def is_numeric(column: Any) -> bool:
    """Whether a column is of a type of numbers."""
    return bool(column.dtype.is_numeric() if isinstance(column, narwhals.Series) else column.dtype.kind in "iuf")


def column_cells(column: Any, variable: Variable, place: Callable[[int], str] = in_rows) -> Any:
    """The cells of a column as the variable is."""
    if variable.dates:
        values = column.to_list() if isinstance(column, narwhals.Series) else list(column)
        return encoded([cell_text(value) for value in values], variable, len(values), place)
    if not variable.holds_numbers:
        return _states(column)
    numbers = _numbers(column, variable.name, place)
    return encoded(numbers, variable, len(numbers), place)


def _numbers(column: Any, name: str, place: Callable[[int], str]) -> npt.NDArray[np.float64]:
    if not is_numeric(column):
        values = column.to_list() if isinstance(column, narwhals.Series) else list(column)
        return as_numbers([None if _missing(value) else value for value in values], name, place)
    array = column.to_numpy() if isinstance(column, narwhals.Series) else column
    return np.ascontiguousarray(array, np.float64)


def _missing(value: Any) -> bool:
    return value is None or value != value


def _states(column: Any) -> Any:
    """A column as codes, or as the objects that it holds."""
    if not isinstance(column, narwhals.Series):
        return coded(column) if column.dtype.kind in "iufb" else column
    native = column.to_native()
    textual = isinstance(column.dtype, narwhals.String | narwhals.Categorical | narwhals.Enum)
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas
        states = [cell_text(state) or "" for state in native.cat.categories.tolist()]
        return Coded(native.cat.codes.to_numpy().astype(np.int32), states)
    if textual and column.implementation.is_polars():
        return _polars_codes(column.cast(narwhals.Categorical).to_native())
    if textual and column.implementation.is_pyarrow():
        encoded = native.combine_chunks().dictionary_encode()
        return Coded(
            encoded.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False),
            [cell_text(state) or "" for state in encoded.dictionary.to_pylist()],
        )
    if column.dtype.is_numeric() or column.dtype == narwhals.Boolean:
        if column.null_count() or column.dtype.is_float():
            return coded(np.ascontiguousarray(column.cast(narwhals.Float64).to_numpy(), np.float64))
        return coded(column.to_numpy())
    array = column.to_numpy()
    return array if array.dtype == object and textual else [cell_text(value) for value in column.to_list()]


def _polars_codes(column: Any) -> Coded:
    """A categorical column of polars, whose numbers of categories may be any, as codes of those that occur."""
    numbers = column.to_physical().cast(int).fill_null(-1).to_numpy()
    row = np.full(int(numbers.max(initial=-1)) + 2, -1)  # one that has each number; the last of none
    row[numbers] = np.arange(len(numbers))
    known = np.flatnonzero(row[:-1] >= 0)
    place = np.full(len(row), -1, np.int32)
    place[known] = np.arange(len(known), dtype=np.int32)
    return Coded(place[numbers], column.gather(row[known]).cast(str).to_list())


def coded(values: npt.NDArray[Any]) -> Coded:
    """Numbers as states, NaN as missing.

    >>> coded(np.array([3, 5, 3])).states
    ['3', '4', '5']
    >>> coded(np.array([0.5, np.nan, 1.0])).codes.tolist()
    [0, -1, 1]
    """
    if values.dtype.kind == "b":
        return Coded(values.astype(np.int32), ["false", "true"])
    if values.dtype.kind in "iu" and len(values):
        least, most = int(values.min()), int(values.max())
        if most - least < NARROW:
            return Coded((values - least).astype(np.int32), [str(number) for number in range(least, most + 1)])
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    states, codes = np.unique(values[~missing], return_inverse=True)
    out = np.full(len(values), -1, np.int32)
    out[~missing] = codes
    return Coded(out, [cell_text(state) or "" for state in states.tolist()])
