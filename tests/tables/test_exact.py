"""Counts of tables are exact: in any order, merged, forgotten, left out."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from table_models import cells_of, model_of, probabilities
from table_twins import log_scores, posterior

from plausible.categories import Categories
from plausible.errors import DataError
from plausible.files.model import load, save
from plausible.moments import Moments
from plausible.priors import Smoothing

KINDS = {"colour": False, "size": True, "shape": False, "weight": True}
FINITE = st.floats(allow_nan=False, allow_infinity=False)
CELL = {
    False: st.none() | st.sampled_from(["red", "green", "blue", "zażółć\n", "黑"]),
    True: st.none() | st.sampled_from([0.0, 1.0, -2.5, 1e8 + 0.1, 3.25]) | st.floats(-1e6, 1e6),
}
ROW = st.fixed_dictionaries({name: CELL[number] for name, number in KINDS.items()})
ROWS = st.lists(st.tuples(ROW, st.sampled_from("abc")), min_size=1, max_size=25)
TAME = {False: CELL[False], True: st.none() | st.integers(-400, 400).map(lambda eighths: eighths / 8)}
TAME_ROW = st.fixed_dictionaries({name: TAME[number] for name, number in KINDS.items()})
TAME_ROWS = st.lists(st.tuples(TAME_ROW, st.sampled_from("abc")), min_size=1, max_size=25)
"""Numbers whose scores stay below a million, so that their differences have digits left to compare."""
quick = settings(deadline=None, max_examples=60)


def learned(pairs, model=None, weights=None):
    model = model or model_of(KINDS)
    if pairs:
        model.update(cells_of([row for row, _ in pairs], KINDS), [label for _, label in pairs], weights=weights)
    return model


def bytes_of(model, path):
    save(model, path)
    return path.read_bytes()


@quick
@given(st.lists(FINITE, max_size=30), st.randoms())
def test_sums_are_exact(values, random):
    moments, shuffled = Moments(), Moments()
    moments.count(np.array(values, float), np.zeros(len(values), np.int32))
    random.shuffle(values)
    for value in values:
        shuffled.count(np.array([value]), np.zeros(1, np.int32))
    exact = (Fraction(len(values)), sum(map(Fraction, values)), sum(Fraction(value) ** 2 for value in values))
    assert moments.sums(0) == exact
    assert shuffled.export([0]) == moments.export([0])
    other = Moments()
    other.load([30], **moments.export([0]))
    assert other.sums(0) == exact


@quick
@given(st.lists(st.tuples(FINITE, st.integers(1, 1 << 40)), max_size=20))
def test_weighted_sums_are_exact(pairs):
    values = np.array([value for value, _ in pairs], float)
    weights = np.array([weight * 2.0**-30 for _, weight in pairs])
    moments = Moments()
    moments.count(values, np.zeros(len(pairs), np.int32), 1, weights)
    w = [Fraction(weight) for weight in weights.tolist()]
    x = [Fraction(value) for value in values.tolist()]
    products = [a * b for a, b in zip(w, x, strict=True)]
    assert moments.sums(0) == (sum(w), sum(products), sum(a * b for a, b in zip(products, x, strict=True)))


@quick
@given(ROWS, st.data())
def test_any_order_chunks_and_parts_give_the_same_bytes(tmp_path_factory, pairs, data):
    folder = tmp_path_factory.mktemp("exact")
    whole = bytes_of(learned(pairs), folder / "whole")
    shuffled = data.draw(st.permutations(pairs))
    at = data.draw(st.integers(0, len(pairs)))
    model = learned(shuffled[:at])
    model.merge(learned(shuffled[at:]))
    assert bytes_of(model, folder / "merged") == whole
    chunked = model_of(KINDS)
    for pair in shuffled:
        learned([pair], chunked)
    assert bytes_of(chunked, folder / "chunked") == whole
    assert bytes_of(load(folder / "whole"), folder / "again") == whole


@quick
@given(ROWS, ROWS)
def test_forgotten_is_never_learned(tmp_path_factory, kept, gone):
    folder = tmp_path_factory.mktemp("exact")
    model = learned(gone, learned(kept))
    model.forget(cells_of([row for row, _ in gone], KINDS), [label for _, label in gone])
    assert bytes_of(model, folder / "forgot") == bytes_of(learned(kept), folder / "never")


def test_forgetting_what_was_never_learned_is_refused():
    model = learned([({"colour": "red", "size": 1.0, "shape": None, "weight": 2.0}, "a")] * 2)
    before = model.counts.families["size"].sums(0)
    with pytest.raises(DataError, match="counts of 'blue'"):
        model.forget(cells_of([{"colour": "blue", "size": 1.0, "shape": None, "weight": 2.0}], KINDS), ["a"])
    with pytest.raises(DataError, match="counts of '9'"):
        model.forget(cells_of([{"colour": "red", "size": 9.0, "shape": None, "weight": 2.0}], KINDS), ["a"])
    assert model.counts.families["size"].sums(0) == before
    assert model.documents == 2


@quick
@given(TAME_ROWS, TAME_ROW, st.sampled_from([None, 0.0, 2.5]), st.booleans(), st.sampled_from(["normal", "student"]))
def test_scores_equal_the_plain_twin(pairs, query, m, share, numbers):
    share = share and m != 0
    rules = {"smoothing": Smoothing(m=m, share=share), "floor": 1e-3, "numbers": numbers}
    model = learned(pairs, model_of(KINDS, **rules))
    rows, labels = [row for row, _ in pairs], [label for _, label in pairs]
    expected = posterior(log_scores(rows, labels, KINDS, query, m=m, share=share, floor=1e-3, numbers=numbers))
    scores = model.scores(cells_of([query], KINDS))
    if expected is None:
        assert scores.undefined == [0]
    else:
        assert probabilities(scores)[0] == pytest.approx([expected[c] for c in scores.classes], rel=1e-7, abs=1e-12)


@quick
@given(
    TAME_ROWS, st.sampled_from([None, 0.0, 2.5]), st.booleans(), st.booleans(), st.sampled_from(["normal", "student"])
)
def test_left_out_equals_learning_anew(pairs, m, share, weighted, numbers):
    weights = np.array([1 + i % 3 for i in range(len(pairs))], float) if weighted else None
    share = share and m != 0
    rules = {"smoothing": Smoothing(m=m, share=share), "floor": 1e-3, "numbers": numbers}
    assume(len(pairs) > 1)
    model = learned(pairs, model_of(KINDS, **rules), weights)
    rows, labels = [row for row, _ in pairs], [label for _, label in pairs]
    left_out = model.scores_left_out(cells_of(rows, KINDS), labels, weights=weights)
    found = np.asarray(left_out.log_posterior)
    assert not np.isnan(found).any()
    for i, row in enumerate(rows):
        others = pairs[:i] + pairs[i + 1 :]
        if not others:
            continue
        anew = learned(others, model_of(KINDS, **rules), None if weights is None else np.delete(weights, i))
        scores = anew.scores(cells_of([row], KINDS))
        if scores.undefined or i in left_out.undefined:
            assert bool(scores.undefined) == (i in left_out.undefined)
            continue
        for k, name in enumerate(left_out.classes):
            expected = (
                np.asarray(scores.log_posterior)[0, scores.classes.index(name)] if name in scores.classes else -math.inf
            )
            assert found[i, k] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_left_out_of_an_outlier_is_exact():
    values = [*np.linspace(0, 1, 50), 1e9]
    model = model_of({"x": True})
    labels = ["a"] * 51 + ["b"] * 4
    cells = {"x": np.array([*values, 0.1, 0.2, 0.3, 1e9])}
    model.update(cells, labels)
    found = np.asarray(model.scores_left_out(cells, labels).log_posterior)
    for i in (50, 54):
        anew = model_of({"x": True})
        anew.update({"x": np.delete(cells["x"], i)}, labels[:i] + labels[i + 1 :])
        expected = np.asarray(anew.scores({"x": cells["x"][[i]]}).log_posterior)
        np.testing.assert_allclose(found[[i]], expected, rtol=1e-12)


def test_threads_change_nothing():
    random = np.random.default_rng(0)
    model = model_of({"s": False, "x": True})
    cells = {"s": random.choice(list("abcdef"), 20_000).tolist(), "x": random.normal(size=20_000)}
    model.update(cells, random.choice(["u", "v", "w"], 20_000).tolist())
    one, many = (np.asarray(model.scores(cells, threads=n).log_posterior) for n in (1, 7))
    assert (one == many).all()


def test_a_large_offset_costs_no_digits():
    random = np.random.default_rng(1)
    x = random.normal(size=200)
    labels = np.where(random.random(200) < 0.5, "a", "b").tolist()
    near, far = model_of({"x": True}), model_of({"x": True})
    near.update({"x": np.round(x * 1024) / 1024}, labels)
    far.update({"x": np.round(x * 1024) / 1024 + 2.0**40}, labels)
    query = np.array([0.5, -1.25, 3.0])
    np.testing.assert_allclose(
        np.asarray(near.scores({"x": query}).log_posterior),
        np.asarray(far.scores({"x": query + 2.0**40}).log_posterior),
        rtol=1e-11,
    )


def test_states_and_classes_appear_at_any_time():
    counts = Categories()
    for i in range(100):
        counts.count([f"s{i}"], np.array([i % 7], np.int32))
    cells = counts.cells()
    assert cells.shape == (100, 7)
    assert cells.sum() == 100
    assert all(cells[i, i % 7] == 1 for i in range(100))


def test_a_million_states_are_counted_and_more_are_refused():
    counts = Categories()
    counts.count([str(i) for i in range(1_000_000)], np.zeros(1_000_000, np.int32))
    assert counts.cells().sum() == 1_000_000
    with pytest.raises(DataError, match="more than can be counted as categories"):
        counts.count(["x"], np.array([1000], np.int32))
