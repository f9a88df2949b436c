"""Counts: what was seen of each attribute in each class, and nothing else.

Counts hold no smoothing, no pruning and no weights of words, so they form a group: they can be added, merged and taken
away again exactly, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from plausible.errors import DataError, ModelError

Arrays = dict[str, Any]
"""Canonical arrays of a family: bytes of UTF-8 text, or (type, bytes) such as ("u2", b"...")."""


class Family(Protocol):
    """The counts of one attribute given the class, which is an index."""

    def count(self, cells: Any, labels: list[int], threads: int = 1) -> None:
        """Count cells, the i-th for the class labels[i]."""

    def merge(self, other: Any, labels: list[int]) -> None:
        """Add other counts, whose class i is class labels[i] here."""

    def uncovered(self, other: Any, labels: list[int], left: list[int]) -> str:
        """A value of which `other` has counts that can't be part of those here; empty if there is none.

        left[i] rows of class i are to remain.
        """

    def subtract(self, other: Any, labels: list[int], left: list[int]) -> None:
        """Take other counts away, which must be covered."""

    def export(self, order: list[int]) -> Arrays:
        """The same arrays whatever the order in which things were counted, class i renamed to order[i]."""


@dataclass
class Counts:
    """Documents (or rows) of each class, and a family of counts for each attribute.

    Examples
    --------
    >>> from plausible.text import Tokens
    >>> monday, tuesday = (Counts({"text": Tokens().terms()}) for _ in range(2))
    >>> monday.add({"text": ["good day", "bad day"]}, ["up", "down"])
    >>> tuesday.add({"text": ["good good"]}, ["up"])
    >>> monday.merge(tuesday)
    >>> monday.classes, monday.of("up")
    (['down', 'up'], 2)
    >>> monday.subtract(tuesday)
    >>> monday.of("up")
    1
    """

    families: Mapping[str, Family]
    index: dict[str, int] = field(default_factory=dict)
    documents: list[int] = field(default_factory=list)
    changes: int = 0

    @property
    def classes(self) -> list[str]:
        """The classes that have a document, sorted by name."""
        return sorted(name for name, i in self.index.items() if self.documents[i])

    def of(self, label: str) -> int:
        """Documents of a class."""
        return self.documents[self.index[label]] if label in self.index else 0

    @property
    def total(self) -> int:
        return sum(self.documents)

    def _indices(self, labels: Iterable[str]) -> list[int]:
        index = self.index
        out = []
        for label in labels:
            i = index.get(label)
            if i is None:
                i = index[label] = len(index)
                self.documents.append(0)
            out.append(i)
        return out

    def add(self, cells: Mapping[str, Any], labels: Sequence[str], threads: int = 1) -> None:
        """Count rows: for each family the cells of its attribute, and the class of each row."""
        indices = self._indices(labels)
        for name, family in self.families.items():
            family.count(cells[name], indices, threads)
        for i in indices:
            self.documents[i] += 1
        self.changes += 1

    def merge(self, other: Counts) -> None:
        """Add other counts; exactly the result of counting everything here."""
        to = self._indices(other.index)
        for name, family in self.families.items():
            try:
                family.merge(other.families[name], to)
            except OverflowError as error:
                raise ModelError(f"the counts can't be added: {error}") from None
        for i, documents in zip(to, list(other.documents), strict=True):
            self.documents[i] += documents
        self.changes += 1

    def subtract(self, other: Counts) -> None:
        """Take other counts away; DataError, and nothing changed, if they were never added."""
        for label, i in other.index.items():
            if other.documents[i] > self.of(label):
                raise DataError(
                    f"{other.documents[i]:,} documents of class {label!r} are to be forgotten, "
                    f"and {self.of(label):,} were learned; counts never go below zero"
                )
        to = self._indices(other.index)
        left = list(self.documents)
        for i, documents in zip(to, other.documents, strict=True):
            left[i] -= documents
        for name, family in self.families.items():
            value = family.uncovered(other.families[name], to, left)
            if value:
                raise DataError(
                    f"what is to be forgotten was never learned: it doesn't go with the counts of {value!r} in that "
                    f"class ({name}); counts never go below zero"
                )
        for name, family in self.families.items():
            family.subtract(other.families[name], to, left)
        self.documents = left
        self.changes += 1

    def order(self) -> list[int]:
        """For each class index its place among `classes`; classes without documents come last."""
        ranked = sorted(self.index, key=lambda name: (self.documents[self.index[name]] == 0, name))
        places = [0] * len(ranked)
        for place, name in enumerate(ranked):
            places[self.index[name]] = place
        return places
