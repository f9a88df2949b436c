"""The sampled E step against the exact one."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.cpds import Table
from plausible.errors import DataError, PlausibleWarning
from plausible.infer.engine import engine
from plausible.infer.rows import Expectation, distinct
from plausible.learning.hidden import fit_hidden
from plausible.learning.sampled import Sampled
from plausible.network import Network
from plausible.schema import Variable
from tests.networks.naive import random_network
from tests.parameters.naive import gappy, without
from tests.parameters.test_hidden import hidden_class, tables
from tests.structure.naive import sample


@pytest.mark.parametrize("seed", range(4))
def test_expected_counts_and_gains_are_near_the_exact_ones(seed):
    network = random_network(seed, nodes=6)
    rows, shares = distinct(gappy(sample(network, 40, seed), 0.4, seed).codes)
    tree = engine(network)
    exact = Expectation(tree, rows, shares)
    start = _normal(network, tree.values * 0.8 + 0.1)  # other parameters than those asked for
    drawn = Sampled(tree, rows, shares, start, samples=3000, seed=1)
    assert np.abs(drawn(start)[0] - exact(start)[0]).max() < 0.6
    assert drawn(start)[1] == pytest.approx(np.zeros(len(rows)))
    gained = exact(tree.values)[1] - exact(start)[1]
    assert drawn(tree.values)[1] == pytest.approx(gained, abs=0.15)
    assert np.abs(drawn(tree.values)[0] - exact(tree.values)[0]).max() < 1
    drawn.redraw(tree.values)
    assert drawn(tree.values)[1] == pytest.approx(gained, abs=0.15)
    assert not drawn.uneven(tree.values)
    assert np.abs(drawn(tree.values)[0] - exact(tree.values)[0]).max() < 0.6


def _normal(network: Network, values: np.ndarray) -> np.ndarray:
    shapes = [network[name].values.shape for name in network.names]  # type: ignore[attr-defined]
    parts = np.split(values, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
    shaped = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    return np.concatenate([(part / part.sum(axis=-1, keepdims=True)).ravel() for part in shaped])


def test_em_on_samples_ends_near_exact_em_and_never_falls():
    network = random_network(1, nodes=6, most_parents=2)
    cases = gappy(sample(network, 1500, 1), 0.2, 1)
    exact = fit_hidden(network, cases, "laplace")
    drawn = fit_hidden(network, cases, "laplace", samples=40, tolerance=1e-7)
    assert (np.diff(drawn.trace) >= 0).all()
    assert (exact.exact, drawn.exact) == (True, False)
    assert np.abs(tables(drawn.network) - tables(exact.network)).max() < 0.05
    again = fit_hidden(network, cases, "laplace", samples=40, tolerance=1e-7)
    assert np.array_equal(tables(again.network), tables(drawn.network))


def test_what_is_too_wide_is_sampled_and_said():
    truth, cases = hidden_class(2000, 1)
    with pytest.warns(PlausibleWarning, match=r"exact inference would take .* from 20 completions of each row"):
        found = fit_hidden(truth, cases, "laplace", hidden=["class"], memory=1, max_iterations=15)
    assert found.counts["class"].sum() == pytest.approx(2000)
    assert found.network["class"].values == pytest.approx([0.5, 0.3, 0.2], abs=0.1)


def test_a_really_wide_network():
    """Sixty hidden causes of ninety effects: four megabytes hold no tree of their cliques."""
    bit = ("0", "1")
    rng = np.random.default_rng(0)
    causes = [Variable(f"cause {i}", states=bit) for i in range(60)]
    cpds = [Table(v, (), [0.6, 0.4]) for v in causes]
    for i in range(90):
        above = [causes[j] for j in rng.choice(60, 3, replace=False)]
        chance = 0.1 + 0.8 * rng.random((2, 2, 2))
        cpds.append(Table(Variable(f"effect {i}", states=bit), above, np.stack([1 - chance, chance], axis=-1)))
    network = Network(None, cpds)
    names = [v.name for v in causes]
    cases = without(sample(network, 200, 1), *names)
    with pytest.warns(PlausibleWarning, match="would take"):
        found = fit_hidden(network, cases, hidden=names, memory=1 << 22, max_iterations=3)
    assert found.objective > found.trace[0] or found.iterations == 0
    assert found.counts["effect 3"].sum() == pytest.approx(200)


def test_zeros_that_rule_a_row_out_are_said():
    a, b = Variable("a", states=("no", "yes")), Variable("b", states=("no", "yes"))
    sure = Network(None, [Table(a, (), [1, 0]), Table(b, (a,), [[1, 0], [0, 1]])])
    cases = without(sample(sure, 5, 1), "a")
    with pytest.raises(DataError, match="no completion that was drawn agrees"):
        fit_hidden(sure, [{"b": "yes"}], "mle", hidden=["a"], fixed=["a", "b"], samples=3, restarts=0)
    assert fit_hidden(sure, cases, "mle", hidden=["a"], fixed=["a", "b"], samples=3).iterations >= 0
