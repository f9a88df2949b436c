"""How good a model is: splits, leave-one-out, and the figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.arrays import TermArrays
from plausible.encode import Batch
from plausible.errors import CallError, DataError
from plausible.learning.classifier import Options, Progress, learn_from, read_labelled, warn
from plausible.model import Model, Scores
from plausible.sources import Source

Floats = npt.NDArray[np.float64]
BINS = 15
GIVES_AWAY = 0.95
"""A word that finds a class this well by itself (F1) is named by `evaluate`."""


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Figures of one class: documents tested, and precision, recall and F1 (0 where undefined)."""

    tested: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a model did on documents it had not learned.

    Attributes
    ----------
    accuracy : float
    macro_f1 : float
        The mean of the classes' F1.
    log_loss : float
        The mean of -ln P(true class given document), in nats.
    calibration_error : float
        The mean distance between stated confidence and accuracy, over 15 bins of equal width of the largest
        probability, weighted by their size (expected calibration error).
    n_train, n_test, vocabulary : int
        With folds, n_train and vocabulary are those of the last fold; with leave-one-out, of all documents less one.
    classes : list of str
    per_class : dict of str to ClassFigures
    confusion : dict of str to dict of str to int
        For each true class, how often each class was answered; zeros are left out.
    """

    accuracy: float
    macro_f1: float
    log_loss: float
    calibration_error: float
    n_train: int
    n_test: int
    vocabulary: int
    classes: list[str]
    per_class: dict[str, ClassFigures]
    confusion: dict[str, dict[str, int]]


@dataclass
class Tally:
    """What is kept of each tested document: its class, the answer, their probabilities."""

    truth: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    confidence: list[Floats] = field(default_factory=list)
    log_truth: list[Floats] = field(default_factory=list)

    def add(self, scores: Scores, truth: Sequence[str]) -> None:
        log_posterior = np.asarray(scores.log_posterior)
        best = np.asarray(scores.best).astype(np.int64)
        column = {name: k for k, name in enumerate(scores.classes)}
        columns = np.array([column.get(name, -1) for name in truth], np.int64)
        rows = np.arange(len(truth))
        self.truth += truth
        self.answers += [scores.classes[k] for k in best]
        self.confidence.append(np.exp(log_posterior[rows, best]))
        self.log_truth.append(np.where(columns >= 0, log_posterior[rows, columns], -np.inf))

    def figures(self, model: Model, n_train: int) -> Evaluation:
        if not self.truth:
            raise DataError("there are no documents to test on; choose another split or test source")
        right = np.array([a == b for a, b in zip(self.truth, self.answers, strict=True)])
        classes = sorted({*self.truth, *model.classes})
        tested, answered = Counter(self.truth), Counter(self.answers)
        hits = Counter(name for name, hit in zip(self.truth, right, strict=True) if hit)
        per_class = {name: _class_figures(tested[name], answered[name], hits[name]) for name in classes}
        pairs = Counter(zip(self.truth, self.answers, strict=True))
        confusion: dict[str, dict[str, int]] = {name: {} for name in classes}
        for (truth, answer), times in sorted(pairs.items()):
            confusion[truth][answer] = times
        log_truth = np.concatenate(self.log_truth)
        known = np.array([name in set(model.classes) for name in self.truth])
        if not known.all():
            warn(
                f"{np.sum(~known):,} tested documents are of classes that were not learned "
                f"({', '.join(sorted(set(self.truth) - set(model.classes)))}): counted as wrong, left out of log_loss"
            )
        return Evaluation(
            accuracy=float(right.mean()),
            macro_f1=float(np.mean([figures.f1 for figures in per_class.values()])),
            log_loss=float(-log_truth[known].mean()) if known.any() else math.inf,
            calibration_error=calibration_error(np.concatenate(self.confidence), right),
            n_train=n_train,
            n_test=len(self.truth),
            vocabulary=model.vocabulary,
            classes=classes,
            per_class=per_class,
            confusion=confusion,
        )


def _class_figures(tested: int, answered: int, hits: int) -> ClassFigures:
    precision = hits / answered if answered else 0.0
    recall = hits / tested if tested else 0.0
    return ClassFigures(tested, precision, recall, 2 * hits / (tested + answered) if tested + answered else 0.0)


def calibration_error(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS) -> float:
    """Expected calibration error: stated confidence against accuracy, in bins of equal width (Naeini et al. 2015).

    Examples
    --------
    >>> calibration_error([0.9, 0.9, 0.9, 0.9], [True, True, True, False])
    0.15
    """
    confidence, right = np.asarray(confidence, float), np.asarray(right, float)
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.bincount(bin_of, confidence - right, minlength=bins)
    return float(round(np.abs(gaps).sum() / len(confidence), 12))


def evaluate(
    source: Any,
    labels: Sequence[str] | None = None,
    *,
    test: Any = None,
    test_labels: Sequence[str] | None = None,
    test_share: float | None = None,
    folds: int | None = None,
    leave_one_out: bool = False,
    seed: int = 0,
    **options: Any,
) -> Evaluation:
    """Learn from a part of the documents, test on the rest.

    Parameters
    ----------
    source, labels
        As for `learn`.
    test, test_labels
        Documents to test on, read as `source` is.
    test_share : float
        The share of each class to test on, chosen at random; a third if nothing is said.
    folds : int
        Cross-validation: each part in turn is tested with what the others teach. The counts of a part are taken away
        from those of all, so everything is counted once.
    leave_one_out : bool
        Each document is tested with what all others teach; exact, and one pass.
    seed : int
    options
        As for `learn`.

    Examples
    --------
    >>> texts = ["cheap money", "win money", "money now", "lunch at noon", "noon meeting", "meeting at nine"]
    >>> evaluate(texts, ["spam"] * 3 + ["ham"] * 3, leave_one_out=True).accuracy
    1.0
    """
    from plausible.learning.classifier import options_from
    from plausible.sources import open_source

    def opened(given: Any, given_labels: Sequence[str] | None) -> Source:
        if given_labels is None:
            return read_with.open(given)
        return open_source([{"text": t, "class": c} for t, c in zip(given, given_labels, strict=True)])

    read_with = options_from(**options)
    return evaluate_from(
        opened(source, labels),
        read_with,
        test=None if test is None else opened(test, test_labels),
        test_share=test_share,
        folds=folds,
        leave_one_out=leave_one_out,
        seed=seed,
    )


def evaluate_from(
    source: Source,
    options: Options,
    *,
    test: Source | None = None,
    test_share: float | None = None,
    folds: int | None = None,
    leave_one_out: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """`evaluate` on sources that are open."""
    ways = [test is not None, test_share is not None, folds is not None, leave_one_out]
    if sum(ways) > 1:
        raise CallError("choose one of test, test_share, folds and leave_one_out")
    if test is not None:
        model = learn_from(source, options, progress)
        warn_of_giveaways(model)
        tally = Tally()
        read_labelled(test, model, options, lambda batch: _test(tally, model, batch, options), progress)
        return tally.figures(model, model.documents)
    if leave_one_out:
        return _leave_one_out(source, options, progress)
    if folds is not None:
        return _cross_validate(source, options, folds, seed, progress)
    share = 1 / 3 if test_share is None else test_share
    if not 0 < share < 1:
        raise CallError(f"test_share must lie between 0 and 1, not {share}")
    return _split(source, options, share, seed, progress)


def _test(tally: Tally, model: Model, batch: Batch, options: Options) -> None:
    tally.add(model.scores(batch.texts, options.threads), batch.labels)  # type: ignore[arg-type]


def _leave_one_out(source: Source, options: Options, progress: Progress | None) -> Evaluation:
    model = learn_from(source, options, progress)
    warn_of_giveaways(model)
    tally = Tally()

    def test(batch: Batch) -> None:
        tally.add(model.scores_left_out(batch.texts, batch.labels, options.threads), batch.labels)  # type: ignore[arg-type]

    read_labelled(source, model, options, test, progress)
    return tally.figures(model, model.documents - 1)


def _split(source: Source, options: Options, share: float, seed: int, progress: Progress | None) -> Evaluation:
    tested = _choose(_labels(source, options), share, seed)
    model, tally = options.model_for(source), Tally()
    parts = _Parts(tested)
    read_labelled(source, model, options, lambda batch: _update(model, parts.of(batch, 0), options), progress)
    if not model.documents:
        raise DataError("no document is left to learn from; make the test share smaller")
    warn_of_giveaways(model)
    parts = _Parts(tested)
    read_labelled(source, model, options, lambda batch: _test(tally, model, parts.of(batch, True), options), progress)
    return tally.figures(model, model.documents)


def _cross_validate(source: Source, options: Options, folds: int, seed: int, progress: Progress | None) -> Evaluation:
    if folds < 2:
        raise CallError(f"folds must be at least 2, not {folds}")
    labels = _labels(source, options)
    if len(labels) < folds:
        raise CallError(f"{folds} folds of {len(labels)} documents: choose fewer folds, or leave_one_out")
    fold_of = _folds(labels, folds, seed)
    parts = [options.model_for(source) for _ in range(folds)]
    chosen = _Parts(fold_of)

    def learn(batch: Batch) -> None:
        for k, part in zip(range(folds), chosen.each(batch, folds), strict=True):
            _update(parts[k], part, options)

    read_labelled(source, parts[0], options, learn, progress)
    whole = options.model_for(source)
    for part in parts:
        whole.merge(part)
    warn_of_giveaways(whole)
    tally = Tally()
    for k, part in enumerate(parts):
        whole.counts.subtract(part.counts)
        chosen, n_train, vocabulary = _Parts(fold_of), whole.documents, whole.vocabulary
        test = partial(_test_part, tally, whole, chosen, k, options)
        read_labelled(source, whole, options, test, progress)
        whole.merge(part)
    return replace(tally.figures(whole, n_train), vocabulary=vocabulary)


def _test_part(tally: Tally, model: Model, parts: _Parts, part: int, options: Options, batch: Batch) -> None:
    _test(tally, model, parts.of(batch, part), options)


def _update(model: Model, batch: Batch, options: Options) -> None:
    if len(batch):
        model.update(batch.texts, batch.labels, options.threads)  # type: ignore[arg-type]


def _labels(source: Source, options: Options) -> list[str]:
    labels: list[str] = []
    target = options.model_for(source).reading.columns.target
    for table in source.tables([target] if target else []):
        labels += [str(label) for label in table.columns[target or ""] if label]
    if not labels:
        raise DataError(f"no document of {source.name} has a class; there is nothing to learn from")
    return labels


def _by_class(labels: Sequence[str], seed: int) -> Iterator[npt.NDArray[np.int64]]:
    """The documents of each class in a random order."""
    random = np.random.default_rng(seed)
    names, index = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
    for k in range(len(names)):
        yield random.permutation(np.flatnonzero(index == k))


def _choose(labels: Sequence[str], share: float, seed: int) -> npt.NDArray[np.int64]:
    """1 for each document that is tested: the share of each class, and of all documents to within one."""
    tested = np.zeros(len(labels), np.int64)
    before = chosen = 0
    for documents in _by_class(labels, seed):
        before += len(documents)
        take = round(before * share) - chosen
        tested[documents[:take]] = 1
        chosen += take
    return tested


def _folds(labels: Sequence[str], folds: int, seed: int) -> npt.NDArray[np.int64]:
    fold_of = np.zeros(len(labels), np.int64)
    start = 0
    for documents in _by_class(labels, seed):
        fold_of[documents] = (start + np.arange(len(documents))) % folds
        start += len(documents)
    return fold_of


class _Parts:
    """Takes the documents of a part out of the batches of a pass, in the order in which labels were read."""

    def __init__(self, part_of: npt.NDArray[np.int64]) -> None:
        self._part_of = part_of
        self._next = 0

    def of(self, batch: Batch, part: int) -> Batch:
        here = self._take(batch)
        return _pick(batch, np.flatnonzero(here == part))

    def each(self, batch: Batch, parts: int) -> list[Batch]:
        here = self._take(batch)
        return [_pick(batch, np.flatnonzero(here == part)) for part in range(parts)]

    def _take(self, batch: Batch) -> npt.NDArray[np.int64]:
        here = self._part_of[self._next : self._next + len(batch)]
        if len(here) < len(batch):
            raise DataError("the source has changed between two passes; evaluate it when it is at rest")
        self._next += len(batch)
        return here


def _pick(batch: Batch, chosen: npt.NDArray[np.int64]) -> Batch:
    indices = chosen.tolist()
    return Batch(
        [batch.texts[i] for i in indices],
        [batch.labels[i] for i in indices],
        lambda i: batch.place(indices[i]),
    )


def warn_of_giveaways(model: Model) -> None:
    """Say which words nearly give the class away by themselves: an address, a header, a name of the class."""
    found = giveaways(model)
    if not found:
        return
    shown = "; ".join(f"{term!r} finds {label!r} with F1 {f1:.2f}" for term, label, f1 in found[:3])
    more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
    warn(f"single words nearly give the class away: {shown}{more}. Will new documents have them, too?")


def giveaways(model: Model) -> list[tuple[str, str, float]]:
    """Words whose presence finds a class with an F1 of .95 or more: (word, class, F1), the best one of each class."""
    arrays = TermArrays.of(model)
    if not len(arrays.terms) or len(model.classes) < 2:
        return []
    rows = np.repeat(np.arange(len(arrays.terms)), arrays.sizes)
    anywhere = np.bincount(rows, arrays.documents, minlength=len(arrays.terms))
    size = np.array([model.counts.of(name) for name in model.classes])
    f1 = 2 * arrays.documents / (anywhere[rows] + size[arrays.labels])
    f1[size[arrays.labels] < 10] = 0
    found: list[tuple[str, str, float]] = []
    for k in np.lexsort((rows, -f1)):
        if f1[k] < GIVES_AWAY:
            break
        label = model.classes[arrays.labels[k]]
        if all(label != other for _, other, _ in found):
            found.append((arrays.terms[rows[k]], label, float(f1[k])))
    return found
