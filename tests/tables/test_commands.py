"""The command line on tables, from learning to forgetting."""

from __future__ import annotations

import json
import math
import warnings
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

from plausible.cli import plausible as command
from plausible.errors import ModelError, PlausibleWarning
from plausible.files.model import load

pytestmark = pytest.mark.filterwarnings("ignore::plausible.errors.PlausibleWarning")


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(5)
    lines = ["id,age,plan,note,risk"]
    for i in range(200):
        risk = "high" if random.random() < 0.4 else "low"
        age = random.normal(50 if risk == "high" else 35, 8)
        plan = random.choice(["basic", "gold", ""], p=[0.6, 0.3, 0.1] if risk == "high" else [0.2, 0.7, 0.1])
        words = random.choice(
            ["late", "paid", "call", "letter"], 5, p=[0.4, 0.1, 0.3, 0.2] if risk == "high" else [0.1, 0.5, 0.2, 0.2]
        )
        lines.append(f"c{i},{'' if i % 11 == 0 else f'{age:.2f}'},{plan},{' '.join(words)} {i},{risk}")
    path = tmp_path / "loans.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*arguments, fails=False):
    result = CliRunner().invoke(command, [str(one) for one in arguments])
    assert bool(result.exception) == fails, result.output + repr(result.exception)
    return result.exception if fails else result.stdout


def test_all_verbs_on_mixed_columns(table, tmp_path):
    model = tmp_path / "loans.plausible"
    told = json.loads(run("learn", table, "--target", "risk", "-o", model))
    assert (told["documents"], told["classes"]) == (200, 2)
    info = json.loads(run("info", model))
    assert info["columns"]["age"] == "continuous"
    assert set(info["columns"]) == {"age", "plan"}

    answers = [json.loads(line) for line in run("classify", model, table, "--probabilities").splitlines()]
    own = ["id", "age", "plan", "note", "risk"]
    assert list(answers[0]) == [*own, "label", "probability", "probabilities", "predicted_note"]
    assert sum(one["label"] == one["risk"] for one in answers) > 160

    why = json.loads(run("explain", model, table, "--row", 3, "--bits"))
    total = why["prior"] + why["absent"] + sum(one["weight"] for one in why["evidence"])
    assert why["score"] == pytest.approx(total)
    assert set(why["columns"]) <= {"age", "plan", "note"}
    assert "bits" in run("explain", model, table, "--row", 3, "--bits", "--format", "table")

    ranked = [json.loads(line) for line in run("rank", model, table, "--for", "high", "--top", "10%").splitlines()]
    assert len(ranked) == 20
    words = [json.loads(line) for line in run("words", model, "--class", "high").splitlines()]
    assert any(one["word"] == "plan=basic" for one in words)
    assert any(one["word"] == "late" for one in words)
    assert run("words", model, "--format", "table")


def test_mixed_columns_do_better_than_each(table):
    def accuracy(*options):
        return json.loads(run("evaluate", table, "--target", "risk", "--leave-one-out", *options))["accuracy"]

    both = accuracy()
    assert both > accuracy("--ignore", "note")
    assert both > accuracy("--text", "note")


def test_cuts_that_know_the_row_left_out_are_said(table):
    arguments = ("evaluate", table, "--target", "risk", "--ignore", "note", "--ignore", "id", "--as", "age=bins:4")
    with pytest.warns(PlausibleWarning, match="'age': cut into intervals with all rows, the one left out, too"):
        run(*arguments, "--leave-one-out")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlausibleWarning)
        run(*arguments, "--folds", "4")


def test_rows_without_a_class_are_said_once(table, tmp_path):
    gappy = tmp_path / "gappy.csv"
    gappy.write_text(table.read_text() + "z1,33,basic,,\n")
    for way in (["--folds", "4"], ["--leave-one-out"], ["--test-share", ".3"]):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            run("evaluate", gappy, "--target", "risk", "--ignore", "note", *way)
        assert sum("without a class in 'risk'" in str(one.message) for one in said) == 1


def test_numbers_are_normal_or_student(table, tmp_path):
    def info(*options):
        run("learn", table, "--target", "risk", "--ignore", "note", "-o", tmp_path / "m", *options)
        return run("info", tmp_path / "m")

    for options in ([], ["--smoothing", "m=2"]):
        assert "student" in info(*options)
    for options in (["--model", "book"], ["--numbers", "normal"]):
        assert "student" not in info(*options)
    run("estimate", tmp_path / "m", "--numbers", "student", "-o", tmp_path / "n")
    assert load(tmp_path / "n").rules.numbers == "student"


