"""scikit-learn's own checks of an estimator."""

import numpy as np
import pytest

estimator_checks = pytest.importorskip("sklearn.utils.estimator_checks")

from plausible.estimators import GaussianMixture, MixtureClusterer  # noqa: E402


@pytest.mark.filterwarnings("ignore")
@estimator_checks.parametrize_with_checks(
    [GaussianMixture(n_init=1), GaussianMixture(2, covariance="diagonal"), MixtureClusterer(n_init=1)]
)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def test_gaps_and_labels():
    x = np.array([[0.0, 0.1], [0.2, np.nan], [-0.1, 0.2], [9.0, 9.1], [9.2, 9.0], [np.nan, 8.9]])
    model = GaussianMixture(2, covariance="tied", random_state=0).fit(x)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.fit_predict(x).tolist() == model.predict(x).tolist()
    assert model.score(x) == pytest.approx(model.mixture_.log_likelihood / 6)


def test_a_frame_with_gaps_and_text():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "said": ["a rose is red", "wine and a rose", "the rate of the bank", "the bank pays a rate"] * 3,
            "size": [1.0, 1.2, 9.0, None] * 3,
            "kind": ["plant", None, "money", "money"] * 3,
            "code": [1, 1, 2, 2] * 3,
        }
    )
    model = MixtureClusterer(2, text=["said"], categorical=["code"], random_state=0).fit(frame)
    assert model.labels_.tolist() in ([0, 0, 1, 1] * 3, [1, 1, 0, 0] * 3)
    assert model.predict(frame).tolist() == model.labels_.tolist()
    np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1)
    assert model.score(frame) == pytest.approx(model.mixture_.log_likelihood / 12)
    array = np.array([["plant", 1.0], ["plant", 1.2], ["money", 9.0], [None, 9.1]], dtype=object)
    assert len(set(MixtureClusterer(2, random_state=0).fit(array).labels_.tolist())) == 2
