"""CSV and its kin: cells between commas, tabs, semicolons or bars, the first line naming the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from plausible.errors import DataError
from plausible.sources.mail import looks_like_mail
from plausible.sources.streams import PROSE, Decoder, Input, line_blocks
from plausible.sources.table import (
    CHUNK_CHARACTERS,
    CHUNK_ROWS,
    LIMIT,
    Options,
    Source,
    Table,
    make_table,
    numbered,
)

_DELIMITERS = ",\t;|"
_SUFFIXES = (".csv", ".tsv", ".tab")
_SAMPLE_ROWS = 100


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
    header = next(_batches(probe, given, options.encoding, delimiter), None)
    if header is None:
        raise DataError(f"{given.name} is empty; its first line has to name the columns")
    first = header[1][0]
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

    def read(source: Source, columns: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        width = len(names)
        batches = _batches(source, given, options.encoding, delimiter)
        next(batches)
        for lines, rows in batches:
            if not all(len(row) == width for row in rows):
                odd = next(i for i, row in enumerate(rows) if len(row) != width)
                raise DataError(
                    f"{given.name}, line {lines[odd]}: {len(rows[odd])} cells where the first line names "
                    f"{width} columns; mend the line (quotes around a cell that holds the delimiter?)"
                )
            cells_of = dict(zip(names, zip(*rows, strict=True), strict=True))
            yield make_table(
                {name: [cell or None for cell in cells_of[name]] for name in columns},
                numbers,
                numbered(given.name, "line", lines),
                len(rows),
            )

    return Source(given.name, names, read, size=given.size, numeric=numeric, strict=options.strict)


def _batches(
    source: Source, given: Input, encoding: str | None, delimiter: str
) -> Iterator[tuple[list[int], list[list[str]]]]:
    """The first row alone, then the others in batches, with the lines where they begin; no blank ones."""
    csv.field_size_limit(LIMIT)
    text = _Lines(source, given, encoding)
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    most = 1
    begin = 1
    while True:
        lines: list[int] = []
        rows: list[list[str]] = []
        enough = text.characters + CHUNK_CHARACTERS
        try:
            for row in reader:
                if row:
                    lines.append(begin)
                    rows.append(row)
                begin = reader.line_num + 1
                if len(rows) == most or text.characters > enough:
                    break
        except csv.Error as error:
            raise DataError(
                f"{given.name}, line {begin}: {error}; double a quotation mark inside a quoted cell, "
                "and close every quoted cell"
            ) from None
        if not rows:
            return
        yield lines, rows
        most = CHUNK_ROWS


class _Lines:
    """The lines of a file as text; `characters` counts what has been decoded so far."""

    def __init__(self, source: Source, given: Input, encoding: str | None) -> None:
        self.characters = 0
        self._lines = self._read(source, given, encoding)

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def _read(self, source: Source, given: Input, encoding: str | None) -> Iterator[str]:
        decoder = Decoder(source, given.name)
        for offset, block in line_blocks(source, given, encoding):
            text = decoder.text(offset, block)
            self.characters += len(text)
            yield from io.StringIO(text, newline="")


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
