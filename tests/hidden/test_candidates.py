"""How many components."""

import numpy as np
import pytest

from plausible.errors import CallError
from plausible.learning.mixtures.candidates import choose_gaussian_mixture


def three_blobs():
    rng = np.random.default_rng(0)
    return np.array([[0, 0], [6, 0], [0, 6]])[rng.integers(3, size=300)] + rng.normal(size=(300, 2))


@pytest.mark.parametrize("by", ["bic", "held_out"])
def test_three_blobs_are_three(by):
    choice = choose_gaussian_mixture(
        three_blobs(), range(1, 6), by=by, covariance="spherical", restarts=3, tolerance=1e-6
    )
    assert len(choice.best.weights) == 3
    assert [c.k for c in choice.candidates] == [1, 2, 3, 4, 5]
    third = choice.candidates[2]
    assert third.parameters == 3 * 2 + 3 + 2
    assert third.bic == pytest.approx(third.parameters * np.log(300) - 2 * third.log_likelihood)
    assert third.held_out < 0


def test_candidates_that_can_not_be_are_left_out():
    choice = choose_gaussian_mixture([0.0, 0.0, 1.0, 1.0], range(1, 5), covariance="tied")
    assert [c.k for c in choice.candidates] == [1, 2]


def test_bad_calls():
    with pytest.raises(CallError, match="not 'aic'"):
        choose_gaussian_mixture(three_blobs(), by="aic")
    with pytest.raises(CallError, match="no candidate"):
        choose_gaussian_mixture(three_blobs(), [])
    with pytest.raises(CallError, match="folds"):
        choose_gaussian_mixture(three_blobs(), folds=1)
