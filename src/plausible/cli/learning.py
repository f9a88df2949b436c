"""Commands that learn and change models."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

import click

from plausible.cli import show
from plausible.cli.options import (
    Place,
    Within,
    add,
    keep_apart,
    learning_options,
    model_options,
    opened,
    progress_bar,
    reading_options,
    rule_changes,
    rule_options,
    sql_option,
    threads_option,
    token_options,
)
from plausible.cli.parameters import change_network, learn_network, merge_networks, network_options, taken
from plausible.errors import CallError
from plausible.wording import quantity

if TYPE_CHECKING:
    from plausible.model import Model

learning = add(reading_options, token_options, model_options, rule_options, threads_option)
output_option = click.option(
    "-o", "--output", required=True, type=Place(), metavar="FILE", help="The model file to write."
)


@click.command(short_help="Learn to classify documents, or the tables of a network.")
@click.argument("source", required=False)
@sql_option
@learning
@network_options
@click.option("--unlabelled", multiple=True, metavar="SOURCE", help="Documents without a class to learn from, too.")
@click.option(
    "--weight",
    default="auto",
    metavar="auto|X",
    help="What one of them counts, 0 to 1; auto: so that they help. [auto]",
)
@output_option
@show.format_option
def learn(
    source: str | None,
    sql: str | None,
    unlabelled: tuple[str, ...],
    weight: str,
    output: str,
    format_: show.Format | None,
    **given: Any,
) -> None:
    """Learn to classify documents, or, with --network, the tables of a belief network.

    \b
      plausible learn mail/ -o mail.plausible
      plausible learn tickets.csv --target queue --text subject --text body -o tickets.plausible
      plausible learn adult.csv --target income --ignore fnlwgt --as education_num=categorical -o adult.plausible
      plausible learn --sql "select text, topic from 'x.parquet'" --target topic -o x.plausible
      plausible learn cases.csv --network net.bif -o net2.bif
      plausible learn cases.csv --network net.bif --hidden cause=3 --gap NA --intervals .95 -o net.plausible
      plausible learn mail/ --unlabelled inbox.mbox -o mail.plausible

    SOURCE is a folder with one sub-folder a class, mail (mbox, Maildir), a table (CSV, TSV, JSON lines, Parquet),
    any of them gzipped, or - for standard input. Without --text every column of a table takes part: as a category, a
    number or a text, by the look of it. A network learns from counts, or by EM where cells are empty or variables
    hidden.
    """
    keep_apart([source, *unlabelled, given["stop_words"]], output)
    network, own = taken(given)
    if network is not None:
        learn_network(source, sql, network, output, format_, own)
        return
    from plausible.files.model import save
    from plausible.learning.classifier import learn_from

    given["unlabelled"], given["weight"] = unlabelled or None, weight
    options = learning_options(given)
    if unlabelled:
        more = unlabelled[0] if len(unlabelled) == 1 else unlabelled
        options = replace(options, unlabelled=replace(options, where=None).open(more))
    model = learn_from(opened(source, sql, options), options, progress_bar("learning"))
    save(model, output)
    if model.choice:
        click.echo(f"Note: {model.choice}", err=True)
    _show_model(output, model, format_)


def _show_model(output: str, model: Model, format_: show.Format | None) -> None:
    classes, words = len(model.classes), model.vocabulary if model.documents else 0
    record = {"model": output, "documents": model.documents, "classes": classes, "vocabulary": words}
    said = [
        quantity(model.documents, model.unit),
        quantity(classes, "class"),
        *([quantity(words, "word")] if model.has_text else []),
        *([quantity(len(model.variables), "column")] if model.variables else []),
    ]
    show.one(record, format_, lambda: f"{output}: {', '.join(said)}\n")


@click.command(short_help="Learn from a part, test on the rest.")
@click.argument("source", required=False)
@sql_option
@click.option("--test", metavar="SOURCE", help="Test on these documents, or on what this SQL gives.")
@click.option("--test-share", type=float, metavar="X", help="Test on this share, chosen at random. [1/3]")
@click.option("--folds", type=int, metavar="K", help="Cross-validate in K parts.")
@click.option("--leave-one-out", is_flag=True, help="Test each document with what all others teach; exact.")
@click.option("--for", "label", metavar="CLASS", help="Also: the share of this class in the top tenth.")
@click.option(
    "--against", is_flag=True, help="Also: the majority class, Rocchio, and a linear SVM if scikit-learn is there."
)
@click.option("--plot", type=Place(), metavar="FILE", help="Draw the reliability diagram (.png or .svg).")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random choice.")
@click.option("--fail-under", type=Within(0, 1), metavar="X", help="Exit with 3 if the accuracy is below X.")
@learning
@show.format_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    source: str | None,
    sql: str | None,
    test: str | None,
    test_share: float | None,
    folds: int | None,
    leave_one_out: bool,
    label: str | None,
    against: bool,
    plot: str | None,
    seed: int,
    fail_under: float | None,
    format_: show.Format | None,
    **given: Any,
) -> None:
    """Learn from a part of the documents and test on the rest.

    \b
      plausible evaluate mail/ --test-share 0.333 --seed 0
      plausible evaluate train.csv --test test.csv --target topic
      plausible evaluate mail/ --leave-one-out --events bernoulli
    """
    from plausible.evaluation import evaluate_from

    keep_apart([source, test], plot)
    options = learning_options(given)
    result = evaluate_from(
        opened(source, sql, options),
        options,
        test=options.open(test) if test is not None else None,
        test_share=test_share,
        folds=folds,
        leave_one_out=leave_one_out,
        label=label,
        against=against,
        seed=seed,
        progress=progress_bar("evaluating"),
    )
    record = asdict(result)
    if plot is not None:
        from plausible.reliability import plot as draw

        draw(plot, result.reliability, result.before.reliability if result.before else ())
    show.one(record, format_, lambda: _evaluation_table(record))
    if fail_under is not None and result.accuracy < fail_under:
        click.echo(f"accuracy {result.accuracy:.4f} is below {fail_under:g}", err=True)
        ctx.exit(3)


def _evaluation_table(record: dict[str, Any]) -> str:
    before = record["before"] or {}
    figures: list[dict[str, Any]] = [
        {
            "figure": name,
            "value": show.display(record[name]),
            "before calibration": show.display(before[name]) if name in before else "",
        }
        for name in (
            "accuracy",
            "macro_f1",
            "log_loss",
            "brier",
            "calibration_error",
            "n_train",
            "n_test",
            "vocabulary",
        )
    ]
    figures += [
        {"figure": f"top tenth: {name}", "value": show.display(value), "before calibration": ""}
        for name, value in record["top_tenth"].items()
    ]
    out = [show.table(figures, ["figure", "value", *(["before calibration"] if before else [])])]

    rows = [{"class": name, **record["per_class"][name]} for name in record["classes"]]
    more = f"… and {quantity(len(rows) - 50, 'more class')} (--format json has all)\n" if len(rows) > 50 else ""
    out.append(show.table(rows[:50], ["class", "tested", "precision", "recall", "f1"]) + more)

    errors = sorted(
        (
            (times, truth, answer)
            for truth, row in record["confusion"].items()
            for answer, times in row.items()
            if truth != answer
        ),
        key=lambda error: (-error[0], error[1:]),
    )
    if errors:
        confused = [{"class": truth, "answered": answer, "documents": times} for times, truth, answer in errors[:10]]
        out.append("most confused\n" + show.table(confused, ["class", "answered", "documents"]))

    bins = [
        {
            "stated": f"{one['low']:.2f}–{one['high']:.2f}",
            "documents": one["documents"],
            "confidence": one["confidence"],
            "accuracy": one["accuracy"],
            "": show.scale(one["accuracy"], one["confidence"]),
        }
        for one in record["reliability"]
    ]
    out.append(
        "are the probabilities right? (█ accuracy, │ what was stated)\n"
        + show.table(bins, ["stated", "documents", "confidence", "accuracy", ""])
    )
    sure = [
        {"if unsure below": one["confidence"], "answered": one["coverage"], "accuracy": one["accuracy"]}
        for one in record["coverage"]
    ]
    out.append(show.table(sure, ["if unsure below", "answered", "accuracy"]))
    if record["choice"]:
        out.append(record["choice"] + "\n")
    if record["against"]:
        beside = [{"method": "plausible", "accuracy": record["accuracy"], "macro_f1": record["macro_f1"]}]
        beside += [{"method": name, **values} for name, values in record["against"].items()]
        out.append(show.table(beside, ["method", "accuracy", "macro_f1"]))
    return "\n".join(out)


@click.command(short_help="Change the rules of a model without its data.")
@click.argument("model_file", metavar="MODEL")
@rule_options
@output_option
@show.format_option
def estimate(model_file: str, output: str, format_: show.Format | None, **given: Any) -> None:
    """Change the smoothing, the vocabulary or the event model of a model, without its data.

    \b
      plausible estimate mail.plausible --smoothing m=100 --drop-most-frequent 100 -o new.plausible
    """
    from plausible.files.model import load_model, save
    from plausible.priors import parsed

    changes = rule_changes(given)
    if changes.get("smoothing") == "auto":
        raise CallError("the smoothing can't be chosen without documents; learn with --smoothing auto")
    model = load_model(model_file).estimate(**parsed(changes))
    save(model, output)
    _show_model(output, model, format_)


@click.command(short_help="Merge models that were learned apart.")
@click.argument("models", nargs=-1, required=True)
@output_option
@show.format_option
def merge(models: tuple[str, ...], output: str, format_: show.Format | None) -> None:
    """Merge models that were learned apart: exactly what learning everything at once gives.

    \b
      plausible merge monday.plausible tuesday.plausible -o both.plausible

    The rules (smoothing, vocabulary) are those of the first.
    """
    from plausible.files.formats import is_network
    from plausible.files.model import load_model, save

    if is_network(models[0]):
        merge_networks(models, output, format_)
        return
    whole = load_model(models[0])
    for name in models[1:]:
        whole.merge(load_model(name))
    save(whole, output)
    _show_model(output, whole, format_)


changing = add(
    click.argument("model_file", metavar="MODEL"),
    click.argument("sources", nargs=-1, required=True, metavar="SOURCE..."),
    click.option("--class", "label", metavar="NAME", help="Their class; else their own labels."),
    click.option("-o", "--output", type=Place(), metavar="FILE", help="The file to write. [the model itself]"),
    threads_option,
    show.format_option,
)


@click.command(short_help="Learn more documents or rows.")
@changing
def update(**given: Any) -> None:
    """Learn more: the counts are exactly those of learning everything at once.

    \b
      plausible update mail.plausible new.txt --class spam
      plausible update net.plausible more.csv

    MODEL is a model of classes, whose calibration stays as it is, or a network with its counts.
    """
    _change("update", **given)


@click.command(short_help="Unlearn documents or rows exactly.")
@changing
def forget(**given: Any) -> None:
    """Unlearn documents or rows: exactly as if they had never been learned.

    \b
      plausible forget mail.plausible wrong.txt --class spam
      plausible forget net.plausible wrong.csv

    Those that can't have been learned are refused, and the model stays as it is.
    """
    _change("forget", **given)


def _change(
    verb: Literal["update", "forget"],
    model_file: str,
    sources: tuple[str, ...],
    label: str | None,
    output: str | None,
    threads: int | None,
    format_: show.Format | None,
) -> None:
    """Add documents or rows to a model, or take them away, save it and say what was done."""
    from plausible.files.formats import is_network
    from plausible.files.model import load_model, save

    path = output or model_file
    keep_apart(sources, path)
    if is_network(model_file):
        _refuse_class(label)
        change_network(model_file, sources, output, verb, format_)
        return
    model = load_model(model_file)
    if verb == "update":
        apart = _learned_apart(model, sources, label, threads)
        model.merge(apart)
        done, rest = "learned", "in all"
    else:
        if label is not None:
            model.class_index(label)
        apart = _learned_apart(model, sources, label, threads)
        model.subtract(apart)
        done, rest = "forgotten", "left"
    save(model, path)
    line = f"{path}: {apart.documents:,} {done}, {quantity(model.documents, model.unit)} {rest}\n"
    show.one({"model": path, done: apart.documents, "documents": model.documents}, format_, lambda: line)


def _refuse_class(label: str | None) -> None:
    if label is not None:
        raise CallError("--class is for models of classes; this is a network, whose rows name everything themselves")


def _learned_apart(model: Model, sources: tuple[str, ...], label: str | None, threads: int | None) -> Model:
    """A model of the same kind that has learned these sources alone."""
    from plausible.columns import learned_columns
    from plausible.encode import batches, unlabelled
    from plausible.sources import open_source

    source = open_source(sources[0] if len(sources) == 1 else list(sources), headers=model.reading.headers)
    columns = learned_columns(source, model.reading.columns)
    apart = model.untrained()
    for batch in batches(source, columns):
        lacking = unlabelled(batch) if label is None else []
        if lacking:
            raise CallError(f"{batch.place(lacking[0])}: which class is it of? say --class NAME")
        apart.update(batch.cells, batch.labels if label is None else [label] * len(batch), threads, batch.weights)
    return apart
