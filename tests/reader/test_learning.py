"""What is learned from ratings, and that it is exactly what the events come to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plausible
from plausible.errors import CallError
from plausible.files.model import from_bytes, to_bytes
from plausible.reader.counted import compare_counts, learned_anew, rebuild_counts
from plausible.reader.items import Source
from plausible.reader.levels import Levels, Link, cells_of, fitted_link, usual_link
from plausible.reader.reading import Reader
from plausible.reader.settings import Settings
from plausible.reader.store import Store
from plausible.reader.views import View

from .conftest import NOON, article, news

ACTS = st.one_of(
    st.tuples(st.just("rate"), st.integers(0, 5), st.integers(1, 5)),
    st.tuples(st.sampled_from(["clear", "skip"]), st.integers(0, 5), st.none()),
    st.tuples(st.just("undo"), st.none(), st.none()),
    st.tuples(st.just("reopen"), st.none(), st.none()),
)


@given(acts=st.lists(ACTS, max_size=14))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counts_and_marks_are_those_of_a_plain_twin(tmp_path_factory, acts):
    path = tmp_path_factory.mktemp("reader") / "reader.db"
    reader = Reader(path)
    reader.store.save(Source(None, "feed", "https://example.org/feed", "Example"))
    ids = reader.store.add(1, [one for one, _ in news(6)], NOON)
    ratings: dict[int, int] = {}
    skipped: set[int] = set()
    past: list[tuple[dict[int, int], set[int]]] = []  # what was before each act that can be undone
    for act, at, rating in acts:
        before = (dict(ratings), set(skipped))
        if act == "reopen":
            reader.close()
            reader = Reader(path)
        elif act == "undo":
            assert (reader.undo() is None) == (not past)
            if past:
                ratings, skipped = past.pop()
        else:
            item = ids[at]
            done = reader.rate(item, rating) if act == "rate" else getattr(reader, act)(item)
            if done is not None:
                past.append(before)
            if act == "rate":
                ratings[item] = rating
            elif act == "clear":
                ratings.pop(item, None)
            else:
                skipped.add(item)
    items = reader.store.items(ids)
    assert {item.id: item.rating for item in items if item.rating} == ratings
    assert {item.id for item in items if item.skipped} == skipped
    twin = Levels()
    rated = [item for item in items if item.id in ratings]
    if rated:
        twin.learn(cells_of(rated, reader.store.addresses()), [ratings[item.id] for item in rated])
    assert to_bytes(reader._levels.model) == to_bytes(twin.model)
    assert to_bytes(reader._levels.interest.uncalibrated()) == to_bytes(twin.interest.uncalibrated())
    assert compare_counts(reader.store) == []
    reader.close()


def test_a_difference_is_found_and_mended(reader, path):
    ids = reader.add(1, [one for one, _ in news(5)], NOON)
    for item in ids:
        reader.rate(item, 4)
    reader.close()
    store = Store(path)
    assert compare_counts(store) == []
    with store.changing() as db:
        db.execute("UPDATE items SET rating = 1 WHERE id = ?", (ids[0],))
        db.execute("UPDATE learned SET model = ?", (to_bytes(Levels().model),))
    found = compare_counts(store)
    assert len(found) == 2
    assert f"item {ids[0]} is marked 1" in found[0]
    assert "the counts hold 0 ratings" in found[1]
    assert rebuild_counts(store) == 5
    assert compare_counts(store) == []
    store.close()


def test_a_revised_address_of_a_source_does_not_change_what_was_learned(reader):
    (item,) = reader.add(1, [article("1", "t", "words of it")], NOON)
    reader.rate(item, 5)
    reader.store.save(Source(1, "feed", "https://example.org/moved", "Example"))
    reader.rate(item, 1)
    assert compare_counts(reader.store) == []


def test_ratings_are_1_to_5(reader):
    (item,) = reader.add(1, [article("1")], NOON)
    for rating in (0, 6, 2.5, "5", None):
        with pytest.raises(CallError, match="a rating is"):
            reader.rate(item, rating)
    with pytest.raises(CallError, match="no item 9"):
        reader.rate(9, 5)


def test_what_is_interesting_can_be_set_without_the_items(reader):
    ids = reader.add(1, [one for one, _ in news(30)], NOON)
    for i, item in enumerate(ids):
        reader.rate(item, 1 + i % 5)
    reader.set(Settings(interesting_from=3))
    reader.settle()
    twin = Levels(3)
    items = reader.store.items(ids)
    twin.learn(cells_of(items, reader.store.addresses()), [item.rating for item in items])
    assert to_bytes(reader._levels.interest.uncalibrated()) == to_bytes(twin.interest.uncalibrated())
    assert reader.page(View(period="all"), NOON).liked == 18
    assert reader._levels.link.offsets[1] == 0


def test_the_model_file_is_read_by_the_library(reader):
    told = news(60)
    ids = reader.add(1, [one for one, _ in told], NOON)
    for item, (_, stars) in zip(ids, told, strict=True):
        reader.rate(item, 5 if stars else 2)
    model = from_bytes(reader.model_bytes())
    answer = plausible.classify(
        model, {"text": ["galaxy telescope comet"], "source": [None], "author": [None], "length": [None]}
    )[0]
    assert answer.label == "5"
    assert model.calibration is not None
    assert to_bytes(model.uncalibrated()) == to_bytes(learned_anew(reader.store))


def test_a_model_learned_elsewhere_is_added_once(tmp_path, path):
    told = news(40)
    with Reader(tmp_path / "other.db") as other:
        other.store.save(Source(None, "feed", "https://example.org/feed", "Example"))
        for item, (_, stars) in zip(other.add(1, [one for one, _ in told], NOON), told, strict=True):
            other.rate(item, 5 if stars else 1)
        data = other.model_bytes()
        whole = to_bytes(other._levels.model)
    with Reader(path) as reader:
        reader.store.save(Source(None, "feed", "https://example.org/feed", "Example"))
        (mine,) = reader.add(1, [article("1", "", "telescope galaxy")], NOON)
        reader.rate(mine, 5)
        assert reader.merge_model(data) == 40
        with pytest.raises(plausible.ModelError, match="added before"):
            reader.merge_model(data)
        assert reader._levels.ratings == 41
        assert compare_counts(reader.store) == []
        reader.undo()
        assert to_bytes(reader._levels.model) == whole
    with Reader(path) as again:
        assert to_bytes(again._levels.model) == whole
        strange = plausible.learn(["win money now", "meeting at noon"], ["spam", "ham"])
        with pytest.raises(plausible.ModelError, match="not learned by a reader"):
            again.merge_model(to_bytes(strange))
        with pytest.raises(plausible.ModelError, match="no whole plausible model"):
            again.merge_model(data[:-100])
        assert again._levels.ratings == 40


# The link


def _log_likelihood(offsets, evidence, ratings):
    total = 0.0
    for u, rating in zip(evidence, ratings, strict=True):
        reached = [1.0] + [1 / (1 + math.exp(-(u + o))) for o in offsets] + [0.0]
        total += math.log(max(reached[rating - 1] - reached[rating], 1e-12))
    return total


def test_the_link_of_one_level_has_the_greatest_likelihood():
    rng = np.random.default_rng(1)
    evidence = rng.normal(0, 2, 3000)
    true = Link((2.0, 1.0, 0.0, -2.0))
    reached = true.at_least(evidence)
    ratings = 1 + (rng.random((3000, 1)) < reached).sum(1)
    found = fitted_link(evidence, ratings, 4)
    assert np.allclose(found.offsets, true.offsets, atol=0.25)
    best = _log_likelihood(found.offsets, evidence, ratings)
    for k in range(4):
        moved = list(found.offsets)
        moved[k] -= 0.6
        assert _log_likelihood(moved, evidence, ratings) < best + 1


@given(
    ratings=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    interesting=st.integers(2, 5),
    seed=st.integers(0, 99),
)
def test_levels_are_ordered_and_sum_to_one(ratings, interesting, seed):
    evidence = np.random.default_rng(seed).normal(0, 3, len(ratings))
    link = fitted_link(evidence, np.array(ratings), interesting)
    assert link.offsets[interesting - 2] == 0
    assert all(a >= b for a, b in zip(link.offsets, link.offsets[1:], strict=False))
    levels = link.levels(float(evidence[0]))
    assert min(levels) >= 0
    assert math.isclose(sum(levels), 1)
    expected = sum((k + 1) * p for k, p in enumerate(levels))
    assert math.isclose(expected, float(link.expected(evidence[0])), abs_tol=1e-9)


def test_the_usual_link_is_half_at_what_is_interesting():
    for level in (2, 3, 4, 5):
        assert usual_link(level).at_least(0.0)[level - 2] == 0.5
