"""How the arcs of two networks differ, graph by graph and class by class."""

from __future__ import annotations

from dataclasses import dataclass

from plausible.graph import Arc, Graph
from plausible.network import Network


@dataclass(frozen=True, slots=True)
class Comparison:
    """What has to be changed in the first graph to get the second.

    Attributes
    ----------
    same, missing, extra, reversed : tuple of arcs
        Arcs of the first that the second has, lacks, or turns (as the first has them), and arcs that only
        the second has.
    only_first, only_second : tuple of str
        Nodes that the other lacks; their arcs count as missing or extra.
    distance : int
        Structural Hamming distance of the graphs: missing + extra + reversed.
    class_distance : int
        That of their equivalence classes, where an arc that could be turned is an edge
        (Tsamardinos, Brown and Aliferis 2006).
    class_missing, class_extra, class_redirected : tuple of pairs
        Pairs of nodes that only the first, or only the second class joins, or that both join differently.
    """

    same: tuple[Arc, ...]
    missing: tuple[Arc, ...]
    extra: tuple[Arc, ...]
    reversed: tuple[Arc, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    class_missing: tuple[Arc, ...]
    class_extra: tuple[Arc, ...]
    class_redirected: tuple[Arc, ...]

    @property
    def distance(self) -> int:
        return len(self.missing) + len(self.extra) + len(self.reversed)

    @property
    def class_distance(self) -> int:
        return len(self.class_missing) + len(self.class_extra) + len(self.class_redirected)


def compare(first: Network | Graph, second: Network | Graph) -> Comparison:
    """How the second network, say a learned one, differs from the first, say the true one.

    Examples
    --------
    >>> true = Graph({"wet": ["rain", "sprinkler"], "sprinkler": ["rain"]})
    >>> learned = Graph({"wet": ["rain"], "rain": ["sprinkler"], "wind": ["wet"]})
    >>> found = compare(true, learned)
    >>> found.missing, found.extra, found.reversed
    ((('sprinkler', 'wet'),), (('wet', 'wind'),), (('rain', 'sprinkler'),))
    >>> found.distance, found.class_distance
    (3, 2)
    """
    a, b = (given.graph if isinstance(given, Network) else given for given in (first, second))
    theirs = set(b.arcs)
    own = set(a.arcs)
    joined = {(y, x) for x, y in own} | own
    marks, others = _marks(a), _marks(b)
    return Comparison(
        same=tuple(arc for arc in a.arcs if arc in theirs),
        missing=tuple((x, y) for x, y in a.arcs if (x, y) not in theirs and (y, x) not in theirs),
        extra=tuple(arc for arc in b.arcs if arc not in joined),
        reversed=tuple((x, y) for x, y in a.arcs if (y, x) in theirs),
        only_first=tuple(name for name in a.nodes if name not in b.parents),
        only_second=tuple(name for name in b.nodes if name not in a.parents),
        class_missing=tuple(pair for pair in marks if pair not in others),
        class_extra=tuple(pair for pair in others if pair not in marks),
        class_redirected=tuple(pair for pair in marks if others.get(pair, marks[pair]) != marks[pair]),
    )


def _marks(graph: Graph) -> dict[Arc, Arc | None]:
    """The pairs that the equivalence class joins, names in order, and the arc, None where it can be turned."""
    found = graph.equivalence_class()
    pairs: dict[Arc, Arc | None] = dict.fromkeys(sorted(found.edges))
    return pairs | {(min(arc), max(arc)): arc for arc in sorted(found.arcs)}
