"""Moments: exact sums of a continuous variable in each class, and the normal distributions made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.categories import wide
from plausible.counts import Arrays
from plausible.schema import Variable

Floats = npt.NDArray[np.float64]
Sums = tuple[Fraction, Fraction, Fraction]

MOST_LOST = 1e-3
"""Where taking a row away leaves less than this share of a sum of squares, it is worked out from the exact sums."""


class Moments:
    """The sums of w, w x and w x² of each class, without rounding.

    A sum is kept by binary exponent, 128 bits each, so it is the same in whatever order, chunks, threads or files the
    rows came, and rows can be taken away again. That is stronger than merging means and squared deviations (Chan et
    al. 1979), which is right to rounding only. Mean and variance are worked out of the sums in rational numbers when
    they are estimated; a floor of the variance lives there and never here.

    Examples
    --------
    >>> heights = Moments()
    >>> heights.count(np.array([1e16, 1.0, -1e16, np.nan]), np.zeros(4, np.int32))
    >>> heights.sums(0)
    (Fraction(3, 1), Fraction(1, 1), Fraction(200000000000000000000000000000001, 1))
    """

    def __init__(self) -> None:
        self._sums = _native.Moments()

    def count(self, cells: Any, labels: npt.ArrayLike, threads: int = 1, weights: Floats | None = None) -> None:
        self._sums.count(np.ascontiguousarray(cells, float), np.asarray(labels), weights)

    def merge(self, other: Moments, labels: Sequence[int]) -> None:
        self._sums.add(other._sums, list(labels), 1)

    def subtract(self, other: Moments, labels: Sequence[int], left: Sequence[float]) -> None:
        self._sums.add(other._sums, list(labels), -1)

    def uncovered(self, other: Moments, labels: Sequence[int], left: Sequence[float]) -> str:
        """A mean of values that can't have been among those here: what is left would have a negative variance."""
        for label in range(other._sums.classes):
            gone = other.sums(label)
            n, s, q = (mine - theirs for mine, theirs in zip(self.sums(labels[label]), gone, strict=True))
            if n < 0 or n * q < s * s or (not n and (s or q)):
                return f"{float(gone[1] / gone[0]):g}" if gone[0] else "a number"
        return ""

    def sums(self, label: int) -> Sums:
        """The sums of w, w x and w x² of a class."""
        w, x, squares = (_total(self._sums.pieces(label, power)) for power in range(3))
        return w, x, squares

    def export(self, order: Sequence[int]) -> Arrays:
        """Three sums a class: `exponents` (of two, plus 8192), `sizes` (bytes) and `digits` (two's complement).

        Classes after the last one with a value are left out.
        """
        at = {place: label for label, place in enumerate(order)}
        filled = 1 + max((place for place in at if self.sums(at[place])[0]), default=-1)
        exponents, sizes, digits = [], [], b""
        for place in range(filled):
            for total in self.sums(at[place]):
                mantissa, exponent = total.numerator, 1 - total.denominator.bit_length()
                trailing = (mantissa & -mantissa).bit_length() - 1 if mantissa else 0
                mantissa, exponent = mantissa >> trailing, exponent + trailing
                size = mantissa.bit_length() // 8 + 1
                exponents.append(exponent + 8192)
                sizes.append(size)
                digits += mantissa.to_bytes(size, "little", signed=True)
        return {
            "exponents": ("u2", np.array(exponents, "<u2").tobytes()),
            "sizes": ("u2", np.array(sizes, "<u2").tobytes()),
            "digits": ("u1", digits),
        }

    def load(self, classes: Sequence[float], *, exponents: Any, sizes: Any, digits: Any) -> None:
        """Take in what `export` gave."""
        powers, lengths, data = wide(exponents).tolist(), wide(sizes).tolist(), digits[1]
        if (
            len(powers) > 3 * len(classes)
            or len(powers) % 3
            or len(powers) != len(lengths)
            or sum(lengths) != len(data)
        ):
            raise ValueError("the arrays of a column differ in length")
        at = 0
        for i, (exponent, size) in enumerate(zip(powers, lengths, strict=True)):
            mantissa = int.from_bytes(data[at : at + size], "little", signed=True)
            at += size
            for shift, piece in enumerate(_pieces(mantissa)):
                self._sums.deposit(i // 3, i % 3, piece, exponent - 8192 + 62 * shift)
        for label, rows in enumerate(classes):
            n, s, q = self.sums(label)
            if not 0 <= n <= rows or n * q < s * s or (not n and (s or q)):
                raise ValueError("the sums of a column contradict each other")

    def estimate(self, floor: float, classes: int, *, student: bool = False) -> Normal:
        """The distribution of each class, none with a variance below `floor` times that of all rows."""
        sums = [self.sums(label) for label in range(classes)]
        everything: Sums = (
            sum(a for a, _, _ in sums) + Fraction(0),
            sum(b for _, b, _ in sums) + Fraction(0),
            sum(c for _, _, c in sums) + Fraction(0),
        )
        return Normal(sums, everything, Spread.of(sums), Spread.of([everything]), floor, student)


def _total(pieces: list[tuple[int, int, int]]) -> Fraction:
    if not pieces:
        return Fraction(0)
    least = min(exponent for exponent, _, _ in pieces)
    mantissa = sum(((high << 64) + low) << (exponent - least) for exponent, high, low in pieces)
    return Fraction(mantissa << least) if least >= 0 else Fraction(mantissa, 1 << -least)


def _pieces(mantissa: int) -> list[int]:
    """A whole number in pieces of 62 bits, the lowest first, all of its sign."""
    sign, left, out = (-1 if mantissa < 0 else 1), abs(mantissa), []
    while left:
        out.append(sign * (left & ((1 << 62) - 1)))
        left >>= 62
    return out


@dataclass(frozen=True)
class Spread:
    """Weight, mean and sum of squared deviations of each class; the exact mean is mean + rest."""

    n: Floats
    mean: Floats
    rest: Floats
    squares: Floats

    @classmethod
    def of(cls, sums: Sequence[Sums]) -> Spread:
        rows = []
        for n, s, q in sums:
            mean = s / n if n else Fraction(0)
            rows.append((float(n), float(mean), float(mean - Fraction(float(mean))), float(q - s * mean)))
        return cls(*np.array(rows, float).reshape(-1, 4).T.copy())

    def less(self, x: Floats, label: npt.NDArray[np.intp], w: Floats, sums: Sequence[Sums]) -> Spread:
        """What is left of each row's class without the row; `rest` is about the mean that was."""
        n, mean, rest, squares = self.n[label], self.mean[label], self.rest[label], self.squares[label]
        off = (x - mean) - rest
        with np.errstate(divide="ignore", invalid="ignore"):
            left = Spread(n - w, mean, rest - w * off / (n - w), squares - w * off * off * n / (n - w))
        for i in np.flatnonzero((left.n > 0) & (left.squares < MOST_LOST * squares)):
            value, weight = Fraction(x[i]), Fraction(w[i])
            n_, s_, q_ = sums[label[i]]
            n_, s_, q_ = n_ - weight, s_ - weight * value, q_ - weight * value * value
            left.rest[i] = s_ / n_ - Fraction(mean[i])
            left.squares[i] = q_ - s_ * s_ / n_
        return left


@dataclass(frozen=True)
class Density:
    """The density of each class: ln p(x) = start - power ln(1 + (x - mean)^2 / scale).

    Where power is infinite, start - (x - mean)^2 / scale. The exact mean is mean + rest.
    """

    mean: Floats
    rest: Floats
    start: Floats
    scale: Floats
    power: Floats

    def of(self, x: Floats) -> Floats:
        """ln p of each x, shape (rows, 1), under each class."""
        far = ((x - self.mean) - self.rest) ** 2 / self.scale
        with np.errstate(invalid="ignore"):
            return self.start - np.where(np.isinf(self.power), far, self.power * np.log1p(far))


@dataclass(frozen=True)
class Normal:
    """A normal distribution for each class, with the class's own mean and (maximum likelihood) variance.

    A class without a value takes the mean and variance of all rows. A variable that is constant over all rows says
    nothing.

    With `student` a new value is predicted with what is not known of mean and variance: by Student's t distribution
    with as many degrees of freedom as the class has values, n, and scale (1 + 1/n) (variance + within/n), where
    `within` is the variance within all classes together, believed beforehand as firmly as one value would have it
    (the conjugate rule of Gelman et al. 2013, Bayesian Data Analysis, section 3.3, with a flat prior of the mean).
    """

    sums: list[Sums]
    everything: Sums
    by_class: Spread
    whole: Spread
    floor: float
    student: bool = False

    @property
    def classes(self) -> int:
        return len(self.sums)

    def seen(self, cells: Any) -> Floats:
        """The values of each class."""
        return self.by_class.n

    def described(self, variable: Variable) -> Variable:
        return variable

    @cached_property
    def density(self) -> Density:
        """The density of each class."""
        return self._density(self.by_class, self.whole)

    def parameters(self) -> tuple[Floats, Floats]:
        """Mean and maximum likelihood variance of each class."""
        _, mean, _, variance = self._filled(self.by_class, self.whole)
        return mean, variance

    def _filled(self, by_class: Spread, whole: Spread) -> tuple[Floats, Floats, Floats, Floats]:
        """Weight, mean, what rounding left of it, and variance of each class."""
        empty = by_class.n <= 0
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(empty, whole.squares / whole.n, by_class.squares / by_class.n)
            return (
                np.where(empty, whole.n, by_class.n),
                np.where(empty, whole.mean, by_class.mean),
                np.where(empty, whole.rest, by_class.rest),
                np.maximum(variance, self.floor * (whole.squares / whole.n)),
            )

    def _density(self, by_class: Spread, whole: Spread) -> Density:
        n, mean, rest, variance = self._filled(by_class, whole)
        with np.errstate(divide="ignore", invalid="ignore"):
            if not self.student:
                return Density(mean, rest, -0.5 * np.log(2 * np.pi * variance), 2 * variance, np.full_like(n, np.inf))
            own = np.where(by_class.n > 0, by_class.squares, 0.0)
            within = own.sum(-1, keepdims=True) / by_class.n.sum(-1, keepdims=True)
            scale = (1 + 1 / n) * (variance + within / n) * n
            return Density(mean, rest, _log_gamma_step(n / 2) - 0.5 * np.log(np.pi * scale), scale, (n + 1) / 2)

    def part(self, cells: Any) -> tuple[Floats, ...]:
        """Values, and the density of each class, for `_native.add_columns`."""
        values = np.ascontiguousarray(cells, float)
        if not self.whole.squares[0] > 0:
            return values, *[np.empty(0)] * 5
        of = self.density
        return values, of.mean, of.rest, of.start, of.scale, of.power

    def add_without(
        self, scores: Floats, cells: Any, own: npt.NDArray[np.int32], weights: Floats
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Add ln p(cell | class) to scores from the sums less the row's own, whose class is `own`.

        Returns
        -------
        present, known : array of bool, shape (rows,)
            Where there was a cell, and where it told.
        """
        x = np.asarray(cells, float)
        present = ~np.isnan(x)
        at = np.flatnonzero(present)
        value, label, w = x[at], own[at].astype(np.intp), weights[at]
        whole = self.whole.less(value, np.zeros(len(at), np.intp), w, [self.everything])
        mine = self.by_class.less(value, label, w, self.sums)
        tells = (whole.n > 0) & (whole.squares > 0)
        rows = np.arange(len(at))
        each = [
            np.tile(array, (len(at), 1))
            for array in (self.by_class.n, self.by_class.mean, self.by_class.rest, self.by_class.squares)
        ]
        for array, left in zip(each, (mine.n, mine.mean, mine.rest, mine.squares), strict=True):
            array[rows, label] = left
        others = Spread(whole.n[:, None], whole.mean[:, None], whole.rest[:, None], whole.squares[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            density = self._density(Spread(*each), others).of(value[:, None])
        scores[at[tells]] += density[tells]
        known = present.copy()
        known[at[~tells]] = False
        return present, known


def _log_gamma_step(x: Floats) -> Floats:
    """ln of gamma(x + 1/2) / gamma(x), for x above 0.

    >>> _log_gamma_step(np.array([0.5, 1e12])).round(12).tolist()
    [-0.572364942925, 13.815510557964]
    """
    shift = 16
    steps = sum((np.log(x + j) - np.log(x + j + 0.5) for j in range(shift)), np.zeros_like(x))
    far = x + shift  # where the asymptotic series is right to 3e-14
    series = 1 / (8 * far) - 1 / (192 * far**3) + 1 / (640 * far**5) - 17 / (14336 * far**7)
    return np.asarray(steps + 0.5 * np.log(far) - series)
