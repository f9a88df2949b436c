"""What learn, update, forget and merge do where the model is a belief network, and the options for that."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from plausible.cli import show
from plausible.cli.options import add, named
from plausible.errors import CallError
from plausible.wording import quantity

if TYPE_CHECKING:
    from plausible.counted import Counted
    from plausible.learning.em import Step
    from plausible.learning.parameters import Learned
    from plausible.learning.uncertainty import Interval

NAMES = (
    "rule",
    "method",
    "hidden",
    "gap",
    "prior_network",
    "prior_weight",
    "fixed",
    "tie",
    "restarts",
    "accelerate",
    "iterations",
    "tolerance",
    "seconds",
    "seed",
    "samples",
    "intervals",
)

READING = ("where", "encoding", "strict", "threads")
"""Options of documents and tables of classes that go with networks, too."""

network_options = add(
    click.option("--network", type=click.Path(), metavar="NET", help="Learn the tables of this network instead."),
    click.option("--rule", metavar="RULE", help="With --network: mle, laplace, m:2, dirichlet:0.5 or bdeu:10. [bdeu]"),
    click.option(
        "--method",
        metavar="NAME",
        help="counts, or, where cells are empty or variables hidden, em, gradient or lbfgs. [auto]",
    ),
    click.option("--hidden", multiple=True, metavar="NAME[=N]", help="A variable without a column, with N states."),
    click.option("--gap", multiple=True, metavar="TEXT", help="Cells with this text are gaps; NA or ? for example."),
    click.option("--prior-network", type=click.Path(), metavar="NET", help="What is believed before, for the rule."),
    click.option("--prior-weight", type=float, metavar="W", help="Its weight: imaginary cases a row of a table. [1]"),
    click.option("--fixed", multiple=True, metavar="NAME", help="A variable whose table stays as it is."),
    click.option("--tie", multiple=True, metavar="A,B", help="Variables that share one table."),
    click.option("--restarts", type=int, metavar="N", help="em: begin again N times from random tables."),
    click.option("--accelerate", is_flag=True, help="em: leap ahead (SQUAREM)."),
    click.option("--iterations", type=int, metavar="N", help="em: at most N steps. [1000]"),
    click.option(
        "--tolerance", type=float, metavar="X", help="em: done when a step gains less than this share. [1e-9]"
    ),
    click.option("--seconds", type=float, metavar="S", help="em: stop after S seconds, with the best so far."),
    click.option("--seed", type=int, metavar="N", help="Of chance. [0]"),
    click.option("--samples", type=int, metavar="N", help="em: complete each row N times by sampling."),
    click.option(
        "--intervals", type=float, metavar="P", help="Print each parameter's interval of probability P: 0.95."
    ),
)


def taken(given: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The network and its options, taken out of a command's parameters; CallError where they don't go together."""
    network = given.pop("network")
    own = {name: given.pop(name) for name in NAMES}
    own = {name: value for name, value in own.items() if _said(value)}
    if network is None and own:
        raise CallError(
            f"--{next(iter(own)).replace('_', '-')} goes with --network NET; this learns a model of classes"
        )
    if network is not None:
        others = [n for n, value in given.items() if n not in READING and _said(value)]
        if others:
            name = "as" if others[0] == "kinds" else others[0].replace("_", "-")
            raise CallError(f"--{name} is for models of classes; with --network NET the network says what there is")
        own |= {name: given[name] for name in READING}
    return network, own


def _said(value: object) -> bool:
    """Whether an option was given; 0 is a value."""
    return not (value is None or value is False or value == ())


def learn_network(
    source: str | None, sql: str | None, network: str, output: str, format_: show.Format | None, own: dict[str, Any]
) -> None:
    from plausible.errors import DataError
    from plausible.files.formats import read
    from plausible.learning.parameters import learn_parameters
    from plausible.sources import open_source

    table = named(source, sql, "table: a file")
    writer = _writer(output)
    level = own.pop("intervals", None)
    model = read(network)
    opened = open_source(
        table,
        where=own.pop("where"),
        encoding=own.pop("encoding"),
        strict=bool(own.pop("strict")),
    )
    if opened.documents:
        raise DataError(f"{opened.name} holds documents, not a table; --network needs one column a variable")
    prior = own.pop("prior_network", None)
    names = {"iterations": "max_iterations", "seconds": "max_seconds", "tie": "tied", "prior_weight": "weight"}
    options = {names.get(name, name): value for name, value in own.items() if value is not None}
    if "hidden" in options:
        options["hidden"] = dict(map(_hidden, options["hidden"]))
    if "tied" in options:
        options["tied"] = [[name.strip() for name in group.split(",")] for group in options["tied"]]
    if prior is None and "weight" in options:
        raise CallError("--prior-weight is the weight of --prior-network; name that")
    if prior is not None and "rule" in options:
        raise CallError("--rule and --prior-network both say what is believed before; choose one")
    if sys.stderr.isatty():
        options["progress"] = _line()
    gaps = ("", *options.pop("gap", ()))
    found = learn_parameters(model, opened, gaps=gaps, prior=None if prior is None else read(prior), **options)
    intervals = None if level is None else _intervals(found.counted, level)
    writer(found.counted)
    _show(output, found, intervals, format_)


