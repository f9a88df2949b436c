"""Bytes to text."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.errors import CallError, DataError
from plausible.sources.encoding import check, decode

CHINESE = "文本分类是自然语言处理的一个基本问题，例如垃圾邮件过滤。\n统计方法用词语的频率。\n"
POLISH = "Zażółć gęślą jaźń, a potem idź do domu.\nDrugi wiersz.\n"
FRENCH = "Où est passé l’été ? Ça coûte 3 €, ma chère.\n"


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        (CHINESE, "gb18030", "gb18030"),
        (CHINESE, "utf-8", "utf-8"),
        (CHINESE, "utf-8-sig", "utf-8-sig"),
        (CHINESE, "utf-16", "utf-16"),
        (CHINESE, "utf-32", "utf-32"),
        (CHINESE, "utf-16-le", "utf-16-le"),
        (CHINESE, "utf-16-be", "utf-16-be"),
        (POLISH, "utf-16-le", "utf-16-le"),
        (FRENCH, "cp1252", "cp1252"),
        ("plain\n", "utf-16-be", "utf-16-be"),
        ("naïve", "latin-1", "cp1252"),
        ("one\0two", "utf-8", "utf-8"),
        ("", "utf-8", "utf-8"),
    ],
)
def test_recognised(text: str, encoding: str, found: str) -> None:
    assert decode(text.encode(encoding), "f") == (text, found)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_utf8_round_trip(text: str) -> None:
    expected = text.removeprefix("\ufeff")
    assert decode(text.encode(), "f")[0] == expected


@given(st.binary())
def test_any_bytes_are_text_or_a_data_error(raw: bytes) -> None:
    with suppress(DataError):
        assert isinstance(decode(raw, "f")[0], str)


def test_binary_names_the_byte() -> None:
    with pytest.raises(DataError, match=r"photo\.jpg is not text: byte 6 is hexadecimal 00"):
        decode(b"\xff\xd8\xff\xe0ab" + bytes(range(20)) * 20, "photo.jpg")
    with pytest.raises(DataError, match="ZIP archive"):
        decode(b"PK\x03\x04" + bytes(100), "letter.docx")


def test_forced() -> None:
    assert decode(POLISH.encode("iso-8859-2"), "f", "iso-8859-2") == (POLISH, "iso-8859-2")
    with pytest.raises(DataError, match="f: byte 1 is not utf-8; give the right --encoding"):
        decode(b"a\xffb", "f", "utf-8")
    for wrong in ("klingon", "base64", "rot13", "a\0b", "undefined"):
        with pytest.raises(CallError, match="is no text encoding"):
            check(wrong)
