"""What the textbook says of learning belief networks (Mitchell 1997, sections 6.11.4, 6.11.5 and 6.12)."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.counting import Cases
from plausible.cpds import Table, Words, noisy_or
from plausible.errors import CallError, PlausibleWarning
from plausible.infer.engine import engine
from plausible.infer.rows import Expectation, distinct
from plausible.learning.fit import fit
from plausible.learning.gradient import gradient
from plausible.learning.hidden import METHODS, fit_hidden
from plausible.learning.simplices import Simplices
from plausible.network import Network
from plausible.schema import Variable
from tests.networks.naive import CAMPFIRE_ARCS
from tests.parameters.naive import without
from tests.structure.naive import sample

FIRE = np.array([0.6, 0.3, 0.3, 0.05, 0.5, 0.3, 0.4, 0.02]).reshape(2, 2, 2)

CAMPFIRE = Network(  # the table of Campfire is the book's, the others are ours
    CAMPFIRE_ARCS,
    {
        "Storm": [0.3, 0.7],
        "BusTourGroup": [0.4, 0.6],
        "Lightning": [[0.6, 0.4], [0.05, 0.95]],
        "Campfire": [[[0.4, 0.6], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]]],
        "Thunder": [[0.9, 0.1], [0.1, 0.9]],
        "ForestFire": np.stack([FIRE, 1 - FIRE], axis=-1),
    },
    states=("True", "False"),
)


@pytest.fixture(scope="module")
def some_unobserved() -> Cases:
    """Lightning is seen by no one, Campfire by half of the rangers (section 6.11.4: "only some are observable")."""
    cases = sample(CAMPFIRE, 500, 1)
    half = np.arange(500) % 2 == 0
    columns = [
        np.where(half, -1, c) if v.name == "Campfire" else c for v, c in zip(cases.variables, cases.codes, strict=True)
    ]
    return without(Cases(cases.variables, tuple(columns)), "Lightning")


def test_the_gradient(some_unobserved):
    """Eq. 6.25: ∂ ln P(D | h) / ∂ w_ijk = Σ_d P(y_ij, u_ik | d, h) / w_ijk, within 1e-6 of finite differences."""
    tree = engine(CAMPFIRE)
    hidden = np.full(500, -1)
    at = {v.name: c for v, c in zip(some_unobserved.variables, some_unobserved.codes, strict=True)}
    rows, shares = distinct([at.get(name, hidden) for name in CAMPFIRE.names])
    expectation = Expectation(tree, rows, shares)
    values = [CAMPFIRE[name].values for name in CAMPFIRE.names]
    slope = gradient(Simplices.of(values, [0 * v for v in values]), tree.values, expectation(tree.values)[0])
    for place in range(len(tree.values)):
        step = np.eye(len(tree.values))[place] * 1e-6
        up, down = (float(shares @ expectation(tree.values + s)[1]) for s in (step, -step))
        assert slope[place] == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-6)


def test_em_and_gradients_climb_to_one_peak(some_unobserved):
    found = {
        method: fit_hidden(
            CAMPFIRE, some_unobserved, "laplace", hidden=["Lightning"], method=method, restarts=0, tolerance=1e-15,
            max_iterations=20_000,
        )
        for method in METHODS
    }  # fmt: skip
    for one in found.values():
        assert (np.diff(one.trace) >= 0).all()
        assert one.trace[-1] > one.trace[0]
        assert one.objective == pytest.approx(found["em"].objective, abs=1e-5)
        for name in CAMPFIRE.names:
            np.testing.assert_allclose(one.network[name].values, found["em"].network[name].values, atol=5e-3)


def test_all_observed_is_counting():
    """Section 6.11.4: with everything observable, tables are estimated as for a naive Bayes classifier."""
    cases = sample(CAMPFIRE, 300, 2)
    one = fit(CAMPFIRE, cases, "m:4")
    n = cases.counts(["Storm", "BusTourGroup", "Campfire"])
    np.testing.assert_allclose(one["Campfire"].values, (n + 4 * 0.5) / (n.sum(axis=-1, keepdims=True) + 4))
    other = fit_hidden(CAMPFIRE, cases, "m:4").network
    np.testing.assert_allclose(other["Campfire"].values, one["Campfire"].values, rtol=1e-12)


def test_other_kinds_of_distributions():
    bit = ("0", "1")
    a, b, c = (Variable(name, states=bit) for name in "abc")
    network = Network(None, [*(Table(v, (), [0.5, 0.5]) for v in (a, b)), noisy_or(c, (a, b), [0.9, 0.5])])
    cases = sample(network, 200, 1)
    with pytest.warns(PlausibleWarning, match="c: learned as a whole table, no longer as a noisy-max"):
        fit(network, cases)
    kept = fit_hidden(network, cases, fixed=["c"]).network
    assert kept["c"].values.tolist() == network["c"].table().values.tolist()
    text = Variable("text", "text")
    with_text = network.without("c").replace(Words(text, (a,), ("x", "y"), [[0.5, 0.5], [0.1, 0.9]]))
    with pytest.raises(CallError, match="'text' is a text, whose words are counted by a model of classes"):
        fit(with_text, cases)
