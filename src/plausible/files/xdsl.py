"""XDSL, the format of GeNIe and SMILE (SMILE manual): tables, noisy-max and deterministic nodes."""

from __future__ import annotations

import numpy as np

from plausible.cpds import Array, NoisyMax, as_table
from plausible.errors import unknown
from plausible.files.draft import Draft
from plausible.files.markup import Element, Markup, attribute, element
from plausible.files.spelling import identifier, named, note, noted, quoted
from plausible.network import Network

KINDS = ("cpt", "noisymax", "deterministic")


def parse_xdsl(source: bytes, where: str = "XDSL") -> Network:
    """The network that an XDSL text describes; `where` names it in errors."""
    markup = Markup(source, where, "smile")
    reader = _Reader(markup)
    draft = Draft(markup.fail)
    for word, node in reader.nodes.items():
        own = _notes(markup, node)
        notes = [*(label for label in reader.labels.get(word, ()) if label not in own), *own]
        states = [named(state) for state in reader.states[word]]
        noisy = word in reader.turned
        draft.variable(named(word), states[::-1] if noisy else states, node.at, notes)
        parents = [named(parent) for parent in reader.parents(node)]
        draft.distribution(named(word), parents, reader.values(node), node.at, noisy=noisy)
    return draft.network(named(markup.root.attributes.get("id", "")), _notes(markup, markup.root))


class _Reader:
    """The nodes of a file and what they say.

    GeNIe lists the states of a noisy-max node from the highest to the lowest, `NoisyMax` from the lowest up:
    such a variable is turned, and with it the tables of its children.
    """

    def __init__(self, markup: Markup) -> None:
        self.markup = markup
        self.nodes: dict[str, Element] = {}
        for node in markup.only(markup.root, "nodes").children:
            if node.tag not in KINDS:
                raise markup.fail(node.at, f"<{node.tag}> nodes are not read, only {', '.join(KINDS)}")
            word = markup.attribute(node, "id")
            if word in self.nodes:
                raise markup.fail(node.at, f"the node {named(word)!r} is defined twice; keep one")
            self.nodes[word] = node
        self.states = {
            word: [markup.attribute(state, "id") for state in node.all("state")] for word, node in self.nodes.items()
        }
        self.turned = {word for word, node in self.nodes.items() if node.tag == "noisymax"}
        self.labels = {
            node.attributes.get("id", ""): [f"label = {quoted(label)}" for label in node.texts("name")]
            for extension in markup.root.all("extensions")
            for genie in extension.all("genie")
            for node in genie.all("node")
        }

    def parents(self, node: Element) -> list[str]:
        words = " ".join(node.texts("parents")).split()
        for word in words:
            if word not in self.nodes:
                known = [named(other) for other in self.nodes]
                raise self.markup.fail(node.at, unknown("parent", named(word), known))
        return words

    def values(self, node: Element) -> Array:
        if node.tag == "noisymax":
            return self._noisy_max(node)
        family = [*self.parents(node), node.attributes["id"]]
        flat = (
            self._chosen(node)
            if node.tag == "deterministic"
            else self.markup.numbers(self.markup.only(node, "probabilities"))
        )
        shape = [len(self.states[word]) for word in family]
        if flat.size != np.prod(shape, dtype=object):
            return flat
        axes = tuple(axis for axis, word in enumerate(family) if word in self.turned)
        return np.flip(flat.reshape(shape), axes).ravel()

    def _chosen(self, node: Element) -> Array:
        found, states = self.markup.only(node, "resultingstates"), self.states[node.attributes["id"]]
        words = found.text.split()
        for word in words:
            if word not in states:
                raise self.markup.fail(found.at, unknown("state", named(word), map(named, states)))
        return np.eye(len(states))[[states.index(word) for word in words]].ravel()

    def _noisy_max(self, node: Element) -> Array:
        """Rows as `Draft` wants them; the file has each parent's in order of strength, strongest first."""
        parents, width = self.parents(node), len(self.states[node.attributes["id"]])
        flat = self.markup.numbers(self.markup.only(node, "parameters"))
        counts = [len(self.states[word]) for word in parents]
        if not width or flat.size != (sum(counts) + 1) * width:
            return flat
        table = flat.reshape(-1, width)[:, ::-1]
        rows, start = [], 0
        for word, order in zip(parents, self._strengths(node, counts), strict=True):
            block = np.empty((len(order), width))
            block[order] = table[start : start + len(order)]
            rows.append(block[::-1] if word in self.turned else block)
            start += len(order)
        return np.concatenate([*rows, table[-1:]]).ravel()

    def _strengths(self, node: Element, counts: list[int]) -> list[list[int]]:
        """For each parent the positions of its states, the strongest first; as listed where not given."""
        listed = [list(range(count)) for count in counts]
        given = next(node.all("strengths"), None)
        if given is None:
            return listed
        parts = np.split(self.markup.numbers(given), np.cumsum(counts)[:-1])
        if [sorted(part.tolist()) for part in parts] != listed:
            raise self.markup.fail(given.at, "the strengths must order the states of each parent")
        return [part.astype(int).tolist() for part in parts]


def _notes(markup: Markup, of: Element) -> list[str]:
    return [note(markup.attribute(found, "id"), found.text) for found in of.all("property")]


def render_xdsl(network: Network) -> str:
    """The network as XDSL text; noisy-max nodes stay what they are, the rest is written as tables."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<smile version="1.0" id="{identifier(network.name or "Network")}">')
    lines += [*_properties(network, "", "\t"), "\t<nodes>"]
    turned = {name for name in network.names if isinstance(network[name], NoisyMax)}
    for name in network.graph.order:
        cpd, tag = network[name], "noisymax" if name in turned else "cpt"
        states = cpd.child.states[::-1] if name in turned else cpd.child.states
        lines.append(f"\t\t<{tag} id={attribute(identifier(name))}>")
        lines += [f"\t\t\t<state id={attribute(identifier(state))} />" for state in states]
        if cpd.parents:
            above = " ".join(identifier(parent.name) for parent in cpd.parents)
            lines.append(f"\t\t\t<parents>{above}</parents>")
        lines += _properties(network, name, "\t\t\t")
        if isinstance(cpd, NoisyMax):
            lines += _parameters(cpd, turned)
        else:
            table = as_table(cpd)
            axes = tuple(axis for axis, parent in enumerate(table.parents) if parent.name in turned)
            lines.append(f"\t\t\t<probabilities>{_spelled(np.flip(table.values, axes))}</probabilities>")
        lines.append(f"\t\t</{tag}>")
    return "\n".join([*lines, "\t</nodes>", "</smile>"]) + "\n"


def _parameters(cpd: NoisyMax, turned: set[str]) -> list[str]:
    """The rows of the causes, the row of no effect last, and the leak."""
    rows, strengths = [], []
    for parent, push in zip(cpd.parents, cpd.pushes, strict=True):
        rows.append(push[::-1, ::-1])
        order = range(len(push)) if parent.name in turned else range(len(push) - 1, -1, -1)
        strengths.append(" ".join(map(str, order)))
    values = np.concatenate([*rows, cpd.leak[None, ::-1]])
    return [
        f"\t\t\t<strengths>{' '.join(strengths)}</strengths>",
        f"\t\t\t<parameters>{_spelled(values)}</parameters>",
    ]


def _properties(network: Network, name: str, pad: str) -> list[str]:
    notes = noted(network.properties.get(name, ()))
    return [pad + element("property", value, f' id="{key}"') for key, value in notes]


def _spelled(values: Array) -> str:
    return " ".join(map(repr, values.ravel().tolist()))
