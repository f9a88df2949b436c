"""The command that learns the arcs of a network."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from plausible.cli import show
from plausible.cli.options import Place, Within, add, keep_apart
from plausible.errors import CallError
from plausible.wording import quantity

if TYPE_CHECKING:
    from plausible.counting import Cases, Mixed
    from plausible.graph import Arc, Graph
    from plausible.learning.structure import Knowledge, Progress
    from plausible.network import Network

ANY = "hill-climb"
"""The usual method with gaps, with the bootstrap, and where categories and numbers are mixed: those ges can't have."""

METHODS = ("ges", "k2", "hill-climb", "tabu", "pc", "exact", "chow-liu", "tan")

method_options = add(
    click.option("--method", type=click.Choice(METHODS), help="[ges; hill-climb with gaps, mixed columns, bootstrap]"),
    click.option("--order", metavar="NAMES|NET", help="k2: causes first, as NAME,NAME or as in a network file."),
    click.option("--prune", is_flag=True, default=None, help="k2: take useless parents out again."),
    click.option("--orders", type=int, metavar="N", help="k2 without --order: try N random orders. [20]"),
    click.option(
        "--score",
        metavar="NAME",
        help="k2, bdeu, bdeu-sparse, bic or aic; bdeu:10 sets its sample size. Numbers: bic or aic.",
    ),
    click.option(
        "--restarts",
        type=int,
        metavar="N",
        help="hill-climb, tabu: begin again until N times in a row are in vain. [by the rows, at most 8]",
    ),
    click.option("--patience", type=int, metavar="N", help="tabu: steps without a new best graph. [10]"),
    click.option(
        "--test", type=click.Choice(["g2", "chi2", "fisher-z"]), help="pc: the test of independence. [g2, fisher-z]"
    ),
    click.option("--alpha", type=float, metavar="P", help="pc: a p-value above this means independent. [0.01]"),
    click.option("--target", metavar="NAME", help="tan: the column that is the class."),
    click.option("--root", metavar="NAME", help="chow-liu, tan: where the tree begins."),
)

knowledge_options = add(
    click.option("--require", multiple=True, metavar="'A -> B'", help="An arc that must be there."),
    click.option("--forbid", multiple=True, metavar="'A -> B'", help="An arc that can't be there."),
    click.option("--tier", multiple=True, metavar="A,B", help="Variables of one time; name the earliest tier first."),
    click.option("--first", multiple=True, metavar="NAME", help="A variable without parents."),
    click.option("--last", multiple=True, metavar="NAME", help="A variable without children."),
    click.option("--max-parents", type=int, metavar="N", help="At most N parents a variable."),
)

sure_options = add(
    click.option(
        "--bootstrap", type=int, metavar="N", help="How sure each arc is, by learning from N resampled tables."
    ),
    click.option("--mcmc", type=int, metavar="N", help="How probable each arc is, by N steps through orders."),
    click.option("--least", type=Within(0, 1), default=0.05, show_default=True, help="Show pairs at least so sure."),
    click.option("--query", metavar="NAME", help="A variable's probabilities, averaged over the structures found."),
    click.option("--given", multiple=True, metavar="NAME=STATE", help="Evidence for --query."),
)

table_options = add(
    click.option("--drop", multiple=True, metavar="NAME", help="Leave a column out."),
    click.option(
        "--cut", type=int, metavar="N", help="Cut columns of many numbers into N intervals; else regressions."
    ),
    click.option("--gap", multiple=True, metavar="TEXT", help="Cells with this text are gaps; NA or ? for example."),
)


@click.command(short_help="Learn the arcs of a network from a table.")
@click.argument("source")
@method_options
@knowledge_options
@sure_options
@table_options
@click.option("--rule", default="bdeu", show_default=True, help="From counts to tables: bdeu:10, laplace, m-estimate…")
@click.option("--seconds", type=float, metavar="S", help="Stop after S seconds, with the best network so far.")
@click.option("--seed", type=int, metavar="N", help="Of whatever chance takes part. [0]")
@click.option("-o", "--output", type=Place(), metavar="FILE", help="The network file to write.")
@show.format_option
def structure(
    source: str,
    output: str | None,
    format_: show.Format | None,
    rule: str,
    bootstrap: int | None,
    mcmc: int | None,
    least: float,
    query: str | None,
    given: tuple[str, ...],
    **settings: Any,
) -> None:
    """Learn the arcs of a network, then its tables.

    \b
      plausible structure cases.csv -o net.bif
      plausible structure cases.csv --method k2 --order age,smoking,cancer --prune -o net.bif
      plausible structure cases.csv --tier age,sex --tier smoking --tier cancer --method hill-climb
      plausible structure cases.csv --bootstrap 200
      plausible structure cases.csv --mcmc 20000 --query cancer --given smoking=yes

    SOURCE is a table (CSV, TSV, JSON lines, Parquet), an SQL query, or - for standard input. Gaps are filled by
    structural EM. Ctrl-C stops the search and keeps the best network so far.
    """
    from plausible.coding import read_mixed
    from plausible.files.formats import write, written_format
    from plausible.learning.structure import learn_structure, structural_em

    keep_apart([source], output)
    if output is not None:
        written_format(output)
    read = read_mixed(source, drop=settings.pop("drop"), cut=settings.pop("cut"), gaps=("", *settings.pop("gap")))
    cases = read if read.numbers else read.cases
    if read.numbers:
        names = ", ".join(map(repr, read.numbers))
        click.echo(f"Note: {names}: numbers, taken as regressions on their parents; --cut 5 cuts them", err=True)
    plain = not cases.gaps and bootstrap is None and not (read.numbers and read.cases.variables)
    method = settings.pop("method") or ("ges" if plain else ANY)
    known = _knowledge(settings)
    options = {name: value for name, value in settings.items() if value is not None}
    if known is not None:
        options["knowledge"] = known
    if "order" in options:
        options["order"] = _order(options["order"])
    if sys.stderr.isatty() and method not in ("chow-liu", "tan"):
        options["progress"] = _line()
    if bootstrap is not None or mcmc is not None:
        _show_ensemble(cases, method, options, bootstrap, mcmc, least, query, given, rule, output, format_)
        return
    if query is not None or given:
        raise CallError("--query averages over structures; say which: --bootstrap N or --mcmc N")
    gaps = bool(cases.gaps) and not read.numbers
    if gaps:
        what = ", ".join(f"{name!r} {count:,}" for name, count in list(cases.gaps.items())[:5])
        click.echo(f"Note: gaps ({what}) are filled by structural EM", err=True)
        found = structural_em(read.cases, method, **options)
    else:
        found = learn_structure(cases, method, **options)
    if found.stopped != "done":
        click.echo(f"Note: stopped after {quantity(found.steps, 'step')}; this is the best network so far", err=True)
    network = _fitted(found.graph, cases, rule)
    if output is not None:
        write(network, output)
    free = {frozenset(edge) for edge in found.pattern.edges}
    rows = [
        {"parent": parent, "child": child, "either_way": frozenset((parent, child)) in free}
        for parent, child in found.graph.arcs
    ]
    _say_oddities(cases)
    show.rows(rows, format_, ["parent", "child", "either_way"])
    score = "" if found.score is None else f", score {found.score:,.2f}"
    where = "" if output is None else f"{output}: "
    click.echo(f"{where}{quantity(len(network), 'variable')}, {quantity(len(rows), 'arc')}{score}", err=True)


