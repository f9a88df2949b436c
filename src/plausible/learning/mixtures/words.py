"""Documents as the sparse rows of a mixture of multinomials: what each of their terms counts.

    x_w = ½ ln(1 + f_w) r_w / ‖ln(1 + f) r‖,   r_w = ln((D + 1) / (d_w + ½))

A word that is repeated says little more each time, a word in most documents says little, a long document no more than a
short one: the masses of `docs/weighted.md`, with the rarity inside the norm. The half is there because words that come
together don't speak for a cluster independently; with whole counts EM is sure of every document at once and stays as it
began (deterministic annealing, Ueda and Nakano 1998, stopped at one temperature). See docs/hidden.md for the figures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible import _native
from plausible.errors import DataError
from plausible.learning.mixtures.moments import Array
from plausible.text import Tokens
from plausible.wording import quantity

PART, WHOLE = 0.5, 8.0
"""The norm of a document: where it begins, and where it is doubled no more."""
SURE = 0.8
"""The mean of the greatest shares below which documents are not told apart, and count for more."""
MOST = 0.5
"""A term in more than this share of the documents takes no part."""
LEAST = ((1000, 2), (10_000, 3))
"""Up to so many documents a term takes part if so many hold it; where there are more, it needs five."""


class Entries(NamedTuple):
    """Sparse rows: row i has features[starts[i]:starts[i + 1]], each so many times."""

    starts: NDArray[np.int64]
    features: NDArray[np.int32]
    times: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Words:
    """The terms that take part, the most frequent first, how rare each is, and the norm of a document."""

    tokens: Tokens
    terms: tuple[str, ...]
    rarity: Array
    part: float = PART

    def entries(self, bags: Bags, threads: int) -> Entries:
        """Documents over these terms; others are skipped."""
        raw = "".join(f"{term}\n" for term in self.terms).encode()
        starts, features, times = bags.native.rows_of(raw, threads)
        return self._weighed(starts, features, times, threads)

    def _weighed(self, starts: NDArray[np.int64], features: NDArray[np.int32], times: Array, threads: int) -> Entries:
        return Entries(starts, features, _native.weigh(starts, features, times, self.rarity, self.part, threads))

    @classmethod
    def of(cls, bags: Bags, name: str, stop: Iterable[str], threads: int) -> tuple[Words, Entries]:
        """What documents can be told apart by, and the documents so."""
        count = bags.native.size
        least = next((least for most, least in LEAST if count <= most), 5)
        raw, documents, starts, features, times = bags.native.rows(
            least, max(least, int(MOST * count)), sorted(bags.tokens.terms_of(stop)), threads
        )
        if not len(documents):
            raise DataError(
                f"{name}: no word is in at least {least} of {quantity(count, 'document')} and in at most half of them; "
                "there is nothing to tell clusters by"
            )
        words = cls(bags.tokens, tuple(raw.decode().split("\n")[:-1]), np.log((count + 1) / (documents + 0.5)))
        return words, words._weighed(starts, features, times, threads)


class Bags:
    """Documents as they come, cut into terms."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens, self.native = tokens, _native.Bags(*tokens._lengths)

    def add(self, texts: list[str], threads: int) -> None:
        self.native.add(self.tokens.prepare(texts), threads)


def beside(first: Entries, second: Entries, offset: int) -> Entries:
    """The entries of both in each row, features of the second numbered from `offset` on."""
    sizes = np.diff(first.starts), np.diff(second.starts)
    starts = first.starts + second.starts
    features = np.empty(len(first.features) + len(second.features), np.int32)
    times = np.empty(len(features), np.float32)
    places = (
        np.repeat(starts[:-1] - first.starts[:-1], sizes[0]) + np.arange(len(first.features)),
        np.repeat(starts[:-1] + sizes[0] - second.starts[:-1], sizes[1]) + np.arange(len(second.features)),
    )
    features[places[0]], features[places[1]] = first.features, second.features + offset
    times[places[0]], times[places[1]] = first.times, second.times
    return Entries(starts, features, times)
