"""What a model answers, as plain values: classes, ranks, reasons and words."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from plausible.decisions import MOST_PROBABLE, Decision
from plausible.encode import row_cells
from plausible.errors import CallError, unknown
from plausible.model import Documents, Model
from plausible.priors import m_estimate
from plausible.scores import Scores

if TYPE_CHECKING:
    from plausible.infer.attribution import Reasons
    from plausible.infer.evidence import Evidence as Findings
    from plausible.network import Network

EMPTY = "no text: answered by the prior"
UNKNOWN = "no known word: answered by the prior"
NO_VALUE = "every value is missing: answered by the prior"
UNKNOWN_VALUES = "no known value: answered by the prior"
UNDEFINED = "no class can have produced it (all products are 0): answered by the prior; choose smoothing above 0"


@dataclass(frozen=True, slots=True)
class Answer:
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
        self._scores = scores
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
        rows, best = memoryview(self._scores.log_posterior), memoryview(self._scores.best)
        return [math.exp(rows[i, k if k >= 0 else best[i]]) for i, k in enumerate(self._chosen)]

    @cached_property
    def notes(self) -> list[str]:
        """What the reader should know of each answer."""
        undefined = frozenset(self._scores.undefined)
        notes = [UNDEFINED if i in undefined else "" for i in range(len(self))]
        tokens = memoryview(self._scores.tokens)
        for i, known in enumerate(memoryview(self._scores.known).tolist()):
            if not known:
                notes[i] = self._unknown if tokens[i] else self._empty
        best = memoryview(self._scores.best)
        for i, chosen in enumerate(self._chosen):
            if chosen < 0:
                notes[i] = f"unsure: perhaps {self.classes[best[i]]}" + (f"; {notes[i]}" if notes[i] else "")
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
            raise IndexError(f"there are {len(self)} answers")
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
    columns = replace(learned_columns(source, model.reading.columns), target=None, weights=None)
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


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document's place in a ranking.

    `score` is the log-odds of the class in nats, for a length like that of the documents learned; None where the
    document has no known term. `probability` is calibrated.
    """

    index: int
    score: float | None
    probability: float


def rank(
    model: Model,
    documents: Documents,
    label: str,
    *,
    top: float | int | None = None,
    threads: int | None = None,
) -> list[Ranked]:
    """Documents by how much speaks for a class, most first.

    The posterior saturates at 0 and 1, so documents are ranked by length-normalised log-odds: those of the calibration
    or, without one, the log-odds divided by the number of known terms. (Rows without text are not divided.) Documents
    without a known term come last.

    Parameters
    ----------
    top : float or int, optional
        Give only this share (below 1) or this many of them.
    """
    model.class_index(label)
    scores = model.scores(documents, threads)
    column = scores.classes.index(label)
    probabilities, log_odds = memoryview(scores.log_posterior), memoryview(model.log_odds(documents, threads))
    known = memoryview(scores.known).tolist()
    ranked = []
    for i, terms in enumerate(known):
        own = log_odds[i, column]
        odds = _difference(own, _log_sum([log_odds[i, k] for k in range(len(scores.classes)) if k != column]))
        if model.calibration is None and terms and model.has_text:
            odds /= terms
        ranked.append(Ranked(i, odds if terms else None, math.exp(probabilities[i, column])))
    ranked.sort(key=lambda one: (one.score is None, -(one.score or 0.0), one.index))
    return ranked[: how_many(top, len(ranked))]


def how_many(top: float | int | None, all_of_them: int) -> int:
    """The number that `top` means: a share of all (rounded up), or a number."""
    if top is None:
        return all_of_them
    if not top > 0:
        raise CallError(f"top must be above 0, not {top}")
    return math.ceil(top * all_of_them - 1e-9) if isinstance(top, float) and top < 1 else int(top)


def _log_sum(values: list[float]) -> float:
    most = max(values, default=-math.inf)
    return most if most == -math.inf else most + math.log(sum(math.exp(value - most) for value in values))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one term or cell says for a class and against another.

    `weight` is its share of the score in nats, all its occurrences together. `seen` and `seen_against` are its
    occurrences in the two classes (documents, for Bernoulli events; for a cell the rows with its value, or with any
    number).
    """

    term: str
    times: int
    weight: float
    seen: float
    seen_against: float
    column: str = "text"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a document or row is of one class rather than another.

    `score` is the log-odds of the two classes in nats, calibrated if the model is: the sum of `prior` (what speaks
    before the first word), `absent` (Bernoulli events only: the vocabulary's terms that the document lacks) and the
    weights of `evidence`. With m = 0 a word can be infinitely strong; where one is for and another against, or no
    class can have produced the document, no sum exists, and `score` is that of the answer.
    """

    label: str
    against: str
    probability: float
    score: float
    prior: float
    absent: float
    evidence: list[Evidence] = field(repr=False)
    ignored: list[str] = field(repr=False)
    """Terms that are not in the vocabulary, and values that were never learned."""

    def by_column(self) -> dict[str, float]:
        """What each column says, its words together; strongest first."""
        sums: dict[str, list[float]] = {}
        for one in self.evidence:
            sums.setdefault(one.column, []).append(one.weight)
        totals = {column: _sum(weights) for column, weights in sums.items()}
        return dict(sorted(totals.items(), key=lambda item: -abs(item[1])))

    def in_bits(self) -> Explanation:
        """The same in bits."""
        bit = math.log(2)
        evidence = [replace(one, weight=one.weight / bit) for one in self.evidence]
        return replace(
            self, score=self.score / bit, prior=self.prior / bit, absent=self.absent / bit, evidence=evidence
        )


