"""The reader as a person meets it: in Chromium, with a feed of a real web server, with keys, without JavaScript."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from plausible.reader.items import Article, Source
from plausible.reader.reading import Reader
from tests.web.browsing import FeedServer, Served, chromium
from tests.web.test_cleaning import HOSTILE

pytestmark = pytest.mark.flaky(reruns=2)  # a browser on a busy machine may be late; what is wrong is wrong three times

LIKED = ["telescope", "galaxy", "orbit", "comet", "survey", "nebula"]
OTHER = ["cricket", "wicket", "league", "striker", "referee", "transfer"]
NO_LINE = "?search=seen&period=all&order=newest"
"""A view of all that is unread, in an order that no rating changes."""
PAGES = ["/", "/?period=all&below=1", "/changes", "/working", "/sources", "/settings", "/data", "/no/such/page"]


def articles(words: list[str], count: int) -> list[tuple[str, str]]:
    """Articles on a subject, no two alike."""
    made = []
    for number in range(count):
        used = [words[(number * 2 + step) % len(words)] for step in range(4)]
        text = f"The {used[0]} and the {used[1]} number{number} were seen near the {used[2]}. " + " ".join(
            f"{word} {word}s" for word in used
        )
        more = f"So says witness{number} of place{number * 7}, who saw {used[3]} for {number + 3} hours."
        made.append((f"{used[0].title()} and {used[1]}, part {number + 1}", f"<p>{text}</p><p>{more}</p>"))
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as launched:
        yield launched


@pytest.fixture
def feeds(tmp_path: Path) -> Iterator[FeedServer]:
    folder = tmp_path / "feeds"
    folder.mkdir()
    server = FeedServer(folder)
    yield server
    server.stop()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    server = Served(tmp_path / "reader.db")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a reader with two sources, which are not due."""
    path = tmp_path_factory.mktemp("stocked") / "reader.db"
    now = datetime.now(UTC)
    with Reader(path) as reader:
        for turn, (title, words) in enumerate((("Sky Weekly", LIKED), ("Sport Daily", OTHER))):
            address = f"https://example.org/{words[0]}.xml"
            source = reader.store.save(Source(None, "feed", address, title, next_visit=now + timedelta(days=9)))
            made = [
                Article(
                    key=str(place),
                    url=f"https://example.org/{words[0]}/{place}",
                    title=head,
                    author="",
                    published=now - timedelta(minutes=2 * place + turn),
                    html=body,
                    text=re.sub("<[^>]*>", " ", body),
                    language="en",
                )
                for place, (head, body) in enumerate(articles(words, 20))
            ]
            reader.add(source.id or 0, made)
        reader.settle()
    return path


@pytest.fixture
def stocked(store: Path, tmp_path: Path) -> Iterator[Served]:
    """The reader in a process of its own, on a store of its own with 40 articles."""
    server = Served(Path(shutil.copy(store, tmp_path)))
    yield server
    server.stop()


def add_feed(page: Any, served: Served, address: str) -> None:
    page.goto(f"{served.address}/sources")
    page.get_by_label("Address of a feed").fill(address)
    page.get_by_label("It lies on my own network").check()
    page.get_by_role("button", name="Add").click()
    page.get_by_role("status").get_by_text("was checked").wait_for()


def titles(page: Any) -> list[str]:
    return page.locator("[data-entry]").all_inner_texts()


def status(page: Any) -> str:
    return " ".join(page.locator("#status").inner_text().split())


def rate_by_title(page: Any, served: Served, start: int, end: int) -> None:
    """Rate articles of the whole list: 5 for the sky, 1 for sport."""
    page.goto(f"{served.address}/?period=all&show=all&below=1&order=newest")
    heads = titles(page)
    for head in heads[start:end]:
        entry = entry_of(page, served, head)
        liked = any(word in head.lower() for word in LIKED)
        entry.locator(f"[data-action=rate{5 if liked else 1}]").click()
        page.locator("#status", has_text=head).wait_for()


def entry_of(page: Any, served: Served, head: str) -> Any:
    """An article in the list: each rating may move the others over the line."""
    entry = page.locator("li.entry", has=page.get_by_role("link", name=head, exact=True))
    for side in ("", "&below=1", "&below=1&page=2"):
        if entry.count():
            break
        page.goto(f"{served.address}/?period=all&show=all&order=newest{side}")
    return entry


