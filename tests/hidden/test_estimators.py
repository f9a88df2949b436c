"""scikit-learn's own checks of an estimator."""

import numpy as np
import pytest

estimator_checks = pytest.importorskip("sklearn.utils.estimator_checks")

from plausible.estimators.mixtures import GaussianMixture  # noqa: E402


@pytest.mark.filterwarnings("ignore")
@estimator_checks.parametrize_with_checks([GaussianMixture(n_init=1), GaussianMixture(2, covariance="diagonal")])
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def test_gaps_and_labels():
    x = np.array([[0.0, 0.1], [0.2, np.nan], [-0.1, 0.2], [9.0, 9.1], [9.2, 9.0], [np.nan, 8.9]])
    model = GaussianMixture(2, covariance="tied", random_state=0).fit(x)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.fit_predict(x).tolist() == model.predict(x).tolist()
    assert model.score(x) == pytest.approx(model.mixture_.log_likelihood / 6)
