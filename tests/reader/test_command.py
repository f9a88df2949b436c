"""The command in a shell."""

from __future__ import annotations

import json
import subprocess
import sys

from plausible.reader.items import Source
from plausible.reader.reading import Reader
from plausible.reader.store import Store

from .conftest import NOON, news


def run(*arguments: object, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    code = "from plausible.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, input=given, check=False
    )


def filled(path):
    with Reader(path) as reader:
        reader.store.save(Source(None, "feed", "https://example.org/feed", "Example"))
        told = news(30)
        for item, (_, stars) in zip(reader.add(1, [one for one, _ in told], NOON), told, strict=True):
            reader.rate(item, 5 if stars else 2)


def test_export_import_model_compare_and_rebuild(tmp_path):
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    filled(one)
    out = run("reader", "--store", one, "--export", "-")
    assert out.returncode == 0, out.stderr
    lines = [json.loads(line) for line in out.stdout.splitlines()]
    assert [line["is"] for line in lines].count("item") == 30
    export = tmp_path / "mine.jsonl"
    assert run("reader", "--store", one, "--export", export).returncode == 0
    taken = run("reader", "--store", two, "--import", export)
    assert (taken.returncode, taken.stdout) == (0, b"")
    assert b"new sources: 1, new articles: 30, new ratings: 30" in taken.stderr
    assert run("reader", "--store", two, "--compare").returncode == 0

    model = tmp_path / "mine.plausible"
    assert run("reader", "--store", one, "--model", model).returncode == 0
    items = tmp_path / "items.jsonl"
    items.write_bytes(b"".join(line + b"\n" for line in out.stdout.splitlines() if b'"is": "item"' in line))
    answers = run("classify", model, items, "--format", "jsonl")
    assert answers.returncode == 0, answers.stderr
    assert {json.loads(line)["label"] for line in answers.stdout.splitlines()} == {"2", "5"}
    three = tmp_path / "three.db"
    assert run("reader", "--store", three, "--import", model).returncode == 0

    store = Store(two)
    with store.changing() as db:
        db.execute("UPDATE items SET rating = 1")
    store.close()
    compared = run("reader", "--store", two, "--compare")
    assert compared.returncode == 3
    assert b"is marked 1" in compared.stdout
    rebuilt = run("reader", "--store", two, "--rebuild")
    assert (rebuilt.returncode, b"30 ratings" in rebuilt.stderr) == (0, True)
    assert run("reader", "--store", two, "--compare").returncode == 0


def test_bad_calls(tmp_path):
    for arguments, said in (
        (["--store", tmp_path / "none.db", "--compare"], b"there is no store"),
        (["--export", "-", "--rebuild"], b"can't be done at once"),
        (["--store", tmp_path / "a.db", "--import", tmp_path / "none.jsonl"], b"can't be read"),
    ):
        out = run("reader", *arguments)
        assert (out.returncode, out.stdout) == (2, b"")
        assert said in out.stderr
    (tmp_path / "bad.jsonl").write_text("hello\n")
    out = run("reader", "--store", tmp_path / "a.db", "--import", tmp_path / "bad.jsonl")
    assert (out.returncode, out.stdout) == (1, b"")
    assert b"no export of a reader" in out.stderr


def test_a_store_in_use_is_refused(tmp_path):
    path = tmp_path / "one.db"
    filled(path)
    store = Store(path)
    out = run("reader", "--store", path, "--compare")
    assert out.returncode == 2
    assert b"open in another plausible" in out.stderr
    store.close()
