"""What a model says of documents: scores by class, put together from those of words and of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Scores(NamedTuple):
    """Scores of documents, classes in the order of `classes`.

    Attributes
    ----------
    classes : list of str
    log_posterior : array, shape (documents, classes)
        ln P(class given document), in nats. It speaks the buffer protocol: `numpy.asarray` reads it without a copy.
    best : array, shape (documents,)
        The position of the most probable class.
    tokens, known : array, shape (documents,)
        Terms and cells of each document, and those of them that say something.
    undefined : list of int
        Documents that no class can have produced (all products are 0); they got the prior.
    """

    classes: list[str]
    log_posterior: Any
    best: Any
    tokens: Any
    known: Any
    undefined: list[int]

    @classmethod
    def joined(cls, classes: list[str], parts: Sequence[Scores]) -> Scores:
        """The scores of documents that were scored in parts."""
        import numpy as np

        def joint(name: str, *width: int) -> Any:
            none = np.empty((0, *width), np.float64 if width else np.uint64)
            return np.concatenate([none, *(np.asarray(getattr(part, name)) for part in parts)])

        undefined, rows = [], 0
        for part in parts:
            undefined += [rows + i for i in part.undefined]
            rows += len(memoryview(part.best))
        log_posterior = joint("log_posterior", len(classes))
        return cls(classes, log_posterior, joint("best"), joint("tokens"), joint("known"), undefined)


def joined(text: Any, columns: Any, factors: tuple[float, float]) -> tuple[Any, Any, Any]:
    """The scores of words and of columns, each (scores, terms, known terms) or None, times their factors.

    Those of columns alone are left as they are: the link multiplies them.
    """
    if columns is None or text is None:
        return text or columns  # type: ignore[no-any-return]
    import numpy as np

    of_words, of_columns = factors
    scores, present, known = columns
    both = scores * of_columns + of_words * np.asarray(text[0])
    return both, present + np.asarray(text[1]), known + np.asarray(text[2])


def difference(one: float, other: float) -> float:
    """Of two log probabilities; 0 where they are equal, even if infinite."""
    return 0.0 if one == other else one - other
