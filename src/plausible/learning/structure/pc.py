"""PC-stable: edges that no set of neighbours explains away, then arrows (Spirtes, Glymour and Scheines 2000).

Stable: the neighbours of a round stay as they were at its start, so that the order of the columns does not
matter (Colombo and Maathuis 2014).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice

import numpy as np

from plausible.counting import Counter, refuse_gaps
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.learning.structure.independence import Test, Tester, judge_of
from plausible.learning.structure.knowledge import FREE, Knowledge, Limits
from plausible.learning.structure.pattern import Pattern, members
from plausible.learning.structure.search import Progress, Structure, Watch, structure
from plausible.schema import Variable

Open = tuple[int, int, Iterator[tuple[int, ...]]]
"""A pair that is joined so far, and the sets that were not yet given in its tests."""

Collider = tuple[float, float, int, int, int]
"""How sure x -> z <- y is, by two measures, then x, z and y."""

MOST_SETTLED = 100
"""Of each pair, sets of one size that are tried for its separation; a hub would have thousands."""

AT_ONCE = 16
"""Of each pair, up to so many tests are counted together; the first ones part most pairs."""


def pc(
    counter: Counter,
    *,
    test: Test | None = None,
    alpha: float = 0.01,
    most_given: int | None = None,
    knowledge: Knowledge = FREE,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Structure:
    """Learn an equivalence class from tests of independence.

    Parameters
    ----------
    counter : Counter
    test : "g2", "chi2" or "fisher-z"
        G² (likelihood ratio), the usual one, or Pearson's χ²; for continuous variables Fisher's z.
    alpha : float
        A pair with a p-value above this is called independent.
    most_given : int, optional
        At most so many variables are given in a test.
    knowledge : Knowledge
        All but `max_parents`.
    seconds : float, optional
        When the time is up, edges that were not yet tested stay.
    progress : callable, optional
    """
    if not 0 < alpha < 1:
        raise CallError(f"alpha is {alpha}; it lies between 0 and 1, as in .01")
    refuse_gaps(counter, "pc", "structural EM")
    knowledge.only("pc", "required", "forbidden", "tiers", "roots", "leaves")
    limits = knowledge.within(counter.variables)
    watch = Watch(seconds, progress)
    skeleton = _Skeleton(judge_of(counter, test), alpha, limits)
    with watch:
        skeleton.search(len(counter.variables) if most_given is None else most_given, watch)
        skeleton.settle(watch)
    return structure(counter.variables, _graph(skeleton, limits, counter.variables), None, watch)


class _Skeleton:
    def __init__(self, tester: Tester, alpha: float, limits: Limits) -> None:
        self.chances = tester
        self.alpha = alpha
        self.required = limits.required | limits.required.T
        joined = limits.allowed | limits.allowed.T
        self.near = [sum(1 << int(y) for y in np.flatnonzero(row)) for row in joined]
        self.separators: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {}
        self.parting: dict[tuple[int, int], list[tuple[float, tuple[int, ...]]]] = {}

    def search(self, most_given: int, watch: Watch) -> None:
        size = 0
        while size <= most_given and any(near.bit_count() > size for near in self.near):
            near = [members(around) for around in self.near]
            pairs = [(x, y) for x, around in enumerate(near) for y in around if x < y and not self.required[x, y]]
            open_ = [(x, y, _given(x, y, near, size)) for x, y in pairs]
            at_once = 1
            while open_:
                open_ = self.round(open_, at_once, watch)
                at_once = min(2 * at_once, AT_ONCE)
            size += 1

    def round(self, pairs: list[Open], at_once: int, watch: Watch) -> list[Open]:
        """Test each pair with its next sets; gives the pairs that are still joined and have sets left."""
        tests: list[tuple[int, ...]] = []
        left: list[Open] = []
        for pair in pairs:
            x, y, sets = pair
            before = len(tests)
            tests.extend((x, *given, y) for given in islice(sets, at_once))
            if len(tests) > before:
                left.append(pair)
        if not tests:
            return []
        chances = self.chances(np.array(tests, dtype=np.int32))
        for at in np.flatnonzero(chances > self.alpha).tolist():
            x, *given, y = tests[at]
            if chances[at] > self.separators.get((x, y), (0.0, ()))[0]:
                self.separators[x, y] = float(chances[at]), tuple(given)
                self.near[x] &= ~(1 << y)
                self.near[y] &= ~(1 << x)
        watch.step()
        return [(x, y, sets) for x, y, sets in left if (x, y) not in self.separators]

    def settle(self, watch: Watch) -> None:
        """For pairs with a neighbour in common all sets of neighbours that part them, so that whether it is a collider
        does not hang on which set was tried first (Colombo and Maathuis 2014, section 4.2)."""
        near = [members(around) for around in self.near]
        largest = max((len(given) for _, given in self.separators.values()), default=0)
        open_ = [(x, y) for x, y in self.separators if self.near[x] & self.near[y]]
        self.parting = {(x, y): [self.separators[x, y]] for x, y in open_}
        for size in range(largest + 1):
            tests = [(x, *given, y) for x, y in open_ for given in islice(_given(x, y, near, size), MOST_SETTLED)]
            if not tests:
                continue
            for (x, *given, y), chance in zip(tests, self.chances(np.array(tests, np.int32)).tolist(), strict=True):
                if chance > self.alpha:
                    self.parting[x, y].append((chance, tuple(given)))
            watch.step()

    def colliders(self) -> list[Collider]:
        """x -> z <- y where the sets that part x and y with z have smaller chances together than those without it.

        With what the surest have most of: how clearly z is left out (Ramsey, Zhang and Spirtes 2006 trust only what is
        left out of all sets), then the greatest chance that the pair is independent.
        """
        found = []
        for (x, y), one in self.separators.items():
            parting = self.parting.get((x, y), [one])
            for z in members(self.near[x] & self.near[y]):
                with_z = sum(chance for chance, given in parting if z in given)
                every = sum(chance for chance, _ in parting)
                if 2 * with_z < every:
                    found.append((1 - with_z / every, max(parting)[0], x, z, y))
        return sorted(found, reverse=True)


def _given(x: int, y: int, near: list[tuple[int, ...]], size: int) -> Iterator[tuple[int, ...]]:
    """All sets of so many neighbours of x, then those of y that were not among them."""
    yield from combinations([v for v in near[x] if v != y], size)
    fresh = set(near[y]) - set(near[x]) - {x}
    if fresh:
        for chosen in combinations([v for v in near[y] if v != x], size):
            if not fresh.isdisjoint(chosen):
                yield chosen


def _graph(skeleton: _Skeleton, limits: Limits, variables: Sequence[Variable]) -> list[list[int]]:
    """A directed graph of the class that the tests tell of."""
    bare = Pattern(len(skeleton.near))
    for x, near in enumerate(skeleton.near):
        for y in members(near):
            if not limits.allowed[y, x]:
                bare.direct(x, y)
            elif limits.allowed[x, y]:
                bare.join(x, y)
    colliders = skeleton.colliders()
    pattern = bare.copy()
    for *_, x, z, y in colliders:
        _collide(pattern, x, z, y)
    pattern.close()
    found = pattern.extension()
    return _compromise(bare, pattern, colliders, limits, variables) if found is None else found


def _collide(pattern: Pattern, x: int, z: int, y: int) -> bool:
    """Make x -> z <- y, unless an arrow stands against it."""
    both = 1 << x | 1 << y
    if pattern.children[z] & both:
        return False
    pattern.direct(x, z)
    pattern.direct(y, z)
    return True


def _compromise(
    bare: Pattern,
    pattern: Pattern,
    colliders: list[Collider],
    limits: Limits,
    variables: Sequence[Variable],
) -> list[list[int]]:
    """Where the tests contradict one another: the surest colliders that go together; else a graph with few arrows
    turned, since edges in a long circle always need a collider."""
    found = bare.extension()
    for *_, x, z, y in colliders if found is not None else ():
        trial = bare.copy()
        if _collide(trial, x, z, y) and (better := trial.extension()) is not None:
            bare, found = trial, better
    if found is not None:
        return found
    found = pattern.extension(force=True)
    for y, above in enumerate(found):
        for x in above:
            if not limits.allowed[x, y]:
                raise DataError(
                    f"the tests join {variables[x].name!r} and {variables[y].name!r} in a cycle that the knowledge "
                    "leaves no way out of; drop a tier or a forbidden arc, or use hill_climb"
                )
    warnings.warn(
        "the tests contradict one another, so some directions are a guess; more rows or another alpha may help",
        PlausibleWarning,
        stacklevel=4,
    )
    return found
