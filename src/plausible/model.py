"""A model: counts, and the rules that make probabilities of them, which goes on learning.

The network is a star: the class, with a child for each column, of which the text, a bag of words, is one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from plausible.calibration import LeftOut
from plausible.cells import Labels, checked_weights
from plausible.columns import PAIRS
from plausible.errors import CallError, ModelError, PlausibleWarning
from plausible.scoring import Documents, Scoring, default_threads
from plausible.wording import quantity


class Model(Scoring):
    """A naive Bayes classifier of texts, of the rows of a table, or of rows with text.

    Parameters
    ----------
    tokens : Tokens
        What the terms of a text are; fixed, since the counts are of these terms.
    rules : Rules
        How counts become probabilities; `estimate` gives a model with other rules on the same counts.
    reading : Reading
        Which columns and headers take part, and what each column is.
    calibration : Calibration, optional
        How scores become probabilities; without one they are what the rules say, too sure of themselves.
    expected : Expected, optional
        What unlabelled documents are expected to be. They are weighed in where terms are scored, and nowhere else.
    collection : _native.Frequencies, optional
        How many documents of a larger collection hold each term (`_native.Kept.frequencies`), by which weighted words
        are rare instead of by the documents that were learned. It is no part of a model file.

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

    >>> from plausible.columns import Columns, Reading
    >>> from plausible.schema import Variable
    >>> columns = Columns((), "play", (Variable("wind"), Variable("degrees", "continuous")))
    >>> model = Model(reading=Reading(columns))
    >>> model.update({"wind": ["weak", "strong", None], "degrees": [25.0, 12.0, 14.0]}, ["yes", "no", "no"])
    >>> scores = model.scores({"wind": [None], "degrees": [11.0]})
    >>> scores.classes[memoryview(scores.best)[0]]
    'no'
    """

    def untrained(self) -> Model:
        """A model that reads and estimates like this one and has learned nothing."""
        return Model(self.tokens, self.rules, self.reading)

    def update(self, documents: Documents, labels: Labels, threads: int | None = None, weights: Any = None) -> None:
        """Go on learning; new words, states and classes may appear."""
        cells = self._cells(documents, labels)
        if self.has_text:
            if weights is not None:
                weights = checked_weights(weights, "weights", lambda i: f"row {i}", whole=True)
            cells = {**cells, "text": self.tokens.prepare(cells["text"])}
        paired = self.reading.columns.paired
        if paired:
            cells = {**cells, PAIRS: [cells[name] for name in paired]}
        self.threads = threads
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
        self.subtract(gone)

    def subtract(self, gone: Model) -> None:
        """Take away what another model has learned; DataError, and nothing changed, if it was never learned here."""
        self.counts.subtract(gone.counts)
        if self.expected is not None:
            warnings.warn(
                f"the expected classes of {quantity(self.expected.documents, 'unlabelled document')} stay as they "
                "were found with what is now forgotten; learn anew to have them without it",
                PlausibleWarning,
                stacklevel=3,
            )

    def merge(self, other: Model) -> None:
        """Add what another model has learned; exactly the result of learning everything here.

        What either expected of its unlabelled documents stays as it found it.
        """
        if self.has_text and other.has_text and other.tokens != self.tokens:
            raise ModelError(
                f"the models have different terms ({self.tokens} and {other.tokens}); learn one of them anew"
            )
        if self.reading.columns.pairs != other.reading.columns.pairs:
            raise ModelError(
                "one of the models counted columns two by two and the other did not; learn both with --model tan or "
                "aode, or both without"
            )
        if self.has_text != other.has_text or set(self.variables) != set(other.variables):
            raise ModelError(
                f"the models have different columns ({self.described_columns()}; {other.described_columns()}); "
                "learn one of them anew, with --as NAME=KIND where they differ"
            )
        self.counts.merge(other.counts)
        if other.expected is not None:
            self.counts.codes(list(other.expected.counts.index))
            self.expected = other.expected.plus(self.expected)

    def copy(self) -> Model:
        """A model with counts of its own."""
        other = self.untrained()
        other.calibration = self.calibration
        other.counts.merge(self.counts)
        other.expected = self.expected.plus(None) if self.expected else None
        other.collection = self.collection
        return other

    def regrouped(self, into: Mapping[str, str]) -> Model:
        """A model of coarser classes, with counts of its own: exactly as if it had learned the documents under them.

        >>> model = Model()
        >>> model.update(["sun", "haze", "rain"], ["good", "fair", "bad"])
        >>> model.regrouped({"good": "dry", "fair": "dry", "bad": "wet"}).counts.of("dry")
        2
        """
        for name in self.counts.index:
            if name not in into:
                raise CallError(f"class {name!r} has no group; name one for each class")
        other = self.untrained()
        other.counts.merge(self.counts, into)
        other.expected = self.expected.plus(None, into) if self.expected else None
        other.collection = self.collection
        return other

    def estimate(self, **changes: Any) -> Model:
        """A model with other rules on the same counts. Its calibration, if any, stays only if the events stay."""
        rules = replace(self.rules, **changes)
        if rules.dependence != "none" and not self.reading.columns.pairs:
            raise CallError(
                f"the model has not counted columns two by two, which {rules.dependence} needs; learn it with "
                f"--model {rules.dependence}"
            )
        same = all(getattr(rules, name) == getattr(self.rules, name) for name in ("events", "pairs", "dependence"))
        calibration = self.calibration if same else None
        return Model(self.tokens, rules, self.reading, self.counts, calibration, self.expected, self.collection)

    def uncalibrated(self) -> Model:
        """The same model with its probabilities as they come."""
        return Model(
            self.tokens, self.rules, self.reading, self.counts, expected=self.expected, collection=self.collection
        )

    def calibrate(
        self,
        documents: Documents,
        labels: Labels,
        threads: int | None = None,
        times: Sequence[float] | None = None,
        weights: Sequence[float] | None = None,
        known: LeftOut | None = None,
    ) -> None:
        """Fit the calibration on documents that were learned, each scored as if it had not been.

        With `times`, how much each of them counts in the fit; with `weights`, the weight that each was learned with.
        The first of them may be `known`: scored already.
        """
        from plausible import calibration
        from plausible.cells import taken

        first = len(known.truth) if known else 0
        last = max(min(len(labels), calibration.most_documents(len(self.classes))), first)
        if first < last or not known:
            cells, rows = self._cells(documents), range(first, last)
            rest = self.left_out_channels(
                {name: taken(column, rows) for name, column in cells.items()},
                taken(labels, rows),
                threads,
                None if weights is None else weights[first:last],
            )
            known = known.then(rest) if known else rest
        self.calibration = calibration.fit(
            known,
            self.classes,
            with_bias=self.log_odds_of_words,
            weights=None if times is None else times[:last],
        )

    def __repr__(self) -> str:
        return f"Model({quantity(self.documents, self.unit)}, {quantity(len(self.classes), 'class')})"


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
