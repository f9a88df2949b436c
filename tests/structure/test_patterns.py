"""Equivalence classes while they are learned, PC and trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.counting import Cases
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.files.bif import read_bif
from plausible.graph import Graph
from plausible.learning.structure import Knowledge, chow_liu, pc, tan
from plausible.learning.structure.pattern import Pattern, members, subsets
from plausible.schema import Variable
from tests.networks.naive import random_network
from tests.networks.shared import needs_shared, shared
from tests.structure.naive import random_cases, sample


def named(parents: list[list[int]]) -> Graph:
    return Graph({f"v{y}": [f"v{x}" for x in above] for y, above in enumerate(parents)})


def in_order(graph: Graph) -> Graph:
    return Graph({name: graph.parents[name] for name in sorted(graph.nodes)})


def test_sets_as_bits():
    assert list(members(0b10110)) == [1, 2, 4]
    assert sorted(subsets(0b101)) == [0, 1, 4, 5]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_a_class_extends_to_a_graph_of_the_class(seed):
    graph = in_order(random_network(seed, nodes=7).graph)
    found = graph.equivalence_class()
    parents = Pattern.of(found).extension()
    assert named(parents).equivalence_class() == found


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_the_colliders_alone_give_all_arrows_of_the_class(seed):
    """Meek 1995, theorem 3."""
    graph = in_order(random_network(seed, nodes=7).graph)
    place = {name: i for i, name in enumerate(graph.nodes)}
    pattern = Pattern(len(place))
    for x, y in graph.arcs:
        pattern.join(place[x], place[y])
    for z, above in graph.parents.items():
        for x in above:
            if any(y != x and y not in graph.parents[x] and x not in graph.parents[y] for y in above):
                pattern.direct(place[x], place[z])
    pattern.close()
    whole = Pattern.of(graph.equivalence_class())
    assert (pattern.parents, pattern.near) == (whole.parents, whole.near)


def test_rules_of_meek_with_arrows_from_knowledge():
    """Rule 4: x - y, x - z, z -> w? w -> y: with x - w, the edge x - y must point to y."""
    x, y, z, w = range(4)
    pattern = Pattern(4)
    for a, b in ((x, y), (x, z), (x, w)):
        pattern.join(a, b)
    pattern.direct(z, w)
    pattern.direct(w, y)
    pattern.close()
    assert pattern.parents[y] >> x & 1


def test_no_extension_and_a_forced_one():
    square = Pattern(4)
    for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
        square.join(a, b)
    assert square.extension() is None
    assert len(named(square.extension(force=True)).arcs) == 4
    ring = Pattern(3)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        ring.direct(a, b)
    assert ring.extension() is None
    assert len(named(ring.extension(force=True)).arcs) == 3


@pytest.mark.parametrize("test", ["g2", "chi2"])
def test_pc_finds_a_collider_and_a_chain(test):
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (2, 4000))
    c = np.where(rng.random(4000) < 0.9, a | b, rng.integers(0, 2, 4000))
    d = np.where(rng.random(4000) < 0.9, c, 1 - c)
    bits = ("0", "1")
    cases = Cases(tuple(Variable(name, states=bits) for name in "abcd"), (a, b, c, d))
    assert set(pc(cases, test=test).graph.arcs) == {("a", "c"), ("b", "c"), ("c", "d")}


@pytest.mark.filterwarnings("ignore:the tests contradict")
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_the_skeleton_of_pc_does_not_depend_on_the_order_of_columns(seed):
    cases = sample(random_network(seed, nodes=6), 300, seed)
    turned = Cases(cases.variables[::-1], cases.codes[::-1])
    skeletons = [{frozenset(arc) for arc in pc(given, alpha=0.05).graph.arcs} for given in (cases, turned)]
    assert skeletons[0] == skeletons[1]


def test_pc_heeds_knowledge():
    cases = sample(random_network(3, nodes=6, most_parents=2), 3000, 1)
    free = {frozenset(arc) for arc in pc(cases).graph.arcs}
    (a, b), *_ = sorted(map(sorted, free))
    assert frozenset((a, b)) not in {
        frozenset(arc) for arc in pc(cases, knowledge=Knowledge(forbidden=[(a, b), (b, a)])).graph.arcs
    }
    assert (b, a) in pc(cases, knowledge=Knowledge(required=[(b, a)])).graph.arcs
    tiers = [["v5"], ["v0", "v1", "v2", "v3", "v4"]]
    assert not pc(cases, knowledge=Knowledge(tiers=tiers)).graph.parents["v5"]
    with pytest.raises(CallError, match=r"pc can't heed max_parents"):
        pc(cases, knowledge=Knowledge(max_parents=2))


def test_pc_says_what_it_can_not_use():
    cases = random_cases(1, (2, 2), 30, gaps=0.2)
    with pytest.raises(DataError, match=r"pc needs every cell"):
        pc(cases)
    whole = cases.complete()
    with pytest.raises(CallError, match=r"alpha is 0; it lies between 0 and 1"):
        pc(whole, alpha=0)
    with pytest.raises(CallError, match=r"unknown test 'g'"):
        pc(whole, test="g")


def test_pc_on_odd_data():
    cases = random_cases(8, (2, 3, 1), 100)
    twice = Cases(
        (*cases.variables, Variable("again", states=cases.variables[0].states)), (*cases.codes, cases.codes[0])
    )
    assert {"v0", "again"} in [set(arc) for arc in pc(twice).graph.arcs]
    assert not pc(cases.select([0])).graph.arcs
    assert pc(twice, seconds=0).stopped == "time"


def test_contradicting_tests_are_said():
    """Four variables in a ring, each leaning on its neighbours: no directed graph has a plain ring."""
    rng = np.random.default_rng(0)
    joint = np.ones((2, 2, 2, 2))
    for cell in np.ndindex(joint.shape):
        joint[cell] = np.exp(1.2 * sum(cell[i] == cell[(i + 1) % 4] for i in range(4)))
    drawn = rng.choice(16, 20_000, p=joint.ravel() / joint.sum())
    bits = ("0", "1")
    cases = Cases(tuple(Variable(name, states=bits) for name in "abcd"), tuple(np.unravel_index(drawn, joint.shape)))
    with pytest.warns(PlausibleWarning, match=r"contradict one another"):
        assert len(pc(cases).graph.arcs) == 4


def test_chow_liu_is_the_best_tree():
    cases = random_cases(11, (2, 3, 2, 4, 2), 500)
    found = chow_liu(cases)
    assert {frozenset(arc) for arc in found.graph.arcs} == {frozenset((f"v{i}", f"v{i + 1}")) for i in range(4)}
    rooted = chow_liu(cases, root="v3").graph
    assert not rooted.parents["v3"]
    assert rooted.equivalence_class() == found.graph.equivalence_class()
    with pytest.raises(CallError, match=r"unknown variable 'v9'"):
        chow_liu(cases, root="v9")


def test_tan_joins_each_attribute_to_the_class_and_one_other():
    cases = random_cases(12, (2, 3, 2, 4), 500)
    graph = tan(cases, "v2").graph
    assert not graph.parents["v2"]
    for name in ("v0", "v1", "v3"):
        assert graph.parents[name][0] == "v2"
        assert len(graph.parents[name]) <= 2
    assert len(graph.arcs) == 5
    assert graph.parents["v3"] != ("v2",)
    assert tan(cases, "v2", root="v3").graph.parents["v3"] == ("v2",)
    with pytest.raises(CallError, match=r"'v2' is the class; name another"):
        tan(cases, "v2", root="v2")
    with pytest.raises(CallError, match=r"unknown variable 'class'"):
        tan(cases, "class")


@needs_shared
def test_alarm():
    network = read_bif(shared() / "data/bayesnets/bif/alarm.bif.gz")
    found = pc(sample(network, 10_000, 0))
    assert network.graph.equivalence_class().distance(found.pattern) <= 6
