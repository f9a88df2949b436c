"""Scores and tests of independence against their definitions and published figures."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import _native
from plausible.coding import read_cases
from plausible.errors import CallError, DataError
from plausible.graph import Graph
from plausible.learning.structure import SCORES, score_graph
from plausible.learning.structure.scorers import Scorer
from tests.networks.shared import needs_shared, shared
from tests.structure.naive import dependence, graph_score, random_cases


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.sampled_from(list(SCORES)))
def test_scores_equal_their_definitions(seed, rows, score):
    cases = random_cases(seed, (2, 3, 1, 4), rows)
    graph = Graph({"v0": [], "v1": ["v0", "v3"], "v2": ["v1"], "v3": []})
    assert score_graph(graph, cases, score) == pytest.approx(graph_score(cases, graph, score), rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("score", [score for score in SCORES if score != "k2"])
def test_equivalent_graphs_score_alike(score):
    cases = random_cases(1, (2, 3, 4), 500)
    one = Graph({"v0": [], "v1": ["v0"], "v2": ["v1"]})
    other = Graph({"v0": ["v1"], "v1": ["v2"], "v2": []})
    collider = Graph({"v0": [], "v1": ["v0", "v2"], "v2": []})
    assert score_graph(one, cases, score) == pytest.approx(score_graph(other, cases, score), rel=1e-12)
    assert score_graph(collider, cases, score) != pytest.approx(score_graph(one, cases, score), rel=1e-6)


@pytest.mark.parametrize("score", ["k2", "bdeu"])
def test_parents_that_never_take_a_state_add_nothing(score):
    cases = random_cases(2, (2, 5, 3), 300)
    some = cases.select(np.flatnonzero(np.asarray(cases.codes[1]) < 2))
    family = np.array([[0, 1, 2]], dtype=np.int32)
    tables = some.tables(family)
    seen = tables.cells.reshape(2, 5, 3)[:, :2]
    args = seen.ravel(), np.array([0, seen.size]), np.array([3])
    prior = np.array([1.0 if score == "k2" else 1 / tables.cells.size])
    assert _native.dirichlets(*args, prior)[0] == SCORES[score](tables)[0]


@needs_shared
@pytest.mark.parametrize("name", ["learning.test", "asia", "alarm", "insurance", "lizards"])
def test_published_scores(name):
    folder = shared() / "data/bayesnets/data"
    known = json.loads((folder / "true_structures.json").read_text())[name]
    parents = {}
    for node in re.findall(r"\[([^\]]+)\]", known["modelstring"]):
        child, _, above = node.partition("|")
        parents[child] = above.split(":") if above else []
    cases = read_cases(folder / f"{name}.csv.gz")
    for score, key in (("bic", "bic"), ("bdeu", "bdeu_iss1"), ("k2", "k2_log")):
        assert score_graph(Graph(parents), cases, score) == pytest.approx(known["scores"][key], abs=1e-4, rel=1e-9)


def test_long_lists_of_families_are_cut_and_change_nothing(monkeypatch):
    cases = random_cases(3, (2, 3, 4, 2), 200)
    families = np.array([(x, y) for x in range(4) for y in range(4) if x != y], dtype=np.int32)
    whole = Scorer(cases, "bdeu").batch(families)
    monkeypatch.setattr("plausible.learning.structure.scorers.MOST_CELLS", 12)
    assert (Scorer(cases, "bdeu").batch(families) == whole).all()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300))
def test_tests_of_independence_equal_their_definitions(seed, rows):
    cases = random_cases(seed, (3, 2, 2, 4), rows)
    tables = cases.tables(np.array([[0, 1, 2, 3]], dtype=np.int32))
    found = [float(part[0]) for part in _native.dependences(tables.cells, tables.starts, np.array([3]), tables.states)]
    assert found == pytest.approx(list(dependence(cases.counts(["v0", "v1", "v2", "v3"]))), rel=1e-9, abs=1e-9)


def test_tail_of_chi2():
    stats = pytest.importorskip("scipy.stats")
    values = np.array([0, 1e-8, 0.5, 3.84, 10, 50, 200, 1000, 1500.0])
    for freedom in (1.0, 2.0, 7.0, 50.0, 1200.0):
        ours = _native.chi2_tails(values, np.full(len(values), freedom))
        assert ours == pytest.approx(stats.chi2.sf(values, freedom), rel=1e-10, abs=1e-300)
    assert _native.chi2_tails(np.array([3.0]), np.array([0.0]))[0] == 1


def test_names_of_scores():
    cases = random_cases(4, (2, 2), 50)
    graph = Graph({"v0": [], "v1": ["v0"]})
    assert score_graph(graph, cases, "bdeu:1") == score_graph(graph, cases, "bdeu")
    assert score_graph(graph, cases, "bdeu:10") != score_graph(graph, cases, "bdeu")
    with pytest.raises(CallError, match=r"unknown score 'bdue'.*did you mean 'bdeu'"):
        score_graph(graph, cases, "bdue")
    with pytest.raises(CallError, match=r"sample size of BDeu is '0'"):
        score_graph(graph, cases, "bdeu:0")
    with pytest.raises(CallError, match=r"unknown variable 'v2'"):
        score_graph(Graph({"v2": []}), cases)


def test_gaps_are_named_with_the_way_out():
    cases = random_cases(5, (2, 2), 50, gaps=0.2)
    with pytest.raises(DataError, match=r"column 'v0' has \d+ gaps in 50 rows.*structural EM"):
        score_graph(Graph({"v0": [], "v1": []}), cases)
