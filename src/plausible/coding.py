"""From tables to cases: each cell the position of its state."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from shlex import quote
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.counting import Cases, Mixed, code_type
from plausible.counts import Coded
from plausible.errors import CallError, DataError, PlausibleWarning, unknown
from plausible.network import Network
from plausible.schema import Variable
from plausible.sources import Source, cell_text, open_source
from plausible.wording import quantity

Place = Callable[[int], str]
"""Where row i of a chunk came from."""

MOST_NUMBERS = 20
"""A column of numbers with more different ones than this is not taken for categories."""

LOOK = 10_000
"""So many numbers are looked at first for whether they differ much."""

LIKE_GAPS = ("", "na", "n/a", "nan", "null", "none", "missing", "unknown", "?", "*")
"""What often stands for a gap, in small letters."""

IDENTIFIER_ROWS = 20
"""From so many rows on, a column whose cells all differ is called an identifier."""


def read_cases(
    given: Any,
    *,
    like: Network | Sequence[Variable] | None = None,
    keep: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    cut: int | None = None,
    gaps: Sequence[str] = ("",),
    threads: int = 0,
) -> Cases:
    """Read a table once and code its cells.

    Parameters
    ----------
    given : a source, or whatever `open_source` takes: path, SQL text, data frame, list of dictionaries
    like : Network or sequence of Variable, optional
        Take these columns with these states; a state that is none of them is a DataError. By default each
        column has the states that occur, numbers by size and text by alphabet.
    keep : sequence of str, optional
        Take these columns only.
    drop : sequence of str
        Columns to leave out.
    cut : int, optional
        Cut columns of many numbers into so many intervals with equally many rows each.
    gaps : sequence of str
        Cells with these texts are gaps, besides those that are missing.
    threads : int
        See `Cases`.

    Examples
    --------
    >>> cases = read_cases([{"rain": "yes", "wet": "yes"}, {"rain": "no", "wet": None}])
    >>> [variable.states for variable in cases.variables], dict(cases.gaps)
    ([('no', 'yes'), ('yes',)], {'wet': 1})
    """
    read = _read(given, like, keep, drop, cut, gaps, floats=False)
    return Cases(tuple(variable for variable, _ in read), tuple(codes for _, codes in read), threads)


def read_mixed(
    given: Any,
    *,
    like: Network | Sequence[Variable] | None = None,
    keep: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    cut: int | None = None,
    gaps: Sequence[str] = ("",),
    threads: int = 0,
) -> Mixed:
    """Read a table once, with numbers as they are: as `read_cases`, but columns of many numbers are continuous.

    Examples
    --------
    >>> days = read_mixed([{"rain": i / 8, "wet": str(i > 5)} for i in range(24)])
    >>> days.numbers["rain"][:3].tolist(), [variable.name for variable in days.cases.variables]
    ([0.0, 0.125, 0.25], ['wet'])
    """
    read = _read(given, like, keep, drop, cut, gaps, floats=True)
    coded = [(variable, cells) for variable, cells in read if variable.kind == "categorical"]
    numbers = {variable.name: cells for variable, cells in read if variable.kind == "continuous"}
    cases = Cases(tuple(variable for variable, _ in coded), tuple(codes for _, codes in coded), threads)
    return Mixed(cases, numbers, len(read[0][1]) if read else 0)


def _read(
    given: Any,
    like: Network | Sequence[Variable] | None,
    keep: Sequence[str] | None,
    drop: Sequence[str],
    cut: int | None,
    gaps: Sequence[str],
    floats: bool,
) -> list[tuple[Variable, npt.NDArray[Any]]]:
    source = given if isinstance(given, Source) else open_source(given)
    if source.documents:
        raise CallError(f"{source.name} holds documents, not a table; give a table with one column a variable")
    for name in (*(keep or ()), *drop):
        if name not in source.columns:
            raise CallError(unknown(f"column of {source.name}", name, source.columns))
    if cut is not None and cut < 2:
        raise CallError(f"cut is {cut}; cut into 2 intervals or more")
    known = None if like is None else {v.name: v for v in (like.variables if isinstance(like, Network) else like)}
    wanted = keep if keep is not None else source.columns if known is None else known
    names = [name for name in wanted if name not in drop]
    numeric = [name for name in names if floats and cut is None and name in source.numeric]
    columns: dict[str, _Column | _Numbers] = {}
    for name in names:
        own = None if known is None else known[name]
        if name in numeric and (own is None or own.kind == "continuous"):
            columns[name] = _Numbers(own)
        else:
            columns[name] = _Column(own, gaps)
    for cells, place in _chunks(source, names, [name for name in numeric if isinstance(columns[name], _Numbers)]):
        for name, column in columns.items():
            column.add(cells[name], place)
    return [column.finish(name, name in source.numeric, cut) for name, column in columns.items()]


def _chunks(source: Source, names: list[str], numbers: list[str]) -> Iterator[tuple[Mapping[str, Any], Place]]:
    """The columns chunk by chunk, without making Python values of cells where the source can, and places of rows."""
    typed = None if source.typed is None else source.typed(source, tuple(names), frozenset(numbers))
    if typed is None:
        for table in source.tables(names, numbers):
            yield table.columns, table.place
        return
    for table in typed:
        yield (
            {name: Coded(*given) if isinstance(given, tuple) else given for name, given in table.columns.items()},
            table.place,
        )


class _Numbers:
    """A column of numbers as it is read; categories after all where there are few different ones."""

    def __init__(self, like: Variable | None) -> None:
        self.like = like
        self.chunks: list[npt.NDArray[np.float64]] = []

    def add(self, cells: Any, place: Any) -> None:
        if np.isinf(cells).any():
            raise DataError(f"{place(int(np.isinf(cells).argmax()))}: a number is infinite; mend it, or leave it empty")
        self.chunks.append(np.asarray(cells, dtype=np.float64))

    def finish(self, name: str, numeric: bool, cut: int | None) -> tuple[Variable, npt.NDArray[Any]]:
        numbers = np.concatenate(self.chunks) if self.chunks else np.zeros(0)
        self.chunks = []
        some = numbers[~np.isnan(numbers)]
        if not len(some):
            raise DataError(f"column {name!r} has no value at all; {_without(name)}")
        few = None if len(np.unique(some[:LOOK])) > MOST_NUMBERS else np.unique(some)
        if self.like is not None or few is None or len(few) > MOST_NUMBERS:
            return self.like or Variable(name, "continuous"), numbers
        variable = Variable(name, states=tuple(str(cell_text(float(value))) for value in few))
        codes = np.searchsorted(few, np.nan_to_num(numbers, nan=few[0]))
        return variable, np.where(np.isnan(numbers), -1, codes).astype(code_type(len(few)))


class _Column:
    """The codes of a column as it is read, in the order in which its values first occur."""

    def __init__(self, like: Variable | None, gaps: Sequence[str]) -> None:
        self.like = like
        self.gaps = {None, *gaps}
        self.places: defaultdict[str | None, int] = defaultdict()
        self.places.default_factory = self.places.__len__
        for state in () if like is None else like.states:
            self.places[state]
        self.known = len(self.places)
        self.chunks: list[npt.NDArray[np.signedinteger[Any]]] = []

    def add(self, cells: Sequence[str | None] | Coded, place: Place) -> None:
        if isinstance(cells, Coded):
            codes = np.array([self.places[value] for value in (*cells.states, None)], dtype=np.int32)[cells.codes]
        else:
            codes = np.fromiter(map(self.places.__getitem__, cells), np.int32, len(cells))
        if self.like is not None and self.like.kind == "categorical" and len(self.places) > self.known:
            values = list(self.places)
            for i in np.flatnonzero(codes >= self.known).tolist():
                cell = values[codes[i]]
                if cell not in self.gaps:
                    said = unknown(f"state of {self.like.name!r}", str(cell), self.like.states)
                    if str(cell).strip(".<>-").casefold() in LIKE_GAPS:
                        said += f"; if it stands for a gap, say gaps=[{cell!r}] (--gap {cell!r})"
                    raise DataError(f"{place(i)}: {said}")
        self.chunks.append(codes.astype(code_type(len(self.places))))

    def finish(self, name: str, numeric: bool, cut: int | None) -> tuple[Variable, npt.NDArray[Any]]:
        codes = np.concatenate(self.chunks) if self.chunks else np.zeros(0, dtype=np.int8)
        self.chunks = []
        values = [value for value in self.places if value not in self.gaps]
        if self.like is not None and self.like.kind == "continuous":
            return self.like, self._floats(name)[codes]
        if self.like is not None:
            variable = self.like
        elif not values:
            raise DataError(f"column {name!r} has no value at all; {_without(name)}")
        elif numeric and len(values) > MOST_NUMBERS:
            if cut is None:
                raise DataError(
                    f"column {name!r} holds {quantity(len(values), 'different number')}; cut them into intervals "
                    f"with cut=5 (--cut 5), or {_without(name)}"
                )
            return self._cut(name, values, codes, cut)
        else:
            variable = Variable(name, states=tuple(_in_order([str(value) for value in values])))
            if len(codes) >= IDENTIFIER_ROWS and len(values) == len(codes):
                warnings.warn(
                    f"column {name!r} has another value in every row, as an identifier has; {_without(name)}",
                    PlausibleWarning,
                    stacklevel=3,
                )
        state_of = {state: i for i, state in enumerate(variable.states)}
        return variable, self._recode(codes, [state_of.get(str(v), -1) for v in self.places], len(variable.states))

    def _floats(self, name: str) -> npt.NDArray[np.float64]:
        """The numbers of a column that looked like text, because of what stands for its gaps."""
        try:
            numbers = np.array([np.nan if value in self.gaps else float(str(value)) for value in self.places])
        except ValueError as error:
            raise DataError(
                f"column {name!r}: {error}; mend the cell, or say that its text is a gap (gaps=['NA'], --gap NA)"
            ) from None
        return numbers

    def _recode(self, codes: npt.NDArray[Any], to: list[int], states: int) -> npt.NDArray[Any]:
        to = [-1 if value in self.gaps else code for value, code in zip(self.places, to, strict=True)]
        recoded: npt.NDArray[Any] = np.array(to, dtype=code_type(states))[codes]
        return recoded

    def _cut(
        self, name: str, values: list[Any], codes: npt.NDArray[Any], parts: int
    ) -> tuple[Variable, npt.NDArray[Any]]:
        """Intervals of equally many rows, as far as equal numbers let them be."""
        numbers = np.array([np.nan if value in self.gaps else float(str(value)) for value in self.places])
        cells = numbers[codes]
        edges = np.unique(np.quantile(cells[~np.isnan(cells)], np.linspace(0, 1, parts + 1)[1:-1]))
        bounds = [f"{edge:.6g}" for edge in edges]
        if len(set(bounds)) < len(bounds):
            bounds = [repr(float(edge)) for edge in edges]
        states = [f"to {bounds[0]}"]
        states += [f"{low} to {high}" for low, high in pairwise(bounds)]
        states.append(f"above {bounds[-1]}")
        variable = Variable(name, states=tuple(states), ordered=True)
        at = np.searchsorted(edges, np.nan_to_num(numbers), side="left").tolist()
        return variable, self._recode(codes, at, len(states))


def _in_order(states: list[str]) -> list[str]:
    try:
        return sorted(states, key=float)
    except ValueError:
        return sorted(states)


def _without(name: str) -> str:
    return f"leave it out with drop=[{name!r}] (--drop {quote(name)})"
