"""Pictures of Gaussian mixtures: points on a line under their densities, points in a plane under ellipses."""

from __future__ import annotations

import importlib.util
import os
from typing import IO, Any, Literal

import numpy as np

from plausible.errors import CallError
from plausible.learning.mixtures.gaussian import GaussianMixture
from plausible.learning.mixtures.points import Points

MOST = 5000
"""Points that are drawn."""
COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#8a5a9e", "#b08900", "#5f6c7b")


def kind_of(path: str | os.PathLike[str]) -> Literal["png", "svg"]:
    """What kind of picture a file name asks for, or why it can't be drawn; to be asked before what is to be drawn is
    learned.
    """
    name = os.fspath(path)
    if importlib.util.find_spec("matplotlib") is None:
        raise CallError("plots need matplotlib: pip install 'plausible[plot]'")
    if name.endswith(".png"):
        return "png"
    if name.endswith(".svg"):
        return "svg"
    raise CallError(f"{name}: a plot is a .png or .svg file")


def plot(file: IO[bytes], kind: Literal["png", "svg"], mixture: GaussianMixture, table: Points) -> None:
    """Draw a mixture of one or two columns, and the points it was learned from that have no gaps."""
    import matplotlib
    from matplotlib.figure import Figure

    if table.dimensions > 2:
        raise CallError(f"a plot has one or two columns, not {table.dimensions}; name them with --column")
    figure = Figure(figsize=(6, 3.2) if table.dimensions == 1 else (5, 5), layout="constrained")
    axes = figure.add_subplot()
    whole = table.values[~np.isnan(table.values).any(axis=1)]
    step = max(1, -(-len(whole) // MOST))
    (_on_a_line if table.dimensions == 1 else _in_a_plane)(axes, mixture, whole[::step])
    axes.set_xlabel(table.names[0])
    axes.spines[["top", "right"]].set_visible(False)
    with matplotlib.rc_context({"svg.hashsalt": "plausible"}):
        figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None)


def _on_a_line(axes: Any, mixture: GaussianMixture, points: Any) -> None:
    x = points[:, 0]
    margin = 0.1 * (x.max() - x.min() or 1)
    grid = np.linspace(x.min() - margin, x.max() + margin, 400)
    spreads = mixture.components.spread()
    variances = spreads[:, 0] if spreads.ndim == 2 else spreads[:, 0, 0]
    owner = mixture.posterior(points).argmax(axis=1)
    axes.plot(grid, np.exp(mixture.log_density(grid)), color="0.3", linewidth=1, linestyle="--")
    for j, (weight, mean, variance) in enumerate(zip(mixture.weights, mixture.means[:, 0], variances, strict=True)):
        density = weight * np.exp(-((grid - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        colour = COLOURS[j % len(COLOURS)]
        axes.plot(grid, density, color=colour)
        axes.plot(x[owner == j], np.zeros((owner == j).sum()), "|", color=colour, markersize=10, alpha=0.6)
        axes.annotate(f"μ{j + 1} = {mean:.3g}", (mean, density.max()), ha="center", va="bottom", color=colour)
    axes.set_ylabel("density")
    axes.margins(y=0.12)


def _in_a_plane(axes: Any, mixture: GaussianMixture, points: Any) -> None:
    """Ellipses hold what is within two standard deviations."""
    from matplotlib.patches import Ellipse

    owner = mixture.posterior(points).argmax(axis=1) if len(points) else np.empty(0, np.intp)
    spreads = mixture.components.spread()
    for j, mean in enumerate(mixture.means):
        colour = COLOURS[j % len(COLOURS)]
        axes.plot(*points[owner == j].T, ".", color=colour, markersize=3, alpha=0.6)
        values, vectors = np.linalg.eigh(np.diag(spreads[j]) if spreads.ndim == 2 else spreads[j])
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        wide, high = 4 * np.sqrt(np.maximum(values[::-1], 0))
        axes.add_patch(Ellipse(mean, wide, high, angle=angle, fill=False, color=colour, linewidth=1.5))
        axes.plot(*mean, "x", color=colour, markersize=8)
    axes.set_ylabel(mixture.names[1])
