"""What a model answers, as plain values: the classes of documents and rows."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

from plausible.counts import Coded
from plausible.decisions import MOST_PROBABLE, Decision
from plausible.model import Model
from plausible.scores import Scores
from plausible.scoring import Documents
from plausible.wording import quantity

EMPTY = "no text: answered by the prior"
UNKNOWN = "no known word: answered by the prior"
NO_VALUE = "every value is missing: answered by the prior"
UNKNOWN_VALUES = "no known value: answered by the prior"
UNDEFINED = "no class can have produced it (all products are 0): answered by the prior; choose smoothing above 0"


class Answer(NamedTuple):
    """The class of one document.

    Attributes
    ----------
    label : str or None
        The class with the least expected cost: the most probable one, if all mistakes cost the same; of equally good
        ones the first by name. None where the answer is to be unsure.
    probability : float
        Of the label, or of the most probable class.
    probabilities : dict of str to float
        Of every class, by name.
    tokens, known : int
        Terms and cells of the document, and those of them that the model knows.
    note : str
        What the reader should know, such as that the document is empty.
    """

    label: str | None
    probability: float
    probabilities: dict[str, float]
    tokens: int
    known: int
    note: str = ""


class Answers(Sequence[Answer]):
    """The classes of many documents: a sequence of `Answer`, and the same by column.

    Attributes
    ----------
    classes : list of str
    """

    def __init__(self, scores: Scores, decision: Decision = MOST_PROBABLE, *, rows: bool = False) -> None:
        self._scores, self._rows = scores, rows
        self._empty, self._unknown = (NO_VALUE, UNKNOWN_VALUES) if rows else (EMPTY, UNKNOWN)
        self.classes = scores.classes
        self._chosen = decision.choose(scores)

    @property
    def labels(self) -> list[str | None]:
        """The class of each document; None where the answer is to be unsure."""
        classes = self.classes
        return [None if i < 0 else classes[i] for i in self._chosen]

    @property
    def log_probabilities(self) -> Any:
        """ln P(class given document), a numpy array of shape (documents, classes), in nats."""
        import numpy as np

        return np.asarray(self._scores.log_posterior)

    @property
    def probabilities(self) -> Any:
        """P(class given document), a numpy array of shape (documents, classes)."""
        import numpy as np

        return np.exp(self.log_probabilities)

    @cached_property
    def stated(self) -> list[float]:
        """The probability of each answer, or of the most probable class where there is none."""
        if self._rows:
            return list(self._stated_of_rows().tolist())
        rows, best = memoryview(self._scores.log_posterior), memoryview(self._scores.best)
        return [math.exp(rows[i, k if k >= 0 else best[i]]) for i, k in enumerate(self._chosen)]

    @cached_property
    def notes(self) -> list[str]:
        """What the reader should know of each answer."""
        notes = [""] * len(self)
        for i, note in self._noted().items():
            notes[i] = note
        return notes

    def columns(self) -> dict[str, Any]:
        """Label, probability and note of each document: lists, or of rows of a table arrays and `Coded`."""
        if not self._rows:
            return {"label": self.labels, "probability": self.stated, "note": self.notes}
        import numpy as np

        notes, codes = {"": 0}, np.zeros(len(self), np.int32)
        for i, note in self._noted().items():
            codes[i] = notes.setdefault(note, len(notes))
        labels = Coded(np.asarray(self._chosen, np.int32), self.classes)
        return {"label": labels, "probability": self._stated_of_rows(), "note": Coded(codes, list(notes))}

    def _stated_of_rows(self) -> Any:
        """`stated` as an array. Texts are answered without numpy, whose import takes longer than a short answer."""
        import numpy as np

        chosen = np.asarray(self._chosen, np.intp)
        at = np.where(chosen < 0, np.asarray(self._scores.best).astype(np.intp), chosen)
        return np.exp(np.take_along_axis(np.asarray(self._scores.log_posterior), at[:, None], 1)[:, 0])

    def _noted(self) -> dict[int, str]:
        """The notes of the documents that have one."""
        notes = dict.fromkeys(self._scores.undefined, UNDEFINED)
        tokens, best = memoryview(self._scores.tokens), memoryview(self._scores.best)
        for i, known in enumerate(memoryview(self._scores.known).tolist()):
            if not known:
                notes[i] = self._unknown if tokens[i] else self._empty
        for i, chosen in enumerate(self._chosen):
            if chosen < 0:
                notes[i] = f"unsure: perhaps {self.classes[best[i]]}" + (f"; {notes[i]}" if i in notes else "")
        return notes

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, i: int) -> Answer: ...
    @overload
    def __getitem__(self, i: slice) -> list[Answer]: ...
    def __getitem__(self, i: int | slice) -> Answer | list[Answer]:
        if isinstance(i, slice):
            return [self._answer(k) for k in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"there are only {quantity(len(self), 'answer')}")
        return self._answer(i % len(self))

    def __iter__(self) -> Iterator[Answer]:
        return (self._answer(i) for i in range(len(self)))

    def _answer(self, i: int) -> Answer:
        row = memoryview(self._scores.log_posterior)
        columns = range(len(self.classes))
        probabilities = {name: math.exp(row[i, k]) for name, k in zip(self.classes, columns, strict=True)}
        chosen = self._chosen[i]
        label = None if chosen < 0 else self.classes[chosen]
        tokens, known = memoryview(self._scores.tokens)[i], memoryview(self._scores.known)[i]
        return Answer(label, self.stated[i], probabilities, tokens, known, self.notes[i])


def classify(
    model: Model, documents: Documents | Any, threads: int | None = None, *, decision: Decision = MOST_PROBABLE
) -> Answers:
    """The class of each document or row, with the probability of every class.

    See `classify_frame` for data frames with the answers added.

    Parameters
    ----------
    documents : list of str, mapping of column to cells, or anything `open_source` reads
        A path, SQL, a data frame or a list of dictionaries is read in chunks.
    decision : Decision
        What mistakes cost, and below which probability to be unsure.

    Examples
    --------
    >>> from plausible import learn
    >>> model = learn(["win money now", "cheap money", "meeting at noon"], ["spam", "spam", "ham"])
    >>> [answer.label for answer in classify(model, ["money money", "noon", ""])]
    ['spam', 'ham', 'spam']
    >>> classify(model, [""])[0].note
    'no text: answered by the prior'
    """
    return Answers(_scores(model, documents, threads), decision, rows=bool(model.variables))


def _scores(model: Model, documents: Documents | Any, threads: int | None) -> Scores:
    """The scores of documents or cells, or of all that a source holds."""
    rows = isinstance(documents, list | tuple) and documents and all(isinstance(one, Mapping) for one in documents)
    if not rows and not isinstance(documents, str | os.PathLike) and not hasattr(type(documents), "columns"):
        return model.scores(documents, threads)
    from plausible.columns import learned_columns
    from plausible.encode import batches
    from plausible.sources import open_source

    source = open_source(documents, headers=model.reading.headers)
    columns = learned_columns(source, model.reading.columns)._replace(target=None, weights=None)
    return Scores.joined(model.classes, [model.scores(batch.cells, threads) for batch in batches(source, columns)])


def classify_frame(
    model: Model,
    frame: Any,
    *,
    probabilities: bool = False,
    decision: Decision = MOST_PROBABLE,
    threads: int | None = None,
) -> Any:
    """A data frame of the same kind with columns "label" and "probability", and with one for each class if wanted.

    Examples
    --------
    >>> import pandas as pd
    >>> from plausible import learn
    >>> frame = pd.DataFrame({"wind": ["weak", "strong", "weak"], "play": ["yes", "no", "yes"]})
    >>> model = learn(frame, target="play", kinds={"wind": "categorical"})
    >>> classify_frame(model, frame[["wind"]])["label"].tolist()
    ['yes', 'no', 'yes']
    """
    import narwhals

    from plausible.frames import as_given, collected

    held = collected(frame)
    answers = classify(model, held.to_native(), threads, decision=decision)
    given: dict[str, Any] = {"label": answers.labels, "probability": answers.stated}
    if probabilities:
        stated = answers.probabilities
        given |= {f"probability {name}": stated[:, k] for k, name in enumerate(model.classes)}
    added = held.with_columns(
        narwhals.new_series(f"predicted_{name}" if name in held.columns else name, values, backend=held.implementation)
        for name, values in given.items()
    )
    return as_given(added, frame)
