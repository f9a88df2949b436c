"""Reading ahead: the next chunk is read while one is counted."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 0.1
"""Seconds between two looks at whether the other side is still there."""


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, each made in another thread while the one before is used. Errors come through in their place.

    Examples
    --------
    >>> list(ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    made: Queue[tuple[bool, T | BaseException | None]] = Queue(maxsize=1)
    stopped = Event()

    def offer(more: bool, what: T | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                return made.put((more, what), timeout=PATIENCE)
            except Full:
                continue
        return None

    def make() -> None:
        try:
            for item in items:
                offer(True, item)
                if stopped.is_set():
                    return
            offer(False, None)
        except BaseException as error:
            offer(False, error)
        finally:
            if isinstance(items, Generator):
                items.close()

    maker = Thread(target=make, name="reading ahead", daemon=True)
    maker.start()
    try:
        while True:
            try:
                more, what = made.get(timeout=PATIENCE)  # a wait without end would not hear Ctrl-C everywhere
            except Empty:
                continue
            if more:
                yield what  # type: ignore[misc]
            elif what is None:
                return
            else:
                raise what  # type: ignore[misc]
    finally:
        stopped.set()
        maker.join()
