"""Exact inference against enumeration of the joint, and against the reference answers."""

from __future__ import annotations

import gzip
import json
from math import log

import numpy as np
import pytest

from plausible.cpds import NoisyMax, Table, noisy_or
from plausible.errors import CallError
from plausible.files.bif import read_bif
from plausible.infer import families
from plausible.infer.analysis import parameter_sensitivity
from plausible.infer.approximate import gibbs, sample, weighting
from plausible.infer.engine import Impossible, cost, engine
from plausible.infer.evidence import Evidence, Likelihood, Not, Soft
from plausible.infer.exact import (
    ask,
    conflict,
    explanation,
    joint,
    log_probability,
    posteriors,
    probability,
    query,
)
from plausible.infer.rows import predict
from plausible.network import Network
from plausible.schema import Variable
from tests.networks.naive import CAMPFIRE_ARCS, marginal, random_network, weighted
from tests.networks.shared import needs_shared, shared

TIGHT = {"atol": 1e-12, "rtol": 0}


def random_evidence(network: Network, rng: np.random.Generator) -> tuple[Evidence, dict[str, np.ndarray]]:
    """Findings of all kinds but soft, and the same as weights."""
    given: dict[str, object] = {}
    weights: dict[str, np.ndarray] = {}
    for variable in network.variables:
        states = len(variable.states)
        weight = np.ones(states)
        kind = rng.integers(0, 7)
        if kind == 0:
            state = int(rng.integers(states))
            given[variable.name] = state if rng.random() < 0.5 else variable.states[state]
            weight[:] = 0
            weight[state] = 1
        elif kind == 1 and states > 1:
            state = int(rng.integers(states))
            given[variable.name] = Not(variable.states[state])
            weight[state] = 0
        elif kind == 2:
            weight = rng.random(states) + 1e-3
            given[variable.name] = Likelihood(weight)
        weights[variable.name] = weight
    return given, weights  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(150))
def test_against_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(seed, nodes=int(rng.integers(1, 9)), zeros=0.25 * (seed % 3 == 0))
    given, weights = random_evidence(network, rng)
    table = weighted(network, weights)
    if table.sum() == 0:
        with pytest.raises(Impossible):
            ask(network, given)
        assert log_probability(network, given) == -np.inf
        return
    answer = ask(network, given)
    assert answer.log_probability == pytest.approx(log(table.sum()), abs=1e-12)
    assert probability(network, given) == pytest.approx(table.sum(), rel=1e-12)
    for name in network.names:
        np.testing.assert_allclose(answer.posteriors[name], marginal(network, table, name), **TIGHT)
        np.testing.assert_allclose(query(network, name, given), marginal(network, table, name), **TIGHT)
    asked = [str(n) for n in rng.permutation(network.names)[:3]]
    np.testing.assert_allclose(joint(network, asked, given), marginal(network, table, *asked), **TIGHT)
    best = explanation(network, given)
    assert best.log_probability == pytest.approx(log(table.max()), abs=1e-12)
    place = tuple(v.index(best.states[v.name]) for v in network.variables)
    assert table[place] == pytest.approx(table.max(), rel=1e-12)
    some = explanation(network, given, asked)
    rest = tuple(i for i, name in enumerate(network.names) if name not in asked)
    summed = table.sum(axis=rest)
    assert some.log_probability == pytest.approx(log(summed.max()), abs=1e-12)
    inner = tuple(network[n].child.index(some.states[n]) for n in network.names if n in asked)
    assert summed[inner] == pytest.approx(summed.max(), rel=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_soft_evidence_is_the_nearest_joint(seed: int) -> None:
    """Jeffrey's rule, several at once: the margins hold and what was given is changed by factors only."""
    rng = np.random.default_rng(seed)
    network = random_network(seed, nodes=5)
    names = [str(n) for n in rng.permutation(network.names)[: int(rng.integers(1, 4))]]
    targets = {n: rng.dirichlet(np.ones(len(network[n].child.states))) for n in names}
    given = {n: Soft(target) if i else target for i, (n, target) in enumerate(targets.items())}
    found = posteriors(network, given)
    table = weighted(network, {})
    for _ in range(3000):
        for n, target in targets.items():
            shape = [1] * len(network)
            shape[network.names.index(n)] = -1
            table = table * (target / marginal(network, table, n)).reshape(shape)
    for n in network.names:
        np.testing.assert_allclose(found[n], marginal(network, table, n), atol=1e-9)
    for n, target in targets.items():
        np.testing.assert_allclose(found[n], target, atol=1e-12)


def test_laboratory_test() -> None:  # Mitchell 1997, section 6.2.1 and exercise 6.1
    network = Network(
        {"cancer": [], "first": ["cancer"], "second": ["cancer"]},
        {
            "cancer": [0.008, 0.992],
            "first": [[0.98, 0.02], [0.03, 0.97]],
            "second": [[0.98, 0.02], [0.03, 0.97]],
        },
        states=("yes", "no"),
    )
    assert query(network, "cancer", {"first": "yes"})[0] == pytest.approx(0.21, abs=0.005)
    assert query(network, "cancer", {"first": "yes", "second": "yes"})[0] == pytest.approx(0.896, abs=5e-4)
    mixed = query(network, "cancer", {"first": {"yes": 0.7, "no": 0.3}})[0]
    one, other = (query(network, "cancer", {"first": s})[0] for s in ("yes", "no"))
    assert mixed == pytest.approx(0.7 * one + 0.3 * other, abs=1e-12)  # Jeffrey's rule


def test_campfire() -> None:
    arcs = CAMPFIRE_ARCS
    rng = np.random.default_rng(0)
    tables = {n: rng.dirichlet(np.ones(2), size=(2,) * len(above)) for n, above in arcs.items()}
    tables["Campfire"] = np.array([[[0.4, 0.6], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]]])
    network = Network(arcs, tables, states=("yes", "no"))
    assert query(network, "Campfire", {"Storm": "yes", "BusTourGroup": "yes"})[0] == pytest.approx(0.4)
    assert query(network, "Campfire", {"Storm": "no", "BusTourGroup": "no"})[0] == pytest.approx(0.2)
    whole = joint(network, network.names)
    for place in np.ndindex(whole.shape):
        row = dict(zip(network.names, place, strict=True))
        product = np.prod([tables[n][(*(row[p] for p in arcs[n]), row[n])] for n in arcs])
        assert whole[place] == pytest.approx(product, abs=1e-15)
    for name in ("Storm", "ForestFire"):
        alone = query(network, "Thunder", {"Lightning": "yes"})
        np.testing.assert_allclose(query(network, "Thunder", {"Lightning": "yes", name: "no"}), alone)


