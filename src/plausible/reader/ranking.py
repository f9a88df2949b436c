"""Ranking: the items of a view, the most interesting first, and the line that parts them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from plausible.errors import CallError
from plausible.reader.levels import sigmoid
from plausible.reader.settings import Settings
from plausible.reader.standing import PLACES, Flags, Integers, Marks, Standing
from plausible.reader.store import Item, Place
from plausible.reader.views import View

PAGE = 30
"""Items on a page."""

BEST, UNCERTAIN, RANDOM, BELOW, VETOED, SEARCH = range(len(PLACES))


@dataclass(frozen=True, slots=True)
class Entry:
    """An item in its place.

    Attributes
    ----------
    item : Item
    rank : int
        From 1, among all items of the view by score.
    place : str
        Why it stands here: "best", "uncertain", "random", "below", "vetoed" or "search".
    score : float
        The length-normalised log-odds of interest in nats, boosts included; 0 where nothing was learned yet.
    probability : float
        Of interest, as learned, without boosts.
    expected : float
        The expected rating, 1 to 5, as learned.
    words, known : int
        Words and attributes of the item, and those of them that the model has seen.
    copies : tuple of int
        Near-duplicates that are folded into this one.
    """

    item: Item
    rank: int
    place: Place
    score: float
    probability: float
    expected: float
    known: int
    words: int
    copies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a view.

    Attributes
    ----------
    view : View
    entries : list of Entry
    total : int
        Items that are shown, near-duplicates folded: above + below.
    above, below : int
        Items above the line and below it.
    vetoed : int
        Items of the view, read or not, that stand below by a veto word.
    folded : int
        Near-duplicates that are folded into others.
    pages : int
        Of the side of the line that is shown.
    ratings : int
        The ratings that stand behind the scores: all that were learned from; `liked` of them are interesting.
    pending : int
        Events and new items that the scores do not know of yet; the ranking is being brought up to date.
    """

    view: View
    entries: list[Entry]
    total: int
    above: int
    below: int
    vetoed: int
    folded: int
    pages: int
    ratings: int
    liked: int
    pending: int


@dataclass(frozen=True)
class Lineup:
    """All items of a view, in order, on the two sides of the line.

    Attributes
    ----------
    standing : Standing
    above, below : array of int64
        Positions of items, in the order in which they are shown.
    members : array of int64
        The positions of all items of the view, near-duplicates too, read or not.
    rank : array of int64, shape (items,)
        From 1, among all items of the view by score; 0 where an item is not in it.
    place : array of int64, shape (items,)
        Positions in `PLACES`.
    vetoed, folded : int
    """

    standing: Standing
    above: Integers
    below: Integers
    members: Integers
    rank: Integers
    place: Integers
    vetoed: int
    folded: int

    def side(self, view: View) -> Integers:
        return self.below if view.below else self.above

    def page(self, view: View) -> Integers:
        """The positions on the page of a view."""
        side = self.side(view)
        pages = max(math.ceil(len(side) / PAGE), 1)
        if view.page > pages:
            raise CallError(f"page {view.page} is not there; the last one is {pages}")
        return side[(view.page - 1) * PAGE : view.page * PAGE]

    def neighbour(self, view: View, position: int | None, step: int) -> int | None:
        """The position that follows (step 1) or goes before (-1), or None.

        An item that has left the view is followed by the first that ranks behind it.
        """
        side = self.side(view)
        if not len(side):
            return None
        if position is None:
            return int(side[0]) if step > 0 else None
        at = np.flatnonzero(side == position)
        if len(at):
            next_one = int(at[0]) + step
            return int(side[next_one]) if 0 <= next_one < len(side) else None
        key = self.standing.shelf.published if view.order == "newest" else self.standing.score
        behind = int(np.count_nonzero(key[side] >= key[position]))
        if step < 0:
            return int(side[behind - 1]) if behind else None
        return int(side[behind if behind < len(side) else 0])


