"""Models of tables for tests, and where the shared data lies."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from plausible.columns import Columns, Reading
from plausible.model import Model
from plausible.priors import Rules
from plausible.schema import Variable

SHARED = Path(os.environ.get("PLAUSIBLE_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
if not SHARED.exists():
    SHARED = Path(__file__).resolve().parents[3].parent / "shared"
TABLES = SHARED / "data" / "tables"

needs_data = pytest.mark.skipif(not TABLES.exists(), reason=f"needs the tables in {TABLES} (PLAUSIBLE_SHARED)")


def model_of(kinds, **rules) -> Model:
    """An untrained model; `kinds` says for each column whether it is a number."""
    attributes = tuple(Variable(name, "continuous" if number else "categorical") for name, number in kinds.items())
    return Model(rules=Rules(**rules), reading=Reading(Columns((), "class", attributes)))


def cells_of(rows, kinds):
    return {
        name: np.array([np.nan if row[name] is None else row[name] for row in rows], float)
        if number
        else [row[name] for row in rows]
        for name, number in kinds.items()
    }


def probabilities(scores):
    return np.exp(np.asarray(scores.log_posterior))
