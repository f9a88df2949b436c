"""The figures of "Is it working?" are those of a plain count."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from scipy.stats import binomtest

from plausible.reader.settings import Settings
from plausible.reader.working import Share

from .conftest import NOON, news


def test_nothing_is_said_of_nothing(reader):
    working = reader.working()
    assert working.times is None
    assert working.calibration_error is None
    assert (working.days, working.curve, working.bins) == ([], [], [])
    assert working.recommended == Share(0, 0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(("interesting", "rated"), [(0, 5), (5, 5), (3, 10), (590, 1000)])
def test_the_interval_is_wilsons(interesting, rated):
    share = Share.of(interesting, rated)
    expected = binomtest(interesting, rated).proportion_ci(0.95, method="wilson")
    assert (share.low, share.high) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_figures_are_those_of_a_plain_count(reader):
    rng = random.Random(2)
    told = news(120)
    ids = reader.add(1, [one for one, _ in told], NOON)
    first = {}
    for number, item in enumerate(ids[:100]):
        reader.settle()
        place = rng.choice(["best", "best", "random", "below", "uncertain"])
        event = reader.rate(item, rng.randint(1, 5), place, NOON + timedelta(hours=number))
        first[item] = event
    again = rng.sample(ids[:100], 10)
    for item in again:  # the prediction of the first time counts, and the rating of the last
        reader.rate(item, 1, "below", NOON + timedelta(days=9))
    reader.clear(ids[50])
    reader.rate(ids[110], 5, "best", NOON + timedelta(days=10))
    reader.undo()
    del first[ids[50]]

    for threshold in (4, 2):
        reader.set(Settings(interesting_from=threshold))
        working = reader.working()
        rating = {item.id: item.rating for item in reader.store.items(ids)}
        good = {item: rating[item] >= threshold for item in first}

        def count(of, good=good):
            return (sum(good[item] for item in of), len(of))

        def pair(share):
            return (share.interesting, share.rated)

        by_place = {p: [i for i in first if first[i].place == p] for p in ("best", "random")}
        assert pair(working.recommended) == count(by_place["best"])
        assert pair(working.at_random) == count(by_place["random"])
        assert pair(working.everything) == count(list(first))
        assert working.times == pytest.approx(working.recommended.share / working.base.share)
        assert [day.day for day in working.days] == sorted({event.at.date() for event in first.values()})
        for day in working.days:
            of_day = [item for item in first if first[item].at.date() == day.day]
            assert pair(day.everything) == count(of_day)
            assert pair(day.recommended) == count([item for item in of_day if first[item].place == "best"])
        assert sum(step.everything.rated for step in working.curve) == len(first)
        predicted = {item: event.probability for item, event in first.items() if event.probability is not None}
        assert len(predicted) > 80
        assert sum(one.came_true.rated for one in working.bins) == len(predicted)
        assert sum(one.came_true.interesting for one in working.bins) == sum(good[item] for item in predicted)
        error = sum(abs(one.predicted - one.came_true.share) * one.came_true.rated for one in working.bins)
        assert working.calibration_error == pytest.approx(error / len(predicted))
        last = working.curve[-1]
        stretch = sorted(first, key=lambda item: first[item].id)[-last.everything.rated :]
        assert last.brier == pytest.approx(sum((predicted[item] - good[item]) ** 2 for item in stretch) / len(stretch))
        assert last.off == pytest.approx(
            sum(abs((first[item].expected or 0) - rating[item]) for item in stretch) / len(stretch)
        )


def test_with_enough_at_random_they_are_the_base(reader):
    told = news(60)
    ids = reader.add(1, [one for one, _ in told], NOON)
    for number, (item, (_, stars)) in enumerate(zip(ids, told, strict=True)):
        reader.rate(item, 5 if stars else 1, "random" if number < 30 else "best")
    working = reader.working()
    assert working.base == working.at_random
    assert working.base.rated == 30
