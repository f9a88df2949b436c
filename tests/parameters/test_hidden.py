"""Gaps and hidden variables: EM and gradients against enumeration, each other, and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.coding import read_cases
from plausible.counting import Cases, FrameCounter
from plausible.cpds import Table, as_table
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.graph import Graph
from plausible.infer.engine import engine
from plausible.infer.rows import Expectation, distinct
from plausible.learning.fit import fit
from plausible.learning.gradient import gradient
from plausible.learning.hidden import METHODS, fit_hidden
from plausible.learning.simplices import Simplices
from plausible.network import Network
from plausible.schema import Variable
from tests.networks.naive import random_network
from tests.parameters.naive import expected, gappy, m_step, without
from tests.structure.naive import sample

seeds = st.integers(0, 2**32 - 1)


def tables(network: Network) -> np.ndarray:
    return np.concatenate([as_table(network[name]).values.ravel() for name in network.names])


@settings(deadline=None, max_examples=15)
@given(seeds, st.sampled_from(["maximum-likelihood", "laplace", "bdeu:3"]))
def test_em_is_its_definition(seed, rule):
    network = random_network(seed, nodes=4)
    cases = without(gappy(sample(network, 30, seed), 0.3, seed), *network.names[: seed % 2])
    found = fit_hidden(
        network, cases, rule, hidden=network.names[: seed % 2], restarts=0, max_iterations=3, tolerance=0
    )
    by_hand = network
    pseudo = {}
    for name in network.names:
        shape = as_table(network[name]).values.shape
        pseudo[name] = np.full(shape, {"maximum-likelihood": 0, "laplace": 1, "bdeu:3": 3 / np.prod(shape)}[rule])
    for _ in range(found.iterations):
        by_hand = m_step(by_hand, expected(by_hand, cases)[0], pseudo)
    np.testing.assert_allclose(tables(found.network), tables(by_hand), atol=1e-12)
    counts, log_likelihood = expected(by_hand, cases)
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-10)
    for name, table in counts.items():
        np.testing.assert_allclose(found.counts[name], table, atol=1e-10)


@settings(deadline=None, max_examples=15)
@given(seeds, st.sampled_from(METHODS), st.booleans())
def test_the_objective_never_falls_and_no_row_is_dropped(seed, method, hide):
    network = random_network(seed, nodes=5)
    cases = gappy(sample(network, 60, seed), 0.3, seed)
    gone = [next(v.name for v in network.variables if len(v.states) > 1)] if hide else []
    found = fit_hidden(network, without(cases, *gone), "laplace", hidden=gone, method=method, max_iterations=40)
    assert (np.diff(found.trace) >= 0).all()
    assert found.trace[-1] == found.objective >= found.trace[0]
    assert found.rows == 60
    for name in network.names:
        assert found.counts[name].sum() == pytest.approx(60)


@pytest.mark.parametrize("seed", range(6))
def test_all_methods_reach_the_same_peak_from_the_same_start(seed):
    """Mitchell 1997, sections 6.11.5 and 6.12; the prior keeps the peak inside."""
    truth = random_network(seed, nodes=5, most_parents=2)
    cases = gappy(sample(truth, 400, seed), 0.15, seed)
    start = random_network(seed, nodes=5, most_parents=2)
    found = [fit_hidden(start, cases, "laplace", method=m, tolerance=1e-15, max_iterations=20_000) for m in METHODS]
    for other in found[1:]:
        assert other.objective == pytest.approx(found[0].objective, abs=1e-6)
        np.testing.assert_allclose(tables(other.network), tables(found[0].network), atol=1e-3)
    leaping = fit_hidden(start, cases, "laplace", accelerate=True, tolerance=1e-15)
    assert leaping.objective == pytest.approx(found[0].objective, abs=1e-6)


@pytest.mark.parametrize("tied", [False, True])
def test_gradients_equal_finite_differences(tied):
    """Mitchell 1997, eq. 6.25, and the softmax's n_ijk − w_ijk n_ij; to 1e-6."""
    bit = ("0", "1", "2")
    a, b, c = (Variable(name, states=bit) for name in "abc")
    rng = np.random.default_rng(3)
    network = Network(
        None,
        [Table(a, (), rng.dirichlet(np.ones(3))), *(Table(v, (a,), rng.dirichlet(np.ones(3), 3)) for v in (b, c))],
    )
    cases = gappy(sample(network, 50, 1), 0.3, 1)
    rows, shares = distinct(cases.codes)
    expectation = Expectation(engine(network), rows, shares)
    start = [network[name].values for name in network.names]
    simplices = Simplices.of(start, [np.full(t.shape, 0.5) for t in start], tied=[[1, 2]] if tied else [])
    values = simplices.settled(simplices.fixed[simplices.leader])

    def objective(w):
        return float(shares @ expectation(w)[1]) + simplices.log_prior(w)

    counts = expectation(values)[0]
    slope = gradient(simplices, values, counts)
    seen = simplices.evidence(counts)
    soft = seen - values * simplices.sums(seen)
    for i in np.flatnonzero(simplices.leader == np.arange(len(values))):
        step = np.where(simplices.leader == i, 1e-6, 0)
        by_hand = (objective(values + step) - objective(values - step)) / 2e-6
        assert slope[i] == pytest.approx(by_hand, rel=1e-6, abs=1e-6)
        up, down = (simplices.settled(values * np.exp(s * step)) for s in (1, -1))
        assert soft[i] == pytest.approx((objective(up) - objective(down)) / 2e-6, rel=1e-6, abs=1e-6)


