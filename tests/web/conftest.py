"""A reader with articles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plausible.reader.items import Source
from plausible.reader.reading import Reader
from tests.web.visitor import LIKED, OTHER, Visitor, article, ids_of


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with Reader(tmp_path / "reader.db") as opened:
        yield opened


@pytest.fixture
def stocked(reader: Reader) -> Reader:
    """Two sources with 20 articles each, none of them rated."""
    for words in (LIKED, OTHER):
        source = reader.store.save(Source(None, "feed", f"https://example.org/{words[0]}.xml", words[0].title()))
        assert source.id is not None
        reader.add(source.id, [article(number, words) for number in range(20)])
    reader.settle()
    return reader


@pytest.fixture
def taught(stocked: Reader) -> Reader:
    """The same, with three articles liked and three not."""
    liked, other = (ids_of(stocked, words[0].title()) for words in (LIKED, OTHER))
    for one, another in zip(liked[:3], other[:3], strict=True):
        stocked.rate(one, 5, "below")
        stocked.rate(another, 1, "below")
    stocked.settle()
    return stocked


@pytest.fixture
def visitor(stocked: Reader) -> Visitor:
    return Visitor(stocked)
