"""BIF, the Bayesian interchange format (Cozman 1998, version 0.15)."""

from __future__ import annotations

import gzip
import os
import re
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from plausible import _native
from plausible.cpds import CPD, Array, NoisyMax, Table, as_table, row_name
from plausible.errors import CallError, DataError, PlausibleError, PlausibleWarning, unknown
from plausible.network import Network
from plausible.schema import Variable

PLAIN = re.compile(r'[^\s,;(){}\[\]|"]+')
COMMENT = re.compile(r"/[/*]")
KEYWORDS = {"network", "variable", "probability", "property", "type", "discrete", "table", "default"}


def read_bif(path: str | os.PathLike[str]) -> Network:
    """The network in a BIF file, plain or gzipped; DataError with line and column where it is damaged."""
    name = os.fspath(path)
    try:
        source = Path(path).read_bytes()
        source = gzip.decompress(source) if source[:2] == b"\x1f\x8b" else source
    except FileNotFoundError:
        raise DataError(f"{name}: no such file; check the path") from None
    except (OSError, EOFError) as error:
        raise DataError(f"{name}: can't be read ({error}); is the file whole?") from None
    return parse_bif(source, name)


def write_bif(network: Network, path: str | os.PathLike[str]) -> None:
    """Write the network as BIF, whole or not at all."""
    target = Path(path)
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(render_bif(network), encoding="utf-8")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def parse_bif(source: bytes, where: str = "BIF") -> Network:
    """The network that a BIF text describes; `where` names it in errors."""
    try:
        source.decode()
    except UnicodeDecodeError:
        source = source.decode("latin-1").encode()
    if (zero := source.find(b"\0")) >= 0:
        raise DataError(f"{where}, {_place(source, zero)}: a zero byte; this isn't a text file")
    found = _native.read_bif(source)
    if len(found) == 4:
        at, what, name, known = found
        said = unknown(what, name, known) if name else what
        raise DataError(f"{where}, {_place(source, at)}: {said}")
    title, notes, declared, blocks, _ = found
    variables = [Variable(name, states=states) for name, states, _, _ in declared]
    properties = {"": tuple(notes)} | {name: tuple(said) for name, _, said, _ in declared}
    cpds: dict[str, CPD] = {}
    for child, parents, values, said, at in blocks:
        variable, above = variables[child], [variables[parent] for parent in parents]
        if variable.name in cpds:
            raise DataError(f"{where}, {_place(source, at)}: a second distribution of {variable.name!r}")
        try:
            cpds[variable.name] = _cpd(variable, above, values, said)
        except PlausibleError as error:
            raise DataError(f"{where}, {_place(source, at)}: {error}") from None
    _fill_gap(cpds, variables, [f"{where}, {_place(source, at)}" for *_, at in declared])
    ordered = {variable.name: cpds[variable.name] for variable in variables}
    try:
        return Network(None, ordered, name=title, properties={k: v for k, v in properties.items() if v})
    except PlausibleError as error:
        raise DataError(f"{where}: {error}") from None


def _fill_gap(cpds: dict[str, CPD], variables: list[Variable], places: list[str]) -> None:
    """One variable may lack a distribution if no other needs it; more looks like a file cut short."""
    missing = [variable for variable in variables if variable.name not in cpds]
    needed = {parent.name for cpd in cpds.values() for parent in cpd.parents}
    for variable in missing:
        said = f"{places[variables.index(variable)]}: variable {variable.name!r} has no probability block"
        if len(missing) > 1 or variable.name in needed or not cpds:
            raise DataError(f"{said}; is the file whole?")
        warnings.warn(f"{said}; it is taken as uniform", PlausibleWarning, stacklevel=3)
        states = len(variable.states)
        cpds[variable.name] = Table(variable, (), np.full(states, 1 / states))


def _cpd(child: Variable, parents: list[Variable], values: Array, said: list[str]) -> CPD:
    missing = np.isnan(values).any(axis=-1)
    if any(note.split() == ["function", "max"] for note in said) and missing.any():
        return _noisy_max(child, parents, values)
    if missing.any():
        row = np.argwhere(missing)[0]
        raise DataError(f"{row_name(child, parents, row)} is not given; add its row, or a default")
    return Table(child, parents, values)


def _noisy_max(child: Variable, parents: list[Variable], values: Array) -> NoisyMax:
    """`property function max`: one row a cause, the first row is what happens without any."""
    pushes = []
    for axis, parent in enumerate(parents):
        push = np.empty((len(parent.states), len(child.states)))
        push[0] = np.eye(len(child.states))[0]
        for state in range(1, len(parent.states)):
            row = [0] * len(parents)
            row[axis] = state
            push[state] = values[tuple(row)]
        if np.isnan(push).any():
            raise DataError(f"the row of the cause {parent.name!r} of {child.name!r} is not given")
        pushes.append(push)
    return NoisyMax(child, parents, pushes, values[(0,) * len(parents)])


def render_bif(network: Network) -> str:
    """The network as BIF text. Distributions that are not tables are written as their tables."""
    lines = [f"network {_quoted(network.name or 'unknown')} {{"]
    lines += [f"  property {note};" for note in network.properties.get("", ())]
    lines.append("}")
    for variable in network.variables:
        states = ", ".join(_quoted(state) for state in variable.states)
        lines.append(f"variable {_quoted(variable.name)} {{")
        lines.append(f"  type discrete [ {len(variable.states)} ] {{ {states} }};")
        lines += [f"  property {note};" for note in network.properties.get(variable.name, ())]
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


def _place(source: bytes, at: int) -> str:
    line = source.count(b"\n", 0, at) + 1
    column = len(source[source.rfind(b"\n", 0, at) + 1 : at].decode(errors="replace")) + 1
    return f"line {line}, column {column}"
