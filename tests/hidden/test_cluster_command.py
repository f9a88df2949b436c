"""`plausible cluster`, and what it calls."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from plausible.cli import plausible
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.learning.mixtures.clusters import cluster
from plausible.learning.mixtures.gaussian import GaussianMixture
from plausible.learning.mixtures.tables import TableMixture
from plausible.sources import open_source


def run(*arguments):
    return CliRunner().invoke(plausible, ["cluster", *map(str, arguments)], catch_exceptions=False)


def read(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def points(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "points.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y", "kind"])
        for i in range(60):
            x, y = rng.normal(size=2) + (0 if i % 2 else 8)
            writer.writerow([f"{x:.4f}", "" if i == 7 else f"{y:.4f}", "odd" if i % 2 else "even"])
    return path


def test_keys_and_the_same_answer_for_the_same_seed(points):
    arguments = (points, "-k", 2, "--covariance", "diagonal", "--seed", 3, "--format", "json")
    result = run(*arguments)
    record = json.loads(result.stdout)
    assert [*record][:6] == ["log_likelihood", "weights", "means", "covariances", "iterations", "sizes"]
    assert record["columns"] == ["x", "y"]
    assert record["sizes"] == [30, 30]
    assert run(*arguments).stdout == result.stdout


@pytest.mark.data
def test_old_faithful(shared):
    path = shared / "tables" / "old_faithful.csv"
    record = json.loads(run(path, "-k", 2, "--covariance", "full", "--format", "json").stdout)
    assert record["log_likelihood"] == pytest.approx(-1130.264, abs=5e-4)
    np.testing.assert_allclose(record["weights"], [0.356, 0.644], atol=5e-4)
    np.testing.assert_allclose(record["means"], [[2.036, 54.479], [4.290, 79.968]], atol=5e-4)


def test_latent_classes_and_memberships(points, tmp_path):
    out = tmp_path / "members.csv"
    record = json.loads(run(points, "-k", 2, "--memberships", out, "--format", "json").stdout)
    assert record["sizes"] == [30, 30]
    assert {c["variable"] for c in record["clusters"][0]["characteristics"]} == {"x", "y", "kind"}
    assert len(record["clusters"][0]["exemplars"]) == 5
    rows = read(out)
    assert len(rows) == 60
    assert rows[0]["row"].endswith("line 2")
    assert all(abs(float(row["p0"]) + float(row["p1"]) - 1) < 1e-9 for row in rows)
    assert len({row["cluster"] for row in rows[::2]}) == 1


def test_gaussian_memberships(points, tmp_path):
    out = tmp_path / "members.csv"
    run(points, "-k", 2, "--leave-out", "kind", "--memberships", out)
    assert [row["cluster"] for row in read(out)] == ["1", "0"] * 30


def test_auto_shows_the_candidates(points):
    result = run(points, "-k", "auto", "--leave-out", "kind", "--restarts", 2, "--format", "table")
    assert "held_out" in result.stdout
    assert "converged" in result.stdout
    record = json.loads(
        run(points, "-k", "auto", "--column", "kind", "--column", "x", "--restarts", 2, "--format", "json").stdout
    )
    assert record["candidates"][1]["k"] == 2
    assert len(record["sizes"]) == 2


def test_tables_are_shown(points):
    assert "even" in run(points, "-k", 2, "--format", "table").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "many"], "whole number, or auto"),
        (["-k", "2", "--covariance", "full", "--column", "kind"], "needs columns of numbers"),
        (["-k", "2", "--covariance", "full", "--column", "kind", "--column", "x"], "'kind' holds categories"),
        (["-k", "2", "--column", "z"], "unknown column"),
        (["-k", "2", "--variance", "1"], "its variance need columns"),
        (["-k", "99"], "k is 99, but the table has 60 rows"),
    ],
)
def test_calls_that_can_be_mended(points, arguments, message):
    with pytest.raises(CallError, match=message):
        run(points, *arguments)


def test_no_source():
    with pytest.raises(CallError, match="name one source"):
        run("-k", "2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plot", "points.pdf"], "points.pdf: a plot is a .png or .svg file"),
        (["--plot", "points.svg"], "Gaussian clusters of one or two columns"),  # one holds categories
        (["--plot", "points.svg", "--covariance", "full", "--category", "x", "--category", "y"], "needs columns"),
        (["--plot", "nowhere/points.svg", "--leave-out", "kind"], "nowhere/points.svg can't be written"),
        (["--memberships", "nowhere/members.csv"], "nowhere/members.csv can't be written"),
    ],
)
def test_what_cannot_be_written_is_known_before_anything_is_learned(points, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CallError, match=message):
        run(points, "-k", "auto", "--seconds", 1e9, *arguments)
    assert not list(tmp_path.glob("*.svg")) + list(tmp_path.glob(".plausible-*"))


@pytest.mark.parametrize("columns", [["x"], ["x", "y"]])
@pytest.mark.parametrize("kind", ["known", "spherical", "diagonal", "tied", "full"])
def test_pictures(points, columns, kind, tmp_path):
    out = tmp_path / "points.svg"
    variance = ["--variance", 1] if kind == "known" else []
    chosen = [part for name in columns for part in ("--column", name)]
    run(points, "-k", 2, *chosen, "--covariance", kind, *variance, "--plot", out)
    assert out.read_text().rstrip().endswith("</svg>")


def test_a_picture_of_rows_that_all_have_gaps(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i},\n,{i}\n" for i in range(1, 9)))
    run(tmp_path / "t.csv", "-k", 1, "--prior", 1, "--plot", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_that_fails_leaves_the_old_file(points, tmp_path):
    (tmp_path / "p.svg").write_text("old")
    with pytest.raises(CallError, match="k is 99"):
        run(points, "-k", 99, "--leave-out", "kind", "--plot", tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_text() == "old"


def test_stopped_early_is_said(points):
    result = run(points, "-k", 2, "--covariance", "full", "--seconds", 1e-9)
    assert "stopped after 1 iteration (time)" in result.stderr


def test_what_a_source_holds_decides(points):
    source = open_source(str(points))
    assert isinstance(cluster(source, 2).best, TableMixture)
    assert isinstance(cluster(source, 2, columns=["x", "y"]).best, GaussianMixture)
    assert isinstance(cluster(source, 2, covariance="full").best, GaussianMixture)
    with pytest.raises(DataError, match="no values"):
        cluster(open_source([{"a": None, "b": "x"}, {"a": None, "b": "y"}]), 1)


@pytest.mark.parametrize(
    ("text", "k", "error", "message"),
    [
        ("x,y\n1,2\ninf,3\n4,5\n", 1, DataError, r"line 3: inf in column 'x' is too large"),
        ("x,y\n1,2\n", 2, CallError, "k is 2, but the table has 1 row:"),
        ("x,y\n1,2\n", 1, DataError, "1 row only"),
        ("x,y\n1,2\n3,4\n1,2\n3,4\n", 3, DataError, "without duplicates the table has 2 rows"),
        ("x,y\n1,2\n1,2\n", 2, DataError, "all rows are equal"),
        ("x,y\n1,5\n2,5\n3,5\n", 2, DataError, "column 'y' is constant"),
        ("x,y\n,\n,\n", 1, DataError, "column 'x' of .* has no values"),
        ("x,y\n1,\n2,\n", 1, DataError, "column 'y' of .* has no values"),
        ("a,b\nu,v\nu,v\n", 2, DataError, "without duplicates the table has 1 row:"),
    ],
)
def test_bad_tables(tmp_path, text, k, error, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(error, match=message):
        run(tmp_path / "t.csv", "-k", k)


def test_what_went_wrong_on_the_way_is_said(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{x}\n" for x in [*rng.normal(size=60), 1e6]))
    with pytest.warns(PlausibleWarning, match=r"component \d has lost its rows.*choose fewer components than 3"):
        result = run(tmp_path / "t.csv", "-k", 3, "--covariance", "spherical")
    assert all(np.isfinite(json.loads(result.stdout)["weights"]))
    (tmp_path / "t.csv").write_text("a,b\n" + "u,v\nw,v\n" * 5)
    with pytest.warns(PlausibleWarning, match="2 clusters are hardly told apart"):
        run(tmp_path / "t.csv", "-k", 2)


def test_clusters_that_nothing_sets_apart_are_shown(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("text\nred rose\nred rose\nbank loan\nbank loan\nbank note\nbank note\n")
    result = run(path, "-k", 1, "--text", "text", "--format", "table")
    assert result.stdout.splitlines()[1].split()[:3] == ["0", "1.000", "6"]


def test_a_cluster_without_rows_is_said(tmp_path):
    words = {"x": "card invoice money refund charge", "y": "parcel late courier address box"}
    path = tmp_path / "notes.csv"
    rng = np.random.default_rng(0)
    path.write_text("text\n" + "".join(" ".join(rng.choice(words[kind].split(), 9)) + "\n" for kind in "xxy" * 40))
    with pytest.warns(PlausibleWarning, match=r"no row belongs to component \d .* fewer components than 3"):
        record = json.loads(run(path, "-k", 3, "--text", "text", "--format", "json").stdout)
    assert 0 in record["sizes"]


def test_columns_named_as_the_table_names_its_own(tmp_path):
    path = tmp_path / "sizes.csv"
    path.write_text("weight,rows\n" + "".join(f"{i % 2 * 9 + i / 50},{i * 7 % 40}\n" for i in range(40)))
    header, *lines = run(path, "-k", 2, "--format", "table").stdout.splitlines()
    assert header.split() == ["cluster", "weight", "rows", "mean", "weight", "mean", "rows"]
    assert sum(float(line.split()[1]) for line in lines[:2]) == pytest.approx(1, abs=0.002)
