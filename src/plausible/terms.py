"""The words of texts: from the counts of their terms to what scores them, under the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from plausible import _native
from plausible.counts import Counts
from plausible.errors import ModelError
from plausible.priors import Rules
from plausible.text import Tokens

if TYPE_CHECKING:
    from plausible.expected import Expected

REST = 4.0
"""The evidence of the other classes is smoothed this much more than that of the class (chosen by leave-one-out)."""
LEAST_PAIRS = 2
"""Documents that a pair of words is seen in, or it does not take part."""
DAMPED: dict[str, Any] = {"raw": False, "spread": 0.5, "rarity": (0.5, 1.0)}
RAW: dict[str, Any] = {"raw": True, "spread": 0.0, "rarity": (0.0, 0.0)}
RATES: dict[str, Any] = {"raw": False, "spread": 0.5, "rarity": (1.5, 1.5), "rates": True}
STYLES = {"weighted": DAMPED, "odds": RAW, "rates": RATES}


class Held(NamedTuple):
    """Counts of terms, documents of each class (both in parts of a document), the threads that may read them, and the
    larger collection by which terms are rare, if there is one."""

    terms: _native.Terms
    documents: list[int]
    unit: int = 1
    threads: int = 1
    collection: _native.Frequencies | None = None


class Gathered:
    """What is scored, seen and expected, and what its terms add up to; kept until the counts change."""

    def __init__(self) -> None:
        self._of: tuple[int, Expected | None, _native.Frequencies | None] = (-1, None, None)
        self._held: Held
        self._totals: dict[object, _native.Totals] = {}

    def held(
        self, counts: Counts, expected: Expected | None, collection: _native.Frequencies | None, threads: int
    ) -> Held:
        if self._of[0] != counts.changes or self._of[1] is not expected or self._of[2] is not collection:
            self._of, self._totals = (counts.changes, expected, collection), {}
            if expected is None:
                terms: Any = counts.families["text"]
                self._held = Held(terms, [int(count) for count in counts.documents], 1, threads, collection)
            elif collection is not None:
                raise ModelError("a model of unlabelled documents counts them itself; leave out the collection")
            else:
                from plausible.expected import UNIT, together

                self._held = Held(*together(counts, expected), UNIT, threads)
        return self._held

    def totals(self, held: Held, tokens: Tokens, rules: Rules) -> _native.Totals:
        """For the channels of `log_odds`."""
        rests_on = (rules.events, rules.smoothing.share, rules.pairs, rules.min_length, rules.stop_words)
        if rests_on not in self._totals:
            style = STYLES[rules.events]
            self._totals[rests_on] = _native.Totals(
                held.terms,
                held.documents,
                **(style | {"spread": 1.0} if rules.smoothing.share else style),
                least=(1, LEAST_PAIRS * held.unit),
                grams=rules.pairs,
                collection=held.collection,
                min_length=rules.min_length,
                stop=sorted(tokens.terms_of(rules.stop_words)),
                threads=held.threads,
            )
        return self._totals[rests_on]


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


def log_odds(
    totals: _native.Totals, smoothings: Sequence[float], classes: int, *, pairs: bool, rates: bool
) -> _native.Weighted:
    """Weighted terms, odds and rates, in channels: words, the other classes' words where they are apart, and pairs; for
    each smoothing, one after the other."""
    channels = []
    for a in smoothings:
        rest = 0.0 if rates else a
        channels += [(False, a, rest)] if rates or classes == 2 else [(False, a, 0.0), (False, 0.0, REST * a)]
        if pairs:
            channels.append((True, a, rest))
    return _native.Weighted(totals, channels)
