"""CSV, JSON lines, Parquet, SQL, data frames, and what they share."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plausible.errors import CallError, DataError
from plausible.sources import cell_text, open_source

Rows = Callable[..., list[tuple[Any, ...]]]

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff"), max_size=20)
CELLS = st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=30)
on_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@on_files
@given(CELLS, st.sampled_from(",\t;|"), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_csv_round_trip(
    rows: Rows, tmp_path: Path, cells: list[tuple[str, ...]], delimiter: str, packed: bool, end: str
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerows([("text", "分类", "class"), *cells])
    raw = text.getvalue().encode()
    path = write(tmp_path / "t.csv", gzip.compress(raw) if packed else raw)
    source = open_source(path)
    assert source.columns == ("text", "分类", "class")
    assert rows(source) == [tuple(cell or None for cell in row) for row in cells]


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | st.lists(st.integers())


@on_files
@given(st.lists(st.fixed_dictionaries({"a": WORDS, "b": VALUES}), min_size=1), st.booleans(), st.booleans())
def test_json_lines_round_trip(
    rows: Rows, tmp_path: Path, given: list[dict[str, Any]], ascii: bool, blank: bool
) -> None:
    lines = [json.dumps(row, ensure_ascii=ascii) for row in given]
    path = write(tmp_path / "t.jsonl", "\n".join(lines) + ("\n\n  \n" if blank else ""))
    assert rows(open_source(path), ["a", "b"]) == [(row["a"], cell_text(row["b"])) for row in given]


@on_files
@given(st.lists(st.tuples(WORDS | st.none(), st.integers(-(2**63), 2**63 - 1) | st.none()), min_size=1))
def test_parquet_round_trip(rows: Rows, tmp_path: Path, given: list[tuple[str | None, int | None]]) -> None:
    texts, numbers = map(list, zip(*given, strict=True))
    path = tmp_path / "a'[1]*.parquet"
    pq.write_table(pa.table({"text": pa.array(texts, pa.string()), "n": pa.array(numbers, pa.int64())}), path)
    source = open_source(path)
    assert rows(source, ["n", "text"]) == [(cell_text(n), text) for text, n in given]
    assert source.numeric == {"n"}


@on_files
@given(
    st.binary(max_size=200) | WORDS.map(str.encode) | st.text('a,"\n{}:1[]\t \\', max_size=60).map(str.encode),
    st.sampled_from(["csv", "tsv", "jsonl", "json", "parquet", "txt", "html", "eml", "mbox", "gz", "csv.gz", "x"]),
    st.sampled_from([b"", b"PAR1", b"From a 10:00 2024\n", b"Subject: a\n", b"\x1f\x8b\x08", b"\xff\xfe", b"a,b\n"]),
    st.sampled_from([None, "utf-8", "utf-16", "gb18030", "utf-7", "idna"]),
    st.sampled_from([None, "all", "none"]),
)
def test_any_bytes(
    tmp_path: Path, raw: bytes, suffix: str, start: bytes, encoding: str | None, headers: str | None
) -> None:
    path = write(tmp_path / f"f.{suffix}", start + raw)
    try:
        for table in open_source(path, encoding=encoding, headers=headers).tables():
            assert {len(column) for column in table.columns.values()} == {len(table)}
            assert table.place(len(table) - 1)
            for column in table.columns.values():
                assert all(cell is None or cell.encode() is not None for cell in column)
    except (DataError, CallError):
        pass


def test_places_and_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'id,age,text\n007,1.5,"two\nlines"\n\n008,,x\n009,3,y\n')
    source = open_source(path)
    assert source.numeric == {"id", "age"}
    (table,) = source.tables(numbers=["age"])
    assert [table.place(i) for i in range(3)] == [f"{path}, line {line}" for line in (2, 5, 6)]
    assert table.columns["id"] == ["007", "008", "009"]
    np.testing.assert_array_equal(table.columns["age"], [1.5, np.nan, 3])
    with pytest.raises(DataError, match="line 2: 'two\\\\nlines' in column 'text' is no number"):
        list(source.tables(["text"], numbers=["text"]))
    with pytest.raises(CallError, match=r"unknown column of .*t\.csv 'Age' .*did you mean 'age'"):
        source.tables(["Age"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a,b\n1,2\n3,"x"y\n5,6\n', "line 3: .*double a quotation mark"),
        ('a,b\n1,2\n3,"x\n5,6\n', "line 3: .*close every quoted cell"),
        ("a,b\n1,2\n3\n", "line 3: 1 cell where the first line names 2 columns"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 cells"),
        ("a,b,a\n1,2,3\n", "two columns have the name 'a'"),
        ("", "is empty"),
    ],
)
def test_broken_csv(tmp_path: Path, rows: Rows, text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"t\.csv.*{message}"):
        rows(write(tmp_path / "t.csv", text))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "gb18030", "utf-32"])
def test_csv_in_many_encodings(tmp_path: Path, encoding: str, rows: Rows) -> None:
    text = "文本,类别\n" + "我们今天讨论文本分类的方法。,科技\n" * 50_000
    source = open_source(write(tmp_path / "t.csv", text.encode(encoding)))
    assert source.columns == ("文本", "类别")
    assert set(rows(source)) == {("我们今天讨论文本分类的方法。", "科技")}
    assert bool(source.notes) == (encoding != "utf-8-sig")
    forced = open_source(tmp_path / "t.csv", encoding=encoding)
    assert len(rows(forced)) == 50_000
    assert not forced.notes


def test_one_latin_1_line_among_many(tmp_path: Path, rows: Rows) -> None:
    path = write(tmp_path / "t.csv", b"a,b\n" + "é,1\n".encode() * 500_000 + "ü,2\n".encode("latin-1"))
    source = open_source(path)
    assert rows(source)[-1] == ("ü", "2")
    noted = source.notes["lines that are not UTF-8, read as CP1252"]
    assert (noted.place.partition(",")[0], noted.times) == (str(path), 1)
    with pytest.raises(DataError, match=r"after byte .*: lines that are not UTF-8"):
        rows(open_source(path, strict=True))


def test_forced_encoding_that_is_wrong(tmp_path: Path, rows: Rows) -> None:
    path = write(tmp_path / "t.csv", b"a,b\n" + b"x,y\n" * 500_000 + b"\xff,1\n")
    with pytest.raises(DataError, match="byte 2000004 is not utf-8"):
        rows(path, encoding="utf-8")


def test_odd_cells(tmp_path: Path, rows: Rows) -> None:
    long = "word " * 4_000_000
    assert rows(write(tmp_path / "t.csv", f"a,b\n{long},1\nx\0y,2\n")) == [(long, "1"), ("x\0y", "2")]
    assert rows(write(tmp_path / "t.jsonl", json.dumps({"a": long}))) == [(long,)]
    assert rows(write(tmp_path / "mac.csv", "a,b\r1,2\r3,4\r")) == [("1", "2"), ("3", "4")]
    assert rows(write(tmp_path / "one.csv", "a\nx\n")) == [("x",)]
    assert rows(write(tmp_path / "t.jsonl", r'{"a": "x\ud83dy", "b": "\ud83d\ude00"}')) == [("x�y", "😀")]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"a": 1}\n\n{"a": 2\n{"a": 3}', "line 3 is not JSON"),
        ('{"a": 1}\n[1]', "line 2 is not a JSON object"),
        ('{"a": 1}\n{"a": 1},{"a": 2}\n', "line 2 is not JSON"),
        ('{"a": 1}\n{"a": ' + "[" * 100_000 + "\n", "line 2"),
        ('{"a": 1}\n{"a": ' + "9" * 5000 + "}\n", "line 2 is not JSON: Exceeds the limit"),
        ("", "holds no JSON objects"),
        ('[{"a": 1}]', "is a JSON array.*--sql"),
    ],
)
def test_broken_json_lines(tmp_path: Path, rows: Rows, lines: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        rows(write(tmp_path / "t.jsonl", lines))


def test_json_lines_with_changing_keys(tmp_path: Path, rows: Rows) -> None:
    start = '{"a": 1}\n{"b": {"x": [1, "é"]}}\n'
    source = open_source(write(tmp_path / "t.jsonl", start + '{"a": 2}\n' * 200_000 + '{"late": 1}\n'))
    assert source.columns == ("a", "b")
    assert rows(source)[:2] == [("1", None), (None, '{"x": [1, "é"]}')]
    assert source.notes == {
        "key 'late' is not among those of the first lines, left out": (f"{tmp_path}/t.jsonl, line 200003", 1)
    }


def test_what_a_name_can_not_hide(tmp_path: Path, rows: Rows) -> None:
    """Content decides before the name does."""
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "t.csv")
    assert rows(open_source(tmp_path / "t.csv")) == [("x",)]
    assert open_source(write(tmp_path / "data", "a;b\n1;2\n")).columns == ("a", "b")
    assert open_source(write(tmp_path / "data", '{"k": 1}\n')).columns == ("k",)
    assert open_source(write(tmp_path / "prose.txt", "a;b\n1;2\n")).documents
    assert open_source(write(tmp_path / "T.CSV.GZ", gzip.compress(b"a;b\n1;2\n"))).columns == ("a", "b")


def test_broken_parquet(tmp_path: Path) -> None:
    whole = io.BytesIO()
    pq.write_table(pa.table({"a": ["x" * 100] * 1000}), whole)
    with pytest.raises(DataError, match=r"t\.parquet"):
        open_source(write(tmp_path / "t.parquet", whole.getvalue()[:-9]))
    with pytest.raises(DataError, match="Parquet, which needs a file that isn't packed"):
        open_source(write(tmp_path / "t.parquet.gz", gzip.compress(whole.getvalue())))


def test_sql(tmp_path: Path, rows: Rows) -> None:
    pq.write_table(pa.table({"text": ["x", "y", None], "n": [1, 2, None], "on": [True, False, None]}), tmp_path / "p")
    query = f"select text, n, \"on\", n / 2 as half from read_parquet('{tmp_path}/p') order by n desc nulls last;"
    source = open_source(query)
    assert source.columns == ("text", "n", "on", "half")
    assert source.numeric == {"n", "half"}
    assert rows(source) == [("y", "2", "false", "1"), ("x", "1", "true", "0.5"), (None, None, None, None)]
    assert next(source.tables()).place(1) == "the SQL text, row 2"
    assert rows(open_source(query, where="half > 0.5"), ["text"]) == [("y",)]
    with pytest.raises(CallError, match=r"the SQL text: .*txt"):
        open_source(f"select txt from read_parquet('{tmp_path}/p')")
    with pytest.raises(CallError, match=r"the SQL text: .*nope"):
        open_source("from 'nope.csv'")
    with pytest.raises(DataError, match=r"the SQL text: .*abc"):
        rows(open_source("select cast(x as int) as y from (values ('abc')) t(x)"))


def test_long_rows_come_in_short_tables() -> None:
    query = "select repeat('word ', 200000) as text from range(40)"
    sizes = [len(table) for table in open_source(query).tables()]
    assert sum(sizes) == 40
    tables = open_source([{"a": "x"}] * 3000).tables()
    assert [len(table) for table in tables] == [1024, 1024, 952]


@pytest.fixture(params=["csv", "jsonl", "parquet", "pandas", "polars", "lazy", "arrow", "duckdb", "rows"])
def weather(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    rows = [
        {"sky": "sunny", "degrees": 25.5, "wind's": "weak"},
        {"sky": "rain", "degrees": 9.0, "wind's": None},
        {"sky": None, "degrees": None, "wind's": "strong"},
    ]
    match request.param:
        case "csv":
            return write(tmp_path / "w.csv", "sky,degrees,wind's\nsunny,25.5,weak\nrain,9,\n,,strong\n")
        case "jsonl":
            return write(tmp_path / "w.jsonl", "\n".join(map(json.dumps, rows)))
        case "parquet":
            pl.DataFrame(rows).write_parquet(tmp_path / "w.parquet")
            return tmp_path / "w.parquet"
        case "pandas":
            return pd.DataFrame(rows)
        case "polars":
            return pl.DataFrame(rows)
        case "lazy":
            return pl.DataFrame(rows).lazy()
        case "arrow":
            return pa.Table.from_pylist(rows)
        case "duckdb":
            frame = pl.DataFrame(rows).to_arrow()
            return duckdb.from_arrow(frame)
        case _:
            return rows


def test_every_table_gives_the_same(weather: Any, rows: Rows) -> None:
    """The conformance of every kind of table: cells, numbers, conditions, names, a second pass."""
    source = open_source(weather)
    assert source.columns == ("sky", "degrees", "wind's")
    assert not source.documents
    assert source.numeric == {"degrees"}
    expected = [("sunny", "25.5", "weak"), ("rain", "9", None), (None, None, "strong")]
    assert rows(source) == rows(source) == expected
    assert rows(source, ["wind's", "sky"]) == [(wind, sky) for sky, _, wind in expected]
    numbers = [table.columns["degrees"] for table in source.tables(["degrees"], numbers=["degrees"])]
    np.testing.assert_array_equal(np.concatenate(numbers), [25.5, 9, np.nan])
    assert source.size is None or source.position <= source.size
    with pytest.raises(CallError, match="did you mean 'sky'"):
        source.tables(["Sky"])


@pytest.mark.parametrize(
    ("where", "kept"),
    [("degrees > 10", 1), ("sky is null", 1), ("\"wind's\" = 'weak' or sky = 'rain'", 2), ("false", 0)],
)
def test_where(weather: Any, where: str, kept: int, rows: Rows) -> None:
    source = open_source(weather, where=where)
    assert len(rows(source)) == len(rows(source, ["sky"])) == kept
    if kept:
        table = next(source.tables())
        assert table.place(0)
    with pytest.raises(CallError, match=r"--where 'degree > 1': unknown column of .* did you mean 'degrees'"):
        open_source(weather, where="degree > 1")
    with pytest.raises(CallError, match="--where 'degrees >': Parser Error"):
        open_source(weather, where="degrees >")


def test_headers_in_tables(rows: Rows) -> None:
    article = "From: a@b\nSubject: s\n\nbody"
    table = [{"text": article, "n": 1}, {"text": "plain", "n": 2}, {"text": None, "n": 3}]
    assert rows(table, ["text"]) == [(article,), ("plain",), (None,)]
    assert rows(table, ["text"], headers="none") == [("body",), ("plain",), (None,)]


def test_several_files(tmp_path: Path, rows: Rows) -> None:
    one, two = write(tmp_path / "1.csv", "a,b\n1,2\n"), write(tmp_path / "2.csv", "b,a\n3,4\n")
    source = open_source([one, two])
    assert rows(source) == [("1", "2"), ("4", "3")]
    assert source.position == source.size == 16
    pq.write_table(pa.table({"a": ["5"], "b": ["4"]}), tmp_path / "3.parquet")
    parts = [tmp_path / "3.parquet", one, two]
    assert rows(parts, where="b = '4'") == rows(parts[::-1], ["a", "b"], where="b = '4'")[::-1]
    with pytest.raises(CallError, match="don't go together"):
        open_source([one, write(tmp_path / "3.txt", "x")])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**70, str(2**70)),
        (1e22, "10000000000000000000000"),
        (-0.0, "0"),
        (float("inf"), "inf"),
        (Decimal("3.00"), "3"),
        (Decimal("100"), "100"),
        (np.float32(0.5), "0.5"),
        (np.int8(3), "3"),
        (np.bool_(True), "true"),
        (np.array([1, 2]), "[1, 2]"),
        (pd.NaT, None),
        (pd.NA, None),
        (datetime.datetime(2024, 1, 2, 3, 4), "2024-01-02 03:04:00"),
        ({"d": datetime.date(2024, 1, 2)}, '{"d": "2024-01-02"}'),
        ("NaT", "NaT"),
        (b"caf\xe9", "café"),
    ],
)
def test_cell_text(value: Any, text: str | None) -> None:
    assert cell_text(value) == text


@pytest.mark.parametrize("what", [3, None, [], [1, 2], ["a", 1], object(), pd.Series([1]), {"a": [1]}, b"path"])
def test_no_source(what: Any) -> None:
    with pytest.raises(CallError):
        open_source(what)
