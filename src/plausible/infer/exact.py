"""Exact answers: posteriors, joints, the probability of the evidence, most probable explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import comb, exp, inf
from textwrap import shorten

import numpy as np

from plausible.cpds import Array
from plausible.errors import CallError
from plausible.infer.engine import Engine, Findings, Impossible, engine
from plausible.infer.evidence import Evidence, Finding
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
        found = soft_as_weights(tree, found, memory)
    schedule = tree.schedule(found.seen, found.weighed, outputs, memory=memory)
    total, flat, _ = schedule.run(tree.values, *tree.case(found))
    if total == -inf:
        raise explain_impossible(tree, found.given)
    log = total + found.scale if log is None else log
    if outputs is None:
        return Answer({name: flat[a:b] for name, a, b in tree.spans}, log)
    places = schedule.places
    posteriors = {tree.names[i]: flat[places[i] : places[i] + len(tree.variables[i].states)] for i in outputs}
    return Answer(posteriors, log)


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
    >>> wet = Network({"rain": [], "wet": ["rain"]}, {"rain": [0.2, 0.8], "wet": [[0.9, 0.1], [0.3, 0.7]]}, states="yn")
    >>> {name: values.round(3).tolist() for name, values in posteriors(wet, {"wet": "y"}).items()}
    {'rain': [0.429, 0.571], 'wet': [1.0, 0.0]}
    """
    return ask(network, given, variables, memory=memory).posteriors


def query(network: Network, variable: str, given: Evidence | None = None, *, memory: float | None = None) -> Array:
    """The posterior of one variable, in state order.

    Examples
    --------
    >>> wet = Network({"rain": [], "wet": ["rain"]}, {"rain": [0.2, 0.8], "wet": [[0.9, 0.1], [0.3, 0.7]]}, states="yn")
    >>> query(wet, "rain", {"wet": "y"}).round(3).tolist()
    [0.429, 0.571]
    """
    return ask(network, given, [variable], memory=memory).posteriors[variable]


