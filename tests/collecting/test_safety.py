"""Servers and feeds that mean harm: each way that the issue of the reader names, and what fuzzing finds."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.collecting import Limits, recognise, visit, wire
from plausible.errors import CallError
from tests.collecting.conftest import NOW, FeedServer, feed
from tests.collecting.test_feeds import ATOM, RSS

QUICK = Limits(seconds=1.5, size=1 << 20)


def error(address: str, limits: Limits = QUICK, **said: object) -> str:
    """What a visit complains of; it brings nothing, and is over not long after its time."""
    begun = time.monotonic()
    read = visit(feed(address, **said), NOW, limits)
    assert time.monotonic() - begun < limits.seconds + 10
    assert read.articles == ()
    assert read.source.next_visit is not None
    assert read.source.next_visit > NOW
    return str(read.source.error)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "203.0.113.9", "224.0.0.1"),
        *("240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1"),
        *("fec0::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:7f00:1"),
        *("2002:7f00:1::", "2002:a00:1::1", "64:ff9b::7f00:1", "64:ff9b::c0a8:101", "2001:0:7f00:1::", "100::1"),
    ],
)
def test_private_addresses(address: str) -> None:
    assert not wire.is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "8.8.8.8",
        "172.32.0.1",
        "192.169.0.1",
        "2606:2800:220:1::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ],
)
def test_public_addresses(address: str) -> None:
    assert wire.is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_in_disguise_is_no_more_public(address: Any) -> None:
    number = int(address)
    disguised = [0xFFFF << 32 | number, 0x0064_FF9B << 96 | number, 0x2002 << 112 | number << 80]
    assert all(wire.is_public(str(ip_address(one))) == wire.is_public(str(address)) for one in disguised)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "[::1]", "0"]
)
def test_a_feed_on_a_private_address_is_refused(feed_server: FeedServer, host: str) -> None:
    before = len(feed_server.requests())
    said = error(f"http://{host}:{feed_server.port}/files/x", allow_private=False)
    assert "private address" in said
    assert "allow private addresses" in said
    assert len(feed_server.requests()) == before
    with pytest.raises(CallError, match="private address"):
        recognise(f"http://{host}:{feed_server.port}/files/x")


@pytest.fixture
def public_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 127.0.0.1, where the server is, lay in the open internet; 127.0.0.2 does not."""
    truly = wire.is_public
    monkeypatch.setattr(wire, "is_public", lambda address: address == "127.0.0.1" or truly(address))


@pytest.mark.usefixtures("public_server")
@pytest.mark.parametrize(
    "to",
    [
        "http://127.0.0.2:{port}/files/x",
        "http://[::1]:{port}/",
        "//10.0.0.1/",
        "http://169.254.169.254/latest/meta-data",
    ],
)
def test_a_redirect_to_a_private_address_is_refused(feed_server: FeedServer, to: str) -> None:
    feed_server.put("x", RSS)
    assert visit(feed(feed_server.address("files/x"), allow_private=False), NOW).articles
    hop = feed_server.address(f"redirect?to={quote(to.format(port=feed_server.port))}")
    assert "private address" in error(hop, allow_private=False)
    assert not [line for line in feed_server.requests()[-1:] if line.startswith("/files")]


@pytest.mark.usefixtures("public_server")
def test_a_page_whose_feed_is_on_a_private_address(feed_server: FeedServer) -> None:
    link = '<link rel="alternate" type="application/rss+xml" href="http://10.0.0.1/feed">'
    with pytest.raises(CallError, match=r"private address 10\.0\.0\.1"):
        recognise(feed_server.put("luring", f"<html><head>{link}", "Content-Type: text/html"))


@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "data:text/xml,<rss/>"]
)
def test_a_redirect_away_from_the_web_is_refused(feed_server: FeedServer, to: str) -> None:
    assert "only http and https" in error(feed_server.address(f"redirect?to={quote(to)}"))


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(host: str, port: int, **_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in ("93.184.216.34", "192.168.1.1")]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    assert "private address 192.168.1.1" in error("http://example.org/", allow_private=False)


