"""An open reader: its store, what it has learned, and the ranking."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import IO

from plausible.reader.items import Article
from plausible.reader.ranking import Entry, Page
from plausible.reader.reasons import Change, NowRanked, Reasons
from plausible.reader.settings import Settings
from plausible.reader.store import Event, Place, Store
from plausible.reader.views import View
from plausible.reader.working import Working


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import brought: sources, items and ratings that are new."""

    sources: int
    items: int
    ratings: int


class Reader:
    """An open reader, for many threads.

    Ratings are learned before the call returns; the ranking of all items follows in the background.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Reader(f"{folder}/reader.db") as reader:
    ...     reader.page(View()).total
    0
    """

    store: Store

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a store, or make one; see `Store` for errors."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish what the background does and close the store."""
        raise NotImplementedError

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Changes

    def add(self, source_id: int, articles: Iterable[Article], now: datetime | None = None) -> list[int]:
        """`Store.add`; the new items are ranked in the background."""
        raise NotImplementedError

    def rate(self, item_id: int, rating: int, place: Place = "best", now: datetime | None = None) -> Event:
        """Rate an item 1 to 5, or change its rating; it is stored and learned when this returns.

        Raises
        ------
        CallError
            If there is no such item, or the rating is none of 1 to 5.
        """
        raise NotImplementedError

    def clear(self, item_id: int, now: datetime | None = None) -> Event | None:
        """Take an item's rating away; None if it has none."""
        raise NotImplementedError

    def skip(self, item_id: int, place: Place = "best", now: datetime | None = None) -> Event:
        """Mark an item as read without a rating."""
        raise NotImplementedError

    def undo(self, now: datetime | None = None) -> Event | None:
        """Take back the last event that was not undone yet, exactly; gives that event, or None if there is none."""
        raise NotImplementedError

    @property
    def settings(self) -> Settings:
        raise NotImplementedError

    def set(self, settings: Settings) -> None:
        """Change the settings; what was learned is estimated anew. CallError for values out of range."""
        raise NotImplementedError

    def settle(self) -> None:
        """Wait until the ranking knows all events and items."""
        raise NotImplementedError

    # Answers

    def page(self, view: View, now: datetime | None = None) -> Page:
        """A page of a view. CallError for a page or source that is not there, or a search that can't be read."""
        raise NotImplementedError

    def entry(self, item_id: int, view: View | None = None, now: datetime | None = None) -> Entry:
        """One item with its score and its place in a view (`rank` 0 and place "search" where it is not in it)."""
        raise NotImplementedError

    def after(self, item_id: int, view: View, now: datetime | None = None) -> int | None:
        """The item that follows in a view (the first one, if `item_id` has left it), or None at the end."""
        raise NotImplementedError

    def before(self, item_id: int, view: View, now: datetime | None = None) -> int | None:
        """The item before in a view, or None at the start."""
        raise NotImplementedError

    def why(self, item_id: int) -> Reasons:
        """The words and attributes for and against an item, which sum to its score."""
        raise NotImplementedError

    def last_change(self) -> Change | None:
        """What the last rating changed; None if there is none."""
        raise NotImplementedError

    def now_ranked(self, item_id: int) -> NowRanked:
        """Where a rated item would stand now, had it not been rated."""
        raise NotImplementedError

    def working(self) -> Working:
        """Is it working? Measured on what was predicted before each rating."""
        raise NotImplementedError

    # Data is yours

    def export(self, to: IO[bytes]) -> None:
        """Everything as JSON lines: one object a line, its kind under "is"."""
        raise NotImplementedError

    def model_bytes(self) -> bytes:
        """What was learned, as a `.plausible` file that the command line reads."""
        raise NotImplementedError

    def take_in(self, data: IO[bytes]) -> Imported:
        """Import what `export` wrote, into this store; what is there already stays.

        Raises
        ------
        DataError
            If a line is damaged, too long, or no part of an export; then nothing changes.
        """
        raise NotImplementedError

    def merge_model(self, data: bytes) -> int:
        """Add what another reader learned, from a `.plausible` file; the ratings that it stands on. DataError or
        ModelError if it is damaged, too large when unpacked, or not a reader's; then nothing changes."""
        raise NotImplementedError
