"""What is known before asking: values, what is ruled out, likelihoods, distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plausible.cpds import Array, Words, state_index
from plausible.errors import CallError, unknown
from plausible.schema import Variable
from plausible.wording import quantity

Vector = Mapping[str, float] | Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, init=False)
class Not:
    """Negative evidence: none of these states."""

    states: tuple[str | int, ...]

    def __init__(self, *states: str | int) -> None:
        object.__setattr__(self, "states", states)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Virtual evidence: how likely what was seen is under each state (Pearl 1988, section 2.2.2).

    Only the ratios count. A mapping may leave states out: they have likelihood 0.
    """

    values: Vector


@dataclass(frozen=True, slots=True)
class Soft:
    """Soft evidence: the variable's distribution once the evidence is in (Jeffrey 1983)."""

    values: Vector


Finding = str | int | Not | Likelihood | Soft | Vector
"""A state by name or index, or a text; what it is not; likelihoods; or a distribution, which is soft evidence."""

Evidence = Mapping[str, Finding]


def weights(variable: Variable, finding: Not | Likelihood) -> Array:
    """The likelihood of each state under a finding."""
    if isinstance(finding, Likelihood):
        return vector(variable, finding.values, "likelihoods")
    mask = np.ones(len(variable.states))
    mask[[state_index(variable, state) for state in finding.states]] = 0
    if not mask.any():
        raise CallError(f"all states of {variable.name!r} are ruled out; leave one")
    return mask


def text_likelihood(cpd: Words, finding: object) -> Array:
    """ln P(text | state) of each state of the text's parent."""
    if not isinstance(finding, str):
        raise CallError(f"{cpd.child.name!r} is a text: give it as a string, not {finding!r}")
    return cpd.log_likelihood(finding)


def distribution(variable: Variable, values: Vector) -> Array:
    """A distribution over the variable's states, its sum checked."""
    found = vector(variable, values, "probabilities")
    if abs(found.sum() - 1) > 1e-6:
        raise CallError(f"the distribution given for {variable.name!r} sums to {found.sum():g}, not 1")
    return np.asarray(found / found.sum())


def vector(variable: Variable, values: Vector, what: str) -> Array:
    """One number a state, from a mapping by name or from a sequence in state order."""
    if isinstance(values, Mapping):
        found = np.zeros(len(variable.states))
        for state, value in values.items():
            found[variable.index(state)] = value
    else:
        try:
            found = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise CallError(f"the {what} of {variable.name!r} are {values!r}; give one number a state") from None
    if found.shape != (len(variable.states),):
        raise CallError(
            f"{variable.name!r} has {quantity(len(variable.states), 'state')}, and the {what} are {found.size}"
        )
    with np.errstate(over="ignore"):
        total = found.sum()
    if not (np.isfinite(total) and (found >= 0).all() and total > 0):
        raise CallError(f"the {what} of {variable.name!r} must be numbers from 0 up, and not all 0")
    return found


def refuse(variable: Variable, finding: object) -> CallError:
    """The error for something that is no finding."""
    return CallError(
        f"evidence on {variable.name!r} can't be {finding!r}; give a state, Not(state), "
        "Likelihood(...) or a distribution over its states"
    )


def unknown_variable(name: str, names: Sequence[str]) -> CallError:
    return CallError(unknown("variable", name, names))
