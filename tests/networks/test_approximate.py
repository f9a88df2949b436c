"""Sampling and loopy propagation: errors as large as stated, the same for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.errors import CallError
from plausible.infer.approximate import Method, estimate, gibbs, loopy, sample, weighting
from plausible.infer.engine import Impossible
from plausible.infer.evidence import Likelihood, Not
from plausible.infer.exact import ask, joint
from plausible.network import Network
from tests.networks.naive import random_network
from tests.networks.test_exact import asia

GIVEN = {"dysp": "yes", "xray": Not("no"), "smoke": Likelihood([0.3, 0.6])}


def misses(network: Network, found: object, given: object) -> np.ndarray:
    """How many standard errors each number is off."""
    exact = ask(network, given).posteriors  # type: ignore[arg-type]
    return np.concatenate(
        [
            (found.posteriors[n] - exact[n]) / np.maximum(found.errors[n], 1e-9)  # type: ignore[attr-defined]
            for n in network.names
        ]
    )


@pytest.mark.parametrize("method", [weighting, gibbs])
@pytest.mark.parametrize("seed", range(3))
def test_errors_are_honest(method: object, seed: int) -> None:
    found = method(asia(), GIVEN, seed=seed)  # type: ignore[operator]
    off = misses(asia(), found, GIVEN)
    assert np.sqrt((off**2).mean()) < 2.5
    assert all(abs(p.sum() - 1) < 1e-9 for p in found.posteriors.values())
    assert 10 < found.effective <= found.samples


def test_weighting_finds_the_probability_of_the_evidence() -> None:
    exact = ask(asia(), GIVEN).log_probability
    assert weighting(asia(), GIVEN, samples=400_000).log_probability == pytest.approx(exact, abs=0.02)


def test_stops_at_the_precision_wanted() -> None:
    rough = weighting(asia(), GIVEN, samples=10**7, precision=0.01)
    assert rough.samples < 10**6
    assert max(e.max() for e in rough.errors.values()) <= 0.01
    slow = gibbs(asia(), GIVEN, sweeps=200_000, precision=0.01)
    assert slow.samples < 100_000
    assert max(e.max() for e in slow.errors.values()) <= 0.01


@pytest.mark.parametrize("given", [None, GIVEN])
def test_samples_have_the_right_joint(given: object) -> None:
    cases = sample(asia(), 200_000, given, seed=4)  # type: ignore[arg-type]
    names = ["smoke", "lung", "bronc"]
    at = [asia().names.index(n) for n in names]
    counts = np.zeros((2, 2, 2))
    np.add.at(counts, tuple(cases[:, at].T), 1)
    np.testing.assert_allclose(counts / len(cases), joint(asia(), names, given), atol=0.005)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_many_states_and_zeros(seed: int) -> None:
    network = random_network(seed, nodes=4, most_states=30, zeros=0.5)
    cases = sample(network, 50_000, seed=seed)
    exact = ask(network).posteriors
    for i, name in enumerate(network.names):
        share = np.bincount(cases[:, i], minlength=len(exact[name])) / len(cases)
        np.testing.assert_allclose(share, exact[name], atol=0.012)
        assert not share[exact[name] == 0].any()


def test_seeds_and_threads() -> None:
    for given in (None, {"dysp": "yes"}):
        one, two = (sample(asia(), 5000, given, seed=7, threads=t) for t in (1, 3))
        assert np.array_equal(one, two)
        assert not np.array_equal(one, sample(asia(), 5000, given, seed=8))
    for method in (weighting, gibbs):
        one, two = (method(asia(), GIVEN, seed=7, threads=t) for t in (1, 3))
        assert all(np.array_equal(one.posteriors[n], two.posteriors[n]) for n in asia().names)
    first = sample(asia(), 3000, seed=1)
    assert np.array_equal(first[:2048], sample(asia(), 2048, seed=1))


def test_loopy_is_exact_on_trees() -> None:
    for seed in range(8):
        network = random_network(seed, nodes=9, most_parents=1)
        given = {network.names[0]: 0, network.names[4]: 0}
        found = loopy(network, given)
        for name, values in ask(network, given).posteriors.items():
            np.testing.assert_allclose(found.posteriors[name], values, atol=1e-7)


def test_rare_evidence_is_sampled_exactly() -> None:
    n = 40
    rare = Network(
        {"c": [], **{f"x{i}": ["c"] for i in range(n)}},
        {"c": [0.5, 0.5], **{f"x{i}": [[1e-4, 0.9999], [2e-4, 0.9998]] for i in range(n)}},
        states=("yes", "no"),
    )
    cases = sample(rare, 100, {f"x{i}": "yes" for i in range(n)})
    assert (cases[:, 0] == 1).all()


def test_methods() -> None:
    for method in ("auto", "exact", "weighting", "gibbs", "loopy"):
        found = estimate(asia(), {"dysp": "yes"}, method)  # type: ignore[arg-type]
        assert found.method == ("exact" if method == "auto" else method)
        assert found.posteriors["dysp"].tolist() == [1, 0]
    assert estimate(asia(), {}, "auto", memory=10).method == "weighting"
    wrong: Method = "guess"  # type: ignore[assignment]
    with pytest.raises(CallError, match="unknown method 'guess'"):
        estimate(asia(), {}, wrong)


def test_impossible_evidence() -> None:
    given = {"either": "no", "lung": "yes"}
    for method in (weighting, gibbs):
        with pytest.raises(CallError, match="agrees with the evidence"):
            method(asia(), given)
    with pytest.raises(Impossible):
        loopy(asia(), given)
    with pytest.raises(Impossible, match="either=no, lung=yes"):
        sample(asia(), 10, given)
    with pytest.raises(CallError, match="can't draw -1"):
        sample(asia(), -1)
    assert sample(asia(), 0).shape == (0, 8)
    assert sample(Network(), 3).shape == (3, 0)


def test_everything_seen() -> None:
    everything = {v.name: 1 for v in asia().variables}
    for method in (weighting, gibbs):
        assert method(asia(), everything).posteriors["lung"].tolist() == [0, 1]


def test_loopy_tells_impossible_evidence_from_rare() -> None:
    network = Network({"a": [], "b": ["a"]}, {"a": [0.2, 0.8], "b": [[0.9, 0.1], [0, 1]]}, states=("yes", "no"))
    for given in ({"a": "no", "b": "yes"}, {"a": Not("yes"), "b": "yes"}):
        with pytest.raises(Impossible, match="probability 0"):
            loopy(network, given)
    assert loopy(network, {"b": "yes"}).posteriors["a"].tolist() == pytest.approx([1, 0], abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "exact", "weighting", "gibbs", "loopy"])
def test_nothing_to_ask(method: Method) -> None:
    assert estimate(Network(), method=method).posteriors == {}
    assert estimate(Network(), method=method, precision=0.1).posteriors == {}


SOFT = {"smoke": [0.3, 0.7], "xray": "yes"}
TWO = {"smoke": [0.3, 0.7], "dysp": {"yes": 0.6, "no": 0.4}, "asia": "yes"}


@pytest.mark.parametrize(("method", "given"), [(weighting, SOFT), (weighting, TWO), (gibbs, SOFT)])
@pytest.mark.parametrize("seed", range(3))
def test_distributions_as_evidence_with_honest_errors(method: object, given: object, seed: int) -> None:
    found = method(asia(), given, seed=seed)  # type: ignore[operator]
    off = misses(asia(), found, given)
    assert np.sqrt((off**2).mean()) < 2.5
    assert found.posteriors["smoke"] == pytest.approx([0.3, 0.7], abs=1e-8)
    if found.log_probability is not None:
        assert found.log_probability == pytest.approx(ask(asia(), given).log_probability, abs=0.05)  # type: ignore[arg-type]


def test_distributions_as_evidence_in_loopy_propagation() -> None:
    chain = random_network(4, nodes=5, most_parents=1)
    given = {"v0": np.full(len(chain["v0"].child.states), 1 / len(chain["v0"].child.states)), "v1": "s1"}
    exact = ask(chain, given)
    for name, values in loopy(chain, given).posteriors.items():
        assert values == pytest.approx(exact.posteriors[name], abs=1e-7)
    found = loopy(asia(), TWO)
    assert found.posteriors["smoke"] == pytest.approx([0.3, 0.7], abs=1e-7)
    assert found.posteriors["dysp"] == pytest.approx([0.6, 0.4], abs=1e-7)
    assert found.posteriors["lung"] == pytest.approx(ask(asia(), TWO).posteriors["lung"], abs=0.02)


def test_cases_with_a_distribution_as_evidence() -> None:
    cases = sample(asia(), 20_000, TWO, seed=2)
    at = asia().names.index
    assert np.bincount(cases[:, at("smoke")]) / 20_000 == pytest.approx([0.3, 0.7], abs=0.02)
    assert np.bincount(cases[:, at("lung")]) / 20_000 == pytest.approx(ask(asia(), TWO).posteriors["lung"], abs=0.02)


def test_distributions_that_can_not_be() -> None:
    given = {"lung": "yes", "either": [0.5, 0.5]}
    for method in (gibbs, weighting, loopy):
        with pytest.raises(CallError, match=r"impossible|agrees with the evidence|can't hold"):
            method(asia(), given)  # type: ignore[operator]
    with pytest.raises(CallError, match=r"'smoke' and 'dysp' have one.*'weighting' or 'loopy'"):
        gibbs(asia(), TWO)


def test_auto_has_an_answer_where_exact_inference_is_too_large() -> None:
    assert estimate(asia(), GIVEN, memory=1).method == "weighting"
    rare = Network(
        {f"v{i}": [f"v{i - 1}"] if i else [] for i in range(12)},
        {"v0": [1 - 1e-9, 1e-9], **{f"v{i}": [[1, 0], [0.5, 0.5]] for i in range(1, 12)}},
        states=("0", "1"),
    )
    found = estimate(rare, {"v11": "1"}, memory=1)
    assert found.method == "loopy"
    assert found.posteriors["v0"][1] == pytest.approx(1)
    with pytest.raises(CallError, match=r"too rare for weighting.*method 'loopy'"):
        weighting(rare, {"v11": "1"})
