"""A naive Bayes classifier of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from plausible.cells import Batch
from plausible.estimators.classes import by_class, checked_labels
from plausible.files.model import from_bytes, to_bytes
from plausible.learning.classifier import Learner, options_from
from plausible.model import Model


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes over the words of texts, from strings to calibrated probabilities, without a vectoriser.

    `partial_fit` of chunks in any order equals `fit` exactly.

    Parameters
    ----------
    model : "weighted", "plain", "book" or "auto"
        See `plausible.learn`.
    events, smoothing : str, optional
    min_count, drop_most_frequent : int, optional
    ngrams, chars : (int, int), optional
        See `Rules` and `Tokens`.
    stem : str, optional
        A language.
    raw : bool
        Leave the probabilities as they come.

    Attributes
    ----------
    classes_ : array, shape (classes,)
    model_ : Model

    Examples
    --------
    >>> classifier = TextClassifier().fit(["win money now", "cheap money", "meeting at noon"], [1, 1, 0])
    >>> classifier.predict(["money money", "at noon"]).tolist()
    [1, 0]
    """

    def __init__(
        self,
        model: str | None = None,
        events: str | None = None,
        smoothing: str | None = None,
        min_count: int | None = None,
        drop_most_frequent: int | None = None,
        ngrams: tuple[int, int] | None = None,
        chars: tuple[int, int] | None = None,
        stem: str | None = None,
        raw: bool = False,
    ) -> None:
        self.model = model
        self.events = events
        self.smoothing = smoothing
        self.min_count = min_count
        self.drop_most_frequent = drop_most_frequent
        self.ngrams = ngrams
        self.chars = chars
        self.stem = stem
        self.raw = raw

    def fit(self, X: Sequence[str], y: Any) -> Self:
        """Learn texts X of classes y."""
        for name in ("_learner", "classes_"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X, y)

    def partial_fit(self, X: Sequence[str], y: Any, classes: Any = None) -> Self:
        """Go on learning; new words and classes may appear at any time."""
        texts = _texts(X)
        seen, labels = checked_labels(y)
        check_consistent_length(texts, labels.codes)
        if not hasattr(self, "_learner"):
            options = options_from(**{name: value for name, value in self.get_params().items() if value is not None})
            self._learner = Learner(Model(options.tokens, options.rules), options)
        known = [getattr(self, "classes_", seen), seen] + ([] if classes is None else [np.asarray(classes)])
        self.classes_ = np.unique(np.concatenate(known))
        names = [labels.states[code] for code in labels.codes]
        self._learner.add(Batch({"text": texts}, names, lambda i: f"text {i}"))
        self._finished: Model | None = None
        return self

    @property
    def model_(self) -> Model:
        """The model that was learned, calibrated."""
        check_is_fitted(self, "classes_")
        if self._finished is None:
            self._finished = self._learner.finish()
        return self._finished

    def predict_log_proba(self, X: Sequence[str]) -> npt.NDArray[np.float64]:
        """ln P(class | text), shape (texts, classes), in nats."""
        model = self.model_
        return by_class(model.scores(_texts(X)), model, self.classes_)

    def predict_proba(self, X: Sequence[str]) -> npt.NDArray[np.float64]:
        """P(class | text), shape (texts, classes)."""
        out: npt.NDArray[np.float64] = np.exp(self.predict_log_proba(X))
        return out

    def predict(self, X: Sequence[str]) -> npt.NDArray[Any]:
        """The most probable class of each text."""
        answers: npt.NDArray[Any] = self.classes_[self.predict_log_proba(X).argmax(axis=1)]
        return answers

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_learner" in state:
            learner = state.pop("_learner")
            state["_learned"] = (to_bytes(learner.model), learner.sample)
            state["_finished"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        learned = state.pop("_learned", None)
        super().__setstate__(state)
        if learned is not None:
            options = options_from(**{name: value for name, value in self.get_params().items() if value is not None})
            self._learner = Learner(from_bytes(learned[0]), options, learned[1])


def _texts(X: Any) -> list[str]:
    """The texts of a list, an array, a series or a frame with a single column."""
    if isinstance(X, str):
        raise ValueError("X must be a list of texts, not one text")
    shape: tuple[int, ...] = getattr(X, "shape", (0,))
    if len(shape) == 2 and shape[1] == 1:
        X = X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0]
    texts = X.tolist() if hasattr(X, "tolist") else list(X)
    odd = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if odd is not None:
        raise ValueError(f"text {odd} is {texts[odd]!r}, not a string; leave it out or make it one")
    return texts
