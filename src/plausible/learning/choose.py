"""`--model auto`: the event model, the smoothing and pairs of words, chosen by exact leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

from plausible.calibration import LeftOut, brier_score, fit, most_documents, uncalibrated
from plausible.cells import taken
from plausible.model import Model
from plausible.priors import Events, Rules, Smoothing

MARGIN = 0.01
"""A more complicated model must win by this share of the Brier score."""
FIRST, ALL = 0.1, (0.005, 0.02, 0.1, 0.3, 1.0)
SMOOTHINGS = {"weighted": (0.02, 0.1, 0.3), "odds": (0.02, 0.1, 0.3)}
M_ESTIMATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
ENOUGH = 500
"""Documents on which smoothings are compared."""
TRIED, FEWEST_TRIED = 2 << 20, 1000
"""Characters of the documents on which events are compared, too, and the fewest documents for that: with fewer, the
biases of many classes would tell more than the words."""


class Learned(NamedTuple):
    """Documents that were learned, under these weights, and how much each counts in what is compared."""

    cells: Mapping[str, Any]
    labels: Sequence[str]
    threads: int | None = None
    weights: Sequence[float] | None = None
    shares: Sequence[float] | None = None

    def first(self, number: int) -> Learned:
        if number >= len(self.labels):
            return self
        rows = range(number)
        cells = {name: taken(column, rows) for name, column in self.cells.items()}
        weights, shares = (None if of is None else of[:number] for of in (self.weights, self.shares))
        return Learned(cells, taken(self.labels, rows), self.threads, weights, shares)

    def few(self) -> Learned:
        """The first of them, which are enough to compare events."""
        read = accumulate(len(text) for text in self.cells["text"])
        return self.first(max(sum(characters <= TRIED for characters in read), FEWEST_TRIED))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that was tried: its rules, and the Brier score of left-out documents under it."""

    rules: Rules
    brier: float
    left: LeftOut

    def __str__(self) -> str:
        pairs = " with pairs" if self.rules.pairs else ""
        return f"{self.rules.events} a={self.rules.smoothing.a:g}{pairs}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The model that was chosen, and why.

    Attributes
    ----------
    model : Model
        With the counts of what takes part.
    known : LeftOut
        The first of the documents under its rules, for the calibration.
    tried : sequence of Candidate
        In order.
    best : Candidate
        The one that was chosen.
    """

    model: Model
    known: LeftOut
    tried: Sequence[Candidate]
    best: Candidate

    def __str__(self) -> str:
        others = ", ".join(f"{one} {one.brier:.4f}" for one in self.tried if one is not self.best)
        return f"chose {self.best}: Brier score {self.best.brier:.4f} of left-out documents (others: {others})"


def choose(model: Model, documents: Learned) -> Choice:
    """The rules that do best on documents that a model has learned, each left out in turn.

    Words that are damped and weighted are tried with every smoothing, then plain log-odds, and if these do better with
    every smoothing, too: by the first of the documents. Then, if pairs of words were counted beside words, the best of
    these is tried with them and without, by all documents.
    """
    shortest, longest = model.tokens.ngrams
    beside_words = shortest == 1 < longest
    words, few = without_pairs(model) if beside_words else model, documents.few()
    tried: dict[tuple[str, float], Candidate] = {}

    def trials(events: Events, *smoothings: float) -> None:
        every = [replace(model.rules, events=events, pairs=shortest > 1, smoothing=Smoothing(a=a)) for a in smoothings]
        tried.update(((events, one.rules.smoothing.a), one) for one in _candidates(words, every, few))

    trials("weighted", *ALL)
    trials("odds", FIRST)
    better: Events = "weighted"
    if tried["odds", FIRST].brier < tried["weighted", FIRST].brier * (1 - MARGIN):
        better = "odds"
        trials("odds", *(a for a in ALL if a != FIRST))
    name = min((name for name in tried if name[0] == better), key=lambda name: tried[name].brier)
    best, known = tried[name], tried[name].left
    pairs = []
    if beside_words:
        best, paired = _without_and_with_pairs(model, best.rules, documents)
        tried[name] = best
        pairs = [paired]
        if paired.brier < best.brier * (1 - MARGIN):
            words, best, known = model, paired, paired.left
    words.rules = best.rules
    return Choice(words, known, [*tried.values(), *pairs], best)


def choose_smoothing(model: Model, documents: Learned) -> LeftOut:
    """Give `model` the smoothing under which documents it has learned, each left out in turn, are told best.

    Returns
    -------
    LeftOut
        The first of the documents under that smoothing, for the calibration.
    """
    options = [
        replace(model.rules, smoothing=replace(model.rules.smoothing, m=None, a=a))
        for a in SMOOTHINGS.get(model.rules.events, M_ESTIMATES)
    ]
    best = min(_candidates(model, options, documents.first(ENOUGH)), key=lambda one: one.brier)
    model.rules = best.rules
    return best.left


def _candidates(model: Model, options: Sequence[Rules], documents: Learned) -> list[Candidate]:
    """Rules that differ in the smoothing; those of weighted words share one pass."""
    if len(options) > 1 and not _under(model, options[0]).log_odds_of_words:
        return [one for rules in options for one in _candidates(model, [rules], documents)]
    documents = documents.first(most_documents(len(model.classes) * len(options)))
    one, left = _left_out(model, options, documents)
    every, of_columns = left.scores.shape[1], 1 if model.variables else 0
    each = (every - of_columns) // len(options)
    channels = ([*range(k * each, (k + 1) * each), *range(every - of_columns, every)] for k in range(len(options)))
    return [_candidate(one, rules, left.channels(of), documents) for rules, of in zip(options, channels, strict=True)]


def _without_and_with_pairs(model: Model, rules: Rules, documents: Learned) -> tuple[Candidate, Candidate]:
    """Both from one pass: pairs are the last channel of the text, and those of words stay what they are."""
    documents = documents.first(most_documents(len(model.classes)))
    paired = replace(rules, pairs=True)
    one, left = _left_out(model, [paired], documents)
    every, of_columns = left.scores.shape[1], 1 if model.variables else 0
    of_words = left.channels([*range(every - of_columns - 1), *range(every - of_columns, every)])
    return _candidate(one, rules, of_words, documents), _candidate(one, paired, left, documents)


def _under(model: Model, rules: Rules) -> Model:
    one = Model(model.tokens, rules, model.reading, model.counts)
    one.gathered, one.threads = model.gathered, model.threads
    return one


def _left_out(model: Model, options: Sequence[Rules], documents: Learned) -> tuple[Model, LeftOut]:
    """The model under the rules, and the channels of all of them, of documents that are left out in turn."""
    one = _under(model, options[0])
    cells, labels, threads, weights, _ = documents
    smoothings = [rules.smoothing for rules in options]
    return one, one.left_out_channels(cells, labels, threads, weights, smoothings)


def _candidate(one: Model, rules: Rules, left: LeftOut, documents: Learned) -> Candidate:
    found = fit(left, one.classes, with_bias=one.log_odds_of_words, weights=documents.shares)
    found = found or uncalibrated(left.scores.shape[1])
    probabilities = found.probabilities(left.scores, left.lengths, one.classes)
    return Candidate(rules, brier_score(probabilities, left.truth, documents.shares), left)


def without_pairs(model: Model) -> Model:
    """The same rules with the counts of words only: what would have been counted without pairs."""
    from plausible.counts import Counts

    tokens: Any = replace(model.tokens, ngrams=(1, 1))
    families: Any = {**model.counts.families, "text": model.terms.words_only()}
    counts = Counts(families, dict(model.counts.index), list(model.counts.documents))
    words = Model(tokens, model.rules, model.reading, counts)
    words.threads = model.threads
    return words
