"""Reading ahead changes nothing but the time it takes."""

from __future__ import annotations

import threading

import pytest

from plausible.learning.ahead import ahead


def test_items_come_in_order_and_errors_in_their_place():
    def items():
        yield from range(5)
        raise ZeroDivisionError("at the sixth")

    seen = []
    with pytest.raises(ZeroDivisionError, match="sixth"):  # noqa: PT012 - items come before the error
        for item in ahead(items()):
            seen.append(item)
    assert seen == [0, 1, 2, 3, 4]


def test_whoever_stops_early_stops_the_reading():
    made = []

    def items():
        for i in range(1000):
            made.append(i)
            yield i

    for item in ahead(items()):
        if item == 3:
            break
    assert len(made) < 10
    assert not any(thread.name == "reading ahead" for thread in threading.enumerate())
