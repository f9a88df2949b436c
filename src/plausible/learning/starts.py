"""Tables that a search for hidden values starts from."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.counting import Cases
from plausible.cpds import Array, as_table
from plausible.errors import DataError, PlausibleWarning
from plausible.infer.rows import Expectation
from plausible.learning.simplices import Simplices
from plausible.network import Network
from plausible.schema import Variable

MIXED_IN = 0.01
"""The part of equal chances that goes into tables to start from, where they rule out a case."""

SCATTER = 4.0
"""Tables of hidden variables start near equal chances: as if each had been seen about so often."""


def first_tables(
    families: Sequence[list[Variable]],
    like: Network | None,
    cases: Cases,
    hidden: Mapping[str, Variable],
    fixed: Collection[str],
    rng: np.random.Generator,
) -> list[Array]:
    """Where the first run begins: a network's own tables, or what the rows without gaps in a family say.

    Tables of hidden variables and their children are drawn at random where the network has none, or none that tell
    the hidden states apart, since no step leads away from there.
    """
    own = {} if like is None else {name: like[name] for name in like.names}
    blind = {name for name in hidden if name not in own or _blind(hidden[name], families, own)}
    tables = []
    for family in families:
        shape = tuple(len(v.states) for v in family)
        if family[-1].name not in fixed and any(variable.name in blind for variable in family):
            tables.append(rng.dirichlet(np.full(shape[-1], SCATTER), prod(shape[:-1])).reshape(shape))
        elif like is not None:
            tables.append(as_table(own[family[-1].name]).values)
        else:
            counts = cases.counts([v.name for v in family]) + 1.0
            tables.append(counts / counts.sum(axis=-1, keepdims=True))
    return tables


def _blind(hidden: Variable, families: Sequence[list[Variable]], own: Mapping[str, Any]) -> bool:
    """Whether a network's tables don't fit the hidden variable's states, or no child's table tells them apart."""
    told = []
    for family in families:
        names = [variable.name for variable in family]
        if hidden.name not in names:
            continue
        table = as_table(own[names[-1]]).values
        axis = names.index(hidden.name)
        if table.shape[axis] != len(hidden.states):
            return True
        if axis < len(names) - 1:
            told.append(bool(np.ptp(table, axis=axis).max() > 0))
    return len(hidden.states) > 1 and bool(told) and not any(told)


def possible(
    values: Array,
    simplices: Simplices,
    expectation: Expectation,
    rows: npt.NDArray[Any],
    columns: Sequence[npt.NDArray[Any]],
) -> Array:
    """Tables under which every case can be, since zeros stay zeros for ever; a little is mixed in where one can't."""
    even = MIXED_IN / simplices.sums(np.ones(len(values)))
    if (values[simplices.pseudo > 0] == 0).any():  # the prior says that they are not
        values = simplices.settled(values + even)
    if values.all():
        return values
    _, logs = expectation(values)
    if not np.isneginf(logs).any():
        return values

    def row() -> int:
        case = rows[int(np.isneginf(logs).argmax())]
        return int(np.logical_and.reduce([c == code for c, code in zip(columns, case, strict=True)]).argmax())

    warnings.warn(
        f"the tables to start from rule out row {row()}: {MIXED_IN:.0%} of equal chances was mixed into them",
        PlausibleWarning,
        stacklevel=4,
    )
    values = simplices.settled(values + even)
    _, logs = expectation(values)
    if np.isneginf(logs).any():
        raise DataError(f"row {row()} has probability 0 by the tables that are fixed; mend the row, or free a table")
    return values
