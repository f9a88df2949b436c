"""The tables of a network as one flat array, for what changes all of them at once: M steps and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plausible.cpds import Array


@dataclass(frozen=True, slots=True)
class Simplices:
    """Which entries make up one distribution, which share a parameter, which are free, and their prior.

    Parameters
    ----------
    starts : array, shape (distributions,)
        Where each distribution begins: one for each table and combination of its parents' states.
    row : array, shape (entries,)
        The distribution that an entry belongs to.
    leader : array, shape (entries,)
        The entry whose parameter it shares: its own place, where nothing is tied.
    free : array of bool, shape (entries,)
    fixed : array, shape (entries,)
        What the entries are that are not free.
    pseudo : array, shape (entries,)
        Imaginary counts, at leaders only.
    """

    starts: npt.NDArray[np.intp]
    row: npt.NDArray[np.intp]
    leader: npt.NDArray[np.intp]
    free: npt.NDArray[np.bool_]
    fixed: Array
    pseudo: Array

    @staticmethod
    def of(
        tables: Sequence[Array],
        pseudo: Sequence[Array],
        fixed: frozenset[int] = frozenset(),
        tied: Sequence[Sequence[int]] = (),
    ) -> Simplices:
        """Of tables one after the other; fixed and tied ones by their place."""
        sizes = np.array([table.size for table in tables])
        begins = np.cumsum(sizes) - sizes
        widths = np.repeat([table.shape[-1] for table in tables], [table.size // table.shape[-1] for table in tables])
        leader = np.arange(sizes.sum())
        added = np.concatenate([np.zeros(0), *(table.ravel() for table in pseudo)])
        for first, *others in tied:
            for other in others:
                place = slice(begins[other], begins[other] + sizes[other])
                leader[place] = np.arange(begins[first], begins[first] + sizes[first])
                added[place] = 0
        free = np.repeat([i not in fixed for i in range(len(tables))], sizes)
        return Simplices(
            np.cumsum(widths) - widths,
            np.repeat(np.arange(len(widths)), widths),
            leader,
            free,
            np.concatenate([np.zeros(0), *(table.ravel() for table in tables)]),
            np.where(free, added, 0),
        )

    def sums(self, entries: Array) -> Array:
        """The sum of an entry's distribution, at each entry."""
        total: Array = np.add.reduceat(entries, self.starts)[self.row]
        return total

    def evidence(self, counts: Array) -> Array:
        """Counts and imaginary counts behind each entry, those of tied entries together."""
        total = counts + self.pseudo
        together = np.bincount(self.leader, total, len(total))[self.leader]
        return together.astype(np.float64, copy=False)

    def estimate(self, counts: Array) -> Array:
        """The M step: (n_ijk + a_ijk) / Σ_k (n_ijk + a_ijk); equal chances where nothing was seen."""
        seen = self.evidence(counts)
        total = self.sums(seen)
        even = 1 / self.sums(np.ones(len(seen)))
        return np.where(self.free, np.divide(seen, total, out=even, where=total > 0), self.fixed)

    def log_prior(self, values: Array) -> float:
        """Σ a_ijk ln w_ijk: the log of the prior, but for a constant."""
        some = self.pseudo > 0
        with np.errstate(divide="ignore"):
            return float(self.pseudo[some] @ np.log(values[some]))

    def settled(self, values: Array) -> Array:
        """Scaled so that each distribution sums to 1, and what is fixed put back."""
        total = self.sums(values)
        return np.divide(values, total, out=self.fixed.copy(), where=self.free & (total > 0))

    def random(self, rng: np.random.Generator) -> Array:
        """Each distribution drawn evenly from all there are, tied ones alike."""
        return self.settled(rng.standard_exponential(len(self.row))[self.leader])
