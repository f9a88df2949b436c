"""K2: the best parents of each variable among those before it in an order (Cooper and Herskovits 1992)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from plausible.counting import Counter, positions
from plausible.errors import CallError
from plausible.graph import Graph
from plausible.learn.structure.knowledge import FREE, Knowledge, Limits
from plausible.learn.structure.scores import Score, Scorer
from plausible.learn.structure.search import Progress, Structure, Watch, structure
from plausible.network import Network


def k2(
    counter: Counter,
    order: Sequence[str] | Graph | Network | None = None,
    *,
    score: str | Score = "k2",
    prune: bool = False,
    orders: int = 20,
    knowledge: Knowledge = FREE,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Structure:
    """Learn a structure along an order of the variables.

    Parameters
    ----------
    counter : Counter
    order : sequence of str, Graph or Network, optional
        Causes before effects. Without one, the best of `orders` random orders is taken.
    score : str or Score
    prune : bool
        Afterwards, take parents out again as long as the score gets better.
    orders : int
    knowledge : Knowledge
    seed : int
    seconds : float, optional
    progress : callable, optional
    """
    scorer = Scorer(counter, score)
    limits = knowledge.limits([variable.name for variable in counter.variables])
    watch = Watch(seconds, progress)
    best, total = limits.start(), -np.inf
    with watch:
        for along in _orders(counter, order, orders, seed):
            found, score_found = _along(scorer, along, limits, prune, watch)
            if score_found > total:
                best, total = found, score_found
    if total == -np.inf:
        total = scorer.total(best)
    return structure(counter.variables, best, total, watch)


def _orders(counter: Counter, order: Sequence[str] | Graph | Network | None, orders: int, seed: int) -> list[list[int]]:
    names = [variable.name for variable in counter.variables]
    if order is None:
        if orders < 1:
            raise CallError(f"orders is {orders}; try at least one order")
        rng = np.random.default_rng(seed)
        return [rng.permutation(len(names)).tolist() for _ in range(orders)]
    graph = order.graph if isinstance(order, Network) else order
    given = list(graph.order) if isinstance(graph, Graph) else list(graph)
    along = positions(counter.variables, given)
    missing = [name for name in names if name not in given]
    if missing:
        raise CallError(f"the order lacks {', '.join(map(repr, missing))}; name every variable of the data")
    return [along]


def _along(
    scorer: Scorer, order: list[int], limits: Limits, prune: bool, watch: Watch
) -> tuple[list[list[int]], float]:
    limits.along(order, scorer.variables)
    parents: list[list[int]] = [[] for _ in order]
    total = 0.0
    for place, y in enumerate(order):
        before = np.array(order[:place], dtype=np.int32)
        own = np.flatnonzero(limits.required[:, y]).tolist()
        own, best = _grow(scorer, y, own, before[limits.allowed[before, y]], limits.most)
        if prune:
            own, best = _shrink(scorer, y, own, best, limits)
        parents[y] = own
        total += best
        watch.step(total)
    return parents, total


def _grow(
    scorer: Scorer, y: int, own: list[int], candidates: np.ndarray[tuple[int], np.dtype[np.int32]], most: int
) -> tuple[list[int], float]:
    best = float(scorer.batch(np.array([[*own, y]], dtype=np.int32))[0])
    candidates = candidates[~np.isin(candidates, own)]
    while len(own) < most and candidates.size:
        families = np.empty((candidates.size, len(own) + 2), dtype=np.int32)
        families[:, 0] = candidates
        families[:, 1:] = [*own, y]
        scores = scorer.batch(families)
        at = int(scores.argmax())
        if not scores[at] > best:
            break
        best = float(scores[at])
        own = [*own, int(candidates[at])]
        candidates = np.delete(candidates, at)
    return own, best


def _shrink(scorer: Scorer, y: int, own: list[int], best: float, limits: Limits) -> tuple[list[int], float]:
    while free := [x for x in own if not limits.required[x, y]]:
        smaller = [[p for p in own if p != x] for x in free]
        scores = scorer.batch(np.array([[*rest, y] for rest in smaller], dtype=np.int32))
        at = int(scores.argmax())
        if not scores[at] > best:
            break
        own, best = smaller[at], float(scores[at])
    return own, best
