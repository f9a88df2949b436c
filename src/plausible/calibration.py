"""Probabilities people can believe: from scores to probabilities that are right as often as they say.

Naive Bayes counts dependent evidence as if it were independent, so its posterior is near 0 or 1. The scores are mended
by a link with few parameters, fitted on exact leave-one-out scores: no data is held out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from plausible import _native

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]

FEWEST = 10
"""Documents below which nothing is fitted."""
LARGEST = 4_000_000
"""Scores that the fit holds at a time; where there are more, fewer documents are used."""
BIAS_PENALTY = 0.02
HELD = 10.0
"""What it costs in all, in the Brier scores of documents, to take a factor from what is usual of it to 0."""
HELD_POWER = 30.0
"""Of the same cost for a power of 1."""


class LeftOut(NamedTuple):
    """What a calibration is fitted on: documents that were learned, each scored as if it had not been.

    Attributes
    ----------
    scores : array, shape (documents, channels, classes)
        In nats.
    lengths : array, shape (documents,)
        In tokens.
    truth : array, shape (documents,)
        The position of each document's class.
    """

    scores: Any
    lengths: Any
    truth: Any

    def channels(self, chosen: Sequence[int]) -> LeftOut:
        return self._replace(scores=self.scores[:, chosen])

    def then(self, others: LeftOut) -> LeftOut:
        """These documents and others."""
        import numpy as np

        return LeftOut(*map(np.concatenate, zip(self, others, strict=True)))


class Calibration(NamedTuple):
    """The link from scores to probabilities.

    u_c = (sum over channels of factor * score_c + bias_c) (length / mean length)^-power, and
    p_c = (1 - tail) softmax(u)_c + tail softmax(flat u)_c.

    Attributes
    ----------
    factors : tuple of float
        One for each channel of scores.
    bias : mapping of str to float
        One for each class; empty where the scores hold a prior already.
    power, mean_log_length : float
        Longer documents repeat themselves more; lengths are in tokens.
    tail, flat : float
        A share of documents whose label says little, so that a few wrong labels don't set the temperature.
    """

    factors: tuple[float, ...]
    bias: Mapping[str, float]
    power: float
    mean_log_length: float
    tail: float
    flat: float

    def evidence(self, scores: Floats, lengths: Integers, classes: list[str]) -> Floats:
        """u of each document and class, from scores of shape (documents, channels, classes) and lengths in tokens."""
        import numpy as np

        bias = np.array([self.bias.get(name, 0.0) for name in classes])
        away = -self.power * (np.log(np.maximum(lengths, 1)) - self.mean_log_length)
        u = np.einsum("dkc,k->dc", scores, self.factors) + bias
        return np.asarray(u * np.exp(np.clip(away, -5, 5))[:, None])

    def probabilities(self, scores: Floats, lengths: Integers, classes: list[str]) -> Floats:
        """P(class) of each document, from the same."""
        u = self.evidence(scores, lengths, classes)
        return (1 - self.tail) * _softmax(u) + self.tail * _softmax(self.flat * u)


def uncalibrated(channels: int) -> Calibration:
    """Probabilities as they follow from the scores themselves."""
    return Calibration((1.0,) * channels, {}, 0.0, 0.0, 0.0, 1.0)


def most_documents(classes: int) -> int:
    """How many documents the fit holds at a time."""
    return LARGEST // (4 * classes) + FEWEST


def fit(
    left: LeftOut,
    classes: list[str],
    *,
    with_bias: bool,
    weights: Sequence[float] | None = None,
    usual: Sequence[float] | None = None,
) -> Calibration | None:
    """The calibration with the least Brier score (Brier 1950) on left-out scores, lightly held to its usual values.

    With few documents the least Brier score may be had by chance with factors of 0, which rank documents by nothing;
    where that matters, `usual` tells what to hold them to.

    Parameters
    ----------
    left : LeftOut
    classes : list of str
    with_bias : bool
        Whether each class gets a bias of its own; without one the most probable class stays what it is.
    weights : array, shape (documents,), optional
        How often each document occurs.
    usual : sequence of float, optional
        The usual factor of each channel.

    Returns
    -------
    Calibration or None
        None where there are too few documents, or the log-loss does not fall by more than its standard error.
    """
    import numpy as np

    possible = np.isfinite(left.scores).all(axis=(1, 2))
    scores, lengths, truth = (column[possible] for column in left)
    times = np.ones(len(possible)) if weights is None else np.asarray(weights, float)
    times = times[possible]
    _, channels, width = scores.shape
    if times.sum() < FEWEST or width < 2:
        return None
    centred = scores - scores.mean(axis=2, keepdims=True)
    spread = np.array([_usual(channel, times) for channel in np.sqrt((centred**2).mean(2)).T])
    log_length = np.log(np.maximum(lengths, 1))
    mean = float(np.average(log_length, weights=times))
    documents = float(times.sum())
    # Factors, power, log-odds of tail and of flatness: where each starts, what it is held to and how fast, its bounds.
    # No channel counts against its own evidence: where classes are balanced in a column, taking a row away makes its
    # class look rarer than the others, and a factor below 0 would read the label off that.
    if usual is None:
        numbers = [(2.0 / channels, 0.0, 0.011 / documents, 0.0, 300.0)] * channels
    else:
        numbers = [(t, t, HELD / max(t, 1e-3) ** 2 / documents, 0.0, 300.0) for t in (spread * usual).tolist()]
    of_power = (1.0 if usual is None else HELD_POWER) / documents
    numbers += [(0, 0, of_power, -0.5, 1.5), (-4, -4, 0.1 / documents, -9, 0), (-1, -1, 0.1 / documents, -6, 3)]
    if with_bias:
        numbers += [(0, 0, BIAS_PENALTY / width, -5, 5)] * width
    best = _native.fit_link(
        centred / spread[:, None], log_length - mean, truth, times / documents, *map(list, zip(*numbers, strict=True))
    )
    found = Calibration(
        tuple((np.array(best[:channels]) / spread).tolist()),
        dict(zip(classes, best[channels + 3 :], strict=True)) if with_bias else {},
        best[channels],
        mean,
        _logistic(best[channels + 1]),
        _logistic(best[channels + 2]),
    )
    if channels == 1 and not with_bias:
        plain = np.take_along_axis(_log_softmax(scores[:, 0]), truth[:, None], 1)[:, 0]
        gain = np.log(found.probabilities(scores, lengths, classes)[np.arange(len(truth)), truth]) - plain
        gained = np.average(gain, weights=times)
        if gained <= np.sqrt(np.average((gain - gained) ** 2, weights=times) / times.sum()):
            return None
    return found


def _usual(spreads: Floats, times: Floats) -> float:
    """The median of those that are not 0: scores grow with length, and a few long documents would set any mean."""
    import numpy as np

    order = np.argsort(spreads)
    order = order[spreads[order] > 0]
    before = np.cumsum(times[order])
    return float(spreads[order[np.searchsorted(before, before[-1] / 2)]]) if len(order) else 1.0


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _softmax(u: Floats) -> Floats:
    import numpy as np

    p: Floats = np.exp(u - u.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return p


def _log_softmax(u: Floats) -> Floats:
    import numpy as np

    away = u - u.max(1, keepdims=True)
    return np.asarray(away - np.log(np.exp(away).sum(1, keepdims=True)))


def brier_score(probabilities: Floats, truth: Integers, weights: Sequence[float] | None = None) -> float:
    """The mean squared distance between probabilities and what was true (Brier 1950), from 0 to 2; rows may weigh.

    Examples
    --------
    >>> import numpy as np
    >>> brier_score(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0, 0]))
    0.25
    >>> brier_score(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0, 0]), [3, 1])
    0.125
    """
    import numpy as np

    error = probabilities.copy()
    error[np.arange(len(truth)), truth] -= 1
    return float(np.average((error * error).sum(1), weights=weights))
