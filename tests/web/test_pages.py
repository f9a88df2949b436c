"""Each page says what it should, and each form does what it says."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from html import unescape

import pytest

from plausible.collecting import opml
from plausible.model import Model
from plausible.reader.items import Article, Source
from plausible.reader.reading import Reader
from plausible.reader.views import View
from plausible.web.articles import PRESETS, address
from plausible.web.keys import ACTIONS, USUAL
from tests.web.visitor import LIKED, Visitor, ids_of, shown_items


def words_of(html: str) -> str:
    """The text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def test_an_empty_reader_says_what_to_do(reader: Reader) -> None:
    html = Visitor(reader).get("/")
    assert "Nothing to read yet" in html
    assert 'action="/sources"' in html
    for path in ("/working", "/changes", "/sources", "/settings", "/data"):
        Visitor(reader).get(path)


def test_before_the_first_rating_nothing_is_claimed(visitor: Visitor) -> None:
    html = visitor.get("/?period=all")
    assert "Nothing is learned yet" in html
    assert 'class="chance"' not in html
    assert "Nothing is learned yet" in visitor.get("/item/1")
    visitor.send("/item/1/rate", rating="1", place="below")
    for path in ("/?period=all", "/item/2"):
        assert "all of one kind" in visitor.get(path)
    visitor.send("/item/2/rate", rating="5", place="below")
    assert "by your 2 ratings" in visitor.get("/?period=all")
    assert 'class="bar"' in visitor.get("/item/3")


def test_the_best_stand_first_and_the_rest_is_counted(taught: Reader) -> None:
    visitor = Visitor(taught)
    page = taught.page(View(period="all"))
    html = visitor.get("/?period=all")
    assert shown_items(html) == [entry.item.id for entry in page.entries]
    assert f"The best {page.above} of {page.total} articles, by your 6 ratings." in words_of(html)
    assert f"{page.below} more below the line" in words_of(html)
    link = re.search(r'href="([^"]*)">show</a>', html)
    assert link
    below = visitor.get(unescape(link[1]))
    rest = [entry.item.id for entry in taught.page(View(period="all", below=True)).entries]
    assert shown_items(below) == rest
    assert set(rest).isdisjoint(shown_items(html))


def test_presets_are_addresses(taught: Reader) -> None:
    visitor = Visitor(taught)
    html = visitor.get("/")
    for name, view in PRESETS:
        at = address("/", view)
        assert f'href="{at}"'.replace("&", "&amp;") in html
        assert re.search(r'aria-current="page">' + name, visitor.get(at)), name
    (sky,) = [source for source in taught.store.sources() if source.title == LIKED[0].title()]
    assert set(shown_items(visitor.get(f"/?period=all&show=all&source={sky.id}"))) <= set(ids_of(taught, sky.title))


def test_rating_skipping_and_undoing(visitor: Visitor, stocked: Reader) -> None:
    first, second = shown_items(visitor.get("/?period=all&below=1&order=newest"))[:2]
    answer = visitor.send(f"/item/{first}/rate?period=all&below=1&order=newest", rating="4", then="list", place="below")
    assert "You rated" in answer.text
    assert first not in shown_items(answer.text)
    event = stocked.store.last_event()
    assert event is not None
    assert (event.item, event.rating, event.place) == (first, 4, "below")
    visitor.send(f"/item/{second}/skip?period=all&below=1&order=newest", then="list")
    assert stocked.store.item(second).skipped
    assert "Taken back" in visitor.send("/undo?period=all&below=1&order=newest", then="list").text
    assert not stocked.store.item(second).skipped
    visitor.send("/undo?period=all&below=1&order=newest", then="list")
    assert stocked.store.item(first).rating is None
    assert visitor.send("/undo", then="list").status_code == 200, "with nothing to undo it only shows the ranking"


