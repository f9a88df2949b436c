"""A network while its file is being read: what was declared, where, and whether it fits together."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from plausible.cpds import CPD, SUM_TOLERANCE, Array, LinearGaussian, NoisyMax, Table, row_name, table_shape
from plausible.errors import ModelError, PlausibleError, PlausibleWarning, unknown
from plausible.files.source import Fail
from plausible.network import Network
from plausible.schema import Kind, Variable
from plausible.wording import quantity

ROUNDED = 2e-3
"""Rows of a file that miss 1 by no more were rounded by whoever wrote them: scaled, with a warning."""


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal distribution whose mean is linear in the continuous parents, by name."""

    intercept: float
    weights: Mapping[str, float]
    variance: float


@dataclass(frozen=True, slots=True)
class Block:
    """A distribution as a file gives it. No numbers at all means a uniform one."""

    child: str
    parents: tuple[str, ...]
    values: Array | list[Normal] | None
    at: Any
    noisy: bool = False


class Draft:
    """Collects variables and distributions in any order; `network` puts them together.

    Parameters
    ----------
    fail : callable (place, message) -> DataError
    """

    def __init__(self, fail: Fail) -> None:
        self.fail = fail
        self.variables: dict[str, Variable] = {}
        self.places: dict[str, Any] = {}
        self.notes: dict[str, tuple[str, ...]] = {}
        self.blocks: dict[str, Block] = {}
        self.rounded: list[tuple[str, Any]] = []

    def variable(self, name: str, states: Sequence[str] | None, at: Any, notes: Sequence[str] = ()) -> None:
        """Declare a variable; a continuous one has None for its states."""
        if name in self.variables:
            raise self.fail(at, f"variable {name!r} is declared twice; keep one")
        if states is not None and not states:
            raise self.fail(at, f"variable {name!r} has no states; name them")
        try:
            kind: Kind = "continuous" if states is None else "categorical"
            self.variables[name] = Variable(name, kind, tuple(states or ()))
        except PlausibleError as error:
            raise self.fail(at, str(error)) from None
        self.places[name] = at
        if notes:
            self.notes[name] = tuple(notes)

    def distribution(
        self,
        child: str,
        parents: Sequence[str],
        values: Array | list[Normal] | None,
        at: Any,
        *,
        noisy: bool = False,
    ) -> None:
        """The numbers of P(child | parents), the child's states fastest, then the last parent's.

        Of a continuous child, a normal for each combination of its categorical parents' states.

        Those of a noisy-max instead run through the parents, each with one row a state, and end with
        the row of the leak.
        """
        if child in self.blocks:
            raise self.fail(at, f"a second distribution of {child!r}; keep one")
        self.blocks[child] = Block(child, tuple(parents), values, at, noisy)

    def network(self, name: str = "", notes: Sequence[str] = ()) -> Network:
        """The network, or the error that names the place that does not fit."""
        cpds = {child: self._built(block) for child, block in self.blocks.items()}
        self._warn()
        self._fill_gap(cpds)
        properties = {"": tuple(notes), **self.notes} if notes else self.notes
        try:
            ordered = {child: cpds[child] for child in self.variables}
            return Network(None, ordered, name=name, properties=properties)
        except PlausibleError as error:
            first = next(iter(self.blocks.values()))
            raise self.fail(first.at, str(error)) from None

    def _built(self, block: Block) -> CPD:
        for name in (block.child, *block.parents):
            if name not in self.variables:
                raise self.fail(block.at, unknown("variable", name, self.variables))
        family = (*block.parents, block.child)
        if len(set(family)) < len(family):
            twice = next(name for i, name in enumerate(family) if name in family[:i])
            raise self.fail(block.at, f"{twice!r} occurs twice in the distribution of {block.child!r}")
        child, *parents = (self.variables[name] for name in (block.child, *block.parents))
        try:
            if isinstance(block.values, list):
                return self._regression(child, parents, block.values)
            if block.noisy and block.values is not None:
                return self._noisy_max(child, parents, block.values)
            shape = table_shape(child, parents)
            if block.values is None:
                return Table(child, parents, np.full(shape, 1 / shape[-1]))
            if block.values.size != prod(shape):
                by = " x ".join(map(str, shape))
                needs = f"the table of {child.name!r} needs {quantity(prod(shape), 'number')} ({by})"
                raise self.fail(block.at, f"{needs}, found {block.values.size}")
            return Table(child, parents, self._scaled(child, parents, block.values.reshape(shape), block.at))
        except ModelError as error:
            raise self.fail(block.at, str(error)) from None

    def _scaled(self, child: Variable, parents: list[Variable], table: Array, at: Any) -> Array:
        """Rows that were rounded to three digits made to sum to 1; others are left as they are."""
        sums = table.sum(axis=-1, keepdims=True)
        off = np.abs(sums - 1)
        if not SUM_TOLERANCE < off.max() <= ROUNDED:
            return table
        worst = np.argwhere(off == off.max())[0]
        self.rounded.append((f"{row_name(child, parents, worst[:-1])} sums to {sums[tuple(worst)]:.9g}", at))
        scaled: Array = table / sums
        return scaled

    def _warn(self) -> None:
        if self.rounded:
            said, at = self.rounded[0]
            more = f" (and so in {quantity(len(self.rounded) - 1, 'more table')})" if len(self.rounded) > 1 else ""
            error = self.fail(at, f"{said}, not 1{more}; taken as rounded, and scaled")
            warnings.warn(str(error), PlausibleWarning, stacklevel=5)

    def _regression(self, child: Variable, parents: list[Variable], normals: list[Normal]) -> LinearGaussian:
        discrete = [parent for parent in parents if parent.kind == "categorical"]
        continuous = [parent for parent in parents if parent.kind == "continuous"]
        shape = tuple(len(parent.states) for parent in discrete)
        if len(normals) != prod(shape):
            raise ModelError(
                f"{child.name!r} needs {quantity(prod(shape), 'normal distribution')}, found {len(normals)}"
            )
        names = [parent.name for parent in continuous]
        for name in (name for normal in normals for name in normal.weights if name not in names):
            raise ModelError(unknown(f"continuous parent of {child.name!r}", name, names))
        return LinearGaussian(
            child,
            [*discrete, *continuous],
            np.array([normal.intercept for normal in normals]).reshape(shape),
            np.array([[n.weights.get(name, 0.0) for name in names] for n in normals]).reshape(*shape, len(names)),
            np.array([normal.variance for normal in normals]).reshape(shape),
        )

    def _noisy_max(self, child: Variable, parents: list[Variable], values: Array) -> NoisyMax:
        rows = [len(parent.states) for parent in parents]
        needed = (sum(rows) + 1) * len(child.states)
        if values.size != needed:
            raise self.fail(
                self.blocks[child.name].at,
                f"the noisy-max of {child.name!r} needs {quantity(needed, 'number')}, found {values.size}",
            )
        table = values.reshape(-1, len(child.states))
        return NoisyMax(child, parents, np.split(table[:-1], np.cumsum(rows)[:-1]), table[-1])

    def _fill_gap(self, cpds: dict[str, CPD]) -> None:
        """One variable may lack a distribution if no other needs it; more looks like a file cut short."""
        missing = [name for name in self.variables if name not in cpds]
        needed = {parent.name for cpd in cpds.values() for parent in cpd.parents}
        for name in missing:
            error = self.fail(self.places[name], f"variable {name!r} has no distribution; is the file whole?")
            variable = self.variables[name]
            if len(missing) > 1 or name in needed or not cpds or variable.kind == "continuous":
                raise error
            said = str(error).replace("is the file whole?", "it is taken as uniform")
            warnings.warn(said, PlausibleWarning, stacklevel=5)
            cpds[name] = Table(variable, (), np.full(len(variable.states), 1 / len(variable.states)))
