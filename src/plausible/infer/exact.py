"""Exact answers: posteriors, joints, the probability of the evidence, most probable explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, exp, inf

import numpy as np

from plausible.cpds import Array
from plausible.errors import CallError
from plausible.infer.engine import Engine, Findings, Impossible, engine
from plausible.infer.evidence import Evidence
from plausible.network import Network

SOFT_TOLERANCE = 1e-13
SOFT_ROUNDS = 10_000

MOST_SUBSETS = 3_000
"""Sets of findings tried in the search for a smaller conflict than the one found first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the evidence says.

    posteriors : {variable: array in state order}
    log_probability : natural log of P(hard, negative and virtual evidence)
    """

    posteriors: dict[str, Array]
    log_probability: float

    @property
    def probability(self) -> float:
        return exp(self.log_probability)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The most probable states together, and log P(these states, evidence)."""

    states: dict[str, str]
    log_probability: float


def ask(
    network: Network,
    given: Evidence | None = None,
    variables: Sequence[str] | None = None,
    *,
    memory: float | None = None,
) -> Answer:
    """The posterior of each variable, or of those asked for, and the probability of the evidence.

    Parameters
    ----------
    network : Network
    given : mapping of str to finding
        A state by name or index, `Not(state)`, `Likelihood(values)`, or a distribution (soft evidence).
    variables : sequence of str, optional
        Asking for few is faster: what can't bear on them is left out.
    memory : float, optional
        Bytes that the tables may take.

    Examples
    --------
    >>> test = Network(
    ...     {"cancer": [], "result": ["cancer"]},
    ...     {"cancer": [0.008, 0.992], "result": [[0.98, 0.02], [0.03, 0.97]]},
    ...     states=("yes", "no"),
    ... )
    >>> ask(test, {"result": "yes"}).posteriors["cancer"].round(2).tolist()
    [0.21, 0.79]
    """
    tree = engine(network)
    found = tree.findings(given)
    outputs = None if variables is None else [tree.position(name) for name in variables]
    log = None
    if found.soft:
        log = _log(tree, found, memory)
        found = _soft_as_weights(tree, found, memory)
    schedule = tree.schedule(found.seen, found.weighed, outputs, memory=memory)
    total, flat, _ = schedule.run(tree.values, *tree.case(found))
    if total == -inf:
        raise explain_impossible(tree, found)
    if outputs is None:
        return Answer({name: flat[a:b] for name, a, b in tree.spans}, total if log is None else log)
    places = schedule.places
    posteriors = {tree.names[i]: flat[places[i] : places[i] + len(tree.variables[i].states)] for i in outputs}
    return Answer(posteriors, total if log is None else log)


def posteriors(
    network: Network,
    given: Evidence | None = None,
    variables: Sequence[str] | None = None,
    *,
    memory: float | None = None,
) -> dict[str, Array]:
    """`{variable: array in state order}` given the evidence; see `ask`.

    Examples
    --------
    >>> test = Network(
    ...     {"cancer": [], "result": ["cancer"]},
    ...     {"cancer": [0.008, 0.992], "result": [[0.98, 0.02], [0.03, 0.97]]},
    ...     states=("yes", "no"),
    ... )
    >>> {name: values.round(2).tolist() for name, values in posteriors(test, {"result": "yes"}).items()}
    {'cancer': [0.21, 0.79], 'result': [1.0, 0.0]}
    """
    return ask(network, given, variables, memory=memory).posteriors


def query(network: Network, variable: str, given: Evidence | None = None, *, memory: float | None = None) -> Array:
    """The posterior of one variable, in state order.

    Examples
    --------
    >>> test = Network(
    ...     {"cancer": [], "result": ["cancer"]},
    ...     {"cancer": [0.008, 0.992], "result": [[0.98, 0.02], [0.03, 0.97]]},
    ...     states=("yes", "no"),
    ... )
    >>> query(test, "cancer", {"result": "yes"}).round(2).tolist()
    [0.21, 0.79]
    """
    return ask(network, given, [variable], memory=memory).posteriors[variable]


