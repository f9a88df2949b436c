"""A model of text: its counts, and the rules that make probabilities of them.

The network is a star: the class, with one child, the bag of words of a document.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from plausible import _native
from plausible.counts import Counts
from plausible.encode import Columns
from plausible.errors import CallError, DataError, ModelError, unknown
from plausible.priors import Rules
from plausible.text import Tokens

Documents = Sequence[str]


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
        The position of the most probable class.
    tokens, known : array, shape (documents,)
        Terms of each document, and those of them in the vocabulary.
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
    """A naive Bayes classifier of text.

    Parameters
    ----------
    tokens : Tokens
        What the terms of a text are; fixed, since the counts are of these terms.
    rules : Rules
        How counts become probabilities; `estimate` gives a model with other rules on the same counts.
    reading : Reading
        Which columns and headers hold the text.

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
        self.counts = counts or Counts({"text": self.tokens.terms()})
        self._estimated: tuple[int, _native.Scorer] | None = None

    @property
    def classes(self) -> list[str]:
        """The classes that have a document, sorted by name."""
        return self.counts.classes

    @property
    def documents(self) -> int:
        """How many documents were learned and not forgotten."""
        return self.counts.total

    @property
    def terms(self) -> _native.Terms:
        return self.counts.families["text"]  # type: ignore[return-value]

    @property
    def vocabulary(self) -> int:
        """|V|: the terms that take part under the rules."""
        return int(self.scorer.vocabulary)

    def update(self, documents: Documents, labels: Sequence[str], threads: int | None = None) -> None:
        """Go on learning; new words and new classes may appear."""
        _check_documents(documents, labels)
        self.counts.add({"text": self.tokens.prepare(documents)}, labels, threads or default_threads())

    def forget(self, documents: Documents, labels: Sequence[str]) -> None:
        """Unlearn documents exactly, as if they had never been learned.

        Raises
        ------
        DataError
            If they can't have been learned with those labels; then nothing changes.
        """
        gone = Model(self.tokens, self.rules, self.reading)
        gone.update(documents, labels)
        self.counts.subtract(gone.counts)

    def merge(self, other: Model) -> None:
        """Add what another model has learned; exactly the result of learning everything here."""
        if other.tokens != self.tokens:
            raise ModelError(
                f"the models have different terms ({self.tokens} and {other.tokens}); learn one of them anew"
            )
        self.counts.merge(other.counts)

    def copy(self) -> Model:
        """A model with counts of its own."""
        other = Model(self.tokens, self.rules, self.reading)
        other.counts.merge(self.counts)
        return other

    def estimate(self, **changes: Any) -> Model:
        """A model with other rules on the same counts."""
        return Model(self.tokens, replace(self.rules, **changes), self.reading, self.counts)

    @property
    def scorer(self) -> _native.Scorer:
        """The probabilities under the rules, estimated when the counts have changed."""
        if self._estimated is None or self._estimated[0] != self.counts.changes:
            if not self.counts.total:
                raise ModelError("the model has learned nothing yet; learn documents first")
            rules = self.rules
            scorer = _native.Scorer(
                self.terms,
                self.counts.documents,
                bernoulli=rules.events == "bernoulli",
                m=rules.smoothing.m,
                share=rules.smoothing.share,
                log_prior=rules.log_prior(list(self.counts.index)),
                min_count=rules.min_count,
                drop_most_frequent=rules.drop_most_frequent,
                min_length=rules.min_length,
                stop=sorted(rules.stop_words),
            )
            self._estimated = (self.counts.changes, scorer)
        return self._estimated[1]

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
        return self._scores(documents, None, threads)

    def scores_left_out(self, documents: Documents, labels: Sequence[str], threads: int | None = None) -> Scores:
        """The same for documents that were learned, each scored as if it had not been.

        Exact for every rule, in one pass: the document's own counts are taken away before it is scored.
        """
        _check_documents(documents, labels)
        return self._scores(documents, [self.class_index(label) for label in labels], threads)

    def _scores(self, documents: Documents, own: list[int] | None, threads: int | None) -> Scores:
        raw, tokens, known = self.scorer.score(
            self.tokens.prepare(documents), own=own, threads=threads or default_threads()
        )
        log_posterior, best, undefined = _native.log_posteriors(raw, self.class_indices, self.log_prior())
        return Scores(self.classes, log_posterior, best, tokens, known, undefined)

    def __repr__(self) -> str:
        return f"Model({self.documents:,} documents, {len(self.classes)} classes)"


def _check_documents(documents: Documents, labels: Sequence[str]) -> None:
    if isinstance(documents, str) or isinstance(labels, str):
        raise CallError("documents and labels must be lists, with one label a document")
    if len(documents) != len(labels):
        raise CallError(f"{len(documents)} documents and {len(labels)} labels; give one label a document")
    for what, values in (("document", documents), ("label", labels)):
        for i, value in enumerate(values):
            if not isinstance(value, str):
                raise DataError(f"{what} {i} is {value!r}, not text; leave it out or make it a string")


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


def forget(model: Model, documents: Documents, labels: Sequence[str]) -> Model:
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
