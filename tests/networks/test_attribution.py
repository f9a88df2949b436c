"""Reasons add up, agree with naive Bayes, and are those of the definition."""

from __future__ import annotations

from itertools import permutations
from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import CallError, Impossible, Likelihood, Model, Network, Not, Rules, explain, query, star
from plausible.infer import attribution, reasons
from tests.networks.naive import random_network
from tests.networks.test_exact import asia

seeds = st.integers(0, 2**32)


def by_orders(network: Network, variable: str, evidence: dict[str, Any], one: int, other: int) -> dict[str, float]:
    """The mean gain over all orders, by asking."""
    gains = dict.fromkeys(evidence, 0.0)
    orders = list(permutations(evidence))
    for order in orders:
        p = query(network, variable)
        for i, name in enumerate(order):
            q = query(network, variable, {known: evidence[known] for known in order[: i + 1]})
            gains[name] += (log(q[one] / q[other]) - log(p[one] / p[other])) / len(orders)
            p = q
    return gains


@given(seeds, st.integers(0, 3))
@settings(deadline=None, max_examples=40)
def test_mean_gain_over_all_orders(seed: int, count: int) -> None:
    network = random_network(seed, nodes=6)
    target, *names = (str(name) for name in np.random.default_rng(seed).permutation(network.names))
    states = network[target].child.states
    findings = [
        lambda v: v[-1],
        lambda v: Not(v[0]) if len(v) > 1 else v[0],
        lambda v: Likelihood(range(1, len(v) + 1)),
    ]
    evidence = {n: findings[i](network[n].child.states) for i, n in enumerate(names[:count])}
    if len(states) < 2:
        with pytest.raises(CallError, match="one state only"):
            reasons(network, target, evidence)
        return
    why = reasons(network, target, evidence)
    p = query(network, target, evidence)
    one, other = states.index(why.label), states.index(why.against)
    assert (one, other) == tuple(np.argsort(-p, kind="stable")[:2])
    assert why.probability == pytest.approx(p[one])
    assert why.score == pytest.approx(log(p[one] / p[other]), abs=1e-9)
    assert why.prior + sum(reason.weight for reason in why.reasons) == pytest.approx(why.score, abs=1e-9)
    wanted = by_orders(network, target, evidence, one, other)
    assert sorted(reason.weight for reason in why.reasons) == pytest.approx(sorted(wanted.values()), abs=1e-9)
    for reason in why.reasons:
        name = next(n for n in evidence if reason.finding.startswith((f"{n}=", f"{n} ", f"{n}~")))
        rest = {n: finding for n, finding in evidence.items() if n != name}
        assert reason.without == pytest.approx(query(network, target, rest)[one])
        assert reason.error == 0


def test_many_findings_by_random_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(11, nodes=9)
    evidence = {name: network[name].child.states[0] for name in network.names if name != "v2"}
    exact = {one.finding: one.weight for one in reasons(network, "v2", evidence).reasons}
    monkeypatch.setattr(attribution, "MOST_EXACT", 3)
    why = reasons(network, "v2", evidence, seed=1)
    assert why.prior + sum(one.weight for one in why.reasons) == pytest.approx(why.score, abs=1e-9)
    for one in why.reasons:
        assert abs(one.weight - exact[one.finding]) <= 5 * one.error + 1e-9
    assert why == reasons(network, "v2", evidence, seed=1)


def test_as_naive_bayes_explains() -> None:
    model = Model(rules=Rules())
    model.update(["win money now", "cheap money", "meeting at noon"], ["spam", "spam", "ham"])
    words = explain(model, "money at noon")
    why = explain(star(model), "class", given={"text": "money at noon"})
    assert (why.label, why.against) == (words.label, words.against)
    assert why.score == pytest.approx(words.score)
    assert why.reasons[0].weight == pytest.approx(sum(word.weight for word in words.evidence))
    assert why.in_bits().score == pytest.approx(why.score / log(2))


def test_what_rules_a_state_out_is_infinitely_strong() -> None:
    why = reasons(asia(), "either", {"lung": "yes", "xray": "no", "smoke": "yes"})
    assert (why.label, why.score) == ("yes", inf)
    weights = {one.finding: one.weight for one in why.reasons}
    assert weights["lung=yes"] == inf
    assert -5 < weights["xray=no"] < 0 < weights["smoke=yes"] < 5
    against = reasons(asia(), "either", {"lung": "yes"}, "no")
    assert (against.score, against.reasons[0].weight) == (-inf, -inf)


def test_distributions_and_calls_that_can_not_be() -> None:
    soft = {"smoke": [0.9, 0.1], "xray": "yes"}
    why = reasons(asia(), "lung", soft, "yes")
    assert why.probability == pytest.approx(query(asia(), "lung", soft)[asia()["lung"].child.index("yes")])
    assert why.prior + sum(one.weight for one in why.reasons) == pytest.approx(why.score)
    for call, said in (
        (lambda: reasons(asia(), "lung", {"lung": "yes"}), "in the evidence itself"),
        (lambda: reasons(asia(), "lung", {}, "yes", "yes"), "against itself"),
        (lambda: reasons(asia(), "lung", {}, "Yes"), "did you mean 'yes'"),
        (lambda: explain(asia(), "lung"), r"explain\(network, variable, given=...\)"),
        (lambda: explain(Model(), "x", given={}), "for networks"),
    ):
        with pytest.raises(CallError, match=said):
            call()
    with pytest.raises(Impossible, match="lung=yes, either=no"):
        reasons(asia(), "xray", {"lung": "yes", "either": "no"})
