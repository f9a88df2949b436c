"""What lies on this machine: an mbox, a Maildir, a folder.

Nothing outside the place that the user named is read: links inside a Maildir or folder are left alone, so are
pipes and devices.
"""

from __future__ import annotations

import io
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import BinaryIO, NamedTuple

from plausible.collecting.articles import file_article, message_article
from plausible.collecting.outcome import Limits, Trouble, Visit, later, left_out, named
from plausible.errors import DataError
from plausible.reader.items import Article, Source
from plausible.sources.documents import ends_whole, looks_like_mbox, mbox_messages, unquoted
from plausible.sources.streams import HEAD, Input
from plausible.sources.table import Source as Pass
from plausible.wording import quantity

_NUMBER = re.compile("[0-9]{1,20}")
_MARK = 4096
_SETTLED = 60
_OVERLAP = 2 * 10**9
_MOST_FILES = 200_000


def kind(path: str) -> str:
    """Which kind of source a path is: "mbox", "maildir" or "folder"; Trouble for anything else."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            return "maildir" if all(os.path.isdir(os.path.join(path, part)) for part in ("cur", "new")) else "folder"
        if stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                if looks_like_mbox(file.read(HEAD), ""):
                    return "mbox"
    except FileNotFoundError:
        raise Trouble(f"there is no file or folder {path!r}; check its name") from None
    except (OSError, ValueError) as error:
        raise Trouble(f"{path!r} can't be read ({_reason(error)}); check its name and its permissions") from None
    raise Trouble(f"{path!r} is no mbox, Maildir or folder; put single files in a folder and give the folder")


def visit_mbox(source: Source, now: datetime, limits: Limits) -> Visit:
    """The messages that were appended since the last visit; all of them, where the file was written anew.

    The cursor is the offset up to which it was read, and a hash of the bytes before it. A last message that isn't
    followed by a blank line may still be growing, and waits until the file has not changed for a minute.
    """
    path = source.address
    try:
        with open(path, "rb") as file:
            if file.read(2) == b"\x1f\x8b":
                raise Trouble(f"{path!r} is packed; unpack it, new mail can't be told apart in it")
            start = _resumed(file, source.cursor)
            settled = time.time() - os.fstat(file.fileno()).st_mtime > _SETTLED
        articles: list[Article] = []
        at, size, big, more = start, 0, 0, False
        progress = Pass(path, (), lambda *_: iter(()))
        with _Tail(path, start) as tail:
            for offset, raw in mbox_messages(progress, Input(os.path.basename(path), kept=tail), None):
                at = start + offset
                more = len(articles) >= limits.articles or size > limits.size
                if more or not (raw.strip() and (ends_whole(raw) or settled)):
                    break
                if len(raw) > limits.size:
                    big += 1
                else:
                    articles.append(message_article(unquoted(raw), now))
                    size += len(raw)
            else:
                at = start + progress.position
        with open(path, "rb") as file:
            cursor = _marked(file, at)
    except OSError as error:
        raise _unreadable(path, error) from None
    read = replace(named(source, os.path.basename(path)), cursor=cursor, error=left_out(big, "message", limits))
    return Visit(later(read, now, 0 if more else source.interval), tuple(articles))


def visit_maildir(source: Source, now: datetime, limits: Limits) -> Visit:
    """The messages that came into a Maildir since the last visit."""
    return _visit_files(source, now, limits, [os.path.join(source.address, part) for part in ("cur", "new")], False)


def visit_folder(source: Source, now: datetime, limits: Limits) -> Visit:
    """The files (text, HTML, mail) that came into a folder or the folders below it since the last visit."""
    return _visit_files(source, now, limits, [source.address], True)


class _File(NamedTuple):
    """A file by when it last came or changed, in ns, then by its path."""

    changed: int
    path: str


class _Tail(io.FileIO):
    """A file read from an offset on, as if it began there."""

    def __init__(self, path: str, start: int) -> None:
        super().__init__(path)
        self._start = start

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return super().seek(offset + (self._start if whence == os.SEEK_SET else 0), whence) - self._start


def _visit_files(source: Source, now: datetime, limits: Limits, folders: list[str], deep: bool) -> Visit:
    """The files that came or changed, in that order.

    The cursor is the time of the last one's change and its path. When all are read it goes back two seconds, so that
    a file that came while the folder was listed isn't missed; what is read twice has the same key.
    """
    begun = time.time_ns()
    notes: list[str] = []
    try:
        for folder in folders:
            if os.path.islink(folder) and folder != source.address:
                raise Trouble(
                    f"{folder!r} is a link, and a Maildir's own folders must not be; give the folder it leads to"
                )
        found = sorted(file for folder in folders for file in _files(folder, deep, notes))
    except OSError as error:
        raise _unreadable(source.address, error) from None
    last = _cursor(source.cursor)
    new = [file for file in found if file > last]
    articles: list[Article] = []
    size, more = 0, False
    for file in new:
        if len(articles) >= limits.articles or size > limits.size:
            more = True
            break
        last = file
        try:
            raw = _read(file.path, limits)
            written = datetime.fromtimestamp(os.stat(file.path).st_mtime, UTC)
            shown = os.path.relpath(os.fsencode(file.path), os.fsencode(source.address)).decode("utf-8", "replace")
            articles.append(file_article(raw, shown, now, written) if deep else message_article(raw, now, written))
            size += len(raw)
        except FileNotFoundError:
            continue
        except (OSError, DataError, ValueError, OverflowError) as error:
            notes.append(_reason(error))
    else:
        last = min(last, (begun - _OVERLAP, ""))
    read = replace(
        named(source, os.path.basename(source.address.rstrip(os.sep))),
        cursor=f"{last[0]} {last[1]}",
        error=f"{quantity(len(notes), 'file')} left out, such as: {notes[0]}" if notes else None,
    )
    return Visit(later(read, now, 0 if more else source.interval), tuple(articles))


def _files(folder: str, deep: bool, notes: list[str]) -> Iterator[_File]:
    """The files in a folder and, if `deep`, below it; hidden ones, links, pipes and devices are not among them."""
    root = os.path.realpath(folder)
    waiting = [folder]
    count = 0
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_symlink():
                    target = os.path.realpath(entry.path)
                    if os.path.commonpath((root, target)) != root:
                        notes.append(f"{_shown(entry.path)} is a link that leads out of the folder")
                elif entry.is_dir(follow_symlinks=False):
                    if deep:
                        waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    count += 1
                    if count > _MOST_FILES:
                        raise Trouble(
                            f"{folder!r} holds more than {_MOST_FILES:,} files; give the folders in it one by one"
                        )
                    yield _File(entry.stat(follow_symlinks=False).st_ctime_ns, entry.path)


def _read(path: str, limits: Limits) -> bytes:
    """The bytes of a file that is no link, pipe or device, even if it was exchanged for one meanwhile."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limits.size:
            raise DataError(f"{_shown(path)} has more than {limits.size / (1 << 20):g} MB")
        return file.read(limits.size)


def _cursor(cursor: str | None) -> tuple[int, str]:
    changed, _, path = (cursor or "").partition(" ")
    return (int(changed), path) if _NUMBER.fullmatch(changed) else (0, "")


def _resumed(file: BinaryIO, cursor: str | None) -> int:
    """The offset at which to go on reading an mbox: 0, if what stands before it is not what was read."""
    at = (cursor or "").partition(" ")[0]
    if not _NUMBER.fullmatch(at) or _marked(file, int(at)) != cursor:
        return 0
    file.seek(int(at))
    return int(at) if file.read(5) in (b"From ", b"") else 0


def _marked(file: BinaryIO, at: int) -> str:
    """An offset, and a hash of what stands before it."""
    start = max(0, at - _MARK)
    file.seek(start)
    return f"{at} {sha256(file.read(at - start)).hexdigest()[:16]}"


def _unreadable(path: str, error: OSError) -> Trouble:
    return Trouble(f"{_shown(path)} can't be read ({_reason(error)}); check that it is there, and its permissions")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower() if isinstance(error, OSError) else str(error)


def _shown(path: str) -> str:
    """A path as text that can be kept and printed, whatever bytes the file system holds."""
    return os.fsencode(path).decode("utf-8", "replace")
