"""Where a graph goes on a page: layers from top to bottom (Sugiyama, Tagawa and Toda 1981)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from statistics import median

from plausible.graph import Arc, Graph

Point = tuple[float, float]
Size = tuple[float, float]

SWEEPS = 24
"""Passes up and down that look for an order with fewer crossings, and then for straighter arcs."""

BETWEEN = 28.0
"""Clear space between boxes of a layer; a passing arc needs half of it."""

FEWEST_WIDE = 8
"""Nodes that any layer may hold; on big pages more."""

NEAREST, FARTHEST = 54.0, 130.0
"""Space between layers; more where arcs run far to the side."""


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """A page of `width` by `height`: a box a node, and for each arc the points that it runs through.

    Between the first and second, third and fourth ... points an arc runs straight down; between the
    second and third ... it may swing to the side.
    """

    width: float
    height: float
    boxes: dict[str, Box]
    routes: dict[Arc, list[Point]]


@dataclass(slots=True, eq=False)
class _Spot:
    """A node in its layer, or the place where an arc passes through one."""

    name: str
    layer: int
    width: float
    above: list[_Spot]
    below: list[_Spot]
    place: int = 0
    x: float = 0.0

    @property
    def passing(self) -> bool:
        return not self.name


def layered(graph: Graph, sizes: Mapping[str, Size]) -> Layout:
    """A layout in which all arcs point down, with few crossings and arcs as straight as they can be."""
    if not graph.nodes:
        return Layout(0, 0, {}, {})
    level = _levels(graph)
    spots = {name: _Spot(name, level[name], sizes[name][0], [], []) for name in graph.order}
    chains = {arc: _chain(spots[arc[0]], spots[arc[1]]) for arc in graph.arcs}
    layers = _ordered(list(spots.values()), chains, max(level.values()) + 1)
    _spread(layers)
    _straightened(layers, chains.values())
    return _drawn(graph, sizes, spots, chains, layers)


def _levels(graph: Graph) -> dict[str, int]:
    """Longest paths from the top; nodes with more children than parents then move down to them."""
    level: dict[str, int] = {}
    for name in graph.order:
        level[name] = max((level[parent] + 1 for parent in graph.parents[name]), default=0)
    for name in reversed(graph.order):
        below = graph.children[name]
        if len(below) > len(graph.parents[name]):
            level[name] = min(level[child] for child in below) - 1
    _fold(graph, level)
    return level


def _fold(graph: Graph, level: dict[str, int]) -> None:
    """Nodes without children go a layer down from layers that are too wide for the page."""
    most = max(FEWEST_WIDE, round(1.4 * len(level) ** 0.5))
    depth = 0
    while depth <= max(level.values()):
        layer = [name for name in graph.nodes if level[name] == depth]
        leaves = [name for name in layer if graph.parents[name] and not graph.children[name]]
        spare = max(0, len(layer) - most)
        for name in leaves[len(leaves) - min(spare, len(leaves)) :]:
            level[name] += 1
        depth += 1


def _chain(top: _Spot, bottom: _Spot) -> list[_Spot]:
    """The spots of an arc from parent to child, one in each layer between, linked."""
    passing = [_Spot("", layer, 0.0, [], []) for layer in range(top.layer + 1, bottom.layer)]
    chain = [top, *passing, bottom]
    for upper, lower in pairwise(chain):
        upper.below.append(lower)
        lower.above.append(upper)
    return chain


def _ordered(nodes: list[_Spot], chains: Mapping[Arc, list[_Spot]], depth: int) -> list[list[_Spot]]:
    """The layers, each ordered by medians of neighbours, the order with the fewest crossings kept."""
    layers: list[list[_Spot]] = [[] for _ in range(depth)]
    seen: set[_Spot] = set()
    for start in nodes:
        todo = [start]
        while todo:
            spot = todo.pop()
            if spot not in seen:
                seen.add(spot)
                layers[spot.layer].append(spot)
                todo.extend(reversed(spot.above + spot.below))
    _number(layers)
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        for layer in layers[1:] if down else layers[-2::-1]:
            _by_medians(layer, down)
        _swap(layers)
        if (count := _crossings(layers)) < fewest:
            best, fewest = [list(layer) for layer in layers], count
    _number(best)
    return best


def _number(layers: list[list[_Spot]]) -> None:
    for layer in layers:
        for place, spot in enumerate(layer):
            spot.place = place


def _by_medians(layer: list[_Spot], down: bool) -> None:
    """Spots without neighbours on that side keep their places; the others are sorted around them."""
    keys = {
        spot: median(other.place for other in near) for spot in layer if (near := spot.above if down else spot.below)
    }
    movable = iter(sorted((spot for spot in layer if spot in keys), key=lambda spot: keys[spot]))
    layer[:] = [next(movable) if spot in keys else spot for spot in layer]
    _number([layer])


def _swap(layers: list[list[_Spot]]) -> None:
    """Neighbours change places where that takes crossings away."""
    for layer in layers:
        for i in range(len(layer) - 1):
            a, b = layer[i], layer[i + 1]
            gain = sum(
                _pairs(x, y) - _pairs(y, x)
                for x, y in (
                    ([s.place for s in a.above], [s.place for s in b.above]),
                    ([s.place for s in a.below], [s.place for s in b.below]),
                )
            )
            if gain > 0:
                layer[i], layer[i + 1] = b, a
                a.place, b.place = i + 1, i


def _pairs(left: list[int], right: list[int]) -> int:
    """Crossings between the arcs of two neighbours: pairs in which the left one's end is further right."""
    return sum(x > y for x in left for y in right)


