"""Views: which items, in which order. A view is the query string of its address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class View:
    """Which items, in which order.

    Attributes
    ----------
    period : "day", "week", "month" or "all"
        How old items may be, by the time at which they were published: 24 hours, 7 days, 30 days.
    show : "unread", "all" or "rated"
        Unread is neither rated nor skipped.
    source : int, optional
        Items of this source only.
    search : str
        Words that items must hold; see `search`.
    order : "interest", "newest" or "relevance"
        Relevance goes with a search.
    below : bool
        The items below the line instead of the recommended.
    page : int
        From 1.
    """

    period: Literal["day", "week", "month", "all"] = "day"
    show: Literal["unread", "all", "rated"] = "unread"
    source: int | None = None
    search: str = ""
    order: Literal["interest", "newest", "relevance"] = "interest"
    below: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> View:
        """The view of an address's query; names that are no part of a view are left alone.

        Raises
        ------
        CallError
            If a value is none of those that are known.
        """
        raise NotImplementedError

    def query(self) -> str:
        """The query string that `of` reads, without what is as usual.

        >>> View(period="week", page=2).query()
        'period=week&page=2'
        """
        raise NotImplementedError
