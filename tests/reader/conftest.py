"""A reader of news about stars and football, in a store of its own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plausible.reader.items import Article, Source
from plausible.reader.reading import Reader
from plausible.reader.store import Store

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
STARS = ["galaxy", "star", "telescope", "orbit", "planet", "comet", "nebula"]
FOOTBALL = ["goal", "match", "league", "coach", "referee", "stadium", "striker"]
COMMON = [f"word{i}" for i in range(150)]


def article(key: str, title: str = "", text: str = "", **given: object) -> Article:
    usual = {"url": None, "author": "", "published": NOON - timedelta(hours=1), "html": None, "language": None}
    return Article(key=key, title=title, text=text, **{**usual, **given})  # type: ignore[arg-type]


def news(count: int, seed: int = 0, share: float = 0.3) -> list[tuple[Article, bool]]:
    """Articles of the day before noon, and which of them are about stars."""
    rng = random.Random(seed)
    out = []
    for i in range(count):
        stars = rng.random() < share
        text = " ".join(rng.choices(STARS if stars else FOOTBALL, k=8) + rng.choices(COMMON, k=30))
        published = NOON - timedelta(hours=rng.uniform(0, 23))
        author = rng.choice(["Ada", "Bo", ""])
        out.append((article(f"{seed}-{i}", f"Report {i}", text, author=author, published=published), stars))
    return out


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reader.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store(path)
    store.save(Source(None, "feed", "https://example.org/feed", "Example"))
    yield store
    store.close()


@pytest.fixture
def reader(path: Path) -> Iterator[Reader]:
    with Reader(path) as reader:
        reader.store.save(Source(None, "feed", "https://example.org/feed", "Example"))
        yield reader
