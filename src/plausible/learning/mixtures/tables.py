"""Clusters of rows with categories, numbers and gaps: latent class analysis (Lazarsfeld and Henry 1968; the AutoClass
idea, Cheeseman and Stutz 1996); and of documents: mixtures of multinomials.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible import _native
from plausible.chance import generator
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.learning.em import Fitted, Step, Stopped, Vector, em
from plausible.learning.mixtures.leaning import power_of_evidence
from plausible.learning.mixtures.moments import Array, Moments
from plausible.learning.mixtures.reading import encoded, learned_rows, schema_of
from plausible.learning.mixtures.seeds import directions, nearest, reseeded
from plausible.learning.mixtures.stars import (
    Star,
    StarCounts,
    StarPrior,
    StarRows,
    WordsPrior,
    count,
    e_step,
    posterior,
)
from plausible.learning.mixtures.words import SURE, WHOLE, Words
from plausible.schema import Schema
from plausible.sources import open_source
from plausible.text import Tokens
from plausible.wording import quantity

Indices = NDArray[np.intp]


ROWS, DOCUMENTS = 1.0, 20.0
"""What the prior is worth by default: of a column, and of the words of a collection."""
LOST = 0.01
"""Rows below which a component is empty."""
SAMPLE = 100
"""Documents a component among which starts are compared."""


class Characteristic(NamedTuple):
    """A value that makes a cluster: its probability there and in the whole table; a number has its mean and spread,
    a word the share of documents that hold it.
    """

    variable: str
    value: str
    here: float
    overall: float


@dataclass(frozen=True, slots=True)
class TableMixture:
    """A mixture of k stars, as learned from a table or from documents.

    Parameters
    ----------
    schema : the columns that took part
    star : weights (k,), tables, means and variances, one column a component
    overall : the same with one component: the whole table
    sizes : (k,) rows that belong to each component more probably than to any other
    assigned : of each row it was learned from the most probable component
    exemplars : for each component the rows most typical of it, counted from 0
    log_likelihood : ln P of the rows
    objective, iterations, stopped, trace
        As in `plausible.learning.em.Fitted`; with a power below 1 the likelihood of the objective is raised to it.
    prior : what was added to the counts
    sure : the mean over rows of the greatest share
    words : the terms that take part, if there is text
    holding : (terms, k + 1) share of the documents of each component, and of all, that hold a term
    """

    schema: Schema
    star: Star
    overall: Star
    sizes: Indices
    assigned: Indices
    exemplars: tuple[Indices, ...]
    log_likelihood: float
    objective: float
    iterations: int
    stopped: Stopped
    trace: Vector
    prior: StarPrior
    sure: float
    words: Words | None = None
    holding: Array | None = None

    @property
    def converged(self) -> bool:
        return self.stopped == "converged"

    @property
    def weights(self) -> Array:
        return self.star.weights

    @property
    def parameters(self) -> int:
        """How many numbers were free to be learned."""
        k, free = len(self.weights), {"continuous": 2, "text": 0}
        columns = sum(free.get(v.kind, len(v.states) - 1) for v in self.schema.variables)
        return k - 1 + k * (columns + (len(self.words.terms) - 1 if self.words else 0))

    def posterior(self, given: Any, *, threads: int | None = None) -> Array:
        """P(component | row), shape (rows, k). A value never seen counts as missing."""
        return self.posterior_of(self.read(given), threads=threads)[0]

    def read(self, given: Any) -> StarRows:
        """New rows or documents as this mixture sees them."""
        return encoded(open_source(given), self.schema, self.words)

    def posterior_of(self, rows: StarRows, *, threads: int | None = None) -> tuple[Array, Array]:
        """P(component | row), and ln P(row)."""
        return posterior(rows, self.star, threads or os.cpu_count() or 1)

    def left_out(self, rows: StarRows, *, threads: int | None = None) -> Array:
        """ln P(row | all others) of rows it was learned from; their own shares are taken out, all else stays."""
        from plausible.learning.mixtures.left_out import star_left_out

        return star_left_out(rows, self.star, self.prior, threads or os.cpu_count() or 1)

    def characteristics(self, component: int, most: int = 10) -> list[Characteristic]:
        """What sets a component apart, by how much each variable's part of it diverges from the whole table's.

        A value's part is P(v | j) ln (P(v | j) / P(v)), of Kullback and Leibler's divergence; a number's is
        ln (σ / σ_j) + (σ_j² + (μ_j − μ)²) / 2σ² − 1/2.
        """
        if not 0 <= component < len(self.weights):
            raise CallError(f"there is no component {component}: they are numbered 0 to {len(self.weights) - 1}")
        found: list[tuple[float, Characteristic]] = []
        feature = column = 0
        for variable in self.schema.variables:
            if variable.kind == "text":
                continue
            if variable.kind == "categorical":
                for state in variable.states:
                    here, whole = float(self.star.tables[feature, component]), float(self.overall.tables[feature, 0])
                    found.append((here * math.log(here / whole), Characteristic(variable.name, state, here, whole)))
                    feature += 1
                continue
            mean, variance = float(self.star.means[column, component]), float(self.star.variances[column, component])
            centre, width = float(self.overall.means[column, 0]), float(self.overall.variances[column, 0])
            part = 0.5 * (math.log(width / variance) + (variance + (mean - centre) ** 2) / width - 1)
            text = f"{mean:.4g} ± {math.sqrt(variance):.2g}"
            found.append((part, Characteristic(variable.name, text, mean, centre)))
            column += 1
        if self.words is not None and self.holding is not None:
            here_, all_ = self.star.tables[feature:, component], self.overall.tables[feature:, 0]
            parts = here_ * np.log(here_ / all_)
            for at in np.argsort(-parts, kind="stable")[:most].tolist():
                share, whole = float(self.holding[at, component]), float(self.holding[at, -1])
                found.append((float(parts[at]), Characteristic("text", self.words.terms[at], share, whole)))
        found.sort(key=lambda pair: -pair[0])
        return [characteristic for part, characteristic in found[:most] if part > 0]


def mixture_of_tables(
    given: Any,
    k: int,
    *,
    columns: Sequence[str] = (),
    categories: Iterable[str] = (),
    text: Sequence[str] = (),
    tokens: Tokens | None = None,
    stop_words: Iterable[str] = (),
    **options: Any,
) -> TableMixture:
    """Learn k clusters of the rows of a table, or of documents.

    Parameters
    ----------
    given : anything `open_source` opens: a path, a data frame, a list of dictionaries, SQL
    columns : those that take part; all by default, or none but the text where there is text
    categories : columns of numbers whose numbers are names
    text : columns of texts, which are joined
    tokens, stop_words : what the words of texts are, and which take no part
    options : those of `mixture_of_rows`

    Examples
    --------
    >>> rows = [{"sky": "blue", "sea": "calm"}, {"sky": "grey", "sea": "rough"}] * 4 + [{"sky": "grey", "sea": None}]
    >>> mixture = mixture_of_tables(rows, 2)
    >>> mixture.sizes.tolist(), mixture.characteristics(0)[0].value
    ([5, 4], 'rough')
    >>> texts = [{"text": t} for t in ("red rose", "rose thorn", "red thorn", "bank rate", "bank loan")]
    >>> mixture_of_tables(texts, 2, text=["text"]).posterior(texts).argmax(axis=1).tolist()
    [0, 0, 0, 1, 1]
    """
    source = open_source(given)
    if source.documents:
        columns, text = (), ("text",)
    schema = schema_of(source, columns or (() if text else source.columns), frozenset(categories), text)
    rows, words = learned_rows(source, schema, tokens or Tokens(), stop_words, options.get("threads"))
    return mixture_of_rows(rows, schema, k, words=words, **options)


def mixture_of_rows(
    rows: StarRows,
    schema: Schema,
    k: int,
    *,
    words: Words | None = None,
    temper: bool = True,
    prior: float | None = None,
    restarts: int | None = None,
    seed: int | np.random.Generator = 0,
    tolerance: float | None = None,
    max_iterations: int = 1000,
    max_seconds: float = math.inf,
    progress: Callable[[Step], None] | None = None,
    threads: int | None = None,
) -> TableMixture:
    """Learn k clusters of rows that are encoded.

    Parameters
    ----------
    temper : bool
        Let words count for more, by a factor of 2 at a time, where documents are not told apart, and columns for less,
        where they lean on one another; see `words` and `leaning`.
    prior : float
        m of (n_c + m p) / (n + m), in rows; p is equal for the values of a variable, and a word's share of all words.
        By default 1; of documents 20, or a fiftieth of all where there are few.
    restarts : int
        Starts from seeds far from one another, 10 by default; the best is kept. Of documents it is 3, in a sample, and
        only the best is climbed from.
    tolerance, max_iterations, max_seconds, progress
        As in `plausible.learning.em`; the tolerance is 1e-9, and 2e-4 with text.
    """
    begun = time.monotonic()
    threads, rng = threads or os.cpu_count() or 1, generator(seed)
    if k < 1 or (restarts is not None and restarts < 1):
        raise CallError(f"k ({k}) and restarts ({restarts}) must be at least 1")
    if k > rows.count:
        raise CallError(f"k is {k}, but the table has {quantity(rows.count, 'row')}: choose k of at most {rows.count}")
    limits: dict[str, Any] = {
        "tolerance": tolerance if tolerance is not None else 1e-9 if words is None else 2e-4,
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
        "progress": progress,
    }
    while True:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", PlausibleWarning)
            mixture = _climbed(rows, schema, k, words, prior, restarts, rng, threads, limits)
            if temper:
                limits["max_seconds"] = max(max_seconds - (time.monotonic() - begun), 0.0)
                mixture = eased(mixture, rows, threads=threads, **limits)
        if words is None or not temper or k == 1 or mixture.sure >= SURE or words.part >= WHOLE:
            break
        rows, words = _louder(rows, words)
    for note in said:
        warnings.warn(str(note.message), note.category, stacklevel=2)
    if k > 1 and mixture.sure < 1 / k + 0.1 and mixture.sizes.all():
        warnings.warn(
            f"the {k} clusters are hardly told apart: the greatest share of a row is {mixture.sure:.2f} on average; "
            "choose fewer, or give more columns",
            PlausibleWarning,
            stacklevel=2,
        )
    return mixture


def _climbed(
    rows: StarRows,
    schema: Schema,
    k: int,
    words: Words | None,
    prior: float | None,
    restarts: int | None,
    rng: np.random.Generator,
    threads: int,
    limits: dict[str, Any],
) -> TableMixture:
    rule = _prior(rows, schema, prior)
    overall = rule.estimate(count(rows, np.zeros(rows.count, dtype=np.intp), 1))
    again: list[int] = []

    def starts() -> Iterator[Star]:
        if words is not None:
            again.append(0)
            part = rows if rows.count <= SAMPLE * k else rows.take(rng.choice(rows.count, SAMPLE * k, replace=False))
            seeds = (nearest(part, k, rule.variances, rng, threads) for _ in range(restarts or 3))
            tried = [directions(part, which, k, threads) for which in seeds]
            yield rule.estimate(count(part, max(tried, key=lambda pair: pair[1])[0], k))
            return
        for _ in range(restarts or 10):
            again.append(0)
            yield rule.estimate(count(rows, nearest(rows, k, rule.variances, rng, threads), k))

    def mend(star: Star, counts: StarCounts) -> Star | None:
        lost = np.flatnonzero(counts.rows < LOST)
        if not lost.size or again[-1] >= k:
            return None
        again[-1] += 1
        return reseeded(star, int(lost[0]), rows, overall, rng)

    fitted = em(
        starts(),
        lambda star: e_step(rows, star, threads),
        rule.estimate,
        log_prior=rule.log_density,
        mend=mend,
        **limits,
    )
    mixture = _described(fitted, rows, schema, rule, overall, words, threads)
    _say(again[fitted.run - 1], mixture.sizes)
    return mixture


def _described(
    fitted: Fitted[Star, StarCounts],
    rows: StarRows,
    schema: Schema,
    rule: StarPrior,
    overall: Star,
    words: Words | None,
    threads: int,
) -> TableMixture:
    """Its components in the order of their weights, with what belongs to each."""
    star = _taken(fitted.parameters, np.argsort(-fitted.parameters.weights, kind="stable"))
    shares, log_rows = posterior(rows, star, threads)
    assigned = shares.argmax(axis=1)
    k = len(star.weights)
    fit = log_rows - (posterior(rows, overall, threads)[1] if words is not None else 0)
    return TableMixture(
        schema,
        star,
        overall,
        np.bincount(assigned, minlength=k),
        assigned,
        tuple(_exemplars(np.flatnonzero(assigned == j), shares[:, j], fit) for j in range(k)),
        float(log_rows.sum()),
        fitted.objective,
        fitted.iterations,
        fitted.stopped,
        fitted.trace,
        rule,
        float(shares.max(axis=1).mean()),
        words,
        None if words is None else _holding(rows, shares, threads),
    )


def eased(mixture: TableMixture, rows: StarRows, *, threads: int | None = None, **limits: Any) -> TableMixture:
    """The clusters that EM goes on to where the evidence of columns that lean on one another counts for less.

    `limits` are those of `plausible.learning.em`. The mixture stays what it is where columns don't lean on one another,
    where it has one component or text, where it has not converged, and where a cluster would lose its rows.
    """
    threads = threads or os.cpu_count() or 1
    if mixture.words is not None or len(mixture.weights) < 2 or not mixture.converged:
        return mixture
    power = power_of_evidence(rows, mixture.star, posterior(rows, mixture.star, threads)[0])
    if power == 1:
        return mixture
    rule = mixture.prior
    fitted = em(
        [replace(mixture.star, power=power)],
        lambda star: e_step(rows, star, threads),
        lambda counts: replace(rule.estimate(counts), power=power),
        log_prior=lambda star: power * rule.log_density(star),
        **limits,
    )
    easier = _described(fitted, rows, mixture.schema, rule, mixture.overall, None, threads)
    if mixture.sizes.all() and not easier.sizes.all():
        return mixture
    return replace(easier, iterations=mixture.iterations + easier.iterations)


def tempered(rows: StarRows, words: Words, like: TableMixture) -> tuple[StarRows, Words]:
    """Rows whose words count what they do in another mixture."""
    while like.words is not None and words.part < like.words.part:
        rows, words = _louder(rows, words)
    return rows, words


def _louder(rows: StarRows, words: Words) -> tuple[StarRows, Words]:
    """Words that count twice as much."""
    assert rows.times is not None
    of_words = rows.features >= rows.variables[-1][0]
    return (
        replace(rows, times=np.where(of_words, 2 * rows.times, rows.times)).turned(),
        replace(words, part=2 * words.part),
    )


def _prior(rows: StarRows, schema: Schema, prior: float | None) -> StarPrior:
    features, numbers = rows.totals()
    variances = _variances(rows, numbers, schema)
    words = None
    if any(v.kind == "text" for v in schema.variables):
        first, end = rows.variables[-1]
        seen = features[first:end]
        mass = float(seen.sum())
        shares = (seen + 0.01 * mass / len(seen)) / (1.01 * mass)  # no word is impossible, even in a part of the rows
        worth = min(DOCUMENTS, rows.count / 50) if prior is None else prior
        words = WordsPrior(worth * mass / rows.count, shares)
    return StarPrior(ROWS if prior is None else prior, rows.variables, variances, words)


def _holding(rows: StarRows, shares: Array, threads: int) -> Array:
    """Of the words, the share of each component's documents that hold them, and of all."""
    assert rows.by_feature is not None
    starts, holders, _ = rows.by_feature
    each = np.column_stack([shares, np.ones(rows.count)])
    held: Array = _native.sparse_product(starts, holders, None, each, threads)
    holding: Array = held[rows.variables[-1][0] :] / np.maximum(each.sum(axis=0), 1e-300)
    return holding


