"""Conditional distributions: what each node of a network says about its variable given its parents.

Axis order everywhere: parents in order, then the child; C order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from plausible.errors import CallError, ModelError, unknown
from plausible.schema import Variable
from plausible.text import Tokens
from plausible.wording import quantity

Array = npt.NDArray[np.float64]

SUM_TOLERANCE = 1e-6
"""Rows that miss 1 by this much are rounding and are scaled; anything worse is a mistake."""

ROUNDING = 1e-13
"""Rows that are this near 1 are left as they are, so that writing and reading a table changes nothing."""

LARGEST_TABLE = 1 << 27
"""Entries of the largest table that is built (1 GB)."""


class CPD(Protocol):
    """What a network needs of any conditional distribution."""

    @property
    def child(self) -> Variable: ...

    @property
    def parents(self) -> tuple[Variable, ...]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """P(child | parents) as a table.

    Parameters
    ----------
    child : Variable
    parents : tuple of Variable
    values : array, shape (*states of the parents in order, states of the child)
        Each row, along the last axis, sums to 1.

    Examples
    --------
    >>> storm = Variable("Storm", states=("yes", "no"))
    >>> lightning = Variable("Lightning", states=("yes", "no"))
    >>> Table(lightning, (storm,), [[0.7, 0.3], [0.01, 0.9]])
    Traceback (most recent call last):
    plausible.errors.ModelError: P(Lightning | Storm=no) sums to 0.91, not 1; mend the row
    """

    child: Variable
    parents: tuple[Variable, ...]
    values: Array

    def __init__(self, child: Variable, parents: Sequence[Variable], values: npt.ArrayLike) -> None:
        parents = tuple(parents)
        table = np.ascontiguousarray(numbers(values, f"the table of {child.name!r}"))
        shape = table_shape(child, parents)
        if table.shape != shape:
            raise ModelError(
                f"the table of {child.name!r} has shape {table.shape}, but its parents and itself have "
                f"{shape} states; give the parents in order, then {child.name!r}"
            )
        if not table.size:
            raise ModelError(f"variable {child.name!r} or one of its parents has no states; name its states")
        if not table.min() >= 0:  # NaN compares false
            spot = np.argwhere(~(table >= 0))[0]
            where = row_name(child, parents, spot[:-1], child.states[spot[-1]])
            raise ModelError(f"{where} is {table[tuple(spot)]:g}; probabilities are numbers from 0 to 1")
        sums = table.sum(axis=-1)
        off = np.abs(sums - 1)
        worst = off.max()
        if not worst <= SUM_TOLERANCE:
            spot = np.argwhere(off == worst)[0]
            where = row_name(child, parents, spot)
            raise ModelError(f"{where} sums to {sums[tuple(spot)]:.9g}, not 1; mend the row")
        if worst > ROUNDING:
            table = table / sums[..., None]
        table.flags.writeable = False
        object.__setattr__(self, "child", child)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "values", table)

    def __repr__(self) -> str:
        return f"Table({conditional(self.child, self.parents)}, shape {self.values.shape})"


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMax:
    """Independent causes: the child is as high as the highest push (Díez 1993; noisy-or: Pearl 1988).

    Parameters
    ----------
    child : Variable
        States from the lowest (no effect) to the highest.
    parents : tuple of Variable
    pushes : tuple of array, one a parent, shape (states of that parent, states of the child)
        P(child | this parent in that state, all other causes absent).
    leak : array, shape (states of the child,)
        P(child | all causes absent).
    """

    child: Variable
    parents: tuple[Variable, ...]
    pushes: tuple[Array, ...]
    leak: Array

    def __init__(
        self,
        child: Variable,
        parents: Sequence[Variable],
        pushes: Sequence[npt.ArrayLike],
        leak: npt.ArrayLike | None = None,
    ) -> None:
        if len(pushes) != len(parents):
            raise ModelError(
                f"{child.name!r} has {quantity(len(parents), 'parent')} and {quantity(len(pushes), 'push')}; "
                "give one push a parent"
            )
        absent = np.eye(len(child.states))[0] if leak is None else leak
        checked = tuple(Table(child, (parent,), push).values for parent, push in zip(parents, pushes, strict=True))
        object.__setattr__(self, "child", child)
        object.__setattr__(self, "parents", tuple(parents))
        object.__setattr__(self, "pushes", checked)
        object.__setattr__(self, "leak", Table(child, (), absent).values)

    def table(self) -> Table:
        """The whole table: P(child <= y | parents) is the product of the causes' P(<= y)."""
        shape = table_shape(self.child, self.parents)
        below = np.broadcast_to(self.leak.cumsum(), shape)
        for axis, push in enumerate(self.pushes):
            spread = [1] * len(shape)
            spread[axis], spread[-1] = push.shape
            below = below * push.cumsum(axis=-1).reshape(spread)
        return Table(self.child, self.parents, np.diff(below, axis=-1, prepend=0.0).clip(0))

    def links(self) -> list[Array]:
        """The causes joined one after the other: P(highest so far | highest before, this parent).

        The first link has the leak in it and no "highest before".
        """
        pushes = [push.cumsum(axis=-1) for push in self.pushes]
        first = self.leak.cumsum() * pushes[0]
        rest = [np.tril(np.ones((len(self.leak),) * 2)).T[:, None, :] * push for push in pushes[1:]]
        return [np.diff(below, axis=-1, prepend=0.0) for below in (first, *rest)]


