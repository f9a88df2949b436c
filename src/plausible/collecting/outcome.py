"""What comes of a visit to a source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from plausible.errors import DataError
from plausible.reader.items import Article, Source
from plausible.wording import quantity


@dataclass(frozen=True)
class Limits:
    """How much one visit may take.

    Attributes
    ----------
    seconds : float
        In all, from the first look-up of a name to the last byte.
    size : int
        Bytes of one answer or one file, as they arrive and after unpacking.
    hops : int
        How many redirects are followed.
    articles : int
        At a time; what is left comes with the next visit, which is due at once.
    """

    seconds: float = 60.0
    size: int = 10 << 20
    hops: int = 5
    articles: int = 500


@dataclass(frozen=True)
class Visit:
    """The source as it is after the visit, and what it brought."""

    source: Source
    articles: tuple[Article, ...] = ()


class Trouble(DataError):
    """A source that can't be read now: what is wrong in plain words, and the next step.

    Attributes
    ----------
    wait : float or None
        Seconds for which its server asked to be left alone, or that make sense for this trouble.
    """

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class TooBig(Trouble):
    """More bytes than a visit may take."""


def named(source: Source, title: str) -> Source:
    """The source, with this title if the user gave it none."""
    return replace(source, title=title) if source.title in ("", source.address) and title else source


def later(source: Source, now: datetime, seconds: float) -> Source:
    """The source, to be visited again that many seconds from now."""
    return replace(source, next_visit=now + timedelta(seconds=seconds))


def left_out(number: int, what: str, limits: Limits) -> str | None:
    """What to say of messages that were too big.

    >>> left_out(2, "article", Limits())
    '2 articles over 10 MB left out'
    """
    return f"{quantity(number, what)} over {limits.size / (1 << 20):g} MB left out" if number else None
