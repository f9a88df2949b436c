"""Is it working? Interesting among recommended against among all; the learning curve; calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date

from plausible.reader.store import Event, Store
from plausible.reliability import calibration_error, reliability

STEPS = 12
"""Stretches of the learning curve, at the most."""
SHORTEST = 10
"""Ratings of a stretch, at the least."""
ENOUGH = 20
"""Ratings of items at random, with which others can be held against them."""
BINS = 10
Z = 1.959964
"""The normal quantile of a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some rated items were interesting; a 95 % interval (Wilson 1927)."""

    interesting: int
    rated: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, interesting: int, rated: int) -> Share:
        """The share and its interval; from 0 to 1 where nothing was rated.

        >>> share = Share.of(8, 10)
        >>> round(share.low, 3), round(share.high, 3)
        (0.49, 0.943)
        """
        if not rated:
            return cls(0, 0, 0.0, 0.0, 1.0)
        p, spread = interesting / rated, Z * Z / rated
        middle = (p + spread / 2) / (1 + spread)
        half = math.sqrt(p * (1 - p) * spread + spread * spread / 4) / (1 + spread)
        return cls(interesting, rated, p, max(middle - half, 0.0), min(middle + half, 1.0))


@dataclass(frozen=True, slots=True)
class Day:
    """The ratings of one day (UTC): of what was recommended as best, and of everything."""

    day: date
    recommended: Share
    everything: Share


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of the learning curve, of predictions made before each rating was learned.

    `ratings` is how many there were at its end; `brier` the mean squared error of the probability of interest, `off`
    the mean distance of the expected rating from the real one, None where nothing was predicted.
    """

    ratings: int
    recommended: Share
    everything: Share
    brier: float | None
    off: float | None


@dataclass(frozen=True, slots=True)
class Bin:
    """Ratings whose predicted probability lay in one interval: the mean prediction and what came true."""

    low: float
    high: float
    predicted: float
    came_true: Share


@dataclass(frozen=True, slots=True)
class Working:
    """The figures of the page "Is it working?".

    Attributes
    ----------
    recommended, everything, at_random : Share
        Of ratings of items recommended as best; of all; of those mixed in at random, an unbiased sample of the rest.
    base : Share
        What the recommended are held against: those at random where there are enough, else everything that was rated,
        most of which was recommended.
    times : float, optional
        recommended.share / base.share.
    days : list of Day
    curve : list of Step
    bins : list of Bin
    calibration_error : float, optional
        The mean distance of prediction and truth over the bins, by size.
    """

    recommended: Share
    everything: Share
    at_random: Share
    base: Share
    times: float | None
    days: list[Day]
    curve: list[Step]
    bins: list[Bin]
    calibration_error: float | None


@dataclass(frozen=True, slots=True)
class _Judged:
    """A rated item: what was predicted when it was first rated, and its rating now."""

    first: Event
    rating: int
    interesting: bool


def measured(store: Store, interesting_from: int) -> Working:
    """The figures of a store, from what was predicted before each rating was learned (Dawid 1984)."""
    judged = _judged(store, interesting_from)
    recommended, everything, at_random = _share(judged, "best"), _share(judged), _share(judged, "random")
    base = at_random if at_random.rated >= ENOUGH and at_random.interesting else everything
    predicted = [one for one in judged if one.first.probability is not None]
    confidence = [one.first.probability or 0.0 for one in predicted]
    right = [one.interesting for one in predicted]
    return Working(
        recommended=recommended,
        everything=everything,
        at_random=at_random,
        base=base,
        times=recommended.share / base.share if recommended.rated and base.interesting else None,
        days=[Day(day, _share(of_day, "best"), _share(of_day)) for day, of_day in _by_day(judged)],
        curve=_curve(judged),
        bins=[
            Bin(one.low, one.high, one.confidence, Share.of(round(one.accuracy * one.documents), one.documents))
            for one in (reliability(confidence, right, BINS) if predicted else [])
        ],
        calibration_error=calibration_error(confidence, right, BINS) if predicted else None,
    )


def _judged(store: Store, interesting_from: int) -> list[_Judged]:
    """Rated items in the order of their first rating that was not undone."""
    ratings = store.ratings()
    events = store.events()
    undone = {event.undoes for event in events}
    first: dict[int, Event] = {}
    for event in events:
        if event.action == "rate" and event.undoes is None and event.id not in undone and event.item in ratings:
            first.setdefault(event.item, event)
    return [
        _Judged(event, ratings[item], ratings[item] >= interesting_from)
        for item, event in sorted(first.items(), key=lambda pair: pair[1].id)
    ]


def _by_day(judged: Sequence[_Judged]) -> list[tuple[date, list[_Judged]]]:
    days: dict[date, list[_Judged]] = {}
    for one in judged:
        days.setdefault(one.first.at.astimezone(UTC).date(), []).append(one)
    return sorted(days.items())


def _share(judged: Sequence[_Judged], place: str | None = None) -> Share:
    here = [one.interesting for one in judged if place is None or one.first.place == place]
    return Share.of(sum(here), len(here))


def _curve(judged: Sequence[_Judged]) -> list[Step]:
    size = max(SHORTEST, math.ceil(len(judged) / STEPS))
    out = []
    for start in range(0, len(judged), size):
        stretch = judged[start : start + size]
        predicted = [one for one in stretch if one.first.probability is not None and one.first.expected is not None]
        brier = [((one.first.probability or 0.0) - one.interesting) ** 2 for one in predicted]
        off = [abs((one.first.expected or 0.0) - one.rating) for one in predicted]
        out.append(
            Step(
                start + len(stretch),
                _share(stretch, "best"),
                _share(stretch),
                sum(brier) / len(brier) if brier else None,
                sum(off) / len(off) if off else None,
            )
        )
    return out
