"""Gaussian mixtures: golden values, the slow twin, gaps, threads, bad input."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import _native
from plausible.errors import CallError, DataError, ModelError, PlausibleWarning
from plausible.learning.mixtures.components import Components, e_step, inverse_factors, posterior, sizes
from plausible.learning.mixtures.gaussian import estimate, gaussian_mixture, log_prior
from plausible.learning.mixtures.moments import Moments
from plausible.learning.mixtures.points import points, spread

from . import naive

KINDS = ["known", "spherical", "diagonal", "tied", "full"]


def fit(x, k, covariance="full", **options):
    if covariance == "known":
        options.setdefault("variance", 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausibleWarning)
        return gaussian_mixture(x, k, covariance=covariance, **options)


def blobs(seed, rows=200, k=3, d=2, gaps=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(k, d))[rng.integers(k, size=rows)] * 4 + rng.normal(size=(rows, d))
    x[rng.random(x.shape) < gaps] = np.nan
    return x


def some_components(seed, k, d, kind="full"):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(k, d, d))
    full = a @ a.transpose(0, 2, 1) + 0.3 * np.eye(d)
    variances = np.diagonal(full, axis1=1, axis2=2)
    covariances = {"full": full, "tied": full[0], "diagonal": variances}.get(kind, variances[:, 0])
    return Components(rng.dirichlet(np.ones(k)), 2 * rng.normal(size=(k, d)), covariances.copy(), kind)


# ---- Golden values -----------------------------------------------------------------------------------------


@pytest.mark.data
def test_old_faithful(shared):
    """shared/data/tables/README.md: 20 starts, tolerance 1e-10."""
    x = np.loadtxt(shared / "tables" / "old_faithful.csv", delimiter=",", skiprows=1, usecols=(0, 1))
    mixture = gaussian_mixture(x, 2, tolerance=1e-13)
    assert mixture.log_likelihood == pytest.approx(-1130.26396, abs=5e-6)
    np.testing.assert_allclose(mixture.weights, [0.3558729, 0.6441271], atol=5e-7)
    np.testing.assert_allclose(mixture.means, [[2.0363886, 54.4785175], [4.2896621, 79.9681163]], atol=5e-6)
    assert mixture.converged
    assert mixture.sizes.tolist() == [97, 175]


def test_k_means_of_known_variance():
    """Mitchell 1997, eq. 6.29-6.31, written out."""
    x, means, variance = blobs(1, d=1)[:, 0], np.array([-1.0, 0.0, 2.0]), 0.7
    start = Components(np.full(3, 1 / 3), means[:, None], np.full(3, variance), "known")
    fitted = fit(x, 3, "known", variance=variance, start=start, max_iterations=1)
    z = np.exp(-((x[:, None] - means) ** 2) / (2 * variance))
    z /= z.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.means[:, 0], z.T @ x / z.sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(fitted.weights, np.full(3, 1 / 3))


@pytest.mark.parametrize(
    ("kind", "theirs"), [("spherical", "spherical"), ("diagonal", "diag"), ("tied", "tied"), ("full", "full")]
)
def test_the_same_path_as_scikit_learn(kind, theirs):
    peer = pytest.importorskip("sklearn.mixture")
    x, start = blobs(2, rows=500, d=3), some_components(3, 3, 3, kind)
    precisions = np.linalg.inv(start.covariances) if kind in ("tied", "full") else 1 / start.covariances
    model = peer.GaussianMixture(3, covariance_type=theirs, max_iter=7, tol=0, reg_covar=0,
                                 weights_init=start.weights, means_init=start.means,
                                 precisions_init=precisions)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x)
    mixture = fit(x, 3, kind, start=start, max_iterations=7, tolerance=0, prior=0)
    np.testing.assert_allclose(mixture.means, model.means_, rtol=1e-9)
    np.testing.assert_allclose(mixture.covariances, model.covariances_, rtol=1e-8)
    np.testing.assert_allclose(mixture.posterior(x), model.predict_proba(x), atol=1e-10)
    assert mixture.log_likelihood / len(x) == pytest.approx(model.score(x), rel=1e-12)
    assert mixture.parameters == model._n_parameters()


# ---- The E step --------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(1, 6),
    st.sampled_from(KINDS),
    st.sampled_from([0, 0.3]),
)
def test_the_e_step_is_its_slow_twin(seed, k, d, kind, gaps):
    x, components = blobs(seed, rows=23, d=d, gaps=gaps), some_components(seed, k, d, kind)
    spreads = components.spread()
    full = spreads if spreads.ndim == 3 else spreads[:, :, None] * np.eye(d)
    n, mean, squares, log_likelihood = naive.gaussian_e_step(x, components.weights, components.means, full)
    moments, ours = e_step(points(x), components, 2)
    if spreads.ndim == 2:
        squares = np.diagonal(squares, axis1=1, axis2=2)
    np.testing.assert_allclose(moments.n, n, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(moments.squares, squares, rtol=1e-7, atol=1e-8)
    assert ours == pytest.approx(log_likelihood, rel=1e-12, abs=1e-9)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["diagonal", "full"]))
def test_gaps_marginalise_exactly(seed, kind):
    components = some_components(seed, 3, 4, kind)
    x = blobs(seed, rows=50, d=4)
    x[:, [1, 3]] = np.nan
    among = components.covariances[:, [0, 2]] if kind == "diagonal" else components.covariances[:, [[0], [2]], [0, 2]]
    margin = Components(components.weights, components.means[:, [0, 2]], among, kind)
    shares, logs = posterior(points(x), components, 1)
    margin_shares, margin_logs = posterior(points(x[:, [0, 2]]), margin, 1)
    np.testing.assert_allclose(shares, margin_shares, atol=1e-12)
    np.testing.assert_allclose(logs, margin_logs, rtol=1e-12)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_threads_change_no_digit(kind):
    x, components = blobs(5, rows=30_001, d=5), some_components(5, 4, 5, kind)
    one, log_likelihood = e_step(points(x), components, 1)
    for threads in (2, 3, 8):
        other, again = e_step(points(x), components, threads)
        assert again == log_likelihood
        for field in ("n", "mean", "squares"):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
        np.testing.assert_array_equal(
            posterior(points(x), components, threads)[0], posterior(points(x), components, 1)[0]
        )


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from(["diagonal", "full"]))
def test_moments_learned_apart_are_moments_of_everything(seed, cut, kind):
    x, components = blobs(seed, rows=60, d=3), some_components(seed, 3, 3, kind)
    whole, log_likelihood = e_step(points(x), components, 1)
    (a, log_a), (b, log_b) = e_step(points(x[:cut]), components, 1), e_step(points(x[cut:]), components, 1)
    for merged in (a + b, b + a):
        np.testing.assert_allclose(merged.n, whole.n, rtol=1e-12)
        np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(merged.squares, whole.squares, rtol=1e-9, atol=1e-10)
    assert log_a + log_b == pytest.approx(log_likelihood, rel=1e-12)


def test_moments_far_from_zero_keep_their_digits():
    """Sums of squares would lose all of these: 1e9 ± 1."""
    x = 1e9 + np.array([[-1.0], [0.0], [1.0]] * 1000)
    moments = spread(points(x))
    assert moments.squares[0, 0] == pytest.approx(2000, rel=1e-12)
    mixture = fit(x, 1, "diagonal", prior=0)
    assert mixture.covariances[0, 0] == pytest.approx(2 / 3, rel=1e-9)


def test_empty_moments_add_nothing():
    some = Moments(np.array([2.0]), np.array([[3.0]]), np.array([[1.0]]))
    none = Moments(np.zeros(1), np.array([[7.0]]), np.zeros((1, 1)))
    for both in (some + none, none + some):
        assert (both.n[0], both.mean[0, 0], both.squares[0, 0]) == (2, 3, 1)
    assert (none + none).n[0] == 0


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([0.0, 0.4]))
def test_sizes_count_the_most_probable_components(kind, seed, k, gaps):
    table, components = points(blobs(seed, 1300, 4, 3, gaps)), some_components(seed, k, 3, kind)
    most = posterior(table, components, 1)[0].argmax(axis=1)
    assert sizes(table, components, 2).tolist() == np.bincount(most, minlength=k).tolist()


def test_the_native_step_checks_shapes():
    x = np.zeros((3, 2))
    with pytest.raises(ValueError, match="don't fit"):
        _native.gaussian_step(x, np.zeros(1), np.zeros((1, 3)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="factors"):
        _native.gaussian_step(x, np.zeros(1), np.zeros((1, 2)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="one scale"):
        _native.gaussian_posterior(x, np.zeros(2), np.zeros((1, 2)), np.ones((1, 2)))


def test_rows_too_far_for_doubles_still_get_shares():
    components = Components(np.array([0.5, 0.5]), np.zeros((2, 1)), np.array([[1e-300], [1e-300]]), "diagonal")
    shares, logs = posterior(points([1e149]), components, 1)
    assert np.isfinite(shares).all()
    assert np.isfinite(logs).all()


# ---- The whole fit -----------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.sampled_from(KINDS),
    st.sampled_from([0.0, 0.2]),
    st.booleans(),
)
def test_the_objective_never_falls(seed, k, kind, gaps, accelerate):
    x = blobs(seed, rows=60, gaps=gaps)
    mixture = fit(x, k, kind, restarts=2, seed=seed, accelerate=accelerate, prior=0.1)
    assert (np.diff(mixture.trace) >= 0).all()
    prior = log_prior(mixture.components, 0.1, spread(points(x)).squares[:, 0] / spread(points(x)).n)
    assert mixture.objective == pytest.approx(mixture.log_likelihood + prior, rel=1e-12)
    assert mixture.log_density(x).sum() == pytest.approx(mixture.log_likelihood, rel=1e-10)
    assert mixture.weights.sum() == pytest.approx(1)
    assert mixture.sizes.sum() == len(x)
    np.testing.assert_allclose(mixture.posterior(x).sum(axis=1), 1)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from(KINDS))
def test_order_of_rows_and_components_does_not_matter(seed, kind):
    x = blobs(seed, rows=80)
    wide = {"diagonal": np.ones((3, 2)), "tied": np.eye(2), "full": np.tile(np.eye(2), (3, 1, 1))}
    start = Components(np.full(3, 1 / 3), x[:3], 9 * wide.get(kind, np.ones(3)), kind)
    order, turn = np.random.default_rng(seed).permutation(len(x)), np.array([2, 0, 1])
    covariances = start.covariances if kind == "tied" else start.covariances[turn]
    turned = Components(start.weights[turn], start.means[turn], covariances, kind)
    variance = 9.0 if kind == "known" else None
    options = {"max_iterations": 5, "tolerance": 0, "prior": 1.0}
    one, other = (
        fit(x, 3, kind, start=start, variance=variance, **options),
        fit(x[order], 3, kind, start=turned, variance=variance, **options),
    )
    np.testing.assert_allclose(other.means, one.means[turn], rtol=1e-7, atol=1e-8)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_prior_is_the_mode(kind):
    """No small change of the covariances raises the M step's objective: E[ln P(Y | h)] + ln P(h)."""
    x, start = blobs(9, rows=100), some_components(9, 2, 2, kind)
    table = points(x)
    variances = spread(table).squares[:, 0] / table.count
    moments, _ = e_step(table, start, 1)

    def q(c):
        spreads = c.spread()
        factors, logs = inverse_factors(spreads)
        value = 0.0
        for j in range(2):
            t = c.means[j] - moments.mean[j]
            s = moments.squares[j] + moments.n[j] * (t**2 if spreads.ndim == 2 else np.outer(t, t))
            f = factors[j]
            value += moments.n[j] * (np.log(c.weights[j]) + logs[j])
            value -= 0.5 * ((s * f**2).sum() if spreads.ndim == 2 else np.trace(f @ s @ f.T))
        return value + log_prior(c, 3.0, variances)

    best = estimate(moments, kind, variance=1.0, prior=3.0, variances=variances)
    if kind == "known":
        return
    rng = np.random.default_rng(0)
    for _ in range(20):
        change = 1 + 0.01 * rng.normal()
        near = Components(
            best.weights,
            best.means + 0.01 * rng.normal(size=best.means.shape),
            best.covariances * change,
            kind,
        )
        assert q(near) <= q(best)


