"""Which items stand above the line, in which order, and that none is hidden without a word."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from plausible.errors import CallError
from plausible.reader.items import Source
from plausible.reader.ranking import PAGE
from plausible.reader.reading import Reader
from plausible.reader.settings import Settings
from plausible.reader.store import Store
from plausible.reader.views import View

from . import naive
from .conftest import NOON, article, news

PURE = Settings(uncertain=0.0, random=0.0)


def learned(reader, count=200, ratings=40, settings=PURE):
    """A reader that has rated some of the day's items; which of all are about stars."""
    reader.set(settings)
    told = news(count)
    ids = reader.add(1, [one for one, _ in told], NOON)
    stars = {item: about for item, (_, about) in zip(ids, told, strict=True)}
    for item in ids[:ratings]:
        reader.rate(item, 5 if stars[item] else 2, "below")
    reader.settle()
    return stars


def all_of(reader, view):
    out = []
    for number in range(1, reader.page(view, NOON).pages + 1):
        page = View(**{name: getattr(view, name) for name in View.__slots__} | {"page": number})
        out += reader.page(page, NOON).entries
    return out


def test_the_best_tenth_is_above_the_line_and_all_else_below(reader):
    stars = learned(reader)
    page = reader.page(View(), NOON)
    assert (page.above, page.below, page.total) == (20, 140, 160)
    assert [entry.place for entry in page.entries] == ["best"] * 20
    assert sum(stars[entry.item.id] for entry in page.entries) >= 19
    above, below = all_of(reader, View()), all_of(reader, View(below=True))
    scores = [entry.score for entry in above + below]
    assert scores == sorted(scores, reverse=True)
    ids = {entry.item.id for entry in above + below}
    assert len(ids) == 160
    assert len(all_of(reader, View(show="all"))) + len(all_of(reader, View(show="all", below=True))) == 200
    assert len(all_of(reader, View(show="rated"))) == 40, "what was rated has no line"


def test_the_line_up_is_that_of_a_plain_twin(reader):
    rng = random.Random(3)
    copies = [
        article(f"c{i}", "", f"the same {w} text of copy " * 6, published=NOON - timedelta(hours=i))
        for i, w in enumerate("aabbbc")
    ]
    other = reader.store.save(Source(None, "feed", "https://example.org/other", "Other"))
    copied = reader.add(other.id, copies, NOON)
    learned(reader, 120, 30, Settings(uncertain=0.0, random=0.0, veto=("comet",), boost=("striker",), top=0.2))
    reader.rate(copied[1], 4, "best")
    reader.skip(copied[5], "below")
    for entry in rng.sample(all_of(reader, View()), 5):
        reader.skip(entry.item.id, "best")
    reader.settle()
    recommended = {event.item for event in reader.store.events() if event.place == "best"}
    items = reader.store.items(
        reader.store.rows("SELECT id FROM items") and [i for (i,) in reader.store.rows("SELECT id FROM items")]
    )
    vetoed = {item.id for item in items if "comet" in item.text}
    score = {item.id: reader.entry(item.id, now=NOON).score for item in items}
    for view, inside in ((View(), items), (View(source=other.id), [item for item in items if item.source == other.id])):
        above, below = naive.line_up(inside, score, vetoed, recommended, reader.settings, (0, 0))
        assert [entry.item.id for entry in all_of(reader, view)] == above
        assert {entry.item.id for entry in all_of(reader, View(source=view.source, below=True))} == set(below)
    page = reader.page(View(below=True), NOON)
    assert page.vetoed == len(vetoed)
    assert page.folded == 3


def test_reading_on_does_not_move_the_line(reader):
    learned(reader, 200, 0)
    seen = 0
    while entries := reader.page(View(), NOON).entries:
        reader.rate(entries[0].item.id, 5 if seen % 2 else 2, entries[0].place)
        seen += 1
        reader.settle()
    assert seen == 20
    assert reader.page(View(), NOON).below == 180


