"""Mixtures of Gaussians by EM: from k means of known variance (Mitchell 1997, §6.12) to full covariances.

A prior worth m rows of the whole data's own variances, V, keeps every component from collapsing:
Σ_j = (S_j + m V) / (n_j + m), the mode under an inverse Wishart prior (after Fraley and Raftery 2007, §3).
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.chance import generator
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.learning.em import Step, Stopped, Vector, em
from plausible.learning.mixtures.components import Components, Covariance, e_step, inverse_factors, posterior, sizes
from plausible.learning.mixtures.moments import Array, Moments
from plausible.learning.mixtures.points import Points, points, spread
from plausible.wording import quantity

Generator = np.random.Generator
Indices = NDArray[np.intp]

_THIN = 1e-5  # of the data's own variance: where nothing but the prior holds a component up, it has collapsed


@dataclass(frozen=True, slots=True)
class GaussianMixture:
    """A mixture of k Gaussians in d dimensions, as learned.

    Parameters
    ----------
    weights : (k,)
    means : (k, d)
    covariances : (k,) known or spherical, (k, d) diagonal, (d, d) tied, (k, d, d) full
    covariance : str
        Which of these.
    sizes : (k,) whole numbers
        The rows that belong to each component more probably than to any other.
    log_likelihood, objective : float
        ln P(D | h), and with the log prior added.
    iterations : int
    stopped : "converged", "iterations", "time", "interrupted" or "fell"
    trace : the objective at each iteration of the best run
    names : the columns
    prior, equal_weights : as they were given
    """

    weights: Array
    means: Array
    covariances: Array
    covariance: Covariance
    sizes: Indices
    log_likelihood: float
    objective: float
    iterations: int
    stopped: Stopped
    trace: Vector
    names: tuple[str, ...]
    prior: float
    equal_weights: bool

    @property
    def converged(self) -> bool:
        return self.stopped == "converged"

    @property
    def components(self) -> Components:
        return Components(self.weights, self.means, self.covariances, self.covariance)

    @property
    def parameters(self) -> int:
        """How many numbers were free to be learned; what is known or kept equal is not."""
        learned = 0 if self.covariance == "known" else self.covariances.size
        if self.covariance in ("full", "tied"):
            d = self.means.shape[1]
            learned = learned // (d * d) * (d * (d + 1) // 2)
        return self.means.size + learned + (0 if self.covariance == "known" else len(self.weights) - 1)

    def posterior(self, x: Any, *, threads: int | None = None) -> Array:
        """P(component | row), shape (rows, k); a row of gaps alone gets the weights."""
        return posterior(points(x), self.components, _threads(threads))[0]

    def log_density(self, x: Any, *, threads: int | None = None) -> Array:
        """ln p(row) over the numbers that are there."""
        return posterior(points(x), self.components, _threads(threads))[1]

    def left_out(self, x: Any, *, threads: int | None = None) -> Array:
        """ln p(row | all others) of rows it was learned from; their own shares are taken out, all else stays."""
        from plausible.learning.mixtures.left_out import gaussian_left_out

        table = points(x)
        whole = spread(table)
        variances = whole.squares[:, 0] / np.maximum(whole.n, 1)
        return gaussian_left_out(table, self.components, self.prior, variances, self.equal_weights, _threads(threads))

    def sample(self, count: int, seed: int | Generator = 0) -> tuple[Array, Indices]:
        """New rows, and the component that made each."""
        rng = generator(seed)
        made_by = rng.choice(len(self.weights), size=count, p=self.weights)
        noise = rng.standard_normal((count, self.means.shape[1]))
        spreads = self.components.spread()
        if spreads.ndim == 2:
            return self.means[made_by] + np.sqrt(spreads)[made_by] * noise, made_by
        factors = np.linalg.cholesky(spreads)
        return self.means[made_by] + np.einsum("nde,ne->nd", factors[made_by], noise), made_by


def gaussian_mixture(
    x: Any,
    k: int,
    *,
    covariance: Covariance = "full",
    variance: float | None = None,
    equal_weights: bool | None = None,
    prior: float = 1e-6,
    start: Components | None = None,
    restarts: int = 10,
    seed: int | Generator = 0,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
    max_seconds: float = math.inf,
    accelerate: bool = False,
    progress: Callable[[Step], None] | None = None,
    threads: int | None = None,
) -> GaussianMixture:
    """Learn a mixture of k Gaussians from rows of numbers, in which NaN is a gap.

    Parameters
    ----------
    x : (n, d) array, data frame or rows; a flat list is one column
    covariance : "known", "spherical", "diagonal", "tied" or "full"
        "known" is the textbook's case: one variance, given as `variance`, and weights all equal.
    equal_weights : bool
        Keep the weights at 1/k; by default only with covariance="known".
    prior : float
        m, the rows' worth of the data's own variances that is added to each component's covariance.
    start : Components
        Climb from here only, and leave the components in this order. Otherwise `restarts` k-means++ starts
        are tried, and components are ordered by their means.
    tolerance, max_iterations, max_seconds, progress
        As in `plausible.learning.em`.
    accelerate : bool
        Take SQUAREM's leaps: fewer iterations where clusters overlap.

    Examples
    --------
    >>> mixture = gaussian_mixture([1.0, 1.2, 0.8, 5.0, 5.1, 4.9], 2, covariance="spherical")
    >>> mixture.means.ravel().round(3).tolist(), mixture.sizes.tolist()
    ([1.0, 5.0], [3, 3])
    """
    table, threads = points(x), _threads(threads)
    rng = generator(seed)
    equal = covariance == "known" if equal_weights is None else equal_weights
    _check(table, k, covariance, variance, prior, restarts, start)
    whole = spread(table)
    variances = whole.squares[:, 0] / np.maximum(whole.n, 1)
    _check_columns(table, whole, variances, covariance)

    def m_step(moments: Moments) -> Components:
        return estimate(moments, covariance, equal, variance, prior, variances)

    reseeded: list[list[str]] = []

    def starts() -> Iterator[Components]:
        for _ in range(restarts if start is None else 1):
            reseeded.append([])
            yield start or _start(table, k, covariance, equal, variance, whole, rng)

    def mend(components: Components, moments: Moments) -> Components | None:
        lost = _lost(moments, covariance, prior, variances)
        if not lost or len(reseeded[-1]) >= k:
            return None
        j, why = next(iter(lost.items()))
        reseeded[-1].append(f"a component {why}")
        return _reseed(components, j, table, variances, equal, rng)

    fitted = em(
        starts(),
        lambda components: e_step(table, components, threads),
        m_step,
        log_prior=lambda components: log_prior(components, prior, variances),
        tolerance=tolerance,
        max_iterations=max_iterations,
        max_seconds=max_seconds,
        progress=progress,
        mend=mend,
        accelerate=(_to_vector, lambda v: _to_components(v, k, covariance, table.dimensions)) if accelerate else None,
    )
    components, moments = fitted.parameters, fitted.statistics
    if start is None:
        order = np.lexsort(components.means.T[::-1])
        components = _taken(components, order)
        moments = Moments(moments.n[order], moments.mean[order], moments.squares[order])
    found = sizes(table, components, threads)
    none = {int(j): "is the most probable one of no row" for j in np.flatnonzero(found == 0)}
    _say(reseeded[fitted.run - 1], none | _lost(moments, covariance, prior, variances), k)
    return GaussianMixture(
        components.weights,
        components.means,
        components.covariances,
        covariance,
        found,
        fitted.log_likelihood,
        fitted.objective,
        fitted.iterations,
        fitted.stopped,
        fitted.trace,
        table.names,
        prior,
        equal,
    )


def estimate(
    moments: Moments,
    covariance: Covariance,
    equal_weights: bool = False,
    variance: float | None = None,
    prior: float = 0.0,
    variances: Array | float = 0.0,
) -> Components:
    """μ_j = Σ E[z_ij] x_i / Σ E[z_ij] (Mitchell 1997, eq. 6.31), Σ_j = (S_j + m V) / (n_j + m)."""
    k, d = moments.mean.shape
    n, squares = moments.n, moments.squares
    rows = np.where(n + prior > 0, n + prior, 1)
    added = prior * np.broadcast_to(np.asarray(variances, dtype=np.float64), (d,))
    weights = np.full(k, 1 / k) if equal_weights else n / n.sum()
    if covariance == "known":
        covariances = np.full(k, float(variance if variance is not None else 1.0))
    elif covariance == "spherical":
        covariances = (squares + added).sum(axis=1) / (rows * d)
    elif covariance == "diagonal":
        covariances = (squares + added) / rows[:, None]
    elif covariance == "tied":
        covariances = (squares.sum(axis=0) + np.diag(added)) / (n.sum() + prior)
    else:
        covariances = (squares + np.diag(added)) / rows[:, None, None]
    return Components(weights, moments.mean, covariances, covariance)


def log_prior(components: Components, prior: float, variances: Array) -> float:
    """−m/2 (ln |Σ| + tr V Σ⁻¹), summed over the covariances that are learned; a constant is left out."""
    if prior == 0 or components.kind == "known":
        return 0.0
    learned = components.covariances[None] if components.kind == "tied" else components.spread()
    factors, log_determinants = inverse_factors(learned)
    scaled = factors * np.sqrt(variances)  # tr V Σ⁻¹ = ‖L⁻¹ V^½‖²
    return float(-prior / 2 * ((np.tril(scaled) if scaled.ndim == 3 else scaled) ** 2).sum()) + float(
        prior * log_determinants.sum()
    )


# ---- What is wrong with the call or the data ---------------------------------------------------------------


def _threads(threads: int | None) -> int:
    return threads if threads is not None else os.cpu_count() or 1


def _check(
    table: Points,
    k: int,
    covariance: Covariance,
    variance: float | None,
    prior: float,
    restarts: int,
    start: Components | None,
) -> None:
    if k < 1 or restarts < 1:
        raise CallError(f"k ({k}) and restarts ({restarts}) must be at least 1")
    if k > table.count:
        raise CallError(
            f"k is {k}, but the table has {quantity(table.count, 'row')}: choose k of at most {table.count}"
        )
    if covariance == "known" and variance is None:
        raise CallError("covariance 'known' needs the variance that is known: give a variance, or use 'spherical'")
    if covariance != "known" and variance is not None:
        raise CallError(f"a variance is given, but covariance={covariance!r} learns it: leave it out, or use 'known'")
    if variance is not None and not 0 < variance < math.inf:
        raise CallError(f"the variance must be a number above 0, not {variance}")
    if not 0 <= prior < math.inf:
        raise CallError(f"the prior must be a number of rows, 0 or more, not {prior}")
    if start is not None and (start.kind != covariance or start.means.shape != (k, table.dimensions)):
        raise CallError(
            f"the start has {start.kind} covariances and means of shape {start.means.shape}; "
            f"{covariance} and {(k, table.dimensions)} are needed"
        )


def _check_columns(table: Points, whole: Moments, variances: Array, covariance: Covariance) -> None:
    for name, n in zip(table.names, whole.n, strict=True):
        if n == 0:
            raise DataError(f"column {name!r} has no numbers at all: drop it")
    low, high = np.fmin.reduce(table.values), np.fmax.reduce(table.values)
    flat = [name for name, same, v in zip(table.names, low == high, variances, strict=True) if same or v < 1e-290]
    if covariance == "known" or not flat or (covariance == "spherical" and len(flat) < table.dimensions):
        return
    if table.count == 1:
        raise DataError("there is 1 row only: it has a mean but no variance; give more rows, or use covariance 'known'")
    if len(flat) == table.dimensions:
        raise DataError("all rows are equal: there is no variance to learn; use covariance 'known' with a variance")
    raise DataError(f"column {flat[0]!r} is constant: it has no variance and tells nothing of clusters; drop it")


# ---- Starts, and components that are lost ------------------------------------------------------------------


def _start(
    table: Points,
    k: int,
    covariance: Covariance,
    equal: bool,
    variance: float | None,
    whole: Moments,
    rng: Generator,
) -> Components:
    """k-means++ seeds (Arthur and Vassilvitskii 2007) in a sample; each takes its nearest rows."""
    size = min(table.count, max(10_000, 20 * k))
    rows = np.arange(table.count) if size == table.count else np.sort(rng.choice(table.count, size, replace=False))
    centre, variances = whole.mean[:, 0], whole.squares[:, 0] / whole.n
    scale = np.sqrt(np.where(variances > 0, variances, 1)) if covariance != "known" else np.ones(len(centre))
    x = np.nan_to_num((table.values[rows] - centre) / scale)
    seeds = [int(rng.integers(len(x)))]
    nearest = np.zeros(len(x), dtype=np.intp)
    distance = ((x - x[seeds[0]]) ** 2).sum(axis=1)
    for j in range(1, k):
        if not distance.any():
            raise DataError(
                f"k is {k}, but without duplicates the table has {quantity(j, 'row')}: choose k of at most {j}"
            )
        seeds.append(int(rng.choice(len(x), p=distance / distance.sum())))
        new = ((x - x[seeds[-1]]) ** 2).sum(axis=1)
        nearest[new < distance] = j
        distance = np.minimum(distance, new)
    n = np.bincount(nearest, minlength=k).astype(np.float64)
    means = np.stack([np.bincount(nearest, column, minlength=k) for column in x.T], axis=1) / n[:, None]
    within = ((x - means[nearest]) ** 2).mean(axis=0) * 0.999 + 0.001  # of variances that are 1 here
    moments = Moments(n, means * scale + centre, np.broadcast_to(n[:, None] * within * scale**2, (k, len(scale))))
    if covariance in ("tied", "full"):
        moments = replace(moments, squares=moments.squares[:, :, None] * np.eye(len(scale)))
    return estimate(moments, covariance, equal, variance)


def _lost(moments: Moments, covariance: Covariance, prior: float, variances: Array) -> dict[int, str]:
    """Components that have lost their rows, or whose spread in some direction is the prior's, not theirs."""
    why = {int(j): "has lost its rows" for j in np.flatnonzero(moments.n < 0.01)}
    if covariance in ("known", "tied"):
        return why
    scale = np.sqrt(variances)
    if covariance == "spherical":
        narrowest = moments.squares.sum(axis=1) / variances.sum()
    elif covariance == "diagonal":
        narrowest = (moments.squares / variances).min(axis=1)
    else:
        narrowest = np.linalg.eigvalsh(moments.squares / np.outer(scale, scale))[:, 0]
    flat = narrowest <= np.maximum(prior, 1e-12 * moments.n)
    thin = narrowest + prior < _THIN * (moments.n + prior)
    for j in np.flatnonzero(flat & thin):
        why.setdefault(
            int(j), f"has collapsed onto {quantity(round(moments.n[j], 2), 'row')} without a spread of their own"
        )
    return why


