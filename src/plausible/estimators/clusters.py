"""Clusters of anything with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from plausible.frames import frame_columns
from plausible.learning.mixtures.tables import mixture_of_tables

Array = NDArray[np.float64]


class MixtureClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters of rows with numbers, categories, texts and gaps: a star whose centre is hidden.

    In a data frame columns of numbers are Gaussian in each cluster and all others categories; so they are in an array.
    Missing values (NaN, None) take no part. See `plausible.mixture_of_tables`.

    Parameters
    ----------
    n_components : int
    text : "all", or sequence of str
        Columns of texts, which are joined; "all": X is a list of texts.
    categorical : sequence of str or int
        Columns of numbers that are names: by name, or by position.
    prior : float, optional
        Rows' worth of prior.
    n_init, max_iter, tol
        Starts, the most iterations of one, and the share of the objective that it must gain to go on.
    random_state : int, RandomState or None

    Attributes
    ----------
    mixture_ : TableMixture
    labels_, weights_, converged_, n_iter_

    Examples
    --------
    >>> texts = ["red rose", "rose thorn", "red thorn", "bank rate", "bank loan"]
    >>> MixtureClusterer(2, text="all", random_state=0).fit(texts).labels_.tolist()
    [0, 0, 0, 1, 1]
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        text: str | Sequence[str] = (),
        categorical: Sequence[str | int] = (),
        prior: float | None = None,
        n_init: int | None = None,
        max_iter: int = 1000,
        tol: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.text = text
        self.categorical = categorical
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the clusters of rows X, shape (rows, columns), or of texts."""
        rows = self._rows(X, reset=True)
        text = ("text",) if self.text == "all" else tuple(self.text)
        names = tuple(rows.columns) if hasattr(rows, "columns") else tuple(rows[0])
        named = [names[one] if isinstance(one, int | np.integer) else one for one in self.categorical]
        self.mixture_ = mixture_of_tables(
            rows,
            self.n_components,
            columns=[str(name) for name in names if name not in text],
            categories=named,
            text=text,
            prior=self.prior,
            restarts=self.n_init,
            max_iterations=self.max_iter,
            tolerance=self.tol,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        self.weights_ = self.mixture_.weights
        self.converged_, self.n_iter_ = self.mixture_.converged, self.mixture_.iterations
        self.labels_: NDArray[np.intp] = self.mixture_.assigned
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The most probable cluster of each row."""
        labels: NDArray[np.intp] = self.predict_proba(X).argmax(axis=1)
        return labels

    def predict_proba(self, X: Any) -> Array:
        """P(cluster | row)."""
        check_is_fitted(self)
        return self.mixture_.posterior(self._rows(X, reset=False))

    def score_samples(self, X: Any) -> Array:
        """ln P(row)."""
        check_is_fitted(self)
        return self.mixture_.posterior_of(self.mixture_.read(self._rows(X, reset=False)))[1]

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of ln P(row)."""
        return float(self.score_samples(X).mean())

    def _rows(self, X: Any, *, reset: bool) -> Any:
        if self.text == "all":
            if isinstance(X, str):
                raise ValueError("X must be a list of texts, not one text")
            return [{"text": text} for text in X]
        if frame_columns(X) is not None:
            _check_feature_names(self, X, reset=reset)
            if reset:
                self.n_features_in_ = len(X.columns)
            return X
        X = validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=2 if reset else 1
        )
        names = [f"x{j}" for j in range(X.shape[1])]
        columns = [_values(X[:, j]) for j in range(X.shape[1])]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_texts = self.text == "all"
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.one_d_array = of_texts
        tags.input_tags.two_d_array = not of_texts
        return tags


def _values(column: NDArray[Any]) -> list[Any]:
    """A column as Python values, None where one is missing; numbers in a column of objects as numbers."""
    values = column.tolist()
    for value in values:
        if isinstance(value, dict | list | set | tuple):
            raise TypeError(f"argument must be a string or a number, not {type(value).__name__!r}")
    if column.dtype == object and not any(isinstance(value, str) for value in values):
        values = [None if value is None else float(value) for value in values]
    return [None if value != value else value for value in values]
