"""Lists of feeds in and out."""

from __future__ import annotations

import contextlib
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.collecting import opml
from plausible.errors import DataError
from plausible.reader.items import Source


def outlines(inner: str) -> bytes:
    return f'<?xml version="1.0"?><opml version="1.0"><head/><body>{inner}</body></opml>'.encode()


def test_folders_in_folders_and_each_address_once() -> None:
    content = outlines(
        '<outline text="A"><outline text="B"><outline text="Żółw" xmlUrl="https://a.org/1"/></outline>'
        '<outline title="two" text="2" XMLURL=" http://b.org/2 " type="rss"/></outline>'
        '<outline text="again" xmlUrl="https://a.org/1"/><outline text="no feed" htmlUrl="https://c.org"/>'
        '<outline xmlUrl="feed://d.org/x"/><outline text="g" xmlUrl="nntp://news.example.org/a.b"/>'
    )
    assert [(source.kind, source.title, source.address) for source in opml.read(content)] == [
        ("feed", "Żółw", "https://a.org/1"),
        ("feed", "two", "http://b.org/2"),
        ("feed", "https://d.org/x", "https://d.org/x"),
        ("netnews", "g", "nntp://news.example.org/a.b"),
    ]


@pytest.mark.parametrize(
    "address", ["/etc/passwd", "file:///etc/passwd", "../x", "javascript:alert(1)", "http://", "http://[", "C:\\x", ""]
)
def test_what_a_list_must_not_bring(address: str) -> None:
    assert opml.read(outlines(f'<outline xmlUrl="{address}"/>')) == []


def test_nothing_in_a_list_is_allowed_on_a_private_address() -> None:
    (source,) = opml.read(outlines('<outline xmlUrl="http://10.0.0.1/" allow_private="true" allowPrivate="1"/>'))
    assert not source.allow_private


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "line 1: no element found; is it whole, and OPML"),
        (b"hello", "line 1: syntax error"),
        (b"<html/>", "begins with <html>"),
        (b"<opml><body>", "no element found"),
        (b'<!DOCTYPE opml [<!ENTITY a "b">]><opml/>', "declares the entity 'a'"),
        (b'<!DOCTYPE opml [<!ENTITY a SYSTEM "file:///etc/passwd">]><opml>&a;</opml>', "declares the entity"),
        (b'<!DOCTYPE opml [<!ENTITY % a SYSTEM "http://127.0.0.1/">%a;]><opml/>', "declares the entity"),
        (b"<opml>" + b"<outline>" * 200, "nests its folders"),
        (b" " * (11 << 20), "more than 10 MB"),
    ],
)
def test_bad_lists(content: bytes, error: str) -> None:
    with pytest.raises(DataError, match=error):
        opml.read(content)


def test_lists_in_other_encodings() -> None:
    text = '<?xml version="1.0" encoding="{}"?><opml><body><outline text="Żółw" xmlUrl="https://a.org"/></body></opml>'
    for name in ("iso-8859-2", "utf-16", "utf-8"):
        assert [source.title for source in opml.read(text.format(name).encode(name))] == ["Żółw"]


def test_what_lies_on_this_machine_is_not_written() -> None:
    sources = [Source(1, "mbox", "/home/me/mail", "m"), Source(2, "feed", "https://a.org", "a")]
    assert [source.address for source in opml.read(opml.write(sources).encode())] == ["https://a.org"]


@given(st.lists(st.tuples(st.text(), st.text("abc&<>\"'?=/é%", max_size=9)), max_size=5))
def test_what_was_written_is_read(given: list[tuple[str, str]]) -> None:
    sources = [Source(n, "feed", f"https://a.org/{n}?{path}", title) for n, (title, path) in enumerate(given)]
    text = opml.write(sources)
    ElementTree.fromstring(text.encode())
    assert [source.address for source in opml.read(text.encode())] == [source.address for source in sources]


@given(st.binary(max_size=200), st.integers(0, 150))
def test_any_bytes_are_read_or_refused(noise: bytes, at: int) -> None:
    whole = outlines('<outline text="a" xmlUrl="https://a.org/"/>')
    with contextlib.suppress(DataError):
        assert isinstance(opml.read(whole[:at] + noise + whole[at:]), list)
