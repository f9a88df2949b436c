"""BIF, the Bayesian interchange format (Cozman 1998, version 0.15)."""

from __future__ import annotations

import os
import re
from itertools import product

import numpy as np

from plausible import _native
from plausible.cpds import Array, as_table, row_name
from plausible.errors import CallError, DataError, unknown
from plausible.files.draft import Draft
from plausible.files.formats import read, write
from plausible.files.spelling import quoted, unquoted
from plausible.network import Network

PLAIN = re.compile(r'[^\s,;(){}\[\]|"]+')
PLAIN_NOTE = re.compile(r'(?![\s,]|/[/*])(?:[^";\n]|"[^"\n]*")+(?<![\s,])')
ESCAPED_NOTE = re.compile(r'note_\d+ = (".*")', re.DOTALL)
COMMENT = re.compile(r"/[/*]")
SKIPPED = re.compile(rb'//[^\n]*|"[^"\n]*"|/\*.*?\*/', re.DOTALL)
KEYWORDS = {"network", "variable", "probability", "property", "type", "discrete", "table", "default"}


def read_bif(path: str | os.PathLike[str]) -> Network:
    """The network in a BIF file, plain or gzipped; DataError with line and column where it is damaged."""
    return read(path, "bif")


def write_bif(network: Network, path: str | os.PathLike[str]) -> None:
    """Write the network as BIF, whole or not at all."""
    write(network, path, "bif")


def parse_bif(source: bytes, where: str = "BIF") -> Network:
    """The network that a BIF text describes; `where` names it in errors."""
    try:
        source.decode()
    except UnicodeDecodeError:
        source = source.decode("latin-1").encode()

    def fail(at: int, what: str) -> DataError:
        hint = "; comments don't nest: the first */ ended this one" if _after_nested_comment(source, at) else ""
        return DataError(f"{where}, {_place(source, at)}: {what}{hint}")

    if (zero := source.find(b"\0")) >= 0:
        raise fail(zero, "a zero byte; this isn't a text file")
    found = _native.read_bif(source)
    if len(found) == 4:
        at, what, name, known = found
        raise fail(at, unknown(what, name, known) if name else what)
    title, notes, declared, blocks, _ = found
    draft = Draft(fail)
    for name, states, said, at in declared:
        draft.variable(name, states, at, [_note(note) for note in said])
    variables = list(draft.variables.values())
    for child, parents, values, said, at in blocks:
        variable, above = variables[child], [variables[parent] for parent in parents]
        missing = np.isnan(values).any(axis=-1)
        noisy = missing.any() and any(note.split() == ["function", "max"] for note in said)
        if noisy:
            values = _noisy_max(values)
            missing = np.isnan(values).any(axis=-1)
        if missing.any() and noisy:
            raise fail(at, f"a row of a cause of {variable.name!r} is not given; add it")
        if missing.any():
            row = row_name(variable, above, np.argwhere(missing)[0])
            raise fail(at, f"{row} is not given, or NaN; add its row, or a default")
        draft.distribution(variable.name, [v.name for v in above], values.ravel(), at, noisy=noisy)
    return draft.network(title, [_note(note) for note in notes])


def _noisy_max(values: Array) -> Array:
    """`property function max`: a row for each state of a cause, the other causes in their first state.

    The row in which all causes are in their first state is the leak.
    """
    first = (0,) * (values.ndim - 1)
    rows = []
    for axis in range(values.ndim - 1):
        push = np.moveaxis(values, axis, -2)[first[1:]].copy()
        push[0] = np.eye(values.shape[-1])[0]
        rows.append(push)
    return np.concatenate([*rows, values[first][None]])


def _note(text: str) -> str:
    escaped = ESCAPED_NOTE.fullmatch(text)
    return unquoted(escaped[1]) if escaped else text


def _properties(notes: tuple[str, ...]) -> list[str]:
    """Notes as they are; those that BIF would end too early as `note_N = "..."`, with \\q for a quote."""
    lines = []
    for place, note in enumerate(notes, 1):
        plain = PLAIN_NOTE.fullmatch(note) and not ESCAPED_NOTE.fullmatch(note)
        escaped = quoted(note).replace('\\"', "\\q")
        lines.append(f"  property {note if plain else f'note_{place} = {escaped}'};")
    return lines


def render_bif(network: Network) -> str:
    """The network as BIF text. Distributions that are not tables are written as their tables."""
    lines = [f"network {_quoted(network.name or 'unknown')} {{"]
    lines += _properties(network.properties.get("", ()))
    lines.append("}")
    for variable in network.variables:
        states = ", ".join(_quoted(state) for state in variable.states)
        lines.append(f"variable {_quoted(variable.name)} {{")
        lines.append(f"  type discrete [ {len(variable.states)} ] {{ {states} }};")
        lines += _properties(network.properties.get(variable.name, ()))
        lines.append("}")
    for name in network.names:
        table = as_table(network[name])
        above = ", ".join(_quoted(parent.name) for parent in table.parents)
        lines.append(f"probability ( {_quoted(name)}{' | ' + above if above else ''} ) {{")
        if above:
            rows = product(*([_quoted(s) for s in parent.states] for parent in table.parents))
            flat = table.values.reshape(-1, len(table.child.states)).tolist()
            lines += [
                f"  ({', '.join(row)}) {', '.join(map(repr, numbers))};"
                for row, numbers in zip(rows, flat, strict=True)
            ]
        else:
            lines.append(f"  table {', '.join(map(repr, table.values.tolist()))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    if '"' in name:
        raise CallError(f"the name {name!r} holds a double quote, which BIF can't write; rename it")
    plain = PLAIN.fullmatch(name) and not COMMENT.search(name) and name not in KEYWORDS
    return name if plain else f'"{name}"'


def _after_nested_comment(source: bytes, at: int) -> bool:
    """Whether nothing but blanks lies between a place and the end of a comment that another seems to begin in."""
    end = len(source[:at].rstrip())
    if not source.endswith(b"*/", 0, end):
        return False
    found = (comment[0] for comment in SKIPPED.finditer(source, 0, end) if comment.end() == end)
    return any(b"/*" in comment[2:] for comment in found)


def _place(source: bytes, at: int) -> str:
    line = source.count(b"\n", 0, at) + 1
    column = len(source[source.rfind(b"\n", 0, at) + 1 : at].decode(errors="replace")) + 1
    return f"line {line}, column {column}"
