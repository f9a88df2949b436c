"""The best graph there is, by dynamic programming over sets of variables (Silander and Myllymäki 2006)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from plausible.counting import Counter
from plausible.errors import CallError
from plausible.learning.structure.knowledge import FREE, Knowledge, Limits
from plausible.learning.structure.scorers import Scorer, scorer_of
from plausible.learning.structure.scores import Score
from plausible.learning.structure.search import Progress, Structure, Watch, structure

Scores = npt.NDArray[np.float64]

MOST_VARIABLES = 22
MOST_FAMILIES = 5_000_000
CHUNK = 1 << 14


def exact(
    counter: Counter,
    *,
    score: str | Score | None = None,
    knowledge: Knowledge = FREE,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Structure:
    """Learn the graph with the highest score of all.

    Time and memory double with each variable: 20 take about a minute and 200 MB.

    Parameters
    ----------
    counter : Counter
    score : str or Score
    knowledge : Knowledge
    seconds : float, optional
        When the time is up, the best graph along the order of the columns is given, of what was scored so far.
    progress : callable, optional
    """
    n = len(counter.variables)
    if n > MOST_VARIABLES:
        raise CallError(f"exact search takes at most {MOST_VARIABLES} variables, and there are {n}; use ges")
    limits = knowledge.within(counter.variables)
    families = n * sum(comb(n - 1, size) for size in range(min(limits.most, n - 1) + 1))
    if families > MOST_FAMILIES:
        raise CallError(f"exact search would score {families:,} families; set max_parents to 4 or so, or use ges")
    scorer = scorer_of(counter, score)
    watch = Watch(seconds, progress)
    parents = limits.start()
    with watch:
        best = [_best_parents(scorer, y, limits, watch) for y in range(n)]
        parents = _parents(scorer, limits, best, _last(best, watch))
    return structure(counter.variables, parents, scorer.total(parents), watch)


def _best_parents(scorer: Scorer, y: int, limits: Limits, watch: Watch) -> Scores:
    """For each set of variables the score of y's best parents within it, at least those required."""
    n = len(limits.allowed)
    best = np.full(1 << n, -np.inf)
    needed = np.flatnonzero(limits.required[:, y]).tolist()
    free = [x for x in np.flatnonzero(limits.allowed[:, y]).tolist() if x not in needed]
    for size in range(min(limits.most - len(needed), len(free)) + 1):
        sets = np.array(list(combinations(free, size)), dtype=np.int32).reshape(comb(len(free), size), size)
        families = np.hstack(
            [np.tile(np.array(needed, dtype=np.int32), (len(sets), 1)), sets, np.full((len(sets), 1), y, np.int32)]
        )
        bits = (1 << families[:, :-1].astype(np.int64)).sum(axis=1)
        for at in range(0, len(sets), CHUNK):
            part = slice(at, at + CHUNK)
            best[bits[part]] = scorer.batch(np.ascontiguousarray(families[part]))
            watch.step()
    for x in range(n):
        halves = best.reshape(-1, 2, 1 << x)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return best


def _last(best: list[Scores], watch: Watch) -> npt.NDArray[np.int8]:
    """For each set of variables, which of them comes last in the best graph over it."""
    n = len(best)
    sets = np.arange(1 << n)
    sizes = np.bitwise_count(sets)
    total = np.full(1 << n, -np.inf)
    total[0] = 0.0
    last = np.full(1 << n, -1, dtype=np.int8)
    for size in range(1, n + 1):
        level = sets[sizes == size]
        for y in range(n):
            whole = level[level >> y & 1 == 1]
            rest = whole ^ (1 << y)
            reached = total[rest] + best[y][rest]
            better = reached > total[whole]
            total[whole[better]] = reached[better]
            last[whole[better]] = y
        watch.step()
    return last


def _parents(scorer: Scorer, limits: Limits, best: list[Scores], last: npt.NDArray[np.int8]) -> list[list[int]]:
    parents: list[list[int]] = [[] for _ in best]
    rest = len(last) - 1
    while rest:
        y = int(last[rest])
        rest ^= 1 << y
        within = rest
        for x in range(len(best)):
            if within >> x & 1 and not limits.required[x, y] and best[y][within ^ 1 << x] == best[y][rest]:
                within ^= 1 << x
        parents[y] = [x for x in range(len(best)) if within >> x & 1]
    return parents
