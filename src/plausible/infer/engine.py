"""Exact inference: networks compiled for patterns of evidence, schedules kept, runs in the native core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.cpds import Array, Words, state_index
from plausible.errors import CallError
from plausible.infer.evidence import (
    Evidence,
    Likelihood,
    Not,
    Soft,
    distribution,
    refuse,
    text_likelihood,
    unknown_variable,
    weights,
)
from plausible.infer.families import Families
from plausible.network import Network
from plausible.wording import quantity

MEMORY = 2 << 30
"""Bytes that a query may take; beyond, it is refused with its cost."""

KEPT = 256
"""Schedules kept for each network."""

PATIENCE = 0.15
"""Share of a query's own time that is spent on looking for smaller tables."""

FREE, SEEN, WEIGHED = range(3)

Key = tuple[object, ...]


class Impossible(CallError):
    """The evidence has probability 0. `conflict` is a smallest set of findings that can't be together."""

    conflict: tuple[str, ...]

    def __init__(self, message: str, conflict: tuple[str, ...]) -> None:
        super().__init__(message)
        self.conflict = conflict


@dataclass(frozen=True, slots=True)
class Cost:
    """What an exact query takes, known before any table is made."""

    entries: float
    largest: float
    widest: tuple[str, ...]
    bytes: float

    def __str__(self) -> str:
        return (
            f"{quantity(self.entries, 'table entry')}, {self.bytes / 2**20:,.0f} MB; the largest table has "
            f"{quantity(len(self.widest), 'variable')} and {quantity(self.largest, 'entry')}"
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """Evidence by position: states seen, likelihoods, and distributions that are to hold afterwards.

    `scale` is the natural log of what the likelihoods were divided by, and `given` the evidence as it was given.
    """

    seen: dict[int, int]
    weighed: dict[int, Array]
    soft: dict[int, Array]
    scale: float = 0.0
    given: Evidence = field(default_factory=dict)


class Engine:
    """The compiled side of one network.

    Positions are those of the network's categorical variables; hidden links of wide noisy-max families come after.
    Texts have no position: a text that is given is a likelihood on its parent.
    """

    def __init__(self, network: Network) -> None:
        self.texts = {name: cpd for name, cpd in network.cpds.items() if isinstance(cpd, Words)}
        network = network.without(*self.texts) if self.texts else network
        families = Families.of(network)
        self.names = network.names
        self.variables = network.variables
        self.index = {name: i for i, name in enumerate(network.names)}
        self.states = np.array(families.states, dtype=np.int32)
        self.scopes = families.scopes
        self.order = families.order
        self.sizes = [table.size for table in families.tables]
        self.values = np.concatenate([np.zeros(0), *(table.ravel() for table in families.tables)])
        self.starts = np.concatenate([[0], np.cumsum(self.states)]).astype(int).tolist()
        self.tree = _native.Tree(self.states, self.scopes)
        self.spans = list(zip(self.names, self.starts, self.starts[1:], strict=False))
        self.unweighted = np.zeros(0)
        self.schedules: dict[Key, _native.Schedule] = {}

    @property
    def hidden(self) -> int:
        """How many links of chains stand after the network's own variables."""
        return len(self.states) - len(self.names)

    def own_tables(self, what: str) -> None:
        """CallError where a family is a chain, so that `what` can't be given by family."""
        if self.hidden:
            raise CallError(f"{what} needs plain tables, but this network has a noisy-max too wide for one")

    def position(self, name: str) -> int:
        try:
            return self.index[name]
        except (KeyError, TypeError):
            if name in self.texts:
                raise CallError(f"{name!r} is a text: it can be given, and drawn, but has no posterior") from None
            raise unknown_variable(name, (*self.names, *self.texts)) from None

    def findings(self, given: Evidence | None) -> Findings:
        """Evidence checked and by position."""
        if not isinstance(given, Mapping | None):
            raise CallError(f"evidence is a mapping from variables to what is known of them, not {given!r}")
        found = Findings({}, {}, {}, given=given or {})
        texts: dict[int, Array] = {}
        for name, finding in found.given.items():
            if cpd := self.texts.get(name):
                i = self.position(cpd.parents[0].name)
                texts[i] = texts.get(i, 0.0) + text_likelihood(cpd, finding)
                continue
            i = self.position(name)
            variable = self.variables[i]
            if isinstance(finding, (str, int, np.integer, np.bool_)):
                found.seen[i] = state_index(variable, finding)
            elif isinstance(finding, (Not, Likelihood)):
                found.weighed[i] = weights(variable, finding)
            elif isinstance(finding, Soft):
                found.soft[i] = distribution(variable, finding.values)
            elif isinstance(finding, (Mapping, list, tuple, np.ndarray)):
                found.soft[i] = distribution(variable, finding)
            else:
                raise refuse(variable, finding)
        return _with_texts(found, texts, self.states) if texts else found

    def schedule(
        self,
        seen: Iterable[int],
        weighed: Iterable[int] = (),
        outputs: Iterable[int] | None = None,
        joint: tuple[int, ...] = (),
        late: tuple[int, ...] = (),
        everything: bool = False,
        rows: int = 1,
        memory: float | None = None,
    ) -> _native.Schedule:
        """The schedule for a pattern of evidence and a question; `outputs` None asks for all variables."""
        asked = None if outputs is None else frozenset(outputs)
        pattern = frozenset(seen), frozenset(weighed)
        key: Key = (*pattern, asked, joint, late, everything, rows)
        found = self.schedules.get(key)
        if found is None:
            roles = self._marks(pattern[0], SEEN) | self._marks(pattern[1], WEIGHED)
            wanted = self._marks(range(len(self.names)) if asked is None else asked)
            last = self._marks(late)
            found = self.tree.compile(roles, wanted, list(joint), last, everything, rows, PATIENCE)
            while len(self.schedules) >= KEPT:
                self.schedules.pop(next(iter(self.schedules)), None)
            self.schedules[key] = found
        self.afford(found, memory)
        return found

    def _marks(self, at: Iterable[int], mark: int = 1) -> npt.NDArray[np.uint8]:
        marks = np.zeros(len(self.states), dtype=np.uint8)
        marks[list(at)] = mark
        return marks

    def cost(self, schedule: _native.Schedule) -> Cost:
        widest = tuple(self.names[i] for i in schedule.widest)
        held = max(schedule.entries, schedule.doubles)
        return Cost(schedule.entries, schedule.largest, widest, 8.0 * held)

    def affordable(self, schedule: _native.Schedule, memory: float | None) -> bool:
        limit = MEMORY if memory is None else memory
        return 8.0 * max(schedule.entries, schedule.doubles) <= limit

    def afford(self, schedule: _native.Schedule, memory: float | None) -> None:
        """CallError with the cost where a schedule's tables take more memory than is allowed."""
        if not self.affordable(schedule, memory):
            limit = MEMORY if memory is None else memory
            raise CallError(
                f"exact inference would take {self.cost(schedule)}, and {limit / 2**20:,.0f} MB are allowed; "
                "allow more with `memory` (in a shell --memory MB), give more evidence, or ask for the posteriors by "
                "sampling (method 'weighting', 'gibbs' or 'loopy')"
            )

    def case(self, findings: Findings) -> tuple[npt.NDArray[np.int32], Array]:
        """One case as the core wants it."""
        states = np.zeros(len(self.states), dtype=np.int32)
        for i, state in findings.seen.items():
            states[i] = state
        if not findings.weighed:
            return states, self.unweighted
        weight = np.ones(self.starts[-1])
        for i, values in findings.weighed.items():
            weight[self.starts[i] : self.starts[i + 1]] = values
        return states, weight


def _with_texts(found: Findings, texts: Mapping[int, Array], states: npt.NDArray[np.int32]) -> Findings:
    """Evidence to which texts are added: `{their parent: log-likelihood of each of its states}`."""
    seen, weighed, scale = dict(found.seen), dict(found.weighed), 0.0
    for i, logs in texts.items():
        if i in seen and logs[seen[i]] > -inf:
            scale += float(logs[seen[i]])
            continue
        own = np.eye(states[i])[seen.pop(i)] if i in seen else weighed.get(i, np.ones(states[i]))
        top = float(logs[own > 0].max())
        weighed[i] = own * np.exp(logs - top) if top > -inf else np.zeros(states[i])
        scale += top if top > -inf else 0.0
    return replace(found, seen=seen, weighed=weighed, scale=scale)


def cost(network: Network, given: Evidence | None = None) -> Cost:
    """What the exact posteriors of all variables would take, worked out before any table is made."""
    tree = engine(network)
    found = tree.findings(given)
    return tree.cost(tree.schedule(found.seen, {**found.weighed, **found.soft}, memory=inf))


_engines: WeakKeyDictionary[Network, Engine] = WeakKeyDictionary()


def engine(network: Network) -> Engine:
    """The network's engine, made at the first question."""
    found = _engines.get(network)
    if found is None:
        found = _engines.setdefault(network, Engine(network))
    return found
