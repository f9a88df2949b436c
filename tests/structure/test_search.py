"""Searches by score: K2, hill climbing, tabu, classes, exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.counting import Cache, Cases
from plausible.errors import CallError, DataError
from plausible.files.bif import read_bif
from plausible.graph import Graph
from plausible.learning.structure import Knowledge, exact, ges, hill_climb, k2, score_graph, tabu
from tests.networks.naive import random_network
from tests.networks.shared import needs_shared, shared
from tests.structure.naive import best_score, random_cases, sample

METHODS = {"k2": k2, "hill_climb": hill_climb, "tabu": tabu, "ges": ges, "exact": exact}
LOOSE = [Knowledge(), Knowledge(max_parents=1)]


@pytest.mark.parametrize("score", ["k2", "bic", "bdeu"])
def test_exact_search_equals_every_graph_of_five_variables(score):
    cases = sample(random_network(5, nodes=5, most_parents=2), 150, 1)
    found = exact(cases, score=score)
    assert found.score == pytest.approx(best_score(cases, score), rel=1e-12)
    assert score_graph(found.graph, cases, score) == pytest.approx(found.score, rel=1e-12)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_exact_search_with_knowledge_equals_every_graph_that_it_allows(seed):
    cases = random_cases(seed, (2, 3, 2, 2), 60)
    a, b, c, d = (f"v{i}" for i in np.random.default_rng(seed).permutation(4))
    knowledge = Knowledge(required=[(a, b)], forbidden=[(c, a)], leaves=[d], max_parents=2)

    def fits(parents):
        few = all(len(above) <= 2 and d not in above for above in parents.values())
        return few and a in parents[b] and c not in parents[a]

    found = exact(cases, score="bdeu", knowledge=knowledge)
    assert found.score == pytest.approx(best_score(cases, "bdeu", fits), rel=1e-11)
    assert fits(found.graph.parents)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("knowledge", LOOSE)
def test_the_score_is_that_of_the_graph_and_below_the_best(method, knowledge):
    cases = sample(random_network(6, nodes=6), 300, 2)
    found = METHODS[method](cases, score="bic", knowledge=knowledge)
    assert found.stopped == "done"
    assert found.score == pytest.approx(score_graph(found.graph, cases, "bic"), rel=1e-12)
    assert found.score <= exact(cases, score="bic", knowledge=knowledge).score + 1e-9
    if knowledge.max_parents is not None:
        assert max(map(len, found.graph.parents.values())) <= knowledge.max_parents
    assert found.pattern == found.graph.equivalence_class()


@pytest.mark.parametrize("method", METHODS)
def test_any_counter_gives_the_same_graph(method):
    cases = sample(random_network(7, nodes=5), 300, 3)
    one, other = METHODS[method](cases), METHODS[method](Cache(cases))
    assert one.graph.parents == other.graph.parents


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_no_single_change_of_an_arc_is_better_than_a_peak(seed):
    cases = sample(random_network(seed, nodes=5), 200, seed)
    found = hill_climb(cases, score="bic")
    for graph in neighbours(found.graph):
        assert score_graph(graph, cases, "bic") <= found.score + 1e-6


def neighbours(graph: Graph):
    nodes = graph.nodes
    for x in nodes:
        for y in nodes:
            above = {node: list(parents) for node, parents in graph.parents.items()}
            if x in above[y]:
                above[y].remove(x)
                yield Graph(above)
                above[x].append(y)
                if y not in graph.descendants([p for p in graph.parents[y] if p != x]) and not any(
                    p in graph.descendants([x]) for p in graph.parents[y] if p != x
                ):
                    yield Graph(above)
            elif x != y and x not in graph.descendants([y]):
                above[y].append(x)
                yield Graph(above)


def test_tabu_and_restarts_never_do_worse():
    for seed in range(5):
        cases = sample(random_network(seed, nodes=8), 200, seed)
        plain = hill_climb(cases, score="bdeu").score
        assert tabu(cases, score="bdeu").score >= plain
        again = hill_climb(cases, score="bdeu", restarts=5, seed=seed)
        assert again.score >= plain
        assert again.graph.parents == hill_climb(cases, score="bdeu", restarts=5, seed=seed).graph.parents


@pytest.mark.parametrize("method", [hill_climb, tabu, ges, exact])
def test_duplicate_and_constant_columns_and_one_row(method):
    cases = random_cases(8, (2, 3, 1), 100)
    twice = Cases(
        (*cases.variables, cases.variables[0].__class__("again", states=cases.variables[0].states)),
        (*cases.codes, cases.codes[0]),
    )
    found = method(twice)
    assert found.graph.arcs
    assert not found.graph.parents["v2"]
    assert not found.graph.children["v2"]
    assert not method(cases.select([0])).graph.arcs
    assert not method(random_cases(9, (3,), 50)).graph.arcs


def test_k2_follows_its_order():
    network = random_network(9, nodes=6)
    cases = sample(network, 500, 4)
    order = list(network.graph.order)
    found = k2(cases, order)
    assert all(order.index(x) < order.index(y) for x, y in found.graph.arcs)
    assert k2(cases, network).graph.parents == k2(cases, network.graph).graph.parents == found.graph.parents
    assert k2(cases, order, prune=True).score >= found.score
    assert k2(cases, orders=5).score >= k2(cases, orders=1).score
    with pytest.raises(CallError, match=r"the order lacks 'v"):
        k2(cases, order[:-1])
    with pytest.raises(CallError, match=r"unknown variable 'V0'.*did you mean 'v0'"):
        k2(cases, ["V0"])
    with pytest.raises(CallError, match=r"orders is 0"):
        k2(cases, orders=0)
    x, y = order[:2]
    with pytest.raises(CallError, match=f"'{y}' -> '{x}' is required, but '{x}' comes first in the order"):
        k2(cases, order, knowledge=Knowledge(required=[(y, x)]))


@pytest.mark.parametrize("method", [hill_climb, tabu, exact, k2])
def test_knowledge_is_heeded(method):
    cases = sample(random_network(10, nodes=6), 400, 5)
    knowledge = Knowledge(
        required=[("v0", "v3")], forbidden=[("v1", "v2"), ("v2", "v1")], tiers=[["v0", "v1", "v2"], ["v3", "v4"]],
        roots=["v0"], leaves=["v5"], max_parents=2,
    )  # fmt: skip
    order = {"order": ["v0", "v1", "v2", "v3", "v4", "v5"]} if method is k2 else {}
    graph = method(cases, knowledge=knowledge, **order).graph
    assert ("v0", "v3") in graph.arcs
    assert not {("v1", "v2"), ("v2", "v1")} & set(graph.arcs)
    assert not any(x in ("v3", "v4") and y in ("v0", "v1", "v2") for x, y in graph.arcs)
    assert not graph.parents["v0"]
    assert not graph.children["v5"]
    assert max(map(len, graph.parents.values())) <= 2


@pytest.mark.parametrize(
    ("knowledge", "said"),
    [
        (Knowledge(required=[("v0", "v1")], forbidden=[("v0", "v1")]), "'v0' -> 'v1' is required, but it is forbidden"),
        (Knowledge(required=[("v0", "v1"), ("v1", "v0")]), "required arcs contradict.*v0 -> v1 -> v0"),
        (Knowledge(required=[("v1", "v0")], tiers=[["v0"], ["v1"]]), "'v1' is in a later tier than 'v0'"),
        (Knowledge(required=[("v0", "v1")], roots=["v1"]), "but 'v1' is a root"),
        (Knowledge(required=[("v0", "v1")], leaves=["v0"]), "but 'v0' is a leaf"),
        (Knowledge(required=[("v0", "v2"), ("v1", "v2")], max_parents=1), "'v2' must have the parents v0, v1"),
        (Knowledge(forbidden=[("v0", "V1")]), "unknown variable in the knowledge 'V1'.*did you mean 'v1'"),
        (Knowledge(tiers=[["v0"], ["v0", "v1"]]), "'v0' is in two tiers"),
        (Knowledge(max_parents=-1), "max_parents is -1"),
        (Knowledge(required=[("v0", "v0")]), "an arc needs two variables"),
    ],
)
def test_contradictions_are_shown(knowledge, said):
    with pytest.raises(CallError, match=said):
        hill_climb(random_cases(1, (2, 2, 2), 20), knowledge=knowledge)


def test_ges_says_what_it_can_not_heed():
    with pytest.raises(CallError, match=r"ges can't heed tiers.*hill_climb"):
        ges(random_cases(1, (2, 2, 2), 20), knowledge=Knowledge(tiers=[["v0"]]))


def test_a_start_that_contradicts_the_knowledge_is_refused():
    cases = random_cases(1, (2, 2, 2), 50)
    start = Graph({"v0": [], "v1": ["v0"], "v2": []})
    assert hill_climb(cases, start=start).score >= score_graph(start, cases, "bdeu-sparse")
    with pytest.raises(CallError, match=r"'v0' -> 'v1', which the knowledge forbids"):
        hill_climb(cases, start=start, knowledge=Knowledge(forbidden=[("v0", "v1")]))
    with pytest.raises(CallError, match=r"parents of 'v2' contradict the knowledge"):
        hill_climb(cases, start=start, knowledge=Knowledge(required=[("v0", "v2")]))
    with pytest.raises(CallError, match=r"unknown variable 'x'"):
        hill_climb(cases, start=Graph({"x": []}))


@pytest.mark.parametrize("method", METHODS)
def test_a_time_limit_and_ctrl_c_keep_the_best_so_far(method):
    cases = sample(random_network(11, nodes=6), 300, 6)
    stopped = METHODS[method](cases, seconds=0)
    assert stopped.stopped == "time"
    assert stopped.score == pytest.approx(score_graph(stopped.graph, cases, "k2" if method == "k2" else "bdeu-sparse"))
    steps = []

    def press(progress):
        steps.append(progress.steps)
        if len(steps) == 3:
            raise KeyboardInterrupt

    pressed = METHODS[method](cases, progress=press)
    assert pressed.stopped == "interrupt"
    assert steps == [1, 2, 3]
    with pytest.raises(CallError, match=r"time limit is -1"):
        METHODS[method](cases, seconds=-1)


def test_a_table_wider_than_memory_is_said():
    variables = random_cases(1, (20_000, 20_000), 10)
    with pytest.raises(DataError, match=r"400,000,000 cells"):
        hill_climb(variables)
    with pytest.raises(CallError, match=r"at most 22 variables, and there are 30; use ges"):
        exact(random_cases(1, (2,) * 30, 10))
    with pytest.raises(CallError, match=r"would score .* families; set max_parents"):
        exact(random_cases(1, (2,) * 22, 10))


@needs_shared
def test_alarm():
    """Cooper and Herskovits 1992: one arc missing and one extra. Two arcs of this file are too weak at 3,000."""
    network = read_bif(shared() / "data/bayesnets/bif/alarm.bif.gz")
    cases = sample(network, 3000, 0)
    true = set(network.graph.arcs)
    found = set(k2(cases, network, prune=True).graph.arcs)
    assert len(true - found) <= 3
    assert len(found - true) <= 1
    assert network.graph.equivalence_class().distance(ges(cases).pattern) <= 3


@needs_shared
@pytest.mark.parametrize("name", ["asia", "learning.test"])
def test_classes_are_as_good_as_the_best_graph(name):
    from plausible.coding import read_cases

    cases = read_cases(shared() / f"data/bayesnets/data/{name}.csv.gz")
    assert ges(cases).score == pytest.approx(exact(cases).score, rel=1e-12)
