"""A visit to a source of any kind, which never fails: what went wrong is said in the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from plausible.collecting import feeds, local, netnews
from plausible.collecting.outcome import Limits, Trouble, Visit, later
from plausible.errors import PlausibleError, unknown
from plausible.reader.items import Source

KINDS: dict[str, Callable[[Source, datetime, Limits], Visit]] = {
    "feed": feeds.visit,
    "netnews": netnews.visit,
    "mbox": local.visit_mbox,
    "maildir": local.visit_maildir,
    "folder": local.visit_folder,
}
"""The kinds of sources, each with what visits it."""

_LONGEST_WAIT = 7 * 86_400.0
_AGAIN = 6
"""A source that has failed before waits that many of its intervals, up to a day."""


def visit(source: Source, now: datetime, limits: Limits | None = None) -> Visit:
    """What is new in a source, and the source as it is afterwards.

    Parameters
    ----------
    source : Source
    now : datetime
        Aware. The next visit is counted from it, and no article is dated after it.
    limits : Limits, optional
        How much the visit may take.

    Returns
    -------
    Visit
        Its source has the new `next_visit`, `cursor`, `etag` and `modified`; `error` says in plain words what is
        wrong and what to do, and is None where all went well. After a first trouble the next visit comes at its
        usual time, after that six times later, but at least once a day; what the server wishes comes before that.

    Examples
    --------
    >>> from datetime import datetime, timezone
    >>> lost = Source(None, "folder", "/no/such/folder", "Notes")
    >>> visit(lost, datetime(2026, 1, 1, tzinfo=timezone.utc)).source.error
    "/no/such/folder can't be read (no such file or directory); check that it is there, and its permissions"
    """
    now = now.astimezone(UTC)
    try:
        if source.kind not in KINDS:
            raise Trouble(unknown("kind of source", source.kind, KINDS))
        return KINDS[source.kind](replace(source, error=None), now, limits or Limits())
    except Trouble as trouble:
        return _failed(source, now, str(trouble), trouble.wait)
    except PlausibleError as error:
        return _failed(source, now, str(error), None)
    except Exception as error:  # whatever a server sends, the other sources must go on
        return _failed(source, now, f"it can't be read ({type(error).__name__}: {str(error)[:200]}); report this", None)


def _failed(source: Source, now: datetime, error: str, asked: float | None) -> Visit:
    patient = source.interval * (_AGAIN if source.error else 1)
    wait = max(float(source.interval), min(float(patient), feeds.DAY), min(asked or 0.0, _LONGEST_WAIT))
    return Visit(later(replace(source, error=error), now, wait))
