"""Dates as days, from any source."""

from __future__ import annotations

import datetime

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import plausible
from plausible.errors import DataError, PlausibleWarning
from plausible.files.model import from_bytes, to_bytes

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(0, 2, 200)
DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(int(day)) for day in RANDOM.integers(0, 90, 200) + 60 * LABELS]
FRAME = pl.DataFrame({"when": [None, *DAYS[1:]], "class": np.where(LABELS, "late", "early")})
OPTIONS = {"target": "class", "kinds": {"when": "date"}}


def test_any_source_gives_the_same_bytes(tmp_path):
    FRAME.write_csv(tmp_path / "t.csv")
    FRAME.write_parquet(tmp_path / "t.parquet")
    expected = to_bytes(plausible.learn(FRAME, **OPTIONS))
    pandas = FRAME.to_pandas()
    for source in (
        FRAME.to_arrow(),
        FRAME.lazy(),
        pandas,
        pandas.assign(when=pd.to_datetime(pandas["when"])),
        FRAME.to_dicts(),
        duckdb.sql(f"from '{tmp_path}/t.parquet'"),
        str(tmp_path / "t.csv"),
        str(tmp_path / "t.parquet"),
    ):
        assert to_bytes(plausible.learn(source, **OPTIONS)) == expected


def test_days_are_numbers_and_shown_as_dates():
    model = from_bytes(to_bytes(plausible.learn(FRAME, raw=True, **OPTIONS)))
    by_hand = [
        {"when": (day - datetime.date(1970, 1, 1)).days, "class": row["class"]}
        for day, row in zip(DAYS, FRAME.to_dicts(), strict=True)
    ]
    numbers = plausible.learn(
        [{**by_hand[0], "when": None}, *by_hand[1:]], target="class", kinds={"when": "continuous"}, raw=True
    )
    why = plausible.explain(model, {"when": "2024-05-20 12:00"})
    assert why.evidence[0].term == "2024-05-20 12:00:00"
    same = plausible.explain(numbers, {"when": 19863.5})
    assert (why.label, why.score) == (same.label, same.score)


def test_what_is_no_date_is_named():
    with pytest.raises(DataError, match=r"row 3: 'soon' in column 'when' is no date such as 2024-01-31"):
        plausible.learn(
            [{"when": "2024-01-01", "class": "a"}, {"when": None, "class": "b"}, {"when": "soon", "class": "b"}],
            **OPTIONS,
        )


def test_dates_are_left_out_and_said():
    frame = FRAME.with_columns(n=pl.int_range(200) * 1.5)
    with pytest.warns(PlausibleWarning, match="'when' holds dates: left out.*--as when=date takes them as days"):
        assert [variable.name for variable in plausible.learn(frame, target="class").variables] == ["n"]
