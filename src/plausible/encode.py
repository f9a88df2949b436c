"""From tables to what is counted: texts, categories and numbers, their classes and weights, in bounded chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from plausible.cells import Batch, as_states, checked_weights, encoded, values_of
from plausible.columns import Columns
from plausible.counts import Coded
from plausible.errors import DataError
from plausible.sources import Source, Table, cell_text
from plausible.sources.table import as_numbers

MOST_CHARACTERS = 512
"""Of a row, on average: with more of them rows are kept in smaller chunks."""


def batches(source: Source, columns: Columns, *, keep: bool = False) -> Iterator[Batch]:
    """The rows of a source, a chunk at a time; with `keep` each with all its own columns, as texts."""
    if source.frame is not None and source.where is None and not keep and not columns.text:
        from plausible.frames import frame_batches

        yield from frame_batches(source, columns)
        return
    if source.typed is not None and not columns.text:
        typed = _typed_batches(source, columns) if not keep else _kept_batches(source, columns)
        if typed is not None:
            yield from typed
            return
    present = [variable for variable in columns.attributes if variable.name in source.columns]
    numbers = [variable.name for variable in present if variable.holds_numbers and not variable.dates]
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
            weights = checked_weights(weights, columns.weights, table.place, whole=bool(columns.text))
        yield Batch(cells, _labels(table, columns.target), table.place, weights, table.columns if keep else None)


def _typed_batches(source: Source, columns: Columns) -> Iterator[Batch] | None:
    """The same from cells that never were Python values; None where the source can't give them."""
    there = {variable.name: variable for variable in columns.attributes if variable.name in source.columns}
    numbers = {name for name, variable in there.items() if variable.holds_numbers and not variable.dates}
    named = [name for name in (columns.target, columns.weights) if name is not None]
    if columns.weights is not None:
        numbers.add(columns.weights)
    return _read_typed(source, columns, (*there, *named), frozenset(numbers))


def _kept_batches(source: Source, columns: Columns) -> Iterator[Batch] | None:
    """The same with all columns of the source; None where it is no file, or its rows are too long to hold many."""
    first = next(source.tables(), None) if source.size is not None else None  # a query may take long to run twice
    if first is None or first.characters > MOST_CHARACTERS * len(first):
        return None
    return _read_typed(source, columns, source.columns, source.floats, keep=True)


def _read_typed(
    source: Source, columns: Columns, wanted: tuple[str, ...], numbers: frozenset[str], *, keep: bool = False
) -> Iterator[Batch] | None:
    if source.typed is None or (read := source.typed(source, wanted, numbers)) is None:
        return None

    def batch(table: Table) -> Batch:
        cells: dict[str, Any] = {
            name: Coded(*of) if isinstance(of, tuple) else of for name, of in table.columns.items()
        }
        own = {name: as_states(column) for name, column in cells.items()} if keep else None
        place = table.place
        for variable in columns.attributes:
            column = cells.get(variable.name)
            if not variable.holds_numbers:
                column = as_states(column)
            elif not variable.dates:
                column = _numbers(column, variable.name, place)
            cells[variable.name] = encoded(column, variable, len(table), place)
        weights = None
        if columns.weights is not None:
            weights = _numbers(cells[columns.weights], columns.weights, place)
            weights = checked_weights(weights, columns.weights, place)
        labels = as_states(cells[columns.target]) if columns.target is not None else [None] * len(table)
        return Batch({v.name: cells[v.name] for v in columns.attributes}, labels, place, weights, own)

    def batches() -> Iterator[Batch]:
        with closing(read):
            yield from map(batch, read)

    return batches()


def _numbers(column: Any, name: str, place: Callable[[int], str]) -> Any:
    """Coded texts as floats; DataError for the first that is no number."""
    if not isinstance(column, Coded):
        return column
    import numpy as np

    try:
        return np.array([*map(float, column.states), np.nan])[column.codes]
    except ValueError:
        return as_numbers(values_of(column), name, place)


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
        if variable.holds_numbers and not variable.dates:
            column = as_numbers(column, variable.name, lambda i: "the row")
        cells[variable.name] = encoded(column, variable, 1, lambda i: "the row")
    return cells


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


def unlabelled(batch: Batch) -> list[int]:
    """The rows of a batch that have no class."""
    if isinstance(batch.labels, Coded):
        rows: list[int] = (batch.labels.codes < 0).nonzero()[0].tolist()
        return rows
    return [i for i, label in enumerate(batch.labels) if label is None]


def labelled(batch: Batch, target: str | None, *, strict: bool) -> Batch:
    """The rows of a batch that have a class; with `strict`, DataError for the first that has none."""
    lacking = unlabelled(batch)
    if not lacking:
        return batch
    if strict:
        raise DataError(f"{batch.place(lacking[0])}: no class in {target!r}; fill it in or leave out --strict")
    left_out = frozenset(lacking)
    return batch.take([i for i in range(len(batch)) if i not in left_out])