def test_rating_an_article_leads_to_the_one_that_follows(visitor: Visitor) -> None:
    order = shown_items(visitor.get("/?period=all&below=1&order=newest"))
    answer = visitor.send(
        f"/item/{order[3]}/rate?period=all&below=1&order=newest", 303, follow=False, rating="5", then="article"
    )
    assert answer.headers["location"] == f"/item/{order[4]}?period=all&order=newest&below=1"
    back = visitor.send("/undo?period=all&below=1&order=newest", 303, follow=False, then="article")
    assert back.headers["location"].startswith(f"/item/{order[3]}?period=all&order=newest&below=1&undone=")


@pytest.mark.parametrize("rating", ["0", "6", "-1", "4.5", "five", "", "４", "1e0"])
def test_a_rating_that_is_none_is_refused(visitor: Visitor, stocked: Reader, rating: str) -> None:
    assert "1 to 5" in visitor.send("/item/1/rate", 400, rating=rating).text
    assert stocked.store.events() == []


@pytest.mark.parametrize("path", ["/item/999999", "/nothing", "/item/x", "/?page=999", "/?period=never", "/?source=77"])
def test_what_is_not_there_is_said_in_plain_words(visitor: Visitor, path: str) -> None:
    answer = visitor.client.get(path)
    assert answer.status_code in (400, 404)
    assert "Traceback" not in answer.text
    assert '<p class="lead">' in answer.text
    assert "To the ranking" in answer.text


def test_why_this_sums_to_the_score(taught: Reader) -> None:
    visitor = Visitor(taught)
    item = taught.page(View(period="all")).entries[0].item.id
    why = taught.why(item)
    html = visitor.get(f"/item/{item}?why=all")
    found = [unescape(text).replace("−", "-") for text in re.findall(r"<span>([+−]?\d+\.\d\d)</span>", html)]
    values = [float(text) for text in found]
    assert values == [round(reason.weight, 2) + 0.0 for reason in why.reasons] + [pytest.approx(why.score, abs=0.0051)]
    assert sum(reason.weight for reason in why.reasons) == pytest.approx(why.score, abs=1e-9)
    strongest = next(reason for reason in why.reasons if reason.kind == "word")
    assert f"seen {strongest.liked} time" in html
    short = visitor.get(f"/item/{item}")
    assert len(re.findall('class="bar"', short)) <= len(re.findall('class="bar"', html)) + 1


def test_what_the_last_rating_changed(taught: Reader) -> None:
    visitor = Visitor(taught)
    change = taught.last_change()
    assert change is not None
    text = words_of(visitor.get("/changes"))
    assert change.title in text
    assert f"you rated it {change.rating}" in text
    for shift in change.shifts[:3]:
        assert shift.name in text


def test_is_it_working_shows_the_figures_that_were_measured(taught: Reader) -> None:
    visitor = Visitor(taught)
    for _ in range(4):  # the first ratings were given before anything could be predicted
        for entry in taught.page(View(period="all")).entries:
            taught.rate(entry.item.id, 5 if entry.item.article.url.split("/")[3] == LIKED[0] else 2, entry.place)
        taught.settle()
    working = taught.working()
    assert working.recommended.rated
    text = words_of(visitor.get("/working"))
    assert f"{working.recommended.interesting} of {working.recommended.rated};" in text
    assert f"{working.everything.interesting} of {working.everything.rated};" in text
    html = visitor.get("/working")
    assert len(re.findall("<svg class=.chart. role=.img. aria-label=.", html)) == 3
    assert len(re.findall("The same as a table", html)) == 3


def test_ratings_before_anything_could_be_predicted_have_no_error(stocked: Reader) -> None:
    for item in range(1, 13):  # none is liked, so nothing is told apart
        stocked.rate(item, 1, "below")
    assert stocked.working().curve[0].brier is None
    assert '<td class="number">–</td>' in Visitor(stocked).get("/working")


