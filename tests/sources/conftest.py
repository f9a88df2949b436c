"""What the tests of the readers share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plausible.sources import Source, open_source


def rows_of(source: Source, columns: list[str] | None = None, **options: Any) -> list[tuple[Any, ...]]:
    """Every row of a fresh pass."""
    return [
        row
        for table in source.tables(columns, **options)
        for row in zip(*table.columns.values(), strict=True)
    ]


@pytest.fixture
def rows() -> Callable[..., list[tuple[Any, ...]]]:
    def read(given: Any, columns: list[str] | None = None, **options: Any) -> list[tuple[Any, ...]]:
        return rows_of(open_source(given, **options), columns)

    return read


@pytest.fixture(scope="session")
def shared() -> Path:
    root = Path(__file__).parents[2]
    candidates = [Path(os.environ.get("PLAUSIBLE_SHARED", "")), root / "../shared", root / "../../shared"]
    for folder in candidates:
        if (folder / "data" / "20newsgroups").is_dir():
            return folder / "data"
    pytest.skip("needs the data in ../shared (or where PLAUSIBLE_SHARED says)")
