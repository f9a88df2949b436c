"""Hugin NET (Hugin API manual, chapter "The NET language"), with and without its `net { }` block."""

from __future__ import annotations

import re
from math import copysign
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.cpds import Array, LinearGaussian, as_table
from plausible.files.draft import Draft, Normal
from plausible.files.source import Scanner, Source, numbers
from plausible.files.spelling import STRING, identifier, named, note, noted, quoted, unquoted
from plausible.network import Network

MARKS = "{}()=;|,"
COMMENT = r"%[^\n]*|//[^\n]*|/\*.*?\*/"
BRACKETS = str.maketrans("(),", "   ")
NORMAL = re.compile(r"[\s()]*+normal\s*\(([^(),]*),([^(),]*)\)[\s()]*")
DIGITS, WORD = r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)", r"([A-Za-z_]\w*)"
TERM = re.compile(rf"\s*([+-]?)\s*(?:{DIGITS}(?:\s*\*\s*{WORD})?|{WORD}(?:\s*\*\s*{DIGITS})?)\s*")


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
        elif scanner.token in ("node", "discrete", "continuous"):
            continuous = scanner.accept("continuous")
            if (continuous or scanner.accept("discrete")) and scanner.token != "node":
                raise scanner.expected("'node'")
            _node(scanner, draft, continuous)
        elif scanner.accept("potential"):
            _potential(scanner, draft)
        elif scanner.token in ("decision", "utility", "function", "class"):
            raise scanner.fail(f"'{scanner.token}' is not read; only chance nodes are, discrete or continuous")
        else:
            raise scanner.expected("'net', 'node' or 'potential'")
    return draft.network(title, notes)


def _node(scanner: Scanner, draft: Draft, continuous: bool) -> None:
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
    draft.variable(name, None if continuous else states, at, notes)


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
    values: Array | list[Normal] | None = None
    for key, raw, start in _attributes(scanner):
        if key == "data" and "normal" in raw:
            values = _normals(raw, scanner.source, start)
        elif key == "data":
            values = numbers(raw.translate(BRACKETS), scanner.source.fail, start.__add__)
    draft.distribution(child, parents, values, at)


def _normals(raw: str, source: Source, start: int) -> list[Normal]:
    """`normal(mean, variance)` for each combination of the categorical parents, in any brackets."""
    found, at = [], 0
    while at < len(raw):
        normal = NORMAL.match(raw, at)
        if normal is None:
            raise source.fail(start + at, "expected normal(mean, variance), the mean such as 1.5 + 2 * Y")
        intercept, weights = _mean(normal[1], source, start + normal.start(1))
        variance = numbers(normal[2], source.fail, (start + normal.start(2)).__add__)
        if variance.size != 1:
            raise source.fail(start + normal.start(2), "expected one number, the variance")
        found.append(Normal(intercept, weights, float(variance[0])))
        at = normal.end()
    return found


def _mean(text: str, source: Source, start: int) -> tuple[float, dict[str, float]]:
    """`1.5 + 2 * Y - Z` as the constant and the weight of each parent."""
    constants: list[float] = []
    weights: dict[str, float] = {}
    at = 0
    while at < len(text) or not at:
        term = TERM.match(text, at)
        if term is None or (at and not term[1]):
            raise source.fail(start + at, "expected a sum such as 1.5 + 2 * Y")
        sign, digits, name, other, factor = term.groups()
        value = float(f"{sign}{digits or factor or 1}")
        parent = name or other
        if parent is None:
            constants.append(value)
        else:
            weights[named(parent)] = weights.get(named(parent), 0.0) + value
        at = term.end()
    return sum(constants), weights


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
        continuous = variable.kind == "continuous"
        lines += ["", f"{'continuous ' if continuous else ''}node {word}", "{"]
        if word != variable.name:
            lines.append(f"    label = {quoted(variable.name)};")
        if not continuous:
            lines.append(f"    states = ({' '.join(map(quoted, variable.states))});")
        lines += [*_rendered(notes), "}"]
    for name in network.names:
        cpd = network[name]
        above = " ".join(identifier(parent.name) for parent in cpd.parents)
        lines += ["", f"potential ({identifier(name)}{' | ' + above if above else ''})", "{"]
        data = _spelled(cpd) if isinstance(cpd, LinearGaussian) else _nested(as_table(cpd).values)
        lines += [f"    data = {data};", "}"]
    return "\n".join(lines) + "\n"


def _rendered(notes: tuple[str, ...]) -> list[str]:
    return [f"    {key} = {value};" for key, value in noted(notes, "states", "name")]


def _spelled(cpd: LinearGaussian) -> str:
    """The normals of a continuous node, in brackets as its table would have."""
    words = [identifier(parent.name) for parent in cpd.continuous]
    spelled = np.empty(cpd.intercept.shape, dtype=object)
    for at in np.ndindex(spelled.shape):
        terms = [repr(float(cpd.intercept[at]))]
        for word, weight in zip(words, cpd.weights[at].tolist(), strict=True):
            terms.append(f"{'-' if copysign(1, weight) < 0 else '+'} {abs(weight)!r} * {word}")
        spelled[at] = f"normal({' '.join(terms)}, {float(cpd.variance[at])!r})"
    return _nested(np.atleast_1d(spelled))


def _nested(values: npt.NDArray[Any]) -> str:
    """Numbers in the brackets of the axes, a line for each row of the last."""
    spans = np.cumprod(values.shape[-2::-1] if values.ndim > 1 else (), dtype=int).tolist()
    rows = values.reshape(-1, values.shape[-1]).tolist()
    lines = []
    for i, row in enumerate(rows):
        opened = 1 + sum(i % span == 0 for span in spans)
        closed = 1 + sum((i + 1) % span == 0 for span in spans)
        lines.append("(" * opened + " ".join(map(str, row)) + ")" * closed)
    return "\n           ".join(lines)
