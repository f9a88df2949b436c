"""K2: the best parents of each variable among those before it in an order (Cooper and Herskovits 1992)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from plausible.chance import generator
from plausible.counting import Counter, places, positions
from plausible.errors import CallError
from plausible.graph import Graph
from plausible.learning.structure.knowledge import FREE, Knowledge, Limits
from plausible.learning.structure.scorers import Scorer, scorer_of
from plausible.learning.structure.scores import Score, family, narrower, wider
from plausible.learning.structure.search import Progress, Structure, Watch, structure
from plausible.network import Network

Parents = list[list[int]]


def k2(
    counter: Counter,
    order: Sequence[str] | Graph | Network | None = None,
    *,
    score: str | Score | None = None,
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
    scorer = scorer_of(counter, score, "k2")
    limits = knowledge.within(counter.variables)
    watch = Watch(seconds, progress)
    best, total = limits.start(), -np.inf
    with watch:
        for along in _orders(counter, order, orders, seed):
            limits.along(along, counter.variables)
            for found, reached in _along(scorer, along, limits, prune):
                if reached > total:
                    best, total = found, reached
                watch.step(total)
    return structure(counter.variables, best, total, watch)


def _orders(counter: Counter, order: Sequence[str] | Graph | Network | None, orders: int, seed: int) -> list[list[int]]:
    names = [variable.name for variable in counter.variables]
    if order is None:
        if orders < 1:
            raise CallError(f"orders is {orders}; try at least one order")
        rng = generator(seed)
        return [rng.permutation(len(names)).tolist() for _ in range(orders)]
    graph = order.graph if isinstance(order, Network) else order
    given = list(graph.order) if isinstance(graph, Graph) else list(graph)
    along = positions(places(counter.variables), given)
    missing = [name for name in names if name not in given]
    if missing:
        raise CallError(f"the order lacks {', '.join(map(repr, missing))}; name every variable of the data")
    return [along]


def _along(scorer: Scorer, order: list[int], limits: Limits, prune: bool) -> Iterator[tuple[Parents, float]]:
    """Grow, then shrink, all variables side by side; gives the graph after each round, with its score."""
    parents = limits.start()
    every = range(len(order))
    scores = [float(found[0]) for found in scorer.batches([family(parents[y], y) for y in every])]
    yield list(parents), sum(scores)
    before = {y: order[:place] for place, y in enumerate(order)}
    growing = {y: [x for x in before[y] if limits.allowed[x, y] and x not in parents[y]] for y in every}
    while growing := {y: more for y, more in growing.items() if more and len(parents[y]) < limits.most}:
        found = scorer.batches([wider(parents[y], more, y) for y, more in growing.items()])
        for (y, more), gained in zip(list(growing.items()), found, strict=True):
            at = int(gained.argmax())
            if gained[at] > scores[y]:
                scores[y] = float(gained[at])
                parents[y] = [*parents[y], more[at]]
                growing[y] = [x for x in more if x != more[at]]
            else:
                del growing[y]
        yield list(parents), sum(scores)
    shrinking = list(every) if prune else []
    while shrinking:
        free = {y: [x for x in parents[y] if not limits.required[x, y]] for y in shrinking}
        found = scorer.batches([narrower(parents[y], less, y) for y, less in free.items()])
        shrinking = []
        for (y, less), gained in zip(free.items(), found, strict=True):
            at = int(gained.argmax()) if less else 0
            if less and gained[at] > scores[y]:
                scores[y] = float(gained[at])
                parents[y] = [p for p in parents[y] if p != less[at]]
                shrinking.append(y)
        yield list(parents), sum(scores)
