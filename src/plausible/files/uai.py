"""UAI (the inference contests' format, Dechter and others 2008) and its evidence files.

The format has no names: variables and states are numbers. `render_uai` writes the names as comments after
the last table, where other readers don't look, and `parse_uai` finds them there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plausible.cpds import Array, as_table
from plausible.errors import CallError, DataError
from plausible.files.draft import Draft
from plausible.files.source import Source, numbers
from plausible.network import Network

COMMENT = re.compile(r"#[^\n]*")
NAMES = re.compile(r"^# (network|variable) (\{.*\})[ \r]*$", re.MULTILINE)


class _Numbers:
    """The numbers of a text after its heading, taken in order."""

    def __init__(self, source: Source, start: int) -> None:
        self.source = source
        blank = COMMENT.sub(lambda found: " " * len(found[0]), source.text[start:])
        self._text, self._start = blank, start
        self._values = numbers(blank, source.fail, start.__add__)
        self._next = 0

    def fail(self, back: int, what: str) -> DataError:
        """The error for the number taken so many numbers ago."""
        return self.source.fail(self.place(back), what)

    def place(self, back: int = 0) -> int:
        starts = (found.start() for found in re.finditer(r"\S+", self._text))
        wanted = self._next - back
        return self._start + next((at for i, at in enumerate(starts) if i == wanted), len(self._text.rstrip()))

    def take(self, count: int, what: str) -> Array:
        left = len(self._values) - self._next
        if left < count:
            raise self.fail(-left, f"{what}: {count} numbers are needed, {left} are left; is the file whole?")
        self._next += count
        return self._values[self._next - count : self._next]

    def whole(self, what: str) -> int:
        value = float(self.take(1, what)[0])
        if not 0 <= value < 2**53 or value != int(value):
            raise self.fail(1, f"{what}: expected a whole number, found {value:g}")
        return int(value)

    def end(self) -> None:
        if self._next < len(self._values):
            raise self.fail(0, "the file goes on after its last number; is the count before it right?")


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
    draft, said = Draft(text.fail), names["variable"]
    for i, size in enumerate(sizes):
        one = said[i] if len(said) == len(sizes) else {}
        states = one.get("states", [str(state) for state in range(size)])
        if len(states) != size:
            raise text.fail(at, f"variable {i} has {size} states, and its comment names {len(states)}")
        draft.variable(one.get("name", str(i)), states, found.place(len(sizes) - i), one.get("notes", ()))
    order, scopes = list(draft.variables), []
    for _ in range(found.whole("the number of tables")):
        length = found.whole("the number of variables in a table")
        if not 1 <= length <= len(sizes):
            raise found.fail(1, f"a table of {length} variables, where the file has {len(sizes)}")
        place = found.place()
        scope = [found.whole("a variable") for _ in range(length)]
        if max(scope) >= len(sizes):
            raise text.fail(place, f"no variable {max(scope)}: the {len(sizes)} variables count from 0")
        scopes.append(([order[i] for i in scope], place))
    for scope, _ in scopes:
        place = found.place()
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
    lines = ["BAYES", str(len(place)), " ".join(str(len(v.states)) for v in network.variables), str(len(place))]
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
    left = len(found._values) - 1
    if count == 1 and left % 2 == 1:
        count = found.whole("the number of findings")
    elif count > 1 and left != 2 * count:
        raise found.fail(1, f"{count} findings need {2 * count} numbers, found {left}; one sample a file")
    evidence: dict[str, str] = {}
    for _ in range(count):
        i = found.whole("a variable")
        if i >= len(network):
            raise found.fail(1, f"no variable {i}: the {len(network)} variables count from 0")
        variable = network.variables[i]
        state = found.whole(f"the state of {variable.name!r}")
        if state >= len(variable.states):
            raise found.fail(1, f"no state {state} of {variable.name!r}: its {len(variable.states)} count from 0")
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
