"""Tables from cases with gaps and hidden variables: expected counts in place of counts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from plausible.chance import generator
from plausible.coding import read_cases
from plausible.counted import Counted, families_of, places
from plausible.counting import Cases, Counter
from plausible.cpds import Array, LinearGaussian, Table, as_table
from plausible.errors import CallError, DataError, PlausibleWarning, unknown
from plausible.graph import Graph
from plausible.infer.engine import Engine, engine
from plausible.infer.rows import GAP, Expectation, distinct
from plausible.learning.em import Fitted, Step, Stopped, Vector, em
from plausible.learning.fit import Rule, imaginary, say_new_kinds
from plausible.learning.gradient import ascent, quasi_newton
from plausible.learning.sampled import Sampled
from plausible.learning.simplices import Simplices
from plausible.learning.starts import MIXED_IN, first_tables, possible
from plausible.network import Network
from plausible.schema import Variable
from plausible.sources import Source, open_source
from plausible.wording import quantity

Method = Literal["em", "gradient", "lbfgs"]
METHODS: tuple[Method, ...] = ("em", "gradient", "lbfgs")

Hidden = Mapping[str, int | Sequence[str] | None] | Collection[str]

MOST_HIDDEN_STATES = 1000

RESTARTS = 4
"""Further starts where a variable is hidden throughout and it is not said how many."""

SAMPLES = 20
"""Completions of each row where exact inference is too wide."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedNetwork:
    """A network with the tables that were learned, and how the search went.

    Parameters
    ----------
    counted : Counted
        The network and the expected counts of each family.
    log_likelihood : float
        ln P(what was seen | tables), in nats.
    objective : float
        The same, and the log of the prior that stands for the rule.
    trace : array
        The objective from the start of the best run to its end; it never falls.
    iterations, stopped, run
        As in `em`.
    gaps : int
        Cells that were empty, of the variables that are not hidden.
    exact : bool
        Whether expected counts were exact. If they were sampled, log-likelihood, objective and trace are estimates of
        what was gained over the start, since sampling does not tell the level.
    """

    counted: Counted
    log_likelihood: float
    objective: float
    trace: Vector
    iterations: int
    stopped: Stopped
    run: int
    gaps: int
    exact: bool = True

    @property
    def network(self) -> Network:
        return self.counted.network

    @property
    def counts(self) -> Mapping[str, Array]:
        """Expected counts of each family, in the shape of its table; they hold no smoothing."""
        return self.counted.counts  # type: ignore[return-value]

    @property
    def rows(self) -> int:
        """Cases that were learned from: all of them."""
        return self.counted.rows