def _reseed(components: Components, j: int, table: Points, variances: Array, equal: bool, rng: Generator) -> Components:
    """Component j begins again at a random row, as wide as the whole data; the others make room."""
    k = len(components.weights)
    row = table.values[int(rng.integers(table.count))]
    means = components.means.copy()
    means[j] = np.where(np.isnan(row), means[j], row)
    weights = components.weights.copy()
    if not equal:
        weights[j] = 0
        weights = weights / weights.sum() * (1 - 1 / k) if weights.any() else weights
        weights[j] = 1 / k if k > 1 else 1.0
    covariances = components.covariances.copy()
    if components.kind in ("spherical", "diagonal", "full"):
        covariances[j] = {"spherical": variances.mean(), "diagonal": variances, "full": np.diag(variances)}[
            components.kind
        ]
    return Components(weights, means, covariances, components.kind)


def _say(reseeded: list[str], lost: dict[int, str], k: int) -> None:
    told = [f"component {j} {why}" for j, why in lost.items()]
    if told:
        warnings.warn(
            f"{'; '.join(told)}: choose fewer components than {k}, or a larger prior (prior=1)",
            PlausibleWarning,
            stacklevel=3,
        )
    elif reseeded:
        warnings.warn(
            f"on the way {'; '.join(reseeded)}, and began again from a random row",
            PlausibleWarning,
            stacklevel=3,
        )


