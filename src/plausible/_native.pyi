"""Types of the native core, one part a file of `native/`."""

from typing import Any

# bif.cpp
def read_bif(source: bytes) -> tuple[Any, ...]: ...
