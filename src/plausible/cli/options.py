"""Options that several commands share, and what they become."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from plausible.errors import CallError
from plausible.files.atomic import check_place, is_special

if TYPE_CHECKING:
    from plausible.learning.classifier import Options, Progress
    from plausible.sources import Source

F = TypeVar("F", bound=Callable[..., Any])


def span(text: str | None) -> tuple[int, int] | None:
    """ "A-B" or "A" as a pair of numbers."""
    if text is None:
        return None
    low, dash, high = text.partition("-")
    if not (low.isdecimal() and (high.isdecimal() or not dash)):
        raise CallError(f"{text!r} is no range; write A-B, such as 1-2")
    return int(low), int(high or low)


def pairs(texts: tuple[str, ...], form: str) -> dict[str, str]:
    """NAME=VALUE texts as a dictionary."""
    out = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise CallError(f"{text!r}: write {form}")
        out[name] = value
    return out


class Within(click.FloatRange):
    """A number in a range, which NaN never is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


class Place(click.Path):
    """A file to write, refused before the work that it is to hold."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if ctx is None or not ctx.resilient_parsing:
            check_place(os.fsdecode(found))
        return found


def keep_apart(read: Iterable[object], *written: str | None) -> None:
    """CallError where a file to write is one that is read, or is to be written twice."""
    taken = {os.path.realpath(path) for path in read if isinstance(path, str)}
    for path in written:
        if path is None or is_special(path):
            continue
        place = os.path.realpath(path)
        if place in taken:
            raise CallError(f"{path} would be overwritten, though it is read, or is written already; name another file")
        taken.add(place)


def add(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


reading_options = add(
    click.option("--target", metavar="NAME", help="The column that holds the class."),
    click.option("--text", multiple=True, metavar="NAME", help="A column that holds text; several are joined."),
    click.option(
        "--as",
        "kinds",
        multiple=True,
        metavar="NAME=KIND",
        help="What a column is: categorical, continuous, text, bins, bins:N, mdl, or its states low<middle<high.",
    ),
    click.option("--ignore", multiple=True, metavar="NAME", help="A column to leave out."),
    click.option("--weights", metavar="NAME", help="The column that says how much each row counts."),
    click.option("--where", metavar="SQL", help="Only the rows of a table for which this holds: \"split = 'train'\"."),
    click.option("--encoding", metavar="NAME", help="Of the files; recognised when not given."),
    click.option("--headers", metavar="WHICH", help="Of mail and articles: all, none, or NAME,NAME. [subject]"),
    click.option("--strict", is_flag=True, help="Stop at what would be skipped or noted."),
)

token_options = add(
    click.option("--ngrams", metavar="A-B", help="Runs of A to B words. [1-1]"),
    click.option("--chars", metavar="A-B", help="Runs of A to B characters instead of words."),
    click.option("--stem", metavar="LANGUAGE", help="Stem words (extra: plausible[stem])."),
)

MODEL_HELP = (
    "weighted (the default): words damped and weighted. plain: multinomial, Laplace. book: the same, not calibrated "
    "(Mitchell 1997, table 6.2). auto: chosen by leave-one-out. tan, aode: columns lean on one another, in a tree or "
    "each in turn on one."
)

rule_options = add(
    click.option(
        "--events",
        type=click.Choice(["multinomial", "bernoulli", "weighted", "odds", "rates"]),
        help="What counts: occurrences, documents, damped and weighted words, or these per document.",
    ),
    click.option(
        "--smoothing",
        metavar="RULE",
        help="auto, laplace, mle, m=X, a=X; with ,share the prior of a word is its share.",
    ),
    click.option("--smoothing-of", multiple=True, metavar="NAME=RULE", help="The smoothing of a categorical column."),
    click.option(
        "--numbers",
        type=click.Choice(["normal", "student"]),
        help="A column of numbers: normal, or Student's t, which reckons with few rows. [student; book, plain: normal]",
    ),
    click.option("--floor", type=float, metavar="X", help="Least variance, as a share of the column's. [1e-9]"),
    click.option(
        "--dependence",
        type=click.Choice(["none", "tan", "aode"]),
        help="Whether columns lean on one another, in a tree or each in turn on one. [none]",
    ),
    click.option(
        "--pair-m",
        type=float,
        metavar="M",
        help="tan, aode: how many rows P(x | class) is worth in P(x | class, y). [5]",
    ),
    click.option("--prior", type=click.Choice(["fractions", "uniform"]), help="Of the classes. [fractions]"),
    click.option("--drop-most-frequent", type=int, metavar="N", help="Leave out the N most frequent words."),
    click.option("--min-count", type=int, metavar="K", help="Leave out words seen less than K times."),
    click.option("--min-length", type=int, metavar="K", help="Leave out words of fewer than K characters."),
    click.option(
        "--stop-words",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="Leave out the words of this file.",
    ),
)

model_options = add(
    click.option(
        "--model",
        type=click.Choice(["weighted", "plain", "book", "auto", "tan", "aode"]),
        help=MODEL_HELP,
    ),
    click.option("--balance", is_flag=True, help="Let every class weigh the same, however rare it is."),
    click.option("--raw", is_flag=True, help="Leave the probabilities as they come, too sure of themselves."),
)

threads_option = click.option("--threads", type=click.IntRange(1), metavar="N", help="[all processors]")
sql_option = click.option("--sql", metavar="QUERY", help="Read what an SQL query gives, instead of SOURCE.")


def rule_changes(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of `Rules` that the user named, taken out of the command's parameters."""
    changes: dict[str, Any] = {}
    for name in (
        "events",
        "smoothing",
        "prior",
        "drop_most_frequent",
        "min_count",
        "min_length",
        "numbers",
        "floor",
        "dependence",
        "pair_m",
    ):
        value = given.pop(name)
        if value is not None:
            changes[name] = value
    by_column = pairs(given.pop("smoothing_of"), "--smoothing-of NAME=RULE")
    if by_column:
        changes["by_column"] = by_column
    stop_words = given.pop("stop_words")
    if stop_words:
        changes["stop_words"] = words_of(stop_words)
    return changes


