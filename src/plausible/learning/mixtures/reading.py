"""From a source to the rows of a star: categories, numbers with gaps, and the words of texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from shlex import quote

import numpy as np

from plausible.errors import CallError, DataError, unknown
from plausible.learning.mixtures.points import LARGEST
from plausible.learning.mixtures.stars import StarRows
from plausible.learning.mixtures.words import Bags, Entries, Words, beside
from plausible.schema import Schema, Variable
from plausible.sources import Source
from plausible.text import Tokens
from plausible.wording import quantity


def schema_of(
    source: Source, columns: Sequence[str] = (), categories: frozenset[str] = frozenset(), text: Sequence[str] = ()
) -> Schema:
    """The columns that take part, numbers as numbers, and the states that the others have; texts come last."""
    for name in (*columns, *categories, *text):
        if name not in source.columns:
            raise CallError(unknown(f"column of {source.name}", name, source.columns))
    names = [name for name in columns if name not in text]
    numeric = [name for name in names if name in source.numeric and name not in categories]
    states: dict[str, dict[str, None]] = {name: {} for name in names if name not in numeric}
    rows = 0
    for table in source.tables(names) if names else ():
        rows += len(table)
        for name, seen in states.items():
            seen.update(dict.fromkeys(str(cell) for cell in table.columns[name] if cell not in (None, "")))
    if names and not rows:
        raise DataError(f"{source.name} has no rows")
    for name, seen in states.items():
        if not seen:
            raise DataError(f"column {name!r} of {source.name} has no values at all: leave it out")
        if len(seen) == rows > 20:
            raise DataError(
                f"column {name!r} of {source.name} has another value in each of {quantity(rows, 'row')}: it is a name, "
                f"not a category; leave it out, or take it as text (--text {quote(name)})"
            )
    columns_ = [
        Variable(name, "continuous") if name in numeric else Variable(name, states=tuple(sorted(states[name])))
        for name in names
    ]
    return Schema((*columns_, *(Variable(name, "text") for name in text)))


def learned_rows(
    source: Source, schema: Schema, tokens: Tokens, stop: Iterable[str] = (), threads: int | None = None
) -> tuple[StarRows, Words | None]:
    """The rows of a source as a star sees them, and the words that tell them apart, if there is text."""
    threads = threads or os.cpu_count() or 1
    rows, bags = _read(source, schema, tokens, threads)
    if bags is None:
        return rows, None
    words, entries = Words.of(bags, source.name, stop, threads)
    return _with_words(rows, entries, len(words.terms)).turned(), words


def encoded(source: Source, schema: Schema, words: Words | None = None, threads: int | None = None) -> StarRows:
    """New rows as they look to a star that is learned."""
    threads = threads or os.cpu_count() or 1
    rows, bags = _read(source, schema, words.tokens if words else Tokens(), threads)
    if bags is None or words is None:
        return rows
    return _with_words(rows, words.entries(bags, threads), len(words.terms))


def _with_words(rows: StarRows, entries: Entries, terms: int) -> StarRows:
    times = np.ones(len(rows.features), np.float32) if rows.times is None else rows.times
    both = entries if not rows.size else beside(Entries(rows.starts, rows.features, times), entries, rows.size)
    return StarRows(*both, rows.numbers, (*rows.variables, (rows.size, rows.size + terms)))


def _read(source: Source, schema: Schema, tokens: Tokens, threads: int) -> tuple[StarRows, Bags | None]:
    for name in schema.names:
        if name not in source.columns:
            raise CallError(unknown(f"column of {source.name}", name, source.columns))
    categorical = [v for v in schema.variables if v.kind == "categorical"]
    numeric = [v.name for v in schema.variables if v.kind == "continuous"]
    ends = np.cumsum([0, *(len(v.states) for v in categorical)]).tolist()
    codes = [
        {state: first + i for i, state in enumerate(v.states)} for v, first in zip(categorical, ends, strict=False)
    ]
    texts = [v.name for v in schema.variables if v.kind == "text"]
    bags = Bags(tokens) if texts else None
    chunks, numbers = [], []
    for table in source.tables(list(schema.names), numeric):
        if bags is not None:
            joined = zip(*(table.columns[name] for name in texts), strict=True)
            bags.add(["\n".join(filter(None, parts)) for parts in joined], threads)
        cells = [
            [code.get(str(cell), -1) for cell in table.columns[v.name]]
            for v, code in zip(categorical, codes, strict=True)
        ]
        chunks.append(np.array(cells, dtype=np.int32).reshape(len(categorical), len(table)).T)
        columns = [np.asarray(table.columns[name], dtype=np.float64) for name in numeric]
        numbers.append(np.array(columns, dtype=np.float64).reshape(len(numeric), len(table)).T)
        for d, name in enumerate(numeric):
            wild = np.flatnonzero(np.abs(numbers[-1][:, d]) > LARGEST)
            if wild.size:
                raise DataError(
                    f"{table.place(int(wild[0]))}: {numbers[-1][wild[0], d]} in column {name!r} is too large; "
                    f"make it a number below {LARGEST:g}, or leave it empty"
                )
    if not chunks:
        raise DataError(f"{source.name} has no rows")
    dense, values = np.concatenate(chunks), np.ascontiguousarray(np.concatenate(numbers))
    there = dense >= 0
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    return StarRows(starts, dense[there], None, values, tuple(pairwise(ends))), bags
