"""What all tests share: where the data lies, and how hypothesis runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scipy reads it once; scikit-learn skips its checks of arrays without it

settings.register_profile(
    "plausible",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("long", parent=settings.get_profile("plausible"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "plausible"))


ROOT = Path(__file__).parents[1]


def shared_data() -> Path | None:
    """The folder of data beside the project, or where PLAUSIBLE_SHARED says."""
    named = os.environ.get("PLAUSIBLE_SHARED")
    for folder in [Path(named)] if named else [ROOT.parent / "shared", ROOT.parents[1] / "shared"]:
        if (folder / "data" / "20newsgroups").is_dir():
            return folder / "data"
    return None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The data; without it a test is skipped, and in CI it fails."""
    folder = shared_data()
    if folder is None:
        why = "needs the data in ../shared/data (or in the data folder of where PLAUSIBLE_SHARED says)"
        if os.environ.get("CI") == "true":
            pytest.fail(why + "; CI runs every test")
        pytest.skip(why)
    return folder
