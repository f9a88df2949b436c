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
from plausible.errors import DataError, PlausibleError
from plausible.web.forms import change_at, page_at, upload
from plausible.web.rendering import count, page, reader_of

IMPORT_SIZE = 1 << 30
MODEL_SIZE = 256 << 20
LIST_SIZE = 8 << 20
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
        done = take_in(request, given.file)
    except PlausibleError as error:
        return _shown(request, problem=f"Nothing was imported: {error}", status=400)
    return _shown(request, done=done)


def take_in(request: Request, file: IO[bytes]) -> str:
    """Import a file of any of the three kinds, told apart by how it begins; what came of it, in words."""
    reader = reader_of(request)
    start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    file.seek(0)
    if start.startswith(b"PK"):
        ratings = reader.merge_model(_whole(file, MODEL_SIZE))
        return f"What another reader learned from {count(ratings, 'rating')} was added."
    if start.startswith(b"<"):
        known = {source.address for source in reader.store.sources()}
        new = [source for source in opml.read(_whole(file, LIST_SIZE)) if source.address not in known]
        for source in new:
            reader.store.save(source)
        request.app.state.rounds.wake()
        return f"{count(len(new), 'new source')}; they are being read now."
    if start.startswith(b"{"):
        brought = reader.take_in(file)
        return (
            f"{count(brought.sources, 'new source')}, {count(brought.items, 'new article')}"
            f" and {count(brought.ratings, 'new rating')}."
        )
    raise DataError("the file is no export of a reader (JSON lines), no list of feeds (OPML) and no .plausible file")


def _whole(file: IO[bytes], size: int) -> bytes:
    data = file.read(size + 1)
    if len(data) > size:
        raise DataError(f"the file is larger than the {size >> 20} MB that are read of its kind")
    return data


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
