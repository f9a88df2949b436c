"""Visits in the background: what is due is visited, a few sources at a time and each host on its own."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from urllib.parse import urlsplit

from plausible.collecting.outcome import Limits, named
from plausible.collecting.visits import visit
from plausible.reader.items import Source
from plausible.reader.reading import Reader

PAUSE = 1.0
"""Seconds for which a host is left alone after a visit."""
_LOOK = 5.0
_AFTER_A_FAULT = 300.0


class Rounds:
    """Visits the sources of a reader when they are due, from entering it as a context to leaving it.

    Leaving does not wait for servers: what is being stored is stored whole, what is still on its way comes with the
    next visit.

    Parameters
    ----------
    reader : Reader
    threads : int
        How many sources are visited at a time.
    limits : Limits, optional
        How much one visit may take.

    Attributes
    ----------
    fault : str or None
        Why what a visit brought could not be stored, the last time that this happened.
    """

    def __init__(self, reader: Reader, *, threads: int = 4, limits: Limits | None = None) -> None:
        self.fault: str | None = None
        self._reader = reader
        self._threads = threads
        self._limits = limits
        self._changed = threading.Condition()
        self._storing = threading.Lock()
        self._stopped = False
        self._under_way: dict[int, Future[int]] = {}
        self._free_at: dict[str, float] = {}

    def __enter__(self) -> Rounds:
        for number in range(self._threads):
            threading.Thread(target=self._work, name=f"visits {number + 1}", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop at once; when this returns, nothing more is stored."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        with self._storing:
            pass

    def wake(self) -> None:
        """Look for what is due now, without waiting for the next look."""
        with self._changed:
            self._changed.notify_all()

    def visit(self, number: int, patience: float) -> int | None:
        """Visit a source now, due or not, and give the number of articles that are new.

        A visit that takes longer than `patience` seconds goes on, and the answer is None. CallError if there is no
        such source.
        """
        with self._changed:
            future = self._under_way.get(number)
            if future is None:
                source = self._reader.store.source(number)
                future = self._begun(source)
                threading.Thread(target=self._carry_out, args=(source, future), daemon=True).start()
        try:
            return future.result(patience)
        except NotYet:
            return None

    def _work(self) -> None:
        while (task := self._next()) is not None:
            self._carry_out(*task)

    def _next(self) -> tuple[Source, Future[int]] | None:
        """The source to visit next, as soon as there is one; None when the rounds end."""
        with self._changed:
            while not self._stopped:
                due = [one for one in self._reader.store.due(datetime.now(UTC)) if one.id not in self._under_way]
                for source in due:
                    if self._free_at.get(_host(source), 0.0) <= time.monotonic():
                        return source, self._begun(source)
                self._changed.wait(PAUSE if due else _LOOK)
            return None

    def _begun(self, source: Source) -> Future[int]:
        future: Future[int] = Future()
        self._under_way[source.id or 0] = future
        self._free_at[_host(source)] = float("inf")
        return future

    def _carry_out(self, source: Source, future: Future[int]) -> None:
        new, rest = 0, PAUSE
        try:
            new = self._visited(source)
        except Exception as error:  # a full disk must not end the rounds
            self.fault = f"what {source.title or source.address} brought can't be stored: {error}"
            rest = _AFTER_A_FAULT
        with self._changed:
            del self._under_way[source.id or 0]
            self._free_at[_host(source)] = time.monotonic() + rest
            self._changed.notify_all()
        future.set_result(new)

    def _visited(self, source: Source) -> int:
        """Visit a source and store what it brought: the articles first, so that none is passed over."""
        now = datetime.now(UTC)
        brought = visit(source, now, self._limits)
        with self._storing:
            if self._stopped or source.id is None:
                return 0
            current = next((one for one in self._reader.store.sources() if one.id == source.id), None)
            if current is None or current.address != source.address:
                return 0
            new = self._reader.add(source.id, brought.articles, now) if brought.articles else []
            self._reader.store.save(_advanced(current, brought.source))
            return len(new)


def _advanced(current: Source, visited: Source) -> Source:
    """A source as the user has it now, with what a visit that began before found out."""
    return replace(
        named(current, visited.title),
        etag=visited.etag,
        modified=visited.modified,
        cursor=visited.cursor,
        next_visit=visited.next_visit,
        error=visited.error,
    )


def _host(source: Source) -> str:
    """What must not be visited twice at a time."""
    return urlsplit(source.address).netloc if source.kind in ("feed", "netnews") else source.address
