"""What counts say of documents under the rules: estimated when it is asked for, and without the document itself."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from plausible import _native
from plausible.calibration import Calibration, LeftOut
from plausible.cells import Labels, check_documents, check_labels, names_of
from plausible.columns import PAIRS, Columns, Reading
from plausible.counts import Coded, Counts
from plausible.errors import CallError, DataError, ModelError, unknown
from plausible.priors import Rules, Smoothing
from plausible.schema import Schema, Variable
from plausible.scores import Scores, joined
from plausible.terms import Gathered, log_odds, m_estimates
from plausible.text import Tokens

if TYPE_CHECKING:
    from plausible.attributes import CPD
    from plausible.dependence import Dependence
    from plausible.expected import Expected

Documents = Sequence[str] | Mapping[str, Any]
"""Texts; or the cells of each attribute, as in `encode.Batch`."""


def default_threads() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Scoring:
    """Counts, with what makes probabilities of them; the parameters are those of `Model`, which goes on learning."""

    def __init__(
        self,
        tokens: Tokens | None = None,
        rules: Rules | None = None,
        reading: Reading | None = None,
        counts: Counts | None = None,
        calibration: Calibration | None = None,
        expected: Expected | None = None,
        collection: _native.Frequencies | None = None,
    ) -> None:
        self.tokens = tokens or Tokens()
        self.rules = rules or Rules()
        self.reading = reading or Reading()
        self.counts = counts or Counts(_families(self.tokens, self.reading.columns))
        self.calibration = calibration
        self.expected = expected
        self.collection = collection
        self.threads: int | None = None
        """How many threads have taught it last, and may estimate it; all processors if none is said."""
        self.choice = ""
        """What `--model auto` chose, and why."""
        self.gathered = Gathered()
        """What the terms add up to; models of the same counts may share it."""
        self._estimated: tuple[Any, _native.Scorer | _native.Weighted, _native.Terms] | None = None
        self._cpds: tuple[int, Mapping[str, CPD], Dependence | None] | None = None

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
        attributes = (self.cpds[variable.name].described(variable) for variable in self.variables)
        return Schema((*(Variable(name, "text") for name in columns.text), *attributes, target), target.name)

    @property
    def has_text(self) -> bool:
        return bool(self.reading.columns.text)

    @property
    def unit(self) -> str:
        """What is counted: a row, or a document."""
        return "row" if self.variables else "document"

    @property
    def log_odds_of_words(self) -> bool:
        """Whether words are scored by the evidence of the other classes, too, which replaces the prior."""
        return self.has_text and self.rules.log_odds

    @property
    def terms(self) -> _native.Terms:
        return self.counts.families["text"]  # type: ignore[return-value]

    @property
    def vocabulary(self) -> int:
        """|V|: the terms that take part under the rules; 0 in a model without text."""
        return int(self.scorer.vocabulary) if self.has_text else 0

    @property
    def scorer(self) -> _native.Scorer | _native.Weighted:
        """The weights under the rules, estimated when what they rest on has changed."""
        return self._scored_by()[0]

    @property
    def scored_terms(self) -> _native.Terms:
        """The counts that the scorer was estimated from: those of `terms`, and of unlabelled documents beside them."""
        return self._scored_by()[1]

    def _scored_by(self) -> tuple[_native.Scorer | _native.Weighted, _native.Terms]:
        rests_on = (self.counts.changes, self.calibration, self.collection)
        if self._estimated is None or self._estimated[0] != rests_on:
            if not self.counts.total:
                raise ModelError("the model has learned nothing yet; learn documents first")
            if not self.has_text:
                raise ModelError(f"the model has no text; its columns are {self.described_columns()}")
            scorer, terms = self._under([self.rules.smoothing])
            if isinstance(scorer, _native.Weighted):
                factors = self.calibration.factors if self.calibration else ()
                fitting = len(factors) == scorer.channels + (len(self.counts.families) > 1)
                scorer.fold(factors[: scorer.channels] if fitting else [1.0] * scorer.channels)
            self._estimated = (rests_on, scorer, terms)
        return self._estimated[1:]

    def _under(self, smoothings: Sequence[Smoothing]) -> tuple[_native.Scorer | _native.Weighted, _native.Terms]:
        """What scores words under a smoothing, or weighted words under several; and the counts that it rests on."""
        rules = replace(self.rules, smoothing=smoothings[0])
        if self.expected is not None and rules.events == "bernoulli":
            raise ModelError("a model of unlabelled documents takes no bernoulli events; choose others")
        held = self.gathered.held(self.counts, self.expected, self.collection, self.threads or default_threads())
        if not rules.log_odds:
            return m_estimates(held, self.counts, self.tokens, rules), held.terms
        totals = self.gathered.totals(held, self.tokens, rules)
        every = [smoothing.a * held.unit for smoothing in smoothings]
        rates = rules.events == "rates"
        return log_odds(totals, every, len(self.classes), pairs=rules.pairs, rates=rates), held.terms

    @property
    def cpds(self) -> Mapping[str, CPD]:
        """The distributions of the columns beside the text given the class."""
        return self._of_variables()[0]

    @property
    def dependence(self) -> Dependence | None:
        """How categorical columns lean on one another, if they do."""
        return self._of_variables()[1]

    def _of_variables(self) -> tuple[Mapping[str, CPD], Dependence | None]:
        """Both, estimated when the counts have changed."""
        if self._cpds is None or self._cpds[0] != self.counts.changes:
            if not self.counts.total:
                raise ModelError("the model has learned nothing yet; learn rows first")
            cpds: Mapping[str, CPD] = {}
            dependence = None
            if self.variables:
                from plausible.attributes import dependence_of, estimated

                cpds = estimated(self.counts, self.variables, self.rules)
                dependence = dependence_of(self.counts, cpds, self.rules)
            self._cpds = (self.counts.changes, cpds, dependence)
        return self._cpds[1:]

    @property
    def class_indices(self) -> list[int]:
        """The counts' index of each class, in the order of `classes`."""
        return [self.counts.index[name] for name in self.classes]

    def class_index(self, label: str) -> int:
        if label not in self.classes:
            raise CallError(unknown("class", label, self.classes))
        return self.counts.index[label]

    def described_columns(self) -> str:
        """What documents are made of, for messages."""
        kinds = [f"{variable.name} {variable.taken_as}" for variable in self.variables]
        return ", ".join((["text"] if self.has_text else []) + kinds)

    def log_prior(self) -> list[float]:
        """ln P(c) of each class, in the order of `classes`, in nats."""
        given = self.rules.log_prior(list(self.counts.index))
        if given:
            return [given[i] for i in self.class_indices]
        return [math.log(self.counts.documents[i] / self.documents) for i in self.class_indices]

    def scores(self, documents: Documents, threads: int | None = None) -> Scores:
        """ln P(class given document) of each document."""
        threads = threads or default_threads()
        return self._linked(self._scored(self._cells(documents), threads), threads=threads)

    def log_odds(self, documents: Documents, threads: int | None = None) -> Any:
        """ln of the link's softmax, without the tail that keeps probabilities from 0 and 1; for ranking."""
        return self._linked(
            self._scored(self._cells(documents), threads or default_threads()), tail=False
        ).log_posterior

    def scores_of(self, channels: Any, tokens: Any, known: Any, *, tail: bool = True) -> Scores:
        """Probabilities from the channels of documents: a block of classes, by the counts' index, for each channel."""
        import numpy as np

        width = len(self.counts.documents)
        blocks = np.asarray(channels).reshape(len(np.asarray(tokens)), -1, width)
        factors = self.calibration.factors if self.calibration else (1.0,) * blocks.shape[1]
        summed = np.ascontiguousarray(np.tensordot(blocks, factors, (1, 0)))
        return self._linked((summed, tokens, known), tail=tail, weighed=True)

    def scores_left_out(
        self, documents: Documents, labels: Labels, threads: int | None = None, weights: Any = None
    ) -> Scores:
        """The same for documents that were learned, each scored as if it had not been.

        Exact for every rule, in one pass: the document's own counts are taken away before it is scored. (The few
        numbers of the calibration stay.)
        """
        return self._by_prior_without(self._linked_left_out(documents, labels, threads, weights), labels, weights)

    def log_odds_left_out(
        self, documents: Documents, labels: Labels, threads: int | None = None, weights: Any = None
    ) -> Any:
        """`log_odds` of documents that were learned, each as if it had not been."""
        return self._linked_left_out(documents, labels, threads, weights, tail=False).log_posterior

    def _linked_left_out(
        self, documents: Documents, labels: Labels, threads: int | None, weights: Any, *, tail: bool = True
    ) -> Scores:
        raw, tokens, known = self._left_out(self._cells(documents, labels), labels, threads, weights)
        if not self.variables and not self.log_odds_of_words:
            return self._linked((raw, tokens, known), tail=tail)
        return self.scores_of(raw, tokens, known, tail=tail)

    def left_out_channels(
        self,
        documents: Documents,
        labels: Labels,
        threads: int | None = None,
        weights: Sequence[float] | None = None,
        smoothings: Sequence[Smoothing] = (),
    ) -> LeftOut:
        """What a calibration is fitted on.

        With `smoothings`, weighted words have their channels under each of them, one after the other.
        """
        import numpy as np

        raw, tokens, _ = self._left_out(self._cells(documents, labels), labels, threads, weights, smoothings)
        channels = np.asarray(raw).reshape(len(labels), -1, len(self.counts.documents))[:, :, self.class_indices]
        place = {name: k for k, name in enumerate(self.classes)}
        return LeftOut(channels, np.asarray(tokens), np.array([place[label] for label in names_of(labels)], np.int64))

    def _by_prior_without(self, scores: Scores, labels: Labels, weights: Any) -> Scores:
        """Give the documents that are answered by the prior the one that holds without them."""
        rows = set(scores.undefined)
        if not self.has_text or self.rules.events != "bernoulli":
            rows.update(i for i, terms in enumerate(memoryview(scores.known).tolist()) if not terms)
        if not rows:
            return scores
        given = self.log_prior() if self.rules.prior != "fractions" else None
        log_posterior: Any = memoryview(scores.log_posterior)
        best: Any = memoryview(scores.best)
        names = names_of(labels)
        for i in rows:
            own = 1 if weights is None else weights[i]
            left = [self.counts.of(name) - own * (name == names[i]) for name in self.classes]
            shares = [0.0 if not n else math.exp(given[k]) if given else n for k, n in enumerate(left)]
            whole = sum(shares)
            if not whole:
                raise DataError("without this document there is nothing to learn from; learn more documents")
            for k, share in enumerate(shares):
                log_posterior[i, k] = math.log(share / whole) if share else -math.inf
            best[i] = shares.index(max(shares))
        return scores

    def _scored(self, cells: Mapping[str, Any], threads: int) -> tuple[Any, Any, Any]:
        """Scores by the counts' index of the class, terms and cells, and those that are known."""
        text = self.scorer.score(self.tokens.prepare(cells["text"]), threads=threads) if self.has_text else None
        return joined(text, self.scores_of_columns(cells, threads) if self.variables else None, self.factors)

    def frozen(self, kept: _native.Kept, cells: Mapping[str, Any]) -> Callable[[int], Scores]:
        """What scores kept texts, and the cells beside them, by the weights as they are now.

        It takes the number of threads and reads nothing but what is kept, so the model may go on learning meanwhile.
        Its scores are without the tail of the calibration, for ranking.
        """
        weights, factors, classes, link = kept.weigh(self.scorer), self.factors, self.classes, self._link(tail=False)
        columns = self.scores_of_columns(cells, 1) if self.variables else None

        def scores(threads: int) -> Scores:
            raw, tokens, known = joined(kept.score(weights, threads), columns, factors)
            log_posterior, best, undefined = link(raw, tokens, known)
            return Scores(classes, log_posterior, best, tokens, known, undefined)

        return scores

    def _left_out(
        self,
        cells: Mapping[str, Any],
        labels: Labels,
        threads: int | None,
        weights: Any = None,
        smoothings: Sequence[Smoothing] = (),
    ) -> tuple[Any, Any, Any]:
        """The same without the document itself, for each channel of the calibration, side by side."""
        if self.expected is not None:
            raise ModelError(
                "a model of unlabelled documents has no exact leave-one-out: what is expected of them rests on every "
                "labelled document; test it on other documents"
            )
        threads = threads or default_threads()
        for label in labels.states if isinstance(labels, Coded) else dict.fromkeys(labels):
            self.class_index(label)
        own = self.counts.codes(labels)
        text: Any = None
        if self.has_text:
            prepared = self.tokens.prepare(cells["text"])
            try:
                times = [] if weights is None else [int(weight) for weight in weights]
                scorer = self._under(smoothings)[0] if smoothings else self.scorer
                text = scorer.score_without(prepared, memoryview(own).tolist(), threads=threads, times=times)
            except ValueError as error:
                raise DataError(f"{error}; learn it first") from None
        if not self.variables:
            return text  # type: ignore[no-any-return]
        import numpy as np

        scores, present, known = self.scores_of_columns(cells, threads, own, weights)
        if text is None:
            return scores, present, known
        both = np.concatenate([np.asarray(text[0]), scores], axis=1)
        return both, present + np.asarray(text[1]), known + np.asarray(text[2])

    def scores_of_columns(
        self, cells: Mapping[str, Any], threads: int, own: Any = None, weights: Any = None
    ) -> tuple[Any, Any, Any]:
        """What the columns beside the text say, with the prior if there is no text."""
        import numpy as np

        from plausible.attributes import Own, add_scores, prior_scores, rows_of

        rows = rows_of(cells, self.variables)
        left = None
        if own is not None:
            left = Own(np.asarray(own), np.ones(rows) if weights is None else np.asarray(weights, float))
        scores = np.empty((rows, len(self.counts.documents)))
        scores[:] = 0.0 if self.has_text else prior_scores(self.counts, self.rules, left)
        present, known = add_scores(scores, self.cpds, self.dependence, cells, left, threads)
        return scores, present, known

    def _cells(self, documents: Documents, labels: Labels | None = None) -> Mapping[str, Any]:
        """The cells of each attribute, checked, against the labels if there are some."""
        if isinstance(documents, str) or isinstance(labels, str):
            raise CallError("documents and labels must be lists, with one label a document")
        cells = documents if isinstance(documents, Mapping) else {"text": documents}
        if self.has_text:
            check_documents(cells.get("text", ()), labels)
        rows = len(cells["text"]) if self.has_text else None
        if self.variables:
            from plausible.attributes import rows_of

            rows = rows_of(cells, self.variables, rows)
        if labels is not None:
            check_labels(labels, rows or 0)
        return cells

    def _linked(
        self, scored: tuple[Any, Any, Any], *, tail: bool = True, weighed: bool = False, threads: int = 1
    ) -> Scores:
        """Probabilities from scores, which have the factors of the calibration already if they are `weighed`."""
        _, tokens, known = scored
        log_posterior, best, undefined = self._link(tail=tail, weighed=weighed, threads=threads)(*scored)
        return Scores(self.classes, log_posterior, best, tokens, known, undefined)

    def _link(
        self, *, tail: bool = True, weighed: bool = False, threads: int = 1
    ) -> Callable[[Any, Any, Any], tuple[Any, Any, Any]]:
        """What makes log probabilities of scores, terms and known terms, as it is now."""
        by_prior = self.calibration is not None or (self.has_text and self.rules.events != "bernoulli")
        link: dict[str, Any] = {"threads": threads}
        if self.calibration is not None:
            given = self.calibration
            one_channel = not (self.variables and self.has_text) and not self.log_odds_of_words
            link |= {
                "factor": given.factors[0] if one_channel and not weighed else 1.0,
                "power": given.power,
                "mean_log_length": given.mean_log_length,
                "tail": given.tail if tail else 0.0,
                "flat": given.flat,
                "bias": [given.bias.get(name, 0.0) for name in self.classes] if given.bias else [],
            }
        order, prior = self.class_indices, self.log_prior()
        return lambda raw, tokens, known: _native.log_posteriors(
            raw, order, prior, tokens, known=known if by_prior else None, **link
        )

    def sharpness(self, length: int) -> float:
        """What the calibration multiplies the scores of a document by, beside its factors."""
        if self.calibration is None:
            return 1.0
        away = -self.calibration.power * (math.log(max(length, 1)) - self.calibration.mean_log_length)
        return math.exp(min(max(away, -5.0), 5.0))

    @property
    def factors(self) -> tuple[float, float]:
        """What the calibration multiplies the scores of words and of columns by."""
        if self.calibration is None:
            return 1.0, 1.0
        return (1.0 if self.log_odds_of_words else self.calibration.factors[0]), self.calibration.factors[-1]

    def starts(self) -> dict[str, float]:
        """What each class starts with: ln P(c), or the calibration's bias where that replaces it."""
        if not self.log_odds_of_words:
            factor = self.factors[0 if self.has_text else 1]
            return {name: factor * start for name, start in zip(self.classes, self.log_prior(), strict=True)}
        bias = self.calibration.bias if self.calibration else {}
        return {name: bias.get(name, 0.0) for name in self.classes}


def _families(tokens: Tokens, columns: Columns) -> dict[str, Any]:
    families: dict[str, Any] = {"text": tokens.terms()} if columns.text else {}
    if columns.attributes:
        from plausible.attributes import family_of

        families |= {variable.name: family_of(variable) for variable in columns.attributes}
    if columns.paired:
        from plausible.dependence import Pairs

        families[PAIRS] = Pairs([families[name] for name in columns.paired])
    return families
