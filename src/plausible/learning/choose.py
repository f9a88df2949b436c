"""`--model auto`: the event model, the smoothing and pairs of words, chosen by exact leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plausible.calibration import brier_score, fit, most_documents, uncalibrated
from plausible.cells import taken
from plausible.model import Model
from plausible.priors import Rules, Smoothing

MARGIN = 0.01
"""A more complicated model must win by this share of the Brier score."""
FIRST, LESS, MORE = 0.1, (0.02, 0.005), (0.3, 1.0)
SMOOTHINGS = {"weighted": (0.02, 0.1, 0.3), "odds": (0.02, 0.1, 0.3)}
M_ESTIMATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
ENOUGH = 1000
"""Documents on which smoothings are compared."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that was tried: its rules, and the Brier score of left-out documents under it."""

    rules: Rules
    brier: float


def choose(
    model: Model,
    cells: Mapping[str, Any],
    labels: Sequence[str],
    threads: int | None = None,
    weights: Sequence[float] | None = None,
    shares: Sequence[float] | None = None,
) -> list[Candidate]:
    """Give `model` the rules that do best on documents it has learned, each left out in turn.

    Words that are damped and weighted are tried first, then plain log-odds; of the better one more and less smoothing;
    then pairs of words, if they were counted. `weights` are those under which the documents were learned, `shares` how
    much each counts in what is compared.

    Returns
    -------
    list of Candidate
        All that were tried, in order; `model` has the rules of the best.
    """
    tried: list[Candidate] = []

    def trial(rules: Rules) -> Candidate:
        candidate = Candidate(rules, _left_out_brier(model, rules, cells, labels, threads, weights, shares))
        tried.append(candidate)
        return candidate

    base = replace(model.rules, events="weighted", pairs=False, smoothing=Smoothing(a=FIRST))
    best = trial(base)
    plain = trial(replace(base, events="odds"))
    if plain.brier < best.brier * (1 - MARGIN):
        best = plain
    for steps in (LESS, MORE):
        moved = False
        for a in steps:
            other = trial(replace(best.rules, smoothing=Smoothing(a=a)))
            if other.brier >= best.brier:
                break
            best, moved = other, True
        if moved:
            break
    if model.tokens.ngrams[1] > 1:
        pairs = trial(replace(best.rules, pairs=True))
        if pairs.brier < best.brier * (1 - MARGIN):
            best = pairs
    model.rules = best.rules
    return tried


def choose_smoothing(
    model: Model,
    cells: Mapping[str, Any],
    labels: Sequence[str],
    threads: int | None = None,
    weights: Sequence[float] | None = None,
    shares: Sequence[float] | None = None,
) -> None:
    """Give `model` the smoothing under which documents it has learned, each left out in turn, are told best."""
    cells, labels = {name: column[:ENOUGH] for name, column in cells.items()}, labels[:ENOUGH]
    weights, shares = (None if of is None else of[:ENOUGH] for of in (weights, shares))
    options = [
        replace(model.rules, smoothing=replace(model.rules.smoothing, m=None, a=a))
        for a in SMOOTHINGS.get(model.rules.events, M_ESTIMATES)
    ]
    model.rules = min(options, key=lambda rules: _left_out_brier(model, rules, cells, labels, threads, weights, shares))


def _left_out_brier(
    model: Model,
    rules: Rules,
    cells: Mapping[str, Any],
    labels: Sequence[str],
    threads: int | None,
    weights: Sequence[float] | None,
    shares: Sequence[float] | None,
) -> float:
    """The Brier score of calibrated probabilities of documents, each left out in turn."""
    one = Model(model.tokens, rules, model.reading, model.counts)
    rows = range(min(len(labels), most_documents(len(one.classes))))
    cells, labels = {name: taken(column, rows) for name, column in cells.items()}, taken(labels, rows)
    weights, shares = (None if of is None else of[: len(rows)] for of in (weights, shares))
    scores, lengths, truth = one.left_out_channels(cells, labels, threads, weights)
    found = fit(scores, lengths, truth, one.classes, with_bias=one.log_odds_of_words, weights=shares)
    found = found or uncalibrated(scores.shape[1])
    return brier_score(found.probabilities(scores, lengths, one.classes), truth, shares)


def said(tried: list[Candidate]) -> str:
    """What was chosen and why, in a line."""

    def name(rules: Rules) -> str:
        return f"{rules.events} a={rules.smoothing.a:g}" + (" with pairs" if rules.pairs else "")

    best = min(tried, key=lambda candidate: candidate.brier)
    others = ", ".join(f"{name(one.rules)} {one.brier:.4f}" for one in tried if one is not best)
    return f"chose {name(best.rules)}: Brier score {best.brier:.4f} of left-out documents (others: {others})"


def without_pairs(model: Model) -> Model:
    """The same model with the counts of words only: what would have been counted without pairs."""
    from plausible.counts import Counts

    tokens: Any = replace(model.tokens, ngrams=(1, 1))
    families: Any = {**model.counts.families, "text": model.terms.words_only()}
    counts = Counts(families, dict(model.counts.index), list(model.counts.documents))
    words = Model(tokens, model.rules, model.reading, counts, model.calibration)
    words.choice = model.choice
    return words
