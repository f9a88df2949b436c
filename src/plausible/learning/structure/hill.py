"""Hill climbing and tabu search over graphs: add, remove or turn one arc at a time (Heckerman et al. 1995).

Tabu search goes on past a peak, by the least loss, and never back to a graph it has been at (Glover 1986). At a peak
both try other graphs of the same equivalence class, which score alike and have other neighbours (Castelo and Kočka
2003), then the peak without the arcs of a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plausible.chance import generator
from plausible.counting import Counter, Families, Mixed, places, positions
from plausible.errors import CallError
from plausible.graph import Graph
from plausible.learning.structure.knowledge import FREE, Knowledge, Limits
from plausible.learning.structure.scorers import Scorer, scorer_of
from plausible.learning.structure.scores import Score, changed
from plausible.learning.structure.search import Progress, Structure, Watch, structure

Parents = list[list[int]]
Move = tuple[int, int, bool]
"""From, to, and whether the arc is turned; else it is added, or removed if it is there."""

GAIN = 1e-6
"""Anything less is rounding: two graphs of one class score alike."""

TIE = 1e-8

TURNED = 10
"""At most so many arcs are turned on the way to another graph of a class."""

RESTARTS, ROWS = 8, 4000
"""The usual restarts at most, and for how many rows there is one."""

FEW = 4
"""So many random variables lose their arcs when each of them alone was tried."""


def hill_climb(
    counter: Counter,
    *,
    score: str | Score | None = None,
    start: Graph | None = None,
    equivalents: int = 4,
    restarts: int | None = None,
    knowledge: Knowledge = FREE,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Structure:
    """Change the arc that helps most until none helps.

    Parameters
    ----------
    counter : Counter
    score : str or Score
    start : Graph, optional
        Where to begin; without arcs by default.
    equivalents : int
        From how many other graphs of its equivalence class, one after the other, a peak must not be bettered.
    restarts : int, optional
        How many times in a row to begin again in vain: from the best graph without the arcs of a variable, those with
        most arcs first, then of a few random ones. By default one for 4,000 rows, at most 8, and 8 with numbers: on few
        rows they would take most of the time.
    knowledge : Knowledge
    seed : int
    seconds : float, optional
    progress : callable, optional
    """
    climbs = _Climbs(equivalents, _restarts(counter, restarts), 0)
    return _search(counter, score, start, climbs, knowledge, seed, seconds, progress)


def tabu(
    counter: Counter,
    *,
    score: str | Score | None = None,
    start: Graph | None = None,
    patience: int = 10,
    equivalents: int = 1,
    restarts: int | None = None,
    knowledge: Knowledge = FREE,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Structure:
    """Hill climbing that takes up to `patience` steps in a row without a new best graph."""
    if patience < 1:
        raise CallError(f"patience is {patience}; it is 1 or more, or use hill_climb")
    climbs = _Climbs(equivalents, _restarts(counter, restarts), patience)
    return _search(counter, score, start, climbs, knowledge, seed, seconds, progress)


@dataclass(frozen=True, slots=True)
class _Climbs:
    """How often to climb again, and from where."""

    equivalents: int
    restarts: int
    patience: int

    def __post_init__(self) -> None:
        for name in ("equivalents", "restarts"):
            if getattr(self, name) < 0:
                raise CallError(f"{name} is {getattr(self, name)}; it is 0 or more")


def _restarts(counter: Counter, given: int | None) -> int:
    if given is not None:
        return given
    return RESTARTS if isinstance(counter, Mixed) else min(counter.rows // ROWS, RESTARTS)


def _search(
    counter: Counter,
    score: str | Score | None,
    start: Graph | None,
    climbs: _Climbs,
    knowledge: Knowledge,
    seed: int,
    seconds: float | None,
    progress: Callable[[Progress], None] | None,
) -> Structure:
    scorer = scorer_of(counter, score)
    limits = knowledge.within(counter.variables)
    begin = limits.start() if start is None else _start(start, counter, limits)
    watch = Watch(seconds, progress)
    rng = generator(seed)
    best, total = begin, scorer.total(begin)
    with watch:
        climb = _Climb(scorer, limits, begin)
        for found, reached in _peaks(climb, climbs, rng, watch):
            if reached > total + GAIN:
                best, total = found, reached
    return structure(counter.variables, best, total, watch)


def _peaks(climb: _Climb, climbs: _Climbs, rng: np.random.Generator, watch: Watch) -> Iterator[tuple[Parents, float]]:
    """Each better graph of each climb."""
    best, total = climb.parents, -np.inf
    for best, total in _around(climb, climbs.equivalents, climbs.patience, rng, watch):
        yield best, total
    vain, cut = 0, frozenset[int]()
    tried: set[frozenset[int]] = set()
    while vain < climbs.restarts:
        cut = _most_joined(best, tried, rng)
        tried.add(cut)
        climb.go_to(_without(best, cut, climb.limits))
        vain += 1
        for found, reached in climb.up(0, watch):
            if reached > total + GAIN:
                best, total, vain, tried = found, reached, 0, {cut}
                yield best, total
    if tried and climbs.patience:
        climb.go_to(best)
        yield from _around(climb, climbs.equivalents, climbs.patience, rng, watch)


def _around(
    climb: _Climb, equivalents: int, patience: int, rng: np.random.Generator, watch: Watch
) -> Iterator[tuple[Parents, float]]:
    """Climb, and again from other graphs of the peak's class until so many in a row lead no higher."""
    peak, height, tried = climb.parents, -np.inf, -1
    while tried < equivalents:
        if tried >= 0:
            climb.go_to(_equivalent(peak, climb.limits, rng))
        tried += 1
        for found, reached in climb.up(0 if tried else patience, watch):
            if reached > height + GAIN:
                peak, height, tried = found, reached, 0
                yield peak, height


