"""UAI (the inference contests' format, Dechter and others 2008) and its evidence files.

The format has no names: variables and states are numbers. `render_uai` writes the names as comments after
the last table, where other readers don't look, and `parse_uai` finds them there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from plausible.cpds import LARGEST_TABLE, Array, as_table
from plausible.errors import CallError, DataError
from plausible.files.draft import Draft
from plausible.files.source import Source, numbers
from plausible.network import Network
from plausible.wording import quantity

COMMENT = re.compile(r"#[^\n]*")
NAMES = re.compile(r"^# (network|variable) (\{.*\})[ \r]*$", re.MULTILINE)


class _Numbers:
    """The numbers of a text after its heading, taken in order; a place is a number's position among them."""

    def __init__(self, source: Source, start: int) -> None:
        self.source = source
        self._start = start
        self._text = COMMENT.sub(lambda found: " " * len(found[0]), source.text[start:])
        self._values = numbers(self._text, source.fail, start.__add__)
        self.place = 0

    @property
    def left(self) -> int:
        return len(self._values) - self.place

    def fail(self, place: int, what: str) -> DataError:
        starts = (found.start() for found in re.finditer(r"\S+", self._text, re.ASCII))
        end = len(self._text.rstrip())
        return self.source.fail(self._start + next(islice(starts, place, None), end), what)

    def take(self, count: int, what: str) -> Array:
        if self.left < count:
            said = f"{what}: needed {quantity(count, 'number')}, left {self.left}; is the file whole?"
            raise self.fail(len(self._values), said)
        self.place += count
        return self._values[self.place - count : self.place]

    def whole(self, what: str, below: int = 2**53) -> int:
        value = float(self.take(1, what)[0])
        if value != value // 1 or not 0 <= value < 2**53:
            raise self.fail(self.place - 1, f"{what}: expected a whole number, found {value:g}")
        if value >= below:
            raise self.fail(self.place - 1, f"{what}: {value:g} is too high; they count from 0 to {below - 1}")
        return int(value)

    def end(self) -> None:
        if self.left:
            raise self.fail(self.place, "the file goes on after its last number; is the count before it right?")


def parse_uai(source: bytes, where: str = "UAI") -> Network:
    """The network that a UAI text describes; `where` names it in errors."""
    text = Source(source, where)
    heading = re.match(rf"(?:\s|{COMMENT.pattern})*(\S*)", text.text)
    word, at = (heading[1], heading.start(1)) if heading else ("", 0)
    if word == "MARKOV":
        raise text.fail(at, "a Markov network (MARKOV), which has no directions; only BAYES files are read")
    if word != "BAYES":
        raise text.fail(at, f"expected 'BAYES', found '{word[:60]}'")
    found = _Numbers(text, at + len(word))
    names = _names(text)
    sizes = [found.whole("the states of a variable") for _ in range(found.whole("the number of variables"))]
    draft, said = Draft(found.fail), names["variable"]
    for i, size in enumerate(sizes, 1):
        one = said[i - 1] if len(said) == len(sizes) else {}
        if size > LARGEST_TABLE:
            raise found.fail(i, f"a variable with {size} states is more than any table holds")
        states = one.get("states", [str(state) for state in range(size)])
        if len(states) != size:
            raise found.fail(i, f"this variable has {quantity(size, 'state')}, and its comment names {len(states)}")
        draft.variable(one.get("name", str(i - 1)), states, i, one.get("notes", ()))
    order, scopes = list(draft.variables), []
    for _ in range(found.whole("the number of tables")):
        length = found.whole("the number of variables in a table", len(sizes) + 1)
        scopes.append([order[found.whole("a variable", len(sizes))] for _ in range(length)])
        if not length:
            raise found.fail(found.place - 1, "a table of no variables; each needs its child")
    for scope in scopes:
        place = found.place
        size = found.whole(f"the size of the table of {scope[-1]!r}")
        draft.distribution(scope[-1], scope[:-1], found.take(size, f"the table of {scope[-1]!r}"), place)
    found.end()
    network = next(iter(names["network"]), {})
    return draft.network(network.get("name", ""), network.get("notes", ()))


def _names(text: Source) -> dict[str, list[dict[str, Any]]]:
    names: dict[str, list[dict[str, Any]]] = {"network": [], "variable": []}
    for found in NAMES.finditer(text.text):
        try:
            names[found[1]].append(json.loads(found[2]))
        except (ValueError, RecursionError):
            raise text.fail(found.start(), "this comment should hold names as JSON; take it out") from None
    return names


def render_uai(network: Network) -> str:
    """The network as UAI text. Distributions that are not tables are written as their tables."""
    place = {name: i for i, name in enumerate(network.names)}
    tables = [as_table(network[name]) for name in network.names]
    sizes = " ".join(str(len(v.states)) for v in network.variables)
    lines = ["BAYES", str(len(place)), sizes, str(len(place))]
    for table in tables:
        scope = [place[v.name] for v in (*table.parents, table.child)]
        lines.append(" ".join(map(str, (len(scope), *scope))))
    for table in tables:
        lines += ["", str(table.values.size)]
        rows = table.values.reshape(-1, len(table.child.states)).tolist()
        lines += [" " + " ".join(map(repr, row)) for row in rows]
    notes = network.properties
    lines += ["", f"# network {_json(name=network.name, notes=notes.get('', ()))}"]
    for v in network.variables:
        lines.append(f"# variable {_json(name=v.name, states=v.states, notes=notes.get(v.name, ()))}")
    return "\n".join(lines) + "\n"


def _json(**said: object) -> str:
    return json.dumps({key: value for key, value in said.items() if value != ()}, ensure_ascii=True)


def read_uai_evidence(path: str | os.PathLike[str], network: Network) -> dict[str, str]:
    """The evidence of a UAI evidence file as `{variable: state}`.

    Both layouts are read: `count variable state ...`, and the older one that starts with the number of
    samples, which must be 1 (or 0: no evidence).
    """
    where = os.fspath(path)
    try:
        source = Source(Path(path).read_bytes(), where)
    except OSError as error:
        raise DataError(f"{where}: can't be read ({error.strerror}); check the path") from None
    found = _Numbers(source, 0)
    count = found.whole("the number of findings")
    if count == 1 and found.left % 2 == 1:
        count = found.whole("the number of findings")
    elif count > 1 and found.left != 2 * count:
        said = f"{count} findings need {2 * count} numbers, found {found.left}; give one sample a file"
        raise found.fail(0, said)
    evidence: dict[str, str] = {}
    for _ in range(count):
        variable = network.variables[found.whole("a variable", len(network))]
        state = found.whole(f"the state of {variable.name!r}", len(variable.states))
        evidence[variable.name] = variable.states[state]
    found.end()
    return evidence


def render_uai_evidence(network: Network, evidence: Mapping[str, str]) -> str:
    """Evidence as the text of a UAI evidence file."""
    place = {name: i for i, name in enumerate(network.names)}
    pairs = []
    for name, state in evidence.items():
        child = network[name].child
        if not isinstance(state, str):
            raise CallError(f"evidence on {name!r} is no state; a UAI evidence file holds states only")
        pairs.append(f"{place[name]} {child.index(state)}")
    return " ".join([str(len(pairs)), *pairs]) + "\n"
