"""Counts of combinations of states: all that a learner of networks ever asks of data.

Axis order everywhere: the axes of a table are the variables in the order in which they were asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.cpds import LARGEST_TABLE
from plausible.errors import CallError, DataError, unknown
from plausible.regressions import LinearMoments
from plausible.schema import Schema, Variable
from plausible.sources import cell_text
from plausible.wording import quantity

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[np.signedinteger[Any]]
Families = npt.NDArray[np.int32]
"""A row a family: positions of the parents, -1 where there is none, then of the child."""


@runtime_checkable
class Counter(Protocol):
    """Anything that can count."""

    @property
    def variables(self) -> tuple[Variable, ...]: ...

    @property
    def rows(self) -> int: ...

    @property
    def gaps(self) -> Mapping[str, int]:
        """How many cells are empty, for the variables that have such."""

    def counts(self, variables: Sequence[str]) -> Counts:
        """How often each combination of states occurs, over the rows without a gap in these variables."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of several families, end to end.

    Parameters
    ----------
    families : array of int32, shape (families, members)
        Positions of the variables: the parents, -1 where there is none, then the child.
    cells : array of int64
        Each table in C order, so that the child's states lie side by side.
    starts : array of int64, shape (families + 1,)
        Where each table starts in `cells`, and where the last one ends.
    states : array of int64, shape (families,)
        How many states each child has.
    rows, variables : int
        How many the counter has.
    """

    families: Families
    cells: Counts
    starts: Counts
    states: Counts
    rows: int
    variables: int

    @property
    def sizes(self) -> Counts:
        return self.starts[1:] - self.starts[:-1]

    @property
    def parents(self) -> Counts:
        """How many parents each family has."""
        parents: Counts = (self.families >= 0).sum(axis=1) - 1
        return parents

    @property
    def parameters(self) -> Counts:
        """The free parameters of each family: (states - 1) for each combination of the parents' states."""
        sizes = self.sizes
        return sizes - sizes // self.states


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """A table of cases in memory, each cell the position of its state: one byte where that is enough.

    Parameters
    ----------
    variables : tuple of Variable
        Categorical.
    codes : tuple of array, one a variable, shape (rows,)
        Positions of states; -1 for a gap.
    threads : int
        At most so many; 0 takes all there are. The result is the same.

    Examples
    --------
    >>> rain, wet = (Variable(name, states=("no", "yes")) for name in ("rain", "wet"))
    >>> Cases((rain, wet), ([0, 0, 1, 1, 1], [0, 1, 1, 1, 0])).counts(["rain", "wet"]).tolist()
    [[1, 1], [1, 2]]
    """

    variables: tuple[Variable, ...]
    codes: tuple[Codes, ...]
    threads: int = 0
    gaps: Mapping[str, int] = field(init=False)
    _core: _native.Cases = field(init=False, repr=False)
    _states: Counts = field(init=False, repr=False)
    _places: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        variables = Schema(tuple(self.variables)).variables
        codes = []
        for variable, given in zip(variables, self.codes, strict=True):
            if variable.kind != "categorical" or not variable.states:
                raise DataError(f"column {variable.name!r} has no states to count; cut it, or leave it out")
            states = len(variable.states)
            column = np.asarray(given)
            if column.size and not -1 <= column.min() <= column.max() < states:
                raise DataError(
                    f"column {variable.name!r} holds a code that is none of its {quantity(states, 'state')}; "
                    "codes count from 0, and -1 is a gap"
                )
            codes.append(np.ascontiguousarray(column, dtype=code_type(states)))
        if len({len(column) for column in codes}) > 1:
            lengths = ", ".join(f"{v.name}: {len(c)}" for v, c in zip(variables, codes, strict=True))
            raise DataError(f"the columns differ in length ({lengths}); give one cell a row")
        empty = {v.name: int((c < 0).sum()) for v, c in zip(variables, codes, strict=True)}
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "codes", tuple(codes))
        object.__setattr__(self, "gaps", {name: n for name, n in empty.items() if n})
        object.__setattr__(self, "_states", state_numbers(variables))
        object.__setattr__(self, "_places", places(variables))
        object.__setattr__(self, "_core", _native.Cases(codes, self._states.tolist()))

    @property
    def rows(self) -> int:
        return len(self.codes[0]) if self.codes else 0

    def counts(self, variables: Sequence[str]) -> Counts:
        at = positions(self._places, variables)
        shape = table_shape(self.variables, at)
        if not at:
            return np.array(self.rows)
        cells, _ = self._core.tables(np.array([at], dtype=np.int32), self.threads)
        table: Counts = cells.reshape(shape)
        return table

    def tables(self, families: Families) -> Tables:
        cells, starts = self._core.tables(families, self.threads)
        return Tables(families, cells, starts, self._states[families[:, -1]], self.rows, len(self.codes))

    def select(self, keep: npt.ArrayLike) -> Cases:
        """The cases of these rows: positions, or one truth value a row."""
        return Cases(self.variables, tuple(column[np.asarray(keep)] for column in self.codes), self.threads)

    def complete(self) -> Cases:
        """The cases that have no gap at all."""
        return self.select(np.logical_and.reduce([column >= 0 for column in self.codes]))


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """Cases with numbers beside states.

    Parameters
    ----------
    cases : Cases
        The categorical columns.
    numbers : mapping of str to array, shape (rows,)
        The continuous columns; NaN for a gap.
    rows : int

    Examples
    --------
    >>> wet = Variable("wet", states=("no", "yes"))
    >>> days = Mixed(Cases((wet,), ([0, 1, 1],)), {"rain": np.array([0.0, 4.0, 6.0])}, 3)
    >>> days.moments(["wet", "rain"]).mean.tolist()
    [[0.0], [5.0]]
    """

    cases: Cases
    numbers: Mapping[str, npt.NDArray[np.float64]]
    rows: int

    @property
    def variables(self) -> tuple[Variable, ...]:
        return (*self.cases.variables, *(Variable(name, "continuous") for name in self.numbers))

    @property
    def gaps(self) -> Mapping[str, int]:
        empty = {name: int(np.isnan(column).sum()) for name, column in self.numbers.items()}
        return {**self.cases.gaps, **{name: n for name, n in empty.items() if n}}

    def counts(self, variables: Sequence[str]) -> Counts:
        return self.cases.counts(variables)

    def moments(self, family: Sequence[str]) -> LinearMoments:
        """Of the continuous variables among these, the child last, in each combination of the categorical ones.

        Rows with a gap in the family are left out.
        """
        at = places(self.variables)
        discrete = [positions(at, [name])[0] for name in family if name not in self.numbers]
        columns = [self.numbers[name] for name in family if name in self.numbers]
        values = np.stack(columns, axis=1) if columns else np.zeros((self.rows, 0))
        codes = [self.cases.codes[v] for v in discrete]
        whole = ~np.isnan(values).any(axis=1)
        for column in codes:
            whole &= column >= 0
        if not whole.all():
            values, codes = values[whole], [column[whole] for column in codes]
        return LinearMoments.of(table_shape(self.cases.variables, discrete), codes, values)

    def select(self, keep: npt.ArrayLike) -> Mixed:
        """The cases of these rows: positions, or one truth value a row."""
        chosen = np.arange(self.rows)[np.asarray(keep)]
        return Mixed(self.cases.select(chosen), {n: c[chosen] for n, c in self.numbers.items()}, len(chosen))


