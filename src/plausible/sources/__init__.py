"""Everything that turns what a user points at into a stream of tables, in bounded memory.

`open_source` looks at what it is given and picks the reader; a `Source` yields `Table`s at every pass. A new
kind of file is one module with a function that recognises it and one that opens it, and a line in
`opening.KINDS`.
"""

from plausible.sources.mail import html_text, looks_like_mail, message_text
from plausible.sources.opening import KINDS, Kind, Query, open_source
from plausible.sources.table import Column, Note, Options, Source, Table, cell_text

__all__ = [
    "KINDS",
    "Column",
    "Kind",
    "Note",
    "Options",
    "Query",
    "Source",
    "Table",
    "cell_text",
    "html_text",
    "looks_like_mail",
    "message_text",
    "open_source",
]
