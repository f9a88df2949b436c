"""What the tests of the readers share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plausible.sources import Source, open_source


@pytest.fixture(scope="session")
def rows() -> Callable[..., list[tuple[Any, ...]]]:
    """Every row of a fresh pass over a source, or over what is to be opened as one."""

    def read(given: Any, columns: list[str] | None = None, **options: Any) -> list[tuple[Any, ...]]:
        source = given if isinstance(given, Source) else open_source(given, **options)
        tables = source.tables(columns)
        return [row for table in tables for row in zip(*table.columns.values(), strict=True)]

    return read


@pytest.fixture(scope="session")
def shared() -> Path:
    root = Path(__file__).parents[2]
    candidates = [Path(os.environ.get("PLAUSIBLE_SHARED", "")), root / "../shared", root / "../../shared"]
    for folder in candidates:
        if (folder / "data" / "20newsgroups").is_dir():
            return folder / "data"
    pytest.skip("needs the data in ../shared (or where PLAUSIBLE_SHARED says)")
