"""The loop itself, on models small enough to see through."""

import time

import numpy as np
import pytest

from plausible.errors import CallError, ModelError, PlausibleWarning
from plausible.learning.em import em

HEADS = np.array([5, 9, 8, 4, 7])


def coins(p):
    """Do and Batzoglou 2008: two coins, either picked equally often, ten throws each time."""
    joint = p ** HEADS[:, None] * (1 - p) ** (10 - HEADS[:, None])
    share = joint / joint.sum(axis=1, keepdims=True)
    return np.array([HEADS @ share, (10 - HEADS) @ share]), float(np.log(joint.mean(axis=1)).sum())


def share_of_heads(counts):
    return counts[0] / counts.sum(axis=0)


def logit(p):
    return np.log(p / (1 - p))


def back(v):
    return 1 / (1 + np.exp(-v))


START = np.array([0.6, 0.5])


def test_two_coins():
    first = em([START], coins, share_of_heads, max_iterations=1)
    assert first.parameters.round(2).tolist() == [0.71, 0.58]  # Do and Batzoglou 2008, figure 1b, step 3
    tenth = em([START], coins, share_of_heads, max_iterations=10, tolerance=0)
    assert tenth.parameters.round(2).tolist() == [0.80, 0.52]  # the same figure, step 4
    assert (tenth.iterations, tenth.stopped, tenth.converged) == (10, "iterations", False)


def test_the_trace_never_falls_and_ends_at_the_objective():
    fitted = em([START], coins, share_of_heads)
    assert fitted.converged
    assert (np.diff(fitted.trace) >= 0).all()
    assert fitted.trace[-1] == fitted.objective == fitted.log_likelihood
    assert len(fitted.trace) == fitted.iterations + 1
    assert coins(fitted.parameters)[1] == fitted.log_likelihood
    np.testing.assert_array_equal(coins(fitted.parameters)[0], fitted.statistics)


def test_the_best_of_the_runs():
    starts = [np.array([0.5, 0.5]), START, np.array([0.5, 0.5])]  # the first can't tell the coins apart
    fitted = em(iter(starts), coins, share_of_heads)
    assert fitted.run == 2
    assert fitted.objective > em(starts[:1], coins, share_of_heads).objective


def test_leaps_are_fewer_and_never_end_lower():
    plain = em([START], coins, share_of_heads, tolerance=1e-13)
    leaping = em([START], coins, share_of_heads, tolerance=1e-13, accelerate=(logit, back))
    assert leaping.iterations < plain.iterations
    assert leaping.objective >= plain.objective - 1e-12
    assert (np.diff(leaping.trace) >= 0).all()


def test_wild_leaps_are_taken_back():
    lost = em([START], coins, share_of_heads, accelerate=(logit, lambda v: np.array([0.01, 0.99])))
    assert (np.diff(lost.trace) >= 0).all()
    assert lost.objective == pytest.approx(em([START], coins, share_of_heads).objective, abs=1e-6)


def test_a_log_prior_makes_the_mode():
    def mode(counts):
        return (counts[0] + 3) / (counts.sum(axis=0) + 6)

    def log_prior(p):
        return float(3 * (np.log(p) + np.log(1 - p)).sum())

    fitted = em([START], coins, mode, log_prior=log_prior)
    assert fitted.converged
    assert fitted.objective == pytest.approx(fitted.log_likelihood + log_prior(fitted.parameters))


def test_a_fall_is_said_and_what_came_before_kept():
    with pytest.warns(PlausibleWarning, match="iteration 1 took the objective from .* down to .* don't fit"):
        fitted = em([START], coins, lambda _: np.array([0.01, 0.02]))
    assert fitted.stopped == "fell"
    assert fitted.parameters is START


def test_ctrl_c_keeps_the_best():
    calls = []

    def interrupted(p):
        calls.append(p)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return coins(p)

    fitted = em([START], interrupted, share_of_heads)
    assert (fitted.stopped, fitted.iterations) == ("interrupted", 2)
    assert coins(fitted.parameters)[1] == fitted.objective


def test_ctrl_c_before_there_is_anything_goes_on():
    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        em([START], interrupted, share_of_heads)


def test_ctrl_c_in_a_later_start_keeps_the_earlier_run():
    def starts():
        yield START
        raise KeyboardInterrupt

    assert em(starts(), coins, share_of_heads).converged


def test_time_is_up():
    def slow(p):
        time.sleep(0.02)
        return coins(p)

    fitted = em([START, START], slow, share_of_heads, tolerance=0, max_seconds=0.05)
    assert fitted.stopped == "time"
    assert fitted.run == 1


def test_progress_and_mending():
    seen = []
    mends = iter([START])

    def mend(p, _):
        return next(mends, None) if p[0] == p[1] else None

    fitted = em([np.array([0.5, 0.5])], coins, share_of_heads, progress=seen.append, mend=mend)
    assert fitted.parameters.round(1).tolist() == [0.8, 0.5]
    assert [step.iteration for step in seen] == list(range(1, fitted.iterations + 1))
    assert seen[-1].objective == fitted.objective


@pytest.mark.parametrize(
    "options", [{"tolerance": -1}, {"max_iterations": -1}, {"max_seconds": 0}, {"tolerance": float("nan")}]
)
def test_options_out_of_range(options):
    with pytest.raises(CallError, match="must be at least 0"):
        em([START], coins, share_of_heads, **options)


def test_no_start_and_no_number():
    with pytest.raises(CallError, match="no start"):
        em([], coins, share_of_heads)
    with pytest.raises(ModelError, match="not a number"):
        em([START], lambda p: (p, float("nan")), share_of_heads)
