"""How sure learned tables are, and what that means for an answer: both by the posterior of the parameters.

Each distribution has the posterior Dirichlet(n_i1 + a_i1, n_i2 + a_i2, …), independently of all others (Spiegelhalter
and Lauritzen 1990; Heckerman 1995, section 4).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.chance import generator
from plausible.counted import Counted
from plausible.cpds import Array, Table
from plausible.errors import CallError, PlausibleWarning
from plausible.infer.engine import engine
from plausible.infer.evidence import Evidence
from plausible.infer.exact import ask
from plausible.learning.simplices import Simplices
from plausible.wording import quantity


@dataclass(frozen=True, slots=True)
class Interval:
    """A probability, and between which values it lies with the probability `level`.

    `given` are the parents' states, or the evidence; `seen` is how often the parents had these states, NaN for a query.
    """

    variable: str
    given: tuple[tuple[str, str], ...]
    state: str
    probability: float
    low: float
    high: float
    seen: float


def parameter_intervals(counted: Counted, level: float = 0.95) -> list[Interval]:
    """Each parameter of each table with its posterior interval, equal chances left out on both sides.

    Examples
    --------
    Three sunrises in three days (Laplace 1774):

    >>> from plausible.learning.fit import count
    >>> from plausible.schema import Variable
    >>> from plausible.network import Network
    >>> sun = Network({"sun": []}, {"sun": [0.5, 0.5]}, states=("rises", "stays"))
    >>> days = count(sun, [{"sun": "rises"}] * 3, "laplace")
    >>> rises, stays = parameter_intervals(days)
    >>> round(rises.probability, 3), round(rises.low, 3), round(rises.high, 3)
    (0.8, 0.398, 0.994)
    """
    from scipy.special import betaincinv

    tail = _tail(level)
    posterior = _posterior(counted)
    found = []
    for name, alpha in posterior.items():
        table = counted.network[name]
        assert isinstance(table, Table)
        rest = alpha.sum(axis=-1, keepdims=True) - alpha
        open_ = (alpha > 0) & (rest > 0)
        some, others = np.where(open_, alpha, 1), np.where(open_, rest, 1)
        nothing = alpha + rest == 0
        low = np.where(open_, betaincinv(some, others, tail), np.where(nothing, 0, table.values))
        high = np.where(open_, betaincinv(some, others, 1 - tail), np.where(nothing, 1, table.values))
        seen = np.asarray(counted.counts[name]).sum(axis=-1)
        for row in np.ndindex(alpha.shape[:-1]):
            given = tuple((p.name, p.states[i]) for p, i in zip(table.parents, row, strict=True))
            for k, state in enumerate(table.child.states):
                at = (*row, k)
                bounds = float(low[at]), float(high[at])
                found.append(Interval(name, given, state, float(table.values[at]), *bounds, float(seen[row])))
    return found


def query_intervals(
    counted: Counted,
    variables: Sequence[str],
    given: Evidence | None = None,
    *,
    level: float = 0.95,
    samples: int = 1000,
    seed: int = 0,
) -> list[Interval]:
    """P(variable | evidence) with its posterior interval, by asking networks drawn from the posterior.

    Parameters
    ----------
    counted : Counted
    variables : sequence of str
    given : evidence, optional
        States, `Not` and `Likelihood`.
    level : float
    samples : int
        Networks that are drawn.

    Examples
    --------
    >>> from plausible.learning.fit import count
    >>> days = count({"wet": ["rain"]}, [{"rain": r, "wet": w} for r, w in ["nn", "ny", "yy", "yy"]], "laplace")
    >>> no, yes = query_intervals(days, ["rain"], {"wet": "y"})
    >>> round(yes.probability, 2), round(yes.low, 1), round(yes.high, 1)
    (0.6, 0.2, 0.9)
    """
    tail = _tail(level)
    if samples < 100:
        raise CallError(f"{quantity(samples, 'sample')}: too few for an interval; draw 100 or more")
    posterior = _posterior(counted)
    network = counted.network
    if len(posterior) < len(network):
        raise CallError("intervals of a query need a network of tables; this one has continuous variables")
    tree = engine(network)
    found = tree.findings(given)
    if found.soft:
        raise CallError("intervals take states and likelihoods as evidence, not distributions")
    outputs = [tree.position(name) for name in variables]
    best = ask(network, given, variables).posteriors
    schedule = tree.schedule(found.seen, found.weighed, outputs)
    case = tree.case(found)
    alpha = np.concatenate([posterior[name].ravel() for name in network.names])
    simplices = Simplices.of([posterior[name] for name in network.names], list(posterior.values()))
    rng = generator(seed)
    width = sum(int(tree.states[i]) for i in outputs)
    answers = np.full((samples, width), np.nan)
    for answer in answers:
        total, flat, _ = schedule.run(_drawn(simplices, alpha, tree.values, rng), *case)
        if total > -np.inf:
            answer[:] = flat
    low, high = np.nanquantile(answers, [tail, 1 - tail], axis=0)
    asked = tuple((str(name), str(finding)) for name, finding in (given or {}).items())
    intervals = []
    for name, i in zip(variables, outputs, strict=True):
        for k, state in enumerate(network[name].child.states):
            at = schedule.places[i] + k
            intervals.append(
                Interval(name, asked, state, float(best[name][k]), float(low[at]), float(high[at]), float("nan"))
            )
    return intervals


def _drawn(simplices: Simplices, alpha: Array, values: Array, rng: np.random.Generator) -> Array:
    """Tables from the posterior: gammas, by their logarithms, since those of small counts are smaller than any number.

    ln G(a) = ln G(a + 1) + ln(U) / a      Marsaglia and Tsang 2000, section 6
    """
    some = alpha > 0
    shape = np.where(some, alpha, 1)
    logs = np.log(rng.standard_gamma(shape + 1)) + np.log(rng.random(len(alpha))) / shape
    logs = np.where(some, logs, -np.inf)
    top = np.maximum.reduceat(logs, simplices.starts)[simplices.row]
    drawn = np.exp(logs - np.where(np.isfinite(top), top, 0))
    total = simplices.sums(drawn)
    return np.divide(drawn, total, out=values.copy(), where=total > 0)


def _tail(level: float) -> float:
    if not 0 < level < 1:
        raise CallError(f"the level of an interval is {level}; it is between 0 and 1, such as 0.95")
    return (1 - level) / 2


def _posterior(counted: Counted) -> dict[str, Array]:
    """n + a of each table."""
    if not counted.pseudo:
        raise CallError("all variables are continuous; intervals are those of tables")
    if not any(a.any() for a in counted.pseudo.values()):
        raise CallError(
            "maximum likelihood has no prior, so its intervals would have no width where a state was never seen; "
            "learn with a rule that has one: bdeu, laplace, m-estimate or dirichlet"
        )
    if counted.expected:
        warnings.warn(
            "the counts are expected ones, of rows with gaps or hidden variables: intervals take them for seen, and "
            "are too narrow",
            PlausibleWarning,
            stacklevel=3,
        )
    return {name: np.asarray(counted.counts[name]) + a for name, a in counted.pseudo.items()}
