"""The members of a zip held in memory, found by its directory.

The standard library's reader knows many more kinds of zip; its import takes longer than a short answer.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from threading import Thread
from typing import Any, NamedTuple

STORED, DEFLATED = 0, 8

_END = struct.Struct("<4s4HLLH")
_WIDE_END_AT = struct.Struct("<4sLQL")
_WIDE_END = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6HLLL5HLL")
_LOCAL = struct.Struct("<4s5HLLLHH")
_ENCRYPTED = 1
_UNSAID = 0xFFFFFFFF
"""Stands for a number that needs 64 bits and is in the extra field."""


class BadZip(ValueError):
    """It is no zip, or not whole."""


class Member(NamedTuple):
    """Where a member lies, and what it unpacks to."""

    name: str
    method: int
    size: int
    checksum: int
    packed_size: int
    at: int

    def read(self, data: bytes) -> bytes:
        """Its bytes; BadZip where they are damaged."""
        signature, *_, name_size, extra_size = _unpacked(_LOCAL, data, self.at)
        if signature != b"PK\3\4":
            raise BadZip("a member is not where the directory says")
        start = self.at + _LOCAL.size + name_size + extra_size
        packed = memoryview(data)[start : start + self.packed_size]
        try:
            found = (
                bytes(packed) if self.method == STORED else zlib.decompressobj(-15).decompress(packed, self.size + 1)
            )
        except zlib.error as error:
            raise BadZip(str(error)) from None
        if len(found) != self.size or zlib.crc32(found) != self.checksum:
            raise BadZip("a member is damaged")
        return found


def directory(data: bytes) -> Iterator[Member]:
    """The members of a zip; BadZip where it has no whole directory."""
    end = data.rfind(b"PK\5\6", max(0, len(data) - _END.size - 0xFFFF))
    if end < 0:
        raise BadZip("there is no directory")
    *_, number, _, at, comment = _unpacked(_END, data, end)
    if end + _END.size + comment != len(data):
        raise BadZip("the end is not whole")
    if data.startswith(b"PK\6\7", end - _WIDE_END_AT.size):
        _, _, wide_end, _ = _unpacked(_WIDE_END_AT, data, end - _WIDE_END_AT.size)
        *_, number, _, at = _unpacked(_WIDE_END, data, wide_end)
    for _ in range(number):
        member, at = _entry(data, at)
        yield member


def unpacked(data: bytes, members: Sequence[Member]) -> dict[str, bytes]:
    """What the members hold, by name; two threads unpack them, the largest first."""
    waiting = iter(sorted(members, key=lambda member: -member.size))
    found: dict[str, bytes] = {}
    failed: list[Exception] = []

    def work() -> None:
        try:
            for member in waiting:
                found[member.name] = member.read(data)
        except Exception as error:
            failed.append(error)

    helper = Thread(target=work)
    helper.start()
    work()
    helper.join()
    if failed:
        raise failed[0]
    return found


def _entry(data: bytes, at: int) -> tuple[Member, int]:
    """The member of an entry of the directory, and where the next entry begins."""
    found = _unpacked(_ENTRY, data, at)
    signature, _, _, flags, method, _, _, checksum, packed, size, name, extra, comment, *_, local = found
    if signature != b"PK\1\2" or flags & _ENCRYPTED:
        raise BadZip("the directory is damaged, or a member is encrypted")
    start = at + _ENTRY.size
    extra_start = start + name
    numbers = [size, packed, local]
    if _UNSAID in numbers:
        wide = _wide_numbers(data[extra_start : extra_start + extra])
        numbers = [next(wide) if number == _UNSAID else number for number in numbers]
    size, packed, local = numbers
    text = data[start:extra_start].decode("utf-8", "replace")
    return Member(text, method, size, checksum, packed, local), extra_start + extra + comment


def _wide_numbers(extra: bytes) -> Iterator[int]:
    """The numbers of 64 bits in an extra field."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == 1:
            yield from (number for (number,) in struct.iter_unpack("<Q", extra[4 : 4 + size // 8 * 8]))
        extra = extra[4 + size :]
    raise BadZip("the directory is damaged")


def _unpacked(form: struct.Struct, data: bytes, at: int) -> tuple[Any, ...]:
    try:
        return form.unpack_from(data, at)
    except (struct.error, OverflowError):
        raise BadZip("the directory is damaged") from None
