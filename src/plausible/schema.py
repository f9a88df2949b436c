"""What the columns of a table, or the nodes of a network, are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from plausible.errors import CallError, unknown

Kind = Literal["categorical", "continuous", "text"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A named variable.

    Parameters
    ----------
    name : str
    kind : "categorical", "continuous" or "text"
    states : tuple of str
        The values a categorical variable can take, in the order in which tables list them.
        Empty for the other kinds.
    ordered : bool
        Whether the order of the states means something (small < medium < large).

    Examples
    --------
    >>> wind = Variable("Wind", states=("weak", "strong"))
    >>> wind.index("strong")
    1
    """

    name: str
    kind: Kind = "categorical"
    states: tuple[str, ...] = ()
    ordered: bool = False

    def __post_init__(self) -> None:
        if self.kind != "categorical" and self.states:
            raise CallError(f"variable {self.name!r} is {self.kind}: it can't have states")
        if len(set(self.states)) < len(self.states):
            twice = next(state for i, state in enumerate(self.states) if state in self.states[:i])
            raise CallError(f"variable {self.name!r} has the state {twice!r} twice; give each state one name")

    def index(self, state: str) -> int:
        """The position of `state`; CallError with the nearest name where there is none."""
        try:
            return self.states.index(state)
        except ValueError:
            raise CallError(unknown(f"state of variable {self.name!r}", state, self.states)) from None


def state_index(variable: Variable, state: str | int | np.integer[Any] | np.bool_) -> int:
    """The index of a state given by name, by index, or as True or False."""
    if isinstance(state, str):
        return variable.index(state)
    if isinstance(state, (bool, np.bool_)):
        named = [k for k, name in enumerate(variable.states) if name.casefold() == str(state).casefold()]
        if len(named) != 1:
            raise CallError(unknown(f"state of variable {variable.name!r}", str(state), variable.states))
        return named[0]
    index = int(state)
    if str(index) in variable.states and variable.states.index(str(index)) != index:
        raise CallError(
            f"is {index} the state {str(index)!r} of variable {variable.name!r}, or its state number "
            f"{index}? write {str(index)!r}, in quotes, for the name, or any other state by its name"
        )
    if not 0 <= index < len(variable.states):
        raise CallError(
            f"variable {variable.name!r} has no state number {index}: its {len(variable.states)} states are "
            f"0 to {len(variable.states) - 1}"
        )
    return index


@dataclass(frozen=True, slots=True)
class Schema:
    """The variables of a table or network, and which of them is to be predicted, if one is."""

    variables: tuple[Variable, ...]
    target: str | None = None

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.variables]
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise CallError(f"the name {twice!r} is used for two variables; rename one")
        if self.target is not None and self.target not in names:
            raise CallError(unknown("target", self.target, names))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.variables)

    def __getitem__(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise CallError(unknown("variable", name, self.names))

    def with_variable(self, variable: Variable) -> Schema:
        """A schema in which the variable of that name is `variable`."""
        self[variable.name]
        swapped = tuple(variable if old.name == variable.name else old for old in self.variables)
        return replace(self, variables=swapped)
