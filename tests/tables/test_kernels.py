"""The core's passes over cells beside plain twins: keys, intervals, sums, scores, and lines of text."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible import _native
from plausible.bins import Histogram
from plausible.moments import Moments
from plausible.sources import cell_text

floats = st.floats(allow_nan=True, allow_infinity=True)
WHOLE = st.one_of(st.integers(-40, 40).map(float), st.just(float("nan")), st.just(-0.0))


@given(st.lists(floats, max_size=40))
def test_numbers_are_written_as_python_does(values):
    written = _native.rows_of_text([np.array(values, float)], ["<"], ">", len(values))
    assert written == "".join(f"<{value!r}>" for value in values)


def test_rows_are_written_cell_by_cell():
    codes = np.array([1, -1, 0], np.int32)
    long = "x" * 100
    given_ = [(codes, ["é", long, "none"]), np.array([0.5, 2.0, -1e-7]), (codes, ["", "b", "c"])]
    assert _native.rows_of_text(given_, ["{", ", ", ";"], "}\n", 3) == (
        f"{{{long}, 0.5;b}}\n{{none, 2.0;c}}\n{{é, -1e-07;}}\n"
    )
    assert _native.rows_of_text([], [], "\n", 2) == "\n\n"
    with pytest.raises(ValueError, match="out of range"):
        _native.rows_of_text([(codes, ["a"])], [""], "", 3)
    with pytest.raises(ValueError, match="length"):
        _native.rows_of_text([codes.astype(float)], [""], "", 2)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 5)), max_size=60), st.integers(0, 6), st.randoms())
def test_rows_with_small_keys_are_found_and_counted(rows, known, shuffler):
    texts, times = [text for text, _ in rows], np.array([often for _, often in rows], np.int64)
    none = np.empty(0, np.uint64)
    _, every, _, _ = _native.small_keys([list("abcdef")], 6, cell_text, none, 2**64 - 1)
    key = dict(zip("abcdef", every.tolist(), strict=True))
    bound = shuffler.choice(every.tolist())
    kept = np.sort(every)[:known]
    own, keys, first, others = _native.small_keys([texts], len(texts), cell_text, kept, bound, times)
    near = [text for text in texts if key[text] <= bound]
    counts = {text: sum(often for other, often in rows if other == text) for text in near}
    assert own.tolist() == [sum(n for text, n in counts.items() if key[text] == one) for one in kept.tolist()]
    new = [text for text in dict.fromkeys(near) if key[text] not in kept.tolist()]
    assert keys.tolist() == [key[text] for text in new]
    assert first.tolist() == [texts.index(text) for text in new]
    assert others.tolist() == [counts[text] for text in new]


@pytest.mark.parametrize("cuts", [1, 5, 64, 65, 300])
def test_intervals_are_those_of_a_search(cuts):
    random = np.random.default_rng(cuts)
    ends = np.sort(random.normal(size=cuts))
    numbers = np.concatenate([random.normal(size=3000), ends, [np.nan, np.inf, -np.inf]])
    expected = np.where(np.isnan(numbers), -1, np.searchsorted(ends, numbers))
    assert _native.intervals(numbers, ends).tolist() == expected.tolist()


@given(st.lists(WHOLE, min_size=1, max_size=30), st.sampled_from([None, 0.5, 2.0**31, -(2.0**31), 2.0**52, 1e300]))
def test_sums_of_many_whole_numbers_are_exact(few, odd):
    """Many rows are counted by value where all are whole and small, and one by one where one is not."""
    values = np.array((few * (5000 // len(few) + 1))[:5000] + ([] if odd is None else [odd]))
    labels = (np.arange(len(values)) % 3).astype(np.int32)
    moments = Moments()
    moments.count(values, labels)
    for label in range(3):
        own = [Fraction(value) for value in values[labels == label].tolist() if value == value]
        assert moments.sums(label) == (len(own), sum(own), sum(value * value for value in own))


@pytest.mark.parametrize("odd", [float("inf"), -float("inf")])
def test_an_infinite_number_among_many_is_refused(odd):
    values = np.full(5000, 3.0)
    values[4321] = odd
    for family in (Moments(), Histogram()):
        with pytest.raises(ValueError, match="infinite"):
            family.count(values, np.zeros(5000, np.int32))


@given(st.lists(WHOLE, min_size=1, max_size=30), WHOLE, st.floats(0, 1))
def test_a_histogram_counts_the_value_of_most_rows_like_any_other(few, usual, share):
    random = np.random.default_rng(1)
    values = np.where(random.random(3000) < share, usual, random.choice(few, 3000))
    labels = random.integers(0, 3, 3000).astype(np.int32)
    histogram = Histogram()
    histogram.count(values, labels)
    low, _, counts = histogram.cells(3)
    assert low.tolist() == sorted({value + 0.0 for value in values.tolist() if value == value})
    for row, value in enumerate(low.tolist()):
        assert counts[row].tolist() == np.bincount(labels[values == value], minlength=3).tolist()


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_scores_of_few_whole_numbers_are_those_of_each(classes):
    """In many rows they come from a table, in few from the density; what is missing or unknown adds nothing."""
    random = np.random.default_rng(classes)
    values = random.integers(-20, 60, 4096).astype(float)
    values[random.random(4096) < 0.1] = np.nan
    density = [random.normal(size=classes) * 9, np.zeros(classes), *random.uniform(1, 2, (2, classes))]
    codes = random.integers(-2, 4, 4096).astype(np.int32)
    table, tells = random.normal(size=(4, classes)), np.array([True, False, True, True])

    def scores(rows, power):
        out = np.zeros((len(values[rows]), classes)), *np.zeros((2, len(values[rows])), np.uint64)
        parts = [(values[rows], *density, power), (codes[rows], table, tells), (values[rows], *[np.empty(0)] * 5)]
        _native.add_columns(*out, parts)
        return out

    for power in (np.full(classes, 1.5), np.full(classes, np.inf)):
        together = scores(slice(None), power)
        apart = [scores(slice(start, start + 8), power) for start in range(0, 4096, 8)]
        for whole, pieces in zip(together, zip(*apart, strict=True), strict=True):
            assert (whole == np.concatenate(pieces)).all()
        present, there = together[1], ~np.isnan(values)
        assert (present == 2 * there.astype(int) + (codes != -1)).all()
        assert (together[2] == there.astype(int) + ((codes >= 0) & (codes != 1))).all()
