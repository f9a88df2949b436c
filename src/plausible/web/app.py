"""The application: all routes, behind the guard."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from plausible.errors import PlausibleError
from plausible.reader.reading import Reader
from plausible.web import articles, data, settings, sources, working
from plausible.web.guard import Guard
from plausible.web.hosts import is_loopback
from plausible.web.rendering import sentence, wrong

if TYPE_CHECKING:
    from plausible.collecting.rounds import Rounds

STATIC = Path(__file__).parent / "static"


def application(reader: Reader, rounds: Rounds, *, host: str = "127.0.0.1") -> Starlette:
    """The reader's pages, as an ASGI application.

    Parameters
    ----------
    reader : Reader
    rounds : Rounds
        Visits the sources.
    host : str
        Where the server listens.
    """
    app = Starlette(
        routes=[
            *articles.ROUTES,
            *sources.ROUTES,
            *working.ROUTES,
            *settings.ROUTES,
            *data.ROUTES,
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, host=host, secret=_secret(reader))],
        exception_handlers={
            PlausibleError: _mendable,
            HTTPException: _answered,
            Exception: _broken,
        },
    )
    app.state.reader = reader
    app.state.rounds = rounds
    app.state.local = is_loopback(host)
    return app


def _secret(reader: Reader) -> bytes:
    """Kept with the store, so that a page that is open stays good when the reader is started anew."""
    kept = reader.store.setting("secret")
    if not isinstance(kept, str):
        kept = secrets.token_hex(32)
        reader.store.keep("secret", kept)
    return bytes.fromhex(kept)


def _mendable(request: Request, error: Exception) -> Response:
    return wrong(request, sentence(str(error)), status=400)


def _answered(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return wrong(request, "There is no such page.", status=404)
    if error.status_code == 405:
        return wrong(request, "Nothing is changed by opening an address. Use the buttons.", status=405)
    return wrong(request, error.detail, status=error.status_code)


def _broken(request: Request, error: Exception) -> Response:
    return wrong(
        request,
        "The reader itself has a fault here. What you rated before is kept.",
        status=500,
        next_step="What happened stands in the terminal that it was started from.",
    )
