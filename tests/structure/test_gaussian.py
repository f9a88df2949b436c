"""Scores and tests of continuous variables against plain twins, and the structures they find."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import Knowledge
from plausible.coding import read_mixed
from plausible.counting import Cases, Mixed
from plausible.errors import CallError, DataError
from plausible.files.formats import read
from plausible.graph import Graph
from plausible.infer.gaussian import sample_mixed
from plausible.learning.structure import exact, ges, hill_climb, learn_structure, pc, score_graph, tabu
from plausible.learning.structure.independence import judge_of
from plausible.learning.structure.scorers import scorer_of
from plausible.schema import Variable
from tests.structure.naive import all_graphs


def mixed(seed: int, rows: int, switches: int = 1, lines: int = 3) -> Mixed:
    rng = np.random.default_rng(seed)
    variables = tuple(Variable(f"s{i}", states=("a", "b")) for i in range(switches))
    codes = tuple(rng.integers(0, 2, rows) for _ in variables)
    numbers: dict[str, np.ndarray] = {}
    for i in range(lines):
        mean = sum((rng.normal() * x for x in numbers.values()), np.zeros(rows))
        mean = mean + sum((3 * rng.normal() * code for code in codes), np.zeros(rows))
        numbers[f"x{i}"] = mean + rng.normal(size=rows) + 100
    return Mixed(Cases(variables, codes), numbers, rows)


def line_score(data: Mixed, child: str, parents: tuple[str, ...], price: float) -> float:
    """Least squares in each combination of the switches, as the textbook has it."""
    switches = [name for name in parents if name not in data.numbers]
    numbers = [data.numbers[name] for name in parents if name in data.numbers]
    codes = np.zeros(data.rows, int)
    for name in switches:
        codes = 2 * codes + data.cases.codes[[v.name for v in data.cases.variables].index(name)]
    total = 0.0
    for group in range(2 ** len(switches)):
        rows = codes == group
        n = int(rows.sum())
        if not n:
            continue
        if n < len(numbers) + 2:
            return -math.inf
        x = np.stack([np.ones(n), *(column[rows] for column in numbers)], axis=1)
        y = data.numbers[child][rows]
        off = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        total -= n / 2 * (math.log(2 * math.pi * (off @ off) / n) + 1)
    return total - price * 2 ** len(switches) * (len(numbers) + 2)


@given(st.integers(0, 1000), st.integers(3, 60), st.sampled_from(["bic", "aic"]))
@settings(max_examples=40)
def test_scores_are_those_of_least_squares(seed, rows, score):
    data = mixed(seed, rows)
    scorer = scorer_of(data, score)
    names = [v.name for v in data.variables]
    price = math.log(rows) / 2 if score == "bic" else 1.0
    for child in data.numbers:
        others = [name for name in names if name != child]
        for bits in range(2 ** len(others)):
            parents = tuple(name for i, name in enumerate(others) if bits >> i & 1)
            found = scorer.of(names.index(child), sum(1 << names.index(p) for p in parents))
            assert found == pytest.approx(line_score(data, child, parents, price), rel=1e-6, abs=1e-5)


def test_partial_correlation_is_that_of_residuals():
    data = mixed(1, 200, switches=0, lines=4)
    x, y, *given_ = data.numbers.values()
    z = np.stack([np.ones(200), *given_], axis=1)
    r = np.corrcoef(*(column - z @ np.linalg.lstsq(z, column, rcond=None)[0] for column in (x, y)))[0, 1]
    expected = math.erfc(math.sqrt((200 - 2 - 3) / 2) * abs(math.atanh(r)))
    assert judge_of(data, None)(np.array([[0, 2, 3, 1]], np.int32))[0] == pytest.approx(expected, rel=1e-9)


def test_exact_is_the_best_of_all_graphs():
    data = mixed(4, 100, switches=1, lines=3)
    names = tuple(v.name for v in data.variables)
    fitting = [g for g in all_graphs(names) if not any(p in data.numbers for p in g["s0"])]
    best = max(score_graph(Graph(g), data) for g in fitting)
    assert exact(data).score == pytest.approx(best)
    assert hill_climb(data, restarts=20).score == pytest.approx(best)


@pytest.mark.data
@pytest.mark.parametrize("name", ["gaussian.test", "clgaussian.test"])
def test_the_generating_structure_is_found(shared, name):
    text = json.loads((shared / "bayesnets/data/true_structures.json").read_text())[name]["modelstring"]
    parts = [part.partition("|") for part in text.strip("[]").split("][")]
    true = Graph({child: above.split(":") if above else [] for child, _, above in parts})
    data = read_mixed(shared / f"bayesnets/data/{name}.csv.gz")
    methods = (hill_climb, tabu, exact) if data.cases.variables else (hill_climb, tabu, exact, ges, pc)
    for method in methods:
        found = method(data).graph
        ordered = Graph({node: found.parents[node] for node in true.nodes})
        assert ordered.equivalence_class().distance(true.equivalence_class()) == 0, method.__name__
    if name == "gaussian.test":
        assert score_graph(true, data) == pytest.approx(-53221.35, abs=0.005)  # bnlearn's documentation of score()


@pytest.mark.data
@pytest.mark.long
def test_samples_of_a_gene_network_come_near(shared):
    network = read(shared / "bayesnets/other/ecoli70.json.gz")
    data = Mixed(Cases((), ()), sample_mixed(network, 2000, seed=1), 2000)
    found = hill_climb(data)
    assert found.score > score_graph(network.graph, data) - 10
    ordered = Graph({node: found.graph.parents[node] for node in network.names})
    assert ordered.equivalence_class().distance(network.graph.equivalence_class()) <= 30


def test_a_category_has_no_number_as_parent():
    data = mixed(2, 200)
    assert not any(parent in data.numbers for parent in hill_climb(data).graph.parents["s0"])
    with pytest.raises(CallError, match="can't have a continuous parent"):
        hill_climb(data, knowledge=Knowledge(required=[("x0", "s0")]))


def test_what_does_not_go_with_numbers_is_refused():
    data = mixed(3, 50)
    for method, options, match in (
        ("hill-climb", {"score": "bdeu"}, "'bdeu' takes categories, and column 'x0'"),
        ("ges", {}, "not both"),
        ("pc", {}, "no test takes both"),
    ):
        with pytest.raises(CallError, match=match):
            learn_structure(data, method, **options)
    with pytest.raises(CallError, match="use fisher-z"):
        pc(mixed(3, 50, switches=0), test="g2")
    with pytest.raises(CallError, match="there are none"):
        pc(data.cases, test="fisher-z")
    flat = Mixed(Cases((), ()), {"x": np.ones(9), "y": np.arange(9.0)}, 9)
    for method in (hill_climb, pc):
        with pytest.raises(DataError, match="same number in every row"):
            method(flat)
