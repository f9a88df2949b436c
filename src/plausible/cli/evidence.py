"""Evidence, variables and states as a person types them, and their completion in the shell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from plausible.cli.options import add
from plausible.errors import CallError, PlausibleError, unknown
from plausible.wording import quantity

if TYPE_CHECKING:
    from plausible.infer.evidence import Finding
    from plausible.network import Network
    from plausible.schema import Variable

LARGEST_COMPLETED = 20 << 20
"""Bytes of the largest file that is read while a person waits for a completion."""

KINDS = ("not:", "likelihood:", "soft:")


def asked(network_file: str, given: Iterable[str], do: Iterable[str]) -> tuple[Network, dict[str, Any]]:
    """The network in a file once some variables are set from outside, and the evidence on it."""
    from plausible.files.formats import read

    network = actions(read(network_file), do)
    return network, parsed(network, given)


def parsed(network: Network, given: Iterable[str]) -> dict[str, Any]:
    """Evidence written as `VAR=state`, `VAR=not:state,state`, `VAR=likelihood:.2,.8` or `VAR=soft:no=.3,yes=.7`.

    A state may be given by its number, counted from 0: `VAR=#2`. A number or a text is given as it is, a text in a file
    as `VAR=@FILE`. `@FILE` stands for the findings in a file, one a line, or for a UAI evidence file.
    """
    evidence: dict[str, Finding | float] = {}
    for name, finding in _findings(network, given):
        if name in evidence:
            raise CallError(f"{name!r} is given twice; say all about it in one --given")
        evidence[name] = finding
    return evidence


def _findings(network: Network, given: Iterable[str]) -> Iterator[tuple[str, Finding | float]]:
    for text in given:
        if text.startswith("@") and text.partition("=")[0] not in network:
            yield from _in_file(network, text[1:])
            continue
        name, value = _split(network, text)
        child = network[name].child
        if child.kind == "text":
            yield name, _text(value[1:]) if value.startswith("@") else value
        else:
            yield name, _finding(child, value)


def _in_file(network: Network, path: str) -> Iterator[tuple[str, Finding | float]]:
    from plausible.files.uai import read_uai_evidence

    lines = [line for line in _text(path).splitlines() if line.strip() and not line.startswith("#")]
    if all(word.isdecimal() for line in lines for word in line.split()):
        yield from read_uai_evidence(path, network).items()
    else:
        yield from _findings(network, lines)


def _text(path: str) -> str:
    """The text in a file, whatever its encoding."""
    from plausible.sources import open_source

    chunks = open_source(path).tables(["text"])
    return "\n".join(str(text or "") for chunk in chunks for text in chunk.columns["text"])


def actions(network: Network, do: Iterable[str]) -> Network:
    """The network once these variables are set from outside."""
    cut: dict[str, str | int] = {}
    for text in do:
        name, state = _split(network, text)
        cut[name] = _state(network[name].child, state)
    return network.do(cut) if cut else network


def _split(network: Network, text: str) -> tuple[str, str]:
    """`VAR=value`, where names may hold equals signs themselves."""
    places = [found.start() for found in re.finditer("=", text)]
    if not places:
        raise CallError(f"{text!r} is no finding; write VARIABLE=state, such as {_example(network)}")
    for place in places:
        if text[:place] in network:
            return text[:place], text[place + 1 :]
    raise CallError(unknown("variable", text[: places[0]], network.names))


def _example(network: Network) -> str:
    variable = next((v for v in network.variables if v.states), None)
    return f"{variable.name}={variable.states[0]}" if variable else "Rain=yes"


def _number(variable: Variable, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise CallError(f"{variable.name!r} is continuous: give a number, such as {variable.name}=1.5, not {value!r}")
    return number


def _finding(variable: Variable, value: str) -> Finding | float:
    if variable.kind == "continuous":
        return _number(variable, value)
    from plausible.infer.evidence import Likelihood, Not, Soft

    kind, _, rest = value.partition(":")
    if value in variable.states or f"{kind}:" not in KINDS:
        return _state(variable, value)
    if kind == "not":
        states = [rest] if rest in variable.states else rest.split(",")
        return Not(*(_state(variable, state) for state in states))
    shares = _shares(variable, rest)
    return Likelihood(shares) if kind == "likelihood" else Soft(shares)


def _state(variable: Variable, text: str) -> str:
    """The state of that name, or of the number after `#`."""
    if re.fullmatch("#[0-9]+", text) and text not in variable.states:
        if (number := int(text[1:])) >= len(variable.states):
            raise CallError(
                f"variable {variable.name!r} has no state {text}: its states are #0 to #{len(variable.states) - 1}"
            )
        return variable.states[number]
    return variable.states[variable.index(text)]


def _shares(variable: Variable, text: str) -> dict[str, float]:
    """`.2,.8` in the order of the states, or `no=.2,yes=.8`."""
    parts = text.split(",")
    pairs = [part.rpartition("=") for part in parts]
    names = [name for name, equals, _ in pairs if equals]
    if names and len(names) < len(parts):
        raise CallError(f"{text!r} names some states only; write all as state=number, or numbers alone")
    if not names and len(parts) != len(variable.states):
        raise CallError(
            f"{variable.name!r} has {quantity(len(variable.states), 'state')} ({', '.join(variable.states)}), but "
            f"{text!r} has {quantity(len(parts), 'number')}; give one a state"
        )
    for name in names:
        variable.index(name)
    try:
        numbers = [float(number) for *_, number in pairs]
    except ValueError:
        raise CallError(f"{text!r} is not a list of numbers such as .2,.8") from None
    return dict(zip(names or variable.states, numbers, strict=True))


def complete_variable(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of variables of the network on the command line."""
    network = _network(ctx)
    if network is None:
        return []
    return [
        CompletionItem(v.name, help=", ".join(v.states[:6]))
        for v in network.variables
        if v.name.casefold().startswith(incomplete.casefold())
    ]


