"""Killed at any moment, no acknowledged rating is lost, and the counts are those of the events."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

from plausible.reader.counted import compare_counts, read_counts
from plausible.reader.items import Source
from plausible.reader.reading import Reader
from plausible.reader.store import Store

from .conftest import NOON, article, news

KILLS = 100
WORK = """
import random, sys
from plausible.reader.counted import write_counts
from plausible.reader.reading import Reader
from plausible.reader.items import Article
from plausible.reader.views import View
from datetime import UTC, datetime

path, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
reader = Reader(path)
ids = [id for (id,) in reader.store.rows("SELECT id FROM items")]
print("ready", flush=True)
while True:
    act = rng.choice(["rate"] * 6 + ["clear", "skip", "undo", "add", "write", "settle"])
    item = rng.choice(ids)
    if act == "rate":
        event = reader.rate(item, rng.randint(1, 5))
    elif act in ("clear", "skip"):
        event = getattr(reader, act)(item)
    elif act == "undo":
        event = reader.undo() and reader.store.events(limit=None)[-1]
    else:
        event = None
        if act == "add":
            key = str(rng.random())
            reader.add(1, [Article(key, None, key, "", datetime.now(UTC), None, key * 9, None)])
        elif act == "write":
            write_counts(reader.store, reader._levels.model)
        else:
            reader.settle()
    if event:
        print(event.id, event.item, event.action, event.rating, flush=True)
"""


@pytest.mark.long
def test_a_hundred_kills(path):
    rng = random.Random(5)
    with Reader(path) as reader:
        reader.store.save(Source(None, "feed", "https://example.org/feed", "Example"))
        reader.add(1, [one for one, _ in news(60)], NOON)
    acknowledged: dict[int, tuple[str, ...]] = {}
    for kill in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", WORK, str(path), str(kill)], stdout=subprocess.PIPE, text=True
        ) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
            said = "".join(worker.stdout.readline() for _ in range(rng.randint(0, 12)))
            time.sleep(rng.uniform(0.0, 0.05))
            worker.kill()
            lines = (said + worker.stdout.read()).split("\n")
        # A line is whole if a newline ends it.
        acknowledged |= {int(event): tuple(rest) for event, *rest in map(str.split, lines[:-1])}
        store = Store(path)
        assert compare_counts(store) == []
        assert store.rows("PRAGMA integrity_check") == [("ok",)]
        kept = {event.id: (str(event.item), event.action, str(event.rating)) for event in store.events()}
        assert acknowledged.items() <= kept.items()
        assert len(store.rows("SELECT id FROM items")) == len(store.rows("SELECT id FROM articles"))
        store.close()
    assert len(acknowledged) > 5 * KILLS


def test_events_after_the_counts_were_written_are_learned_at_the_next_start(path):
    with Reader(path) as reader:
        reader.store.save(Source(None, "feed", "https://example.org/feed", "Example"))
        ids = reader.add(1, [article(str(i), "", f"text {i}") for i in range(10)], NOON)
        for item in ids[:6]:
            reader.rate(item, 4)
    store = Store(path)
    store.record(ids[0], "rate", 2, NOON, "best")
    store.record(ids[1], "clear", None, NOON, "best")
    store.record(ids[7], "rate", 5, NOON, "best")
    store.record(ids[8], "skip", None, NOON, "best")
    levels = read_counts(store, 4)
    assert {level: levels.model.counts.of(str(level)) for level in range(1, 6)} == {1: 0, 2: 1, 3: 0, 4: 4, 5: 1}
    assert compare_counts(store) == []
    store.close()
