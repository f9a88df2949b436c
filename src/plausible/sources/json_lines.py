"""JSON lines: one object a line, its keys the columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from plausible.errors import DataError
from plausible.sources.streams import PROSE, Decoder, Input, line_blocks
from plausible.sources.table import CHUNK_ROWS, Options, Source, Table, make_table, numbered, numeric_keys

Row: TypeAlias = dict[str, Any]

_SUFFIXES = (".jsonl", ".ndjson", ".json")
_HIGH, _LOW = r"\\u[dD][89abAB]..", r"\\u[dD][c-fC-F].."
_LONE = f"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}"
"""Escapes that stand for half a character, which no text may hold."""
_HALF = r"\\u[dD]"
"""What each of them begins with: found in one quick pass, where there is any."""


def looks_like_json_lines(head: bytes, suffix: str) -> bool:
    """Whether the suffix says so, or the first line that isn't blank is an object."""
    if suffix in _SUFFIXES:
        return True
    start = head.lstrip()
    if suffix in PROSE or not start.startswith(b"{"):
        return False
    line, end, _ = start.partition(b"\n")
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return not end and len(head) > 1 << 15


def open_json_lines(given: Input, options: Options) -> Source:
    """A table from JSON lines; the keys met in the first block of about 1 MB are its columns."""
    if given.head().lstrip()[:1] == b"[":
        query = f"from read_json('{given.name}')"
        raise DataError(f'{given.name} is a JSON array, not one object a line; read it by --sql "{query}"')
    probe = Source(given.name, (), lambda *_: iter(()))
    first = next((rows for _, rows in _blocks(probe, given, options.encoding) if rows), None)
    if first is None:
        raise DataError(f"{given.name} holds no JSON objects; write one a line")
    names = tuple(dict.fromkeys(key for row in first for key in row))
    numeric = numeric_keys(first, names)

    def read(source: Source, columns: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        known = frozenset(names)
        for lines, rows in _blocks(source, given, options.encoding):
            for line, row in zip(lines, rows, strict=True):
                if not known.issuperset(row):
                    late = next(key for key in row if key not in known)
                    what = f"key {late!r} is not among those of the first lines, left out"
                    source.note(what, f"{given.name}, line {line}")
            for start in range(0, len(rows), CHUNK_ROWS):
                chunk = rows[start : start + CHUNK_ROWS]
                yield make_table(
                    {name: [row.get(name) for row in chunk] for name in columns},
                    numbers,
                    numbered(given.name, "line", lines[start : start + CHUNK_ROWS]),
                    len(chunk),
                )

    return Source(given.name, names, read, size=given.size, numeric=numeric, strict=options.strict)


def _blocks(source: Source, given: Input, encoding: str | None) -> Iterator[tuple[Sequence[int], list[Row]]]:
    """The objects block by block, each with the number of its line.

    A whole block is parsed as one array, half as fast again as line by line; only where that fails, or lines
    and objects don't tally, does each line stand alone and answer for itself.
    """
    decoder = Decoder(source, given.name)
    number = 1
    for offset, block in line_blocks(source, given, encoding):
        text = decoder.text(offset, block)
        count = text.count("\n") + (not text.endswith("\n"))
        try:
            rows = json.loads("".join(("[", text.replace("\n", ",", count - 1), "]")))
        except (ValueError, RecursionError):
            rows = []
        lines: Sequence[int] = range(number, number + count)
        if len(rows) != count or not all(type(row) is dict for row in rows):
            alone = zip(lines, text.removesuffix("\n").split("\n"), strict=True)
            found = {line: _row(content, given.name, line) for line, content in alone if content.strip()}
            lines, rows = list(found), list(found.values())
        if re.search(_HALF, text) and re.search(_LONE, text):
            halves = json.dumps(rows, ensure_ascii=False).encode("utf-16", "surrogatepass")
            rows = json.loads(halves.decode("utf-16", "replace"))
        yield lines, rows
        number += count


def _row(text: str, name: str, line: int) -> Row:
    try:
        row = json.loads(text)
    except RecursionError:
        raise DataError(f"{name}, line {line}: the values are nested too deeply; flatten them") from None
    except ValueError as error:
        raise DataError(f"{name}, line {line} is not JSON: {error}; mend the line or take it out") from None
    if type(row) is not dict:
        raise DataError(f"{name}, line {line} is not a JSON object but {text[:60]!r}; mend it")
    return row
