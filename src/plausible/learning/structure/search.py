"""What all searches share: the watch over time, progress and Ctrl-C, and what they give back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Literal

from plausible.errors import CallError
from plausible.graph import EquivalenceClass, Graph
from plausible.schema import Variable

Stopped = Literal["done", "time", "interrupt"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search stands."""

    steps: int
    score: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure that was learned.

    Parameters
    ----------
    graph : Graph
    score : float or None
        None where the method does not score.
    pattern : EquivalenceClass
        What the data can tell of the directions.
    stopped : "done", "time" or "interrupt"
        Whether the search came to its end; if not, this is the best it had found.
    steps : int
    """

    graph: Graph
    score: float | None
    pattern: EquivalenceClass
    stopped: Stopped
    steps: int


class _TimeUp(Exception):
    pass


class Watch:
    """Ends a search at a time limit or at Ctrl-C, without an error: what was best so far stays.

    >>> with Watch(seconds=0) as watch:
    ...     while True:
    ...         watch.step()
    >>> watch.stopped
    'time'
    """

    def __init__(self, seconds: float | None = None, progress: Callable[[Progress], None] | None = None) -> None:
        if seconds is not None and not seconds >= 0:
            raise CallError(f"the time limit is {seconds} seconds; it is 0 or more")
        self.stopped: Stopped = "done"
        self.steps = 0
        self._limit = seconds
        self._progress = progress
        self._start = monotonic()

    def step(self, score: float | None = None) -> None:
        """Note one step; leaves the block when the time is up."""
        self.steps += 1
        if self._progress is None and self._limit is None:
            return
        seconds = monotonic() - self._start
        if self._progress is not None:
            self._progress(Progress(self.steps, score, seconds))
        if self._limit is not None and seconds >= self._limit:
            raise _TimeUp

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, _TimeUp):
            self.stopped = "time"
        elif isinstance(error, KeyboardInterrupt):
            self.stopped = "interrupt"
        else:
            return False
        return True


def to_graph(variables: Sequence[Variable], parents: Sequence[Sequence[int]]) -> Graph:
    """The graph of parents given by position."""
    return Graph(
        {variable.name: [variables[x].name for x in above] for variable, above in zip(variables, parents, strict=True)}
    )


def structure(
    variables: Sequence[Variable], parents: Sequence[Sequence[int]], score: float | None, watch: Watch
) -> Structure:
    graph = to_graph(variables, parents)
    return Structure(graph, score, graph.equivalence_class(), watch.stopped, watch.steps)
