"""Posterior intervals against closed forms, sampling, and how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from plausible.errors import CallError, PlausibleWarning
from plausible.infer.exact import query
from plausible.learning.fit import count
from plausible.learning.hidden import fit_hidden
from plausible.learning.uncertainty import parameter_intervals, query_intervals
from tests.networks.naive import random_network
from tests.parameters.naive import gappy
from tests.parameters.test_gaussian import mixed
from tests.structure.naive import sample


def test_parameters_have_beta_posteriors():
    network = random_network(3, nodes=4)
    counted = count(network, sample(network, 50, 1), "bdeu:4")
    for found in parameter_intervals(counted, 0.9):
        family = counted.network[found.variable]
        row = tuple(p.states.index(dict(found.given)[p.name]) for p in family.parents)
        k = family.child.states.index(found.state)
        alpha = counted.counts[found.variable][row] + counted.pseudo[found.variable][row]
        assert found.probability == family.values[(*row, k)]
        assert found.seen == counted.counts[found.variable][row].sum()
        if len(alpha) > 1:
            right = beta(alpha[k], alpha.sum() - alpha[k])
            assert [found.low, found.high] == pytest.approx([right.ppf(0.05), right.ppf(0.95)])
            assert found.probability == pytest.approx(right.mean())
        else:
            assert (found.low, found.high) == (1, 1)


def test_a_query_of_one_parameter_is_its_interval():
    network = random_network(6, nodes=3)
    counted = count(network, sample(network, 40, 1), "laplace")
    root = next(name for name in network.names if not network[name].parents and len(network[name].child.states) > 1)
    sampled = query_intervals(counted, [root], samples=20_000)
    exact = [one for one in parameter_intervals(counted) if one.variable == root]
    for one, other in zip(sampled, exact, strict=True):
        assert (one.state, one.probability) == (other.state, pytest.approx(other.probability))
        assert [one.low, one.high] == pytest.approx([other.low, other.high], abs=0.01)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    held = asked = 0
    for seed in range(60):
        network = random_network(seed, nodes=4)
        counted = count(network, sample(network, 60, seed), "laplace")
        given = {network.names[0]: 0}
        for one in query_intervals(counted, network.names[1:], given, level=0.8, samples=200):
            if len(network[one.variable].child.states) == 1:
                continue
            truth = query(network, one.variable, given)[network[one.variable].child.states.index(one.state)]
            held += one.low <= truth <= one.high
            asked += 1
    assert 0.7 < held / asked < 0.9


def test_tiny_counts_draw_whole_tables():
    network = random_network(2, nodes=4)
    counted = count(network, sample(network, 3, 1), "bdeu:1e-6")
    for one in query_intervals(counted, network.names, samples=200):
        assert 0 <= one.low <= one.high <= 1


def test_what_can_not_be_is_said():
    network = random_network(1, nodes=3)
    cases = sample(network, 20, 1)
    counted = count(network, cases)
    with pytest.raises(CallError, match="maximum likelihood has no prior"):
        parameter_intervals(count(network, cases, "maximum-likelihood"))
    with pytest.raises(CallError, match="level of an interval is 95"):
        parameter_intervals(counted, 95)
    with pytest.raises(CallError, match="10 samples: too few"):
        query_intervals(counted, network.names, samples=10)
    with pytest.raises(CallError, match="unknown variable"):
        query_intervals(counted, ["x"])
    with pytest.raises(CallError, match="not distributions"):
        query_intervals(
            counted,
            [network.names[1]],
            {network.names[0]: np.full(len(network.variables[0].states), 1 / len(network.variables[0].states))},
        )
    with pytest.raises(CallError, match="continuous variables"):
        query_intervals(count({"y": ["switch"]}, mixed()), ["y"])
    with pytest.raises(CallError, match="all variables are continuous"):
        parameter_intervals(count({"y": ["x"]}, mixed()))
    hidden = fit_hidden(network, gappy(cases, 0.2, 1))
    with pytest.warns(PlausibleWarning, match="too narrow"):
        intervals = parameter_intervals(hidden.counted)
    assert np.isfinite([one.low for one in intervals]).all()
