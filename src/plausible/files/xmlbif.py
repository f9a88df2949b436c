"""XMLBIF 0.3 (Cozman 1998)."""

from __future__ import annotations

from plausible.cpds import as_table
from plausible.files.draft import Draft
from plausible.files.markup import Element, Markup, element
from plausible.network import Network

HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<BIF VERSION="0.3">
<NETWORK>"""


def parse_xmlbif(source: bytes, where: str = "XMLBIF") -> Network:
    """The network that an XMLBIF text describes; `where` names it in errors."""
    markup = Markup(source, where, "BIF")
    network = markup.only(markup.root, "NETWORK")
    draft = Draft(markup.fail)
    for variable in network.all("VARIABLE"):
        kind = variable.attributes.get("TYPE", "nature")
        if kind != "nature":
            raise markup.fail(variable.at, f"a variable of type '{kind}'; only 'nature' is read")
        name = markup.only(variable, "NAME").text
        draft.variable(name, variable.texts("OUTCOME"), variable.at, _notes(variable))
    for definition in (*network.all("DEFINITION"), *network.all("PROBABILITY")):
        child, table = markup.only(definition, "FOR"), markup.only(definition, "TABLE")
        values = markup.numbers(table)
        draft.distribution(child.text, definition.texts("GIVEN"), values, definition.at)
    return draft.network(next(iter(network.texts("NAME")), ""), _notes(network))


def _notes(of: Element) -> list[str]:
    return [note for note in of.texts("PROPERTY") if note]


def render_xmlbif(network: Network) -> str:
    """The network as XMLBIF text. Distributions that are not tables are written as their tables."""
    lines = [HEADER, element("NAME", network.name), *_properties(network, "")]
    for variable in network.variables:
        lines += ['<VARIABLE TYPE="nature">', f"\t{element('NAME', variable.name)}"]
        lines += [f"\t{element('OUTCOME', state)}" for state in variable.states]
        lines += [f"\t{note}" for note in _properties(network, variable.name)]
        lines.append("</VARIABLE>")
    for name in network.names:
        table = as_table(network[name])
        lines += ["<DEFINITION>", f"\t{element('FOR', name)}"]
        lines += [f"\t{element('GIVEN', parent.name)}" for parent in table.parents]
        rows = table.values.reshape(-1, len(table.child.states)).tolist()
        text = "\n\t\t".join(" ".join(map(repr, row)) for row in rows)
        lines += [f"\t<TABLE>{text}</TABLE>", "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>"]) + "\n"


def _properties(network: Network, name: str) -> list[str]:
    return [element("PROPERTY", note) for note in network.properties.get(name, ())]
