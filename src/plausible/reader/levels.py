"""Ratings as ordered levels: what is learned of them, and what is expected of an item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from plausible import calibration
from plausible.bins import interval_variable
from plausible.calibration import Calibration, LeftOut
from plausible.cells import encoded
from plausible.columns import Columns, Reading
from plausible.model import Model
from plausible.priors import Rules, Smoothing
from plausible.reader.store import Item
from plausible.schema import Variable

Floats = npt.NDArray[np.float64]
Cells = Mapping[str, Any]

LEVELS = (1, 2, 3, 4, 5)
LIKED, REST = "liked", "rest"
LENGTHS = interval_variable("length", (50.0, 100.0, 200.0, 400.0, 800.0, 1600.0))
READING = Reading(Columns(("title", "text"), "rating", (Variable("source"), Variable("author"), LENGTHS)))
OF_ATTRIBUTES = Smoothing(m=4.0, share=True)
"""What few ratings say of an attribute is drawn to what is usual of it."""
RULES = Rules(
    events="weighted",
    smoothing=Smoothing(a=0.03, share=True),
    by_column={variable.name: OF_ATTRIBUTES for variable in READING.columns.attributes},
)
"""Of the levels, as the model file has them."""
OF_INTEREST: dict[str, Any] = {"events": "rates", "smoothing": Smoothing(a=10.0)}
"""What differs for the two classes by which items are ranked (docs/reader.md tells how it was chosen)."""

UNFITTED = Calibration((1.0, 0.25), {}, 0.0, 0.0, 0.0, 1.0)
"""What the evidence of words and of attributes is worth before there are enough ratings to fit that; while they are few
it is held to this."""
USUAL = (1.5, 0.75, 0.0, -1.5)
HELD = 2.0
"""Imaginary ratings that hold each level to its usual distance from the next."""


@dataclass(frozen=True, slots=True)
class Link:
    """From evidence of interest to the probability of each level.

    ln odds(rating >= k) = evidence + offsets[k]: the proportional odds model (McCullagh 1980), in which the levels are
    intervals of one quantity. The offset of the level from which items are interesting is 0.

    Attributes
    ----------
    offsets : tuple of float
        Of the levels 2, 3, 4 and 5, falling.
    """

    offsets: tuple[float, ...] = USUAL

    def at_least(self, evidence: npt.ArrayLike) -> Floats:
        """P(rating >= k) for k = 2, 3, 4, 5, shape (..., 4).

        >>> Link().at_least(0.0).round(2).tolist()
        [0.82, 0.68, 0.5, 0.18]
        """
        return sigmoid(np.asarray(evidence, float)[..., None] + np.asarray(self.offsets))

    def expected(self, evidence: npt.ArrayLike) -> Floats:
        """The expected rating: 1, and the probability to reach each of the levels above."""
        return np.asarray(1 + self.at_least(evidence).sum(axis=-1))

    def levels(self, evidence: float) -> tuple[float, ...]:
        """The probability of each level, 1 to 5."""
        reached = [1.0, *self.at_least(evidence).tolist(), 0.0]
        return tuple(high - low for high, low in pairwise(reached))


def sigmoid(u: npt.ArrayLike) -> Floats:
    """1 / (1 + exp(-u)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(np.asarray(u, float) / 2)))


def usual_link(interesting_from: int) -> Link:
    """The link before there is a rating."""
    return Link(tuple(offset - USUAL[interesting_from - 2] for offset in USUAL))


def fitted_link(evidence: Floats, ratings: npt.NDArray[np.int64], interesting_from: int) -> Link:
    """The offsets of greatest likelihood, each lightly held to its usual distance from the next.

    Parameters
    ----------
    evidence : array, shape (items,)
        ln odds of interest of items that were rated, each as if it had not been.
    ratings : array, shape (items,)
    """
    offsets = {interesting_from: 0.0}
    for step, levels in ((-1, range(interesting_from - 1, 1, -1)), (1, range(interesting_from + 1, 6))):
        for level in levels:
            near = offsets[level - step]
            usual = near + USUAL[level - 2] - USUAL[level - step - 2]
            found = _offset(evidence, ratings >= level, usual)
            offsets[level] = max(found, near) if step < 0 else min(found, near)
    return Link(tuple(offsets[level] for level in LEVELS[1:]))


