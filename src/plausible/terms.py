"""The words of texts: from the counts of their terms to what scores them, under the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from plausible import _native
from plausible.counts import Counts
from plausible.priors import Rules
from plausible.text import Tokens

REST = 4.0
"""The evidence of the other classes is smoothed this much more than that of the class (chosen by leave-one-out)."""
LEAST_PAIRS = 2
"""Documents that a pair of words is seen in, or it does not take part."""
DAMPED: dict[str, Any] = {"raw": False, "spread": 0.5, "rarity": (0.5, 1.0)}
RAW: dict[str, Any] = {"raw": True, "spread": 0.0, "rarity": (0.0, 0.0)}


class Held(NamedTuple):
    """Counts of terms, documents of each class (both in parts of a document), and the threads that may read them."""

    terms: _native.Terms
    documents: list[int]
    unit: int = 1
    threads: int = 1


def m_estimates(held: Held, counts: Counts, tokens: Tokens, rules: Rules) -> _native.Scorer:
    """ln P(term | class) by the m-estimate, for multinomial and Bernoulli events."""
    return _native.Scorer(
        held.terms,
        held.documents,
        bernoulli=rules.events == "bernoulli",
        m=None if rules.smoothing.m is None else rules.smoothing.m * held.unit,
        a=rules.smoothing.a * held.unit,
        share=rules.smoothing.share,
        log_prior=rules.log_prior(list(counts.index)),
        min_count=rules.min_count * held.unit,
        drop_most_frequent=rules.drop_most_frequent,
        min_length=rules.min_length,
        stop=sorted(tokens.terms_of(rules.stop_words)),
        threads=held.threads,
    )


def log_odds(held: Held, counts: Counts, tokens: Tokens, rules: Rules, factors: Sequence[float]) -> _native.Weighted:
    """Weighted terms and odds, in channels: words, with more than two classes the others' words, and pairs.

    `factors` are those of the calibration, of which the columns beside the text may have one more; they are 1 where
    there are none for these channels.
    """
    a = rules.smoothing.a * held.unit
    channels = [(False, a, a)] if len(counts.classes) == 2 else [(False, a, 0.0), (False, 0.0, REST * a)]
    if rules.pairs:
        channels.append((True, a, a))
    style = RAW if rules.events == "odds" else DAMPED
    scorer = _native.Weighted(
        held.terms,
        held.documents,
        **(style | {"spread": 1.0} if rules.smoothing.share else style),
        least=(1, LEAST_PAIRS * held.unit),
        channels=channels,
        min_length=rules.min_length,
        stop=sorted(tokens.terms_of(rules.stop_words)),
        threads=held.threads,
    )
    fitting = len(factors) == len(channels) + (len(counts.families) > 1)
    scorer.fold(factors[: len(channels)] if fitting else [1.0] * len(channels))
    return scorer
