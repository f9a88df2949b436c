"""What a class is known by: the words and values that set it apart from the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plausible.counts import whole
from plausible.errors import CallError, unknown
from plausible.model import Model


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or a value of a column (as column=value), that a class is known by.

    `score` is P(w given c) ln(P(w given c) / P(w given the other classes)), in nats: the word's share of the divergence
    between the class and the rest.
    """

    term: str
    probability: float
    ratio: float
    seen: float
    seen_elsewhere: float
    score: float


def words(model: Model, label: str, top: int = 20) -> list[Word]:
    """The words and values that set a class apart, most telling first. Numbers have none."""
    if label not in model.classes:
        raise CallError(unknown("class", label, model.classes))
    found = _telling_words(model, label, top) if model.has_text else []
    if model.variables:
        from plausible.attributes import state_counts

        for name, states, seen, elsewhere in state_counts(model.cpds, model.class_index(label)):
            smoothing = model.rules.smoothing_of(name)
            m = smoothing.a * len(states) if smoothing.m is None else smoothing.m
            terms = [f"{name}={state}" for state in states]
            found += _telling(terms, seen, elsewhere, (seen.sum(), elsewhere.sum()), m, 1 / len(states), top)
    return sorted(found, key=lambda word: (-word.score, -word.seen))[:top]


def _telling_words(model: Model, label: str, top: int) -> list[Word]:
    import numpy as np

    from plausible.arrays import TermArrays

    arrays = TermArrays.of(model, within=True)
    documents = model.rules.events == "bernoulli"
    cells = arrays.documents if documents else arrays.occurrences
    own = arrays.labels == model.classes.index(label)
    rows = np.repeat(np.arange(len(arrays.terms)), arrays.sizes)
    seen = np.bincount(rows[own], cells[own], minlength=len(arrays.terms))
    elsewhere = np.bincount(rows[~own], cells[~own], minlength=len(arrays.terms))
    smoothing, share = model.rules.smoothing, np.array(0.5)
    if documents:
        sizes = (model.counts.of(label), model.documents - model.counts.of(label))
    else:
        sizes = (seen.sum(), elsewhere.sum())
        share = (seen + elsewhere) / max(sum(sizes), 1) if smoothing.share else np.array(1 / max(len(seen), 1))
    m = smoothing.a * (2 if documents else len(seen)) if smoothing.m is None else smoothing.m
    return _telling(arrays.terms, seen, elsewhere, sizes, m, share, top)


def _telling(
    terms: Sequence[str], seen: Any, elsewhere: Any, sizes: tuple[float, float], m: float, share: Any, top: int
) -> list[Word]:
    """The terms with the largest scores, by the m-estimate of their counts in a class and in all others."""
    import numpy as np

    inside, outside = ((n_c + m * share) / max(n + m, 1e-300) for n_c, n in zip((seen, elsewhere), sizes, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(inside > 0, inside * np.log(inside / outside), 0)
    chosen = np.lexsort((np.arange(len(score)), -seen, -score))[:top]
    return [
        Word(
            terms[i],
            float(inside[i]),
            float(inside[i] / outside[i]) if outside[i] else math.inf,
            whole(seen[i]),
            whole(elsewhere[i]),
            float(score[i]),
        )
        for i in chosen
    ]
