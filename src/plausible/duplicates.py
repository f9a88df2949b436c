"""Near-duplicates among texts: the same pairs of words, nearly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from plausible import _native

NEAR = 0.8
"""Texts that share this much of their pairs of words (Jaccard) are near-duplicates."""
BANDS, ROWS = 16, 4

Hashes = npt.NDArray[np.uint64]

_FACTORS = 2 * np.arange(BANDS * ROWS, dtype=np.uint64) + np.uint64(1)
_STEPS = np.arange(BANDS * ROWS, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def first_of_each(texts: Sequence[str]) -> list[int]:
    """For each text the index of the first text that it nearly repeats, or its own.

    Candidates share one of 16 bands of 4 minimal hashes (Broder 1997); they are then compared in full.

    Examples
    --------
    >>> first_of_each(["the cat sat on the mat", "a dog barked", "The cat sat on the mat!"])
    [0, 1, 0]
    """
    firsts: list[int] = []
    kept: dict[int, Hashes] = {}
    held: dict[int, list[int]] = {}
    for i, text in enumerate(texts):
        mine = shingles(_native.tokens(text))
        keys = bands(mine)
        candidates = sorted({j for key in keys for j in held.get(key, ())})
        first = next((j for j in candidates if shared(kept[j], mine) >= NEAR), i)
        firsts.append(first)
        if first == i:
            kept[i] = mine
            for key in keys:
                held.setdefault(key, []).append(i)
    return firsts


def shingles(words: Sequence[str]) -> Hashes:
    """The different pairs of neighbouring words, hashed and sorted; of a single word the word."""
    hashes = np.fromiter(map(_hash, words), np.uint64, len(words))
    if len(hashes) > 1:
        one = hashes[:-1] * np.uint64(0x9E3779B97F4A7C15)
        hashes = (one ^ (one >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93) + hashes[1:]
        hashes ^= hashes >> np.uint64(29)
    return np.unique(hashes)


def bands(hashes: Hashes) -> list[int]:
    """The 16 bands of 4 minimal hashes each, as 64-bit numbers; near-duplicates most likely share one."""
    if not len(hashes):
        return [0]
    least = (hashes[:, None] * _FACTORS + _STEPS).min(axis=0).reshape(BANDS, ROWS)
    mixed = np.arange(BANDS, dtype=np.uint64)
    for row in least.T:
        mixed = (mixed ^ row) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
    found: list[int] = mixed.view(np.int64).tolist()
    return found


def shared(one: Hashes, other: Hashes) -> float:
    """The share of all shingles that both have (Jaccard)."""
    if not len(one) and not len(other):
        return 1.0
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)


@lru_cache(1 << 16)
def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
