"""Greedy search over equivalence classes (Chickering 2002): delete edges while that helps, else insert.

Deleting first, and starting again with something cut, gets past most local bests (Nazaret and Blei 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import permutations

import numpy as np
import numpy.typing as npt

from plausible.counting import Counter
from plausible.errors import CallError
from plausible.learning.structure.knowledge import FREE, Knowledge
from plausible.learning.structure.pattern import Pattern, members, pattern_of, subsets
from plausible.learning.structure.scorers import Scorer, scorer_of
from plausible.learning.structure.scores import Score
from plausible.learning.structure.search import Progress, Structure, Watch, structure

GAIN = 1e-9
MOST_NEIGHBOURS = 8
"""Of more undirected neighbours not all subsets are tried."""

Parents = list[list[int]]
Gains = npt.NDArray[np.float64]
Place = tuple[int, int, int, int, int, int]
"""x, y, y's parents, y's undirected neighbours, those of them beside x, and whether x and y are joined."""

Operator = tuple[float, int]
"""What it gains, and the set of neighbours that it directs."""


def ges(
    counter: Counter,
    *,
    score: str | Score | None = None,
    knowledge: Knowledge = FREE,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Structure:
    """Learn an equivalence class; with enough data it is the right one (Chickering 2002, theorem 4).

    Parameters
    ----------
    counter : Counter
    score : str or Score
        One that scores equivalent graphs alike: any but k2.
    knowledge : Knowledge
        Only `max_parents`.
    seconds : float, optional
    progress : callable, optional
    """
    knowledge.only("ges", "max_parents")
    if len({variable.kind for variable in counter.variables}) > 1:
        raise CallError(
            "ges takes categories or numbers, not both, since a categorical variable can't have a continuous parent; "
            "cut the numbers into intervals (cut=5, or --cut 5), or use hill_climb"
        )
    scorer = scorer_of(counter, score)
    most = knowledge.within(counter.variables).most
    parents: list[list[int]] = [[] for _ in counter.variables]
    total = scorer.total(parents)
    watch = Watch(seconds, progress)
    with watch:
        search = _Search(scorer, most, watch)
        for better, reached in search.run(parents):
            parents, total = better, reached
    return structure(counter.variables, parents, total, watch)


class _Search:
    """The operators on each ordered pair; those of an unchanged neighbourhood are kept from step to step."""

    def __init__(self, scorer: Scorer, most: int, watch: Watch) -> None:
        n = len(scorer.variables)
        self.scorer = scorer
        self.most = most
        self.watch = watch
        self.last = Pattern(n)
        self.ends: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        self.known: dict[Place, list[Operator]] = {}
        self.operators: list[list[list[Operator]]] = [[[] for _ in range(n)] for _ in range(n)]
        self.inserts = np.full((n, n), -np.inf)
        self.deletes = np.full((n, n), -np.inf)
        self.refresh(self.last, permutations(range(n), 2))

    def run(self, parents: Parents) -> Iterator[tuple[Parents, float]]:
        """Each better graph that is found, with its score."""
        best, total = parents, -np.inf
        for best, total in self.climb(parents):
            yield best, total
        quiet = 0
        while quiet < 2:
            for cut, barred in _without_a_variable(best) if quiet == 0 else _without_an_arc(best):
                *_, (other, reached) = self.climb(cut, barred)
                if reached > total + GAIN:
                    best, total = other, reached
                    yield best, total
                    quiet = -1
            quiet += 1

    def climb(self, parents: Parents, barred: tuple[int, int] | None = None) -> Iterator[tuple[Parents, float]]:
        """Delete while that helps, else insert, but not the edge `barred`; gives each graph on the way."""
        extended: Parents | None = parents
        while extended is not None:
            total = self.scorer.total(extended)
            yield extended, total
            self.watch.step(total)
            pattern = pattern_of(self.scorer.variables, extended)
            key = tuple(pattern.parents), tuple(pattern.near)
            if key in self.ends:
                return
            self.look(pattern)
            after = self.best(pattern, self.deletes) or self.best(pattern, self.inserts, barred)
            extended = None if after is None else after.extension()
            if extended is None and barred is None:
                self.ends.add(key)

    def best(self, pattern: Pattern, gains: Gains, barred: tuple[int, int] | None = None) -> Pattern | None:
        """The pattern after the valid operator that gains most; not yet an equivalence class."""
        gains = gains.copy()
        if barred is not None:
            x, y = barred
            gains[x, y] = gains[y, x] = -np.inf
        turn: dict[tuple[int, int], int] = {}
        while True:
            x, y = divmod(int(gains.argmax()), len(gains))
            if not gains[x, y] > GAIN:
                return None
            at = turn.get((x, y), 0)
            operators = self.operators[x][y]
            if self.valid(pattern, x, y, operators[at][1]):
                return self.apply(pattern, x, y, operators[at][1])
            turn[x, y] = at + 1
            gains[x, y] = operators[at + 1][0] if at + 1 < len(operators) else -np.inf

    def look(self, pattern: Pattern) -> None:
        """Bring the operators up to date with a pattern."""
        n = len(self.inserts)
        pairs: dict[tuple[int, int], None] = {}
        for v in range(n):
            if (pattern.parents[v], pattern.near[v]) != (self.last.parents[v], self.last.near[v]):
                pairs.update(((u, v), None) for u in range(n) if u != v)
            moved = pattern.adjacent(v) ^ self.last.adjacent(v)
            if moved:
                pairs.update(((v, u), None) for u in range(n) if u != v and moved & (pattern.near[u] | 1 << u))
        self.last = pattern
        self.refresh(pattern, pairs)

    def refresh(self, pattern: Pattern, pairs: Iterable[tuple[int, int]]) -> None:
        fresh: dict[Place, list[tuple[int, int]]] = {}
        places: list[Place] = []
        for x, y in pairs:
            beside = pattern.adjacent(x)
            place = (x, y, pattern.parents[y], pattern.near[y], beside & pattern.near[y], beside >> y & 1)
            places.append(place)
            if place not in self.known:
                fresh[place] = list(self.choices(*place))
        self.scorer.learn(
            family
            for (x, y, *_), found in fresh.items()
            for _, base in found
            for family in ((y, base), (y, base | 1 << x))
        )
        for place, found in fresh.items():
            x, y, *_, joined = place
            sign = -1 if joined else 1
            gains = [
                (sign * (self.scorer.of(y, base | 1 << x) - self.scorer.of(y, base)), chosen) for chosen, base in found
            ]
            gains.sort(reverse=True)
            self.known[place] = gains
        for place in places:
            x, y, *_, joined = place
            operators = self.operators[x][y] = self.known[place]
            top = operators[0][0] if operators else -np.inf
            self.deletes[x, y] = top if joined else -np.inf
            self.inserts[x, y] = -np.inf if joined else top

    def choices(self, x: int, y: int, parents: int, near: int, beside: int, joined: int) -> Iterator[tuple[int, int]]:
        """The sets that an operator on x and y may direct, and y's other parents in the scores it compares."""
        if not joined:
            for chosen in _few(near & ~beside):
                base = beside | chosen | parents
                if base.bit_count() < self.most:
                    yield chosen, base
        elif (parents | near) >> x & 1:
            for chosen in _few(beside):
                yield chosen, (beside & ~chosen | parents) & ~(1 << x)

    def valid(self, pattern: Pattern, x: int, y: int, chosen: int) -> bool:
        """Chickering 2002, theorems 15 (insert) and 17 (delete)."""
        common = pattern.near[y] & pattern.adjacent(x)
        if pattern.adjacent(x) >> y & 1:
            return pattern.clique(common & ~chosen)
        return pattern.clique(common | chosen) and not pattern.leads(y, x, common | chosen)

    def apply(self, pattern: Pattern, x: int, y: int, chosen: int) -> Pattern:
        after = pattern.copy()
        if not pattern.adjacent(x) >> y & 1:
            after.direct(x, y)
            for z in members(chosen):
                after.direct(z, y)
            return after
        after.part(x, y)
        for z in members(chosen):
            after.direct(y, z)
            if after.near[x] >> z & 1:
                after.direct(x, z)
        return after


Cut = tuple[Parents, tuple[int, int] | None]
"""A graph to start again from, and an edge that may not come back."""


def _without_a_variable(parents: Parents) -> Iterator[Cut]:
    for v in range(len(parents)):
        yield [[] if y == v else [x for x in above if x != v] for y, above in enumerate(parents)], None


def _without_an_arc(parents: Parents) -> Iterator[Cut]:
    for child, above in enumerate(parents):
        for parent in above:
            cut = [[x for x in own if (x, y) != (parent, child)] for y, own in enumerate(parents)]
            yield cut, (parent, child)


def _few(bits: int) -> Iterator[int]:
    """All subsets of a small set; of a large one those with at most two members."""
    if bits.bit_count() <= MOST_NEIGHBOURS:
        yield from subsets(bits)
        return
    yield 0
    for x in members(bits):
        for y in members(bits & ~((1 << x) - 1)):
            yield 1 << x | 1 << y