class FrameCounter:
    """Counts in any frame that narwhals knows, lazy or eager: a table is one group-by where the data lie.

    Parameters
    ----------
    frame : pandas, polars, Arrow, DuckDB, Spark or Dask frame
    variables : sequence of Variable
        States are compared with the cells as text, as `cell_text` gives it.

    Examples
    --------
    >>> import duckdb
    >>> relation = duckdb.sql("select * from (values ('no', 'dry'), ('yes', 'wet'), ('yes', 'dry')) t(rain, grass)")
    >>> rain, grass = Variable("rain", states=("no", "yes")), Variable("grass", states=("dry", "wet"))
    >>> FrameCounter(relation, [rain, grass]).counts(["rain", "grass"]).tolist()
    [[1, 0], [1, 1]]
    """

    def __init__(self, frame: IntoFrame, variables: Sequence[Variable]) -> None:
        import narwhals as nw

        self.variables = Schema(tuple(variables)).variables
        self._places = places(self.variables)
        self._frame = nw.from_native(frame).lazy()
        columns = self._frame.collect_schema().names()
        for variable in self.variables:
            if variable.name not in columns:
                raise DataError(unknown("column", variable.name, columns))
        empty = [nw.col(v.name).is_null().sum().alias(v.name) for v in self.variables]
        row = self._frame.select(nw.len().alias("rows of the table"), *empty).collect()
        numbers = {name: int(row[name][0] or 0) for name in row.columns}
        self.rows = numbers.pop("rows of the table")
        self.gaps: Mapping[str, int] = {name: n for name, n in numbers.items() if n}

    def counts(self, variables: Sequence[str]) -> Counts:
        import narwhals as nw

        at = positions(self._places, variables)
        table = np.zeros(table_shape(self.variables, at), dtype=np.int64)
        if not at:
            table[()] = self.rows
            return table
        frame = self._frame.drop_nulls(list(variables))
        groups = frame.group_by(*variables).agg(nw.len().alias("rows of the group")).collect()
        states_of = [{state: i for i, state in enumerate(self.variables[v].states)} for v in at]
        cells = zip(*(map(cell_text, groups[name].to_list()) for name in variables), strict=True)
        for states, count in zip(cells, groups["rows of the group"].to_list(), strict=True):
            for name, state, place in zip(variables, states, states_of, strict=True):
                if state not in place:
                    raise DataError(unknown(f"state in column {name!r}", str(state), place))
            table[tuple(place[str(state)] for state, place in zip(states, states_of, strict=True))] += count
        return table


