"""The columns that a model has learned from, and those of a source that answer to them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from plausible.errors import CallError, PlausibleWarning, unknown
from plausible.schema import Variable

if TYPE_CHECKING:
    from plausible.sources import Source

TEXT_NAMES = ("text", "message", "body", "content", "document")

PAIRS = "pairs of columns"
"""The name of the counts of columns two by two among the counts of a model; no column can have it then."""


class Columns(NamedTuple):
    """The columns of a source that take part.

    Attributes
    ----------
    text : tuple of str
        Texts, joined into one document.
    target : str, optional
        The class.
    attributes : tuple of Variable
        Categorical and continuous columns.
    weights : str, optional
        How much each row counts.
    pairs : bool
        Whether categorical columns are counted two by two, so that they can lean on one another.
    """

    text: tuple[str, ...] = ("text",)
    target: str | None = "class"
    attributes: tuple[Variable, ...] = ()
    weights: str | None = None
    pairs: bool = False

    @property
    def paired(self) -> tuple[str, ...]:
        """The columns that are counted two by two."""
        return tuple(v.name for v in self.attributes if v.kind == "categorical") if self.pairs else ()


class Reading(NamedTuple):
    """How documents were read, so that new ones are read the same way."""

    columns: Columns = Columns()
    headers: str | None = None


def column_named(columns: Sequence[str], names: Sequence[str]) -> str | None:
    folded = {name.casefold(): name for name in reversed(columns)}
    return next((folded[name] for name in names if name in folded), None)


def learned_columns(source: Source, learned: Columns) -> Columns:
    """The columns of a source that is to be classified: those that were learned, and the class if it is there."""
    if source.documents:
        if not learned.text:
            raise CallError(f"{source.name} holds documents, and the model was learned from the columns of a table")
        return Columns(("text",), "class", learned.attributes)
    target = learned.target if learned.target in source.columns else None
    weights = learned.weights if learned.weights in source.columns else None
    there = [variable.name for variable in learned.attributes if variable.name in source.columns]
    absent = [variable.name for variable in learned.attributes if variable.name not in source.columns]
    found = column_named(source.columns, TEXT_NAMES)
    text = learned.text
    if learned.text == ("text",) and "text" not in source.columns and found is not None:
        text = (found,)
    lacking = [name for name in text if name not in source.columns]
    if lacking and (not learned.attributes or len(lacking) < len(text)):
        raise CallError(
            unknown(f"column of {source.name}", lacking[0], source.columns, then="the model was learned from it")
        )
    if learned.attributes and not there and lacking == list(text):
        raise CallError(
            f"{source.name} has none of the columns that the model was learned from "
            f"({', '.join(repr(name) for name in [*text, *absent])})"
        )
    for name in [*lacking, *absent]:
        warnings.warn(
            f"{source.name} has no column {name!r}: it is missing in every row", PlausibleWarning, stacklevel=2
        )
    return Columns(() if lacking else text, target, learned.attributes, weights)