def test_sample_then_fit_recovers():
    truth = Components(
        np.array([0.3, 0.7]),
        np.array([[0.0, 0.0], [6.0, 3.0]]),
        np.array([np.eye(2), [[2, 0.8], [0.8, 1]]]),
        "full",
    )
    made, by = fit(blobs(0), 2).sample(5, seed=1)
    assert made.shape == (5, 2)
    assert by.shape == (5,)
    rng = np.random.default_rng(4)
    kind = rng.choice(2, size=20_000, p=truth.weights)
    x = truth.means[kind] + np.einsum(
        "nde,ne->nd", np.linalg.cholesky(truth.covariances)[kind], rng.normal(size=(20_000, 2))
    )
    mixture = fit(x, 2)
    again = fit(mixture.sample(20_000, seed=2)[0], 2)
    for found in (mixture, again):
        np.testing.assert_allclose(found.weights, truth.weights, atol=0.02)
        np.testing.assert_allclose(found.means, truth.means, atol=0.1)
        np.testing.assert_allclose(found.covariances, truth.covariances, atol=0.15)


def test_gaps_still_recover():
    rng = np.random.default_rng(6)
    kind = rng.integers(2, size=4000)
    x = np.array([[0.0, 0.0], [6.0, 3.0]])[kind] + rng.normal(size=(4000, 2)) @ np.array([[1, 0.5], [0, 1]])
    x[rng.random(x.shape) < 0.3] = np.nan
    for covariance in ("diagonal", "full"):
        np.testing.assert_allclose(fit(x, 2, covariance).means, [[0, 0], [6, 3]], atol=0.15)


