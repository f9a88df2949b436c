"""Clusters of whatever a source holds: Gaussians where all columns are numbers, else stars with a hidden centre, whose
words are those of documents.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plausible.errors import CallError, PlausibleWarning, unknown
from plausible.learning.mixtures.candidates import FOLD, Choice, Criterion, choose, choose_gaussian_mixture
from plausible.learning.mixtures.components import Covariance
from plausible.learning.mixtures.gaussian import GaussianMixture, gaussian_mixture
from plausible.learning.mixtures.points import read_points
from plausible.learning.mixtures.reading import encoded, learned_rows, schema_of
from plausible.learning.mixtures.stars import StarRows
from plausible.learning.mixtures.tables import TableMixture, eased, mixture_of_rows, tempered
from plausible.learning.mixtures.words import Words
from plausible.schema import Schema
from plausible.sources import Source, open_source
from plausible.text import Tokens

MOST = 10
"""Components that "auto" tries of points and tables."""
OF_DOCUMENTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
"""Those that it tries of documents."""


def cluster(
    given: Any,
    k: int | Literal["auto"],
    *,
    columns: Sequence[str] = (),
    leave_out: Iterable[str] = (),
    categories: Iterable[str] = (),
    text: Sequence[str] = (),
    tokens: Tokens | None = None,
    stop_words: Iterable[str] = (),
    covariance: Covariance | None = None,
    variance: float | None = None,
    by: Criterion | None = None,
    seed: int = 0,
    **options: Any,
) -> Choice[GaussianMixture] | Choice[TableMixture]:
    """Learn k clusters, or as many as `by` likes best.

    Parameters
    ----------
    given : anything `open_source` opens, or a source that is open
    columns : those that take part; all by default, or all of numbers where a covariance is named, or the text alone
    leave_out : columns that don't
    categories : columns of numbers whose numbers are names
    text : columns of texts, which are joined; a folder, mail and text files are text anyway
    tokens, stop_words : what the words of texts are, and which take no part
    by : "bic", "leave_one_out" or "held_out"
        How "auto" compares; "bic" by default, and "leave_one_out" of documents.
    covariance : "known", "spherical", "diagonal", "tied" or "full"
        Named, the mixture is of Gaussians. Otherwise it is if all columns are numbers, and "full".
    options : those of `gaussian_mixture` or `mixture_of_rows`

    Examples
    --------
    >>> rows = [{"x": x, "kind": "a"} for x in (1.0, 1.2, 0.8, 5.0, 5.1, 4.9)]
    >>> cluster(rows, 2, covariance="spherical").best.sizes.tolist()
    [3, 3]
    """
    source = given if isinstance(given, Source) else open_source(given)
    named, without = frozenset(categories), frozenset(leave_out)
    for name in (*columns, *named, *without, *text):
        if name not in source.columns:
            raise CallError(unknown(f"column of {source.name}", name, source.columns))
    if source.documents:
        if columns:
            raise CallError(f"{source.name} holds documents: it has no columns to choose from; leave them out")
        text = ("text",)
    names = tuple(name for name in columns or (() if text else source.columns) if name not in (*without, *text))
    if not names and not text:
        raise CallError(f"no column of {source.name} is left to cluster by; leave out fewer")
    numbers = [name for name in names if name in source.numeric and name not in named]
    if text or (covariance is None and len(numbers) < len(names)):
        if covariance is not None or variance is not None:
            raise CallError("a covariance and its variance need columns of numbers; leave them out")
        schema = schema_of(source, names, named, text)
        rows, words = learned_rows(source, schema, tokens or Tokens(), stop_words, options.get("threads"))
        return _of_rows(rows, words, schema, k, by, seed, options)
    if not numbers:
        raise CallError(f"a covariance needs columns of numbers, and {source.name} has none; leave it out")
    if columns and len(numbers) < len(names):
        other = next(name for name in names if name not in numbers)
        raise CallError(f"column {other!r} holds categories, which have no covariance; leave one of them out")
    table = read_points(source, numbers)
    options = {"covariance": covariance or "full", "variance": variance, "seed": seed, **options}
    if k == "auto":
        return choose_gaussian_mixture(table, range(1, MOST + 1), by=by or "bic", **options)
    return Choice(gaussian_mixture(table, k, **options), ())


def _of_rows(
    rows: StarRows,
    words: Words | None,
    schema: Schema,
    k: int | Literal["auto"],
    by: Criterion | None,
    seed: int,
    options: dict[str, Any],
) -> Choice[TableMixture]:
    if k != "auto":
        return Choice(mixture_of_rows(rows, schema, k, words=words, seed=seed, **options), ())
    ks: Iterable[int] = range(1, MOST + 1)
    if words is not None:  # what words count must be the same for all candidates: what tells this many apart
        ks = [components for components in OF_DOCUMENTS if components <= rows.count]
        pilot = max(2, min(MOST, rows.count // 20))
        if pilot <= rows.count:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PlausibleWarning)
                like = mixture_of_rows(rows, schema, pilot, words=words, seed=seed, **options)
            rows, words = tempered(rows, words, like)

    def fit(components: int, some: NDArray[np.intp] | None) -> TableMixture:
        fixed: dict[str, Any] = {"words": words, "temper": False, "seed": seed, **options}
        if some is None:
            return mixture_of_rows(rows, schema, components, **fixed)
        return mixture_of_rows(rows.take(some), schema, components, **fixed | FOLD)

    def log_density(mixture: TableMixture, some: NDArray[np.intp]) -> float:
        return float(mixture.posterior_of(rows.take(some))[1].sum())

    def left_out(mixture: TableMixture) -> float:
        return float(mixture.left_out(rows).sum())

    by = by or ("bic" if words is None else "leave_one_out")
    choice = choose(ks, rows.count, fit, log_density, left_out, by=by, folded=words is None, seed=seed)
    limits = {
        name: options[name] for name in ("max_iterations", "max_seconds", "progress", "threads") if name in options
    }
    return replace(choice, best=eased(choice.best, rows, **limits))


def memberships(source: Source, mixture: GaussianMixture | TableMixture) -> Iterator[tuple[str, list[float]]]:
    """Where each row came from, and P(component | row)."""
    if isinstance(mixture, GaussianMixture):
        names, shares = mixture.names, mixture.posterior(read_points(source, mixture.names))
    else:
        rows = encoded(source, mixture.schema, mixture.words)
        names, shares = mixture.schema.names, mixture.posterior_of(rows)[0]
    row = iter(shares.tolist())
    for table in source.tables(names[:1]):
        for i in range(len(table)):
            yield table.place(i), next(row)
