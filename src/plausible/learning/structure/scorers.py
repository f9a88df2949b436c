"""Scores of families on one counter; what was scored once is remembered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import log, pi
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.counting import (
    Counter,
    Families,
    Mixed,
    count_families,
    places,
    positions,
    refuse_gaps,
    state_numbers,
    table_shape,
)
from plausible.errors import CallError, DataError
from plausible.graph import Graph
from plausible.learning.structure.pattern import members
from plausible.learning.structure.scores import Score, Scores, abreast, named_score
from plausible.regressions import LinearMoments

MOST_CELLS = 1 << 22
"""Cells that are counted at once; longer lists of families are cut."""

FLOOR = 1e-12
"""No residual variance is below this share of the child's: so much is rounding."""


class Scorer:
    """Scores of families of categorical variables."""

    def __init__(self, counter: Counter, score: str | Score) -> None:
        refuse_gaps(counter, "a score of structures", "structural EM")
        self.variables = counter.variables
        self.states = state_numbers(counter.variables)
        self._most = int(self.states.max(initial=1))
        self._factors = np.append(self.states, 1).astype(float)
        self._counter = counter
        self._score = named_score(score)
        self._known: dict[tuple[int, int], float] = {}

    def batch(self, families: Families) -> Scores:
        """The score of each family: a row is the positions of the parents, -1 for none, then of the child."""
        if len(families) * self._most ** families.shape[1] <= MOST_CELLS:
            return self._score(count_families(self._counter, families))
        sizes = np.prod(self._factors[families], axis=1)
        for family in families[sizes > MOST_CELLS]:
            table_shape(self.variables, family[family >= 0].tolist())
        pieces = np.flatnonzero(np.diff(np.cumsum(sizes) // MOST_CELLS)) + 1
        cut = np.split(families, pieces)
        return np.concatenate([self._score(count_families(self._counter, piece)) for piece in cut])

    def batches(self, groups: Sequence[Families]) -> list[Scores]:
        """The scores of several groups of families at once."""
        scores = self.batch(abreast(groups))
        ends = list(accumulate(map(len, groups)))
        return [scores[end - len(group) : end] for end, group in zip(ends, groups, strict=True)]

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


class LineScorer(Scorer):
    """Scores of families with continuous variables: each child a regression on its continuous parents, one for each
    combination of its categorical ones (Geiger and Heckerman 1994; Lauritzen 1992)."""

    def __init__(self, counter: Mixed, score: str | Score) -> None:
        price = {"bic": log(max(counter.rows, 1)) / 2, "aic": 1.0}
        if not isinstance(score, str) or score not in price:
            name = next(iter(counter.numbers))
            raise CallError(
                f"the score {score!r} takes categories, and column {name!r} holds numbers; cut them into intervals "
                "(cut=5, or --cut 5), or use bic or aic"
            )
        super().__init__(counter, score)
        self._price = price[score]
        self._mixed = counter
        self._line = np.array([variable.kind == "continuous" for variable in counter.variables])
        self._place = np.cumsum(self._line) - 1
        self._moments: dict[tuple[int, ...], LinearMoments] = {}
        for variable, spread in zip(counter.numbers, np.diag(self.moments(()).squares), strict=True):
            if not spread > 0:
                raise DataError(f"column {variable!r} is the same number in every row; leave it out (--drop)")

    def moments(self, given: tuple[int, ...]) -> LinearMoments:
        """Of all continuous variables, in each combination of these categorical ones."""
        if given not in self._moments:
            names = [self.variables[v].name for v in given]
            self._moments[given] = self._mixed.moments([*names, *self._mixed.numbers])
        return self._moments[given]

    def batch(self, families: Families) -> Scores:
        widths = (families >= 0).sum(axis=1)
        out = np.empty(len(families))
        for width in np.unique(widths).tolist():
            alike = families[widths == width]
            out[widths == width] = self._of_width(alike[alike >= 0].reshape(-1, width))
        return out

    def _of_width(self, families: Families) -> Scores:
        if self._line.all():
            return self._lines((), families[:, :-1], families[:, -1])
        out = np.empty(len(families))
        lines = self._line[families]
        groups: dict[tuple[int, ...], list[int]] = {}
        for at, (family, continuous) in enumerate(zip(families.tolist(), lines.tolist(), strict=True)):
            if continuous[-1]:
                given = tuple(sorted(v for v, line in zip(family, continuous, strict=True) if not line))
                groups.setdefault(given, []).append(at)
        tables = np.flatnonzero(~lines[:, -1])
        if len(tables):
            if lines[tables].any():
                raise CallError("a categorical variable can't have a continuous parent; forbid these arcs")
            out[tables] = super().batch(families[tables])
        for given, chosen in groups.items():
            own = families[chosen]
            parents = own[:, :-1][lines[chosen][:, :-1]].reshape(len(own), -1)
            out[chosen] = self._lines(given, self._place[parents], self._place[own[:, -1]])
        return out

    def _lines(self, given: tuple[int, ...], parents: npt.NDArray[Any], child: npt.NDArray[Any]) -> Scores:
        """The greatest log-likelihood of each regression less the price of its parameters."""
        moments = self.moments(given)
        d = moments.mean.shape[-1]
        n, squares = moments.n.reshape(-1, 1), moments.squares.reshape(-1, d, d)
        own = squares[:, child, child]
        residual = own - _explained(squares, parents, child)
        whole = np.diagonal(squares.sum(axis=0))[child] / n.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.maximum(residual / n, FLOOR * whole)
            fitted = np.where(n > 0, -n / 2 * (np.log(2 * pi * variance) + 1), 0.0)
        too_few = (n > 0) & (n < parents.shape[1] + 2)
        total = np.where(too_few, -np.inf, fitted).sum(axis=0)
        scores: Scores = total - self._price * len(n) * (parents.shape[1] + 2)
        return scores


def _explained(squares: npt.NDArray[np.float64], parents: npt.NDArray[Any], child: npt.NDArray[Any]) -> Scores:
    """The sum of squares of each child that its parents explain, shape (combinations, families)."""
    if not parents.shape[1]:
        return np.zeros((len(squares), len(child)))
    across = squares[:, parents, child[:, None]]
    above = squares[:, parents[:, :, None], parents[:, None, :]]
    scale = np.sqrt(np.einsum("qfii->qfi", above))
    scale = np.where(scale > 0, scale, 1.0)
    above = above / (scale[..., :, None] * scale[..., None, :]) + FLOOR * np.eye(parents.shape[1])
    across = across / scale
    explained: Scores = np.einsum("qfi,qfi->qf", across, np.linalg.solve(above, across[..., None])[..., 0])
    return explained


def scorer_of(counter: Counter, score: str | Score | None, usual: str = "bdeu-sparse") -> Scorer:
    """A scorer for what a counter holds; without a score the usual one, or bic where there are continuous variables."""
    if isinstance(counter, Mixed) and counter.numbers:
        return LineScorer(counter, "bic" if score is None else score)
    return Scorer(counter, usual if score is None else score)


def score_graph(graph: Graph, counter: Counter, score: str | Score | None = None) -> float:
    """How well a graph fits the data; by default by bdeu, or by bic where there are continuous variables.

    Examples
    --------
    >>> from plausible.coding import read_cases
    >>> cases = read_cases([{"rain": r, "wet": w} for r, w in ["nn", "ny", "yy", "yy"]])
    >>> round(score_graph(Graph({"wet": ["rain"]}), cases, "k2"), 4)  # 2!2!/5! · 1!1!/3! · 2!/3!
    -6.2916
    """
    scorer = scorer_of(counter, score, "bdeu")
    place = places(counter.variables)
    positions(place, graph.nodes)
    families = [(place[y], sum(1 << place[x] for x in above)) for y, above in graph.parents.items()]
    scorer.learn(families)
    return sum(scorer.of(*family) for family in families)
