"""A browser without a screen for the tests of pages, and articles to read in it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from starlette.responses import Response
from starlette.testclient import TestClient

from plausible.collecting.rounds import Rounds
from plausible.reader.items import Article
from plausible.reader.reading import Reader
from plausible.reader.views import View
from plausible.web.app import application

ADDRESS = "http://127.0.0.1:8765"
LIKED = ["telescope", "galaxy", "orbit", "comet", "survey"]
OTHER = ["cricket", "wicket", "league", "striker", "referee"]


def article(number: int, words: list[str], *, hours: float = 1.0, html: str | None = None) -> Article:
    """An article about some words; no two have the same text."""
    text = f"Report {number}: " + " ".join(
        f"{word} {words[(number + place) % len(words)]}" for place, word in enumerate(words)
    )
    text += f". Number {number} of its kind, item{number} and place{number % 7}."
    return Article(
        key=f"{words[0]}-{number}",
        url=f"https://example.org/{words[0]}/{number}",
        title=f"{words[number % len(words)].title()} report {number}",
        author=["Ada", "Bo"][number % 2],
        published=datetime.now(UTC) - timedelta(hours=hours, minutes=number),
        html=html,
        text=text,
        language="en",
    )


def ids_of(reader: Reader, source: str) -> list[int]:
    """The items of a source by its title, as they were added."""
    wanted = next(known.id for known in reader.store.sources() if known.title == source)
    found: list[int] = []
    for below in (False, True):
        view = View(period="all", show="all", source=wanted, below=below)
        pages = reader.page(view).pages
        for number in range(1, pages + 1):
            entries = reader.page(View(period="all", show="all", source=wanted, below=below, page=number)).entries
            found += [entry.item.id for entry in entries]
    return sorted(found)


class Visitor:
    """A browser without a screen: it keeps cookies, follows redirects, and sends forms with the token of a page."""

    def __init__(self, reader: Reader, *, host: str = "127.0.0.1", address: str = ADDRESS) -> None:
        self.rounds = Rounds(reader)
        self.app = application(reader, self.rounds, host=host)
        self.client = TestClient(self.app, base_url=address, raise_server_exceptions=True)

    def get(self, path: str, status: int = 200) -> str:
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    def token(self) -> str:
        found = re.search(r'name="token" value="([0-9a-f]+)"', self.get("/settings"))
        assert found
        return found[1]

    def send(self, path: str, status: int = 200, *, follow: bool = True, **fields: str) -> Response:
        answer = self.client.post(path, data={"token": self.token(), **fields}, follow_redirects=follow)
        assert answer.status_code == status, answer.text
        return answer

    def upload(self, content: bytes, name: str = "file", status: int = 200) -> str:
        answer = self.client.post(
            "/data/import", data={"token": self.token()}, files={"file": (name, content, "application/octet-stream")}
        )
        assert answer.status_code == status, answer.text
        return answer.text


def shown_items(html: str) -> list[int]:
    """The items of a ranking, in order."""
    return [int(number) for number in re.findall(r'id="item-(\d+)"', html)]
