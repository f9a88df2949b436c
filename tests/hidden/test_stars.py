"""Stars with a hidden centre: the slow twin, gaps, and clusters of tables."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from plausible import _native
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.learning.mixtures.clusters import cluster
from plausible.learning.mixtures.leaning import power_of_evidence
from plausible.learning.mixtures.stars import Star, StarPrior, StarRows, count, e_step, posterior
from plausible.learning.mixtures.tables import mixture_of_tables

from . import naive

VARIABLES = ((0, 3), (3, 5), (5, 9))


def some_rows(seed, n=30, columns=2, gaps=0.3, times=False):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(first, end, size=n) for first, end in VARIABLES])
    there = rng.random(codes.shape) >= gaps
    numbers = rng.normal(size=(n, columns))
    numbers[rng.random(numbers.shape) < gaps] = np.nan
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    features = codes[there].astype(np.int32)
    counts = rng.integers(1, 4, size=len(features)).astype(float) if times else None
    return StarRows(starts, features, counts, numbers, VARIABLES)


def some_star(seed, k=3, columns=2):
    rng = np.random.default_rng(seed)
    tables = np.concatenate([rng.dirichlet(np.ones(end - first), size=k).T for first, end in VARIABLES])
    return Star(rng.dirichlet(np.ones(k)), tables, rng.normal(size=(columns, k)), 0.2 + rng.random((columns, k)))


def listed(rows):
    times = np.ones(len(rows.features)) if rows.times is None else rows.times
    return [
        [(int(rows.features[e]), float(times[e])) for e in range(rows.starts[i], rows.starts[i + 1])]
        for i in range(rows.count)
    ]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 2), st.booleans())
def test_the_e_step_is_its_slow_twin(seed, k, columns, times):
    rows, star = some_rows(seed, columns=columns, times=times), some_star(seed, k, columns)
    n, counts, sums, log_likelihood = naive.star_e_step(
        listed(rows), np.log(star.weights), np.log(star.tables), rows.numbers, star.means, star.variances
    )
    found, ours = e_step(rows, star, 2)
    np.testing.assert_allclose(found.rows, n, rtol=1e-10)
    np.testing.assert_allclose(found.features, counts, rtol=1e-9, atol=1e-12)
    assert ours == pytest.approx(log_likelihood, rel=1e-12)
    assert found.numbers.n.reshape(columns, k) == pytest.approx(sums[:, 0])
    mean = star.means + sums[:, 1] / np.maximum(sums[:, 0], 1e-300)
    np.testing.assert_allclose(found.numbers.mean.reshape(columns, k), mean, rtol=1e-8, atol=1e-10)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 29))
def test_counts_learned_apart_are_counts_of_everything(seed, cut):
    rows, star = some_rows(seed), some_star(seed)

    def part(first, last):
        a, b = rows.starts[first], rows.starts[last]
        return StarRows(
            rows.starts[first : last + 1] - a, rows.features[a:b], None, rows.numbers[first:last], VARIABLES
        )

    whole, log_likelihood = e_step(rows, star, 1)
    (one, log_one), (other, log_other) = e_step(part(0, cut), star, 1), e_step(part(cut, 30), star, 1)
    both = one + other
    np.testing.assert_allclose(both.rows, whole.rows, rtol=1e-12)
    np.testing.assert_allclose(both.features, whole.features, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(both.numbers.mean, whole.numbers.mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(both.numbers.squares, whole.numbers.squares, rtol=1e-8, atol=1e-11)
    assert log_one + log_other == pytest.approx(log_likelihood, rel=1e-12)


def test_threads_change_no_digit():
    rows, star = some_rows(3, n=20_001), some_star(3)
    one, log_likelihood = e_step(rows, star, 1)
    for threads in (2, 5):
        other, again = e_step(rows, star, threads)
        assert again == log_likelihood
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_array_equal(one.numbers.squares, other.numbers.squares)
        np.testing.assert_array_equal(posterior(rows, star, threads)[0], posterior(rows, star, 1)[0])


def test_a_gap_is_the_sum_over_what_could_stand_there():
    star = some_star(7, columns=0)
    empty = np.empty((1, 0))
    gap = StarRows(np.array([0, 2]), np.array([1, 6], dtype=np.int32), None, empty, VARIABLES)
    filled = [
        StarRows(np.array([0, 3]), np.array([1, state, 6], dtype=np.int32), None, empty, VARIABLES) for state in (3, 4)
    ]
    total = sum(np.exp(posterior(row, star, 1)[1][0]) for row in filled)
    assert np.exp(posterior(gap, star, 1)[1][0]) == pytest.approx(total, rel=1e-12)


def test_a_row_of_gaps_gets_the_weights():
    star = some_star(8)
    rows = StarRows(np.array([0, 0]), np.empty(0, dtype=np.int32), None, np.full((1, 2), np.nan), VARIABLES)
    shares, logs = posterior(rows, star, 1)
    np.testing.assert_allclose(shares[0], star.weights)
    assert logs[0] == pytest.approx(0)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6))
def test_a_hard_count_is_an_e_step_that_is_sure(seed):
    rows, rng = some_rows(seed), np.random.default_rng(seed)
    which = rng.integers(3, size=rows.count)
    found = count(rows, which, 3)
    assert found.rows.tolist() == np.bincount(which, minlength=3).tolist()
    assert found.features.sum() == len(rows.features)
    seen, moments = rows.totals()
    np.testing.assert_array_equal(found.features.sum(axis=1), seen)
    assert found.numbers.n.reshape(2, 3).sum(axis=1) == pytest.approx(moments.n)


def test_the_prior_is_the_mode():
    rows, star, rng = some_rows(5), some_star(5), np.random.default_rng(0)
    counts, _ = e_step(rows, star, 1)
    prior = StarPrior(2.0, VARIABLES, np.array([1.0, 2.0]))

    def q(s):
        value = (counts.features * np.log(s.tables)).sum()
        n, mean = counts.numbers.n.reshape(2, 3), counts.numbers.mean.reshape(2, 3)
        squares = counts.numbers.squares.reshape(2, 3) + n * (mean - s.means) ** 2
        return value - 0.5 * (n * np.log(s.variances) + squares / s.variances).sum() + prior.log_density(s)

    best = prior.estimate(counts)
    for _ in range(30):
        tables = best.tables * np.exp(0.02 * rng.normal(size=best.tables.shape))
        for first, end in VARIABLES:
            tables[first:end] /= tables[first:end].sum(axis=0)
        near = Star(best.weights, tables, best.means + 0.01 * rng.normal(size=best.means.shape),
                    best.variances * np.exp(0.02 * rng.normal(size=best.variances.shape)))  # fmt: skip
        assert q(near) <= q(best)


def test_the_native_step_checks_its_arrays():
    star, empty = some_star(1, columns=0), np.empty((1, 0))
    logs, weights, numbers = np.log(star.tables), np.log(star.weights), np.empty((0, 3))
    for starts, features, message in [
        ([0, 1], [9], "out of range"),
        ([0, 1], [-1], "out of range"),
        ([0, 2], [1], "don't fit"),
        ([0], [], "one start a row"),
    ]:
        with pytest.raises(ValueError, match=message):
            _native.star_step(
                np.array(starts), np.array(features, dtype=np.int32), None, logs, weights, empty, *[numbers] * 3
            )


# ---- Clusters of tables -----------------------------------------------------------------------------------------


def animals(n=200, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        bird = i % 2 == 0
        cell = {
            "skin": ("feathers" if bird else "fur") if rng.random() < 0.95 else "scales",
            "legs": "2" if bird == (rng.random() < 0.9) else "4",
            "weight": float(rng.normal(1 if bird else 30, 1 if bird else 5)),
        }
        rows.append({name: None if rng.random() < 0.15 else value for name, value in cell.items()})
    return rows


def test_animals():
    rows = animals()
    mixture = mixture_of_tables(rows, 2, categories=["legs"])
    assert mixture.converged
    assert (np.diff(mixture.trace) >= 0).all()
    shares = mixture.posterior(rows)
    birds = shares[::2].argmax(axis=1)
    assert max((birds == 0).mean(), (birds == 1).mean()) > 0.95
    assert mixture.sizes.sum() == 200
    first = {c.variable: c for c in reversed(mixture.characteristics(int(birds[0])))}
    assert first["skin"].value == "feathers"
    assert first["weight"].value.startswith("1")
    assert all(i % 2 == 0 for i in mixture.exemplars[int(birds[0])])
    assert mixture.parameters == 1 + 2 * (2 + 1 + 2)


def test_unseen_values_count_as_missing_and_columns_must_be_there():
    mixture = mixture_of_tables(animals(), 2, categories=["legs"])
    new = [{"skin": "slime", "legs": None, "weight": None}]
    np.testing.assert_allclose(mixture.posterior(new)[0], mixture.weights)
    with pytest.raises(CallError, match=r"unknown column.*'weight'"):
        mixture.posterior([{"skin": "fur", "legs": "4"}])
    with pytest.raises(CallError, match="no component 2"):
        mixture.characteristics(2)


def repeated(rows, times):
    """Every column so many times over."""
    return [{f"{name} {i}": value for name, value in row.items() for i in range(times)} for row in rows]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_the_power_is_what_pairs_of_columns_say_of_one_another(seed, k):
    """Its slow twin: the variance of a sum is the sum of all covariances."""
    rows, star = some_rows(seed), some_star(seed, k)
    shares = posterior(rows, star, 1)[0]
    values = np.zeros((k, rows.count, len(VARIABLES) + 2))
    for i, entries in enumerate(listed(rows)):
        for feature, _ in entries:
            variable = next(v for v, (first, end) in enumerate(VARIABLES) if first <= feature < end)
            values[:, i, variable] = np.log(star.tables[feature])
        for d, x in enumerate(rows.numbers[i]):
            if not np.isnan(x):
                values[:, i, len(VARIABLES) + d] = norm.logpdf(x, star.means[d], np.sqrt(star.variances[d]))
    alone = together = 0.0
    for a in range(k):
        for b in range(k):
            between = np.cov((values[a] - values[b]).T, aweights=shares[:, a], ddof=0)
            size = shares[:, a].sum() * shares[:, b].sum()
            alone, together = alone + size * np.trace(between), together + size * between.sum()
    assert power_of_evidence(rows, star, shares) == pytest.approx(min(1, alone / together))


def test_columns_that_are_there_three_times_count_once():
    once = mixture_of_tables(animals(), 2, categories=["legs"])
    names = [f"legs {i}" for i in range(3)]
    thrice = mixture_of_tables(repeated(animals(), 3), 2, categories=names)
    assert thrice.star.power == pytest.approx(once.star.power / 3, rel=0.15)
    sure = mixture_of_tables(repeated(animals(), 3), 2, categories=names, temper=False)
    new = [row for row in animals(40, seed=1) if row["skin"] or row["legs"] or row["weight"]]
    expected = once.posterior(new)[:, 0]
    wrong = [np.abs(mixture.posterior(repeated(new, 3))[:, 0] - expected).mean() for mixture in (thrice, sure)]
    assert wrong[0] < wrong[1] / 2
    assert sure.star.power == 1


def test_how_many_clusters_is_chosen_before_the_power():
    choice = cluster(repeated(animals(60), 2), "auto", categories=["legs 0", "legs 1"])
    assert choice.best.star.power < 1
    chosen = next(one for one in choice.candidates if one.k == len(choice.best.weights))
    assert chosen.log_likelihood != choice.best.log_likelihood


def test_a_power_leaves_the_log_likelihood_a_log_likelihood():
    mixture = mixture_of_tables(repeated(animals(), 2), 2, categories=["legs 0", "legs 1"])
    assert mixture.star.power < 0.7
    shares, logs = mixture.posterior_of(mixture.read(repeated(animals(), 2)))
    plain, also = posterior(mixture.read(repeated(animals(), 2)), replace(mixture.star, power=1.0), 1)
    np.testing.assert_allclose(logs, also, rtol=1e-12)
    assert mixture.log_likelihood == pytest.approx(logs.sum())
    assert shares.max(axis=1).mean() < plain.max(axis=1).mean()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_the_objective_never_falls(seed, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausibleWarning)
        mixture = mixture_of_tables(animals(40, seed), k, restarts=2, seed=seed)
    assert (np.diff(mixture.trace) >= 0).all()
    assert np.isfinite(mixture.star.tables).all()
    np.testing.assert_allclose(mixture.star.tables.sum(axis=0), 2)  # two columns of categories


@pytest.mark.parametrize(
    ("rows", "k", "options", "error", "message"),
    [
        ([{"a": "x"}, {"a": "y"}], 3, {}, CallError, "k is 3, but the table has 2 rows"),
        ([{"a": "x"}] * 5, 2, {}, DataError, "without duplicates the table has 1 row:"),
        ([{"a": "x"}, {"a": "y"}], 0, {}, CallError, "at least 1"),
        ([{"a": "x"}, {"a": "y"}], 1, {"prior": 0.0}, CallError, "prior must be"),
        ([{"a": "x"}, {"a": "y"}], 1, {"columns": ["b"]}, CallError, "unknown column"),
        ([{"a": "x", "b": None}] * 2, 1, {}, DataError, "column 'b'.*no values"),
        ([{"a": "x", "n": float("nan")}] * 2, 1, {}, DataError, "column 'n'.*no values"),
        ([{"a": 2.0}, {"a": 2.0}], 1, {}, DataError, "column 'a'.*constant"),
        ([{"a": 2.0}, {"a": float("inf")}], 1, {}, DataError, "row 2: inf in column 'a' is too large"),
        ([{"id": f"n{i}"} for i in range(30)], 2, {}, DataError, "it is a name, not a category"),
    ],
)
def test_clear_errors(rows, k, options, error, message):
    with pytest.raises(error, match=message):
        mixture_of_tables(rows, k, **options)
