"""The two kinds of routes: pages, which change nothing, and changes, which need the token of a page of ours."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from plausible.web.guard import is_own
from plausible.web.rendering import wrong

Page = Callable[[Request], Response]
Change = Callable[[Request, FormData], Response]

FORM_SIZE = 1 << 20
"""Bytes of a form without a file."""


def page_at(path: str, answer: Page) -> Route:
    """A page: read by GET, changes nothing."""
    return Route(path, answer, methods=["GET"])


def change_at(path: str, answer: Change, *, size: int = FORM_SIZE) -> Route:
    """A change: a form by POST with the anti-forgery token, of no more than `size` bytes."""

    async def guarded(request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if not length.isdigit():
            return wrong(request, "The form does not say how long it is.", status=411)
        if int(length) > size:
            return wrong(request, f"That is too much: more than {size >> 20} MB.", status=413)
        async with request.form(max_files=1, max_fields=200) as form:
            if not is_own(request, form.get("token")):
                return wrong(
                    request,
                    "This form does not come from a page of this reader, or your browser does not keep cookies.",
                    status=403,
                    next_step="Nothing was changed. Go back, load the page again, and repeat what you did.",
                )
            return await run_in_threadpool(answer, request, form)

    return Route(path, guarded, methods=["POST"])


def text(form: FormData, name: str) -> str:
    """A field of a form, without blanks around it; empty if there is none."""
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def upload(form: FormData, name: str) -> UploadFile | None:
    """A file of a form, if one was chosen."""
    value = form.get(name)
    return value if isinstance(value, UploadFile) and value.filename else None


def to(address: str) -> RedirectResponse:
    """On to a page of ours, by GET."""
    return RedirectResponse(address, 303)


def own_address(address: str, otherwise: str = "/") -> str:
    """An address that a form names, if it lies within the reader.

    >>> own_address("/item/3?period=week"), own_address("https://example.org/"), own_address("//example.org")
    ('/item/3?period=week', '/', '/')
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return otherwise
    outside = parts.scheme or parts.netloc or not address.startswith("/") or address.startswith(("//", "/\\"))
    return otherwise if outside or not address.isprintable() else address
