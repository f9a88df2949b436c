"""How many components? The candidates beside each other, by BIC (Schwarz 1978) and by rows left out or held out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from plausible.chance import generator
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.learning.mixtures.gaussian import GaussianMixture, gaussian_mixture
from plausible.learning.mixtures.points import points

Criterion = Literal["bic", "leave_one_out", "held_out"]


class Learned(Protocol):
    """What a candidate must tell of itself."""

    @property
    def log_likelihood(self) -> float: ...
    @property
    def parameters(self) -> int: ...
    @property
    def sizes(self) -> NDArray[np.intp]: ...


FOLD: dict[str, Any] = {"restarts": 2, "tolerance": 1e-6, "progress": None}
"""What the mixture of a fold is learned with: there are many, and only their mean counts."""

M = TypeVar("M", bound=Learned)


class Candidate(NamedTuple):
    """`bic` is parameters × ln n − 2 ln P(D | h), lower is better. The mean ln p of a row, higher is better:
    `leave_one_out` with the row's own share taken out of the counts, `held_out` in folds, None where it was not asked.
    """

    k: int
    log_likelihood: float
    parameters: int
    bic: float
    leave_one_out: float
    held_out: float | None


@dataclass(frozen=True, slots=True)
class Choice(Generic[M]):
    """The best candidate as learned from all rows, and all of them."""

    best: M
    candidates: tuple[Candidate, ...]


def choose(
    ks: Iterable[int],
    rows: int,
    fit: Callable[[int, NDArray[np.intp] | None], M],
    log_density: Callable[[M, NDArray[np.intp]], float],
    left_out: Callable[[M], float],
    *,
    by: Criterion = "bic",
    folds: int = 5,
    folded: bool = True,
    seed: int = 0,
) -> Choice[M]:
    """Learn each candidate from all rows, and from all but a fold's for each fold.

    Parameters
    ----------
    fit : (k, rows or None for all) → mixture
    log_density : (mixture, rows) → Σ ln p(row)
    left_out : mixture → Σ ln p(row | all others)
    by : "bic", "leave_one_out" or "held_out"
    folded : bool
        Whether rows are held out even where another criterion decides.
    """
    if by not in get_args(Criterion):
        raise CallError(f"candidates are compared by 'bic', 'leave_one_out' or 'held_out', not {by!r}")
    if folds < 2:
        raise CallError(f"folds must be at least 2, not {folds}")
    fold = generator(seed).permutation(rows) % folds
    best: tuple[float, M] | None = None
    said: list[warnings.WarningMessage] = []
    candidates: list[Candidate] = []
    for k in ks:
        try:
            with warnings.catch_warnings(record=True) as notes:
                warnings.simplefilter("always", PlausibleWarning)
                learned = fit(k, None)
        except (CallError, DataError):
            if best is None:
                raise
            break  # no k beyond this one can be learned from these rows
        bic = learned.parameters * math.log(rows) - 2 * learned.log_likelihood
        held_out = _held_out(k, fold, folds, fit, log_density) if folded or by == "held_out" else None
        candidate = Candidate(k, learned.log_likelihood, learned.parameters, bic, left_out(learned) / rows, held_out)
        candidates.append(candidate)
        score = -bic if by == "bic" else float(getattr(candidate, by))
        if best is None or (score > best[0] and learned.sizes.all()):  # one with an empty component is a smaller k
            best, said = (score, learned), notes
    if best is None:
        raise CallError("there is no candidate k: name at least one")
    for note in said:
        warnings.warn(str(note.message), note.category, stacklevel=3)
    return Choice(best[1], tuple(candidates))


def _held_out(
    k: int,
    fold: NDArray[np.intp],
    folds: int,
    fit: Callable[[int, NDArray[np.intp] | None], M],
    log_density: Callable[[M, NDArray[np.intp]], float],
) -> float:
    """Minus infinity where a fold leaves too few rows to learn k components from."""
    total = 0.0
    for i in range(min(folds, len(fold))):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PlausibleWarning)
                total += log_density(fit(k, np.flatnonzero(fold != i)), np.flatnonzero(fold == i))
        except (CallError, DataError):
            return -math.inf
    return total / len(fold)


def choose_gaussian_mixture(
    x: Any, ks: Iterable[int] = range(1, 11), *, by: Criterion = "bic", folds: int = 5, seed: int = 0, **options: Any
) -> Choice[GaussianMixture]:
    """The number of components that BIC, or the likelihood of rows left out or held out, likes best.

    `options` are those of `gaussian_mixture`.

    Examples
    --------
    >>> x = [1.0, 1.3, 0.8, 1.1, 0.7, 5.0, 5.2, 4.9, 4.7, 5.3]
    >>> choice = choose_gaussian_mixture(x, range(1, 4), covariance="tied")
    >>> len(choice.best.weights), [candidate.k for candidate in choice.candidates]
    (2, [1, 2, 3])
    """
    table = points(x)

    def fit(k: int, rows: NDArray[np.intp] | None) -> GaussianMixture:
        if rows is None:
            return gaussian_mixture(table, k, seed=seed, **options)
        return gaussian_mixture(table.take(rows), k, seed=seed, **options | FOLD)

    def log_density(mixture: GaussianMixture, rows: NDArray[np.intp]) -> float:
        return float(mixture.log_density(table.take(rows)).sum())

    def left_out(mixture: GaussianMixture) -> float:
        return float(mixture.left_out(table).sum())

    return choose(ks, table.count, fit, log_density, left_out, by=by, folds=folds, seed=seed)