def _offset(evidence: Floats, reached: npt.NDArray[np.bool_], usual: float) -> float:
    """What is added to log-odds for the greatest likelihood, held by a normal prior; by Newton's method."""
    offset = usual
    for _ in range(50):
        p = sigmoid(evidence + offset)
        slope = float((reached - p).sum()) - HELD * (offset - usual)
        step = slope / (float((p * (1 - p)).sum()) + HELD)
        offset += min(max(step, -1.0), 1.0)
        if abs(step) < 1e-9:
            break
    return offset


class Levels:
    """What was learned from ratings: the counts of each level, and from them those of what is interesting and the rest.

    Parameters
    ----------
    interesting_from : int
        The lowest rating that is interesting.
    model : Model, optional
        Counts of levels that were learned before.

    Attributes
    ----------
    model : Model
        Its classes are the ratings, "1" to "5".
    interest : Model
        The same documents in two classes, "liked" and "rest".
    """

    def __init__(self, interesting_from: int = 4, model: Model | None = None) -> None:
        self.interesting_from = interesting_from
        self.model = model if model is not None else Model(rules=RULES, reading=READING)
        self.interest = self.model.regrouped({str(level): self.side(level) for level in LEVELS}).estimate(**OF_INTEREST)
        self.interest.calibration = UNFITTED
        self.link = usual_link(interesting_from)

    def side(self, rating: int) -> str:
        return LIKED if rating >= self.interesting_from else REST

    @property
    def ratings(self) -> int:
        """How many ratings were learned."""
        return int(self.model.documents)

    @property
    def liked(self) -> int:
        """How many of them are interesting."""
        return int(self.interest.counts.of(LIKED))

    @property
    def tells(self) -> bool:
        """Whether there are ratings of both kinds, so that items can be told apart."""
        return 0 < self.liked < self.ratings

    def tells_without(self, rating: int) -> bool:
        """Whether there are ratings of both kinds if one such rating is taken away."""
        liked = self.liked - (self.side(rating) == LIKED)
        return 0 < liked < self.ratings - 1

    def learn(self, cells: Cells, ratings: Sequence[int]) -> None:
        self.model.update(cells, [str(rating) for rating in ratings], threads=1)
        self.interest.update(cells, [self.side(rating) for rating in ratings], threads=1)

    def unlearn(self, cells: Cells, ratings: Sequence[int]) -> None:
        """Take ratings away exactly, as if they had never been."""
        self.model.forget(cells, [str(rating) for rating in ratings])
        self.interest.forget(cells, [self.side(rating) for rating in ratings])

    def take_in(self, model: Model) -> None:
        """Add the counts of levels that were learned elsewhere."""
        self.model.merge(model)
        self.interest.counts.merge(model.counts, {str(level): self.side(level) for level in LEVELS})

    def left_out(self, cells: Cells, ratings: Sequence[int]) -> Rated:
        """Scores of items that were learned, each as if it had not been; what `fit` needs."""
        left = self.interest.left_out_channels(cells, [self.side(rating) for rating in ratings])
        return Rated(left, np.array(ratings, np.int64))

    def fit(self, parts: Sequence[Rated]) -> tuple[Calibration, Link]:
        """What evidence is worth and where the levels lie, by scores of items as if they had not been rated."""
        left = reduce(LeftOut.then, (part.left for part in parts))
        ratings = np.concatenate([part.ratings for part in parts])
        fitted = calibration.fit(left, [LIKED, REST], with_bias=True, usual=UNFITTED.factors)
        fitted = fitted or UNFITTED
        words, attributes = fitted.factors
        fitted = fitted._replace(factors=(words, min(attributes, 1.0)))
        u = fitted.evidence(left.scores, left.lengths, [LIKED, REST])
        return fitted, fitted_link(u[:, 0] - u[:, 1], ratings, self.interesting_from)

    def evidence(self, log_posterior: Any) -> Floats:
        """ln odds of interest from what `Model.log_odds` gives."""
        both = np.asarray(log_posterior)
        return np.asarray(both[:, 0] - both[:, 1])


class Rated(NamedTuple):
    """Some rated items, each scored without itself."""

    left: LeftOut
    ratings: npt.NDArray[np.int64]


def cells_of(items: Sequence[Item], addresses: Mapping[int, str]) -> Cells:
    """What is learned from items: title and text, the address of the source, the author, and the length in words."""
    lengths = np.array([item.words for item in items], float)
    return {
        "text": [item.text for item in items],
        "source": [addresses[item.source] for item in items],
        "author": [item.article.author or None for item in items],
        "length": encoded(lengths, LENGTHS, len(items), lambda i: f"item {items[i].id}"),
    }
