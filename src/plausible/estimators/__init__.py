"""scikit-learn's interface: `pip install 'plausible[sklearn]'`."""

from plausible.estimators.clusters import MixtureClusterer
from plausible.estimators.mixtures import GaussianMixture
from plausible.estimators.rows import NaiveBayesClassifier
from plausible.estimators.texts import TextClassifier

__all__ = ["GaussianMixture", "MixtureClusterer", "NaiveBayesClassifier", "TextClassifier"]
