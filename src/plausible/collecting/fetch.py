"""Pages and feeds over HTTP from servers that nobody vouches for.

http.client reads the answers; the connection below it is `wire`'s, so that every hop goes to an address that was
checked, within one budget of time.
"""

from __future__ import annotations

import http.client
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from plausible.collecting import wire
from plausible.collecting.outcome import Limits, Trouble
from plausible.wording import quantity

AGENT = "plausible-reader (feed reader)"
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)
_CHUNK = 1 << 16
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_SAFE = "/%:@!$&'()*+,;=~-._?"


@dataclass(frozen=True)
class Page:
    """An answer: where it came from after all redirects, its status, headers and unpacked body."""

    address: str
    status: int
    headers: Message
    body: bytes


def fetch(
    address: str,
    *,
    headers: Mapping[str, str | None] | None = None,
    allow_private: bool = False,
    limits: Limits | None = None,
) -> Page:
    """The answer to a GET, whatever its status, after at most `limits.hops` redirects.

    Parameters
    ----------
    address : str
        Its scheme is http or https.
    headers : mapping, optional
        To send beside the usual ones; None is not sent.
    allow_private : bool
        Whether it may lie on a private address.

    Raises
    ------
    Trouble
        In plain words, where there is no answer that can be used.
    """
    budget = wire.Budget(limits or Limits())
    for _ in range(budget.limits.hops + 1):
        parts = _checked(address)
        try:
            page = _get(parts, address, headers or {}, budget, allow_private)
        except OSError as error:
            raise wire.explained(error, parts.hostname or "", budget.limits) from None
        except (http.client.HTTPException, ValueError, zlib.error) as error:
            if isinstance(error, Trouble):
                raise
            raise Trouble(
                f"{parts.hostname} answers with something that is not HTTP ({type(error).__name__}); check the address"
            ) from None
        if page.status not in _REDIRECTS or not page.headers["Location"]:
            return page
        address = _next_hop(address, page.headers["Location"].strip())
    raise Trouble(
        f"more than {quantity(budget.limits.hops, 'redirect')}, the last to {address}; check the address in a browser"
    )


def retry_after(headers: Message, now: datetime) -> float | None:
    """Seconds for which the server asks to be left alone (RFC 9110, 10.2.3).

    >>> answer = Message()
    >>> answer["Retry-After"] = "120"
    >>> retry_after(answer, datetime(2026, 1, 1))
    120.0
    """
    value = (headers["Retry-After"] or "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def _next_hop(address: str, location: str) -> str:
    try:
        return urljoin(address, location)
    except ValueError:
        raise Trouble(f"{address} leads to {location[:200]!r}, which is no address; check it in a browser") from None


def _checked(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise Trouble(f"{address!r} is no address ({error}); it should look like https://example.org/feed") from None
    if parts.scheme not in _PORTS:
        raise Trouble(f"{address!r}: only http and https addresses are fetched")
    if not host or port == 0:
        raise Trouble(f"{address!r} names no host; it should look like https://example.org/feed")
    if parts.username is not None:
        raise Trouble(f"the address of {host} holds a user name, which is not sent; use one without")
    return parts


def _get(
    parts: SplitResult, address: str, extra: Mapping[str, str | None], budget: wire.Budget, allow_private: bool
) -> Page:
    host = str(parts.hostname)
    if not host.isascii():
        host = host.encode("idna").decode()
    port = parts.port or _PORTS[parts.scheme]
    shown = f"[{host}]" if ":" in host else host
    headers = {
        "Host": shown if parts.port is None else f"{shown}:{port}",
        "User-Agent": AGENT,
        "Accept": "application/atom+xml, application/rss+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5",
        "Accept-Encoding": "gzip, deflate",
        "Connection": "close",
        **extra,
    }
    target = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items() if value)]
    if any(not line.isprintable() for line in lines):
        raise Trouble(f"{address!r} holds characters that no address has")
    budget.next_answer()
    with wire.connect(host, port, budget, secure=parts.scheme == "https", allow_private=allow_private) as line:
        line.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        with http.client.HTTPResponse(line, method="GET") as answer:  # type: ignore[arg-type]
            answer.begin()
            wanted = answer.status not in _REDIRECTS
            return Page(address, answer.status, answer.headers, _body(answer, budget.limits) if wanted else b"")


def _body(answer: http.client.HTTPResponse, limits: Limits) -> bytes:
    coding = (answer.headers["Content-Encoding"] or "identity").strip().lower()
    if coding not in ("identity", "gzip", "x-gzip", "deflate"):
        raise Trouble(f"the answer is packed as {coding[:40]!r}, which was not asked for; it is tried again later")
    pieces, size = [], 0
    for piece in _received(answer) if coding == "identity" else _unpacked(_received(answer)):
        size += len(piece)
        if size > limits.size:
            raise wire.too_big(limits)
        pieces.append(piece)
    return b"".join(pieces)


def _received(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while piece := answer.read(_CHUNK):
            yield piece
    except http.client.IncompleteRead:
        raise _broken_off() from None
    if answer.length:
        raise _broken_off()


def _unpacked(packed: Iterator[bytes]) -> Iterator[bytes]:
    """gzip or deflate unpacked a little at a time, so that a bomb is met while it is small."""
    inner = None
    for piece in packed:
        waiting = piece
        if inner is None:
            inner = zlib.decompressobj(_GZIP_OR_ZLIB if _has_header(piece) else -zlib.MAX_WBITS)
        while waiting:
            yield inner.decompress(waiting, _CHUNK)
            waiting = inner.unconsumed_tail
            if inner.eof and inner.unused_data.startswith(b"\x1f\x8b"):
                waiting, inner = inner.unused_data, zlib.decompressobj(_GZIP_OR_ZLIB)
    if inner is not None:
        yield inner.flush()
        if not inner.eof:
            raise _broken_off()


def _has_header(start: bytes) -> bool:
    """Whether it is gzip or zlib, and not the bare deflate that some servers send."""
    return start.startswith(b"\x1f\x8b") or (start[0] & 15 == 8 and int.from_bytes(start[:2], "big") % 31 == 0)


def _broken_off() -> Trouble:
    return Trouble("the answer breaks off before its end; it is tried again later")
