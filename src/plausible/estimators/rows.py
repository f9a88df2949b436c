"""A naive Bayes classifier of rows with numbers, categories and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from plausible.cells import WEIGHT_UNIT, taken
from plausible.columns import Columns, Reading
from plausible.estimators.classes import by_class, checked_labels
from plausible.files.model import from_bytes, to_bytes
from plausible.frames import column_cells, frame_columns, is_numeric
from plausible.model import Model
from plausible.priors import Rules, Smoothing
from plausible.schema import Variable


class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes over columns of any kind: categories by the m-estimate, numbers by Student's t or a normal.

    In a data frame columns of numbers are continuous and all others categories; in an array of numbers all columns are
    continuous, unless `categorical` names them. Missing values (NaN, None) take no part, in learning and in predicting,
    and so do states that were not seen in learning. `partial_fit` of chunks in any order equals `fit` exactly.

    Parameters
    ----------
    categorical : "auto", "all", or sequence of str or int
        The columns that are categories, whatever their type: by name, or by position.
    smoothing : str
        Of categories: "laplace", "mle", "m=X" or "a=X".
    prior : "fractions" or "uniform"
        Of the classes.
    numbers : "student" or "normal"
        The distribution of a column of numbers; see `Rules`. "normal" gives the probabilities of `GaussianNB`.
    floor : float
        No class has a variance below this share of the column's.

    Attributes
    ----------
    classes_ : array, shape (classes,)
    model_ : Model
        The model that was learned, for `plausible.explain`, `words`, `save` and all else.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where the columns have names.

    Examples
    --------
    >>> X = np.array([["weak", 25.0], ["strong", 12.0], [None, 14.0], ["weak", 24.0]], dtype=object)
    >>> classifier = NaiveBayesClassifier().fit(X, ["yes", "no", "no", "yes"])
    >>> classifier.predict(np.array([[None, 13.0], ["weak", None]], dtype=object)).tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        categorical: str | Sequence[str | int] = "auto",
        smoothing: str = "laplace",
        prior: str = "fractions",
        numbers: str = "student",
        floor: float = 1e-9,
    ) -> None:
        self.categorical = categorical
        self.smoothing = smoothing
        self.prior = prior
        self.numbers = numbers
        self.floor = floor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rows X, shape (rows, columns), of classes y."""
        for name in ("model_", "classes_"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X, y, sample_weight=sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning; new states and classes may appear at any time."""
        first = not hasattr(self, "model_")
        columns = self._columns(X, reset=first)
        rows = _rows(columns)
        seen, labels = checked_labels(y)
        check_consistent_length(labels.codes, range(rows))
        weights = None
        if sample_weight is not None:
            weights = np.rint(_check_sample_weight(sample_weight, labels.codes, dtype=np.float64) / WEIGHT_UNIT)
            weights *= WEIGHT_UNIT
            if (weights < 0).any():
                raise ValueError(f"the weight of row {int(weights.argmin())} is negative; leave the row out")
        if first:
            smoothing = Smoothing.parse(self.smoothing)
            self.model_ = Model(
                rules=Rules(smoothing=smoothing, prior=self.prior, numbers=self.numbers, floor=self.floor),  # type: ignore[arg-type]
                reading=Reading(Columns((), "class", self._variables(columns))),
            )
        known = [getattr(self, "classes_", seen), seen] + ([] if classes is None else [np.asarray(classes)])
        self.classes_ = np.unique(np.concatenate(known))
        cells = self._cells(columns)
        if weights is not None and (weights == 0).any():
            kept = np.flatnonzero(weights).tolist()

            cells = {name: taken(column, kept) for name, column in cells.items()}
            labels, weights = taken(labels, kept), weights[kept]
        self.model_.update(cells, labels, weights=weights)
        return self

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """ln P(class | row), shape (rows, classes), in nats."""
        check_is_fitted(self, "model_")
        cells = self._cells(self._columns(X, reset=False))
        return by_class(self.model_.scores(cells), self.model_, self.classes_)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """P(class | row), shape (rows, classes)."""
        out: npt.NDArray[np.float64] = np.exp(self.predict_log_proba(X))
        return out

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        best = self.predict_log_proba(X).argmax(axis=1)
        answers: npt.NDArray[Any] = self.classes_[best]
        return answers

    def _columns(self, X: Any, *, reset: bool) -> dict[str, Any]:
        """The columns by name, checked against those of the first fit unless it is this one."""
        framed = frame_columns(X)
        if framed is not None and len(framed) and _rows(framed):
            _check_feature_names(self, X, reset=reset)
            if reset:
                self.n_features_in_ = len(framed)
            if len(framed) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(framed)} features, but NaiveBayesClassifier is expecting {self.n_features_in_} "
                    "features as input"
                )
            return framed
        X = validate_data(self, X, reset=reset, accept_sparse="csc", dtype=None, ensure_all_finite="allow-nan")
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])]
        if sparse.issparse(X):
            return {name: X[:, [j]].toarray().ravel() for j, name in enumerate(names)}
        return {name: _numbers_if_possible(X[:, j]) for j, name in enumerate(names)}

    def _variables(self, columns: Mapping[str, Any]) -> tuple[Variable, ...]:
        names = list(columns)
        if isinstance(self.categorical, str):
            if self.categorical not in ("auto", "all"):
                raise ValueError(f"categorical={self.categorical!r}: use 'auto', 'all', or a list of columns")
            named = names if self.categorical == "all" else []
        else:
            named = [names[one] if isinstance(one, int | np.integer) else one for one in self.categorical]
            unknown = [name for name in named if name not in names]
            if unknown:
                raise ValueError(f"categorical names {unknown[0]!r}, which is no column of X ({', '.join(names)})")
        return tuple(
            Variable(name, "continuous" if name not in named and is_numeric(columns[name]) else "categorical")
            for name in names
        )

    def _cells(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        variables = self.model_.variables
        return {
            variable.name: column_cells(column, variable)
            for variable, column in zip(variables, columns.values(), strict=True)
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = to_bytes(state["model_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model_" in state:
            state = {**state, "model_": from_bytes(state["model_"])}
        super().__setstate__(state)


def _rows(columns: Mapping[str, Any]) -> int:
    return len(next(iter(columns.values())))


def _numbers_if_possible(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column of objects as numbers, if all of them are; TypeError for what can be neither number nor category."""
    if column.dtype != object:
        return column
    for value in column:
        if isinstance(value, dict | list | set | tuple):
            raise TypeError(f"argument must be a string or a number, not {type(value).__name__!r}")
    if any(isinstance(value, str) for value in column):
        return column
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return column
