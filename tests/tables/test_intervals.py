"""Columns that are cut: by what was learned, in any order, in bounded memory, and with nothing lost."""

from __future__ import annotations

import warnings
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import plausible
from plausible import _native
from plausible.bins import Histogram, equal_ends, interval_variable, mdl_ends
from plausible.errors import PlausibleWarning
from plausible.files.model import to_bytes
from plausible.learning.classifier import options_from
from plausible.splits import folds

VALUES = st.lists(
    st.tuples(st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float) | st.just(float("nan")), st.integers(0, 2)),
    max_size=60,
)


def counted(pairs, most=1 << 18):
    histogram = _native.Histogram(most)
    values, labels = (np.array([pair[i] for pair in pairs]) for i in range(2))
    histogram.count(values.astype(float), labels.astype(np.int32))
    return histogram


@given(VALUES)
def test_a_histogram_counts_each_value(pairs):
    low, high, counts = counted(pairs).cells(3)
    there = [(value, label) for value, label in pairs if value == value]
    assert low.tolist() == high.tolist() == sorted({value for value, _ in there})
    expected = [[sum(pair == (value, label) for pair in there) for label in range(3)] for value in low]
    assert counts.tolist() == expected


@settings(deadline=None)
@given(VALUES, st.integers(4, 9), st.randoms(use_true_random=False), st.integers(0, 60))
@example([(float(value), 0) for value in range(-2, 3)], 4, Random(0), 0)
def test_a_coarse_histogram_does_not_depend_on_order_or_parts(pairs, most, random, cut):
    whole = counted(pairs, most).cells(3)
    shuffled = list(pairs)
    random.shuffle(shuffled)
    parts = counted(shuffled[:cut], most)
    parts.merge(counted(shuffled[cut:], most), [0, 1, 2])
    low, high, counts = whole
    for one, other in zip(whole, parts.cells(3), strict=True):
        assert one.tolist() == other.tolist()
    assert len(low) <= most
    assert (low <= high).all()
    assert (high[:-1] < low[1:]).all()
    for value, _ in pairs:
        assert value != value or ((low <= value) & (value <= high)).sum() == 1
    assert counts.sum() == sum(value == value for value, _ in pairs)


def test_ends_of_equal_frequency_never_part_equal_values():
    assert equal_ends(np.array([5.0, 1.0, 1.0, 5.0]), 2) == [1]
    assert equal_ends(np.array([9.0, 1.0]), 5) == [0]
    assert equal_ends(np.array([4.0]), 3) == []
    assert mdl_ends(np.array([[5, 5], [6, 4], [5, 6]])) == []


def test_intervals_have_the_counts_of_their_values():
    random = np.random.default_rng(0)
    values, labels = random.normal(size=400).round(1), random.integers(0, 3, 400).astype(np.int32)
    histogram = Histogram()
    histogram.count(values, labels)
    cuts = histogram.cuts(4, 3)
    variable = interval_variable("x", cuts)
    cells = histogram.categories(variable, 3).cells()
    at = np.searchsorted(cuts, values)
    assert cells.tolist() == [[((at == i) & (labels == c)).sum() for c in range(3)] for i in range(len(cuts) + 1)]


def rows(n, seed=5):
    random = np.random.default_rng(seed)
    return [
        {"x": float(x), "y": float(random.normal()), "class": "ab"[int(x + random.normal() > 0.5)]}
        for x in random.normal(size=n).round(2)
    ]


def test_one_pass_in_any_order_is_the_same_model():
    given, options = rows(300), {"target": "class", "kinds": {"x": "mdl", "y": "bins:4"}}
    model = plausible.learn(given, **options)
    assert [len(variable.cuts) for variable in model.variables] == [1, 3]
    assert to_bytes(plausible.learn(given[::-1], **options)) == to_bytes(model)


def test_folds_are_cut_by_what_they_learn():
    """Each fold is answered as a model is that was learned from its training rows alone."""
    given, options = rows(120), {"target": "class", "kinds": {"x": "mdl", "y": "bins:5"}}
    fold_of = folds([row["class"] for row in given], 4, 0)
    hits, cuts = 0, set()
    for k in range(4):
        model = plausible.learn([row for row, fold in zip(given, fold_of, strict=True) if fold != k], **options)
        tested = [row for row, fold in zip(given, fold_of, strict=True) if fold == k]
        answers = plausible.classify(model, tested)
        hits += sum(answer.label == row["class"] for answer, row in zip(answers, tested, strict=True))
        cuts.add(model.variables[1].cuts)
    assert len(cuts) > 1
    assert plausible.evaluate(given, folds=4, **options).accuracy == hits / 120


def test_an_empty_column_can_not_be_cut():
    with pytest.raises(plausible.DataError, match="column 'y' is empty, so it can't be cut"):
        plausible.learn([{**row, "y": None} for row in rows(20)], target="class", kinds={"y": "bins"})


def test_columns_with_one_value_in_most_rows_are_cut_in_one_pass():
    given = [{"gain": 0 if i % 5 else 1000 + i, "class": "ab"[i % 5 == 0]} for i in range(400)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausibleWarning)
        model = plausible.learn(given, target="class")
    assert model.variables[0].cuts == (500.0,)
    assert options_from(target="class").said.target == "class"
