"""Counting: in memory, in frames, from a cache; always the same as row by row."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import _native
from plausible.counting import Cache, Cases, FrameCounter, count_families
from plausible.errors import CallError, DataError
from plausible.schema import Variable
from tests.structure.naive import counts, random_cases

SEEDS = st.integers(0, 2**32 - 1)


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.integers(0, 300), st.sampled_from([0.0, 0.2]), st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_counts_equal_counting_row_by_row(seed, rows, gaps, states):
    cases = random_cases(seed, states, rows, gaps)
    names = [variable.name for variable in cases.variables]
    rng = np.random.default_rng(seed)
    asked = [names[i] for i in rng.permutation(len(names))[: rng.integers(1, len(names) + 1)]]
    assert (cases.counts(asked) == counts(cases, asked)).all()


@pytest.mark.parametrize("states", [(2, 3, 4), (70, 3, 2), (300, 2, 3), (40_000, 2, 2), (1, 1, 2)])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_counts_over_many_blocks_and_any_width_of_codes(states, gaps):
    cases = random_cases(1, states, 70_000, gaps)
    wide = {1: 1, 2: 1, 3: 1, 4: 1, 70: 1, 300: 2, 40_000: 4}
    assert [column.itemsize for column in cases.codes] == [wide[r] for r in states]
    for asked in (["v0", "v1", "v2"], ["v2", "v0"], ["v1", "v2", "v0"], ["v0"]):
        assert (cases.counts(asked) == counts(cases, asked)).all()


def test_a_batch_equals_its_tables_and_does_not_depend_on_threads():
    cases = random_cases(2, (2, 3, 4, 2, 3, 5), 200_000)
    families = np.array([(x, 4, y) for y in range(4) for x in range(6) if x not in (4, y)], dtype=np.int32)
    batch = cases.tables(families)
    one = Cases(cases.variables, cases.codes, threads=1).tables(families)
    assert (batch.cells == one.cells).all()
    for i, family in enumerate(families):
        table = cases.counts([f"v{v}" for v in family])
        assert (batch.cells[batch.starts[i] : batch.starts[i + 1]] == table.ravel()).all()
    assert batch.parameters.tolist() == [
        table.size // table.shape[-1] * (table.shape[-1] - 1)
        for table in (cases.counts([f"v{v}" for v in f]) for f in families)
    ]


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("rows", [40, 70_000])
def test_a_parent_that_is_not_there_leaves_the_narrower_family(rows, gaps):
    cases = random_cases(4, (2, 3, 4, 70), rows, gaps)
    families = np.array([(-1, 0, 2), (1, 0, 2), (3, 0, 2), (-1, -1, 2), (1, -1, 2), (1, -1, 3)], dtype=np.int32)
    batch = cases.tables(families)
    assert batch.parents.tolist() == [1, 2, 2, 0, 1, 1]
    assert (count_families(FrameLike(cases), families).cells == batch.cells).all()
    for i, family in enumerate(families):
        table = cases.counts([f"v{v}" for v in family if v >= 0])
        assert (batch.cells[batch.starts[i] : batch.starts[i + 1]] == table.ravel()).all()
    with pytest.raises(IndexError):
        cases.tables(np.array([(0, -1)], dtype=np.int32))


class FrameLike:
    """A counter that only counts one table at a time."""

    def __init__(self, cases):
        self.variables, self.rows, self.gaps, self.counts = cases.variables, cases.rows, cases.gaps, cases.counts


def test_nothing_and_no_rows():
    cases = random_cases(3, (2, 2), 0)
    assert cases.counts([]).tolist() == 0
    assert cases.counts(["v0", "v1"]).tolist() == [[0, 0], [0, 0]]


def test_select_and_complete():
    cases = random_cases(4, (2, 3), 100, gaps=0.3)
    complete = cases.complete()
    assert cases.gaps
    assert not complete.gaps
    assert (complete.counts(["v0", "v1"]) == cases.counts(["v0", "v1"])).all()
    assert cases.select([0, 1, 2]).rows == 3


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "arrow", "duckdb"])
def test_frames_count_where_they_lie(kind):
    cases = random_cases(5, (2, 3, 2), 200, gaps=0.1)
    frame = pd.DataFrame(
        {
            v.name: [None if c < 0 else v.states[c] for c in column]
            for v, column in zip(cases.variables, cases.codes, strict=True)
        }
    )
    given_frame = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "lazy": lambda: pl.from_pandas(frame).lazy(),
        "arrow": lambda: pl.from_pandas(frame).to_arrow(),
        "duckdb": lambda: duckdb.from_df(frame),
    }[kind]()
    counter = FrameCounter(given_frame, cases.variables)
    assert counter.rows == 200
    assert counter.gaps == cases.gaps
    for asked in (["v0"], ["v2", "v0"], ["v0", "v1", "v2"]):
        assert (counter.counts(asked) == cases.counts(asked)).all()
    assert counter.counts([]) == 200
    families = np.array([(0, 1), (2, 1)], dtype=np.int32)
    assert (count_families(counter, families).cells == cases.tables(families).cells).all()


def test_frames_name_what_they_can_not_count():
    frame = pl.DataFrame({"rain": ["no", "yes", "Yes"]})
    with pytest.raises(DataError, match=r"unknown column 'rian'.*did you mean 'rain'"):
        FrameCounter(frame, [Variable("rian", states=("no", "yes"))])
    counter = FrameCounter(frame, [Variable("rain", states=("no", "yes"))])
    with pytest.raises(DataError, match=r"state in column 'rain' 'Yes'.*did you mean 'yes'"):
        counter.counts(["rain"])


class Spy:
    def __init__(self, cases: Cases) -> None:
        self.variables, self.rows, self.gaps = cases.variables, cases.rows, cases.gaps
        self.cases = cases
        self.asked: list[tuple[str, ...]] = []

    def counts(self, variables):
        self.asked.append(tuple(variables))
        return self.cases.counts(variables)


def test_a_wider_table_answers_for_narrower_ones():
    cases = random_cases(6, (2, 3, 2, 4), 500)
    spy = Spy(cases)
    cache = Cache(spy)
    for asked in (["v0", "v1", "v2"], ["v2", "v0"], ["v1"], [], ["v2", "v1", "v0"], ["v3", "v0"], ["v3"]):
        assert (cache.counts(asked) == cases.counts(asked)).all()
    assert spy.asked == [("v0", "v1", "v2"), ("v3", "v0")]


def test_with_gaps_only_tables_over_the_same_rows_answer():
    cases = random_cases(7, (2, 3, 2), 300, gaps=0.2)
    cache = Cache(Spy(cases))
    for asked in (["v0", "v1", "v2"], ["v0", "v1"], ["v0"]):
        assert (cache.counts(asked) == cases.counts(asked)).all()


def test_the_cache_forgets_what_was_asked_longest_ago():
    cases = random_cases(8, (2, 2, 2), 50)
    spy = Spy(cases)
    cache = Cache(spy, cells=4)
    for asked in (["v0"], ["v1"], ["v2"], ["v0"], ["v0"]):
        cache.counts(asked)
    assert [names for (names,) in spy.asked] == ["v0", "v1", "v2", "v0"]


def test_errors_say_what_and_where():
    rain = Variable("rain", states=("no", "yes"))
    with pytest.raises(DataError, match=r"'rain' holds a code that is none of its 2 states"):
        Cases((rain,), ([0, 300],))
    with pytest.raises(DataError, match=r"differ in length"):
        Cases((rain, Variable("wet", states=("a",))), ([0, 1], [0]))
    with pytest.raises(DataError, match=r"'height' has no states"):
        Cases((Variable("height", kind="continuous"),), ([0, 1],))
    cases = Cases((rain,), ([0, 1],))
    with pytest.raises(CallError, match=r"unknown variable 'Rain'.*did you mean 'rain'"):
        cases.counts(["Rain"])
    with pytest.raises(CallError, match=r"named twice"):
        cases.counts(["rain", "rain"])
    wide = Variable("id", states=tuple(map(str, range(20_000))))
    other = Variable("no", states=tuple(map(str, range(20_000))))
    with pytest.raises(DataError, match=r"400,000,000 cells.*leave out 'id' \(20,000 states\)"):
        Cases((wide, other), ([0], [0])).counts(["id", "no"])


def test_the_core_checks_what_it_is_given():
    codes = np.zeros(3, dtype=np.int8)
    with pytest.raises(ValueError, match=r"not a state"):
        _native.Cases([codes + 5], [2])
    with pytest.raises(ValueError, match=r"int8"):
        _native.Cases([codes.astype(float)], [2])
    with pytest.raises(IndexError, match=r"no such variable"):
        _native.Cases([codes], [2]).tables(np.array([[1]], dtype=np.int32))
    with pytest.raises(ValueError, match=r"rows are cut"):
        _native.likelihoods(np.zeros(3, np.int64), np.array([0, 3]), np.array([2]))
    with pytest.raises(IndexError, match=r"outside"):
        _native.likelihoods(np.zeros(3, np.int64), np.array([0, 4]), np.array([2]))
