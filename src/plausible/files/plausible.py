"""A network as a model file: exact for every kind of distribution.

A zip of `network.json`, which says what the variables and their distributions are, and `numbers.npy`, which holds the
numbers of all distributions in that order: of a table the table, parents first and the child last; of a noisy-max the
table of each parent and the leak; of a linear Gaussian intercepts, weights and variances; of words the chance of each
term in each state of the parent. Nothing in it can run code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from math import prod
from typing import Any

import numpy as np

from plausible.cpds import CPD, Array, LinearGaussian, NoisyMax, Table, Words
from plausible.errors import ModelError
from plausible.files import NETWORK_START
from plausible.files.archive import array, npy, only, packed, unpacked
from plausible.files.model import from_bytes
from plausible.naive_bayes import star
from plausible.network import Network
from plausible.schema import Variable
from plausible.text import Tokens

NUMBERS = "numbers.npy"

Take = Callable[..., Array]
"""The next numbers of the file, in the shape asked for."""


def parse_plausible(source: bytes, where: str = "the network") -> Network:
    """The network in a model file; that of a naive Bayes model is a star. `where` names it in errors."""
    if not NETWORK_START.match(source):
        return star(from_bytes(source, where))
    return unpacked(source, where, "network.json", lambda head, members: _network(head, members, where))


def _network(head: dict[str, Any], members: dict[str, bytes], where: str) -> Network:
    only(members, {NUMBERS}, where)
    kind, data = array(members[NUMBERS])
    numbers, at = np.frombuffer(data, f"<{kind}"), 0

    def take(*shape: int) -> Array:
        nonlocal at
        at += prod(shape)
        if at > len(numbers):
            raise ValueError("it holds fewer numbers than its distributions need")
        return np.asarray(numbers[at - prod(shape) : at].reshape(shape), dtype=np.float64)

    variables = {
        given["name"]: Variable(
            given["name"], given["kind"], tuple(given["states"]), given["ordered"], tuple(given["cuts"])
        )
        for given in head["variables"]
    }
    texts = [text for v in variables.values() for text in (v.name, *v.states)]
    if not all(isinstance(text, str) for text in (*texts, head["name"])):
        raise ValueError("a name is no text")
    properties = {str(name): tuple(map(str, notes)) for name, notes in head["properties"].items()}
    cpds = [_cpd(given, variables, take) for given in head["distributions"]]
    if at < len(numbers):
        raise ValueError("it holds more numbers than its distributions need")
    return Network(None, cpds, name=head["name"], properties=properties)


def _cpd(given: Mapping[str, Any], variables: Mapping[str, Variable], take: Take) -> CPD:
    child = variables[given["child"]]
    parents = [variables[name] for name in given["parents"]]
    rows = [len(parent.states) for parent in parents if parent.kind == "categorical"]
    states = len(child.states)
    match given["kind"]:
        case "table":
            return Table(child, parents, take(*rows, states))
        case "noisy-max":
            return NoisyMax(child, parents, [take(row, states) for row in rows], take(states))
        case "linear-gaussian":
            return LinearGaussian(child, parents, take(*rows), take(*rows, len(parents) - len(rows)), take(*rows))
        case "words":
            tokens = given["tokens"]
            cut = Tokens(tuple(tokens["ngrams"]), tuple(tokens["chars"]) if tokens["chars"] else None, tokens["stem"])
            terms = given["terms"]
            return Words(child, parents, terms, take(*rows, len(terms)), given["events"], cut, given["length"])
        case other:
            raise ModelError(f"{child.name!r} has a distribution of kind {other!r}, which this plausible can't read")


def render_plausible(network: Network) -> bytes:
    """The network as the bytes of a model file."""
    described = [_described(network[name]) for name in network.names]
    head = {
        "name": network.name,
        "properties": {name: list(notes) for name, notes in network.properties.items()},
        "variables": [asdict(variable) for variable in network.variables],
        "distributions": [said for said, _ in described],
    }
    flat = np.concatenate([np.zeros(0), *(numbers.ravel() for _, arrays in described for numbers in arrays)])
    return packed("network.json", head, {NUMBERS: npy("f8", flat.astype("<f8").tobytes())})


def _described(cpd: CPD) -> tuple[dict[str, Any], tuple[Array, ...]]:
    """What the head says of a distribution, and its numbers."""
    said: dict[str, Any] = {"child": cpd.child.name, "parents": [parent.name for parent in cpd.parents]}
    match cpd:
        case Table():
            return {**said, "kind": "table"}, (cpd.values,)
        case NoisyMax():
            return {**said, "kind": "noisy-max"}, (*cpd.pushes, cpd.leak)
        case LinearGaussian():
            return {**said, "kind": "linear-gaussian"}, (cpd.intercept, cpd.weights, cpd.variance)
        case Words():
            words = {"events": cpd.events, "length": cpd.length, "tokens": asdict(cpd.tokens), "terms": cpd.terms}
            return {**said, "kind": "words", **words}, (cpd.values,)
    raise ModelError(f"{cpd.child.name!r} ({type(cpd).__name__}) is of no kind that a model file holds")
