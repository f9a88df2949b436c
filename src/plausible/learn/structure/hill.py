"""Hill climbing and tabu search over graphs: add, remove or turn one arc at a time (Heckerman et al. 1995).

Tabu search goes on past a peak, by the least loss, and never back to a graph it has been at (Glover 1986).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.counting import Counter, positions
from plausible.errors import CallError
from plausible.graph import Graph
from plausible.learn.structure.knowledge import Knowledge, Limits
from plausible.learn.structure.scores import Score, Scorer
from plausible.learn.structure.search import Progress, Structure, Watch, structure

GAIN = 1e-9
"""Anything less is rounding: two graphs of one class score alike."""


def hill_climb(
    counter: Counter,
    *,
    score: str | Score = "bdeu",
    start: Graph | None = None,
    restarts: int = 0,
    shake: int = 10,
    knowledge: Knowledge = Knowledge(),
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
    score: str | Score = "bdeu",
    start: Graph | None = None,
    patience: int = 10,
    restarts: int = 0,
    shake: int = 10,
    knowledge: Knowledge = Knowledge(),
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


def _start(graph: Graph, counter: Counter, limits: Limits) -> list[list[int]]:
    names = [variable.name for variable in counter.variables]
    positions(counter.variables, graph.nodes)
    parents = [sorted(names.index(p) for p in graph.parents.get(name, ())) for name in names]
    for y, above in enumerate(parents):
        for x in above:
            if not limits.allowed[x, y]:
                raise CallError(f"the start has the arc {names[x]!r} -> {names[y]!r}, which the knowledge forbids")
        if len(above) > limits.most or not set(np.flatnonzero(limits.required[:, y])) <= set(above):
            raise CallError(f"the start's parents of {names[y]!r} contradict the knowledge; change one of the two")
    return parents


class _Climb:
    """A graph with, for each pair, what adding or removing that arc would gain."""

    def __init__(self, scorer: Scorer, limits: Limits, parents: list[list[int]]) -> None:
        n = len(parents)
        self.scorer = scorer
        self.limits = limits
        self.own: npt.NDArray[np.float64] = np.zeros(n)
        self.gain: npt.NDArray[np.float64] = np.full((n, n), -np.inf)
        self.keys = np.random.default_rng(0).integers(1 << 62, size=(n, n))
        self.parents: list[list[int]] = [[-1]] * n
        self.arcs = np.zeros((n, n), dtype=bool)
        self.go_to(parents)

    def go_to(self, parents: list[list[int]]) -> None:
        for y, above in enumerate(parents):
            if above != self.parents[y]:
                self.set_parents(y, above)
        self.trace()

    def set_parents(self, y: int, above: list[int]) -> None:
        self.parents[y] = above
        self.arcs[:, y] = False
        self.arcs[above, y] = True
        gain = self.gain[:, y]
        gain[:] = -np.inf
        own = float(self.scorer.batch(np.array([[*above, y]], dtype=np.int32))[0])
        self.own[y] = own
        if len(above) < self.limits.most:
            more = np.flatnonzero(self.limits.allowed[:, y] & ~self.arcs[:, y])
            families = np.empty((more.size, len(above) + 2), dtype=np.int32)
            families[:, 0] = more
            families[:, 1:] = [*above, y]
            gain[more] = self.scorer.batch(families) - own
        less = [x for x in above if not self.limits.required[x, y]]
        if less:
            families = np.array([[*(p for p in above if p != x), y] for x in less], dtype=np.int32)
            gain[less] = self.scorer.batch(families) - own

    def trace(self) -> None:
        """Which variables can be reached from which along arrows."""
        n = len(self.parents)
        reach = self.arcs.copy()
        while True:
            wider = reach | (reach.astype(np.float32) @ reach.astype(np.float32) > 0)
            if (wider == reach).all():
                break
            reach = wider
        self.reach = reach
        self.closed = reach.T | np.eye(n, dtype=bool)

    def total(self) -> float:
        return float(self.own.sum())

    def moves(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any], npt.NDArray[Any]]:
        """What each change gains: of single arcs, and of turning the arcs that there are."""
        single = np.where(self.arcs | ~self.closed, self.gain, -np.inf)
        x, y = np.nonzero(self.arcs)
        turned = self.gain[x, y] + self.gain[y, x]
        round_about = self.reach.astype(np.float32) @ self.arcs.astype(np.float32)
        turned[round_about[x, y] > 0] = -np.inf
        return single, turned, np.stack([x, y], axis=1)

    def change(self, x: int, y: int, turn: bool) -> None:
        above = self.parents[y]
        if self.arcs[x, y]:
            self.set_parents(y, [p for p in above if p != x])
            if turn:
                self.set_parents(x, sorted([*self.parents[x], y]))
            self.trace()
        else:
            self.set_parents(y, sorted([*above, x]))
            before = self.closed[x]
            after = self.closed[:, y]
            self.reach |= before[:, None] & after[None, :]
            self.closed |= self.reach.T

    def up(self, patience: int, watch: Watch) -> Any:
        """Climb; gives each new best graph with its score."""
        top = self.total()
        seen = {self.mark()}
        tired = 0
        yield list(self.parents), top
        while True:
            single, turned, arcs = self.moves()
            gains = np.concatenate([single.ravel(), turned])
            move = self.pick(gains, arcs, seen if patience else None)
            if move is None:
                return
            x, y, turn, gain = move
            if gain <= GAIN and tired >= patience:
                return
            self.change(x, y, turn)
            if patience:
                seen.add(self.mark())
            reached = self.total()
            tired += 1
            if reached > top + GAIN:
                top, tired = reached, 0
                yield list(self.parents), top
            elif tired > patience:
                return
            watch.step(top)

    def pick(
        self, gains: npt.NDArray[np.float64], arcs: npt.NDArray[Any], seen: set[int] | None
    ) -> tuple[int, int, bool, float] | None:
        """The best change; with `seen`, the best that leads to a graph not yet seen."""
        n = len(self.parents)
        here = self.mark() if seen is not None else 0
        while True:
            at = int(gains.argmax())
            gain = float(gains[at])
            if gain == -np.inf:
                return None
            turn = at >= n * n
            x, y = arcs[at - n * n].tolist() if turn else divmod(at, n)
            if seen is None:
                return x, y, turn, gain
            there = here ^ int(self.keys[x, y]) ^ (int(self.keys[y, x]) if turn else 0)
            if there not in seen:
                return x, y, turn, gain
            gains[at] = -np.inf

    def mark(self) -> int:
        """One number for the graph (Zobrist 1970)."""
        return int(np.bitwise_xor.reduce(self.keys[self.arcs], initial=0))

    def shake(self, changes: int, rng: np.random.Generator) -> None:
        """So many random changes that are allowed."""
        for _ in range(changes):
            single, turned, arcs = self.moves()
            gains = np.concatenate([single.ravel(), turned])
            choices = np.flatnonzero(gains > -np.inf)
            if not choices.size:
                return
            at = int(rng.choice(choices))
            n = len(self.parents)
            if at >= n * n:
                x, y = arcs[at - n * n].tolist()
                self.change(x, y, True)
            else:
                self.change(*divmod(at, n), False)
