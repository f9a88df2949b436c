"""Categories: how often each class has each state of a variable, and the table of probabilities made of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.counts import Arrays, Coded
from plausible.errors import DataError
from plausible.priors import Smoothing
from plausible.schema import Variable
from plausible.sources import cell_text
from plausible.wording import quantity

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

MOST_CELLS = 1 << 27
"""Cells of the largest table that is built (1 GB)."""


class Categories:
    """Counts by state and class; states may appear at any time.

    Cells are float64, in which whole numbers, and weights that are multiples of 2^-30, add up exactly; a missing
    value takes no part.

    Parameters
    ----------
    states : sequence of str
        States that are known before any is seen; they have a probability even if none is.

    Examples
    --------
    >>> sizes = Categories()
    >>> sizes.count(["small", "large", None, "small"], np.array([0, 0, 1, 1], np.int32))
    >>> sizes.states, sizes.cells().tolist()
    (['small', 'large'], [[1.0, 1.0], [1.0, 0.0]])
    """

    def __init__(self, states: Sequence[str] = ()) -> None:
        self.index = {state: i for i, state in enumerate(states)}
        self.declared = len(self.index)
        self.classes = 0
        self._held: Floats = np.zeros((len(self.index), 1))

    @property
    def states(self) -> list[str]:
        return list(self.index)

    def cells(self, classes: int = 0) -> Floats:
        """The counts, shape (states, classes)."""
        return self._room(max(classes, self.classes))[: len(self.index), : max(classes, self.classes)]

    def codes(self, values: Any, *, grow: bool = False) -> Codes:
        """Of each value its state; -1 where it is missing, -2 where it is unknown."""
        if not isinstance(values, Coded):
            values = values.tolist() if isinstance(values, np.ndarray) else values
            return np.asarray(_native.codes(values, self.index, cell_text, grow))
        own = np.asarray(_native.codes(values.states, self.index, cell_text, grow))
        return np.append(own, np.int32(-1))[values.codes]

    def seen(self) -> npt.NDArray[np.intp]:
        """The positions of the states that have a count, in the order of their names."""
        names = self.states
        return np.array(sorted(np.flatnonzero(self.cells().any(axis=1)), key=names.__getitem__), np.intp)

    def count(self, cells: Any, labels: npt.ArrayLike, threads: int = 1, weights: Floats | None = None) -> None:
        labels = np.asarray(labels)
        places = self.codes(cells.states, grow=True) if isinstance(cells, Coded) else None
        codes = cells.codes if isinstance(cells, Coded) else self.codes(cells, grow=True)
        if len(labels):
            self.classes = max(self.classes, int(labels.max()) + 1)
        _native.count_codes(self._room(self.classes), codes, labels, weights, places)

    def merge(self, other: Categories, labels: Sequence[int]) -> None:
        self._add(other, labels, 1)

    def subtract(self, other: Categories, labels: Sequence[int], left: Sequence[float]) -> None:
        self._add(other, labels, -1)

    def uncovered(self, other: Categories, labels: Sequence[int], left: Sequence[float]) -> str:
        cells = self.cells()
        for (state, label), count in np.ndenumerate(other.cells()):
            if count:
                here = self.index.get(other.states[state], -1)
                if here < 0 or labels[label] >= self.classes or cells[here, labels[label]] < count:
                    return other.states[state]
        return ""

    def _add(self, other: Categories, labels: Sequence[int], sign: int) -> None:
        states = self.codes(other.states, grow=True)
        self.classes = max([self.classes, *(label + 1 for label in labels)])
        held = self._room(self.classes)
        np.add.at(held, np.ix_(states, np.asarray(labels[: other.classes], int)), sign * other.cells())

    def _room(self, classes: int) -> Floats:
        """The array that holds the counts, with room to grow in both directions."""
        states, held = len(self.index), self._held
        if states > held.shape[0] or classes > held.shape[1]:
            shape = tuple(
                have if need <= have else max(need, 2 * have)
                for need, have in zip((states, classes), held.shape, strict=True)
            )
            if shape[0] * shape[1] > MOST_CELLS:
                raise DataError(
                    f"a column has {quantity(states, 'different value')} in {quantity(classes, 'class')}, more than "
                    "can be counted as categories; ignore it, or take it as text or numbers (--ignore NAME, "
                    "--as NAME=text)"
                )
            self._held = np.zeros(shape)
            self._held[: held.shape[0], : held.shape[1]] = held
        return self._held

    def export(self, order: Sequence[int]) -> Arrays:
        """`states` sorted, as JSON; for each its number of classes; for each of those the class and the count."""
        cells = self.cells(len(order))
        names = np.array(self.states, dtype=object)
        kept = self.seen()
        by_class = np.zeros((len(kept), len(order)))
        by_class[:, np.asarray(order, int)] = cells[kept]
        states, labels = np.nonzero(by_class)
        return {
            "states": json.dumps(names[kept].tolist(), ensure_ascii=False).encode(),
            "sizes": narrow(np.bincount(states, minlength=len(kept))),
            "labels": narrow(labels),
            "counts": narrow(by_class[states, labels]),
        }

    def load(self, classes: Sequence[float], *, states: bytes, sizes: Any, labels: Any, counts: Any) -> None:
        """Take in what `export` gave."""
        names = json.loads(states)
        sizes, labels, values = (wide(array) for array in (sizes, labels, counts))
        if sorted(set(names)) != names or not all(isinstance(name, str) and name for name in names):
            raise ValueError("the states of a column are not sorted")
        if len(sizes) != len(names) or sizes.sum() != len(labels) or len(labels) != len(values):
            raise ValueError("the arrays of a column differ in length")
        if len(labels) and (labels.max() >= len(classes) or not (values > 0).all() or not np.isfinite(values).all()):
            raise ValueError("a count of a column is not above 0, or belongs to no class")
        self.classes = len(classes)
        rows = np.repeat(self.codes(names, grow=True), sizes.astype(int))
        held = self._room(len(classes))
        held[rows, labels.astype(int)] = values
        if (held.sum(axis=0)[: len(classes)] > np.asarray(classes)).any():
            raise ValueError("a column has more values than rows")

    def estimate(self, smoothing: Smoothing, classes: int) -> CategoryTable:
        """P(state | class) by the m-estimate, for classes below `classes`."""
        cells = self.cells(classes)
        known: npt.NDArray[np.bool_] = np.asarray(cells.any(axis=1))
        if not smoothing.share:  # else a state that no row has would be impossible in every class
            known[: self.declared] = True
        return CategoryTable(self, cells, known, smoothing)


@dataclass(frozen=True)
class CategoryTable:
    """P(state | class): (n_c + m p) / (n + m), Mitchell 1997, eq. 6.22.

    m is the number of states where the rule is Laplace's; p is 1 / states, or the state's share of all rows. A class
    that has no value of the variable, where m is 0, takes the shares of all classes together.

    Attributes
    ----------
    counts : array, shape (states, classes)
    known : array of bool, shape (states,)
        The states that have a probability: seen in learning, or declared (if their prior is not their share).
    """

    family: Categories
    counts: Floats
    known: npt.NDArray[np.bool_]
    smoothing: Smoothing

    @property
    def m(self) -> float:
        return self.smoothing.a * float(self.known.sum()) if self.smoothing.m is None else self.smoothing.m

    def described(self, variable: Variable) -> Variable:
        """The variable with the states that are known."""
        states = [state for state, known in zip(self.family.states, self.known, strict=True) if known]
        return replace(variable, states=tuple(states))

    @property
    def classes(self) -> int:
        return int(self.counts.shape[1])

    def seen(self, cells: Any) -> Floats:
        """How often each class has the state of a single cell."""
        code = self.family.codes(cells)[0]
        return self.counts[code] if code >= 0 else np.zeros(self.classes)

    def probabilities(self) -> Floats:
        """P(state | class), shape (states, classes); 0 for states that are not known."""
        every = np.arange(len(self.counts))
        out: Floats = np.where(self.known[:, None], self._estimate(self.counts, self.counts.sum(0), every, 0.0), 0.0)
        return out

    @cached_property
    def log_probabilities(self) -> Floats:
        """ln P(state | class), shape (states + 1, classes); 0 for states that are not known, as is the last."""
        out: Floats = np.zeros((len(self.counts) + 1, self.classes))
        with np.errstate(divide="ignore"):
            out[:-1][self.known] = np.log(self.probabilities()[self.known])
        return out

    def part(self, cells: Any) -> tuple[Codes, Floats, npt.NDArray[np.bool_]]:
        """Codes, what each adds to the scores of classes, and which of them tell, for `_native.add_columns`."""
        known = np.append(self.known, False)
        if not isinstance(cells, Coded):
            return self.family.codes(cells), self.log_probabilities, known
        own = self.family.codes(cells.states)
        if len(own) and (own == -1).any():
            return np.append(own, np.int32(-1))[cells.codes], self.log_probabilities, known
        own = np.maximum(own, -1)
        return cells.codes, self.log_probabilities[own], known[own]

    def add_without(
        self, scores: Floats, cells: Any, own: npt.NDArray[np.int32], weights: Floats
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """The same from the counts less the row's own, whose class is `own`."""
        codes, present, known = self.read(cells)
        logs, known = self.logs_without(np.where(known, codes, np.int32(-1)), own, weights)
        scores += logs
        return present, known

    def read(self, cells: Any) -> tuple[Codes, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """The state of each cell, where there was a cell, and where a known one."""
        codes = self.family.codes(cells)
        known = np.append(self.known, np.zeros(2, bool))[codes]
        return codes, codes != -1, known

    def logs(self, codes: Codes) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """ln P(state | class) of each row, 0 where its code is below 0, and where it is not."""
        return self.log_probabilities[np.maximum(codes, -1)], codes >= 0

    def logs_without(
        self, codes: Codes, own: npt.NDArray[np.int32], weights: Floats
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The same from the counts less the row's own; a state that no other row has is not known."""
        known = codes >= 0
        at = np.flatnonzero(known)
        total = self.counts.sum(axis=1)
        alone = (total[codes[at]] <= weights[at]) & (self.smoothing.share | (codes[at] >= self.family.declared))
        known[at[alone]] = False
        at = at[~alone]
        state, label, weight = codes[at], own[at], weights[at]
        rows = np.arange(len(at))
        n_c = self.counts[state]
        n_c[rows, label] -= weight
        n = np.tile(self.counts.sum(axis=0), (len(at), 1))
        n[rows, label] -= weight
        logs = np.zeros((len(codes), self.classes))
        with np.errstate(divide="ignore"):
            logs[at] = np.log(self._estimate(n_c, n, state, weight))
        return logs, known

    def _estimate(self, n_c: Floats, n: Floats, states: npt.NDArray[Any], less: Floats | float) -> Floats:
        """The m-estimate; `less` is taken from the rows of each state and of all."""
        of_state = self.counts.sum(axis=1)[states] - less
        of_all = self.counts.sum() - less
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(of_all > 0, of_state / of_all, 1 / max(self.known.sum(), 1))[:, None]
            p = share if self.smoothing.share else 1 / self.known.sum()
            out: Floats = np.where(n + self.m > 0, (n_c + self.m * p) / (n + self.m), share)
        return out


def narrow(values: npt.NDArray[Any]) -> tuple[str, bytes]:
    """Numbers in the narrowest unsigned type that holds them all, or as float64 where they are not whole."""
    whole = not len(values) or bool((values == np.floor(values)).all() and values.max() < 1 << 63)
    kind = np.dtype("<f8") if not whole else np.min_scalar_type(int(values.max()) if len(values) else 0)
    return kind.str[1:], values.astype(kind.newbyteorder("<")).tobytes()


def wide(array: tuple[str, bytes]) -> npt.NDArray[Any]:
    """What `narrow` gave."""
    kind, data = array
    if kind not in ("u1", "u2", "u4", "u8", "f8"):
        raise ValueError(f"an array is of type {kind}")
    return np.frombuffer(data, f"<{kind}")
