"""Conditional linear Gaussian networks (Lauritzen 1992; Lauritzen and Jensen 2001).

Exact where the categorical parents of continuous variables have few enough combinations: given one of
them, the continuous variables are jointly normal. By likelihood weighting where there are too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf, log, pi, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.chance import generator
from plausible.cpds import Array, LinearGaussian, Table
from plausible.errors import CallError, ModelError
from plausible.infer.approximate import SOFT_TOLERANCE, ruled_out, sample
from plausible.infer.engine import Engine, Findings, Impossible, engine
from plausible.infer.evidence import Finding
from plausible.infer.exact import ask, fitted, joint
from plausible.infer.rows import predict
from plausible.network import Network
from plausible.schema import Variable

MOST_NUMBERS = 20_000_000
"""Numbers in the covariance matrices of all combinations, beyond which the answer is sampled."""

CERTAIN = 1e-12
"""A variance this small beside the largest one is none: the variable is a function of the others."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture of normal distributions."""

    weights: Array
    means: Array
    variances: Array

    @property
    def mean(self) -> float:
        return float(self.weights @ self.means)

    @property
    def variance(self) -> float:
        return float(self.weights @ (self.variances + (self.means - self.mean) ** 2))


@dataclass(frozen=True, slots=True)
class MixedAnswer:
    """Posteriors of the categorical variables, of the continuous ones, and the log density of the evidence.

    `effective` is how many independent samples the answer is worth; infinite where it is exact.
    """

    posteriors: dict[str, Array]
    densities: dict[str, Mixture]
    log_density: float
    effective: float = inf


def ask_mixed(
    network: Network,
    given: Mapping[str, Finding | float] | None = None,
    *,
    samples: int | None = None,
    seed: int = 0,
) -> MixedAnswer:
    """What is known of every variable of a conditional linear Gaussian network.

    Parameters
    ----------
    network : Network
    given : mapping
        Numbers for continuous variables, strings for texts; findings of any kind for categorical ones.
    samples : int, optional
        Sample even where an exact answer is possible.

    Examples
    --------
    >>> x, y = Variable("x", kind="continuous"), Variable("y", kind="continuous")
    >>> line = Network(None, [LinearGaussian(x, (), 0, [], 1), LinearGaussian(y, (x,), 1, [2], 1)])
    >>> found = ask_mixed(line, {"y": 3}).densities["x"]
    >>> round(found.mean, 3), round(found.variance, 3)
    (0.8, 0.2)
    """
    findings = dict(given or {})
    numbers = _numbers(network, findings)
    tree = engine(_without_numbers(network))
    found = tree.findings({name: finding for name, finding in findings.items() if name not in numbers})  # type: ignore[misc]
    answer = partial(_answer, network, tree, numbers, samples, seed)
    if not found.soft:
        return answer(found)
    fit = fitted(tree, found, lambda weighed: answer(weighed).posteriors, SOFT_TOLERANCE, ruled_out)
    return replace(answer(fit), log_density=answer(replace(found, soft={})).log_density)


def _answer(
    network: Network, tree: Engine, numbers: dict[str, float], samples: int | None, seed: int, found: Findings
) -> MixedAnswer:
    discrete, known, scale = _discrete(network, tree, found)
    nodes = _gaussians(network)
    switches = [v for v in discrete.variables if any(v in cpd.discrete for cpd in nodes)]
    combinations = prod(len(v.states) for v in switches)
    shown = [v.name for v in network.variables if v.kind == "categorical"]
    if samples is None and combinations * max(len(nodes), 1) ** 2 <= MOST_NUMBERS:
        answer = _exact(discrete, known, nodes, numbers, switches, shown)
    else:
        answer = _weighted(discrete, known, nodes, numbers, shown, samples or 100_000, seed)
    return replace(answer, log_density=answer.log_density + scale)


def _without_numbers(network: Network) -> Network:
    return network.without(*(v.name for v in network.variables if v.kind == "continuous"))