def test_without_gaps_it_is_fit():
    network = random_network(2, nodes=6)
    cases = sample(network, 200, 0)
    for rule in ("maximum-likelihood", "bdeu:4", "m-estimate"):
        whole = fit(network, cases, rule)
        for model in (network, network.graph):
            found = fit_hidden(model, cases, rule)
            for name in network.names:
                np.testing.assert_allclose(found.network[name].values, whole[name].values, atol=1e-12)
    prior = random_network(2, nodes=6)
    assert tables(fit_hidden(network, cases, prior=prior, weight=7).network) == pytest.approx(
        tables(fit(network, cases, prior=prior, weight=7))
    )


@settings(deadline=None, max_examples=15)
@given(seeds)
def test_permuting_states_permutes_the_result(seed):
    network = random_network(seed, nodes=4)
    cases = gappy(sample(network, 80, seed), 0.2, seed)
    rng = np.random.default_rng(seed)
    orders = {v.name: rng.permutation(len(v.states)) for v in network.variables}
    turned = {v.name: Variable(v.name, states=tuple(v.states[i] for i in orders[v.name])) for v in network.variables}

    def turn(cpd: Table) -> Table:
        axes = [*(p.name for p in cpd.parents), cpd.child.name]
        values = cpd.values[np.ix_(*(orders[name] for name in axes))]
        return Table(turned[cpd.child.name], [turned[p.name] for p in cpd.parents], values)

    one = fit_hidden(network, cases, max_iterations=20).network
    other = fit_hidden(Network(None, [turn(network[n]) for n in network.names]), cases, max_iterations=20).network
    for name in network.names:
        np.testing.assert_allclose(other[name].values, turn(one[name]).values, atol=1e-9)


def hidden_class(rows: int, seed: int) -> tuple[Network, Cases]:
    """A class with four children that tell its three states apart."""
    top = Variable("class", states=("x", "y", "z"))
    below = [Variable(f"sign {i}", states=("a", "b", "c")) for i in range(4)]
    table = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    network = Network(None, [Table(top, (), [0.5, 0.3, 0.2]), *(Table(v, (top,), table) for v in below)])
    return network, without(sample(network, rows, seed), "class")


@pytest.mark.parametrize("method", METHODS)
def test_sample_then_fit_recovers_a_hidden_class(method):
    truth, cases = hidden_class(20_000, 1)
    iterations = 30 if method == "gradient" else 1000
    found = fit_hidden(
        truth.graph, cases, hidden={"class": 3}, method=method, max_iterations=iterations, max_seconds=20
    ).network
    best = np.argsort(-found["class"].values)
    assert found["class"].values[best] == pytest.approx([0.5, 0.3, 0.2], abs=0.05)
    for name in truth.names[1:]:
        assert found[name].values[best].round(1) == pytest.approx(truth[name].values, abs=0.11)
    assert found["class"].child.states == ("1", "2", "3")


