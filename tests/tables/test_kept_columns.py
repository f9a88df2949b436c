"""Rows that are classified with all their own columns: the same by codes as cell by cell, in bounded memory."""

from __future__ import annotations

import io
import json
import warnings
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

import plausible
from plausible.cells import values_of
from plausible.cli import show
from plausible.columns import Columns, learned_columns
from plausible.encode import MOST_CHARACTERS, batches
from plausible.errors import DataError
from plausible.schema import Variable
from plausible.sources.table import MOST_STATES, TYPED_ROWS

TABLE = """
select case when i % 11 then 'a, "quoted"' || chr(10) || 'text ' || i % 7 end as words, i % 90 as age,
    i / 4.0::double as size, case when i % 5 then i * 1e17::double end as large, 9007199254740993 + i as id,
    i % 3 = 0 as flag, date '2024-01-31' + (i % 40)::int as day, (i % 4)::double as grade, i % 2 as class {more}
from range({rows}) t(i)
"""


def written(path: Path, rows: int, more: str = "") -> str:
    duckdb.sql(f"copy ({TABLE.format(rows=rows, more=more)}) to '{path}'")
    return str(path)


def learned(path: str) -> plausible.Model:
    kinds = {"day": "date", "age": "continuous", "size": "continuous", "large": "continuous", "grade": "categorical"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plausible.learn(path, target="class", kinds={**kinds, "words": "categorical"}, ignore="id")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_rows_are_the_same_by_codes_and_cell_by_cell(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / f"rows.{suffix}", 3000)
    model = learned(path)
    source = plausible.open_source(path)
    columns = learned_columns(source, model.reading.columns)
    (fast,) = batches(source, columns, keep=True)
    slow = list(batches(replace(source, typed=None), columns, keep=True))
    assert fast.own is not None
    for name in source.columns:
        own = [cell or None for batch in slow for cell in values_of(batch.own[name])]  # type: ignore[index]
        assert values_of(fast.own[name]) == own
    for name in model.reading.columns.attributes:
        cells = [cell for batch in slow for cell in values_of(batch.cells[name.name])]
        assert values_of(fast.cells[name.name]) == cells
    assert fast.place(2900) == slow[-1].place(2900 - sum(map(len, slow[:-1])))
    scores = np.concatenate([np.asarray(model.scores(batch.cells).log_posterior) for batch in slow])
    assert (np.asarray(model.scores(fast.cells).log_posterior) == scores).all()


def test_long_rows_are_kept_in_small_chunks(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.parquet", 2000, ", repeat('x', 600) as long")
    source = plausible.open_source(path)
    assert MOST_CHARACTERS < 600
    assert len(list(batches(source, Columns((), None, (Variable("words"),)), keep=True))) > 1


def test_a_text_where_a_number_was_learned_is_named(tmp_path: Path) -> None:
    model = learned(written(tmp_path / "rows.parquet", 500))
    path = tmp_path / "odd.csv"
    path.write_text("age,words\n3,x\n4,y\nold,x\n")
    source = plausible.open_source(str(path))
    with pytest.raises(DataError, match=r"line 4: 'old' in column 'age' is no number"):
        list(batches(source, model.reading.columns._replace(target=None), keep=True))


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_reader_lets_states_go(tmp_path: Path, suffix: str) -> None:
    """Ids are many; what a reader holds of them is not, and their texts stay right."""
    rows = 3 * TYPED_ROWS
    path = tmp_path / f"ids.{suffix}"
    duckdb.sql(
        f"copy (select 'id ' || i as id, 'few ' || i % 3 as few, i % 2 as class from range({rows}) t(i)) to '{path}'"
    )
    source = plausible.open_source(str(path))
    assert source.typed is not None
    read = source.typed(source, ("id", "few"), frozenset())
    assert read is not None
    first, most = 0, 0
    for table in read:
        ids, few = (values_of(plausible.counts.Coded(*table.columns[name])) for name in ("id", "few"))  # type: ignore[misc]
        assert ids == [f"id {i}" for i in range(first, first + len(table))]
        assert few == [f"few {i % 3}" for i in range(first, first + len(table))]
        most = max(most, len(table.columns["id"][1]))
        first += len(table)
    assert first == rows
    assert MOST_STATES < most <= 2 * TYPED_ROWS


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_columns_are_printed_alike_however_they_are_held(format_: show.Format) -> None:
    texts = ["a,b", None, 'say "x"', "two\nlines", "é"]
    codes = np.array([0, -1, 1, 2, 3], np.int32)
    coded = plausible.counts.Coded(codes, [text for text in texts if text is not None])
    numbers = [0.5, 1.0, 1e-9, 1e22, 0.1]
    odd = [{"x": 0.5}, 3, True, None, float("inf")]

    def printed(words: object, sizes: object) -> str:
        out = io.StringIO()
        with redirect_stdout(out):
            show.columns([{"words": words, "size, in m": sizes, "odd": odd}], format_, ["words", "size, in m", "odd"])
        return out.getvalue()

    lists = printed(texts, numbers)
    assert printed(coded, np.array(numbers)) == lists
    if format_ == "jsonl":
        assert [json.loads(line)["words"] for line in lists.splitlines()] == texts
    else:
        import csv

        rows = list(csv.reader(io.StringIO(lists)))
        assert rows[0] == ["words", "size, in m", "odd"]
        assert [row[0] or None for row in rows[1:]] == texts
        assert [float(row[1]) for row in rows[1:]] == numbers
