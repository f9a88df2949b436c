"""The examples in docstrings, run on the package as it is installed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import plausible

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(plausible.__path__, "plausible.") if "_native" not in module.name
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_public_names_have_examples_or_attributes() -> None:
    """Every public function shows how it is used."""
    functions = [name for name in plausible.__all__ if callable(getattr(plausible, name)) and name.islower()]
    assert "learn" in functions
    for name in functions:
        if name not in ("load", "save", "rank", "words", "forget"):
            assert ">>>" in (getattr(plausible, name).__doc__ or ""), name
