"""A network as a model file: exact for every kind of distribution.

A zip of `network.json`, which says what the variables and their distributions are, and `numbers.npy`, which holds the
numbers of all distributions in that order: of a table the table, parents first and the child last; of a noisy-max the
table of each parent and the leak; of a linear Gaussian intercepts, weights and variances; of words the chance of each
term in each state of the parent. Nothing in it can run code.

If the network carries the counts it was learned from, `counts.npy` holds them in the same order: of a table the counts
and the imaginary counts; of a linear Gaussian rows, means and sums of products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from math import prod
from typing import Any

import numpy as np

from plausible.counted import Counted, Numbers
from plausible.cpds import CPD, Array, LinearGaussian, NoisyMax, Table, Words, as_table
from plausible.errors import ModelError
from plausible.files.archive import array, holds_network, npy, only, packed, unpacked
from plausible.files.model import from_bytes
from plausible.naive_bayes import star
from plausible.network import Network
from plausible.regressions import LinearMoments
from plausible.schema import Variable
from plausible.text import Tokens

NUMBERS = "numbers.npy"
COUNTS = "counts.npy"

Take = Callable[..., Array]
"""The next numbers of the file, in the shape asked for."""


def parse_plausible(source: bytes, where: str = "the network") -> Network:
    """The network in a model file; that of a naive Bayes model is a star. `where` names it in errors."""
    if not holds_network(source):
        return star(from_bytes(source, where))
    found = parse_counted(source, where)
    return found.network if isinstance(found, Counted) else found


def parse_counted(source: bytes, where: str = "the network") -> Network | Counted:
    """The network in a model file of networks, with its counts if it carries them."""

    def built(head: dict[str, Any], members: dict[str, bytes]) -> Network | Counted:
        only(members, {NUMBERS, COUNTS} if "counts" in head else {NUMBERS}, where)
        network = _network(head, members)
        return _counted(network, head["counts"], members) if "counts" in head else network

    return unpacked(source, where, "network.json", built)


def _numbers(member: bytes) -> tuple[Take, Callable[[], None]]:
    """What takes the numbers of an array one after the other, and what is done at its end."""
    kind, data = array(member)
    numbers, at = np.frombuffer(data, f"<{kind}"), 0

    def take(*shape: int) -> Array:
        nonlocal at
        at += prod(shape)
        if at > len(numbers):
            raise ValueError("it holds fewer numbers than its distributions need")
        return np.asarray(numbers[at - prod(shape) : at].reshape(shape), dtype=np.float64)

    def end() -> None:
        if at < len(numbers):
            raise ValueError("it holds more numbers than its distributions need")

    return take, end


def _network(head: dict[str, Any], members: dict[str, bytes]) -> Network:
    take, end = _numbers(members[NUMBERS])
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
    end()
    return Network(None, cpds, name=head["name"], properties=properties)


def _counted(network: Network, said: Mapping[str, Any], members: dict[str, bytes]) -> Counted:
    take, end = _numbers(members[COUNTS])
    counts: dict[str, Numbers] = {}
    pseudo: dict[str, Array] = {}
    for name, cpd in network.cpds.items():
        if isinstance(cpd, LinearGaussian):
            rows, d = cpd.intercept.shape, len(cpd.continuous) + 1
            counts[name] = LinearMoments(take(*rows), take(*rows, d), take(*rows, d, d))
        else:
            shape = as_table(cpd).values.shape
            counts[name], pseudo[name] = take(*shape), take(*shape)
    end()
    sizes = [numbers.n if isinstance(numbers, LinearMoments) else numbers for numbers in counts.values()]
    if any(not (np.isfinite(size).all() and (size >= 0).all()) for size in (*sizes, *pseudo.values())):
        raise ValueError("a count is below 0 or no number")
    rows_learned, expected = said["rows"], said["expected"]
    if type(rows_learned) is not int or rows_learned < 0 or type(expected) is not bool:
        raise ValueError("it doesn't say how many rows were learned")
    return Counted(network, counts, pseudo, rows_learned, expected)


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


def render_plausible(learned: Network | Counted) -> bytes:
    """The network, and its counts if they are given, as the bytes of a model file."""
    network = learned.network if isinstance(learned, Counted) else learned
    described = [_described(network[name]) for name in network.names]
    head = {
        "name": network.name,
        "properties": {name: list(notes) for name, notes in network.properties.items()},
        "variables": [asdict(variable) for variable in network.variables],
        "distributions": [said for said, _ in described],
    }
    members = {NUMBERS: _flat(numbers for _, arrays in described for numbers in arrays)}
    if isinstance(learned, Counted):
        head["counts"] = {"rows": learned.rows, "expected": learned.expected}
        members[COUNTS] = _flat(_count_arrays(learned))
    return packed("network.json", head, members)


def _flat(arrays: Iterable[Array]) -> bytes:
    flat = np.concatenate([np.zeros(0), *(numbers.ravel() for numbers in arrays)])
    return npy("f8", flat.astype("<f8").tobytes())


def _count_arrays(counted: Counted) -> Iterator[Array]:
    for name in counted.network.names:
        numbers = counted.counts[name]
        if isinstance(numbers, LinearMoments):
            yield from (numbers.n, numbers.mean, numbers.squares)
        else:
            yield from (numbers, counted.pseudo[name])


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
