"""Slow plain twins: counting row by row, formulas with math.lgamma, every graph there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, product
from math import lgamma, log

import numpy as np

from plausible.counting import Cases
from plausible.cpds import as_table
from plausible.graph import Graph
from plausible.network import Network
from plausible.schema import Variable


def random_cases(seed: int, states: Sequence[int], rows: int, gaps: float = 0.0) -> Cases:
    """Cases in which each column leans on the one before it; each cell is a gap with probability `gaps`."""
    rng = np.random.default_rng(seed)
    variables = tuple(Variable(f"v{i}", states=tuple(f"s{k}" for k in range(r))) for i, r in enumerate(states))
    columns = []
    for i, r in enumerate(states):
        fresh = rng.integers(0, r, rows)
        copied = columns[-1] % r if i else fresh
        columns.append(np.where(rng.random(rows) < 0.5, fresh, copied))
    coded = tuple(np.where(rng.random(rows) < gaps, -1, column) for column in columns)
    return Cases(variables, coded)


def sample(network: Network, rows: int, seed: int) -> Cases:
    """Forward sampling."""
    rng = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
    for name in network.graph.order:
        table = as_table(network[name])
        chances = np.broadcast_to(
            table.values[tuple(columns[p.name] for p in table.parents)], (rows, *table.values.shape[-1:])
        )
        columns[name] = (rng.random(rows)[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Cases(network.variables, tuple(columns[v.name] for v in network.variables))


def counts(cases: Cases, names: Sequence[str]) -> np.ndarray:
    at = [[v.name for v in cases.variables].index(name) for name in names]
    table = np.zeros([len(cases.variables[v].states) for v in at], dtype=int)
    for row in zip(*(cases.codes[v].tolist() for v in at), strict=True):
        if min(row) >= 0:
            table[row] += 1
    return table


def family_score(table: np.ndarray, score: str, rows: int, variables: int) -> float:
    """One family, from its definition; the child's states are the last axis."""
    r = table.shape[-1]
    flat = table.reshape(-1, r)
    q = len(flat)
    if score in ("k2", "bdeu", "bdeu-sparse"):
        a = 1.0 if score == "k2" else 1.0 / (q * r)
        total = sum(
            lgamma(r * a) - lgamma(r * a + row.sum()) + sum(lgamma(a + n) - lgamma(a) for n in row) for row in flat
        )
        return total - (table.ndim - 1) * log(variables - 1) * (score == "bdeu-sparse")
    likelihood = sum(n * log(n / row.sum()) for row in flat for n in row if n)
    return likelihood - q * (r - 1) * (log(rows) / 2 if score == "bic" else 1)


def graph_score(cases: Cases, graph: Graph, score: str) -> float:
    families = ((*above, child) for child, above in graph.parents.items())
    return sum(family_score(counts(cases, f), score, cases.rows, len(cases.variables)) for f in families)


Parents = dict[str, tuple[str, ...]]


@cache
def all_graphs(names: tuple[str, ...]) -> list[Parents]:
    """The parents in every directed acyclic graph: 29,281 of 5 nodes."""
    pairs = list(combinations(names, 2))
    graphs = []
    for choice in product((0, 1, 2), repeat=len(pairs)):
        arcs = [(a, b) if way == 1 else (b, a) for (a, b), way in zip(pairs, choice, strict=True) if way]
        left = set(names)
        while free := {v for v in left if not any(b == v and a in left for a, b in arcs)}:
            left -= free
        if not left:
            graphs.append({v: tuple(a for a, b in arcs if b == v) for v in names})
    return graphs


def best_score(cases: Cases, score: str, fits: Callable[[Parents], bool] = lambda parents: True) -> float:
    """The highest score of all graphs that fit."""
    names = tuple(v.name for v in cases.variables)

    @cache
    def family(child: str, above: tuple[str, ...]) -> float:
        return family_score(counts(cases, (*above, child)), score, cases.rows, len(names))

    return max(sum(family(*item) for item in parents.items()) for parents in all_graphs(names) if fits(parents))


def dependence(table: np.ndarray) -> tuple[float, float, float]:
    """G², χ² and degrees of freedom of the first axis and the last, given those between."""
    x, y = table.shape[0], table.shape[-1]
    g2 = x2 = freedom = 0.0
    for stratum in np.moveaxis(table.reshape(x, -1, y), 1, 0):
        stratum = stratum[stratum.sum(axis=1) > 0][:, stratum.sum(axis=0) > 0]
        if not stratum.size:
            continue
        expected = np.outer(stratum.sum(axis=1), stratum.sum(axis=0)) / stratum.sum()
        x2 += ((stratum - expected) ** 2 / expected).sum()
        seen = stratum > 0
        g2 += 2 * (stratum[seen] * np.log(stratum[seen] / expected[seen])).sum()
        freedom += (stratum.shape[0] - 1) * (stratum.shape[1] - 1)
    return g2, x2, freedom
