"""Where a star begins: seeds far from one another, and rows that go to the nearest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible import _native
from plausible.errors import DataError
from plausible.learning.mixtures.moments import Array
from plausible.learning.mixtures.stars import Star, StarRows
from plausible.wording import quantity

Indices = NDArray[np.intp]

ROUNDS = 3
"""Of spherical k-means, before EM goes on from it."""


def nearest(rows: StarRows, k: int, variances: Array, rng: np.random.Generator, threads: int) -> Indices:
    """k-means++ seeds (Arthur and Vassilvitskii 2007), to the nearest of which each row goes.

    Squared distance: 2 for a value that differs, 1 for one that only either has, words by their masses, a number's own
    in deviations.
    """
    scale = np.where(variances > 0, variances, 1)
    there = ~np.isnan(rows.numbers)
    squares = _squares(rows)

    def distance(seed: int) -> Array:
        sparse = squares + squares[seed] - 2 * rows.dots(seed, threads)
        sparse[np.abs(sparse) < 1e-12] = 0
        apart = (rows.numbers - rows.numbers[seed]) ** 2 / scale
        either = there != there[seed]
        whole: Array = sparse + np.where(either, 1.0, np.nan_to_num(apart)).sum(axis=1)
        return whole

    closest = distance(int(rng.integers(rows.count)))
    which = np.zeros(rows.count, dtype=np.intp)
    for j in range(1, k):
        if not closest.any():
            raise DataError(
                f"k is {k}, but without duplicates the table has {quantity(j, 'row')}: choose k of at most {j}"
            )
        new = distance(int(rng.choice(rows.count, p=closest / closest.sum())))
        which[new < closest] = j
        closest = np.minimum(closest, new)
    return which


def directions(rows: StarRows, which: Indices, k: int, threads: int) -> tuple[Indices, float]:
    """A few rounds of spherical k-means (Dhillon and Modha 2001) on the sparse part: each row goes to the centre it
    has the least angle to. And the sum of those cosines.
    """
    assert rows.by_feature is not None
    lengths = np.sqrt(np.maximum(_squares(rows), 1e-300))
    total = 0.0
    for _ in range(ROUNDS):
        centres: Array = _native.sparse_product(*rows.by_feature, np.eye(k)[which], threads)
        centres /= np.maximum(np.linalg.norm(centres, axis=0), 1e-300)
        cosines = rows.product(centres, threads) / lengths[:, None]
        which = cosines.argmax(axis=1)
        total = float(cosines.max(axis=1).sum())
    return which, total


def _squares(rows: StarRows) -> Array:
    """Σ times² of each row."""
    times = None if rows.times is None else rows.times.astype(np.float64) ** 2
    owners = np.repeat(np.arange(rows.count), np.diff(rows.starts))
    return np.bincount(owners, times, rows.count).astype(np.float64)


def reseeded(star: Star, j: int, rows: StarRows, overall: Star, rng: np.random.Generator) -> Star:
    """Component j begins again half as a random row, half as the whole table."""
    row = int(rng.integers(rows.count))
    tables, means, variances = star.tables.copy(), star.means.copy(), star.variances.copy()
    tables[:, j] = overall.tables[:, 0]
    own = rows.features[rows.starts[row] : rows.starts[row + 1]]
    for first, end in rows.variables:
        mine = own[(own >= first) & (own < end)]
        if mine.size:
            tables[first:end, j] /= 2
            tables[mine, j] += 0.5 / mine.size
    there = ~np.isnan(rows.numbers[row])
    means[:, j] = np.where(there, np.nan_to_num(rows.numbers[row]), overall.means[:, 0])
    variances[:, j] = overall.variances[:, 0]
    k = len(star.weights)
    weights = star.weights * (1 - 1 / k)
    weights[j] += 1 / k
    return Star(weights / weights.sum(), tables, means, variances)
