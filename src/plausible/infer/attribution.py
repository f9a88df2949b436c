"""Why a network believes what it does: what each finding says for a state and against another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import factorial, inf, log

import numpy as np

from plausible.chance import generator
from plausible.cpds import Array, state_index
from plausible.errors import CallError
from plausible.infer.engine import Engine, Findings, engine
from plausible.infer.evidence import Evidence
from plausible.infer.exact import explain_impossible, finding_in_words, soft_as_weights
from plausible.network import Network

MOST_EXACT = 12
"""Findings of which all sets are looked at; of more, sets that random orders of them pass through."""

ORDERS = 200
"""Random orders, each with its reverse; fewer where a query is dear."""

WORK = 4e9
"""Table entries gone through in all, some seconds."""

LEAST = -1e300
"""Stands for ln 0 where all states are ruled out."""

Odds = Callable[[int], float]
"""The log-odds given a set of findings, which is a number with a bit for each."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What one finding says.

    Attributes
    ----------
    finding : str
    weight : float
        Its share of the log-odds, in nats: above 0 it speaks for the state. Infinite where it rules a state out.
    without : float
        P(state) given all other findings.
    error : float
        One standard error of `weight`; 0 where all sets of findings were looked at.
    """

    finding: str
    weight: float
    without: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why a variable is in one state rather than another.

    Attributes
    ----------
    variable, label, against : str
    probability : float
        P(label | evidence).
    score : float
        ln P(label | evidence) / P(against | evidence): the sum of `prior` and of the weights of `reasons`.
    prior : float
        ln P(label) / P(against).
    reasons : list of Reason
        The strongest first.
    """

    variable: str
    label: str
    against: str
    probability: float
    score: float
    prior: float
    reasons: list[Reason] = field(repr=False)

    def in_bits(self) -> Reasons:
        """The same in bits."""
        bit = log(2)
        reasons = [replace(one, weight=one.weight / bit, error=one.error / bit) for one in self.reasons]
        return replace(self, score=self.score / bit, prior=self.prior / bit, reasons=reasons)


def reasons(
    network: Network,
    variable: str,
    given: Evidence,
    label: str | int | None = None,
    against: str | int | None = None,
    *,
    seed: int = 0,
    memory: float | None = None,
) -> Reasons:
    """What each finding says for a state of a variable and against another.

    Findings can speak together or undo each other, so a finding's weight is its gain in log-odds (the weight of
    evidence of Good 1950) as a mean over all orders in which the findings could have come (Shapley 1953): the weights
    add up to what the evidence says in all. Where the findings are independent given the variable, as in naive Bayes,
    it is the log of the likelihood ratio. A distribution as evidence counts as the likelihood that brings it about.

    Parameters
    ----------
    network : Network
    variable : str
    given : mapping of str to finding
        See `ask`; nothing on the variable itself.
    label : str or int, optional
        The state to explain; by default the most probable one.
    against : str or int, optional
        The state to hold it against; by default the most probable other one.
    seed : int
        Of the orders, where there are more than 12 findings or a query is dear.
    memory : float, optional
        Bytes that the tables may take.

    Raises
    ------
    Impossible
        Where the evidence has probability 0.

    Examples
    --------
    >>> network = Network(
    ...     {"burglar": [], "quake": [], "alarm": ["burglar", "quake"]},
    ...     {"burglar": [0.9, 0.1], "quake": [0.9, 0.1], "alarm": [[[0.99, 0.01], [0.5, 0.5]], [[0.1, 0.9]] * 2]},
    ...     states=("no", "yes"),
    ... )
    >>> why = reasons(network, "burglar", {"alarm": "yes", "quake": "yes"}, "yes")
    >>> [(one.finding, round(one.weight, 2)) for one in why.reasons]
    [('alarm=yes', 1.66), ('quake=yes', -1.07)]
    """
    tree = engine(network)
    target = tree.position(variable)
    if variable in given:
        raise CallError(
            f"{variable!r} is in the evidence itself; leave that finding out, or ask about another variable"
        )
    vectors = _vectors(tree, given, memory)
    schedule = tree.schedule((), {i for i, _ in vectors.values()}, [target], memory=memory)
    place, size = schedule.places[target], len(tree.variables[target].states)

    def posterior(kept: int) -> Array:
        logs = {i: np.zeros(tree.states[i]) for i, _ in vectors.values()}
        for bit, (i, says) in enumerate(vectors.values()):
            if kept >> bit & 1:
                logs[i] = logs[i] + says
        weighed = {i: np.exp(said - max(said.max(), LEAST)) for i, said in logs.items()}
        total, flat, _ = schedule.run(tree.values, *tree.case(Findings({}, weighed, {})))
        if total == -inf:
            raise explain_impossible(tree, given)
        return np.array(flat[place : place + size])

    everything = (1 << len(vectors)) - 1
    believed = posterior(everything)
    one, other = _held(tree, target, believed, label, against)

    known: dict[int, float] = {}

    def odds(kept: int) -> float:
        if kept not in known:
            p = posterior(kept)
            with np.errstate(divide="ignore"):
                known[kept] = float(np.log(p[one]) - np.log(p[other]))
        return known[kept]

    count, runs = len(vectors), WORK / max(schedule.entries, 1)
    if count <= MOST_EXACT and (1 << count) <= max(runs, 8):
        weights, errors = _exact(odds, count), [0.0] * count
    else:
        weights, errors = _sampled(odds, count, int(min(max(runs / (2 * count), 4), ORDERS)), seed)
    said = [
        Reason(
            finding_in_words(tree, name, given[name]),
            weights[bit],
            float(posterior(everything & ~(1 << bit))[one]),
            errors[bit],
        )
        for bit, name in enumerate(vectors)
    ]
    states = tree.variables[target].states
    ranked = sorted(said, key=lambda reason: (-abs(reason.weight), reason.finding))
    return Reasons(variable, states[one], states[other], float(believed[one]), odds(everything), odds(0), ranked)


