"""Commands that ask a model for the classes of documents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from plausible.cli import show
from plausible.cli.options import threads_option
from plausible.errors import CallError

if TYPE_CHECKING:
    from plausible.cells import Batch
    from plausible.decisions import Decision
    from plausible.model import Model
    from plausible.ranks import Ranked


def batches_of(
    model: Model, sources: tuple[str, ...], where: str | None, encoding: str | None, *, strict: bool = False
) -> Iterator[Batch]:
    """What the sources hold, read as the model was learned."""
    from plausible.columns import learned_columns
    from plausible.encode import batches
    from plausible.sources import open_source

    source = open_source(
        sources[0] if len(sources) == 1 else list(sources),
        headers=model.reading.headers,
        where=where,
        encoding=encoding,
    )
    columns = learned_columns(source, model.reading.columns)
    if not model.variables:
        yield from batches(source, columns)
    else:
        from plausible.learning.ahead import ahead
        from plausible.learning.unseen import reported

        rows = ahead(batches(source, columns, keep=not source.documents))
        yield from reported(model, rows, strict=strict)
    if source.notes:
        from plausible.learning.classifier import say_notes

        say_notes(source.notes)


where_option = click.option("--where", metavar="SQL", help="Only the rows of a table for which this holds.")
encoding_option = click.option("--encoding", metavar="NAME", help="Of the files; recognised when not given.")


@click.command(short_help="The class of each document.")
@click.argument("model_file", metavar="MODEL", type=click.Path())
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--probabilities", is_flag=True, help="Print the probability of every class.")
@click.option(
    "--unsure-below", type=float, default=0.0, metavar="P", help="Give no class if its probability is below P."
)
@click.option("--cost", "costs", multiple=True, metavar="TRUE:ANSWER=X", help="What a mistake costs; others cost 1.")
@where_option
@encoding_option
@threads_option
@click.option("--strict", is_flag=True, help="Stop at a value that was never learned.")
@show.format_option
def classify(
    model_file: str,
    sources: tuple[str, ...],
    probabilities: bool,
    unsure_below: float,
    costs: tuple[str, ...],
    where: str | None,
    encoding: str | None,
    threads: int | None,
    strict: bool,
    format_: show.Format | None,
) -> None:
    """The class of each document, after its name, or of each row of a model's columns, after its own.

    \b
      plausible classify mail.plausible new/*.txt
      plausible classify tickets.plausible tickets.csv --format csv
      cat letter.txt | plausible classify mail.plausible -
    """
    from plausible.decisions import Decision, cost
    from plausible.files.model import load_model

    model = load_model(model_file)
    decision = Decision(dict(map(cost, costs)), unsure_below)
    read = batches_of(model, sources, where, encoding, strict=strict)
    parts = _answers(model, read, decision, probabilities, threads)
    if model.variables:
        from plausible.learning.ahead import ahead

        parts = ahead(parts)  # scored while what was before is printed
    first = next(parts, None)
    columns = list(first) if first else ["name", "label", "probability", "note"]
    show.columns([] if first is None else chain([first], parts), format_, columns)


def _answers(
    model: Model, read: Iterator[Batch], decision: Decision, probabilities: bool, threads: int | None
) -> Iterator[dict[str, Any]]:
    """The answers by column; for the rows of a table, after the table's own columns."""
    from plausible.answers import classify as answers_of

    for batch in read:
        answers = answers_of(model, batch.cells, threads, decision=decision)
        own: dict[str, Any] = dict(batch.own or {})
        given = answers.columns()
        if probabilities:
            note = given.pop("note")
            given |= {"probabilities": [answer.probabilities for answer in answers], "note": note}
        start = own or {"name": [batch.place(i) for i in range(len(batch))]}
        yield start | {f"predicted_{name}" if name in own else name: column for name, column in given.items()}


@click.command(short_help="Documents by how much speaks for a class.")
@click.argument("model_file", metavar="MODEL", type=click.Path())
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--for", "label", required=True, metavar="CLASS", help="The class to rank for.")
@click.option("--top", metavar="N|X%", help="Only the first N, or X percent.")
@click.option("--unique", is_flag=True, help="Leave out documents that nearly repeat a better one.")
@where_option
@encoding_option
@threads_option
@show.format_option
def rank(
    model_file: str,
    sources: tuple[str, ...],
    label: str,
    top: str | None,
    unique: bool,
    where: str | None,
    encoding: str | None,
    threads: int | None,
    format_: show.Format | None,
) -> None:
    """Documents by how much speaks for a class, most first.

    \b
      plausible rank mail.plausible inbox.mbox --for like --top 10%

    The score is the log-odds of the class in nats, for a length like that of the documents learned. Documents without
    a known word come last.
    """
    from plausible.cells import values_of
    from plausible.files.model import load_model
    from plausible.ranks import how_many
    from plausible.ranks import rank as ranked

    model = load_model(model_file)
    wanted = _share(top)
    entries: list[tuple[bool, float, int, Ranked, str, str]] = []
    for batch in batches_of(model, sources, where, encoding):
        columns = [values_of(column) for column in (batch.own or {}).values()]
        for one in ranked(model, batch.cells, label, threads=threads):
            own = (str(column[one.index]) for column in columns)
            text = batch.texts[one.index] or ", ".join(own)
            entries.append((one.score is None, -(one.score or 0.0), len(entries), one, batch.place(one.index), text))
    entries.sort(key=lambda entry: entry[:3])
    if unique:
        from plausible.duplicates import first_of_each

        firsts = first_of_each([entry[-1] for entry in entries])
        entries = [entry for i, entry in enumerate(entries) if firsts[i] == i]
    show.rows(
        (
            {
                "rank": i,
                "name": name,
                "score": one.score,
                "probability": one.probability,
                "start": " ".join(text[:200].split())[:80],
            }
            for i, (_, _, _, one, name, text) in enumerate(entries[: how_many(wanted, len(entries))], 1)
        ),
        format_,
        ["rank", "name", "score", "probability", "start"],
    )


def _share(top: str | None) -> float | int | None:
    if top is None:
        return None
    try:
        if top.endswith("%"):
            percent = float(top[:-1])
            if 0 < percent <= 100:
                return percent / 100 if percent < 100 else None
        elif int(top) > 0:
            return int(top)
    except ValueError:
        pass
    raise CallError(f"--top {top}: write a number of documents, or a share such as 10%")
