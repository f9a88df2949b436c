"""Clusters of whatever a source holds: Gaussians where all columns are numbers, else stars with a hidden centre."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plausible.errors import CallError, unknown
from plausible.learning.mixtures.candidates import FOLD, Choice, Criterion, choose, choose_gaussian_mixture
from plausible.learning.mixtures.components import Covariance
from plausible.learning.mixtures.gaussian import GaussianMixture, gaussian_mixture
from plausible.learning.mixtures.points import read_points
from plausible.learning.mixtures.tables import TableMixture, encoded, mixture_of_rows, schema_of
from plausible.sources import Source, open_source

MOST = 10  # components that "auto" tries


def cluster(
    given: Any,
    k: int | Literal["auto"],
    *,
    columns: Sequence[str] = (),
    leave_out: Iterable[str] = (),
    categories: Iterable[str] = (),
    covariance: Covariance | None = None,
    variance: float | None = None,
    by: Criterion = "bic",
    seed: int = 0,
    **options: Any,
) -> Choice[GaussianMixture] | Choice[TableMixture]:
    """Learn k clusters, or as many as `by` likes best.

    Parameters
    ----------
    given : anything `open_source` opens, or a source that is open
    columns : those that take part; all by default, or all of numbers where a covariance is named
    leave_out : columns that don't
    categories : columns of numbers whose numbers are names
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
    if source.documents:
        raise CallError(
            f"{source.name} holds documents; so far only tables can be clustered (CSV, JSON lines, Parquet)"
        )
    named, without = frozenset(categories), frozenset(leave_out)
    for name in (*columns, *named, *without):
        if name not in source.columns:
            raise CallError(unknown(f"column of {source.name}", name, source.columns))
    names = tuple(name for name in columns or source.columns if name not in without)
    numbers = [name for name in names if name in source.numeric and name not in named]
    if covariance is None and len(numbers) < len(names):
        if variance is not None:
            raise CallError("a variance needs covariance='known' and columns of numbers; leave it out")
        return _of_tables(source, k, names, named, by, seed, options)
    if not numbers:
        raise CallError(f"a covariance needs columns of numbers, and {source.name} has none; leave it out")
    if columns and len(numbers) < len(names):
        other = next(name for name in names if name not in numbers)
        raise CallError(f"column {other!r} holds categories, which have no covariance; leave one of them out")
    table = read_points(source, numbers)
    options = {"covariance": covariance or "full", "variance": variance, "seed": seed, **options}
    if k == "auto":
        return choose_gaussian_mixture(table, range(1, MOST + 1), by=by, **options)
    return Choice(gaussian_mixture(table, k, **options), ())


def _of_tables(
    source: Source,
    k: int | Literal["auto"],
    names: Sequence[str],
    categories: frozenset[str],
    by: Criterion,
    seed: int,
    options: dict[str, Any],
) -> Choice[TableMixture]:
    schema = schema_of(source, names, categories)
    table = encoded(source, schema)

    def fit(components: int, rows: NDArray[np.intp] | None) -> TableMixture:
        if rows is None:
            return mixture_of_rows(table, schema, components, seed=seed, **options)
        return mixture_of_rows(table.take(rows), schema, components, seed=seed, **options | FOLD)

    def log_density(mixture: TableMixture, rows: NDArray[np.intp]) -> float:
        return float(mixture.posterior_of(table.take(rows))[1].sum())

    if k == "auto":
        return choose(range(1, MOST + 1), table.count, fit, log_density, by=by, seed=seed)
    return Choice(fit(k, None), ())


def memberships(source: Source, mixture: GaussianMixture | TableMixture) -> Iterator[tuple[str, list[float]]]:
    """Where each row came from, and P(component | row)."""
    if isinstance(mixture, GaussianMixture):
        names, shares = mixture.names, mixture.posterior(read_points(source, mixture.names))
    else:
        names, shares = mixture.schema.names, mixture.posterior_of(encoded(source, mixture.schema))[0]
    row = iter(shares.tolist())
    for table in source.tables(names[:1]):
        for i in range(len(table)):
            yield table.place(i), next(row)
