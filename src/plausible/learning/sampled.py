"""The E step where exact inference is too wide: expected counts over completions that are drawn by Gibbs sampling.

Completions drawn under tables w₀ stand for those under nearby tables w when each weighs P(row, x | w) / P(row, x | w₀)
(Geyer and Thompson 1992; Levine and Casella 2001). While they stay the same, EM climbs one function, the estimate of
ln P(D | w) − ln P(D | w₀), so it never falls. Once weights have become uneven, completions are drawn anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.chance import generator
from plausible.cpds import Array
from plausible.errors import DataError
from plausible.infer.engine import Engine
from plausible.infer.rows import GAP

SWEEPS = 10
"""Rounds over all gaps before completions are taken, and between two draws."""

EVERY = slice(None)

UNEVEN = 0.5
"""Completions are drawn anew where they are worth less than this share of their number."""


class Sampled:
    """From parameters to expected counts and how far each row's log probability is from where drawing began.

    Parameters
    ----------
    tree : Engine
    rows : array of codes, shape (rows, variables)
    shares : array, shape (rows,)
        How often each row counts.
    samples : int
        Completions of each row.
    """

    def __init__(
        self, tree: Engine, rows: npt.NDArray[Any], shares: Array, values: Array, *, samples: int, seed: int
    ) -> None:
        tree.own_tables("counting")
        self._tree, self._samples = tree, samples
        self._rng = generator(seed, 0)
        self._states = [np.repeat(column, samples).astype(np.int32) for column in rows.T]
        self._hidden = [np.flatnonzero(column == GAP) for column in self._states]
        self._shares = shares
        self._families: list[list[tuple[int, int]]] = [[] for _ in tree.states]
        self._strides: list[list[tuple[int, int]]] = []
        self._starts = np.cumsum(tree.sizes) - tree.sizes
        for family, scope in enumerate(tree.scopes):
            stride, strides = 1, []
            for v in reversed(scope):
                strides.append((v, stride))
                self._families[v].append((family, stride))
                stride *= int(tree.states[v])
            self._strides.append(strides)
        self._gained = np.zeros(len(rows))
        self._start(values)
        self._draw(values)

    def __call__(self, values: Array) -> tuple[Array, Array]:
        """The expected counts, laid out as `tree.values`, and the gain of each row's log probability."""
        ratios = self._ratios(values)
        top = ratios.max(axis=1, keepdims=True)
        weights = np.exp(ratios - top)
        total = weights.sum(axis=1, keepdims=True)
        weights = (weights / total * self._shares[:, None]).ravel()
        counts = np.concatenate(
            [
                np.bincount(self._entries(family) - self._starts[family], weights, size)
                for family, size in enumerate(self._tree.sizes)
            ]
        )
        return counts, self._gained + (top + np.log(total / self._samples))[:, 0]

    def uneven(self, values: Array) -> bool:
        """Whether the completions no longer stand for these parameters."""
        ratios = self._ratios(values)
        weights = np.exp(ratios - ratios.max(axis=1, keepdims=True))
        worth = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
        return float(self._shares @ worth) < UNEVEN * self._samples * float(self._shares.sum())

    def redrawn(self, values: Array, counts: Array) -> Array | None:
        """The same parameters, if their completions were uneven and so drawn anew; gains are counted on from there."""
        if not self.uneven(values):
            return None
        self._gained = self(values)[1]
        self._draw(values)
        return values

    def _draw(self, values: Array) -> None:
        with np.errstate(divide="ignore"):
            logs = np.log(values)
        for _ in range(SWEEPS):
            for v, rows in enumerate(self._hidden):
                if len(rows):
                    self._states[v][rows] = self._redrawn(v, rows, logs)
        self._base = self._log_joint(logs)
        lost = np.isneginf(self._base)
        if lost.any():
            raise DataError(
                f"no completion that was drawn agrees with distinct row {int(lost.argmax()) // self._samples}; tables "
                "with zeros need exact inference (more memory), or a rule without zeros such as bdeu"
            )

    def _start(self, values: Array) -> None:
        """Each gap by its parents alone, parents first."""
        for v in self._tree.order:
            rows = self._hidden[v]
            if len(rows):
                steps = np.arange(int(self._tree.states[v]))
                self._states[v][rows] = self._chosen(values[self._entries(v, rows, v)[:, None] + steps])

    def _redrawn(self, v: int, rows: npt.NDArray[np.intp], logs: Array) -> npt.NDArray[np.intp]:
        """A state of v for each row, given all others: by the families that v is in."""
        steps = np.arange(int(self._tree.states[v]))
        said = np.zeros((len(rows), len(steps)))
        for family, stride in self._families[v]:
            said += logs[self._entries(family, rows, v)[:, None] + stride * steps]
        top = said.max(axis=1, keepdims=True)
        chosen = self._chosen(np.exp(said - np.where(np.isfinite(top), top, 0)))
        return np.where(np.isneginf(top[:, 0]), self._states[v][rows], chosen)

    def _chosen(self, chances: Array) -> npt.NDArray[np.intp]:
        below = chances.cumsum(axis=1)
        drawn = self._rng.random(len(chances)) * below[:, -1]
        chosen: npt.NDArray[np.intp] = (drawn[:, None] >= below[:, :-1]).sum(axis=1)
        return chosen

    def _entries(
        self, family: int, rows: npt.NDArray[np.intp] | slice = EVERY, without: int | None = None
    ) -> npt.NDArray[np.intp]:
        """Where each row's entry of a family lies, as if the variable `without` were in its first state."""
        at = np.full(len(self._states[0][rows]), self._starts[family])
        for v, stride in self._strides[family]:
            if v != without:
                at += self._states[v][rows] * stride
        return at

    def _ratios(self, values: Array) -> Array:
        with np.errstate(divide="ignore"):
            joint = self._log_joint(np.log(values))
        return (joint - self._base).reshape(-1, self._samples)

    def _log_joint(self, logs: Array) -> Array:
        """ln P(row, completion)."""
        total = np.zeros(len(self._states[0]))
        for family in range(len(self._strides)):
            total += logs[self._entries(family)]
        return total