def fit_hidden(
    model: Graph | Network | Mapping[str, Sequence[str]],
    data: Any,
    rule: str | Rule = "bdeu",
    *,
    hidden: Hidden = (),
    gaps: Sequence[str] = ("",),
    method: Method = "em",
    prior: Network | None = None,
    weight: float = 1.0,
    fixed: Collection[str] = (),
    tied: Sequence[Sequence[str]] = (),
    restarts: int | None = None,
    seed: int = 0,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
    max_seconds: float = math.inf,
    accelerate: bool = False,
    progress: Callable[[Step], None] | None = None,
    threads: int = 0,
    memory: float | None = None,
    samples: int | None = None,
) -> FittedNetwork:
    """A network from its arcs and data with gaps, or with variables that no one has seen.

    Parameters
    ----------
    model : Graph, Network, or mapping of str to sequence of str
        The arcs. A network also gives the states, and the tables to start from.
    data : Cases, path, SQL text, data frame, or list of dictionaries
    rule : str or Rule
        As in `fit`: what is learned is the mode that has its imaginary counts as prior.
    hidden : mapping of str to int or sequence of str, or collection of str
        The variables without a column, with their number of states or their names; those of a network have states.
    gaps : sequence of str
        Cells with these texts are gaps, besides those that are missing.
    method : "em", "gradient" or "lbfgs"
        Expectation maximisation; the gradient, step by step (Russell et al. 1995); or L-BFGS on the tables' logarithms.
        All climb to the same peak from the same start, where there is one near.
    prior, weight
        As in `fit`.
    fixed : collection of str
        Variables of a network whose tables stay as they are.
    tied : sequence of groups of str
        Variables whose tables are one and the same.
    restarts : int, optional
        Further starts from tables drawn at random; the highest peak is the answer. 4 if something is hidden, else 0.
    seed : int
    tolerance, max_iterations, max_seconds, progress
        As in `em`.
    accelerate : bool
        With "em": leap ahead (SQUAREM).
    threads : int
        0 uses all processors. The result does not depend on it.
    memory : float, optional
        Bytes that exact inference may take.
    samples : int, optional
        Complete each row so many times by Gibbs sampling, in place of exact inference. By default that is done, 20
        times and with a warning, only where exact inference would take too much memory.

    Examples
    --------
    Two coins, either of them picked equally often; heads in 10 throws (Do and Batzoglou 2008, figure 1):

    >>> throws = [{f"throw {i}": "heads" if i < heads else "tails" for i in range(10)} for heads in (5, 9, 8, 4, 7)]
    >>> coin, side = Variable("coin", states=("A", "B")), ("heads", "tails")
    >>> toss = [Table(Variable(name, states=side), (coin,), [[0.6, 0.4], [0.5, 0.5]]) for name in throws[0]]
    >>> start = Network(None, [Table(coin, (), [0.5, 0.5]), *toss])
    >>> found = fit_hidden(start, throws, "maximum-likelihood", hidden=["coin"], fixed=["coin"],
    ...                    tied=[list(throws[0])], restarts=0)
    >>> found.network["throw 0"].values[:, 0].round(2).tolist()
    [0.8, 0.52]
    """
    if method not in METHODS:
        raise CallError(unknown("method", str(method), METHODS))
    if accelerate and method != "em":
        raise CallError(f"accelerate goes with the method 'em', not with {method!r}; leave it out")
    if restarts is not None and restarts < 0:
        raise CallError(f"restarts is {restarts}; it is 0 or more")
    if samples is not None and samples < 1:
        raise CallError(f"samples is {samples}; it is 1 or more")
    graph = model.graph if isinstance(model, Network) else model if isinstance(model, Graph) else Graph(model)
    like = model if isinstance(model, Network) else None
    new = _hidden(hidden, graph, like)
    cases = _cases(data, graph, like, new, gaps)
    seen = {variable.name: variable for variable in cases.variables}
    known = {v.name: v for v in like.variables} if like is not None else seen
    states = {name: new.get(name) or known[name] for name in graph.nodes}
    families = families_of(graph, states)
    say_new_kinds(like, fixed)
    shapes = [tuple(len(v.states) for v in family) for family in families]
    pseudo = imaginary(families, rule, prior, weight)
    kept = _fixed(fixed, graph, like, families)
    first = first_tables(families, like, cases, new, fixed, generator(seed, 0))
    simplices = Simplices.of(first, list(pseudo.values()), kept, _tied(tied, fixed, graph, shapes))
    drawn = Network(
        None,
        [Table(family[-1], family[:-1], table) for family, table in zip(families, first, strict=True)],
        name=like.name if like is not None else "",
        properties=like.properties if like is not None else None,
    )
    columns = _columns(cases, states)
    rows, shares = distinct(columns)
    tree = engine(drawn)
    exact = _exact(tree, rows, shares, threads, memory) if samples is None else None
    values = simplices.settled(simplices.fixed[simplices.leader])
    further = restarts if restarts is not None else RESTARTS if new and exact is not None else 0
    if further and exact is None:
        raise CallError("with sampling runs can't be compared, so there are no restarts; try other seeds instead")
    expectation: Expectation | Sampled
    if exact is not None:
        expectation, first_values = exact, possible(values, simplices, exact, rows, columns)
    else:
        first_values = simplices.settled(values + MIXED_IN / simplices.sums(np.ones(len(values))))
        expectation = Sampled(tree, rows, shares, first_values, samples=samples or SAMPLES, seed=seed)

    def e_step(values: Array) -> tuple[Array, float]:
        counts, logs = expectation(values)
        return counts, float(shares @ logs)

    def starts() -> Iterator[Array]:
        yield first_values
        for run in range(further):
            yield simplices.random(generator(seed, run + 1))

    best = em(
        starts(),
        e_step,
        simplices.estimate,
        log_prior=simplices.log_prior,
        tolerance=tolerance,
        max_iterations=max_iterations,
        max_seconds=max_seconds,
        progress=progress,
        mend=expectation.redrawn if isinstance(expectation, Sampled) else None,
        accelerate=(np.sqrt, lambda v: simplices.settled(v**2)) if accelerate else None,  # no leap ends at 0
        path={"em": None, "gradient": ascent(simplices), "lbfgs": quasi_newton(simplices)}[method],
    )
    return _fitted(best, drawn, pseudo, cases, exact is not None)


