"""Hill climbing and tabu search over graphs: add, remove or turn one arc at a time (Heckerman et al. 1995).

Tabu search goes on past a peak, by the least loss, and never back to a graph it has been at (Glover 1986).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from plausible.counting import Counter, Families, places, positions
from plausible.errors import CallError
from plausible.graph import Graph
from plausible.learning.structure.knowledge import FREE, Knowledge, Limits
from plausible.learning.structure.scores import Score, Scorer, family, narrower, wider
from plausible.learning.structure.search import Progress, Structure, Watch, structure

Parents = list[list[int]]
Move = tuple[int, int, bool]
"""From, to, and whether the arc is turned; else it is added, or removed if it is there."""

GAIN = 1e-6
"""Anything less is rounding: two graphs of one class score alike."""

TIE = 1e-8


def hill_climb(
    counter: Counter,
    *,
    score: str | Score = "bdeu-sparse",
    start: Graph | None = None,
    restarts: int = 0,
    shake: int = 10,
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
    restarts : int
        How many times to begin again from the best graph with `shake` random changes.
    shake : int
    knowledge : Knowledge
    seed : int
    seconds : float, optional
    progress : callable, optional
    """
    return _search(counter, score, start, restarts, shake, 0, knowledge, seed, seconds, progress)


def tabu(
    counter: Counter,
    *,
    score: str | Score = "bdeu-sparse",
    start: Graph | None = None,
    patience: int = 20,
    restarts: int = 0,
    shake: int = 10,
    knowledge: Knowledge = FREE,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Structure:
    """Hill climbing that takes up to `patience` steps in a row without a new best graph."""
    if patience < 1:
        raise CallError(f"patience is {patience}; it is 1 or more, or use hill_climb")
    return _search(counter, score, start, restarts, shake, patience, knowledge, seed, seconds, progress)


def _search(
    counter: Counter,
    score: str | Score,
    start: Graph | None,
    restarts: int,
    shake: int,
    patience: int,
    knowledge: Knowledge,
    seed: int,
    seconds: float | None,
    progress: Callable[[Progress], None] | None,
) -> Structure:
    scorer = Scorer(counter, score)
    limits = knowledge.limits([variable.name for variable in counter.variables])
    begin = limits.start() if start is None else _start(start, counter, limits)
    watch = Watch(seconds, progress)
    rng = np.random.default_rng(seed)
    best, total = begin, scorer.total(begin)
    with watch:
        climb = _Climb(scorer, limits, begin)
        for round_ in range(restarts + 1):
            if round_:
                climb.go_to(best)
                climb.shake(shake, rng)
            for found, reached in climb.up(patience, watch):
                if reached > total + GAIN:
                    best, total = found, reached
    return structure(counter.variables, best, total, watch)


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
        asked: list[Families] = []
        others: list[npt.NDArray[np.intp] | list[int]] = []
        for y, above in fresh.items():
            more = np.flatnonzero(self.limits.allowed[:, y] > self.arcs[:, y])
            more = more[: None if len(above) < self.limits.most else 0]
            less = [x for x in above if not self.limits.required[x, y]]
            asked += [family(above, y), wider(above, more, y), narrower(above, less, y)]
            others += [[], more, less]
        scores = self.scorer.batches(asked)
        for i, (y, above) in enumerate(fresh.items()):
            own = float(scores[3 * i][0])
            gain = np.full(len(self.parents), -np.inf)
            for at in (3 * i + 1, 3 * i + 2):
                gain[others[at]] = scores[at] - own
            self.known[y, *above] = own, gain

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
        (arcs,) = self.arcs.ravel().nonzero()
        single = np.where(self.arcs >= self.closed, self.gain - TIE * self.arcs.sum(axis=1), -np.inf)
        turned = self.gain.ravel()[arcs] + self.gain.T.ravel()[arcs]
        return np.concatenate([single.ravel(), turned]), arcs

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
            self.closed[self.closed[:, y]] |= self.closed[x]
            return
        changed = {y: [p for p in self.parents[y] if p != x]}
        if turn:
            changed[x] = sorted([*self.parents[x], y])
        self.set_parents(changed)
        self.trace()

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

    def shake(self, changes: int, rng: np.random.Generator) -> None:
        """So many random changes that are allowed."""
        for _ in range(changes):
            gains, arcs = self.moves()
            for at in rng.permutation(np.flatnonzero(gains > -np.inf)).tolist():
                move = self.decode(at, arcs)
                if move is not None:
                    self.change(move)
                    break
