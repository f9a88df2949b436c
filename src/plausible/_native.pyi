"""Types of the native core, one part a file of `native/`."""

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# mixture.cpp
def gaussian_step(
    x: Doubles, log_scales: Doubles, means: Doubles, factors: Doubles, threads: int = 1
) -> tuple[Doubles, Doubles, Doubles, float]: ...
def gaussian_posterior(
    x: Doubles, log_scales: Doubles, means: Doubles, factors: Doubles, threads: int = 1
) -> tuple[Doubles, Doubles]: ...
def star_step(
    starts: npt.NDArray[np.int64],
    features: Ints,
    times: Doubles | None,
    log_tables: Doubles,
    log_weights: Doubles,
    numbers: Doubles,
    scales: Doubles,
    means: Doubles,
    precisions: Doubles,
    threads: int = 1,
) -> tuple[Doubles, Doubles, Doubles, float]: ...
def star_posterior(
    starts: npt.NDArray[np.int64],
    features: Ints,
    times: Doubles | None,
    log_tables: Doubles,
    log_weights: Doubles,
    numbers: Doubles,
    scales: Doubles,
    means: Doubles,
    precisions: Doubles,
    threads: int = 1,
) -> tuple[Doubles, Doubles]: ...
