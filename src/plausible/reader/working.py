"""Is it working? Interesting among recommended against among all; the learning curve; calibration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some rated items were interesting; a 95 % interval (Wilson 1927)."""

    interesting: int
    rated: int
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Day:
    """The ratings of one day (UTC): of what was recommended as best, and of everything."""

    day: date
    recommended: Share
    everything: Share


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of the learning curve, of predictions made before each rating was learned.

    `brier` is the mean squared error of the probability of interest, `off` the mean distance of the expected rating
    from the real one.
    """

    ratings: int
    recommended: Share
    everything: Share
    brier: float
    off: float


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
    times : float, optional
        recommended.share / everything.share.
    days : list of Day
    curve : list of Step
    bins : list of Bin
    calibration_error : float, optional
        The mean distance of prediction and truth over the bins, by size.
    """

    recommended: Share
    everything: Share
    at_random: Share
    times: float | None
    days: list[Day]
    curve: list[Step]
    bins: list[Bin]
    calibration_error: float | None