def joint(
    network: Network, variables: Sequence[str], given: Evidence | None = None, *, memory: float | None = None
) -> Array:
    """The joint posterior of several variables: a table with one axis a variable, in the order asked.

    Examples
    --------
    >>> wet = Network({"rain": [], "wet": ["rain"]}, {"rain": [0.2, 0.8], "wet": [[0.9, 0.1], [0.3, 0.7]]}, states="yn")
    >>> joint(wet, ["rain", "wet"]).round(4).tolist()
    [[0.18, 0.02], [0.24, 0.56]]
    """
    tree = engine(network)
    asked = [tree.position(name) for name in variables]
    if len(set(asked)) < len(asked):
        raise CallError(f"a variable is asked for twice in {list(variables)}; name each once")
    found = tree.findings(given)
    if found.soft:
        found = soft_as_weights(tree, found, memory)
    free = tuple(sorted(i for i in asked if i not in found.seen))
    schedule = tree.schedule(found.seen, found.weighed, (), free, memory=memory)
    total, _, flat = schedule.run(tree.values, *tree.case(found))
    if total == -inf:
        raise explain_impossible(tree, found.given)
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
    >>> wet = Network({"rain": [], "wet": ["rain"]}, {"rain": [0.2, 0.8], "wet": [[0.9, 0.1], [0.3, 0.7]]}, states="yn")
    >>> round(probability(wet, {"wet": "y"}), 4)
    0.42
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
    >>> wet = Network({"rain": [], "wet": ["rain"]}, {"rain": [0.2, 0.8], "wet": [[0.9, 0.1], [0.3, 0.7]]}, states="yn")
    >>> explanation(wet, {"wet": "y"}).states
    {'rain': 'n', 'wet': 'y'}
    """
    tree = engine(network)
    found = tree.findings(given)
    if found.soft:
        found = soft_as_weights(tree, found, memory)
    asked = range(len(tree.names)) if variables is None else [tree.position(name) for name in variables]
    late = tuple(sorted(i for i in set(asked) if i not in found.seen))
    schedule = tree.schedule(found.seen, found.weighed, (), (), late, memory=memory)
    total, states = schedule.most_probable(tree.values, *tree.case(found))
    if total == -inf:
        raise explain_impossible(tree, found.given)
    return Explanation({tree.names[i]: tree.variables[i].states[states[i]] for i in asked}, total + found.scale)


def conflict(network: Network, given: Evidence, *, memory: float | None = None) -> float:
    """log( product of P(finding) / P(evidence) ); above 0 the findings speak against each other.

    Jensen, Chamberlain, Nordahl and Jensen 1990. Distributions as evidence are no event: left out.
    """
    tree = engine(network)
    whole = _log(tree, tree.findings(given), memory)
    alone = sum(_log(tree, tree.findings({name: finding}), memory) for name, finding in given.items())
    return inf if whole == -inf else alone - whole


def _log(tree: Engine, found: Findings, memory: float | None = None) -> float:
    schedule = tree.schedule(found.seen, found.weighed, (), memory=memory)
    return schedule.run(tree.values, *tree.case(found))[0] + found.scale


def soft_as_weights(tree: Engine, found: Findings, memory: float | None) -> Findings:
    """Likelihoods under which the variables with soft evidence have the distributions asked for."""
    schedule = tree.schedule(found.seen, {**found.weighed, **found.soft}, found.soft, memory=memory)

    def marginals(weighed: Findings) -> dict[str, Array]:
        total, flat, _ = schedule.run(tree.values, *tree.case(weighed))
        flat = flat if total > -inf else np.zeros_like(flat)
        return {tree.names[i]: flat[schedule.places[i] :][: tree.states[i]] for i in found.soft}

    return fitted(tree, found, marginals, SOFT_TOLERANCE, partial(explain_impossible, tree, found.given))


def fitted(
    tree: Engine,
    found: Findings,
    marginals: Callable[[Findings], Mapping[str, Array]],
    tolerance: float,
    lost: Callable[[str], CallError],
) -> Findings:
    """Soft evidence as the likelihoods that bring it about, by whatever method tells the marginals under them.

    Iterated proportional fitting (Deming and Stephan 1940; Peng, Zhang and Pan 2010): each round scales the
    likelihoods of one variable after the other, until none is off by more than the tolerance. `lost` gives the error
    where a state of a variable has no share that could be scaled.
    """
    weighed, gap = dict(_with_supports(found).weighed), inf
    for rounds in range(SOFT_ROUNDS):
        before, gap = gap, 0.0
        for i, target in found.soft.items():
            now = marginals(replace(found, weighed=weighed, soft={}))[tree.names[i]]
            if (now[target > 0] == 0).any():
                raise lost(tree.names[i]) if rounds == 0 else _disagree(tree, found, before)
            gap = max(gap, float(np.abs(now - target).max()))
            ratio = np.divide(target, now, out=np.zeros_like(target), where=now > 0)
            weighed[i] = weighed[i] * ratio
            weighed[i] = weighed[i] / weighed[i].max()
        if gap < tolerance:
            return replace(found, weighed=weighed, soft={})
    raise _disagree(tree, found, gap)


def _disagree(tree: Engine, found: Findings, gap: float) -> CallError:
    names = ", ".join(repr(tree.names[i]) for i in found.soft)
    return CallError(
        f"the distributions asked for {names} can't hold together: fitted one after the other they stay off by "
        f"{gap:.1g}; give distributions that agree with the network and each other"
    )


def explain_impossible(tree: Engine, given: Evidence, soft: str = "") -> Impossible:
    """The error for evidence of probability 0, with a smallest set of findings that are the cause."""
    items = list(given)

    def possible(kept: Sequence[str]) -> bool:
        return _log(tree, _with_supports(tree.findings({name: given[name] for name in kept}))) > -inf

    if possible(items):
        return Impossible(
            f"the distribution asked for {soft!r} gives weight to a state that the rest makes impossible; "
            "take that state out",
            (soft,),
        )
    core = items
    for name in items:
        rest = [other for other in core if other != name]
        if not possible(rest):
            core = rest
    for size in range(1, len(core)):
        if comb(len(items), size) > MOST_SUBSETS:
            break
        smaller = next((kept for kept in combinations(items, size) if not possible(kept)), None)
        if smaller is not None:
            core = list(smaller)
            break
    said = ", ".join(finding_in_words(tree, name, given[name]) for name in core)
    return Impossible(
        f"the evidence has probability 0: {said} can't {'be' if len(core) == 1 else 'hold together'}; "
        f"take {'it' if len(core) == 1 else 'one of these'} out",
        tuple(core),
    )


def _with_supports(found: Findings) -> Findings:
    """A distribution as evidence rules out the states to which it gives 0."""
    weighed = dict(found.weighed)
    for i, target in found.soft.items():
        weighed[i] = np.where(target > 0, weighed.get(i, np.ones_like(target)), 0.0)
    return replace(found, weighed=weighed, soft={})


def finding_in_words(tree: Engine, name: str, finding: Finding) -> str:
    """`HRBP=HIGH`, `CO in {LOW, NORMAL}`, or a text's first words."""
    if name in tree.texts:
        return f"{name}={shorten(str(finding), 40, placeholder='…')!r}"
    found = _with_supports(tree.findings({name: finding}))
    variable = tree.variables[tree.position(name)]
    for state in found.seen.values():
        return f"{name}={variable.states[state]}"
    (weights,) = found.weighed.values()
    left = [s for s, weight in zip(variable.states, weights, strict=True) if weight > 0]
    if len(left) == len(variable.states):
        return f"{name}~{'/'.join(f'{weight:.3g}' for weight in weights)}"
    return f"{name} in {{{', '.join(left)}}}"