@pytest.mark.usefixtures("public_server")
def test_the_address_that_was_checked_is_the_one_connected_to(
    feed_server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name whose address changes after the first look (DNS rebinding) is looked up only once."""
    looks: list[str] = []

    def rebinding(host: str, port: int, **_: object) -> list[Any]:
        looks.append(host)
        address = "127.0.0.1" if len(looks) == 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    feed_server.put("rebound", RSS)
    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    source = feed(f"http://rebind.example:{feed_server.port}/files/rebound", allow_private=False)
    assert len(visit(source, NOW).articles) == 2
    assert looks == ["rebind.example"]
    assert "private address 127.0.0.2" in str(visit(source, NOW).source.error)


@pytest.mark.parametrize("path", ["drip", "drip_headers", "silent"])
def test_slow(feed_server: FeedServer, path: str) -> None:
    assert "was not done within 1.5 s" in error(feed_server.address(path))


def test_time_is_counted_over_all_hops(feed_server: FeedServer) -> None:
    hop = feed_server.address("redirect?to=/redirect%3Fto%3D/drip")
    begun = time.monotonic()
    assert "was not done" in error(hop)
    assert time.monotonic() - begun < 8


@pytest.mark.parametrize("path", ["endless", "endless_headers", "bomb?coding=gzip", "bomb?coding=deflate"])
def test_endless_and_bombs(feed_server: FeedServer, path: str) -> None:
    said = error(feed_server.address(path), Limits(seconds=20, size=1 << 20))
    assert "sends more than 1 MB and was left" in said or "not HTTP" in said


def test_huge(feed_server: FeedServer) -> None:
    item = "<item><title>a</title></item>"
    address = feed_server.put("huge", f"<rss version='2.0'><channel>{item * 60_000}</channel></rss>")
    assert "sends more than 1 MB" in error(address)


def test_a_redirect_to_itself(feed_server: FeedServer) -> None:
    assert "more than 5 redirects" in error(feed_server.address("loop"))
    assert len([line for line in feed_server.requests() if line.startswith("/loop")]) == 6


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("garbage", "not HTTP"),
        ("short", "breaks off"),
        ("chunked/files/whole?cut=1", "breaks off"),
        ("packed/files/whole?coding=gzip&cut=300", "breaks off"),
        ("files/whole?Content-Encoding=gzip", "not HTTP"),
        ("files/whole?Content-Encoding=br", "packed as 'br'"),
        ("redirect?to=http://[", "is no address"),
        ("redirect?to=http://%20/", "no host"),
    ],
)
def test_broken_answers(feed_server: FeedServer, path: str, expected: str) -> None:
    feed_server.put("whole", RSS)
    assert expected in error(feed_server.address(path))


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
ITEM = "<rss version='2.0'><channel><title>t</title><item><title>{}</title></item></channel></rss>"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("declared", "used"),
    [
        (f'<!ENTITY l0 "ha">{LAUGHS}', "&l9;"),
        (f'<!ENTITY a "{"a" * 50_000}">', "&a;" * 1_000),
        ('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;"),
        ('<!ENTITY a SYSTEM "http://127.0.0.1:{port}/files/stolen">', "&a;"),
        ('<!ENTITY a PUBLIC "x" "file:///etc/passwd">', "&a;"),
        ('<!ENTITY % a SYSTEM "http://127.0.0.1:{port}/files/stolen">%a;', "x"),
        ('<!ENTITY % a "x"> %a;', "x"),
    ],
)
def test_entities(feed_server: FeedServer, declared: str, used: str, encoding: str) -> None:
    """Bombs and what lies elsewhere, in an encoding that hides them from a search for bytes, too."""
    declared = declared.replace("{port}", str(feed_server.port))
    head = f"<?xml version='1.0' encoding='{encoding}'?><!DOCTYPE rss [{declared}]>"
    address = feed_server.put("entities", (head + ITEM.format(used)).encode(encoding))
    before = len(feed_server.requests())
    assert "declares the entity" in error(address)
    assert len(feed_server.requests()) == before + 1


def test_a_document_type_elsewhere_is_not_fetched(feed_server: FeedServer) -> None:
    kind = f"<!DOCTYPE rss PUBLIC 'x' '{feed_server.address('files/dtd')}'>"
    before = len(feed_server.requests())
    articles = visit(feed(feed_server.put("typed", kind + ITEM.format("caf&eacute;"))), NOW).articles
    assert [article.title for article in articles] == ["café"]
    assert len(feed_server.requests()) == before + 1


def test_an_entity_that_is_one_character_is_read(feed_server: FeedServer) -> None:
    body = '<!DOCTYPE rss [<!ENTITY nbsp "&#160;"><!ENTITY eacute "&#233;">]>' + ITEM.format("a&nbsp;caf&eacute;")
    assert [a.title for a in visit(feed(feed_server.put("small", body)), NOW).articles] == ["a café"]


def test_nesting_without_end(feed_server: FeedServer) -> None:
    assert "nests its elements" in error(feed_server.put("deep", "<rss>" + "<a>" * 100_000), Limits())
    inner = "&lt;div&gt;" * 20_000 + "x"
    body = (
        f"<rss version='2.0'><channel><item><title>t</title><description>{inner}</description></item></channel></rss>"
    )
    assert visit(feed(feed_server.put("deep_html", body)), NOW).articles[0].text == "x"


def test_too_many_elements(feed_server: FeedServer) -> None:
    body = f"<rss version='2.0'><channel>{'<item><title/></item>' * 60_000}</channel></rss>"
    assert "has more than 100,000 elements" in error(feed_server.put("many", body), Limits())


def test_long_and_malformed(feed_server: FeedServer) -> None:
    assert "is malformed in line" in error(feed_server.put("long", "<rss>" + "<a" * (3 << 20)), Limits())


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "unicode_escape", "Raw Unicode-Escape", "zlib", "no-such", "utf-7"]
)
def test_charsets_that_are_none(feed_server: FeedServer, charset: str) -> None:
    body = ITEM.format("a" + "é" * 20_000)
    address = feed_server.put("charset", body, f"Content-Type: text/xml; charset={charset}")
    assert len(visit(feed(address), NOW, QUICK).articles) == 1


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "JaVaScRiPt:x",
        "vbscript:x",
        "file:///x",
        "http://[",
        " \x01javascript:x",
    ],
)
def test_links_that_a_browser_must_not_open(feed_server: FeedServer, link: str) -> None:
    body = f"<rss version='2.0'><channel><item><title>t</title><link>{link}</link></item></channel></rss>"
    for article in visit(feed(feed_server.put("link", body)), NOW).articles:
        assert article.url is None or article.url.startswith(("http://", "https://"))


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "ftp://x/", "/etc/passwd", "", "http://", "http://x:99999/", "http://x y/", "http://\n/"],
)
def test_addresses_that_are_none(address: str) -> None:
    assert error(address)


def test_a_header_can_not_be_smuggled_in(feed_server: FeedServer) -> None:
    address = feed_server.put("smuggled", RSS)
    assert "characters that no address has" in error(address, etag='"x"\r\nIf-Odd: 1')
    visit(feed(address + "?a b\u00e9"), NOW)
    assert feed_server.requests()[-1].startswith("/files/smuggled?a%20b%C3%A9")


@pytest.fixture
def secure_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server over TLS with a certificate for localhost, which this machine trusts; it serves a feed."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*made, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(RSS.encode())}\r\n\r\n{RSS}".encode()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as line:
                        line.recv(10_000)
                        line.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_a_secure_feed(secure_server: int) -> None:
    assert len(visit(feed(f"https://localhost:{secure_server}/"), NOW).articles) == 2


def test_certificates_that_do_not_hold(secure_server: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the certificate of 127.0.0.1 can't be trusted" in error(f"https://127.0.0.1:{secure_server}/")
    monkeypatch.delenv("SSL_CERT_FILE")
    assert "the certificate of localhost can't be trusted" in error(f"https://localhost:{secure_server}/")
    news = replace(feed(f"nntps://localhost:{secure_server}/a.b"), kind="netnews")
    assert "the certificate of localhost can't be trusted" in str(visit(news, NOW, QUICK).source.error)


def test_the_second_address_is_tried_where_the_first_does_not_answer(
    feed_server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two(host: str, port: int, **_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in ("127.0.0.2", "127.0.0.1")]

    feed_server.put("second", RSS)
    monkeypatch.setattr(socket, "getaddrinfo", two)
    assert len(visit(feed(f"http://two.example:{feed_server.port}/files/second"), NOW).articles) == 2


def test_titles_keys_and_authors_without_end(feed_server: FeedServer) -> None:
    long = "word " * 50_000
    item = f"<item><title>{long}</title><guid>{long}</guid><author>{long}</author></item>"
    address = feed_server.put("endless_title", f"<rss version='2.0'><channel>{item}</channel></rss>")
    (article,) = visit(feed(address), NOW).articles
    assert max(len(article.title), len(article.author), len(article.key)) <= 300


@pytest.fixture(scope="session")
def visited(feed_server: FeedServer) -> Callable[[bytes, str], None]:
    def look(body: bytes, headers: str) -> None:
        address = feed_server.put("fuzzed", body, headers)
        read = visit(feed(address), NOW, QUICK)
        assert read.source.next_visit is not None
        assert read.source.next_visit >= NOW + timedelta(seconds=read.source.interval)
        assert "report this" not in (read.source.error or "")
        for article in read.articles:
            assert article.key
            assert article.title
            assert article.published <= NOW
            (article.title + article.text + (article.html or "") + article.author + article.key).encode()

    return look


PIECES = """\
<item>
</item>
<title
>
]]>
<![CDATA[
<!--
<?
&#0;
&#xD800;
&#xDFFF
&#99999999999;
&#x110000;
&#
&amp;lt;
<guid/>
xml:lang='x'
<pubDate>9999-99-99T99:99:99Z</pubDate>
<updated>Mon, 31 Feb 0000 25:61:61 +9999</updated>
<ttl>-1</ttl>
<skipHours><hour>99</hour></skipHours>
<content type='xhtml'>
<link href='
<link>http://[</link>
<base href='http://['>
<a href='http://['>
<media:content url='
<itunes:image href=
<georss:polygon>a b</georss:polygon>""".splitlines()


@given(
    st.sampled_from([RSS, ATOM]),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(PIECES) | st.text(max_size=9)), max_size=8),
)
def test_feeds_with_pieces_put_in(
    visited: Callable[[bytes, str], None], body: str, pieces: list[tuple[float, str]]
) -> None:
    for share, piece in pieces:
        at = int(share * len(body))
        body = body[:at] + piece + body[at:]
    visited(body.encode("utf-8", "surrogatepass"), "Content-Type: application/rss+xml")


@given(
    st.sampled_from([RSS, ATOM]),
    st.data(),
    st.sampled_from(["", "; charset=gbk", "; charset=utf-16", "; charset=utf-7"]),
)
def test_feeds_with_bytes_changed(
    visited: Callable[[bytes, str], None], body: str, data: st.DataObject, charset: str
) -> None:
    raw = bytearray(body.encode())
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=12)):
        raw[at] = byte
    visited(bytes(raw[: data.draw(st.integers(0, len(raw)))]), f"Content-Type: text/xml{charset}")


@given(st.binary(max_size=400), st.booleans())
def test_answers_of_noise(feed_server: FeedServer, noise: bytes, polite: bool) -> None:
    (feed_server.folder / "noise").write_bytes((b"HTTP/1.1 200 OK\r\n" if polite else b"") + noise)
    read = visit(feed(feed_server.address("raw/files/noise")), NOW, QUICK)
    assert "report this" not in (read.source.error or "")