def test_before_there_is_something_to_tell_by_items_come_at_random(reader):
    told = news(100)
    ids = reader.add(1, [one for one, _ in told], NOON)
    reader.settle()
    entries = reader.page(View(), NOON).entries
    assert [entry.place for entry in entries] == ["random"] * 10
    assert [entry.item.id for entry in entries] != sorted(entry.item.id for entry in entries)
    assert [entry.item.id for entry in reader.page(View(), NOON).entries] == [entry.item.id for entry in entries]
    reader.rate(ids[0], 5, "below")
    reader.settle()
    page = reader.page(View(), NOON)
    assert (page.ratings, page.liked) == (1, 1)
    assert {entry.place for entry in page.entries} == {"random"}
    assert {entry.score for entry in page.entries} == {0.0}


def test_uncertain_and_random_items_are_mixed_in(reader):
    learned(reader, 200, 40, Settings(uncertain=0.25, random=0.25))
    entries = all_of(reader, View())
    places = [entry.place for entry in entries]
    assert (places.count("best"), places.count("uncertain"), places.count("random")) == (10, 5, 5)
    below = all_of(reader, View(below=True))
    unsure = max(abs(entry.score) for entry in entries if entry.place == "uncertain")
    assert unsure <= min(abs(entry.score) for entry in below)


def test_shares_of_few_slots_are_kept_over_the_days(reader):
    learned(reader, 100, 20, Settings(uncertain=0.12, random=0.06, top=0.1))
    count = {"best": 0, "uncertain": 0, "random": 0}
    for day in range(200):
        now = NOON + timedelta(days=day)
        entries = reader.page(View(period="all"), now).entries
        assert len(entries) == 10
        for entry in entries:
            count[entry.place] += 1
    assert count["uncertain"] / 2000 == pytest.approx(0.12, abs=0.02)
    assert count["random"] / 2000 == pytest.approx(0.06, abs=0.02)


def test_periods_end_where_they_should(reader):
    ages = [0.5, 23.9, 24.1, 24 * 6.9, 24 * 7.1, 24 * 29.9, 24 * 30.1]
    reader.add(1, [article(str(h), f"n{h}", f"text {h}", published=NOON - timedelta(hours=h)) for h in ages], NOON)
    found = {period: reader.page(View(period=period), NOON).total for period in ("day", "week", "month", "all")}
    assert found == {"day": 2, "week": 4, "month": 6, "all": 7}
    assert reader.page(View(), NOON - timedelta(hours=12)).total == 2  # what is still to come is not there


def test_newest_first(reader):
    learned(reader, 50, 10)
    published = [entry.item.article.published for entry in all_of(reader, View(order="newest", below=True))]
    assert published == sorted(published, reverse=True)


def test_near_duplicates_fold_and_a_read_one_folds_the_others(reader):
    text = "the quick brown fox jumps over the lazy dog while the cat sleeps in the warm afternoon sun"
    ids = reader.add(1, [article(str(i), "", text, published=NOON - timedelta(hours=i)) for i in range(3)], NOON)
    reader.settle()
    page = reader.page(View(), NOON)
    assert (page.total, page.folded) == (1, 2)
    (entry,) = page.entries
    assert entry.item.id == ids[0]
    assert set(entry.copies) == set(ids[1:])
    reader.rate(ids[2], 4)
    page = reader.page(View(), NOON)
    assert (page.total, page.folded) == (0, 2)


def test_the_next_item_and_the_one_before(reader):
    learned(reader)
    order = [entry.item.id for entry in all_of(reader, View())]
    assert [reader.after(item, View(), NOON) for item in order] == [*order[1:], None]
    assert [reader.before(item, View(), NOON) for item in order] == [None, *order[:-1]]
    reader.rate(order[3], 4)
    reader.settle()
    rest = [entry.item.id for entry in all_of(reader, View())]
    place = 0 if (one_before := reader.before(order[3], View(), NOON)) is None else rest.index(one_before) + 1
    assert reader.after(order[3], View(), NOON) == (rest[place] if place < len(rest) else None)


