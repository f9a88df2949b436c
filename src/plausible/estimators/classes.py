"""The classes of scikit-learn, which may be of any type, and the names that a model has for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from plausible import _native
from plausible.counts import Coded
from plausible.model import Model
from plausible.scores import Scores


def checked_labels(y: Any) -> tuple[npt.NDArray[Any], Coded]:
    """The different classes, sorted, and each label as one of their names."""
    y = column_or_1d(y, warn=True)
    if y.dtype == object and (found := _texts(y)) is not None:
        return found
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, Coded(codes.astype(np.int32), [str(name) for name in classes.tolist()])


def _texts(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Coded] | None:
    """The same for labels that all are texts, which are hashed, not sorted; None for others."""
    index: dict[str, int] = {}
    try:
        codes = np.asarray(_native.codes(y.tolist(), index, _refuse, True))
    except TypeError:
        return None
    if not len(codes) or codes.min() < 0:
        return None
    return np.array(sorted(index), dtype=object), Coded(codes, list(index))


def _refuse(value: object) -> None:
    raise TypeError(f"{value!r} is no text")


def by_class(scores: Scores, model: Model, classes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """ln P(class | row) in the order of `classes`; -inf for a class without rows."""
    place = {name: k for k, name in enumerate(model.classes)}
    log_posterior = np.asarray(scores.log_posterior)
    out = np.full((len(log_posterior), len(classes)), -np.inf)
    for k, name in enumerate(classes.tolist()):
        if str(name) in place:
            out[:, k] = log_posterior[:, place[str(name)]]
    return out
