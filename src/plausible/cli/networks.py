"""Commands for belief networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from plausible.cli import show
from plausible.cli.evidence import asked, asking_options, complete_state, complete_variable
from plausible.cli.insight import next_observations, sensitivities
from plausible.cli.options import Within, keep_apart, threads_option
from plausible.errors import CallError
from plausible.files.atomic import is_special
from plausible.wording import quantity

if TYPE_CHECKING:
    from plausible.infer.evidence import Evidence
    from plausible.network import Network

METHODS = ("auto", "exact", "weighting", "gibbs", "loopy")

network_argument = click.argument("network_file", metavar="NETWORK", type=click.Path())

from_option = click.option("--from", "read_as", metavar="FORMAT", help="Of the file; recognised when not given.")
seed_option = click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of chance.")


def _say(log_probability: float | None, evidence: Evidence) -> None:
    from math import exp

    if evidence and log_probability is not None:
        chance = exp(log_probability)
        said = f"{chance:.6g}" if chance > 1e-300 else f"e^{log_probability:.6g}"
        click.echo(f"P(evidence) = {said}", err=True)


@click.command(short_help="What a network says of a variable.")
@network_argument
@click.argument("variables", nargs=-1, metavar="[VARIABLE]...", shell_complete=complete_variable)
@asking_options
@click.option("--joint", is_flag=True, help="The variables together, a line for each combination.")
@click.option("--most-probable", is_flag=True, help="The most probable states together instead of chances.")
@click.option("--next", "next_", is_flag=True, help="What to observe next: how much each would tell of VARIABLE.")
@click.option(
    "--sensitivity",
    metavar="STATE",
    shell_complete=complete_state,
    help="On which parameters of the network the chance of VARIABLE=STATE hangs most.",
)
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="How many, of these two.")
@click.option("--method", type=click.Choice(METHODS), default="auto", show_default=True, help="How to find out.")
@click.option("--precision", type=Within(0, min_open=True), metavar="X", help="Sample until errors are below.")
@click.option(
    "--interval", type=float, metavar="P", help="Also where the answer lies with probability P, by the counts: 0.95."
)
@seed_option
@threads_option
@click.option("--memory", type=Within(0, min_open=True), metavar="MB", help="That tables may take. [2048]")
@show.format_option
def query(
    network_file: str,
    variables: tuple[str, ...],
    given: tuple[str, ...],
    do: tuple[str, ...],
    joint: bool,
    most_probable: bool,
    next_: bool,
    sensitivity: str | None,
    top: int,
    method: str,
    precision: float | None,
    interval: float | None,
    seed: int,
    threads: int | None,
    memory: float | None,
    format_: show.Format | None,
) -> None:
    """What a network says of VARIABLE, or of all, given what is known.

    \b
      plausible query alarm.bif HYPOVOLEMIA --given HRBP=HIGH --given CO=not:LOW
      plausible query alarm.bif --given HRBP=HIGH --most-probable
      plausible query alarm.bif CO BP --joint --do LVFAILURE=TRUE
      plausible query alarm.bif HYPOVOLEMIA --given HRBP=HIGH --next
      plausible query alarm.bif HYPOVOLEMIA --given HRBP=HIGH --sensitivity TRUE
      plausible query learned.plausible CO --given HRBP=HIGH --interval .95
    """
    network, evidence = asked(network_file, given, do)
    for name in variables:
        if network[name].child.kind == "text":
            raise CallError(f"{name!r} is a text: it can be given, and drawn, but has no posterior")
    questions = {
        "--joint": joint,
        "--most-probable": most_probable,
        "--next": next_,
        "--sensitivity": sensitivity is not None,
        "--interval": interval is not None,
    }
    wanted = [name for name, said in questions.items() if said]
    if len(wanted) > 1:
        raise CallError(f"{' and '.join(wanted)} are {len(wanted)} questions; ask one at a time")
    if wanted and method not in ("auto", "exact"):
        raise CallError(f"--method {method} gives no {wanted[0]}; leave it out")
    if (next_ or sensitivity is not None) and len(variables) != 1:
        raise CallError(f"{wanted[0]} is about one variable; name it")
    bytes_ = None if memory is None else memory * 2**20
    if interval is not None:
        if do:
            raise CallError("--interval is about what was learned, and --do cuts that; leave one out")
        _intervals(network_file, variables or network.names, evidence, interval, seed, format_)
    elif _is_mixed(network):
        if wanted or method != "auto":
            raise CallError(f"a network with continuous variables does not take {wanted[0] if wanted else '--method'}")
        _mixed(network, variables, evidence, seed, format_)
    elif next_:
        next_observations(network, variables[0], evidence, top, format_)
    elif sensitivity is not None:
        sensitivities(network, variables[0], sensitivity, evidence, top, format_)
    elif most_probable:
        _most_probable(network, variables, evidence, bytes_, format_)
    elif joint:
        _joint(network, variables, evidence, bytes_, format_)
    else:
        _posteriors(network, variables, evidence, method, precision, seed, threads, bytes_, format_)


def _intervals(
    network_file: str,
    variables: Sequence[str],
    evidence: Evidence,
    level: float,
    seed: int,
    format_: show.Format | None,
) -> None:
    from plausible.cli.parameters import show_intervals
    from plausible.files.model import load_counted
    from plausible.learning.uncertainty import query_intervals

    show_intervals(query_intervals(load_counted(network_file), variables, evidence, level=level, seed=seed), format_)


def _is_mixed(network: Network) -> bool:
    return any(variable.kind == "continuous" for variable in network.variables)


def _mixed(network: Network, variables: tuple[str, ...], evidence: Any, seed: int, format_: show.Format | None) -> None:
    from math import isfinite, sqrt

    from plausible.infer.gaussian import ask_mixed

    found = ask_mixed(network, evidence, seed=seed)
    if not isfinite(found.effective):
        found_by = "exactly"
    else:
        found_by = f"by sampling, worth {quantity(round(found.effective), 'independent sample')}"
    click.echo(f"Answered {found_by}.", err=True)
    if evidence:
        click.echo(f"log density of the evidence = {found.log_density:.6g}", err=True)
    columns = ["variable", "state", "probability", "mean", "deviation"]
    records = []
    for name in variables or (*found.posteriors, *found.densities):
        if density := found.densities.get(name):
            records.append(dict(zip(columns, (name, None, None, density.mean, sqrt(density.variance)), strict=True)))
            continue
        for state, p in zip(network[name].child.states, found.posteriors[name], strict=True):
            records.append(dict(zip(columns, (name, state, float(p), None, None), strict=True)))
    show.rows(records, format_, columns)


def _posteriors(
    network: Network,
    variables: tuple[str, ...],
    evidence: Evidence,
    method: Any,
    precision: float | None,
    seed: int,
    threads: int | None,
    memory: float | None,
    format_: show.Format | None,
) -> None:
    from plausible.infer.approximate import FEWEST, estimate

    found = estimate(
        network,
        evidence,
        method,
        variables or None,
        precision=precision,
        seed=seed,
        threads=threads or 0,
        memory=memory,
    )
    if method == "auto" and found.method != "exact":
        click.echo("Note: exact inference would take too much memory.", err=True)
    if found.method == "loopy":
        click.echo("Answered by loopy propagation: how far off it is can't be told.", err=True)
    elif found.method != "exact":
        doubt = "" if found.effective >= FEWEST else ": too few to rely on the errors; try --method loopy"
        click.echo(
            f"Answered by {found.method}, worth {quantity(round(found.effective), 'independent sample')}{doubt}.",
            err=True,
        )
    _say(found.log_probability, evidence)
    records: list[dict[str, Any]] = [
        {"variable": name, "state": state, "probability": float(p), "error": float(error)}
        for name in variables or found.posteriors
        for state, p, error in zip(network[name].child.states, found.posteriors[name], found.errors[name], strict=True)
    ]
    columns = ["variable", "state", "probability", "error"]
    if show.chosen(format_) == "table":
        columns = [*columns[: 3 if found.method == "exact" else 4], "bar"]
        for record in records:
            record["bar"] = show.bar(record["probability"], 1.0)
    show.rows(records, format_, columns)


def _joint(
    network: Network, variables: tuple[str, ...], evidence: Evidence, memory: float | None, format_: show.Format | None
) -> None:
    import numpy as np

    from plausible.infer.exact import joint, log_probability

    if not variables:
        raise CallError("--joint needs the variables that it is about; name them")
    if "probability" in variables:
        raise CallError("--joint needs the name 'probability' for itself; rename the variable")
    table = joint(network, variables, evidence, memory=memory)
    _say(log_probability(network, evidence, memory=memory), evidence)
    states = [network[name].child.states for name in variables]
    records = (
        {name: states[k][i] for k, (name, i) in enumerate(zip(variables, row, strict=True))}
        | {"probability": float(table[row])}
        for row in np.ndindex(table.shape)
    )
    show.rows(records, format_, [*variables, "probability"])


def _most_probable(
    network: Network, variables: tuple[str, ...], evidence: Evidence, memory: float | None, format_: show.Format | None
) -> None:
    from plausible.infer.exact import explanation

    found = explanation(network, evidence, variables or None, memory=memory)
    click.echo(f"log P(these states, evidence) = {found.log_probability:.6g}", err=True)
    records = [{"variable": name, "state": state} for name, state in found.states.items()]
    show.rows(records, format_, ["variable", "state"])


@click.command(short_help="Cases drawn from a network.")
@network_argument
@click.option("-n", "count", type=click.IntRange(0), default=100, show_default=True, help="How many.")
@asking_options
@click.option("-o", "output", type=click.Path(), metavar="FILE", help="CSV to write instead of printing.")
@seed_option
@threads_option
@show.format_option
def sample(
    network_file: str,
    count: int,
    given: tuple[str, ...],
    do: tuple[str, ...],
    output: str | None,
    seed: int,
    threads: int | None,
    format_: show.Format | None,
) -> None:
    """Independent cases drawn from a network, or from what it believes once something is known.

    \b
      plausible sample alarm.bif -n 1000 -o rows.csv
      plausible sample alarm.bif -n 10 --given HRBP=HIGH --format table
    """
    from plausible.infer.approximate import sample as drawn

    keep_apart([network_file], output)
    network, evidence = asked(network_file, given, do)
    rows: Iterator[list[Any]]
    if any(variable.kind != "categorical" for variable in network.variables):
        rows = _mixed_cases(network, count, evidence, seed)
    else:
        cases = drawn(network, count, evidence, seed=seed, threads=threads or 0)
        states = [variable.states for variable in network.variables]
        rows = ([states[k][i] for k, i in enumerate(case)] for case in cases.tolist())
    if output in (None, "-"):
        records = (dict(zip(network.names, row, strict=True)) for row in rows)
        show.rows(records, format_, network.names)
        return
    import codecs
    import csv

    from plausible.files.atomic import replacing

    with replacing(output) as file:
        writer = csv.writer(codecs.getwriter("utf-8")(file), lineterminator="\n")
        writer.writerow(network.names)
        writer.writerows(rows)


def _mixed_cases(network: Network, count: int, evidence: Evidence, seed: int) -> Iterator[list[Any]]:
    from plausible.infer.gaussian import sample_mixed

    found = sample_mixed(network, count, evidence, seed=seed)
    columns = [
        [variable.states[i] for i in column] if variable.states else column
        for variable, column in ((v, found[v.name].tolist()) for v in network.variables)
    ]
    return map(list, zip(*columns, strict=True))


@click.command(short_help="A picture of a network.")
@network_argument
@click.option("-o", "output", type=click.Path(), metavar="FILE.svg", help="The picture; printed when not given.")
@asking_options
@click.option("--no-beliefs", is_flag=True, help="Leave the bars out.")
def draw(network_file: str, output: str | None, given: tuple[str, ...], do: tuple[str, ...], no_beliefs: bool) -> None:
    """A network as a picture (SVG), with what it believes in the nodes.

    \b
      plausible draw alarm.bif -o alarm.svg
      plausible draw alarm.bif -o alarm.svg --given HRBP=HIGH
    """
    from plausible.drawing import draw as drawn

    keep_apart([network_file], output)
    if output not in (None, "-") and not is_special(output) and not output.casefold().endswith(".svg"):
        raise CallError(f"{output}: a picture of a network is an .svg file")
    network, evidence = asked(network_file, given, do)
    svg = drawn(network, evidence, method=None if no_beliefs else "auto")
    if output in (None, "-"):
        click.echo(svg, nl=False)
        return
    from plausible.files.atomic import replacing

    with replacing(output) as file:
        file.write(svg.encode())


@click.command(short_help="How the arcs of two networks differ.")
@click.argument("first", metavar="NETWORK", type=click.Path())
@click.argument("second", metavar="OTHER", type=click.Path())
@show.format_option
def compare(first: str, second: str, format_: show.Format | None) -> None:
    """How the arcs of OTHER differ from those of NETWORK, as graphs and as equivalence classes.

    \b
      plausible compare true.bif learned.bif
    """
    from plausible.comparison import compare as compared
    from plausible.files.formats import read

    found = compared(read(first), read(second))
    record = {
        "distance": found.distance,
        "class_distance": found.class_distance,
        "same": len(found.same),
        "missing": _arrows(found.missing),
        "extra": _arrows(found.extra),
        "reversed": _arrows(found.reversed),
        "class_missing": _arrows(found.class_missing, "–"),
        "class_extra": _arrows(found.class_extra, "–"),
        "class_redirected": _arrows(found.class_redirected, "–"),
        "only_first": list(found.only_first),
        "only_second": list(found.only_second),
    }

    def as_table() -> str:
        facts = [
            {"what": f"structural Hamming distance of the {what}", "number": number}
            for what, number in (("graphs", found.distance), ("equivalence classes", found.class_distance))
        ]
        facts.append({"what": "arcs that both have", "number": len(found.same)})
        named = [
            {"arcs": key.replace("_", " "), "which": text}
            for key, value in record.items()
            if isinstance(value, list)
            for text in value
        ]
        return show.table(facts, ["what", "number"]) + ("\n" + show.table(named, ["arcs", "which"]) if named else "")

    show.one(record, format_, as_table)


def _arrows(arcs: tuple[tuple[str, str], ...], sign: str = "→") -> list[str]:
    return [f"{a} {sign} {b}" for a, b in arcs]


@click.command(short_help="A network in another format.")
@network_argument
@click.argument("output", metavar="OUTPUT", type=click.Path())
@from_option
@click.option("--to", "write_as", metavar="FORMAT", help="Of OUTPUT; from its suffix when not given.")
def convert(network_file: str, output: str, read_as: str | None, write_as: str | None) -> None:
    """Write a network in another format; FORMAT is bif, xmlbif, net, xdsl, uai, dsl, dsc or plausible.

    \b
      plausible convert alarm.bif alarm.xdsl
      plausible convert alarm.net.gz alarm.xml
    """
    from plausible.files.formats import read, write

    write(read(network_file, read_as), output, write_as)
