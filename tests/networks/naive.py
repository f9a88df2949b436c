"""Slow plain twins: random networks, and every answer by enumerating the joint table."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import numpy.typing as npt

from plausible.cpds import Table, as_table
from plausible.network import Network
from plausible.schema import Variable

Array = npt.NDArray[np.float64]

CAMPFIRE_ARCS: dict[str, list[str]] = {  # Mitchell 1997, figure 6.3
    "Storm": [],
    "BusTourGroup": [],
    "Lightning": ["Storm"],
    "Campfire": ["Storm", "BusTourGroup"],
    "Thunder": ["Lightning"],
    "ForestFire": ["Storm", "Lightning", "Campfire"],
}


def random_network(
    seed: int, nodes: int = 6, most_parents: int = 3, most_states: int = 3, zeros: float = 0.0
) -> Network:
    """A random network; each entry of a table is 0 with probability `zeros`."""
    rng = np.random.default_rng(seed)
    variables = [
        Variable(
            f"v{i}",
            states=tuple(f"s{k}" for k in range(rng.integers(1 if i % 5 == 4 else 2, most_states + 1))),
        )
        for i in range(nodes)
    ]
    order = rng.permutation(nodes)
    cpds = []
    for place, i in enumerate(order):
        count = min(place, int(rng.integers(0, most_parents + 1)))
        parents = [variables[j] for j in rng.choice(order[:place], size=count, replace=False)] if count else []
        shape = tuple(len(v.states) for v in (*parents, variables[i]))
        values = rng.dirichlet(np.ones(shape[-1]), size=prod(shape[:-1])).reshape(shape)
        keep = rng.random(shape) >= zeros
        keep[..., 0] |= ~keep.any(axis=-1)
        values = values * keep
        cpds.append(Table(variables[i], parents, values / values.sum(axis=-1, keepdims=True)))
    return Network(None, {c.child.name: c for c in cpds})


def joint(network: Network) -> Array:
    """The whole joint table, axes in the order of `network.names`."""
    names = list(network.names)
    result = np.ones(())
    result = np.ones([len(v.states) for v in network.variables])
    for name in names:
        table = as_table(network[name])
        axes = [names.index(p.name) for p in table.parents] + [names.index(name)]
        shape = [1] * len(names)
        for axis in axes:
            shape[axis] = len(network.variables[axis].states)
        result = result * table.values.transpose(np.argsort(axes)).reshape(shape)
    return result


def weighted(network: Network, weights: Mapping[str, npt.ArrayLike]) -> Array:
    """The joint times a vector for each of some variables: P(x, evidence)."""
    names = list(network.names)
    result = joint(network)
    for name, weight in weights.items():
        shape = [1] * len(names)
        shape[names.index(name)] = -1
        result = result * np.asarray(weight, dtype=float).reshape(shape)
    return result


def marginal(network: Network, table: Array, *names: str) -> Array:
    """A joint table's marginal over these variables, in this order, normalised."""
    places = [network.names.index(name) for name in names]
    rest = tuple(i for i in range(table.ndim) if i not in places)
    summed = table.sum(axis=rest).transpose([sorted(places).index(i) for i in places])
    return np.asarray(summed / summed.sum())
