"""The command that learns the arcs of a network."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from plausible.cli import show
from plausible.cli.options import add
from plausible.errors import CallError

if TYPE_CHECKING:
    from plausible.graph import Arc, Graph
    from plausible.learning.structure import Knowledge, Progress

METHODS = ("ges", "k2", "hill-climb", "tabu", "pc", "exact", "chow-liu", "tan")

method_options = add(
    click.option("--method", type=click.Choice(METHODS), default="ges", show_default=True),
    click.option("--order", metavar="NAMES|NET", help="k2: causes first, as NAME,NAME or as in a network file."),
    click.option("--prune", is_flag=True, default=None, help="k2: take useless parents out again."),
    click.option("--orders", type=int, metavar="N", help="k2 without --order: try N random orders. [20]"),
    click.option("--score", metavar="NAME", help="k2, bdeu, bdeu-sparse, bic or aic; bdeu:10 sets its sample size."),
    click.option(
        "--restarts",
        type=int,
        metavar="N",
        help="hill-climb, tabu: begin again until N times in a row are in vain. [8]",
    ),
    click.option("--patience", type=int, metavar="N", help="tabu: steps without a new best graph. [10]"),
    click.option("--test", type=click.Choice(["g2", "chi2"]), help="pc: the test of independence. [g2]"),
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

table_options = add(
    click.option("--drop", multiple=True, metavar="NAME", help="Leave a column out."),
    click.option("--cut", type=int, metavar="N", help="Cut columns of many numbers into N intervals."),
    click.option("--gap", multiple=True, metavar="TEXT", help="Cells with this text are gaps; NA or ? for example."),
)


@click.command(short_help="Learn the arcs of a network from a table.")
@click.argument("source")
@method_options
@knowledge_options
@table_options
@click.option("--rule", default="bdeu", show_default=True, help="From counts to tables: bdeu:10, laplace, m-estimate…")
@click.option("--seconds", type=float, metavar="S", help="Stop after S seconds, with the best network so far.")
@click.option("--seed", type=int, metavar="N", help="Of random orders and restarts. [0]")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="The network file to write.")
@show.format_option
def structure(source: str, output: str | None, format_: show.Format | None, rule: str, **given: Any) -> None:
    """Learn the arcs of a network, then its tables.

    \b
      plausible structure cases.csv -o net.bif
      plausible structure cases.csv --method k2 --order age,smoking,cancer --prune -o net.bif
      plausible structure cases.csv --tier age,sex --tier smoking --tier cancer --method hill-climb

    SOURCE is a table (CSV, TSV, JSON lines, Parquet), an SQL query, or - for standard input. Ctrl-C stops the search
    and keeps the best network so far.
    """
    from plausible.coding import read_cases
    from plausible.files import write, written_format
    from plausible.learning.fit import fit
    from plausible.learning.structure import learn_structure

    if output is not None:
        written_format(output)
    cases = read_cases(source, drop=given.pop("drop"), cut=given.pop("cut"), gaps=("", *given.pop("gap")))
    known = _knowledge(given)
    options = {name: value for name, value in given.items() if value is not None}
    if known is not None:
        options["knowledge"] = known
    if "order" in options:
        options["order"] = _order(options["order"])
    if sys.stderr.isatty() and options["method"] not in ("chow-liu", "tan"):
        options["progress"] = _line()
    found = learn_structure(cases, **options)
    if found.stopped != "done":
        click.echo(f"Note: stopped after {found.steps} steps; this is the best network so far", err=True)
    network = fit(found.graph, cases, rule)
    if output is not None:
        write(network, output)
    free = {frozenset(edge) for edge in found.pattern.edges}
    rows = [
        {"parent": parent, "child": child, "either_way": frozenset((parent, child)) in free}
        for parent, child in found.graph.arcs
    ]
    show.rows(rows, format_, ["parent", "child", "either_way"])
    score = "" if found.score is None else f", score {found.score:,.2f}"
    where = "" if output is None else f"{output}: "
    click.echo(f"{where}{len(network):,} variables, {len(rows):,} arcs{score}", err=True)


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
    from plausible.files import read

    return read(text).graph


def _line() -> Callable[[Progress], None]:
    """One line on the terminal that tells how far the search is, after its first second."""

    def progress(at: Progress) -> None:
        if at.seconds > 1:
            score = "" if at.score is None else f", score {at.score:,.2f}"
            click.echo(f"\r\x1b[Kstep {at.steps:,}{score}, {at.seconds:.0f} s", err=True, nl=False)

    return progress
