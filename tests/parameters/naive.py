"""Slow, plain twins: EM on a network by enumerating every completion of every row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plausible.counting import Cases
from plausible.cpds import Table, as_table
from plausible.network import Network
from tests.networks.naive import marginal, weighted

Counts = dict[str, np.ndarray]


def expected(network: Network, cases: Cases) -> tuple[Counts, float]:
    """Expected counts of each family, and ln P(cases)."""
    at = {v.name: i for i, v in enumerate(cases.variables)}
    counts = {name: np.zeros(as_table(network[name]).values.shape) for name in network.names}
    total = 0.0
    for r in range(cases.rows):
        seen = {
            name: np.eye(len(network[name].child.states))[cases.codes[i][r]]
            for name, i in at.items()
            if cases.codes[i][r] >= 0
        }
        joint = weighted(network, seen)
        total += float(np.log(joint.sum()))
        for name, table in counts.items():
            table += marginal(network, joint, *(p.name for p in network[name].parents), name)
    return counts, total


def m_step(network: Network, counts: Counts, pseudo: Mapping[str, np.ndarray]) -> Network:
    tables = []
    for name in network.names:
        seen = counts[name] + pseudo[name]
        sums = seen.sum(axis=-1, keepdims=True)
        values = np.where(sums > 0, seen / np.where(sums > 0, sums, 1), 1 / seen.shape[-1])
        tables.append(Table(network[name].child, network[name].parents, values))
    return network.replace(*tables)


def gappy(cases: Cases, share: float, seed: int) -> Cases:
    """The cases with cells taken out at random."""
    rng = np.random.default_rng(seed)
    return Cases(cases.variables, tuple(np.where(rng.random(cases.rows) < share, -1, c) for c in cases.codes))


def without(cases: Cases, *names: str) -> Cases:
    """The cases without these columns."""
    kept = [i for i, v in enumerate(cases.variables) if v.name not in names]
    return Cases(tuple(cases.variables[i] for i in kept), tuple(cases.codes[i] for i in kept))
