"""How good a model is: it learns from a part, answers the rest, and the figures are counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.baselines import BASELINES
from plausible.cells import Batch, names_of
from plausible.chance import whole_seed
from plausible.errors import CallError, DataError
from plausible.giveaways import giveaways, said
from plausible.learning.classifier import Learner, Options, Progress, learn_from, options_from, read_labelled, warn
from plausible.model import Model
from plausible.ranks import how_many
from plausible.reliability import Bin, Coverage, calibration_error, coverage, reliability
from plausible.sources import Source, open_source
from plausible.splits import Parts, choose, folds
from plausible.wording import quantity

Floats = npt.NDArray[np.float64]
TOP = 0.1
MOST_NAMES = 5
"""Classes that a message names."""


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Figures of one class: documents tested, and precision, recall and F1 (0 where undefined)."""

    tested: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Probabilities:
    """How far stated probabilities can be believed.

    `log_loss` is the mean of -ln P(true class given document), in nats, and NaN where no class of the test was learned;
    `brier` the mean squared distance from what was true, from 0 to 2; `calibration_error` the mean distance between
    confidence and accuracy in 15 bins of equal width.
    """

    log_loss: float
    brier: float
    calibration_error: float
    reliability: list[Bin] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a model did on documents it had not learned.

    Attributes
    ----------
    accuracy : float
    macro_f1 : float
        The mean of the classes' F1.
    log_loss, brier, calibration_error : float
        See `Probabilities`.
    n_train, n_test, vocabulary : number
        With folds, n_train and vocabulary are those of the last fold; with leave-one-out, of all documents less one.
    classes : list of str
    per_class : dict of str to ClassFigures
    confusion : dict of str to dict of str to int
        For each true class, how often each class was answered; zeros are left out.
    before : Probabilities or None
        The figures without calibration, if the model is calibrated.
    reliability : list of Bin
    coverage : list of Coverage
        Accuracy if unsure answers are not given.
    top_tenth : dict of str to float
        With a class to rank for: the share of it among the top tenth (`precision`) and among all (`base`).
    against : dict of str to dict of str to float
        Accuracy and macro F1 of the baselines.
    choice : str
        What `--model auto` chose, and why.
    """

    accuracy: float
    macro_f1: float
    log_loss: float
    calibration_error: float
    n_train: float
    n_test: int
    vocabulary: int
    classes: list[str]
    per_class: dict[str, ClassFigures]
    confusion: dict[str, dict[str, int]]
    brier: float
    before: Probabilities | None
    reliability: list[Bin]
    coverage: list[Coverage]
    top_tenth: dict[str, float]
    against: dict[str, dict[str, float]]
    choice: str


@dataclass
class _Stated:
    """What was stated of each tested document."""

    confidence: list[Floats] = field(default_factory=list)
    log_truth: list[Floats] = field(default_factory=list)
    brier: list[Floats] = field(default_factory=list)

    def add(self, log_posterior: Floats, best: npt.NDArray[np.int64], truth: npt.NDArray[np.int64]) -> None:
        rows = np.arange(len(truth))
        known = truth >= 0
        posterior = np.exp(log_posterior)
        self.confidence.append(posterior[rows, best])
        self.log_truth.append(np.where(known, log_posterior[rows, truth], -np.inf))
        error = (posterior * posterior).sum(1) + 1
        self.brier.append(np.where(known, error - 2 * posterior[rows, truth], error))

    def figures(self, right: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_]) -> Probabilities:
        confidence, log_truth = np.concatenate(self.confidence), np.concatenate(self.log_truth)
        return Probabilities(
            log_loss=float(-log_truth[known].mean()) if known.any() else math.nan,
            brier=float(np.concatenate(self.brier).mean()),
            calibration_error=calibration_error(confidence, right),
            reliability=reliability(confidence, right),
        )


class Tally:
    """Tests batches of documents, and counts."""

    def __init__(self, options: Options, label: str | None = None, *, left_out: bool = False) -> None:
        self._options, self._label, self._left_out = options, label, left_out
        self.truth: list[str] = []
        self.answers: list[str] = []
        self._known: list[npt.NDArray[np.bool_]] = []  # whether the class was learned
        self._odds: list[Floats] = []
        self._after, self._before = _Stated(), _Stated()
        self.calibrated = False

    def test(self, model: Model, batch: Batch) -> None:
        if not len(batch):
            return
        truth = names_of(batch.labels)
        least = 2 if self._left_out else 1  # a class that its only document is left out of is not learned
        place = {name: k for k, name in enumerate(model.classes) if model.counts.of(name) >= least}
        columns = np.array([place.get(name, -1) for name in truth], np.int64)
        best = self._state(self._after, model, batch, columns)
        self.calibrated |= model.calibration is not None
        self._state(
            self._before, model.uncalibrated(), batch, columns
        )  # of other folds, where one needs no calibration
        self.truth += truth
        self._known.append(columns >= 0)
        self.answers += [model.classes[k] for k in best]
        if self._label is not None:
            model.class_index(self._label)
            odds = np.asarray(model.log_odds(batch.cells, self._options.threads))
            own = model.classes.index(self._label)
            rest = np.logaddexp.reduce(np.delete(odds, own, 1), 1)
            self._odds.append(odds[:, own] - rest)

    def _state(
        self, stated: _Stated, model: Model, batch: Batch, columns: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        threads = self._options.threads
        if self._left_out:
            scores = model.scores_left_out(batch.cells, batch.labels, threads, batch.weights)
        else:
            scores = model.scores(batch.cells, threads)
        best = np.asarray(scores.best).astype(np.int64)
        stated.add(np.asarray(scores.log_posterior), best, columns)
        return best

    def figures(self, model: Model, n_train: float, against: dict[str, dict[str, float]] | None = None) -> Evaluation:
        if not self.truth:
            raise DataError("there are no documents to test on; choose another split or test source")
        right = np.array([a == b for a, b in zip(self.truth, self.answers, strict=True)])
        known = np.concatenate(self._known)
        if not known.all():
            strange = sorted({name for name, was in zip(self.truth, known, strict=True) if not was})
            more = f" and {len(strange) - MOST_NAMES:,} more" if len(strange) > MOST_NAMES else ""
            tested = quantity(int(np.sum(~known)), f"tested {model.unit}")
            warn(
                f"{tested} of classes that were not learned "
                f"({', '.join(strange[:MOST_NAMES])}{more}): counted as wrong, left out of log_loss"
                f"{'' if known.any() else ', which is nan, since there are no others'}"
            )
        per_class = class_figures(self.truth, self.answers, sorted({*self.truth, *model.classes}))
        confusion: dict[str, dict[str, int]] = {name: {} for name in per_class}
        for (truth, answer), times in sorted(Counter(zip(self.truth, self.answers, strict=True)).items()):
            confusion[truth][answer] = times
        stated = self._after.figures(right, known)
        return Evaluation(
            accuracy=float(right.mean()),
            macro_f1=macro_f1(per_class),
            log_loss=stated.log_loss,
            calibration_error=stated.calibration_error,
            n_train=n_train,
            n_test=len(self.truth),
            vocabulary=model.vocabulary,
            classes=list(per_class),
            per_class=per_class,
            confusion=confusion,
            brier=stated.brier,
            before=self._before.figures(right, known) if self.calibrated else None,
            reliability=stated.reliability,
            coverage=coverage(np.concatenate(self._after.confidence), right),
            top_tenth=self._top_tenth(),
            against=against or {},
            choice=model.choice,
        )

    def _top_tenth(self) -> dict[str, float]:
        if self._label is None:
            return {}
        liked = np.array([name == self._label for name in self.truth])
        first = np.argsort(-np.concatenate(self._odds), kind="stable")[: how_many(TOP, len(liked))]
        return {"precision": float(liked[first].mean()), "base": float(liked.mean())}


def class_figures(truth: Sequence[str], answers: Sequence[str], classes: Sequence[str]) -> dict[str, ClassFigures]:
    """Precision, recall and F1 of each class."""
    tested, answered = Counter(truth), Counter(answers)
    hits = Counter(a for a, b in zip(truth, answers, strict=True) if a == b)
    out = {}
    for name in classes:
        precision = hits[name] / answered[name] if answered[name] else 0.0
        recall = hits[name] / tested[name] if tested[name] else 0.0
        both = tested[name] + answered[name]
        out[name] = ClassFigures(tested[name], precision, recall, 2 * hits[name] / both if both else 0.0)
    return out


def macro_f1(per_class: dict[str, ClassFigures]) -> float:
    return float(np.mean([figures.f1 for figures in per_class.values()]))


def evaluate(
    source: Any,
    labels: Sequence[str] | None = None,
    *,
    test: Any = None,
    test_labels: Sequence[str] | None = None,
    test_share: float | None = None,
    folds: int | None = None,
    leave_one_out: bool = False,
    label: str | None = None,
    against: bool = False,
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
        Cross-validation: each part in turn is tested with what the others teach. Each part is counted once, and the
        counts of the others are merged.
    leave_one_out : bool
        Each document is tested with what all others teach; exact, and one pass. (A calibration's few numbers are fitted
        on all.)
    label : str
        A class to rank for: how much of the top tenth is of it.
    against : bool
        Add the figures of baselines: the majority class, Rocchio, and a linear SVM where scikit-learn is installed.
    seed : int
    options
        As for `learn`.

    Examples
    --------
    >>> texts = ["cheap money", "win money", "money now", "lunch at noon", "noon meeting", "meeting at nine"]
    >>> evaluate(texts, ["spam"] * 3 + ["ham"] * 3, leave_one_out=True).accuracy
    1.0
    """
    read_with = options_from(**options)

    def opened(given: Any, given_labels: Sequence[str] | None) -> Source:
        if given_labels is None:
            return read_with.open(given)
        if len(given) != len(given_labels):
            sizes = f"{quantity(len(given), 'document')} and {quantity(len(given_labels), 'label')}"
            raise CallError(f"{sizes}; give one label a document")
        if not len(given):
            raise DataError("the list holds no documents; give some to learn from and some to test on")
        return open_source([{"text": t, "class": c} for t, c in zip(given, given_labels, strict=True)])

    return evaluate_from(
        opened(source, labels),
        read_with,
        test=None if test is None else opened(test, test_labels),
        test_share=test_share,
        folds=folds,
        leave_one_out=leave_one_out,
        label=label,
        against=against,
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
    label: str | None = None,
    against: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """`evaluate` on sources that are open."""
    if sum([test is not None, test_share is not None, folds is not None, leave_one_out]) > 1:
        raise CallError("choose one of test, test_share, folds and leave_one_out")
    if against and (folds is not None or leave_one_out):
        raise CallError("baselines are learned once: use --against with --test or --test-share")
    whole_seed(seed)
    if leave_one_out:
        model = _learned(learn_from(source, options, progress))
        tally = Tally(options, label, left_out=True)
        cut = [variable.name for variable in model.variables if variable.cuts]
        if cut:
            warn(
                f"{', '.join(map(repr, cut))}: cut into intervals with all rows, the one left out, too; "
                "folds cut them without the rows that are tested"
            )
        read_labelled(source, model, options, partial(tally.test, model), progress, again=True)
        return tally.figures(model, model.documents - 1)
    if folds is not None:
        return _cross_validate(source, options, folds, label, seed, progress)
    if test is not None:
        return _train_and_test(source, test, options, label, against, None, progress)
    share = 1 / 3 if test_share is None else test_share
    if not 0 < share < 1:
        raise CallError(f"test_share must lie between 0 and 1, not {share}")
    tested = choose(_labels(source, options.model_for(source)), share, seed)
    return _train_and_test(source, source, options, label, against, tested, progress)


def _train_and_test(
    source: Source,
    test: Source,
    options: Options,
    label: str | None,
    against: bool,
    tested: npt.NDArray[np.int64] | None,
    progress: Progress | None,
) -> Evaluation:
    """Learn the documents of `source`, test those of `test`; with `tested`, its zeros and its ones."""
    learner, tally = Learner(options.model_for(source), options), Tally(options, label)
    kept: list[list[str]] = [[], [], [], []]

    def part(which: int) -> Callable[[Batch], Batch]:
        if tested is None:
            return lambda batch: batch
        parts = Parts(tested)
        return lambda batch: parts.of(batch, which)

    def keep(batch: Batch, place: int) -> None:
        if against:
            kept[place] += batch.texts
            kept[place + 1] += names_of(batch.labels)

    to_learn, to_test = part(0), part(1)

    def learn(batch: Batch) -> None:
        mine = to_learn(batch)
        if len(mine):
            learner.add(mine)
        keep(mine, 0)

    read_labelled(source, learner.model, options, learn, progress)
    if not learner.model.documents:
        raise DataError(f"no document of {source.name} is left to learn from; make the test share smaller")
    model = _learned(learner.finish())

    def check(batch: Batch) -> None:
        mine = to_test(batch)
        tally.test(model, mine)
        keep(mine, 2)

    read_labelled(test, model, options, check, progress, again=test is source)
    return tally.figures(model, model.documents, _beside(kept, model) if against else None)


def _cross_validate(
    source: Source, options: Options, parts: int, label: str | None, seed: int, progress: Progress | None
) -> Evaluation:
    if parts < 2:
        raise CallError(f"folds must be at least 2, not {parts}")
    empty = options.model_for(source)
    labels = _labels(source, empty)
    if len(labels) < parts:
        raise CallError(
            f"{quantity(parts, 'fold')} of {quantity(len(labels), 'document')}: choose fewer folds, or leave_one_out"
        )
    fold_of = folds(labels, parts, seed)
    learners = [Learner(empty.untrained(), options) for _ in range(parts)]
    chosen = Parts(fold_of)

    def learn(batch: Batch) -> None:
        for learner, mine in zip(learners, chosen.each(batch, parts), strict=True):
            if len(mine):
                learner.add(mine)

    read_labelled(source, learners[0].model, options, learn, progress)
    tally = Tally(options, label)
    for k in range(parts):
        whole = Learner(empty.untrained(), options)
        for other, learner in enumerate(learners):
            if other != k:
                whole.merge(learner)
        model = whole.finish()
        if k == 0:
            _learned(model)
        test = partial(_test_part, tally, model, Parts(fold_of), k)
        read_labelled(source, model, options, test, progress, again=True)
    return tally.figures(model, model.documents)


def _test_part(tally: Tally, model: Model, parts: Parts, part: int, batch: Batch) -> None:
    tally.test(model, parts.of(batch, part))


def _labels(source: Source, model: Model) -> list[str]:
    labels: list[str] = []
    target = model.reading.columns.target
    for table in source.tables([target] if target else []):
        labels += [str(label) for label in table.columns[target or ""] if label]
    if not labels:
        raise DataError(f"no document of {source.name} has a class; there is nothing to learn from")
    return labels


def _learned(model: Model) -> Model:
    found = giveaways(model) if model.has_text else []
    if found:
        warn(said(found))
    return model


def _beside(kept: list[list[str]], model: Model) -> dict[str, dict[str, float]]:
    train, labels, test, truth = kept
    out = {}
    for name, baseline in BASELINES.items():
        answers = baseline(train, labels, test, model.tokens)
        if answers is None:
            continue
        figures = class_figures(truth, answers, sorted({*truth, *labels}))
        hits = sum(a == b for a, b in zip(truth, answers, strict=True))
        out[name] = {"accuracy": hits / len(truth), "macro_f1": macro_f1(figures)}
    return out
