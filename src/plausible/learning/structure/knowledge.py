"""What is known of a structure before any data are seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plausible.errors import CallError, ModelError, unknown
from plausible.graph import Arc, Graph
from plausible.schema import Variable

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Arcs that must or can't be there.

    Parameters
    ----------
    required, forbidden : tuple of (parent, child)
    tiers : tuple of tuple of str
        Earliest first. No arc leads from a later tier to an earlier one; variables in no tier are free.
    roots, leaves : tuple of str
        Variables without parents, and without children.
    max_parents : int, optional

    Examples
    --------
    >>> Knowledge(required=[("rain", "wet")], leaves=["rain"]).limits(["rain", "wet"])
    Traceback (most recent call last):
    plausible.errors.CallError: 'rain' -> 'wet' is required, but 'rain' is a leaf; take one of the two out
    """

    required: Sequence[Arc] = ()
    forbidden: Sequence[Arc] = ()
    tiers: Sequence[Sequence[str]] = ()
    roots: Sequence[str] = ()
    leaves: Sequence[str] = ()
    max_parents: int | None = None

    def limits(self, names: Sequence[str]) -> Limits:
        """The same by position; CallError where it contradicts itself, with the contradiction."""
        place = {name: i for i, name in enumerate(names)}
        tier = {name: t for t, group in enumerate(self.tiers) for name in group}
        ends = (name for arc in (*self.required, *self.forbidden) for name in arc)
        for name in (*ends, *tier, *self.roots, *self.leaves):
            if name not in place:
                raise CallError(unknown("variable in the knowledge", name, names))
        if sum(map(len, self.tiers)) > len(tier):
            twice = next(name for name in tier if sum(name in group for group in self.tiers) > 1)
            raise CallError(f"{twice!r} is in two tiers; keep it in one")
        most = len(names) - 1 if self.max_parents is None else self.max_parents
        if most < 0:
            raise CallError(f"max_parents is {most}; it is 0 or more")

        for x, y in self.required:
            why = self._against(x, y, tier)
            if why:
                raise CallError(f"{x!r} -> {y!r} is required, but {why}; take one of the two out")
        above: dict[str, list[str]] = {name: [] for name in names}
        for x, y in dict.fromkeys(self.required):
            above[y].append(x)
            if len(above[y]) > most:
                needed = ", ".join(above[y])
                raise CallError(f"{y!r} must have the parents {needed}, but max_parents is {most}; raise it")
        try:
            Graph(above)
        except ModelError as cycle:
            raise CallError(f"the required arcs contradict one another: {cycle}") from None

        allowed = ~np.eye(len(names), dtype=bool)
        for x, y in self.forbidden:
            allowed[place[x], place[y]] = False
        for earlier, group in enumerate(self.tiers):
            for later in self.tiers[earlier + 1 :]:
                allowed[np.ix_([place[x] for x in later], [place[y] for y in group])] = False
        allowed[:, [place[name] for name in self.roots]] = False
        allowed[[place[name] for name in self.leaves], :] = False
        required = np.zeros_like(allowed)
        for x, y in self.required:
            required[place[x], place[y]] = True
            allowed[place[y], place[x]] = False
        return Limits(allowed, required, most)

    def within(self, variables: Sequence[Variable]) -> Limits:
        """The limits on these variables, of which no categorical one has a continuous parent."""
        limits = self.limits([variable.name for variable in variables])
        line = np.array([variable.kind == "continuous" for variable in variables], dtype=bool)
        for x, y in np.argwhere(limits.required & line[:, None] & ~line).tolist():
            parent, child = variables[x].name, variables[y].name
            raise CallError(
                f"{parent!r} -> {child!r} is required, but a categorical variable can't have a continuous parent; "
                f"cut {parent!r} into intervals, or take the arc out"
            )
        limits.allowed[np.ix_(line, ~line)] = False
        return limits

    def _against(self, x: str, y: str, tier: dict[str, int]) -> str:
        """What speaks against an arc from x to y, if anything does."""
        if x == y:
            return "an arc needs two variables"
        if (x, y) in self.forbidden:
            return "it is forbidden too"
        if x in tier and y in tier and tier[x] > tier[y]:
            return f"{x!r} is in a later tier than {y!r}"
        if y in self.roots:
            return f"{y!r} is a root"
        if x in self.leaves:
            return f"{x!r} is a leaf"
        return ""

    def only(self, method: str, *kinds: str) -> None:
        """CallError where something is given that a method can't heed."""
        for kind in ("required", "forbidden", "tiers", "roots", "leaves", "max_parents"):
            if getattr(self, kind) not in ((), [], None) and kind not in kinds:
                raise CallError(f"{method} can't heed {kind}; leave it out, or use hill_climb, k2, pc or exact")


FREE = Knowledge()
"""Nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Knowledge by position: `allowed[x, y]` and `required[x, y]` speak of the arc from x to y."""

    allowed: Truths
    required: Truths
    most: int

    def start(self) -> list[list[int]]:
        """The required parents of each variable."""
        return [np.flatnonzero(self.required[:, y]).tolist() for y in range(len(self.required))]

    def along(self, order: Sequence[int], variables: Sequence[Variable]) -> None:
        """CallError where a required arc runs against an order."""
        place = {v: i for i, v in enumerate(order)}
        for x, y in np.argwhere(self.required).tolist():
            if place[x] > place[y]:
                parent, child = variables[x].name, variables[y].name
                raise CallError(
                    f"{parent!r} -> {child!r} is required, but {child!r} comes first in the order; "
                    "move it, or take the arc out"
                )
