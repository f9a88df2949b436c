"""Structures from cases with gaps: structural EM (Friedman 1997)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log
from typing import Any

import numpy as np

from plausible import _native
from plausible.counting import Cases, Mixed, Tables
from plausible.errors import CallError, DataError
from plausible.infer.engine import engine
from plausible.infer.rows import distinct
from plausible.learning.fit import fit
from plausible.learning.structure.methods import named_method
from plausible.learning.structure.scorers import score_graph
from plausible.learning.structure.scores import Score, Scores
from plausible.learning.structure.search import Progress, Structure, Watch
from plausible.network import Network

SCORING = ("ges", "hill-climb", "tabu", "k2", "exact")
"""Methods whose score can be that of completed cases."""


def structural_em(
    cases: Cases,
    method: str = "hill-climb",
    *,
    copies: int = 10,
    rounds: int = 20,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Structure:
    """Fill the gaps by what the network so far says, learn a structure from that, and so on until the score gains less
    than a parameter costs.

    The expected counts are those of `copies` completions of each case, drawn exactly from its posterior with the same
    random numbers in every round; the score is their mean BIC.

    Parameters
    ----------
    cases : Cases
    method : str
        One that scores, with its options: see `learn_structure`.
    copies : int
    rounds : int
        At most so many.
    seed : int
    seconds : float, optional
    progress : callable, optional

    Examples
    --------
    >>> from plausible.coding import read_cases
    >>> days = ["nn", "ny", "yy", "yy", "nn", "nn", "-y", "y-"] * 20
    >>> cases = read_cases([{"rain": r, "wet": w} for r, w in days], gaps=["-"])
    >>> structural_em(cases).pattern.edges
    frozenset({('rain', 'wet')})
    """
    if method not in SCORING:
        raise CallError(f"structural EM needs a method that scores ({', '.join(SCORING)}), not {method}")
    if "score" in options:
        raise CallError("structural EM scores by BIC; leave out the score")
    for name, value in (("copies", copies), ("rounds", rounds)):
        if value < 1:
            raise CallError(f"{name} is {value}; it is 1 or more")
    if isinstance(cases, Mixed):
        raise CallError("structural EM takes categories only; cut the numbers into intervals (cut=5, or --cut 5)")
    for variable in cases.variables:
        if cases.gaps.get(variable.name, 0) == cases.rows:
            raise DataError(f"column {variable.name!r} is empty in every row; leave it out, or use fit_hidden")
    score = _mean_bic(copies)
    learn = named_method(method, {**options, "score": score})
    enough = log(max(cases.rows, 2)) / 2
    rows, shares = distinct(cases.codes)
    watch = Watch(seconds, progress)
    best: Structure | None = None
    network = _apart(cases)
    with watch:
        for _ in range(rounds):
            whole = _completed(network, cases, rows, shares, copies, seed)
            found = learn(whole)
            if found.stopped == "interrupt":
                raise KeyboardInterrupt
            gain = inf if best is None or found.score is None else found.score - score_graph(best.graph, whole, score)
            if gain < enough:
                break
            best = found
            watch.step(found.score)
            network = fit(found.graph, whole)
    if best is None:
        raise CallError("the time was up before one structure was learned; give it more seconds")
    return Structure(best.graph, best.score, best.pattern, watch.stopped, watch.steps)


def _mean_bic(copies: int) -> Score:
    def score(tables: Tables) -> Scores:
        likelihood: Scores = _native.likelihoods(tables.cells, tables.starts, tables.states) / copies
        return likelihood - log(max(tables.rows / copies, 1)) / 2 * tables.parameters

    return score


def _apart(cases: Cases) -> Network:
    """Independent variables, each as often in a state as the cases say that have it."""
    tables = {}
    for variable in cases.variables:
        seen = cases.counts([variable.name]) + 1 / len(variable.states)
        tables[variable.name] = seen / seen.sum()
    parents: dict[str, list[str]] = {variable.name: [] for variable in cases.variables}
    states = {variable.name: variable.states for variable in cases.variables}
    return Network(parents, tables, states=states)


def _completed(network: Network, cases: Cases, rows: Any, shares: Any, copies: int, seed: int) -> Cases:
    """Each case `copies` times, its gaps drawn from their posterior given the rest of it."""
    tree = engine(network)
    names = [variable.name for variable in cases.variables]
    place = [names.index(name) for name in tree.names]
    codes = np.ascontiguousarray(rows[:, place], dtype=np.int32)
    some = np.flatnonzero((codes < 0).any(axis=0)).tolist()
    schedule = tree.schedule(set(range(len(names))) - set(some), some, everything=True)
    pieces = []
    for i, (row, share) in enumerate(zip(codes, shares, strict=True)):
        count = copies * round(float(share))
        if (row >= 0).all():
            pieces.append(np.repeat(row[None], count, axis=0))
            continue
        weight = np.ones(tree.starts[-1])
        for v in some:
            if row[v] >= 0:
                weight[tree.starts[v] : tree.starts[v + 1]] = np.arange(tree.states[v]) == row[v]
        pieces.append(schedule.draw(tree.values, np.maximum(row, 0), weight, count, seed + i, 1)[1])
    drawn = np.concatenate(pieces)[:, np.argsort(place)]
    return Cases(cases.variables, tuple(drawn.T), cases.threads)
