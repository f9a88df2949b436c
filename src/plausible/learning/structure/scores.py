"""Scores of structures: each is a sum over families, higher is better, natural logarithms.

Combinations of the parents' states that never occur add nothing to any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.counting import (
    Counter,
    Families,
    Tables,
    count_families,
    places,
    positions,
    refuse_gaps,
    state_numbers,
    table_shape,
)
from plausible.errors import CallError, unknown
from plausible.graph import Graph
from plausible.learning.structure.pattern import members

Scores = npt.NDArray[np.float64]
Score = Callable[[Tables], Scores]

MOST_CELLS = 1 << 22
"""Cells that are counted at once; longer lists of families are cut."""


def k2(tables: Tables) -> Scores:
    """Every set of tables is equally likely beforehand: Cooper and Herskovits 1992, eq. 8 (their g)."""
    return _native.dirichlets(tables.cells, tables.starts, tables.states, np.ones(len(tables.states)))


def bdeu(tables: Tables, sample_size: float = 1.0) -> Scores:
    """Imaginary cases spread evenly over each table: Heckerman, Geiger and Chickering 1995, eq. 28, 42."""
    priors = np.divide(sample_size, tables.sizes)
    return _native.dirichlets(tables.cells, tables.starts, tables.states, priors)


def bdeu_sparse(tables: Tables, sample_size: float = 1.0) -> Scores:
    """BDeu, and each arc is there with odds of 1 to the number of other variables (Buntine 1991, section 3.2)."""
    price = (tables.families.shape[1] - 1) * log(max(tables.variables - 1, 1))
    scores: Scores = bdeu(tables, sample_size) - price
    return scores


def bic(tables: Tables) -> Scores:
    """Log-likelihood less ln(rows)/2 a parameter: Schwarz 1978. As MDL: Lam and Bacchus 1994."""
    return _likelihood(tables) - log(max(tables.rows, 1)) / 2 * tables.parameters


def aic(tables: Tables) -> Scores:
    """Log-likelihood less 1 a parameter: Akaike 1974."""
    return _likelihood(tables) - tables.parameters


def _likelihood(tables: Tables) -> Scores:
    return _native.likelihoods(tables.cells, tables.starts, tables.states)


SCORES: Mapping[str, Score] = {"k2": k2, "bdeu": bdeu, "bdeu-sparse": bdeu_sparse, "bic": bic, "aic": aic}


def named_score(name: str | Score) -> Score:
    """The score of that name; "bdeu:10" is BDeu with 10 imaginary cases.

    >>> named_score("bic:3")
    Traceback (most recent call last):
    plausible.errors.CallError: the score 'bic' takes no number; write 'bic'
    """
    if callable(name):
        return name
    stem, colon, given = name.partition(":")
    if stem not in SCORES:
        raise CallError(unknown("score", stem, SCORES))
    if not colon:
        return SCORES[stem]
    if not stem.startswith("bdeu"):
        raise CallError(f"the score {stem!r} takes no number; write {stem!r}")
    try:
        sample_size = float(given)
    except ValueError:
        sample_size = -1.0
    if not 0 < sample_size < float("inf"):
        raise CallError(f"the equivalent sample size of BDeu is {given!r}; it is a number above 0, as in bdeu:10")
    return partial(bdeu if stem == "bdeu" else bdeu_sparse, sample_size=sample_size)


def family(own: Sequence[int], child: int) -> Families:
    """The one family of a child and its parents."""
    return np.array([[*own, child]], dtype=np.int32)


def wider(own: Sequence[int], more: Sequence[int] | npt.NDArray[np.integer[Any]], child: int) -> Families:
    """The families of a child with one parent more, the new ones first: so their counting is shared."""
    families = np.empty((len(more), len(own) + 2), dtype=np.int32)
    families[:, 0] = more
    families[:, 1:] = [*own, child]
    return families


def narrower(own: Sequence[int], less: Sequence[int], child: int) -> Families:
    """The families of a child with one parent less."""
    families = [[*(p for p in own if p != x), child] for x in less]
    return np.array(families, dtype=np.int32).reshape(len(less), len(own))


class Scorer:
    """Scores of families on one counter; what was scored once is remembered."""

    def __init__(self, counter: Counter, score: str | Score) -> None:
        refuse_gaps(counter, "a score of structures", "structural EM")
        self.variables = counter.variables
        self.states = state_numbers(counter.variables)
        self._most = int(self.states.max(initial=1))
        self._counter = counter
        self._score = named_score(score)
        self._known: dict[tuple[int, int], float] = {}

    def batch(self, families: Families) -> Scores:
        """The score of each family of one width: a row is the positions of the parents, then of the child."""
        if len(families) * self._most ** families.shape[1] <= MOST_CELLS:
            return self._score(count_families(self._counter, families))
        sizes = np.prod(self.states.astype(float)[families], axis=1)
        for family in families[sizes > MOST_CELLS]:
            table_shape(self.variables, family.tolist())
        pieces = np.flatnonzero(np.diff(np.cumsum(sizes) // MOST_CELLS)) + 1
        cut = np.split(families, pieces)
        return np.concatenate([self._score(count_families(self._counter, piece)) for piece in cut])

    def batches(self, groups: Sequence[Families]) -> list[Scores]:
        """The scores of several groups of families, those of one width at once."""
        by_width: dict[int, list[int]] = {}
        for i, group in enumerate(groups):
            if len(group):
                by_width.setdefault(group.shape[1], []).append(i)
        found: list[Scores] = [np.empty(0)] * len(groups)
        for same in by_width.values():
            scores = self.batch(groups[same[0]] if len(same) == 1 else np.concatenate([groups[i] for i in same]))
            at = 0
            for i in same:
                found[i] = scores[at : at + len(groups[i])]
                at += len(groups[i])
        return found

    def of(self, child: int, parents: int) -> float:
        """The score of one family, whose parents are the bits of a whole number."""
        if (child, parents) not in self._known:
            self.learn([(child, parents)])
        return self._known[child, parents]

    def learn(self, families: Iterable[tuple[int, int]]) -> None:
        """Score these families at once, so that `of` knows them."""
        by_width: dict[int, list[tuple[int, int]]] = {}
        for family in dict.fromkeys(families):
            if family not in self._known:
                by_width.setdefault(family[1].bit_count(), []).append(family)
        for group in by_width.values():
            rows = np.array([(*members(parents), child) for child, parents in group], dtype=np.int32)
            self._known.update(zip(group, self.batch(rows).tolist(), strict=True))

    def total(self, parents: Sequence[Sequence[int]]) -> float:
        """The score of a whole structure: the parents of each variable, by position."""
        families = [(child, sum(1 << x for x in above)) for child, above in enumerate(parents)]
        self.learn(families)
        return sum(self._known[family] for family in families)


def score_graph(graph: Graph, counter: Counter, score: str | Score = "bdeu") -> float:
    """How well a graph fits the data.

    Examples
    --------
    >>> from plausible.coding import read_cases
    >>> cases = read_cases([{"rain": r, "wet": w} for r, w in ["nn", "ny", "yy", "yy"]])
    >>> round(score_graph(Graph({"wet": ["rain"]}), cases, "k2"), 4)  # 2!2!/5! · 1!1!/3! · 2!/3!
    -6.2916
    """
    scorer = Scorer(counter, score)
    place = places(counter.variables)
    positions(place, graph.nodes)
    families = [(place[y], sum(1 << place[x] for x in above)) for y, above in graph.parents.items()]
    scorer.learn(families)
    return sum(scorer.of(*family) for family in families)
