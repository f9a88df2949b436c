"""The counts of a store: read, written, made anew from the events, and compared with them.

The store holds the counts after some event; those that follow are learned when it is opened. So the counts are those of
the events at any moment, and a rating writes one event.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from hashlib import sha256

from plausible.errors import ModelError
from plausible.files import model as model_file
from plausible.model import Model
from plausible.reader.levels import LEVELS, READING, RULES, Cells, Levels, cells_of
from plausible.reader.store import Event, Store
from plausible.wording import quantity

LATEST = 1000
"""The latest ratings, on which the levels are fitted."""
MOST_UNPACKED = 1 << 30
"""Bytes to which a model of somebody else's may unpack."""
AT_A_TIME = 200
"""Items that are learned at a time."""
LONGEST_TAIL = 200
"""Events after those that the counts of the store know of, beyond which the counts are written anew."""


def read_counts(store: Store, interesting_from: int) -> Levels:
    """What was learned from all events so far."""
    levels, event = _written(store, interesting_from)
    tail = store.events(event)
    touched = sorted({one.item for one in tail if one.action in ("rate", "clear")})
    before: dict[int, int] = {}
    for item in touched:
        earlier = [one for one in store.events(item=item) if one.id <= event]
        rating = state_after(earlier)[0]
        if rating is not None:
            before[item] = rating
    now = store.ratings()
    each_rated(store, before, levels.unlearn)
    each_rated(store, {item: now[item] for item in touched if item in now}, levels.learn)
    if len(tail) > LONGEST_TAIL:
        write_counts(store, levels.model)
    return levels


def write_counts(store: Store, model: Model) -> None:
    """Write the counts, which are those of all events so far."""
    data = model_file.to_bytes(_bare(model))
    with store.changing(ranks=False) as db:
        (event,) = db.execute("SELECT ifnull(max(id), 0) FROM events").fetchone()
        db.execute("INSERT OR REPLACE INTO learned VALUES (1, ?, ?)", (event, data))


def learned_anew(store: Store) -> Model:
    """The counts that the events, and what was learned elsewhere, come to; nothing else is read."""
    levels = Levels()
    for (data,) in store.rows("SELECT model FROM elsewhere ORDER BY digest"):
        levels.model.merge(model_file.from_bytes(data, "a model that was learned elsewhere"))
    each_rated(store, {item: rating for item, (rating, _) in _states(store.events()).items() if rating}, levels.learn)
    return levels.model


def compare_counts(store: Store) -> list[str]:
    """Where the counts and marks of a store differ from what its events come to; nothing, if all is well."""
    found = []
    states = _states(store.events())
    for item, rating, skipped in store.rows("SELECT id, rating, skipped FROM items ORDER BY id"):
        if (rating, bool(skipped)) != states.get(item, (None, False)):
            found.append(f"item {item} is marked {rating}, skipped {bool(skipped)}; its events say {states.get(item)}")
    counts, anew = read_counts(store, 4).model, learned_anew(store)
    if model_file.to_bytes(_bare(counts)) != model_file.to_bytes(_bare(anew)):
        found.append(
            f"the counts hold {quantity(counts.documents, 'rating')} and differ from those of the events, which are "
            f"{anew.documents:,}"
        )
    return found


def rebuild_counts(store: Store) -> int:
    """Make counts and marks anew from the events; how many ratings there are."""
    states = _states(store.events())
    with store.changing() as db:
        db.execute("UPDATE items SET rating = NULL, skipped = 0 WHERE rating NOT NULL OR skipped")
        rows = [(rating, skipped, item) for item, (rating, skipped) in states.items()]
        db.executemany("UPDATE items SET rating = ?, skipped = ? WHERE id = ?", rows)
    model = learned_anew(store)
    write_counts(store, model)
    return int(model.documents)


def merge_elsewhere(store: Store, levels: Levels, data: bytes) -> int:
    """Add the counts of another reader's model file to the store and to what is learned; its ratings.

    Raises
    ------
    ModelError
        If it is damaged, not a reader's, or was added before; then nothing changes.
    """
    model = model_file.from_bytes(data, "the model", MOST_UNPACKED)
    if model.reading != READING or not set(model.classes) <= {str(level) for level in LEVELS}:
        raise ModelError("the model was not learned by a reader from ratings of 1 to 5; `plausible merge` adds others")
    digest = sha256(model_file.to_bytes(_bare(model))).hexdigest()
    if store.rows("SELECT 1 FROM elsewhere WHERE digest = ?", (digest,)):
        raise ModelError("the model was added before; it is not counted twice")
    whole = levels.model.copy()
    whole.merge(model)
    with store.changing() as db:
        values = (digest, datetime.now(UTC).timestamp(), model_file.to_bytes(_bare(model)))
        db.execute("INSERT INTO elsewhere VALUES (?, ?, ?)", values)
        (event,) = db.execute("SELECT ifnull(max(id), 0) FROM events").fetchone()
        db.execute("INSERT OR REPLACE INTO learned VALUES (1, ?, ?)", (event, model_file.to_bytes(_bare(whole))))
    levels.take_in(model)
    return int(model.documents)


def rated(store: Store, most: int) -> list[int]:
    """The items that were rated last."""
    sql = """SELECT item FROM events JOIN items ON items.id = item WHERE action = 'rate' AND items.rating NOT NULL
        GROUP BY item ORDER BY max(events.id) DESC LIMIT ?"""
    return [item for (item,) in store.rows(sql, (most,))]


def state_after(events: Iterable[Event]) -> tuple[int | None, bool]:
    """The rating of an item, and whether it is skipped, after its events."""
    rating, skipped = None, False
    for event in events:
        if event.action in ("rate", "clear"):
            rating = event.rating
        else:
            skipped = event.action == "skip"
    return rating, skipped


def _states(events: Iterable[Event]) -> dict[int, tuple[int | None, bool]]:
    by_item: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_item[event.item].append(event)
    return {item: state_after(of_item) for item, of_item in by_item.items()}


def _written(store: Store, interesting_from: int) -> tuple[Levels, int]:
    """The counts as they were written, and the event that they go up to."""
    found = store.rows("SELECT event, model FROM learned")
    if not found:
        return Levels(interesting_from), 0
    event, data = found[0]
    return Levels(interesting_from, _bare(model_file.from_bytes(data, f"the counts of {store.path}"))), event


def each_rated(store: Store, ratings: dict[int, int], use: Callable[[Cells, list[int]], None]) -> None:
    """Hand rated items to `learn` or `unlearn`, some at a time."""
    addresses = store.addresses()
    wanted = list(ratings)
    for start in range(0, len(wanted), AT_A_TIME):
        items = store.items(wanted[start : start + AT_A_TIME])
        use(cells_of(items, addresses), [ratings[item.id] for item in items])


def _bare(model: Model) -> Model:
    """The counts alone, under the rules that all readers share."""
    return Model(model.tokens, RULES, READING, model.counts)