def test_halves_merge_and_forget_to_the_same_bytes(table, tmp_path):
    lines = table.read_text().splitlines()
    halves = []
    for k in range(2):
        half = tmp_path / f"half{k}.csv"
        half.write_text("\n".join([lines[0], *lines[1 + k :: 2]]) + "\n")
        halves.append(half)
    options = [
        "--target",
        "risk",
        "--ignore",
        "id",
        "--ignore",
        "note",
        "--as",
        "age=continuous",
        "--as",
        "plan=categorical",
        "--raw",  # a calibration is fitted on what was learned together
    ]
    for source, name in [(table, "whole"), (halves[0], "a"), (halves[1], "b")]:
        run("learn", source, *options, "-o", tmp_path / name)
    run("merge", tmp_path / "b", tmp_path / "a", "-o", tmp_path / "merged")
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()
    run("forget", tmp_path / "merged", halves[1], "-o", tmp_path / "left")
    assert (tmp_path / "left").read_bytes() == (tmp_path / "a").read_bytes()
    run("forget", tmp_path / "a", halves[1], fails=True)


@pytest.mark.parametrize("kind", ["bins", "bins:4", "mdl"])
def test_intervals(table, tmp_path, kind):
    model = tmp_path / "m"
    run("learn", table, "--target", "risk", "--ignore", "note", "--as", f"age={kind}", "-o", model)
    (age,) = [v for v in load(model).variables if v.name == "age"]
    assert age.ordered
    assert len(age.states) == len(age.cuts) + 1
    assert 2 <= len(age.states) <= 10
    assert json.loads(run("info", model))["columns"]["age"].startswith("intervals: 'up to ")
    assert (
        json.loads(run("evaluate", table, "--target", "risk", "--ignore", "note", "--as", f"age={kind}", "--folds", 5))[
            "accuracy"
        ]
        > 0.6
    )


def test_costs_move_the_answer(table, tmp_path):
    model = tmp_path / "m"
    run("learn", table, "--target", "risk", "--ignore", "note", "-o", model)

    def answered(*options):
        return [json.loads(line)["label"] for line in run("classify", model, table, *options).splitlines()]

    assert answered("--cost", "high:low=1000").count("high") > answered().count("high")


def test_rules_of_a_learned_table_can_change(table, tmp_path):
    run("learn", table, "--target", "risk", "--ignore", "note", "--raw", "-o", tmp_path / "m")
    run("estimate", tmp_path / "m", "--smoothing-of", "plan=m=50", "--floor", "0.01", "-o", tmp_path / "n")
    assert load(tmp_path / "n").rules.smoothing_of("plan").m == 50
    run(
        "learn",
        table,
        "--target",
        "risk",
        "--ignore",
        "note",
        "--raw",
        "--smoothing-of",
        "plan=m=50",
        "--floor",
        "0.01",
        "-o",
        tmp_path / "k",
    )
    assert (tmp_path / "k").read_bytes() == (tmp_path / "n").read_bytes()


def test_strict_stops_at_values_never_learned(table, tmp_path):
    run("learn", table, "--target", "risk", "--ignore", "note", "-o", tmp_path / "m")
    new = tmp_path / "new.csv"
    new.write_text("id,age,plan\nc1,30,gold\nc2,31,platinum\n")
    assert "line 3: 'platinum' in column 'plan'" in str(run("classify", tmp_path / "m", new, "--strict", fails=True))
    assert len(run("classify", tmp_path / "m", new).splitlines()) == 2


def test_damaged_members_are_refused(table, tmp_path):
    model = tmp_path / "m"
    run("learn", table, "--target", "risk", "--ignore", "note", "-o", model)
    with zipfile.ZipFile(model) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert {"column.0.digits.npy", "column.1.states.json"} <= set(members)
    random = np.random.default_rng(0)
    for name in members:
        for _ in range(20):
            broken = dict(members)
            data = bytearray(broken[name])
            data[random.integers(len(data))] ^= 1 << random.integers(8)
            broken[name] = bytes(data)
            path = tmp_path / "broken"
            with zipfile.ZipFile(path, "w") as archive:
                for member, content in broken.items():
                    archive.writestr(member, content)
            try:
                found = load(path)
            except ModelError:
                continue
            scores = found.scores(
                {v.name: np.array([1.0]) if v.kind == "continuous" else ["gold"] for v in found.variables}
            )
            assert not any(math.isnan(x) for x in np.asarray(scores.log_posterior).ravel())
