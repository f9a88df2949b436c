"""Clusters of table rows with categories, numbers and gaps: latent class analysis (Lazarsfeld and Henry 1968; the
AutoClass idea, Cheeseman and Stutz 1996).
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.errors import CallError, DataError, PlausibleWarning, unknown
from plausible.learning.em import Step, Stopped, Vector, em
from plausible.learning.mixtures.moments import Array
from plausible.learning.mixtures.points import LARGEST
from plausible.learning.mixtures.stars import Star, StarCounts, StarPrior, StarRows, count, e_step, posterior
from plausible.schema import Schema, Variable
from plausible.sources import Source, open_source

Indices = NDArray[np.intp]


class Characteristic(NamedTuple):
    """A value that makes a cluster: its probability there and in the whole table; a number has its mean and spread."""

    variable: str
    value: str
    here: float
    overall: float


@dataclass(frozen=True, slots=True)
class TableMixture:
    """A mixture of k stars, as learned from a table.

    Parameters
    ----------
    schema : the columns that took part
    star : weights (k,), tables, means and variances, one column a component
    overall : the same with one component: the whole table
    sizes : (k,) rows that belong to each component more probably than to any other
    exemplars : for each component the rows most typical of it, counted from 0
    log_likelihood, objective, iterations, stopped, trace
        As in `plausible.learning.em.Fitted`.
    """

    schema: Schema
    star: Star
    overall: Star
    sizes: Indices
    exemplars: tuple[Indices, ...]
    log_likelihood: float
    objective: float
    iterations: int
    stopped: Stopped
    trace: Vector

    @property
    def converged(self) -> bool:
        return self.stopped == "converged"

    @property
    def weights(self) -> Array:
        return self.star.weights

    @property
    def parameters(self) -> int:
        """How many numbers were free to be learned."""
        k = len(self.weights)
        return k - 1 + k * sum(len(v.states) - 1 if v.kind == "categorical" else 2 for v in self.schema.variables)

    def posterior(self, given: Any, *, threads: int | None = None) -> Array:
        """P(component | row), shape (rows, k). A value never seen counts as missing."""
        return self.posterior_of(encoded(open_source(given), self.schema), threads=threads)[0]

    def posterior_of(self, rows: StarRows, *, threads: int | None = None) -> tuple[Array, Array]:
        """P(component | row), and ln P(row)."""
        return posterior(rows, self.star, threads or os.cpu_count() or 1)

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
            if variable.kind == "categorical":
                for state in variable.states:
                    here, all_ = float(self.star.tables[feature, component]), float(self.overall.tables[feature, 0])
                    found.append((here * math.log(here / all_), Characteristic(variable.name, state, here, all_)))
                    feature += 1
                continue
            mean, variance = float(self.star.means[column, component]), float(self.star.variances[column, component])
            centre, width = float(self.overall.means[column, 0]), float(self.overall.variances[column, 0])
            part = 0.5 * (math.log(width / variance) + (variance + (mean - centre) ** 2) / width - 1)
            text = f"{mean:.4g} ± {math.sqrt(variance):.2g}"
            found.append((part, Characteristic(variable.name, text, mean, centre)))
            column += 1
        found.sort(key=lambda pair: -pair[0])
        return [characteristic for part, characteristic in found[:most] if part > 0]


def mixture_of_tables(
    given: Any,
    k: int,
    *,
    columns: Sequence[str] = (),
    categories: Iterable[str] = (),
    **options: Any,
) -> TableMixture:
    """Learn k clusters of the rows of a table.

    Parameters
    ----------
    given : anything `open_source` opens: a path, a data frame, a list of dictionaries, SQL
    columns : those that take part; all by default
    categories : columns of numbers whose numbers are names
    options : those of `mixture_of_rows`

    Examples
    --------
    >>> rows = [{"sky": "blue", "sea": "calm"}, {"sky": "grey", "sea": "rough"}] * 4 + [{"sky": "grey", "sea": None}]
    >>> mixture = mixture_of_tables(rows, 2)
    >>> mixture.sizes.tolist(), mixture.characteristics(0)[0].value
    ([5, 4], 'rough')
    """
    source = open_source(given)
    schema = schema_of(source, columns, frozenset(categories))
    return mixture_of_rows(encoded(source, schema), schema, k, **options)


def mixture_of_rows(
    rows: StarRows,
    schema: Schema,
    k: int,
    *,
    prior: float = 1.0,
    restarts: int = 10,
    seed: int | np.random.Generator = 0,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
    max_seconds: float = math.inf,
    progress: Callable[[Step], None] | None = None,
    threads: int | None = None,
) -> TableMixture:
    """Learn k clusters of rows that are encoded.

    Parameters
    ----------
    prior : float
        m of (n_c + m p) / (n + m), in rows; p is equal for the values of a variable.
    restarts : int
        Starts from seeds far from one another; the best is kept.
    tolerance, max_iterations, max_seconds, progress
        As in `plausible.learning.em`.
    """
    threads, rng = threads or os.cpu_count() or 1, np.random.default_rng(seed)
    if k < 1 or restarts < 1:
        raise CallError(f"k ({k}) and restarts ({restarts}) must be at least 1")
    if k > rows.count:
        raise CallError(f"k is {k}, but there are {rows.count} rows: choose k of at most {rows.count}")
    rule = StarPrior(prior, rows.variables, _variances(rows, schema))
    overall = rule.estimate(count(rows, np.zeros(rows.count, dtype=np.intp), 1))
    reseeded: list[int] = []

    def starts() -> Iterator[Star]:
        for _ in range(restarts):
            reseeded.append(0)
            yield rule.estimate(count(rows, _nearest(rows, k, rule.variances, rng), k))

    def mend(star: Star, counts: StarCounts) -> Star | None:
        lost = np.flatnonzero(counts.rows < 0.01)
        if not lost.size or reseeded[-1] >= k:
            return None
        reseeded[-1] += 1
        return _reseeded(star, int(lost[0]), rows, overall, rng)

    fitted = em(
        starts(),
        lambda star: e_step(rows, star, threads),
        rule.estimate,
        log_prior=rule.log_density,
        tolerance=tolerance,
        max_iterations=max_iterations,
        max_seconds=max_seconds,
        progress=progress,
        mend=mend,
    )
    order = np.argsort(-fitted.parameters.weights, kind="stable")
    star = _taken(fitted.parameters, order)
    shares, log_rows = posterior(rows, star, threads)
    sizes = np.bincount(shares.argmax(axis=1), minlength=k)
    _say(reseeded[fitted.run - 1], fitted.statistics.rows[order])
    return TableMixture(
        schema,
        star,
        overall,
        sizes,
        tuple(_exemplars(shares, log_rows, star.weights, j) for j in range(k)),
        fitted.log_likelihood,
        fitted.objective,
        fitted.iterations,
        fitted.stopped,
        fitted.trace,
    )


def schema_of(source: Source, columns: Sequence[str] = (), categories: frozenset[str] = frozenset()) -> Schema:
    """The columns that take part, numbers as numbers, and the states that the others have."""
    for name in (*columns, *categories):
        if name not in source.columns:
            raise CallError(unknown(f"column of {source.name}", name, source.columns))
    names = tuple(columns) or source.columns
    numeric = [name for name in names if name in source.numeric and name not in categories]
    states: dict[str, dict[str, None]] = {name: {} for name in names if name not in numeric}
    rows = 0
    for table in source.tables(list(names)):
        rows += len(table)
        for name, seen in states.items():
            seen.update(dict.fromkeys(str(cell) for cell in table.columns[name] if cell not in (None, "")))
    if not rows:
        raise DataError(f"{source.name} has no rows")
    for name, seen in states.items():
        if not seen:
            raise DataError(f"column {name!r} of {source.name} has no values at all: leave it out")
        if len(seen) == rows > 20:
            raise DataError(
                f"column {name!r} of {source.name} has another value in each of {rows:,} rows: it is a name, "
                f"not a category; leave it out"
            )
    return Schema(
        tuple(
            Variable(name, "continuous") if name in numeric else Variable(name, states=tuple(sorted(states[name])))
            for name in names
        )
    )


def encoded(source: Source, schema: Schema) -> StarRows:
    """The rows of a source as a star sees them."""
    for name in schema.names:
        if name not in source.columns:
            raise CallError(unknown(f"column of {source.name}", name, source.columns))
    categorical = [v for v in schema.variables if v.kind == "categorical"]
    numeric = [v.name for v in schema.variables if v.kind == "continuous"]
    ends = np.cumsum([0, *(len(v.states) for v in categorical)]).tolist()
    codes = [
        {state: first + i for i, state in enumerate(v.states)} for v, first in zip(categorical, ends, strict=False)
    ]
    chunks, numbers = [], []
    for table in source.tables(list(schema.names), numeric):
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
    return StarRows(starts, dense[there], None, values, tuple(pairwise(ends)))


def _variances(rows: StarRows, schema: Schema) -> Array:
    """Of each column of numbers, none of which may be empty or constant."""
    _, whole = rows.totals()
    numeric = [v.name for v in schema.variables if v.kind == "continuous"]
    low, high = np.fmin.reduce(rows.numbers), np.fmax.reduce(rows.numbers)
    for d, name in enumerate(numeric):
        if whole.n[d] == 0:
            raise DataError(f"column {name!r} has no values at all: leave it out")
        if low[d] == high[d]:
            raise DataError(f"column {name!r} is constant ({low[d]:g}): it tells nothing of clusters; leave it out")
    return whole.squares[:, 0] / whole.n


def _nearest(rows: StarRows, k: int, variances: Array, rng: np.random.Generator) -> Indices:
    """k-means++ seeds (Arthur and Vassilvitskii 2007), to the nearest of which each row goes.

    Squared distance: 2 for a value that differs, 1 for one that only either has, a number's own in deviations.
    """
    scale = np.where(variances > 0, variances, 1)
    owner, there = np.repeat(np.arange(rows.count), np.diff(rows.starts)), ~np.isnan(rows.numbers)

    def distance(seed: int) -> Array:
        own = rows.features[rows.starts[seed] : rows.starts[seed + 1]]
        differs = np.ones(rows.size)
        differs[own] = -1
        categories = len(own) + np.bincount(owner, differs[rows.features], rows.count)
        apart = (rows.numbers - rows.numbers[seed]) ** 2 / scale
        either = there != there[seed]
        numbers: Array = np.where(either, 1.0, np.nan_to_num(apart)).sum(axis=1)
        return categories + numbers

    closest = distance(int(rng.integers(rows.count)))
    nearest = np.zeros(rows.count, dtype=np.intp)
    for j in range(1, k):
        if not closest.any():
            raise DataError(f"k is {k}, but only {j} rows differ from one another: choose k of at most {j}")
        new = distance(int(rng.choice(rows.count, p=closest / closest.sum())))
        nearest[new < closest] = j
        closest = np.minimum(closest, new)
    return nearest


def _reseeded(star: Star, j: int, rows: StarRows, overall: Star, rng: np.random.Generator) -> Star:
    """Component j begins again half as a random row, half as the whole table."""
    row = int(rng.integers(rows.count))
    tables, means, variances = star.tables.copy(), star.means.copy(), star.variances.copy()
    tables[:, j] = overall.tables[:, 0]
    own = rows.features[rows.starts[row] : rows.starts[row + 1]]
    for first, end in rows.variables:
        mine = own[(own >= first) & (own < end)]
        if mine.size:
            tables[first:end, j] /= 2
            tables[mine, j] += 0.5 / mine.size
    there = ~np.isnan(rows.numbers[row])
    means[:, j] = np.where(there, np.nan_to_num(rows.numbers[row]), overall.means[:, 0])
    variances[:, j] = overall.variances[:, 0]
    k = len(star.weights)
    weights = star.weights * (1 - 1 / k)
    weights[j] += 1 / k
    return Star(weights / weights.sum(), tables, means, variances)


def _taken(star: Star, order: Indices) -> Star:
    return Star(
        *(
            np.ascontiguousarray(part)
            for part in (
                star.weights[order],
                star.tables[:, order],
                star.means[:, order],
                star.variances[:, order],
            )
        )
    )


def _exemplars(shares: Array, log_rows: Array, weights: Array, j: int, most: int = 5) -> Indices:
    """The rows of component j that it makes most probably: ln P(row | j) = ln P(j | row) + ln P(row) − ln P(j)."""
    own = np.flatnonzero(shares.argmax(axis=1) == j)
    fit = np.log(shares[own, j]) + log_rows[own] - math.log(weights[j]) if own.size else np.empty(0)
    return own[np.argsort(-fit, kind="stable")[:most]]


def _say(reseeded: int, rows: Array) -> None:
    empty = [str(j) for j in np.flatnonzero(rows < 0.01)]
    if empty:
        warnings.warn(
            f"component {', '.join(empty)} is empty: choose fewer components than {len(rows)}",
            PlausibleWarning,
            stacklevel=3,
        )
    elif reseeded:
        warnings.warn(
            f"on the way a component lost its rows {reseeded} times, and began again from a random row",
            PlausibleWarning,
            stacklevel=3,
        )