def test_pages(reader):
    learned(reader, 100, 10)
    page = reader.page(View(below=True, page=2), NOON)
    assert page.pages == 3
    assert len(page.entries) == PAGE
    with pytest.raises(CallError, match="page 4 is not there; the last one is 3"):
        reader.page(View(below=True, page=4), NOON)
    with pytest.raises(CallError, match="unknown source '9'"):
        reader.page(View(source=9), NOON)


def test_new_items_are_there_at_once_and_pending(reader):
    learned(reader, 50, 10)
    (new,) = reader.add(1, [article("new", "", "telescope galaxy orbit comet")], NOON)
    both = [entry for below in (False, True) for entry in all_of(reader, View(show="all", below=below))]
    assert new in {entry.item.id for entry in both}
    reader.settle()
    page = reader.page(View(), NOON)
    assert page.pending == 0
    assert page.entries[0].item.id == new


def test_items_of_a_removed_source_are_gone(reader):
    learned(reader, 50, 10)
    other = reader.store.save(Source(None, "feed", "https://example.org/other", "Other"))
    reader.add(other.id, [article("1", "", "galaxy"), article("2", "", "orbit")], NOON)
    reader.settle()
    reader.store.remove_source(1)
    reader.settle()
    page = reader.page(View(show="all", below=True), NOON)
    assert page.total == 12
    assert reader.page(View(), NOON).pending == 0


def test_a_revised_item_is_scored_by_its_new_text(reader):
    learned(reader, 100, 40)
    (item,) = reader.add(1, [article("new", "", "goal match league coach")], NOON)
    reader.settle()
    low = reader.entry(item, now=NOON).score
    reader.add(1, [article("new", "", "galaxy telescope comet nebula")], NOON)
    reader.settle()
    assert reader.entry(item, now=NOON).score > max(low, 0)


def test_scores_are_there_at_once_after_a_restart(reader, path):
    learned(reader, 100, 30)
    before = [(entry.item.id, entry.score, entry.expected) for entry in all_of(reader, View())]
    reader.close()
    again = Reader(path)
    assert [(entry.item.id, entry.score, entry.expected) for entry in all_of(again, View())] == before
    again.settle()
    after = [(entry.item.id, entry.score) for entry in all_of(again, View())]
    assert [item for item, _ in after] == [item for item, _, _ in before]
    (new,) = again.add(1, [article("new", "", "telescope galaxy orbit comet")], NOON)
    again.store.save(Source(None, "feed", "https://example.org/other", "Other"))
    again.settle()
    again.close()
    store = Store(path)  # which changes while no reader is there to note it
    (later,) = store.add(2, [article("later", "", "goal match league")], NOON)
    store.remove_source(1)
    store.close()
    last = Reader(path)
    ids = {entry.item.id for entry in all_of(last, View(show="all")) + all_of(last, View(show="all", below=True))}
    assert (new in ids, later in ids, len(ids)) == (False, True, 31)
    last.close()


def test_bad_settings_are_refused(reader):
    for wrong in (
        {"top": 0.0},
        {"top": 1.5},
        {"interesting_from": 1},
        {"uncertain": 0.8, "random": 0.3},
        {"random": -0.1},
    ):
        with pytest.raises(CallError):
            Settings(**wrong)
    with pytest.raises(CallError, match="no word"):
        Settings(veto=("!!",))
    assert Settings(boost=(" a ", "a", "")).boost == ("a",)


def test_bad_views_are_refused():
    for wrong in (
        {"period": "year"},
        {"page": "0"},
        {"page": "x"},
        {"source": "-1"},
        {"order": "best"},
        {"show": "some"},
    ):
        with pytest.raises(CallError):
            View.of(wrong)
    view = View(period="week", show="all", source=3, search="żółć & x", order="newest", below=True, page=4)
    from urllib.parse import parse_qsl

    assert View.of(dict(parse_qsl(view.query()))) == view
