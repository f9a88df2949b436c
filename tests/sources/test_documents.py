"""Folders, files, mbox and Maildir."""

from __future__ import annotations

import gzip
import io
import mailbox
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.errors import CallError, DataError
from plausible.sources import open_source
from plausible.sources import table as tables

Rows = Callable[..., list[tuple[Any, ...]]]


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_class_folders(tmp_path: Path, rows: Rows) -> None:
    write(tmp_path / "spam/b.txt", "buy")
    write(tmp_path / "spam/deep/er/a.txt", "now")
    write(tmp_path / 'ham, or "not"/1', "hello")
    write(tmp_path / "中文/1.gz", gzip.compress("你好".encode()))
    write(tmp_path / "spam/.hidden", "no")
    write(tmp_path / ".git/x", "no")
    source = open_source(tmp_path)
    assert source.documents
    assert source.columns == ("text", "class", "name")
    assert rows(tmp_path, ["text", "class"]) == [
        ("hello", 'ham, or "not"'),
        ("buy", "spam"),
        ("now", "spam"),
        ("你好", "中文"),
    ]
    table = next(source.tables())
    assert len(table) == 4
    assert table.place(1) == str(tmp_path / "spam/b.txt")
    assert list(source.tables())
    assert source.position == source.size


def test_flat_folder_and_single_files(tmp_path: Path, rows: Rows) -> None:
    one, two = write(tmp_path / "1.txt", "a,b\n1,2\n"), write(tmp_path / "2.txt", "")
    assert rows(tmp_path, ["text", "class"]) == [("a,b\n1,2\n", None), ("", None)]
    assert rows(one, ["text"]) == [("a,b\n1,2\n",)]
    assert rows([one, str(two)], ["text"]) == [("a,b\n1,2\n",), ("",)]


def test_loose_files_and_empty_classes_are_noted(tmp_path: Path) -> None:
    write(tmp_path / "a/1", "x")
    write(tmp_path / "README", "x")
    (tmp_path / "b").mkdir()
    source = open_source(tmp_path)
    list(source.tables())
    assert source.notes == {
        "files beside the class folders, left out": (str(tmp_path / "README"), 1),
        "class folders without files, left out": (str(tmp_path / "b"), 1),
    }
    with pytest.raises(DataError, match="README: files beside"):
        list(open_source(tmp_path, strict=True).tables())


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no files"):
        open_source(tmp_path)
    write(tmp_path / "Spam/1", "x")
    write(tmp_path / "spam/1", "x")
    with pytest.raises(DataError, match=r"Spam' and '.*spam' differ only in case"):
        open_source(tmp_path)


def test_links_and_loops(tmp_path: Path, rows: Rows) -> None:
    write(tmp_path / "a/1", "x")
    (tmp_path / "a/loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "b").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "a/broken").symlink_to("nowhere")
    os.mkfifo(tmp_path / "a/pipe")
    assert {row[1] for row in rows(tmp_path)} == {"a", "b"}


def test_vanishing_file(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / f"a/{i}", "x" * tables.CHUNK_CHARACTERS)
    source = open_source(tmp_path)
    passing = source.tables()
    next(passing)
    (tmp_path / "a/2").unlink()
    assert sum(map(len, passing)) == 1
    assert source.notes == {"files that vanished while the folder was read": (str(tmp_path / "a/2"), 1)}


def test_names_that_are_not_utf8(tmp_path: Path, rows: Rows) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/\xff", "w") as file:
        file.write("x")
    assert rows(tmp_path) == [("x", "caf�", f"{tmp_path}/caf�/�")]


def test_encodings_are_noted(tmp_path: Path, rows: Rows) -> None:
    write(tmp_path / "a/1", "naïve".encode("latin-1"))
    write(tmp_path / "a/2", "分类垃圾邮件".encode("gb18030"))
    write(tmp_path / "a/3", "plain text".encode("utf-16"))
    source = open_source(tmp_path)
    assert [row[0] for row in rows(tmp_path)] == ["naïve", "分类垃圾邮件", "plain text"]
    list(source.tables())
    assert sorted(source.notes) == [f"not UTF-8, read as {name}" for name in ("CP1252", "GB18030", "UTF-16")]
    write(tmp_path / "a/4.png", b"\x89PNG\r\n\x1a\n" + bytes(range(30)) * 9)
    with pytest.raises(DataError, match=r"a/4\.png is not text: byte"):
        rows(tmp_path)


def test_a_note_names_the_first_file_that_it_is_of(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, text) for name, text in (("1", b"plain"), ("2", b"caf\xe9"), ("3", b"\xfcber"))]
    for documents in (tmp_path, paths):
        source = open_source(documents)
        list(source.tables())
        assert source.notes == {"not UTF-8, read as CP1252": (str(paths[1]), 2)}


def test_maildir(tmp_path: Path, rows: Rows) -> None:
    box = mailbox.Maildir(str(tmp_path / "box"))
    box.add("Subject: one\n\nfirst\n")
    box.close()
    write(tmp_path / "box/tmp/half", "no")
    assert rows(tmp_path / "box", ["text", "class"]) == [("one\nfirst\n", None)]
    assert rows(tmp_path, ["text", "class"]) == [("one\nfirst\n", "box")]


def test_mbox_by_the_standard_library(tmp_path: Path, rows: Rows) -> None:
    box = mailbox.mbox(str(tmp_path / "in.mbox"))
    bodies = ["first\n", "From here on\n\nFrom there\n", "\n", "last\n\n\n"]
    for i, body in enumerate(bodies):
        box.add(f"Subject: s{i}\n\n{body}")
    box.close()
    found = rows(tmp_path / "in.mbox", headers="none")
    assert [row[0] for row in found] == bodies
    assert found[3][2] == f"{tmp_path / 'in.mbox'}, message 4"


