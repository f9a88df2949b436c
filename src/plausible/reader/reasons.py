"""Why this? The words and attributes for and against an item, and what a rating changed."""

from __future__ import annotations

from dataclasses import dataclass


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
    """An item whose place in today's unread changed."""

    item: int
    title: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Shift:
    """A word or attribute whose weight changed, in nats for one occurrence."""

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
    moved : list of Moved
        The items that moved the most, of those that were not rated.
    """

    item: int
    title: str
    rating: int | None
    before: int | None
    shifts: list[Shift]
    moved: list[Moved]


@dataclass(frozen=True, slots=True)
class NowRanked:
    """Where a rated item would stand now among those published on the same day (UTC), had it not been rated."""

    rank: int
    of: int
    probability: float
    expected: float
    recommended: bool