@pytest.mark.parametrize("seed", range(8))
def test_wide_noisy_max_as_a_chain(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    states = int(rng.integers(2, 4))
    parents = [Variable(f"p{i}", states=("a", "b", "c")[: int(rng.integers(2, 4))]) for i in range(4)]
    child = Variable("child", states=tuple("0123")[:states])
    pushes = [rng.dirichlet(np.ones(states), size=len(p.states)) for p in parents]
    noisy = NoisyMax(child, parents, pushes, rng.dirichlet(np.ones(states)))
    roots = [Table(p, (), rng.dirichlet(np.ones(len(p.states)))) for p in parents]
    below = Table(Variable("z", states=("x", "y")), (child,), rng.dirichlet([1, 1], size=states))
    whole = Network(None, [*roots, noisy.table(), below])
    monkeypatch.setattr(families, "WIDE", 0)
    chain = Network(None, [*roots, noisy, below])
    assert engine(chain).hidden == 3
    given = {"z": "x", "p1": "b"}
    for name, values in posteriors(whole, given).items():
        np.testing.assert_allclose(posteriors(chain, given)[name], values, atol=1e-12)
        np.testing.assert_allclose(query(chain, name, given), values, atol=1e-12)
    np.testing.assert_allclose(joint(chain, ["p0", "p2"], given), joint(whole, ["p0", "p2"], given), atol=1e-12)
    assert explanation(chain, given).states == explanation(whole, given).states
    table = {"z": ["x", "y"], "p1": ["b", None]}
    for name, values in predict(whole, table).items():
        np.testing.assert_allclose(predict(chain, table)[name], values, atol=1e-12)
    for method in (weighting, gibbs):
        for name, values in posteriors(whole, given).items():
            np.testing.assert_allclose(method(chain, given).posteriors[name], values, atol=0.08)
    assert sample(chain, 10).shape == sample(chain, 10, given).shape == (10, 6)
    with pytest.raises(CallError, match="needs plain tables"):
        parameter_sensitivity(chain, "z", "x")


def test_forty_causes() -> None:
    causes = [Variable(f"c{i}", states=("no", "yes")) for i in range(40)]
    effect = Variable("effect", states=("no", "yes"))
    network = Network(
        None, [*(Table(c, (), [0.9, 0.1]) for c in causes), noisy_or(effect, causes, [0.5] * 40, leak=0.01)]
    )
    assert query(network, "effect")[0] == pytest.approx(0.99 * 0.95**40, rel=1e-12)
    assert query(network, "c7", {"effect": "yes"})[1] > 0.1


def test_long_evidence_does_not_underflow() -> None:
    n = 3000
    arcs = {"c": [], **{f"x{i}": ["c"] for i in range(n)}}
    tables = {"c": [0.5, 0.5], **{f"x{i}": [[1e-3, 0.999], [1.1e-3, 0.9989]] for i in range(n)}}
    network = Network(arcs, tables, states=("yes", "no"))
    answer = ask(network, {f"x{i}": "yes" for i in range(n)}, ["c"])
    assert answer.log_probability == pytest.approx(log(0.5) + n * log(1.1e-3), rel=1e-12)
    assert answer.posteriors["c"][1] == pytest.approx(1)
    weak = ask(network, {f"x{i}": Likelihood([1e-200, 1e-201]) for i in range(n)}, ["c"])
    assert np.isfinite(weak.log_probability)
    for size in (5e-324, 1e-310, 1e307):
        odd = ask(asia(), {"xray": Likelihood([size, 0]), "dysp": Likelihood([size, size])})
        np.testing.assert_allclose(odd.posteriors["lung"], query(asia(), "lung", {"xray": "yes"}), atol=1e-12)


def asia() -> Network:
    """Lauritzen and Spiegelhalter 1988."""
    return Network(
        {
            "asia": [], "tub": ["asia"], "smoke": [], "lung": ["smoke"], "bronc": ["smoke"],
            "either": ["lung", "tub"], "xray": ["either"], "dysp": ["bronc", "either"],
        },
        {
            "asia": [0.01, 0.99], "tub": [[0.05, 0.95], [0.01, 0.99]], "smoke": [0.5, 0.5],
            "lung": [[0.1, 0.9], [0.01, 0.99]], "bronc": [[0.6, 0.4], [0.3, 0.7]],
            "either": [[[1, 0], [1, 0]], [[1, 0], [0, 1]]], "xray": [[0.98, 0.02], [0.05, 0.95]],
            "dysp": [[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]],
        },
        states=("yes", "no"),
    )  # fmt: skip


def test_contradiction_names_a_smallest_conflict() -> None:
    given = {"smoke": "yes", "dysp": "no", "either": "yes", "lung": "no", "tub": "no", "xray": "no"}
    with pytest.raises(Impossible, match="either=yes, lung=no, tub=no can't hold together") as caught:
        posteriors(asia(), given)
    assert sorted(caught.value.conflict) == ["either", "lung", "tub"]
    for ask_anything in (lambda: joint(asia(), ["smoke"], given), lambda: explanation(asia(), given)):
        with pytest.raises(Impossible):
            ask_anything()
    assert log_probability(asia(), given) == -np.inf
    assert conflict(asia(), given) == np.inf
    with pytest.raises(Impossible, match=r"either in \{no\}"):
        posteriors(asia(), {"either": Not("yes"), "lung": "yes"})


def test_conflict_measure() -> None:
    given = {"xray": "yes", "tub": "no", "lung": "no"}
    expected = sum(log(probability(asia(), {n: s})) for n, s in given.items()) - log_probability(asia(), given)
    assert conflict(asia(), given) == pytest.approx(expected)
    assert conflict(asia(), given) > 0 > conflict(asia(), {"xray": "yes", "either": "yes"})


def test_impossible_distributions() -> None:
    sure = Network({"a": [], "b": ["a"]}, {"a": [1, 0], "b": [[0.5, 0.5], [1, 0]]}, states=("yes", "no"))
    with pytest.raises(Impossible, match="'a'"):
        posteriors(sure, {"a": [0.5, 0.5]})
    copy = Network({"a": [], "b": ["a"]}, {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]}, states=("yes", "no"))
    with pytest.raises(CallError, match="can't hold together"):
        posteriors(copy, {"a": [0.2, 0.8], "b": [0.8, 0.2]})


