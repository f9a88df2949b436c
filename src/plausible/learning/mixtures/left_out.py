"""Leave-one-out likelihood of a mixture in one pass: a row's own share is taken out of the counts before it is scored.

The shares of all other rows stay as they are; learning anew without each row would move them a little, too.
"""

from __future__ import annotations

import math

import numpy as np

from plausible.learning.mixtures.components import Components, e_step, inverse_factors, posterior
from plausible.learning.mixtures.moments import Array, Moments
from plausible.learning.mixtures.points import Group, Points
from plausible.learning.mixtures.stars import Star, StarPrior, StarRows, expected
from plausible.learning.mixtures.stars import posterior as star_posterior

BLOCK = 1 << 21
"""Numbers held at once."""


def star_left_out(rows: StarRows, star: Star, prior: StarPrior, threads: int) -> Array:
    """ln P(row | all others) of each row: (n_c − own + m p) / (n − own + m) for each value and word."""
    shares = star_posterior(rows, star, threads)[0]
    counts = expected(rows, shares, threads)
    k, times = len(star.weights), np.ones(len(rows.features)) if rows.times is None else rows.times
    added, totals, variable = np.zeros((rows.size, 1)), [np.zeros(k)], np.zeros(rows.size, np.intp)
    for v, (part, m, p) in enumerate(prior.each()):
        added[part, 0], variable[part] = m * p, v
        totals += [counts.features[part].sum(axis=0) + m]
    seen = counts.features + added
    whole = np.array(totals[1:]).reshape(-1, k)
    out = np.empty(rows.count)
    step = max(1, int(BLOCK / k / max(len(times) / rows.count, 1)))
    for first in range(0, rows.count, step):
        last = min(first + step, rows.count)
        r = shares[first:last]
        entries = slice(rows.starts[first], rows.starts[last])
        owner = np.repeat(np.arange(last - first), np.diff(rows.starts[first : last + 1]))
        f, x = rows.features[entries], times[entries]
        place = owner * max(len(whole), 1) + variable[f]
        length = np.bincount(place, x, (last - first) * max(len(whole), 1))[place]
        mine = r[owner]
        logs = x[:, None] * np.log(
            np.maximum(seen[f] - mine * x[:, None], added[f])
            / np.maximum(whole[variable[f]] - mine * length[:, None], 1e-300)
        )
        with np.errstate(divide="ignore"):
            joint = np.log(np.maximum(counts.rows - r, 0) / max(rows.count - 1, 1))
        ends = rows.starts[first : last + 1] - rows.starts[first]
        sums = np.concatenate([np.zeros((1, k)), np.cumsum(logs, axis=0)])
        joint += sums[ends[1:]] - sums[ends[:-1]]
        joint += _numbers(rows.numbers[first:last], r, counts.numbers, prior)
        out[first:last] = _log_sum(joint)
    return out


def _numbers(x: Array, r: Array, moments: Moments, prior: StarPrior) -> Array:
    """ln N of the numbers present, without the row, summed over columns."""
    out = np.zeros(r.shape)
    shape = (x.shape[1], r.shape[1])
    n_, mean_, squares_ = moments.n.reshape(shape), moments.mean.reshape(shape), moments.squares.reshape(shape)
    for d in range(x.shape[1]):
        there = ~np.isnan(x[:, d])
        delta = x[there, d][:, None] - mean_[d]
        floor = prior.m * prior.variances[d]
        out[there] += _normal(delta, r[there], n_[d], squares_[d] + floor, prior.m, floor)
    return out


def _normal(delta: Array, r: Array, n: Array, squares: Array, m: float, floor: float | Array) -> Array:
    """ln N(x; mean, variance), both without a share r of x, which lies delta from the mean with it."""
    left = n - r
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.maximum(squares - r * n / left * delta**2, floor) / (left + m)
        apart = delta * n / left
        logs = -0.5 * (np.log(2 * math.pi * variance) + apart**2 / variance)
    return np.where((left > 1e-9) & (variance > 0), logs, -np.inf)


