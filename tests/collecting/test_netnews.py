"""Newsgroups of a real news server, INN."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

import pytest

from plausible.collecting import Limits, visit
from plausible.reader.items import Article, Source
from tests.collecting.news_server import NewsServer

POSTED = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
NOW = datetime.now(UTC) + timedelta(days=1)


def group(address: str, **said: object) -> Source:
    return Source(None, "netnews", address, "", **{"allow_private": True, **said})  # type: ignore[arg-type]


def posted(subject: str, body: str, charset: str = "utf-8", cte: str | None = None, **headers: str) -> bytes:
    message = EmailMessage()
    message["From"] = "Zoë Example <zoe@example.org>"
    message["Subject"] = subject
    message["Newsgroups"] = "test.words"
    message.set_content(body, charset=charset, cte=cte)
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return message.as_bytes()


@pytest.fixture(scope="module")
def articles(news_server: NewsServer) -> list[Article]:
    """What came back of articles that were posted."""
    both = EmailMessage()
    both["From"] = "ann@example.org"
    both["Subject"] = "both"
    both["Newsgroups"] = "test.words"
    both.set_content("the plain part\n")
    both.add_alternative("<p>the <b>HTML</b> part</p>", subtype="html")
    both.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream", filename="a.bin")
    for article in (
        posted("Zażółć gęślą jaźń", "Pchnąć w tę łódź jeża\n", "iso-8859-2", "quoted-printable"),
        posted("文章分类", "贝叶斯学习\n", "gb18030", "base64", Content_Language="zh-Hans"),
        posted(
            "八位",
            "正文是八位的\n",
            "utf-8",
            "8bit",
            Date=format_datetime(POSTED.astimezone(timezone(timedelta(hours=2)))),
        ),
        posted("dots", ".\n..\n.dot\n\n> quoted\n>> twice\n" + "long " * 1500 + "\nend\n", cte="7bit"),
        both.as_bytes(),
    ):
        news_server.post(article)
    read = visit(group(news_server.address("test.words")), NOW)
    assert read.source.error is None
    assert read.source.title == "test.words"
    assert read.source.cursor == "5"
    return list(read.articles)


def test_encodings(articles: list[Article]) -> None:
    assert [(article.title, article.text) for article in articles[:3]] == [
        ("Zażółć gęślą jaźń", "Pchnąć w tę łódź jeża"),
        ("文章分类", "贝叶斯学习"),
        ("八位", "正文是八位的"),
    ]


def test_header_fields(articles: list[Article]) -> None:
    assert articles[0].author == "Zoë Example"
    assert articles[4].author == "ann@example.org"
    assert articles[1].language == "zh-Hans"
    assert articles[0].language is None
    assert articles[2].published == POSTED
    assert all(article.key.startswith("<") and article.key.endswith(">") for article in articles)
    assert len({article.key for article in articles}) == 5


def test_dots_quotes_and_long_lines(articles: list[Article]) -> None:
    assert articles[3].text == ".\n..\n.dot\n\n> quoted\n>> twice\n" + ("long " * 1500) + "\nend"


def test_parts(articles: list[Article]) -> None:
    assert articles[4].text == "the plain part"
    assert (articles[4].html or "").strip() == "<p>the <b>HTML</b> part</p>"


def test_only_what_is_new(news_server: NewsServer) -> None:
    source = group(news_server.address("test.many"), interval=600)
    bodies = [f"number {number}" for number in range(1, 8)]
    for body in bodies[:6]:
        news_server.post(_into("test.many", body))
    news_server.cancel("test.many", 5)
    first = visit(source, NOW, Limits(articles=4))
    assert [article.text for article in first.articles] == ["number 3", "number 4", "number 6"]
    assert first.source.next_visit == NOW + timedelta(seconds=600)
    assert visit(first.source, NOW).articles == ()
    news_server.post(_into("test.many", "number 7"))
    assert [article.text for article in visit(first.source, NOW).articles] == ["number 7"]
    behind = replace(first.source, cursor="0")
    page = visit(behind, NOW, Limits(articles=2))
    assert [article.text for article in page.articles] == ["number 1", "number 2"]
    assert page.source.next_visit == NOW
    rest = visit(page.source, NOW)
    assert [article.text for article in rest.articles] == ["number 3", "number 4", "number 6", "number 7"]


def test_a_group_that_counts_anew(news_server: NewsServer) -> None:
    news_server.post(_into("test.odd", "here"))
    read = visit(group(news_server.address("test.odd"), cursor="900"), NOW)
    assert [article.text for article in read.articles] == ["here"]
    assert read.source.cursor == "1"


def test_what_is_too_big_is_left_out_and_passed_by(news_server: NewsServer) -> None:
    before = visit(group(news_server.address("test.odd")), NOW).source
    news_server.post(_into("test.odd", "x" * 900 + "\n" + ("y" * 900 + "\n") * 50))
    news_server.post(_into("test.odd", "small"))
    left = visit(before, NOW, Limits(size=20_000))
    assert left.articles == ()
    assert "1 article over 0.019" in (left.source.error or "")
    assert left.source.next_visit == NOW
    after = visit(left.source, NOW, Limits(size=20_000))
    assert [article.text for article in after.articles] == ["small"]
    assert after.source.error is None


def test_an_empty_group(news_server: NewsServer) -> None:
    read = visit(group(news_server.address("test.empty")), NOW)
    assert read.articles == ()
    assert read.source.error is None


def test_what_the_server_refuses(news_server: NewsServer) -> None:
    assert "has no group 'test.none'; check its name" in str(
        visit(group(news_server.address("test.none")), NOW).source.error
    )
    refused = visit(group(news_server.address("test.words"), allow_private=False), NOW).source
    assert "private address 127.0.0.1" in str(refused.error)


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("nntp://127.0.0.1/", "names no newsgroup"),
        ("nntp://127.0.0.1/a%0d%0aPOST", "names no newsgroup"),
        ("nntp://127.0.0.1/a*", "names no newsgroup"),
        ("nntp://u:p@127.0.0.1/a.b", "user name"),
        ("nntp://127.0.0.1:99999/a.b", "is no address"),
        ("nntp://[/a.b", "is no address"),
        ("nntp://127.0.0.1:1/a.b", "can't be reached on port 1 (connection refused)"),
    ],
)
def test_addresses(address: str, error: str) -> None:
    assert error in str(visit(group(address), NOW).source.error)


@pytest.fixture
def scripted() -> Iterator[Callable[[bytes, bool], Source]]:
    """A server that says what a test tells it to, whatever it is asked, and then hangs up or hangs."""
    servers: list[socket.socket] = []

    def start(says: bytes, hangs: bool) -> Source:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(10)
                with contextlib.suppress(OSError):
                    connection.sendall(says)
                    if not hangs:
                        connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1000):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        return group(f"nntp://127.0.0.1:{server.getsockname()[1]}/a.b")

    yield start
    for server in servers:
        server.close()


HELLO = b"200 hello\r\n200 reader\r\n"


@pytest.mark.parametrize(
    ("says", "hangs", "error"),
    [
        (b"HTTP/1.1 400 Bad\r\n\r\n", False, "doesn't speak NNTP"),
        (b"502 go away\r\n", False, "does not serve us now"),
        (b"200 hello\r\n200 ok\r\n480 who are you\r\n", False, "name and password"),
        (b"200 hello\r\n", False, "broke off"),
        (b"", False, "broke off"),
        (b"", True, "was not done within 1 s"),
        (HELLO + b"211 1 1 1 a.b\r\n211 list\r\n1\r\n.\r\n220 1\r\nSubject: x\r\n", False, "broke off"),
        (HELLO + b"211 many\r\n", False, "answers 211"),
        (HELLO + b"211 1 1 " + b"1" * 400 + b" a.b\r\n", False, "answers 211"),
        (HELLO + b"x" * 100_000, False, "doesn't speak NNTP"),
        (HELLO + b"211 1 1 1 a.b\r\n211 list\r\n" + b"1" * 200_000, False, "sends more than"),
    ],
)
def test_servers_that_are_none(scripted: Callable[[bytes, bool], Source], says: bytes, hangs: bool, error: str) -> None:
    read = visit(scripted(says, hangs), NOW, Limits(seconds=1, size=100_000))
    assert error in str(read.source.error)
    assert read.articles == ()


def test_what_came_before_a_break_is_kept(scripted: Callable[[bytes, bool], Source]) -> None:
    says = HELLO + b"211 2 1 2 a.b\r\n211 list\r\n1\r\n2\r\n.\r\n220 1\r\nSubject: x\r\n\r\nbody\r\n.\r\n220 2\r\nSubj"
    read = visit(scripted(says, False), NOW)
    assert [article.text for article in read.articles] == ["body"]
    assert (read.source.cursor, read.source.next_visit) == ("1", NOW + timedelta(seconds=60))


def _into(name: str, body: str) -> bytes:
    message = EmailMessage(policy=SMTP.clone(linesep="\n"))
    message["From"] = "a@example.org"
    message["Subject"] = "test"
    message["Newsgroups"] = name
    message.set_content(body, cte="7bit")
    return message.as_bytes()
