"""Texts of Parquet files that DuckDB codes, and those that it does not know: the same cells as by the plain way."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

import plausible
from plausible.sources import sql
from plausible.sources.table import ROWS_TO_LOOK_AT


def typed_cells(path: Path) -> dict[str, list[str | None]]:
    source = plausible.open_source(str(path))
    assert source.typed is not None
    read = source.typed(source, source.columns, frozenset())
    assert read is not None
    out: dict[str, list[str | None]] = {name: [] for name in source.columns}
    for table in read:
        for name in source.columns:
            codes, states = table.columns[name]
            out[name] += [states[code] if code >= 0 else None for code in codes.tolist()]  # type: ignore[union-attr]
    return out


def plain_cells(path: Path) -> dict[str, list[str | None]]:
    source = plausible.open_source(str(path))
    out: dict[str, list[str | None]] = {name: [] for name in source.columns}
    for table in source.tables(source.columns):
        for name in source.columns:
            out[name] += [cell or None for cell in table.columns[name]]  # type: ignore[union-attr]
    return out


def write(path: Path, columns: dict[str, list[str | None]]) -> None:
    names = [name.replace('"', '""') for name in columns]
    tables = ", ".join(f'unnest(${i}::varchar[]) as "{name}"' for i, name in enumerate(names, 1))
    with duckdb.connect() as connection:
        connection.execute(f"copy (select {tables}) to '{path}' (row_group_size 4096)", list(columns.values()))


@pytest.mark.parametrize("seed", range(3))
def test_cells_are_those_of_the_plain_way(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = 2 * ROWS_TO_LOOK_AT
    early = ["it's", "ä€", "", 'a "quote"', "a text of more than sixteen bytes", "a\\b", None]
    late = [*early, "late", "another late text, a long one"]

    def draw(states: list[str | None], size: int) -> list[str | None]:
        return [states[i] for i in random.integers(len(states), size=size)]

    columns = {
        "few": draw(early, rows),
        "late ones": draw(early, ROWS_TO_LOOK_AT) + draw(late, rows - ROWS_TO_LOOK_AT),
        "many": [f"value {i % 3000}" if i % 7 else None for i in range(rows)],
        "begins empty": [None] * ROWS_TO_LOOK_AT + draw(late, rows - ROWS_TO_LOOK_AT),
        'with "quotes"': draw(["x", "y"], rows),
    }
    path = tmp_path / "cells.parquet"
    write(path, columns)
    found = typed_cells(path)
    assert found == plain_cells(path) == {name: [cell or None for cell in cells] for name, cells in columns.items()}


def test_byte_codes_reach_their_limit(tmp_path: Path) -> None:
    columns: dict[str, list[str | None]] = {
        "as many as fit": [str(i % sql.MOST_CODES) for i in range(3000)],
        "one too many": [str(i % (sql.MOST_CODES + 1)) for i in range(3000)],
        "holds a null character": ["a\0b", "a"] * 1500,
    }
    path = tmp_path / "cells.parquet"
    write(path, columns)
    assert typed_cells(path) == columns
