"""Values that a model has never seen: reported, or refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from plausible.attributes import unseen
from plausible.cells import Batch
from plausible.errors import DataError
from plausible.learning.classifier import warn
from plausible.model import Model
from plausible.wording import quantity


def reported(model: Model, batches: Iterable[Batch], *, strict: bool) -> Iterator[Batch]:
    """The batches, and at the end a warning for each column with values that were never learned.

    With `strict` the first such value is a DataError.
    """
    first: dict[str, tuple[str, str]] = {}
    cells: dict[str, int] = {}
    for batch in batches:
        for found in unseen(model.cpds, batch.cells):
            place = batch.place(found.row)
            if strict:
                raise DataError(
                    f"{place}: {found.value!r} in column {found.column!r} was never learned; mend it, or leave out "
                    "--strict to take it as missing"
                )
            first.setdefault(found.column, (place, found.value))
            cells[found.column] = cells.get(found.column, 0) + found.cells
        yield batch
    for column, (place, value) in first.items():
        warn(
            f"column {column!r} has {quantity(cells[column], 'value')} never learned, such as {value!r} ({place}): "
            "taken as missing"
        )
