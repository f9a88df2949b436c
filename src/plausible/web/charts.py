"""Charts as inline SVG: percentages for places, so they fit any width; colours by the style sheet, so they follow the
scheme. Each is drawn beside a table of the same figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from plausible.reader.working import Share, Working
from plausible.web.rendering import percent

LEFT, RIGHT = 4.0, 96.0  # per cent of the width
TOP, BOTTOM = 6.0, 88.0
LABELS = 5
DAYS = 60
"""Days that are drawn, the last ones."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a series.

    Attributes
    ----------
    x : float
        0 to 1, from left to right.
    share : Share
        0 to 1, with its interval.
    """

    x: float
    share: Share


def days(working: Working) -> Markup:
    """By day: interesting among recommended, with intervals, against among everything."""
    shown = working.days[-DAYS:]
    places = _spread(len(shown))
    labels = [f"{day.day.day} {day.day:%b}" for day in shown]
    return _chart(
        "Share of interesting articles by day, among those recommended and among all that were rated",
        [Point(x, day.recommended) for x, day in zip(places, shown, strict=True)],
        [Point(x, day.everything) for x, day in zip(places, shown, strict=True)],
        list(zip(places, labels, strict=True)),
    )


def curve(working: Working) -> Markup:
    """By ratings given: interesting among recommended against among everything."""
    most = max((step.ratings for step in working.curve), default=1)
    places = [step.ratings / most for step in working.curve]
    labels = [f"{step.ratings:,}" for step in working.curve]
    return _chart(
        "Share of interesting articles by the number of ratings given before",
        [Point(x, step.recommended) for x, step in zip(places, working.curve, strict=True)],
        [Point(x, step.everything) for x, step in zip(places, working.curve, strict=True)],
        list(zip(places, labels, strict=True)),
        joined=True,
    )


def calibration(working: Working) -> Markup:
    """What came true by what was predicted; on the diagonal the two agree."""
    diagonal = _line("other", _x(0), _y(0), _x(1), _y(1))
    return _chart(
        "Share that was interesting by the predicted probability; on the dashed diagonal prediction and truth agree",
        [Point(bin.predicted, bin.came_true) for bin in working.bins],
        [],
        [(tick / 4, percent(tick / 4)) for tick in range(5)],
        under=diagonal,
    )


def _chart(
    title: str,
    series: Sequence[Point],
    other: Sequence[Point],
    ticks: Sequence[tuple[float, str]],
    *,
    joined: bool = False,
    under: str = "",
) -> Markup:
    series = [point for point in series if point.share.rated]
    other = [point for point in other if point.share.rated]
    parts = [f'<svg class="chart" role="img" aria-label="{escape(title)}" focusable="false">']
    for level in (0, 0.25, 0.5, 0.75, 1):
        parts.append(_line("axis", 0, _y(level), 100, _y(level)))
        parts.append(f'<text x="0" y="{_y(level):.2f}%" dy="-0.3em">{percent(level)}</text>')
    for x, label in _few(ticks):
        parts.append(f'<text x="{_x(x):.2f}%" y="{BOTTOM:.2f}%" dy="1.6em" text-anchor="middle">{escape(label)}</text>')
    parts.append(under)
    parts.extend(_path("other", other))
    if joined:
        parts.extend(_path("curve", series))
    for point in series:
        low, high = _y(point.share.low), _y(point.share.high)
        parts.append(_line("interval", _x(point.x), low, _x(point.x), high))
    parts.extend(_circles("ring", other))
    parts.extend(_circles("dot", series))
    parts.append("</svg>")
    return Markup("".join(parts))


def _x(x: float) -> float:
    return LEFT + 6 + (RIGHT - LEFT - 6) * x


def _y(share: float) -> float:
    return BOTTOM + (TOP - BOTTOM) * share


def _spread(count: int) -> list[float]:
    return [(place + 0.5) / count for place in range(count)]


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.2f}%" y1="{y1:.2f}%" x2="{x2:.2f}%" y2="{y2:.2f}%"/>'


def _path(kind: str, points: Sequence[Point]) -> list[str]:
    return [_line(kind, _x(a.x), _y(a.share.share), _x(b.x), _y(b.share.share)) for a, b in pairwise(points)]


def _circles(kind: str, points: Sequence[Point]) -> list[str]:
    return [
        f'<circle class="{kind}" cx="{_x(point.x):.2f}%" cy="{_y(point.share.share):.2f}%" r="4">'
        f"<title>{percent(point.share.share)} of {point.share.rated}</title></circle>"
        for point in points
    ]


def _few(ticks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """As many labels as fit on a phone, none on top of another."""
    kept: list[tuple[float, str]] = []
    for tick in reversed(ticks):  # the last one counts most
        if not kept or kept[-1][0] - tick[0] >= 1 / LABELS - 1e-9:
            kept.append(tick)
    return kept


DRAWN: dict[str, Callable[[Working], Markup]] = {"days": days, "curve": curve, "calibration": calibration}
