"""Charts stay within their frame, draw every figure, and can be read without being seen."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.reader.working import Bin, Day, Share, Step, Working
from plausible.web.charts import DRAWN, LABELS


@st.composite
def shares(draw: st.DrawFn) -> Share:
    rated = draw(st.integers(0, 40))
    interesting = draw(st.integers(0, rated))
    share = interesting / rated if rated else 0.0
    return Share(interesting, rated, share, draw(st.floats(0, share)), draw(st.floats(share, 1)))


@st.composite
def workings(draw: st.DrawFn) -> Working:
    pairs = draw(st.lists(st.tuples(shares(), shares()), max_size=60))
    start = date(2026, 2, 20)
    days = [Day(start + timedelta(days=3 * place), *pair) for place, pair in enumerate(pairs)]
    curve = [Step(10 * (place + 1), *pair, 0.1, 0.5) for place, pair in enumerate(pairs)]
    bins = [Bin(place / 10, place / 10 + 0.1, place / 10 + 0.05, draw(shares())) for place in range(10)]
    one = draw(shares())
    return Working(one, one, one, one, None, days, curve, bins, None)


def drawn(name: str, working: Working) -> ElementTree.Element:
    return ElementTree.fromstring(str(DRAWN[name](working)))


@given(workings())
def test_every_figure_is_drawn_within_the_frame(working: Working) -> None:
    for name in DRAWN:
        root = drawn(name, working)
        for element in root:
            for place in ("x", "x1", "x2", "cx", "y", "y1", "y2", "cy"):
                if place in element.attrib:
                    assert 0 <= float(element.attrib[place].rstrip("%")) <= 100
    points = [pair for step in working.curve for pair in (step.recommended, step.everything) if pair.rated]
    assert len([e for e in drawn("curve", working) if e.tag == "circle"]) == len(points)
    assert len([e for e in drawn("days", working) if e.tag == "circle"]) == len(points)
    true = [bin.came_true for bin in working.bins if bin.came_true.rated]
    dots = [e for e in drawn("calibration", working) if e.get("class") == "dot"]
    assert len(dots) == len(true)
    for line in drawn("calibration", working):
        if line.get("class") == "interval":
            assert float(line.attrib["y2"][:-1]) <= float(line.attrib["y1"][:-1]) + 1e-9


@given(workings())
def test_labels_never_lie_on_top_of_each_other(working: Working) -> None:
    for name in DRAWN:
        labels = [e for e in drawn(name, working) if e.tag == "text" and e.get("text-anchor") == "middle"]
        places = sorted(float(label.attrib["x"][:-1]) for label in labels)
        assert len(labels) <= LABELS + 1
        assert all(b - a > 15 for a, b in itertools.pairwise(places))


@pytest.mark.parametrize("name", list(DRAWN))
def test_a_chart_has_a_name_and_no_colour_of_its_own(name: str) -> None:
    empty = Share(0, 0, 0.0, 0.0, 1.0)
    root = drawn(name, Working(empty, empty, empty, empty, None, [], [], [], None))
    assert root.get("role") == "img"
    assert root.get("aria-label")
    for element in root.iter():
        assert not {"style", "fill", "stroke", "onclick"} & set(element.attrib)
