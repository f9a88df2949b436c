"""How probable arcs are given the data: sampling orders of the variables (Friedman and Koller 2003)."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from plausible.chance import generator
from plausible.counting import Counter
from plausible.errors import CallError
from plausible.learning.structure.ensemble import Ensemble, ensemble
from plausible.learning.structure.knowledge import FREE, Knowledge, Limits
from plausible.learning.structure.scorers import Scorer, scorer_of
from plausible.learning.structure.scores import Score, family, wider
from plausible.learning.structure.search import Progress, Watch

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.int64]

MOST_PARENTS = 4
MOST_SETS = 1 << 16
"""Sets of parents that are scored for one variable."""


def order_mcmc(
    counter: Counter,
    *,
    steps: int = 20_000,
    score: str | Score | None = None,
    candidates: int = 12,
    knowledge: Knowledge = FREE,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Ensemble:
    """Sample orders by their posterior, and of each in proportion a structure.

    The score of an order sums over all structures that go with it (eq. 8). All orders are equally likely beforehand,
    so structures that go with many orders are likelier than others. The first fifth of the walk does not count.

    Parameters
    ----------
    counter : Counter
    steps : int
        Each exchanges two variables, or is refused (Metropolis et al. 1953).
    score : str or Score
    candidates : int
        The parents of a variable are among so many that alone score best for it (section 5.1), at most four of them
        where `knowledge` does not say `max_parents`.
    knowledge : Knowledge
    seed : int
    seconds : float, optional
    progress : callable, optional

    Examples
    --------
    >>> from plausible.coding import read_cases
    >>> cases = read_cases([{"rain": r, "wet": w} for r, w in ["nn", "ny", "yy", "yy", "nn", "nn"] * 20])
    >>> [one] = order_mcmc(cases, steps=1000).joined()
    >>> one.probability > 0.99
    True
    """
    if steps < 1:
        raise CallError(f"steps is {steps}; take one step at least")
    if not 1 <= candidates <= 62:
        raise CallError(f"candidates is {candidates}; it lies between 1 and 62")
    scorer = scorer_of(counter, score)
    limits = knowledge.within(counter.variables)
    n = len(counter.variables)
    watch = Watch(seconds, progress)
    rng = generator(seed)
    arcs, kept = np.zeros((n, n)), 0
    graphs: Tally[tuple[tuple[int, ...], ...]] = Tally()
    most = min(limits.most, MOST_PARENTS) if knowledge.max_parents is None else limits.most
    with watch:
        choices = [_Choices(scorer, y, limits, candidates, most) for y in range(n)]
        walk = _Walk(choices, limits, rng)
        for step in range(steps):
            walk.step(rng)
            if step >= steps // 5 and step % max(n // 2, 1) == 0:
                arcs += walk.arcs()
                kept += 1
                graphs[walk.graph(rng)] += 1
            watch.step(walk.total)
    if not kept:
        raise CallError("the walk was stopped before it had begun to count; give it more steps or seconds")
    return ensemble([variable.name for variable in counter.variables], graphs, arcs / kept, watch.stopped)


class _Choices:
    """The sets of parents that a variable may have, as bits of its candidates, with their scores."""

    def __init__(self, scorer: Scorer, y: int, limits: Limits, candidates: int, most: int) -> None:
        needed = np.flatnonzero(limits.required[:, y])
        free = np.flatnonzero(limits.allowed[:, y] & ~limits.required[:, y])
        alone = scorer.batch(wider([], free, y)) if len(free) else np.zeros(0)
        best = free[np.argsort(-alone, kind="stable")[: max(candidates - len(needed), 0)]]
        self.child = y
        self.among = np.concatenate([needed, np.sort(best)]).astype(np.intp)
        k, least = len(self.among), len(needed)
        sizes = range(min(most - least, k - least) + 1)
        count = sum(comb(k - least, size) for size in sizes)
        if count > MOST_SETS:
            raise CallError(
                f"{count:,} sets of parents would be scored for one variable; lower candidates or max_parents"
            )
        always = (1 << least) - 1
        bits: list[int] = []
        scores: list[Floats] = []
        for size in sizes:
            sets = list(combinations(range(least, k), size))
            bits += [always | sum(1 << at for at in chosen) for chosen in sets]
            rows = [[*needed.tolist(), *self.among[list(chosen)].tolist(), y] for chosen in sets]
            scores.append(scorer.batch(np.array(rows, dtype=np.int32)) if rows[0][:-1] else scorer.batch(family([], y)))
        self.bits = np.array(bits, dtype=np.int64)
        self.scores = np.concatenate(scores)
        self.powers = 1 << np.arange(k, dtype=np.int64)
        self.members = (self.bits[:, None] & self.powers) > 0

    def weights(self, place: Bits) -> tuple[Floats, float]:
        """Of each set its share among those that come before, and the log of their sum; -inf where none does."""
        before = int((self.powers * (place[self.among] < place[self.child])).sum())
        fits = (self.bits & ~before) == 0
        if not fits.any():
            return np.zeros(len(self.bits)), -np.inf
        top = self.scores[fits].max()
        shares = np.where(fits, np.exp(np.minimum(self.scores - top, 0)), 0.0)
        whole = float(shares.sum())
        return shares / whole, float(top + np.log(whole))


class _Walk:
    """An order, and what each variable's sets of parents weigh in it."""

    def __init__(self, choices: list[_Choices], limits: Limits, rng: np.random.Generator) -> None:
        self.choices = choices
        self.order = _first_order(limits, rng)
        self.place = np.argsort(self.order)
        self.weights = [choice.weights(self.place) for choice in choices]
        self.total = sum(log for _, log in self.weights)

    def step(self, rng: np.random.Generator) -> None:
        """Exchange two variables; every other time neighbours."""
        n = len(self.order)
        if n < 2:
            return
        first = int(rng.integers(n - 1))
        second = first + 1 if rng.random() < 0.5 else int(rng.integers(first + 1, n))
        chance = rng.random()
        order = self.order.copy()
        order[[first, second]] = order[[second, first]]
        place = np.argsort(order)
        fresh = {y: self.choices[y].weights(place) for y in order[first : second + 1].tolist()}
        gain = sum(log - self.weights[y][1] for y, (_, log) in fresh.items())
        if np.log(max(chance, 1e-300)) < gain:
            self.order, self.place, self.total = order, place, self.total + gain
            for y, found in fresh.items():
                self.weights[y] = found

    def arcs(self) -> Floats:
        """How probable each arc is given the order (Friedman and Koller 2003, eq. 10)."""
        n = len(self.choices)
        found = np.zeros((n, n))
        for choice, (shares, _) in zip(self.choices, self.weights, strict=True):
            found[choice.among, choice.child] = shares @ choice.members
        return found

    def graph(self, rng: np.random.Generator) -> tuple[tuple[int, ...], ...]:
        """Parents drawn by their share in the order."""
        drawn = []
        for choice, (shares, _) in zip(self.choices, self.weights, strict=True):
            at = int(np.searchsorted(shares.cumsum(), rng.random() * shares.sum(), side="right"))
            chosen = choice.among[choice.members[min(at, len(shares) - 1)]]
            drawn.append(tuple(sorted(chosen.tolist())))
        return tuple(drawn)


def _first_order(limits: Limits, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """A random order in which required arcs lead forward."""
    left = rng.permutation(len(limits.required)).tolist()
    order: list[int] = []
    while left:
        ready = next(v for v in left if not any(limits.required[u, v] for u in left))
        order.append(ready)
        left.remove(ready)
    return np.array(order, dtype=np.intp)
