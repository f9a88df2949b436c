"""The sufficient statistics of Gaussian components: rows, means, and sums of squared deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moments:
    """What k components have seen, as whole or expected rows.

    Parameters
    ----------
    n : (k,)
    mean : (k, d)
    squares : (k, d) or (k, d, d)
        Σ (x − mean)², or Σ (x − mean)(x − mean)ᵀ.

    Examples
    --------
    >>> one = Moments(np.array([2.0]), np.array([[1.0]]), np.array([[2.0]]))  # of 0 and 2
    >>> both = one + Moments(np.array([1.0]), np.array([[4.0]]), np.array([[0.0]]))  # and 4
    >>> both.n.item(), both.mean.item(), both.squares.item()
    (3.0, 2.0, 8.0)
    """

    n: Array
    mean: Array
    squares: Array

    @classmethod
    def about(cls, centre: Array, n: Array, shifts: Array, squares: Array) -> Moments:
        """From Σ r (x − centre) and the sum of its squares."""
        shift = shifts / np.where(n > 0, n, 1)[:, None]
        return cls(n, centre + shift, squares - _outer(n, shift, squares.ndim))

    def __add__(self, other: Moments) -> Moments:
        """Chan, Golub and LeVeque 1979: S = S_a + S_b + δ² n_a n_b / (n_a + n_b)."""
        n = self.n + other.n
        share = other.n / np.where(n > 0, n, 1)
        delta = other.mean - self.mean
        squares = self.squares + other.squares + _outer(self.n * share, delta, self.squares.ndim)
        return Moments(n, self.mean + share[:, None] * delta, squares)


def _outer(n: Array, delta: Array, axes: int) -> Array:
    outer: Array = delta**2 if axes == 2 else delta[:, :, None] * delta[:, None, :]
    return n.reshape(-1, *[1] * (axes - 1)) * outer
