"""What every reader yields: tables of bounded size, and the source they come from.

One convention for cells, whatever the kind of file:

- a column is a list of `str | None`, unless the caller asks for it among `numbers`;
- a column asked for as numbers is a float64 array, NaN where the cell is missing;
- a column read by `typed` that is not among the numbers is its codes, -1 where the cell is missing, and their states;
- missing is None: an empty CSV cell, a JSON null, an SQL NULL, a NaN or NaT of a data frame;
- a value that isn't text becomes text by `cell_text`, so a class has one name in every format.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from plausible.errors import CallError, DataError, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Codes: TypeAlias = "tuple[NDArray[np.int32], list[str]]"
Column: TypeAlias = "list[str | None] | NDArray[np.float64] | Codes"

_TEXT = frozenset({str, type(None)})

CHUNK_ROWS = 1024
TYPED_ROWS = 1 << 16
ROWS_TO_LOOK_AT = 8192
"""First rows of a table by which it is judged what its columns are, and which texts they hold."""
CHUNK_CHARACTERS = 1 << 22
MOST_STATES = 1 << 12
"""States of a column that a reader holds from one table to the next."""
LIMIT = 1 << 28
"""The most bytes that one document, line or row may have: 256 MB."""


class Options(NamedTuple):
    """What the user says of how to read.

    Parameters
    ----------
    encoding : str, optional
        Of the bytes; recognised when not given.
    headers : str, optional
        Which headers of mail become text: all, none or NAME,NAME. By default the subject; in a table, where
        nothing is said, cells stay as they are.
    where : str, optional
        An SQL condition on the rows of a table.
    strict : bool
        Whether what would be noted is a DataError.
    """

    encoding: str | None = None
    headers: str | None = None
    where: str | None = None
    strict: bool = False


class Table:
    """A chunk of rows, column by column; `place(i)` says where row i came from."""

    __slots__ = ("columns", "place", "rows")

    def __init__(self, columns: dict[str, Column], place: Callable[[int], str], rows: int) -> None:
        self.columns = columns
        self.place = place
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    @property
    def characters(self) -> int:
        """Of the cells that are texts."""
        return sum(len(cell) for column in self.columns.values() if isinstance(column, list) for cell in column if cell)


Reader: TypeAlias = "Callable[[Source, tuple[str, ...], frozenset[str]], Iterator[Table]]"


class Typed(Protocol):
    """Reads columns without making Python values of cells; `most` says that no more rows than so many will be used.

    It yields tables of float64 arrays for the columns in `numbers`, of codes and their states for the others. It gives
    None where the types of the columns need more care.
    """

    def __call__(
        self, source: Source, columns: tuple[str, ...], numbers: frozenset[str], most: int | None = None, /
    ) -> Generator[Table] | None: ...


class Note(NamedTuple):
    """Where something was met first, and how often it was."""

    place: str
    times: int


@dataclass
class Source:
    """Something that can be read from start to end, as often as one likes.

    Attributes
    ----------
    name : str
        As the user gave it.
    columns : tuple of str
        Documents have "text", "class" and "name"; tables have their own.
    documents : bool
        Whether the rows are documents: from folders, text files or mail.
    size : int or None
        In bytes, where it is known.
    numeric : frozenset of str
        The columns that hold numbers, by their declared type or by a look at the first rows.
    floats : frozenset of str
        Those of them that are floating-point numbers by their declared type.
    where : str or None
        The SQL condition that the reader itself applies, if it can.
    frame : data frame or None
        What the rows are read from, if that is an eager data frame.
    typed : function or None
        See `Typed`.
    position : int
        How many of the `size` bytes the pass under way has read.
    notes : dict of str to Note
        What the last pass met that the user should know of; a DataError when `strict`.
    """

    name: str
    columns: tuple[str, ...]
    read: Reader = field(repr=False)
    documents: bool = False
    size: int | None = None
    numeric: frozenset[str] = frozenset()
    floats: frozenset[str] = frozenset()
    where: str | None = None
    strict: bool = False
    frame: Any = field(default=None, repr=False)
    typed: Typed | None = field(default=None, repr=False)
    position: int = field(default=0, init=False)
    notes: dict[str, Note] = field(default_factory=dict, init=False)

    def tables(self, columns: Sequence[str] | None = None, numbers: Iterable[str] = ()) -> Iterator[Table]:
        """A fresh pass over `columns` (all of them by default), those in `numbers` as float64 arrays."""
        wanted = self.columns if columns is None else tuple(dict.fromkeys(columns))
        numbers = frozenset(numbers)
        for name in (*wanted, *numbers):
            if name not in self.columns:
                raise CallError(unknown(f"column of {self.name}", name, self.columns))
        self.position = 0
        self.notes.clear()
        return self.read(self, wanted, numbers)

    def note(self, what: str, place: str) -> None:
        if self.strict:
            raise DataError(f"{place}: {what}")
        self.add_notes({what: Note(place, 1)})

    def add_notes(self, notes: Mapping[str, Note]) -> None:
        for what, (place, times) in notes.items():
            known = self.notes.get(what, Note(place, 0))
            self.notes[what] = Note(known.place, known.times + times)


class Document(NamedTuple):
    """One text with its class, if its folder gives one."""

    text: str
    label: str | None
    name: str


DOCUMENT_COLUMNS = ("text", "class", "name")


def document_tables(
    documents: Iterable[Document], columns: tuple[str, ...], numbers: frozenset[str]
) -> Iterator[Table]:
    """Documents gathered into tables."""

    def table(chunk: list[Document]) -> Table:
        cells = dict(zip(DOCUMENT_COLUMNS, map(list, zip(*chunk, strict=True)), strict=True))
        return make_table({name: cells[name] for name in columns}, numbers, lambda i: chunk[i].name, len(chunk))

    chunk: list[Document] = []
    characters = 0
    for document in documents:
        chunk.append(document)
        characters += len(document.text)
        if len(chunk) == CHUNK_ROWS or characters >= CHUNK_CHARACTERS:
            yield table(chunk)
            chunk, characters = [], 0
    if chunk:
        yield table(chunk)


def make_table(cells: dict[str, list[Any]], numbers: frozenset[str], place: Callable[[int], str], rows: int) -> Table:
    """A table in which cells of any type are text, or numbers where asked for."""
    return Table(
        {
            name: as_numbers(values, name, place) if name in numbers else as_text(values)
            for name, values in cells.items()
        },
        place,
        rows,
    )


def numbered(name: str, unit: str, numbers: Sequence[int]) -> Callable[[int], str]:
    """Places such as "tickets.csv, line 17"."""
    return lambda i: f"{name}, {unit} {numbers[i]}"


def numeric_keys(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> frozenset[str]:
    """The keys under which `rows` hold nothing but numbers and gaps."""
    return frozenset(
        name
        for name in names
        if all(type(value) in (int, float) for row in rows if (value := row.get(name)) is not None)
    )


def as_text(values: list[Any]) -> list[str | None]:
    if _TEXT.issuperset(map(type, values)):
        return values
    return [value if type(value) is str else cell_text(value) for value in values]


def as_numbers(
    values: Sequence[Any] | NDArray[np.float64], column: str, place: Callable[[int], str]
) -> NDArray[np.float64]:
    """Cells as floats, NaN where they are missing; DataError for the first that is no number."""
    import numpy as np

    try:
        return np.fromiter(map(float, values), np.float64, len(values))
    except (TypeError, ValueError, OverflowError):
        return np.array([as_number(value, column, i, place) for i, value in enumerate(values)], dtype=np.float64)


def as_number(value: Any, column: str, i: int, place: Callable[[int], str]) -> float:
    """The cell of row i as a float, NaN where it is missing; DataError if it is no number."""
    text = cell_text(value)
    if not text:
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"{place(i)}: {text[:80]!r} in column {column!r} is no number; mend the cell, or empty it if the "
            f"value is missing; to learn the column as categories say --as {column}=categorical"
        ) from None


def cell_text(value: Any) -> str | None:
    """The text of a cell, the same for a value from CSV, JSON, Parquet, SQL or a data frame.

    >>> [cell_text(value) for value in (3, 3.0, 0.5, True, None, float("nan"))]
    ['3', '3', '0.5', 'true', None, None]
    >>> import datetime
    >>> cell_text(datetime.date(1997, 3, 1)), cell_text({"a": [1, "é"]}), cell_text(b"abc")
    ('1997-03-01', '{"a": [1, "é"]}', 'abc')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer_text(value)
    if isinstance(value, float):
        if value != value:
            return None
        return _integer_text(int(value)) if value.is_integer() else repr(float(value))
    if isinstance(value, bytes | bytearray | memoryview):
        from plausible.sources.encoding import decode

        return decode(bytes(value), "a cell of bytes")[0]
    if isinstance(value, dict | list | tuple):
        import json

        return json.dumps(value, ensure_ascii=False, default=cell_text)
    if hasattr(value, "tolist"):
        return cell_text(value.tolist())
    text = str(value)
    if text in ("NaT", "<NA>", "NaN"):
        return None
    return text.rstrip("0").rstrip(".") if type(value).__name__ == "Decimal" and "." in text else text


def _integer_text(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        return hex(value)
