"""Directed acyclic graphs: order, ancestors, d-separation, Markov blanket, moral graph, equivalence class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import combinations

from plausible.errors import CallError, ModelError, unknown

Arc = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Graph:
    """A directed acyclic graph of named nodes.

    Parameters
    ----------
    parents : mapping of str to sequence of str
        The parents of each node. A name that occurs only as a parent is a node without parents.

    Attributes
    ----------
    nodes : tuple of str
        In the order in which they were given; names that occur only as parents come last.
    order : tuple of str
        Parents before children; of the nodes that could come next, the one given first.

    Examples
    --------
    >>> graph = Graph({"Lightning": ["Storm"], "Campfire": ["Storm", "Bus"], "Thunder": ["Lightning"]})
    >>> graph.order
    ('Storm', 'Lightning', 'Thunder', 'Bus', 'Campfire')
    >>> graph.separated("Thunder", "Campfire", given=["Storm"])
    True
    >>> Graph({"a": ["b"], "b": ["c"], "c": ["a"]})
    Traceback (most recent call last):
    plausible.errors.ModelError: the arcs form a cycle: a -> c -> b -> a; take one of these arcs out
    """

    parents: Mapping[str, tuple[str, ...]]
    children: Mapping[str, tuple[str, ...]] = field(init=False, repr=False)
    order: tuple[str, ...] = field(init=False, repr=False)

    def __init__(self, parents: Mapping[str, Sequence[str]]) -> None:
        known = dict.fromkeys((*parents, *(name for above in parents.values() for name in above)))
        tidy = {name: tuple(parents.get(name, ())) for name in known}
        children: dict[str, list[str]] = {name: [] for name in known}
        for child, above in tidy.items():
            if len(set(above)) < len(above):
                twice = next(name for i, name in enumerate(above) if name in above[:i])
                raise ModelError(f"node {child!r} has the parent {twice!r} twice; name each parent once")
            for parent in above:
                children[parent].append(child)
        object.__setattr__(self, "parents", tidy)
        object.__setattr__(self, "children", {name: tuple(below) for name, below in children.items()})
        object.__setattr__(self, "order", _order(tidy, children))

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.parents)

    @property
    def arcs(self) -> tuple[Arc, ...]:
        """All arcs as (parent, child)."""
        return tuple((parent, child) for child, above in self.parents.items() for parent in above)

    def ancestors(self, of: Iterable[str]) -> set[str]:
        """The nodes from which an arrow path leads to one of `of`; those themselves included."""
        return self._closure(of, self.parents)

    def descendants(self, of: Iterable[str]) -> set[str]:
        """The nodes to which an arrow path leads from one of `of`; those themselves included."""
        return self._closure(of, self.children)

    def _closure(self, start: Iterable[str], along: Mapping[str, tuple[str, ...]]) -> set[str]:
        found: set[str] = set()
        todo = [self._known(name) for name in start]
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo.extend(along[name])
        return found

    def _known(self, name: str) -> str:
        if name not in self.parents:
            raise CallError(unknown("node", name, self.parents))
        return name

    def connected(self, source: str, given: Iterable[str] = ()) -> set[str]:
        """All nodes that are d-connected to `source` once `given` is known.

        Koller and Friedman 2009, algorithm 3.1.
        """
        self._known(source)
        seen = {self._known(name) for name in given}
        above_seen = self.ancestors(seen)
        visited: set[tuple[str, bool]] = set()
        reached: set[str] = set()
        todo = [(source, True)]
        while todo:
            name, upward = todo.pop()
            if (name, upward) in visited:
                continue
            visited.add((name, upward))
            if name not in seen:
                reached.add(name)
            if upward and name not in seen:
                todo.extend((parent, True) for parent in self.parents[name])
                todo.extend((child, False) for child in self.children[name])
            elif not upward:
                if name not in seen:
                    todo.extend((child, False) for child in self.children[name])
                if name in above_seen:
                    todo.extend((parent, True) for parent in self.parents[name])
        return reached

    def separated(self, a: str, b: str, given: Iterable[str] = ()) -> bool:
        """Whether `a` and `b` are d-separated by `given`: independent whatever the tables say."""
        self._known(b)
        return b not in self.connected(a, given)

    def markov_blanket(self, of: str) -> set[str]:
        """Parents, children and the children's other parents: given these, nothing else matters."""
        below = self.children[self._known(of)]
        near = {*self.parents[of], *below, *(parent for child in below for parent in self.parents[child])}
        return near - {of}

    def moral(self) -> dict[str, set[str]]:
        """The neighbours of each node once parents are married and arrows dropped."""
        near: dict[str, set[str]] = {name: set() for name in self.parents}
        for child, above in self.parents.items():
            for a, b in combinations((*above, child), 2):
                near[a].add(b)
                near[b].add(a)
        return near

    def equivalence_class(self) -> EquivalenceClass:
        """The arcs shared by all graphs with the same d-separations, and the edges that can be turned.

        Chickering 1995, algorithms "Order-Edges" and "Label-Edges".
        """
        place = {name: i for i, name in enumerate(self.order)}
        compelled: dict[Arc, bool] = {}
        for y in self.order:
            above = sorted(self.parents[y], key=place.__getitem__, reverse=True)
            for x in above:
                if (x, y) not in compelled:
                    self._label(x, y, above, compelled)
        return EquivalenceClass(
            self.nodes,
            frozenset(arc for arc, fixed in compelled.items() if fixed),
            frozenset(_edge(*arc) for arc, fixed in compelled.items() if not fixed),
        )

    def _label(self, x: str, y: str, above: list[str], compelled: dict[Arc, bool]) -> None:
        for w in self.parents[x]:
            if compelled[w, x]:
                if w not in self.parents[y]:
                    compelled.update({(z, y): True for z in above})
                    return
                compelled[w, y] = True
        fixed = any(z != x and z not in self.parents[x] for z in above)
        compelled.update({(z, y): fixed for z in above if (z, y) not in compelled})

    def with_parents(self, child: str, parents: Sequence[str]) -> Graph:
        """The graph in which `child` has these parents; a new child becomes a new node."""
        return Graph({**self.parents, child: tuple(parents)})

    def without(self, nodes: Iterable[str]) -> Graph:
        """The graph without these nodes and their arcs."""
        gone = {self._known(name) for name in nodes}
        kept = {child: above for child, above in self.parents.items() if child not in gone}
        return Graph({child: [p for p in above if p not in gone] for child, above in kept.items()})


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """A CPDAG: `arcs` point the same way in every graph of the class, `edges` can be turned.

    Edges are pairs of names in alphabetical order.
    """

    nodes: tuple[str, ...]
    arcs: frozenset[Arc]
    edges: frozenset[Arc]

    def distance(self, other: EquivalenceClass) -> int:
        """Structural Hamming distance: pairs that are joined differently.

        Tsamardinos, Brown and Aliferis 2006, algorithm 4.
        """
        pairs = {_edge(*arc) for one in (self, other) for arc in (*one.arcs, *one.edges)}
        return sum(self._between(*pair) != other._between(*pair) for pair in pairs)

    def _between(self, a: str, b: str) -> str:
        if (a, b) in self.edges:
            return "edge"
        return "arc" if (a, b) in self.arcs else "turned" if (b, a) in self.arcs else "none"


