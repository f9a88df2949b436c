"""Answers as text: a table on a terminal, JSON lines when piped, or what --format says; always the same keys."""

from __future__ import annotations

import io
import json
import math
import sys
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import click

from plausible import _native

Format = Literal["table", "json", "jsonl", "csv"]
Row = Mapping[str, Any]

LONGEST, SHORTEST = 60, 16
"""Columns that a text may take in a table, and those that it keeps on a narrow terminal."""

_OBEYED = dict.fromkeys(
    [*range(10), *range(11, 32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)],
    "\N{REPLACEMENT CHARACTER}",
)

format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "jsonl", "csv"]),
    help="How to print: table (on a terminal, the default), json, jsonl (when piped, the default) or csv.",
)


def chosen(format_: Format | None) -> Format:
    return format_ or ("table" if sys.stdout.isatty() else "jsonl")


def rows(records: Iterable[Row], format_: Format | None, columns: Sequence[str]) -> None:
    """Print records that all have `columns`; JSON lines and CSV as they come."""
    kind = chosen(format_)
    if kind == "jsonl":
        for record in records:
            click.echo(to_json(record))
    elif kind == "csv":
        _csv(records, columns)
    elif kind == "json":
        click.echo(to_json(list(records), indent=1))
    else:
        click.echo(harmless(table(list(records), columns)), nl=False)


def columns(parts: Iterable[Mapping[str, Any]], format_: Format | None, names: Sequence[str]) -> None:
    """Print tables that all have the columns `names`: lists, floats or `Coded`; JSON lines and CSV as they come."""
    kind = chosen(format_)
    if kind == "csv":
        write = sys.stdout.write
        write(",".join(map(_csv_text, names)) + "\n")
        before, end, text = ["", *[","] * (len(names) - 1)], "\n", _csv_text
    elif kind == "jsonl":
        write = partial(click.echo, nl=False)
        before = [f"{', ' if i else '{'}{to_json(name)}: " for i, name in enumerate(names)]
        end, text = "}\n", to_json
    else:
        from plausible.cells import values_of

        whole = (zip(*(values_of(part[name]) for name in names), strict=True) for part in parts)
        rows((dict(zip(names, row, strict=True)) for part in whole for row in part), kind, names)
        return
    for part in parts:
        given = [_written(part[name], text) for name in names]
        write(_native.rows_of_text(given, before, end, len(part[names[0]])))


def _written(column: Any, text: Callable[[Any], str]) -> Any:
    """A column as the core prints it: numbers, or codes of texts, each of which is written once."""
    if hasattr(column, "states"):
        return column.codes, list(map(text, [*column.states, None]))
    if hasattr(column, "dtype"):
        return column
    kinds = set(map(type, column))
    if kinds == {float} and all(map(math.isfinite, column)):
        return array("d", column)
    if kinds <= {str, type(None)}:
        places = {value: i for i, value in enumerate(dict.fromkeys(column))}
        return array("i", map(places.__getitem__, column)), list(map(text, places))
    return array("i", range(len(column))), list(map(text, column))


def _csv_text(value: Any) -> str:
    """A cell of a CSV file, quoted where it must be."""
    import csv

    row = io.StringIO()
    csv.writer(row, lineterminator="\n").writerow([_cell_for_csv(value), ""])
    return row.getvalue()[:-2]


def one(record: Row, format_: Format | None, as_table: Callable[[], str]) -> None:
    """Print a single record; in a table as `as_table` says."""
    kind = chosen(format_)
    if kind == "table":
        click.echo(harmless(as_table()), nl=False)
    elif kind == "csv":
        flat = {key: value for key, value in record.items() if not isinstance(value, dict | list)}
        _csv([flat], list(flat))
    else:
        click.echo(to_json(record, indent=1 if kind == "json" else None))


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON in which numbers that JSON lacks (an infinite log-odds) are strings."""
    return json.dumps(_plain(value), ensure_ascii=False, indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _csv(records: Iterable[Row], columns: Sequence[str]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for record in records:
        writer.writerow([_cell_for_csv(record[name]) for name in columns])


def _cell_for_csv(value: Any) -> Any:
    return to_json(value) if isinstance(value, dict | list) else value


def table(records: Sequence[Row], columns: Sequence[str], headings: Mapping[str, str] = {}) -> str:
    """Aligned columns, numbers to the right; on a terminal that is narrower, the widest texts are cut short.

    >>> print(table([{"word": "money", "seen": 12}, {"word": "中文", "seen": 3}], ["word", "seen"]), end="")
    word   seen
    money    12
    中文      3
    """
    cells = [[display(headings.get(name, name)) for name in columns]]
    cells += [[display(record[name]) for name in columns] for record in records]
    right = [all(isinstance(record[name], int | float) for record in records) and bool(records) for name in columns]
    widths = _fitting([max(_width(row[k]) for row in cells) for k in range(len(columns))], right)
    lines = []
    for row in cells:
        padded = [
            " " * (width - _width(cell)) + cell if to_right else cell + " " * (width - _width(cell))
            for cell, width, to_right in zip(map(_short, row, widths), widths, right, strict=True)
        ]
        lines.append("  ".join(padded).rstrip() + "\n")
    return "".join(lines)


def display(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {display(inner)}" for key, inner in value.items())
    return _short(" ".join(str(value).split()), LONGEST)


def _fitting(widths: Sequence[int], right: Sequence[bool]) -> list[int]:
    """The widths of columns, the widest of texts made less as long as the terminal is too narrow for all."""
    found = list(widths)
    if not sys.stdout.isatty():
        return found
    import shutil

    room = shutil.get_terminal_size().columns - 2 * (len(found) - 1)
    while sum(found) > room:
        k = max((k for k, to_right in enumerate(right) if not to_right), key=found.__getitem__, default=0)
        if found[k] <= SHORTEST or right[k]:
            break
        found[k] -= 1
    return found


def _short(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    end = next(end for end in range(len(text), -1, -1) if _width(text[:end]) < width)
    return text[:end] + "…"


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two, marks and what can't be seen none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def harmless(text: str) -> str:
    r"""Text without what a terminal would obey: control characters, and marks that turn its direction.

    >>> harmless("\x1b[31mred\n")
    '�[31mred\n'
    """
    return text.translate(_OBEYED)


def bar(value: float, most: float, width: int = 16) -> str:
    """A bar whose length shows a value's size."""
    share = 1.0 if math.isinf(value) else abs(value) / most if most > 0 else 0.0
    return "█" * max(1, round(width * share)) if share else ""


def scale(value: float, mark: float, width: int = 24) -> str:
    """A bar for a share between 0 and 1, with a mark at another.

    >>> scale(0.5, 0.75, 8)
    '████··│·'
    """
    cells = ["█" if k < round(width * value) else "·" for k in range(width)]
    cells[min(int(width * mark), width - 1)] = "│"
    return "".join(cells)
