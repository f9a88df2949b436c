"""Graphs with arrows and plain edges, by position: what equivalence classes are while they are learned.

Sets of variables are the bits of whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, overload

from plausible.graph import EquivalenceClass, Graph
from plausible.schema import Variable


@lru_cache(1 << 16)
def members(bits: int) -> tuple[int, ...]:
    """The positions in a set, lowest first."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return tuple(found)


def subsets(bits: int) -> Iterator[int]:
    """All subsets of a set, the empty one first."""
    subset = 0
    while True:
        yield subset
        if subset == bits:
            return
        subset = (subset - bits) & bits


class Pattern:
    """Parents, children and undirected neighbours of each variable."""

    def __init__(self, size: int) -> None:
        self.parents = [0] * size
        self.children = [0] * size
        self.near = [0] * size

    @staticmethod
    def of(found: EquivalenceClass) -> Pattern:
        place = {name: i for i, name in enumerate(found.nodes)}
        pattern = Pattern(len(place))
        for x, y in found.arcs:
            pattern.join(place[x], place[y])
            pattern.direct(place[x], place[y])
        for x, y in found.edges:
            pattern.join(place[x], place[y])
        return pattern

    def copy(self) -> Pattern:
        other = Pattern(0)
        other.parents, other.children, other.near = list(self.parents), list(self.children), list(self.near)
        return other

    def adjacent(self, x: int) -> int:
        return self.parents[x] | self.children[x] | self.near[x]

    def join(self, x: int, y: int) -> None:
        """A plain edge between x and y, whatever was there."""
        self.part(x, y)
        self.near[x] |= 1 << y
        self.near[y] |= 1 << x

    def part(self, x: int, y: int) -> None:
        for sets in (self.parents, self.children, self.near):
            sets[x] &= ~(1 << y)
            sets[y] &= ~(1 << x)

    def direct(self, x: int, y: int) -> None:
        """An arrow from x to y in place of what was there."""
        self.part(x, y)
        self.children[x] |= 1 << y
        self.parents[y] |= 1 << x

    def clique(self, bits: int) -> bool:
        return all(not bits & ~self.adjacent(x) & ~(1 << x) for x in members(bits))

    def leads(self, x: int, y: int, without: int) -> bool:
        """Whether a path from x to y against no arrow avoids the set `without`."""
        seen = front = 1 << x
        target = 1 << y
        while front:
            following = 0
            for v in members(front):
                following |= self.children[v] | self.near[v]
            front = following & ~without & ~seen
            if front & target:
                return True
            seen |= front
        return False

    @overload
    def extension(self, force: Literal[True]) -> list[list[int]]: ...
    @overload
    def extension(self) -> list[list[int]] | None: ...
    def extension(self, force: bool = False) -> list[list[int]] | None:
        """Parents in a directed graph with these arrows and no new collider; None where there is none.

        Dor and Tarsi 1992. With `force` there always is one: with few new colliders and turned arrows.
        """
        left = self.copy()
        remaining = list(range(len(self.parents)))
        parents: list[list[int]] = [[] for _ in self.parents]
        while remaining:
            sink = next((x for x in remaining if left._can_be_last(x)), None)
            if sink is None and force:
                sink = min(remaining, key=lambda x: (left.children[x].bit_count(), left.near[x].bit_count()))
            if sink is None:
                return None
            around = left.adjacent(sink)
            parents[sink] = list(members(around))
            for y in members(around):
                left.part(sink, y)
            remaining.remove(sink)
        return parents

    def _can_be_last(self, x: int) -> bool:
        if self.children[x]:
            return False
        around = self.adjacent(x)
        return all(not around & ~self.adjacent(y) & ~(1 << y) for y in members(self.near[x]))

    def close(self) -> None:
        """Direct the edges that only one direction leaves without a cycle or a new collider: Meek 1995, rules 1-4."""
        changed = True
        while changed:
            changed = False
            for x in range(len(self.near)):
                for y in members(self.near[x]):
                    if self.near[x] >> y & 1 and self._forced(x, y):
                        self.direct(x, y)
                        changed = True

    def _forced(self, x: int, y: int) -> bool:
        beside = self.adjacent(y)
        if self.parents[x] & ~beside:  # rule 1: else w -> x <- y is a new collider
            return True
        if self.children[x] & self.parents[y]:  # rule 2: else there is a cycle
            return True
        between = self.near[x] & self.parents[y]
        if not self.clique(between):  # rule 3
            return True
        over = (z for z in members(self.near[x] & beside) if self.near[x] & self.parents[z] & ~beside)
        return any(self.parents[y] >> z & 1 for z in over)  # rule 4


def pattern_of(variables: Sequence[Variable], parents: Sequence[Sequence[int]]) -> Pattern:
    """The equivalence class of a directed graph."""
    names = [variable.name for variable in variables]
    graph = Graph({name: [names[x] for x in above] for name, above in zip(names, parents, strict=True)})
    return Pattern.of(graph.equivalence_class())
