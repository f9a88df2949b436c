"""Ways uphill by the gradient: on the probabilities themselves, and on their logarithms.

    ∂ ln P(D | h) / ∂ w_ijk = Σ_d P(y_ij, u_ik | d, h) / w_ijk      Mitchell 1997, eq. 6.25; Russell et al. 1995

The sum is the expected count that EM needs, too, so both climb on one E step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from plausible.cpds import Array
from plausible.learning.em import Look, Path, Point
from plausible.learning.simplices import Simplices

FIRST_STEP = 0.05
MOST_HALVINGS = 60
LEAST_SEEN = 0.1
BURST = 25
"""Steps of L-BFGS between two looks at the clock."""


def gradient(simplices: Simplices, values: Array, counts: Array) -> Array:
    """∂/∂w of log-likelihood and log prior: counts over parameters; 0 where a parameter is 0 or fixed.

    Shapes are those of the flat array of all tables; units are nats.
    """
    moving = simplices.free & (values > 0)
    return np.divide(simplices.evidence(counts), values, out=np.zeros(len(values)), where=moving)


def ascent(simplices: Simplices) -> Path[Array, Array]:
    """Step along the gradient, then renormalise.

    The step of each distribution is in shares of its cases, so that rare parents' states keep pace. Scaling alone
    would not renormalise well: at the optimum all n/w of a distribution are equal, not 0, and the step would go on
    towards equal chances. So their mean is taken off before (Russell et al. 1995). The length is that of Barzilai and
    Borwein 1988, halved until the step gains.
    """

    def uphill(values: Array, counts: Array) -> Array:
        slope = gradient(simplices, values, counts)
        cases = simplices.sums(simplices.evidence(counts))
        slope = np.divide(slope, cases, out=np.zeros(len(slope)), where=cases > 0)
        moving = simplices.free & (values > 0)
        mean = simplices.sums(slope) / np.maximum(simplices.sums(moving.astype(np.float64)), 1)
        return np.where(moving, slope - mean, 0)

    def path(here: Point[Array, Array], look: Look[Array, Array]) -> Iterator[tuple[Point[Array, Array], bool]]:
        length = FIRST_STEP
        direction = uphill(here.parameters, here.statistics)
        while True:
            there = here
            for _ in range(MOST_HALVINGS):
                moved = np.maximum(here.parameters + length * direction, here.parameters / 10)
                tried = look(simplices.settled(moved))
                if tried.objective > here.objective:
                    there = tried
                    break
                length /= 2
            ahead = uphill(there.parameters, there.statistics)
            step, bend = there.parameters - here.parameters, direction - ahead
            curvature = float(step @ bend)
            length = float(step @ step) / curvature if curvature > 0 else 2 * length
            here, direction = there, ahead
            yield here, True

    return path


def quasi_newton(simplices: Simplices) -> Path[Array, Array]:
    """L-BFGS (Liu and Nocedal 1989) on logarithms: w_ijk = exp(z_ijk) / Σ_k exp(z_ijk), which needs no renormalising.

    ∂/∂z_ijk = n_ijk − w_ijk n_ij

    The logarithms are measured in shares of 1/√n, about their standard errors, so that all bend alike.
    """
    from scipy.optimize import minimize

    def path(here: Point[Array, Array], look: Look[Array, Array]) -> Iterator[tuple[Point[Array, Array], bool]]:
        best = here
        moving = np.flatnonzero(simplices.free & (simplices.leader == np.arange(len(simplices.leader))))
        moving = moving[here.parameters[moving] > 0]

        def values(at: Array) -> Array:
            logs = np.full(len(simplices.row), -np.inf)
            logs[moving] = at * unit
            logs = logs[simplices.leader]
            top = np.maximum.reduceat(logs, simplices.starts)[simplices.row]
            return simplices.settled(np.exp(logs - np.where(np.isfinite(top), top, 0)))

        def downhill(at: Array) -> tuple[float, Array]:
            nonlocal best
            tried = look(values(at))
            if tried.objective > best.objective:
                best = tried
            seen = simplices.evidence(tried.statistics)
            slope = seen - tried.parameters * simplices.sums(seen)
            return -tried.objective, -slope[moving] * unit

        while True:
            unit = 1 / np.sqrt(np.maximum(simplices.evidence(best.statistics)[moving], LEAST_SEEN))
            minimize(
                downhill,
                np.log(best.parameters[moving]) / unit,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": BURST, "maxcor": BURST, "ftol": 0, "gtol": 0},
            )
            yield best, True

    return path