def _vectors(tree: Engine, given: Evidence, memory: float | None) -> dict[str, tuple[int, Array]]:
    """Of each finding the position that it is about, and its log-likelihood of each state there."""
    whole = tree.findings(given)
    fitted = soft_as_weights(tree, whole, memory) if whole.soft else whole
    vectors: dict[str, tuple[int, Array]] = {}
    with np.errstate(divide="ignore"):
        for name, finding in given.items():
            if cpd := tree.texts.get(name):
                vectors[name] = tree.position(cpd.parents[0].name), cpd.log_likelihood(str(finding))
                continue
            i = tree.position(name)
            if i in whole.soft:
                beside = whole.weighed.get(i, np.ones(tree.states[i]))
                weights = np.divide(fitted.weighed[i], beside, out=np.zeros(tree.states[i]), where=beside > 0)
            else:
                own = tree.findings({name: finding})
                weights = own.weighed[i] if i in own.weighed else np.eye(tree.states[i])[own.seen[i]]
            vectors[name] = i, np.log(weights)
    return vectors


def _held(
    tree: Engine, target: int, believed: Array, label: str | int | None, against: str | int | None
) -> tuple[int, int]:
    """The state that is explained, and the one that it is held against."""
    variable = tree.variables[target]
    if len(variable.states) < 2:
        raise CallError(f"{variable.name!r} has one state only; there is nothing to hold it against")
    ranked = np.argsort(-believed, kind="stable").tolist()
    rival = None if against is None else state_index(variable, against)
    one = next(i for i in ranked if i != rival) if label is None else state_index(variable, label)
    other = next(i for i in ranked if i != one) if rival is None else rival
    if one == other:
        raise CallError(f"state {variable.states[one]!r} of {variable.name!r} can't be held against itself")
    if believed[one] == believed[other] == 0:
        raise CallError(
            f"the evidence rules out both {variable.states[one]!r} and {variable.states[other]!r} of "
            f"{variable.name!r}; explain a state that is left, {variable.states[ranked[0]]!r} say"
        )
    return one, other


def _exact(odds: Odds, count: int) -> list[float]:
    """The mean gain of each finding over all orders, by the sets that come before it."""
    weights = []
    for bit in range(count):
        gains, shares = [], []
        for before in range(1 << count):
            if not before >> bit & 1:
                size = before.bit_count()
                gains.append(_gain(odds, before, bit))
                shares.append(factorial(size) * factorial(count - size - 1) / factorial(count))
        weights.append(_mean(np.array(gains), np.array(shares)))
    return weights


def _sampled(odds: Odds, count: int, orders: int, seed: int) -> tuple[list[float], list[float]]:
    """The same over random orders, each with its reverse, and the standard errors."""
    rng = generator(seed)
    gains = np.zeros((orders, 2, count))
    for pair in range(orders):
        order = rng.permutation(count).tolist()
        for turn, bits in enumerate((order, order[::-1])):
            before = 0
            for bit in bits:
                gains[pair, turn, bit] = _gain(odds, before, bit)
                before |= 1 << bit
    even = np.full(2 * orders, 1 / (2 * orders))
    weights = [_mean(gains[:, :, bit].ravel(), even) for bit in range(count)]
    with np.errstate(invalid="ignore"):
        pairs = gains.mean(axis=1)
        errors = pairs.std(axis=0, ddof=1) / np.sqrt(orders)
    return weights, np.where(np.isfinite(errors), errors, 0.0).tolist()


def _gain(odds: Odds, before: int, bit: int) -> float:
    """What a finding adds to the log-odds; NaN where they were infinite before, so that nothing can be added."""
    was, now = odds(before), odds(before | 1 << bit)
    return now - was if abs(was) < inf else np.nan


def _mean(gains: Array, shares: Array) -> float:
    """The mean of the gains that are numbers; infinite where one is."""
    there = ~np.isnan(gains)
    if np.isinf(gains[there]).any():
        return float(gains[there][np.isinf(gains[there])][0])
    total = shares[there].sum()
    return float(gains[there] @ shares[there] / total) if total > 0 else 0.0