def _taken(components: Components, order: Indices) -> Components:
    covariances = components.covariances if components.kind == "tied" else components.covariances[order]
    return Components(components.weights[order], components.means[order], covariances, components.kind)


# ---- Where SQUAREM leaps: logarithms of weights and variances, Cholesky factors of covariances ---


def _to_vector(components: Components) -> Vector:
    logs = np.log(np.maximum(components.weights, 1e-300))
    return np.concatenate([logs, components.means.ravel(), _unbound(components).ravel()])


def _unbound(components: Components) -> Array:
    if components.kind not in ("tied", "full"):
        return np.log(components.covariances)
    factors = np.linalg.cholesky(components.covariances).astype(np.float64)
    diagonal = np.arange(factors.shape[-1])
    factors[..., diagonal, diagonal] = np.log(factors[..., diagonal, diagonal])
    return factors


def _to_components(vector: Vector, k: int, covariance: Covariance, d: int) -> Components:
    logs, means, rest = np.split(vector, [k, k + k * d])
    weights = np.exp(logs - logs.max())
    shape = {"tied": (d, d), "full": (k, d, d), "diagonal": (k, d)}.get(covariance, (k,))
    if covariance in ("tied", "full"):
        factors = rest.reshape(shape).copy()
        diagonal = np.arange(d)
        factors[..., diagonal, diagonal] = np.exp(np.clip(factors[..., diagonal, diagonal], -300, 300))
        covariances = factors @ np.swapaxes(factors, -1, -2)
    else:
        covariances = np.exp(np.clip(rest.reshape(shape), -600, 600))
    return Components(weights / weights.sum(), means.reshape(k, d), covariances, covariance)
