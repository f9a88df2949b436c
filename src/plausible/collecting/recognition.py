"""Which source a user means by what they typed."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from plausible.collecting import feeds, local, netnews
from plausible.collecting.fetch import Page, fetch
from plausible.collecting.outcome import Limits, Trouble
from plausible.errors import CallError
from plausible.reader.items import Source

_MOST_TRIED = 3
_HOST = re.compile(r"(?:[\w-]+\.)+[\w-]{2,}(?::\d+)?(?:[/?].*)?|localhost(?::\d+)?(?:[/?].*)?")


def recognise(address: str, *, allow_private: bool = False, limits: Limits | None = None) -> Source:
    """The source that an address, a path or the name of a site stands for.

    Parameters
    ----------
    address : str
        The address of a feed; of a page, which names its feed; nntp://host/group; or the path of an mbox, a Maildir
        or a folder. Without a scheme it is a path, if there is one, or else a site.
    allow_private : bool
        Whether it may lie on a private address.
    limits : Limits, optional
        How much one look may take.

    Raises
    ------
    CallError
        Where nothing can be read there, with the next step.

    Examples
    --------
    >>> recognise("nntp://news.example.org/comp.lang.python").title
    'comp.lang.python'
    """
    try:
        return _recognised(address.strip(), allow_private, limits or Limits())
    except Trouble as trouble:
        raise CallError(str(trouble)) from None


def _recognised(address: str, allow_private: bool, limits: Limits) -> Source:
    if not address:
        raise Trouble("nothing was given; type the address of a feed or a page, a newsgroup, or a path")
    scheme = address.partition(":")[0].lower() if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", address) else ""
    if scheme == "feed":
        rest = address[5:]
        address, scheme = (rest if rest.startswith(("http:", "https:")) else "https:" + rest), "https"
    if scheme in ("http", "https"):
        return _on_the_web(address, allow_private, limits)
    if scheme in ("nntp", "nntps"):
        return Source(None, "netnews", address, netnews.place(address).group, allow_private=allow_private)
    if scheme == "news":
        raise Trouble(f"{address!r} names no server; write nntp://SERVER/{address[5:].strip('/')}")
    path = unquote(urlsplit(address).path) if scheme == "file" else os.path.expanduser(address)
    if not os.path.exists(path) and _HOST.fullmatch(address):
        return _on_the_web("https://" + address, allow_private, limits)
    path = os.path.abspath(path)
    return Source(None, local.kind(path), path, os.path.basename(path) or path)


def _on_the_web(address: str, allow_private: bool, limits: Limits) -> Source:
    page = _page(address, allow_private, limits)
    if feeds.is_feed(page):
        return _feed(page, allow_private)
    linked = feeds.linked(page)
    for found in linked[:_MOST_TRIED]:
        there = _page(found, allow_private, limits)
        if feeds.is_feed(there):
            return _feed(there, allow_private)
    raise Trouble(
        f"{page.address} is no feed and names none; look on the page for a link called RSS, Atom or feed, "
        "and give its address"
    )


def _page(address: str, allow_private: bool, limits: Limits) -> Page:
    page = fetch(address, allow_private=allow_private, limits=limits)
    if page.status != 200:
        raise Trouble(f"{page.address} answers with the status {page.status}; check the address in a browser")
    return page


def _feed(page: Page, allow_private: bool) -> Source:
    _, feed = feeds.parsed(page)
    source = Source(None, "feed", page.address, feeds.title(feed) or page.address)
    return replace(source, allow_private=allow_private)
