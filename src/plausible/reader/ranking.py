"""Ranking: a page of a view, the most interesting first."""

from __future__ import annotations

from dataclasses import dataclass

from plausible.reader.store import Item, Place
from plausible.reader.views import View

PAGE = 30
"""Items on a page."""


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
        Of interest.
    expected : float
        The expected rating, 1 to 5.
    known, words : int
        Words and attributes of the item, and those that the model has seen.
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
        Items in the view, near-duplicates folded: above + below.
    above, below : int
        Items above the line and below it; `vetoed` of these are below by a veto word.
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
