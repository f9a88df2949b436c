"""Feeds from a real web server: what is read, how politely, and in what languages."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from plausible.collecting import recognise, visit
from plausible.errors import CallError
from tests.collecting.conftest import NOW, FeedServer, feed

RSS = """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/">
<channel><title>Kot &amp; pies</title><language>pl</language><link>https://example.org/</link>
<item><title>Zażółć &lt;b&gt;gęślą&lt;/b&gt;</title><link>/one</link><guid isPermaLink="false">tag:1</guid>
<dc:creator>Ann  Example</dc:creator><pubDate>Tue, 06 Oct 2026 10:00:00 +0200</pubDate>
<description>short</description>
<content:encoded><![CDATA[<p>Long &eacute; <script>alert(1)</script><a href="/x">text</a></p>]]></content:encoded>
</item>
<item><link>javascript:alert(1)</link><description>No title, but &lt;i&gt;words&lt;/i&gt; enough</description></item>
</channel></rss>"""

ATOM = """<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="zh-Hans"><title>新闻</title><id>urn:x</id>
<entry xml:lang="de"><title>Grüße</title><id>urn:1</id><link href="https://example.org/1"/>
<updated>2026-10-07T11:00:00Z</updated><published>2026-10-01T00:00:00Z</published>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Hallo</p></div></content></entry>
<entry><title>文章</title><id>urn:2</id><updated>2036-01-01T00:00:00Z</updated><author><name>王</name></author>
<summary>plain &lt; text</summary></entry>
<entry><title>x</title><id>urn:3</id><updated>in the year of the horse</updated></entry></feed>"""


def test_rss(feed_server: FeedServer) -> None:
    read = visit(feed(feed_server.put("rss", RSS)), NOW)
    assert (read.source.error, read.source.title) == (None, "Kot & pies")
    first, second = read.articles
    assert (first.key, first.title, first.author) == ("tag:1", "Zażółć gęślą", "Ann Example")
    assert first.url == feed_server.address("one")
    assert first.published == datetime(2026, 10, 6, 8, tzinfo=UTC)
    assert first.text == "Long é text"
    assert first.html is not None
    assert "<script>" in first.html, "what the feed sent is kept; who shows it makes it safe"
    assert first.language == second.language == "pl"
    assert (second.url, second.title) == (None, "No title, but words enough")
    assert second.published == NOW
    assert len(second.key) == 32


def test_atom(feed_server: FeedServer) -> None:
    first, second, third = visit(feed(feed_server.put("atom", ATOM)), NOW).articles
    assert (first.title, first.text, first.language) == ("Grüße", "Hallo", "de")
    assert first.published == datetime(2026, 10, 1, tzinfo=UTC)
    assert (second.author, second.text, second.html, second.language) == ("王", "plain < text", None, "zh-Hans")
    assert second.published == NOW, "no article comes from the future"
    assert third.published == NOW


@pytest.mark.parametrize(
    ("headers", "channel", "expected"),
    [
        (("Content-Language: fr-CA",), "", "fr-CA"),
        (("Content-Language: fr",), "<language>en-us</language>", "en-us"),
        (("Content-Language: fr",), '<language>not a "language"</language>', "fr"),
        ((), "", None),
    ],
)
def test_language(feed_server: FeedServer, headers: tuple[str, ...], channel: str, expected: str | None) -> None:
    body = f"<rss version='2.0'><channel><title>t</title>{channel}<item><title>a</title></item></channel></rss>"
    address = feed_server.put("language", body, "Content-Type: application/xml", *headers)
    assert [article.language for article in visit(feed(address), NOW).articles] == [expected]


@pytest.mark.parametrize(
    ("encoding", "declared", "header"),
    [
        ("utf-8", "utf-8", ""),
        ("utf-8", "iso-8859-1", ""),
        ("gb18030", "gb2312", ""),
        ("gb18030", "", "; charset=gbk"),
        ("gb18030", "", ""),
        ("utf-16", "utf-16", ""),
        ("utf-16-le", "", ""),
        ("utf-8-sig", "utf-8", ""),
    ],
)
def test_encodings(feed_server: FeedServer, encoding: str, declared: str, header: str) -> None:
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    body = (
        f"{head}<rss version='2.0'><channel><title>新闻</title><item><title>我们的文章</title></item></channel></rss>"
    )
    address = feed_server.put("encoded", body.encode(encoding), f"Content-Type: text/xml{header}")
    read = visit(feed(address), NOW)
    assert (read.source.title, [article.title for article in read.articles]) == ("新闻", ["我们的文章"])


def test_latin_with_html_entities_and_no_xml_declaration(feed_server: FeedServer) -> None:
    body = "<rss version='2.0'><channel><item><title>Caf&eacute; zdań</title></item></channel></rss>"
    address = feed_server.put("latin", body.encode("iso-8859-2"), "Content-Type: text/xml; charset=iso-8859-2")
    assert [article.title for article in visit(feed(address), NOW).articles] == ["Café zdań"]


def test_conditional_by_entity_tag(feed_server: FeedServer) -> None:
    address = feed_server.put("tagged", RSS)
    first = visit(feed(address), NOW).source
    assert first.etag
    again = visit(first, NOW + timedelta(hours=1))
    assert (again.articles, again.source.error) == ((), None)
    assert again.source.next_visit == NOW + timedelta(hours=2)
    assert feed_server.requests()[-1] == f"/files/tagged If-None-Match: {first.etag}"
    feed_server.put("tagged", RSS.replace("tag:1", "tag:9"))
    assert visit(again.source, NOW).articles[0].key == "tag:9"


def test_conditional_by_date(feed_server: FeedServer) -> None:
    feed_server.put("by_date", RSS)
    first = visit(feed(feed_server.address("dated/files/by_date")), NOW).source
    assert visit(first, NOW).articles == ()
    assert feed_server.requests()[-1].endswith("If-Modified-Since: Tue, 01 Sep 2026 00:00:00 GMT")


@pytest.mark.parametrize(
    ("header", "channel", "seconds"),
    [
        ("", "", 600),
        ("Cache-Control: public, max-age=7200", "", 7200),
        ("Cache-Control: max-age=60", "", 600),
        ("Cache-Control: max-age=999999999", "", 86_400),
        ("", "<ttl>90</ttl>", 5400),
        ("", "<ttl>soon</ttl>", 600),
        ("Cache-Control: max-age=7200", "<ttl>180</ttl>", 10_800),
        ("", "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>", 21_600),
        ("", "<skipHours><hour>12</hour><hour>13</hour><hour>20</hour></skipHours>", 5400),
        ("", f"<skipHours>{''.join(f'<hour>{hour}</hour>' for hour in range(24))}</skipHours>", 600),
    ],
)
def test_when_the_next_visit_is(feed_server: FeedServer, header: str, channel: str, seconds: float) -> None:
    """NOW is half past twelve."""
    body = RSS.replace("<rss ", '<rss xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" ')
    body = body.replace("<language>", f"{channel}<language>")
    address = feed_server.put("polite", body, "Content-Type: application/xml", *filter(None, [header]))
    assert visit(feed(address, interval=600), NOW).source.next_visit == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("query", "seconds", "error"),
    [
        ("status=404", 86_400, "no such page (404); look for the feed's new address"),
        ("status=410", 7 * 86_400, "taken this feed down for good (410)"),
        ("status=403", 86_400, "does not let us read this (403)"),
        ("status=429", 21_600, "visited too often (429)"),
        ("status=429&Retry-After=1800", 1_800, "visited too often"),
        ("status=503&Retry-After=Wed%2C+07+Oct+2026+14%3A30%3A00+GMT", 7_200, "trouble of its own (503)"),
        ("status=503&Retry-After=soon", 600, "trouble of its own"),
        ("status=503&Retry-After=99999999999", 7 * 86_400, "trouble of its own"),
        ("status=500", 600, "trouble of its own"),
        ("status=204", 600, "answers with the status 204"),
    ],
)
def test_refusals(feed_server: FeedServer, query: str, seconds: float, error: str) -> None:
    source = feed(feed_server.put("refusing", RSS) + f"?{query}", interval=600, etag="kept")
    refused = visit(source, NOW)
    assert error in str(refused.source.error)
    assert refused.source.next_visit == NOW + timedelta(seconds=seconds)
    assert (refused.source.etag, refused.articles) == ("kept", ())


def test_a_source_that_keeps_failing_is_visited_less(feed_server: FeedServer) -> None:
    source = feed(feed_server.put("failing", RSS) + "?status=500", interval=600)
    once = visit(source, NOW).source
    twice = visit(once, NOW).source
    assert [once.next_visit, twice.next_visit] == [NOW + timedelta(seconds=600), NOW + timedelta(seconds=3600)]
    feed_server.put("well", RSS)
    assert visit(feed(feed_server.address("files/well"), error=twice.error), NOW).source.error is None


@pytest.mark.parametrize("coding", ["gzip", "zlib", "bare"])
def test_packed(feed_server: FeedServer, coding: str) -> None:
    feed_server.put("packed", RSS)
    read = visit(feed(feed_server.address(f"packed/files/packed?coding={coding}")), NOW)
    assert (read.source.error, len(read.articles)) == (None, 2)


def test_chunked(feed_server: FeedServer) -> None:
    feed_server.put("chunked", RSS)
    assert len(visit(feed(feed_server.address("chunked/files/chunked")), NOW).articles) == 2


def test_redirects_are_followed_and_links_resolved(feed_server: FeedServer) -> None:
    there = feed_server.put("there", RSS)
    read = visit(feed(feed_server.address(f"redirect?to={quote(there)}")), NOW)
    assert read.articles[0].url == feed_server.address("one")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("<!DOCTYPE html><html><p>hello", "is no RSS or Atom feed (it looks like a web page)"),
        ("", "it is empty"),
        ("hello", "it looks like something else"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(32)) * 9 + b"\xff", "is not text"),
        (gzip.compress(b"x" * 1000), "is not text"),
    ],
)
def test_what_is_no_feed(feed_server: FeedServer, body: str | bytes, error: str) -> None:
    assert error in str(visit(feed(feed_server.put("nothing", body)), NOW).source.error)


def test_a_feed_without_entries_is_one(feed_server: FeedServer) -> None:
    address = feed_server.put("bare", "<rss version='2.0'><channel><title>t</title></channel></rss>")
    assert visit(feed(address), NOW).source.error is None


def test_a_malformed_feed_is_read(feed_server: FeedServer) -> None:
    body = "<rss version='2.0'><channel><item><title>a & b</title></item><item><title>d<br></title></item>"
    articles = visit(feed(feed_server.put("malformed", body)), NOW).articles
    assert [article.title for article in articles] == ["a & b", "d"]


def test_a_title_that_the_user_gave_stays(feed_server: FeedServer) -> None:
    address = feed_server.put("titled", RSS)
    assert visit(replace(feed(address), title="mine"), NOW).source.title == "mine"


def test_recognise(feed_server: FeedServer) -> None:
    address = feed_server.put("news.xml", RSS)
    page = """<html><head><link rel=stylesheet href=x.css><link rel="alternate" type="text/html" href="/de">
    <link rel="shortcut Alternate" type="application/RSS+xml" href="news.xml"></head></html>"""
    page_address = feed_server.put("page", page, "Content-Type: text/html")
    for typed in (address, page_address, f" {page_address}\n", address.replace("http:", "feed:http:")):
        found = recognise(typed, allow_private=True)
        assert (found.kind, found.address, found.title) == ("feed", address, "Kot & pies")
        assert found.allow_private


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ("", "nothing was given"),
        ("{page}", "is no feed and names none; look on the page for a link called RSS"),
        ("{page}?status=404", "answers with the status 404"),
        ("ftp://example.org/feed", "there is no file or folder"),
        ("no/such/path", "there is no file or folder"),
        ("news:comp.lang.c", "names no server; write nntp://SERVER/comp.lang.c"),
        ("nntp://example.org", "names no newsgroup"),
        ("https://", "names no host"),
        ("https://[", "is no address"),
        ("https://user:secret@example.org/", "holds a user name"),
        ("a\0b", "can't be read (embedded null byte)"),
    ],
)
def test_recognise_says_what_to_do(feed_server: FeedServer, typed: str, error: str) -> None:
    page = feed_server.put("empty_page", "<html>nothing", "Content-Type: text/html")
    with pytest.raises(CallError) as caught:
        recognise(typed.replace("{page}", page), allow_private=True)
    assert error in str(caught.value)
    assert "secret" not in str(caught.value)
