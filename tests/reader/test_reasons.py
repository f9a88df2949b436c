"""Reasons sum to the score, name real counts, and say what a rating changed."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from plausible import _native
from plausible.reader.items import Source
from plausible.reader.reading import Reader
from plausible.reader.rescoring import Rescoring
from plausible.reader.settings import Settings
from plausible.reader.views import View

from .conftest import NOON, article, news


def learned(reader, count=150, ratings=50):
    told = news(count)
    ids = reader.add(1, [one for one, _ in told], NOON)
    for item, (_, stars) in list(zip(ids, told, strict=True))[:ratings]:
        reader.rate(item, (5 if item % 3 else 4) if stars else (1 if item % 2 else 3))
    return ids


@pytest.mark.parametrize("ratings", [0, 1, 3, 9, 50])
def test_reasons_sum_to_the_score_of_the_ranking(reader, ratings):
    ids = learned(reader, 80, ratings)
    reader.set(Settings(boost=("striker",), veto=("comet",)))
    (odd,) = reader.add(1, [article("odd", "", "nothing of this was ever seen")], NOON)
    reader.settle()
    for item in [*ids[:3], *ids[-20:], odd]:
        entry, why = reader.entry(item, now=NOON), reader.why(item)
        assert why.score == pytest.approx(entry.score, abs=1e-9)
        assert why.probability == pytest.approx(entry.probability, abs=1e-9)
        assert why.expected == pytest.approx(entry.expected, abs=1e-9)
        assert why.score == pytest.approx(math.fsum(reason.weight for reason in why.reasons), abs=1e-12)
        assert math.fsum(why.levels) == pytest.approx(1)
        assert why.probability == pytest.approx(sum(why.levels[3:]), abs=1e-9)
        assert (why.ratings, why.ratings) == (entry.item.id and ratings, ratings)
        weights = [abs(reason.weight) for reason in why.reasons]
        assert weights == sorted(weights, reverse=True)
        text = reader.store.item(item).text
        assert ("striker" in text) == any(reason.kind == "boost" for reason in why.reasons)
        assert ("comet" in text) == (why.vetoed_by == ["comet"])


def test_how_rare_words_are_is_known_at_once_after_a_restart(reader, path, monkeypatch):
    ids = learned(reader, 80, 50)
    reader.settle()
    before = [reader.why(item).score for item in ids[-20:]]
    reader.close()
    monkeypatch.setattr(Rescoring, "_once", lambda self: None)  # the texts are not read again yet
    with Reader(path) as again:
        assert [again.why(item).score for item in ids[-20:]] == pytest.approx(before, abs=1e-9)


def test_words_are_rare_by_all_items_rated_or_not(reader):
    ids = learned(reader, 80, 50)
    reader.settle()

    def comet() -> float:
        return {reason.name: reason.weight for reason in reader.why(seen).reasons}["comet"]

    seen = next(item for item in ids if "comet" in reader.store.item(item).text)
    before = comet()
    reader.add(1, [article(f"more {i}", "", f"comet and word{i}") for i in range(300)], NOON)
    reader.settle()
    assert 0 < comet() < before / 2
    for interesting_from in (5, 4):
        reader.set(Settings(interesting_from=interesting_from))
        reader.settle()
    assert 0 < comet() < before / 2


def test_counts_are_those_of_what_was_rated(reader):
    ids = learned(reader)
    liked, rest = [], []
    for item in reader.store.items(ids):
        if item.rating:
            (liked if item.rating >= 4 else rest).append(item)
    words = [_native.tokens(" ".join(item.text for item in side)) for side in (liked, rest)]
    why = reader.why(ids[-1])
    seen = {reason.name: (reason.liked, reason.rest) for reason in why.reasons if reason.kind == "word"}
    assert len(seen) > 10
    for word, counts in seen.items():
        assert counts == (words[0].count(word), words[1].count(word))
    source = next(reason for reason in why.reasons if reason.kind == "source")
    assert (source.name, source.liked, source.rest) == ("Example", len(liked), len(rest))
    (start,) = (reason for reason in why.reasons if reason.kind == "start")
    assert (start.liked, start.rest) == (len(liked), len(rest))


def test_what_a_rating_changed_is_measured_by_taking_it_away(reader):
    ids = learned(reader, 100, 30)
    assert reader.last_change() is not None
    item = ids[60]
    reader.settle()
    before = {(r.kind, r.name): r.weight for r in reader.why(item).reasons}
    ranked = {entry.item.id: entry.rank for entry in _unread(reader)}
    fitted = reader._rescoring._fitted
    reader.rate(item, 5)
    change = reader.last_change()
    assert (change.item, change.rating, change.before) == (item, 5, None)
    after = {(r.kind, r.name): r.weight for r in reader.why(item).reasons}
    assert fitted == reader._rescoring._fitted  # or the evidence is weighed anew, too
    assert change.shifts
    for shift in change.shifts:
        key = ("source" if shift.kind == "source" else shift.kind, "Example" if shift.kind == "source" else shift.name)
        assert shift.after == pytest.approx(after[key], abs=1e-9)
        assert shift.before == pytest.approx(before.get(key, 0.0), abs=1e-9)
    now = {entry.item.id: entry.rank for entry in _unread(reader)}
    for move in change.moved:
        assert (
            move.after == sum(rank < now[move.item] for i, rank in now.items() if i not in ids[:30] and i != item) + 1
        )
        assert (
            move.before
            == sum(rank < ranked[move.item] for i, rank in ranked.items() if i not in ids[:30] and i != item) + 1
        )
    reader.undo()
    assert reader.last_change().rating is None


def test_what_the_last_rating_changed_outlives_the_session(tmp_path):
    with Reader(tmp_path / "news.db") as reader:
        reader.store.save(Source(None, "feed", "https://example.org/feed", "Example"))
        ids = learned(reader, 60, 20)
        reader.rate(ids[40], 2)
        reader.rate(ids[40], 5)
        change = reader.last_change()
    with Reader(tmp_path / "news.db") as reader:
        again = reader.last_change()
        assert (again.item, again.rating, again.before) == (ids[40], 5, 2)
        assert [(s.kind, s.name) for s in again.shifts] == [(s.kind, s.name) for s in change.shifts]
        assert [s.after - s.before for s in again.shifts] == pytest.approx([s.after - s.before for s in change.shifts])
        assert again.moved is None
        reader.undo()
        assert (reader.last_change().rating, reader.last_change().before) == (2, 5)
        assert reader.last_change().moved is not None


def _unread(reader):
    out = []
    for below in (False, True):
        number = 1
        while True:
            page = reader.page(View(period="all", show="all", below=below, page=number), NOON)
            out += page.entries
            if number >= page.pages:
                break
            number += 1
    return out


def test_past_items_are_ranked_as_if_they_had_not_been_rated(reader):
    ids = learned(reader, 100, 60)
    reader.settle()
    item = ids[5]
    now = reader.now_ranked(item)
    rating = reader.store.item(item).rating
    fitted = reader._rescoring._fitted
    reader.clear(item)
    reader.settle()
    assert fitted == reader._rescoring._fitted
    entry = reader.entry(item, now=NOON)
    assert now.probability == pytest.approx(entry.probability, abs=1e-9)
    assert now.expected == pytest.approx(entry.expected, abs=1e-9)
    day = [i for i in reader.store.items(ids) if i.article.published.date() == entry.item.article.published.date()]
    assert now.of == len(day)
    assert 1 <= now.rank <= now.of
    assert now.recommended == (now.rank <= math.ceil(0.1 * now.of))
    assert rating is not None


def test_a_lone_rating_of_its_kind_is_ranked_without_evidence(reader):
    one, two = reader.add(1, [article("1", "", "telescope"), article("2", "", "league")], NOON - timedelta(days=3))
    reader.rate(one, 5)
    reader.rate(two, 1)
    reader.settle()
    assert reader.now_ranked(one).probability == 0.5
