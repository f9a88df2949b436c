"""The reader of CSV, held against Python's own, and its typed cells against its texts."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import _native
from plausible.errors import DataError
from plausible.sources import open_source, streams

PIECES = st.lists(
    st.sampled_from(["a", "b c", "é", "3", "-1.5e2", ",", ",", '"', '""', "\n", "\r\n", "\r", " "]), max_size=40
)


def by_python(text: str) -> list[list[str]] | None:
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None


def by_core(text: str, width: int) -> list[list[str | None]] | None:
    """In blocks of whole lines, as files are read."""
    parser = _native.Delimited(",", [1] * width)
    try:
        for line in io.StringIO(text, newline="\n"):
            parser.feed(line.encode())
        parser.finish()
    except ValueError:
        return None
    _, columns, _ = parser.take()
    return [list(row) for row in zip(*columns, strict=True)]


@settings(max_examples=500)
@given(PIECES)
def test_rows_are_those_of_python(pieces: list[str]) -> None:
    text = "x,y\n" + "".join(pieces)
    expected = by_python(text)
    if expected is not None and any(len(row) != 2 for row in expected):
        expected = None
    found = by_core(text, 2)
    assert found == (None if expected is None else [[cell or None for cell in row] for row in expected[1:]])


NUMBERS = ["39", " 39", "-0", "1e400", "1_000", ".5", "5.", "+7", "nan", "-inf", "1" * 30, "0.1", "1e-5", "", "00501"]


def test_numbers_are_those_of_python(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n,c\n" + "".join(f"{number},x\n" for number in NUMBERS))
    source = open_source(path)
    (table,) = source.typed(source, ("n", "c"), frozenset(["n"]))  # type: ignore[misc,union-attr]
    np.testing.assert_array_equal(table.columns["n"], [float(number or "nan") for number in NUMBERS])
    path.write_text("n,c\n1,x\n0x10,y\n")
    with pytest.raises(DataError, match=r"line 3: '0x10' in column 'n' is no number"):
        list(source.typed(source, ("n", "c"), frozenset(["n"])))  # type: ignore[misc,arg-type]


def test_typed_cells_are_the_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 64)
    random = np.random.default_rng(3)
    words = ["a", "seventeen letters", "one\ntwo", 'he said "no"', "", "été", "x" * 40, "x" * 39 + "y", "a,b"]
    rows = [[words[k] for k in random.integers(0, len(words), 3)] for _ in range(500)]
    with open(tmp_path / "t.csv", "w", newline="") as file:
        csv.writer(file).writerows([["p", "q", "r"], *rows])
    source = open_source(tmp_path / "t.csv")
    texts: dict[str, list[Any]] = {name: [] for name in "pqr"}
    for table in source.tables():
        for name in texts:
            texts[name] += table.columns[name]  # type: ignore[operator]
    found: dict[str, list[Any]] = {name: [] for name in "pqr"}
    for table in source.typed(source, ("p", "q", "r"), frozenset()):  # type: ignore[misc,union-attr]
        for name in found:
            codes, states = table.columns[name]  # type: ignore[misc]
            found[name] += [None if code < 0 else states[code] for code in codes]
    assert found == texts == {name: [row[i] or None for row in rows] for i, name in enumerate("pqr")}


def test_conditions_and_headers_keep_typed_cells_away(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    assert open_source(tmp_path / "t.csv", where="a > 1").typed is None
    assert open_source(tmp_path / "t.csv", headers="none").typed is None
