"""A page of another site can't read, change or frame the reader through the browser."""

from __future__ import annotations

import re

import pytest
from starlette.routing import Route

from plausible.reader.reading import Reader
from plausible.web.hosts import host_of, is_loopback
from tests.web.visitor import ADDRESS, Visitor


def changes(visitor: Visitor) -> list[str]:
    """The addresses of all changes, with 1 for every number."""
    routes = [route for route in visitor.app.routes if isinstance(route, Route)]
    return [re.sub(r"\{.*?\}", "1", route.path) for route in routes if "POST" in (route.methods or ())]


def pages(visitor: Visitor) -> list[str]:
    routes = [route for route in visitor.app.routes if isinstance(route, Route)]
    return [re.sub(r"\{.*?\}", "1", route.path) for route in routes if "GET" in (route.methods or ())]


def state(reader: Reader) -> tuple[object, ...]:
    """All that a change could change."""
    store = reader.store
    return (
        store.events(),
        store.sources(),
        reader.settings,
        store.setting("keys"),
        [i.rating for i in store.items([1, 2])],
    )


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.168.1.7",
        "",
        "evil.example:8765",
        "[::2]",
    ],
)
def test_a_name_that_is_not_the_readers_is_refused(visitor: Visitor, host: str) -> None:
    for path in ("/", "/data/reader.jsonl", "/static/script.js"):
        answer = visitor.client.get(path, headers={"host": host})
        assert answer.status_code == 403
        assert "Refused" in answer.text
        assert "report" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:9", "[::1]:8765", "LOCALHOST"])
def test_its_own_names_are_answered(visitor: Visitor, host: str) -> None:
    assert visitor.client.get("/", headers={"host": host}).status_code == 200


def test_told_to_listen_elsewhere_it_answers_numbers_and_that_name_only(stocked: Reader) -> None:
    visitor = Visitor(stocked, host="reader.lan", address="http://reader.lan:8765")
    assert visitor.client.get("/").status_code == 200
    assert visitor.client.get("/", headers={"host": "192.168.1.7:8765"}).status_code == 200
    assert visitor.client.get("/", headers={"host": "evil.example:8765"}).status_code == 403


def test_every_change_is_refused_without_the_token_of_a_page(visitor: Visitor, stocked: Reader) -> None:
    before = state(stocked)
    assert len(changes(visitor)) >= 10
    fields = {"rating": "5", "address": "/etc", "word": "x", "list": "veto", "usual": "yes"}
    other = Visitor(stocked)
    for path in changes(visitor):
        for token in ("", "0" * 64, other.token()):
            answer = visitor.client.post(path, data={**fields, "token": token})
            assert answer.status_code == 403, path
            assert "Nothing was changed" in answer.text
    assert state(stocked) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused_even_with_the_token(
    visitor: Visitor, stocked: Reader, headers: dict[str, str]
) -> None:
    before = state(stocked)
    token = visitor.token()
    for path in changes(visitor):
        answer = visitor.client.post(path, data={"token": token, "rating": "5"}, headers=headers)
        assert answer.status_code == 403, path
    assert state(stocked) == before
    own = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}
    assert visitor.client.post("/item/1/rate", data={"token": token, "rating": "5"}, headers=own).status_code == 200
    assert stocked.store.item(1).rating == 5


def test_no_address_changes_anything_when_it_is_opened(visitor: Visitor, stocked: Reader) -> None:
    visitor.get("/settings")
    before = state(stocked)
    for path in changes(visitor):
        visitor.client.get(path + "?rating=5&token=" + visitor.token())
    for path in pages(visitor):
        assert visitor.client.get(path).status_code == 200, path
        assert visitor.client.head(path).status_code == 200, path
    assert state(stocked) == before


def test_pages_carry_a_policy_without_inline_script(visitor: Visitor) -> None:
    for path in [*pages(visitor), "/no/such/page", "/static/style.css"]:
        answer = visitor.client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "img-src 'self';" in policy, "images of other sites are off"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        if answer.headers["content-type"].startswith("text/html"):
            assert not re.search(r"<script(?![^>]* src=)|\son\w+=|style=|javascript:", answer.text), path


def test_only_an_article_whose_images_were_asked_for_may_load_any(visitor: Visitor) -> None:
    asked = visitor.client.get("/item/1?images=load")
    assert "img-src 'self' https: http:" in asked.headers["content-security-policy"]
    assert "https:" not in visitor.client.get("/item/1").headers["content-security-policy"]


def test_the_cookie_is_kept_from_scripts_and_other_sites(visitor: Visitor) -> None:
    cookie = visitor.client.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "set-cookie" not in visitor.client.get("/").headers


def test_a_page_stays_good_when_the_reader_is_started_anew(visitor: Visitor, stocked: Reader) -> None:
    token, cookies = visitor.token(), visitor.client.cookies
    again = Visitor(stocked)
    again.client.cookies = cookies
    assert again.client.post("/item/1/rate", data={"token": token, "rating": "4"}).status_code == 200


def test_a_form_that_is_too_large_is_refused_before_it_is_read(visitor: Visitor) -> None:
    answer = visitor.client.post("/words", data={"token": visitor.token(), "word": "x" * (1 << 20), "list": "veto"})
    assert answer.status_code == 413
    assert "too much" in answer.text

    def endless() -> object:
        yield b"token=x"

    assert visitor.client.post("/words", content=endless()).status_code == 411


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_no_form_leads_to_another_site(visitor: Visitor, back: str) -> None:
    answer = visitor.send("/words", 303, follow=False, word="x", list="veto", back=back)
    assert answer.headers["location"] == "/"


def test_where_others_can_reach_it_it_takes_no_files(stocked: Reader, tmp_path: object) -> None:
    visitor = Visitor(stocked, host="0.0.0.0")
    for fields in (
        {"address": str(tmp_path)},
        {"address": "file:///etc"},
        {"address": "http://10.0.0.1/", "private": "yes"},
    ):
        assert "takes no files" in visitor.send("/sources", 400, **fields).text
    assert len(stocked.store.sources()) == 2


def test_no_path_leads_out_of_the_static_files(visitor: Visitor) -> None:
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/",
    ):
        assert visitor.client.get(path).status_code == 404, path


@pytest.mark.parametrize(
    ("header", "host"),
    [("localhost:8000", "localhost"), ("[::1]:80", "::1"), ("[::1", ""), ("a@b", "b"), ("http://x/y", "x"), ("", "")],
)
def test_the_host_of_a_header(header: str, host: str) -> None:
    assert host_of(header) == host


def test_loopback() -> None:
    assert [
        is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "::", "10.0.0.1", "x")
    ] == [*(True, True, True, True, False, False, False, False)]