def _say_oddities(cases: Cases | Mixed) -> None:
    from plausible.learning.structure.oddities import oddities

    for oddity in oddities(cases):
        click.echo(f"Note: {oddity}", err=True)


def _fitted(graph: Graph, cases: Cases | Mixed, rule: str) -> Network:
    """A network with its tables, from the expected counts where there are gaps."""
    from plausible.learning.fit import fit
    from plausible.learning.hidden import fit_hidden

    if cases.gaps:
        return fit_hidden(graph, cases, rule).network
    return fit(graph, cases, rule)


def _show_ensemble(
    cases: Cases | Mixed,
    method: str,
    options: dict[str, Any],
    times: int | None,
    steps: int | None,
    least: float,
    query: str | None,
    given: tuple[str, ...],
    rule: str,
    output: str | None,
    format_: show.Format | None,
) -> None:
    """How sure each arc is, or what a variable is on the average; the network written has the arcs surer than 1/2."""
    from dataclasses import asdict

    from plausible.cli.evidence import parsed
    from plausible.files.formats import write
    from plausible.learning.structure import bootstrap, order_mcmc

    if times is not None and steps is not None:
        raise CallError("choose one of --bootstrap and --mcmc")
    if cases.gaps:
        name = next(iter(cases.gaps))
        raise CallError(
            f"how sure arcs are can't be told where there are gaps, as in column {name!r}; leave such columns out "
            "(--drop), or learn one structure by structural EM: without --bootstrap and --mcmc"
        )
    if times is not None:
        found = bootstrap(cases, method, times=times, **options)
    else:
        for name in options:
            if name not in ("score", "knowledge", "seed", "seconds", "progress"):
                raise CallError(f"--mcmc takes no {name}; leave it out, or use --bootstrap")
        found = order_mcmc(cases, steps=steps or 0, **options)
    if found.stopped != "done":
        click.echo("Note: stopped before the end; what was found so far counts", err=True)
    if query is None:
        rows = [asdict(one) for one in found.joined(least)]
        columns = ["parent", "child", "probability", "direction"]
    else:
        average = found.average(cases, rule)
        network = average.networks[0]
        evidence = parsed(network, given)
        states = network[query].child.states
        chances = average.posteriors(evidence)[query].tolist()
        rows = [{"state": state, "probability": p} for state, p in zip(states, chances, strict=True)]
        columns = ["state", "probability"]
    if output is not None:
        write(_fitted(found.consensus(), cases, rule), output)
    _say_oddities(cases)
    show.rows(rows, format_, columns)
    click.echo(f"different structures: {len(found.graphs):,}", err=True)


def _knowledge(given: dict[str, Any]) -> Knowledge | None:
    """What the user knows, taken out of the command's parameters."""
    from plausible.learning.structure import Knowledge

    known = Knowledge(
        required=tuple(map(_arc, given.pop("require"))),
        forbidden=tuple(map(_arc, given.pop("forbid"))),
        tiers=tuple(tuple(_names(tier)) for tier in given.pop("tier")),
        roots=given.pop("first"),
        leaves=given.pop("last"),
        max_parents=given.pop("max_parents"),
    )
    return None if known == Knowledge() else known


def _arc(text: str) -> Arc:
    parent, arrow, child = text.partition("->")
    if not arrow or not parent.strip() or not child.strip():
        raise CallError(f"{text!r} is no arc; write 'PARENT -> CHILD'")
    return parent.strip(), child.strip()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _order(text: str) -> Graph | list[str]:
    import os

    if not os.path.isfile(text):
        return _names(text)
    from plausible.files.formats import read

    return read(text).graph


def _line() -> Callable[[Progress], None]:
    """One line on the terminal that tells how far the search is, after its first second."""

    def progress(at: Progress) -> None:
        if at.seconds > 1:
            score = "" if at.score is None else f", score {at.score:,.2f}"
            click.echo(f"\r\x1b[Kstep {at.steps:,}{score}, {at.seconds:.0f} s", err=True, nl=False)

    return progress
