"""Data frames of any kind, and rows held in a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any

from plausible.errors import CallError
from plausible.sources import sql
from plausible.sources.table import CHUNK_ROWS, Options, Source, Table, make_table, numbered, numeric_keys


def open_rows(rows: Sequence[Mapping[str, Any]], options: Options) -> Source:
    """A table from a list of dictionaries."""
    names = tuple(dict.fromkeys(key for row in rows for key in row))
    if not names:
        raise CallError("the list of rows is empty; give dictionaries with the columns as keys")
    numeric = numeric_keys(rows[:CHUNK_ROWS], names)

    def chunks(columns: tuple[str, ...]) -> Iterator[tuple[int, list[list[Any]]]]:
        for start in range(0, len(rows), CHUNK_ROWS):
            chunk = rows[start : start + CHUNK_ROWS]
            yield len(chunk), [[row.get(name) for row in chunk] for name in columns]

    return _source("the rows", names, numeric, chunks, options)


def open_frame(frame: Any, options: Options) -> Source:
    """A table from a data frame that narwhals knows; a lazy one, or a DuckDB relation, runs at every pass."""
    import narwhals

    try:
        known = narwhals.from_native(frame)
    except (TypeError, narwhals.exceptions.NarwhalsError) as error:
        raise CallError(
            f"a {type(frame).__name__} can't be a source ({error}); "
            "give a path, an SQL text, a data frame or a list of dictionaries"
        ) from None
    schema = known.collect_schema()
    names = tuple(map(str, schema.names()))
    numeric = frozenset(name for name, of in zip(names, schema.dtypes(), strict=True) if of.is_numeric())

    def chunks(columns: tuple[str, ...]) -> Iterator[tuple[int, list[list[Any]]]]:
        places = [names.index(name) for name in columns]
        if hasattr(frame, "iter_rows") and isinstance(known, narwhals.LazyFrame):
            rows: Iterable[tuple[Any, ...]] = frame.iter_rows(CHUNK_ROWS)
            while chunk := list(islice(rows, CHUNK_ROWS)):
                yield len(chunk), [[row[at] for row in chunk] for at in places]
            return
        held = known.collect() if isinstance(known, narwhals.LazyFrame) else known
        for start in range(0, len(held), CHUNK_ROWS):
            part = held[start : start + CHUNK_ROWS]
            yield len(part), [part[:, at].to_list() for at in places]

    source = _source(f"the {type(frame).__name__}", names, numeric, chunks, options)
    if known.implementation.is_duckdb():
        types = dict(zip(names, map(str, frame.types), strict=True))
        return replace(source, typed=sql.typed_reader(types, lambda: nullcontext(frame), source.name, "row"))
    return replace(source, frame=frame)


def _source(
    name: str,
    names: tuple[str, ...],
    numeric: frozenset[str],
    chunks: Callable[[tuple[str, ...]], Iterator[tuple[int, list[list[Any]]]]],
    options: Options,
) -> Source:
    def read(_: Source, columns: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        first = 1
        for rows, cells in chunks(columns):
            yield make_table(
                dict(zip(columns, cells, strict=True)),
                numbers,
                numbered(name, "row", range(first, first + rows)),
                rows,
            )
            first += rows

    return Source(name, names, read, numeric=numeric, strict=options.strict)
