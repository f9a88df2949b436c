"""scikit-learn's interface; needs scikit-learn."""

from plausible.estimators.mixtures import GaussianMixture

__all__ = ["GaussianMixture"]
