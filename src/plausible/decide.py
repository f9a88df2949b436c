"""The decision: from probabilities to a label."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from plausible.errors import CallError, unknown

Costs = Mapping[tuple[str, str], float]
"""What it costs to answer (true class, answer); 1 for other mistakes, 0 for a right answer."""


def parse_costs(texts: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """Costs as they are written on the command line.

    >>> parse_costs(("ill:healthy=20",))
    {('ill', 'healthy'): 20.0}
    """
    out = {}
    for text in texts:
        pair, equals, number = text.rpartition("=")
        truth, colon, answer = pair.partition(":")
        try:
            cost = float(number)
        except ValueError:
            cost = math.nan
        if not (equals and colon and truth and answer and math.isfinite(cost) and cost >= 0):
            raise CallError(f"--cost {text}: write TRUE:ANSWER=NUMBER, such as ill:healthy=20, the number not negative")
        out[truth, answer] = cost
    return out


def least_cost(log_posterior: Any, classes: list[str], costs: Costs) -> Any:
    """The position of the answer with the least expected cost in each row, the first of equals; shape (rows,).

    The expected cost of an answer a is the sum over classes c of P(c | row) cost(c, a): Duda and Hart 1973, 2.2.

    >>> import numpy as np
    >>> least_cost(np.log([[0.9, 0.1]]), ["healthy", "ill"], {("ill", "healthy"): 20.0}).tolist()
    [1]
    """
    import numpy as np

    matrix = 1 - np.eye(len(classes))
    for (truth, answer), cost in costs.items():
        for name in (truth, answer):
            if name not in classes:
                raise CallError("a cost names an " + unknown("class", name, classes))
        matrix[classes.index(truth), classes.index(answer)] = cost
    return np.argmin(np.exp(np.asarray(log_posterior)) @ matrix, axis=1).astype(np.uint64)
