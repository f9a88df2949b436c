"""`plausible learn --network`, update, forget, merge and intervals, in a real shell."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from plausible.files.formats import read, write
from plausible.infer.approximate import sample
from plausible.learning.fit import fit
from plausible.network import Network

ASIA = Network(
    {"tub": [], "smoke": [], "lung": ["smoke"], "either": ["lung", "tub"], "xray": ["either"]},
    {
        "tub": [0.2, 0.8],
        "smoke": [0.5, 0.5],
        "lung": [[0.4, 0.6], [0.1, 0.9]],
        "either": [[[1, 0], [1, 0]], [[1, 0], [0, 1]]],
        "xray": [[0.9, 0.1], [0.1, 0.9]],
    },
    states=("yes", "no"),
)


def plausible(folder: Path, *words: str, status: int = 0) -> tuple[list[dict], str]:
    run = "from plausible.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", run, *words], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == status, ended.stderr
    assert status == 0 or not ended.stdout
    return [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(ASIA, tmp_path / "asia.bif")
    rows = [[ASIA["tub"].child.states[i] for i in case] for case in sample(ASIA, 400, seed=1).tolist()]
    chance = random.Random(1)
    gaps = [[cell if chance.random() > 0.1 else "NA" for cell in row] for row in rows]
    at = ASIA.names.index("either")
    for name, names, body in (
        ("all", ASIA.names, rows),
        ("one", ASIA.names, rows[:250]),
        ("two", ASIA.names, rows[250:]),
        ("gaps", ASIA.names, gaps),
        ("hidden", [n for n in ASIA.names if n != "either"], [row[:at] + row[at + 1 :] for row in rows]),
    ):
        with open(tmp_path / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([names, *body])
    return tmp_path


def test_counts(folder):
    (said,), _ = plausible(folder, "learn", "all.csv", "--network", "asia.bif", "--rule", "mle", "-o", "net.bif")
    assert (said["rows"], said["method"], said["log_likelihood"]) == (400, "counts", None)
    right = fit(ASIA, str(folder / "all.csv"), "maximum-likelihood")
    assert read(folder / "net.bif")["lung"].values == pytest.approx(right["lung"].values)
    plausible(
        folder,
        "learn",
        "one.csv",
        "--network",
        "net.bif",
        "--prior-network",
        "net.bif",
        "--prior-weight",
        "50",
        "-o",
        "p.bif",
    )
    mixed = fit(ASIA, str(folder / "one.csv"), prior=right, weight=50)
    assert read(folder / "p.bif")["lung"].values == pytest.approx(mixed["lung"].values)


def test_update_forget_and_merge(folder):
    for name in ("all", "one", "two"):
        plausible(folder, "learn", f"{name}.csv", "--network", "asia.bif", "-o", f"{name}.plausible")
    (said,), _ = plausible(folder, "update", "one.plausible", "two.csv", "-o", "both.plausible")
    assert said == {"model": "both.plausible", "learned": 150, "rows": 400}
    whole = (folder / "all.plausible").read_bytes()
    assert (folder / "both.plausible").read_bytes() == whole
    plausible(folder, "merge", "one.plausible", "two.plausible", "-o", "merged.plausible")
    assert (folder / "merged.plausible").read_bytes() == whole
    (said,), _ = plausible(folder, "forget", "both.plausible", "one.csv")
    assert said == {"model": "both.plausible", "forgotten": 250, "rows": 150}
    assert (folder / "both.plausible").read_bytes() == (folder / "two.plausible").read_bytes()
    before = (folder / "two.plausible").read_bytes()
    _, said = plausible(folder, "forget", "two.plausible", "one.csv", status=1)
    assert "150 rows learned, too few to forget 250" in said
    assert (folder / "two.plausible").read_bytes() == before
    _, said = plausible(folder, "update", "asia.bif", "one.csv", status=2)
    assert "holds no network with the counts" in said
    _, said = plausible(folder, "update", "two.plausible", "one.csv", "--class", "x", status=2)
    assert "--class is for models of classes" in said


def test_gaps_and_hidden_variables(folder):
    _, said = plausible(folder, "learn", "gaps.csv", "--network", "asia.bif", "-o", "g.bif", status=1)
    assert "if it stands for a gap, say gaps=['NA'] (--gap 'NA')" in said
    (em,), _ = plausible(folder, "learn", "gaps.csv", "--network", "asia.bif", "--gap", "NA", "-o", "g.plausible")
    assert (em["method"], em["rows"], em["stopped"]) == ("em", 400, "converged")
    assert len(em["trace"]) == em["iterations"] + 1
    assert em["trace"] == sorted(em["trace"])
    assert em["gaps"] == (folder / "gaps.csv").read_text().count("NA")
    words = ["learn", "gaps.csv", "--network", "asia.bif", "--gap", "NA", "--method", "lbfgs", "-o", "l.bif"]
    (other,), _ = plausible(folder, *words)
    assert other["log_likelihood"] == pytest.approx(em["log_likelihood"], abs=0.01)
    _, said = plausible(folder, "learn", "hidden.csv", "--network", "asia.bif", "-o", "h.bif", status=1)
    assert "'either'" in said
    assert "say that it is hidden" in said
    words = ["learn", "hidden.csv", "--network", "asia.bif", "--hidden", "either=3", "--seed", "2", "-o", "h.bif"]
    (found,), _ = plausible(folder, *words, "--restarts", "1", "--fixed", "smoke", "--iterations", "3")
    assert read(folder / "h.bif")["either"].child.states == ("1", "2", "3")
    assert read(folder / "h.bif")["smoke"].values.tolist() == [0.5, 0.5]
    assert found["stopped"] == "iterations"
    (found,), _ = plausible(folder, *words, "--restarts", "0")
    assert (found["run"], found["gaps"]) == (1, 0)
    words = [*words, "--restarts", "0", "--iterations", "1"]
    rows = list(csv.reader((folder / "hidden.csv").read_text().splitlines()))
    rows[1][0] = rows[2][0] = ""
    with (folder / "both.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (found,), _ = plausible(folder, "learn", "both.csv", *words[2:])
    assert found["gaps"] == 2
    _, said = plausible(folder, "update", "g.plausible", "all.csv", status=2)
    assert "expected ones" in said


def test_intervals(folder):
    words = ["learn", "all.csv", "--network", "asia.bif", "-o", "net.plausible", "--intervals", ".9"]
    rows, said = plausible(folder, *words)
    assert "5 variables from 400 rows by counts" in said
    assert len(rows) == 2 + 2 + 4 + 8 + 4
    assert all(row["low"] <= row["probability"] <= row["high"] for row in rows)
    assert rows[4]["given"] == {"smoke": "yes"}
    rows, _ = plausible(folder, "query", "net.plausible", "lung", "--given", "xray=yes", "--interval", "0.95")
    assert [row["state"] for row in rows] == ["yes", "no"]
    assert rows[0]["low"] < rows[0]["probability"] < rows[0]["high"]
    _, said = plausible(folder, "query", "asia.bif", "lung", "--interval", "0.95", status=2)
    assert "holds no network with the counts" in said
    words = ["learn", "all.csv", "--network", "asia.bif", "-o", "no.plausible", "--intervals", "95"]
    _, said = plausible(folder, *words, status=2)
    assert "between 0 and 1" in said
    assert not (folder / "no.plausible").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["all.csv", "--hidden", "either", "-o", "x.plausible"], "--hidden goes with --network NET"),
        (["all.csv", "--network", "asia.bif", "--target", "lung", "-o", "x.bif"], "--target is for models of classes"),
        (["all.csv", "--network", "asia.bif", "-o", "x.xyz"], "unknown network file suffix '.xyz'"),
        (["all.csv", "--network", "asia.bif", "--rule", "laplas", "-o", "x.bif"], "did you mean 'laplace'"),
        (["all.csv", "--network", "asia.bif", "--prior-weight", "2", "-o", "x.bif"], "weight of --prior-network"),
        (["all.csv", "--network", "asia.bif", "--hidden", "either", "-o", "x.bif"], "'either' is to be hidden"),
        (["all.csv", "--network", "asia.bif", "--method", "emm", "-o", "x.bif"], "did you mean 'em'"),
        (["--network", "asia.bif", "-o", "x.bif"], "name one table"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_said(folder, words, said):
    _, told = plausible(folder, "learn", *words, status=2)
    assert said in told
    assert not [path for path in folder.iterdir() if path.stem == "x"]