POSTMARK = b"From a@b Mon Jan  1 00:00:00 2024\n"


PRINTABLE = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]) | st.sampled_from("\n\nF>"))


@given(st.lists(PRINTABLE | st.just("\nFrom a@b Mon Jan  1 00:00:00 2024\n>From x"), max_size=6), st.booleans())
def test_mbox_round_trip(rows: Rows, tmp_path_factory: pytest.TempPathFactory, bodies: list[str], packed: bool) -> None:
    def quoted(body: str) -> bytes:
        lines = body.encode().split(b"\n")
        return b"\n".join(b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in lines)

    bodies = ["first", *bodies]
    raw = b"".join(POSTMARK + b"Subject: s\n\n" + quoted(body) + b"\n\n" for body in bodies)
    path = write(tmp_path_factory.mktemp("mbox") / "in.mbox", gzip.compress(raw) if packed else raw)
    assert [row[0] for row in rows(open_source(path, headers="none"))] == [body + "\n" for body in bodies]


def test_mbox_without_dates_and_with_crlf(tmp_path: Path, rows: Rows) -> None:
    path = write(tmp_path / "box", b"From a\r\nSubject: x\r\n\r\nhi\r\n\r\nFrom b\r\nSubject: y\r\n\r\nho\r\n\r\n")
    assert [row[0] for row in rows(path)] == ["x\nhi\r\n", "y\nho\r\n"]


def test_mbox_across_blocks(tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = b"".join(POSTMARK + b"Subject: s%d\n\nbody %d\n\n" % (i, i) for i in range(50))
    path = write(tmp_path / "in.mbox", raw)
    for size in (1, 7, 50, 1000):
        monkeypatch.setattr("plausible.sources.streams.BLOCK", size)
        assert [row[0] for row in rows(path)] == [f"s{i}\nbody {i}\n" for i in range(50)]


def test_truncated(tmp_path: Path, rows: Rows) -> None:
    raw = POSTMARK + b"Subject: a\n\nwhole\n\n" + POSTMARK + b"Subject: b\nTo: c\n"
    with pytest.raises(DataError, match="cut, message 2, at byte 53: the file breaks off in the header"):
        rows(write(tmp_path / "cut", raw))
    source = open_source(write(tmp_path / "cut", raw + b"\nhal"))
    assert len(rows(source)) == 2
    assert [note.times for note in source.notes.values()] == [1]
    packed = gzip.compress(os.urandom(10_000).hex().encode())
    with pytest.raises(DataError, match=r"cut\.gz: the gzip data breaks off or is damaged after"):
        rows(write(tmp_path / "cut.gz", packed[:-2000]))


def test_html_and_mail_files_in_a_folder(tmp_path: Path, rows: Rows) -> None:
    write(tmp_path / "a/1.html", "<!doctype html><p>one<script>no</script>")
    write(tmp_path / "a/2.eml", "Subject: =?utf-8?q?caf=C3=A9?=\nReceived: x\n\nbody")
    write(tmp_path / "a/3", "Newsgroups: sci.space\nSubject: moon\n\nbody")
    write(tmp_path / "a/4.mbox", POSTMARK + b"Subject: m\n\n1\n\n" + POSTMARK + b"Subject: n\n\n2\n\n")
    assert [row[0] for row in rows(tmp_path)] == ["one", "café\nbody", "moon\nbody", "m\n1\n", "n\n2\n"]


def test_limits(tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "bomb.txt.gz", gzip.compress(b"a" * 200_000))
    monkeypatch.setattr("plausible.sources.streams.LIMIT", 100_000)
    with pytest.raises(DataError, match="at most 0 MB"):
        rows(path)
    path = write(tmp_path / "line.csv", b"a,b\n1," + b"x" * 3_000_000)
    with pytest.raises(DataError, match=r"line\.csv, the line that holds byte"):
        rows(path)


def test_nothing_there(tmp_path: Path) -> None:
    write(tmp_path / "mail/1", "x")
    with pytest.raises(CallError, match=r"no file or folder '.*mial'; did you mean '.*mail'"):
        open_source(tmp_path / "mial")
    for odd in ("a\0b", "x" * 5000, "", tmp_path / "mail/1/2"):
        with pytest.raises((CallError, DataError)):
            open_source(odd)
    with pytest.raises(CallError, match="holds documents"):
        open_source(tmp_path, where="a = 1")


class Pipe:
    def __init__(self, raw: bytes) -> None:
        self.buffer = io.BytesIO(raw)


@pytest.mark.parametrize(
    ("raw", "columns"),
    [
        (b'{"a": 1}\n{"a": 2}\n', ("a",)),
        (b"a,b\n1,2\n", ("a", "b")),
        (b"a\tb\n1\t2\n", ("a", "b")),
        (b"Dear John,\nhow are you?\n", tables.DOCUMENT_COLUMNS),
        (POSTMARK + b"Subject: x\n\nhi\n\n", tables.DOCUMENT_COLUMNS),
        (gzip.compress(b"a,b\n1,2\n"), ("a", "b")),
        (b"", tables.DOCUMENT_COLUMNS),
    ],
)
def test_standard_input(raw: bytes, columns: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, rows: Rows) -> None:
    monkeypatch.setattr(sys, "stdin", Pipe(raw))
    source = open_source("-")
    assert source.columns == columns
    first, second = rows(source), rows(source)
    assert first == second
    assert source.size == len(raw)


def test_a_pipe_is_kept(tmp_path: Path, rows: Rows) -> None:
    import threading

    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a,b\n1,2\n",))
    writer.start()
    assert rows(pipe) == [("1", "2")]
    writer.join()