@overload
def explain(
    model: Model, document: str | Mapping[str, Any], label: str | None = None, against: str | None = None
) -> Explanation: ...


@overload
def explain(
    model: Network, document: str, label: str | None = None, against: str | None = None, *, given: Findings
) -> Reasons: ...


def explain(
    model: Model | Network,
    document: str | Mapping[str, Any],
    label: str | None = None,
    against: str | None = None,
    *,
    given: Findings | None = None,
) -> Explanation | Reasons:
    """The words and values for and against a class, strongest first; they sum to the score.

    Of a network, the findings for and against a state of a variable: see `plausible.infer.reasons`.

    Parameters
    ----------
    model : Model or Network
    document : str, or mapping of column to value
        Of a network, the name of the variable.
    label : str, optional
        The class to explain; by default the most probable one.
    against : str, optional
        The class to hold it against; by default the most probable other one.
    given : mapping of str to finding
        The evidence on a network.

    Examples
    --------
    >>> from plausible import learn
    >>> model = learn(["win money now", "cheap money", "meeting at noon"], ["spam", "spam", "ham"])
    >>> why = explain(model, "money at noon")
    >>> why.label, why.against
    ('ham', 'spam')
    >>> abs(why.score - why.prior - sum(word.weight for word in why.evidence)) < 1e-12
    True

    >>> from plausible import Network
    >>> states = ("ill", "well")
    >>> tables = {"state": [0.01, 0.99], "test": [[0.9, 0.1], [0.2, 0.8]]}
    >>> test = Network({"state": [], "test": ["state"]}, tables, states=states)
    >>> why = explain(test, "state", "ill", given={"test": "ill"})
    >>> [(one.finding, round(one.weight, 2)) for one in why.reasons], round(why.prior, 2)
    ([('test=ill', 1.5)], -4.6)
    """
    if not isinstance(model, Model):
        from plausible.infer.attribution import reasons

        if given is None or not isinstance(document, str):
            raise CallError("of a network, say which variable and given what: explain(network, variable, given=...)")
        return reasons(model, document, given, label, against)
    if given is not None:
        raise CallError("`given` is for networks; a model explains the document itself")
    classes = model.classes
    if len(classes) < 2:
        raise CallError("the model has one class only; there is nothing to hold it against")
    cells = row_cells(model.reading.columns, document)
    scored = model.scores(cells)
    scores, length = memoryview(scored.log_posterior), memoryview(scored.tokens)[0]
    by_probability = sorted(range(len(classes)), key=lambda k: (-scores[0, k], k))
    label = label if label is not None else classes[memoryview(scored.best)[0]]
    model.class_index(label)
    if against is None:
        against = next(classes[k] for k in by_probability if classes[k] != label)
    if against == label:
        raise CallError(f"class {label!r} can't be held against itself")
    one, other = model.class_index(label), model.class_index(against)
    sharpness = model.sharpness(length)
    of_words, of_cells = (factor * sharpness for factor in model.factors)

    evidence, ignored = [], []
    bernoulli = model.has_text and model.rules.events == "bernoulli"
    present = {one: 0.0, other: 0.0}
    if model.has_text:
        column = " and ".join(model.reading.columns.text)
        for term, times, shares in model.scorer.terms(model.scored_terms, model.tokens.prepare(cells["text"])[0]):
            if shares is None:
                ignored.append(term)
                continue
            seen = {c: cell[0 if bernoulli else 1] for c, cell in model.terms.row(term)}
            if bernoulli:
                shares = {c: _log_present(model, seen.get(c, 0), c) for c in present}
                present = {c: present[c] + shares[c] for c in present}
            weight = _difference(shares[one], shares[other]) * of_words
            evidence.append(Evidence(term, times, weight, seen.get(one, 0), seen.get(other, 0), column))
    if model.variables:
        from plausible.attributes import shares_of_cells

        for cell in shares_of_cells(model.cpds, model.variables, model.dependence, cells):
            if cell.shares is None:
                ignored.append(f"{cell.column}={cell.value}")
                continue
            weight = _difference(cell.shares[one], cell.shares[other]) * of_cells
            rows = (_whole(cell.seen[one]), _whole(cell.seen[other]))
            evidence.append(Evidence(cell.value, 1, weight, rows[0], rows[1], cell.column))
    evidence.sort(key=lambda word: (-abs(word.weight), word.column, word.term))
    starts = model.starts()
    prior = _difference(starts[label], starts[against]) * sharpness
    absent = 0.0
    if bernoulli:
        raw = memoryview(model.scorer.score(model.tokens.prepare(cells["text"]))[0])
        log_prior = dict(zip(classes, model.log_prior(), strict=True))
        lacking = {
            c: raw[0, c] - log_prior[name] - present[c] if math.isfinite(present[c]) else 0.0
            for c, name in ((one, label), (other, against))
        }
        absent = _difference(lacking[one], lacking[other]) * of_words
    parts = [prior, absent, *(word.weight for word in evidence)]
    if scored.undefined:
        score = _difference(scores[0, classes.index(label)], scores[0, classes.index(against)])
    else:
        score = _sum(parts)
    probability = math.exp(scores[0, classes.index(label)])
    return Explanation(label, against, probability, score, prior, absent, evidence, ignored)


