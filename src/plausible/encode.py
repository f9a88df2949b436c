"""From tables to what is counted: which columns hold the text and the class, and their cells in bounded chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plausible.errors import CallError, DataError, unknown
from plausible.sources import Source, Table

TARGET_NAMES = ("class", "label", "target", "category", "topic")
TEXT_NAMES = ("text", "message", "body", "content", "document")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a source that take part: the texts, joined into one document, and the class."""

    text: tuple[str, ...] = ("text",)
    target: str | None = "class"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some documents: their texts, their classes where known, and where each came from."""

    texts: list[str]
    labels: list[str | None]
    place: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.texts)


def choose_columns(source: Source, text: Sequence[str] = (), target: str | None = None) -> Columns:
    """The columns named by the user, or those that a name gives away; CallError if none does."""
    for name in (*text, *([target] if target else [])):
        if name not in source.columns:
            raise CallError(unknown(f"column of {source.name}", name, source.columns))
    if source.documents:
        return Columns(tuple(text) or ("text",), target or "class")
    if target is None:
        target = _named(source, TARGET_NAMES)
        if target is None:
            raise CallError(f"which column of {source.name} is the class? say --target NAME (columns: {_list(source)})")
    if not text:
        found = _named(source, TEXT_NAMES)
        others = [name for name in source.columns if name != target]
        if found is None and len(others) == 1:
            found = others[0]
        if found is None:
            raise CallError(f"which columns of {source.name} hold the text? say --text NAME (columns: {_list(source)})")
        text = (found,)
    if target in text:
        raise CallError(f"column {target!r} is both the class and text; name another --text")
    return Columns(tuple(text), target)


def _named(source: Source, names: Sequence[str]) -> str | None:
    folded = {name.casefold(): name for name in reversed(source.columns)}
    return next((folded[name] for name in names if name in folded), None)


def _list(source: Source) -> str:
    return ", ".join(repr(name) for name in source.columns)


def text_columns(source: Source, learned: Columns) -> Columns:
    """The columns of a source that is to be classified: those that were learned, and the class if it is there."""
    if source.documents:
        return Columns(("text",), "class")
    target = learned.target if learned.target in source.columns else None
    if all(name in source.columns for name in learned.text):
        return Columns(learned.text, target)
    found = _named(source, TEXT_NAMES)
    if learned.text == ("text",) and found is not None:
        return Columns((found,), target)
    missing = next(name for name in learned.text if name not in source.columns)
    raise CallError(unknown(f"column of {source.name}", missing, source.columns) + "; the model was learned from it")


def batches(source: Source, columns: Columns) -> Iterator[Batch]:
    """The documents of a source, a chunk at a time."""
    wanted = list(columns.text)
    if columns.target is not None:
        wanted.append(columns.target)
    for table in source.tables(wanted):
        yield Batch(_texts(table, columns.text), _labels(table, columns.target), table.place)


def _texts(table: Table, names: Sequence[str]) -> list[str]:
    columns: list[Any] = [table.columns[name] for name in names]
    if len(columns) == 1:
        return [text or "" for text in columns[0]]
    return ["\n".join(filter(None, texts)) for texts in zip(*columns, strict=True)]


def _labels(table: Table, name: str | None) -> list[str | None]:
    if name is None:
        return [None] * len(table)
    column: list[str | None] = table.columns[name]  # type: ignore[assignment]
    return [label or None for label in column]


def labelled(batch: Batch, target: str | None, *, strict: bool) -> Batch:
    """The documents of a batch that have a class; with `strict`, DataError for the first that has none."""
    if None not in batch.labels:
        return batch
    if strict:
        raise DataError(
            f"{batch.place(batch.labels.index(None))}: no class in {target!r}; fill it in or leave out --strict"
        )
    kept = [i for i, label in enumerate(batch.labels) if label is not None]
    return Batch([batch.texts[i] for i in kept], [batch.labels[i] for i in kept], lambda i: batch.place(kept[i]))
