"""Export and import of everything, as JSON lines: one object a line, and under "is" what it is.

The first line is {"is": "export", "version": 1}. Sources, items, events and settings follow, in this order. An item
names its source by address, an event its item by the number that the item has in the file. Items have the columns that
`plausible classify` reads of them: title, text, source, author, length.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any, get_args

from plausible.errors import DataError, PlausibleError
from plausible.reader.items import Article, Source
from plausible.reader.settings import Settings
from plausible.reader.store import Place, Store

VERSION = 1
LONGEST_LINE = 32 << 20
AT_A_TIME = 200
SETTINGS = ("reader", "keys")
"""What is exported of the settings."""
SCHEMES = {"feed": ("http://", "https://"), "netnews": ("nntp://", "nntps://", "snews://", "news://")}
"""Sources that may come from a file of somebody else's. Those that are read from this machine's disk are not among
them: they come as if they had been removed, so that their items are there and no path is read."""
KINDS = (*SCHEMES, "mbox", "maildir", "folder")
ACTIONS = ("rate", "clear", "skip", "unskip")

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import brought: sources, items and ratings that are new."""

    sources: int
    items: int
    ratings: int


def write(store: Store, to: IO[bytes]) -> None:
    """Write everything; see the head of this module."""
    for line in _lines(store):
        to.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def _lines(store: Store) -> Iterator[Line]:
    yield {"is": "export", "version": VERSION, "at": datetime.now(UTC).isoformat()}
    addresses = {}
    for (number,) in store.rows("SELECT id FROM sources ORDER BY id"):
        source = store.source(number)
        addresses[number] = source.address
        yield {
            "is": "source",
            "kind": source.kind,
            "address": source.address,
            "title": source.title,
            "interval": source.interval,
        }
    last = 0
    while ids := [id for (id,) in store.rows("SELECT id FROM items WHERE id > ? LIMIT ?", (last, AT_A_TIME))]:
        last = ids[-1]
        for item in store.items(ids):
            article = item.article
            yield {
                "is": "item",
                "item": item.id,
                "source": addresses[item.source],
                "key": article.key,
                "url": article.url,
                "title": article.title,
                "author": article.author,
                "published": article.published.isoformat(),
                "collected": item.collected.isoformat(),
                "language": article.language,
                "length": item.words,
                "text": article.text,
                "html": article.html,
                "rating": item.rating,
                "skipped": item.skipped,
            }
    last = 0
    while events := store.events(last, AT_A_TIME):
        last = events[-1].id
        for event in events:
            yield {
                "is": "event",
                "event": event.id,
                "item": event.item,
                "action": event.action,
                "rating": event.rating,
                "at": event.at.isoformat(),
                "place": event.place,
                "probability": event.probability,
                "expected": event.expected,
                "undoes": event.undoes,
            }
    for name in SETTINGS:
        if (value := store.setting(name)) is not None:
            yield {"is": "setting", "name": name, "value": value}


def read(store: Store, data: IO[bytes]) -> Imported:
    """Import what `write` wrote; what is there already stays, as do the events of items that have some.

    The whole file is checked before anything is changed.

    Raises
    ------
    DataError
        If a line is damaged, too long, or no part of an export.
    """
    for _ in _checked(data):
        pass
    data.seek(0)
    taker = _Taker(store)
    waiting: list[Line] = []
    for line in _checked(data):
        if waiting and (line["is"] != waiting[0]["is"] or len(waiting) >= AT_A_TIME):
            taker.take(waiting)
            waiting = []
        waiting.append(line)
    taker.take(waiting)
    return Imported(taker.sources, taker.items, taker.ratings)


