"""Learning from documents without a class, too (Nigam, McCallum, Thrun and Mitchell 2000).

Naive Bayes with some of its classes hidden: EM gives each unlabelled document the classes it is expected to have, and
counts it so, with a weight λ (Nigam et al., §5.3.2). The words count as in clusters of documents, and the loop is
`learning.em`, too. λ is chosen on labelled documents that are left out, in folds, EM run anew for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plausible import calibration
from plausible.calibration import LeftOut
from plausible.columns import learned_columns
from plausible.encode import batches
from plausible.errors import CallError, DataError
from plausible.expected import Expected, Rows
from plausible.learning.em import em
from plausible.learning.mixtures.moments import Array
from plausible.learning.mixtures.stars import Star, StarCounts, StarPrior, StarRows, WordsPrior, expected, posterior
from plausible.learning.mixtures.words import PART, Bags, Words
from plausible.model import Model
from plausible.scores import Scores
from plausible.scoring import default_threads

if TYPE_CHECKING:
    from plausible.learning.classifier import Options

Indices = NDArray[np.intp]

WEIGHTS = (1.0, 0.3, 0.1)
FOLDS = 3
PRIOR = 10.0
"""Documents' worth of the whole collection's words in each class, while EM runs."""
NORM = 1.0
"""Of a document. Known classes hold EM where it is, so words may count twice as much as in clusters."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Labelled documents, followed by those without a label."""

    texts: Sequence[str]
    truth: Indices
    rows: StarRows
    rule: StarPrior
    terms: Rows

    @property
    def labelled(self) -> int:
        return len(self.truth)

    def expected_shares(self, known: Indices, classes: int, weight: float, threads: int, thorough: bool) -> Array:
        """What each row is expected to be when the labels of `known` are known; labelled rows have none, others λ."""
        rows, truth = self.rows, self.truth[known]
        weights = np.zeros(rows.count)
        weights[known], weights[self.labelled :] = 1, weight
        only = np.zeros((rows.count, classes))
        only[known, truth] = 1

        def e_step(star: Star) -> tuple[StarCounts, float]:
            shares, logs = posterior(rows, star, threads)
            own = np.log(np.maximum(shares[known, truth], 1e-300)).sum()
            shares[known] = only[known]
            return expected(rows, shares * weights[:, None], threads), float(weights @ logs + own)

        fitted = em(
            [self.rule.estimate(expected(rows, only, threads))],
            e_step,
            self.rule.estimate,
            log_prior=self.rule.log_density,
            tolerance=1e-6 if thorough else 1e-5,
            max_iterations=50 if thorough else 10,
        )
        shares, _ = posterior(rows, fitted.parameters, threads)
        shares[: self.labelled] = 0
        return shares * weight


def learn_unlabelled(model: Model, texts: Sequence[str], labels: Sequence[str], options: Options) -> None:
    """Give a model that has learned `texts` what unlabelled documents are expected to be, if that helps."""
    from plausible.learning.classifier import warn

    if model.variables or not model.has_text:
        raise CallError("documents without a class go with models of text alone; name the columns of text (--text)")
    if options.balance or model.rules.events == "bernoulli":
        raise CallError(
            "documents without a class go with neither bernoulli events nor balanced classes; leave one out"
        )
    threads = options.threads or default_threads()
    bags = Bags(model.tokens)
    bags.add(list(texts), threads)
    unlabelled = _add(bags, model, options, threads)
    if not unlabelled:
        raise DataError("there are no unlabelled documents; leave out the option, or name a source that holds some")
    collection = _collection(bags, texts, labels, model.classes, threads)
    folds = _folds(collection.truth)
    raw = options.raw
    weight: float | None = None if options.weight == "auto" else float(options.weight)
    if folds.max() < 1:
        if weight is None:
            raise CallError(
                "with one labelled document a class no weight can be chosen; label two of each, or say --weight X"
            )
        raw = True
    trials: dict[float, _Trial] = {}
    for one in (0.0, *(WEIGHTS if weight is None else (weight,))) if not raw or weight is None else ():
        trials[one] = _trial(model, collection, folds, one, threads)
    said = f"the documents without a class ({unlabelled:,})"
    if weight is None:
        weight = min(WEIGHTS, key=lambda one: trials[one].brier.mean())
        gains = trials[0.0].brier - trials[weight].brier
        if gains.mean() <= gains.std() / np.sqrt(len(gains)):
            warn(
                f"{said} don't help: the Brier score of labelled documents left out is {trials[0.0].brier.mean():.4f} "
                f"without them, and {trials[weight].brier.mean():.4f} at best with them; they are left out"
            )
            return
    shares = collection.expected_shares(np.arange(len(texts)), len(model.classes), weight, threads, True)
    model.expected = Expected(weight, unlabelled, collection.terms.counts(shares, model.classes))
    model.counts.changes += 1
    model.calibration = None if raw else trials[weight].calibration
    if trials:
        before, after = trials[0.0], trials[weight]
        model.choice += "; " * bool(model.choice) + (
            f"{said} count with weight {weight:g}: labelled documents left out are told with accuracy "
            f"{after.accuracy:.3f} (without them {before.accuracy:.3f}), Brier score {after.brier.mean():.4f} "
            f"({before.brier.mean():.4f})"
        )


