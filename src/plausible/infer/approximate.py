"""Answers by sampling and by loopy propagation, each with how far off it may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf, log
from typing import Literal

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.chance import whole_seed
from plausible.cpds import Array
from plausible.errors import CallError
from plausible.infer.engine import Engine, Findings, Impossible, engine
from plausible.infer.evidence import Evidence
from plausible.infer.exact import ask, explain_impossible, fitted, soft_as_weights
from plausible.network import Network
from plausible.wording import quantity

Method = Literal["auto", "exact", "weighting", "gibbs", "loopy"]

BLOCK = 1024
"""Samples of one random stream in the core."""

BATCH = 64
"""Blocks drawn before the precision is looked at."""

CHAINS = 16
"""Gibbs chains, from whose differences the error is worked out."""

SOFT_TOLERANCE = 1e-9
"""How near the distributions given as evidence are met."""

FEWEST = 100
"""Independent samples that an answer by weighting must be worth, or its errors can't be told."""

LARGEST_BLOCK = 4096
"""Table entries of the variables that Gibbs sampling draws at once."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Approximate posteriors.

    posteriors : {variable: array in state order}
    errors : {variable: array}, one standard error of each number; for loopy propagation, which has no
        such error, the last change of any belief
    log_probability : estimate of log P(evidence); None where the method gives none
    samples : samples drawn, sweeps or rounds
    effective : how many independent samples the answer is worth
    method : how it was found
    """

    posteriors: dict[str, Array]
    errors: dict[str, Array]
    log_probability: float | None
    samples: int
    effective: float
    method: str


def sample(
    network: Network, count: int, given: Evidence | None = None, *, seed: int = 0, threads: int = 0
) -> npt.NDArray[np.int32]:
    """Independent cases as state indices, shape (count, variables); texts, which have no states, are left out.

    With evidence they are drawn exactly from the posterior through the junction tree, however rare the
    evidence is. The same seed gives the same cases on any number of threads.

    Examples
    --------
    >>> coin = Network({"coin": []}, {"coin": [0.5, 0.5]}, states=("heads", "tails"))
    >>> cases = sample(coin, 1000, seed=1)
    >>> cases.shape, bool(abs(cases.mean() - 0.5) < 0.05)
    ((1000, 1), True)
    """
    if count < 0:
        raise CallError(f"can't draw {quantity(count, 'case')}; give a number from 0 up")
    tree = engine(network)
    found = tree.findings(given)
    if found.soft:
        found = soft_as_weights(tree, found, None)
    if not found.seen and not found.weighed:
        none, empty = np.zeros(0, dtype=np.int32), np.zeros(0)
        states, _ = _native.sample(tree.tree, tree.order, tree.values, none, empty, count, whole_seed(seed), threads)
        return states[: len(tree.names)].T
    schedule = tree.schedule(found.seen, found.weighed, range(len(tree.states)))
    total, cases = schedule.draw(tree.values, *tree.case(found), count, whole_seed(seed), threads)
    if total == -inf:
        raise explain_impossible(tree, found.given)
    return np.ascontiguousarray(cases[:, : len(tree.names)])


class NoSample(CallError):
    """No sample agrees with the evidence."""


def weighting(
    network: Network,
    given: Evidence | None = None,
    *,
    samples: int = 100_000,
    precision: float | None = None,
    seed: int = 0,
    threads: int = 0,
) -> Estimate:
    """Likelihood weighting (Fung and Chang 1990; Shachter and Peot 1990).

    Draws `samples` cases, rounded up to whole blocks of 1,024; with `precision`, stops as soon as no
    standard error is above it. A distribution as evidence is fitted to all samples by raking their weights;
    the errors are then those of the weights found, which is more than they need to be (Deville and Särndal 1992).
    """
    tree = engine(network)
    found = tree.findings(given)
    weigh = partial(_weighted, tree, samples=samples, seed=whole_seed(seed), threads=threads)
    if not found.soft:
        return weigh(found, precision=precision)

    def lost(name: str) -> CallError:
        return NoSample(
            f"no sample has a state to which the distribution asked for {name!r} gives weight: it is too rare for "
            "weighting, or impossible; ask by loopy propagation (method 'loopy')"
        )

    raked = fitted(tree, found, lambda weighed: weigh(weighed).posteriors, SOFT_TOLERANCE, lost)
    log_probability = weigh(replace(found, soft={})).log_probability
    return replace(weigh(raked), log_probability=log_probability)


