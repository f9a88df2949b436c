"""Stars with a hidden centre: naive Bayes whose class is never seen (Mitchell 1997, §6.9 and §6.12).

A row is sparse: the values it has, of however many variables, each a feature; what it lacks is not there and takes no
part. A variable's values are a run of features whose probabilities sum to one: the states of a column, or all the
words of a vocabulary, which may then be there more than once. Numbers come beside, Gaussian in each component, NaN
where missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plausible import _native
from plausible.errors import CallError
from plausible.learning.mixtures.moments import Array, Moments


@dataclass(frozen=True, slots=True)
class StarRows:
    """Rows as they are learned from.

    Parameters
    ----------
    starts : (rows + 1,) int64
        Row i has the features[starts[i]:starts[i + 1]].
    features : int32
    times : float64, or None
        How often each is there; once, if None.
    numbers : (rows, columns)
    variables : (first feature, end) of each variable, in order
    """

    starts: NDArray[np.int64]
    features: NDArray[np.int32]
    times: Array | None
    numbers: Array
    variables: tuple[tuple[int, int], ...]

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
        return StarRows(starts, self.features[entries], times, self.numbers[rows], self.variables)

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


@dataclass(frozen=True, slots=True)
class Star:
    """Weights (k,), probabilities of features (size, k), means and variances of numbers (columns, k)."""

    weights: Array
    tables: Array
    means: Array
    variances: Array

    def _arrays(self) -> tuple[Array, ...]:
        with np.errstate(divide="ignore"):
            logs, log_weights = np.log(self.tables), np.log(self.weights)
        scales = -0.5 * np.log(2 * math.pi * self.variances)
        return logs, log_weights, scales, self.means, 1 / self.variances


@dataclass(frozen=True, slots=True)
class StarPrior:
    """m rows' worth of each variable: of its features by equal shares, of its numbers by the whole data's variances."""

    m: float
    variables: tuple[tuple[int, int], ...]
    variances: Array

    def __post_init__(self) -> None:
        if not 0 < self.m < math.inf:
            raise CallError(f"the prior must be a number of rows above 0, not {self.m}")

    def estimate(self, counts: StarCounts) -> Star:
        """The M step: (n_c + m p) / (n + m), Mitchell 1997, eq. 6.22, and (S + m V) / (n + m)."""
        k, m = len(counts.rows), self.m
        tables = np.empty_like(counts.features)
        for first, end in self.variables:
            seen = counts.features[first:end]
            tables[first:end] = (seen + m / (end - first)) / (seen.sum(axis=0) + m)
        shape = (len(self.variances), k)
        n, squares = counts.numbers.n.reshape(shape), counts.numbers.squares.reshape(shape)
        variances = (squares + m * self.variances[:, None]) / (n + m)
        return Star(counts.rows / counts.rows.sum(), tables, counts.numbers.mean.reshape(shape), variances)

    def log_density(self, star: Star) -> float:
        """Σ m p ln θ − m/2 Σ (ln σ² + V / σ²); a constant is left out."""
        tables = sum(
            float(np.log(star.tables[first:end]).sum()) / (end - first) for first, end in self.variables if end > first
        )
        numbers = float((np.log(star.variances) + self.variances[:, None] / star.variances).sum())
        return self.m * (tables - numbers / 2)


def e_step(rows: StarRows, star: Star, threads: int) -> tuple[StarCounts, float]:
    """Expected counts, and ln P(D | h)."""
    logs, log_weights, scales, means, precisions = star._arrays()
    n, features, sums, log_likelihood = _native.star_step(
        rows.starts, rows.features, rows.times, logs, log_weights, rows.numbers, scales, means, precisions, threads
    )
    about = Moments.about(
        means.reshape(-1, 1), sums[:, 0].ravel(), sums[:, 1].reshape(-1, 1), sums[:, 2].reshape(-1, 1)
    )
    return StarCounts(n, features, about), log_likelihood


def posterior(rows: StarRows, star: Star, threads: int) -> tuple[Array, Array]:
    """P(component | row), shape (rows, k), and ln P(row)."""
    logs, log_weights, scales, means, precisions = star._arrays()
    shares, log_rows = _native.star_posterior(
        rows.starts, rows.features, rows.times, logs, log_weights, rows.numbers, scales, means, precisions, threads
    )
    return shares, log_rows


def count(rows: StarRows, which: NDArray[np.intp], k: int) -> StarCounts:
    """The counts when row i belongs to component which[i]."""
    owner = np.repeat(which, np.diff(rows.starts))
    features = np.bincount(rows.features.astype(np.intp) * k + owner, rows.times, rows.size * k).reshape(rows.size, k)
    there = ~np.isnan(rows.numbers)
    values = np.where(there, rows.numbers, 0)
    columns = rows.numbers.shape[1]
    n, mean, squares = (np.zeros((columns, k)) for _ in range(3))
    for d in range(columns):
        n[d] = np.bincount(which, there[:, d], k)
        mean[d] = np.bincount(which, values[:, d], k) / np.maximum(n[d], 1)
        squares[d] = np.bincount(which, there[:, d] * (values[:, d] - mean[d][which]) ** 2, k)
    moments = Moments(n.ravel(), mean.reshape(-1, 1), squares.reshape(-1, 1))
    return StarCounts(np.bincount(which, minlength=k).astype(np.float64), features.astype(np.float64), moments)
