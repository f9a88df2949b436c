"""The store: one SQLite file that holds sources, items, ratings and what was learned from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from plausible.reader.items import Article, Source

Place = Literal["best", "uncertain", "random", "below", "vetoed", "search"]
"""Where an item stood when it was rated: recommended as one of the best, mixed in because the model is unsure of it or
at random, below the line, put there by a veto word, or found by a search."""


@dataclass(frozen=True, slots=True)
class Item:
    """An article in the store, and what its reader said of it.

    Attributes
    ----------
    id : int
    source : int
        The id of its source.
    article : Article
    collected : datetime
    first : int
        The item that it nearly repeats, or its own id.
    rating : int, optional
        1 to 5.
    skipped : bool
    """

    id: int
    source: int
    article: Article
    collected: datetime
    first: int
    rating: int | None
    skipped: bool


@dataclass(frozen=True, slots=True)
class Event:
    """One act of the reader; acts are only ever added.

    Attributes
    ----------
    id : int
        From 1, in the order in which they happened.
    item : int
    action : "rate", "clear", "skip" or "unskip"
        An undo is the event that restores what was before.
    rating : int, optional
        The new rating, of "rate".
    at : datetime
    place : str
        See `Place`.
    probability, expected : float, optional
        What the model said before it learned this: the probability of interest, and the expected rating.
    undoes : int, optional
        The event that this one takes back.
    """

    id: int
    item: int
    action: str
    rating: int | None
    at: datetime
    place: Place
    probability: float | None
    expected: float | None
    undoes: int | None


class Store:
    """An open store. Every change is on disk when the call returns.

    One process at a time: a second one gets a CallError. Threads may share a store.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a store, or make one; older versions are brought up to date.

        Raises
        ------
        CallError
            If another process has it open, or the folder does not exist.
        DataError
            If the file is no store, or of a newer version.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the file; the store can't be used any more."""
        raise NotImplementedError

    # Sources

    def sources(self) -> list[Source]:
        """All sources, by title."""
        raise NotImplementedError

    def source(self, id: int) -> Source:
        """A source; CallError if there is none."""
        raise NotImplementedError

    def save(self, source: Source) -> Source:
        """Add a source (one without an id, or with an address that is known), or change one; gives it with its id."""
        raise NotImplementedError

    def remove_source(self, id: int) -> int:
        """Remove a source and its items without a rating; how many items went. Rated items stay."""
        raise NotImplementedError

    def due(self, now: datetime) -> list[Source]:
        """The sources whose next visit is not after `now`, the longest due first."""
        raise NotImplementedError

    # Items

    def add(self, source_id: int, articles: Iterable[Article], now: datetime | None = None) -> list[int]:
        """Add articles to a source: the ids of those that are new.

        An article whose key is known is brought up to date if it changed and has no rating; what was learned from
        stays as it was.
        """
        raise NotImplementedError

    def item(self, id: int) -> Item:
        """An item; CallError if there is none."""
        raise NotImplementedError

    def items(self, ids: Sequence[int]) -> list[Item]:
        """Items in the order of their ids."""
        raise NotImplementedError

    # What the reader said

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events in the order in which they happened."""
        raise NotImplementedError

    def last_event(self) -> Event | None:
        """The event that `Reader.undo` would take back: the last that is no undo and was not undone."""
        raise NotImplementedError

    # Settings of pages

    def setting(self, name: str, default: Any = None) -> Any:
        """A value that was kept by name (JSON)."""
        raise NotImplementedError

    def keep(self, name: str, value: Any) -> None:
        """Keep a value by name (JSON)."""
        raise NotImplementedError
