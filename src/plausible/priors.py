"""From counts to probabilities: the rules, and the m-estimate that they all are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from plausible.errors import CallError

Events = Literal["multinomial", "bernoulli"]


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

    `m` is the equivalent sample size; None is Laplace's rule, one more of everything: m = |V| for multinomial
    events, m = 2 for Bernoulli events, m = the number of states for categories. With `share`, the prior of a term is
    its share of the whole collection, not 1/|V|.

    Examples
    --------
    >>> Smoothing.parse("laplace"), Smoothing.parse("m=100"), Smoothing.parse("mle")
    (Smoothing(m=None, share=False), Smoothing(m=100.0, share=False), Smoothing(m=0.0, share=False))
    >>> str(Smoothing.parse("m=2.5,share"))
    'm=2.5,share'
    """

    m: float | None = None
    share: bool = False

    def __post_init__(self) -> None:
        if self.m is not None and not (self.m >= 0 and math.isfinite(self.m)):
            raise CallError(f"m must be a number that is not negative, not {self.m!r}")

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
            if rule.startswith("m="):
                try:
                    return cls(m=float(rule[2:]), share=share)
                except ValueError:
                    pass
        raise CallError(f"smoothing {text!r}: use laplace, mle, m=X, or m=X,share (such as m=100)")

    def __str__(self) -> str:
        rule = "laplace" if self.m is None else "mle" if self.m == 0 else f"m={self.m:g}"
        return rule + (",share" if self.share else "")


@dataclass(frozen=True)
class Rules:
    """Everything that is applied when probabilities are estimated, and never to the counts.

    Parameters
    ----------
    events : "multinomial" or "bernoulli"
        Whether each occurrence of a word counts, or each document that holds it (McCallum and Nigam 1998).
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
        Leave out these terms.
    """

    events: Events = "multinomial"
    smoothing: Smoothing = field(default_factory=Smoothing)
    prior: Literal["fractions", "uniform"] | Mapping[str, float] = "fractions"
    drop_most_frequent: int = 0
    min_count: int = 1
    min_length: int = 1
    stop_words: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.events not in ("multinomial", "bernoulli"):
            raise CallError(f"events {self.events!r}: use multinomial or bernoulli")
        for name, least in (("drop_most_frequent", 0), ("min_count", 1), ("min_length", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise CallError(f"{name} must be a whole number of at least {least}, not {value!r}")
        if isinstance(self.prior, str):
            if self.prior not in ("fractions", "uniform"):
                raise CallError(f"prior {self.prior!r}: use fractions, uniform, or a probability for each class")
        elif not all(p > 0 for p in self.prior.values()) or not math.isclose(sum(self.prior.values()), 1, abs_tol=1e-6):
            raise CallError("the prior of each class must be above 0, and their sum 1")

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