def noisy_or(child: Variable, parents: Sequence[Variable], chances: Sequence[float], leak: float = 0.0) -> NoisyMax:
    """Each parent that is present, its last state, brings the child about with its own chance.

    The child and the parents have two states, absent then present. `leak` is the chance of the child
    when every parent is absent (Pearl 1988, section 4.3.2).

    >>> cold, flu, fever = (Variable(name, states=("no", "yes")) for name in ("cold", "flu", "fever"))
    >>> noisy_or(fever, (cold, flu), [0.4, 0.8], leak=0.01).table().values[1, 1].round(4).tolist()
    [0.1188, 0.8812]
    """
    for variable in (child, *parents):
        if len(variable.states) != 2:
            raise ModelError(
                f"noisy_or needs two states, absent and present, but {variable.name!r} has "
                f"{len(variable.states)}; use NoisyMax"
            )
    pushes = [np.array([[1.0, 0.0], [1 - chance, chance]]) for chance in chances]
    return NoisyMax(child, parents, pushes, [1 - leak, leak])


def deterministic(child: Variable, parents: Sequence[Variable], function: Callable[..., str]) -> Table:
    """The table of a child whose state is a function of the parents' states, called with their names.

    >>> bit = ("0", "1")
    >>> a, b, c = (Variable(name, states=bit) for name in "abc")
    >>> deterministic(c, (a, b), lambda x, y: str(int(x != y))).values[1].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    shape = table_shape(child, parents)
    values = np.zeros(shape)
    for row in np.ndindex(shape[:-1]):
        states = (parent.states[i] for parent, i in zip(parents, row, strict=True))
        values[(*row, child.index(function(*states)))] = 1.0
    return Table(child, parents, values)


@dataclass(frozen=True, slots=True, eq=False)
class LinearGaussian:
    """A continuous child: normal, its mean linear in the continuous parents (Lauritzen 1992).

    One regression for each combination of the categorical parents' states, which come first.

    Parameters
    ----------
    child : Variable, continuous
    parents : tuple of Variable
        The categorical ones first, then the continuous ones.
    intercept : array, shape (*states of the categorical parents)
    weights : array, shape (*states of the categorical parents, continuous parents)
    variance : array, shape (*states of the categorical parents)
    """

    child: Variable
    parents: tuple[Variable, ...]
    intercept: Array
    weights: Array
    variance: Array

    def __init__(
        self,
        child: Variable,
        parents: Sequence[Variable],
        intercept: npt.ArrayLike,
        weights: npt.ArrayLike,
        variance: npt.ArrayLike,
    ) -> None:
        kinds = [parent.kind for parent in parents]
        discrete = tuple(parent for parent in parents if parent.kind == "categorical")
        if child.kind != "continuous" or kinds != sorted(kinds) or "text" in kinds:
            raise ModelError(
                f"{child.name!r} as a linear Gaussian needs a continuous child and parents that are "
                "categorical, then continuous; order the parents so"
            )
        rows = tuple(len(parent.states) for parent in discrete)
        shapes = {
            "intercept": (intercept, rows),
            "weights": (weights, (*rows, len(parents) - len(discrete))),
            "variance": (variance, rows),
        }
        object.__setattr__(self, "child", child)
        object.__setattr__(self, "parents", tuple(parents))
        for name, (given, shape) in shapes.items():
            array = numbers(given, f"the {name} of {child.name!r}").copy()
            if array.size == 0 == prod(shape):
                array = array.reshape(shape)
            if array.shape != shape:
                raise ModelError(f"the {name} of {child.name!r} has shape {array.shape}, not {shape}")
            if not np.isfinite(array).all() or (name == "variance" and (array < 0).any()):
                raise ModelError(
                    f"the {name} of {child.name!r} holds a number that is not finite, or a variance below 0"
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def discrete(self) -> tuple[Variable, ...]:
        return self.parents[: self.intercept.ndim]

    @property
    def continuous(self) -> tuple[Variable, ...]:
        return self.parents[self.intercept.ndim :]


@dataclass(frozen=True, eq=False)
class Words:
    """A text as a bag of words whose chances hang on one categorical parent (Mitchell 1997, section 6.10).

    The likelihood is that of the words given how many there are; words that are not among `terms` say nothing.

    Parameters
    ----------
    child : Variable, text
    parents : tuple of one Variable, categorical
    terms : tuple of str
    values : array, shape (states of the parent, terms)
        P(a word is this term | state), each row summing to 1; with Bernoulli events P(the text holds the term | state).
    events : "multinomial" or "bernoulli"
    tokens : Tokens
        How a text is cut into terms.
    length : float
        The mean number of words of a text that is drawn; multinomial events only.

    Examples
    --------
    >>> label, text = Variable("class", states=("ham", "spam")), Variable("text", "text")
    >>> words = Words(text, (label,), ("meeting", "money"), [[0.9, 0.1], [0.2, 0.8]])
    >>> np.exp(words.log_likelihood("Money, money!")).round(2).tolist()
    [0.01, 0.64]
    """

    child: Variable
    parents: tuple[Variable, ...]
    terms: tuple[str, ...]
    values: Array
    events: Literal["multinomial", "bernoulli"]
    tokens: Tokens
    length: float

    def __init__(
        self,
        child: Variable,
        parents: Sequence[Variable],
        terms: Sequence[str],
        values: npt.ArrayLike,
        events: Literal["multinomial", "bernoulli"] = "multinomial",
        tokens: Tokens | None = None,
        length: float = 20.0,
    ) -> None:
        if child.kind != "text" or [parent.kind for parent in parents] != ["categorical"]:
            raise ModelError(
                f"{child.name!r} as words needs a text child and one categorical parent; give several parents one "
                "child between them and the text"
            )
        if events not in ("multinomial", "bernoulli"):
            raise ModelError(f"the events of {child.name!r} are {events!r}; use 'multinomial' or 'bernoulli'")
        if len(set(terms)) < len(terms):
            twice = next(term for term, times in Counter(terms).items() if times > 1)
            raise ModelError(f"{child.name!r} has the term {twice!r} twice; name each once")
        if not 0 <= length < np.inf:
            raise ModelError(f"the length of {child.name!r} is {length!r}; give a mean number of words from 0 up")
        words = Variable(child.name, states=tuple(terms))
        if events == "multinomial" and terms:
            chances = Table(words, parents, values).values
        else:
            chances = numbers(values, f"the words of {child.name!r}").copy()
            shape = table_shape(words, parents)
            if chances.shape != shape:
                raise ModelError(f"the words of {child.name!r} have shape {chances.shape}, not {shape}")
            if not ((chances >= 0) & (chances <= 1)).all():
                raise ModelError(f"the words of {child.name!r} hold a number that is no probability; mend it")
            chances.flags.writeable = False
        fields = (child, tuple(parents), tuple(terms), chances, events, tokens or Tokens(), float(length))
        for name, value in zip(self.__dataclass_fields__, fields, strict=True):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Words({conditional(self.child, self.parents)}, {quantity(len(self.terms), 'term')})"

    @cached_property
    def _places(self) -> dict[str, int]:
        return {term: i for i, term in enumerate(self.terms)}

    @cached_property
    def _logs(self) -> tuple[Array, Array]:
        """What a term adds to the log-likelihood of each state, shape (terms, states), and what all start with."""
        with np.errstate(divide="ignore"):
            present, absent = np.log(self.values.T), np.log1p(-self.values.T)
        if self.events == "multinomial":
            return present, np.zeros(len(self.values))
        return present, absent

    def log_likelihood(self, text: str) -> Array:
        """ln P(text | state) of each state of the parent, in nats."""
        found = Counter(self.tokens.of(text))
        known = [(self._places[term], times) for term, times in found.items() if term in self._places]
        at = [place for place, _ in known]
        present, absent = self._logs
        if self.events == "multinomial":
            return np.asarray(sum((times * present[place] for place, times in known), absent))
        without = np.ones(len(self.terms), dtype=bool)
        without[at] = False
        return np.asarray(present[at].sum(axis=0) + absent[without].sum(axis=0))

    def draw(self, state: int, rng: np.random.Generator) -> str:
        """The words of a text, drawn, with blanks between them."""
        chances = self.values[state]
        if self.events == "bernoulli":
            chosen = np.flatnonzero(rng.random(len(chances)) < chances)
        else:
            chosen = rng.choice(len(chances), rng.poisson(self.length) if len(chances) else 0, p=chances)
        return " ".join(self.terms[place] for place in chosen)


def as_table(cpd: CPD) -> Table:
    """The distribution as a table; ModelError where it has none."""
    if isinstance(cpd, Table):
        return cpd
    if isinstance(cpd, NoisyMax):
        return cpd.table()
    raise ModelError(
        f"{cpd.child.name!r} is {cpd.child.kind}, so it has no table; ask a network with numbers by `ask_mixed`, and "
        "write one with numbers or texts as .plausible"
    )


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
            f"variable {variable.name!r} has no state number {index}: its states are 0 to {len(variable.states) - 1}"
        )
    return index


def numbers(values: npt.ArrayLike, what: str) -> Array:
    """An array of numbers; ModelError where it holds anything else."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what} holds something other than numbers, or rows of different lengths; mend it") from None


