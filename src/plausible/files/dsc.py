"""DSC (Microsoft Belief Networks 1995, also written by bnlearn)."""

from __future__ import annotations

import re
from itertools import product

import numpy as np

from plausible.cpds import Array, as_table
from plausible.errors import unknown
from plausible.files.draft import Draft
from plausible.files.source import Scanner, Source, numbers
from plausible.files.spelling import STRING, identifier, named, note, noted, quoted, unquoted
from plausible.network import Network
from plausible.wording import quantity

MARKS = "{}()[]=;:|,"
COMMENT = r"//[^\n]*|/\*.*?\*/"
TYPE = re.compile(r"discrete\s*\[\s*(\d{1,9})\s*\]\s*=?\s*\{(.*)\}\s*", re.DOTALL)


def parse_dsc(source: bytes, where: str = "DSC") -> Network:
    """The network that a DSC text describes; `where` names it in errors."""
    scanner = Scanner(Source(source, where), MARKS, COMMENT)
    draft = Draft(scanner.source.fail)
    scanner.expect("belief", "at the start")
    scanner.expect("network", "after 'belief'")
    title = scanner.word("the network's name") if scanner.token.startswith('"') else ""
    notes: list[str] = []
    waiting = []
    while scanner.token:
        if scanner.accept("node"):
            _node(scanner, draft)
        elif scanner.accept("probability"):
            waiting.append(_probability(scanner))
        elif scanner.accept("property"):
            notes.append(note(*_pair(scanner)))
        else:
            raise scanner.expected("'node' or 'probability'")
    for at, child, parents, rows in waiting:
        draft.distribution(child, parents, _values(draft, at, child, parents, rows), at)
    return draft.network(title, notes)


Rows = list[tuple[tuple[int, ...] | None, Array, int]]


def _pair(scanner: Scanner) -> tuple[str, str]:
    key = scanner.word("a property")
    if not (scanner.accept(":") or scanner.accept("=")):
        raise scanner.expected(f"':' after '{key}'")
    return key, scanner.until(";")[0].strip()


def _node(scanner: Scanner, draft: Draft) -> None:
    at = scanner.at
    name = named(scanner.word("the name of a node"))
    scanner.expect("{", "before the attributes")
    states: list[str] = []
    notes = []
    while not scanner.accept("}"):
        start = scanner.at
        key, raw = _pair(scanner)
        if key != "type":
            notes.append(note(key, raw))
            continue
        found = TYPE.fullmatch(raw)
        if found is None:
            raise scanner.source.fail(start, 'expected a type such as discrete [2] = {"no", "yes"}')
        states = [unquoted(word) for word in re.findall(rf'{STRING.pattern}|[^\s",]+', found[2])]
        if len(states) != int(found[1]):
            said = f"variable {name!r} says it has {quantity(int(found[1]), 'state')} and lists {len(states)}"
            raise scanner.source.fail(start, said)
    draft.variable(name, states, at, notes)


def _probability(scanner: Scanner) -> tuple[int, str, list[str], Rows]:
    at = scanner.at
    scanner.expect("(", "after 'probability'")
    child = named(scanner.word("a node"))
    parents = []
    if scanner.accept("|"):
        while not scanner.accept(")"):
            if not scanner.accept(","):
                parents.append(named(scanner.word("a parent")))
    else:
        scanner.expect(")", "after the node")
    scanner.expect("{", "before the numbers")
    rows: Rows = []
    while not scanner.accept("}"):
        start, row = scanner.at, None
        if scanner.token == "(":
            words = scanner.words("(", ")", "a state's number")
            if not all(re.fullmatch(r"\d{1,9}", word) for word in words):
                found = " ".join(words)[:60]
                raise scanner.source.fail(start, f"expected numbers of states, found '{found}'")
            row = tuple(map(int, words))
            scanner.expect(":", "after the parents' states")
        elif scanner.accept("default"):
            scanner.expect(":", "after 'default'")
        raw, place = scanner.until(";")
        rows.append((row, numbers(raw.replace(",", " "), scanner.source.fail, place.__add__), start))
    return at, child, parents, rows


def _values(draft: Draft, at: int, child: str, parents: list[str], rows: Rows) -> Array:
    """The rows of a block as one table; a row without states stands for all that are not given."""
    for name in (child, *parents):
        if name not in draft.variables:
            raise draft.fail(at, unknown("variable", name, draft.variables))
    shape = tuple(len(draft.variables[name].states) for name in (*parents, child))
    if len(rows) == 1 and rows[0][0] is None and rows[0][1].size != shape[-1]:
        return rows[0][1]
    given: dict[tuple[int, ...], Array] = {}
    others: Array | None = None
    for row, values, start in rows:
        if values.size != shape[-1]:
            raise draft.fail(start, f"a row of {child!r} needs {quantity(shape[-1], 'number')}, found {values.size}")
        if row is None:
            others = values
        elif len(row) != len(parents) or any(i >= n for i, n in zip(row, shape, strict=False)):
            said = f"no row {row} in the table of {child!r}, whose parents have {shape[:-1]} states"
            raise draft.fail(start, f"{said}; they count from 0")
        elif row in given:
            raise draft.fail(start, f"a second row {row} of {child!r}; keep one")
        else:
            given[row] = values
    needed = np.prod(shape[:-1], dtype=object)
    if others is None and len(given) < needed:
        raise draft.fail(at, f"the table of {child!r} needs {quantity(needed, 'row')}, found {len(given)}")
    if len(given) == needed:
        return np.concatenate([given[row] for row in sorted(given)])
    return np.concatenate([given.get(row, others) for row in np.ndindex(shape[:-1])])


def render_dsc(network: Network) -> str:
    """The network as DSC text. Distributions that are not tables are written as their tables."""
    lines = [f"belief network {quoted(network.name)}"]
    lines += [f"property {key}: {value};" for key, value in noted(network.properties.get("", ()))]
    for variable in network.variables:
        states = ", ".join(map(quoted, variable.states))
        notes = noted(network.properties.get(variable.name, ()), "type")
        lines += [f"node {identifier(variable.name)} {{"]
        lines += [f"  type : discrete [ {len(variable.states)} ] = {{ {states} }};"]
        lines += [*(f"  {key}: {value};" for key, value in notes), "}"]
    for name in network.names:
        table = as_table(network[name])
        above = ", ".join(identifier(parent.name) for parent in table.parents)
        lines.append(f"probability ( {identifier(name)}{' | ' + above if above else ''} ) {{")
        rows = product(*(range(len(parent.states)) for parent in table.parents))
        for row, values in zip(rows, table.values.reshape(-1, len(table.child.states)).tolist(), strict=True):
            label = f"({', '.join(map(str, row))}) : " if row else ""
            lines.append(f"  {label}{', '.join(map(repr, values))};")
        lines.append("}")
    return "\n".join(lines) + "\n"
