"""Gaussian components, and what rows say of them: the E step, exact where rows have gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from plausible import _native
from plausible.errors import CallError, DataError, ModelError, unknown
from plausible.learning.mixtures.moments import Array, Moments
from plausible.learning.mixtures.points import Group, Points
from plausible.wording import quantity

Covariance = Literal["known", "spherical", "diagonal", "tied", "full"]


@dataclass(frozen=True, slots=True)
class Components:
    """k Gaussians in d dimensions, and their weights.

    Parameters
    ----------
    weights : (k,)
    means : (k, d)
    covariances : (k,) known or spherical, (k, d) diagonal, (d, d) tied, (k, d, d) full
    kind : str
    """

    weights: Array
    means: Array
    covariances: Array
    kind: Covariance

    def __post_init__(self) -> None:
        if self.kind not in get_args(Covariance):
            raise CallError(unknown("covariance", str(self.kind), get_args(Covariance)))
        if self.means.ndim != 2 or self.weights.shape != (len(self.means),):
            raise CallError(f"{self.weights.shape} weights don't fit means of shape {self.means.shape}")
        if self.covariances.shape != shape_of(self.kind, *self.means.shape):
            raise CallError(
                f"{self.kind} covariances of {quantity(len(self.means), 'component')} have the shape "
                f"{shape_of(self.kind, *self.means.shape)}, not {self.covariances.shape}"
            )

    def spread(self) -> Array:
        """The covariance of each component: (k, d) variances, or (k, d, d)."""
        k, d = self.means.shape
        if self.kind in ("known", "spherical"):
            return np.repeat(self.covariances[:, None], d, axis=1)
        return np.repeat(self.covariances[None], k, axis=0) if self.kind == "tied" else self.covariances


def shape_of(kind: Covariance, k: int, d: int) -> tuple[int, ...]:
    return {"known": (k,), "spherical": (k,), "diagonal": (k, d), "tied": (d, d), "full": (k, d, d)}[kind]


def inverse_factors(spread: Array) -> tuple[Array, Array]:
    """The inverses of the Cholesky factors, and the logarithms of their determinants."""
    if spread.ndim == 2:
        if not (spread > 0).all():
            raise _flat(int(np.argwhere(~(spread > 0))[0, 0]))
        factors = 1 / np.sqrt(spread)
        return factors, np.log(factors).sum(axis=1)
    try:
        factors = np.linalg.inv(np.linalg.cholesky(spread))
    except np.linalg.LinAlgError:
        lowest = np.linalg.eigvalsh(spread)[:, 0]
        raise _flat(int(lowest.argmin())) from None
    return factors, np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)


def e_step(table: Points, components: Components, threads: int) -> tuple[Moments, float]:
    """Sums weighted by E[z_ij] (Mitchell 1997, eq. 6.29, with weights and covariances), and ln P(D | h)."""
    spread = components.spread()
    total: Moments | None = None
    log_likelihood = 0.0
    for group in table.groups:
        moments, part = _expected(group, components.weights, components.means, spread, threads)
        total = moments if total is None else total + moments
        log_likelihood += part
    assert total is not None
    return total, log_likelihood


def posterior(table: Points, components: Components, threads: int) -> tuple[Array, Array]:
    """P(component | row), shape (rows, k), and each row's log density, over the numbers that are there."""
    k, d = components.means.shape
    if table.dimensions != d:
        raise DataError(f"the points have {quantity(table.dimensions, 'column')}, but the mixture was learned from {d}")
    spread = components.spread()
    shares, densities = np.empty((table.count, k)), np.empty(table.count)
    for rows, seen, _, values in table.groups:
        if seen.size == 0:
            shares[rows], densities[rows] = components.weights, 0.0
            continue
        factors, scales = _densities(components.weights, _among(spread, seen))
        means = np.ascontiguousarray(components.means[:, seen])
        shares[rows], densities[rows] = _native.gaussian_posterior(values, scales, means, factors, threads)
    return shares, densities


def sizes(table: Points, components: Components, threads: int) -> NDArray[np.intp]:
    """Rows that belong to each component more probably than to any other, shape (k,); no row's shares are kept."""
    spread = components.spread()
    found = np.zeros(len(components.weights), np.intp)
    for _, seen, _, values in table.groups:
        if not seen.size:
            found[components.weights.argmax()] += len(values)
            continue
        factors, scales = _densities(components.weights, _among(spread, seen))
        means = np.ascontiguousarray(components.means[:, seen])
        found += _native.gaussian_sizes(values, scales, means, factors, threads)
    return found


def _flat(component: int) -> ModelError:
    return ModelError(
        f"component {component} has collapsed: it has no spread left in some direction; "
        f"use a larger prior (prior=1), fewer components, or covariance='tied'"
    )


def _among(spread: Array, columns: Array | np.ndarray[tuple[int], np.dtype[np.intp]]) -> Array:
    """The covariances of some of the columns."""
    return spread[:, columns] if spread.ndim == 2 else spread[:, columns[:, None], columns]


def _densities(weights: Array, spread: Array) -> tuple[Array, Array]:
    """Inverse factors, and ln w_j − ln |Σ_j| / 2 − d/2 ln 2π."""
    factors, log_determinants = inverse_factors(spread)
    with np.errstate(divide="ignore"):
        scales = np.log(weights) + log_determinants - spread.shape[1] / 2 * math.log(2 * math.pi)
    return np.ascontiguousarray(factors), scales


def _expected(group: Group, weights: Array, means: Array, spread: Array, threads: int) -> tuple[Moments, float]:
    """Moments over all columns, unseen numbers replaced by what they are expected to be.

    x̂_u = μ_u + B (x_s − μ_s),  B = Σ_us Σ_ss⁻¹,  and the covariance left,  Σ_uu − B Σ_su,  for each row
                                                        Ghahramani and Jordan 1994, §3.1
    """
    _, seen, unseen, values = group
    k, d = means.shape
    if not seen.size:
        n = weights * len(values)
        return Moments(n, means, n.reshape(-1, *[1] * (spread.ndim - 1)) * spread), 0.0
    inner = spread if not unseen.size else _among(spread, seen)
    centre = np.ascontiguousarray(means[:, seen])
    factors, scales = _densities(weights, inner)
    n, shifts, squares, log_likelihood = _native.gaussian_step(values, scales, centre, factors, threads)
    moments = Moments.about(centre, n, shifts, squares)
    if not unseen.size:
        return moments, log_likelihood
    mean = means.copy()
    mean[:, seen] = moments.mean
    if spread.ndim == 2:
        all_squares = n[:, None] * spread
        all_squares[:, seen] = moments.squares
        return Moments(n, mean, all_squares), log_likelihood
    across = spread[:, unseen[:, None], seen]
    b = np.linalg.solve(inner, across.transpose(0, 2, 1)).transpose(0, 2, 1)
    mean[:, unseen] += np.einsum("kus,ks->ku", b, moments.mean - centre)
    fill = np.zeros((k, d, len(seen)))
    fill[:, seen, np.arange(len(seen))] = 1
    fill[:, unseen] = b
    all_squares = fill @ moments.squares @ fill.transpose(0, 2, 1)
    left = _among(spread, unseen) - b @ across.transpose(0, 2, 1)
    all_squares[:, unseen[:, None], unseen] += n[:, None, None] * left
    return Moments(n, mean, all_squares), log_likelihood
