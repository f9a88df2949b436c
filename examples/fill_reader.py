"""Fills a store of the reader with the sample articles, as if they had appeared in the last days.

python examples/fill_reader.py STORE

The articles were written for this demo.
"""

from __future__ import annotations

import html
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from plausible.reader.items import Article, Source
from plausible.reader.store import Store


def fill(path: str) -> int:
    """How many articles were added."""
    now = datetime.now(UTC)
    never = now + timedelta(days=36500)  # there is nothing at these addresses to visit
    store = Store(path)
    added = 0
    lines = (Path(__file__).parent / "news.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(map(json.loads, lines)):
        address = f"https://{line['language']}.example/{line['source'].replace(' ', '-')}"
        source = store.save(Source(None, "feed", address, line["source"], next_visit=never))
        assert source.id is not None
        article = Article(
            key=str(number),
            url=None,
            title=line["title"],
            author=line["author"],
            published=now - timedelta(hours=line["hours_ago"]),
            html=f"<p>{html.escape(line['text'])}</p>",
            text=line["text"],
            language=line["language"],
        )
        added += len(store.add(source.id, [article], now))
    store.close()
    return added


if __name__ == "__main__":
    print(f"{fill(sys.argv[1])} sample articles in English, Polish and Chinese are in {sys.argv[1]}.", file=sys.stderr)
