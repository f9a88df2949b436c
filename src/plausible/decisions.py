"""From probabilities to an answer: least expected cost, or none where nothing is sure enough."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plausible.errors import CallError, unknown
from plausible.scores import Scores


@dataclass(frozen=True)
class Decision:
    """How to answer.

    Parameters
    ----------
    costs : mapping of (str, str) to float
        What it costs when the first class is true and the second is answered. A mistake that is not named costs 1, a
        right answer nothing.
    unsure_below : float
        Give no answer where the probability of the answer is below this.

    Examples
    --------
    >>> Decision(costs=dict([cost("ham:spam=20")])).costs
    {('ham', 'spam'): 20.0}
    """

    costs: Mapping[tuple[str, str], float] = field(default_factory=dict)
    unsure_below: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.unsure_below <= 1:
            raise CallError(f"unsure_below must lie between 0 and 1, not {self.unsure_below}")

    def choose(self, scores: Scores) -> Sequence[int]:
        """For each document the position of the answer among the classes; -1 for none."""
        chosen: list[int] = memoryview(scores.best).tolist()
        if self.costs:
            chosen = self._least_cost(scores)
        if self.unsure_below:
            rows = memoryview(scores.log_posterior)
            least = math.log(self.unsure_below)
            chosen = [-1 if rows[i, k] < least else k for i, k in enumerate(chosen)]
        return chosen

    def _least_cost(self, scores: Scores) -> list[int]:
        import numpy as np

        place = {name: k for k, name in enumerate(scores.classes)}
        costs = 1.0 - np.eye(len(place))
        for (truth, answer), value in self.costs.items():
            for name in (truth, answer):
                if name not in place:
                    raise CallError(unknown("class in a cost", name, place))
            costs[place[truth], place[answer]] = value
        expected = np.exp(np.asarray(scores.log_posterior)) @ costs
        chosen: list[int] = expected.argmin(1).tolist()
        return chosen


MOST_PROBABLE = Decision()


def cost(text: str) -> tuple[tuple[str, str], float]:
    """A cost written as TRUE:ANSWER=X.

    >>> cost("ham:spam=20")
    (('ham', 'spam'), 20.0)
    """
    classes, _, number = text.rpartition("=")
    truth, _, answer = classes.partition(":")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not truth or not answer or not (value >= 0 and math.isfinite(value)):
        raise CallError(f"cost {text!r}: write TRUE:ANSWER=X, such as ham:spam=20")
    return (truth, answer), value
