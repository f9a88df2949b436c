"""How much the evidence of a row counts, where columns say the same thing twice.

ln P(row | i) - ln P(row | j) is a sum over columns, as if these were independent inside each component. Where they lean
on one another there, the sum varies more than its parts say, and shares of rows come out near 0 or 1. Its power is the
variance that the sum would have over the one that it has: the magnitude adjustment of composite likelihoods (Pauli,
Racugno and Ventura 2011; Ribatet, Cooley and Davison 2012). It needs no label and has no number to choose.
"""

from __future__ import annotations

import math

import numpy as np

from plausible.learning.mixtures.moments import Array
from plausible.learning.mixtures.stars import Star, StarRows

FEWEST, MOST, WORK = 100, 5000, 2e8
"""Rows that are looked at, and about how many numbers in all."""


def power_of_evidence(rows: StarRows, star: Star, shares: Array) -> float:
    """The power, above 0 and at most 1; shares has shape (rows, k), and every variable at most one value a row."""
    k = shares.shape[1]
    columns = len(rows.variables) + rows.numbers.shape[1]
    looked_at = int(min(max(WORK / (columns * k * k), FEWEST), MOST, rows.count))
    some = np.linspace(0, rows.count - 1, looked_at).astype(np.intp)
    evidence, shares = _evidence(rows.take(some), star), shares[some]
    sizes = shares.sum(axis=0)
    apart = together = 0.0
    for i in np.flatnonzero(sizes > 0):
        within = shares[:, i] / sizes[i]
        for j in np.flatnonzero(sizes > 0):
            if i == j:
                continue
            odds = evidence[i] - evidence[j]
            odds -= within @ odds
            apart += sizes[i] * sizes[j] * float((within @ odds**2).sum())
            together += sizes[i] * sizes[j] * float(within @ odds.sum(axis=1) ** 2)
    return min(1.0, float(apart / together)) if together > 0 else 1.0


def _evidence(rows: StarRows, star: Star) -> Array:
    """ln P(value | component) of each cell, 0 where it is missing; shape (k, rows, columns)."""
    ends = np.array([end for _, end in rows.variables])
    feature = np.full((rows.count, len(ends)), rows.size)
    row = np.repeat(np.arange(rows.count), np.diff(rows.starts))
    feature[row, np.searchsorted(ends, rows.features, side="right")] = rows.features
    logs = np.vstack([star.log_tables, np.zeros(len(star.weights))])
    apart = (rows.numbers[:, :, None] - star.means) ** 2 / star.variances
    densities = -0.5 * (np.log(2 * math.pi * star.variances) + apart)
    numbers = np.where(np.isnan(rows.numbers)[:, :, None], 0.0, densities)
    return np.ascontiguousarray(np.concatenate([logs[feature], numbers], axis=1).transpose(2, 0, 1))