def table_shape(child: Variable, parents: Sequence[Variable]) -> tuple[int, ...]:
    """The shape of P(child | parents), refused where the table could not be held."""
    for variable in (child, *parents):
        if variable.kind != "categorical":
            raise ModelError(f"a table needs categorical variables, but {variable.name!r} is {variable.kind}")
    shape = (*(len(parent.states) for parent in parents), len(child.states))
    size = prod(shape)
    if size > LARGEST_TABLE:
        digits = len(str(size)) - 1
        cost = f"{size:,}" if digits < 16 else f"about 10^{digits}"
        raise ModelError(
            f"the table of {child.name!r} with {quantity(len(parents), 'parent')} would have {cost} entries; "
            "use fewer parents, or noisy_or / NoisyMax"
        )
    return shape


def conditional(child: Variable, parents: Sequence[Variable]) -> str:
    """`P(child | parents)` in names."""
    above = ", ".join(parent.name for parent in parents)
    return f"P({child.name} | {above})" if above else f"P({child.name})"


def row_name(child: Variable, parents: Sequence[Variable], row: npt.NDArray[np.intp], state: str = "") -> str:
    """One row of a table, or one entry of it, in names: `P(Campfire=yes | Storm=no)`."""
    given = ", ".join(f"{p.name}={p.states[i]}" for p, i in zip(parents, row, strict=True))
    of = f"{child.name}={state}" if state else child.name
    return f"P({of} | {given})" if given else f"P({of})"
