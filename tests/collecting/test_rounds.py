"""Visits in the background, to real servers and with a real store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plausible.collecting import Limits
from plausible.collecting.rounds import PAUSE, Rounds
from plausible.errors import CallError
from plausible.reader.items import Source
from plausible.reader.reading import Reader
from tests.collecting.conftest import FeedServer, feed
from tests.collecting.test_feeds import RSS


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with Reader(tmp_path / "reader.db") as reader:
        yield reader


def until(condition: Callable[[], object]) -> None:
    """Wait until something holds; not forever."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def visited(reader: Reader) -> list[Source]:
    return [source for source in reader.store.sources() if source.next_visit is not None]


def test_what_is_due_is_visited_and_what_is_not_is_left(feed_server: FeedServer, reader: Reader) -> None:
    due = reader.store.save(feed(feed_server.put("due", RSS)))
    later = datetime.now(UTC) + timedelta(days=1)
    rests = reader.store.save(feed(feed_server.put("rests", RSS), next_visit=later))
    with Rounds(reader):
        until(lambda: visited(reader)[1:])
        found = {source.id: source for source in reader.store.sources()}
    assert found[due.id].title == "Kot & pies"
    assert found[due.id].etag
    assert len(reader.store.items([1, 2])) == 2
    assert found[rests.id].etag is None
    assert not [line for line in feed_server.requests() if line.startswith("/files/rests")]


def test_a_source_that_is_added_later_is_visited_when_woken(feed_server: FeedServer, reader: Reader) -> None:
    with Rounds(reader) as rounds:
        time.sleep(0.1)
        reader.store.save(feed(feed_server.put("added", RSS)))
        rounds.wake()
        until(lambda: visited(reader))


def test_one_visit_at_a_time_to_a_host(feed_server: FeedServer, reader: Reader) -> None:
    """Three feeds on one host wait for each other, and between two visits the host has a rest."""
    for number in range(3):
        reader.store.save(feed(feed_server.put(f"same{number}", RSS)))
    begun = time.monotonic()
    with Rounds(reader):
        until(lambda: len(visited(reader)) == 3)
    assert time.monotonic() - begun > 2 * PAUSE


def test_a_slow_server_does_not_hold_up_the_others(feed_server: FeedServer, reader: Reader, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a note")
    reader.store.save(feed(feed_server.address("silent")))
    folder = reader.store.save(Source(None, "folder", str(tmp_path / "notes"), "notes"))
    with Rounds(reader, limits=Limits(seconds=5)):
        until(lambda: [source.id for source in visited(reader)] == [folder.id])


def test_leaving_does_not_wait_and_nothing_is_stored_afterwards(feed_server: FeedServer, reader: Reader) -> None:
    reader.store.save(feed(feed_server.address("drip")))
    with Rounds(reader, limits=Limits(seconds=3)):
        until(lambda: [line for line in feed_server.requests() if line.startswith("/drip")])
        begun = time.monotonic()
    assert time.monotonic() - begun < 1
    time.sleep(3.2)
    assert visited(reader) == []


def test_a_visit_on_request(feed_server: FeedServer, reader: Reader) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    source = reader.store.save(feed(feed_server.put("asked", RSS), next_visit=tomorrow))
    rounds = Rounds(reader)
    assert rounds.visit(source.id or 0, 20) == 2
    assert rounds.visit(source.id or 0, 20) == 0
    slow = reader.store.save(feed(feed_server.address("silent")))
    quick = Rounds(reader, limits=Limits(seconds=1))
    assert quick.visit(slow.id or 0, 0.1) is None
    assert quick.visit(slow.id or 0, 20) == 0, "the visit that was under way is waited for"
    assert "was not done" in str(reader.store.source(slow.id or 0).error)
    with pytest.raises(CallError, match="source"):
        rounds.visit(99, 1)


def test_what_the_user_changed_meanwhile_stays(feed_server: FeedServer, reader: Reader) -> None:
    source = reader.store.save(feed(feed_server.address("silent"), error="old"))
    gone = reader.store.save(feed(feed_server.address("drip")))
    rounds = Rounds(reader, limits=Limits(seconds=1))
    assert rounds.visit(source.id or 0, 0) is None
    assert rounds.visit(gone.id or 0, 0) is None
    reader.store.save(replace(source, title="mine", interval=60))
    reader.store.remove_source(gone.id or 0)
    until(lambda: visited(reader))
    assert rounds.visit(gone.id or 0, 20) == 0
    (left,) = reader.store.sources()
    assert (left.title, left.interval) == ("mine", 60)
    assert "was not done" in str(left.error)


def test_a_store_that_fails_does_not_end_the_rounds(
    feed_server: FeedServer, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = reader.store.save(feed(feed_server.put("full", RSS)))

    def full(*_: object) -> list[int]:
        raise OSError("the disk is full")

    monkeypatch.setattr(reader, "add", full)
    rounds = Rounds(reader)
    assert rounds.visit(source.id or 0, 20) == 0
    assert rounds.fault == f"what {source.address} brought can't be stored: the disk is full"
    assert visited(reader) == [], "what was not stored is fetched again"
    monkeypatch.undo()
    assert rounds.visit(source.id or 0, 20) == 2
