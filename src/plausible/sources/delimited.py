"""CSV and its kin: cells between commas, tabs, semicolons or bars, the first line naming the columns."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator

from plausible import _native
from plausible.errors import DataError
from plausible.sources.mail import looks_like_mail
from plausible.sources.streams import PROSE, Decoder, Input, line_blocks
from plausible.sources.table import CHUNK_ROWS, MOST_STATES, TYPED_ROWS, Options, Source, Table, as_number, numbered

_DELIMITERS = ",\t;|"
_SUFFIXES = (".csv", ".tsv", ".tab")
_SAMPLE_ROWS = 100
_SKIPPED, _TEXT, _NUMBER, _STATE = range(4)
"""What the core makes of the cells of a column."""


def looks_delimited(head: bytes, suffix: str) -> bool:
    """Whether the suffix says so, or the lines are equally wide and the first holds distinct short names."""
    if suffix in _SUFFIXES:
        return True
    if suffix in PROSE or looks_like_mail(head.decode("latin-1")):
        return False
    rows = _sample(head.decode("utf-8", "replace"), _delimiter(head))
    if len(rows) < 2 or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    names = [name.strip() for name in rows[0]]
    return len(set(names)) == len(names) and all(0 < len(name) <= 60 and not _is_number(name) for name in names)


def open_delimited(given: Input, options: Options) -> Source:
    """A table from a CSV or TSV file; cells are text as written, and an empty cell is missing."""
    delimiter = "," if not (head := given.head()) else _delimiter(head)
    if given.suffix in (".tsv", ".tab") and b"\t" in head:
        delimiter = "\t"
    probe = Source(given.name, (), lambda *_: iter(()))
    first = _first_row(probe, given, options.encoding, delimiter)
    if first is None:
        raise DataError(f"{given.name} is empty; its first line has to name the columns")
    names = tuple(name.strip() or f"column {i}" for i, name in enumerate(first, 1))
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"{given.name}, line 1: two columns have the name {twice!r}; rename one")
    sample = _sample(head.decode("utf-8", "replace"), delimiter)[1:]
    numeric = frozenset(
        name
        for i, name in enumerate(names)
        if (cells := [row[i] for row in sample if len(row) > i and row[i]]) and all(map(_is_number, cells))
    )

    def read(
        source: Source, columns: tuple[str, ...], numbers: frozenset[str], kind: int, rows: int
    ) -> Generator[Table]:
        kinds = [_NUMBER if name in numbers else kind if name in columns else _SKIPPED for name in names]
        parser = _native.Delimited(delimiter, kinds)
        states: list[list[str]] = [[] for _ in names]

        def table() -> Table:
            lines, cells, odd = parser.take()
            place = numbered(given.name, "line", lines)
            for column, row, text in odd:
                cells[column][row] = as_number(text, names[column], row, place)
            for i in range(len(names)):
                if kinds[i] == _STATE:
                    states[i] += parser.states(i, len(states[i]))
                    cells[i] = (cells[i], states[i])
                    if len(states[i]) > MOST_STATES:
                        parser.forget(i)
                        states[i] = []
            return Table({name: cells[names.index(name)] for name in columns}, place, len(lines))

        for _ in _fed(parser, source, given, options.encoding):
            if parser.rows >= rows:
                yield table()
        if parser.rows:
            yield table()

    def tables(source: Source, columns: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        return read(source, columns, numbers, _TEXT, CHUNK_ROWS)

    def typed(
        source: Source, columns: tuple[str, ...], numbers: frozenset[str], most: int | None = None
    ) -> Generator[Table]:
        return read(source, columns, numbers, _STATE, TYPED_ROWS if most is None else most)

    return Source(given.name, names, tables, size=given.size, numeric=numeric, strict=options.strict, typed=typed)


def _first_row(source: Source, given: Input, encoding: str | None, delimiter: str) -> list[str] | None:
    parser = _native.Delimited(delimiter, [])
    for _ in _fed(parser, source, given, encoding):
        if parser.started:
            return list(parser.first_row)
    return None


def _fed(parser: _native.Delimited, source: Source, given: Input, encoding: str | None) -> Iterator[None]:
    """Feeds a file to a parser, block by block."""
    decoder = Decoder(source, given.name)
    try:
        for offset, block in line_blocks(source, given, encoding):
            parser.feed(decoder.utf8(offset, block))
            yield
        parser.finish()
    except ValueError as error:
        raise DataError(f"{given.name}, {error}") from None


def _delimiter(head: bytes) -> str:
    """The delimiter that cuts most rows of the sample into the same number of cells, two or more."""

    def merit(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in _sample(text, delimiter)]
        if not widths or widths[0] < 2:
            return 0.0, 0
        return sum(width == widths[0] for width in widths) / len(widths), widths[0]

    text = head.decode("utf-8", "replace")
    return max(_DELIMITERS, key=merit)


def _sample(text: str, delimiter: str) -> list[list[str]]:
    """The first rows of a text that may break off in the middle of one."""
    import csv

    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            if row:
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                return rows
    except csv.Error:
        return rows
    return rows if len(rows) < 2 or text.endswith(("\n", "\r")) else rows[:-1]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
