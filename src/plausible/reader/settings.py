"""What a reader can set."""

from __future__ import annotations

from dataclasses import dataclass


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
