"""A file is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from plausible.errors import CallError, DataError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends well; else the old file stays as it is."""
    import tempfile

    target = os.path.realpath(os.fspath(path))
    if os.path.isdir(target):
        raise CallError(f"{os.fspath(path)} is a folder; name a file")
    try:
        handle, temporary = tempfile.mkstemp(prefix=".plausible-", dir=os.path.dirname(target))
    except OSError as error:
        raise CallError(f"{os.fspath(path)} can't be written: {error.strerror}; choose another place") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except OSError as error:
        _remove(temporary)
        raise DataError(
            f"{os.fspath(path)} was not written: {error.strerror}; the old file, if any, is whole"
        ) from None
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)


def _mode(target: str) -> int:
    if os.path.exists(target):
        return os.stat(target).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
