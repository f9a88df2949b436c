"""What stands between a browser and the reader: its names, where a form may come from, what a page may do.

The reader has no password, because it listens on this machine only. So a page of another site must not be able to reach
it through the browser: not by a name that is pointed at 127.0.0.1 later (DNS rebinding), not by a form or a script that
sends here (cross-site request forgery), not by a frame laid over another page (clickjacking).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plausible.web.hosts import host_of, is_loopback, is_numeric

COOKIE = "plausible-reader"
SAFE_METHODS = ("GET", "HEAD")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with "no-referrer" browsers send forms without their origin
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def content_policy(*, images: bool = False) -> str:
    """The content security policy of a page; only an article whose images were asked for may load any."""
    return "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "img-src 'self' https: http:" if images else "img-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
    )


class Guard:
    """Middleware: refuses strange names and origins, gives each browser a cookie, and each page its policy.

    Parameters
    ----------
    app : ASGI application
    host : str
        Where the server listens. On the loopback address only its own names are answered; where it was told to listen
        elsewhere also that name, and numbers, which no one can point elsewhere.
    secret : bytes
        Signs anti-forgery tokens.
    """

    def __init__(self, app: ASGIApp, host: str, secret: bytes) -> None:
        self._app = app
        self._names = frozenset({*LOOPBACK_NAMES, host.lower()})
        self._numbers = not is_loopback(host)
        self._secret = secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        refused = self._refusal(scope)
        known = Request(scope).cookies.get(COOKIE, "")
        browser = known or secrets.token_urlsafe(24)
        scope["state"] = {**scope.get("state", {}), "token": token(self._secret, browser), "images": False}

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._dress(message, scope["state"], None if known else browser)
            await send(message)

        if refused:
            await PlainTextResponse(refused, 403)(scope, receive, send_guarded)
        else:
            await self._app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> str:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        name = host_of(host).lower()
        if name not in self._names and not (self._numbers and is_numeric(name)):
            return f"Refused: the reader does not answer to the name {name!r}. Open it at its own address."
        if scope["method"] in SAFE_METHODS:
            return ""
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "Refused: this form comes from another site."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "Refused: this form comes from another site."
        return ""

    @staticmethod
    def _dress(message: MutableMapping[str, Any], state: dict[str, Any], new: str | None) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in HEADERS.items():
            headers[name] = value
        headers["content-security-policy"] = content_policy(images=state["images"])
        headers.setdefault("cache-control", "private, no-cache")
        if new is not None:
            headers.append("set-cookie", f"{COOKIE}={new}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000")


def token(secret: bytes, browser: str) -> str:
    """The anti-forgery token of one browser's forms."""
    return hmac.new(secret, browser.encode(), hashlib.sha256).hexdigest()


def is_own(request: Request, given: object) -> bool:
    """Whether a form carries the token that was given to this browser."""
    return isinstance(given, str) and hmac.compare_digest(given.encode(), request.state.token.encode())
