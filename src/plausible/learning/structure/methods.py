"""The methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any

from plausible.counting import Counter
from plausible.errors import CallError, unknown
from plausible.learning.structure.exact import exact
from plausible.learning.structure.ges import ges
from plausible.learning.structure.hill import hill_climb, tabu
from plausible.learning.structure.k2 import k2
from plausible.learning.structure.pc import pc
from plausible.learning.structure.search import Structure
from plausible.learning.structure.trees import chow_liu, tan

METHODS: Mapping[str, Callable[..., Structure]] = {
    "ges": ges,
    "k2": k2,
    "hill-climb": hill_climb,
    "tabu": tabu,
    "pc": pc,
    "exact": exact,
    "chow-liu": chow_liu,
    "tan": tan,
}


def learn_structure(counter: Counter, method: str = "ges", **options: Any) -> Structure:
    """Learn which arcs there are, by the method of that name with its own options.

    Examples
    --------
    >>> from plausible.coding import read_cases
    >>> cases = read_cases([{"rain": r, "wet": w} for r, w in ["nn", "ny", "yy", "yy", "nn", "nn"] * 5])
    >>> learn_structure(cases, "hill-climb", score="bic").graph.arcs
    (('wet', 'rain'),)
    >>> learn_structure(cases, "tan", score="bic")
    Traceback (most recent call last):
    plausible.errors.CallError: tan takes no score (it takes: target, root)
    """
    return named_method(method, options)(counter)


def named_method(method: str, options: Mapping[str, Any]) -> Callable[[Counter], Structure]:
    """The method of that name with its options, checked."""
    if method not in METHODS:
        raise CallError(unknown("method", method, METHODS))
    takes = [name for name in signature(METHODS[method]).parameters if name != "counter"]
    for name in options:
        if name not in takes:
            raise CallError(f"{method} takes no {name} (it takes: {', '.join(takes)})")
    if method == "tan" and "target" not in options:
        raise CallError("tan needs a target: the column that is the class")
    return partial(METHODS[method], **options)
