"""Are the stated probabilities right? Reliability diagrams, and accuracy against coverage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plausible.errors import CallError

BINS = 15
LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Bin:
    """Documents whose stated confidence lies between `low` and `high`: how many, their mean confidence and accuracy."""

    low: float
    high: float
    documents: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """If only answers of at least this confidence are given: the share answered, and the accuracy among them."""

    confidence: float
    coverage: float
    accuracy: float | None


def reliability(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS) -> list[Bin]:
    """Stated confidence against accuracy, in bins of equal width; empty bins are left out."""
    confidence, right = np.asarray(confidence, float), np.asarray(right, float)
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    return [
        Bin(k / bins, (k + 1) / bins, int(here.sum()), float(confidence[here].mean()), float(right[here].mean()))
        for k in range(bins)
        if (here := bin_of == k).any()
    ]


def calibration_error(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS) -> float:
    """Expected calibration error: the mean distance between confidence and accuracy (Naeini et al. 2015).

    Examples
    --------
    >>> round(calibration_error([0.9, 0.9, 0.9, 0.9], [True, True, True, False]), 6)
    0.15
    """
    found = reliability(confidence, right, bins)
    documents = sum(one.documents for one in found)
    return sum(one.documents * abs(one.confidence - one.accuracy) for one in found) / documents


def coverage(confidence: npt.ArrayLike, right: npt.ArrayLike) -> list[Coverage]:
    """Accuracy where unsure answers are not given, for several levels of confidence."""
    confidence, right = np.asarray(confidence, float), np.asarray(right, float)
    out = []
    for level in LEVELS:
        sure = confidence >= level
        out.append(Coverage(level, float(sure.mean()), float(right[sure].mean()) if sure.any() else None))
    return out


def plot(path: str | os.PathLike[str], bins: Sequence[Bin], before: Sequence[Bin] = ()) -> None:
    """Draw the reliability diagram to a PNG or SVG file; `before` is without calibration."""
    name = os.fspath(path)
    if not name.endswith((".png", ".svg")):
        raise CallError(f"{name}: a plot is a .png or .svg file")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CallError("plots need matplotlib: pip install 'plausible[plot]'") from None
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, label="stated = true")
    if before:
        axes.plot(
            [one.confidence for one in before], [one.accuracy for one in before],
            marker="o", linestyle="--", color="0.55", label="before calibration",
        )  # fmt: skip
    axes.plot(
        [one.confidence for one in bins],
        [one.accuracy for one in bins],
        marker="o",
        color="#1f6f8b",
        label="calibrated",
    )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="stated confidence", ylabel="accuracy", aspect="equal")
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(name)
