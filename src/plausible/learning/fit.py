"""Tables from counts: how a network gets its numbers from complete data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from plausible.coding import read_mixed
from plausible.counted import Counted, count_rows, families_of, read_like
from plausible.counting import Counter, Counts
from plausible.cpds import Array, NoisyMax, Table
from plausible.errors import CallError, DataError, PlausibleWarning, unknown
from plausible.graph import Graph
from plausible.network import Network
from plausible.schema import Variable

Rule = Callable[[Counts], Array]
"""From a table of zeros in the shape of the counts, the child's states last, to imaginary counts that are added."""


def maximum_likelihood(counts: Counts) -> Array:
    """n_ijk / n_ij. A combination of the parents' states that never occurs gets equal chances."""
    return np.zeros(counts.shape)


def laplace(counts: Counts) -> Array:
    """(n_ijk + 1) / (n_ij + r): each state was seen once before (Laplace 1774; Mitchell 1997, table 6.2)."""
    return np.ones(counts.shape)


def m_estimate(counts: Counts, m: float = 1.0) -> Array:
    """(n_ijk + m p) / (n_ij + m) with p = 1/r: Mitchell 1997, eq. 6.22, after Cestnik 1990."""
    return np.full(counts.shape, m / counts.shape[-1])


def dirichlet(counts: Counts, pseudo: float = 1.0) -> Array:
    """(n_ijk + a) / (n_ij + r a): Heckerman 1995, eq. 19, with the same a everywhere."""
    return np.full(counts.shape, pseudo)


def bdeu(counts: Counts, sample_size: float = 1.0) -> Array:
    """a = sample_size / (q r), so that all tables rest on equally many imaginary cases: Buntine 1991."""
    return np.full(counts.shape, sample_size / counts.size)


RULES: Mapping[str, Rule] = {
    "maximum-likelihood": maximum_likelihood,
    "laplace": laplace,
    "m-estimate": m_estimate,
    "dirichlet": dirichlet,
    "bdeu": bdeu,
}


def named_rule(name: str | Rule) -> Rule:
    """The rule of that name; "m-estimate:2", "dirichlet:0.5" and "bdeu:10" set its number; "mle" and "m" are short.

    >>> named_rule("laplace")(np.zeros((2, 2))).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if callable(name):
        return name
    stem, colon, given = name.partition(":")
    stem = {"mle": "maximum-likelihood", "m": "m-estimate"}.get(stem, stem)
    if stem not in RULES:
        raise CallError(unknown("rule", stem, RULES))
    rule = RULES[stem]
    if not colon:
        return rule
    keyword = {"m-estimate": "m", "dirichlet": "pseudo", "bdeu": "sample_size"}.get(stem)
    if keyword is None:
        raise CallError(f"the rule {stem!r} takes no number; write {stem!r}")
    try:
        number = float(given)
    except ValueError:
        number = -1.0
    if number < 0 or not isfinite(number):
        raise CallError(f"the number of {stem!r} is {given!r}; it is 0 or more, as in {stem}:1")
    return partial(rule, **{keyword: number})


def fit(
    model: Graph | Network | Mapping[str, Sequence[str]],
    data: Counter | Any,
    rule: str | Rule = "bdeu",
    *,
    prior: Network | None = None,
    weight: float = 1.0,
) -> Network:
    """A network from its arcs and data without gaps: each distribution is learned from the counts of its family.

    Parameters
    ----------
    model : Graph, Network, or mapping of str to sequence of str
        The arcs, as the parents of each variable. A network keeps its states, also those that don't occur, and
        learns its distributions anew.
    data : Counter, path, SQL text, data frame, or list of dictionaries
        Columns that are not in the model are left out. `read_cases` can cut numbers into intervals first; else columns
        of many numbers are continuous, and linear Gaussians given their parents: least squares, with the mean squared
        residual as variance.
    rule : str or Rule
        From counts to probabilities: "bdeu", "laplace", "m-estimate", "dirichlet" or "maximum-likelihood".
    prior : Network, optional
        With the same arcs: it counts as `weight` imaginary cases a row of each table, in place of the rule.
    weight : float

    Examples
    --------
    >>> days = [{"rain": r, "wet": w} for r, w in ["nn", "ny", "yy", "yy"]]
    >>> fit({"wet": ["rain"]}, days, "laplace")["wet"].values.tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    return count(model, data, rule, prior=prior, weight=weight).network


def count(
    model: Graph | Network | Mapping[str, Sequence[str]],
    data: Counter | Any,
    rule: str | Rule = "bdeu",
    *,
    prior: Network | None = None,
    weight: float = 1.0,
) -> Counted:
    """The same with the counts, so that rows can be added and forgotten, and doubts shown; see `fit`.

    Examples
    --------
    >>> days = [{"rain": r, "wet": w} for r, w in ["nn", "ny", "yy", "yy"]]
    >>> count({"wet": ["rain"]}, days).counts["wet"].tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """
    graph = model.graph if isinstance(model, Network) else model if isinstance(model, Graph) else Graph(model)
    like = model if isinstance(model, Network) else None
    counter = data if isinstance(data, Counter) else _read(data, graph, like)
    counted = {variable.name: variable for variable in (like or counter).variables}
    for name in graph.nodes:
        if name not in counted:
            raise DataError(unknown("variable in the data", name, counted))
    families = families_of(graph, counted)
    say_new_kinds(like)
    pseudo = imaginary(families, rule, prior, weight)
    counts, rows = count_rows(families, counter)
    return Counted.of(families, counts, pseudo, rows, like)


def _read(data: Any, graph: Graph, like: Network | None) -> Counter:
    if like is not None:
        return read_like(data, like.variables)
    found = read_mixed(data, keep=graph.nodes)
    return found if found.numbers else found.cases


def say_new_kinds(like: Network | None, fixed: Collection[str] = ()) -> None:
    """A warning where a network's distribution gives way to a table."""
    names = [
        n for n, cpd in (() if like is None else like.cpds.items()) if isinstance(cpd, NoisyMax) and n not in fixed
    ]
    if names:
        warnings.warn(
            f"{', '.join(names)}: learned as a whole table, no longer as a noisy-max", PlausibleWarning, stacklevel=4
        )


def imaginary(
    families: Sequence[list[Variable]], rule: str | Rule, prior: Network | None = None, weight: float = 1.0
) -> dict[str, Array]:
    """The imaginary counts of each categorical family: the rule's, or the prior network's with this weight."""
    add = named_rule(rule)
    if not 0 <= weight < float("inf"):
        raise CallError(f"the weight of the prior is {weight}; it is 0 or more")
    found = {}
    for family in families:
        if family[-1].kind == "continuous":
            continue
        shape = [len(variable.states) for variable in family]
        added = add(np.zeros(shape, dtype=np.int64)) if prior is None else weight * prior_table(prior, family)
        found[family[-1].name] = np.asarray(added, dtype=np.float64)
    return found


def prior_table(prior: Network, family: list[Variable]) -> Array:
    child = family[-1].name
    table = prior[child]
    if not isinstance(table, Table) or (*table.parents, table.child) != tuple(family):
        names = ", ".join(variable.name for variable in family[:-1]) or "none"
        raise CallError(
            f"the prior's table of {child!r} is not over the same parents and states ({names}); "
            "give a prior network with the arcs of the one to learn"
        )
    return table.values