def _add(bags: Bags, model: Model, options: Options, threads: int) -> int:
    given: Any = options.unlabelled
    before = bags.native.size
    if isinstance(given, list | tuple) and all(isinstance(one, str) for one in given):
        import os

        if not given or not all(os.path.exists(one) for one in given):
            bags.add(list(given), threads)
            return bags.native.size - before
        given = given[0] if len(given) == 1 else list(given)
    from plausible.learning.classifier import say_notes

    source = replace(options, where=None).open(given)
    columns = learned_columns(source, model.reading.columns)._replace(target=None)
    for batch in batches(source, columns):
        bags.add(batch.texts, threads)
    say_notes(source.notes)
    return bags.native.size - before


def _collection(
    bags: Bags, texts: Sequence[str], labels: Sequence[str], classes: list[str], threads: int
) -> Collection:
    words, entries = Words.of(bags, "the collection", (), threads)
    size = len(words.terms)
    times = entries.times * (NORM / PART)
    rows = StarRows(entries.starts, entries.features, times, np.empty((bags.native.size, 0)), ((0, size),)).turned()
    seen = rows.totals()[0]
    mass = float(seen.sum())
    prior = WordsPrior(PRIOR * mass / rows.count, seen / mass)
    place = {name: i for i, name in enumerate(classes)}
    truth = np.array([place[label] for label in labels], np.intp)
    rule = StarPrior(1.0, rows.variables, np.empty(0), prior)
    return Collection(texts, truth, rows, rule, Rows(bags.tokens, bags.native, threads))


def _folds(truth: Indices) -> Indices:
    """The documents of each class dealt out; those of a class with one document are in no fold (−1)."""
    fold = np.full(len(truth), -1)
    for k in np.unique(truth):
        own = np.flatnonzero(truth == k)
        if len(own) > 1:
            fold[own] = np.arange(len(own)) % FOLDS
    return fold


@dataclass(frozen=True, slots=True)
class _Trial:
    """How labelled documents are told when they are left out: the Brier score of each, and the accuracy."""

    brier: Array
    accuracy: float
    calibration: calibration.Calibration | None


def _trial(model: Model, collection: Collection, folds: Indices, weight: float, threads: int) -> _Trial:
    width = len(model.counts.documents)
    held: list[Indices] = []
    blocks: list[Array] = []
    tokens: list[Array] = []
    known: list[Array] = []
    for fold in range(int(folds.max()) + 1):
        out, kept = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        part = model.untrained()
        part.counts.codes(list(model.counts.index))
        part.update(
            [collection.texts[i] for i in kept.tolist()],
            [model.classes[k] for k in collection.truth[kept].tolist()],
            threads,
        )
        if weight:
            shares = collection.expected_shares(kept, len(model.classes), weight, threads, False)
            counts = collection.terms.counts(shares, model.classes)
            part.expected = Expected(weight, collection.rows.count - collection.labelled, counts)
        scores, lengths, seen = _channels(part, [collection.texts[i] for i in out.tolist()], threads)
        held.append(out)
        blocks.append(scores.reshape(len(out), -1, width))
        tokens.append(lengths)
        known.append(seen)
    truth = collection.truth[np.concatenate(held)]
    channels, lengths, seen = np.concatenate(blocks), np.concatenate(tokens), np.concatenate(known)
    left = LeftOut(channels[:, :, model.class_indices], lengths.astype(np.int64), truth)
    link = calibration.fit(left, model.classes, with_bias=model.log_odds_of_words)
    linked = Model(model.tokens, model.rules, model.reading, model.counts, link)
    found: Scores = linked.scores_of(channels, lengths, seen)
    error = np.exp(np.asarray(found.log_posterior))
    right = float((np.asarray(found.best) == truth).mean())
    error[np.arange(len(truth)), truth] -= 1
    return _Trial((error**2).sum(axis=1), right, link)


def _channels(model: Model, texts: Sequence[str], threads: int) -> tuple[Array, Array, Array]:
    """Scores of each channel, side by side; tokens, and those that are known."""
    from plausible import _native

    scorer, prepared = model.scorer, model.tokens.prepare(texts)
    if not isinstance(scorer, _native.Weighted):
        scores, tokens, known = (np.asarray(part) for part in scorer.score(prepared, threads=threads))
        return scores, tokens, known
    found = []
    for channel in range(scorer.channels):
        scorer.fold([float(channel == other) for other in range(scorer.channels)])
        scores, tokens, known = (np.asarray(part) for part in scorer.score(prepared, threads=threads))
        found.append(scores)
    return np.concatenate(found, axis=1), tokens, known
