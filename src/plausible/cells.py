"""Columns to cells: numbers, states, and weights that add up exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from plausible import _native
from plausible.counts import Coded
from plausible.errors import CallError, DataError
from plausible.schema import Variable
from plausible.sources import cell_text
from plausible.wording import quantity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WEIGHT_UNIT = 2.0**-30
"""Weights are kept to this, so that they add up exactly in any order."""
LARGEST = 1e150
"""The largest number of a column in size: its square is still a number."""
MOST_TIMES = 1 << 31
"""The largest weight of a row with text."""


Labels = Sequence[str] | Coded


class Batch:
    """Some rows or documents.

    Attributes
    ----------
    cells : mapping of str to list or array
        By attribute. "text" holds the documents; a categorical column texts with None where missing, or `Coded`;
        a continuous one float64 with NaN where missing.
    labels : list of str or None, or Coded
        Their classes where known.
    place : function of int to str
        Where a row came from.
    weights : array of float64, optional
    own : mapping of str to list or Coded, optional
        All columns of the table, as texts.
    """

    __slots__ = ("cells", "labels", "own", "place", "weights")

    def __init__(
        self,
        cells: Mapping[str, Any],
        labels: Any,
        place: Callable[[int], str],
        weights: npt.NDArray[np.float64] | None = None,
        own: Mapping[str, Any] | None = None,
    ) -> None:
        self.cells = cells
        self.labels = labels
        self.place = place
        self.weights = weights
        self.own = own

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def texts(self) -> list[str]:
        """The documents, empty where the rows have no text."""
        return self.cells["text"] if "text" in self.cells else [""] * len(self)

    def take(self, rows: Sequence[int]) -> Batch:
        """Some of the rows."""
        return Batch(
            {name: taken(cells, rows) for name, cells in self.cells.items()},
            taken(self.labels, rows),
            lambda i: self.place(rows[i]),
            taken(self.weights, rows),
            None if self.own is None else {name: taken(column, rows) for name, column in self.own.items()},
        )


def names_of(labels: Any) -> list[str]:
    """Labels as a list of texts."""
    return [labels.states[code] for code in labels.codes.tolist()] if isinstance(labels, Coded) else labels


def taken(values: Any, rows: Sequence[int] | npt.NDArray[np.intp]) -> Any:
    """Some of the values of a column."""
    if values is None:
        return None
    if isinstance(values, list):
        return [values[i] for i in rows]
    if isinstance(values, Coded):
        return Coded(values.codes[rows], values.states)
    return values[rows]


def values_of(column: Any) -> list[Any]:
    """The values of a column, None where one is missing."""
    if isinstance(column, Coded):
        states = [*column.states, None]
        return [states[code] for code in column.codes.tolist()]
    if hasattr(column, "tolist"):
        return [None if isinstance(value, float) and value != value else value for value in column.tolist()]
    return list(column)


def as_states(column: Any) -> Any:
    """Floats as the texts that they are in any table; texts as they are.

    >>> import numpy as np
    >>> values_of(as_states(np.array([2.0, 0.5, np.nan])))
    ['2', '0.5', None]
    """
    if column is None or isinstance(column, list | Coded):
        return column
    import numpy as np

    different, at = np.unique(column, return_inverse=True)
    states = [text for text in map(cell_text, different.tolist()) if text is not None]  # NaN, the last, is none
    return Coded(np.where(at < len(states), at, -1).astype(np.int32), states)


def encoded(column: Any, variable: Variable, rows: int, place: Callable[[int], str]) -> Any:
    """The cells of a variable: floats, states, or texts that are still to become states."""
    if column is None and variable.kind == "categorical":
        return [None] * rows
    if not variable.holds_numbers:
        return column
    import numpy as np

    if column is not None and variable.dates:
        column = _days(column, variable.name, place)
    numbers = np.full(rows, np.nan) if column is None else np.asarray(column, float)
    if max(np.fmax.reduce(numbers, initial=0.0), -np.fmin.reduce(numbers, initial=0.0)) > LARGEST:
        at = int((np.abs(numbers) > LARGEST).argmax())
        limit = "" if np.isinf(numbers[at]) else f", beyond {LARGEST:g}"
        raise DataError(
            f"{place(at)}: column {variable.name!r} holds {numbers[at]}{limit}; empty the cell, or leave the row out"
        )
    if not variable.cuts:
        return numbers
    return Coded(_native.intervals(np.ascontiguousarray(numbers), np.array(variable.cuts)), variable.states)


def _days(column: Any, name: str, place: Callable[[int], str]) -> npt.NDArray[np.float64]:
    """Dates as days since 1970; DataError for the first that is none."""
    import numpy as np

    states: list[str | None] = list(column.states) if isinstance(column, Coded) else list(dict.fromkeys(column))
    days = {state: day(state) if state else np.nan for state in states}
    odd = next((state for state, value in days.items() if state and value is None), None)
    if odd is not None:
        at = int((column.codes == states.index(odd)).argmax()) if isinstance(column, Coded) else column.index(odd)
        raise DataError(
            f"{place(at)}: {odd[:80]!r} in column {name!r} is no date such as 2024-01-31 or 2024-01-31 17:05; "
            "mend it, or leave the column out"
        )
    if isinstance(column, Coded):
        return np.array([*days.values(), np.nan], np.float64)[column.codes]
    return np.array([days[cell] for cell in column], np.float64)


def day(text: str) -> float | None:
    """A date as days since 1970, in universal time; None if it is none.

    >>> day("1970-01-03"), day("1970-01-01 12:00"), day("1970-01-01T12:00+06:00"), day("soon")
    (2.0, 0.5, 0.25, None)
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(days=1)


