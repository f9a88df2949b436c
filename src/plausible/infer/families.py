"""A network as the core takes it: one table a variable, wide noisy-max ones as chains of small tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from plausible.cpds import Array, NoisyMax, as_table
from plausible.network import Network

WIDE = 4096
"""Entries beyond which a noisy-max is kept as a chain."""


@dataclass(frozen=True, slots=True)
class Families:
    """Variables by position: those of the network in order, then the hidden links of chains.

    Attributes
    ----------
    states : how many states each has
    scopes : the parents of each in order, then itself
    tables : P(itself | parents), in that axis order
    order : parents before children
    """

    states: list[int]
    scopes: list[list[int]]
    tables: list[Array]
    order: list[int]

    @staticmethod
    def of(network: Network) -> Families:
        index = {name: i for i, name in enumerate(network.names)}
        found = Families([len(v.states) for v in network.variables], [[]] * len(index), [np.ones(1)] * len(index), [])
        for name in network.graph.order:
            cpd, at = network[name], index[name]
            parents = [index[parent.name] for parent in cpd.parents]
            if isinstance(cpd, NoisyMax) and prod(found.states[i] for i in (*parents, at)) > WIDE:
                found._chain(cpd, parents, at)
            else:
                found.scopes[at] = [*parents, at]
                found.tables[at] = as_table(cpd).values
            found.order.append(at)
        return found

    def _chain(self, cpd: NoisyMax, parents: list[int], at: int) -> None:
        """The maximum of the causes, one joined after the other (Heckerman 1993)."""
        before: list[int] = []
        for parent, link in zip(parents, cpd.links(), strict=True):
            last = parent == parents[-1]
            place = at if last else len(self.states)
            if not last:
                self.states.append(self.states[at])
                self.scopes.append([])
                self.tables.append(link)
                self.order.append(place)
            self.scopes[place] = [*before, parent, place]
            self.tables[place] = link
            before = [place]
