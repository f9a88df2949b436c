"""A model: its counts, and the rules that make probabilities of them.

The network is a star: the class, with a child for each column, of which the text, a bag of words, is one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from plausible import _native
from plausible.columns import Columns
from plausible.counts import Coded, Counts
from plausible.decide import least_cost
from plausible.errors import CallError, DataError, ModelError, unknown
from plausible.priors import Rules
from plausible.schema import Schema, Variable
from plausible.text import Tokens

if TYPE_CHECKING:
    from plausible.attributes import CPD

Documents = Sequence[str] | Mapping[str, Any]
"""Texts; or the cells of each attribute, as in `encode.Batch`."""

Labels = Sequence[str] | Coded


def default_threads() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Reading:
    """How documents were read, so that new ones are read the same way."""

    columns: Columns = field(default_factory=Columns)
    headers: str | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of documents, classes in the order of `classes`.

    Attributes
    ----------
    classes : list of str
    log_posterior : array, shape (documents, classes)
        ln P(class given document), in nats. It speaks the buffer protocol: `numpy.asarray` reads it without a copy.
    best : array, shape (documents,)
        The position of the answer: the most probable class, or the one with the least expected cost.
    tokens, known : array, shape (documents,)
        Terms and cells of each document, and those of them that are known to the model.
    undefined : list of int
        Documents that no class can have produced (all products are 0); they got the prior.
    """

    classes: list[str]
    log_posterior: Any
    best: Any
    tokens: Any
    known: Any
    undefined: list[int]


