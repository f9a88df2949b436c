"""The reader, measured: does it find what interests, and how fast is it with 100,000 items?

    python benchmarks/reader.py [newsweeder] [cnrec] [speed] [--quick]

Without a name it does all three. `newsweeder` is a simulation after Lang (1995): 10 readers who like 3 of the 20
newsgroups each read the articles by date, and rate what is recommended. The group is not told: all articles come from
one source, without the header lines that name it. `cnrec` does the same with what six people said of 300 articles
(CNRec), beside chance and logistic regression on tf-idf. `speed` fills a store with 100,000 articles.

Reads ../shared/data (or $PLAUSIBLE_SHARED/data). Prints Markdown.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet

from plausible.reader.items import Article, Source
from plausible.reader.reading import Reader
from plausible.reader.settings import Settings
from plausible.reader.store import Store
from plausible.reader.views import View

DATA = Path(os.environ.get("PLAUSIBLE_SHARED", Path(__file__).parents[2] / "shared")) / "data"
QUICK = "--quick" in sys.argv
START = datetime(1993, 4, 5, tzinfo=UTC)
DAYS = 30
READERS = 3 if QUICK else 10
SHUFFLES = 2 if QUICK else 10
ITEMS = 10_000 if QUICK else 100_000
RATED = ITEMS // 100


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")
    sys.stdout.flush()


def newsgroups() -> Iterator[tuple[Article, str]]:
    """The articles of 20 Newsgroups with their own dates, and the group of each."""
    table = parquet.read_table(DATA / "20newsgroups" / "20news-19997.parquet").to_pydict()
    for name, text, group in zip(table["doc_id"], table["text"], table["group"], strict=True):
        head, _, body = text.partition("\n\n")
        headers = dict(re.findall(r"^(From|Subject|Date): (.*)$", head, re.MULTILINE))
        try:
            published = parsedate_to_datetime(headers["Date"]).astimezone(UTC)
        except (KeyError, ValueError):
            continue
        if START <= published < START + timedelta(days=DAYS):
            title, author = headers.get("Subject", ""), headers.get("From", "")
            yield Article(name, None, title, author, published, None, body, None), group


def read_day(reader: Reader, now: datetime, rating: Callable[[int], int], view: View) -> list[tuple[int, str]]:
    """Rate what a view recommends, a page at a time, until nothing is left: the items and their places."""
    out = []
    while True:
        reader.settle()
        entries = reader.page(view, now).entries
        if not entries:
            return out
        for entry in entries:
            reader.rate(entry.item.id, rating(entry.item.id), entry.place, now)
            out.append((entry.item.id, entry.place))


def newsweeder(folder: Path) -> None:
    articles = list(newsgroups())
    base = folder / "newsgroups.db"
    with Reader(base) as reader:
        source = reader.store.save(Source(None, "netnews", "nntp://news/all", "All groups"))
        assert source.id is not None
        ids = reader.add(source.id, [article for article, _ in articles], START + timedelta(days=DAYS))
    group = dict(zip(ids, (group for _, group in articles), strict=True))
    day_of = {item: (article.published - START).days for item, (article, _) in zip(ids, articles, strict=True)}
    spans = {
        "days 1 to 5": (0, 5),
        "days 6 to 10": (5, 10),
        "days 11 to 20": (10, 20),
        "the first 20": (0, 20),
        "after 20": (20, DAYS),
    }
    counts = {name: [0, 0, 0, 0] for name in spans}
    times: dict[str, list[float]] = {name: [] for name in spans}
    ratings = 0
    groups = sorted(set(group.values()))
    for seed in range(READERS):
        rng = random.Random(seed)
        liked = set(rng.sample(groups, 3))
        path = folder / "one.db"
        shutil.copy(base, path)
        found: dict[int, list[int]] = {}
        with Reader(path) as reader:
            for day in range(DAYS):
                now = START + timedelta(days=day + 1) - timedelta(microseconds=1)

                def rating(item: int, rng: random.Random = rng, liked: set[str] = liked) -> int:
                    return rng.choice((4, 5) if group[item] in liked else (1, 2, 3))

                read = read_day(reader, now, rating, View())
                of_day = [item for item, at in day_of.items() if at == day]
                best = [item for item, place in read if place == "best"]
                good = [sum(group[item] in liked for item in some) for some in (best, of_day)]
                found[day] = [good[0], len(best), good[1], len(of_day)]
                ratings += len(read)
        path.unlink()
        for name, (first, last) in spans.items():
            sums = [sum(found[day][k] for day in range(first, last)) for k in range(4)]
            counts[name] = [a + b for a, b in zip(counts[name], sums, strict=True)]
            times[name].append(sums[0] / max(sums[1], 1) / (sums[2] / sums[3]))
    rows = []
    for name in spans:
        good, best, base_good, everything = counts[name]
        share, rate = good / best, base_good / everything
        rows.append([name, f"{rate:.3f}", f"{share:.3f}", f"**{share / rate:.2f}**", f"{min(times[name]):.2f}"])
    show(
        f"NewsWeeder: {READERS} readers, {ratings / READERS:.0f} ratings each (bar: 3.7 times after 20 days)",
        ["days", "interesting among all", "among recommended as best", "times", "of the worst reader"],
        rows,
    )


def cnrec(folder: Path) -> None:
    """Each rater's favourites are the fifth of the articles that he or she would most often follow."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    with gzip.open(DATA / "ratings" / "cnrec_articles.jsonl.gz", "rt") as file:
        texts = {str(row["art"]): row["text"] for row in map(json.loads, file)}
    follows: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    with gzip.open(DATA / "ratings" / "cnrec_ratings.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            for side in ("art1", "art2"):
                follows[row["user"]][row[side]].append(int(row["good"]))
    keys = sorted(texts, key=int)
    tfidf = TfidfVectorizer(sublinear_tf=True).fit_transform([texts[key] for key in keys])
    row_of = {key: i for i, key in enumerate(keys)}
    a_day, share = 30, 0.2
    result: dict[str, list[float]] = defaultdict(list)
    for user in sorted(follows):
        liking = {key: statistics.fmean(follows[user][key]) for key in keys}
        least = float(np.quantile(list(liking.values()), 0.8))
        favourite = {key: liking[key] >= least for key in keys}
        for seed in range(SHUFFLES):
            rng = random.Random(seed)
            order = rng.sample(keys, len(keys))
            days = [order[start : start + a_day] for start in range(0, len(order), a_day)]
            later = len(days) // 2

            path = folder / "cnrec.db"
            with Reader(path) as reader:
                reader.set(Settings(top=share))
                source = reader.store.save(Source(None, "folder", "/cnrec", "CNRec"))
                assert source.id is not None
                key_of: dict[int, str] = {}
                chosen: list[str] = []
                for day, todays in enumerate(days):
                    now = START + timedelta(days=2 * day)
                    given = [
                        Article(
                            key, None, texts[key].partition("\n")[0], "", now, None, texts[key].partition("\n")[2], "en"
                        )
                        for key in todays
                    ]
                    key_of |= dict(zip(reader.add(source.id, given, now), todays, strict=True))
                    rating = {item: 5 if favourite[key] else 2 for item, key in key_of.items()}
                    read = read_day(reader, now, rating.__getitem__, View())
                    if day >= later:
                        chosen += [key_of[item] for item, _ in read]
            path.unlink()
            result["plausible"].append(statistics.fmean(favourite[key] for key in chosen))

            rated: list[str] = []
            chosen = []
            for day, todays in enumerate(days):
                slots = math.ceil(share * len(todays))
                kinds = {favourite[key] for key in rated}
                best = list(todays)
                if len(kinds) == 2:
                    learner = LogisticRegression(C=10.0, max_iter=1000)
                    learner.fit(tfidf[[row_of[key] for key in rated]], [favourite[key] for key in rated])
                    score = dict(
                        zip(todays, learner.decision_function(tfidf[[row_of[key] for key in todays]]), strict=True)
                    )
                    best.sort(key=lambda key: -score[key])
                mixed = round(slots * 0.15 + rng.random() - 0.5)
                some = best[: slots - mixed] + rng.sample(best[slots - mixed :], mixed)
                rated += some
                if day >= later:
                    chosen += some
            result["tf-idf and logistic regression"].append(statistics.fmean(favourite[key] for key in chosen))
            result["chance"].append(statistics.fmean(favourite[key] for day in days[later:] for key in day))
    show(
        f"CNRec: 6 raters, {SHUFFLES} orders of the articles, the second half of {len(keys) // a_day} days",
        ["", "favourites among recommended", "standard error", "times chance"],
        [
            [
                name,
                f"{statistics.fmean(values):.3f}",
                f"{statistics.stdev(values) / math.sqrt(len(values)):.3f}",
                f"{statistics.fmean(values) / statistics.fmean(result['chance']):.2f}",
            ]
            for name, values in result.items()
        ],
    )
    apart = np.subtract(result["plausible"], result["tf-idf and logistic regression"])
    error = apart.std(ddof=1) / math.sqrt(len(apart))
    print(f"\nplausible less logistic regression, pair by pair: {apart.mean():+.3f} ± {error:.3f}")


def many(count: int) -> Iterator[Article]:
    """So many articles: those of 20 Newsgroups, then the same with their words shuffled."""
    rng = random.Random(1)
    known = [article for article, _ in newsgroups()]
    now = datetime.now(UTC)
    for number in range(count):
        article = known[number % len(known)]
        text = article.text
        if number >= len(known):
            words = text.split()
            rng.shuffle(words)
            text = " ".join(words)
        published = now - timedelta(days=60 * rng.random())
        yield Article(str(number), None, article.title, article.author, published, None, text, None)


def speed(folder: Path) -> None:
    path = folder / "speed.db"
    start = time.perf_counter()
    store = Store(path)
    sources = [store.save(Source(None, "feed", f"https://example.org/{k}", f"Feed {k}")) for k in range(20)]
    articles = list(many(ITEMS))
    filling = time.perf_counter()
    ids = []
    for k, source in enumerate(sources):
        assert source.id is not None
        ids += store.add(source.id, articles[k :: len(sources)])
    filled = time.perf_counter() - filling
    store.close()

    rng = random.Random(2)
    spent: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def timed(name: str, job: Callable[[], object]) -> None:
        begun, worked = time.perf_counter(), time.process_time()
        job()
        spent[name].append((1000 * (time.perf_counter() - begun), 1000 * (time.process_time() - worked)))

    with Reader(path) as reader:
        for item in rng.sample(ids, RATED):
            reader.rate(item, rng.randint(1, 5))
        reader.settle()
        for number in range(60):
            view = (View(), View(period="all"), View(period="all", below=True), View(period="week", order="newest"))[
                number % 4
            ]
            timed("a page of the ranking", lambda view=view: reader.page(view))
            entry = reader.page(View(period="all", below=True)).entries[number % 30]
            item = entry.item.id
            timed("a rating", lambda item=item: reader.rate(item, rng.randint(1, 5), "below"))
            if number % 3 == 0:
                timed("a changed rating", lambda item=item: reader.rate(item, 1, "below"))
                timed("undo", reader.undo)
            view = View(period="all")

            def following(item: int = item, view: View = view) -> object:
                reader.rate(item, 3, "best")
                one = reader.after(item, view)
                assert one is not None
                return reader.entry(one, view), reader.why(one)

            reader.settle()
            timed("from a rating to the next article and its reasons", following)
            reader.settle()
            reader.rate(item, 4)
            timed("all items ranked again after a rating", reader.settle)
        timed("a search", lambda: reader.page(View(search="space shuttle", period="all")))
    bars = {
        "a page of the ranking": 100,
        "a rating": 5,
        "a changed rating": 5,
        "undo": 5,
        "from a rating to the next article and its reasons": 50,
        "all items ranked again after a rating": 300,
    }
    rows = [
        [
            name,
            f"{min(wall for wall, _ in values):.1f}",
            f"{statistics.median(wall for wall, _ in values):.1f}",
            f"{statistics.median(work for _, work in values):.1f}",
            bars.get(name, ""),
        ]
        for name, values in spent.items()
    ]
    opened = [_started(path) for _ in range(5)]
    rows.append(
        [
            "start: from the command to the first page",
            f"{1000 * min(opened):.0f}",
            f"{1000 * statistics.median(opened):.0f}",
            "",
            500,
        ]
    )
    show(
        f"{ITEMS:,} items, {RATED:,} ratings: milliseconds",
        ["what", "least", "median", "of the processors, all threads", "bar"],
        rows,
    )
    print(
        f"\nThe store takes {path.stat().st_size / 1e6:.0f} MB; to add an article takes {1000 * filled / ITEMS:.2f} ms."
    )
    print(f"All of this took {time.perf_counter() - start:.0f} s.")


def _started(path: Path) -> float:
    """Seconds from the command to its first page."""
    begun = time.perf_counter()
    command = [
        sys.executable,
        "-c",
        "from plausible.cli import main; main()",
        "reader",
        "--store",
        str(path),
        "--no-browser",
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = re.search(r"http://\S+", process.stderr.readline())
        assert address is not None
        with urllib.request.urlopen(address.group().rstrip("/") + "/") as answer:
            answer.read()
        seconds = time.perf_counter() - begun
        process.terminate()
        process.wait()
    return seconds


PARTS = {"newsweeder": newsweeder, "cnrec": cnrec, "speed": speed}

if __name__ == "__main__":
    wanted = [name for name in PARTS if name in sys.argv] or list(PARTS)
    for name in wanted:
        with tempfile.TemporaryDirectory() as held:
            PARTS[name](Path(held))
