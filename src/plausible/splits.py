"""Which documents are tested: random shares and folds, stratified by class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from plausible.cells import Batch
from plausible.chance import generator
from plausible.errors import DataError

Integers = npt.NDArray[np.int64]


def choose(labels: Sequence[str], share: float, seed: int) -> Integers:
    """1 for each document that is tested: the share of each class, and of all documents to within one."""
    tested = np.zeros(len(labels), np.int64)
    before = chosen = 0
    for documents in _by_class(labels, seed):
        before += len(documents)
        take = round(before * share) - chosen
        tested[documents[:take]] = 1
        chosen += take
    return tested


def folds(labels: Sequence[str], parts: int, seed: int) -> Integers:
    """For each document the fold that it is tested in; folds and their classes differ in size by at most one."""
    fold_of = np.zeros(len(labels), np.int64)
    start = 0
    for documents in _by_class(labels, seed):
        fold_of[documents] = (start + np.arange(len(documents))) % parts
        start += len(documents)
    return fold_of


def _by_class(labels: Sequence[str], seed: int) -> Iterator[Integers]:
    """The documents of each class in a random order."""
    random = generator(seed)
    names, index = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
    for k in range(len(names)):
        yield random.permutation(np.flatnonzero(index == k))


class Parts:
    """Takes the documents of a part out of the batches of a pass, in the order in which labels were read."""

    def __init__(self, part_of: Integers) -> None:
        self._part_of = part_of
        self._next = 0

    def of(self, batch: Batch, part: int) -> Batch:
        return batch.take(np.flatnonzero(self._take(batch) == part).tolist())

    def each(self, batch: Batch, parts: int) -> list[Batch]:
        here = self._take(batch)
        return [batch.take(np.flatnonzero(here == part).tolist()) for part in range(parts)]

    def _take(self, batch: Batch) -> Integers:
        here = self._part_of[self._next : self._next + len(batch)]
        if len(here) < len(batch):
            raise DataError("the source has changed between two passes; evaluate it when it is at rest")
        self._next += len(batch)
        return here
