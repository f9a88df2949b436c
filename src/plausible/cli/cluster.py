"""The command that finds hidden classes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import zip_longest
from typing import IO, TYPE_CHECKING, Any

import click

from plausible.cli import show
from plausible.cli.options import (
    Place,
    Within,
    keep_apart,
    named,
    span,
    sql_option,
    threads_option,
    token_options,
    words_of,
)
from plausible.errors import CallError
from plausible.wording import quantity

if TYPE_CHECKING:
    from plausible.learning.em import Step
    from plausible.learning.mixtures.candidates import Candidate
    from plausible.learning.mixtures.gaussian import GaussianMixture
    from plausible.learning.mixtures.tables import TableMixture
    from plausible.sources import Source


@click.command(short_help="Find the hidden classes of documents or of a table's rows.")
@click.argument("source", required=False)
@sql_option
@click.option(
    "-k",
    "components",
    required=True,
    metavar="K|auto",
    help="How many clusters; auto tries 1 to 10, of documents to 40.",
)
@click.option(
    "--covariance",
    type=click.Choice(["known", "spherical", "diagonal", "tied", "full"]),
    help="Gaussian clusters of the columns of numbers. [full, if all columns are numbers]",
)
@click.option("--variance", type=float, metavar="X", help="The variance that --covariance known knows.")
@click.option(
    "--prior",
    type=float,
    metavar="M",
    help="Rows' worth of prior for each cluster. [1e-6; categories: 1; documents: 20]",
)
@click.option(
    "--by",
    type=click.Choice(["bic", "leave_one_out", "held_out"]),
    help="How -k auto compares. [bic; documents: leave_one_out]",
)
@click.option("--text", multiple=True, metavar="NAME", help="A column that holds text; several are joined.")
@click.option("--headers", metavar="WHICH", help="Of mail and articles: all, none, or NAME,NAME. [subject]")
@click.option(
    "--stop-words",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Leave out the words of this file.",
)
@token_options
@click.option("--column", "columns", multiple=True, metavar="NAME", help="A column that takes part. [all]")
@click.option("--leave-out", multiple=True, metavar="NAME", help="A column that takes no part, such as a known class.")
@click.option("--category", "categories", multiple=True, metavar="NAME", help="A column whose numbers are names.")
@click.option("--restarts", type=click.IntRange(1), metavar="N", help="Starts; the best is kept. [10; documents: 3]")
@click.option("--seed", type=int, default=0, metavar="N", help="Of the starts. [0]")
@click.option(
    "--seconds",
    type=Within(0, min_open=True),
    metavar="S",
    help="Stop after this long with the best so far, as Ctrl-C does.",
)
@click.option(
    "--words", "most", type=click.IntRange(1), default=10, metavar="N", help="Words or values to show of each. [10]"
)
@click.option(
    "--memberships", type=Place(), metavar="FILE", help="Write the probabilities of each row or document as CSV."
)
@click.option(
    "--plot", type=Place(), metavar="FILE", help="Draw Gaussian clusters of one or two columns (.png or .svg)."
)
@click.option("--where", metavar="SQL", help="Only the rows for which this holds.")
@click.option("--encoding", metavar="NAME", help="Of the file; recognised when not given.")
@threads_option
@show.format_option
def cluster(
    source: str | None,
    sql: str | None,
    components: str,
    prior: float | None,
    seconds: float | None,
    memberships: str | None,
    plot: str | None,
    where: str | None,
    encoding: str | None,
    headers: str | None,
    stop_words: str | None,
    most: int,
    ngrams: str | None,
    chars: str | None,
    stem: str | None,
    restarts: int | None,
    format_: show.Format | None,
    **given: Any,
) -> None:
    """Find the hidden classes of documents or of a table's rows.

    \b
      plausible cluster articles/ -k 20
      plausible cluster tickets.csv --text subject --text body -k auto
      plausible cluster points.csv -k 3
      plausible cluster geyser.csv -k auto --covariance full --format json
      plausible cluster votes.csv -k 2 --memberships clusters.csv

    Documents (a folder, mail, text files, or the --text of a table) are clustered by their words, whatever sub-folders
    they lie in. Columns of numbers make Gaussian clusters; a table with categories makes latent classes; --text with
    --column takes both. Gaps are taken as they are.
    """
    from plausible.files.atomic import replacing
    from plausible.learning.mixtures.clusters import cluster as learn
    from plausible.learning.mixtures.gaussian import GaussianMixture
    from plausible.sources import open_source
    from plausible.text import Tokens

    given_source = named(source, sql, "source: a file")
    keep_apart([source, stop_words], plot, memberships)
    opened = open_source(given_source, where=where, encoding=encoding, headers=headers)
    progress = _progress()
    limits = {"max_seconds": seconds, "prior": prior, "restarts": restarts, "progress": progress}
    given["tokens"] = Tokens(span(ngrams) or (1, 1), span(chars), stem)
    given["stop_words"] = words_of(stop_words) if stop_words else ()
    given |= {name: value for name, value in limits.items() if value is not None}
    if plot:
        _check_plot(plot, opened, given)
    with ExitStack() as files:  # a place that can't be written to is known before anything is learned
        drawn, written = (files.enter_context(replacing(path)) if path else None for path in (plot, memberships))
        choice = learn(opened, _number(components), **given)
        if progress:
            click.echo("\r\x1b[K", err=True, nl=False)
        mixture = choice.best
        record = _gaussian(mixture) if isinstance(mixture, GaussianMixture) else _classes(mixture, opened, most)
        if choice.candidates:
            record["candidates"] = [candidate._asdict() for candidate in choice.candidates]
        if plot and drawn:
            _plot(drawn, plot, mixture, opened)
        if written:
            _write(written, opened, mixture)
    if not mixture.converged:
        click.echo(f"Note: stopped after {quantity(mixture.iterations, 'iteration')} ({mixture.stopped})", err=True)
    show.one(record, format_, lambda: _candidates(choice.candidates) + _table(mixture, record))


def _number(components: str) -> Any:
    if components != "auto" and not components.isdecimal():
        raise CallError(f"-k {components!r}: give a whole number, or auto")
    return "auto" if components == "auto" else int(components)


def _gaussian(mixture: GaussianMixture) -> dict[str, Any]:
    return {
        "log_likelihood": mixture.log_likelihood,
        "weights": mixture.weights.tolist(),
        "means": mixture.means.tolist(),
        "covariances": mixture.covariances.tolist(),
        "iterations": mixture.iterations,
        "sizes": mixture.sizes.tolist(),
        "converged": mixture.converged,
        "covariance": mixture.covariance,
        "columns": list(mixture.names),
    }


def _classes(mixture: TableMixture, source: Source, most: int) -> dict[str, Any]:
    clusters: list[dict[str, Any]] = []
    names = _places(mixture, source) if mixture.words else {}
    for j in range(len(mixture.weights)):
        one: dict[str, Any] = {"characteristics": [c._asdict() for c in mixture.characteristics(j, most)]}
        rows = mixture.exemplars[j]
        clusters.append(one | {"exemplars": [names.get(i, i + 1) for i in rows.tolist()]})
    return {
        "log_likelihood": mixture.log_likelihood,
        "weights": mixture.weights.tolist(),
        "iterations": mixture.iterations,
        "sizes": mixture.sizes.tolist(),
        "converged": mixture.converged,
        "power": mixture.star.power,
        "clusters": clusters,
    }


def _places(mixture: TableMixture, source: Source) -> dict[int, str]:
    """Where the exemplars came from."""
    wanted = sorted({int(i) for rows in mixture.exemplars for i in rows})
    places: dict[int, str] = {}
    first = 0
    for table in source.tables(source.columns[:1]):
        places |= {i: table.place(i - first) for i in wanted if first <= i < first + len(table)}
        first += len(table)
    return places


def _table(mixture: GaussianMixture | TableMixture, record: dict[str, Any]) -> str:
    if hasattr(mixture, "means"):
        rows = _means(record)
    else:
        rows = _characteristics(record, of_words={v.kind for v in mixture.schema.variables} == {"text"})
    state = "converged" if mixture.converged else mixture.stopped
    summary = f"log-likelihood {mixture.log_likelihood:,.4f}, {quantity(mixture.iterations, 'iteration')}, {state}\n"
    if record.get("power", 1) < 1:
        summary += f"columns repeat one another: the evidence of a row is taken {record['power']:.2f} times\n"
    return show.table(rows, list(rows[0])) + summary


def _means(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"cluster": j, "weight": weight, "rows": size}
        | {f"mean {name}": f"{value:.4g}" for name, value in zip(record["columns"], means, strict=True)}
        for j, (weight, size, means) in enumerate(zip(record["weights"], record["sizes"], record["means"], strict=True))
    ]


def _characteristics(record: dict[str, Any], of_words: bool) -> list[dict[str, Any]]:
    """A line for each characteristic of a cluster, with an exemplar beside it; at least one."""
    rows = []
    for j, (weight, size, one) in enumerate(zip(record["weights"], record["sizes"], record["clusters"], strict=True)):
        first = {"cluster": j, "weight": weight, "documents" if of_words else "rows": size}
        lines: list[tuple[Any, Any]] = list(zip_longest(one["characteristics"], one["exemplars"], fillvalue="")) or [
            ("", "")
        ]
        for i, (said, place) in enumerate(lines):
            named = {"word": "value"} if of_words else {"column": "variable", "value": "value"}
            rows.append(
                (first if i == 0 else dict.fromkeys(first, ""))
                | {name: said and said[key] for name, key in named.items()}
                | {"share": said and _share(said), "exemplar": _end(place)}
            )
    return rows


def _share(said: dict[str, Any]) -> str:
    return "" if "±" in said["value"] else f"{said['here']:.0%} (of all {said['overall']:.0%})"


def _end(place: Any) -> str:
    text = str(place)
    return text if len(text) <= 40 else "…" + text[-39:]


def _candidates(candidates: tuple[Candidate, ...]) -> str:
    records = [candidate._asdict() for candidate in candidates]
    return show.table(records, list(records[0])) + "\n" if records else ""


def _check_plot(path: str, source: Source, given: dict[str, Any]) -> None:
    from plausible.learning.mixtures.picture import kind_of

    kind_of(path)
    without = {*given["leave_out"], *given["categories"]}
    among = given["columns"] or (source.numeric if given["covariance"] else source.columns)
    names = [name for name in among if name not in without]
    if source.documents or given["text"] or not (set(names) <= set(source.numeric) or set(names) - set(source.columns)):
        raise CallError("a plot shows Gaussian clusters of one or two columns of numbers; name them with --column")
    if len(names) > 2:
        raise CallError(f"a plot has one or two columns, not {len(names)}; name them with --column")


def _plot(file: IO[bytes], path: str, mixture: GaussianMixture | TableMixture, source: Source) -> None:
    from plausible.learning.mixtures.gaussian import GaussianMixture
    from plausible.learning.mixtures.picture import kind_of, plot
    from plausible.learning.mixtures.points import read_points

    if isinstance(mixture, GaussianMixture):
        plot(file, kind_of(path), mixture, read_points(source, mixture.names))


def _write(file: IO[bytes], source: Source, mixture: GaussianMixture | TableMixture) -> None:
    import csv
    import io

    from plausible.learning.mixtures.clusters import memberships

    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "cluster", *(f"p{j}" for j in range(len(mixture.weights)))])
    for place, shares in memberships(source, mixture):
        writer.writerow([place, shares.index(max(shares)), *shares])
    text.flush()
    text.detach()


def _progress() -> Callable[[Step], None] | None:
    """Iteration, objective and gain on standard error, if that is a terminal; after a second, and then ten a second."""
    import sys

    if not sys.stderr.isatty():
        return None
    shown = time.monotonic() + 1

    def progress(step: Step) -> None:
        nonlocal shown
        if time.monotonic() > shown:
            shown = time.monotonic() + 0.1
            line = (
                f"start {step.run}, iteration {step.iteration}: objective {step.objective:,.4f}, gain {step.gain:.2g}"
            )
            click.echo(f"\r\x1b[K{line}", err=True, nl=False)

    return progress
