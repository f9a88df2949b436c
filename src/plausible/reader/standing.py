"""What every item stands at: columns of all items, frozen between one ranking and the next."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.calibration import Calibration
from plausible.reader.levels import Link
from plausible.reader.store import Event, Place, Store

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PLACES = get_args(Place)
FORM = 3
"""Of what is kept for the next start; of another form, the scores are made anew."""
COLUMNS = ("learned", "boosts", "vetoed", "known", "words")


@dataclass(frozen=True)
class Shelf:
    """Columns of all items, by rising id.

    Attributes
    ----------
    ids, source, first : array of int64
        See `Item`.
    published : array of float64
        Seconds since 1970.
    """

    ids: Integers
    source: Integers
    first: Integers
    published: Floats

    @classmethod
    def of(cls, store: Store, after: int = 0) -> Shelf:
        """The items of a store with larger ids."""
        rows = store.rows("SELECT id, source, first, published FROM items WHERE id > ? ORDER BY id", (after,))
        ids, source, first, published = zip(*rows, strict=True) if rows else ((), (), (), ())
        whole = [np.array(column, np.int64) for column in (ids, source, first)]
        return cls(whole[0], whole[1], whole[2], np.array(published, float))

    def __len__(self) -> int:
        return len(self.ids)

    def is_of(self, store: Store) -> bool:
        """Whether these are the items of a store, by their number and sums: much faster than to read them."""
        sql = """SELECT count(*), ifnull(sum(id), 0), ifnull(sum(source), 0), ifnull(sum(first), 0),
            ifnull(sum(CAST(published AS INTEGER)), 0) FROM items"""
        columns = (self.ids, self.source, self.first, self.published.astype(np.int64))
        return store.rows(sql) == [(len(self), *(int(column.sum()) for column in columns))]

    def with_new(self, store: Store) -> Shelf:
        """The same with the items that were added since."""
        new = Shelf.of(store, int(self.ids[-1]) if len(self) else 0)
        if not len(new):
            return self
        both = {name: np.concatenate([getattr(self, name), getattr(new, name)]) for name in Shelf.__annotations__}
        return Shelf(**both)

    def take(self, here: Flags) -> Shelf:
        """Some of the items."""
        return Shelf(self.ids[here], self.source[here], self.first[here], self.published[here])

    def positions(self, ids: Iterable[int]) -> Integers:
        """Where items stand; those that are not here are left out."""
        wanted = np.fromiter(ids, np.int64)
        if not len(self):
            return np.empty(0, np.int64)
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self) - 1)
        return np.asarray(at[self.ids[at] == wanted], np.int64)


@dataclass(frozen=True)
class Standing:
    """What every item stands at.

    Attributes
    ----------
    shelf : Shelf
    learned : array, shape (items,)
        ln odds of interest, as learned; 0 where nothing is known.
    boosts : array, shape (items,)
        What boost words add to it.
    vetoed : array of bool, shape (items,)
    known, words : array of int64, shape (items,)
        Words and attributes, and those of them that the model has seen.
    link : Link
    change : int
        The change of the store that it knows of (`Store.changes`), -1 if it comes from an earlier session.
    ratings, liked : int
        The ratings that it stands on.
    """

    shelf: Shelf
    learned: Floats
    boosts: Floats
    vetoed: Flags
    known: Integers
    words: Integers
    link: Link
    change: int
    ratings: int
    liked: int

    @property
    def tells(self) -> bool:
        """Whether items can be told apart."""
        return 0 < self.liked < self.ratings

    @property
    def score(self) -> Floats:
        return self.learned + self.boosts

    @cached_property
    def order(self) -> Integers:
        """The positions of all items by falling score, of equal ones the newest first."""
        return np.lexsort((-self.shelf.published, -self.score))

    def upon(self, shelf: Shelf) -> Standing:
        """The same for other items; new ones stand at 0."""
        if shelf is self.shelf:
            return self
        at = np.searchsorted(self.shelf.ids, shelf.ids)
        at = np.minimum(at, max(len(self.shelf) - 1, 0))
        here = self.shelf.ids[at] == shelf.ids if len(self.shelf) else np.zeros(len(shelf), bool)
        columns: dict[str, Any] = {}
        for name in COLUMNS:
            old = getattr(self, name)
            new = np.zeros(len(shelf), old.dtype)
            new[here] = old[at[here]]
            columns[name] = new
        return replace(self, shelf=shelf, **columns)


def nothing(shelf: Shelf, link: Link) -> Standing:
    """The standing before anything was learned."""
    size = len(shelf)
    zeros, none = np.zeros(size), np.zeros(size, np.int64)
    return Standing(shelf, zeros, zeros, np.zeros(size, bool), none, none, link, -1, 0, 0)


def to_bytes(
    standing: Standing, calibration: Calibration, interesting_from: int, collection: _native.Frequencies | None
) -> bytes:
    """What is kept of a standing, and of the documents that hold each term, for the next start."""
    head = {
        "form": FORM,
        "interesting_from": interesting_from,
        "calibration": calibration._asdict(),
        "offsets": standing.link.offsets,
        "ratings": standing.ratings,
        "liked": standing.liked,
        "documents": None if collection is None else collection.documents,
    }
    columns = {name: getattr(standing, name) for name in COLUMNS}
    columns |= {name: getattr(standing.shelf, name) for name in Shelf.__annotations__}
    if collection is not None:
        columns |= {"terms": collection.terms, "holding": collection.holding}
    held = io.BytesIO()
    text = np.frombuffer(json.dumps(head).encode(), np.uint8)
    np.savez(held, head=text, **columns)
    return held.getvalue()


def from_bytes(
    data: bytes, store: Store, interesting_from: int
) -> tuple[Standing, Calibration, _native.Frequencies | None] | None:
    """What `to_bytes` was given, for the items that are there now; None if its form or threshold is another."""
    with np.load(io.BytesIO(data), allow_pickle=False) as held:
        columns: dict[str, Any] = {name: held[name] for name in held.files}
    head = json.loads(columns.pop("head").tobytes())
    if head.get("form") != FORM or head["interesting_from"] != interesting_from:
        return None
    old = Shelf(**{name: columns.pop(name) for name in Shelf.__annotations__})
    collection = None
    if head["documents"] is not None:
        collection = _native.Frequencies(head["documents"], columns.pop("terms"), columns.pop("holding"))
    link = Link(tuple(head["offsets"]))
    standing = Standing(shelf=old, link=link, change=-1, ratings=head["ratings"], liked=head["liked"], **columns)
    given = head["calibration"]
    calibration = Calibration(**{**given, "factors": tuple(given["factors"])})
    return standing.upon(old if old.is_of(store) else Shelf.of(store)), calibration, collection


class Marks:
    """What the reader said of each item, by its id: the rating (0: none), whether it was skipped, and where it stood.

    It changes with every event; a ranking reads it as it is.
    """

    def __init__(self, store: Store) -> None:
        self.version = 0
        ((last,),) = store.rows("SELECT ifnull(max(id), 0) FROM items")
        self._rating, self._skipped, self._place = (np.zeros(last + 1, np.int8) for _ in range(3))
        for item, rating, skipped in store.rows(
            "SELECT id, ifnull(rating, 0), skipped FROM items WHERE rating NOT NULL OR skipped"
        ):
            self._rating[item], self._skipped[item] = rating, skipped
        for item, place in store.rows(
            "SELECT item, place FROM events WHERE action IN ('rate', 'skip') AND undoes IS NULL ORDER BY id"
        ):
            self._place[item] = PLACES.index(place)

    def note(self, event: Event) -> None:
        """Take in an event."""
        self._reach(event.item)
        if event.action in ("rate", "clear"):
            self._rating[event.item] = event.rating or 0
        else:
            self._skipped[event.item] = event.action == "skip"
        if event.action in ("rate", "skip") and event.undoes is None:
            self._place[event.item] = PLACES.index(event.place)
        self.version += 1

    def of(self, ids: Integers) -> tuple[Integers, Flags, Integers]:
        """Of items: the rating, whether it was rated or skipped, and the position in `PLACES` where it then stood."""
        self._reach(int(ids.max()) if len(ids) else 0)
        rating = self._rating[ids]
        read = (rating > 0) | (self._skipped[ids] > 0)
        return rating.astype(np.int64), read, self._place[ids].astype(np.int64)

    def _reach(self, item: int) -> None:
        if item >= len(self._rating):
            size = max(item + 1, 2 * len(self._rating))
            self._rating, self._skipped, self._place = (
                np.concatenate([held, np.zeros(size - len(held), np.int8)])
                for held in (self._rating, self._skipped, self._place)
            )
