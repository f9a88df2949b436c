"""Networks from arcs and data."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import plausible
from plausible import CallError, DataError, ModelError, read_cases

ROWS = [{"day": str(i), "rain": rain, "wet": wet} for i, (rain, wet) in enumerate(["nn", "ny", "yy", "yy"])]
ARCS = {"wet": ["rain"]}
LEARNED = [[0.5, 0.5], [0.25, 0.75]]  # (n + 1) / (N + 2)


def test_every_kind_of_data(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    for data in (ROWS, path, str(path), pd.DataFrame(ROWS), pl.DataFrame(ROWS), read_cases(ROWS)):
        network = plausible.fit(ARCS, data, "laplace")
        assert set(network.names) == {"rain", "wet"}
        assert network["wet"].values.tolist() == LEARNED
    assert plausible.fit(plausible.Graph(ARCS), path, "laplace")["wet"].values.tolist() == LEARNED


def test_a_network_keeps_its_states() -> None:
    network = plausible.fit(ARCS, ROWS)
    again = plausible.fit(network, [{"rain": "n", "wet": "n"}], "laplace")
    assert again["rain"].values.tolist() == [2 / 3, 1 / 3]
    with pytest.raises(DataError, match="row 1: unknown state of 'rain' 'z'"):
        plausible.fit(network, [{"rain": "z", "wet": "n"}])


def test_only_the_columns_of_the_arcs_matter() -> None:
    rows = [row | {"wind": None if i else "weak"} for i, row in enumerate(ROWS)]
    assert plausible.fit(ARCS, rows, "laplace")["wet"].values.tolist() == LEARNED
    with pytest.raises(DataError, match="column 'wind' has 3 gaps in 4 rows"):
        plausible.fit({"wind": []}, rows)


def test_mistakes() -> None:
    with pytest.raises(CallError, match=r"unknown column of the rows 'Rain'.*did you mean 'rain'"):
        plausible.fit({"wet": ["Rain"]}, ROWS)
    with pytest.raises(ModelError, match="cycle: wet -> rain -> wet"):
        plausible.fit({"wet": ["rain"], "rain": ["wet"]}, ROWS)
    with pytest.raises(CallError, match="did you mean 'laplace'"):
        plausible.fit(ARCS, ROWS, "laplce")


def test_predict_takes_the_same_data(tmp_path: Path) -> None:
    network = plausible.fit(ARCS, ROWS, "laplace")
    table = [{"wet": "y"}, {"wet": None}]
    wanted = plausible.predict(network, {"wet": ["y", None]}, ["rain"])["rain"].tolist()
    path = tmp_path / "wet.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    for data in (table, pd.DataFrame(table), pl.DataFrame(table)):
        assert plausible.predict(network, data, ["rain"])["rain"].tolist() == wanted
    path.write_text("rain,wet\n,y\nn,\n")
    assert plausible.predict(network, path, ["rain"])["rain"].tolist() == wanted
    (tmp_path / "letter.txt").write_text("wet")
    with pytest.raises(CallError, match="holds documents, not a table"):
        plausible.predict(network, tmp_path / "letter.txt")
    with pytest.raises(CallError, match=r"unknown variable 'Wet'.*did you mean 'wet'"):
        plausible.predict(network, [{"Wet": "y"}])
