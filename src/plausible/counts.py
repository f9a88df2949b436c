"""Counts: what was seen of each attribute in each class, and nothing else.

Counts hold no smoothing, no pruning and no weights of words, so they form a group: they can be added, merged and taken
away again exactly, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from plausible import _native
from plausible.errors import DataError, ModelError
from plausible.sources import cell_text
from plausible.text import count_times
from plausible.wording import quantity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Arrays = dict[str, Any]
"""Canonical arrays of a family: bytes of UTF-8 text, or (type, bytes) such as ("u2", b"...")."""


class Coded:
    """Values as positions in a list of states; -1 where one is missing."""

    __slots__ = ("codes", "states")

    def __init__(self, codes: npt.NDArray[np.int32], states: Sequence[str]) -> None:
        self.codes = codes
        self.states = states

    def __len__(self) -> int:
        return len(self.codes)


class Family(Protocol):
    """The counts of one attribute given the class, which is an index."""

    def count(self, cells: Any, labels: Any, threads: int = 1) -> None:
        """Count cells, the i-th for the class labels[i]; families of tables take the weight of each row, too."""

    def merge(self, other: Any, labels: list[int]) -> None:
        """Add other counts, whose class i is class labels[i] here."""

    def uncovered(self, other: Any, labels: list[int], left: list[float]) -> str:
        """A value of which `other` has counts that can't be part of those here; empty if there is none.

        left[i] rows of class i are to remain.
        """

    def subtract(self, other: Any, labels: list[int], left: list[float]) -> None:
        """Take other counts away, which must be covered."""

    def export(self, order: list[int]) -> Arrays:
        """The same arrays whatever the order in which things were counted, class i renamed to order[i]."""

    @property
    def load(self) -> Callable[..., None]:
        """Take in what `export` gave, and how many classes there are; ValueError where that can't be right."""


class Counts:
    """Documents (or rows, or their weight) of each class, and a family of counts for each attribute.

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

    def __init__(
        self,
        families: Mapping[str, Family],
        index: dict[str, int] | None = None,
        documents: list[float] | None = None,
    ) -> None:
        self.families = families
        self.index = {} if index is None else index
        self.documents = [] if documents is None else documents
        self.changes = 0

    @property
    def classes(self) -> list[str]:
        """The classes that have a document, sorted by name."""
        return sorted(name for name, i in self.index.items() if self.documents[i])

    def of(self, label: str) -> float:
        """Documents of a class."""
        return self.documents[self.index[label]] if label in self.index else 0

    @property
    def total(self) -> float:
        return sum(self.documents)

    def codes(self, labels: Sequence[str] | Coded) -> Any:
        """The index of each label, an array of int32; new labels become classes."""
        if isinstance(labels, Coded):
            import numpy as np

            own = np.asarray(self.codes(labels.states))
            if (own == np.arange(len(own))).all():
                return labels.codes
            return np.append(own, np.int32(-1))[labels.codes]
        found = _native.codes(labels, self.index, cell_text, True)
        self.documents += [0] * (len(self.index) - len(self.documents))
        return found

    def add(
        self,
        cells: Mapping[str, Any],
        labels: Sequence[str] | Coded,
        threads: int = 1,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> None:
        """Count rows: for each family the cells of its attribute, and the class and weight of each row.

        Words are whole numbers, so rows with text have whole weights: a row of weight 3 is counted three times.
        """
        codes: Any = memoryview(self.codes(labels))
        totals = _native.totals(codes, len(self.index), weights)
        for name, family in self.families.items():
            if weights is None:
                family.count(cells[name], codes, threads)
            elif isinstance(family, _native.Terms):
                count_times(family, cells[name], codes.tolist(), [int(weight) for weight in weights], threads)
            else:
                family.count(cells[name], codes, threads, weights)  # type: ignore[call-arg]
        for i, total in enumerate(totals):
            self.documents[i] += whole(total)
        self.changes += 1

    def merge(self, other: Counts, into: Mapping[str, str] | None = None) -> None:
        """Add other counts; exactly the result of counting everything here.

        With `into`, the class here that each class there becomes a part of.
        """
        names = list(other.index)
        to = memoryview(self.codes([into[name] for name in names] if into else names)).tolist()
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
                    f"class {label!r} has {quantity(self.of(label), 'document')}, too few to forget "
                    f"{other.documents[i]:,}; counts never go below zero"
                )
        to = memoryview(self.codes(list(other.index))).tolist()
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


def whole(count: float) -> float:
    """The same as an int where it is whole."""
    return int(count) if float(count).is_integer() else float(count)
