"""Mixtures with scikit-learn's interface."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from plausible.learning.mixtures.components import Covariance
from plausible.learning.mixtures.gaussian import gaussian_mixture

Array = NDArray[np.float64]


class GaussianMixture(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A mixture of Gaussians; NaN is a gap. See `plausible.learning.mixtures.gaussian.gaussian_mixture`.

    Parameters
    ----------
    n_components : int
    covariance : "known", "spherical", "diagonal", "tied" or "full"
    variance : float, with "known"
    prior : float
    n_init, max_iter, tol
        Starts, the most iterations of one, and the share of the objective that it must gain to go on.
    random_state : int, RandomState or None

    Attributes
    ----------
    mixture_ : GaussianMixture of plausible
    weights_, means_, covariances_, labels_, converged_, n_iter_
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance: Covariance = "full",
        variance: float | None = None,
        prior: float = 1e-6,
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-9,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.variance = variance
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> GaussianMixture:
        x = self._checked(X, reset=True, ensure_min_samples=2)
        self.mixture_ = gaussian_mixture(
            x,
            self.n_components,
            covariance=self.covariance,
            variance=self.variance,
            prior=self.prior,
            restarts=self.n_init,
            max_iterations=self.max_iter,
            tolerance=self.tol,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        self.weights_, self.means_ = self.mixture_.weights, self.mixture_.means
        self.covariances_ = self.mixture_.covariances
        self.converged_, self.n_iter_ = self.mixture_.converged, self.mixture_.iterations
        self.labels_: NDArray[np.intp] = self.mixture_.posterior(x).argmax(axis=1)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.intp]:
        return self.fit(X).labels_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The most probable component of each row."""
        labels: NDArray[np.intp] = self.predict_proba(X).argmax(axis=1)
        return labels

    def predict_proba(self, X: Any) -> Array:
        """P(component | row)."""
        check_is_fitted(self)
        return self.mixture_.posterior(self._checked(X, reset=False))

    def score_samples(self, X: Any) -> Array:
        """ln p(row)."""
        check_is_fitted(self)
        return self.mixture_.log_density(self._checked(X, reset=False))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of ln p(row)."""
        return float(self.score_samples(X).mean())

    def _checked(self, X: Any, **options: Any) -> Array:
        x: Array = validate_data(self, X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", **options)
        return x

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
