"""Chance, from an explicit seed."""

from __future__ import annotations

from operator import index

import numpy as np

from plausible.errors import CallError


def generator(seed: int | np.random.Generator, *run: int) -> np.random.Generator:
    """Random numbers of a seed, and of each run of it others; a generator stays itself.

    >>> [int(generator(7, *run).integers(100)) for run in [(), (), (1,)]]
    [94, 94, 87]
    """
    if isinstance(seed, np.random.Generator):
        return seed
    checked = whole_seed(seed)
    return np.random.default_rng((checked, *run) if run else checked)


def whole_seed(seed: int) -> int:
    """The seed, or CallError for what is no whole number from 0 to 2⁶⁴ − 1."""
    try:
        if 0 <= index(seed) < 1 << 64:
            return index(seed)
    except TypeError:
        pass
    raise CallError(f"the seed is {seed!r}; it is a whole number from 0 to 2⁶⁴ − 1")