def _edge(a: str, b: str) -> Arc:
    return (a, b) if a < b else (b, a)


def _order(parents: Mapping[str, tuple[str, ...]], children: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Kahn 1962; a heap of positions makes the order the same every time."""
    place = {name: i for i, name in enumerate(parents)}
    missing = {name: len(above) for name, above in parents.items()}
    ready = [place[name] for name, above in parents.items() if not above]
    nodes = tuple(parents)
    order: list[str] = []
    while ready:
        name = nodes[heappop(ready)]
        order.append(name)
        for child in children[name]:
            missing[child] -= 1
            if not missing[child]:
                heappush(ready, place[child])
    if len(order) < len(parents):
        cycle = _cycle(parents, {name for name in parents if missing[name]})
        raise ModelError(f"the arcs form a cycle: {' -> '.join(cycle)}; take one of these arcs out")
    return tuple(order)


def _cycle(parents: Mapping[str, tuple[str, ...]], left: set[str]) -> list[str]:
    """A cycle among `left`, each of which has a parent in `left`; starts at its first node."""
    trail = [next(name for name in parents if name in left)]
    while trail[-1] not in trail[:-1]:
        trail.append(next(name for name in parents[trail[-1]] if name in left))
    cycle = trail[trail.index(trail[-1]) : -1][::-1]
    first = min(range(len(cycle)), key=lambda i: list(parents).index(cycle[i]))
    turned = cycle[first:] + cycle[:first]
    return [*turned, turned[0]]


def spanning_tree(weights: Sequence[Sequence[float]], order: Sequence[int]) -> list[list[int]]:
    """Parents in the tree of greatest weight that grows from the first node of `order` (Prim 1957).

    Nodes that no weight above 0 joins stay apart.

    >>> spanning_tree([[0, 1, 3], [1, 0, 2], [3, 2, 0]], [0, 1, 2])
    [[], [2], [0]]
    """
    parents: list[list[int]] = [[] for _ in weights]
    best = dict.fromkeys(order, (0.0, -1))
    while best:
        node = max(best, key=lambda v: best[v][0])
        _, parent = best.pop(node)
        if parent >= 0:
            parents[node] = [parent]
        for other, (weight, _) in best.items():
            if weights[node][other] > max(weight, 1e-9):
                best[other] = (weights[node][other], node)
    return parents
