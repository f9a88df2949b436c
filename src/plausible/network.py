"""Belief networks: a directed acyclic graph of variables, each with its distribution given its parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from plausible.cpds import CPD, Table, conditional, numbers, state_index
from plausible.errors import CallError, ModelError, unknown
from plausible.graph import Graph
from plausible.schema import Schema, Variable
from plausible.wording import quantity

States = Mapping[str, Sequence[str]] | Sequence[str]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Network:
    """A belief network. It never changes: editing gives a new one.

    Parameters
    ----------
    arcs : mapping of str to sequence of str, or None
        The parents of each variable. None takes them from the distributions.
    cpds : mapping of str to CPD or array, or iterable of CPD
        The distribution of each variable given its parents. A plain array is a table with the parents'
        axes in the order of `arcs` and the child's last; it needs `states`.
    states : mapping of str to sequence of str, or one sequence for all
        The states of the variables whose distributions are plain arrays.
    name : str
    properties : mapping of str to tuple of str
        Notes that a file carries, by variable; those of the network itself under "".

    Examples
    --------
    >>> network = Network(
    ...     {"Storm": [], "Lightning": ["Storm"]},
    ...     cpds={"Storm": [0.1, 0.9], "Lightning": [[0.6, 0.4], [0.01, 0.99]]},
    ...     states=("yes", "no"),
    ... )
    >>> network
    Network(2 variables, 1 arc)
    >>> network["Lightning"].values[0].tolist()
    [0.6, 0.4]
    """

    schema: Schema
    graph: Graph
    cpds: Mapping[str, CPD]
    name: str
    properties: Mapping[str, tuple[str, ...]]

    def __init__(
        self,
        arcs: Mapping[str, Sequence[str]] | None = None,
        cpds: Mapping[str, CPD | npt.ArrayLike] | Iterable[CPD] = (),
        states: States = (),
        name: str = "",
        properties: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        given = dict(cpds) if isinstance(cpds, Mapping) else _by_name(cpds)
        graph = None if arcs is None else Graph(arcs)
        built = {
            node: cpd if _is_cpd(cpd) else _table(node, cpd, graph, states)  # type: ignore[arg-type]
            for node, cpd in given.items()
        }
        if graph is None:
            graph = Graph({node: [p.name for p in cpd.parents] for node, cpd in built.items()})
        _check(graph, built)
        object.__setattr__(self, "schema", Schema(tuple(built[node].child for node in graph.nodes)))
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "cpds", MappingProxyType({node: built[node] for node in graph.nodes}))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "properties", MappingProxyType(dict(properties or {})))

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.nodes

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.schema.variables

    def __len__(self) -> int:
        return len(self.cpds)

    def __getitem__(self, name: str) -> CPD:
        try:
            return self.cpds[name]
        except KeyError:
            raise CallError(unknown("variable", name, self.names)) from None

    def __contains__(self, name: object) -> bool:
        return name in self.cpds

    def __repr__(self) -> str:
        arcs = len(self.graph.arcs)
        title = f"{self.name!r}, " if self.name else ""
        return f"Network({title}{quantity(len(self), 'variable')}, {quantity(arcs, 'arc')})"

    def replace(self, *cpds: CPD) -> Network:
        """The network with these distributions in place of those of the same variables, or added."""
        return Network(None, {**self.cpds, **_by_name(cpds)}, name=self.name, properties=self.properties)

    def without(self, *names: str) -> Network:
        """The network without these variables, which must have no children that stay."""
        for name in names:
            left = [child for child in self.graph.children[self[name].child.name] if child not in names]
            if left:
                raise CallError(f"{name!r} has the child {left[0]!r}; take that out too, or replace it first")
        kept = {name: cpd for name, cpd in self.cpds.items() if name not in names}
        return Network(None, kept, name=self.name, properties=self.properties)

    def do(self, action: Mapping[str, str | int] | None = None, /, **actions: str | int) -> Network:
        """The network in which these variables are set from outside: the arcs into them are cut.

        Pearl 2009, section 3.2.1: what follows from doing, not from seeing.
        """
        cut = []
        for name, state in {**(action or {}), **actions}.items():
            child = self[name].child
            cut.append(Table(child, (), np.eye(len(child.states))[state_index(child, state)]))
        return self.replace(*cut)

    @staticmethod
    def from_joint(
        variables: Sequence[Variable], joint: npt.ArrayLike, arcs: Mapping[str, Sequence[str]] | None = None
    ) -> Network:
        """The network of a joint table, whose axes are the variables in order.

        With `arcs` the tables are the conditionals of the joint; without, each variable depends on all
        before it and the network is the joint exactly. A row that has no mass is uniform.
        """
        values = numbers(joint, "the joint table")
        shape = tuple(len(variable.states) for variable in variables)
        if values.shape != shape:
            raise ModelError(f"the joint table has shape {values.shape}, but the variables have {shape} states")
        if not (values >= 0).all() or not np.isfinite(values.sum()) or values.sum() <= 0:
            raise ModelError("the joint table holds a number below 0 or NaN, or is all 0; mend it")
        names = [variable.name for variable in variables]
        above = {name: names[:i] for i, name in enumerate(names)} if arcs is None else arcs
        cpds = []
        for variable in variables:
            parents = [names.index(parent) for parent in above.get(variable.name, ())]
            axes = [*parents, names.index(variable.name)]
            rest = tuple(i for i in range(values.ndim) if i not in axes)
            family = values.sum(axis=rest).transpose([sorted(axes).index(i) for i in axes])
            mass = family.sum(axis=-1, keepdims=True)
            table = np.divide(family, mass, out=np.full_like(family, 1 / family.shape[-1]), where=mass > 0)
            cpds.append(Table(variable, [variables[i] for i in parents], table))
        return Network(above, cpds)


def _is_cpd(value: object) -> bool:
    return hasattr(value, "child") and hasattr(value, "parents")


def _by_name(cpds: Iterable[CPD]) -> dict[str, CPD]:
    named: dict[str, CPD] = {}
    for cpd in cpds:
        if cpd.child.name in named:
            raise ModelError(f"{cpd.child.name!r} has two distributions; keep one")
        named[cpd.child.name] = cpd
    return named


def _table(node: str, values: npt.ArrayLike, graph: Graph | None, states: States) -> Table:
    if graph is None:
        raise CallError(f"the distribution of {node!r} is a plain array, so its parents must be in `arcs`")
    if node not in graph.parents:
        raise ModelError(unknown("variable with a distribution", node, graph.nodes))

    def variable(name: str) -> Variable:
        own = states.get(name) if isinstance(states, Mapping) else states
        if not own:
            raise CallError(f"the states of {name!r} are not known; give them in `states`")
        return Variable(name, states=tuple(own))

    return Table(variable(node), [variable(parent) for parent in graph.parents[node]], values)


def _check(graph: Graph, cpds: Mapping[str, CPD]) -> None:
    for node in graph.nodes:
        if node not in cpds:
            raise ModelError(f"variable {node!r} has no distribution; add one to `cpds`")
    for node, cpd in cpds.items():
        if node not in graph.parents:
            raise ModelError(unknown("variable with a distribution", node, graph.nodes))
        if cpd.child.name != node:
            raise ModelError(f"the distribution given for {node!r} is {conditional(cpd.child, cpd.parents)}")
        names = tuple(parent.name for parent in cpd.parents)
        if names != graph.parents[node]:
            raise ModelError(
                f"the arcs say that {node!r} has the parents {graph.parents[node]}, its distribution says "
                f"{names}; make them the same, in the same order"
            )
        for parent in cpd.parents:
            if parent is not cpds[parent.name].child and parent != cpds[parent.name].child:
                raise ModelError(
                    f"{node!r} sees its parent {parent.name!r} with the states {parent.states}, which "
                    f"itself has {cpds[parent.name].child.states}; use one Variable for both"
                )
