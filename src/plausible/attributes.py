"""The columns of a table beside its text: their counts, their distributions, and the scores that they give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.bins import Histogram
from plausible.categories import Categories, CategoryTable
from plausible.cells import date_of
from plausible.columns import PAIRS
from plausible.counts import Coded, Counts, Family
from plausible.dependence import Dependence, Pairs, tree
from plausible.errors import DataError
from plausible.kinds import Uncut
from plausible.moments import Moments, Normal
from plausible.priors import Rules
from plausible.schema import Variable

Floats = npt.NDArray[np.float64]
CPD = CategoryTable | Normal


def family_of(variable: Variable) -> Family | Histogram:
    """Empty counts of a variable."""
    if isinstance(variable, Uncut):
        return Histogram()
    return Moments() if variable.kind == "continuous" else Categories(variable.states)


def estimated(counts: Counts, variables: Sequence[Variable], rules: Rules) -> dict[str, CPD]:
    """The distribution of each variable given the class, under the rules."""
    classes = len(counts.index)
    out: dict[str, CPD] = {}
    for variable in variables:
        family = counts.families[variable.name]
        if isinstance(family, Moments):
            out[variable.name] = family.estimate(rules.floor, classes, student=rules.numbers == "student")
        elif isinstance(family, Categories):
            out[variable.name] = family.estimate(rules.smoothing_of(variable.name), classes)
    return out


def dependence_of(counts: Counts, cpds: Mapping[str, CPD], rules: Rules) -> Dependence | None:
    """How the categorical columns lean on one another under the rules, if they do."""
    pairs = counts.families.get(PAIRS)
    if rules.dependence == "none" or not isinstance(pairs, Pairs):
        return None
    tables = {name: cpd for name, cpd in cpds.items() if isinstance(cpd, CategoryTable)}
    parents = tree(pairs, len(counts.index)) if rules.dependence == "tan" else None
    return Dependence(tuple(tables), tuple(tables.values()), pairs, rules.pair_m, parents)


@dataclass(frozen=True, slots=True)
class Own:
    """What is taken away before rows are scored that were learned: the class and weight of each."""

    classes: npt.NDArray[np.int32]
    weights: Floats


def prior_scores(counts: Counts, rules: Rules, own: Own | None) -> Floats:
    """ln P(c), shape (1, classes); with `own` from the counts less each row's own, shape (rows, classes)."""
    given = rules.log_prior(list(counts.index))
    sizes = np.array([counts.documents], float)
    if own is not None:
        sizes = np.repeat(sizes, len(own.classes), axis=0)
        sizes[np.arange(len(sizes)), own.classes] -= own.weights
    if given:
        return np.where(sizes > 0, np.array([given]), -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = sizes.sum(axis=1, keepdims=True)
        return np.where(total > 0, np.log(sizes) - np.log(total), -np.inf)


def add_scores(
    scores: Floats,
    cpds: Mapping[str, CPD],
    dependence: Dependence | None,
    cells: Mapping[str, Any],
    own: Own | None,
    threads: int,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Add ln P(cell | class) of every cell to scores, shape (rows, classes).

    Returns
    -------
    present, known : array, shape (rows,)
        Cells that are not missing, and those of them that say something.
    """
    present, known = np.zeros(len(scores), np.uint64), np.zeros(len(scores), np.uint64)
    if dependence is not None:
        numbers = dependence.add(scores, cells, None if own is None else (own.classes, own.weights))
        present, known = present + numbers[0], known + numbers[1]
    alone = {name: cpd for name, cpd in cpds.items() if dependence is None or name not in dependence.names}
    if own is None:
        parts = [cpd.part(cells[name]) for name, cpd in alone.items()]
        _native.add_columns(scores, present, known, parts, threads)
        return present, known
    for name, cpd in alone.items():
        there, tells = cpd.add_without(scores, cells[name], own.classes, own.weights)
        present += there
        known += tells
    return present, known


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell of a row says: its share of each class's score, None where it says nothing; and the rows seen."""

    column: str
    value: str
    shares: list[float] | None
    seen: list[float]


def shares_of_cells(
    cpds: Mapping[str, CPD], variables: Sequence[Variable], dependence: Dependence | None, cells: Mapping[str, Any]
) -> Iterator[Cell]:
    """The cells of a single row that are not missing."""
    together = {} if dependence is None else dependence.shares(cells)
    for variable in variables:
        name, cpd = variable.name, cpds[variable.name]
        scores, present, known = np.zeros((1, cpd.classes)), np.zeros(1, np.uint64), np.zeros(1, np.uint64)
        _native.add_columns(scores, present, known, [cpd.part(cells[name])])
        if name in together:
            scores[0] = together[name]
        if present[0]:
            value = _value(cells[name], 0)
            shown = value if isinstance(value, str) else date_of(value) if variable.dates else f"{value:g}"
            yield Cell(name, shown, scores[0].tolist() if known[0] else None, cpd.seen(cells[name]).tolist())


def state_counts(cpds: Mapping[str, CPD], label: int) -> Iterator[tuple[str, tuple[str, ...], Floats, Floats]]:
    """Of each categorical column its states, and how often each is seen in the class and in all others."""
    for name, cpd in cpds.items():
        if isinstance(cpd, CategoryTable) and cpd.known.any():
            states = tuple(state for state, known in zip(cpd.family.states, cpd.known, strict=True) if known)
            own = cpd.counts[cpd.known, label]
            yield name, states, own, cpd.counts[cpd.known].sum(axis=1) - own


@dataclass(frozen=True, slots=True)
class Unseen:
    """A value of a categorical column that was never learned: the row of its first occurrence, and how many cells."""

    row: int
    column: str
    value: str
    cells: int


def unseen(cpds: Mapping[str, CPD], cells: Mapping[str, Any]) -> Iterator[Unseen]:
    """The categorical columns that hold values which were never learned."""
    for name, cpd in cpds.items():
        if isinstance(cpd, CategoryTable):
            of = cells[name]
            if isinstance(of, Coded) and -2 not in cpd.family.codes(of.states):
                continue
            rows = np.flatnonzero(cpd.family.codes(of) == -2)
            if len(rows):
                yield Unseen(int(rows[0]), name, str(_value(cells[name], rows[0])), len(rows))


def _value(cells: Any, row: int) -> Any:
    return cells.states[cells.codes[row]] if hasattr(cells, "codes") else cells[row]


def uninformative(counts: Counts, variables: Sequence[Variable]) -> dict[str, str]:
    """The columns that say nothing, and why: they are empty, or the same in every row."""
    out: dict[str, str] = {}
    for variable in variables:
        family = counts.families[variable.name]
        if isinstance(family, Moments):
            sums = [family.sums(label) for label in range(len(counts.index))]
            n, s, q = (sum(one[power] for one in sums) for power in range(3))
            if not n:
                out[variable.name] = "is empty in every row"
            elif n * q == s * s:
                out[variable.name] = "is the same in every row"
        elif isinstance(family, Categories):
            seen = int(family.cells().any(axis=1).sum())
            if seen < 2 and not variable.cuts:
                out[variable.name] = "is the same in every row" if seen else "is empty in every row"
    return out


def rows_of(cells: Mapping[str, Any], variables: Sequence[Variable], rows: int | None = None) -> int:
    """The number of rows; DataError where columns differ in length or one is absent."""
    sizes = {} if rows is None else {"text": rows}
    for variable in variables:
        if variable.name not in cells:
            raise DataError(f"there are no cells of {variable.name!r}; give None or NaN for those that are missing")
        sizes[variable.name] = len(cells[variable.name])
    if len(set(sizes.values())) > 1:
        raise DataError(f"the columns differ in length: {sizes}")
    return next(iter(sizes.values()))
