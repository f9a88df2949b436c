"""Tests of independence: of the first and the last variable of each family, those between given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.counting import Counter, Families, Mixed, count_families, state_numbers
from plausible.errors import CallError, DataError, unknown

Test = Literal["g2", "chi2", "fisher-z"]
Chances = npt.NDArray[np.float64]
Tester = Callable[[Families], Chances]
"""From families of one width to the p-value of each."""

MOST_CELLS = 1 << 22


def judge_of(counter: Counter, test: Test | None) -> Tester:
    """The test of that name on a counter; without a name G², or Fisher's z where the variables are continuous."""
    if test not in (None, *get_args(Test)):
        raise CallError(unknown("test", str(test), get_args(Test)))
    if not isinstance(counter, Mixed) or not counter.numbers:
        if test == "fisher-z":
            raise CallError("fisher-z tests continuous variables, and there are none; use g2 or chi2")
        return _Tables(counter, test or "g2").chances
    number = next(iter(counter.numbers))
    if counter.cases.variables:
        category = counter.cases.variables[0].name
        raise CallError(
            f"no test takes both categories ({category!r}) and numbers ({number!r}); cut the numbers into intervals "
            "(cut=5, or --cut 5), or use hill_climb"
        )
    if test not in (None, "fisher-z"):
        raise CallError(
            f"{test} tests categories, and column {number!r} holds numbers; use fisher-z, or cut them into intervals "
            "(cut=5, or --cut 5)"
        )
    return _Lines(counter).chances


class _Tables:
    def __init__(self, counter: Counter, test: Test) -> None:
        self.counter = counter
        self.states = state_numbers(counter.variables)
        self.test = test

    def chances(self, families: Families) -> Chances:
        order = np.lexsort(families.T[1:])
        families = families[order]
        sizes = np.prod(self.states.astype(float)[families], axis=1)
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // MOST_CELLS)) + 1
        chances = np.empty(len(families))
        chances[order] = np.concatenate([self.batch(piece) for piece in np.split(families, cuts)])
        return chances

    def batch(self, families: Families) -> Chances:
        tables = count_families(self.counter, families)
        firsts = self.states[families[:, 0]]
        g2, x2, freedom = _native.dependences(tables.cells, tables.starts, firsts, tables.states)
        return _native.chi2_tails(g2 if self.test == "g2" else x2, freedom)


class _Lines:
    """Fisher's z of the partial correlation: Anderson 2003, section 4.3.3; Spirtes et al. 2000, section 5.5."""

    def __init__(self, counter: Mixed) -> None:
        squares = counter.moments(list(counter.numbers)).squares
        spread = np.sqrt(np.diag(squares))
        for name, own in zip(counter.numbers, spread, strict=True):
            if not own > 0:
                raise DataError(f"column {name!r} is the same number in every row; leave it out (--drop)")
        self.rows = counter.rows
        self.correlations = squares / np.outer(spread, spread)

    def chances(self, families: Families) -> Chances:
        from scipy.special import erfc

        left = self.rows - (families.shape[1] - 2) - 3
        if left <= 0:
            return np.ones(len(families))
        own = self.correlations[families[:, :, None], families[:, None, :]]
        inverse = np.linalg.inv(own + 1e-12 * np.eye(families.shape[1]))
        scale = np.sqrt(inverse[:, 0, 0] * inverse[:, -1, -1])
        partial = np.clip(-inverse[:, 0, -1] / scale, -1 + 1e-15, 1 - 1e-15)
        chances: Chances = erfc(np.sqrt(left / 2) * np.abs(np.arctanh(partial)))
        return chances
