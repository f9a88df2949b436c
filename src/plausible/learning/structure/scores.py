"""Scores of structures: each is a sum over families, higher is better, natural logarithms.

Combinations of the parents' states that never occur add nothing to any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.counting import Families, Tables
from plausible.errors import CallError, unknown

Scores = npt.NDArray[np.float64]
Score = Callable[[Tables], Scores]


def k2(tables: Tables) -> Scores:
    """Every set of tables is equally likely beforehand: Cooper and Herskovits 1992, eq. 8 (their g)."""
    return _native.dirichlets(tables.cells, tables.starts, tables.states, np.ones(len(tables.states)))


def bdeu(tables: Tables, sample_size: float = 1.0) -> Scores:
    """Imaginary cases spread evenly over each table: Heckerman, Geiger and Chickering 1995, eq. 28, 42."""
    priors = np.divide(sample_size, tables.sizes)
    return _native.dirichlets(tables.cells, tables.starts, tables.states, priors)


def bdeu_sparse(tables: Tables, sample_size: float = 1.0) -> Scores:
    """BDeu, and each arc is there with odds of 1 to the number of other variables (Buntine 1991, section 3.2)."""
    scores: Scores = bdeu(tables, sample_size) - log(max(tables.variables - 1, 1)) * tables.parents
    return scores


def bic(tables: Tables) -> Scores:
    """Log-likelihood less ln(rows)/2 a parameter: Schwarz 1978. As MDL: Lam and Bacchus 1994."""
    return _likelihood(tables) - log(max(tables.rows, 1)) / 2 * tables.parameters


def aic(tables: Tables) -> Scores:
    """Log-likelihood less 1 a parameter: Akaike 1974."""
    return _likelihood(tables) - tables.parameters


def _likelihood(tables: Tables) -> Scores:
    return _native.likelihoods(tables.cells, tables.starts, tables.states)


SCORES: Mapping[str, Score] = {"k2": k2, "bdeu": bdeu, "bdeu-sparse": bdeu_sparse, "bic": bic, "aic": aic}


def named_score(name: str | Score) -> Score:
    """The score of that name; "bdeu:10" is BDeu with 10 imaginary cases.

    >>> named_score("bic:3")
    Traceback (most recent call last):
    plausible.errors.CallError: the score 'bic' takes no number; write 'bic'
    """
    if callable(name):
        return name
    stem, colon, given = name.partition(":")
    if stem not in SCORES:
        raise CallError(unknown("score", stem, SCORES))
    if not colon:
        return SCORES[stem]
    if not stem.startswith("bdeu"):
        raise CallError(f"the score {stem!r} takes no number; write {stem!r}")
    try:
        sample_size = float(given)
    except ValueError:
        sample_size = -1.0
    if not 0 < sample_size < float("inf"):
        raise CallError(f"the equivalent sample size of BDeu is {given!r}; it is a number above 0, as in bdeu:10")
    return partial(bdeu if stem == "bdeu" else bdeu_sparse, sample_size=sample_size)


def family(own: Sequence[int], child: int) -> Families:
    """The one family of a child and its parents."""
    return np.array([[-1, *own, child]], dtype=np.int32)


def wider(own: Sequence[int], more: Sequence[int] | npt.NDArray[np.integer[Any]], child: int) -> Families:
    """The families of a child with one parent more, the new ones first: so their counting is shared."""
    return changed(own, more, (), child)[: len(more)]


def narrower(own: Sequence[int], less: Sequence[int], child: int) -> Families:
    """The families of a child with one parent less."""
    return changed(own, (), less, child)[: len(less)]


def changed(
    own: Sequence[int], more: Sequence[int] | npt.NDArray[np.integer[Any]], less: Sequence[int], child: int
) -> Families:
    """The families with one parent more, then those with one parent less, then the family as it is."""
    wide = len(more)
    families = np.empty((wide + len(less) + 1, len(own) + 2), dtype=np.int32)
    families[:] = (-1, *own, child)
    families[:wide, 0] = more
    for at, x in enumerate(less, wide):
        families[at, own.index(x) + 1] = -1
    return families


def abreast(groups: Sequence[Families]) -> Families:
    """All families of groups of several widths, at the widest."""
    if len(groups) == 1:
        return groups[0]
    width = max(group.shape[1] for group in groups)
    families = np.full((sum(map(len, groups)), width), -1, dtype=np.int32)
    at = 0
    for group in groups:
        own = families[at : at + len(group)]
        own[:, 0] = group[:, 0]
        own[:, width - group.shape[1] + 1 :] = group[:, 1:]
        at += len(group)
    return families
