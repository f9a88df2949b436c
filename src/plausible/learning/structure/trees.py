"""Trees: the best one over all variables (Chow and Liu 1968), and one over the attributes of a class
(tree-augmented naive Bayes: Friedman, Geiger and Goldszmidt 1997)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.counting import Counter, count_families, places, positions, refuse_gaps, state_numbers
from plausible.errors import CallError
from plausible.graph import spanning_tree
from plausible.learning.structure.search import Structure, Watch, structure


def chow_liu(counter: Counter, *, root: str | None = None) -> Structure:
    """The tree with the highest likelihood: a spanning tree of greatest mutual information.

    Variables that have nothing to do with one another stay apart. Arrows lead away from `root`, by default
    the first variable.
    """
    refuse_gaps(counter, "chow_liu", "em")
    start = 0 if root is None else positions(places(counter.variables), [root])[0]
    everyone = list(range(len(counter.variables)))
    everyone.insert(0, everyone.pop(start))
    parents = spanning_tree(_information(counter, everyone, ()).tolist(), everyone)
    return structure(counter.variables, parents, None, Watch())


def tan(counter: Counter, target: str, *, root: str | None = None) -> Structure:
    """Naive Bayes whose attributes form a tree: each has the class and one other attribute as parents."""
    refuse_gaps(counter, "tan", "em")
    (centre,) = positions(places(counter.variables), [target])
    if root == target:
        raise CallError(f"the root of the tree is an attribute, but {target!r} is the class; name another")
    attributes = [v for v in range(len(counter.variables)) if v != centre]
    if root is not None:
        start = positions(places(counter.variables), [root])[0]
        attributes.remove(start)
        attributes.insert(0, start)
    parents = spanning_tree(_information(counter, attributes, (centre,)).tolist(), attributes)
    for v in attributes:
        parents[v] = [centre, *parents[v]]
    return structure(counter.variables, parents, None, Watch())


def _information(counter: Counter, among: Sequence[int], given: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """2 n times the mutual information of each pair, given a variable or none: their G²."""
    n = len(counter.variables)
    states = state_numbers(counter.variables)
    information = np.zeros((n, n))
    for y in among:
        families = np.array([(x, *given, y) for x in among if x < y], dtype=np.int32).reshape(-1, 2 + len(given))
        if len(families):
            tables = count_families(counter, families)
            g2, _, _ = _native.dependences(tables.cells, tables.starts, states[families[:, 0]], tables.states)
            information[families[:, 0], y] = information[y, families[:, 0]] = g2
    return information