def _most_joined(parents: Parents, tried: set[frozenset[int]], rng: np.random.Generator) -> frozenset[int]:
    """The variable with most arcs that was not tried yet; a few random ones when all were."""
    arcs = [len(above) for above in parents]
    for above in parents:
        for x in above:
            arcs[x] += 1
    for v in sorted(range(len(arcs)), key=lambda v: -arcs[v]):
        if frozenset([v]) not in tried:
            return frozenset([v])
    return frozenset(rng.choice(len(arcs), size=min(FEW, len(arcs)), replace=False).tolist())


def _without(parents: Parents, cut: frozenset[int], limits: Limits) -> Parents:
    """A graph without the arcs of some variables, but for those that are required."""
    return [[x for x in above if limits.required[x, y] or not cut & {x, y}] for y, above in enumerate(parents)]


def _equivalent(parents: Parents, limits: Limits, rng: np.random.Generator) -> Parents:
    """Another graph of the same equivalence class: an arc x -> y may be turned where y's other parents are x's
    (Chickering 1995, theorem 2)."""
    above = [set(own) for own in parents]
    for _ in range(int(rng.integers(1, TURNED + 1))):
        covered = [
            (x, y)
            for y, own in enumerate(above)
            for x in own
            if len(above[x]) + 1 == len(own) and above[x] < own and limits.allowed[y, x] and not limits.required[x, y]
        ]
        if not covered:
            break
        x, y = covered[int(rng.integers(len(covered)))]
        above[y].remove(x)
        above[x].add(y)
    return [
        own if len(own) == len(new) and set(own) == new else sorted(new)
        for own, new in zip(parents, above, strict=True)
    ]


def _start(graph: Graph, counter: Counter, limits: Limits) -> Parents:
    names = [variable.name for variable in counter.variables]
    positions(places(counter.variables), graph.nodes)
    parents = [sorted(names.index(p) for p in graph.parents.get(name, ())) for name in names]
    for y, above in enumerate(parents):
        for x in above:
            if not limits.allowed[x, y]:
                raise CallError(f"the start has the arc {names[x]!r} -> {names[y]!r}, which the knowledge forbids")
        if len(above) > limits.most or not set(np.flatnonzero(limits.required[:, y])) <= set(above):
            raise CallError(f"the start's parents of {names[y]!r} contradict the knowledge; change one of the two")
    return parents


