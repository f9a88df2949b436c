"""Expectation maximisation: the one loop for everything hidden.

    h ← argmax over h' of Q(h' | h) = E[ln P(Y | h') | h, X]        Mitchell 1997, §6.12.2

The E step turns parameters into expected statistics and a log-likelihood; the M step turns statistics back
into parameters. What those are is the model's affair: means, tables of a network, words of a class.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from plausible.errors import CallError, ModelError, PlausibleWarning

Parameters = TypeVar("Parameters")
Statistics = TypeVar("Statistics")
Vector = NDArray[np.float64]

Stopped = Literal["converged", "iterations", "time", "interrupted", "fell"]

_ROUNDING = 1e-9  # of the objective: to fall by less is not to fall


class Step(NamedTuple):
    """What a progress callback is told of each iteration."""

    run: int
    iteration: int
    objective: float
    gain: float


@dataclass(frozen=True, slots=True)
class Fitted(Generic[Parameters, Statistics]):
    """Where the best run ended.

    `objective` is the log-likelihood, plus the log prior where there is one. `trace` holds it from the run's
    start, or from where the model was last mended, and never falls. `run` counts from 1.
    `statistics` are what the E step says of `parameters`.
    """

    parameters: Parameters
    statistics: Statistics
    log_likelihood: float
    objective: float
    iterations: int
    stopped: Stopped
    trace: Vector
    run: int

    @property
    def converged(self) -> bool:
        return self.stopped == "converged"


class Point(NamedTuple, Generic[Parameters, Statistics]):
    """Parameters, and what the E step says of them."""

    parameters: Parameters
    statistics: Statistics
    log_likelihood: float
    objective: float


Look = Callable[[Parameters], Point[Parameters, Statistics]]
Path = Callable[
    [Point[Parameters, Statistics], Look[Parameters, Statistics]], Iterator[tuple[Point[Parameters, Statistics], bool]]
]


def em(
    starts: Iterable[Parameters],
    e_step: Callable[[Parameters], tuple[Statistics, float]],
    m_step: Callable[[Statistics], Parameters],
    *,
    log_prior: Callable[[Parameters], float] = lambda _: 0.0,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
    max_seconds: float = math.inf,
    progress: Callable[[Step], None] | None = None,
    mend: Callable[[Parameters, Statistics], Parameters | None] | None = None,
    accelerate: tuple[Callable[[Parameters], Vector], Callable[[Vector], Parameters]] | None = None,
    path: Path[Parameters, Statistics] | None = None,
) -> Fitted[Parameters, Statistics]:
    """Climb from each of `starts`, and keep the highest.

    Parameters
    ----------
    starts : iterable of parameters
        One run a start. A generator makes each start when its turn comes.
    e_step : parameters → (statistics, log-likelihood)
    m_step : statistics → parameters
    log_prior : parameters → float
        Added to the log-likelihood. The M step must give the mode of the two together.
    tolerance : float
        A run has converged when a step gains less than this share of the objective.
    max_iterations : int
        The most M steps of a run.
    max_seconds : float
        For all runs together. Ctrl-C does the same: the best so far is the answer.
    progress : Step → None
    mend : (parameters, statistics) → parameters, or None where all is well
        Asked after each E step; what it gives is where the run goes on from, higher or lower.
    accelerate : (parameters → vector, vector → parameters)
        Leap ahead in the space of those vectors: SQUAREM, Varadhan and Roland 2008.
    path : (point, parameters → point) → iterator of (point, whether it can show convergence)
        Another way up in place of E and M steps, such as a gradient's.

    Examples
    --------
    Two coins, either of them picked equally often; heads in 10 throws (Do and Batzoglou 2008, figure 1):

    >>> heads = np.array([5, 9, 8, 4, 7])
    >>> def expected(p):
    ...     joint = p ** heads[:, None] * (1 - p) ** (10 - heads[:, None])
    ...     share = joint / joint.sum(axis=1, keepdims=True)
    ...     return np.array([heads @ share, (10 - heads) @ share]), float(np.log(joint.mean(axis=1)).sum())
    >>> fitted = em([np.array([0.6, 0.5])], expected, lambda counts: counts[0] / counts.sum(axis=0))
    >>> fitted.parameters.round(2).tolist(), fitted.stopped
    ([0.8, 0.52], 'converged')
    """
    if not (tolerance >= 0 and max_iterations >= 0 and max_seconds > 0):
        raise CallError(
            f"tolerance ({tolerance}) and max_iterations ({max_iterations}) must be at least 0, "
            f"and max_seconds ({max_seconds}) above 0"
        )
    deadline = time.monotonic() + max_seconds

    def look(parameters: Parameters) -> Point[Parameters, Statistics]:
        statistics, log_likelihood = e_step(parameters)
        objective = log_likelihood + log_prior(parameters)
        return Point(parameters, statistics, log_likelihood, objective)

    def way(start: Point[Parameters, Statistics]) -> Iterator[tuple[Point[Parameters, Statistics], bool]]:
        if path:
            return path(start, look)
        return _leaps(start, look, m_step, *accelerate) if accelerate else _steps(start, look, m_step)

    def climb(run: int, start: Parameters) -> Fitted[Parameters, Statistics]:
        here = look(start)
        if math.isnan(here.objective):
            raise ModelError("at the start the objective is not a number: give another start")
        trace, ahead, iteration = [here.objective], way(here), 0
        stopped: Stopped = "iterations"
        try:
            while iteration < max_iterations:
                mended = mend(here.parameters, here.statistics) if mend else None
                if mended is not None:
                    here = look(mended)
                    trace, ahead = [here.objective], way(here)
                there, plain = next(ahead)
                gain = there.objective - here.objective if here.objective > -math.inf else math.inf
                slack = _ROUNDING * (abs(there.objective) + 1)
                if not gain >= -slack:
                    stopped = "fell"
                    _say_fall(here.objective, there.objective, iteration + 1)
                    break
                if gain >= 0:
                    here = there
                iteration += 1
                trace.append(here.objective)
                if progress:
                    progress(Step(run, iteration, here.objective, gain))
                if plain and gain <= tolerance * (abs(here.objective) + 1):
                    stopped = "converged"
                    break
                if time.monotonic() >= deadline:
                    stopped = "time"
                    break
        except KeyboardInterrupt:
            stopped = "interrupted"
        return Fitted(
            here.parameters,
            here.statistics,
            here.log_likelihood,
            here.objective,
            iteration,
            stopped,
            np.array(trace),
            run,
        )

    best: Fitted[Parameters, Statistics] | None = None
    try:
        for run, start in enumerate(starts, 1):
            fitted = climb(run, start)
            if best is None or fitted.objective > best.objective:
                best = fitted
            if fitted.stopped == "interrupted" or time.monotonic() >= deadline:
                break
    except KeyboardInterrupt:
        if best is None:
            raise
    if best is None:
        raise CallError("there is no start to climb from: give at least one")
    return best


def _steps(
    here: Point[Parameters, Statistics],
    look: Look[Parameters, Statistics],
    m_step: Callable[[Statistics], Parameters],
) -> Iterator[tuple[Point[Parameters, Statistics], bool]]:
    while True:
        here = look(m_step(here.statistics))
        yield here, True


def _leaps(
    here: Point[Parameters, Statistics],
    look: Look[Parameters, Statistics],
    m_step: Callable[[Statistics], Parameters],
    to_vector: Callable[[Parameters], Vector],
    to_parameters: Callable[[Vector], Parameters],
) -> Iterator[tuple[Point[Parameters, Statistics], bool]]:
    """A step, then a leap; where it lands lower, a second step instead. Only a step can show convergence.

    θ' = θ₀ − 2αr + α²v, r = θ₁ − θ₀, v = (θ₂ − θ₁) − r, α = −‖r‖/‖v‖    Varadhan and Roland 2008, scheme S3
    """
    longest = 1.0
    while True:
        one = look(m_step(here.statistics))
        yield one, True
        second = m_step(one.statistics)
        theta0, theta1, theta2 = to_vector(here.parameters), to_vector(one.parameters), to_vector(second)
        r = theta1 - theta0
        v = (theta2 - theta1) - r
        bend = float(np.linalg.norm(v))
        length = min(float(np.linalg.norm(r)) / bend, longest) if bend > 0 else 1.0
        landed = look(to_parameters(theta0 + 2 * length * r + length**2 * v)) if length > 1 else None
        here = landed if landed is not None and landed.objective >= one.objective else look(second)
        yield here, landed is not here
        longest = longest * 4 if landed is None or landed is here else max(longest / 4, 1.5)


def _say_fall(before: float, after: float, iteration: int) -> None:
    warnings.warn(
        f"iteration {iteration} took the objective from {before:.10g} down to {after:.10g}: the E and the "
        f"M step don't fit together, or rounding has the upper hand; what came before is kept",
        PlausibleWarning,
        stacklevel=4,
    )
