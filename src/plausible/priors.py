"""From counts to probabilities: the rules, and the m-estimate that they all are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from plausible.errors import CallError

Events = Literal["multinomial", "bernoulli", "weighted", "odds", "rates"]
Dependence = Literal["none", "tan", "aode"]
Numbers = Literal["normal", "student"]


SMALLEST = 1e-200
"""Less smoothing than this is refused: n / (m p) would be out of reach of a double for some n and p."""


def m_estimate(n_c: float, n: float, p: float, m: float) -> float:
    """(n_c + m p) / (n + m): Mitchell 1997, eq. 6.22, after Cestnik 1990.

    Parameters
    ----------
    n_c, n : float
        Examples with the value, and all examples.
    p : float
        The prior estimate of the value.
    m : float
        The equivalent sample size: how many examples the prior is worth. 0 gives the fraction.

    Examples
    --------
    Ten positive examples, 4 small, 0 medium, 6 large, with m = 1 and p = 1/3:

    >>> [round(m_estimate(n_c, 10, 1 / 3, 1), 3) for n_c in (4, 0, 6)]
    [0.394, 0.03, 0.576]
    """
    if not (m >= 0 and math.isfinite(m)):
        raise CallError(f"m must be a number that is not negative, not {m!r}")
    if n + m == 0:
        raise CallError("with no examples and m = 0 the estimate is 0/0; choose m > 0")
    return (n_c + m * p) / (n + m)


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How far probabilities are drawn to the prior.

    Parameters
    ----------
    m : float, optional
        The equivalent sample size.
    a : float
        What is added to every count, if m is not given: m = a |V| for multinomial events, m = 2 a for Bernoulli events,
        a times the number of states for categories. 1 is Laplace's rule.
    share : bool
        The prior of a term is its share of the whole collection, not 1/|V|: of all occurrences, or with weighted events
        and odds of all documents.

    Examples
    --------
    >>> Smoothing.parse("laplace"), Smoothing.parse("mle")
    (Smoothing(m=None, a=1.0, share=False), Smoothing(m=0.0, a=1.0, share=False))
    >>> str(Smoothing.parse("m=2.5,share")), str(Smoothing.parse("a=0.1"))
    ('m=2.5,share', 'a=0.1')
    """

    m: float | None = None
    a: float = 1.0
    share: bool = False

    def __post_init__(self) -> None:
        for name, value in (("m", self.m), ("a", self.a)):
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise CallError(f"{name} must be a number that is not negative, not {value!r}")
            if value is not None and 0 < value < SMALLEST:
                raise CallError(f"{name} = {value!r} can't be told from 0; choose mle, or at least {SMALLEST:g}")
        if self.m is not None and self.a != 1:
            raise CallError("m and a are two ways to say the same; give one of them")
        if self.m == 0 or self.a == 0:
            if self.share:
                raise CallError("without smoothing no prior takes part; leave out share, or choose m > 0")
            object.__setattr__(self, "m", 0.0)
            object.__setattr__(self, "a", 1.0)

    @classmethod
    def parse(cls, text: str | Smoothing) -> Smoothing:
        if isinstance(text, Smoothing):
            return text
        rule, *more = text.split(",")
        if more in ([], ["share"]):
            share = bool(more)
            if rule == "laplace":
                return cls(share=share)
            if rule == "mle" and not share:
                return cls(m=0.0)
            name, _, number = rule.partition("=")
            value = _number(number)
            if name in ("m", "a") and value is not None:
                return cls(m=value, share=share) if name == "m" else cls(a=value, share=share)
        raise CallError(
            f"smoothing {text!r}: use laplace, mle, m=X, a=X, or one of these with ,share (such as m=100,share)"
        )

    def __str__(self) -> str:
        if self.m is None:
            rule = "laplace" if self.a == 1 else f"a={_shown(self.a)}"
        else:
            rule = "mle" if self.m == 0 else f"m={_shown(self.m)}"
        return rule + (",share" if self.share else "")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _shown(value: float) -> str:
    """To the last digit, so that it can be read back."""
    return f"{value!r}".removesuffix(".0")


