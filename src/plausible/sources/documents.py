"""Documents: files of text or HTML, mail, mbox files, folders with one sub-folder a class, and Maildir."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from plausible.errors import DataError
from plausible.sources.mail import DEFAULT_HEADERS, document_text, looks_like_mail
from plausible.sources.streams import HEAD, Input, line_blocks, too_long, unreadable
from plausible.sources.table import DOCUMENT_COLUMNS, LIMIT, Document, Options, Source, Table, document_tables

_FROM = re.compile(rb"^From [^\n]*\n", re.M)
_DATE = re.compile(rb"\d\d?:\d\d.*\d{4}")
_QUOTED = re.compile(rb"^>(>*From )", re.M)


def looks_like_mbox(head: bytes, suffix: str) -> bool:
    """Whether the first line is one that stands before a message of an mbox file."""
    first, _, rest = head.partition(b"\n")
    if not first.startswith(b"From "):
        return False
    return _dated(first) or looks_like_mail(rest.decode("latin-1"))


def looks_like_text(head: bytes, suffix: str) -> bool:
    """What nothing else claims is a document; decoding it tells whether it is text."""
    return True


def open_file(given: Input, options: Options) -> Source:
    """One file of text or mail: one document, or as many as an mbox holds messages."""

    def read(source: Source, columns: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        return document_tables(file_documents(source, given, None, options), columns, numbers)

    return Source(given.name, DOCUMENT_COLUMNS, read, documents=True, size=given.size, strict=options.strict)


def open_folder(folder: str, options: Options) -> Source:
    """A folder with one sub-folder a class, a Maildir, or a flat folder of documents without a class."""
    folders, loose = _entries(folder)
    if _is_maildir(folders):
        folders, loose = [], [path for path, _ in _walk(folder)]
    _refuse_twins(folders)
    classes = [path for path in folders if next(_walk(path), None)]
    if not classes and not loose:
        raise DataError(f"the folder {folder!r} holds no files; put the files of each class in a sub-folder")

    def files() -> Iterator[tuple[str | None, str, int]]:
        for path in [] if classes else loose:
            yield None, path, _size(path)
        for path in classes:
            label = _shown(os.path.basename(path))
            yield from ((label, file, size) for file, size in _walk(path))

    def documents(source: Source) -> Iterator[Document]:
        for path in loose if classes else []:
            source.note("files beside the class folders, left out", _shown(path))
        for path in folders:
            if path not in classes:
                source.note("class folders without files, left out", _shown(path))
        before = 0
        for label, path, size in files():
            given = Input(_shown(path), path)
            if os.path.exists(path):
                yield from file_documents(source, given, label, options)
            else:
                source.note("files that vanished while the folder was read", given.name)
            before += size
            source.position = before

    def read(source: Source, columns: tuple[str, ...], numbers: frozenset[str]) -> Iterator[Table]:
        return document_tables(documents(source), columns, numbers)

    total = sum(size for _, _, size in files())
    return Source(folder, DOCUMENT_COLUMNS, read, documents=True, size=total, strict=options.strict)


def file_documents(source: Source, given: Input, label: str | None, options: Options) -> Iterator[Document]:
    """The documents in one file: the messages of an mbox, or else the file as one."""
    with given.open() as stream:
        raw = stream.read(HEAD)
        mbox = looks_like_mbox(raw, given.suffix)
        if not mbox:
            raw += stream.read_all() if len(raw) == HEAD else b""
            source.position = stream.position
    if mbox:
        yield from _mbox(source, given, label, options)
        return
    text, found = document_text(raw, given.name, options.headers or DEFAULT_HEADERS, options.encoding)
    if options.encoding is None and not found.startswith("utf-8"):
        source.note(f"not UTF-8, read as {found.upper()}", given.name)
    yield Document(text, label, given.name)


def _mbox(source: Source, given: Input, label: str | None, options: Options) -> Iterator[Document]:
    for number, (offset, raw) in enumerate(mbox_messages(source, given, options.encoding), 1):
        name = f"{given.name}, message {number}"
        if not ends_whole(raw):
            if b"\n\n" not in raw and b"\n\r\n" not in raw:
                raise DataError(
                    f"{name}, at byte {offset}: the file breaks off in the header of this message; "
                    "fetch it again, or take the message out"
                )
            source.note("the last message of an mbox doesn't end in a blank line: is it whole?", name)
        text, _ = document_text(unquoted(raw), name, options.headers or DEFAULT_HEADERS, None)
        yield Document(text, label, name)


def ends_whole(raw: bytes) -> bool:
    """Whether a message of an mbox ends in the blank line that stands before the next one."""
    return raw.endswith((b"\n\n", b"\n\r\n"))


def unquoted(raw: bytes) -> bytes:
    """A message of an mbox as it was before it was put there."""
    return _QUOTED.sub(rb"\1", raw.removesuffix(b"\n").removesuffix(b"\r"))


def mbox_messages(source: Source, given: Input, encoding: str | None) -> Iterator[tuple[int, bytes]]:
    """The messages of an mbox, each without its postmark and with the offset where it starts."""
    pieces: list[bytes] = []
    length = begin = 0
    ahead = b"\n\n"
    dated = None
    for offset, block in line_blocks(source, given, encoding):
        start = 0
        for mark in _FROM.finditer(block):
            before = (ahead + block[max(0, mark.start() - 3) : mark.start()])[-3:]
            if dated is None:
                dated = _dated(mark[0])
            elif not before.endswith((b"\n\n", b"\n\r\n")) or (dated and not _dated(mark[0])):
                continue
            else:
                yield begin, b"".join((*pieces, block[start : mark.start()]))
            pieces, length, begin, start = [], 0, offset + mark.start(), mark.end()
        pieces.append(block[start:])
        length += len(block) - start
        if length > LIMIT:
            raise too_long(f"{given.name}, the message at byte {begin}", "one message")
        ahead = (ahead + block[-3:])[-3:]
    yield begin, b"".join(pieces)


def _dated(postmark: bytes) -> bool:
    return _DATE.search(postmark[:200]) is not None


def _walk(folder: str) -> Iterator[tuple[str, int]]:
    """The files below a folder with their sizes, sorted; links back to a folder above are not followed."""
    waiting = [(folder, frozenset[tuple[int, int]]())]
    while waiting:
        path, above = waiting.pop()
        status = os.stat(path)
        here = (status.st_dev, status.st_ino)
        if here in above:
            continue
        folders, files = _entries(path)
        for file in files:
            yield file, _size(file)
        if _is_maildir(folders):
            folders = [inner for inner in folders if os.path.basename(inner) != "tmp"]
        waiting += [(inner, above | {here}) for inner in reversed(folders)]


def _entries(folder: str) -> tuple[list[str], list[str]]:
    """The folders and the files in a folder, sorted, hidden ones and special ones such as pipes left out."""
    folders, files = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    if entry.is_dir():
                        folders.append(entry.path)
                    elif entry.is_file():
                        files.append(entry.path)
    except OSError as error:
        raise unreadable(_shown(folder), error) from None
    return sorted(folders), sorted(files)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _is_maildir(folders: list[str]) -> bool:
    return {"cur", "new"} <= {os.path.basename(path) for path in folders}


def _refuse_twins(folders: list[str]) -> None:
    seen: dict[str, str] = {}
    for path in folders:
        twin = seen.setdefault(os.path.basename(path).casefold(), path)
        if twin is not path:
            raise DataError(
                f"the class folders {_shown(twin)!r} and {_shown(path)!r} differ only in case; join them or rename one"
            )


def _shown(path: str) -> str:
    """A path as text that can be printed, whatever bytes the file system holds."""
    return os.fsencode(path).decode("utf-8", "replace")