def _log_present(model: Model, documents: int, c: int) -> float:
    """ln P(term in a document given class c), with Bernoulli events."""
    smoothing = model.rules.smoothing
    m = 2 * smoothing.a if smoothing.m is None else smoothing.m
    p = m_estimate(documents, model.counts.documents[c], 1 / 2, m)
    return math.log(p) if p else -math.inf


def _sum(weights: list[float]) -> float:
    """Their sum; 0 where some rule out the one class and some the other."""
    return 0.0 if math.inf in weights and -math.inf in weights else math.fsum(weights)


def _difference(one: float, other: float) -> float:
    return 0.0 if one == other else one - other


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or a value of a column (as column=value), that a class is known by.

    `score` is P(w given c) ln(P(w given c) / P(w given the other classes)), in nats: the word's share of the divergence
    between the class and the rest.
    """

    term: str
    probability: float
    ratio: float
    seen: float
    seen_elsewhere: float
    score: float


def words(model: Model, label: str, top: int = 20) -> list[Word]:
    """The words and values that set a class apart, most telling first. Numbers have none."""
    if label not in model.classes:
        raise CallError(unknown("class", label, model.classes))
    found = _telling_words(model, label, top) if model.has_text else []
    if model.variables:
        from plausible.attributes import state_counts

        for name, states, seen, elsewhere in state_counts(model.cpds, model.class_index(label)):
            smoothing = model.rules.smoothing_of(name)
            m = smoothing.a * len(states) if smoothing.m is None else smoothing.m
            terms = [f"{name}={state}" for state in states]
            found += _telling(terms, seen, elsewhere, (seen.sum(), elsewhere.sum()), m, 1 / len(states), top)
    return sorted(found, key=lambda word: (-word.score, -word.seen))[:top]


def _telling_words(model: Model, label: str, top: int) -> list[Word]:
    import numpy as np

    from plausible.arrays import TermArrays

    arrays = TermArrays.of(model, within=True)
    documents = model.rules.events == "bernoulli"
    cells = arrays.documents if documents else arrays.occurrences
    own = arrays.labels == model.classes.index(label)
    rows = np.repeat(np.arange(len(arrays.terms)), arrays.sizes)
    seen = np.bincount(rows[own], cells[own], minlength=len(arrays.terms))
    elsewhere = np.bincount(rows[~own], cells[~own], minlength=len(arrays.terms))
    smoothing, share = model.rules.smoothing, np.array(0.5)
    if documents:
        sizes = (model.counts.of(label), model.documents - model.counts.of(label))
    else:
        sizes = (seen.sum(), elsewhere.sum())
        share = (seen + elsewhere) / max(sum(sizes), 1) if smoothing.share else np.array(1 / max(len(seen), 1))
    m = smoothing.a * (2 if documents else len(seen)) if smoothing.m is None else smoothing.m
    return _telling(arrays.terms, seen, elsewhere, sizes, m, share, top)


def _telling(
    terms: Sequence[str], seen: Any, elsewhere: Any, sizes: tuple[float, float], m: float, share: Any, top: int
) -> list[Word]:
    """The terms with the largest scores, by the m-estimate of their counts in a class and in all others."""
    import numpy as np

    inside, outside = ((n_c + m * share) / max(n + m, 1e-300) for n_c, n in zip((seen, elsewhere), sizes, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(inside > 0, inside * np.log(inside / outside), 0)
    chosen = np.lexsort((np.arange(len(score)), -seen, -score))[:top]
    return [
        Word(
            terms[i],
            float(inside[i]),
            float(inside[i] / outside[i]) if outside[i] else math.inf,
            _whole(seen[i]),
            _whole(elsewhere[i]),
            float(score[i]),
        )
        for i in chosen
    ]


def _whole(count: float) -> float:
    return int(count) if float(count).is_integer() else float(count)