def _variances(rows: StarRows, whole: Moments, schema: Schema) -> Array:
    """Of each column of numbers, none of which may be empty or constant."""
    numeric = [v.name for v in schema.variables if v.kind == "continuous"]
    low, high = np.fmin.reduce(rows.numbers), np.fmax.reduce(rows.numbers)
    for d, name in enumerate(numeric):
        if whole.n[d] == 0:
            raise DataError(f"column {name!r} has no values at all: leave it out")
        if low[d] == high[d]:
            raise DataError(f"column {name!r} is constant ({low[d]:g}): it tells nothing of clusters; leave it out")
    return whole.squares[:, 0] / whole.n


def _taken(star: Star, order: Indices) -> Star:
    of = np.ascontiguousarray
    return replace(
        star,
        weights=of(star.weights[order]),
        tables=of(star.tables[:, order]),
        means=of(star.means[:, order]),
        variances=of(star.variances[:, order]),
    )


def _exemplars(own: Indices, shares: Array, log_rows: Array, most: int = 5) -> Indices:
    """A component's own rows that it makes most probably: ln P(row | j) + ln P(j) = ln P(j | row) + ln P(row)."""
    fit = np.log(shares[own]) + log_rows[own]
    return own[np.argsort(-fit, kind="stable")[:most]]


def _say(reseeded: int, sizes: Indices) -> None:
    empty = [str(j) for j in np.flatnonzero(sizes == 0)]
    if empty:
        warnings.warn(
            f"no row belongs to component {', '.join(empty)} more than to another: choose fewer components than "
            f"{len(sizes)}",
            PlausibleWarning,
            stacklevel=3,
        )
    elif reseeded:
        warnings.warn(
            f"on the way a component lost its rows {quantity(reseeded, 'time')}, and began again from a random row",
            PlausibleWarning,
            stacklevel=3,
        )
