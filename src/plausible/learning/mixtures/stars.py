"""Stars with a hidden centre: naive Bayes whose class is never seen (Mitchell 1997, §6.9 and §6.12).

A row is sparse: the values it has, of however many variables, each a feature; what it lacks is not there and takes no
part. A variable's values are a run of features whose probabilities sum to one: the states of a column, or all the
words of a vocabulary, which may then be there more than once. Numbers come beside, Gaussian in each component, NaN
where missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible import _native
from plausible.errors import CallError
from plausible.learning.mixtures.moments import Array, Moments

Times = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StarRows:
    """Rows as they are learned from.

    Parameters
    ----------
    starts : (rows + 1,) int64
        Row i has the features[starts[i]:starts[i + 1]].
    features : int32
    times : float32, or None
        How often each is there; once, if None.
    numbers : (rows, columns)
    variables : (first feature, end) of each variable, in order
    by_feature : starts, rows and times of each feature, or None
        Where there are very many features, each is summed by itself.
    """

    starts: NDArray[np.int64]
    features: NDArray[np.int32]
    times: Times | None
    numbers: Array
    variables: tuple[tuple[int, int], ...]
    by_feature: tuple[NDArray[np.int64], NDArray[np.int32], Times] | None = None

    @property
    def count(self) -> int:
        return len(self.numbers)

    @property
    def size(self) -> int:
        """Features in all."""
        return self.variables[-1][1] if self.variables else 0

    def take(self, rows: NDArray[np.intp]) -> StarRows:
        sizes = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        entries = np.repeat(self.starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])
        times = None if self.times is None else self.times[entries]
        taken = StarRows(starts, self.features[entries], times, self.numbers[rows], self.variables)
        return taken if self.by_feature is None else taken.turned()

    def turned(self) -> StarRows:
        """The same, with the rows of each feature beside."""
        by_feature = _native.sparse_transpose(self.starts, self.features, self.times, self.size)
        return replace(self, by_feature=by_feature)

    def product(self, matrix: Array, threads: int) -> Array:
        """Rows, as vectors of times, by a matrix of one row a feature; shape (rows, columns of the matrix)."""
        product: Array = _native.sparse_product(self.starts, self.features, self.times, matrix, threads)
        return product

    def dots(self, row: int, threads: int) -> Array:
        """The products of all rows with one of them."""
        mine = slice(self.starts[row], self.starts[row + 1])
        features, times = self.features[mine], 1 if self.times is None else self.times[mine]
        if self.by_feature is None:
            own = np.zeros((self.size, 1))
            own[features, 0] = times
            return self.product(own, threads)[:, 0]
        starts, holders, held = self.by_feature
        sizes = np.diff(starts)[features]
        entries = np.repeat(starts[features] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        products = held[entries].astype(np.float64) * np.repeat(times, sizes)
        return np.bincount(holders[entries], products, self.count).astype(np.float64)

    def totals(self) -> tuple[Array, Moments]:
        """How often each feature is there, and the moments of each column of numbers."""
        seen = np.bincount(self.features, self.times, self.size).astype(np.float64)
        there = ~np.isnan(self.numbers)
        n = there.sum(axis=0).astype(np.float64)
        mean = np.where(there, self.numbers, 0).sum(axis=0) / np.maximum(n, 1)
        squares = (np.where(there, self.numbers - mean, 0) ** 2).sum(axis=0)
        return seen, Moments(n, mean[:, None], squares[:, None])


@dataclass(frozen=True, slots=True)
class StarCounts:
    """Expected counts: rows (k,), features (size, k), and the moments of (column, component) pairs, row by row."""

    rows: Array
    features: Array
    numbers: Moments

    def __add__(self, other: StarCounts) -> StarCounts:
        return StarCounts(self.rows + other.rows, self.features + other.features, self.numbers + other.numbers)


@dataclass(frozen=True)
class Star:
    """Weights (k,), probabilities of features (size, k), means and variances of numbers (columns, k).

    With a power below 1 the evidence of a row counts for less where components share it out.
    """

    weights: Array
    tables: Array
    means: Array
    variances: Array
    power: float = 1.0

    @cached_property
    def log_tables(self) -> Array:
        with np.errstate(divide="ignore"):
            logs: Array = np.log(self.tables)
        return logs

    def _arrays(self) -> tuple[Array, ...]:
        """What the core takes: ln P of features and components, and of Gaussians the scale, mean and precision."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        scales = -0.5 * np.log(2 * math.pi * self.variances)
        return self.power * self.log_tables, log_weights, self.power * scales, self.means, self.power / self.variances


class WordsPrior(NamedTuple):
    """Of the last variable: m in units of its times, and the share p of each of its features."""

    m: float
    shares: Array


