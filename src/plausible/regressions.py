"""Linear regressions by their moments: what a linear Gaussian node counts, and how it is estimated from that."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from plausible.cpds import Array, LinearGaussian, row_name
from plausible.errors import DataError, PlausibleWarning
from plausible.schema import Variable
from plausible.wording import quantity

BLOCK = 1 << 20
"""Rows whose products are summed at once."""

DEPENDENT = 1e-12
"""A direction in which parents vary less than this share of the most is none: they depend on each other."""

LEFT = 1e-9
"""Of a sum of squares, what may be missing after rows were taken away; more can't be rounding."""


@dataclass(frozen=True, slots=True)
class LinearMoments:
    """What a continuous child and its continuous parents are in each combination of its categorical parents.

    They form a group: sums of rows that were counted apart are those of all rows, to rounding (Chan, Golub and
    LeVeque 1979), and rows can be taken away again.

    Parameters
    ----------
    n : array, shape (*states of the categorical parents)
    mean : array, shape (*states of the categorical parents, d)
        Of the d - 1 continuous parents in order, then of the child.
    squares : array, shape (*states of the categorical parents, d, d)
        Σ (x - mean)(x - mean)ᵀ.

    Examples
    --------
    >>> x, y = Variable("x", "continuous"), Variable("y", "continuous")
    >>> line = LinearMoments.of((), [], np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]]))
    >>> found = line.estimate(y, (x,))
    >>> found.intercept.item(), found.weights.tolist(), found.variance.item()
    (1.0, [2.0], 0.0)
    """

    n: Array
    mean: Array
    squares: Array

    @staticmethod
    def of(states: Sequence[int], codes: Sequence[npt.NDArray[np.signedinteger]], values: Array) -> LinearMoments:
        """Of rows, shape (rows, d), in the combinations that `codes` say: one array for each of `states`."""
        cells, d = prod(states), values.shape[1]
        total = LinearMoments(np.zeros(cells), np.zeros((cells, d)), np.zeros((cells, d, d)))
        for at in range(0, len(values), BLOCK):
            x = values[at : at + BLOCK]
            where = np.zeros(len(x), dtype=np.intp)
            for count, column in zip(states, codes, strict=True):
                where = where * count + column[at : at + BLOCK]
            total = total + _block(where, x, cells)
        return LinearMoments(
            total.n.reshape(states), total.mean.reshape(*states, d), total.squares.reshape(*states, d, d)
        )

    def __add__(self, other: LinearMoments) -> LinearMoments:
        return self._joined(other, 1)

    def __sub__(self, other: LinearMoments) -> LinearMoments:
        """Without these rows; DataError where they can't have been among those here."""
        left = self._joined(other, -1)
        own = np.einsum("...ii->...i", self.squares) + (self.n[..., None] * self.mean**2)
        if (left.n < 0).any() or (np.einsum("...ii->...i", left.squares) < -LEFT * own).any():
            raise DataError("what is to be forgotten was never learned: sums of squares would go below zero")
        return left

    def _joined(self, other: LinearMoments, sign: int) -> LinearMoments:
        n = self.n + sign * other.n
        some = np.where(n > 0, n, 1)
        delta = other.mean - self.mean
        mean = self.mean + sign * (other.n / some)[..., None] * delta
        spread = delta[..., :, None] * delta[..., None, :]
        squares = self.squares + sign * (other.squares + (self.n * other.n / some)[..., None, None] * spread)
        gone = n <= 0
        return LinearMoments(n, np.where(gone[..., None], 0, mean), np.where(gone[..., None, None], 0, squares))

    def together(self) -> LinearMoments:
        """The moments of all combinations as one."""
        d = self.mean.shape[-1]
        total = LinearMoments(np.zeros(()), np.zeros(d), np.zeros((d, d)))
        for row in np.ndindex(self.n.shape):
            total = total + LinearMoments(self.n[row], self.mean[row], self.squares[row])
        return total

    def estimate(self, child: Variable, parents: Sequence[Variable]) -> LinearGaussian:
        """Least squares in each combination of the categorical parents; the variance is the mean squared residual.

        A combination without a row takes the regression of all rows. Where parents depend on each other the weights
        are the shortest that fit. Both are said (PlausibleWarning).
        """
        d = self.mean.shape[-1]
        intercept, weights = np.empty(self.n.shape), np.empty((*self.n.shape, d - 1))
        variance = np.empty(self.n.shape)
        pooled: tuple[float, Array, float] | None = None
        discrete = [parent for parent in parents if parent.kind == "categorical"]
        for row in np.ndindex(self.n.shape):
            if self.n[row] > 0:
                line, rank = _least_squares(float(self.n[row]), self.mean[row], self.squares[row])
                if rank < d - 1:
                    few = quantity(float(self.n[row]), "row")
                    _say(child, discrete, row, f"rests on {few}, in which its continuous parents depend on each other; "
                         "the shortest weights that fit were taken")  # fmt: skip
            else:
                if pooled is None:
                    whole = self.together()
                    if whole.n == 0:
                        raise DataError(f"no row tells of {child.name!r}; learn from one at least")
                    pooled, _ = _least_squares(float(whole.n), whole.mean, whole.squares)
                line = pooled
                _say(child, discrete, row, "has no row; it takes the regression of all rows")
            intercept[row], weights[row], variance[row] = line
        return LinearGaussian(child, parents, intercept, weights, variance)


def _block(where: npt.NDArray[np.intp], x: Array, cells: int) -> LinearMoments:
    """Two passes: the means, then products of what is off them."""
    d = x.shape[1]
    n = np.bincount(where, minlength=cells).astype(np.float64)
    some = np.where(n > 0, n, 1)
    mean = np.stack([np.bincount(where, x[:, i], cells) / some for i in range(d)], axis=1)
    off = x - mean[where]
    squares = np.empty((cells, d, d))
    for i in range(d):
        for j in range(i + 1):
            squares[:, i, j] = squares[:, j, i] = np.bincount(where, off[:, i] * off[:, j], cells)
    return LinearMoments(n, mean, squares)


def _least_squares(n: float, mean: Array, squares: Array) -> tuple[tuple[float, Array, float], int]:
    """Intercept, weights and variance of the last variable given the others, and how many of these are independent."""
    above, across, own = squares[:-1, :-1], squares[:-1, -1], float(squares[-1, -1])
    scale = np.sqrt(np.where(np.diag(above) > 0, np.diag(above), 1))
    spread, axes = np.linalg.eigh(above / np.outer(scale, scale))
    kept = spread > DEPENDENT * max(len(scale), 1) * spread.max(initial=0)
    inverse = np.divide(1, spread, out=np.zeros_like(spread), where=kept)

    def solved(right: Array) -> Array:
        turned: Array = axes @ (inverse * (axes.T @ (right / scale))) / scale
        return turned

    weights = solved(across)
    weights = weights + solved(across - above @ weights)  # one step of refinement
    variance = max(own - 2 * float(weights @ across) + float(weights @ above @ weights), 0.0) / n
    return (float(mean[-1] - weights @ mean[:-1]), weights, variance), int(kept.sum())


def _say(child: Variable, discrete: Sequence[Variable], row: tuple[int, ...], what: str) -> None:
    where = row_name(child, discrete, np.array(row, dtype=np.intp))
    warnings.warn(f"{where} {what}", PlausibleWarning, stacklevel=5)
