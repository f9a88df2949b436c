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