def gaussian_left_out(
    table: Points, components: Components, prior: float, variances: Array, equal: bool, threads: int
) -> Array:
    """ln p(row | all others), over the numbers that are there.

    Without a share r of x, with δ = x − μ, A = S + m V and c = r n / (n − r):
    |A − c δδᵀ| = |A| (1 − c q),  δᵀ (A − c δδᵀ)⁻¹ δ = q / (1 − c q),  q = δᵀ A⁻¹ δ      (Sherman and Morrison 1950)
    """
    moments, _ = e_step(table, components, threads)
    shares = posterior(table, components, threads)[0]
    n = moments.n
    out = np.empty(table.count)
    for group in table.groups:
        rows = np.arange(table.count)[group.rows]
        step = max(1, BLOCK // (len(n) * max(table.dimensions, 1)))
        for first in range(0, len(rows), step):
            these = rows[first : first + step]
            r = shares[these]
            with np.errstate(divide="ignore"):
                weights = 1 / len(n) if equal else np.maximum(n - r, 0) / max(table.count - 1, 1)
                joint = np.log(weights) + np.zeros(r.shape)
            if group.seen.size:
                joint += _densities(group, group.values[first : first + step], r, moments, components, prior, variances)
            out[these] = _log_sum(joint)
    return out


def _densities(
    group: Group, x: Array, r: Array, moments: Moments, components: Components, prior: float, variances: Array
) -> Array:
    """ln p(x | component) without the rows themselves, shape (rows, k)."""
    seen, d, n, kind = group.seen, len(group.seen), moments.n, components.kind
    delta = x[:, None, :] - moments.mean[:, seen]
    left = n - r
    with np.errstate(divide="ignore", invalid="ignore"):
        c, stretch = r * n / left, (n / left) ** 2
        if kind == "known":
            distance = (delta**2).sum(axis=2) * stretch
            logs = -0.5 * (d * np.log(2 * math.pi * components.covariances) + distance / components.covariances)
        elif kind == "diagonal":
            floor = prior * variances[seen]
            each = [
                _normal(delta[:, :, i], r, n, moments.squares[:, column] + floor[i], prior, floor[i])
                for i, column in enumerate(seen)
            ]
            logs = np.sum(each, axis=0)
        elif kind == "spherical":
            squared = (delta**2).sum(axis=2)
            whole = moments.squares.sum(axis=1) + prior * variances.sum()
            whole = whole - c * squared - r * components.covariances * len(group.unseen)
            variance = whole / ((left + prior) * len(variances))
            logs = -0.5 * (d * np.log(2 * math.pi * variance) + squared * stretch / variance)
        elif kind == "tied":
            a = (moments.squares.sum(axis=0) + np.diag(prior * variances))[np.ix_(seen, seen)]
            own = a - np.einsum("ij,ija,ijb->iab", np.where(left > 1e-9, c, 0), delta, delta)
            covariance = own / (n.sum() - 1 + prior)
            solved = np.linalg.solve(covariance, delta.transpose(0, 2, 1)).transpose(0, 2, 1)
            logdet = np.linalg.slogdet(covariance)[1][:, None]
            logs = -0.5 * (d * math.log(2 * math.pi) + logdet + (delta * solved).sum(axis=2) * stretch)
        else:
            a = (moments.squares + np.diag(prior * variances))[:, seen[:, None], seen]
            factors, halves = inverse_factors(a)  # ln |A| = −2 halves
            q = (np.einsum("jab,ijb->ija", factors, delta) ** 2).sum(axis=2)
            rest = 1 - c * q
            logdet = -2 * halves + np.log(rest) - d * np.log(left + prior)
            logs = -0.5 * (d * math.log(2 * math.pi) + logdet + stretch * (left + prior) * q / rest)
    return np.where((left > 1e-9) & np.isfinite(logs), logs, -np.inf)


def _log_sum(joint: Array) -> Array:
    most = joint.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        logs: Array = most + np.log(np.exp(joint - most[:, None]).sum(axis=1))
    return np.where(most == -np.inf, -np.inf, logs)
