"""Rows at once against one question a row, and expected counts against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.cpds import as_table
from plausible.errors import CallError, DataError
from plausible.infer import rows as rows_module
from plausible.infer.engine import engine
from plausible.infer.exact import ask
from plausible.infer.rows import codes, expected_counts, predict
from plausible.network import Network
from tests.networks.naive import marginal, random_network, weighted


def random_rows(network: Network, rng: np.random.Generator, count: int, gaps: float) -> np.ndarray:
    found = np.stack([rng.integers(0, len(v.states), count) for v in network.variables], axis=1)
    found[rng.random(found.shape) < gaps] = -1
    return found.astype(np.int32)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("pooled", [True, False])
def test_rows_are_questions(seed: int, pooled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "COMPILING", 1)
    if not pooled:
        monkeypatch.setattr(rows_module, "COMPILING", 0)
    rng = np.random.default_rng(seed)
    network = random_network(seed, nodes=7)
    table = random_rows(network, rng, 60, gaps=[0, 0.2, 0.6, 1][seed % 4])
    for targets in (None, [network.names[0]], [network.names[1], network.names[2]]):
        found = predict(network, table, targets)
        for r in range(0, len(table), 7):
            given = {
                name: int(table[r, i])
                for i, name in enumerate(network.names)
                if table[r, i] >= 0 and name not in (targets or ())
            }
            answer = ask(network, given)
            for name in targets or network.names:
                np.testing.assert_allclose(found[name][r], answer.posteriors[name], atol=1e-12)


def test_threads_change_nothing() -> None:
    network = random_network(3, nodes=8)
    table = random_rows(network, np.random.default_rng(0), 3000, 0.3)
    one, three = (predict(network, table, threads=threads) for threads in (1, 3))
    assert all(np.array_equal(one[name], three[name]) for name in network.names)
    tree = engine(network)
    first, second = (expected_counts(tree, table, threads=threads) for threads in (1, 3))
    assert all(np.array_equal(a, b) for a, b in zip(first[0], second[0], strict=True))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("apart", [True, False])
def test_expected_counts(seed: int, apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pooled, and with a schedule for each pattern of gaps; some columns hidden, some without a gap."""
    if apart:
        monkeypatch.setattr(rows_module, "CALL", -1)
    rng = np.random.default_rng(seed)
    network = random_network(seed, nodes=6)
    table = random_rows(network, rng, 40, 0.4)
    table[:, seed % 6] = -1
    for whole in rng.choice([i for i in range(6) if i != seed % 6], seed % 5, replace=False):
        table[:, whole] = np.where(table[:, whole] < 0, 0, table[:, whole])
    shares = rng.random(40)
    counts, logs = expected_counts(engine(network), table, shares)
    wanted = [np.zeros(as_table(network[name]).values.shape) for name in network.names]
    for row, share, log in zip(table, shares, logs, strict=True):
        weights = {
            v.name: np.eye(len(v.states))[code] for v, code in zip(network.variables, row, strict=True) if code >= 0
        }
        joint = weighted(network, weights)
        assert log == pytest.approx(np.log(joint.sum()), abs=1e-12)
        for total, name in zip(wanted, network.names, strict=True):
            total += share * marginal(network, joint, *(p.name for p in network[name].parents), name)
    for found, total in zip(counts, wanted, strict=True):
        np.testing.assert_allclose(found, total, atol=1e-12)


def test_parameters_can_change_under_one_engine() -> None:
    network, other = random_network(5, nodes=5), random_network(5, nodes=5)
    rng = np.random.default_rng(0)
    table = random_rows(network, rng, 20, 0.3)
    changed = engine(network).values.copy()
    place = 0
    for name in network.names:
        values = as_table(network[name]).values
        new = rng.dirichlet(np.ones(values.shape[-1]), size=values.size // values.shape[-1])
        changed[place : place + values.size] = new.ravel()
        place += values.size
        other = other.replace(
            type(as_table(other[name]))(other[name].child, other[name].parents, new.reshape(values.shape))
        )
    a = expected_counts(engine(network), table, values=changed)
    b = expected_counts(engine(other), table)
    np.testing.assert_allclose(a[1], b[1], atol=1e-12)
    for x, y in zip(a[0], b[0], strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)


def test_gradient() -> None:
    """d ln P(D | h) / d w is the expected count over w (Mitchell 1997, eq. 6.25; Russell et al. 1995)."""
    network = random_network(8, nodes=5)
    table = random_rows(network, np.random.default_rng(1), 30, 0.4)
    tree = engine(network)
    counts = np.concatenate([c.ravel() for c in expected_counts(tree, table)[0]])
    for place in range(0, len(tree.values), 3):
        step = np.zeros_like(tree.values)
        step[place] = 1e-6
        up, down = (expected_counts(tree, table, values=tree.values + s)[1].sum() for s in (step, -step))
        assert counts[place] / tree.values[place] == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-6)


def test_tables_of_names() -> None:
    network = Network({"a": [], "b": ["a"]}, {"a": [0.2, 0.8], "b": [[1, 0], [0.25, 0.75]]}, states=("yes", "no"))
    table = {"b": ["yes", None, "", float("nan"), "no", 1, np.int64(0)]}
    assert codes(network, table)[:, 1].tolist() == [0, -1, -1, -1, 1, 1, 0]
    assert codes(network, table)[:, 0].tolist() == [-1] * 7
    found = predict(network, table, ["a"])["a"]
    np.testing.assert_allclose(found[:, 0], [0.5, 0.2, 0.2, 0.2, 0, 0, 0.5], atol=1e-15)
    assert predict(network, {}, ["a"])["a"].shape == (0, 2)
    assert predict(network, {"b": np.array(["yes", "no"], dtype=object)}, ["a"])["a"].shape == (2, 2)
    assert predict(network, {"a": ["no"], "b": ["yes"]}, ["a"])["a"][0, 0] == pytest.approx(0.5)


def test_bad_rows() -> None:
    network = Network({"a": [], "b": ["a"]}, {"a": [0.2, 0.8], "b": [[1, 0], [0, 1]]}, states=("yes", "no"))
    with pytest.raises(DataError, match="row 2 has probability 0"):
        predict(network, {"a": ["yes", "no", "yes"], "b": ["yes", "no", "no"]})
    with pytest.raises(DataError, match=r"row 1: unknown state of variable 'b' 'Yes'.*did you mean 'yes'"):
        predict(network, {"b": ["yes", "Yes"]}, ["a"])
    with pytest.raises(DataError, match="row 0: variable 'b' has no state number 7"):
        predict(network, {"b": [7]}, ["a"])
    with pytest.raises(DataError, match="row 1: 'b' has no state number 9"):
        predict(network, {"b": np.array([0, 9])}, ["a"])
    with pytest.raises(DataError, match="different lengths"):
        predict(network, {"a": ["yes"], "b": ["yes", "no"]})
    with pytest.raises(CallError, match=r"unknown variable 'B'.*did you mean 'b'"):
        predict(network, {"B": ["yes"]})
    with pytest.raises(CallError, match=r"one column for each of the variables \(2\)"):
        predict(network, np.zeros((3, 5), dtype=np.int32))
