"""Where the data lie that some tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared() -> Path:
    return Path(os.environ.get("PLAUSIBLE_SHARED", Path(__file__).parents[3] / "shared"))


def needs_shared(test):  # type: ignore[no-untyped-def]
    absent = not (shared() / "data/bayesnets").is_dir()
    skip = pytest.mark.skipif(absent, reason=f"needs {shared()}/data/bayesnets; set PLAUSIBLE_SHARED")
    return pytest.mark.data(skip(test))