def test_bad_calls() -> None:
    for given, message in [
        ({"Xray": "yes"}, "did you mean 'xray'"),
        ({"xray": "Yes"}, "did you mean 'yes'"),
        ({"xray": 2}, "no state number 2"),
        ({"xray": -1}, "no state number -1"),
        ({"xray": None}, "can't be None"),
        ({"xray": True}, "unknown state of variable 'xray' 'True'"),
        ({"xray": [0.5, 0.6]}, "sums to 1.1"),
        ({"xray": [0.5, 0.25, 0.25]}, "2 states, and the probabilities are 3"),
        ({"xray": Likelihood([np.nan, 1])}, "numbers from 0 up"),
        ({"xray": Likelihood([0, 0])}, "not all 0"),
        ({"xray": Likelihood([1e308, 1e308])}, "numbers from 0 up"),
        ({"xray": Not("yes", "no")}, "all states of 'xray' are ruled out"),
    ]:
        with pytest.raises(CallError, match=message):
            posteriors(asia(), given)  # type: ignore[arg-type]
    with pytest.raises(CallError, match="asked for twice"):
        joint(asia(), ["xray", "xray"])
    with pytest.raises(CallError, match="unknown variable 'zzz'"):
        query(asia(), "zzz")


def test_numbers_and_truth_as_states() -> None:
    network = Network(
        {"t": [], "n": []},
        {"t": [0.2, 0.8], "n": [0.3, 0.7]},
        states={"t": ("True", "False"), "n": ("1", "2")},
    )
    assert probability(network, {"t": True}) == pytest.approx(0.2)
    assert probability(network, {"n": "1"}) == pytest.approx(0.3)
    assert probability(network, {"n": 0}) == pytest.approx(0.3)
    with pytest.raises(CallError, match="is 1 the state '1' of variable 'n', or its state number 1"):
        probability(network, {"n": 1})