def joint(
    network: Network, variables: Sequence[str], given: Evidence | None = None, *, memory: float | None = None
) -> Array:
    """The joint posterior of several variables: a table with one axis a variable, in the order asked.

    Examples
    --------
    >>> test = Network(
    ...     {"cancer": [], "result": ["cancer"]},
    ...     {"cancer": [0.008, 0.992], "result": [[0.98, 0.02], [0.03, 0.97]]},
    ...     states=("yes", "no"),
    ... )
    >>> joint(test, ["cancer", "result"]).round(4).tolist()
    [[0.0078, 0.0002], [0.0298, 0.9622]]
    """
    tree = engine(network)
    asked = [tree.position(name) for name in variables]
    if len(set(asked)) < len(asked):
        raise CallError(f"a variable is asked for twice in {list(variables)}; name each once")
    found = tree.findings(given)
    if found.soft:
        found = _soft_as_weights(tree, found, memory)
    free = tuple(sorted(i for i in asked if i not in found.seen))
    schedule = tree.schedule(found.seen, found.weighed, (), free, memory=memory)
    total, _, flat = schedule.run(tree.values, *tree.case(found))
    if total == -inf:
        raise explain_impossible(tree, found)
    order = schedule.joint
    table = flat.reshape([len(tree.variables[i].states) for i in order])
    inner = table.transpose([order.index(i) for i in asked if i not in found.seen])
    whole = np.zeros([len(tree.variables[i].states) for i in asked])
    whole[tuple(found.seen.get(i, slice(None)) for i in asked)] = inner / inner.sum()
    return whole


def log_probability(network: Network, given: Evidence, *, memory: float | None = None) -> float:
    """The natural log of P(evidence); -inf where it is impossible. Soft evidence is no event: left out."""
    tree = engine(network)
    return _log(tree, tree.findings(given), memory)


def probability(network: Network, given: Evidence, *, memory: float | None = None) -> float:
    """P(evidence).

    Examples
    --------
    >>> test = Network(
    ...     {"cancer": [], "result": ["cancer"]},
    ...     {"cancer": [0.008, 0.992], "result": [[0.98, 0.02], [0.03, 0.97]]},
    ...     states=("yes", "no"),
    ... )
    >>> round(probability(test, {"result": "yes"}), 4)
    0.0376
    """
    return exp(log_probability(network, given, memory=memory))


def explanation(
    network: Network,
    given: Evidence | None = None,
    variables: Sequence[str] | None = None,
    *,
    memory: float | None = None,
) -> Explanation:
    """The most probable states of all unobserved variables together (MPE).

    With `variables`, of those only, all others summed out (MAP), which can be far dearer.

    Examples
    --------
    >>> test = Network(
    ...     {"cancer": [], "result": ["cancer"]},
    ...     {"cancer": [0.008, 0.992], "result": [[0.98, 0.02], [0.03, 0.97]]},
    ...     states=("yes", "no"),
    ... )
    >>> explanation(test, {"result": "yes"}).states
    {'cancer': 'no', 'result': 'yes'}
    """
    tree = engine(network)
    found = tree.findings(given)
    if found.soft:
        found = _soft_as_weights(tree, found, memory)
    asked = range(len(tree.names)) if variables is None else [tree.position(name) for name in variables]
    late = tuple(sorted(i for i in set(asked) if i not in found.seen))
    schedule = tree.schedule(found.seen, found.weighed, (), (), late, memory=memory)
    total, states = schedule.most_probable(tree.values, *tree.case(found))
    if total == -inf:
        raise explain_impossible(tree, found)
    return Explanation({tree.names[i]: tree.variables[i].states[states[i]] for i in asked}, total)


