"""Words that give the class away by themselves: an address, a header, the name of the class."""

from __future__ import annotations

import numpy as np

from plausible.arrays import TermArrays
from plausible.model import Model

LEAST_F1 = 0.95
FEWEST = 10
"""Documents of a class, below which one word can find it by chance."""


def giveaways(model: Model) -> list[tuple[str, str, float]]:
    """Words whose presence finds a class with an F1 of .95 or more: (word, class, F1), the best one of each class."""
    arrays = TermArrays.of(model)
    if not len(arrays.terms) or len(model.classes) < 2:
        return []
    rows = np.repeat(np.arange(len(arrays.terms)), arrays.sizes)
    anywhere = np.bincount(rows, arrays.documents, minlength=len(arrays.terms))
    size = np.array([model.counts.of(name) for name in model.classes])
    f1 = 2 * arrays.documents / (anywhere[rows] + size[arrays.labels])
    f1[size[arrays.labels] < FEWEST] = 0
    found: dict[str, tuple[str, str, float]] = {}
    for k in np.lexsort((rows, -f1)):
        if f1[k] < LEAST_F1:
            break
        label = model.classes[arrays.labels[k]]
        found.setdefault(label, (arrays.terms[rows[k]], label, float(f1[k])))
    return list(found.values())


def said(found: list[tuple[str, str, float]]) -> str:
    """The words in a sentence."""
    shown = "; ".join(f"{term!r} finds {label!r} with F1 {f1:.2f}" for term, label, f1 in found[:3])
    more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
    return f"single words nearly give the class away: {shown}{more}. Will new documents have them, too?"