def test_a_rated_article_says_where_it_would_stand_now(taught: Reader) -> None:
    visitor = Visitor(taught)
    rated = taught.store.events()[0].item
    now = taught.now_ranked(rated)
    assert f"ranked {now.rank} of {now.of}" in words_of(visitor.get(f"/item/{rated}"))
    visitor.send(f"/item/{rated}/clear", then="article")
    assert taught.store.item(rated).rating is None


def test_the_language_of_an_article_is_its_own(stocked: Reader) -> None:
    source = stocked.store.save(Source(None, "folder", "/articles", "Saved"))
    assert source.id is not None
    now = datetime.now(UTC)
    made = [
        Article("zh", None, "小型望远镜", "", now, "<p>看得更远</p>", "看得更远", "zh"),
        Article("bad", None, "Odd", "", now, "<p>x</p>", "x", 'en" onload="alert(1)'),
    ]
    chinese, odd = stocked.add(source.id, made)
    visitor = Visitor(stocked)
    assert '<article class="article" lang="zh">' in visitor.get(f"/item/{chinese}")
    assert "onload" not in visitor.get(f"/item/{odd}")
    stocked.settle()
    assert shown_items(visitor.get("/?period=all&show=all&search=望远镜&order=relevance")) == [chinese]


def test_words_that_boost_and_veto(visitor: Visitor, stocked: Reader) -> None:
    visitor.send("/words", word="Galaxy", list="boost", back="/settings")
    visitor.send("/words", word="cricket", list="veto", back="/settings")
    assert (stocked.settings.boost, stocked.settings.veto) == (("galaxy",), ("cricket",))
    visitor.send("/words", word="galaxy", list="veto", back="/settings")
    assert (stocked.settings.boost, stocked.settings.veto) == ((), ("cricket", "galaxy")), "a word is on one list"
    visitor.send("/words", word="cricket", list="veto", remove="yes", back="/settings")
    assert stocked.settings.veto == ("galaxy",)
    assert "no word was given" in visitor.send("/words", 400, word=" ", list="veto").text.lower()
    assert "unknown list" in visitor.send("/words", 400, word="x", list="love").text.lower()


def test_settings_are_kept_and_wrong_ones_are_not(visitor: Visitor, stocked: Reader) -> None:
    good = {"interesting_from": "5", "top": "20", "uncertain": "15", "random": "0"}
    visitor.send("/settings/learning", **good)
    settings = stocked.settings
    assert (settings.interesting_from, settings.top, settings.uncertain, settings.random) == (5, 0.2, 0.15, 0)
    for wrong in ({"top": "0"}, {"top": "abc"}, {"random": "nan"}, {"uncertain": "99"}, {"interesting_from": "6"}):
        html = visitor.send("/settings/learning", 400, **{**good, **wrong}).text
        assert 'role="alert"' in html
    assert stocked.settings == settings


def test_keys_are_kept_and_wrong_ones_are_not(visitor: Visitor) -> None:
    def keys(html: str) -> dict[str, str]:
        found = re.search(r'data-keys="([^"]*)"', html)
        assert found
        return json.loads(unescape(found[1]))

    usual = {key: action for action, key in USUAL.items()}
    assert keys(visitor.get("/")) == usual
    chosen = {**USUAL, "skip": "x", "open": ""}
    visitor.send("/settings/keys", on="yes", **chosen)
    assert keys(visitor.get("/")) == {key: action for action, key in chosen.items() if key}
    html = visitor.send("/settings/keys", 400, on="yes", **{**chosen, "undo": "x"}).text
    assert "can&#39;t mean both" in html
    visitor.send("/settings/keys", 400, on="yes", **{**chosen, "undo": "xy"})
    visitor.send("/settings/keys", **chosen)
    assert keys(visitor.get("/")) == {}
    visitor.send("/settings/keys", usual="yes")
    assert keys(visitor.get("/")) == usual
    assert set(ACTIONS) == set(USUAL)


