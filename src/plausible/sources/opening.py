"""Which reader a source needs, found by looking: at its type, then at its first bytes, then at its name."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from plausible.errors import CallError
from plausible.sources import delimited, documents, json_lines, sql
from plausible.sources.encoding import check
from plausible.sources.mail import check_headers, message_text
from plausible.sources.streams import Input, keep, standard_input, unreadable
from plausible.sources.table import Column, Options, Source, Table


class Kind(NamedTuple):
    """A kind of file: how its first bytes and suffix give it away, and what opens it."""

    name: str
    looks: Callable[[bytes, str], bool]
    open: Callable[[Input, Options], Source]


KINDS = (
    Kind("Parquet", sql.looks_like_parquet, sql.open_parquet),
    Kind("mbox", documents.looks_like_mbox, documents.open_file),
    Kind("JSON lines", json_lines.looks_like_json_lines, json_lines.open_json_lines),
    Kind("CSV", delimited.looks_delimited, delimited.open_delimited),
    Kind("text", documents.looks_like_text, documents.open_file),
)
"""Every kind of file, the most telling first; the first that looks right opens it."""


def open_source(
    given: Any,
    *,
    encoding: str | None = None,
    headers: str | None = None,
    where: str | None = None,
    strict: bool = False,
) -> Source:
    """Anything that holds documents or rows, as a stream of tables.

    Parameters
    ----------
    given : path, "-", SQL text or `Query`, data frame, list of dictionaries, or list of paths
        A folder (one sub-folder a class, flat, or Maildir), a file (text, HTML, mail, mbox, CSV, TSV, JSON
        lines, Parquet; all but the last also gzipped), "-" for standard input, or a text that starts with
        select, with or from.
    encoding, headers, where, strict
        See `Options`.

    Examples
    --------
    >>> source = open_source([{"text": "a b", "n": 1}, {"text": "c", "n": 2.5}], where="n < 2")
    >>> [table.columns for table in source.tables()]
    [{'text': ['a b'], 'n': ['1']}]
    """
    options = Options(check(encoding), None if headers is None else check_headers(headers), where, strict)
    source = _open(given, options)
    if where is not None and source.documents:
        raise CallError(f"--where chooses rows of a table, and {source.name} holds documents; leave it out")
    if where is not None and source.where is None:
        source = sql.filtered(source, where)
    if options.headers is not None and not source.documents:
        source = _without_headers(source, options.headers)
    return source


class Query(str):
    """An SQL text, whatever it begins with."""


def _open(given: Any, options: Options) -> Source:
    if isinstance(given, Query):
        return sql.open_sql(given, options)
    if isinstance(given, str | os.PathLike):
        return _open_path(os.fspath(given), options)
    if isinstance(given, Sequence) and all(isinstance(part, Mapping) for part in given):
        from plausible.sources.frames import open_rows

        return open_rows(given, options)
    if isinstance(given, Sequence) and all(isinstance(part, str | os.PathLike) for part in given):
        return _chained([_open_path(os.fspath(part), options) for part in given])
    from plausible.sources.frames import open_frame

    return open_frame(given, options)


def _open_path(path: str, options: Options) -> Source:
    if path == "-":
        return _open_input(standard_input(), options)
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        if sql.looks_like_sql(path):
            return sql.open_sql(path, options)
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise unreadable(path[:200], error) from None
        raise CallError(f"there is no file or folder {path[:200]!r}{_nearest(path)}") from None
    if stat.S_ISDIR(status.st_mode):
        return documents.open_folder(path, options)
    if stat.S_ISREG(status.st_mode):
        return _open_input(Input(path, path), options)
    with open(path, "rb") as pipe:
        return _open_input(keep(path, pipe), options)


def _open_input(given: Input, options: Options) -> Source:
    head = given.head()
    kind = next(kind for kind in KINDS if kind.looks(head, given.suffix))
    return kind.open(given, options)


def _nearest(path: str) -> str:
    import difflib

    try:
        names = os.listdir(os.path.dirname(path) or ".")
    except (OSError, ValueError):
        return ""
    close = difflib.get_close_matches(os.path.basename(path), names, n=1)
    return f"; did you mean {os.path.join(os.path.dirname(path), close[0])!r}?" if close else ""


def _chained(sources: list[Source]) -> Source:
    """Several sources read one after the other: all documents, or all tables with the same columns."""
    first = sources[0]
    for other in sources[1:]:
        if set(other.columns) != set(first.columns) or other.documents != first.documents:
            raise CallError(
                f"{first.name} and {other.name} don't go together: their columns are "
                f"{', '.join(first.columns)} and {', '.join(other.columns)}"
            )

    def read(whole: Source, columns: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        before = 0
        for source in sources:
            for table in source.tables(columns, numbers):
                whole.position = before + source.position
                yield table
            before += source.size or 0
            whole.add_notes(source.notes)

    name = first.name if len(sources) == 1 else f"{first.name} and {len(sources) - 1} more"
    sizes = [source.size for source in sources if source.size is not None]
    return replace(
        first,
        name=name,
        read=read,
        frame=None,
        typed=None,
        size=sum(sizes) if len(sizes) == len(sources) else None,
        numeric=frozenset.intersection(*(source.numeric for source in sources)),
        where=first.where if all(source.where for source in sources) else None,
    )


def _without_headers(source: Source, headers: str) -> Source:
    """A table whose cells that are mail or articles keep only the headers asked for."""

    def read(of: Source, columns: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        for table in source.tables(columns, numbers):
            of.position, of.notes = source.position, source.notes
            cells: dict[str, Column] = {
                name: [cell and message_text(cell, headers) for cell in column] if isinstance(column, list) else column
                for name, column in table.columns.items()
            }
            yield Table(cells, table.place, len(table))

    return replace(source, read=read, typed=None)