def test_gaps_are_taken_for_what_they_are():
    """Cells that are missing more often where a parent is high: counts alone would be off, EM is not."""
    a, b = Variable("a", states=("low", "high")), Variable("b", states=("no", "yes"))
    truth = Network(None, [Table(a, (), [0.5, 0.5]), Table(b, (a,), [[0.9, 0.1], [0.2, 0.8]])])
    cases = sample(truth, 50_000, 0)
    lost = np.random.default_rng(1).random(cases.rows) < np.where(cases.codes[0] == 1, 0.8, 0.1)
    graph = Graph({"b": ["a"]})
    found = fit_hidden(graph, Cases((a, b), (cases.codes[0], np.where(lost, -1, cases.codes[1])))).network
    assert found["b"].values == pytest.approx(truth["b"].values, abs=0.02)
    assert found["a"].values == pytest.approx([0.5, 0.5], abs=0.01)


def test_tied_and_fixed_tables():
    truth, cases = hidden_class(3000, 2)
    signs = list(truth.names[1:])
    found = fit_hidden(truth, cases, "laplace", hidden=["class"], fixed=["class"], tied=[signs]).network
    assert found["class"].values.tolist() == [0.5, 0.3, 0.2]
    for name in signs:
        assert found[name].values.tolist() == found[signs[0]].values.tolist()
    for method in ("gradient", "lbfgs"):
        other = fit_hidden(
            truth, cases, "laplace", hidden=["class"], fixed=["class"], tied=[signs], method=method, tolerance=1e-12
        )
        assert other.network[signs[0]].values == pytest.approx(found[signs[0]].values, abs=2e-3)
        assert other.network["class"].values.tolist() == [0.5, 0.3, 0.2]
    whole = sample(truth, 100, 3)
    pooled = sum(whole.counts(["class", name]) for name in signs)
    found = fit_hidden(truth.graph, whole, "maximum-likelihood", tied=[signs]).network
    assert found[signs[2]].values == pytest.approx(pooled / pooled.sum(axis=1, keepdims=True))


def test_a_start_that_tells_nothing_is_left():
    """Tables that don't depend on a hidden state are a saddle: EM would stay there for ever."""
    truth, cases = hidden_class(2000, 4)
    flat = truth.replace(*(Table(truth[n].child, truth[n].parents, np.full((3, 3), 1 / 3)) for n in truth.names[1:]))
    found = fit_hidden(flat, cases, hidden=["class"])
    assert found.objective > fit_hidden(flat, cases, hidden=["class"], max_iterations=0, restarts=0).objective + 100
    wider = fit_hidden(truth, cases, hidden={"class": 4}, restarts=0)
    assert wider.network["sign 1"].values.shape == (4, 3)


def test_restarts_are_seeded_and_keep_the_best():
    truth, cases = hidden_class(500, 5)
    some = [fit_hidden(truth.graph, cases, hidden={"class": 3}, restarts=n, seed=1) for n in (0, 3)]
    assert some[1].objective >= some[0].objective
    again = fit_hidden(truth.graph, cases, hidden={"class": 3}, restarts=3, seed=1)
    assert np.array_equal(tables(again.network), tables(some[1].network))
    assert 1 <= again.run <= 4


def test_zeros_to_start_from():
    a, b = Variable("a", states=("no", "yes")), Variable("b", states=("no", "yes"))
    sure = Network(None, [Table(a, (), [1, 0]), Table(b, (a,), [[1, 0], [0.5, 0.5]])])
    cases = Cases((a, b), ([-1, 0, 1, -1], [0, 0, 1, 1]))
    with pytest.warns(PlausibleWarning, match=r"rule out row 2: 1% of equal chances"):
        found = fit_hidden(sure, cases, "maximum-likelihood")
    assert found.log_likelihood > -np.inf
    with pytest.warns(PlausibleWarning), pytest.raises(DataError, match=r"row 2 has probability 0 .* fixed"):
        fit_hidden(sure, cases, "maximum-likelihood", fixed=["a"])
    possible = Cases((a, b), ([-1, 0, 0], [0, 0, 0]))
    assert fit_hidden(sure, possible, "maximum-likelihood").network["a"].values.tolist() == [1, 0]


