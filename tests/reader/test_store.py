"""The store keeps what it is given, once, and for one process at a time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest

from plausible.errors import CallError, DataError
from plausible.reader.items import Source
from plausible.reader.schema import VERSIONS
from plausible.reader.store import Store

from .conftest import NOON, article


def test_an_item_comes_back_as_it_was_given(store):
    given = article("k", "Tytuł", "żółć 中文", author="Ada", url="https://example.org/1", html="<p>x", language="pl")
    (number,) = store.add(1, [given], NOON)
    item = store.item(number)
    assert item.article == given
    assert (item.source, item.collected, item.first, item.rating, item.skipped) == (1, NOON, number, None, False)
    with pytest.raises(CallError, match="no item 99"):
        store.item(99)


def test_an_article_is_added_once_and_brought_up_to_date_until_it_is_rated(store):
    (number,) = store.add(1, [article("k", "old", "old text")], NOON)
    assert store.add(1, [article("k", "new", "new text")], NOON) == []
    assert store.item(number).article.title == "new"
    assert store.rows("SELECT rowid FROM words WHERE words MATCH 'old'") == []
    assert store.rows("SELECT rowid FROM words WHERE words MATCH 'new'") == [(number,)]
    store.record(number, "rate", 5, NOON, "best")
    store.record(number, "clear", None, NOON, "best")
    store.add(1, [article("k", "newer", "newer text")], NOON)
    assert store.item(number).article.title == "new"


def test_the_same_key_in_another_source_is_another_item(store):
    other = store.save(Source(None, "feed", "https://example.org/other", "Other"))
    one, two = store.add(1, [article("k", "one")], NOON), store.add(other.id, [article("k", "two")], NOON)
    assert one != two


def test_a_date_in_the_future_is_that_of_the_collection(store):
    (number,) = store.add(1, [article("k", published=NOON + timedelta(days=400))], NOON)
    assert store.item(number).article.published == NOON


def test_half_characters_are_stored_as_question_marks(store):
    (number,) = store.add(1, [article("k\ud800", "a\udc00b", "text \ud800")], NOON)
    assert store.item(number).article.title == "a?b"
    assert store.add(1, [article("k\ud800", "a\udc00b", "text \ud800")], NOON) == []


def test_near_duplicates_name_the_first(store):
    long = "the quick brown fox jumps over the lazy dog while the cat sleeps in the warm afternoon sun"
    other = store.save(Source(None, "feed", "https://example.org/other", "Other"))
    one, two = store.add(1, [article("1", "", long), article("2", "", "something else")], NOON)
    (three,) = store.add(other.id, [article("3", "", long + " today")], NOON)
    assert [item.first for item in store.items([one, two, three])] == [one, two, one]
    store.remove_source(1)
    assert store.item(three).first == three
    (four,) = store.add(other.id, [article("4", "", long)], NOON)
    assert store.item(four).first == three


def test_a_source_goes_with_what_nobody_rated(store):
    _, two = store.add(1, [article("1", "", "one"), article("2", "", "two")], NOON)
    store.record(two, "rate", 4, NOON, "best")
    assert store.remove_source(1) == 1
    assert store.sources() == []
    assert store.item(two).rating == 4
    assert store.rows("SELECT rowid FROM words WHERE words MATCH 'one OR two'") == [(two,)]
    back = store.save(Source(None, "feed", "https://example.org/feed", "Again"))
    assert (back.id, store.sources()) == (1, [back])


def test_sources_are_due_when_their_time_has_come(store):
    later = store.save(replace(store.source(1), next_visit=NOON + timedelta(hours=1), etag="x", error="gone"))
    assert store.source(1) == later
    assert store.due(NOON) == []
    never = store.save(Source(None, "folder", "/news", "Folder"))
    assert store.due(NOON + timedelta(hours=2)) == [never, later]
    with pytest.raises(CallError, match="unknown source '7'"):
        store.source(7)


def test_events_are_only_ever_added(store):
    (number,) = store.add(1, [article("k")], NOON)
    event = store.record(number, "rate", 3, NOON, "random", (0.25, 2.5))
    assert store.events() == [event]
    for sql in ("DELETE FROM events", "UPDATE events SET rating = 5"):
        with pytest.raises(sqlite3.IntegrityError, match="only ever added"), store.changing() as db:
            db.execute(sql)
    with pytest.raises(sqlite3.IntegrityError):
        store.record(number, "rate", 6, NOON, "best")
    with pytest.raises(CallError, match="unknown place"):
        store.record(number, "rate", 5, NOON, "top")
    assert store.item(number).rating == 3


def test_a_second_process_is_refused(store, path):
    with pytest.raises(CallError, match="open in another plausible"):
        Store(path)
    code = "import sys; from plausible.reader.store import Store; Store(sys.argv[1])"
    other = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert "open in another plausible" in other.stderr
    store.close()
    Store(path).close()


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(CallError, match="can't be opened"):
        Store(tmp_path / "nowhere" / "reader.db")
    text = tmp_path / "text.db"
    text.write_text("This is a text of more than a hundred characters, so that it is long enough to be a head." * 20)
    with pytest.raises(DataError, match="no store of the reader"):
        Store(text)
    assert text.read_text().startswith("This is a text")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE cats (name TEXT)")
    db.close()
    with pytest.raises(DataError, match="of something else"):
        Store(other)
    newer = tmp_path / "newer.db"
    Store(newer).close()
    with sqlite3.connect(newer) as db:
        db.execute(f"PRAGMA user_version = {len(VERSIONS) + 1}")
    db.close()
    with pytest.raises(DataError, match="upgrade plausible"):
        Store(newer)


def test_a_step_of_the_tables_is_done_whole_or_not_at_all(tmp_path, monkeypatch):
    from plausible.reader import schema

    path = tmp_path / "reader.db"
    Store(path).close()
    steps = ("CREATE TABLE more (x)", "CREATE TABLE more (x)")
    monkeypatch.setattr(schema, "VERSIONS", (*VERSIONS, steps))
    with pytest.raises(CallError, match="already exists"):
        Store(path)
    monkeypatch.setattr(schema, "VERSIONS", (*VERSIONS, steps[:1]))
    store = Store(path)
    assert store.rows("PRAGMA user_version") == [(len(VERSIONS) + 1,)]
    assert store.rows("SELECT * FROM more") == []
    store.close()


def test_values_are_kept_by_name(store):
    assert store.setting("x", 5) == 5
    store.keep("x", {"a": [1, "ł"]})
    assert store.setting("x") == {"a": [1, "ł"]}
