"""Documents in order of a class, as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from plausible.errors import CallError
from plausible.model import Model
from plausible.scores import difference
from plausible.scoring import Documents


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document's place in a ranking.

    `score` is the log-odds of the class in nats, for a length like that of the documents learned; None where the
    document has no known term. `probability` is calibrated.
    """

    index: int
    score: float | None
    probability: float


def rank(
    model: Model,
    documents: Documents,
    label: str,
    *,
    top: float | int | None = None,
    threads: int | None = None,
) -> list[Ranked]:
    """Documents by how much speaks for a class, most first.

    The posterior saturates at 0 and 1, so documents are ranked by length-normalised log-odds: those of the calibration
    or, without one, the log-odds divided by the number of known terms. (Rows without text are not divided.) Documents
    without a known term come last.

    Parameters
    ----------
    top : float or int, optional
        Give only this share (below 1) or this many of them.
    """
    model.class_index(label)
    scores = model.scores(documents, threads)
    column = scores.classes.index(label)
    probabilities, log_odds = memoryview(scores.log_posterior), memoryview(model.log_odds(documents, threads))
    known = memoryview(scores.known).tolist()
    ranked = []
    for i, terms in enumerate(known):
        own = log_odds[i, column]
        odds = difference(own, _log_sum([log_odds[i, k] for k in range(len(scores.classes)) if k != column]))
        if model.calibration is None and terms and model.has_text:
            odds /= terms
        ranked.append(Ranked(i, odds if terms else None, math.exp(probabilities[i, column])))
    ranked.sort(key=lambda one: (one.score is None, -(one.score or 0.0), one.index))
    return ranked[: how_many(top, len(ranked))]


def how_many(top: float | int | None, all_of_them: int) -> int:
    """The number that `top` means: a share of all (rounded up), or a number."""
    if top is None:
        return all_of_them
    if not top > 0:
        raise CallError(f"top must be above 0, not {top}")
    return math.ceil(top * all_of_them - 1e-9) if isinstance(top, float) and top < 1 else int(top)


def _log_sum(values: list[float]) -> float:
    most = max(values, default=-math.inf)
    return most if most == -math.inf else most + math.log(sum(math.exp(value - most) for value in values))
