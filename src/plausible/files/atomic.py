"""A file is written whole or not at all; a device or a pipe is written to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from plausible.errors import CallError, DataError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends well; else the old file stays as it is."""
    name = _named(path)
    with _into(name) if is_special(name) else _instead_of(name) as file:
        yield file


def check_place(path: str | os.PathLike[str]) -> None:
    """CallError if `replacing` would find no place for the file, asked before the work that it is to hold."""
    name = _named(path)
    if not is_special(name):
        handle, temporary = _beside(name, os.path.realpath(name))
        os.close(handle)
        _remove(temporary)


def _named(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    if name == "-":
        raise CallError("what is written here needs a file, and - is none; write ./- for a file of that name")
    if os.path.isdir(name):
        raise CallError(f"{name} is a folder; name a file")
    return name


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether something is there that is no file or folder: a device, a pipe."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def _into(name: str) -> Iterator[IO[bytes]]:
    try:
        with open(name, "wb") as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"{name} was not written: {error.strerror}") from None


@contextmanager
def _instead_of(name: str) -> Iterator[IO[bytes]]:
    target = os.path.realpath(name)
    handle, temporary = _beside(name, target)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except OSError as error:
        _remove(temporary)
        raise DataError(f"{name} was not written: {error.strerror}; the old file, if any, is whole") from None
    except BaseException:
        _remove(temporary)
        raise


def _beside(name: str, target: str) -> tuple[int, str]:
    """A temporary file in the folder of the target, open."""
    import tempfile

    try:
        return tempfile.mkstemp(prefix=".plausible-", dir=os.path.dirname(target))
    except OSError as error:
        raise CallError(f"{name} can't be written: {error.strerror}; choose another place") from None


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)


def _mode(target: str) -> int:
    if os.path.exists(target):
        return os.stat(target).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
