"""Scoring all items again after each change, in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.counts import Coded
from plausible.reader import standing as standings
from plausible.reader.counted import LATEST, rated
from plausible.reader.levels import LENGTHS, UNFITTED, Cells, Levels, Rated, cells_of
from plausible.reader.search import asked
from plausible.reader.settings import BOOST, Settings
from plausible.reader.standing import Shelf, Standing
from plausible.reader.store import Store
from plausible.scoring import default_threads

AT_A_TIME = 400
"""Texts that are read at a time, so that nobody waits long for the store."""
LEFT_OUT_AT_A_TIME = 50
GROWN = 0.1
"""The share by which ratings must have grown for the levels to be fitted again."""
SAVED_EVERY = 300.0
"""Seconds between two writings of the scores."""


class Rescoring:
    """Scores all items again after each change.

    Everything that it holds belongs to its thread; what it publishes is a `Standing`, which never changes. While it
    scores, nobody waits: it takes the weights as they are, and the counts go on.

    Attributes
    ----------
    standing : Standing
        The newest.
    failure : Exception or None
        What ended it.
    """

    def __init__(
        self, store: Store, levels: Levels, learning: threading.RLock, settings: Callable[[], Settings]
    ) -> None:
        self._store, self._levels, self._learning, self._settings = store, levels, learning, settings
        self.failure: Exception | None = None
        self._closing = False
        self._published = threading.Condition()
        self._kept = _native.Kept(levels.interest.terms)
        self._rows = np.full(0, -1, np.int64)  # of each item on the shelf where its text is kept
        self._columns = _Columns()
        self._fitted = (0, 0)
        self._saved = time.monotonic()
        self.standing = self._start()
        self._thread = threading.Thread(target=self._run, name="rescoring", daemon=True)
        self._thread.start()
        store.changed.set()

    def close(self) -> None:
        """End the thread and keep the scores for the next start."""
        self._closing = True
        self._store.changed.set()
        self._thread.join()
        if self.failure is None:
            self._save()

    def settle(self) -> None:
        """Wait until the standing knows all changes that were made before this call."""
        wanted = self._store.changes
        with self._published:
            self._published.wait_for(lambda: self.standing.change >= wanted or self.failure is not None)
        if self.failure is not None:
            raise self.failure

    def start_over(self, levels: Levels) -> None:
        """Go on with other levels, as when what is interesting has changed."""
        with self._learning:
            levels.interest.collection = self._levels.interest.collection
            self._levels, self._fitted = levels, (0, 0)

    def _start(self) -> Standing:
        """The standing of the last session, as far as it goes."""
        held = self._store.rows("SELECT held FROM scores")
        found = standings.from_bytes(held[0][0], self._store, self._levels.interesting_from) if held else None
        if found is None:
            return standings.nothing(Shelf.of(self._store), self._levels.link)
        standing, calibration, collection = found
        self._levels.interest.calibration, self._levels.link = calibration, standing.link
        self._levels.interest.collection = collection
        self._fitted = (standing.ratings, standing.liked)
        return standing

    def _run(self) -> None:
        try:
            while not self._closing:
                self._store.changed.wait()
                self._store.changed.clear()
                if not self._closing:
                    self._once()
        except Exception as error:  # whoever asks next is told
            with self._published:
                self.failure = error
                self._published.notify_all()

    def _once(self) -> None:
        change = self._store.changes
        self._store.sync()
        shelf = self._fetch()
        if shelf is None:
            return
        self._fit()
        standing = self._scored(shelf, change)
        _ = standing.order  # so that no page has to wait for it
        with self._published:
            self.standing = standing
            self._published.notify_all()
        if time.monotonic() - self._saved > SAVED_EVERY:
            self._save()

    def _fetch(self) -> Shelf | None:
        """Keep the texts that are new or revised; the shelf as it is now, or None if it is closed meanwhile."""
        store, shelf = self._store, self.standing.shelf
        gone, revised = set(store.gone), set(store.revised)
        if gone:
            shelf = Shelf.of(store)
            self._rows = np.full(len(shelf), -1, np.int64)  # which is dear, and as rare as the removal of a source
            self._columns, self._kept = _Columns(), _native.Kept(self._levels.interest.terms)
        else:
            shelf = shelf.with_new(store)
        self._rows = np.concatenate([self._rows, np.full(len(shelf) - len(self._rows), -1, np.int64)])
        self._rows[shelf.positions(revised)] = -1
        wanted = np.flatnonzero(self._rows < 0)
        addresses = store.addresses()
        for start in range(0, len(wanted), AT_A_TIME):
            if self._closing:
                return None
            positions = wanted[start : start + AT_A_TIME]
            items = store.items(shelf.ids[positions].tolist())
            self._rows[shelf.positions(item.id for item in items)] = len(self._kept) + np.arange(len(items))
            cells = cells_of(items, addresses)
            self._kept.add(cells["text"])
            self._columns.add(cells)
        if len(wanted) or gone:
            collection = self._kept.frequencies()
            with self._learning:
                self._levels.interest.collection = collection
        store.gone -= gone
        store.revised -= revised
        if (self._rows < 0).any():  # they were removed meanwhile
            shelf, self._rows = shelf.take(self._rows >= 0), self._rows[self._rows >= 0]
        return shelf

    def _fit(self) -> None:
        """Fit the levels again where there are enough new ratings."""
        levels = self._levels
        now = (levels.ratings, levels.liked)
        if not levels.tells or abs(now[0] - self._fitted[0]) <= GROWN * self._fitted[0]:
            return
        parts: list[Rated] = []
        addresses = self._store.addresses()
        latest = rated(self._store, LATEST)
        for start in range(0, len(latest), LEFT_OUT_AT_A_TIME):
            with self._learning:  # some at a time, so that a rating need not wait
                ratings = self._store.ratings()
                items = self._store.items([id for id in latest[start : start + LEFT_OUT_AT_A_TIME] if id in ratings])
                if items and levels.tells:
                    parts.append(levels.left_out(cells_of(items, addresses), [ratings[item.id] for item in items]))
        if parts:
            calibration, link = levels.fit(parts)
            with self._learning:
                if levels is self._levels:
                    levels.interest.calibration, levels.link = calibration, link
                    self._fitted = now

    def _scored(self, shelf: Shelf, change: int) -> Standing:
        with self._learning:
            levels = self._levels
            link, ratings, liked, tells = levels.link, levels.ratings, levels.liked, levels.tells
            if tells:
                scores = levels.interest.frozen(self._kept, self._columns.cells())
        boosts, vetoed = self._by_words(shelf)
        if not tells:
            nothing = standings.nothing(shelf, link)
            return replace(nothing, boosts=boosts, vetoed=vetoed, change=change, ratings=ratings, liked=liked)
        found = scores(default_threads())
        rows = self._rows
        known, words = (np.asarray(column)[rows].astype(np.int64) for column in (found.known, found.tokens))
        learned = levels.evidence(found.log_posterior)[rows]
        return Standing(shelf, learned, boosts, vetoed, known, words, link, change, ratings, liked)

    def _by_words(self, shelf: Shelf) -> tuple[standings.Floats, standings.Flags]:
        """What boost words add to each item, and which hold a veto word."""
        settings = self._settings()
        boosts, vetoed = np.zeros(len(shelf)), np.zeros(len(shelf), bool)
        for word in settings.boost:
            boosts[shelf.positions(holders(self._store, word))] += BOOST
        for word in settings.veto:
            vetoed[shelf.positions(holders(self._store, word))] = True
        return boosts, vetoed

    def _save(self) -> None:
        with self._learning:
            interest, interesting_from = self._levels.interest, self._levels.interesting_from
            calibration, collection = interest.calibration or UNFITTED, interest.collection
        data = standings.to_bytes(self.standing, calibration, interesting_from, collection)
        with self._store.changing(ranks=False) as db:
            db.execute("INSERT OR REPLACE INTO scores VALUES (1, ?)", (data,))
        self._saved = time.monotonic()


class _Columns:
    """The cells beside the texts that are kept, as codes."""

    def __init__(self) -> None:
        self._states: dict[str, dict[str, int]] = {"source": {}, "author": {}}
        self._codes: dict[str, list[npt.NDArray[np.int32]]] = {"source": [], "author": [], "length": []}

    def add(self, cells: Cells) -> None:
        for name, states in self._states.items():
            codes = [-1 if state is None else states.setdefault(state, len(states)) for state in cells[name]]
            self._codes[name].append(np.array(codes, np.int32))
        self._codes["length"].append(cells["length"].codes)

    def cells(self) -> Cells:
        """The columns of all texts."""
        out = {}
        for name, parts in self._codes.items():
            codes = np.concatenate(parts) if parts else np.empty(0, np.int32)
            self._codes[name] = [codes]
            out[name] = Coded(codes, list(self._states[name]) if name in self._states else LENGTHS.states)
        return out


def holders(store: Store, word: str) -> Sequence[int]:
    """The items that hold a boost or veto word."""
    return [item for (item,) in store.rows("SELECT rowid FROM words WHERE words MATCH ?", (asked(f'"{word}"'),))]
