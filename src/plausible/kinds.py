"""Which columns of a source take part and what each is: named by the user, or found by looking at the first rows."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from plausible.columns import TEXT_NAMES, Columns, column_named
from plausible.errors import CallError, PlausibleWarning, unknown
from plausible.schema import Kind, Variable
from plausible.sources import Source
from plausible.sources.table import ROWS_TO_LOOK_AT
from plausible.wording import quantity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TARGET_NAMES = ("class", "label", "target", "category", "topic")
KINDS = ("categorical", "continuous", "date", "text", "bins", "bins:N", "mdl", "low<middle<high", "one|other")

Look = Kind | Literal["mdl", "ignored"]

FEW = 10
"""Whole numbers with at most this many values, each seen five times or more on average, are categories."""

_CODE = re.compile(r"0\d+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")


@dataclass(frozen=True, slots=True)
class Uncut(Variable):
    """A continuous variable that is to be cut into intervals by what is learned of it.

    Parameters
    ----------
    intervals : int or "mdl"
        So many, of equal frequency; or those of the minimum description length.
    """

    intervals: int | Literal["mdl"] = "mdl"


@dataclass(frozen=True, slots=True)
class Said:
    """What the user says of columns: names of texts, the class and the weights, what others are, and what to ignore."""

    text: tuple[str, ...] = ()
    target: str | None = None
    kinds: Mapping[str, str] | None = None
    ignored: tuple[str, ...] = ()
    weights: str | None = None

    def names(self) -> Iterable[str]:
        return (
            *self.text,
            *(self.kinds or {}),
            *self.ignored,
            *(name for name in (self.target, self.weights) if name),
        )


def choose_columns(source: Source, said: Said | None = None) -> Columns:
    """The columns that the user named, and what all others are by the look of them.

    Columns named as text, with nothing else said, are all that takes part. Without them each column is looked at.

    Raises
    ------
    CallError
        For an unknown column, and where no column can be the class or nothing is left to learn from.
    """
    said = said or Said()
    for name in said.names():
        if name not in source.columns:
            raise CallError(unknown(f"column of {source.name}", name, source.columns))
    if source.documents:
        return Columns(said.text or ("text",), said.target or "class")
    target = said.target or column_named(source.columns, TARGET_NAMES)
    if target is None:
        raise CallError(f"which column of {source.name} is the class? say --target NAME (columns: {_list(source)})")
    if target in said.text:
        raise CallError(f"column {target!r} is both the class and text; name another --text")
    if said.text and not said.kinds and not said.ignored:
        return Columns(said.text, target, (), said.weights)
    rest = [name for name in source.columns if name not in (target, said.weights, *said.ignored)]
    kinds = {**_looked_at(source, rest, said), **dict.fromkeys(said.text, "text"), **(said.kinds or {})}
    texts = tuple(name for name in rest if kinds[name] == "text")
    attributes = tuple(_variable(name, kinds[name]) for name in rest if kinds[name] not in ("text", "ignored"))
    if not texts and not attributes:
        raise CallError(f"no column of {source.name} is left to learn from (columns: {_list(source)})")
    if texts and any(variable.name == "text" for variable in attributes):
        raise CallError("a column named 'text' is not text while others are; rename it, or say --as text=text")
    return Columns(texts, target, attributes, said.weights)


def _list(source: Source) -> str:
    return ", ".join(repr(name) for name in source.columns)


def _variable(name: str, kind: str) -> Variable:
    """The variable that a kind means.

    >>> _variable("size", "small<medium<large")
    Variable(name='size', kind='categorical', states=('small', 'medium', 'large'), ordered=True, cuts=(), dates=False)
    """
    for sign in "<|":
        if sign in kind:
            return Variable(name, "categorical", tuple(kind.split(sign)), ordered=sign == "<")
    if kind in ("categorical", "continuous"):
        return Variable(name, kind)  # type: ignore[arg-type]
    if kind == "date":
        return Variable(name, "continuous", dates=True)
    intervals = binning(kind)
    if intervals is not None:
        return Uncut(name, "continuous", intervals=intervals)
    raise CallError(f"--as {name}={kind}: " + unknown("kind of column", kind, KINDS))


def binning(kind: str) -> int | Literal["mdl"] | None:
    """Into how many intervals a kind cuts a column, or that their number is found by the description length.

    >>> [binning(kind) for kind in ("bins", "bins:4", "mdl", "text")]
    [10, 4, 'mdl', None]
    """
    if kind == "mdl":
        return "mdl"
    word, colon, number = kind.partition(":")
    if word != "bins" or (colon and not number.isdecimal()):
        return None
    if colon and int(number) < 2:
        raise CallError(f"{kind}: choose at least 2 intervals")
    return int(number) if colon else 10


def _looked_at(source: Source, names: Sequence[str], said: Said) -> dict[str, str]:
    """What each column is by its first rows, and a warning of what the user may want otherwise."""
    unsaid = [name for name in names if name not in (said.kinds or {}) and name not in said.text]
    if not unsaid:
        return {}
    cells: dict[str, Counter[str]] = {name: Counter() for name in unsaid}
    seen = 0
    typed = source.typed(source, tuple(unsaid), frozenset(), ROWS_TO_LOOK_AT) if source.typed is not None else None
    for table in source.tables(unsaid) if typed is None else typed:
        for name in unsaid:
            column: Any = table.columns[name]
            if isinstance(column, tuple):
                cells[name].update(_counted(*column))
            else:
                cells[name].update(filter(None, islice(column, ROWS_TO_LOOK_AT)))
        seen += len(table)
        if seen >= ROWS_TO_LOOK_AT:
            break
    if typed is not None:
        typed.close()
    named = column_named(unsaid, TEXT_NAMES)
    kinds: dict[str, str] = {}
    for name in unsaid:
        kind, why = look(cells[name])
        if kind not in ("continuous", "mdl", "text") and (name == named or (kind == "ignored" and len(names) == 1)):
            kind, why = "text", ""
        kinds[name] = kind
        if why:
            why = why.replace("NAME", name)
            warnings.warn(f"{source.name}, column {name!r} {why}", PlausibleWarning, stacklevel=2)
    return kinds


def _counted(codes: npt.NDArray[np.int32], states: Sequence[str]) -> dict[str, int]:
    """How often each state occurs in the first rows."""
    import numpy as np

    first = codes[:ROWS_TO_LOOK_AT]
    times = np.bincount(first[first >= 0])
    return {states[code]: times[code].item() for code in np.flatnonzero(times).tolist()}


def look(values: Counter[str]) -> tuple[Look, str]:
    """What a column is, by how often it has each value that is not missing; and what to say of it, if anything.

    Examples
    --------
    >>> look(Counter(["red", "blue", "red"]))
    ('categorical', '')
    >>> look(Counter(["3.5", "4", "-1e3"]))
    ('continuous', '')
    >>> look(Counter(f"D{day}" for day in range(14)))
    ('ignored', 'is different in every row: left out as an identifier; --as NAME=categorical takes it in')
    >>> look(Counter(["4", "6", "8"] * 10))[0]
    'categorical'
    """
    n = values.total()
    if not n:
        return "categorical", ""
    codes = any(map(_CODE.fullmatch, values))
    numbers = [] if codes else [number for number in map(_number, values) if number is not None]
    if len(numbers) == len(values):
        return _look_at_numbers(values, numbers)
    if all(_DATE.fullmatch(value) for value in values):
        if 5 * len(values) <= n and len(values) <= 100:
            return "categorical", ""
        return "ignored", (
            "holds dates: left out, since those to come are unlike those learned; --as NAME=date takes them as days, "
            "and a column with the month or the weekday may tell more"
        )
    longish = sum(len(value.split()) >= 4 or len(value) >= 50 for value in values) >= len(values) / 2
    if longish and 2 * len(values) > n:
        return "text", ""
    if numbers and 2 * len(numbers) > len(values) > FEW:
        odd = min(value for value in values if _number(value) is None)
        return "categorical", (
            f"holds numbers, but also {odd!r}: taken as categories; mend or empty those cells to have it as numbers"
        )
    if n >= 5 and (len(values) == n or (n >= 100 and len(values) > 0.9 * n)):
        almost = "" if len(values) == n else "almost "
        return "ignored", (
            f"is different in {almost}every row: left out as an identifier; --as NAME=categorical takes it in"
        )
    if codes and all(map(str.isdecimal, values)):
        return "categorical", "holds numbers that begin with 0: taken as categories; --as NAME=continuous for numbers"
    return "categorical", ""


def _look_at_numbers(values: Counter[str], numbers: Sequence[float]) -> tuple[Look, str]:
    n, different = values.total(), len(numbers)
    whole = all(number == number // 1 for number in numbers)
    if whole and n >= 8 and different == n and max(numbers) - min(numbers) == n - 1:
        return "ignored", "numbers the rows: left out as an identifier; --as NAME=continuous takes it in"
    if whole and different <= FEW and n >= 5 * different:
        if different <= 2:
            return "categorical", ""
        return "categorical", (
            f"holds numbers with {quantity(different, 'different value')}: taken as categories; "
            "--as NAME=continuous for numbers"
        )
    value, times = values.most_common(1)[0]
    if 2 * times > n >= 100 and different > FEW:
        return "mdl", (
            f"holds {value} in most rows, which is far from normal: cut into intervals where the class changes; "
            "--as NAME=continuous takes it as a normal distribution"
        )
    return "continuous", ""


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