def test_edges_of_the_question() -> None:
    assert posteriors(Network()) == {}
    assert probability(Network(), {}) == 1
    everything = {v.name: v.states[-1] for v in asia().variables}
    answer = ask(asia(), everything)
    assert answer.probability == pytest.approx(weighted(asia(), {})[(-1,) * 8], rel=1e-12)
    assert all(p.tolist() == [0, 1] for p in answer.posteriors.values())
    assert explanation(asia(), everything).states == everything
    assert joint(asia(), [], {}).shape == ()
    assert joint(asia(), ["lung", "smoke"], {"lung": "no"})[0].tolist() == [0, 0]


def test_do_is_not_see() -> None:
    seen = query(asia(), "smoke", {"lung": "yes"})
    done = query(asia().do(lung="yes"), "smoke")
    assert seen[0] > 0.9
    assert done[0] == pytest.approx(0.5)


def test_too_dear_is_refused_with_its_cost() -> None:
    rng = np.random.default_rng(0)
    arcs = {f"x{i}": [f"x{j}" for j in rng.choice(i, min(i, 5), replace=False)] for i in range(90)}
    tables = {n: rng.dirichlet(np.ones(2), size=(2,) * len(above)) for n, above in arcs.items()}
    network = Network(arcs, tables, states=("a", "b"))
    with pytest.raises(CallError, match=r"exact inference would take [\d,]+ table entries, [\d,]+ MB.*sampling"):
        posteriors(network)
    told = cost(network)
    assert told.entries > told.largest > 1e8
    assert len(told.widest) > 25
    assert "entries" in str(told)
    with pytest.raises(CallError, match="MB are allowed"):
        posteriors(asia(), memory=100)


def test_schedules_are_kept() -> None:
    network = asia()
    posteriors(network, {"xray": "yes"})
    posteriors(network, {"xray": "no"})
    assert len(engine(network).schedules) == 1


NAMES = [
    "alarm",
    "andes",
    "asia",
    "barley",
    "cancer",
    "child",
    "diabetes",
    "earthquake",
    "hailfinder",
    "hepar2",
    "insurance",
    "mildew",
    "munin2",
    "pigs",
    "sachs",
    "survey",
    "water",
    "win95pts",
]


@needs_shared
@pytest.mark.parametrize(
    "name",
    [*NAMES, pytest.param("munin", marks=pytest.mark.long), pytest.param("munin1", marks=pytest.mark.long)],
)
def test_reference(name: str) -> None:
    folder = shared() / "data/bayesnets"
    network = read_bif(folder / f"bif/{name}.bif.gz")
    reference = json.loads(gzip.decompress((folder / f"reference/{name}.json.gz").read_bytes()))
    for given, expected in [
        ({}, reference["prior_marginals"]),
        (reference["evidence"], reference["posterior_marginals"]),
    ]:
        answer = ask(network, given)
        for variable, values in expected.items():
            np.testing.assert_allclose(answer.posteriors[variable], values, atol=1e-6)
    assert answer.probability == pytest.approx(reference["p_evidence"], rel=1e-6)


@needs_shared
def test_link_answers_in_a_gigabyte() -> None:
    network = read_bif(shared() / "data/bayesnets/bif/link.bif.gz")
    found = posteriors(network, memory=2**30)
    assert all(abs(p.sum() - 1) < 1e-9 for p in found.values())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["smoke"], "evidence is a mapping from variables"),
        ({"smoke": ["yes", "no"]}, "the probabilities of 'smoke' are .* give one number a state"),
        ({"smoke": Likelihood(["a", 1])}, "the likelihoods of 'smoke' are"),  # type: ignore[list-item]
        ({"smoke": None}, "can't be None"),
    ],
)
def test_evidence_of_no_kind(given: object, message: str) -> None:
    with pytest.raises(CallError, match=message):
        posteriors(asia(), given)  # type: ignore[arg-type]
