"""Columns that lean on one another within a class: counts two by two, and the classifiers made of them.

Tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997) and averaged one-dependence estimators (Webb,
Boughton and Wang 2005) need nothing but how often each class has each pair of states, so what they learn can be added
and taken away like all counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.categories import Categories, CategoryTable, Codes, Floats, narrow, wide
from plausible.counts import Arrays
from plausible.errors import DataError
from plausible.graph import spanning_tree
from plausible.wording import quantity

Truths = npt.NDArray[np.bool_]

MOST_CELLS = 1 << 26
"""Cells of all pairs together (512 MB)."""

MOST_SCORES = 1 << 22
"""Scores that are held at once."""


class Pairs:
    """Counts by the states of two columns and class, for each two of the categorical columns.

    A row counts for a pair where neither cell is missing.

    Examples
    --------
    >>> pairs = Pairs([Categories(["no", "yes"]), Categories(["dry", "wet"])])
    >>> pairs.count([["no", "yes", None], ["dry", "wet", "wet"]], np.array([0, 0, 0], np.int32))
    >>> pairs.table(0, 1, 1)[..., 0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, columns: Sequence[Categories]) -> None:
        self.columns = tuple(columns)
        self.classes = 0
        self._held: dict[tuple[int, int], Floats] = {}

    @property
    def places(self) -> Iterator[tuple[int, int]]:
        """All pairs, the first of each before the second."""
        return combinations(range(len(self.columns)), 2)

    def table(self, i: int, j: int, classes: int) -> Floats:
        """The counts of a pair, shape (states of i, states of j, classes)."""
        if i > j:
            return self.table(j, i, classes).transpose(1, 0, 2)
        shape = (len(self.columns[i].index), len(self.columns[j].index), classes)
        held = self._held.get((i, j))
        if held is None or held.shape != shape:
            self._refuse(classes)
            grown = np.zeros(shape)
            if held is not None:
                grown[tuple(map(slice, held.shape))] = held
            held = self._held[i, j] = grown
        return held

    def _refuse(self, classes: int) -> None:
        """DataError where all tables together would be too large."""
        sizes = [len(column.index) for column in self.columns]
        cells = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2 * classes
        if cells > MOST_CELLS:
            raise DataError(
                f"columns counted two by two would have {quantity(cells, 'cell')}; leave out the column with "
                f"{quantity(max(sizes), 'value')} (--ignore NAME), or learn without tan or aode"
            )

    def count(
        self, cells: Sequence[Any], labels: npt.ArrayLike, threads: int = 1, weights: Floats | None = None
    ) -> None:
        labels = np.asarray(labels)
        if not len(labels):
            return
        self.classes = max(self.classes, int(labels.max()) + 1)
        codes = [column.codes(values, grow=True) for column, values in zip(self.columns, cells, strict=True)]
        for i, j in self.places:
            table = self.table(i, j, self.classes)
            both = (codes[i] >= 0) & (codes[j] >= 0)
            at = (codes[i][both].astype(np.int64) * table.shape[1] + codes[j][both]) * self.classes + labels[both]
            table += np.bincount(at, None if weights is None else weights[both], table.size).reshape(table.shape)

    def merge(self, other: Pairs, labels: Sequence[int]) -> None:
        self._add(other, labels, 1)

    def subtract(self, other: Pairs, labels: Sequence[int], left: Sequence[float]) -> None:
        self._add(other, labels, -1)

    def uncovered(self, other: Pairs, labels: Sequence[int], left: Sequence[float]) -> str:
        for i, j in other.places:
            for first, second, label in np.argwhere(other.table(i, j, other.classes)).tolist():
                states = other.columns[i].states[first], other.columns[j].states[second]
                here = self.columns[i].index.get(states[0], -1), self.columns[j].index.get(states[1], -1)
                table = self.table(i, j, self.classes)
                gone = other.table(i, j, other.classes)[first, second, label]
                if min(here) < 0 or labels[label] >= self.classes or table[(*here, labels[label])] < gone:
                    return " with ".join(states)
        return ""

    def _add(self, other: Pairs, labels: Sequence[int], sign: int) -> None:
        self.classes = max([self.classes, *(label + 1 for label in labels)])
        states = [column.codes(own.states, grow=True) for column, own in zip(self.columns, other.columns, strict=True)]
        for i, j in self.places:
            at = np.ix_(states[i], states[j], np.asarray(labels[: other.classes], int))
            self.table(i, j, self.classes)[at] += sign * other.table(i, j, other.classes)

    def export(self, order: Sequence[int]) -> Arrays:
        """For each pair how many cells are not 0; of each such cell both states, by place among the column's
        states, the class, and the count."""
        kept = [column.seen() for column in self.columns]
        found = []
        for i, j in self.places:
            by_class = np.zeros((len(kept[i]), len(kept[j]), len(order)))
            by_class[:, :, np.asarray(order, int)] = self.table(i, j, len(order))[np.ix_(kept[i], kept[j])]
            found.append((*np.nonzero(by_class), by_class[np.nonzero(by_class)]))
        firsts, seconds, labels, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return {
            "sizes": narrow(np.array([len(cells) for cells, *_ in found])),
            "firsts": narrow(firsts),
            "seconds": narrow(seconds),
            "labels": narrow(labels),
            "counts": narrow(counts),
        }

    def load(
        self, classes: Sequence[float], *, sizes: Any, firsts: Any, seconds: Any, labels: Any, counts: Any
    ) -> None:
        """Take in what `export` gave, when the columns have taken in theirs."""
        sizes, firsts, seconds, labels, values = map(wide, (sizes, firsts, seconds, labels, counts))
        places = list(self.places)
        if len(sizes) != len(places) or {len(firsts), len(seconds), len(labels), len(values)} != {int(sizes.sum())}:
            raise ValueError("the arrays of pairs of columns differ in length")
        if not ((values > 0) & np.isfinite(values)).all():
            raise ValueError("a count of two columns is not above 0")
        self.classes = len(classes)
        kept = [column.seen() for column in self.columns]
        end = 0
        for (i, j), size in zip(places, sizes.astype(int).tolist(), strict=True):
            part = slice(end, end := end + size)
            at = kept[i][firsts[part].astype(int)], kept[j][seconds[part].astype(int)], labels[part].astype(int)
            table = self.table(i, j, self.classes)
            table[at] = values[part]
            for axis, column in ((1, self.columns[i]), (0, self.columns[j])):
                if (table.sum(axis=axis) > column.cells(self.classes)).any():
                    raise ValueError("two columns have more values together than one of them")


