"""From tables to what is counted: texts, categories and numbers, their classes and weights, in bounded chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from plausible.columns import Columns
from plausible.counts import Coded
from plausible.errors import DataError
from plausible.schema import Variable
from plausible.sources import Source, Table, cell_text
from plausible.sources.table import as_numbers

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WEIGHT_UNIT = 2.0**-30
"""Weights are kept to this, so that they add up exactly in any order."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows or documents.

    Attributes
    ----------
    cells : mapping of str to list or array
        By attribute. "text" holds the documents; a categorical column texts with None where missing, or `Coded`;
        a continuous one float64 with NaN where missing.
    labels : list of str or None, or Coded
        Their classes where known.
    place : function of int to str
        Where a row came from.
    weights : array of float64, optional
    own : mapping of str to list, optional
        All columns of the table, as they are.
    """

    cells: Mapping[str, Any]
    labels: Any
    place: Callable[[int], str]
    weights: npt.NDArray[np.float64] | None = None
    own: Mapping[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def texts(self) -> list[str]:
        """The documents, empty where the rows have no text."""
        return self.cells["text"] if "text" in self.cells else [""] * len(self)

    def take(self, rows: Sequence[int]) -> Batch:
        """Some of the rows."""
        return Batch(
            {name: taken(cells, rows) for name, cells in self.cells.items()},
            taken(self.labels, rows),
            lambda i: self.place(rows[i]),
            taken(self.weights, rows),
            None if self.own is None else {name: taken(column, rows) for name, column in self.own.items()},
        )


def taken(values: Any, rows: Sequence[int]) -> Any:
    """Some of the values of a column."""
    if values is None:
        return None
    if isinstance(values, list):
        return [values[i] for i in rows]
    if isinstance(values, Coded):
        return replace(values, codes=values.codes[rows])
    return values[rows]


def batches(source: Source, columns: Columns, *, keep: bool = False) -> Iterator[Batch]:
    """The rows of a source, a chunk at a time; with `keep` each with all its own columns."""
    present = [variable for variable in columns.attributes if variable.name in source.columns]
    numbers = [variable.name for variable in present if variable.kind == "continuous" or variable.cuts]
    wanted = [*columns.text, *(variable.name for variable in present)]
    if columns.target is not None:
        wanted.append(columns.target)
    if columns.weights is not None:
        wanted.append(columns.weights)
        numbers.append(columns.weights)
    for table in source.tables(source.columns if keep else wanted, () if keep else numbers):
        cells: dict[str, Any] = {"text": _texts(table, columns.text)} if columns.text else {}
        for variable in columns.attributes:
            column = table.columns.get(variable.name)
            if keep and column is not None and variable.name in numbers:
                column = as_numbers(column, variable.name, table.place)
            cells[variable.name] = encoded(column, variable, len(table), table.place)
        weights = None
        if columns.weights is not None:
            weights = as_numbers(table.columns[columns.weights], columns.weights, table.place)
            weights = checked_weights(weights, columns.weights, table.place)
        yield Batch(cells, _labels(table, columns.target), table.place, weights, table.columns if keep else None)


def row_cells(columns: Columns, row: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """The cells of one text, or of one row given as a mapping of column to value; or cells as they are."""
    if isinstance(row, str):
        cells: dict[str, Any] = {"text": [row]}
        return cells | {v.name: encoded(None, v, 1, lambda i: "the text") for v in columns.attributes}
    if any(
        isinstance(value, list | Coded) or (hasattr(value, "dtype") and getattr(value, "ndim", 0))
        for value in row.values()
    ):
        return row
    texts = [cell_text(row.get(name)) for name in columns.text]
    cells = {"text": ["\n".join(filter(None, texts))]} if columns.text else {}
    for variable in columns.attributes:
        value = row.get(variable.name)
        column: Any = [cell_text(value)]
        if variable.kind == "continuous" or variable.cuts:
            column = as_numbers(column, variable.name, lambda i: "the row")
        cells[variable.name] = encoded(column, variable, 1, lambda i: "the row")
    return cells


def encoded(column: Any, variable: Variable, rows: int, place: Callable[[int], str]) -> Any:
    """The cells of a variable: floats, states, or texts that are still to become states."""
    if column is None and variable.kind == "categorical":
        return [None] * rows
    if variable.kind == "categorical" and not variable.cuts:
        return column
    import numpy as np

    numbers = np.full(rows, np.nan) if column is None else np.asarray(column, float)
    infinite = np.isinf(numbers)
    if infinite.any():
        at = int(infinite.argmax())
        raise DataError(
            f"{place(at)}: column {variable.name!r} holds {numbers[at]}; empty the cell, or leave the row out"
        )
    if not variable.cuts:
        return numbers
    codes = np.searchsorted(variable.cuts, numbers).astype(np.int32)
    codes[np.isnan(numbers)] = -1
    return Coded(codes, variable.states)


def checked_weights(column: Any, name: str, place: Callable[[int], str]) -> npt.NDArray[np.float64]:
    """Weights to a multiple of 2^-30; DataError for the first that is missing, not finite, or not above 0."""
    import numpy as np

    weights = np.rint(np.asarray(column, float) / WEIGHT_UNIT) * WEIGHT_UNIT
    bad = ~((weights > 0) & np.isfinite(weights))
    if bad.any():
        at = int(bad.argmax())
        raise DataError(
            f"{place(at)}: weight {column[at]:g} in column {name!r}; weights are finite numbers above 0, "
            "so leave the row out or mend it"
        )
    return weights


def _texts(table: Table, names: Sequence[str]) -> list[str]:
    columns: list[Any] = [table.columns[name] for name in names]
    if len(columns) == 1:
        return [text or "" for text in columns[0]]
    return ["\n".join(filter(None, texts)) for texts in zip(*columns, strict=True)]


def _labels(table: Table, name: str | None) -> Any:
    if name is None:
        return [None] * len(table)
    column: Any = table.columns[name]
    return column if isinstance(column, Coded) else [label or None for label in column]


def labelled(batch: Batch, target: str | None, *, strict: bool) -> Batch:
    """The rows of a batch that have a class; with `strict`, DataError for the first that has none."""
    codes = batch.labels.codes.tolist() if isinstance(batch.labels, Coded) else None
    if (-1 not in codes) if codes is not None else (None not in batch.labels):
        return batch
    lacks = [code < 0 for code in codes] if codes is not None else [label is None for label in batch.labels]
    if strict:
        raise DataError(f"{batch.place(lacks.index(True))}: no class in {target!r}; fill it in or leave out --strict")
    return batch.take([i for i, lacking in enumerate(lacks) if not lacking])
