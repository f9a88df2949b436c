"""Comparison of graphs and of their equivalence classes."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.comparison import compare
from plausible.graph import Graph
from tests.networks.naive import random_network


def test_equivalent_graphs_differ_as_graphs_only() -> None:
    chain = Graph({"a": [], "b": ["a"], "c": ["b"]})
    turned = Graph({"c": [], "b": ["c"], "a": ["b"]})
    found = compare(chain, turned)
    assert (found.distance, found.class_distance) == (2, 0)
    assert found.reversed == (("a", "b"), ("b", "c"))


def test_a_collider_is_another_class() -> None:
    found = compare(Graph({"b": ["a"], "c": ["b"]}), Graph({"b": ["a", "c"]}))
    assert (found.distance, found.class_distance) == (1, 2)
    assert found.class_redirected == (("a", "b"), ("b", "c"))


def test_nodes_that_one_lacks() -> None:
    found = compare(Graph({"b": ["a"]}), Graph({"b": [], "d": ["b"]}))
    assert (found.only_first, found.only_second) == (("a",), ("d",))
    assert (found.missing, found.extra, found.same) == ((("a", "b"),), (("b", "d"),), ())
    assert compare(Graph({}), Graph({})).distance == 0


@pytest.mark.parametrize("seed", range(30))
def test_against_adjacency_matrices(seed: int) -> None:
    a, b = random_network(seed, nodes=7), random_network(seed + 100, nodes=7)
    found = compare(a, b)
    x, y = (np.array([[p in g.graph.parents[c] for c in a.names] for p in a.names]) for g in (a, b))
    differs = (x != y) | (x != y).T
    assert found.distance == np.triu(differs).sum()
    assert found.class_distance == a.graph.equivalence_class().distance(b.graph.equivalence_class())
    assert len(found.same) + len(found.missing) + len(found.reversed) == len(a.graph.arcs)
    assert len(found.same) + len(found.extra) + len(found.reversed) == len(b.graph.arcs)
    back = compare(b, a)
    assert (back.missing, back.extra) == (found.extra, found.missing)
    assert compare(a, a).distance == compare(a, a).class_distance == 0
