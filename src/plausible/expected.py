"""What unlabelled documents are expected to be: counts beside those of documents whose class is known.

They are kept in whole parts of a document, so that they add exactly, too, and apart, so that what was seen and what was
only expected can always be told. Probabilities are estimated from both together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plausible import _native
from plausible.counts import Counts
from plausible.text import Tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

UNIT = 256
"""Parts of a document."""
MASS = 1 << 20
"""Units of a mass, as in native/terms.hpp."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected counts of unlabelled documents.

    Attributes
    ----------
    weight : float
        What an unlabelled document counts beside one with a class.
    documents : int
    counts : Counts
        Of their text by class, in 256ths of a document.
    """

    weight: float
    documents: int
    counts: Counts

    def plus(self, other: Expected | None, into: Mapping[str, str] | None = None) -> Expected:
        """Both, with counts of their own, and classes as `into` says. The weight is the mean by documents."""
        rules = self.counts.families["text"].rules  # type: ignore[attr-defined]
        families: Any = {"text": _native.Terms(*rules)}
        whole = Counts(families)
        whole.merge(self.counts, into)
        if other is None:
            return Expected(self.weight, self.documents, whole)
        whole.merge(other.counts)
        documents = self.documents + other.documents
        weight = (self.weight * self.documents + other.weight * other.documents) / documents
        return Expected(weight, documents, whole)


def together(counts: Counts, expected: Expected) -> tuple[_native.Terms, list[int]]:
    """Terms and documents by class, seen and expected, in parts of a document; classes as in `counts`."""
    import numpy as np

    seen: Any = counts.families["text"]
    scaled: dict[str, Any] = {
        name: (
            "u8",
            (np.frombuffer(value[1], value[0]).astype(np.uint64) * np.uint64(UNIT)).tobytes(),
        )
        if name in ("documents", "occurrences", "masses")
        else value
        for name, value in seen.export(list(range(len(counts.index)))).items()
    }
    documents = [int(n) * UNIT for n in counts.documents]
    terms = _native.Terms(*seen.rules)
    terms.load(**scaled, classes=documents)
    to = [counts.index[label] for label in expected.counts.index]
    terms.merge(expected.counts.families["text"], to)  # type: ignore[arg-type]
    for i, n in zip(to, expected.counts.documents, strict=True):
        documents[i] += int(n)
    return terms, documents


class Rows:
    """All terms of documents, to be summed by class."""

    def __init__(self, tokens: Tokens, bags: _native.Bags, threads: int) -> None:
        import numpy as np

        self.tokens, self.threads = tokens, threads
        raw, _, starts, features, times = bags.rows(1, 1 << 62, [], threads)
        terms = raw.split(b"\n")[:-1]
        order = sorted(range(len(terms)), key=terms.__getitem__)
        place = np.empty(len(terms), np.int32)
        place[order] = np.arange(len(terms), dtype=np.int32)
        self.terms = b"".join(terms[i] + b"\n" for i in order)
        features = place[features]
        damped = np.log1p(times)
        gram = np.array([b" " in terms[i] for i in order], bool) if tokens.ngrams[1] > 1 else np.zeros(len(terms), bool)
        group = 2 * np.repeat(np.arange(bags.size), np.diff(starts)) + gram[features]
        norms = np.sqrt(np.bincount(group, damped**2, 2 * bags.size))
        self.by_term: list[tuple[Any, Any, Any]] = [
            _native.sparse_transpose(starts, features, values, len(terms))
            for values in (np.ones(len(times)), times, damped / norms[group])
        ]

    def counts(self, shares: Array, classes: list[str]) -> Counts:
        """Their counts, where shares[i, c] of document i are of class c."""
        import numpy as np

        documents, occurrences, masses = (
            np.rint(_native.sparse_product(at, rows, values, shares * scale, self.threads)).astype(np.uint64)
            for (at, rows, values), scale in zip(self.by_term, (UNIT, UNIT, UNIT * MASS), strict=True)
        )
        there = documents > 0
        sizes = there.sum(axis=1)
        kept = sizes > 0
        names = self.terms.split(b"\n")[:-1]
        documents = documents[there]
        arrays: Mapping[str, Any] = {
            "terms": b"".join(names[i] + b"\n" for i in np.flatnonzero(kept)),
            "sizes": ("u4", sizes[kept].astype(np.uint32).tobytes()),
            "labels": ("u4", np.nonzero(there)[1].astype(np.uint32).tobytes()),
            "documents": ("u8", documents.tobytes()),
            "occurrences": ("u8", np.maximum(occurrences[there], documents).tobytes()),
            "masses": ("u8", np.clip(masses[there], 1, documents * MASS).astype(np.uint64).tobytes()),
        }
        whole = [int(n) for n in np.ceil(shares.sum(axis=0) * UNIT) + 1]
        terms: Any = self.tokens.terms()
        terms.load(**arrays, classes=whole)
        return Counts({"text": terms}, {name: i for i, name in enumerate(classes)}, list(whole))
