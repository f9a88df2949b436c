"""A network and the counts that its tables rest on, so that rows can be added and taken away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from plausible.coding import read_cases, read_mixed
from plausible.counting import Counter, Counts, Mixed, refuse_gaps
from plausible.cpds import CPD, Array, LinearGaussian, Table, row_name
from plausible.errors import CallError, DataError, ModelError, unknown
from plausible.graph import Graph
from plausible.network import Network
from plausible.regressions import LinearMoments
from plausible.schema import Variable
from plausible.wording import quantity

Numbers: TypeAlias = "Array | LinearMoments"
Family: TypeAlias = "list[Variable]"
"""The parents in order, then the child."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A network with the counts of each family; they hold no smoothing.

    Parameters
    ----------
    network : Network
        What `counts` and `pseudo` together say.
    counts : mapping of str to array or LinearMoments
        n_ijk of each family, in the shape of its table; the moments of a continuous child and its parents.
    pseudo : mapping of str to array
        Imaginary counts a_ijk: the rule, or the network that was the prior.
    rows : int
        How many were learned.
    expected : bool
        Whether counts are expected ones, of rows with gaps or hidden variables: they can't be taken away again.

    Examples
    --------
    >>> from plausible.learning.fit import count
    >>> days = count({"wet": ["rain"]}, [{"rain": "n", "wet": "n"}, {"rain": "y", "wet": "y"}], "laplace")
    >>> more = days.update([{"rain": "y", "wet": "y"}])
    >>> more.network["wet"].values[1].tolist()
    [0.25, 0.75]
    >>> more.forget([{"rain": "y", "wet": "y"}]).network["wet"].values[1].round(3).tolist()
    [0.333, 0.667]
    """

    network: Network
    counts: Mapping[str, Numbers]
    pseudo: Mapping[str, Array]
    rows: int
    expected: bool = False

    @staticmethod
    def of(
        families: Iterable[Family],
        counts: Mapping[str, Numbers],
        pseudo: Mapping[str, Array],
        rows: int,
        like: Network | None = None,
    ) -> Counted:
        """Estimated from counts; name and notes are those of `like`."""
        cpds = [_estimated(family, counts[family[-1].name], pseudo.get(family[-1].name)) for family in families]
        network = Network(None, cpds)
        if like is not None:
            network = Network(None, cpds, name=like.name, properties=like.properties)
        return Counted(network, counts, pseudo, rows)

    @property
    def families(self) -> list[Family]:
        return [[*cpd.parents, cpd.child] for cpd in self.network.cpds.values()]

    def update(self, data: Any) -> Counted:
        """With the rows of a table added: exactly what learning all rows at once gives."""
        return self + self._count(data, "update")

    def forget(self, data: Any) -> Counted:
        """Without the rows of a table: as if they had never been learned. DataError where they can't have been."""
        gone = self._count(data, "forget")
        if gone.rows > self.rows:
            raise DataError(f"{quantity(self.rows, 'row')} learned, too few to forget {gone.rows:,}")
        counts: dict[str, Numbers] = {}
        for family in self.families:
            name = family[-1].name
            mine, theirs = self.counts[name], gone.counts[name]
            if isinstance(mine, LinearMoments):
                assert isinstance(theirs, LinearMoments)
                counts[name] = mine - theirs
                continue
            left: Array = mine - np.asarray(theirs)
            if (left < 0).any():
                spot = np.argwhere(left < 0)[0]
                raise DataError(
                    f"what is to be forgotten was never learned: {quantity(left[tuple(spot)], 'row')} would be left of "
                    f"{row_name(family[-1], family[:-1], spot[:-1], family[-1].states[spot[-1]])}"
                )
            counts[name] = left
        return Counted.of(self.families, counts, self.pseudo, self.rows - gone.rows, self.network)

    def __add__(self, other: Counted) -> Counted:
        """What was learned apart, together; the imaginary counts are those of the first."""
        for counted in (self, other):
            counted._whole("add to")
        if _shape(self) != _shape(other):
            raise ModelError("the networks differ in their arcs or states; only counts of the same families add up")
        counts = {name: _added(numbers, other.counts[name]) for name, numbers in self.counts.items()}
        return Counted.of(self.families, counts, self.pseudo, self.rows + other.rows, self.network)

    def _count(self, data: Any, verb: str) -> Counted:
        self._whole(verb)
        counts, rows = count_rows(self.families, data, verb)
        return Counted(self.network, counts, self.pseudo, rows)

    def _whole(self, verb: str) -> None:
        if self.expected:
            raise CallError(
                f"the counts are expected ones, of rows with gaps or hidden variables: they can't be whole again, so "
                f"there is nothing to {verb}; learn anew from all rows"
            )