def test_sources_show_what_is_wrong_with_them(visitor: Visitor, stocked: Reader) -> None:
    from dataclasses import replace

    sick = stocked.store.sources()[0]
    stocked.store.save(replace(sick, error="the server answers 503; it is asked again later"))
    html = visitor.get("/sources")
    assert "Can’t be read: The server answers 503" in html
    assert "can’t be read" in visitor.get("/")
    count = len(ids_of(stocked, sick.title))
    assert f"with {count} articles" in visitor.send(f"/sources/{sick.id}/remove").text
    assert len(stocked.store.sources()) == 1


def test_an_address_that_is_none_is_said_beside_the_field(visitor: Visitor) -> None:
    html = visitor.send("/sources", 400, address="/no/such/folder").text
    assert 'aria-invalid="true"' in html
    assert 'value="/no/such/folder"' in html
    assert 'id="address-problem"' in html


def test_a_folder_is_a_source(visitor: Visitor, stocked: Reader, tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path)) / "saved"
    folder.mkdir()
    (folder / "one.txt").write_text("A note on lichens and clocks.\n\nIt goes on.")
    text = words_of(visitor.send("/sources", address=str(folder)).text)
    assert "1 new article" in text
    assert "lichens" in words_of(visitor.get("/?period=all&show=all&search=lichens&order=relevance"))


def test_export_and_import_give_the_same_reader(taught: Reader, tmp_path: object) -> None:
    from pathlib import Path

    visitor = Visitor(taught)
    lines = visitor.client.get("/data/reader.jsonl")
    assert lines.headers["content-disposition"] == 'attachment; filename="reader.jsonl"'
    feeds = visitor.client.get("/data/feeds.opml")
    assert {source.address for source in opml.read(feeds.content)} == {s.address for s in taught.store.sources()}
    with Reader(Path(str(tmp_path)) / "other.db") as other:
        there = Visitor(other)
        assert "New sources: 2." in there.upload(feeds.content, "feeds.opml")
        text = there.upload(lines.content, "reader.jsonl")
        assert "New sources: 0, new articles: 40, new ratings: 6." in text
        assert sorted(event.rating or 0 for event in other.store.events()) == [1, 1, 1, 5, 5, 5]
        assert "new articles: 0" in there.upload(lines.content), "twice is once"
        model = visitor.client.get("/data/reader.plausible").content
        assert Model.load(io.BytesIO(model)) if hasattr(Model, "load") else model[:2] == b"PK"


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"{", b'{"is":"nonsense"}\n', b"PK\x03\x04broken", b"<html></html>"]
)
def test_a_file_that_is_none_changes_nothing(visitor: Visitor, stocked: Reader, content: bytes) -> None:
    before = (stocked.store.events(), stocked.store.sources(), stocked.settings)
    html = visitor.upload(content, status=400)
    assert 'role="alert"' in html
    assert "Nothing was imported" in html or "No file was chosen" in html
    assert (stocked.store.events(), stocked.store.sources(), stocked.settings) == before


def test_an_upload_is_known_by_its_content_and_its_name_leads_nowhere(visitor: Visitor) -> None:
    content = b'<opml version="2.0"><body><outline xmlUrl="https://example.org/new.xml" text="New"/></body></opml>'
    assert "New sources: 1." in visitor.upload(content, "../../../etc/passwd")


def test_xml_bombs_are_refused(visitor: Visitor, stocked: Reader) -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><opml><body><outline text="&b;"/></body></opml>'
    outside = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><opml><body><outline text="&a;"/></body></opml>'
    for content in (bomb, outside):
        assert "Nothing was imported" in visitor.upload(content, status=400)
    assert len(stocked.store.sources()) == 2


def test_a_fault_of_the_reader_is_admitted_without_a_traceback(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.testclient import TestClient

    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(Reader, "working", broken)
    client = TestClient(visitor.app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    answer = client.get("/working")
    assert answer.status_code == 500
    assert "secret detail" not in answer.text
    assert "What you rated before is kept" in answer.text
