"""Why this? The words and attributes for and against an item, and what a rating changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta

import numpy as np

from plausible.reader.levels import LIKED, REST, Cells, Levels, sigmoid
from plausible.reader.search import asked
from plausible.reader.settings import BOOST, Settings
from plausible.reader.standing import Marks, Standing
from plausible.reader.store import Item, Store
from plausible.reasons import explain

TOP = 50
"""The places among which the items are found that moved the most."""
SHOWN = 12
"""Words and items that moved the most."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What one word or attribute says.

    Attributes
    ----------
    name : str
        The word, or the value of the attribute.
    kind : "word", "source", "author", "length", "boost" or "start"
        "start" is what speaks before the first word: how often things interest you.
    weight : float
        For (above 0) or against (below 0), in nats; all reasons sum to the score.
    times : int
        How often the item holds it.
    liked, rest : int
        How often it was seen in what you liked, and in the rest of what you rated.
    """

    name: str
    kind: str
    weight: float
    times: int
    liked: int
    rest: int


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why an item has its score.

    Attributes
    ----------
    score : float
        Log-odds of interest in nats: the sum of the weights.
    probability, expected : float
    levels : tuple of float
        The probability of each rating, 1 to 5.
    reasons : list of Reason
        The strongest first, for or against.
    unknown : list of str
        Words that were never seen in what you rated.
    ratings, liked : int
        All ratings that stand behind the score, and those of them that are interesting.
    vetoed_by : list of str
        Veto words that the item holds.
    """

    score: float
    probability: float
    expected: float
    levels: tuple[float, ...]
    reasons: list[Reason]
    unknown: list[str]
    ratings: int
    liked: int
    vetoed_by: list[str]


@dataclass(frozen=True, slots=True)
class Moved:
    """An item whose place among all unread items changed."""

    item: int
    title: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Shift:
    """A word or attribute of the rated item, and what it said there for or against it before and after, in nats."""

    name: str
    kind: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Change:
    """What the last rating changed.

    Attributes
    ----------
    item : int
    title : str
    rating : int, optional
        The new rating; None if it was taken back.
    before : int, optional
        The old one.
    shifts : list of Shift
        The largest first.
    moved : list of Moved, optional
        The unread items that moved the most, of those near the top; None for a rating of an earlier session.
    """

    item: int
    title: str
    rating: int | None
    before: int | None
    shifts: list[Shift]
    moved: list[Moved] | None


@dataclass(frozen=True, slots=True)
class NowRanked:
    """Where a rated item would stand now among those published on the same day (UTC), had it not been rated."""

    rank: int
    of: int
    probability: float
    expected: float
    recommended: bool


def holds(store: Store, item: int, words: Sequence[str]) -> list[str]:
    """Which of the boost or veto words an item holds."""
    sql = "SELECT 1 FROM words WHERE words MATCH ? AND rowid = ?"
    return [word for word in words if store.rows(sql, (asked(f'"{word}"'), item))]


def reasons_for(
    levels: Levels, cells: Cells, titles: Mapping[str, str], boosts: Sequence[str], vetoed_by: Sequence[str]
) -> Reasons:
    """Why an item has its score.

    Parameters
    ----------
    cells : mapping
        Those of the item, as in `cells_of`.
    titles : mapping of str to str
        Of sources, by the address at which they are learned.
    """
    found = [Reason(word, "boost", BOOST, 1, 0, 0) for word in boosts]
    learned, unknown = 0.0, []
    if levels.tells:
        why = explain(levels.interest, cells, LIKED, REST)
        of_attributes = {variable.name for variable in levels.interest.variables}
        start = why.prior
        if not why.evidence:  # answered by how often items are liked
            odds = dict(zip(levels.interest.classes, levels.interest.log_prior(), strict=True))
            start = odds[LIKED] - odds[REST]
        found.append(Reason("", "start", start, 1, levels.liked, levels.ratings - levels.liked))
        for one in why.evidence:
            kind = one.column if one.column in of_attributes else "word"
            name = titles.get(one.term, one.term) if kind == "source" else one.term
            found.append(Reason(name, kind, one.weight, one.times, int(one.seen), int(one.seen_against)))
        learned = math.fsum(reason.weight for reason in found if reason.kind != "boost")
        unknown = [term for term in why.ignored if term.partition("=")[0] not in of_attributes]
    found.sort(key=lambda reason: -abs(reason.weight))
    return Reasons(
        score=math.fsum(reason.weight for reason in found),
        probability=float(sigmoid(learned)),
        expected=float(levels.link.expected(learned)),
        levels=levels.link.levels(learned),
        reasons=found,
        unknown=unknown,
        ratings=levels.ratings,
        liked=levels.liked,
        vetoed_by=list(vetoed_by),
    )


