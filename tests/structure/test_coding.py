"""From tables of any kind to codes."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from plausible.coding import read_cases
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.schema import Variable
from tests.networks.shared import needs_shared, shared


def test_states_are_in_order_whatever_the_order_of_the_rows():
    rows = [{"n": n, "t": t} for n, t in [(10, "b"), (9, "a"), (10, "c"), (1, "b")]]
    cases, turned = read_cases(rows), read_cases(rows[::-1])
    assert [v.states for v in cases.variables] == [("1", "9", "10"), ("a", "b", "c")]
    assert cases.variables == turned.variables
    assert [c.tolist() for c in cases.codes] == [c[::-1].tolist() for c in turned.codes]
    assert cases.codes[0].dtype == np.int8


def test_csv_and_frames_give_the_same(tmp_path):
    frame = pd.DataFrame({"rain": [True, False, True], "n": [1.0, 2.0, np.nan], "wet": ["yes", None, "no"]})
    path = tmp_path / "cases.csv"
    path.write_text("rain,n,wet\ntrue,1,yes\nfalse,2,\ntrue,,no\n")
    one, other = read_cases(frame), read_cases(path)
    assert one.variables == other.variables
    assert [c.tolist() for c in one.codes] == [c.tolist() for c in other.codes] == [[1, 0, 1], [0, 1, -1], [1, -1, 0]]
    assert one.gaps == {"n": 1, "wet": 1}


def test_states_of_a_model_are_kept_and_others_are_refused(tmp_path):
    like = [Variable("wet", states=("yes", "no", "never"))]
    path = tmp_path / "cases.csv"
    path.write_text("rain,wet\na,no\nb,yes\n")
    cases = read_cases(path, like=like)
    assert cases.variables == tuple(like)
    assert cases.codes[0].tolist() == [1, 0]
    path.write_text("rain,wet\na,no\nb,Yes\n")
    with pytest.raises(DataError, match=r"cases.csv, line 3: unknown state of 'wet' 'Yes'.*did you mean 'yes'"):
        read_cases(path, like=like)


def test_gaps_by_name():
    rows = [{"a": "?"}, {"a": "x"}, {"a": ""}, {"a": None}]
    cases = read_cases(rows, gaps=("", "?"))
    assert cases.variables[0].states == ("x",)
    assert cases.codes[0].tolist() == [-1, 0, -1, -1]
    with pytest.raises(DataError, match=r"'a' has no value at all; leave it out with drop=\['a'\]"):
        read_cases([{"a": "", "b": "1"}, {"a": None, "b": "2"}])


def test_many_numbers_are_cut_or_named():
    rows = [{"height": float(i), "sex": "fm"[i % 2]} for i in range(100)]
    with pytest.raises(DataError, match=r"'height' holds 100 different numbers; cut them"):
        read_cases(rows)
    assert [v.name for v in read_cases(rows, drop=["height"]).variables] == ["sex"]
    height = read_cases(rows, cut=4)
    assert height.variables[0].states == ("to 24.75", "24.75 to 49.5", "49.5 to 74.25", "above 74.25")
    assert height.counts(["height"]).tolist() == [25, 25, 25, 25]
    with pytest.raises(CallError, match=r"cut is 1"):
        read_cases(rows, cut=1)


def test_cutting_numbers_that_pile_up_and_gaps():
    rows = [{"n": None if i == 7 else 0.0 if i < 90 else float(i)} for i in range(120)]
    cases = read_cases(rows, cut=3)
    assert cases.gaps == {"n": 1}
    assert cases.counts(["n"]).sum() == 119
    assert cases.variables[0].states == ("to 0", "above 0")


def test_an_identifier_is_said():
    rows = [{"id": f"k{i}", "a": "xy"[i % 2]} for i in range(30)]
    with pytest.warns(PlausibleWarning, match=r"'id' has another value in every row.*drop=\['id'\]"):
        assert len(read_cases(rows).variables[0].states) == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_cases(rows, drop=["id"])
    with pytest.raises(CallError, match=r"unknown column of .* 'Id'.*did you mean 'id'"):
        read_cases(rows, drop=["Id"])


def test_more_states_than_one_byte_holds():
    rows = [{"code": f"c{i % 200:03}", "a": "x"} for i in range(3000)]
    cases = read_cases(rows)
    assert cases.codes[0].dtype == np.int16
    assert cases.codes[0].tolist() == [i % 200 for i in range(3000)]


def test_documents_are_not_a_table(tmp_path):
    (tmp_path / "a.txt").write_text("some words")
    with pytest.raises(CallError, match=r"holds documents, not a table"):
        read_cases(tmp_path)


@needs_shared
def test_real_cases():
    cases = read_cases(shared() / "data/bayesnets/data/insurance.csv.gz")
    assert cases.rows == 20_000
    assert len(cases.variables) == 27
    assert not cases.gaps
    assert {column.itemsize for column in cases.codes} == {1}
