"""Is it working? The promise, measured."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from plausible.web.charts import DAYS, DRAWN
from plausible.web.forms import page_at
from plausible.web.rendering import page, reader_of


def _working(request: Request) -> Response:
    reader = reader_of(request)
    working = reader.working()
    return page(
        request,
        "working.html",
        working=working,
        drawn={name: draw(working) for name, draw in DRAWN.items()},
        settings=reader.settings,
        DAYS=DAYS,
    )


ROUTES: list[BaseRoute] = [page_at("/working", _working)]
