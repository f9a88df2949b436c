"""Types of the native core, one part a file of `native/`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# bif.cpp
def read_bif(source: bytes) -> tuple[Any, ...]: ...

# families.cpp
class Cases:
    def __init__(
        self, codes: Sequence[npt.NDArray[np.signedinteger[Any]]], states: Sequence[int]
    ) -> None: ...
    def tables(
        self, families: npt.NDArray[np.int32], threads: int = 0
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

# scores.cpp
def dirichlets(
    cells: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    states: npt.NDArray[np.int64],
    priors: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]: ...
def likelihoods(
    cells: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], states: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]: ...
def dependences(
    cells: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    lasts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def chi2_tails(
    values: npt.NDArray[np.float64], freedoms: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]: ...
