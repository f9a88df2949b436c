"""DSL, the older format of GeNIe."""

from __future__ import annotations

import re

from plausible.cpds import as_table
from plausible.files.draft import Draft
from plausible.files.source import Scanner, Source, numbers
from plausible.files.spelling import STRING, identifier, named, note, noted, quoted, unquoted
from plausible.network import Network

MARKS = "{}()=;,"
COMMENT = r"//[^\n]*|/\*.*?\*/"
DEEPEST = 20

Fields = dict[str, tuple[str, int]]
"""What a block says: by path ("HEADER.ID") the value as it stands, and where."""


def parse_dsl(source: bytes, where: str = "DSL") -> Network:
    """The network that a DSL text describes; `where` names it in errors."""
    scanner = Scanner(Source(source, where), MARKS, COMMENT)
    draft = Draft(scanner.source.fail)
    scanner.expect("net", "at the start")
    title = named(scanner.word("the network's name"))
    scanner.expect("{", "after the network's name")
    around: Fields = {}
    while not scanner.accept("}"):
        if scanner.accept("node"):
            _node(scanner, draft)
        else:
            _field(scanner, "", around)
        scanner.accept(";")
    scanner.accept(";")
    if scanner.token:
        raise scanner.expected("the end of the file")
    return draft.network("" if title == "Unnamed" else title, _notes(around))


def _node(scanner: Scanner, draft: Draft) -> None:
    at = scanner.at
    name = named(scanner.word("the name of a node"))
    scanner.expect("{", "after the node's name")
    fields: Fields = {}
    while not scanner.accept("}"):
        _field(scanner, "", fields)
    kind, place = fields.get("TYPE", ("CPT", at))
    if kind != "CPT":
        raise scanner.source.fail(place, f"nodes of type {kind} are not read; only CPT nodes are")
    label = unquoted(fields.get("HEADER.NAME", ("", at))[0])
    notes = [f"label = {quoted(label)}"] if label not in ("", name) else []
    states = [named(state) for state in _words(fields.get("DEFINITION.NAMESTATES", ("", at))[0])]
    draft.variable(name, states, at, [*notes, *_notes(fields)])
    parents = [named(parent) for parent in _words(fields.get("PARENTS", ("", at))[0])]
    raw, place = fields.get("DEFINITION.PROBABILITIES", ("", at))
    values = numbers(raw.translate(str.maketrans("(),", "   ")), scanner.source.fail, place.__add__)
    draft.distribution(name, parents, values, at)


def _field(scanner: Scanner, path: str, into: Fields) -> None:
    """`KEY = value;`, or `KEY = { ... };` with fields inside."""
    path += scanner.word("a field or '}'")
    scanner.expect("=", f"after '{path}'")
    if scanner.token != "{":
        raw, at = scanner.until(";")
        into[path] = (raw.strip(), at)
        return
    if path.count(".") > DEEPEST:
        raise scanner.fail(f"fields are nested more than {DEEPEST} deep; is this a network?")
    scanner.next()
    while not scanner.accept("}"):
        _field(scanner, f"{path}.", into)
    scanner.accept(";")


def _words(raw: str) -> list[str]:
    return [unquoted(word) for word in re.findall(rf'{STRING.pattern}|[^\s"(),]+', raw)]


def _notes(fields: Fields) -> list[str]:
    own = "USER_PROPERTIES."
    return [note(key[len(own) :], raw) for key, (raw, _) in fields.items() if key.startswith(own)]


def render_dsl(network: Network) -> str:
    """The network as DSL text. Distributions that are not tables are written as their tables."""
    lines = [f"net {identifier(network.name or 'Unnamed')}", "{", *_properties(network, "", "\t")]
    for name in network.graph.order:
        table, word = as_table(network[name]), identifier(name)
        flat = ", ".join(map(repr, table.values.ravel().tolist()))
        lines += [f"\tnode {word}", "\t{", "\t\tTYPE = CPT;"]
        lines += ["\t\tHEADER =", "\t\t{", f"\t\t\tID = {word};", f"\t\t\tNAME = {quoted(name)};", "\t\t};"]
        lines.append(f"\t\tPARENTS = ({', '.join(identifier(parent.name) for parent in table.parents)});")
        lines += ["\t\tDEFINITION =", "\t\t{"]
        lines.append(f"\t\t\tNAMESTATES = ({', '.join(map(identifier, table.child.states))});")
        lines += [f"\t\t\tPROBABILITIES = ({flat});", "\t\t};"]
        lines += [*_properties(network, name, "\t\t"), "\t};", ""]
    return "\n".join([*lines, "};"]) + "\n"


def _properties(network: Network, name: str, pad: str) -> list[str]:
    notes = network.properties.get(name, ())
    if not notes:
        return []
    inside = [f"{pad}\t{key} = {value};" for key, value in noted(notes)]
    return [f"{pad}USER_PROPERTIES =", f"{pad}{{", *inside, f"{pad}}};"]