def test_many_rows_are_grouped_in_blocks(monkeypatch):
    monkeypatch.setattr("plausible.infer.rows.BLOCK", 64)
    network = random_network(4, nodes=3)
    cases = gappy(sample(network, 1000, 1), 0.2, 1)
    rows, shares = distinct(cases.codes)
    assert shares.sum() == 1000
    assert len(rows) == len(np.unique(np.stack(cases.codes, axis=1), axis=0))
    blocks = fit_hidden(network, cases, max_iterations=5)
    monkeypatch.undo()
    np.testing.assert_allclose(tables(blocks.network), tables(fit_hidden(network, cases, max_iterations=5).network))


def test_one_row_and_states_never_seen():
    a, b = Variable("a", states=("no", "yes")), Variable("b", states=("x", "y", "z"))
    found = fit_hidden(Graph({"b": ["a"]}), Cases((a, b), ([0], [-1])), "laplace").network
    assert found["a"].values == pytest.approx([2 / 3, 1 / 3])
    assert found["b"].values == pytest.approx(np.full((2, 3), 1 / 3))


def test_what_can_not_be_is_said():
    truth, cases = hidden_class(20, 6)
    graph = truth.graph
    with pytest.raises(DataError, match=r"unknown variable in the data 'class'.*say that it is hidden"):
        fit_hidden(graph, cases)
    with pytest.raises(CallError, match=r"how many states has 'class'\?"):
        fit_hidden(graph, cases, hidden=["class"])
    with pytest.raises(CallError, match=r"'sign 1' is to be hidden, but the cases have a column"):
        fit_hidden(graph, cases, hidden={"class": 3, "sign 1": 3})
    with pytest.raises(CallError, match=r"unknown hidden variable 'clas'.*did you mean 'class'"):
        fit_hidden(graph, cases, hidden={"clas": 3})
    with pytest.raises(CallError, match=r"can't have 0 states"):
        fit_hidden(graph, cases, hidden={"class": 0})
    with pytest.raises(CallError, match=r"unknown method 'emm'.*did you mean 'em'"):
        fit_hidden(graph, cases, hidden={"class": 3}, method="emm")
    with pytest.raises(CallError, match=r"accelerate goes with the method 'em'"):
        fit_hidden(graph, cases, hidden={"class": 3}, method="lbfgs", accelerate=True)
    with pytest.raises(CallError, match=r"restarts is -1"):
        fit_hidden(graph, cases, hidden={"class": 3}, restarts=-1)
    with pytest.raises(CallError, match=r"there is none; give a network"):
        fit_hidden(graph, cases, hidden={"class": 3}, fixed=["class"])
    with pytest.raises(CallError, match=r"unknown variable to keep fixed"):
        fit_hidden(truth, cases, hidden=["class"], fixed=["x"])
    with pytest.raises(CallError, match=r"the table of 'sign 1' can't stay"):
        fit_hidden(truth, cases, hidden={"class": 2}, fixed=["sign 1"])
    with pytest.raises(CallError, match=r"'class' and 'sign 1' can't share a table.*\(3,\) and \(3, 3\)"):
        fit_hidden(truth, cases, hidden=["class"], tied=[["class", "sign 1"]])
    with pytest.raises(CallError, match=r"'sign 1' is tied twice, or tied and fixed"):
        fit_hidden(truth, cases, hidden=["class"], fixed=["sign 1"], tied=[["sign 1", "sign 2"]])
    with pytest.raises(CallError, match=r"all variables are hidden"):
        fit_hidden(truth, [{"other": "a"}], hidden=list(truth.names))
    with pytest.raises(DataError, match=r"no row"):
        fit_hidden(truth, cases.select(np.zeros(cases.rows, dtype=bool)), hidden=["class"])
    import polars

    frame = polars.DataFrame({"sign 0": ["a"]})
    with pytest.raises(CallError, match=r"need the rows, and a FrameCounter has none"):
        fit_hidden(truth, FrameCounter(frame, [truth["sign 0"].child]), hidden=["class"])
    with pytest.raises(CallError, match=r"no restarts; try other seeds"):
        fit_hidden(truth, cases, hidden=["class"], samples=5, restarts=1)
    with pytest.raises(CallError, match=r"samples is 0"):
        fit_hidden(truth, cases, hidden=["class"], samples=0)
    with pytest.raises(DataError, match=r"unknown state.*'d'"):
        fit_hidden(truth, read_cases([{f"sign {i}": "d" for i in range(4)}]), hidden=["class"])
