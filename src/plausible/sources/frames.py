"""Data frames of any kind, and rows held in a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plausible.errors import CallError
from plausible.sources.table import CHUNK_ROWS, Source, Table, make_table


def open_rows(rows: Sequence[Mapping[str, Any]], strict: bool) -> Source:
    """A table from a list of dictionaries."""
    names = tuple(dict.fromkeys(str(key) for row in rows for key in row))

    def cells(column: str, start: int) -> list[Any]:
        return [row.get(column) for row in rows[start : start + CHUNK_ROWS]]

    numeric = frozenset(
        name
        for name in names
        if all(type(value) in (int, float) for row in rows[:CHUNK_ROWS] if (value := row.get(name)) is not None)
    )
    return _sliced("the rows", names, numeric, len(rows), cells, strict)


def open_frame(frame: Any, strict: bool) -> Source:
    """A table from a data frame that narwhals knows: pandas, polars, Arrow, or a DuckDB relation; lazy ones collected."""
    import narwhals

    name = f"the {type(frame).__module__.split('.')[0]} frame"
    try:
        known = narwhals.from_native(frame)
    except TypeError:
        raise CallError(
            f"a {type(frame).__name__} is no source; give a path, an SQL text, a data frame or a list of dictionaries"
        ) from None