def _hidden(text: str) -> tuple[str, int | list[str] | None]:
    name, equals, states = text.partition("=")
    if not equals:
        return name, None
    return name, int(states) if states.isdecimal() else [state.strip() for state in states.split(",")]


def _writer(output: str) -> Callable[[Counted], None]:
    """What writes the network, its counts beside it where the format has room; an error now where none can."""
    from plausible.files.formats import write, written_format
    from plausible.files.model import save

    if written_format(output).name == "plausible":
        return lambda counted: save(counted, output)
    return lambda counted: write(counted.network, output)


def _show(output: str, found: Learned, intervals: list[Interval] | None, format_: show.Format | None) -> None:
    search = found.search
    counted = found.counted
    record: dict[str, Any] = {
        "network": output,
        "variables": len(counted.network),
        "rows": counted.rows,
        "gaps": found.gaps,
        "method": found.method,
        "log_likelihood": search.log_likelihood if search and search.exact else None,
        "iterations": search.iterations if search else None,
        "stopped": search.stopped if search else None,
        "run": search.run if search else None,
        "trace": search.trace.tolist() if search else None,
    }
    line = f"{output}: {_size(counted)} by {found.method}"
    if search is not None:
        line += (
            f", {quantity(found.gaps, 'gap')}, {quantity(search.iterations, 'step')} ({search.stopped}), "
            f"log-likelihood {'' if search.exact else 'gained, estimated: '}{search.log_likelihood:,.2f}"
        )
        if search.stopped != "converged":
            click.echo(
                f"Note: stopped by {search.stopped} before the search was done; this is the best so far", err=True
            )
    if intervals is None:
        show.one(record, format_, lambda: line + "\n")
        return
    click.echo(line, err=True)
    show_intervals(intervals, format_)


def _intervals(counted: Counted, level: float) -> list[Interval]:
    from plausible.learning.uncertainty import parameter_intervals

    return parameter_intervals(counted, level)


def show_intervals(intervals: list[Interval], format_: show.Format | None) -> None:
    columns = ["variable", "given", "state", "probability", "low", "high", "seen"]
    records: list[dict[str, Any]] = [
        {
            "variable": one.variable,
            "given": dict(one.given),
            "state": one.state,
            "probability": one.probability,
            "low": one.low,
            "high": one.high,
            "seen": None if one.seen != one.seen else one.seen,
        }
        for one in intervals
    ]
    if show.chosen(format_) == "table":
        for record in records:
            record["given"] = ", ".join(f"{name}={state}" for name, state in record["given"].items())
    show.rows(records, format_, columns)


def change_network(
    model_file: str, sources: tuple[str, ...], output: str | None, verb: str, format_: show.Format | None
) -> None:
    """Add the rows of tables to a network's counts, or take them away."""
    from plausible.files.model import load_counted
    from plausible.sources import open_source

    counted = load_counted(model_file)
    before = counted.rows
    writer = _writer(output or model_file)
    for source in sources:
        opened = open_source(source)
        counted = counted.update(opened) if verb == "update" else counted.forget(opened)
    writer(counted)
    changed = abs(counted.rows - before)
    said = "learned" if verb == "update" else "forgotten"
    done = f"{quantity(changed, 'row')} {said}"
    record = {"model": output or model_file, said: changed, "rows": counted.rows}
    show.one(record, format_, lambda: f"{output or model_file}: {done}, {counted.rows:,} in all\n")


def merge_networks(models: tuple[str, ...], output: str, format_: show.Format | None) -> None:
    from plausible.files.model import load_counted

    writer = _writer(output)
    whole = load_counted(models[0])
    for name in models[1:]:
        whole = whole + load_counted(name)
    writer(whole)
    record = {"model": output, "rows": whole.rows, "variables": len(whole.network)}
    show.one(record, format_, lambda: f"{output}: {_size(whole)}\n")


def _size(counted: Counted) -> str:
    return f"{quantity(len(counted.network), 'variable')} from {quantity(counted.rows, 'row')}"


def _line() -> Callable[[Step], None]:
    """One line on the terminal that tells how far the search is, after its first second."""
    import time

    begun = time.monotonic()

    def progress(at: Step) -> None:
        seconds = time.monotonic() - begun
        if seconds > 1:
            click.echo(
                f"\r\x1b[Krun {at.run}, step {at.iteration:,}, objective {at.objective:,.2f}, {seconds:.0f} s",
                err=True,
                nl=False,
            )

    return progress