def _fitted(
    best: Fitted[Array, Array], drawn: Network, pseudo: Mapping[str, Array], cases: Cases, exact: bool
) -> FittedNetwork:
    """The flat arrays of the best run as tables."""
    tables, counts, at = [], {}, 0
    for name, a in pseudo.items():
        place = slice(at, at + a.size)
        tables.append(Table(drawn[name].child, drawn[name].parents, best.parameters[place].reshape(a.shape)))
        counts[name] = best.statistics[place].reshape(a.shape)
        at += a.size
    counted = Counted(drawn.replace(*tables), counts, pseudo, cases.rows, expected=True)
    return FittedNetwork(
        counted,
        best.log_likelihood,
        best.objective,
        best.trace,
        best.iterations,
        best.stopped,
        best.run,
        sum(cases.gaps.values()),
        exact,
    )


def _exact(
    tree: Engine, rows: npt.NDArray[Any], shares: Array, threads: int, memory: float | None
) -> Expectation | None:
    """Exact expectations, or None with a warning where they would take too much memory."""
    try:
        return Expectation(tree, rows, shares, threads=threads, memory=memory)
    except CallError as error:
        warnings.warn(
            f"{str(error).partition('; ')[0]}: expected counts are estimated from {SAMPLES} completions of each row "
            "by Gibbs sampling",
            PlausibleWarning,
            stacklevel=3,
        )
        return None


def _hidden(hidden: Hidden, graph: Graph, like: Network | None) -> dict[str, Variable]:
    """The variables that have no column, with their states."""
    given = dict(hidden) if isinstance(hidden, Mapping) else dict.fromkeys(hidden)
    found = {}
    for name, wanted in given.items():
        if name not in graph.parents:
            raise CallError(unknown("hidden variable", name, graph.nodes))
        own = like[name].child if like is not None else None
        if wanted is None:
            if own is None:
                raise CallError(f"how many states has {name!r}? say hidden={{{name!r}: 2}}")
            found[name] = own
        elif not isinstance(wanted, int):
            found[name] = Variable(name, states=tuple(wanted))
        elif own is not None and len(own.states) == wanted:
            found[name] = own
        elif 1 <= wanted <= MOST_HIDDEN_STATES:
            found[name] = Variable(name, states=tuple(str(k + 1) for k in range(wanted)))
        else:
            raise CallError(f"{name!r} can't have {quantity(wanted, 'state')}; give it 1 to {MOST_HIDDEN_STATES:,}")
    return found


