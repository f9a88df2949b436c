"""Types of the native core, one part a file of `native/`."""

from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# bif.cpp
def read_bif(source: bytes) -> tuple[Any, ...]: ...

# junction.cpp
class Tree:
    def __init__(self, states: npt.NDArray[np.int32], scopes: list[list[int]]) -> None: ...
    def compile(
        self,
        roles: npt.NDArray[np.uint8],
        outputs: npt.NDArray[np.uint8],
        joint: list[int],
        late: npt.NDArray[np.uint8],
        everything: bool,
        rows: int,
        patience: float,
    ) -> Schedule: ...

class Schedule:
    entries: float
    largest: float
    doubles: int
    places: list[int]
    joint: list[int]
    widest: list[int]
    def run(self, values: Doubles, seen: Ints, weights: Doubles) -> tuple[float, Doubles, Doubles]: ...
    def families(self, values: Doubles, seen: Ints, weights: Doubles) -> tuple[float, Doubles]: ...
    def draw(
        self, values: Doubles, seen: Ints, weights: Doubles, count: int, seed: int, threads: int
    ) -> tuple[float, Ints]: ...
    def most_probable(self, values: Doubles, seen: Ints, weights: Doubles) -> tuple[float, Ints]: ...
    def run_rows(self, values: Doubles, codes: Ints, threads: int) -> tuple[Doubles, Doubles]: ...
    def expected(
        self, values: Doubles, codes: Ints, shares: Doubles, threads: int
    ) -> tuple[Doubles, Doubles]: ...

# rows.cpp
def distinct_rows(codes: Ints) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

# sampling.cpp
def sample(
    tree: Tree,
    order: list[int],
    values: Doubles,
    seen: Ints,
    weights: Doubles,
    count: int,
    seed: int,
    threads: int,
) -> tuple[Ints, Doubles]: ...
def weigh_samples(
    tree: Tree,
    order: list[int],
    values: Doubles,
    seen: Ints,
    weights: Doubles,
    first: int,
    blocks: int,
    seed: int,
    threads: int,
) -> tuple[Doubles, Doubles]: ...

# gibbs.cpp
def gibbs(
    blocks: list[Schedule],
    values: Doubles,
    starts: Ints,
    weights: Doubles,
    dropped: int,
    kept: int,
    seed: int,
    first: int,
    threads: int,
) -> tuple[Doubles, Ints]: ...

# loopy.cpp
def loopy(
    tree: Tree, values: Doubles, likelihood: Doubles, damping: float, precision: float, rounds: int
) -> tuple[Doubles, float, int, bool]: ...
