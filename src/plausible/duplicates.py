"""Near-duplicates among texts: the same pairs of words, nearly."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise

from plausible import _native

NEAR = 0.8
"""Texts that share this much of their pairs of words (Jaccard) are near-duplicates."""
BANDS, ROWS = 16, 4


def first_of_each(texts: Sequence[str]) -> list[int]:
    """For each text the index of the first text that it nearly repeats, or its own.

    Candidates share one of 16 bands of 4 minimal hashes (Broder 1997); they are then compared in full.

    Examples
    --------
    >>> first_of_each(["the cat sat on the mat", "a dog barked", "The cat sat on the mat!"])
    [0, 1, 0]
    """
    firsts: list[int] = []
    kept: dict[int, frozenset[int]] = {}
    bands: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for i, text in enumerate(texts):
        shingles = _shingles(text)
        signature = _signature(shingles)
        keys = [(band, signature[band * ROWS : (band + 1) * ROWS]) for band in range(BANDS)]
        candidates = sorted({j for key in keys for j in bands.get(key, ())})
        first = next((j for j in candidates if _jaccard(kept[j], shingles) >= NEAR), i)
        firsts.append(first)
        if first == i:
            kept[i] = shingles
            for key in keys:
                bands.setdefault(key, []).append(i)
    return firsts


def _shingles(text: str) -> frozenset[int]:
    words = _native.tokens(text)
    pairs = [f"{one} {other}" for one, other in pairwise(words)] or words
    return frozenset(int.from_bytes(blake2b(pair.encode(), digest_size=8).digest(), "big") for pair in pairs)


def _signature(shingles: frozenset[int]) -> tuple[int, ...]:
    return tuple(
        min(((shingle * (2 * k + 1) + 0x9E3779B97F4A7C15 * k) & (1 << 64) - 1 for shingle in shingles), default=0)
        for k in range(BANDS * ROWS)
    )


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    both = len(one | other)
    return len(one & other) / both if both else 1.0
