"""Learning to classify texts and rows: from a source, or from lists."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any, Literal

from plausible.cells import Batch, names_of
from plausible.columns import PAIRS, Columns, Reading
from plausible.encode import batches, labelled
from plausible.errors import CallError, DataError, PlausibleWarning, unknown
from plausible.kinds import Said, Uncut, choose_columns
from plausible.learning.ahead import ahead
from plausible.learning.sample import Sample
from plausible.model import Model
from plausible.priors import Rules, Smoothing, parsed
from plausible.sources import Note, Source, open_source
from plausible.text import Tokens
from plausible.wording import quantity

Progress = Callable[[Source], None]

ENOUGH = 2000
"""Documents on which models of texts are calibrated: one that is left out costs as much as four that are learned."""
FEW_ROWS = 20
"""Rows below which nothing is said of how many classes they have."""


@dataclass(frozen=True)
class Options:
    """What the user says of learning; see `Rules`, `Tokens` and `sources.Options` for each.

    With `raw` probabilities are left as the rules give them; with `balance` every class weighs the same in them. With
    `auto` the rules are chosen by leave-one-out, with `smooth` only the smoothing. Those that are
    `unlabelled` count with a `weight`.
    """

    said: Said = field(default_factory=Said)
    where: str | None = None
    encoding: str | None = None
    headers: str | None = None
    strict: bool = False
    tokens: Tokens = field(default_factory=Tokens)
    rules: Rules = field(default_factory=Rules)
    raw: bool = False
    balance: bool = False
    auto: bool = False
    smooth: bool = False
    unlabelled: Any = None
    weight: float | Literal["auto"] = "auto"
    threads: int | None = None

    def open(self, given: Any) -> Source:
        if isinstance(given, Source):
            return given
        return open_source(given, encoding=self.encoding, headers=self.headers, where=self.where, strict=self.strict)

    def _paired(self, source: Source, columns: Columns) -> Columns:
        """Columns that are counted two by two; numbers are cut into intervals before, in a pass of their own."""
        said = self.said.kinds or {}
        cut = {v.name: "bins" for v in columns.attributes if v.kind == "continuous" and v.name not in said}
        if cut or any(isinstance(variable, Uncut) for variable in columns.attributes):
            alone = replace(
                self,
                said=replace(self.said, kinds={**said, **cut}),
                rules=replace(self.rules, dependence="none"),
                raw=True,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PlausibleWarning)
                columns = learn_from(source, alone).reading.columns
        columns = columns._replace(pairs=True)
        if len(columns.paired) < 2 or PAIRS in columns.paired:
            raise CallError(
                f"{self.rules.dependence} needs two categorical columns or more, and {source.name} has "
                f"{len(columns.paired)}; use --model plain"
            )
        return columns

    def model_for(self, source: Source) -> Model:
        """An untrained model that reads rows as this source is read."""
        columns = choose_columns(source, self.said)
        if self.rules.dependence != "none":
            columns = self._paired(source, columns)
        rules = self.rules
        if not columns.text and rules.log_odds:
            rules = replace(rules, events="multinomial", smoothing=Smoothing())
        if not columns.text and self.auto:
            raise CallError(f"--model auto chooses how words are taken, and {source.name} has no text; leave it out")
        return Model(self.tokens, rules, Reading(columns, self.headers))


MODELS: dict[str, dict[str, Any]] = {
    "weighted": {"events": "weighted", "smoothing": "auto"},
    "plain": {"numbers": "normal"},
    "book": {"numbers": "normal", "raw": True},
    "auto": {"auto": True},
    "tan": {"dependence": "tan"},
    "aode": {"dependence": "aode"},
}
"""weighted: damped and weighted words, the default. plain: multinomial events, Laplace's rule. book: the same with the
posterior as it comes, Mitchell 1997, table 6.2, to the letter. auto: chosen by leave-one-out. tan, aode: categorical
columns lean on one another, in a tree (Friedman, Geiger and Goldszmidt 1997) or each in turn on one (Webb, Boughton and
Wang 2005); numbers are cut into ten intervals of equal frequency, unless the user says what they are."""

PLAIN_OPTIONS = ("events", "smoothing", "prior", "drop_most_frequent", "min_count")


def options_from(
    *,
    model: Literal["weighted", "plain", "book", "auto", "tan", "aode"] | None = None,
    target: str | None = None,
    text: str | Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    ignore: str | Sequence[str] = (),
    weights: str | None = None,
    where: str | None = None,
    encoding: str | None = None,
    headers: str | None = None,
    ngrams: tuple[int, int] | None = None,
    chars: tuple[int, int] | None = None,
    stem: str | None = None,
    raw: bool = False,
    balance: bool = False,
    unlabelled: Any = None,
    weight: float | str = "auto",
    threads: int | None = None,
    strict: bool = False,
    **rules: Any,
) -> Options:
    """The options of learning from the keywords of `learn`.

    Parameters
    ----------
    model : "weighted", "plain", "book", "auto", "tan" or "aode"
        See `MODELS`. By default "weighted", or "plain" where one of events, smoothing, prior, drop_most_frequent and
        min_count is given.
    kinds, ignore, weights
        See `learn`.
    raw : bool
        Leave the probabilities as they come.
    balance : bool
        Let every class weigh the same, however few documents it has: rare classes are answered more often.
    unlabelled, weight
        See `learn`.
    rules
        The fields of `Rules`; smoothing may be "auto", too: chosen by leave-one-out.
    """
    if threads is not None and threads < 1:
        raise CallError(f"threads must be at least 1, not {threads}")
    if model is None:
        model = "plain" if any(name in rules for name in PLAIN_OPTIONS) else "weighted"
        rules.setdefault("numbers", "student")
    if model not in MODELS:
        raise CallError(unknown("model", model, MODELS))
    auto = model == "auto"
    if auto and any(name in rules for name in PLAIN_OPTIONS):
        raise CallError("--model auto chooses the events and the smoothing; leave them out, or use --model plain")
    given = {"numbers": "student", **MODELS[model], **rules}
    raw = given.pop("raw", False) or raw
    given.pop("auto", None)
    unfit = next((name for name in given if name not in Rules.__dataclass_fields__), None)
    if unfit is not None:
        raise CallError(unknown("option", unfit, [*Rules.__dataclass_fields__, *Options.__dataclass_fields__]))
    if balance and not auto and not Rules(events=given.get("events", "multinomial")).log_odds:
        if given.get("prior", "uniform") != "uniform":
            raise CallError("balanced classes have a uniform prior; leave out the prior, or balance")
        given["prior"] = "uniform"
    if unlabelled is None and weight != "auto":
        raise CallError("the weight is that of unlabelled documents: name some, or leave it out")
    smooth = given.get("smoothing") == "auto"
    if smooth:
        given["smoothing"] = Smoothing(a=0.1)
    if ngrams is None:
        ngrams = (1, 2) if auto and chars is None else (1, 1)
    return Options(
        said=Said(_names(text), target, kinds, _names(ignore), weights),
        where=where,
        encoding=encoding,
        headers=headers,
        strict=strict,
        tokens=Tokens((ngrams[0], ngrams[1]), (chars[0], chars[1]) if chars else None, stem),
        rules=Rules(**parsed(given)),
        raw=raw,
        balance=balance,
        auto=auto,
        smooth=smooth,
        unlabelled=unlabelled,
        weight=_weight(weight),
        threads=threads,
    )


def _weight(given: float | str) -> float | Literal["auto"]:
    if given == "auto":
        return "auto"
    try:
        weight = float(given)
    except ValueError:
        weight = -1.0
    if not 0 < weight <= 1:
        raise CallError(f"the weight of an unlabelled document is auto, or a number above 0 and up to 1, not {given!r}")
    return weight


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def learn(source: Any, labels: Sequence[str] | None = None, **options: Any) -> Model:
    """Learn to classify documents or rows.

    Parameters
    ----------
    source : list of str with `labels`, or anything `open_source` reads
        A folder with one sub-folder a class, mail, a table, SQL, or a data frame.
    labels : sequence of str, optional
        The class of each document, when `source` is a list of texts.
    target : str
        The column of a table that holds the class.
    text : str or list of str
        The columns that hold texts, which are joined. Alone it makes a model of these texts; without it every column
        takes part, as what it is by the look of it.
    kinds : mapping of str to str
        What columns are, whatever they look like: "categorical", "continuous", "text", "bins:10", "mdl", or states
        such as "low<middle<high".
    ignore : str or list of str
        Columns to leave out.
    weights : str
        The column that says how much each row counts.
    unlabelled : list of str, or anything `open_source` reads
        Documents without a class, which count as what they are expected to be (Nigam et al. 2000; docs/hidden.md).
    weight : "auto" or float
        What one of them counts beside a labelled one: chosen so that left-out labelled documents are told better, or
        none at all where that can't be.
    options
        Those of `options_from`, as in `learn(..., events="bernoulli", smoothing="m=100", ngrams=(1, 2), threads=2)`.

    Raises
    ------
    CallError, DataError
        For an unknown column, an unreadable file, or nothing to learn from.

    Examples
    --------
    >>> model = learn(["win money now", "cheap money", "meeting at noon"], ["spam", "spam", "ham"])
    >>> model
    Model(3 documents, 2 classes)
    >>> learn([{"wind": "weak", "play": "yes"}, {"wind": "strong", "play": "no"}], target="play")
    Model(2 rows, 2 classes)
    """
    chosen = options_from(**options)
    if labels is not None:
        if chosen.rules.dependence != "none":
            raise CallError(f"{chosen.rules.dependence} needs columns, and a list of texts has none; use model='plain'")
        learner = Learner(Model(chosen.tokens, chosen.rules, Reading(headers=chosen.headers)), chosen)
        learner.add(Batch({"text": source}, labels, lambda i: f"document {i}"))
        if not learner.model.documents:
            raise DataError("there are no documents to learn from")
        return learner.finish()
    if (
        isinstance(source, list | tuple)
        and source
        and all(isinstance(one, str) and not os.path.exists(one) for one in source)
    ):
        raise CallError("a list of texts needs labels, one a document: learn(documents, labels)")
    return learn_from(chosen.open(source), chosen)


class Learner:
    """Counts rows as they come, keeps a sample of them, and in the end calibrates the model on it."""

    def __init__(self, model: Model, options: Options, sample: Sample | None = None) -> None:
        self.model, self._options = model, options
        self.sample = sample or (Sample(ENOUGH) if model.has_text and not options.auto else Sample())
        self._texts: list[str] = []
        self._labels: list[str] = []

    def add(self, batch: Batch) -> None:
        if self._options.unlabelled is not None:
            self._texts += batch.texts
            self._labels += names_of(batch.labels)
        self.model.update(batch.cells, batch.labels, self._options.threads, batch.weights)
        chooses = self.model.has_text and (self._options.auto or self._options.smooth)
        if chooses or not self._options.raw:
            self.sample.add(batch.cells, batch.labels, weights=batch.weights)

    def merge(self, other: Learner) -> None:
        """Add what another learner has counted, and its sample."""
        self.model.merge(other.model)
        self.sample.add(*other.sample.kept())
        self._texts, self._labels = self._texts + other._texts, self._labels + other._labels

    def finish(self) -> Model:
        """The model, its columns cut and its rules chosen if they are to be, calibrated unless it is to be raw."""
        cells, labels, times, own = self.sample.kept()
        if any(isinstance(variable, Uncut) for variable in self.model.variables):
            from plausible.learning.intervals import cut

            self.model, cells = cut(self.model, cells)
        if len(self.model.classes) == 1:
            warn(
                f"there is one class only ({self.model.classes[0]!r}); every document will be of it. Add another class"
            )
            return self.model
        shares: list[float] = [n * weight for n, weight in zip(times, own or [1] * len(times), strict=True)]
        if self._options.balance:
            share = self.model.documents / len(self.model.classes)
            shares = [n * share / self.model.counts.of(name) for n, name in zip(shares, labels, strict=True)]
        known = None
        if self.model.has_text and (self._options.auto or self._options.smooth):
            from plausible.learning.choose import Learned, choose, choose_smoothing

            documents = Learned(cells, labels, self._options.threads, own, shares)
            if self._options.auto:
                choice = choose(self.model, documents)
                self.model, known = choice.model, choice.known
                self.model.choice = str(choice)
            else:
                known = choose_smoothing(self.model, documents)
        if not self._options.raw and labels:
            self.model.calibrate(cells, labels, self._options.threads, shares, own, known)
        if self._options.unlabelled is not None:
            from plausible.learning.unlabelled import learn_unlabelled

            learn_unlabelled(self.model, self._texts, self._labels, self._options)
        return self.model


def learn_from(source: Source, options: Options, progress: Progress | None = None) -> Model:
    """Learn all the labelled rows of a source, in one pass and bounded memory."""
    learner = Learner(options.model_for(source), options)
    skipped = read_labelled(source, learner.model, options, learner.add, progress)
    if not learner.model.documents:
        unit = learner.model.unit
        hint = f"no {unit} has a class" if skipped else f"it holds no {unit}"
        raise DataError(f"there is nothing to learn from {source.name}: {hint}")
    model = learner.finish()
    classes, target = len(model.classes), model.reading.columns.target
    if model.documents >= FEW_ROWS and 2 * classes > model.documents:
        warn(
            f"{target!r} has {quantity(classes, 'class')} in {quantity(model.documents, model.unit)} of {source.name}; "
            "is it the class? --target names another"
        )
    _warn_of_columns(model, source)
    return model


def read_labelled(
    source: Source,
    model: Model,
    options: Options,
    use: Callable[[Batch], None],
    progress: Progress | None = None,
    *,
    again: bool = False,
) -> int:
    """Hand every labelled document of a source to `use`, and return how many had no class.

    What was noted is said, but not of a source that is read `again`.
    """
    skipped = 0
    columns = model.reading.columns
    for batch in ahead(batches(source, columns)):
        kept = labelled(batch, columns.target, strict=options.strict)
        skipped += len(batch) - len(kept)
        if len(kept):
            use(kept)
        if progress is not None:
            progress(source)
    if again:
        return skipped
    say_notes(source.notes)
    if skipped:
        warn(f"skipped {quantity(skipped, model.unit)} of {source.name} without a class in {columns.target!r}")
    return skipped


def say_notes(notes: Mapping[str, Note]) -> None:
    for what, (place, times) in notes.items():
        warn(f"{place}{f' and {times - 1:,} more' if times > 1 else ''}: {what}")


def _warn_of_columns(model: Model, source: Source) -> None:
    if model.variables:
        from plausible.attributes import uninformative

        for name, why in uninformative(model.counts, model.variables).items():
            warn(f"column {name!r} of {source.name} {why}; it says nothing (--ignore {quote(name)} leaves it out)")
    alone = [name for name in model.classes if model.counts.of(name) == 1] if model.variables else []
    if alone and model.documents >= FEW_ROWS and 2 * len(model.classes) <= model.documents:
        more = f", as have {len(alone) - 1:,} more" if len(alone) > 1 else ""
        warn(
            f"class {alone[0]!r} has one row only in {source.name}{more}: too little to know it by; "
            "add rows of it, or leave it out with --where"
        )


def warn(message: str) -> None:
    warnings.warn(message, PlausibleWarning, stacklevel=3)
