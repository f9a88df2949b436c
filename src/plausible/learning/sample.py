"""A sample of a stream of documents that does not depend on their order."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from hashlib import blake2b

SIZE = 4000
LARGEST = 64 << 20
"""Characters that the sample holds at the most."""


class Sample:
    """The documents whose hash is least: the same ones, in the same order, however the stream is cut or shuffled.

    Examples
    --------
    >>> one, other = Sample(2), Sample(2)
    >>> one.add(["a", "b", "c"], ["x", "y", "x"])
    >>> other.add(["c", "a"], ["x", "x"])
    >>> other.add(["b"], ["y"])
    >>> one.documents() == other.documents()
    True
    """

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._kept: list[tuple[int, str, str]] = []  # the largest hash first: hashes are negative
        self._characters = 0

    def add(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        kept, size = self._kept, self._size
        for text, label in zip(texts, labels, strict=True):
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7, key=label.encode("utf-8")[:64])
            entry = (-int.from_bytes(digest.digest(), "big"), text, label)
            if len(kept) < size:
                heapq.heappush(kept, entry)
            elif entry > kept[0]:
                self._characters -= len(heapq.heapreplace(kept, entry)[1])
            else:
                continue
            self._characters += len(text)
            while self._characters > LARGEST and len(kept) > 1:
                self._characters -= len(heapq.heappop(kept)[1])
                self._size = size = len(kept)

    def documents(self) -> tuple[list[str], list[str]]:
        """The texts and their labels, in the order of their hashes."""
        chosen = sorted(self._kept, reverse=True)
        return [text for _, text, _ in chosen], [label for _, _, label in chosen]
