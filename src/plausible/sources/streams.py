"""Files, standard input and gzip as streams of bytes, and blocks of whole lines cut from them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from plausible.errors import CallError, DataError
from plausible.sources import encoding as encodings
from plausible.sources.table import LIMIT, Source
from plausible.wording import quantity

BLOCK = 1 << 20
HEAD = 1 << 16
PROSE = (".txt", ".text", ".md", ".rst", ".tex", ".log", ".html", ".htm", ".eml")
"""Suffixes of files that are documents, even where their lines look like a table's."""


class Input:
    """A file, or bytes kept in an anonymous temporary file, that can be opened again and again."""

    def __init__(self, name: str, path: str | None = None, kept: BinaryIO | None = None) -> None:
        self.name = name
        self.path = path
        self.kept = kept

    @property
    def size(self) -> int:
        if self.kept is not None:
            return os.fstat(self.kept.fileno()).st_size
        try:
            return os.stat(self.path or "").st_size
        except OSError as error:
            raise unreadable(self.name, error) from None

    @property
    def suffix(self) -> str:
        """The ending of the name in lower case, without a ".gz"."""
        return os.path.splitext(self.name.lower().removesuffix(".gz"))[1]

    @property
    def packed(self) -> bool:
        with self.open() as stream:
            return stream.packed

    def open(self) -> Stream:
        return Stream(self)

    def head(self) -> bytes:
        """The first bytes, unpacked and, where they are UTF-16 or UTF-32, as UTF-8."""
        with self.open() as stream:
            head = stream.read(HEAD)
        wide = encodings.by_width(head)
        if wide is None:
            return head
        return head.decode(wide, "ignore").encode("utf-8", "replace")


class Stream:
    """The bytes of an input, unpacked if they are gzip; `position` counts those of the file itself."""

    def __init__(self, source: Input) -> None:
        self.name = source.name
        try:
            raw: io.RawIOBase = _Again(source.kept) if source.kept else io.FileIO(source.path or "")
        except OSError as error:
            raise unreadable(source.name, error) from None
        self._raw = raw
        self._file: BinaryIO = io.BufferedReader(raw, HEAD)
        self._unpacked = 0
        self.packed = self._peek()[:2] == b"\x1f\x8b"
        if self.packed:
            import gzip

            self._file = gzip.GzipFile(fileobj=self._file)  # type: ignore[assignment]

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    @property
    def position(self) -> int:
        return self._raw.tell()

    def read(self, size: int) -> bytes:
        import zlib

        try:
            data = self._file.read(size)
        except (EOFError, zlib.error, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # the system's, not gzip's
                raise unreadable(self.name, error) from None
            raise DataError(
                f"{self.name}: the gzip data breaks off or is damaged after {quantity(self._unpacked, 'unpacked byte')}"
                f" ({error}); fetch the file again"
            ) from None
        self._unpacked += len(data)
        return data

    def read_all(self) -> bytes:
        """Everything that is left, up to the limit of one document."""
        data = self.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise too_long(self.name, "one document")
        return data

    def _peek(self) -> bytes:
        try:
            return self._file.peek(2)  # type: ignore[attr-defined,no-any-return]
        except OSError as error:
            raise unreadable(self.name, error) from None


class _Again(io.RawIOBase):
    """A reader of its own over a file that several passes share."""

    def __init__(self, kept: BinaryIO) -> None:
        self._kept = kept
        self._at = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._kept.seek(self._at)
        count = self._kept.readinto(buffer)  # type: ignore[attr-defined]
        self._at += count
        return int(count)


def standard_input() -> Input:
    if sys.stdin is None:
        raise CallError("standard input is closed; name a file, or write to the command")
    return keep("standard input", sys.stdin.buffer)


def keep(name: str, stream: BinaryIO) -> Input:
    """An input that can be read twice, from one that can't: its bytes go to an anonymous temporary file."""
    import shutil
    import tempfile
    import weakref

    kept = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    given = Input(name, kept=kept)
    weakref.finalize(given, kept.close)
    shutil.copyfileobj(stream, kept, BLOCK)
    return given


def line_blocks(source: Source, given: Input, encoding: str | None) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the offset where it starts; `source.position` goes along.

    A forced encoding, UTF-16 and UTF-32 are turned into UTF-8 here, so that the readers of lines find a line
    end in one byte, and `Decoder` sees to the rest.
    """
    with given.open() as stream:
        start = stream.read(BLOCK)
        wide = encoding or encodings.by_width(start)
        if wide and wide != "utf-8-sig" and encoding is None:
            source.note(f"not UTF-8, read as {wide.upper()}", given.name)
        pieces = _transcoded(stream, start, wide) if wide else _pieces(stream, start)
        waiting: list[bytes] = []
        length = offset = 0
        for piece in pieces:
            source.position = stream.position
            cut = piece.rfind(b"\n") + 1
            if cut:
                block = b"".join((*waiting, piece[:cut]))
                yield offset, block
                offset += len(block)
                waiting, length = [], 0
            if cut < len(piece):
                waiting.append(piece[cut:])
                length += len(piece) - cut
                if length > LIMIT:
                    raise too_long(f"{given.name}, the line that holds byte {offset}", "one line")
        if waiting:
            yield offset, b"".join(waiting)


def _pieces(stream: Stream, piece: bytes) -> Iterator[bytes]:
    while piece:
        yield piece
        piece = stream.read(BLOCK)


def _transcoded(stream: Stream, piece: bytes, encoding: str) -> Iterator[bytes]:
    import codecs

    decoder = codecs.getincrementaldecoder(encoding)()
    before = 0
    while True:
        held = len(decoder.getstate()[0])
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeError as error:
            at = before - held + getattr(error, "start", 0)
            raise encodings.undecodable(stream.name, encoding, at) from None
        if text:
            yield text.encode("utf-8", "replace")
        if not piece:
            return
        before += len(piece)
        piece = stream.read(BLOCK)


class Decoder:
    """Blocks of lines to text: UTF-8, or else line by line in the encoding recognised."""

    def __init__(self, source: Source, name: str) -> None:
        self._source = source
        self._name = name
        self._narrow: str | None = None

    def utf8(self, offset: int, block: bytes) -> bytes:
        """The text of a block in UTF-8."""
        return block if block.isascii() else self.text(offset, block).encode()

    def text(self, offset: int, block: bytes) -> str:
        try:
            return block.decode()
        except UnicodeDecodeError as error:
            if self._narrow is None:
                found = encodings.recognise(block, f"{self._name}, after byte {offset + error.start}")
                self._narrow = encodings.narrow(block) if found.startswith("utf") else found
        return "\n".join(self._line(line, offset) for line in block.split(b"\n"))

    def _line(self, line: bytes, offset: int) -> str:
        try:
            return line.decode()
        except UnicodeDecodeError:
            pass
        name = self._narrow or "cp1252"
        try:
            text = line.decode(name)
        except UnicodeDecodeError:
            name = "latin-1"
            text = line.decode(name)
        self._source.note(f"lines that are not UTF-8, read as {name.upper()}", f"{self._name}, after byte {offset}")
        return text


def too_long(place: str, what: str) -> DataError:
    return DataError(f"{place}: {what} may have at most {LIMIT >> 20} MB; split it, or leave it out")


def unreadable(name: str, error: OSError) -> DataError | CallError:
    if isinstance(error, FileNotFoundError):
        return CallError(f"there is no file {name!r}")
    return DataError(f"{name} can't be read: {error.strerror or error}")
