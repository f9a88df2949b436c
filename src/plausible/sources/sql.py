"""Parquet files, SQL texts, and conditions on the rows of any table, through an embedded DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from plausible.errors import CallError, DataError, PlausibleError, unknown
from plausible.sources.streams import Input
from plausible.sources.table import (
    CHUNK_CHARACTERS,
    CHUNK_ROWS,
    MOST_STATES,
    ROWS_TO_LOOK_AT,
    TYPED_ROWS,
    Options,
    Source,
    Table,
    Typed,
    as_numbers,
    make_table,
    numbered,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_NUMERIC = r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM|VARINT"
_NOT_FOUND = r'column "([^"\n]+)" not found'
_QUERY = r"(?i)\s*(?:select|with|from)\s"
_FIRST_ROWS = 64
_PLAIN = frozenset({"VARCHAR", "BOOLEAN", "DATE", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT"})
"""Types whose text is the same from DuckDB as from `cell_text`."""
MOST_CODES = 254
"""Texts of a column that DuckDB codes: with the empty one still an enumeration of bytes."""


def looks_like_parquet(head: bytes, suffix: str) -> bool:
    return head.startswith(b"PAR1")


def looks_like_sql(text: str) -> bool:
    """Whether a text reads as a query rather than as the name of a file."""
    return re.match(_QUERY, text) is not None


def open_parquet(given: Input, options: Options) -> Source:
    """A table from a Parquet file."""
    if given.path is None or given.packed:
        raise DataError(f"{given.name} is Parquet, which needs a file that isn't packed; save it as one")
    path = re.sub(r"([*?[])", r"[\1]", given.path).replace("'", "''")
    source = _open_query(f"from read_parquet('{path}')", given.name, DataError, options, look=options.where is None)
    return replace(source, size=given.size)


def open_sql(query: str, options: Options) -> Source:
    """A table from an SQL text, which may name files: select text, topic from 'x.parquet' limit 10."""
    return _open_query(query.strip().rstrip(";"), "the SQL text", CallError, options)


def _open_query(query: str, name: str, blame: type[PlausibleError], options: Options, *, look: bool = False) -> Source:
    import duckdb

    where = options.where
    database = duckdb.connect()  # one for all passes: opening it takes longer than reading a small table
    try:
        database.extract_statements(query)  # so that an error is that of the query itself
        described = database.execute(f"describe from (\n{query}\n)").fetchall()
        columns = tuple(row[0] for row in described)
        if where is not None:
            query = f"from (\n{query}\n) where (\n{where}\n)"
            _check(database, query, where, name, columns)
    except duckdb.Error as error:
        raise blame(f"{name}: {_gist(error)}") from None

    def read(source: Source, wanted: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        chosen = ", ".join(map(_quoted, wanted)) or "null"
        first = 1
        with database.cursor() as connection:
            total = _rows(connection, query, name) if source.size else 0
            for cells in _fetched(connection, f"select {chosen} from (\n{query}\n)", name):
                rows = len(cells[0])
                yield make_table(
                    dict(zip(wanted, cells, strict=False)),
                    numbers,
                    numbered(name, "row" if where is None else f"where {where}, row", range(first, first + rows)),
                    rows,
                )
                first += rows
                source.position = (source.size or 0) * (first - 1) // (total or 1)

    numeric = frozenset(row[0] for row in described if re.fullmatch(_NUMERIC, row[1]))
    floats = frozenset(row[0] for row in described if row[1] in ("FLOAT", "DOUBLE"))

    @contextmanager
    def relation() -> Iterator[DuckDBPyRelation]:
        with database.cursor() as connection:
            yield connection.sql(f"from (\n{query}\n)")

    types = {row[0]: row[1] for row in described}
    typed = typed_reader(types, relation, name, "row" if where is None else f"where {where}, row", look=look)
    return Source(name, columns, read, numeric=numeric, floats=floats, where=where, strict=options.strict, typed=typed)


def typed_reader(
    types: Mapping[str, str],
    relation: Callable[[], AbstractContextManager[DuckDBPyRelation]],
    name: str,
    unit: str,
    *,
    look: bool = False,
) -> Typed:
    """What reads a relation's columns without making Python values of their cells.

    With `look`, which runs the relation twice, DuckDB itself codes the texts that its first rows hold. It does so once
    for each entry of a column's dictionary, if the file has one, and hands out a byte a cell.
    """
    import duckdb

    from plausible import _native

    numeric = frozenset(column for column, of in types.items() if re.fullmatch(_NUMERIC, of))
    plain = frozenset(column for column, of in types.items() if of in _PLAIN)

    found: dict[str, list[str]] = {}

    def known_texts(texts: Sequence[str]) -> dict[str, list[str]]:
        """The texts in the first rows of the columns that hold few."""
        unseen = tuple(column for column in texts if column not in found)
        for _ in read(unseen, frozenset(), ROWS_TO_LOOK_AT) if unseen else ():
            pass
        return {column: found[column] for column in texts if _fits_a_byte(found[column])}

    def read(wanted: tuple[str, ...], numbers: frozenset[str], most: int | None) -> Generator[Table]:
        texts = [column for column in wanted if column not in numbers]
        states: dict[str, list[str]] = {column: [] for column in texts}
        known = known_texts(texts) if look and most is None else {}
        if most is not None:
            found.update(states)  # which fill as rows are read
        first = 1
        try:
            with relation() as held:
                if most is not None:
                    held = held.limit(most)
                columns = held.project(_typed_columns(wanted, numbers))
                if known:
                    columns = columns.project(_coded_columns(wanted, known)).project(_with_others(wanted, known))
                stream = _native.ArrowColumns(columns.__arrow_c_stream__(), list(known.values()))
                batches: Iterator[Any] = iter(partial(stream.next, TYPED_ROWS), None)
                try:
                    for batch in batches:
                        cells = dict(zip(wanted, batch, strict=True))
                        for at, column in enumerate(wanted):
                            if column in states:
                                states[column] += stream.states(at, len(states[column]))
                                cells[column] = (cells[column], states[column])
                                if most is None and len(states[column]) > MOST_STATES:
                                    stream.forget(at)
                                    states[column] = []
                        rows = len(batch[0])
                        yield Table(cells, numbered(name, unit, range(first, first + rows)), rows)
                        first += rows
                finally:
                    del batches, stream  # while it is open, its connection answers nothing else
        except (duckdb.Error, RuntimeError) as error:
            raise DataError(f"{name}: {_gist(error)}") from None

    def typed(
        source: Source, wanted: tuple[str, ...], numbers: frozenset[str], most: int | None = None
    ) -> Generator[Table] | None:
        return read(wanted, numbers, most) if wanted and numbers <= numeric and {*wanted} - numbers <= plain else None

    return typed


def _fits_a_byte(states: Sequence[str]) -> bool:
    return 0 < len(states) <= MOST_CODES and not any("\0" in state for state in states)


def _typed_columns(wanted: Sequence[str], numbers: frozenset[str]) -> str:
    """SQL of columns t0, t1 …, numbers or texts."""
    kinds = ("double" if column in numbers else "varchar" for column in wanted)
    return ", ".join(
        f"{_quoted(name)}::{kind} t{at}" for at, (name, kind) in enumerate(zip(wanted, kinds, strict=True))
    )


def _coded_columns(wanted: Sequence[str], known: Mapping[str, Sequence[str]]) -> str:
    """SQL that adds to columns t0, t1 … the codes c0, c1 … of those whose texts are known, 0 for a missing cell."""
    codes = []
    for at, column in enumerate(wanted):
        if column in known:
            states = ", ".join("'" + state.replace("'", "''") + "'" for state in ("", *known[column]))
            # functions of one argument, which DuckDB works out once for each entry of a dictionary
            codes.append(f"enum_code(try_cast(concat(t{at}) as enum({states}))) c{at}")
    return ", ".join(["*", *codes])


def _with_others(wanted: Sequence[str], known: Mapping[str, Sequence[str]]) -> str:
    """SQL of the columns as the core takes them: the texts of a row together, last, where one of them is not known."""
    coded = [at for at, column in enumerate(wanted) if column in known]
    columns = [f"{'c' if column in known else 't'}{at}" for at, column in enumerate(wanted)]
    other = " or ".join(f"c{at} is null" for at in coded)
    return ", ".join([*columns, f"case when {other} then [{', '.join(f't{at}' for at in coded)}] end"])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _rows(connection: DuckDBPyConnection, query: str, name: str) -> int:
    """How many rows a query has, which Parquet tells without being read."""
    return int(next(_fetched(connection, f"select count(*) from (\n{query}\n)", name))[0][0])


def _fetched(connection: DuckDBPyConnection, query: str, name: str) -> Iterator[list[list[Any]]]:
    """The columns of a query's result, chunk after chunk, the rows of a chunk fewer where they are long."""
    import duckdb

    count = _FIRST_ROWS
    try:
        result = connection.execute(query)
        while rows := result.fetchmany(count):
            cells = [list(column) for column in zip(*rows, strict=True)]
            yield cells
            characters = sum(len(cell) for column in cells for cell in column if type(cell) is str)
            count = max(1, min(2 * count, CHUNK_ROWS, CHUNK_CHARACTERS * len(rows) // (characters + 1)))
    except duckdb.Error as error:
        raise DataError(f"{name}: {_gist(error)}") from None


def filtered(source: Source, where: str) -> Source:
    """The rows of a table for which an SQL condition holds, in which numbers compare as numbers."""
    import duckdb
    import numpy as np

    unquoted = where.replace('""', '"').casefold()
    mentioned = tuple(name for name in source.columns if name.casefold() in unquoted)
    casts = ", ".join(
        f"c{i}::{'double' if name in source.numeric else 'varchar'} as {_quoted(name)}"
        for i, name in enumerate(mentioned)
    )
    query = f'from (select {casts or "null"}, place as "the row" from cells) where (\n{where}\n)'

    def register(connection: DuckDBPyConnection, table: Table | None) -> None:
        cells: dict[str, Any] = {"place": np.arange(len(table) if table else 0)}
        for i, name in enumerate(mentioned):
            if name in source.numeric:
                cells[f"c{i}"] = as_numbers(table.columns[name], name, table.place) if table else np.empty(0)
            else:
                cells[f"c{i}"] = np.array(table.columns[name] if table else [], dtype=object)
        connection.register("cells", cells)

    with duckdb.connect() as connection:
        register(connection, None)
        _check(connection, query, where, source.name, source.columns)

    def read(of: Source, wanted: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        with duckdb.connect() as connection:
            for table in source.tables(dict.fromkeys((*wanted, *mentioned)), numbers):  # type: ignore[arg-type]
                of.position, of.notes = source.position, source.notes
                register(connection, table)
                try:
                    kept = connection.execute(f'select "the row" {query} order by 1').fetchall()
                except duckdb.Error as error:
                    raise DataError(f"{source.name}, --where {where!r}: {_gist(error)}") from None
                rows = [i for (i,) in kept]
                if rows:
                    yield Table(
                        {name: _taken(table.columns[name], rows) for name in wanted},
                        lambda i, table=table, rows=rows: table.place(rows[i]),  # type: ignore[misc]
                        len(rows),
                    )

    return replace(source, read=read, where=where, typed=None)


def _taken(column: Any, rows: list[int]) -> Any:
    return [column[i] for i in rows] if isinstance(column, list) else column[rows]


def _check(connection: DuckDBPyConnection, query: str, where: str, name: str, columns: tuple[str, ...]) -> None:
    import duckdb

    try:
        connection.execute(f"describe {query}")
    except duckdb.Error as error:
        missing = re.search(_NOT_FOUND, str(error))
        reason = unknown(f"column of {name}", missing[1], columns) if missing else _gist(error)
        raise CallError(f"--where {where!r}: {reason}") from None


def _gist(error: Exception) -> str:
    """The first paragraph of DuckDB's message, in one line."""
    return " ".join(str(error).split("\n\n")[0].split())