def words_of(path: str) -> set[str]:
    """The words of a file."""
    from plausible.sources import open_source

    texts = (text for chunk in open_source(path).tables(["text"]) for text in chunk.columns["text"])
    return {word.casefold() for text in texts for word in str(text or "").split()}


def learning_options(given: dict[str, Any]) -> Options:
    """The options of learning, taken out of the command's parameters."""
    from plausible.learning.classifier import options_from

    keywords = rule_changes(given)
    for name in (
        "model",
        "raw",
        "target",
        "text",
        "where",
        "encoding",
        "headers",
        "strict",
        "stem",
        "threads",
        "ignore",
        "weights",
    ):
        keywords[name] = given.pop(name)
    keywords |= {name: given.pop(name) for name in ("unlabelled", "weight") if name in given}
    keywords["kinds"] = pairs(given.pop("kinds"), "--as NAME=KIND")
    ngrams, chars = span(given.pop("ngrams")), span(given.pop("chars"))
    return options_from(ngrams=ngrams, chars=chars, **keywords)


def named(source: Any, sql: str | None, what: str = "source: a folder, a file") -> Any:
    """The source that the user named, or the query; CallError unless it is one of them."""
    from plausible.sources import Query

    if (source is None or source == ()) == (sql is None):
        raise CallError(f"name one {what}, - for standard input, or --sql QUERY")
    return Query(sql) if sql is not None else source


def opened(source: Any, sql: str | None, options: Options) -> Source:
    """The source that the user named, or the query."""
    return options.open(named(source, sql))


def progress_bar(what: str) -> Progress | None:
    """A bar over the bytes of a source on standard error, if that is a terminal; it shows after a second."""
    import sys
    import time

    if not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(stderr=True), transient=True)
    begun = time.monotonic()
    tasks: dict[int, Any] = {}

    def progress(source: Source) -> None:
        if time.monotonic() - begun < 1 or not source.size:
            return
        if not tasks:
            bar.start()
        task = tasks.setdefault(id(source), None)
        if task is None:
            task = tasks[id(source)] = bar.add_task(what, total=source.size)
        bar.update(task, completed=source.position)
        if source.position >= source.size:
            bar.stop()

    return progress
