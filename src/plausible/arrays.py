"""The sparse class-by-term counts of a model as numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from plausible.model import Model

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TermArrays:
    """Counts by term, terms sorted, classes in the order of `Model.classes`.

    Attributes
    ----------
    terms : list of str, length T
    sizes : array, shape (T,)
        How many classes have seen each term.
    labels, documents, occurrences : array, shape (sizes.sum(),)
        For each term and class that has seen it: the class, its documents with the term, the term's occurrences.
    """

    terms: list[str]
    sizes: Integers
    labels: Integers
    documents: Integers
    occurrences: Integers

    @classmethod
    def of(cls, model: Model, *, within: bool = False) -> TermArrays:
        """All terms that were counted, or with `within` those in the vocabulary under the model's rules."""
        exported: dict[str, Any] = model.terms.export(model.counts.order())
        terms = exported["terms"].decode().split("\n")[:-1]
        sizes, labels, documents, occurrences = (
            np.frombuffer(data, kind).astype(np.int64)
            for kind, data in (exported[name] for name in ("sizes", "labels", "documents", "occurrences"))
        )
        if within:
            vocabulary = set(model.scorer.words())
            kept = np.array([term in vocabulary for term in terms], bool)
            cells = np.repeat(kept, sizes)
            terms = [term for term, keep in zip(terms, kept, strict=True) if keep]
            sizes, labels, documents, occurrences = (
                sizes[kept],
                labels[cells],
                documents[cells],
                occurrences[cells],
            )
        return cls(terms, sizes, labels, documents, occurrences)
