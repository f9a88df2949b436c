"""What an answer hangs on: parameters, findings, and what to observe next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plausible.cpds import Array, as_table, row_name, state_index
from plausible.errors import CallError
from plausible.infer.engine import Engine, Findings, engine
from plausible.infer.evidence import Evidence
from plausible.infer.exact import ask, query
from plausible.network import Network

NUDGE = 1e-120
"""Stands for the zeros of the tables while derivatives are taken: far too small to change any sum."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one finding does to a query: the posterior without it, and how far that is from the one with it.

    `divergence` is the Kullback-Leibler divergence of the posterior with from the one without, in nats.
    """

    finding: str
    without: Array
    divergence: float


@dataclass(frozen=True, slots=True)
class Slope:
    """How fast an answer changes with one parameter: `P(HRBP=HIGH | HR=LOW)`, its value, and the derivative."""

    parameter: str
    value: float
    slope: float


def parameter_sensitivity(
    network: Network, variable: str, state: str | int, given: Evidence | None = None
) -> dict[str, Array]:
    """How fast P(variable = state | evidence) changes with each parameter of each table.

    The other entries of a row are scaled to make room, in proportion (Castillo, Gutierrez and Hadi 1997;
    Chan and Darwiche 2002). Returns `{variable: derivatives in the shape of its table}`; a row whose
    parameter is 1 can only be lowered by raising the others, evenly.
    """
    tree = engine(network)
    tree.own_tables("sensitivity to parameters")
    found = tree.findings(given)
    if found.soft:
        raise CallError("sensitivity takes states and likelihoods as evidence, not distributions")
    target = tree.position(variable)
    wanted = state_index(tree.variables[target], state)
    query(network, variable, given)  # refuses impossible evidence
    total, rates = _rates(tree, found)
    if found.seen.get(target, wanted) != wanted:
        return {name: np.zeros_like(rate) for name, rate in zip(tree.names, rates, strict=True)}
    both = Findings({**found.seen, target: wanted}, found.weighed, {})
    log_both, rates_both = _rates(tree, both)
    share = np.exp(log_both - total)
    slopes: dict[str, Array] = {}
    place = 0
    for name, size, rate, rate_both in zip(tree.names, tree.sizes, rates, rates_both, strict=True):
        theta = tree.values[place : place + size].reshape(rate.shape)
        place += size
        gain = share * (rate_both - rate)  # d P(q | e) / d theta, entries moved one at a time
        states = rate.shape[-1]
        rest = 1 - theta
        even = np.full_like(theta, 1 / max(states - 1, 1))
        others = (gain * theta).sum(axis=-1, keepdims=True) - gain * theta
        lent = np.divide(others, rest, out=np.zeros_like(theta), where=rest > 1e-12)
        spread = (gain.sum(axis=-1, keepdims=True) - gain) * even
        slopes[name] = gain - np.where(rest > 1e-12, lent, spread) if states > 1 else np.zeros_like(theta)
    return slopes


def steepest(network: Network, slopes: Mapping[str, Array], top: int) -> list[Slope]:
    """The parameters with the largest derivatives of `parameter_sensitivity`, the largest first.

    Of a row with two entries, which move against each other, only the first is named.
    """
    found = []
    for name, every in slopes.items():
        table = as_table(network[name])
        slope = every[..., :1] if every.shape[-1] == 2 else every
        for at in np.argsort(-np.abs(slope), axis=None, kind="stable")[:top].tolist():
            spot = np.unravel_index(at, slope.shape)
            if slope[spot]:
                parameter = row_name(table.child, table.parents, np.array(spot[:-1]), table.child.states[spot[-1]])
                found.append(Slope(parameter, float(table.values[spot]), float(slope[spot])))
    return sorted(found, key=lambda one: -abs(one.slope))[:top]


def _rates(tree: Engine, found: Findings) -> tuple[float, list[Array]]:
    """log P(e), and d log P(e) / d theta = P(family | e) / theta for each entry (Russell et al. 1995)."""
    weighed = {i: np.eye(tree.states[i])[state] for i, state in found.seen.items()}
    case = Findings({}, {**weighed, **found.weighed}, {})
    values = np.where(tree.values > 0, tree.values, NUDGE)
    schedule = tree.schedule((), case.weighed, (), everything=True)
    log, flat = schedule.families(values, *tree.case(case))
    ends = np.cumsum(tree.sizes).tolist()
    return log, [
        (flat[end - size : end] / values[end - size : end]).reshape([tree.states[i] for i in scope])
        for end, size, scope in zip(ends, tree.sizes, tree.scopes, strict=True)
    ]


def finding_sensitivity(network: Network, variable: str, given: Evidence) -> list[Effect]:
    """What each finding contributes to the posterior of a variable: the strongest first."""
    whole = query(network, variable, given)
    effects = []
    for name in given:
        without = query(network, variable, {k: v for k, v in given.items() if k != name})
        inside = whole > 0
        divergence = float((whole[inside] * np.log(whole[inside] / without[inside])).sum())
        effects.append(Effect(name, without, max(divergence, 0.0)))
    return sorted(effects, key=lambda effect: -effect.divergence)


def value_of_observing(network: Network, variable: str, given: Evidence | None = None) -> list[tuple[str, float]]:
    """Mutual information, in nats, of a variable with each other one given the evidence: the best first.

    Pearl 1988, section 6.3.
    """
    known = dict(given or {})
    before = ask(network, known).posteriors
    if known.get(variable) is not None:
        raise CallError(f"{variable!r} is in the evidence already; ask about a variable that isn't")
    candidates = [name for name in before if name != variable and name not in known]
    gains = dict.fromkeys(candidates, 0.0)
    states = engine(network).variables[engine(network).position(variable)].states
    for state, chance in zip(states, before[variable].tolist(), strict=True):
        if chance > 0:
            after = ask(network, {**known, variable: state}).posteriors
            for name in candidates:
                inside = after[name] > 0
                ratio = after[name][inside] / before[name][inside]
                gains[name] += chance * float((after[name][inside] * np.log(ratio)).sum())
    return sorted(((name, max(gain, 0.0)) for name, gain in gains.items()), key=lambda pair: -pair[1])
