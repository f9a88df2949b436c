"""The same rows give the same model from any kind of source, and a frame gives back a frame of its kind."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import plausible
from plausible.errors import DataError
from plausible.files.model import to_bytes

RANDOM = np.random.default_rng(11)
FRAME = pd.DataFrame(
    {
        "age": np.where(RANDOM.random(3000) < 0.1, np.nan, RANDOM.normal(40, 9, 3000).round(2)),
        "job": RANDOM.choice(np.array(["clerk", "nurse", "żółw", None], dtype=object), 3000),
        "rooms": RANDOM.integers(1, 5, 3000),
        "owner": RANDOM.random(3000) < 0.4,
        "class": RANDOM.choice(["a", "b", "c"], 3000),
    }
)
KINDS = {"rooms": "categorical"}


def learned(source, **options):
    return plausible.learn(source, **{"target": "class", "kinds": KINDS, **options})


@pytest.fixture
def files(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    pl.from_pandas(FRAME).write_parquet(tmp_path / "t.parquet")
    return tmp_path


def test_any_source_gives_the_same_bytes(files):
    expected = to_bytes(learned(FRAME))
    polars = pl.from_pandas(FRAME)
    for source in (
        polars,
        polars.to_arrow(),
        FRAME.astype({"job": "category"}),
        str(files / "t.parquet"),
        f"from '{files}/t.parquet'",
    ):
        assert to_bytes(learned(source)) == expected
    csv = FRAME.assign(owner=FRAME["owner"].map({True: "true", False: "false"}))
    csv.to_csv(files / "t.csv", index=False)
    assert to_bytes(learned(str(files / "t.csv"))) == expected


def test_conditions_hold_for_typed_cells(files):
    some = to_bytes(learned(FRAME[FRAME["rooms"] > 2]))
    assert to_bytes(learned(str(files / "t.parquet"), where="rooms > 2")) == some


def test_infinite_cells_of_files_and_frames_are_named(tmp_path):
    frame = FRAME.copy()
    frame.loc[4, "age"] = np.inf
    pl.from_pandas(frame).write_parquet(tmp_path / "t.parquet")
    for source in (frame, str(tmp_path / "t.parquet")):
        with pytest.raises(DataError, match="row 5: column 'age' holds inf"):
            learned(source)


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas, lambda frame: pl.from_pandas(frame).to_arrow()])
def test_a_frame_comes_back_as_it_went(kind):
    model = learned(FRAME)
    given = kind(FRAME.drop(columns="class"))
    found = plausible.classify_frame(model, given, probabilities=True)
    assert type(found) is type(given)
    back = pl.DataFrame(found) if not isinstance(found, pl.DataFrame) else found
    assert back.columns == [
        "age",
        "job",
        "rooms",
        "owner",
        "label",
        "probability",
        *(f"probability {c}" for c in "abc"),
    ]
    assert back["probability"].to_list() == pytest.approx(
        back.select(pl.max_horizontal(pl.col("^probability .$"))).to_series().to_list()
    )


def test_lazy_frames_and_relations_come_back_as_they_went(files):
    model = learned(FRAME)
    expected = plausible.classify_frame(model, FRAME)
    lazy = plausible.classify_frame(model, pl.scan_parquet(files / "t.parquet"))
    relation = plausible.classify_frame(model, duckdb.sql(f"from '{files}/t.parquet'"))
    assert isinstance(lazy, pl.LazyFrame)
    assert type(relation) is type(duckdb.sql("select 1"))
    for found in (lazy.collect(), relation.pl()):
        assert found["label"].to_list() == expected["label"].tolist()
        assert found["probability"].to_list() == expected["probability"].tolist()


def test_answers_do_not_depend_on_the_kind_of_source(files):
    model = learned(FRAME)
    expected = plausible.classify(model, FRAME).log_probabilities
    polars = pl.from_pandas(FRAME)
    for source in (
        files / "t.parquet",
        f"from '{files}/t.parquet'",
        polars,
        polars.lazy(),
        polars.to_arrow(),
        duckdb.sql(f"from '{files}/t.parquet'"),
        polars.to_dicts(),
    ):
        np.testing.assert_array_equal(plausible.classify(model, source).log_probabilities, expected)
    assert len(plausible.classify(model, FRAME[:0])) == 0


def test_forgetting_typed_rows_and_conditions(files):
    from click.testing import CliRunner

    from plausible.cli import plausible as command

    def run(*arguments):
        result = CliRunner().invoke(command, [str(one) for one in arguments])
        assert not result.exception, result.output

    options = ("--target", "class", "--as", "rooms=categorical", "--raw")
    for kind in ("csv", "parquet"):
        run("learn", files / f"t.{kind}", *options, "-o", files / "whole")
        run("learn", files / f"t.{kind}", *options, "--where", "rooms < 3", "-o", files / "some")
        FRAME[FRAME["rooms"] >= 3].to_csv(files / "gone.csv", index=False)
        pl.from_pandas(FRAME[FRAME["rooms"] >= 3]).write_parquet(files / "gone.parquet")
        run("forget", files / "whole", files / f"gone.{kind}", "-o", files / "left")
        assert (files / "left").read_bytes() == (files / "some").read_bytes()