class _Climb:
    """A graph with, for each pair, what adding or removing that arc would gain.

    `closed[x, y]` says that y leads to x, or is x: then an arc from x to y would close a cycle.
    """

    def __init__(self, scorer: Scorer, limits: Limits, parents: Parents) -> None:
        n = len(parents)
        self.scorer = scorer
        self.limits = limits
        self.known: dict[tuple[int, ...], tuple[float, npt.NDArray[np.float64]]] = {}
        self.own = np.zeros(n)
        self.gain = np.full((n, n), -np.inf)
        self.keys = np.random.default_rng(0).integers(1 << 62, size=(n, n))
        self.arcs = np.zeros((n, n), dtype=bool)
        self.parents: Parents = [[]] * n
        self.set_parents(dict(enumerate(parents)))
        self.trace()

    def go_to(self, parents: Parents) -> None:
        self.set_parents({y: above for y, above in enumerate(parents) if above != self.parents[y]})
        self.trace()

    def set_parents(self, changed: dict[int, list[int]]) -> None:
        """Give some variables new parents and look up, or score, all their next changes."""
        for y, above in changed.items():
            self.parents[y] = above
            self.arcs[:, y] = False
            self.arcs[above, y] = True
        self.score({y: above for y, above in changed.items() if (y, *above) not in self.known})
        for y, above in changed.items():
            self.own[y], self.gain[:, y] = self.known[y, *above]

    def score(self, fresh: dict[int, list[int]]) -> None:
        if not fresh:
            return
        asked: list[Families] = []
        others: list[list[int]] = []
        for y, above in fresh.items():
            more = (self.limits.allowed[:, y] > self.arcs[:, y]).nonzero()[0].tolist()
            more = more if len(above) < self.limits.most else []
            less = [x for x in above if not self.limits.required[x, y]]
            asked.append(changed(above, more, less, y))
            others.append(more + less)
        for (y, above), toggled, scores in zip(fresh.items(), others, self.scorer.batches(asked), strict=True):
            gain = np.full(len(self.parents), -np.inf)
            gain[toggled] = scores[:-1] - scores[-1]
            self.known[y, *above] = float(scores[-1]), gain

    def trace(self) -> None:
        """Find out from scratch what leads where; sets of ancestors are bits of whole numbers."""
        n = len(self.parents)
        ancestors = [0] * n
        todo = list(range(n))
        while todo:
            y = todo[-1]
            missing = [p for p in self.parents[y] if not ancestors[p]]
            if missing:
                todo.extend(missing)
                continue
            todo.pop()
            found = 1 << y
            for parent in self.parents[y]:
                found |= ancestors[parent]
            ancestors[y] = found
        width = n // 8 + 1
        packed = np.frombuffer(b"".join(bits.to_bytes(width, "little") for bits in ancestors), dtype=np.uint8)
        bits = np.unpackbits(packed.reshape(n, width), axis=1, count=n, bitorder="little")
        self.closed = bits.view(bool)

    def total(self) -> float:
        return float(self.own.sum())

    def moves(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
        """What each change gains: adding or removing each arc, then turning each arc that there is.

        Of changes that gain alike, the arc into the variable with the fewest children comes first: what explains
        others stays a cause.
        """
        n = len(self.parents)
        (arcs,) = self.arcs.ravel().nonzero()
        gains = np.empty(n * n + len(arcs))
        single = gains[: n * n].reshape(n, n)
        np.subtract(self.gain, TIE * self.arcs.sum(axis=1), out=single)
        single[self.closed > self.arcs] = -np.inf
        forth, back = np.divmod(arcs, n)
        np.add(self.gain.ravel()[arcs], self.gain[back, forth], out=gains[n * n :])
        return gains, arcs

    def decode(self, at: int, arcs: npt.NDArray[np.intp]) -> Move | None:
        """The change at a place of `moves`; None where turning an arc would close a cycle."""
        n = len(self.parents)
        turn = at >= n * n
        x, y = divmod(int(arcs[at - n * n]) if turn else at, n)
        if turn and any(self.closed[w, x] for w in self.parents[y] if w != x):
            return None
        return x, y, turn

    def change(self, move: Move) -> None:
        x, y, turn = move
        if not self.arcs[x, y]:
            self.set_parents({y: sorted([*self.parents[y], x])})
            self.lead(x, y)
            return
        less = {y: [p for p in self.parents[y] if p != x]}
        self.set_parents({**less, x: sorted([*self.parents[x], y])} if turn else less)
        self.retrace(y)
        if turn:
            self.lead(y, x)

    def lead(self, x: int, y: int) -> None:
        """Note what an arc from x to y that is new makes lead where."""
        self.closed[self.closed[:, y]] |= self.closed[x]

    def retrace(self, y: int) -> None:
        """Find out anew what leads to y and whatever comes after it, causes first: they have fewer ancestors."""
        below = self.closed[:, y].nonzero()[0]
        for v in below[self.closed[below].sum(axis=1).argsort(kind="stable")].tolist():
            self.closed[self.parents[v]].any(axis=0, out=self.closed[v])
            self.closed[v, v] = True

    def up(self, patience: int, watch: Watch) -> Iterator[tuple[Parents, float]]:
        """Climb; gives each new best graph with its score."""
        top = self.total()
        seen = {self.mark()}
        tired = 0
        yield list(self.parents), top
        while tired <= patience:
            move = self.best_move(seen if patience else None)
            if move is None:
                return
            self.change(move)
            if patience:
                seen.add(self.mark())
            reached = self.total()
            tired += 1
            if reached > top + GAIN:
                top, tired = reached, 0
                yield list(self.parents), top
            watch.step(top)

    def best_move(self, seen: set[int] | None) -> Move | None:
        """The change that gains most; with `seen`, of those that lead to a new graph, else if it gains."""
        gains, arcs = self.moves()
        here = self.mark() if seen is not None else 0
        while gains[at := int(gains.argmax())] > (GAIN if seen is None else -np.inf):
            move = self.decode(at, arcs)
            if move is not None:
                if seen is None:
                    return move
                x, y, turn = move
                if here ^ int(self.keys[x, y]) ^ (int(self.keys[y, x]) if turn else 0) not in seen:
                    return move
            gains[at] = -np.inf
        return None

    def mark(self) -> int:
        """One number for the graph (Zobrist 1970)."""
        return int(np.bitwise_xor.reduce(self.keys[self.arcs], initial=0))
