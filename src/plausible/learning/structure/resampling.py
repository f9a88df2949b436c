"""How sure arcs are, by learning again from resampled cases (Friedman, Goldszmidt and Wyner 1999)."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable
from typing import Any

import numpy as np

from plausible.chance import generator
from plausible.counting import Cases, Mixed
from plausible.errors import CallError
from plausible.learning.structure.ensemble import Ensemble, ensemble, halves
from plausible.learning.structure.methods import named_method
from plausible.learning.structure.search import Progress, Watch


def bootstrap(
    cases: Cases | Mixed,
    method: str = "hill-climb",
    *,
    times: int = 200,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Ensemble:
    """Learn from `times` samples of as many rows, drawn with replacement.

    Parameters
    ----------
    cases : Cases or Mixed
    method : str
        As in `learn_structure`, with its options.
    times : int
    seed : int
    seconds : float, optional
        When the time is up, what was learned so far counts.
    progress : callable, optional

    Examples
    --------
    >>> from plausible.coding import read_cases
    >>> cases = read_cases([{"rain": r, "wet": w} for r, w in ["nn", "ny", "yy", "yy", "nn", "nn"] * 20])
    >>> [one] = bootstrap(cases, times=20).joined()
    >>> one.probability, one.direction
    (1.0, 0.5)
    """
    if times < 1:
        raise CallError(f"times is {times}; learn from one sample at least")
    if not isinstance(cases, Cases | Mixed):
        raise CallError(
            "the bootstrap draws rows, so it needs cases in memory; read them with read_cases or read_mixed"
        )
    if not cases.rows:
        raise CallError("there are no rows to draw from; give some")
    learn = named_method(method, options)
    rng = generator(seed)
    names = [variable.name for variable in cases.variables]
    place = {name: i for i, name in enumerate(names)}
    arcs = np.zeros((len(names), len(names)))
    graphs: Tally[tuple[tuple[int, ...], ...]] = Tally()
    watch = Watch(seconds, progress)
    with watch:
        for _ in range(times):
            found = learn(cases.select(rng.integers(cases.rows, size=cases.rows)))
            if found.stopped == "interrupt":
                raise KeyboardInterrupt
            arcs += halves(found.graph, names)
            graphs[tuple(tuple(sorted(place[x] for x in found.graph.parents[name])) for name in names)] += 1
            watch.step()
    if not graphs:
        raise CallError("the time was up before one structure was learned; give it more seconds")
    return ensemble(names, graphs, arcs / graphs.total(), watch.stopped)
