"""Your data: out and in, as files that other programs read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute

from plausible.collecting import opml
from plausible.collecting.imports import bring_in
from plausible.errors import PlausibleError
from plausible.web.forms import change_at, page_at, upload
from plausible.web.rendering import page, reader_of

IMPORT_SIZE = 1 << 30
CHUNK = 1 << 16


def _data(request: Request) -> Response:
    return _shown(request)


def _shown(request: Request, *, done: str = "", problem: str = "", status: int = 200) -> Response:
    return page(request, "data.html", status=status, done=done, problem=problem)


def _lines(request: Request) -> Response:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it was sent
    try:
        reader_of(request).export(file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return StreamingResponse(_pieces(file), media_type="application/jsonl", headers=_named("reader.jsonl"))


def _model(request: Request) -> Response:
    return Response(
        reader_of(request).model_bytes(), media_type="application/octet-stream", headers=_named("reader.plausible")
    )


def _list(request: Request) -> Response:
    sources = reader_of(request).store.sources()
    return Response(opml.write(sources), media_type="text/x-opml", headers=_named("feeds.opml"))


def _import(request: Request, form: FormData) -> Response:
    given = upload(form, "file")
    if given is None:
        return _shown(request, problem="No file was chosen.", status=400)
    try:
        done = bring_in(reader_of(request), given.file)
    except PlausibleError as error:
        return _shown(request, problem=f"Nothing was imported: {error}", status=400)
    request.app.state.rounds.wake()
    return _shown(request, done=done)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(CHUNK):
            yield piece


def _named(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


ROUTES: list[BaseRoute] = [
    page_at("/data", _data),
    page_at("/data/reader.jsonl", _lines),
    page_at("/data/reader.plausible", _model),
    page_at("/data/feeds.opml", _list),
    change_at("/data/import", _import, size=IMPORT_SIZE),
]
