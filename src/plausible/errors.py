"""What can go wrong, by who can mend it.

PlausibleError
├── CallError    the call: an unknown name, an option out of range
├── DataError    the data: a file, a row or a value that can't be used as it is
└── ModelError   the model: a damaged file, tables that don't add up, counts that would go negative

PlausibleWarning   something was done that the user should know of

A message says what is wrong, where, the nearest valid name, and what to do next.
"""

from __future__ import annotations

from collections.abc import Iterable


class PlausibleError(Exception):
    """The root of all errors that plausible raises on purpose."""


class CallError(PlausibleError, ValueError):
    """The call can be mended: an unknown name or an option out of range."""


class DataError(PlausibleError, ValueError):
    """The data can be mended: a file, a row or a value that can't be used as it is."""


class ModelError(PlausibleError, ValueError):
    """The model can be mended: a damaged file, or numbers that don't fit together."""


class PlausibleWarning(UserWarning):
    """Something was done that the user should know of."""


def unknown(what: str, name: str, known: Iterable[str], *, then: str = "", most: int = 12) -> str:
    """The sentence for a name that isn't there, with what else to know or do, and the nearest one that is.

    >>> unknown("state of variable 'rain'", "Yes", ["no", "yes"])
    "unknown state of variable 'rain' 'Yes' (known: 'no', 'yes'); did you mean 'yes'?"
    """
    import difflib

    names = [str(other) for other in known]
    shown = ", ".join(repr(other) for other in names[:most])
    if len(names) > most:
        shown += f" and {len(names) - most} more"
    folded = {other.casefold(): other for other in reversed(names)}
    near = folded.get(name.casefold())
    if near is None:
        close = difflib.get_close_matches(name.casefold(), list(folded), n=1)
        near = folded[close[0]] if close else None
    hint = f"; did you mean {near!r}?" if near is not None else ""
    return f"unknown {what} {name!r} (known: {shown or 'none'}){then and '; '}{then}{hint}"
