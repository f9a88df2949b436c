"""Answers as text: a table on a terminal, JSON lines when piped, or what --format says; always the same keys."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import click

Format = Literal["table", "json", "jsonl", "csv"]
Row = Mapping[str, Any]

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
        click.echo(table(list(records), columns), nl=False)


def one(record: Row, format_: Format | None, as_table: Callable[[], str]) -> None:
    """Print a single record; in a table as `as_table` says."""
    kind = chosen(format_)
    if kind == "table":
        click.echo(as_table(), nl=False)
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


def table(records: Sequence[Row], columns: Sequence[str]) -> str:
    """Aligned columns, numbers to the right.

    >>> print(table([{"word": "money", "seen": 12}, {"word": "中文", "seen": 3}], ["word", "seen"]), end="")
    word   seen
    money    12
    中文      3
    """
    cells = [[display(record[name]) for name in columns] for record in records]
    right = [all(isinstance(record[name], int | float) for record in records) and bool(records) for name in columns]
    widths = [max([_width(name), *(_width(row[k]) for row in cells)]) for k, name in enumerate(columns)]
    lines = []
    for row in [list(columns), *cells]:
        padded = [
            " " * (width - _width(cell)) + cell if to_right else cell + " " * (width - _width(cell))
            for cell, width, to_right in zip(row, widths, right, strict=True)
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
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:59] + "…"


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two, marks none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


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