def _cases(data: Any, graph: Graph, like: Network | None, hidden: Mapping[str, Variable], gaps: Sequence[str]) -> Cases:
    """The columns of the variables that are not hidden."""
    for name, cpd in () if like is None else like.cpds.items():
        if isinstance(cpd, LinearGaussian):
            raise CallError(
                f"{name!r} is continuous; expected counts are of states only: use fit, which needs every cell, or "
                "cut its numbers into intervals"
            )
    if isinstance(data, Counter) and not isinstance(data, Cases):
        raise CallError(f"gaps and hidden variables need the rows, and a {type(data).__name__} has none to give; "
                        "give the table itself")  # fmt: skip
    source = data if isinstance(data, Cases | Source) else open_source(data)
    columns = [v.name for v in source.variables] if isinstance(source, Cases) else list(source.columns)
    check_seen(graph.nodes, columns, hidden)
    seen = [name for name in graph.nodes if name not in hidden]
    if not seen:
        raise CallError("all variables are hidden; something must be seen")
    if isinstance(source, Cases):
        at = {name: i for i, name in enumerate(columns)}
        cases = Cases(
            tuple(source.variables[at[n]] for n in seen), tuple(source.codes[at[n]] for n in seen), source.threads
        )
    else:
        cases = read_cases(source, like=like and [like[name].child for name in seen], keep=seen, gaps=gaps)
    if not cases.rows:
        raise DataError("the table has no row; learn from one at least")
    return cases


def check_seen(names: Sequence[str], columns: Collection[str], hidden: Collection[str] = ()) -> None:
    """An error where a hidden variable has a column, or another has none."""
    for name in names:
        if name in hidden and name in columns:
            raise CallError(
                f"{name!r} is to be hidden, but the cases have a column of that name; leave out one of them"
            )
        if name not in hidden and name not in columns:
            raise DataError(
                unknown("variable in the data", name, columns, then="if no one has seen it, say that it is hidden")
            )


def _columns(cases: Cases, states: Mapping[str, Variable]) -> list[npt.NDArray[np.signedinteger[Any]]]:
    """A column of codes for each variable, by the states of the network; a hidden one is a gap throughout."""
    columns: list[npt.NDArray[np.signedinteger[Any]]] = []
    at = {v.name: i for i, v in enumerate(cases.variables)}
    for name, variable in states.items():
        if name not in at:
            columns.append(np.broadcast_to(np.int8(GAP), cases.rows))
            continue
        codes, counted = cases.codes[at[name]], cases.variables[at[name]]
        order = places(counted, variable)
        columns.append(codes if order is None else np.array([*order, GAP])[codes].astype(codes.dtype))
    return columns


def _fixed(
    fixed: Collection[str], graph: Graph, like: Network | None, families: Sequence[list[Variable]]
) -> frozenset[int]:
    for name in fixed:
        if name not in graph.parents:
            raise CallError(unknown("variable to keep fixed", name, graph.nodes))
        if like is None:
            raise CallError(f"the table of {name!r} is to stay as it is, but there is none; give a network")
        family = families[graph.nodes.index(name)]
        if [len(v.states) for v in family] != list(as_table(like[name]).values.shape):
            raise CallError(f"the table of {name!r} can't stay: a hidden variable in it gets other states")
    return frozenset(graph.nodes.index(name) for name in fixed)


def _tied(
    tied: Sequence[Sequence[str]], fixed: Collection[str], graph: Graph, shapes: Sequence[tuple[int, ...]]
) -> list[list[int]]:
    groups, used = [], set(fixed)
    for group in tied:
        for name in group:
            if name not in graph.parents:
                raise CallError(unknown("variable to tie", name, graph.nodes))
            if name in used:
                raise CallError(f"{name!r} is tied twice, or tied and fixed; name it once")
            used.add(name)
        at = [graph.nodes.index(name) for name in group]
        for other, place in zip(group[1:], at[1:], strict=True):
            if shapes[place] != shapes[at[0]]:
                raise CallError(
                    f"{group[0]!r} and {other!r} can't share a table: theirs have the shapes {shapes[at[0]]} and "
                    f"{shapes[place]}, parents first"
                )
        groups.append(at)
    return groups
