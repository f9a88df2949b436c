"""The sources: add one by its address, see which can't be read, read one now, remove one."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from plausible.collecting import recognise
from plausible.errors import CallError, PlausibleError
from plausible.web.forms import change_at, page_at, text, to
from plausible.web.rendering import page, reader_of

KINDS = {"feed": "feed", "netnews": "newsgroup", "mbox": "mailbox", "maildir": "mailbox", "folder": "folder"}
REMOTE = ("http://", "https://", "nntp://", "nntps://")
PATIENCE = 8.0
"""Seconds that a page waits for a visit before it says that the visit goes on."""


def _sources(request: Request) -> Response:
    return _shown(request)


def _shown(
    request: Request, *, address: str = "", private: bool = False, problem: str = "", status: int = 200
) -> Response:
    store = reader_of(request).store
    sources = store.sources()
    visited = request.query_params.get("visited", "")
    return page(
        request,
        "sources.html",
        status=status,
        sources=sources,
        kinds=KINDS,
        address=address,
        private=private,
        problem=problem,
        visited=next((source for source in sources if str(source.id) == visited), None),
        new=request.query_params.get("new", ""),
        removed=request.query_params.get("removed", ""),
    )


def _add(request: Request, form: FormData) -> Response:
    given = text(form, "address")
    private = text(form, "private") == "yes"
    try:
        if not request.app.state.local and (private or not given.startswith(REMOTE)):
            raise CallError(
                "other machines can reach this reader, so it takes no files and no private addresses; "
                "give an address that begins with http:, https: or nntp:, or start the reader without --host"
            )
        source = recognise(given, allow_private=private)
    except PlausibleError as error:
        return _shown(request, address=given, private=private, problem=str(error), status=400)
    saved = reader_of(request).store.save(source)
    return _visit(request, saved.id or 0)


def _read(request: Request, form: FormData) -> Response:
    return _visit(request, request.path_params["source"])


def _visit(request: Request, number: int) -> Response:
    reader_of(request).store.source(number)
    new = request.app.state.rounds.visit(number, PATIENCE)
    return to(f"/sources?visited={number}&new={'' if new is None else new}")


def _remove(request: Request, form: FormData) -> Response:
    gone = reader_of(request).store.remove_source(request.path_params["source"])
    return to(f"/sources?removed={gone}")


ROUTES: list[BaseRoute] = [
    page_at("/sources", _sources),
    change_at("/sources", _add),
    change_at("/sources/{source:int}/read", _read),
    change_at("/sources/{source:int}/remove", _remove),
]
