"""Newsgroups over NNTP (RFC 3977).

The four commands that reading needs are spoken here, over a checked connection. The standard library's nntplib is
gone, its copies on the package index refuse lines over 2,048 bytes, and no library lets the caller make the
connection.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from plausible.collecting import wire
from plausible.collecting.articles import message_article
from plausible.collecting.outcome import Limits, TooBig, Trouble, Visit, later, left_out, named
from plausible.reader.items import Article, Source

_PORTS = {"nntp": 119, "nntps": 563}
_GROUP = re.compile(r"[^\s!*,?\[\\\]:\x00-\x20\x7f]{1,497}")
_NUMBER = re.compile("[0-9]{1,18}")
_SOON = 60.0
_AHEAD = 20
_LONGEST_REPLY = 512
_EXAMPLE = "it should look like nntp://news.example.org/comp.lang.python"


class Place(NamedTuple):
    """What an address of netnews names."""

    host: str
    port: int
    group: str
    secure: bool


def place(address: str) -> Place:
    """
    >>> place("nntp://news.example.org/comp.lang.python")
    Place(host='news.example.org', port=119, group='comp.lang.python', secure=False)
    """
    try:
        parts = urlsplit(address)
        host, port, group = parts.hostname, parts.port, unquote(parts.path.strip("/"))
    except ValueError as error:
        raise Trouble(f"{address!r} is no address ({error}); {_EXAMPLE}") from None
    if parts.scheme not in _PORTS or not host or not _GROUP.fullmatch(group):
        raise Trouble(f"{address!r} names no newsgroup; {_EXAMPLE}")
    if parts.username is not None:
        raise Trouble(f"the address of {host} holds a user name, which is not sent; use a server that asks for none")
    return Place(host, port or _PORTS[parts.scheme], group, parts.scheme == "nntps")


def visit(source: Source, now: datetime, limits: Limits) -> Visit:
    """The articles of a group since the last visit, the oldest first; at the first visit, the latest.

    The cursor is the number of the last article read. What a visit has no time or room for comes with the next one,
    which is due at once.
    """
    where = place(source.address)
    budget = wire.Budget(limits)
    articles: list[Article] = []
    cursor, size, big, wait = source.cursor, 0, 0, _SOON
    try:
        with wire.connect(
            where.host, where.port, budget, secure=where.secure, allow_private=source.allow_private
        ) as line:
            server = _Server(line, where)
            group = server.group(_number(source.cursor), limits.articles)
            wait = 0.0
            wanted = group.unread[: limits.articles]
            for at, number in enumerate(wanted):
                if at % _AHEAD == 0:
                    server.ask_for(wanted[at : at + _AHEAD])
                try:
                    raw = server.next_article()
                except TooBig:
                    cursor, big = str(number), big + 1
                    break
                cursor = str(number)
                if raw is not None:
                    articles.append(message_article(raw, now))
                    size += len(raw)
                if size > limits.size:
                    break
            else:
                if len(group.unread) == len(wanted):
                    cursor, wait = str(group.last), float(source.interval)
                server.quit()
    except OSError as error:
        if not articles:
            raise wire.explained(error, where.host, limits) from None
        wait = _SOON
    read = replace(named(source, where.group), cursor=cursor, error=left_out(big, "article", limits))
    return Visit(later(read, now, wait), tuple(articles))


class _Group(NamedTuple):
    """The numbers of a group's articles that are to be read, and its last number."""

    unread: list[int]
    last: int


class _Server:
    """A conversation with a server, one command after the other."""

    def __init__(self, line: wire.Line, where: Place) -> None:
        self._line, self._where = line, where
        self._reader = io.BufferedReader(line)
        status, text = self._reply()
        if status not in (200, 201):
            raise self._refused(status, text)
        self._ask("MODE READER")

    def group(self, last_read: int | None, most: int) -> _Group:
        """What is there after the last article read; where nothing was read, or the count began anew, the latest."""
        name = self._where.group
        status, text = self._ask(f"GROUP {name}")
        if status == 411:
            raise Trouble(f"{self._where.host} has no group {name!r}; check its name", 86_400)
        first, last = (_number(count) for count in (*text.split(), "", "", "")[1:3])
        if status != 211 or first is None or last is None:
            raise self._refused(status, text)
        start = max(first, last - most + 1 if last_read is None or last_read > last else last_read + 1)
        if start > last:
            return _Group([], last)
        status, _ = self._ask(f"LISTGROUP {name} {start}-{last}")
        if status != 211:
            return _Group(list(range(start, last + 1)[: most + 1]), last)
        listed = [_number(line.decode("latin-1").strip()) for line in self._lines()]
        return _Group(sorted({number for number in listed if number and start <= number <= last}), last)

    def ask_for(self, numbers: list[int]) -> None:
        """Ask for several articles at a time (RFC 3977, 3.5), so that the way there and back counts once."""
        self._line.send(b"".join(b"ARTICLE %d\r\n" % number for number in numbers))

    def next_article(self) -> bytes | None:
        """The next article that was asked for, as it was sent; None if it has gone."""
        self._line.budget.next_answer()
        status, text = self._reply()
        if status in (423, 430):
            return None
        if status != 220:
            raise self._refused(status, text)
        return b"".join(self._lines())

    def quit(self) -> None:
        with contextlib.suppress(OSError):
            self._line.send(b"QUIT\r\n")

    def _ask(self, command: str) -> tuple[int, str]:
        self._line.send(command.encode() + b"\r\n")
        return self._reply()

    def _reply(self) -> tuple[int, str]:
        line = self._reader.readline(_LONGEST_REPLY)
        text = line.decode("utf-8", "replace").strip()
        if not line:
            raise ConnectionAbortedError("it ended the conversation")
        if not text[:3].isdigit():
            raise Trouble(f"{self._where.host} doesn't speak NNTP on port {self._where.port}; check the address")
        return int(text[:3]), text[4:]

    def _lines(self) -> Iterator[bytes]:
        """The lines of a block, up to the one that holds a single dot."""
        while (line := self._reader.readline()) != b".\r\n":
            if not line.endswith(b"\n"):
                raise ConnectionAbortedError("it broke off within an article")
            yield line[1:] if line.startswith(b".") else line

    def _refused(self, status: int, text: str) -> Trouble:
        host = self._where.host
        if status in (480, 483):
            return Trouble(f"{host} asks for a name and password, which are not sent; use a server that asks for none")
        if status in (400, 502):
            return Trouble(f"{host} does not serve us now ({status} {text[:80]}); it is tried again later")
        return Trouble(f"{host} answers {status} {text[:80]!r}, which was not expected; it is tried again later")


def _number(written: str | None) -> int | None:
    return int(written) if written and _NUMBER.fullmatch(written) else None