def _crossings(layers: list[list[_Spot]]) -> int:
    total = 0
    for layer in layers:
        ends: list[int] = []
        for spot in layer:
            for place in sorted(other.place for other in spot.below):
                total += len(ends) - bisect_left(ends, place + 1)
            for other in spot.below:
                insort(ends, other.place)
    return total


def _spread(layers: list[list[_Spot]]) -> None:
    """Sideways positions: each spot as near to the middle of its neighbours as those beside it allow."""
    for layer in layers:
        x = 0.0
        for before, spot in zip([None, *layer], layer, strict=False):
            x += _apart(before, spot) if before else 0.0
            spot.x = x
        for spot in layer:
            spot.x -= x / 2
    for sweep in range(2 * SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            both = sweep >= SWEEPS
            wanted, weights = [], []
            for spot in layer:
                near = spot.above + spot.below if both else spot.above if down else spot.below
                pull = [8.0 if spot.passing and other.passing else 2.0 if other.passing else 1.0 for other in near]
                total = sum(pull)
                middle = sum(p * other.x for p, other in zip(pull, near, strict=True))
                wanted.append(middle / total if near else spot.x)
                weights.append(total if near else 0.01)
            for spot, x in zip(layer, _separated(layer, wanted, weights), strict=True):
                spot.x = x


def _straightened(layers: list[list[_Spot]], chains: Iterable[list[_Spot]]) -> None:
    """Arcs that pass several layers on one vertical line, where their neighbours leave room for it."""
    beside: dict[_Spot, tuple[_Spot | None, _Spot | None]] = {}
    for layer in layers:
        for before, spot, after in zip([None, *layer], layer, [*layer[1:], None], strict=False):
            beside[spot] = before, after
    for chain in sorted(chains, key=len, reverse=True):
        passing = chain[1:-1]
        low = max((b.x + _apart(b, s) for s in passing if (b := beside[s][0])), default=-inf)
        high = min((a.x - _apart(s, a) for s in passing if (a := beside[s][1])), default=inf)
        if passing and low <= high:
            x = min(max(sum(s.x for s in chain[1:-1]) / len(passing), low), high)
            for spot in passing:
                spot.x = x


def _apart(a: _Spot, b: _Spot) -> float:
    """The least distance between the middles of neighbours."""
    return (a.width + b.width) / 2 + (BETWEEN / 2 if a.passing or b.passing else BETWEEN)


def _separated(layer: Sequence[_Spot], wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The positions nearest to the wanted ones, in squares, that keep everything apart.

    With the least distances taken off, positions must not fall: pool adjacent violators
    (Ayer, Brunk, Ewing, Reid and Silverman 1955).
    """
    offsets = [0.0]
    for a, b in pairwise(layer):
        offsets.append(offsets[-1] + _apart(a, b))
    pools: list[tuple[float, float, int]] = []
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, total, count = want - offset, weight, 1
        while pools and pools[-1][0] > mean:
            other, heavy, many = pools.pop()
            mean = (mean * total + other * heavy) / (total + heavy)
            total, count = total + heavy, count + many
        pools.append((mean, total, count))
    flat = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=True)]


def _drawn(
    graph: Graph,
    sizes: Mapping[str, Size],
    spots: Mapping[str, _Spot],
    chains: Mapping[Arc, list[_Spot]],
    layers: list[list[_Spot]],
) -> Layout:
    left = min(spot.x - spot.width / 2 for layer in layers for spot in layer)
    right = max(spot.x + spot.width / 2 for layer in layers for spot in layer)
    tall = [max((sizes[s.name][1] for s in layer if not s.passing), default=0.0) for layer in layers]
    tops = [0.0]
    for layer, height in zip(layers, tall, strict=True):
        swing = max((abs(s.x - other.x) for s in layer for other in s.below), default=0.0)
        tops.append(tops[-1] + height + min(FARTHEST, max(NEAREST, 0.16 * swing)))
    boxes = {}
    for name in graph.nodes:
        spot, (width, height) = spots[name], sizes[name]
        y = tops[spot.layer] + (tall[spot.layer] - height) / 2
        boxes[name] = Box(spot.x - width / 2 - left, y, width, height)
    routes = {}
    for arc, chain in chains.items():
        top, bottom = boxes[arc[0]], boxes[arc[1]]
        start = _port(chain[0], chain[0].below, chain[1]) - left
        end = _port(chain[-1], chain[-1].above, chain[-2]) - left
        route = [(start, top.y + top.height), (start, tops[chain[0].layer] + tall[chain[0].layer])]
        for spot in chain[1:-1]:
            route += [(spot.x - left, tops[spot.layer]), (spot.x - left, tops[spot.layer] + tall[spot.layer])]
        routes[arc] = [*route, (end, tops[chain[-1].layer]), (end, bottom.y)]
    return Layout(right - left, tops[-2] + tall[-1], boxes, routes)


def _port(spot: _Spot, ends: list[_Spot], end: _Spot) -> float:
    """Where along a box an arc begins or ends: side by side, in the order of the other ends."""
    rank = sorted(ends, key=lambda other: other.x).index(end)
    step = min(16.0, 0.7 * spot.width / len(ends))
    return spot.x + (rank - (len(ends) - 1) / 2) * step