def complete_subject(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `explain` is about: a variable of a network, or a file for a model of documents."""
    from plausible.files.formats import is_network

    if is_network(_path(ctx) or ""):
        return complete_variable(ctx, param, incomplete)
    return [CompletionItem(incomplete, type="file")]


def complete_state(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """States of the variables that are on the command line."""
    network = _network(ctx)
    if network is None:
        return []
    words = {*ctx.args, *(ctx.params.get("variables") or ()), ctx.params.get("source")}
    states = (state for v in network.variables if v.name in words for state in v.states)
    wanted = incomplete.casefold()
    return [CompletionItem(state) for state in dict.fromkeys(states) if state.casefold().startswith(wanted)]


def complete_finding(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`VAR=` and then its states."""
    network = _network(ctx)
    if network is None:
        return []
    try:
        name, value = _split(network, incomplete)
    except CallError:  # not yet the whole name of a variable
        wanted = incomplete.casefold()
        return [CompletionItem(f"{name}=") for name in network.names if name.casefold().startswith(wanted)]
    states: Sequence[str] = network[name].child.states
    prefix = "not:" if value.startswith("not:") else ""
    wanted = value.removeprefix(prefix).casefold()
    return [CompletionItem(f"{name}={prefix}{state}") for state in states if state.casefold().startswith(wanted)]


def _network(ctx: click.Context) -> Network | None:
    """The network named so far, or None where it can't be read; completion must stay silent."""
    import os
    import warnings

    from plausible.files.formats import read

    path = _path(ctx)
    try:
        if not path or os.path.getsize(path) > LARGEST_COMPLETED:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(path)
    except (PlausibleError, OSError):
        return None


def _path(ctx: click.Context) -> str | None:
    """The file named so far; while an option waits for its value, click leaves the words before it unsorted."""
    return ctx.params.get("network_file") or ctx.params.get("model_file") or next(iter(ctx.args), None)


asking_options = add(
    click.option(
        "--given",
        multiple=True,
        metavar="VAR=STATE",
        shell_complete=complete_finding,
        help="What is known: VAR=state (or its number from 0, VAR=#2), VAR=not:state, VAR=likelihood:.2,.8 or "
        "VAR=soft:.2,.8; @FILE for many.",
    ),
    click.option(
        "--do",
        multiple=True,
        metavar="VAR=STATE",
        shell_complete=complete_finding,
        help="What is set from outside: the arcs into VAR are cut.",
    ),
)
