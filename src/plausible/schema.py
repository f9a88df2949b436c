"""What the columns of a table, or the nodes of a network, are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

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
    cuts : tuple of float
        Where numbers are cut into intervals, which are the states: state i holds those above cuts[i - 1] and up to
        cuts[i].
    dates : bool
        Whether the cells are dates, which are taken as days since 1970.

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
    cuts: tuple[float, ...] = ()
    dates: bool = False

    def __post_init__(self) -> None:
        if self.kind != "categorical" and self.states:
            raise CallError(f"variable {self.name!r} is {self.kind}: it can't have states")
        if len(set(self.states)) < len(self.states):
            twice = next(state for i, state in enumerate(self.states) if state in self.states[:i])
            raise CallError(f"variable {self.name!r} has the state {twice!r} twice; give each state one name")

    @property
    def holds_numbers(self) -> bool:
        """Whether its cells are numbers, which may be cut into intervals."""
        return self.kind == "continuous" or bool(self.cuts)

    @property
    def taken_as(self) -> str:
        """Intervals, dates, or its kind."""
        return "intervals" if self.cuts else "dates" if self.dates else self.kind

    def index(self, state: str) -> int:
        """The position of `state`; CallError with the nearest name where there is none."""
        try:
            return self.states.index(state)
        except ValueError:
            raise CallError(unknown(f"state of variable {self.name!r}", state, self.states)) from None


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