class Model:
    """A naive Bayes classifier of texts, of the rows of a table, or of rows with text.

    Parameters
    ----------
    tokens : Tokens
        What the terms of a text are; fixed, since the counts are of these terms.
    rules : Rules
        How counts become probabilities; `estimate` gives a model with other rules on the same counts.
    reading : Reading
        Which columns take part, and what each is.

    Examples
    --------
    >>> model = Model()
    >>> model.update(["win money now", "meeting at noon"], ["spam", "ham"])
    >>> model.update(["money money"], ["spam"])
    >>> model.classes, model.documents
    (['ham', 'spam'], 3)
    >>> model.forget(["money money"], ["spam"])
    >>> model.documents
    2

    Rows have a list or array for each column:

    >>> columns = Columns((), "play", (Variable("wind"), Variable("degrees", "continuous")))
    >>> model = Model(reading=Reading(columns))
    >>> model.update({"wind": ["weak", "strong", None], "degrees": [25.0, 12.0, 14.0]}, ["yes", "no", "no"])
    >>> model.scores({"wind": [None], "degrees": [11.0]}).best.tolist()
    [0]
    """

    def __init__(
        self,
        tokens: Tokens | None = None,
        rules: Rules | None = None,
        reading: Reading | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.tokens = tokens or Tokens()
        self.rules = rules or Rules()
        self.reading = reading or Reading()
        self.counts = counts or Counts(_families(self.tokens, self.reading.columns))
        self._estimated: tuple[int, Estimated] | None = None

    @property
    def classes(self) -> list[str]:
        """The classes that have a document, sorted by name."""
        return self.counts.classes

    @property
    def documents(self) -> float:
        """How many documents were learned and not forgotten, or their weight."""
        return self.counts.total

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns beside the text."""
        return self.reading.columns.attributes

    @property
    def schema(self) -> Schema:
        """The columns with the states that were seen, and the class."""
        columns = self.reading.columns
        target = Variable(columns.target or "class", states=tuple(self.classes))
        texts = tuple(Variable(name, "text") for name in columns.text)
        attributes = tuple(
            replace(variable, states=tuple(family.states))
            if (family := self.counts.families[variable.name]) and hasattr(family, "states")
            else variable
            for variable in self.variables
        )
        return Schema((*texts, *attributes, target), target.name)

    @property
    def has_text(self) -> bool:
        return bool(self.reading.columns.text)

    @property
    def terms(self) -> _native.Terms:
        if not self.has_text:
            raise ModelError("the model has no text; its columns are " + ", ".join(v.name for v in self.variables))
        return self.counts.families["text"]  # type: ignore[return-value]

    @property
    def vocabulary(self) -> int:
        """|V|: the terms that take part under the rules; 0 in a model without text."""
        return int(self.scorer.vocabulary) if self.has_text else 0

    def untrained(self) -> Model:
        """A model that reads and estimates like this one and has learned nothing."""
        return Model(self.tokens, self.rules, self.reading)

    def update(
        self, documents: Documents, labels: Labels, threads: int | None = None, weights: Any = None
    ) -> None:
        """Go on learning; new words, states and classes may appear."""
        cells = self._cells(documents, labels)
        if weights is not None and self.has_text:
            raise CallError("rows with text can't be weighted; leave out the weights or the text")
        self.counts.add(cells, labels, threads or default_threads(), weights)

    def forget(self, documents: Documents, labels: Labels, weights: Any = None) -> None:
        """Unlearn documents exactly, as if they had never been learned.

        Raises
        ------
        DataError
            If they can't have been learned with those labels; then nothing changes.
        """
        gone = self.untrained()
        gone.update(documents, labels, weights=weights)
        self.counts.subtract(gone.counts)

    def merge(self, other: Model) -> None:
        """Add what another model has learned; exactly the result of learning everything here."""
        if self.has_text and other.has_text and other.tokens != self.tokens:
            raise ModelError(
                f"the models have different terms ({self.tokens} and {other.tokens}); learn one of them anew"
            )
        if self.has_text != other.has_text or set(self.variables) != set(other.variables):
            raise ModelError(
                f"the models have different columns ({_described(self)} and {_described(other)}); "
                "learn one of them anew, with --as NAME=KIND where they differ"
            )
        self.counts.merge(other.counts)

    def copy(self) -> Model:
        """A model with counts of its own."""
        other = self.untrained()
        other.counts.merge(self.counts)
        return other

    def estimate(self, **changes: Any) -> Model:
        """A model with other rules on the same counts."""
        return Model(self.tokens, replace(self.rules, **changes), self.reading, self.counts)

    @property
    def estimated(self) -> Estimated:
        """The probabilities under the rules, estimated when the counts have changed."""
        if self._estimated is None or self._estimated[0] != self.counts.changes:
            if not self.counts.total:
                raise ModelError("the model has learned nothing yet; learn documents first")
            self._estimated = (self.counts.changes, _estimate(self))
        return self._estimated[1]

    @property
    def scorer(self) -> _native.Scorer:
        """The probabilities of words."""
        scorer = self.estimated.scorer
        if scorer is None:
            raise ModelError("the model has no text")
        return scorer

    @property
    def cpds(self) -> Mapping[str, CPD]:
        """The distributions of the columns beside the text."""
        return self.estimated.cpds

    @property
    def class_indices(self) -> list[int]:
        """The counts' index of each class, in the order of `classes`."""
        return [self.counts.index[name] for name in self.classes]

    def class_index(self, label: str) -> int:
        if label not in self.classes:
            raise CallError(unknown("class", label, self.classes))
        return self.counts.index[label]

    def log_prior(self) -> list[float]:
        """ln P(c) of each class, in the order of `classes`, in nats."""
        given = self.rules.log_prior(list(self.counts.index))
        if given:
            return [given[i] for i in self.class_indices]
        return [math.log(self.counts.documents[i] / self.documents) for i in self.class_indices]

    def scores(self, documents: Documents, threads: int | None = None) -> Scores:
        """ln P(class given document) of each document."""
        return self._scores(self._cells(documents), None, None, threads)

    def scores_left_out(
        self, documents: Documents, labels: Labels, threads: int | None = None, weights: Any = None
    ) -> Scores:
        """The same for documents that were learned, each scored as if it had not been.

        Exact for every rule, in one pass: the document's own counts are taken away before it is scored.
        """
        cells = self._cells(documents, labels)
        for label in labels.states if isinstance(labels, Coded) else set(labels):
            self.class_index(label)
        return self._scores(cells, self.counts.codes(labels), weights, threads)

    def _scores(self, cells: Mapping[str, Any], own: Any, weights: Any, threads: int | None) -> Scores:
        threads = threads or default_threads()
        raw = tokens = known = None
        if self.has_text:
            raw, tokens, known = self.scorer.score(
                self.tokens.prepare(cells["text"]), own=None if own is None else memoryview(own).tolist(), threads=threads
            )
        if self.variables:
            raw, tokens, known = _with_attributes(self, cells, own, weights, threads, (raw, tokens, known))
        log_posterior, best, undefined = _native.log_posteriors(raw, self.class_indices, self.log_prior())
        if self.rules.costs:
            best = least_cost(log_posterior, self.classes, self.rules.costs)
        return Scores(self.classes, log_posterior, best, tokens, known, undefined)

    def _cells(self, documents: Documents, labels: Labels | None = None) -> Mapping[str, Any]:
        """The cells of each attribute, checked."""
        cells = documents if isinstance(documents, Mapping) else {"text": documents}
        if labels is not None:
            _check_labels(labels)
        rows = None if labels is None else len(labels)
        if self.has_text:
            _check_texts(cells.get("text"), rows)
        if self.variables:
            from plausible.attributes import checked_row

            found = checked_row(cells, self.variables)
            if rows is not None and found != rows:
                raise CallError(f"{found} rows and {rows} labels; give one label a row")
        return cells

    def __repr__(self) -> str:
        unit = "documents" if self.has_text and not self.variables else "rows"
        return f"Model({self.documents:,} {unit}, {len(self.classes)} classes)"


@dataclass(frozen=True, slots=True)
class Estimated:
    """Probabilities: of words, and of the other columns."""

    scorer: _native.Scorer | None
    cpds: Mapping[str, CPD]


def _families(tokens: Tokens, columns: Columns) -> dict[str, Any]:
    families: dict[str, Any] = {"text": tokens.terms()} if columns.text else {}
    if columns.attributes:
        from plausible.attributes import family_of

        families |= {variable.name: family_of(variable) for variable in columns.attributes}
    return families


def _estimate(model: Model) -> Estimated:
    rules, scorer = model.rules, None
    if model.has_text:
        scorer = _native.Scorer(
            model.terms,
            model.counts.documents,
            bernoulli=rules.events == "bernoulli",
            m=rules.smoothing.m,
            share=rules.smoothing.share,
            log_prior=rules.log_prior(list(model.counts.index)),
            min_count=rules.min_count,
            drop_most_frequent=rules.drop_most_frequent,
            min_length=rules.min_length,
            stop=sorted(rules.stop_words),
        )
    if not model.variables:
        return Estimated(scorer, {})
    from plausible.attributes import estimated

    return Estimated(scorer, estimated(model.counts, model.variables, rules))


def _with_attributes(
    model: Model, cells: Mapping[str, Any], own: Any, weights: Any, threads: int, of_text: tuple[Any, Any, Any]
) -> tuple[Any, Any, Any]:
    """Scores, cells and known cells of rows, those of their text included."""
    import numpy as np

    from plausible.attributes import Own, add_scores, checked_row, prior_scores

    rows = checked_row(cells, model.variables)
    taken = None
    if own is not None:
        taken = Own(np.asarray(own), np.ones(rows) if weights is None else weights)
    if of_text[0] is None:
        scores = prior_scores(model.counts, model.rules, rows, taken)
    else:
        scores = np.asarray(of_text[0])
    present, known = add_scores(scores, model.cpds, cells, taken, threads)
    if of_text[1] is not None:
        present, known = present + np.asarray(of_text[1]), known + np.asarray(of_text[2])
    return scores, present, known


def _described(model: Model) -> str:
    kinds = [f"{variable.name} {variable.kind}" for variable in model.variables]
    return ", ".join((["text"] if model.has_text else []) + kinds)


def _check_labels(labels: Labels) -> None:
    if isinstance(labels, str):
        raise CallError("labels must be a list, one label a document")
    for i, label in enumerate(labels.states if isinstance(labels, Coded) else labels):
        if not isinstance(label, str) or not label:
            raise DataError(f"label {i} is {label!r}, not text; leave it out or make it a string")
    if isinstance(labels, Coded) and len(labels) and labels.codes.min() < 0:
        raise DataError(f"row {int(labels.codes.argmin())} has no label; leave it out")


def _check_texts(documents: Any, labels: int | None) -> None:
    if documents is None or isinstance(documents, str):
        raise CallError("documents must be a list of texts")
    if labels is not None and len(documents) != labels:
        raise CallError(f"{len(documents)} documents and {labels} labels; give one label a document")
    for i, document in enumerate(documents):
        if not isinstance(document, str):
            raise DataError(f"document {i} is {document!r}, not text; leave it out or make it a string")


def merge(*models: Model) -> Model:
    """One model from several that were learned apart; the first gives the rules.

    Examples
    --------
    >>> monday, tuesday = Model(), Model()
    >>> monday.update(["good day"], ["up"])
    >>> tuesday.update(["bad day"], ["down"])
    >>> merge(monday, tuesday)
    Model(2 documents, 2 classes)
    """
    if not models:
        raise CallError("there is no model to merge")
    whole = models[0].copy()
    for model in models[1:]:
        whole.merge(model)
    return whole


def forget(model: Model, documents: Documents, labels: Labels) -> Model:
    """A model that has never learned these documents; the given one stays as it is."""
    other = model.copy()
    other.forget(documents, labels)
    return other


def settings(model: Model) -> Mapping[str, str]:
    """The options of learning, in the words of the command line."""
    rules, tokens = model.rules, model.tokens
    shown = {
        "events": rules.events,
        "smoothing": str(rules.smoothing),
        "prior": rules.prior
        if isinstance(rules.prior, str)
        else ", ".join(f"{k} {v:g}" for k, v in rules.prior.items()),
        "drop most frequent": f"{rules.drop_most_frequent:,}",
        "min count": f"{rules.min_count:,}",
        "min length": f"{rules.min_length:,}",
        "stop words": f"{len(rules.stop_words):,}",
        "n-grams": f"{tokens.ngrams[0]}-{tokens.ngrams[1]}",
        "characters": f"{tokens.chars[0]}-{tokens.chars[1]}" if tokens.chars else "",
        "stem": tokens.stem or "",
        "headers": model.reading.headers or "",
        "text": ", ".join(model.reading.columns.text),
        "target": model.reading.columns.target or "",
    }
    usual = {
        "drop most frequent": "0",
        "min count": "1",
        "min length": "1",
        "stop words": "0",
        "n-grams": "1-1",
    }
    return {name: value for name, value in shown.items() if value and usual.get(name) != value}