def date_of(days: float) -> str:
    """The date that so many days since 1970 are.

    >>> date_of(19753.0), date_of(19753.5)
    ('2024-01-31', '2024-01-31 12:00:00')
    """
    moment = datetime(1970, 1, 1) + timedelta(days=days)
    return str(moment.date()) if days == int(days) else str(moment)


def checked_weights(
    column: Any, name: str, place: Callable[[int], str], *, whole: bool = False
) -> npt.NDArray[np.float64]:
    """Weights to a multiple of 2^-30; DataError for the first that is missing, not finite, or not above 0.

    With `whole` also for the first that is no whole number, or more than 2^31.
    """
    import numpy as np

    weights = np.rint(np.asarray(column, float) / WEIGHT_UNIT) * WEIGHT_UNIT
    bad = ~((weights > 0) & np.isfinite(weights))
    if bad.any():
        at = int(bad.argmax())
        what = "no weight" if np.isnan(weights[at]) else f"weight {column[at]:g}"
        raise DataError(
            f"{place(at)}: {what} in column {name!r}; weights are finite numbers above 0, "
            "so leave the row out or mend it"
        )
    if whole and (odd := (weights != np.rint(weights)) | (weights > MOST_TIMES)).any():
        at = int(odd.argmax())
        raise DataError(
            f"{place(at)}: weight {column[at]:g} in column {name!r}; rows with text are counted so many times, "
            "so their weights are whole numbers up to 2^31: multiply all of them by one number, and the smoothing too"
        )
    return weights


def check_documents(documents: Sequence[str], labels: Labels | None) -> None:
    """CallError unless there is a label for each document; DataError for the first that is no text."""
    if labels is not None and len(documents) != len(labels):
        raise CallError(
            f"{quantity(len(documents), 'document')} and {quantity(len(labels), 'label')}; give one label a document"
        )
    if set(map(type, documents)) <= {str}:
        return
    for i, value in enumerate(documents):
        if not isinstance(value, str):
            raise DataError(f"document {i} is {value!r}, not text; leave it out or make it a string")


def check_labels(labels: Labels, rows: int) -> None:
    """CallError unless there is a label for each row; DataError for the first that can be no name of a class."""
    if len(labels) != rows:
        raise CallError(f"{quantity(rows, 'row')} and {quantity(len(labels), 'label')}; give one label a row")
    if isinstance(labels, Coded) and len(labels) and labels.codes.min() < 0:
        raise DataError(f"row {int(labels.codes.argmin())} has no label; leave it out")
    names = labels.states if isinstance(labels, Coded) else labels
    if not set(map(type, names)) <= {str}:
        for i, value in enumerate(names):
            if not isinstance(value, str):
                raise DataError(f"label {i} is {value!r}, not text; leave it out or make it a string")
    for label in set(names):
        if not label or any("\ud800" <= c <= "\udfff" for c in label):
            fault = "holds half a character (a lone surrogate)" if label else "is empty"
            raise DataError(f"label {list(names).index(label)} {fault}; name the class, or leave the document out")