def _numbers(network: Network, findings: Mapping[str, Finding | float]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, finding in findings.items():
        if network[name].child.kind != "continuous":
            continue
        if not isinstance(finding, (int, float, np.number)) or not np.isfinite(finding):
            raise CallError(f"evidence on the continuous variable {name!r} must be a finite number, not {finding!r}")
        numbers[name] = float(finding)
    return numbers


def _discrete(network: Network, tree: Engine, found: Findings) -> tuple[Network, dict[str, int], float]:
    """The categorical part, with every likelihood as an observed child, so that all evidence is states.

    Also the natural log of what the likelihoods were divided by.
    """
    cpds = [network[name] for name in tree.names]
    known = {tree.names[i]: state for i, state in found.seen.items()}
    scale = found.scale
    for i, values in found.weighed.items():
        parent, top = tree.variables[i], values.max()
        child = Variable(f"evidence on {parent.name}", states=("seen", "not seen"))
        chance = values / top if top > 0 else values
        cpds.append(Table(child, (parent,), np.stack([chance, 1 - chance], axis=1)))
        known[child.name] = 0
        scale += log(top) if top > 0 else 0.0
    return Network(None, cpds), known, scale


def _exact(
    discrete: Network,
    known: dict[str, int],
    nodes: list[LinearGaussian],
    numbers: dict[str, float],
    switches: list[Variable],
    shown: list[str],
) -> MixedAnswer:
    names = [switch.name for switch in switches]
    chances = joint(discrete, names, known).ravel() if names else np.ones(1)
    total = ask(discrete, known).log_probability
    kept = np.flatnonzero(chances > 0)
    states = np.stack(np.unravel_index(kept, [len(v.states) for v in switches]), axis=1) if names else None
    picked = {} if states is None else {name: states[:, i] for i, name in enumerate(names)}
    means, covariances = _moments(nodes, picked, len(kept))
    place = {cpd.child.name: i for i, cpd in enumerate(nodes)}
    at = [place[name] for name in numbers]
    means, covariances, densities = _condition(means, covariances, at, np.array(list(numbers.values())))
    logs = np.log(chances[kept]) + densities
    top = logs.max()
    if top == -inf:
        raise Impossible(
            f"the evidence has density 0: {', '.join(numbers)} can't have these values together; take one out",
            tuple(numbers),
        )
    share = np.exp(logs - top)
    log_density = total + top + log(share.sum())
    share = share / share.sum()
    rows = np.full((len(kept), len(discrete)), -1, dtype=np.int32)
    for name, state in known.items():
        rows[:, discrete.names.index(name)] = state
    for name, column in picked.items():
        rows[:, discrete.names.index(name)] = column
    posteriors = {name: share @ values for name, values in predict(discrete, rows).items() if name in shown}
    mixtures = {name: Mixture(share, means[:, i], np.maximum(covariances[:, i, i], 0)) for name, i in place.items()}
    return MixedAnswer(posteriors, mixtures, log_density)


def _moments(
    nodes: list[LinearGaussian], picked: Mapping[str, npt.NDArray[np.intp]], count: int
) -> tuple[Array, Array]:
    """Means and covariances for each combination of switches (Shachter and Kenley 1989)."""
    n = len(nodes)
    place = {cpd.child.name: i for i, cpd in enumerate(nodes)}
    means, covariances = np.zeros((count, n)), np.zeros((count, n, n))
    for i, cpd in enumerate(nodes):
        row = tuple(picked[v.name] for v in cpd.discrete)
        above = [place[v.name] for v in cpd.continuous]
        weight = np.broadcast_to(cpd.weights[row], (count, len(above)))
        means[:, i] = cpd.intercept[row] + (weight * means[:, above]).sum(axis=1)
        shared = np.einsum("kp,kpn->kn", weight, covariances[:, above, :])
        covariances[:, i, :] = shared
        covariances[:, :, i] = shared
        covariances[:, i, i] = cpd.variance[row] + (weight * shared[:, above]).sum(axis=1)
    return means, covariances


def _condition(means: Array, covariances: Array, at: list[int], values: Array) -> tuple[Array, Array, Array]:
    """Normal distributions given some of their variables, and the log density of those."""
    if not at:
        return means, covariances, np.zeros(len(means))
    across = covariances[:, :, at]
    spread, axes = np.linalg.eigh(covariances[np.ix_(range(len(means)), at, at)])
    scale = np.maximum(spread.max(axis=1, keepdims=True), 0)
    free = spread > CERTAIN * scale
    off = np.einsum("kpe,kp->ke", axes, values - means[:, at])
    size = np.abs(values).max() + np.abs(means[:, at]).max(axis=1, keepdims=True) + 1
    broken = (~free & (np.abs(off) > 1e-9 * size)).any(axis=1)
    inverse = np.divide(1, spread, out=np.zeros_like(spread), where=free)
    terms = np.where(free, off**2 * inverse + np.log(2 * pi * np.where(free, spread, 1)), 0.0)
    densities = np.where(broken, -inf, -0.5 * terms.sum(axis=1))
    turned = np.einsum("knp,kpe->kne", across, axes)
    means = means + np.einsum("kne,ke,ke->kn", turned, inverse, off)
    covariances = covariances - np.einsum("kne,ke,kme->knm", turned, inverse, turned)
    means[:, at] = values
    covariances[:, at, :] = 0
    covariances[:, :, at] = 0
    return means, covariances, densities


def sample_mixed(
    network: Network, count: int, given: Mapping[str, Finding] | None = None, *, seed: int = 0
) -> dict[str, npt.NDArray[Any]]:
    """Independent cases: state indices of categorical variables, numbers of continuous ones, and texts.

    Evidence may be on categorical variables and texts; a text that is given stays as it is.

    Examples
    --------
    >>> coin, height = Variable("coin", states=("heads", "tails")), Variable("height", "continuous")
    >>> mixed = Network(None, [Table(coin, (), [0.5, 0.5]), LinearGaussian(height, (coin,), [0, 9], [[], []], [1, 1])])
    >>> bool(sample_mixed(mixed, 100, {"coin": "tails"})["height"].mean() > 5)
    True
    """
    given = given or {}
    if _numbers(network, given):
        raise CallError("cases can't be drawn given a number; ask for the posterior, or leave the number out")
    discrete = _without_numbers(network)
    states = sample(discrete, count, given, seed=seed)
    columns: dict[str, npt.NDArray[Any]] = dict(zip(engine(discrete).names, states.T, strict=True))
    rng = generator(seed)
    for cpd in _gaussians(network):
        columns[cpd.child.name] = _regressed(cpd, columns, count, rng)[0]
    for name, words in engine(discrete).texts.items():
        parent = columns[words.parents[0].name].tolist()
        drawn = [given[name] if name in given else words.draw(state, rng) for state in parent]
        columns[name] = np.array(drawn, dtype=object)
    return {name: columns[name] for name in network.names}


def _regressed(
    cpd: LinearGaussian, columns: Mapping[str, npt.NDArray[Any]], count: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Draws of a continuous variable given its parents, their means and their variances."""
    row = tuple(columns[v.name] for v in cpd.discrete)
    mean = np.broadcast_to(cpd.intercept[row], count).copy()
    for k, parent in enumerate(cpd.continuous):
        mean += cpd.weights[(*row, k)] * columns[parent.name]
    variance = np.broadcast_to(cpd.variance[row], count)
    return mean + np.sqrt(variance) * rng.standard_normal(count), mean, variance


def _gaussians(network: Network) -> list[LinearGaussian]:
    cpds = [cpd for name in network.graph.order if (cpd := network[name]).child.kind == "continuous"]
    for cpd in cpds:
        if not isinstance(cpd, LinearGaussian):
            raise ModelError(f"{cpd.child.name!r} is a {type(cpd).__name__}; only linear Gaussians can be asked")
    return cpds  # type: ignore[return-value]


def _weighted(
    discrete: Network,
    known: dict[str, int],
    nodes: list[LinearGaussian],
    numbers: dict[str, float],
    shown: list[str],
    samples: int,
    seed: int,
) -> MixedAnswer:
    states, drawn, logs = _draw(discrete, known, nodes, numbers, samples, seed)
    top = logs.max(initial=-inf)
    if top == -inf:
        raise CallError(f"no sample of {samples:,} agrees with the evidence; it is too rare, or impossible")
    weight = np.exp(logs - top)
    share = weight / weight.sum()
    posteriors = {
        v.name: np.bincount(states[i], share, len(v.states)).astype(np.float64)
        for i, v in enumerate(discrete.variables)
        if v.name in shown
    }
    mixtures = {name: Mixture(share, values, np.zeros(samples)) for name, values in drawn.items()}
    return MixedAnswer(posteriors, mixtures, float(top + log(weight.mean())), 1 / float((share**2).sum()))


def _draw(
    discrete: Network,
    known: dict[str, int],
    nodes: list[LinearGaussian],
    numbers: dict[str, float],
    samples: int,
    seed: int,
) -> tuple[npt.NDArray[np.int32], dict[str, Array], Array]:
    """States, values and log weights of samples in which the evidence is held fast."""
    tree = engine(discrete)
    seen = np.full(len(tree.states), -1, dtype=np.int32)
    for name, state in known.items():
        seen[tree.index[name]] = state
    states, logs = _native.sample(tree.tree, tree.order, tree.values, seen, np.zeros(0), samples, seed, 0)
    logs = logs if len(logs) else np.zeros(samples)
    rng = generator(seed)
    columns: dict[str, npt.NDArray[Any]] = dict(zip(tree.names, states, strict=False))
    drawn: dict[str, Array] = {}
    for cpd in nodes:
        name = cpd.child.name
        values, mean, variance = _regressed(cpd, {**columns, **drawn}, samples, rng)
        if name in numbers:
            values = np.full(samples, numbers[name])
            logs = logs + _log_normal(numbers[name] - mean, variance)
        drawn[name] = values
    return states, drawn, logs


def _log_normal(gap: Array, variance: Array) -> Array:
    spread = np.where(variance > 0, variance, 1.0)
    normal = -0.5 * (gap**2 / spread + np.log(2 * pi * spread))
    return np.where(variance > 0, normal, np.where(gap == 0, 0.0, -inf))