@dataclass(frozen=True)
class Dependence:
    """What columns that lean on one another say of the class.

    P(x | c, y) = (n(c, x, y) + m P(x | c)) / (n(c, y) + m): where a pair was not seen it falls back to naive Bayes.

    Attributes
    ----------
    names : tuple of str
    tables : tuple of CategoryTable
        P(x | c) of each column.
    parents : tuple of int, or None
        In the tree each column leans on one other, or on none (-1). None: each column in turn is what all others lean
        on, and the joint probabilities are averaged.
    """

    names: tuple[str, ...]
    tables: tuple[CategoryTable, ...]
    pairs: Pairs
    m: float
    parents: tuple[int, ...] | None
    _logs: dict[tuple[int, int], Floats] = field(default_factory=dict, repr=False)

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """In a tree which column leans on which: (parent, child)."""
        above = enumerate(self.parents or ())
        return [(self.names[parent], self.names[child]) for child, parent in above if parent >= 0]

    def given(self, other: str, name: str) -> Floats:
        """P(state of `name` | class, state of `other`), shape (states of other, states of name, classes)."""
        out: Floats = np.exp(self._table(self.names.index(other), self.names.index(name)))
        return out

    def add(
        self, scores: Floats, cells: Mapping[str, Any], own: tuple[npt.NDArray[np.int32], Floats] | None
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Add ln P(cells | class) to scores, shape (rows, classes), a missing cell taking no part.

        With `own` from the counts less each row's own: its class and weight. (A tree stays as it is.)

        Returns
        -------
        present, known : array, shape (rows,)
            Cells that are not missing, and those of them that say something.
        """
        read = [table.read(cells[name]) for name, table in zip(self.names, self.tables, strict=True)]
        codes = np.array([np.where(known, code, -1) for code, _, known in read])
        present, known = (sum((one[at].astype(np.uint64) for one in read), np.zeros(1, np.uint64)) for at in (1, 2))
        step = MOST_SCORES // (len(codes) * scores.shape[1]) + 1
        for at in range(0, len(scores), step):
            part = slice(at, at + step)
            less = None if own is None else (own[0][part], own[1][part])
            scores[part] += self._scores(codes[:, part], less)
        return present, known

    def shares(self, cells: Mapping[str, Any]) -> dict[str, Floats]:
        """What each cell of a single row adds for each class, in nats; together what all of them say.

        A cell adds what it changes when it joins those before it, in the mean of the order of the columns and the
        reverse (after Strumbelj and Kononenko 2010).
        """
        read = [table.read(cells[name]) for name, table in zip(self.names, self.tables, strict=True)]
        codes = np.array([code[0] if known[0] else -1 for code, _, known in read], np.int32)
        n = len(codes)
        before = np.tri(n + 1, n, -1, dtype=bool)
        forward = self._scores(np.where(before, codes, -1).T, None)
        backward = self._scores(np.where(before[:, ::-1], codes, -1).T, None)
        with np.errstate(invalid="ignore"):
            added = (np.diff(forward, axis=0) + np.diff(backward, axis=0)[::-1]) / 2
        return dict(zip(self.names, np.nan_to_num(added, nan=0.0, posinf=np.inf, neginf=-np.inf), strict=True))

    def _scores(self, codes: Codes, own: tuple[npt.NDArray[np.int32], Floats] | None) -> Floats:
        """ln P(cells | class), shape (rows, classes); codes below 0 take no part."""
        alone = []
        for table, code in zip(self.tables, codes, strict=True):
            logs, known = table.logs(code) if own is None else table.logs_without(code, *own)
            code[~known] = -1
            alone.append(logs)
        return self._tree(codes, alone, own) if self.parents is not None else self._averaged(codes, alone, own)

    def _tree(self, codes: Codes, alone: list[Floats], own: Any) -> Floats:
        assert self.parents is not None
        total = np.zeros_like(alone[0])
        for j, parent in enumerate(self.parents):
            total += alone[j] if parent < 0 else self._given(parent, j, codes, alone[j], own)
        return total

    def _averaged(self, codes: Codes, alone: list[Floats], own: Any) -> Floats:
        """ln of the mean over columns y that are there of P(y | c) times the product of P(x | c, y)."""
        total = np.full_like(alone[0], -np.inf)
        for i in range(len(codes)):
            joint = alone[i].copy()
            for j in range(len(codes)):
                if j != i:
                    joint += self._given(i, j, codes, alone[j], own)
            total = np.logaddexp(total, np.where((codes[i] >= 0)[:, None], joint, -np.inf))
        there = (codes >= 0).sum(axis=0)[:, None]
        out: Floats = np.where(there > 0, total - np.log(np.maximum(there, 1)), 0.0)
        return out

    def _given(self, i: int, j: int, codes: Codes, alone: Floats, own: Any) -> Floats:
        """ln P(cell of j | class, cell of i); without a cell of i, ln P(cell of j | class)."""
        both = (codes[i] >= 0) & (codes[j] >= 0)
        if not both.any():
            return alone
        first, second = np.maximum(codes[i], 0), np.maximum(codes[j], 0)
        if own is None:
            logs = self._table(i, j)[first, second]
        else:
            counts = self.pairs.table(i, j, alone.shape[1])
            together, of_first = counts[first, second], counts.sum(axis=1)[first]
            rows, (label, weight) = np.arange(len(both)), own
            together[rows, label] -= weight
            of_first[rows, label] -= weight
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log((together + self.m * np.exp(alone)) / (of_first + self.m))
        return logs if both.all() else np.where(both[:, None], logs, alone)

    def _table(self, i: int, j: int) -> Floats:
        """ln P(state of j | class, state of i), shape (states of i, states of j, classes)."""
        if (i, j) not in self._logs:
            alone = self.tables[j].probabilities()
            counts = self.pairs.table(i, j, alone.shape[1])
            with np.errstate(divide="ignore"):
                of_first = counts.sum(axis=1, keepdims=True)
                self._logs[i, j] = np.log((counts + self.m * alone) / (of_first + self.m))
        return self._logs[i, j]


def tree(pairs: Pairs, classes: int) -> tuple[int, ...]:
    """The parent of each column in the tree of greatest conditional mutual information given the class, -1 for none.

    Friedman, Geiger and Goldszmidt 1997, section 4.1; the first column is the root. An edge that says less than its
    parameters cost (Akaike 1974) is left out, so that on few rows this is naive Bayes.
    """
    n = len(pairs.columns)
    information = np.zeros((n, n))
    for i, j in pairs.places:
        counts = pairs.table(i, j, classes)
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True)
        expected = expected / np.maximum(counts.sum(axis=(0, 1)), 1e-300)
        seen = counts > 0
        states = [counts.any(axis=axis).sum(axis=0) for axis in (1, 0)]
        free = np.prod([(number - 1.0).clip(0) for number in states], axis=0)
        gain = (counts[seen] * np.log(counts[seen] / expected[seen])).sum() - free.sum()
        information[i, j] = information[j, i] = gain
    return tuple(above[0] if above else -1 for above in spanning_tree(information.tolist(), range(n)))
