"""The store: one SQLite file that holds sources, items, ratings and what was learned from them."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, get_args

from plausible import _native
from plausible.duplicates import NEAR, bands, shared, shingles
from plausible.errors import CallError, DataError, unknown
from plausible.reader.items import Article, Source
from plausible.reader.schema import bring_up_to_date
from plausible.reader.search import indexed

Place = Literal["best", "uncertain", "random", "below", "vetoed", "search"]
"""Where an item stood when it was rated: recommended as one of the best, mixed in because the model is unsure of it or
at random, below the line, put there by a veto word, or found by a search."""

AT_A_TIME = 25
"""Articles that are added in one transaction, so that nobody waits long for the store."""

_ITEM = """SELECT items.id, source, first, rating, skipped, published, collected, author, key, url, title, html, text,
    language, words FROM items JOIN articles USING (id)"""


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
    words : int
        Its length in words, or characters and pairs of them where a script puts no blanks.
    """

    id: int
    source: int
    article: Article
    collected: datetime
    first: int
    rating: int | None
    skipped: bool
    words: int

    @property
    def text(self) -> str:
        """The title and the text: what is learned from."""
        return "\n".join(filter(None, (self.article.title, self.article.text)))


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
    """An open store.

    A change outlives this process as soon as the call returns, and a power cut after `sync`. One process at a time: a
    second one gets a CallError. Threads may share a store.

    Parameters
    ----------
    path : str
        Made if it is not there; older versions are brought up to date.

    Attributes
    ----------
    changes : int
        How many changes of items and ratings were made since it was opened; `changed` is set after each.
    revised, gone : set of int
        Items whose text has changed, and items that were removed; whoever keeps texts takes them out.

    Raises
    ------
    CallError
        If another process has it open, or the folder does not exist.
    DataError
        If the file is no store, is damaged, or of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(f"{folder}/news.db")
    ...     store.save(Source(None, "feed", "https://example.org/feed", "Example")).id
    ...     store.close()
    1
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.changed = threading.Event()
        self.changes = 0
        self.revised: set[int] = set()
        self.gone: set[int] = set()
        self._lock = threading.RLock()
        self._db = _opened(self.path)

    def close(self) -> None:
        """Close the file; the store can't be used any more."""
        with self._lock:
            self._db.close()

    def sync(self) -> None:
        """Wait until the disk has what was written so far."""
        with suppress(FileNotFoundError), open(f"{self.path}-wal", "rb") as log:
            os.fsync(log.fileno())

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def changing(self, *, ranks: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction: written when the block ends well, else nothing has changed.

        It makes the ranking old, unless `ranks` says that it has no bearing on that.
        """
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        if ranks:
            self.touch()

    def touch(self) -> None:
        """Say that the ranking has become old."""
        self.changes += 1
        self.changed.set()

    # Sources

    def sources(self) -> list[Source]:
        """All sources, by title."""
        return sorted(self._sources("NOT removed"), key=lambda source: (source.title.casefold(), source.id))

    def source(self, id: int) -> Source:
        """A source, also one that was removed; CallError if there never was one."""
        found = self._sources("id = ?", (id,))
        if not found:
            known = [str(source.id) for source in self.sources()]
            raise CallError(unknown("source", str(id), known))
        return found[0]

    def _sources(self, condition: str, values: Sequence[Any] = ()) -> list[Source]:
        sql = f"""SELECT id, kind, address, title, interval, etag, modified, cursor, next_visit, error, allow_private
            FROM sources WHERE {condition}"""
        found = []
        for row in self.rows(sql, values):
            source = dict(zip(Source.__annotations__, row, strict=True))
            visit = source["next_visit"]
            source |= {
                "next_visit": None if visit is None else _time(visit),
                "allow_private": bool(source["allow_private"]),
            }
            found.append(Source(**source))
        return found

    def addresses(self) -> dict[int, str]:
        """The address at which each source was added, also of those that were removed: what it is learned as."""
        return dict(self.rows("SELECT id, first_address FROM sources"))

    def save(self, source: Source) -> Source:
        """Add a source (one without an id, or with an address that is known), or change one; gives it with its id."""
        values = asdict(source)
        values["next_visit"] = source.next_visit.timestamp() if source.next_visit else None
        with self.changing(ranks=False) as db:
            if source.id is None:
                found = db.execute("SELECT id FROM sources WHERE address = ?", (source.address,)).fetchone()
                values["id"] = found[0] if found else None
            names = list(values)
            given = ", ".join(f"{name} = excluded.{name}" for name in names)
            (number,) = db.execute(
                f"""INSERT INTO sources (first_address, {", ".join(names)})
                    VALUES (:address, {", ".join(f":{name}" for name in names)})
                    ON CONFLICT (id) DO UPDATE SET {given}, removed = 0 RETURNING id""",
                values,
            ).fetchone()
        return replace(source, id=number)

    def remove_source(self, id: int) -> int:
        """Remove a source and its items that nobody rated or skipped; how many items went."""
        self.source(id)
        with self.changing() as db:
            gone = [
                item
                for (item,) in db.execute(
                    "SELECT id FROM items WHERE source = ? AND id NOT IN (SELECT item FROM events)", (id,)
                )
            ]
            for item in gone:
                self._take_from_indexes(db, self._item(item))
                db.execute("DELETE FROM articles WHERE id = ?", (item,))
                db.execute("DELETE FROM items WHERE id = ?", (item,))
            for (first,) in db.execute("SELECT DISTINCT first FROM items WHERE first NOT IN (SELECT id FROM items)"):
                self._new_first(db, first)
            db.execute("UPDATE sources SET removed = 1 WHERE id = ?", (id,))
            self.gone.update(gone)
        return len(gone)

    def _new_first(self, db: sqlite3.Connection, gone: int) -> None:
        """The oldest of the items that repeated one that is gone takes its place."""
        (first,) = db.execute("SELECT min(id) FROM items WHERE first = ?", (gone,)).fetchone()
        db.execute("UPDATE items SET first = ? WHERE first = ?", (first, gone))
        keys = bands(_shingles(self._item(first)))
        db.executemany("INSERT OR IGNORE INTO bands (hash, item) VALUES (?, ?)", [(key, first) for key in keys])

    def due(self, now: datetime) -> list[Source]:
        """The sources whose next visit is not after `now`, the longest due first."""
        found = self._sources("NOT removed AND ifnull(next_visit, 0) <= ?", (now.timestamp(),))
        return sorted(found, key=lambda source: (source.next_visit.timestamp() if source.next_visit else 0, source.id))

    # Items

    def add(
        self, source_id: int, articles: Iterable[Article], now: datetime | None = None, *, revise: bool = True
    ) -> list[int]:
        """Add articles to a source: the ids of those that are new.

        An article whose key is known is brought up to date if it changed and was never rated (and `revise` says so);
        what was learned from stays as it was. A date in the future becomes that of the collection.
        """
        self.source(source_id)
        now = now or datetime.now(UTC)
        new: list[int] = []
        left = iter(articles)
        while chunk := list(islice(left, AT_A_TIME)):
            with self.changing() as db:
                for article in map(_storable, chunk):
                    found = db.execute("SELECT id FROM items WHERE source = ? AND key = ?", (source_id, article.key))
                    known = found.fetchone()
                    if known is None:
                        new.append(self._insert(db, source_id, article, now))
                    elif revise:
                        self._revise(db, self._item(known[0]), article, now)
        return new

    def _insert(self, db: sqlite3.Connection, source: int, article: Article, now: datetime) -> int:
        published = min(article.published, now).timestamp()
        values = (source, article.key, published, now.timestamp(), article.author)
        (number,) = db.execute(
            """INSERT INTO items (source, key, published, collected, author, words, first)
                VALUES (?, ?, ?, ?, ?, 0, 0) RETURNING id""",
            values,
        ).fetchone()
        db.execute(
            "INSERT INTO articles (id, title, url, language, text, html) VALUES (?, ?, ?, ?, ?, ?)",
            (number, article.title, article.url, article.language, article.text, article.html),
        )
        self._put_into_indexes(db, number, article)
        return int(number)

    def _revise(self, db: sqlite3.Connection, old: Item, article: Article, now: datetime) -> None:
        published = min(article.published, old.collected if article.published > now else now)
        if replace(article, published=published) == replace(old.article, published=published):
            return
        if db.execute("SELECT 1 FROM events WHERE item = ? AND action = 'rate'", (old.id,)).fetchone():
            return
        self._take_from_indexes(db, old)
        db.execute(
            "UPDATE items SET published = ?, author = ? WHERE id = ?", (published.timestamp(), article.author, old.id)
        )
        db.execute(
            "UPDATE articles SET title = ?, url = ?, language = ?, text = ?, html = ? WHERE id = ?",
            (article.title, article.url, article.language, article.text, article.html, old.id),
        )
        self._put_into_indexes(db, old.id, article)
        self.revised.add(old.id)

    def _put_into_indexes(self, db: sqlite3.Connection, number: int, article: Article) -> None:
        """The index of words, and that of near-duplicates."""
        title, text = _native.tokens(article.title), _native.tokens(article.text)
        db.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", (number, indexed(title), indexed(text)))
        mine = shingles([*title, *text])
        keys = bands(mine)
        marks = ", ".join("?" * len(keys))
        near = db.execute(f"SELECT DISTINCT item FROM bands WHERE hash IN ({marks}) ORDER BY item", keys).fetchall()
        first = next((item for (item,) in near if shared(_shingles(self._item(item)), mine) >= NEAR), number)
        if first == number:
            db.executemany("INSERT OR IGNORE INTO bands (hash, item) VALUES (?, ?)", [(key, number) for key in keys])
        db.execute("UPDATE items SET words = ?, first = ? WHERE id = ?", (len(title) + len(text), first, number))

    def _take_from_indexes(self, db: sqlite3.Connection, old: Item) -> None:
        title, text = _native.tokens(old.article.title), _native.tokens(old.article.text)
        db.execute(
            "INSERT INTO words (words, rowid, title, text) VALUES ('delete', ?, ?, ?)",
            (old.id, indexed(title), indexed(text)),
        )
        keys = bands(shingles([*title, *text]))
        db.executemany("DELETE FROM bands WHERE hash = ? AND item = ?", [(key, old.id) for key in keys])

    def item(self, id: int) -> Item:
        """An item; CallError if there is none."""
        with self._lock:
            return self._item(id)

    def _item(self, id: int) -> Item:
        row = self._db.execute(f"{_ITEM} WHERE items.id = ?", (id,)).fetchone()
        if row is None:
            raise CallError(f"there is no item {id}; it may have gone with its source")
        return _item_of(row)

    def items(self, ids: Sequence[int]) -> list[Item]:
        """Items in the order of their ids; those that are gone are left out."""
        found: dict[int, Item] = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ", ".join("?" * len(part))
            rows = self.rows(f"{_ITEM} WHERE items.id IN ({marks})", [int(id) for id in part])
            found |= {row[0]: _item_of(row) for row in rows}
        return [found[id] for id in ids if id in found]

    # What the reader said

    def record(
        self,
        item: int,
        action: str,
        rating: int | None,
        at: datetime,
        place: Place,
        predicted: tuple[float, float] | None = None,
        undoes: int | None = None,
    ) -> Event:
        """Add an event, and change the item by it."""
        if place not in get_args(Place):
            raise CallError(unknown("place", place, get_args(Place)))
        with self.changing() as db:
            self._item(item)
            values = (item, action, rating, at.timestamp(), place, *(predicted or (None, None)), undoes)
            (number,) = db.execute(
                """INSERT INTO events (item, action, rating, at, place, probability, expected, undoes)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id""",
                values,
            ).fetchone()
            if action in ("skip", "unskip"):
                db.execute("UPDATE items SET skipped = ? WHERE id = ?", (action == "skip", item))
            else:
                db.execute("UPDATE items SET rating = ? WHERE id = ?", (rating, item))
            probability, expected = predicted or (None, None)
        return Event(number, item, action, rating, at, place, probability, expected, undoes)

    def events(self, after: int = 0, limit: int | None = None, item: int | None = None) -> list[Event]:
        """Events in the order in which they happened, of all items or of one."""
        of_item, values = ("", ()) if item is None else ("AND item = ?", (item,))
        sql = f"""SELECT id, item, action, rating, at, place, probability, expected, undoes FROM events
            WHERE id > ? {of_item} ORDER BY id LIMIT ?"""
        rows = self.rows(sql, (after, *values, -1 if limit is None else limit))
        return [Event(number, about, act, level, _time(at), *rest) for number, about, act, level, at, *rest in rows]

    def last_event(self) -> Event | None:
        """The event that an undo would take back: the last that is no undo and was not undone."""
        sql = """SELECT max(id) FROM events WHERE undoes IS NULL
            AND id NOT IN (SELECT undoes FROM events WHERE undoes IS NOT NULL)"""
        ((number,),) = self.rows(sql)
        return self.events(number - 1, 1)[0] if number is not None else None

    def last_rating(self) -> Event | None:
        """The last event that gave a rating or took one away, also by an undo."""
        found = self.rows("SELECT id FROM events WHERE action IN ('rate', 'clear') ORDER BY id DESC LIMIT 1")
        return self.events(found[0][0] - 1, 1)[0] if found else None

    def ratings(self) -> dict[int, int]:
        """The rating of each rated item."""
        return dict(self.rows("SELECT id, rating FROM items WHERE rating IS NOT NULL ORDER BY id"))

    # Settings

    def setting(self, name: str, default: Any = None) -> Any:
        """A value that was kept by name (JSON)."""
        found = self.rows("SELECT value FROM settings WHERE name = ?", (name,))
        return json.loads(found[0][0]) if found else default

    def keep(self, name: str, value: Any) -> None:
        """Keep a value by name (JSON)."""
        with self.changing(ranks=False) as db:
            db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value, ensure_ascii=False)))


def _opened(path: str) -> sqlite3.Connection:
    """A connection that no other process shares, with a write-ahead log."""
    try:
        db = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
    except sqlite3.OperationalError as error:
        raise CallError(f"{path} can't be opened: {error}; name a file in a folder that is there") from None
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA cache_size = -32000")
        db.execute("BEGIN IMMEDIATE")
        db.execute("COMMIT")
        bring_up_to_date(db, path)
    except sqlite3.OperationalError as error:
        db.close()
        if "locked" in str(error):
            raise CallError(f"{path} is open in another plausible; close that one, or name another file") from None
        raise CallError(f"{path} can't be opened: {error}; name a file that can be written") from None
    except sqlite3.DatabaseError as error:
        db.close()
        raise DataError(f"{path} is no store of the reader, or is damaged: {error}; name another file") from None
    except BaseException:
        db.close()
        raise
    return db


def _item_of(row: tuple[Any, ...]) -> Item:
    number, source, first, rating, skipped, published, collected, author, key, url, title, html, text, language = row[
        :14
    ]
    article = Article(key, url, title, author, _time(published), html, text, language)
    return Item(number, source, article, _time(collected), first, rating, bool(skipped), row[14])


def _storable(article: Article) -> Article:
    """The article without half characters (lone surrogates), which no file can hold."""
    whole: dict[str, Any] = {
        name: value.encode(errors="replace").decode()
        for name, value in vars(article).items()
        if isinstance(value, str) and not value.isascii()
    }
    return replace(article, **whole)


def _shingles(item: Item) -> Any:
    return shingles([*_native.tokens(item.article.title), *_native.tokens(item.article.text)])


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