@dataclass(frozen=True, slots=True)
class StarPrior:
    """m rows' worth of each variable: of its features by equal shares, of its numbers by the whole data's variances.

    Words have a prior of their own, by their shares in the whole collection.
    """

    m: float
    variables: tuple[tuple[int, int], ...]
    variances: Array
    words: WordsPrior | None = None

    def __post_init__(self) -> None:
        if not 0 < self.m < math.inf:
            raise CallError(f"the prior must be a number of rows above 0, not {self.m}")

    def each(self) -> Iterator[tuple[slice, float, Array]]:
        """Of each variable its features, m, and p of each feature."""
        for first, end in self.variables:
            if self.words and end == self.variables[-1][1]:
                yield slice(first, end), self.words.m, self.words.shares
            else:
                yield slice(first, end), self.m, np.full(end - first, 1 / max(end - first, 1))

    def estimate(self, counts: StarCounts) -> Star:
        """The M step: (n_c + m p) / (n + m), Mitchell 1997, eq. 6.22, and (S + m V) / (n + m)."""
        k, m = len(counts.rows), self.m
        tables = np.empty_like(counts.features)
        for part, m_v, p in self.each():
            seen = counts.features[part]
            np.add(seen, (m_v * p)[:, None], out=tables[part])
            tables[part] /= seen.sum(axis=0) + m_v
        shape = (len(self.variances), k)
        n, squares = counts.numbers.n.reshape(shape), counts.numbers.squares.reshape(shape)
        variances = (squares + m * self.variances[:, None]) / (n + m)
        return Star(counts.rows / counts.rows.sum(), tables, counts.numbers.mean.reshape(shape), variances)

    def log_density(self, star: Star) -> float:
        """Σ m p ln θ − m/2 Σ (ln σ² + V / σ²); a constant is left out."""
        tables = sum(m_v * float((p @ star.log_tables[part]).sum()) for part, m_v, p in self.each())
        numbers = float((np.log(star.variances) + self.variances[:, None] / star.variances).sum())
        return tables - self.m * numbers / 2


def e_step(rows: StarRows, star: Star, threads: int) -> tuple[StarCounts, float]:
    """Expected counts, and ln P(D | h), in which P(row | component) is raised to the star's power."""
    logs, log_weights, scales, means, precisions = star._arrays()
    starts, features, times, numbers = rows.starts, rows.features, rows.times, rows.numbers
    if rows.by_feature is None:
        n, seen, sums, log_likelihood = _native.star_step(
            starts, features, times, logs, log_weights, numbers, scales, means, precisions, threads
        )
    else:
        by_feature, holders, held = rows.by_feature
        n, seen, sums, log_likelihood = _native.feature_step(
            starts, features, times, by_feature, holders, held,
            logs, log_weights, numbers, scales, means, precisions, threads,
        )  # fmt: skip
    about = Moments.about(
        means.reshape(-1, 1), sums[:, 0].ravel(), sums[:, 1].reshape(-1, 1), sums[:, 2].reshape(-1, 1)
    )
    return StarCounts(n, seen, about), log_likelihood


def posterior(rows: StarRows, star: Star, threads: int) -> tuple[Array, Array]:
    """P(component | row), shape (rows, k), under the star's power, and ln P(row), without it."""
    logs, log_weights, scales, means, precisions = star._arrays()
    shares, log_rows = _native.star_posterior(
        rows.starts, rows.features, rows.times, logs, log_weights, rows.numbers, scales, means, precisions, threads
    )
    if star.power != 1:
        log_rows = posterior(rows, replace(star, power=1.0), threads)[1]
    return shares, log_rows


def count(rows: StarRows, which: NDArray[np.intp], k: int) -> StarCounts:
    """The counts when row i belongs to component which[i]."""
    return expected(rows, np.eye(k)[which], 1)


def expected(rows: StarRows, shares: Array, threads: int) -> StarCounts:
    """The counts when component j has shares[i, j] of row i."""
    turned = rows if rows.by_feature is not None else rows.turned()
    assert turned.by_feature is not None
    features: Array = _native.sparse_product(*turned.by_feature, shares, threads)
    there = ~np.isnan(rows.numbers)
    values = np.where(there, rows.numbers, 0)
    n = there.T.astype(np.float64) @ shares
    mean = values.T @ shares / np.where(n > 0, n, 1)
    squares = np.array(
        [
            (shares * np.where(there[:, d : d + 1], values[:, d : d + 1] - mean[d], 0) ** 2).sum(axis=0)
            for d in range(len(mean))
        ]
    ).reshape(mean.shape)
    moments = Moments(n.ravel(), mean.reshape(-1, 1), squares.reshape(-1, 1))
    return StarCounts(shares.sum(axis=0), features, moments)