def shifts(levels: Levels, cells: Cells, before: int | None, after: int | None) -> list[Shift]:
    """What a rating changed in the weights of its item's words: with it, and with it taken away and put back."""
    now = _weights(levels, cells)
    _swap(levels, cells, after, before)
    try:
        then = _weights(levels, cells)
    finally:
        _swap(levels, cells, before, after)
    found = [
        Shift(name, kind, then.get((kind, name), 0.0), now.get((kind, name), 0.0))
        for kind, name in dict.fromkeys([*now, *then])
    ]
    found.sort(key=lambda shift: -abs(shift.after - shift.before))
    return [shift for shift in found if shift.before != shift.after][:SHOWN]


def _swap(levels: Levels, cells: Cells, gone: int | None, come: int | None) -> None:
    if gone is not None:
        levels.unlearn(cells, [gone])
    if come is not None:
        levels.learn(cells, [come])


def _weights(levels: Levels, cells: Cells) -> dict[tuple[str, str], float]:
    why = reasons_for(levels, cells, {}, (), ())
    return {(reason.kind, reason.name): reason.weight for reason in why.reasons if reason.kind != "start"}


def moves(before: Standing, after: Standing, marks: Marks, store: Store) -> list[Moved]:
    """The unread items near the top that moved the most."""
    old = before.upon(after.shelf)
    unread = np.flatnonzero(~marks.of(after.shelf.ids)[1])
    ranks = []
    for standing in (old, after):
        rank = np.empty(len(unread), np.int64)
        rank[np.lexsort((-after.shelf.published[unread], -standing.score[unread]))] = np.arange(1, len(unread) + 1)
        ranks.append(rank)
    was, now = ranks
    near = np.flatnonzero(np.minimum(was, now) <= TOP)
    most = near[np.argsort(-np.abs(now - was)[near], kind="stable")][:SHOWN]
    most = most[was[most] != now[most]]
    items = store.items(after.shelf.ids[unread[most]].tolist())
    return [
        Moved(item.id, item.article.title, int(was[at]), int(now[at])) for item, at in zip(items, most, strict=True)
    ]


def rank_now(item: Item, levels: Levels, cells: Cells, standing: Standing, settings: Settings) -> NowRanked:
    """Where an item would stand now among those of its day, had it not been rated."""
    score = 0.0
    at = standing.shelf.positions([item.id])
    boost = float(standing.boosts[at[0]]) if len(at) else 0.0
    if item.rating is None:
        score = float(standing.learned[at[0]]) if len(at) else 0.0
    elif levels.tells_without(item.rating):
        left_out = levels.interest.log_odds_left_out(cells, [levels.side(item.rating)])
        score = float(levels.evidence(left_out)[0])
    midnight = item.article.published.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    published = standing.shelf.published
    others = (published >= midnight.timestamp()) & (published < (midnight + timedelta(days=1)).timestamp())
    others &= standing.shelf.ids != item.id
    rank = 1 + int((standing.score[others] > score + boost).sum())
    of = 1 + int(others.sum())
    return NowRanked(
        rank, of, float(sigmoid(score)), float(levels.link.expected(score)), rank <= math.ceil(settings.top * of - 1e-9)
    )
