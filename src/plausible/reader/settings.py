"""What a reader can set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plausible.errors import CallError
from plausible.reader.search import asked

BOOST = 2.0
"""What a boost word adds to an item's log-odds, in nats."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a reader can set.

    Parameters
    ----------
    interesting_from : int
        The lowest rating that counts as interesting, 2 to 5.
    top : float
        The share of a view that is recommended.
    uncertain, random : float
        The shares of the recommended that are mixed in because the model is unsure of them, and at random.
    boost, veto : tuple of str
        Words that lift an item, and words that put it below the line.
    """

    interesting_from: int = 4
    top: float = 0.1
    uncertain: float = 0.1
    random: float = 0.05
    boost: tuple[str, ...] = ()
    veto: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.interesting_from not in (2, 3, 4, 5):
            raise CallError(f"items are interesting from a rating of 2, 3, 4 or 5, not {self.interesting_from!r}")
        if not 0 < self.top <= 1:
            raise CallError(f"the share that is recommended must be above 0 and at most 1, not {self.top!r}")
        if min(self.uncertain, self.random) < 0 or self.uncertain + self.random > 1:
            raise CallError(
                f"the shares that are mixed in must be 0 or more and sum to 1 at most, not {self.uncertain!r} and "
                f"{self.random!r}"
            )
        for name in ("boost", "veto"):
            words = tuple(dict.fromkeys(word.strip() for word in getattr(self, name) if word.strip()))
            for word in words:
                asked(f'"{word}"')
            object.__setattr__(self, name, words)

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Settings:
        """What `asdict` gave, or JSON made of it."""
        given: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in kept.items()}
        return cls(**{name: value for name, value in given.items() if name in cls.__slots__})
