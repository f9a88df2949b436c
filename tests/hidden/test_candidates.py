"""How many components."""

import warnings

import numpy as np
import pytest

from plausible.errors import CallError
from plausible.learning.mixtures.candidates import choose_gaussian_mixture
from plausible.learning.mixtures.components import e_step, posterior
from plausible.learning.mixtures.gaussian import estimate, gaussian_mixture
from plausible.learning.mixtures.left_out import star_left_out
from plausible.learning.mixtures.moments import Moments
from plausible.learning.mixtures.points import points, spread
from plausible.learning.mixtures.stars import StarCounts, StarPrior, WordsPrior, expected
from plausible.learning.mixtures.stars import posterior as star_posterior

from .test_stars import VARIABLES, some_rows, some_star


def three_blobs():
    rng = np.random.default_rng(0)
    return np.array([[0, 0], [6, 0], [0, 6]])[rng.integers(3, size=300)] + rng.normal(size=(300, 2))


@pytest.mark.parametrize("by", ["bic", "leave_one_out", "held_out"])
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
    assert third.leave_one_out < third.log_likelihood / 300


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


@pytest.mark.parametrize("kind", ["known", "spherical", "diagonal", "tied", "full"])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_leave_one_out_is_taking_each_row_out(kind, gaps):
    """Chan's rule backwards, row by row, and the M step on what is left."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 3)) + 3 * (np.arange(50) % 2)[:, None]
    x[rng.random(x.shape) < gaps] = np.nan
    variance = 1.0 if kind == "known" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = gaussian_mixture(x, 2, covariance=kind, variance=variance, prior=0.5)
    whole = spread(points(x))
    all_, _ = e_step(points(x), mixture.components, 1)
    for i, found in enumerate(mixture.left_out(x)):
        one, _ = e_step(points(x[i : i + 1]), mixture.components, 1)
        n = all_.n - one.n
        mean = (all_.n[:, None] * all_.mean - one.n[:, None] * one.mean) / n[:, None]
        delta = one.mean - mean
        outer = delta**2 if all_.squares.ndim == 2 else delta[:, :, None] * delta[:, None, :]
        share = (n * one.n / all_.n).reshape(-1, *[1] * (all_.squares.ndim - 1))
        left = Moments(n, mean, all_.squares - one.squares - share * outer)
        without = estimate(left, kind, mixture.equal_weights, variance, 0.5, whole.squares[:, 0] / whole.n)
        assert found == pytest.approx(posterior(points(x[i : i + 1]), without, 1)[1][0], rel=1e-9)


@pytest.mark.parametrize("words", [False, True])
def test_leave_one_out_of_stars_is_taking_each_row_out(words):
    rows, star = some_rows(4, times=words), some_star(4)
    shares = np.random.default_rng(0).dirichlet(np.ones(4), size=1)[0]
    prior = StarPrior(2.0, VARIABLES, np.array([1.0, 2.0]), WordsPrior(3.0, shares) if words else None)
    own = star_posterior(rows, star, 1)[0]
    all_ = expected(rows, own, 1)
    for i, found in enumerate(star_left_out(rows, star, prior, 1)):
        rest = own.copy()
        rest[i] = 0
        counts = expected(rows, rest, 1)
        without = prior.estimate(StarCounts(counts.rows, counts.features, counts.numbers))
        one = rows.take(np.array([i]))
        assert found == pytest.approx(star_posterior(one, without, 1)[1][0], rel=1e-9)
    assert all_.rows.sum() == pytest.approx(rows.count)
