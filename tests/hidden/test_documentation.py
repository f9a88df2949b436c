"""The picture of the page on hidden classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from plausible.cli import plausible
from plausible.errors import CallError

ROOT = Path(__file__).parents[2]
POINTS = ROOT / "examples/two_gaussians.csv"


def draw(source: Path, path: Path, *arguments: str) -> None:
    command = ["cluster", str(source), "-k", "2", "--plot", str(path), *arguments]
    CliRunner().invoke(plausible, command, catch_exceptions=False)


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(POINTS, tmp_path / "one.svg", "--covariance", "known", "--variance", "1")
    assert "<svg" in (tmp_path / "one.svg").read_text()
    plane = tmp_path / "plane.csv"
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2)) + 6 * (np.arange(40) % 2)[:, None]
    np.savetxt(plane, points, delimiter=",", header="x,y", comments="")
    draw(plane, tmp_path / "plane.png")
    assert (tmp_path / "plane.png").read_bytes().startswith(b"\x89PNG")


def test_what_can_not_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(CallError, match=r"a \.png or \.svg file"):
        draw(POINTS, tmp_path / "x.pdf")
    wide = tmp_path / "wide.csv"
    np.savetxt(wide, np.random.default_rng(0).normal(size=(20, 3)), delimiter=",", header="x,y,z", comments="")
    with pytest.raises(CallError, match="one or two columns, not 3"):
        draw(wide, tmp_path / "x.png")