@dataclass(frozen=True)
class Rules:
    """Everything that is applied when probabilities are estimated, and never to the counts.

    Parameters
    ----------
    events : "multinomial", "bernoulli", "weighted", "odds" or "rates"
        Whether each occurrence of a word counts, or each document that holds it (McCallum and Nigam 1998). "weighted"
        damps and normalises the occurrences within a document, weighs rare words higher and adds the evidence of the
        other classes (after Rennie et al. 2003; docs/weighted.md); "odds" only adds that evidence. "rates" compares
        what the classes have seen of a word per document, for few documents.
    pairs : bool
        Whether n-grams of words take part in weighted events and odds, if they were counted.
    smoothing : Smoothing
    prior : "fractions", "uniform" or mapping of class to probability
        Of the classes.
    drop_most_frequent : int
        Leave out this many of the most frequent terms.
    min_count : int
        Leave out terms seen less often than this in the whole collection.
    min_length : int
        Leave out terms of fewer characters than this; characters of unspaced scripts stay.
    stop_words : frozenset of str
        Leave out the terms that these words become.
    by_column : mapping of str to Smoothing
        Of categorical columns that have a smoothing of their own.
    numbers : "normal" or "student"
        Of a continuous column the normal distribution with each class's own mean and variance; or Student's t, which
        reckons with what is not known of them (see `moments.Normal`).
    floor : float
        No class has a variance of a continuous column below this share of the column's.
    dependence : "none", "tan" or "aode"
        Whether categorical columns lean on one another within a class, in a tree or each in turn on one; needs counts
        of pairs of columns (see `dependence.py`).
    pair_m : float
        There the equivalent sample size of P(x | c) as the prior of P(x | c, y).
    """

    events: Events = "multinomial"
    pairs: bool = False
    smoothing: Smoothing = field(default_factory=Smoothing)
    prior: Literal["fractions", "uniform"] | Mapping[str, float] = "fractions"
    drop_most_frequent: int = 0
    min_count: int = 1
    min_length: int = 1
    stop_words: frozenset[str] = frozenset()
    by_column: Mapping[str, Smoothing] = field(default_factory=dict)
    numbers: Numbers = "normal"
    floor: float = 1e-9
    dependence: Dependence = "none"
    pair_m: float = 5.0

    def __post_init__(self) -> None:
        if self.dependence not in get_args(Dependence):
            raise CallError(f"dependence {self.dependence!r}: use {', '.join(get_args(Dependence))}")
        if self.numbers not in get_args(Numbers):
            raise CallError(f"numbers {self.numbers!r}: use {', '.join(get_args(Numbers))}")
        if not SMALLEST <= self.pair_m < math.inf:
            raise CallError(f"pair_m must be a number above 0, not {self.pair_m!r}")
        if not 0 < self.floor <= 1:
            raise CallError(f"the floor of variances is a share above 0 and at most 1, not {self.floor!r}")
        if self.events not in get_args(Events):
            raise CallError(f"events {self.events!r}: use {', '.join(get_args(Events))}")
        if self.log_odds and (self.smoothing.m is not None or not self.smoothing.a > 0):
            raise CallError(
                f"smoothing {self.smoothing}: {self.events} events take laplace or a=X with X above 0; "
                "multinomial events take any"
            )
        if self.log_odds and (self.drop_most_frequent or self.min_count > 1 or self.prior != "fractions"):
            raise CallError(
                f"{self.events} events weigh words and classes themselves; drop_most_frequent, min_count and prior go "
                "with multinomial and bernoulli events"
            )
        for name, least in (("drop_most_frequent", 0), ("min_count", 1), ("min_length", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value < 1 << 63:
                raise CallError(f"{name} must be a whole number of at least {least}, not {value!r}")
        if isinstance(self.prior, str):
            if self.prior not in ("fractions", "uniform"):
                raise CallError(f"prior {self.prior!r}: use fractions, uniform, or a probability for each class")
        elif not all(p > 0 for p in self.prior.values()) or not math.isclose(sum(self.prior.values()), 1, abs_tol=1e-6):
            raise CallError("the prior of each class must be above 0, and their sum 1")

    @property
    def log_odds(self) -> bool:
        """Whether words speak for a class against the others, and not by their probability in it."""
        return self.events in ("weighted", "odds", "rates")

    def smoothing_of(self, column: str) -> Smoothing:
        """Of a categorical column; where the smoothing is made for weighted words, Laplace's rule."""
        return self.by_column.get(column, Smoothing() if self.log_odds else self.smoothing)

    def log_prior(self, classes: list[str]) -> list[float]:
        """ln P(c) of each class where it is not the fraction of documents; else empty."""
        if self.prior == "fractions":
            return []
        if self.prior == "uniform":
            return [-math.log(len(classes))] * len(classes)
        missing = [name for name in classes if name not in self.prior]
        if missing:
            raise CallError(f"the prior names no probability for class {missing[0]!r}")
        return [math.log(self.prior[name]) for name in classes]


def parsed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `Rules` whose values may still be words, such as smoothing="m=100"."""
    out = dict(given)
    if "smoothing" in out:
        out["smoothing"] = Smoothing.parse(out["smoothing"])
    if "by_column" in out:
        out["by_column"] = {name: Smoothing.parse(rule) for name, rule in out["by_column"].items()}
    if "stop_words" in out:
        out["stop_words"] = frozenset(out["stop_words"])
    return out
