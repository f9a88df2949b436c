"""What the reader reads: articles, and the sources that they come from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Article:
    """An article as it was collected.

    Attributes
    ----------
    key : str
        Its identity within its source: guid, Message-ID, or a hash of address and title.
    url : str, optional
    title, author : str
    published : datetime
        Aware, in UTC.
    html : str, optional
        As received, not sanitised.
    text : str
        Readable plain text.
    language : str, optional
        BCP 47.
    """

    key: str
    url: str | None
    title: str
    author: str
    published: datetime
    html: str | None
    text: str
    language: str | None


@dataclass(frozen=True)
class Source:
    """Where articles come from, and how far it was read.

    Attributes
    ----------
    kind : str
        "feed", "netnews", "mbox", "maildir" or "folder".
    address : str
        An http(s) address, nntp://host[:port]/group, or a path.
    interval : int
        Seconds between visits.
    etag, modified : str, optional
        What the server said of the version that was read last.
    cursor : str, optional
        How far it was read: an article's number in a newsgroup, an offset in an mbox.
    error : str, optional
        The last visit's, in plain words.
    allow_private : bool
        Whether it may lie on a private address.
    """

    id: int | None
    kind: str
    address: str
    title: str
    interval: int = 3600
    etag: str | None = None
    modified: str | None = None
    cursor: str | None = None
    next_visit: datetime | None = None
    error: str | None = None
    allow_private: bool = False