class Cache:
    """A counter that remembers: a table that was counted once answers for all narrower ones.

    Parameters
    ----------
    counter : Counter
    cells : int
        How many cells are kept at most; the tables that were asked for longest ago go first.
    """

    def __init__(self, counter: Counter, cells: int = 1 << 24) -> None:
        self.variables, self.rows, self.gaps = counter.variables, counter.rows, counter.gaps
        self._counter = counter
        self._room = cells
        self._tables: OrderedDict[frozenset[str], tuple[tuple[str, ...], Counts]] = OrderedDict()

    def counts(self, variables: Sequence[str]) -> Counts:
        wanted = frozenset(variables)
        found = self._narrowed(wanted)
        if found is None:
            found = tuple(variables), self._counter.counts(variables)
            self._keep(wanted, found)
        names, table = found
        return table.transpose([names.index(name) for name in variables])

    def _narrowed(self, wanted: frozenset[str]) -> tuple[tuple[str, ...], Counts] | None:
        if wanted in self._tables:
            self._tables.move_to_end(wanted)
            return self._tables[wanted]
        if self.gaps and any(name in self.gaps for held in self._tables for name in held - wanted):
            wider = [held for held in self._tables if wanted < held and not self.gaps.keys() & (held - wanted)]
        else:
            wider = [held for held in self._tables if wanted < held]
        if not wider:
            return None
        names, table = self._tables[min(wider, key=lambda held: self._tables[held][1].size)]
        rest = tuple(i for i, name in enumerate(names) if name not in wanted)
        return tuple(name for name in names if name in wanted), table.sum(axis=rest)

    def _keep(self, wanted: frozenset[str], found: tuple[tuple[str, ...], Counts]) -> None:
        self._tables[wanted] = found
        self._room -= found[1].size
        while self._room < 0:
            self._room += self._tables.popitem(last=False)[1][1].size


def count_families(counter: Counter, families: Families) -> Tables:
    """The tables of families: at once from cases in memory, one by one from other counters."""
    if isinstance(counter, Cases):
        return counter.tables(families)
    names = [variable.name for variable in counter.variables]
    tables = [counter.counts([names[member] for member in family if member >= 0]).ravel() for family in families]
    starts = np.cumsum([0, *(table.size for table in tables)], dtype=np.int64)
    cells = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int64)
    states = state_numbers(counter.variables)[families[:, -1]]
    return Tables(families, cells, starts, states, counter.rows, len(names))


def state_numbers(variables: Sequence[Variable]) -> Counts:
    return np.array([len(variable.states) for variable in variables], dtype=np.int64)


def places(variables: Sequence[Variable]) -> dict[str, int]:
    return {variable.name: i for i, variable in enumerate(variables)}


def positions(places: Mapping[str, int], names: Sequence[str]) -> list[int]:
    """Where each name stands; CallError with the nearest name where it has no place."""
    for name in names:
        if name not in places:
            raise CallError(unknown("variable", name, places))
    if len(set(names)) < len(names):
        raise CallError(f"a variable is named twice in {', '.join(names)}; name each once")
    return [places[name] for name in names]


def table_shape(variables: Sequence[Variable], at: Sequence[int]) -> tuple[int, ...]:
    """The shape of a table of counts, refused where it could not be held."""
    shape = tuple(len(variables[v].states) for v in at)
    if prod(shape) > LARGEST_TABLE:
        most = max(at, key=lambda v: len(variables[v].states))
        raise DataError(
            f"the table of {', '.join(variables[v].name for v in at)} would have {quantity(prod(shape), 'cell')}; "
            f"allow fewer parents, or leave out {variables[most].name!r} ({quantity(shape[at.index(most)], 'state')})"
        )
    return shape


def code_type(states: int) -> npt.DTypeLike:
    """The narrowest whole numbers that hold the positions of so many states, and -1."""
    return np.int8 if states <= 128 else np.int16 if states <= 32768 else np.int32


def refuse_gaps(counter: Counter, method: str, instead: str) -> None:
    """DataError where there are gaps; `instead` names the method that can have them."""
    if counter.gaps:
        name, count = next(iter(counter.gaps.items()))
        more = f", as {quantity(len(counter.gaps) - 1, 'more column')} may" if len(counter.gaps) > 1 else ""
        raise DataError(
            f"column {name!r} has {quantity(count, 'gap')} in {quantity(counter.rows, 'row')}{more}; "
            f"{method} needs every cell: fill them, keep the complete rows, or use {instead}"
        )
