"""An open reader: its store, what it has learned, and the ranking."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import IO, Any

from plausible.errors import CallError
from plausible.files.model import to_bytes
from plausible.reader import exchange
from plausible.reader.counted import (
    LATEST,
    each_rated,
    merge_elsewhere,
    rated,
    read_counts,
    state_after,
    write_counts,
)
from plausible.reader.exchange import Imported
from plausible.reader.items import Article
from plausible.reader.levels import LEVELS, Levels, cells_of, sigmoid
from plausible.reader.ranking import PAGE, Entry, Lineup, Page, entries, line_up
from plausible.reader.reasons import Change, NowRanked, Reasons, holds, moves, rank_now, reasons_for, shifts
from plausible.reader.rescoring import Rescoring
from plausible.reader.search import asked
from plausible.reader.settings import Settings
from plausible.reader.standing import Marks, Standing
from plausible.reader.store import Event, Place, Store
from plausible.reader.views import View
from plausible.reader.working import Working, measured


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

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.store = Store(path)
        try:
            self._settings = Settings.of(self.store.setting("reader", {}))
            self._levels = read_counts(self.store, self._settings.interesting_from)
            self._marks = Marks(self.store)
            self._learning = threading.RLock()
            self._rescoring = Rescoring(self.store, self._levels, self._learning, lambda: self._settings)
        except BaseException:
            self.store.close()
            raise
        self._closed = False
        self._lineups: dict[Any, Lineup] = {}
        self._before: tuple[int, Standing] | None = None  # the last rating of this session, and the ranking before it

    def close(self) -> None:
        """Finish what the background does, write the counts, and close the store; a second time nothing happens."""
        if self._closed:
            return
        self._closed = True
        self._rescoring.close()
        with self._learning:
            write_counts(self.store, self._levels.model)
        self.store.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Changes

    def add(self, source_id: int, articles: Iterable[Article], now: datetime | None = None) -> list[int]:
        """`Store.add`; the new items are ranked in the background."""
        return self.store.add(source_id, articles, now)

    def rate(self, item_id: int, rating: int, place: Place = "best", now: datetime | None = None) -> Event:
        """Rate an item 1 to 5, or change its rating; it is stored and learned when this returns.

        Raises
        ------
        CallError
            If there is no such item, or the rating is none of 1 to 5.
        """
        if rating not in LEVELS:
            raise CallError(f"a rating is 1, 2, 3, 4 or 5, not {rating!r}")
        return self._act(item_id, "rate", rating, place, now)

    def clear(self, item_id: int, now: datetime | None = None) -> Event | None:
        """Take an item's rating away; None if it has none."""
        if self.store.item(item_id).rating is None:
            return None
        return self._act(item_id, "clear", None, "search", now)

    def skip(self, item_id: int, place: Place = "best", now: datetime | None = None) -> Event:
        """Mark an item as read without a rating."""
        return self._act(item_id, "skip", None, place, now)

    def undo(self, now: datetime | None = None) -> Event | None:
        """Take back the last event that was not undone yet, exactly; gives that event, or None if there is none."""
        with self._learning:
            event = self.store.last_event()
            if event is None:
                return None
            rating, skipped = self._state_before(event)
            if event.action in ("rate", "clear"):
                self._act(event.item, "clear" if rating is None else "rate", rating, event.place, now, event.id)
            else:
                self._act(event.item, "skip" if skipped else "unskip", None, event.place, now, event.id)
            return event

    def _act(
        self,
        item_id: int,
        action: str,
        rating: int | None,
        place: Place,
        now: datetime | None,
        undoes: int | None = None,
    ) -> Event:
        """Store an event, and learn it."""
        with self._learning:
            item = self.store.item(item_id)
            standing = self._rescoring.standing
            predicted = self._predicted(item_id, standing) if action == "rate" and undoes is None else None
            event = self.store.record(item_id, action, rating, now or datetime.now(UTC), place, predicted, undoes)
            self._marks.note(event)
            if action in ("rate", "clear"):
                cells = cells_of([item], self.store.addresses())
                if item.rating is not None:
                    self._levels.unlearn(cells, [item.rating])
                if rating is not None:
                    self._levels.learn(cells, [rating])
                self._before = (event.id, standing)
            return event

    def _predicted(self, item_id: int, standing: Standing) -> tuple[float, float] | None:
        """What is expected of an item: the probability of interest, and the rating."""
        at = standing.shelf.positions([item_id])
        if not standing.tells or not len(at) or not standing.words[at[0]]:
            return None
        learned = standing.learned[at[0]]
        return float(sigmoid(learned)), float(standing.link.expected(learned))

    @property
    def settings(self) -> Settings:
        return self._settings

    def set(self, settings: Settings) -> None:
        """Change the settings; what was learned is estimated anew."""
        with self._learning:
            self.store.keep("reader", asdict(settings))
            old, self._settings = self._settings, settings
            if settings.interesting_from != old.interesting_from:
                self._levels = Levels(settings.interesting_from, self._levels.model)
                self._rescoring.start_over(self._levels)
            self.store.touch()

    def settle(self) -> None:
        """Wait until the ranking knows all events and items."""
        self._rescoring.settle()

    # Answers

    def page(self, view: View, now: datetime | None = None) -> Page:
        """A page of a view.

        Raises
        ------
        CallError
            For a page or source that is not there, or a search that can't be read.
        """
        lineup = self._lineup(view, now)
        positions = lineup.page(view)
        items = self.store.items(lineup.standing.shelf.ids[positions].tolist())
        shown = len(lineup.side(view))
        standing = lineup.standing
        return Page(
            view=view,
            entries=entries(lineup, positions, items),
            total=len(lineup.above) + len(lineup.below),
            above=len(lineup.above),
            below=len(lineup.below),
            vetoed=lineup.vetoed,
            folded=lineup.folded,
            pages=max(math.ceil(shown / PAGE), 1),
            ratings=self._levels.ratings,
            liked=self._levels.liked,
            pending=self.store.changes - max(standing.change, 0),
        )

    def entry(self, item_id: int, view: View | None = None, now: datetime | None = None) -> Entry:
        """One item with its score and its place in a view (`rank` 0 and place "search" where it is not in it)."""
        item = self.store.item(item_id)
        lineup = self._lineup(view or View(period="all", show="all"), now)
        position = lineup.standing.shelf.positions([item_id])
        return entries(lineup, position, [item])[0]

    def after(self, item_id: int, view: View, now: datetime | None = None) -> int | None:
        """The item that follows in a view; None at the end.

        An item that has left the view is followed by the first one that ranks behind it.
        """
        return self._neighbour(item_id, view, now, 1)

    def before(self, item_id: int, view: View, now: datetime | None = None) -> int | None:
        """The item before in a view; None at the start."""
        return self._neighbour(item_id, view, now, -1)

    def _neighbour(self, item_id: int, view: View, now: datetime | None, step: int) -> int | None:
        lineup = self._lineup(view, now)
        at = lineup.standing.shelf.positions([item_id])
        found = lineup.neighbour(view, int(at[0]) if len(at) else None, step)
        return None if found is None else int(lineup.standing.shelf.ids[found])

    def _lineup(self, view: View, now: datetime | None) -> Lineup:
        """The items of a view, kept until something changes."""
        if self._rescoring.failure is not None:
            raise self._rescoring.failure
        now = now or datetime.now(UTC)
        if view.source is not None:
            self.store.source(view.source)
        view = replace(view, page=1, below=False)
        with self._learning:
            standing = self._rescoring.standing
            standing = standing.upon(standing.shelf.with_new(self.store))
            key = (
                view,
                self._marks.version,
                self._settings,
                int(now.timestamp()) // 60,
                standing.change,
                len(standing.shelf),
            )
            if key not in self._lineups:
                matches = self._matches(view) if view.search else None
                self._lineups = {key: line_up(standing, self._marks, view, self._settings, now, matches)}
            return self._lineups[key]

    def _matches(self, view: View) -> list[int]:
        order = "bm25(words, 4.0, 1.0)" if view.order == "relevance" else "rowid"
        sql = f"SELECT rowid FROM words WHERE words MATCH ? ORDER BY {order}"
        return [item for (item,) in self.store.rows(sql, (asked(view.search),))]

    def why(self, item_id: int) -> Reasons:
        """The words and attributes for and against an item, which sum to its score."""
        item = self.store.item(item_id)
        addresses = self.store.addresses()
        titles = {addresses[source.id]: source.title for source in self.store.sources() if source.id is not None}
        boosts = holds(self.store, item_id, self._settings.boost)
        vetoed_by = holds(self.store, item_id, self._settings.veto)
        with self._learning:
            return reasons_for(self._levels, cells_of([item], addresses), titles, boosts, vetoed_by)

    def last_change(self) -> Change | None:
        """What the last rating changed, also one of an earlier session; None if there is none.

        Which items moved is known in the session of the rating.
        """
        self.settle()
        with self._learning:
            event = self.store.last_rating()
            if event is None:
                return None
            item, now = self.store.item(event.item), self._rescoring.standing
            before = self._state_before(event)[0]
            moved = None
            if self._before is not None and self._before[0] == event.id:
                moved = moves(self._before[1], now, self._marks, self.store)
            changed = shifts(self._levels, cells_of([item], self.store.addresses()), before, event.rating)
            return Change(item.id, item.article.title, event.rating, before, changed, moved)

    def _state_before(self, event: Event) -> tuple[int | None, bool]:
        """The rating of an event's item, and whether it was skipped, before the event."""
        return state_after(one for one in self.store.events(item=event.item) if one.id < event.id)

    def now_ranked(self, item_id: int) -> NowRanked:
        """Where a rated item would stand now among those published on the same day, had it not been rated."""
        item = self.store.item(item_id)
        with self._learning:
            cells = cells_of([item], self.store.addresses())
            return rank_now(item, self._levels, cells, self._rescoring.standing, self._settings)

    def working(self) -> Working:
        """Is it working? Measured on what was predicted before each rating."""
        return measured(self.store, self._settings.interesting_from)

    # Data is yours

    def export(self, to: IO[bytes]) -> None:
        """Everything as JSON lines; see `exchange`."""
        exchange.write(self.store, to)

    def model_bytes(self) -> bytes:
        """What was learned, as a `.plausible` file that the command line reads; its probabilities are calibrated."""
        with self._learning:
            model = self._levels.model.copy()
        latest = self.store.items(rated(self.store, LATEST))
        if len(model.classes) > 1:
            labels = [str(item.rating) for item in latest]
            model.calibrate(cells_of(latest, self.store.addresses()), labels)
        return to_bytes(model)

    def take_in(self, data: IO[bytes]) -> Imported:
        """Import what `export` wrote; what is there already stays.

        Raises
        ------
        DataError
            If a line is damaged, too long, or no part of an export; then nothing changes.
        """
        with self._learning:
            before = self.store.ratings()
            try:
                brought = exchange.read(self.store, data)
            finally:  # what was stored is learned, even if the disk is full at half
                new = {item: rating for item, rating in self.store.ratings().items() if item not in before}
                each_rated(self.store, new, self._levels.learn)
                self._marks, self._lineups = Marks(self.store), {}
            if (settings := Settings.of(self.store.setting("reader", {}))) != self._settings:
                self.set(settings)
            return brought

    def merge_model(self, data: bytes) -> int:
        """Add what another reader learned, from a `.plausible` file: the number of its ratings.

        Raises
        ------
        ModelError
            If it is damaged, too large when unpacked, not a reader's, or was added before; then nothing changes.
        """
        with self._learning:
            return merge_elsewhere(self.store, self._levels, data)
