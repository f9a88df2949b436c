"""Commands that look into a model: why it answers as it does, and what it has learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from plausible.cli import show
from plausible.cli.asking import batches_of, encoding_option, where_option
from plausible.cli.evidence import asking_options, complete_state, complete_subject
from plausible.errors import CallError
from plausible.wording import quantity

if TYPE_CHECKING:
    from plausible.model import Model


@click.command(short_help="Why a document is of its class, or a network believes something.")
@click.argument("model_file", metavar="MODEL", type=click.Path())
@click.argument("source", metavar="SOURCE|VARIABLE", shell_complete=complete_subject)
@asking_options
@click.option(
    "--for",
    "label",
    metavar="CLASS",
    shell_complete=complete_state,
    help="The class or state to explain. [the most probable]",
)
@click.option(
    "--against",
    metavar="CLASS",
    shell_complete=complete_state,
    help="The one to hold it against. [the next most probable]",
)
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="How many words or findings.")
@click.option("--row", type=click.IntRange(1), metavar="N", help="The row of a table. [the only one]")
@click.option("--bits", is_flag=True, help="In bits, not in nats.")
@where_option
@encoding_option
@show.format_option
def explain(
    model_file: str,
    source: str,
    given: tuple[str, ...],
    do: tuple[str, ...],
    label: str | None,
    against: str | None,
    top: int,
    row: int | None,
    bits: bool,
    where: str | None,
    encoding: str | None,
    format_: show.Format | None,
) -> None:
    """The words and values for and against a class, with their counts; they sum to the score.

    \b
      plausible explain mail.plausible letter.txt
      plausible explain mail.plausible letter.txt --for spam
      plausible explain loans.plausible loans.csv --row 17 --bits
      plausible explain alarm.bif HYPOVOLEMIA --given HRBP=HIGH --given CO=LOW

    Of a network, the findings for and against a state of VARIABLE, and how probable that is without each.
    """
    from plausible.files.formats import is_network

    if is_network(model_file):
        from plausible.cli.insight import network_reasons

        if row is not None or where is not None or encoding is not None:
            raise CallError("--row, --where and --encoding are for documents and tables; this is a network")
        network_reasons(model_file, source, given, do, label, against, top, bits, format_)
        return
    if given or do:
        raise CallError("--given and --do are for networks; this is a model of documents")
    from plausible.files.model import load_model
    from plausible.reasons import explain as why

    model = load_model(model_file)
    result = why(model, _single(model, source, where, encoding, row), label, against)
    result = result.in_bits() if bits else result
    record = {**asdict(result), "columns": result.by_column()}
    show.one(record, format_, lambda: _explanation_table(record, top, "bits" if bits else "nats"))


def _single(model: Model, source: str, where: str | None, encoding: str | None, row: int | None) -> Mapping[str, Any]:
    """The cells of the one document or row that is meant."""
    found, before = None, 0
    for batch in batches_of(model, (source,), where, encoding):
        at = 0 if row is None else row - 1 - before
        if found is None and 0 <= at < len(batch):
            found = batch.take([at]).cells
        before += len(batch)
    if found is None or (row is None and before != 1):
        one = f"there is no row {row}" if row is not None else "explain takes one; say which with --row N"
        raise CallError(f"{source} holds {quantity(before, model.unit)}; {one}")
    return found


def _explanation_table(record: dict[str, Any], top: int, unit: str) -> str:
    label, against = record["label"], record["against"]
    shown = record["evidence"][:top]
    rest = record["evidence"][top:]
    in_columns = len(record["columns"]) > 1 or any(column != "text" for column in record["columns"])
    entries = [
        {
            "column": word["column"],
            "word" if not in_columns else "value": word["term"],
            "times": word["times"],
            "for": word["weight"],
            "seen": word["seen"],
            "against": word["seen_against"],
        }
        for word in shown
    ]
    most = max((abs(word["weight"]) for word in shown), default=0.0)
    for entry in entries:
        entry[""] = ("+" if entry["for"] > 0 else "−") + show.bar(entry["for"], most)
    names = ["column", "value"] if in_columns else ["word", "times"]
    out = f"{label} rather than {against}: {record['score']:+.3f} {unit} (probability {record['probability']:.3f})\n\n"
    out += show.table(entries, [*names, "for", "seen", "against", ""], {"seen": label, "against": against})
    out += f"\nprior {record['prior']:+.3f}"
    if record["absent"]:
        out += f", words it lacks {record['absent']:+.3f}"
    if rest:
        out += f", {len(rest):,} more {sum(word['weight'] for word in rest):+.3f}"
    if record["ignored"]:
        out += f"; words or values not known to the model: {len(record['ignored']):,}"
    return out + "\n"


@click.command(short_help="The words a class is known by.")
@click.argument("model_file", metavar="MODEL", type=click.Path())
@click.option("--class", "label", metavar="NAME", help="One class. [all]")
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="How many words of each class.")
@show.format_option
def words(model_file: str, label: str | None, top: int, format_: show.Format | None) -> None:
    """What the model has learned: the words that set each class apart.

    \b
      plausible words mail.plausible --class spam --top 20

    `ratio` is how much more probable the word is in the class than in the others.
    """
    from plausible.files.model import load_model
    from plausible.keywords import words as words_of

    model = load_model(model_file)
    columns = ["class", "word", "ratio", "probability", "seen", "seen_elsewhere"]
    show.rows(
        (
            {
                "class": name,
                "word": word.term,
                "ratio": word.ratio,
                "probability": word.probability,
                "seen": word.seen,
                "seen_elsewhere": word.seen_elsewhere,
            }
            for name in ([label] if label is not None else model.classes)
            for word in words_of(model, name, top)
        ),
        format_,
        columns,
    )


@click.command(short_help="What a model or network is.")
@click.argument("model_file", metavar="MODEL", type=click.Path())
@asking_options
@show.format_option
def info(model_file: str, given: tuple[str, ...], do: tuple[str, ...], format_: show.Format | None) -> None:
    """What a model is: its classes, its vocabulary, its rules. What a network is, and what asking it costs.

    \b
      plausible info mail.plausible
      plausible info alarm.bif --given HRBP=HIGH
    """
    import os

    from plausible.about import described, settings
    from plausible.files.formats import is_network

    if is_network(model_file):
        from plausible.cli.insight import network_info

        network_info(model_file, given, do, format_)
        return
    if given or do:
        raise CallError("--given and --do are for networks; this is a model of documents")
    from plausible.files.model import load_model

    model = load_model(model_file)
    classes = {name: model.counts.of(name) for name in model.classes}
    columns = described(model) if model.variables else {}
    record = {
        "model": model_file,
        "bytes": os.path.getsize(model_file),
        "documents": model.documents,
        **({"vocabulary": model.vocabulary if model.documents else 0} if model.has_text else {}),
        **settings(model),
        **({"unlabelled": {"documents": known.documents, "weight": known.weight}} if (known := model.expected) else {}),
        **({"columns": columns} if columns else {}),
        "classes": classes,
    }

    def as_table() -> str:
        facts_of = {key: value for key, value in record.items() if key not in ("classes", "columns")}
        facts_of |= {f"column {name}": kind for name, kind in columns.items()}
        facts = [
            {"fact": key, "value": show.display(value)}
            for key, value in record.items()
            if key not in ("classes", "columns")
        ]
        sizes = [{"class": name, "documents": count} for name, count in list(classes.items())[:50]]
        more = f"… and {quantity(len(classes) - 50, 'more class')}\n" if len(classes) > 50 else ""
        return show.table(facts, ["fact", "value"]) + "\n" + show.table(sizes, ["class", "documents"]) + more

    show.one(record, format_, as_table)