def line_up(
    standing: Standing,
    marks: Marks,
    view: View,
    settings: Settings,
    now: datetime,
    matches: Sequence[int] | None = None,
) -> Lineup:
    """The items of a view, near-duplicates folded, in order.

    The recommended are a share of all items of the view, read or not, so that reading on does not move the line: what
    was read while it was recommended has used up its place. A search and the list of what was rated have no line.

    Parameters
    ----------
    matches : sequence of int, optional
        The ids that a search found, the most relevant first.
    """
    shelf = standing.shelf
    inside = np.ones(len(shelf), bool)
    if view.span is not None:
        inside &= (shelf.published >= (now - view.span).timestamp()) & (shelf.published <= now.timestamp())
    if view.source is not None:
        inside &= shelf.source == view.source
    found = None if matches is None else shelf.positions(matches)
    if found is not None:
        matching = np.zeros(len(shelf), bool)
        matching[found] = True
        inside &= matching
    members = standing.order[inside[standing.order]]
    rating, read, place = marks.of(shelf.ids[members])
    stays = _unfolded(shelf.first[members], read)
    ones, rating, read, place = members[stays], rating[stays], read[stays], place[stays]
    rank = np.zeros(len(shelf), np.int64)
    rank[ones] = np.arange(1, len(ones) + 1)

    vetoed = standing.vetoed[ones]
    if matches is not None:
        place = np.full(len(ones), SEARCH)
        above = np.ones(len(ones), bool)
    else:
        place = _placed(standing, ones, read, place, vetoed, settings, now)
        above = np.ones(len(ones), bool) if view.show == "rated" else place <= RANDOM
    places = np.zeros(len(shelf), np.int64)
    places[ones] = place

    shown = ~read if view.show == "unread" else rating > 0 if view.show == "rated" else np.ones(len(ones), bool)
    if view.order == "newest":
        turn = np.argsort(-shelf.published[ones], kind="stable")
    elif view.order == "relevance" and found is not None:
        relevance = np.zeros(len(shelf), np.int64)
        relevance[found] = np.arange(len(found))
        turn = np.argsort(relevance[ones], kind="stable")
    else:
        turn = np.arange(len(ones))
    side = [ones[turn][(shown & here)[turn]] for here in (above, ~above)]
    return Lineup(standing, side[0], side[1], members, rank, places, int(vetoed.sum()), len(members) - len(ones))


def _unfolded(first: Integers, read: Flags) -> Flags:
    """Which items stay, of near-duplicates in the order of the ranking: one that was read, else the best."""
    stays = np.bincount(first, minlength=1)[first] == 1
    several = np.flatnonzero(~stays)
    several = several[np.argsort(~read[several], kind="stable")]
    _, kept = np.unique(first[several], return_index=True)
    stays[several[kept]] = True
    return np.asarray(stays)


def _placed(
    standing: Standing,
    ones: Integers,
    read: Flags,
    place: Integers,
    vetoed: Flags,
    settings: Settings,
    now: datetime,
) -> Integers:
    """The place of each item, which come by falling score."""
    day = now.astimezone(UTC).toordinal()
    slots = math.ceil(settings.top * len(ones) - 1e-9)
    # The shares of a few slots are fractions, which are rounded up on as many days as that is worth.
    today = _chance(np.array([day, -day]), 0)
    uncertain, at_random = int(settings.uncertain * slots + today[0]), int(settings.random * slots + today[1])
    if not standing.tells:
        uncertain, at_random = 0, slots
    used = np.bincount(place[read], minlength=len(PLACES))
    free = max(slots - int(used[: RANDOM + 1].sum()), 0)
    uncertain = min(max(uncertain - int(used[UNCERTAIN]), 0), free)
    at_random = min(max(at_random - int(used[RANDOM]), 0), free - uncertain)
    wanted = {BEST: free - uncertain - at_random, UNCERTAIN: uncertain, RANDOM: at_random}
    out = np.where(read & (place <= RANDOM), place, np.where(vetoed, VETOED, BELOW))
    left = np.flatnonzero(~read & ~vetoed)
    for where in (BEST, UNCERTAIN, RANDOM):
        here = left
        if where == UNCERTAIN:
            here = left[np.argsort(np.abs(standing.learned[ones[left]]), kind="stable")]
        if where == RANDOM:
            here = left[np.argsort(_chance(standing.shelf.ids[ones[left]], day), kind="stable")]
        out[here[: wanted[where]]] = where
        left = left[out[left] > RANDOM]
    return np.asarray(out)


def _chance(numbers: Integers, seed: int) -> Any:
    """A number from 0 to 1 for each, always the same: SplitMix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


def entries(lineup: Lineup, positions: Integers, items: Sequence[Item]) -> list[Entry]:
    """The items at these positions with their scores."""
    standing = lineup.standing
    firsts = standing.shelf.first
    out = []
    for position, item in zip(positions.tolist(), items, strict=True):
        same = lineup.members[firsts[lineup.members] == firsts[position]]
        learned = float(standing.learned[position])
        out.append(
            Entry(
                item=item,
                rank=int(lineup.rank[position]),
                place=PLACES[lineup.place[position] if lineup.rank[position] else SEARCH],
                score=float(standing.score[position]),
                probability=float(sigmoid(learned)),
                expected=float(standing.link.expected(learned)),
                known=int(standing.known[position]),
                words=int(standing.words[position]),
                copies=tuple(int(id) for id in standing.shelf.ids[same] if id != item.id),
            )
        )
    return out
