"""Several structures in place of one: how probable each arc is, and answers averaged over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.counting import Counter
from plausible.errors import CallError, ModelError
from plausible.graph import Arc, Graph
from plausible.infer.engine import Impossible
from plausible.infer.exact import ask
from plausible.learning.fit import Rule, fit
from plausible.learning.structure.search import Stopped
from plausible.network import Network

Chances = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Joined:
    """A pair of variables: how probable it is that they are joined, and that the arc goes this way if they are."""

    parent: str
    child: str
    probability: float
    direction: float


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Structures that the data leave possible.

    Parameters
    ----------
    names : tuple of str
    graphs : tuple of Graph
        Different ones.
    weights : array, shape (graphs,)
        How probable each is; they sum to 1.
    arcs : array, shape (variables, variables)
        How probable the arc from the first to the second is; an arc that may be turned counts half each way.
    stopped : "done", "time" or "interrupt"
    """

    names: tuple[str, ...]
    graphs: tuple[Graph, ...]
    weights: Chances
    arcs: Chances
    stopped: Stopped

    def joined(self, least: float = 0.05) -> list[Joined]:
        """The pairs that are joined with at least this probability, surest first, each in its likelier direction."""
        both = self.arcs + self.arcs.T
        found = [
            Joined(self.names[x], self.names[y], float(both[x, y]), float(self.arcs[x, y] / both[x, y]))
            for x, y in np.argwhere(np.triu(both, 1) >= max(least, 1e-300)).tolist()
        ]
        turned = [j if j.direction >= 0.5 else Joined(j.child, j.parent, j.probability, 1 - j.direction) for j in found]
        return sorted(turned, key=lambda one: (-one.probability, one.parent, one.child))

    def consensus(self, least: float = 0.5) -> Graph:
        """The graph of the pairs that are joined with at least this probability, surest first, each in its likelier
        direction, or in the other where that would close a cycle."""
        parents: dict[str, list[str]] = {name: [] for name in self.names}
        for pair in self.joined(least):
            for arc in ((pair.parent, pair.child), (pair.child, pair.parent)):
                if _leads(parents, arc):
                    continue
                parents[arc[1]].append(arc[0])
                break
        return Graph(parents)

    def average(self, counter: Counter, rule: str | Rule = "bdeu", *, most: int = 100) -> Average:
        """Networks of the `most` likeliest structures, with tables learned from a counter."""
        if most < 1:
            raise CallError(f"most is {most}; average over one structure at least")
        chosen = np.argsort(-self.weights, kind="stable")[:most]
        weights = self.weights[chosen] / self.weights[chosen].sum()
        return Average(tuple(fit(self.graphs[i], counter, rule) for i in chosen), weights)


@dataclass(frozen=True, slots=True, eq=False)
class Average:
    """The average of networks over the same variables: P(x) = Σ P(network) P(x | network).

    The Bayes optimal classifier (Mitchell 1997, section 6.7) where the hypotheses are networks.
    """

    networks: tuple[Network, ...]
    weights: Chances

    def posteriors(self, given: Mapping[str, Any] | None = None) -> dict[str, Chances]:
        """P(variable | evidence) of each variable; networks in which the evidence is likelier count more.

        Raises
        ------
        Impossible
            If no network allows the evidence.
        """
        found, logs = [], []
        for network, weight in zip(self.networks, self.weights, strict=True):
            try:
                answer = ask(network, given)
            except Impossible as error:
                impossible = error
                continue
            found.append(answer.posteriors)
            logs.append(np.log(weight) + answer.log_probability)
        if not found:
            raise impossible
        share = np.exp(np.array(logs) - max(logs, default=-inf))
        share /= share.sum()
        return {name: np.tensordot(share, np.stack([one[name] for one in found]), 1) for name in self.networks[0].names}


def ensemble(
    names: Sequence[str], graphs: Mapping[tuple[tuple[int, ...], ...], int], arcs: Chances, stopped: Stopped
) -> Ensemble:
    """An ensemble of graphs, given as parents by position, with how often each was met."""
    total = sum(graphs.values())
    order = sorted(graphs, key=lambda key: -graphs[key])
    built = tuple(Graph({names[y]: [names[x] for x in above] for y, above in enumerate(key)}) for key in order)
    return Ensemble(tuple(names), built, np.array([graphs[key] / total for key in order]), arcs, stopped)


def halves(graph: Graph, names: Sequence[str]) -> Chances:
    """Which arcs a graph has; 1/2 each way for those that can be turned within its equivalence class."""
    place = {name: i for i, name in enumerate(names)}
    found = graph.equivalence_class()
    arcs = np.zeros((len(names), len(names)))
    for x, y in found.arcs:
        arcs[place[x], place[y]] = 1.0
    for x, y in found.edges:
        arcs[place[x], place[y]] = arcs[place[y], place[x]] = 0.5
    return arcs


def _leads(parents: Mapping[str, Sequence[str]], arc: Arc) -> bool:
    """Whether an arc would close a cycle."""
    try:
        Graph({**parents, arc[1]: [*parents[arc[1]], arc[0]]})
    except ModelError:
        return True
    return False
