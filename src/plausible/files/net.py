"""Hugin NET (Hugin API manual, chapter "The NET language"), with and without its `net { }` block."""

from __future__ import annotations

import re

import numpy as np

from plausible.cpds import Array, as_table
from plausible.files.draft import Draft
from plausible.files.source import Scanner, Source, numbers
from plausible.files.spelling import STRING, identifier, named, note, noted, quoted, unquoted
from plausible.network import Network

MARKS = "{}()=;|,"
COMMENT = r"%[^\n]*|//[^\n]*|/\*.*?\*/"
BRACKETS = str.maketrans("(),", "   ")


def parse_net(source: bytes, where: str = "NET") -> Network:
    """The network that a NET text describes; `where` names it in errors."""
    scanner = Scanner(Source(source, where), MARKS, COMMENT)
    draft = Draft(scanner.source.fail)
    title = ""
    notes: list[str] = []
    while scanner.token:
        if scanner.accept("net"):
            for key, raw, _ in _attributes(scanner):
                if key == "name":
                    title = unquoted(raw)
                else:
                    notes.append(note(key, raw))
        elif scanner.token in ("node", "discrete"):
            if scanner.accept("discrete") and scanner.token != "node":
                raise scanner.expected("'node'")
            _node(scanner, draft)
        elif scanner.accept("potential"):
            _potential(scanner, draft)
        elif scanner.token in ("continuous", "decision", "utility", "function", "class"):
            raise scanner.fail(f"'{scanner.token}' nodes are not read; only discrete chance nodes are")
        else:
            raise scanner.expected("'net', 'node' or 'potential'")
    return draft.network(title, notes)


def _node(scanner: Scanner, draft: Draft) -> None:
    scanner.next()
    at = scanner.at
    word = scanner.word("the name of a node")
    name = named(word)
    states: list[str] = []
    notes = []
    attributes = _attributes(scanner)
    if word != name and attributes and attributes[0][:2] == ("label", quoted(name)):
        attributes.pop(0)
    for key, raw, start in attributes:
        if key == "states":
            states = [unquoted(state) for state in re.findall(rf'{STRING.pattern}|[^\s"(),]+', raw)]
            if not raw.startswith("("):
                raise scanner.source.fail(start, "expected the states between parentheses")
        else:
            notes.append(note(key, raw))
    draft.variable(name, states, at, notes)


def _potential(scanner: Scanner, draft: Draft) -> None:
    at = scanner.at
    scanner.expect("(", "after 'potential'")
    child = named(scanner.word("a node"))
    parents = []
    if not scanner.accept(")"):
        if not scanner.accept("|"):
            raise scanner.expected("'|' or ')': one child a potential")
        while not scanner.accept(")"):
            parents.append(named(scanner.word("a parent")))
            scanner.accept(",")
    values = None
    for key, raw, start in _attributes(scanner):
        if key == "data":
            values = numbers(raw.translate(BRACKETS), scanner.source.fail, start.__add__)
    draft.distribution(child, parents, values, at)


def _attributes(scanner: Scanner) -> list[tuple[str, str, int]]:
    """The `key = value;` of a block, each value as it stands, and where."""
    scanner.expect("{", "before the attributes")
    found = []
    while not scanner.accept("}"):
        key = scanner.word("an attribute or '}'")
        scanner.expect("=", f"after '{key}'")
        raw, at = scanner.until(";")
        found.append((key, raw.rstrip(), at))
    return found


def render_net(network: Network) -> str:
    """The network as NET text. Distributions that are not tables are written as their tables."""
    lines = ["net", "{"]
    if network.name:
        lines.append(f"    name = {quoted(network.name)};")
    lines += [*_rendered(network.properties.get("", ())), "}"]
    for variable in network.variables:
        word, notes = identifier(variable.name), network.properties.get(variable.name, ())
        lines += ["", f"node {word}", "{"]
        if word != variable.name:
            lines.append(f"    label = {quoted(variable.name)};")
        lines.append(f"    states = ({' '.join(map(quoted, variable.states))});")
        lines += [*_rendered(notes), "}"]
    for name in network.names:
        table = as_table(network[name])
        above = " ".join(identifier(parent.name) for parent in table.parents)
        lines += ["", f"potential ({identifier(name)}{' | ' + above if above else ''})", "{"]
        lines += [f"    data = {_nested(table.values)};", "}"]
    return "\n".join(lines) + "\n"


def _rendered(notes: tuple[str, ...]) -> list[str]:
    return [f"    {key} = {value};" for key, value in noted(notes, "states", "name")]


def _nested(values: Array) -> str:
    """Numbers in the brackets of the axes, a line for each row of the last."""
    spans = np.cumprod(values.shape[-2::-1] if values.ndim > 1 else (), dtype=int).tolist()
    rows = values.reshape(-1, values.shape[-1]).tolist()
    lines = []
    for i, row in enumerate(rows):
        opened = 1 + sum(i % span == 0 for span in spans)
        closed = 1 + sum((i + 1) % span == 0 for span in spans)
        lines.append("(" * opened + " ".join(map(repr, row)) + ")" * closed)
    return "\n           ".join(lines)
