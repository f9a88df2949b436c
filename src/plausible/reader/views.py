"""Views: which items, in which order. A view is the query string of its address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, get_args
from urllib.parse import urlencode

from plausible.errors import CallError, unknown

Period = Literal["day", "week", "month", "all"]
Show = Literal["unread", "all", "rated"]
Order = Literal["interest", "newest", "relevance"]

SPANS = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}


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

    period: Period = "day"
    show: Show = "unread"
    source: int | None = None
    search: str = ""
    order: Order = "interest"
    below: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> View:
        """The view of an address's query; names that are no part of a view are left alone.

        Raises
        ------
        CallError
            If a value is none of those that are known.

        Examples
        --------
        >>> View.of({"period": "week", "below": "1", "item": "7"})
        View(period='week', show='unread', source=None, search='', order='interest', below=True, page=1)
        """
        given: dict[str, Any] = {}
        for name, known in (("period", get_args(Period)), ("show", get_args(Show)), ("order", get_args(Order))):
            if query.get(name):
                if query[name] not in known:
                    raise CallError(unknown(name, query[name], known))
                given[name] = query[name]
        for name in ("source", "page"):
            if query.get(name):
                if not query[name].isdecimal() or not 0 < int(query[name]) < 1 << 62:
                    raise CallError(f"{name} {query[name]!r}: give a whole number from 1")
                given[name] = int(query[name])
        given["search"] = query.get("search", "").strip()
        given["below"] = query.get("below", "") not in ("", "0")
        return cls(**given)

    def query(self) -> str:
        """The query string that `of` reads, without what is as usual.

        >>> View(period="week", page=2).query()
        'period=week&page=2'
        """
        usual = View()
        given = {name: getattr(self, name) for name in View.__slots__ if getattr(self, name) != getattr(usual, name)}
        return urlencode({name: 1 if value is True else value for name, value in given.items()})

    @property
    def span(self) -> timedelta | None:
        """How old items may be."""
        return SPANS.get(self.period)
