"""Where the reader's articles come from: feeds, newsgroups, mail and folders."""

from plausible.collecting.outcome import Limits, Visit
from plausible.collecting.recognition import recognise
from plausible.collecting.visits import visit

__all__ = ["Limits", "Visit", "recognise", "visit"]
