"""The small reader of zips beside the standard library's."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.files.zipped import BadZip, directory, unpacked

MEMBERS = {"model.json": b"{}", "text.terms": b"day\nnight\n" * 500, "empty": b"", "naïve": bytes(range(256)) * 9}


class Pipe(io.RawIOBase):
    """What can't be sought in, so that sizes are written behind members."""

    def __init__(self) -> None:
        self.held = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.held += bytes(data)
        return len(data)


def zipped(method: int = zipfile.ZIP_DEFLATED, comment: bytes = b"", to: Any = None) -> bytes:
    held = to or io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        archive.comment = comment
        for name, data in MEMBERS.items():
            archive.writestr(name, data)
    return held.held if to else held.getvalue()


def read(data: bytes) -> dict[str, bytes]:
    return unpacked(data, list(directory(data)))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("comment", [b"", b"made on Monday"])
def test_what_tools_write_is_read(method: int, comment: bytes) -> None:
    assert read(zipped(method, comment)) == MEMBERS
    assert read(zipped(method, comment, Pipe())) == MEMBERS


def test_numbers_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    data = zipped()
    assert b"PK\6\7" in data
    assert read(data) == MEMBERS


def test_more_members_than_16_bits_count() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for i in range(65_540):
            archive.writestr(str(i), b"")
    assert len(list(directory(held.getvalue()))) == 65_540


@given(data=st.data())
def test_what_is_damaged_is_refused_or_the_same(data: st.DataObject) -> None:
    whole = zipped()
    altered = bytearray(whole)
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=3)):
        altered[at] ^= data.draw(st.integers(1, 255))
    try:
        found = read(bytes(altered))
    except BadZip:
        return
    assert set(found.values()) <= set(MEMBERS.values())


@given(size=st.integers(0, len(zipped()) - 1), rest=st.binary(max_size=80))
def test_what_is_cut_off_is_refused(size: int, rest: bytes) -> None:
    with pytest.raises(BadZip):
        read(zipped()[:size] + rest)
