"""`--model auto`: the event model, the smoothing and pairs of words, chosen by exact leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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

    Words that are damped and weighted are tried with every smoothing, then plain log-odds, and if these do better with
    every smoothing, too; then pairs of words, if they were counted. `weights` are those under which the documents were
    learned, `shares` how much each counts in what is compared.

    Returns
    -------
    list of Candidate
        All that were tried, in order; `model` has the rules of the best.
    """
    tried: list[Candidate] = []

    def trials(events: Events, *smoothings: float, pairs: bool = False) -> dict[float, Candidate]:
        options = [replace(model.rules, events=events, pairs=pairs, smoothing=Smoothing(a=a)) for a in smoothings]
        scored = _left_out(model, options, cells, labels, threads, weights, shares)
        found = [Candidate(rules, brier) for rules, (brier, _) in zip(options, scored, strict=True)]
        tried.extend(found)
        return dict(zip(smoothings, found, strict=True))

    found = trials("weighted", *ALL)
    plain = trials("odds", FIRST)
    if plain[FIRST].brier < found[FIRST].brier * (1 - MARGIN):
        found = plain | trials("odds", *(a for a in ALL if a != FIRST))
    best = min(found.values(), key=lambda candidate: candidate.brier)
    if model.tokens.ngrams[1] > 1:
        pairs = trials(best.rules.events, best.rules.smoothing.a, pairs=True)[best.rules.smoothing.a]
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
) -> LeftOut:
    """Give `model` the smoothing under which documents it has learned, each left out in turn, are told best.

    Returns
    -------
    LeftOut
        The first of the documents under that smoothing, for the calibration.
    """
    cells, labels = {name: column[:ENOUGH] for name, column in cells.items()}, labels[:ENOUGH]
    weights, shares = (None if of is None else of[:ENOUGH] for of in (weights, shares))
    options = [
        replace(model.rules, smoothing=replace(model.rules.smoothing, m=None, a=a))
        for a in SMOOTHINGS.get(model.rules.events, M_ESTIMATES)
    ]
    scored = _left_out(model, options, cells, labels, threads, weights, shares)
    (_, left), model.rules = min(zip(scored, options, strict=True), key=lambda one: one[0][0])
    return left


def _left_out(
    model: Model,
    options: Sequence[Rules],
    cells: Mapping[str, Any],
    labels: Sequence[str],
    threads: int | None,
    weights: Sequence[float] | None,
    shares: Sequence[float] | None,
) -> list[tuple[float, LeftOut]]:
    """The Brier score of calibrated probabilities of documents, each left out in turn, under rules that differ in the
    smoothing; and what it rests on."""
    one = Model(model.tokens, options[0], model.reading, model.counts)
    one.gathered = model.gathered
    if len(options) > 1 and not one.log_odds_of_words:
        given = cells, labels, threads, weights, shares
        return [_left_out(model, [rules], *given)[0] for rules in options]
    rows = range(min(len(labels), most_documents(len(one.classes) * len(options))))
    cells, labels = {name: taken(column, rows) for name, column in cells.items()}, taken(labels, rows)
    weights, shares = (None if of is None else of[: len(rows)] for of in (weights, shares))
    smoothings = [rules.smoothing for rules in options]
    every = one.left_out_channels(cells, labels, threads, weights, smoothings)
    channels = every.scores.shape[1]
    common = 1 if one.variables else 0
    each = (channels - common) // len(options)
    scored = []
    for k in range(len(options)):
        left = every.channels([*range(k * each, (k + 1) * each), *range(channels - common, channels)])
        found = fit(left, one.classes, with_bias=one.log_odds_of_words, weights=shares) or uncalibrated(each + common)
        brier = brier_score(found.probabilities(left.scores, left.lengths, one.classes), left.truth, shares)
        scored.append((brier, left))
    return scored


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