class _Taker:
    """Takes in lines, some of a kind at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.sources = self.items = self.ratings = 0
        self._source: dict[str, int] = {}
        self._item: dict[int, int] = {}
        self._event: dict[int, int] = {}
        self._busy: dict[int, bool] = {}  # whether an item had events before the import

    def take(self, lines: list[Line]) -> None:
        kind = lines[0]["is"] if lines else "export"
        if kind == "source":
            for line in lines:
                self._take_source(line)
        elif kind == "item":
            self._take_items(lines)
        elif kind == "event":
            for line in lines:
                self._take_event(line)
        elif kind == "setting":
            for line in lines:
                if self._store.setting(line["name"]) is None:
                    self._store.keep(line["name"], line["value"])

    def _take_source(self, line: Line) -> None:
        found = self._store.rows("SELECT id FROM sources WHERE address = ?", (line["address"],))
        if found:
            self._source[line["address"]] = found[0][0]
            return
        new = self._store.save(Source(None, line["kind"], line["address"], line["title"], line["interval"]))
        assert new.id is not None
        if line["kind"] not in SCHEMES:
            self._store.remove_source(new.id)
        self._source[line["address"]] = new.id
        self.sources += 1

    def _take_items(self, lines: list[Line]) -> None:
        for address in dict.fromkeys(line["source"] for line in lines):
            source = self._source[address]
            mine = [line for line in lines if line["source"] == address]
            for collected in dict.fromkeys(line["collected"] for line in mine):
                batch = [line for line in mine if line["collected"] == collected]
                new = self._store.add(source, map(_article, batch), datetime.fromisoformat(collected), revise=False)
                self.items += len(new)
            for line in mine:
                sql = "SELECT id FROM items WHERE source = ? AND key = ?"
                ((number,),) = self._store.rows(sql, (source, line["key"]))
                self._item[line["item"]] = number

    def _take_event(self, line: Line) -> None:
        item = self._item[line["item"]]
        if item not in self._busy:
            self._busy[item] = bool(self._store.events(limit=1, item=item))
        if self._busy[item]:
            return
        predicted = None if line["probability"] is None else (line["probability"], line["expected"])
        event = self._store.record(
            item,
            line["action"],
            line["rating"],
            datetime.fromisoformat(line["at"]),
            line["place"],
            predicted,
            self._event.get(line["undoes"]),
        )
        self._event[line["event"]] = event.id
        self.ratings += line["action"] == "rate" and line["undoes"] is None


def _article(line: Line) -> Article:
    return Article(
        key=line["key"],
        url=line["url"],
        title=line["title"],
        author=line["author"],
        published=datetime.fromisoformat(line["published"]),
        html=line["html"],
        text=line["text"],
        language=line["language"],
    )


def _checked(data: IO[bytes]) -> Iterator[Line]:
    """The lines of an export, each of the right form, in the right order, naming only what came before."""
    number = 0
    check = _Check()
    while raw := data.readline(LONGEST_LINE + 1):
        number += 1
        if len(raw) > LONGEST_LINE:
            raise DataError(f"line {number} is longer than {LONGEST_LINE >> 20} MB; it is no export of a reader")
        if not raw.strip():
            continue
        try:
            line = json.loads(raw)
            check.line(line)
        except PlausibleError as error:
            raise DataError(f"line {number}: {error}; nothing was imported") from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(f"line {number} is damaged: {what}; nothing was imported") from None
        yield line
    if not number:
        raise DataError("the file is empty; nothing was imported")


class _Check:
    """Checks lines one after the other."""

    def __init__(self) -> None:
        self._begun = False
        self._addresses: set[str] = set()
        self._items: set[int] = set()
        self._events: dict[int, int] = {}
        self._undone: set[int] = set()
        self._kinds: dict[str, Callable[[Line], None]] = {
            "source": self._source,
            "item": self._item,
            "event": self._event,
            "setting": self._setting,
        }

    def line(self, line: Any) -> None:
        if not isinstance(line, dict):
            raise ValueError("it is no JSON object")
        kind = line["is"]
        if not self._begun:
            if kind != "export" or not isinstance(line["version"], int):
                raise ValueError('the first line of an export is {"is": "export", "version": 1}')
            if line["version"] > VERSION:
                raise ValueError(f"version {line['version']} is newer than {VERSION}; upgrade plausible")
            self._begun = True
        elif kind in self._kinds:
            self._kinds[kind](line)
        else:
            raise ValueError(f"it is of an unknown kind {kind!r}")

    def _source(self, line: Line) -> None:
        _texts(line, "kind", "address", "title")
        if line["kind"] not in KINDS:
            raise ValueError(f"kind {line['kind']!r} is none of {', '.join(KINDS)}")
        starts = SCHEMES.get(line["kind"])
        if starts is not None and not line["address"].startswith(starts):
            raise ValueError(f"address {line['address']!r} is none of a {line['kind']}")
        if not _whole(line["interval"]) or not 60 <= line["interval"] <= 366 * 86400:
            raise ValueError(f"interval {line['interval']!r} is no number of seconds from 60 to a year")
        self._addresses.add(line["address"])

    def _item(self, line: Line) -> None:
        _texts(line, "source", "key", "title", "author", "text", "published", "collected")
        _texts(line, "url", "language", "html", may_lack=True)
        for name in ("published", "collected"):
            _aware(line[name])
        if not _whole(line["item"]) or line["item"] in self._items:
            raise ValueError(f"the number {line['item']!r} of an item is none, or is there twice")
        if line["source"] not in self._addresses:
            raise ValueError(f"source {line['source']!r} was not named before")
        self._items.add(line["item"])

    def _event(self, line: Line) -> None:
        _texts(line, "at")
        _aware(line["at"])
        if line["item"] not in self._items:
            raise ValueError(f"item {line['item']!r} was not named before")
        if not _whole(line["event"]) or line["event"] in self._events:
            raise ValueError(f"the number {line['event']!r} of an event is none, or is there twice")
        if line["action"] not in ACTIONS or line["place"] not in get_args(Place):
            raise ValueError(f"action {line['action']!r} or place {line['place']!r} is unknown")
        if line["action"] == "rate" and not (_whole(line["rating"]) and 1 <= line["rating"] <= 5):
            raise ValueError(f"rating {line['rating']!r} is none of 1 to 5")
        if line["action"] != "rate" and line["rating"] is not None:
            raise ValueError(f"{line['action']} has no rating")
        predicted = (line["probability"], line["expected"])
        if predicted != (None, None) and not (
            all(type(x) in (int, float) for x in predicted) and 0 <= predicted[0] <= 1 <= predicted[1] <= 5
        ):
            raise ValueError(f"what was predicted, {predicted!r}, is out of range")
        undone = line["undoes"]
        if undone is not None and (self._events.get(undone) != line["item"] or undone in self._undone):
            raise ValueError(f"event {undone!r} is none of this item that can be undone")
        self._events[line["event"]] = line["item"]
        self._undone.add(undone)

    def _setting(self, line: Line) -> None:
        _texts(line, "name")
        if line["name"] not in SETTINGS or not isinstance(line["value"], dict):
            raise ValueError(f"setting {line['name']!r} is none of {', '.join(SETTINGS)}")
        if line["name"] == "reader":
            Settings.of(line["value"])


def _texts(line: Mapping[str, Any], *names: str, may_lack: bool = False) -> None:
    for name in names:
        value = line[name]
        if value is None and may_lack:
            continue
        if not isinstance(value, str):
            raise ValueError(f"{name} is no text")
        value.encode()  # ValueError for half a character


def _aware(text: str) -> None:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r} names no zone")
    moment.timestamp()


def _whole(value: Any) -> bool:
    return type(value) is int and -(1 << 62) < value < 1 << 62