def _weighted(
    tree: Engine, found: Findings, *, samples: int, precision: float | None = None, seed: int, threads: int
) -> Estimate:
    seen, weight = _clamped(tree, found)
    blocks = max(1, -(-samples // BLOCK))
    top, sums, done = -inf, np.zeros(2 + 2 * tree.starts[-1]), 0
    while done < blocks:
        step = min(blocks - done, BATCH if precision is not None else blocks)
        tops, parts = _native.weigh_samples(tree.tree, tree.order, tree.values, seen, weight, done, step, seed, threads)
        done += step
        highest = max(top, float(tops.max()))
        if highest == -inf:
            continue
        scale = np.exp(tops - highest)
        sums *= np.tile([np.exp(top - highest), np.exp(2 * (top - highest))], len(sums) // 2)
        sums[0::2] += scale @ parts[:, 0::2]
        sums[1::2] += scale**2 @ parts[:, 1::2]
        top = highest
        if precision is not None and _weighted_errors(sums).max(initial=0) <= precision:
            break
    if top == -inf:
        raise NoSample(
            f"no sample of {done * BLOCK:,} agrees with the evidence: it is too rare for weighting, or "
            "impossible; ask by loopy propagation (method 'loopy')"
        )
    total, squares = sums[0], sums[1]
    return Estimate(
        _by_name(tree, sums[2::2] / total),
        _by_name(tree, _weighted_errors(sums)),
        top + log(total / (done * BLOCK)) + found.scale,
        done * BLOCK,
        float(total**2 / squares),
        "weighting",
    )


def _weighted_errors(sums: Array) -> Array:
    """Delta-method standard errors of self-normalised estimates (Owen 2013, equation 9.8)."""
    total, squares = sums[0], sums[1]
    p, inside = sums[2::2] / total, sums[3::2]
    spread = inside * (1 - p) ** 2 + (squares - inside) * p**2
    return np.asarray(np.sqrt(np.maximum(spread, 0)) / total)


def gibbs(
    network: Network,
    given: Evidence | None = None,
    *,
    sweeps: int = 2_000,
    precision: float | None = None,
    seed: int = 0,
    threads: int = 0,
) -> Estimate:
    """Blocking Gibbs sampling (Jensen, Kong and Kjaerulff 1995) with independent chains.

    Blocks are as large as an exact draw of their variables stays cheap. `sweeps` is in all, shared by the
    chains after a tenth more to warm up; with `precision`, stops as soon as no standard error is above it.
    A distribution as evidence is taken apart: chains for each of the variable's states, mixed as it says.

    Raises
    ------
    CallError
        Where several distributions are given: how likely their states are together is not known to the chains.
    """
    tree = engine(network)
    found = tree.findings(given)
    draw = partial(_swept, tree, precision=precision, seed=whole_seed(seed), threads=threads)
    if not found.soft:
        return draw(found, sweeps)
    if len(found.soft) > 1:
        names = " and ".join(repr(tree.names[i]) for i in found.soft)
        raise CallError(
            f"Gibbs sampling takes one distribution as evidence, but {names} have one; ask by method 'weighting' or "
            "'loopy', or exactly"
        )
    ((i, target),) = found.soft.items()
    if not (found.weighed.get(i, np.ones_like(target))[target > 0] > 0).all():
        raise ruled_out(tree.names[i])
    rest = {j: weight for j, weight in found.weighed.items() if j != i}
    strata = [
        draw(replace(found, seen={**found.seen, i: state}, weighed=rest, soft={}), sweeps // len(target))
        for state in np.flatnonzero(target).tolist()
    ]
    shares = target[target > 0]

    def mixed(parts: Iterable[Mapping[str, Array]], power: int) -> dict[str, Array]:
        parts = list(parts)
        return {
            name: sum(share**power * part[name] ** power for share, part in zip(shares, parts, strict=True))
            ** (1 / power)
            for name in tree.names
        }

    return Estimate(
        mixed((part.posteriors for part in strata), 1),
        mixed((part.errors for part in strata), 2),
        None,
        sum(part.samples for part in strata),
        min(part.effective for part in strata),
        "gibbs",
    )


def _swept(tree: Engine, found: Findings, sweeps: int, *, precision: float | None, seed: int, threads: int) -> Estimate:
    free = [i for i in tree.order if i not in found.seen]
    blocks = _blocks(tree, found, free) or [tree.schedule(found.seen, (), ())]
    states = _starts(tree, found, seed, threads)
    weight = tree.case(found)[1]
    each = max(2, -(-sweeps // CHAINS))
    step = each if precision is None else max(2, each // 10)
    counts, done, dropped = np.zeros((CHAINS, tree.starts[-1])), 0, max(1, each // 10)
    while done < each:
        part, states = _native.gibbs(
            blocks, tree.values, states, weight, dropped, step, seed, 1 + done * CHAINS, threads
        )
        counts, done, dropped = counts + part, done + step, 0
        if precision is not None and _between(counts / done).max(initial=0) <= precision:
            break
    means = counts.mean(axis=0) / done
    errors = _between(counts / done)
    spread = errors > 0
    worth = (means * (1 - means))[spread] / errors[spread] ** 2
    effective = float(worth.min()) if spread.any() else float(done * CHAINS)
    return Estimate(
        _by_name(tree, means),
        _by_name(tree, errors),
        None,
        done * CHAINS,
        min(effective, done * CHAINS),
        "gibbs",
    )


def _between(means: Array) -> Array:
    return np.asarray(means.std(axis=0, ddof=1) / np.sqrt(len(means)))


def _blocks(tree: Engine, found: Findings, members: list[int]) -> list[_native.Schedule]:
    """Schedules that draw `members`, halved until each is cheap, given all other variables."""
    if not members:
        return []
    inside = set(members)
    seen = [i for i in range(len(tree.states)) if i not in inside]
    weighed = [i for i in found.weighed if i in inside]
    schedule = tree.schedule(seen, weighed, members, memory=inf)
    if schedule.entries <= LARGEST_BLOCK or len(members) == 1:
        return [schedule]
    half = len(members) // 2
    return _blocks(tree, found, members[:half]) + _blocks(tree, found, members[half:])


def _starts(tree: Engine, found: Findings, seed: int, threads: int) -> npt.NDArray[np.int32]:
    """A possible case for each chain to start from."""
    if not tree.names:
        return np.zeros((CHAINS, 0), dtype=np.int32)
    seen, weight = _clamped(tree, found)
    states, logs = _native.sample(tree.tree, tree.order, tree.values, seen, weight, 64 * BLOCK, seed, threads)
    likely = np.argsort(-logs, kind="stable")[:CHAINS]
    likely = likely[logs[likely] > -inf]
    if not len(likely):
        raise NoSample(
            f"no sample of {64 * BLOCK:,} agrees with the evidence, so Gibbs sampling has nowhere to "
            "start; ask by loopy propagation (method 'loopy')"
        )
    return np.ascontiguousarray(states[:, np.resize(likely, CHAINS)].T)


def loopy(
    network: Network,
    given: Evidence | None = None,
    *,
    damping: float = 0.1,
    precision: float = 1e-9,
    rounds: int = 1_000,
) -> Estimate:
    """Loopy belief propagation (Murphy, Weiss and Jordan 1999): exact on trees, else an approximation.

    Distributions as evidence are fitted to the beliefs that it gives.
    """
    tree = engine(network)
    found = tree.findings(given)
    propagate = partial(_propagated, tree, damping=damping, precision=precision, rounds=rounds)
    if found.soft:
        close = max(precision, SOFT_TOLERANCE)
        found = fitted(tree, found, lambda weighed: propagate(weighed).posteriors, close, ruled_out)
    return propagate(found)


def _propagated(tree: Engine, found: Findings, *, damping: float, precision: float, rounds: int) -> Estimate:
    likelihood = np.ones(tree.starts[-1])
    for i, values in found.weighed.items():
        likelihood[tree.starts[i] : tree.starts[i + 1]] = values
    for i, state in found.seen.items():
        likelihood[tree.starts[i] : tree.starts[i + 1]] = np.eye(tree.states[i])[state]
    beliefs, change, used, possible = _native.loopy(tree.tree, tree.values, likelihood, damping, precision, rounds)
    if not possible:
        raise Impossible("the evidence has probability 0; take a finding out", ())
    errors = {name: np.full(b - a, change) for name, a, b in tree.spans}
    return Estimate(_by_name(tree, beliefs), errors, None, used, inf, "loopy")


def ruled_out(name: str) -> Impossible:
    """The error where a distribution as evidence wants what other evidence forbids."""
    return Impossible(
        f"the distribution asked for {name!r} gives weight to a state that the rest makes impossible; "
        "take that state out",
        (name,),
    )


def estimate(
    network: Network,
    given: Evidence | None = None,
    method: Method = "auto",
    variables: Sequence[str] | None = None,
    *,
    precision: float | None = None,
    seed: int = 0,
    threads: int = 0,
    memory: float | None = None,
) -> Estimate:
    """The posterior of every variable by the method named.

    "auto" is exact where that is affordable, else by weighting, and by loopy propagation where the samples that agree
    with the evidence are worth fewer than 100. Exact answers for some `variables` only can be far cheaper.
    """
    if method == "weighting":
        return weighting(network, given, precision=precision, seed=seed, threads=threads)
    if method == "gibbs":
        return gibbs(network, given, precision=precision, seed=seed, threads=threads)
    if method == "loopy":
        return loopy(network, given)
    if method not in ("auto", "exact"):
        raise CallError(f"unknown method {method!r} (known: 'auto', 'exact', 'weighting', 'gibbs', 'loopy')")
    tree = engine(network)
    found = tree.findings(given)
    asked = None if variables is None else [tree.position(name) for name in variables]
    schedule = tree.schedule(found.seen, {**found.weighed, **found.soft}, asked, memory=inf)
    if method == "auto" and not tree.affordable(schedule, memory):
        with suppress(NoSample):
            drawn = weighting(network, given, precision=precision, seed=seed, threads=threads)
            if drawn.effective >= FEWEST:
                return drawn
        return loopy(network, given)
    answer = ask(network, given, variables, memory=memory)
    errors = {name: np.zeros_like(values) for name, values in answer.posteriors.items()}
    return Estimate(answer.posteriors, errors, answer.log_probability, 0, inf, "exact")


def _clamped(tree: Engine, found: Findings) -> tuple[npt.NDArray[np.int32], Array]:
    """Evidence for the samplers: -1 where a variable is to be drawn."""
    seen = np.full(len(tree.states), -1, dtype=np.int32)
    for i, state in found.seen.items():
        seen[i] = state
    return seen, tree.case(found)[1]


def _by_name(tree: Engine, flat: Array) -> dict[str, Array]:
    return {name: flat[a:b] for name, a, b in tree.spans}
