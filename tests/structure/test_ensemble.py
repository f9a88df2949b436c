"""How sure arcs are: bootstrap, orders, averages; structures from gaps; Ctrl-C in a real shell."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from plausible import Knowledge
from plausible.counting import Cases
from plausible.errors import CallError, DataError
from plausible.graph import Graph
from plausible.infer.exact import ask
from plausible.learning.structure import bootstrap, hill_climb, order_mcmc, structural_em
from plausible.learning.structure.ensemble import halves
from plausible.schema import Variable
from tests.networks.naive import random_network
from tests.structure.naive import counts, family_score, random_cases, sample


def chances_by_orders(cases: Cases, most: int) -> np.ndarray:
    """P(arc | data) summed over every order and every set of parents, one at a time."""
    names = [v.name for v in cases.variables]
    n = len(names)
    total, arcs = 0.0, np.zeros((n, n))
    for order in itertools.permutations(range(n)):
        weight, inside = 1.0, np.zeros((n, n))
        for place, y in enumerate(order):
            sets = [s for size in range(most + 1) for s in itertools.combinations(order[:place], size)]
            scores = [family_score(counts(cases, [names[x] for x in (*s, y)]), "bdeu", cases.rows, n) for s in sets]
            values = [math.exp(score + 40) for score in scores]
            weight *= sum(values)
            for s, value in zip(sets, values, strict=True):
                for x in s:
                    inside[x, y] += value / sum(values)
        total += weight
        arcs += weight * inside
    return arcs / total


@pytest.mark.long
def test_a_long_walk_gives_the_probabilities_of_all_orders():
    cases = random_cases(3, (2, 3, 2, 2), 40)
    exact = chances_by_orders(cases, 3)
    walked = order_mcmc(cases, steps=40_000, score="bdeu").arcs
    assert np.abs(exact - walked).max() < 0.02


def test_a_walk_heeds_what_is_known():
    cases = random_cases(1, (2, 2, 2, 3), 200)
    known = Knowledge(required=[("v3", "v0")], forbidden=[("v0", "v1"), ("v1", "v0")], max_parents=2)
    found = order_mcmc(cases, steps=2000, knowledge=known)
    assert found.arcs[3, 0] == pytest.approx(1.0)
    assert found.arcs[0, 1] == found.arcs[1, 0] == 0.0
    assert found.arcs.sum(axis=0).max() <= 2 + 1e-9
    assert all(len(above) <= 2 for graph in found.graphs for above in graph.parents.values())
    assert found.weights.sum() == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_answer():
    cases = random_cases(2, (2, 2, 3), 60)
    for learn in (
        lambda seed: order_mcmc(cases, steps=500, seed=seed),
        lambda seed: bootstrap(cases, times=9, seed=seed),
    ):
        assert np.array_equal(learn(1).arcs, learn(1).arcs)
        assert not np.array_equal(learn(1).arcs, learn(2).arcs)


def test_the_bootstrap_counts_the_classes_of_resampled_tables():
    cases = random_cases(5, (2, 2, 2), 50)
    found = bootstrap(cases, times=20, seed=4, score="bic")
    rng = np.random.default_rng(4)
    names = [v.name for v in cases.variables]
    expected = sum(
        halves(hill_climb(cases.select(rng.integers(50, size=50)), score="bic").graph, names) for _ in range(20)
    )
    assert np.allclose(found.arcs, expected / 20)


def test_the_consensus_of_a_clear_case_is_the_graph_itself():
    network = random_network(3, nodes=5, most_parents=2)
    cases = sample(network, 4000, 1)
    found = bootstrap(cases, times=20).consensus()
    learned = hill_climb(cases).graph
    assert {frozenset(arc) for arc in found.arcs} == {frozenset(arc) for arc in learned.arcs}


def test_an_average_is_the_mixture_of_the_joints():
    cases = random_cases(2, (2, 2, 3), 30)
    average = order_mcmc(cases, steps=2000).average(cases, most=3)
    evidence = {"v1": "s1"}
    answers = [ask(network, evidence) for network in average.networks]
    weights = average.weights * np.exp([answer.log_probability for answer in answers])
    mixed = sum(w * answer.posteriors["v2"] for w, answer in zip(weights, answers, strict=True)) / weights.sum()
    assert np.allclose(average.posteriors(evidence)["v2"], mixed)
    assert len(average.networks) > 1


def test_bad_input_is_told():
    cases = random_cases(1, (2, 2), 20)
    with pytest.raises(CallError, match="times is 0"):
        bootstrap(cases, times=0)
    with pytest.raises(CallError, match="steps is 0"):
        order_mcmc(cases, steps=0)
    with pytest.raises(DataError, match="gaps"):
        order_mcmc(random_cases(1, (2, 2), 20, gaps=0.5))
    gappy = Cases((Variable("a", states=("x", "y")), Variable("b", states=("x",))), ([0, 1], [-1, -1]))
    with pytest.raises(DataError, match="'b' is empty in every row"):
        structural_em(gappy)
    with pytest.raises(CallError, match="needs a method that scores"):
        structural_em(random_cases(1, (2, 2), 20, gaps=0.5), "pc")


def test_gaps_at_random_leave_the_structure():
    network = random_network(7, nodes=5, most_parents=2)
    cases = sample(network, 4000, 2)
    rng = np.random.default_rng(1)
    holes = Cases(cases.variables, tuple(np.where(rng.random(4000) < 0.1, -1, column) for column in cases.codes))
    found = structural_em(holes)
    whole = hill_climb(cases, score="bic")
    names = [v.name for v in cases.variables]
    ordered = [Graph({n: one.graph.parents[n] for n in names}).equivalence_class() for one in (found, whole)]
    assert ordered[0].distance(ordered[1]) <= 1


def test_without_gaps_structural_em_is_the_method_itself():
    cases = random_cases(4, (2, 3, 2, 2), 300)
    assert structural_em(cases, copies=1).score == pytest.approx(hill_climb(cases, score="bic").score)


def test_ctrl_c_keeps_the_best(tmp_path):
    cases = sample(random_network(2, nodes=12, most_parents=3), 3000, 1)
    path, out = tmp_path / "cases.csv", tmp_path / "net.bif"
    cells = zip(
        *([v.states[c] for c in column] for v, column in zip(cases.variables, cases.codes, strict=True)), strict=True
    )
    path.write_text("\n".join([",".join(v.name for v in cases.variables), *map(",".join, cells)]) + "\n")
    words = ["structure", str(path), "--method", "tabu", "--patience", "100000000", "-o", str(out)]
    code = "from plausible.cli import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ},
        text=True,
    )
    time.sleep(6)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    printed, said = running.communicate(timeout=60)
    assert running.returncode == 0, said
    assert "this is the best network so far" in said
    assert out.exists()
    assert printed.count("\n") > 5
