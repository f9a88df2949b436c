"""Graphs against plain definitions: paths, orders, all graphs of a class."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from plausible.errors import CallError, ModelError
from plausible.graph import Graph
from tests.networks.naive import CAMPFIRE_ARCS, random_network

CAMPFIRE = Graph(CAMPFIRE_ARCS)


def test_campfire() -> None:  # Mitchell 1997, figure 6.3
    assert CAMPFIRE.separated("Thunder", "Storm", given=["Lightning"])
    assert not CAMPFIRE.separated("Thunder", "Storm")
    assert CAMPFIRE.separated("Storm", "BusTourGroup")
    assert not CAMPFIRE.separated("Storm", "BusTourGroup", given=["ForestFire"])
    assert CAMPFIRE.markov_blanket("Campfire") == {"Storm", "BusTourGroup", "ForestFire", "Lightning"}
    assert CAMPFIRE.ancestors(["Thunder"]) == {"Thunder", "Lightning", "Storm"}
    assert CAMPFIRE.descendants(["Lightning"]) == {"Lightning", "Thunder", "ForestFire"}
    assert CAMPFIRE.moral()["BusTourGroup"] == {"Storm", "Campfire"}


@pytest.mark.parametrize("seed", range(20))
def test_separation_is_separation_in_the_moral_graph(seed: int) -> None:
    """Lauritzen et al. 1990: a and b are d-separated by S iff S cuts them in the moral ancestral graph."""
    graph = random_network(seed, nodes=7).graph
    rng = np.random.default_rng(seed)
    for a, b in combinations(graph.nodes, 2):
        given = {n for n in graph.nodes if n not in (a, b) and rng.random() < 0.3}
        kept = graph.ancestors({a, b, *given})
        near = Graph({n: graph.parents[n] for n in kept}).moral()
        reached, todo = set(), [a]
        while todo:
            name = todo.pop()
            if name not in reached and name not in given:
                reached.add(name)
                todo.extend(near[name])
        assert graph.separated(a, b, given) == (b not in reached)


def structure(graph: Graph) -> tuple[frozenset[frozenset[str]], frozenset[tuple[str, str, str]]]:
    """Skeleton and v-structures: what makes two graphs equivalent (Verma and Pearl 1990)."""
    skeleton = frozenset(frozenset(arc) for arc in graph.arcs)
    return skeleton, frozenset(
        (*sorted(pair), child)
        for child, above in graph.parents.items()
        for pair in combinations(above, 2)
        if frozenset(pair) not in skeleton
    )


@pytest.mark.parametrize("seed", range(25))
def test_equivalence_class_is_the_union_of_all_equivalent_graphs(seed: int) -> None:
    graph = random_network(seed, nodes=5).graph
    skeleton = [tuple(sorted(edge)) for edge in structure(graph)[0]]
    members = set()
    for order in permutations(graph.nodes):
        parents: dict[str, list[str]] = {n: [] for n in graph.nodes}
        for a, b in skeleton:
            first, second = (a, b) if order.index(a) < order.index(b) else (b, a)
            parents[second].append(first)
        if structure(Graph(parents)) == structure(graph):
            members.add(frozenset(Graph(parents).arcs))
    shared = frozenset.intersection(*members)
    found = graph.equivalence_class()
    assert found.arcs == shared
    assert found.edges == {tuple(sorted(arc)) for arc in graph.arcs if arc not in shared}
    for member in members:
        same = Graph({n: [a for a, b in member if b == n] for n in graph.nodes}).equivalence_class()
        assert same == found or same.distance(found) == 0


def test_distance() -> None:
    chain = Graph({"b": ["a"], "c": ["b"]}).equivalence_class()
    collider = Graph({"b": ["a", "c"]}).equivalence_class()
    assert chain.distance(chain) == 0
    assert chain.distance(collider) == 2
    assert chain.distance(Graph({"a": [], "b": [], "c": ["b"]}).equivalence_class()) == 1


def test_order_puts_parents_first() -> None:
    graph = random_network(3, nodes=12).graph
    place = {name: i for i, name in enumerate(graph.order)}
    assert all(place[parent] < place[child] for parent, child in graph.arcs)


def test_cycle_is_shown() -> None:
    with pytest.raises(ModelError, match="a -> c -> b -> a"):
        Graph({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})
    with pytest.raises(ModelError, match="a -> a"):
        Graph({"a": ["a"]})


def test_bad_calls() -> None:
    with pytest.raises(ModelError, match="'a' twice"):
        Graph({"b": ["a", "a"]})
    with pytest.raises(CallError, match="did you mean 'Storm'"):
        CAMPFIRE.markov_blanket("storm")
    with pytest.raises(CallError, match="unknown node"):
        CAMPFIRE.separated("Storm", "Rain")
    assert Graph({}).order == ()
    assert CAMPFIRE.without(["Storm"]).parents["Campfire"] == ("BusTourGroup",)
    assert CAMPFIRE.with_parents("Rain", ["Storm"]).parents["Rain"] == ("Storm",)