def test_the_same_seed_the_same_answer():
    x = blobs(11)
    one, other = fit(x, 3, seed=5), fit(x, 3, seed=5, threads=1)
    np.testing.assert_array_equal(one.means, other.means)
    assert one.log_likelihood == other.log_likelihood


# ---- Bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "k", "options", "error", "message"),
    [
        ([[1.0], [2.0]], 3, {}, CallError, "k is 3, but the table has 2 rows: choose k of at most 2"),
        ([[1.0], [2.0]], 0, {}, CallError, "must be at least 1"),
        ([[1.0, 2.0]] * 5, 2, {}, DataError, "all rows are equal"),
        (
            [[1.0, 2.0]] * 5,
            2,
            {"covariance": "known", "variance": 1.0},
            DataError,
            "without duplicates the table has 1 row:",
        ),
        ([[1.0, 0.1], [2.0, 0.1]], 1, {}, DataError, "column '1' is constant"),
        ([[1.0, 2.0]], 1, {}, DataError, "1 row only"),
        ([[1.0], [np.inf]], 1, {}, DataError, "row 1, column '0' is inf"),
        ([[1.0], [-np.inf]], 1, {}, DataError, "row 1, column '0' is -inf"),
        ([[1.0], [1e200]], 1, {}, DataError, r"row 1, column '0' is 1e\+200"),
        ([[1.0, np.nan], [2.0, np.nan]], 1, {}, DataError, "column '1' has no numbers"),
        ([[np.nan], [np.nan]], 1, {}, DataError, "column '0' has no numbers"),
        ([["a"], ["b"]], 1, {}, DataError, "must be rows of numbers"),
        ([[1.0], [2.0, 3.0]], 1, {}, DataError, "must be rows of numbers of one length"),
        (np.zeros((0, 2)), 1, {}, DataError, "at least 1 row"),
        (np.zeros((2, 2, 2)), 1, {}, DataError, r"not of shape \(2, 2, 2\)"),
        ([[1.0], [2.0]], 1, {"covariance": "known"}, CallError, "needs the variance"),
        ([[1.0], [2.0]], 1, {"variance": 1.0}, CallError, "leave it out"),
        ([[1.0], [2.0]], 1, {"covariance": "known", "variance": 0.0}, CallError, "above 0"),
        ([[1.0], [2.0]], 1, {"prior": -1.0}, CallError, "prior must be"),
        ([[1.0], [2.0]], 1, {"prior": float("nan")}, CallError, "prior must be"),
        ([[1.0], [2.0]], 1, {"covariance": "fulll"}, CallError, "did you mean 'full'"),
    ],
)
def test_clear_errors(x, k, options, error, message):
    with pytest.raises(error, match=message):
        gaussian_mixture(x, k, **options)


