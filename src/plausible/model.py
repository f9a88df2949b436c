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
from plausible.calibration import Calibration
from plausible.counts import Counts
from plausible.encode import Columns
from plausible.errors import CallError, DataError, ModelError, unknown
from plausible.priors import Rules
from plausible.text import Tokens

Documents = Sequence[str]

REST = 4.0
"""The evidence of the other classes is smoothed this much more than that of the class (chosen by leave-one-out)."""
LEAST_PAIRS = 2
"""Documents that a pair of words is seen in, or it does not take part."""
DAMPED: dict[str, Any] = {"raw": False, "spread": 0.5, "rarity": (0.5, 1.0)}
RAW: dict[str, Any] = {"raw": True, "spread": 0.0, "rarity": (0.0, 0.0)}


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
    calibration : Calibration, optional
        How scores become probabilities; without one they are what the rules say, too sure of themselves.

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
        calibration: Calibration | None = None,
    ) -> None:
        self.tokens = tokens or Tokens()
        self.rules = rules or Rules()
        self.reading = reading or Reading()
        self.counts = counts or Counts({"text": self.tokens.terms()})
        self.calibration = calibration
        self.choice = ""
        """What `--model auto` chose, and why."""
        self._estimated: tuple[int, Calibration | None, _native.Scorer | _native.Weighted] | None = None

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
        other = Model(self.tokens, self.rules, self.reading, calibration=self.calibration)
        other.counts.merge(self.counts)
        return other

    def estimate(self, **changes: Any) -> Model:
        """A model with other rules on the same counts. Its calibration, if any, stays only if the events stay."""
        rules = replace(self.rules, **changes)
        kept = self.calibration if (rules.events, rules.pairs) == (self.rules.events, self.rules.pairs) else None
        return Model(self.tokens, rules, self.reading, self.counts, kept)

    def uncalibrated(self) -> Model:
        """The same model with its probabilities as they come."""
        return Model(self.tokens, self.rules, self.reading, self.counts)

    @property
    def scorer(self) -> _native.Scorer | _native.Weighted:
        """The weights under the rules, estimated when the counts have changed."""
        if self._estimated is None or self._estimated[:2] != (self.counts.changes, self.calibration):
            if not self.counts.total:
                raise ModelError("the model has learned nothing yet; learn documents first")
            scorer = self._weighted() if self.rules.log_odds else self._m_estimates()
            self._estimated = (self.counts.changes, self.calibration, scorer)
        return self._estimated[2]

    def _m_estimates(self) -> _native.Scorer:
        rules = self.rules
        return _native.Scorer(
            self.terms,
            self.counts.documents,
            bernoulli=rules.events == "bernoulli",
            m=rules.smoothing.m,
            a=rules.smoothing.a,
            share=rules.smoothing.share,
            log_prior=rules.log_prior(list(self.counts.index)),
            min_count=rules.min_count,
            drop_most_frequent=rules.drop_most_frequent,
            min_length=rules.min_length,
            stop=sorted(self.tokens.terms_of(rules.stop_words)),
        )

    def _weighted(self) -> _native.Weighted:
        rules = self.rules
        style = RAW if rules.events == "odds" else DAMPED
        a = rules.smoothing.a
        channels = [(False, a, a)] if len(self.classes) == 2 else [(False, a, 0.0), (False, 0.0, REST * a)]
        if rules.pairs:
            channels.append((True, a, a))
        scorer = _native.Weighted(
            self.terms,
            self.counts.documents,
            **style,
            least=(1, LEAST_PAIRS),
            channels=channels,
            min_length=rules.min_length,
            stop=sorted(self.tokens.terms_of(rules.stop_words)),
        )
        factors = self.calibration.factors if self.calibration else ()
        scorer.fold(factors if len(factors) == len(channels) else [1.0] * len(channels))
        return scorer

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
        return self._linked(self.scorer.score(self.tokens.prepare(documents), threads=threads or default_threads()))

    def scores_left_out(self, documents: Documents, labels: Sequence[str], threads: int | None = None) -> Scores:
        """The same for documents that were learned, each scored as if it had not been.

        Exact for every rule, in one pass: the document's own counts are taken away before it is scored. (The few
        numbers of the calibration stay.)
        """
        raw, tokens, known = self._left_out(documents, labels, threads)
        if not self.rules.log_odds:
            return self._by_prior_without(self._linked((raw, tokens, known)), labels)
        import numpy as np

        channels = np.asarray(raw).reshape(len(documents), -1, len(self.counts.documents))
        factors = self.calibration.factors if self.calibration else (1.0,) * channels.shape[1]
        summed = np.ascontiguousarray(np.tensordot(channels, factors, (1, 0)))
        return self._by_prior_without(self._linked((summed, tokens, known)), labels)

    def calibrate(self, documents: Documents, labels: Sequence[str], threads: int | None = None) -> None:
        """Fit the calibration on documents that were learned, each scored as if it had not been."""
        import numpy as np

        from plausible import calibration

        width = len(self.counts.documents)
        most = calibration.LARGEST // (3 * width) + calibration.FEWEST
        documents, labels = documents[:most], labels[:most]
        raw, tokens, _ = self._left_out(documents, labels, threads)
        channels = np.asarray(raw).reshape(len(documents), -1, width)[:, :, self.class_indices]
        place = {name: k for k, name in enumerate(self.classes)}
        truth = np.array([place[label] for label in labels], np.int64)
        self.calibration = calibration.fit(
            channels, np.asarray(tokens), truth, self.classes, with_bias=self.rules.log_odds
        )

    def _left_out(self, documents: Documents, labels: Sequence[str], threads: int | None) -> tuple[Any, Any, Any]:
        _check_documents(documents, labels)
        own = [self.class_index(label) for label in labels]
        scorer, texts = self.scorer, self.tokens.prepare(documents)
        try:
            scores: tuple[Any, Any, Any] = scorer.score_without(texts, own, threads=threads or default_threads())
        except ValueError as error:
            raise DataError(f"{error}; learn it first") from None
        return scores

    def _by_prior_without(self, scores: Scores, labels: Sequence[str]) -> Scores:
        """Give the documents that are answered by the prior the one that holds without them."""
        rows = set(scores.undefined)
        if self.rules.events != "bernoulli":
            rows.update(i for i, terms in enumerate(memoryview(scores.known).tolist()) if not terms)
        if not rows:
            return scores
        given = self.log_prior() if self.rules.prior != "fractions" else None
        log_posterior: Any = memoryview(scores.log_posterior)
        best = memoryview(scores.best)
        for i in rows:
            left = [self.counts.of(name) - (name == labels[i]) for name in self.classes]
            shares = [0.0 if not n else math.exp(given[k]) if given else n for k, n in enumerate(left)]
            whole = sum(shares)
            if not whole:
                raise DataError("without this document there is nothing to learn from; learn more documents")
            for k, share in enumerate(shares):
                log_posterior[i, k] = math.log(share / whole) if share else -math.inf
            best[i] = shares.index(max(shares))
        return scores

    def _linked(self, scored: tuple[Any, Any, Any], *, tail: bool = True) -> Scores:
        raw, tokens, known = scored
        link: dict[str, Any] = {"known": None if self.rules.events == "bernoulli" else known}
        if self.calibration is not None:
            given = self.calibration
            link |= {
                "factor": 1.0 if self.rules.log_odds else given.factors[0],
                "power": given.power,
                "mean_log_length": given.mean_log_length,
                "tail": given.tail if tail else 0.0,
                "flat": given.flat,
                "bias": [given.bias.get(name, 0.0) for name in self.classes] if given.bias else [],
            }
        linked = _native.log_posteriors(raw, self.class_indices, self.log_prior(), tokens, **link)
        log_posterior, best, undefined = linked
        return Scores(self.classes, log_posterior, best, tokens, known, undefined)

    def log_odds(self, documents: Documents, threads: int | None = None) -> Any:
        """ln of the link's softmax, without the tail that keeps probabilities from 0 and 1; for ranking."""
        scored = self.scorer.score(self.tokens.prepare(documents), threads=threads or default_threads())
        return self._linked(scored, tail=False).log_posterior

    def sharpness(self, document: str) -> float:
        """What the calibration multiplies the scores of a document by."""
        if self.calibration is None:
            return 1.0
        length = max(sum(times for _, times, _ in self.scorer.terms(self.terms, self.tokens.prepare([document])[0])), 1)
        away = -self.calibration.power * (math.log(length) - self.calibration.mean_log_length)
        return math.exp(min(max(away, -5.0), 5.0)) * (1.0 if self.rules.log_odds else self.calibration.factors[0])

    def starts(self) -> dict[str, float]:
        """What each class starts with: ln P(c), or the calibration's bias where that replaces it."""
        if not self.rules.log_odds:
            return dict(zip(self.classes, self.log_prior(), strict=True))
        bias = self.calibration.bias if self.calibration else {}
        return {name: bias.get(name, 0.0) for name in self.classes}

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
    for label in set(labels):
        if not label or any("\ud800" <= c <= "\udfff" for c in label):
            fault = "holds half a character (a lone surrogate)" if label else "is empty"
            raise DataError(f"label {list(labels).index(label)} {fault}; name the class, or leave the document out")


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
