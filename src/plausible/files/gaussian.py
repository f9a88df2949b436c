"""Linear Gaussian networks as JSON: nodes, arcs, and a regression for each node (pgmpy's example models)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from plausible.cpds import LinearGaussian
from plausible.errors import DataError, ModelError, PlausibleError
from plausible.files.source import Source
from plausible.network import Network
from plausible.schema import Variable

INTERCEPT = "(Intercept)"


def parse_gaussian(source: bytes, where: str = "JSON") -> Network:
    """The network that a JSON text describes; `where` names it in errors."""
    text = Source(source, where)

    def fail(what: str, about: str = "") -> DataError:
        return text.fail(max(text.text.find(json.dumps(about)), 0) if about else 0, what)

    try:
        found = json.loads(text.text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise text.fail(error.pos, f"{error.msg}; is the file whole?") from None
    except (ModelError, RecursionError) as error:
        said = str(error) if isinstance(error, ModelError) else "nested too deep; is this a network?"
        raise fail(said) from None
    if not isinstance(found, dict) or not isinstance(found.get("cpds"), dict):
        raise fail("expected an object with 'nodes', 'arcs' and 'cpds'")
    nodes = found.get("nodes", list(found["cpds"]))
    if not isinstance(nodes, list) or sorted(map(str, nodes)) != sorted(found["cpds"]):
        raise fail("'nodes' and 'cpds' don't name the same variables")
    variables = {name: Variable(name, "continuous") for name in map(str, nodes)}
    cpds = {}
    for name, variable in variables.items():
        try:
            cpds[name] = _regression(variable, found["cpds"][name], variables)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            said = str(error) if isinstance(error, PlausibleError) else f"{type(error).__name__}: {error}"
            raise fail(f"the regression of {name!r} can't be used ({said})", name) from None
    try:
        network = Network(None, cpds, name=str(found.get("name", "")), properties=_notes(found))
    except PlausibleError as error:
        raise fail(str(error)) from None
    arcs = {(str(arc[0]), str(arc[1])) for arc in found.get("arcs", network.graph.arcs)}
    if odd := arcs ^ set(network.graph.arcs):
        raise fail(f"'arcs' and the parents in 'cpds' don't agree on {' -> '.join(min(odd))}", "arcs")
    return network


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ModelError(f"{twice!r} is given twice; keep one")
    return found


def _notes(found: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(map(str, said)) for name, said in found.get("properties", {}).items()}


def _regression(child: Variable, given: Mapping[str, Any], variables: Mapping[str, Variable]) -> LinearGaussian:
    weights = {name: float(value[0]) for name, value in given["coefficients"].items()}
    intercept = weights.pop(INTERCEPT, 0.0)
    parents = [str(parent) for parent in given.get("parents", weights)]
    if sorted(parents) != sorted(weights):
        raise ModelError("its parents and its coefficients differ")
    above = [variables[parent] for parent in parents]
    return LinearGaussian(child, above, intercept, [weights[p] for p in parents], float(given["variance"][0]))


def render_gaussian(network: Network) -> str:
    """The network as JSON text; ModelError where a distribution is not linear Gaussian."""
    cpds: dict[str, object] = {}
    for name in network.names:
        cpd = network[name]
        if not isinstance(cpd, LinearGaussian) or cpd.discrete:
            raise ModelError(
                f"{name!r} ({type(cpd).__name__}) is not linear Gaussian given continuous parents, and this "
                "format holds nothing else; write BIF, NET or XDSL"
            )
        parents = [parent.name for parent in cpd.parents]
        if INTERCEPT in parents:
            raise ModelError(f"{name!r} has a parent called {INTERCEPT!r}, a name the format keeps for itself")
        weights = {parent: [weight] for parent, weight in zip(parents, cpd.weights.tolist(), strict=True)}
        cpds[name] = {
            "coefficients": {INTERCEPT: [float(cpd.intercept)]} | weights,
            "variance": [float(cpd.variance)],
            "parents": parents,
        }
    whole: dict[str, object] = {"nodes": network.names, "arcs": network.graph.arcs, "cpds": cpds}
    if network.name:
        whole["name"] = network.name
    if network.properties:
        whole["properties"] = dict(network.properties)
    return json.dumps(whole, indent=1) + "\n"