def test_one_row_of_known_variance():
    mixture = fit([[1.0, 2.0]], 1, "known")
    assert mixture.means.tolist() == [[1.0, 2.0]]


def test_duplicate_points_collapse_aloud():
    x = np.array([[0.0, 0.0]] * 5 + [[1.0, 1.0]] * 5 + [[0.0, 2.0]] * 5)
    with pytest.warns(PlausibleWarning, match=r"collapsed onto 5 rows.*fewer components than 3, or a larger prior"):
        mixture = gaussian_mixture(x, 3, covariance="diagonal")
    assert mixture.sizes.tolist() == [5, 5, 5]
    with pytest.raises(ModelError, match=r"collapsed.*larger prior"):
        gaussian_mixture(x, 3, covariance="diagonal", prior=0)
    calm = gaussian_mixture(x, 3, covariance="diagonal", prior=1)
    assert np.isfinite(calm.covariances).all()


def test_an_emptied_component_begins_again():
    x = blobs(3, rows=300)
    start = Components(np.full(3, 1 / 3), np.array([[0.0, 0.0], [1.0, 1.0], [1e4, 1e4]]), np.ones((3, 2)), "diagonal")
    with pytest.warns(PlausibleWarning, match="has lost its rows, and began again"):
        mixture = gaussian_mixture(x, 3, covariance="diagonal", start=start)
    assert (mixture.weights > 0.01).all()


def test_columns_that_repeat_each_other():
    x = blobs(3, d=1)
    twice = np.hstack([x, 2 * x])
    with pytest.warns(PlausibleWarning, match="collapsed"):
        mixture = gaussian_mixture(twice, 2)
    assert np.isfinite(mixture.log_likelihood)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1.0, -3.5, 1e-8, 1e8, float("nan")]), min_size=2, max_size=2),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 4),
    st.sampled_from(KINDS),
    st.sampled_from([0.0, 1e-6, 1.0]),
)
def test_an_answer_or_a_clear_error(rows, k, kind, prior):
    try:
        mixture = fit(rows, k, kind, prior=prior, restarts=2, max_iterations=50)
    except (CallError, DataError, ModelError):
        return
    for array in (
        mixture.weights,
        mixture.means,
        mixture.covariances,
        mixture.trace,
        mixture.posterior(rows),
        mixture.log_density(rows),
    ):
        assert np.isfinite(array).all()