def test_add_read_rate_undo_rank_explain_search_export_restart_offline(
    served: Served, feeds: FeedServer, browser: Any, tmp_path: Path
) -> None:
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)

    # Add: an empty reader says what to do, and a feed is read at once.
    page.goto(served.address)
    page.get_by_text("Nothing to read yet").wait_for()
    add_feed(page, served, feeds.put("sky.xml", "Sky Weekly", articles(LIKED, 20)))
    assert "20 new articles" in page.get_by_role("status").inner_text()
    add_feed(page, served, feeds.put("sport.xml", "Sport Daily", articles(OTHER, 20)))

    # Read and rate: on to the next article.
    page.goto(f"{served.address}/?period=all&below=1&order=newest")
    first, second = titles(page)[:2]
    page.get_by_role("link", name=first, exact=True).click()
    page.get_by_role("heading", level=1, name=first).wait_for()
    assert "were seen near the" in page.locator(".body").inner_text()
    page.get_by_role("button", name="4, interesting", exact=True).click()
    page.get_by_role("heading", level=1, name=second).wait_for()
    assert f"You rated {first} 4." in status(page)

    # Undo: back at the article, without a rating.
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("heading", level=1, name=first).wait_for()
    assert f"Taken back: your 4 for {first}" in status(page)
    assert page.locator("[aria-pressed=true]").count() == 0

    # Rank: after some ratings, what is liked stands first, and the page says how many ratings and how many below.
    rate_by_title(page, served, 0, 12)
    page.goto(f"{served.address}/?period=all")
    page.get_by_text("by your 12 ratings").wait_for()
    best = titles(page)
    assert best
    assert any(word in best[0].lower() for word in LIKED)
    below = int(re.search(r"(\d+) more below the line", page.locator("main").inner_text())[1])  # type: ignore[index]
    assert below + len(best) == 28
    page.get_by_role("link", name="show", exact=True).click()
    page.get_by_role("heading", name="Below the line").wait_for()

    # Explain: the reasons sum to the score, with their counts.
    page.goto(f"{served.address}/?period=all")
    page.get_by_role("link", name=f"Why: {best[0]}").click()
    weaker = page.get_by_role("link", name="weaker reason")
    if weaker.count():
        weaker.click()
        page.wait_for_url("**why=all**")
    values = [number(text) for text in page.locator(".evidence li > span:nth-child(2)").all_inner_texts()]
    assert len(values) > 3
    assert sum(values[:-1]) == pytest.approx(values[-1], abs=0.005 * len(values) + 1e-9)
    assert "in what you liked" in page.locator(".evidence").inner_text()
    page.goto(f"{served.address}/changes")
    page.get_by_role("heading", name="What counts otherwise now").wait_for()

    # Is it working?
    page.goto(f"{served.address}/working")
    page.get_by_role("heading", name="As it learns").wait_for()
    assert page.locator("svg[role=img]").count() == 3

    # Search.
    page.goto(served.address)
    page.get_by_role("searchbox").fill("wicket")
    page.get_by_role("searchbox").press("Enter")
    page.get_by_role("heading", name="Search: wicket").wait_for()
    assert titles(page)
    page.get_by_role("searchbox").fill("nosuchword")
    page.get_by_role("searchbox").press("Enter")
    page.get_by_text("Nothing holds “nosuchword”").wait_for()

    # Export: everything as JSON lines, the feeds as OPML, the model for the command line.
    page.goto(f"{served.address}/data")
    lines = [json.loads(line) for line in download(page, "Everything").read_text().splitlines()]
    assert sum(line["is"] == "source" for line in lines) == 2
    assert "sky.xml" in download(page, "The list of feeds").read_text()
    model = tmp_path / "reader.plausible"
    model.write_bytes(download(page, "What was learned").read_bytes())
    said = subprocess.run(
        [sys.executable, "-c", "from plausible.cli import main; main()", "info", str(model)],
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stderr

    # Restart: killed in the middle, nothing is lost, and the page that is open stays good.
    page.goto(f"{served.address}/?period=all&show=all&below=1&order=newest")
    for level in (3, 4):
        entry = page.locator("li.entry", has_not=page.locator("[aria-pressed=true]")).nth(5)
        head = entry.locator("[data-entry]").inner_text()
        if level == 4:
            served.stop(signal.SIGKILL)
            served.start()
        entry.locator(f"[data-action=rate{level}]").click()
        page.locator("#status", has_text=head).wait_for()
    page.goto(f"{served.address}/?period=all&show=rated&order=newest")
    assert len(titles(page)) == 14

    # Offline: what was collected can be read; the feed's trouble is said in plain words.
    feeds.stop()
    page.goto(f"{served.address}/sources")
    page.get_by_role("button", name="Check Sky Weekly now").click()
    page.get_by_text("can’t be read").first.wait_for()
    page.goto(f"{served.address}/?period=all")
    page.locator("[data-entry]").first.click()
    assert page.locator(".body").inner_text()
    assert faults == []
    assert {url.split("/")[2] for url in asked} == {served.address.removeprefix("http://")}, "no page calls elsewhere"

    # The reader itself gone: the page says so, and keeps its place.
    page.goto(f"{served.address}/?period=all")
    served.stop()
    page.keyboard.press("4")
    page.get_by_text("The reader does not answer").wait_for()
    context.close()


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def download(page: Any, name: str) -> Path:
    with page.expect_download() as coming:
        page.get_by_role("link", name=name).click()
    return Path(coming.value.path())


def test_keys_in_the_ranking(stocked: Served, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{stocked.address}/{NO_LINE}")
    heads = titles(page)
    focused = "document.activeElement.textContent"
    page.keyboard.press("j")
    assert page.evaluate(focused) == heads[0]
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate(focused) == heads[1]
    page.keyboard.press("4")
    page.locator("#status", has_text=heads[1]).wait_for()
    assert heads[1] not in titles(page)
    assert page.evaluate(focused) == heads[2], "the focus is on the next one"
    page.keyboard.press("s")
    page.locator("#status", has_text="You skipped").wait_for()
    assert page.evaluate(focused) == heads[3]
    page.keyboard.press("u")
    page.locator("#status", has_text=f"Taken back: {heads[2]}").wait_for()
    assert page.evaluate(focused) == heads[2], "the focus is on what came back"
    page.keyboard.press("u")
    page.locator("#status", has_text=f"Taken back: your 4 for {heads[1]}").wait_for()
    assert titles(page) == heads
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("4")
    assert page.locator("#search").input_value() == "4", "keys do nothing in a field"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#keys").get_attribute("open") is not None
    page.close()


def test_keys_typed_faster_than_the_reader_answers_are_meant_for_one_entry_each(stocked: Served, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{stocked.address}/{NO_LINE}")
    heads = titles(page)
    page.route("**/rate?**", lambda route: (time.sleep(0.3), route.continue_()))
    for key in "j1234":
        page.keyboard.press(key)
    page.locator("#status", has_text=f"You rated {heads[3]} 4.").wait_for()
    assert titles(page)[0] == heads[4]
    assert page.evaluate("document.activeElement.textContent") == heads[4]
    page.goto(f"{stocked.address}/?period=all&show=rated&order=newest")
    assert titles(page) == heads[:4]
    assert page.locator("[aria-pressed=true]").all_inner_texts() == ["1", "2", "3", "4"]
    page.keyboard.down("5")
    page.keyboard.down("5")  # held down
    page.keyboard.up("5")
    page.locator("#status", has_text=f"You rated {heads[0]} 5.").wait_for()
    assert page.locator("[aria-pressed=true]").all_inner_texts() == ["5", "2", "3", "4"]
    page.close()


def arrive(page: Any, head: str) -> None:
    """Wait for an article and for its script, which takes the keys."""
    page.get_by_role("heading", level=1, name=head).wait_for()
    page.wait_for_load_state("load")


def test_keys_in_an_article(stocked: Served, browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{stocked.address}/{NO_LINE}")
    heads = titles(page)
    heading = page.get_by_role("heading", level=1)
    page.locator("[data-entry]").first.click()
    arrive(page, heads[0])
    page.keyboard.press("j")
    arrive(page, heads[1])
    page.keyboard.press("k")
    arrive(page, heads[0])
    page.keyboard.press("5")
    arrive(page, heads[1])
    page.keyboard.press("s")
    arrive(page, heads[2])
    page.keyboard.press("u")
    arrive(page, heads[1])
    with context.expect_page() as opened:
        page.keyboard.press("o")
    assert f"127.0.0.1:{stocked.port}" not in opened.value.url
    assert opened.value.evaluate("window.opener") is None
    assert heading.inner_text() == heads[1]
    context.close()


def test_keys_can_be_changed_and_turned_off(stocked: Served, browser: Any) -> None:
    page = browser.new_page()

    def save() -> None:
        page.get_by_role("button", name="Save keys").click()
        page.get_by_text("Saved.").wait_for()

    page.goto(f"{stocked.address}/settings")
    page.get_by_label("next article").fill("n")
    save()
    page.goto(f"{stocked.address}/?period=all")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.tagName") == "BODY"
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.hasAttribute('data-entry')")
    page.goto(f"{stocked.address}/settings")
    page.get_by_label("Use keys").uncheck()
    save()
    page.goto(f"{stocked.address}/?period=all")
    page.keyboard.press("n")
    page.keyboard.press("5")
    assert page.evaluate("document.activeElement.tagName") == "BODY"
    assert not page.locator("#status").inner_text().strip()
    page.close()


def follow(locator: Any) -> None:
    """A click, and the page that it leads to, whole."""
    locator.click()
    locator.page.wait_for_load_state("load")


def test_without_javascript_all_can_be_done(stocked: Served, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{stocked.address}/?period=all&below=1&order=newest")
    heads = titles(page)
    follow(page.locator("li.entry").first.get_by_role("button", name="2, rather dull"))
    assert f"You rated {heads[0]} 2." in status(page)
    assert titles(page)[0] == heads[1]
    follow(page.get_by_role("button", name="Undo"))
    assert titles(page)[0] == heads[0]
    follow(page.locator("[data-entry]").first)
    follow(page.get_by_role("button", name="Skip"))
    assert page.get_by_role("heading", level=1).inner_text() == heads[1]
    page.get_by_label("A word that lifts an article").fill("galaxy")
    follow(page.get_by_role("button", name="Boost"))
    page.locator("aside", has_text="Boosted: galaxy").wait_for()
    follow(page.get_by_role("link", name="Ranking"))
    page.get_by_role("searchbox").fill("orbit")
    page.get_by_role("searchbox").press("Enter")
    page.get_by_role("heading", level=1, name="Search: orbit", exact=True).wait_for()
    page.goto(f"{stocked.address}/settings")
    page.get_by_label("Interesting from").select_option("5")
    follow(page.get_by_role("button", name="Save", exact=True))
    assert page.get_by_label("Interesting from").input_value() == "5"
    page.goto(f"{stocked.address}/sources")
    follow(page.get_by_text("Remove", exact=True).first)
    follow(page.get_by_role("button", name="Remove Sky Weekly and its unrated articles"))
    page.wait_for_url("**removed=**", wait_until="load")
    assert page.locator("ul.sources > li").count() == 1
    page.goto(f"{stocked.address}/settings")
    follow(page.locator("#keys summary"))
    assert page.get_by_text("skip, without a rating").first.is_visible()
    context.close()


def test_a_hostile_feed_runs_nothing_calls_no_one_and_stays_in_its_place(
    served: Served, feeds: FeedServer, browser: Any
) -> None:
    tracker = f"http://127.0.0.1:{feeds.port}/files/pixel.gif"
    hostile = [
        *HOSTILE,
        f"<img src='{tracker}'><link rel=prefetch href='{tracker}'><p style='background:url({tracker})'>x</p>",
    ]
    address = feeds.put(
        "evil.xml",
        "<script>alert(1)</script>",
        [(f"<b onclick=alert(1)>Evil {n}</b>", body) for n, body in enumerate(hostile)],
    )
    page = browser.new_page()
    ran: list[str] = []
    asked: list[str] = []
    page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    add_feed(page, served, address)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served.address}/?period=all&show=all&below=1&order=newest")
    places = page.locator("[data-entry]").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert len(places) >= len(hostile) * 0.8
    for place in places[::6]:
        page.goto(served.address + place)
    assert {url for url in asked if not url.startswith(served.address + "/")} == set(), "no one is called"
    for place in places:
        page.goto(served.address + place + "&images=load")
        for selector in ("form", "script", "iframe", "svg", "[style]", "[onclick]", "[class*=judge]"):
            assert page.locator(f".body {selector}").count() == 0, selector
    assert ran == []
    elsewhere = {url for url in asked if not url.startswith(served.address + "/")}
    assert {url for url in elsewhere if "evil.example" not in url} == set(), "nothing of this machine is called"
    assert not [line for line in feeds.requests() if "pixel" in line]
    page.close()


def check_with_axe(stocked: Served, browser: Any, scheme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    rate_by_title(page, stocked, 0, 4)
    entries = page.locator("[data-entry]")
    pages = [*PAGES, *(entries.nth(place).get_attribute("href") for place in (0, 8))]
    for path in pages:
        page.goto(stocked.address + path)
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
        found = Axe().run(page)
        assert found.violations_count == 0, f"{path} at {width} px, {scheme}\n{found.generate_report()}"
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{path} is {wide} px wide at {width} px"
    page.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1440)])
def test_axe_finds_no_violation_on_any_page(stocked: Served, browser: Any, scheme: str, width: int) -> None:
    check_with_axe(stocked, browser, scheme, width)


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("light", 820), ("dark", 390), ("dark", 820)])
def test_axe_finds_no_violation_on_any_page_either(stocked: Served, browser: Any, scheme: str, width: int) -> None:
    check_with_axe(stocked, browser, scheme, width)


def test_rating_is_felt_at_once_by_all_who_listen(stocked: Served, browser: Any) -> None:
    """The status line is the same element after a rating, so that a screen reader says what changed in it."""
    page = browser.new_page()
    page.goto(f"{stocked.address}/?period=all&below=1&order=newest")
    page.evaluate("window.line = document.getElementById('status')")
    page.locator("[data-action=rate4]").first.click()
    page.locator("#status", has_text="You rated").wait_for()
    assert page.evaluate("window.line === document.getElementById('status') && window.line.isConnected")
    assert page.evaluate("window.line.getAttribute('role')") == "status"
    page.close()