def conflict(network: Network, given: Evidence, *, memory: float | None = None) -> float:
    """log( product of P(finding) / P(evidence) ); above 0 the findings speak against each other.

    Jensen, Chamberlain, Nordahl and Jensen 1990.
    """
    tree = engine(network)
    found = tree.findings(given)
    whole = _log(tree, found, memory)
    alone = sum(_log(tree, _only(found, [i]), memory) for i in (*found.seen, *found.weighed))
    return inf if whole == -inf else alone - whole


def _log(tree: Engine, found: Findings, memory: float | None) -> float:
    schedule = tree.schedule(found.seen, found.weighed, (), memory=memory)
    return schedule.run(tree.values, *tree.case(found))[0]


def _soft_as_weights(tree: Engine, found: Findings, memory: float | None) -> Findings:
    """Likelihoods under which the variables with soft evidence have the distributions asked for.

    Iterated proportional fitting (Deming and Stephan 1940; Peng, Zhang and Pan 2010).
    """
    weighed = dict(found.weighed)
    weighed.update({i: (target > 0).astype(np.float64) for i, target in found.soft.items()})
    schedule = tree.schedule(found.seen, weighed, found.soft, memory=memory)
    gap = inf
    for rounds in range(SOFT_ROUNDS):
        before, gap = gap, 0.0
        for i, target in found.soft.items():
            total, flat, _ = schedule.run(tree.values, *tree.case(Findings(found.seen, weighed, {})))
            place = schedule.places[i]
            now = flat[place : place + len(target)]
            if total == -inf or (now[target > 0] == 0).any():
                if rounds == 0:
                    raise explain_impossible(tree, Findings(found.seen, weighed, {}), tree.names[i])
                raise _disagree(tree, found, before)
            gap = max(gap, float(np.abs(now - target).max()))
            ratio = np.divide(target, now, out=np.zeros_like(target), where=now > 0)
            weighed[i] = weighed[i] * ratio
            weighed[i] = weighed[i] / weighed[i].max()
        if gap < SOFT_TOLERANCE or len(found.soft) == 1:
            return Findings(found.seen, weighed, {})
    raise _disagree(tree, found, gap)


def _disagree(tree: Engine, found: Findings, gap: float) -> CallError:
    names = ", ".join(repr(tree.names[i]) for i in found.soft)
    return CallError(
        f"the distributions asked for {names} can't hold together: fitted one after the other they stay off by "
        f"{gap:.1g}; give distributions that agree with the network and each other"
    )


def _only(found: Findings, kept: Sequence[int]) -> Findings:
    return replace(
        found,
        seen={i: found.seen[i] for i in kept if i in found.seen},
        weighed={i: found.weighed[i] for i in kept if i in found.weighed},
        soft={},
    )


def explain_impossible(tree: Engine, found: Findings, soft: str | None = None) -> Impossible:
    """The error for evidence of probability 0, with a smallest set of findings that are the cause."""
    items = [*found.seen, *found.weighed]

    def possible(kept: Sequence[int]) -> bool:
        return _log(tree, _only(found, kept), None) > -inf

    if possible(items):
        return Impossible(
            f"the distribution asked for {soft!r} gives weight to a state that the rest makes impossible; "
            "take that state out",
            (soft or "",),
        )
    core = list(items)
    for i in items:
        rest = [j for j in core if j != i]
        if not possible(rest):
            core = rest
    for size in range(1, len(core)):
        if comb(len(items), size) > MOST_SUBSETS:
            break
        smaller = next((kept for kept in combinations(items, size) if not possible(kept)), None)
        if smaller is not None:
            core = list(smaller)
            break
    said = ", ".join(_finding(tree, found, i) for i in core)
    return Impossible(
        f"the evidence has probability 0: {said} can't hold together; take one of these out",
        tuple(tree.names[i] for i in core),
    )


def _finding(tree: Engine, found: Findings, i: int) -> str:
    variable = tree.variables[i]
    if i in found.seen:
        return f"{variable.name}={variable.states[found.seen[i]]}"
    left = [s for s, weight in zip(variable.states, found.weighed[i], strict=True) if weight > 0]
    return f"{variable.name} in {{{', '.join(left)}}}"
