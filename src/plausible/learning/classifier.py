"""Learning to classify text: from a source, or from lists."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from plausible.encode import Batch, batches, choose_columns, labelled
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.model import Model, Reading
from plausible.priors import Events, Rules, Smoothing
from plausible.sources import Source, open_source
from plausible.text import Tokens

Progress = Callable[[Source], None]


@dataclass(frozen=True)
class Options:
    """What the user says of learning; see `Rules`, `Tokens` and `sources.Options` for each."""

    target: str | None = None
    text: Sequence[str] = ()
    where: str | None = None
    encoding: str | None = None
    headers: str | None = None
    strict: bool = False
    tokens: Tokens = field(default_factory=Tokens)
    rules: Rules = field(default_factory=Rules)
    threads: int | None = None

    def open(self, given: Any) -> Source:
        if isinstance(given, Source):
            return given
        return open_source(given, encoding=self.encoding, headers=self.headers, where=self.where, strict=self.strict)

    def model_for(self, source: Source) -> Model:
        """An untrained model that reads documents as this source is read."""
        columns = choose_columns(source, self.text, self.target)
        return Model(self.tokens, self.rules, Reading(columns, self.headers))


def options_from(
    *,
    target: str | None = None,
    text: str | Sequence[str] = (),
    where: str | None = None,
    encoding: str | None = None,
    headers: str | None = None,
    events: Events = "multinomial",
    smoothing: str | Smoothing = "laplace",
    prior: Literal["fractions", "uniform"] | dict[str, float] = "fractions",
    drop_most_frequent: int = 0,
    min_count: int = 1,
    min_length: int = 1,
    stop_words: Iterable[str] = (),
    ngrams: tuple[int, int] = (1, 1),
    chars: tuple[int, int] | None = None,
    stem: str | None = None,
    threads: int | None = None,
    strict: bool = False,
) -> Options:
    """The options of learning from the keywords of `learn`."""
    if threads is not None and threads < 1:
        raise CallError(f"threads must be at least 1, not {threads}")
    return Options(
        target=target,
        text=(text,) if isinstance(text, str) else tuple(text),
        where=where,
        encoding=encoding,
        headers=headers,
        strict=strict,
        tokens=Tokens((ngrams[0], ngrams[1]), (chars[0], chars[1]) if chars else None, stem),
        rules=Rules(
            events=events,
            smoothing=Smoothing.parse(smoothing),
            prior=prior,
            drop_most_frequent=drop_most_frequent,
            min_count=min_count,
            min_length=min_length,
            stop_words=frozenset(stop_words),
        ),
        threads=threads,
    )


def learn(source: Any, labels: Sequence[str] | None = None, **options: Any) -> Model:
    """Learn to classify documents.

    Parameters
    ----------
    source : list of str with `labels`, or anything `open_source` reads
        A folder with one sub-folder a class, mail, a table, SQL, or a data frame.
    labels : sequence of str, optional
        The class of each document, when `source` is a list of texts.
    target, text : str
        The columns of a table that hold the class and the text (several texts are joined).
    options
        The fields of `Rules`, `Tokens` and `sources.Options`, as in
        `learn(..., events="bernoulli", smoothing="m=100", ngrams=(1, 2), threads=2)`.

    Raises
    ------
    CallError, DataError
        For an unknown column, an unreadable file, or nothing to learn from.

    Examples
    --------
    >>> model = learn(["win money now", "cheap money", "meeting at noon"], ["spam", "spam", "ham"])
    >>> model
    Model(3 documents, 2 classes)
    """
    chosen = options_from(**options)
    if labels is not None:
        model = Model(chosen.tokens, chosen.rules, Reading(headers=chosen.headers))
        model.update(source, labels, chosen.threads)
        if not model.documents:
            raise DataError("there are no documents to learn from")
        _warn_of_one_class(model)
        return model
    if (
        isinstance(source, list | tuple)
        and source
        and all(isinstance(one, str) and not os.path.exists(one) for one in source)
    ):
        raise CallError("a list of texts needs labels, one a document: learn(documents, labels)")
    return learn_from(chosen.open(source), chosen)


def learn_from(source: Source, options: Options, progress: Progress | None = None) -> Model:
    """Learn all the labelled documents of a source, in one pass and bounded memory."""
    model = options.model_for(source)
    skipped = read_labelled(source, model, options, lambda batch: _learn_batch(model, batch, options), progress)
    if not model.documents:
        hint = f"all {skipped:,} documents lack a class" if skipped else "it holds no documents"
        raise DataError(f"there is nothing to learn from {source.name}: {hint}")
    _warn_of_one_class(model)
    return model


def _learn_batch(model: Model, batch: Batch, options: Options) -> None:
    model.update(batch.texts, batch.labels, options.threads)  # type: ignore[arg-type]


def read_labelled(
    source: Source,
    model: Model,
    options: Options,
    use: Callable[[Batch], None],
    progress: Progress | None = None,
) -> int:
    """Hand every labelled document of a source to `use`, say what was noted, and return how many had no class."""
    skipped = 0
    columns = model.reading.columns
    for batch in batches(source, columns):
        kept = labelled(batch, columns.target, strict=options.strict)
        skipped += len(batch) - len(kept)
        if len(kept):
            use(kept)
        if progress is not None:
            progress(source)
    say_notes(source.notes, source.name)
    if skipped:
        warn(f"{skipped:,} documents of {source.name} have no class in {columns.target!r}; they were skipped")
    return skipped


def say_notes(notes: Counter[str], name: str) -> None:
    for note, times in notes.items():
        warn(f"{name}: {note}" + (f" ({times:,} times)" if times > 1 else ""))


def _warn_of_one_class(model: Model) -> None:
    if len(model.classes) == 1:
        warn(f"there is one class only ({model.classes[0]!r}); every document will be of it. Add another class")


def warn(message: str) -> None:
    warnings.warn(message, PlausibleWarning, stacklevel=3)
