"""Tables from counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.coding import read_cases
from plausible.cpds import Table
from plausible.errors import CallError, DataError
from plausible.graph import Graph
from plausible.learning.fit import RULES, fit
from plausible.network import Network
from plausible.schema import Variable
from tests.networks.naive import random_network
from tests.structure.naive import counts, random_cases, sample

PLAY_TENNIS = [  # Mitchell 1997, table 3.2
    *[("no", wind) for wind in ("weak", "strong", "weak", "strong", "strong")],
    *[("yes", wind) for wind in ("weak", "weak", "weak", "strong", "weak", "weak", "strong", "strong", "weak")],
]


def test_wind_given_play_tennis():
    """Mitchell 1997, section 6.9.1: .33 and .60."""
    cases = read_cases([{"play": play, "wind": wind} for play, wind in PLAY_TENNIS])
    network = fit(Graph({"wind": ["play"]}), cases, "maximum-likelihood")
    assert network["wind"].values.tolist() == [[3 / 5, 2 / 5], [3 / 9, 6 / 9]]
    assert network["play"].values.tolist() == [5 / 14, 9 / 14]


def test_three_sizes():
    """4 small, 0 medium, 6 large of 10; m = 1, p = 1/3: .394, .030, .576 (design/figures.md, section 1)."""
    size = Variable("size", states=("small", "medium", "large"))
    cases = read_cases([{"size": s} for s in ["small"] * 4 + ["large"] * 6], like=[size])
    found = fit(Graph({"size": []}), cases, "m-estimate")["size"].values
    assert found.round(3).tolist() == [0.394, 0.030, 0.576]
    assert fit(Graph({"size": []}), cases, "m-estimate:3")["size"].values.tolist() == (
        fit(Graph({"size": []}), cases, "laplace")["size"].values.tolist()
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.sampled_from(list(RULES)))
def test_every_rule_equals_its_formula(seed, rows, rule):
    cases = random_cases(seed, (2, 3, 4), rows)
    table = fit(Graph({"v2": ["v1", "v0"]}), cases, rule)["v2"].values
    n = counts(cases, ["v1", "v0", "v2"])
    a = {"maximum-likelihood": 0, "laplace": 1, "m-estimate": 1 / 4, "dirichlet": 1, "bdeu": 1 / 24}[rule]
    for row in np.ndindex(3, 2):
        total = n[row].sum() + 4 * a
        expected = (n[row] + a) / total if total else np.full(4, 0.25)
        assert table[row] == pytest.approx(expected, rel=1e-12)


def test_sample_then_fit_recovers():
    network = random_network(3, nodes=5, most_parents=2)
    found = fit(network, sample(network, 200_000, 1), "maximum-likelihood")
    for name in network.names:
        weights = sample(network, 200_000, 2).counts([p.name for p in network[name].parents])
        off = np.abs(found[name].values - network[name].values)
        assert (off[weights > 20_000] < 0.02).all()


def test_a_network_keeps_its_states_and_notes():
    wet = Variable("wet", states=("yes", "no", "never"))
    network = Network(None, [Table(wet, (), [0.5, 0.5, 0])], name="garden", properties={"wet": ("note",)})
    found = fit(network, read_cases([{"wet": "no"}, {"wet": "yes"}, {"wet": "no"}]), "maximum-likelihood")
    assert found["wet"].child == wet
    assert found["wet"].values.tolist() == [1 / 3, 2 / 3, 0]
    assert (found.name, found.properties["wet"]) == ("garden", ("note",))
    with pytest.raises(DataError, match=r"unknown state in column 'wet' 'Yes'.*did you mean 'yes'"):
        fit(network, read_cases([{"wet": "Yes"}]))
    with pytest.raises(DataError, match=r"unknown variable in the data 'wet'"):
        fit(network, read_cases([{"Wet": "yes"}]))


def test_a_network_as_prior():
    prior = random_network(4, nodes=4)
    cases = sample(prior, 50, 0)
    mixed = fit(prior.graph, cases, prior=prior, weight=10)
    for name in prior.names:
        family = [*(p.name for p in prior[name].parents), name]
        n = cases.counts(family)
        expected = (n + 10 * prior[name].values) / (n.sum(axis=-1, keepdims=True) + 10)
        assert mixed[name].values == pytest.approx(expected)
    other = Network(None, [Table(v, (), np.full(len(v.states), 1 / len(v.states))) for v in prior.variables])
    with pytest.raises(CallError, match=r"not over the same parents"):
        fit(prior.graph, cases, prior=other)


def test_what_can_not_be_fitted_is_said():
    cases = random_cases(1, (2, 2), 20, gaps=0.3)
    graph = Graph({"v1": ["v0"]})
    with pytest.raises(DataError, match=r"fit needs every cell.*use fit_hidden"):
        fit(graph, cases)
    whole = cases.complete()
    with pytest.raises(CallError, match=r"unknown rule 'laplas'.*did you mean 'laplace'"):
        fit(graph, whole, "laplas")
    for rule in ("bdeu:-1", "dirichlet:x", "m-estimate:inf"):
        with pytest.raises(CallError, match=r"it is 0 or more"):
            fit(graph, whole, rule)
    with pytest.raises(CallError, match=r"takes no number"):
        fit(graph, whole, "laplace:2")
    with pytest.raises(CallError, match=r"weight of the prior is -1"):
        fit(graph, whole, prior=random_network(1), weight=-1)
