"""The readers on real collections."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from plausible.sources import Source, looks_like_mail, message_text, open_source

pytestmark = pytest.mark.data


def cells(source: Source, column: str) -> list[str]:
    return [cell or "" for table in source.tables([column]) for cell in table.columns[column]]


def test_newsgroups(shared: Path) -> None:
    source = open_source(shared / "20newsgroups/20news-bydate.parquet", where="split = 'test'")
    texts = cells(source, "text")
    assert len(texts) == 7532
    assert all(map(looks_like_mail, texts))
    whole = cells(open_source(shared / "20newsgroups/20news-19997.parquet", headers="all"), "text")
    plain = cells(open_source(shared / "20newsgroups/20news-19997.parquet"), "text")
    assert sum(a != b for a, b in zip(whole, plain, strict=True)) < 100  # those with MIME parts
    bodies = [message_text(text, "none") for text in plain]
    assert sum(body.startswith(("Path:", "Newsgroups:")) for body in bodies) < 10  # articles that quote another


def test_newsgroups_as_a_folder(shared: Path, tmp_path: Path) -> None:
    mini = open_source(shared / "20newsgroups/mini_newsgroups.jsonl.gz")
    texts, names = cells(mini, "text"), cells(mini, "doc_id")
    for name, text in zip(names, texts, strict=True):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    folder = open_source(tmp_path, headers="all", encoding="latin-1")
    by_name = dict(zip(cells(folder, "name"), cells(folder, "text"), strict=True))
    assert sum(by_name[str(tmp_path / name)] != text for name, text in zip(names, texts, strict=True)) < 20
    assert Counter(cells(folder, "class")) == Counter(cells(mini, "group"))


def test_spam(shared: Path) -> None:
    source = open_source(shared / "spam/spamassassin.parquet", headers="subject")
    texts = cells(source, "text")
    assert len(texts) == 6046
    assert sum(not text.strip() for text in texts) < 20
    assert sum("<html" in text.lower() for text in texts) < 40
    chinese = cells(open_source(shared / "spam/zh_ccert_email.parquet", headers="subject"), "text")
    assert sum("=?gb" in text.lower() for text in chinese) < 400  # those whose header block is broken


def test_tables(shared: Path) -> None:
    expected = {
        "adult.csv.gz": 48842,
        "iris.csv": 150,
        "play_tennis.csv": 14,
        "wine.csv": 178,
        "mushroom.csv.gz": 8124,
    }
    for name, rows in expected.items():
        assert sum(map(len, open_source(shared / "tables" / name).tables())) == rows


def test_every_file_opens(shared: Path) -> None:
    for path in sorted(shared.glob("*/*.*")):
        if path.suffix in (".gz", ".csv", ".parquet", ".jsonl") and "sms_spam" not in path.name:
            assert sum(map(len, open_source(path).tables())) > 0, path


def test_memory_stays_bounded(shared: Path, tmp_path: Path) -> None:
    """A pass over JSON lines of 100 MB takes less than 40 MB above what the readers themselves take."""
    source = open_source(shared / "20newsgroups/mini_newsgroups.jsonl.gz")
    import gzip

    lines = gzip.decompress((shared / "20newsgroups/mini_newsgroups.jsonl.gz").read_bytes())
    path = tmp_path / "big.jsonl"
    with path.open("wb") as file:
        for _ in range(100_000_000 // len(lines)):
            file.write(lines)
    assert source.columns
    script = (
        "import resource, sys; from plausible.sources import open_source\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "source = open_source(sys.argv[1]); before = peak()\n"
        "for table in source.tables(): pass\n"
        "print(peak() - before)"
    )
    grown = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 40_000
