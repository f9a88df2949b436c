"""The parameters of a network by whatever its cases need: counts where they are whole, else expected counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from plausible.counted import Counted, read_like
from plausible.counting import Counter
from plausible.errors import CallError, unknown
from plausible.learning.fit import Rule, count
from plausible.learning.hidden import METHODS, FittedNetwork, Hidden, check_seen, fit_hidden
from plausible.learning.hidden import Method as Search
from plausible.network import Network
from plausible.sources import Source, open_source

Method = Literal["auto", "counts", "em", "gradient", "lbfgs"]


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A network with its counts, and how it was learned.

    `search` tells how it went where counts did not do; `gaps` is how many cells were empty.
    """

    counted: Counted
    method: str
    gaps: int = 0
    search: FittedNetwork | None = None


def learn_parameters(
    model: Network,
    data: Any,
    rule: str | Rule = "bdeu",
    *,
    method: Method = "auto",
    hidden: Hidden = (),
    gaps: Sequence[str] = ("",),
    prior: Network | None = None,
    weight: float = 1.0,
    **search: Any,
) -> Learned:
    """The network with its parameters learned anew from a table; EM where a cell is empty or a variable hidden.

    Parameters
    ----------
    model : Network
    data : Counter, path, SQL text, data frame, or list of dictionaries
    rule, prior, weight
        As in `fit`.
    method : "auto", "counts", "em", "gradient" or "lbfgs"
        "counts" needs every cell; see `fit_hidden` for the others.
    hidden, gaps, **search
        As in `fit_hidden`.

    Examples
    --------
    >>> wet = Network({"rain": [], "wet": ["rain"]}, {"rain": [0.5, 0.5], "wet": [[0.9, 0.1], [0.2, 0.8]]},
    ...               states=("no", "yes"))
    >>> found = learn_parameters(wet, [{"rain": "no", "wet": "no"}, {"rain": None, "wet": "yes"}])
    >>> found.method, found.gaps, found.search.rows
    ('em', 1, 2)
    """
    known = ("auto", "counts", *METHODS)
    if method not in known:
        raise CallError(unknown("method", str(method), known))
    continuous = any(variable.kind == "continuous" for variable in model.variables)
    if method == "counts" and (hidden or any(value not in (None, (), False) for value in search.values())):
        raise CallError(
            "hidden variables, fixed and tied tables, restarts and limits need a search; choose the method em, "
            "gradient or lbfgs, or auto"
        )
    whole = method in ("auto", "counts") and not (hidden or search.get("fixed") or search.get("tied"))
    given: Any = data
    if whole or (not hidden and not continuous):
        if not isinstance(data, Counter):
            source = data if isinstance(data, Source) else open_source(data)
            check_seen(model.names, source.columns)
            given = read_like(source, model.variables, gaps)
        empty = sum(n for name, n in given.gaps.items() if name in model)
        if whole and (continuous or method == "counts" or not empty):
            return Learned(count(model, given, rule, prior=prior, weight=weight), "counts")
    chosen = cast(Search, "em" if method == "auto" else method)
    found = fit_hidden(
        model, given, rule, hidden=hidden, gaps=gaps, method=chosen, prior=prior, weight=weight, **search
    )
    return Learned(found.counted, chosen, found.gaps, found)
