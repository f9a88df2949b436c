"""`plausible structure` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plausible.cli import main
from plausible.files.formats import read
from tests.networks.naive import random_network
from tests.structure.naive import sample


@pytest.fixture
def table(tmp_path: Path) -> str:
    cases = sample(random_network(3, nodes=5, most_parents=2), 1000, 1)
    path = tmp_path / "cases.csv"
    cells = zip(
        *([v.states[c] for c in column] for v, column in zip(cases.variables, cases.codes, strict=True)), strict=True
    )
    lines = [",".join(v.name for v in cases.variables), *map(",".join, cells)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def run(monkeypatch, capsys, *words: str) -> tuple[int, list[dict], str]:
    monkeypatch.setattr("sys.argv", ["plausible", "structure", *words])
    status = 0
    try:
        main()
    except SystemExit as end:
        status = int(end.code or 0)
    said = capsys.readouterr()
    return status, [json.loads(line) for line in said.out.splitlines()], said.err


@pytest.mark.parametrize("method", ["ges", "k2", "hill-climb", "tabu", "pc", "exact", "chow-liu", "tan"])
def test_every_method_writes_a_network_with_the_arcs_it_prints(monkeypatch, capsys, tmp_path, table, method):
    out = str(tmp_path / "net.bif")
    extra = ["--target", "v0"] if method == "tan" else []
    status, rows, said = run(monkeypatch, capsys, table, "--method", method, "-o", out, *extra)
    assert status == 0
    assert {(row["parent"], row["child"]) for row in rows} == set(read(out).graph.arcs)
    assert f"5 variables, {len(rows)} arcs" in said


def test_an_order_from_names_or_from_a_network(monkeypatch, capsys, tmp_path, table):
    out = str(tmp_path / "net.bif")
    names = "v3,v1,v0,v2,v4"
    _, by_name, _ = run(monkeypatch, capsys, table, "--method", "k2", "--order", names, "--prune", "-o", out)
    assert all(names.index(row["parent"]) < names.index(row["child"]) for row in by_name)
    _, by_file, _ = run(monkeypatch, capsys, table, "--method", "k2", "--order", out, "--prune")
    assert len(by_file) <= len(by_name)


def test_knowledge(monkeypatch, capsys, table):
    words = ["--method", "hill-climb", "--require", "v4 -> v0", "--tier", "v4", "--tier", "v0,v1", "--max-parents", "2"]
    _, rows, _ = run(monkeypatch, capsys, table, *words)
    arcs = {(row["parent"], row["child"]) for row in rows}
    assert ("v4", "v0") in arcs
    assert not {("v0", "v4"), ("v1", "v4")} & arcs


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--method", "pc", "--score", "bic"], "pc takes no score"),
        (["--method", "tan"], "tan needs a target"),
        (["--method", "k2", "--order", "v0,v1"], "the order lacks 'v3', 'v2', 'v4'"),
        (["--method", "tabu", "--require", "v0 v1"], "'v0 v1' is no arc"),
        (["--method", "tabu", "--require", "v0->v1", "--forbid", "v0->v1"], "required, but it is forbidden"),
        (["--score", "bci"], "did you mean 'bic'"),
        (["--rule", "laplas"], "did you mean 'laplace'"),
        (["-o", "net.bi"], "did you mean '.bif'"),
        (["--drop", "V1"], "did you mean 'v1'"),
        (["--method", "pc", "--alpha", "2"], "alpha is 2.0"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_standard_output_empty(monkeypatch, capsys, table, words, said):
    status, rows, error = run(monkeypatch, capsys, table, *words)
    assert status in (1, 2)
    assert not rows
    assert said in error
    assert error.count("\n") == 1


def test_a_time_limit_is_said(monkeypatch, capsys, table):
    status, _, said = run(monkeypatch, capsys, table, "--method", "hill-climb", "--seconds", "0")
    assert status == 0
    assert "Note: stopped after 1 step; this is the best network so far" in said


@pytest.mark.parametrize("how", ["--bootstrap", "--mcmc"])
def test_how_sure_arcs_are_with_gaps_names_the_method_that_can_have_them(monkeypatch, capsys, tmp_path, how):
    path = tmp_path / "gaps.csv"
    path.write_text("rain,wet\n" + "no,no\nyes,yes\n,yes\n" * 20)
    status, rows, said = run(monkeypatch, capsys, str(path), how, "20")
    assert status
    assert not rows
    for part in ("column 'rain'", "--drop", "structural EM"):
        assert part in said
    status, _, said = run(monkeypatch, capsys, str(path))
    assert status == 0
    assert "structural EM" in said