def count_rows(families: Sequence[Family], data: Any, method: str = "fit") -> tuple[dict[str, Numbers], int]:
    """The counts of families, their states in the order in which the variables have them, and how many rows there are.

    DataError where a column is missing, a state unknown, or a cell empty.
    """
    wanted = {family[-1].name: family[-1] for family in families}
    counter = data if isinstance(data, Counter) else read_like(data, list(wanted.values()))
    if not counter.rows:
        raise DataError("the table has no row; learn from one at least")
    counted = {variable.name: variable for variable in counter.variables}
    for name in wanted:
        if name not in counted:
            raise DataError(unknown("variable in the data", name, counted))
        if counted[name].kind != wanted[name].kind:
            raise DataError(f"{name!r} is {wanted[name].kind} in the network and {counted[name].kind} in the data")
    if counter.gaps.keys() & wanted.keys():
        refuse_gaps(
            counter,
            method,
            "fit_hidden (--method em), which does not"
            if all(variable.kind == "categorical" for variable in wanted.values())
            else "cut numbers into intervals and use fit_hidden (--method em), which does not",
        )
    orders = {name: places(counted[name], v) for name, v in wanted.items() if v.kind == "categorical"}
    counts: dict[str, Numbers] = {}
    for family in families:
        names = [variable.name for variable in family]
        if family[-1].kind == "continuous":
            counts[names[-1]] = _arranged_moments(_mixed(counter).moments(names), family, orders)
        else:
            counts[names[-1]] = _arranged(counter.counts(names), [orders[name] for name in names], family)
    return counts, counter.rows


def read_like(data: Any, variables: Sequence[Variable], gaps: Sequence[str] = ("",)) -> Counter:
    """The table's columns of these variables."""
    names = [variable.name for variable in variables]
    if any(variable.kind == "continuous" for variable in variables):
        return read_mixed(data, like=variables, keep=names, gaps=gaps)
    return read_cases(data, like=variables, keep=names, gaps=gaps)


def _mixed(counter: Counter) -> Mixed:
    if not isinstance(counter, Mixed):
        raise CallError(
            f"a {type(counter).__name__} counts states only; give the table itself, or what read_mixed reads"
        )
    return counter


def families_of(graph: Graph, variables: Mapping[str, Variable]) -> list[Family]:
    """Each child after its parents; those of a continuous child with the categorical ones first."""
    families = []
    for name in graph.nodes:
        if variables[name].kind == "text":
            raise CallError(
                f"{name!r} is a text, whose words are counted by a model of classes (learn); leave it out of the "
                "network while its tables are learned"
            )
        parents = [variables[parent] for parent in graph.parents[name]]
        odd = next((parent.name for parent in parents if parent.kind == "continuous"), None)
        if variables[name].kind == "continuous":
            parents.sort(key=lambda parent: parent.kind)
        elif odd is not None:
            raise CallError(
                f"{name!r} is categorical and has the continuous parent {odd!r}, which no table can hold; cut the "
                "numbers of the parent into intervals, or turn the arc"
            )
        families.append([*parents, variables[name]])
    return families


def places(counted: Variable, wanted: Variable) -> list[int] | None:
    """Where each counted state stands among those wanted; None where they are the same."""
    if counted.states == wanted.states:
        return None
    for state in counted.states:
        if state not in wanted.states:
            raise DataError(unknown(f"state in column {counted.name!r}", state, wanted.states))
    return [wanted.states.index(state) for state in counted.states]


def _arranged(counts: Counts, order: Sequence[list[int] | None], family: Family) -> Array:
    if all(places is None for places in order):
        return counts.astype(np.float64)
    wide = np.zeros([len(variable.states) for variable in family])
    axes = [range(size) if places is None else places for size, places in zip(counts.shape, order, strict=True)]
    wide[np.ix_(*axes)] = counts
    return wide


def _arranged_moments(found: LinearMoments, family: Family, orders: Mapping[str, list[int] | None]) -> LinearMoments:
    discrete = [variable for variable in family if variable.kind == "categorical"]
    if all(orders[variable.name] is None for variable in discrete):
        return found
    shape = [len(variable.states) for variable in discrete]
    axes = [orders[v.name] or range(size) for v, size in zip(discrete, found.n.shape, strict=True)]
    wide = []
    for numbers in (found.n, found.mean, found.squares):
        wide.append(np.zeros((*shape, *numbers.shape[len(shape) :])))
        wide[-1][np.ix_(*axes)] = numbers
    return LinearMoments(*wide)


def _estimated(family: Family, counts: Numbers, pseudo: Array | None) -> CPD:
    *parents, child = family
    if isinstance(counts, LinearMoments):
        line: LinearGaussian = counts.estimate(child, parents)
        return line
    numbers = counts if pseudo is None else counts + pseudo
    rows = numbers.sum(axis=-1, keepdims=True)
    even = np.full(counts.shape, 1 / counts.shape[-1])
    return Table(child, parents, np.divide(numbers, rows, out=even, where=rows > 0))


def _added(one: Numbers, other: Numbers) -> Numbers:
    if isinstance(one, LinearMoments) or isinstance(other, LinearMoments):
        assert isinstance(one, LinearMoments)
        assert isinstance(other, LinearMoments)
        return one + other
    return one + other


def _shape(counted: Counted) -> list[list[tuple[str, tuple[str, ...]]]]:
    return [[(variable.name, variable.states) for variable in family] for family in counted.families]
