"""mbox, Maildir and folders: only what is new, and nothing from outside."""

from __future__ import annotations

import mailbox
import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.collecting import Limits, Visit, recognise, visit
from plausible.errors import CallError
from plausible.reader.items import Source

NOW = datetime.now(UTC) + timedelta(days=1)


def mail(number: int, body: str = "") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ann <ann@example.org>"
    message["Subject"] = f"Żółw {number}"
    message["Message-ID"] = f"<{number}@example.org>"
    message["Date"] = "Wed, 07 Oct 2026 10:00:00 +0200"
    message.set_content(body or f"text {number}\n")
    return message


def keys(read: Visit) -> list[str]:
    return [article.key.strip("<>").removesuffix("@example.org") for article in read.articles]


def settled(path: Path) -> None:
    """As if the file had not changed for a while."""
    os.utime(path, (time.time() - 3600, time.time() - 3600))


@pytest.fixture
def box(tmp_path: Path) -> Path:
    path = tmp_path / "box"
    _append(path, 1, 2)
    return path


def _append(path: Path, *numbers: int, body: str = "") -> None:
    with_box = mailbox.mbox(path)
    for number in numbers:
        with_box.add(mail(number, body))
    with_box.close()


def source(path: Path, **said: object) -> Source:
    return replace(recognise(str(path)), **said)  # type: ignore[arg-type]


def test_mbox(box: Path) -> None:
    first = visit(source(box), NOW)
    assert (first.source.kind, first.source.title, first.source.error) == ("mbox", "box", None)
    assert keys(first) == ["1", "2"]
    article = first.articles[0]
    assert (article.title, article.author, article.text) == ("Żółw 1", "Ann", "text 1")
    assert article.published == datetime(2026, 10, 7, 8, tzinfo=UTC)
    assert visit(first.source, NOW).articles == ()
    _append(box, 3, body="From here on\nFrom there\n")
    third = visit(first.source, NOW)
    assert keys(third) == ["3"]
    assert third.articles[0].text == "From here on\nFrom there"
    assert third.source.next_visit == NOW + timedelta(hours=1)


def test_mbox_written_anew(box: Path) -> None:
    first = visit(source(box), NOW).source
    box.unlink()
    _append(box, 7, 8, 9)
    assert keys(visit(first, NOW)) == ["7", "8", "9"]
    box.write_bytes(b"")
    assert visit(first, NOW).articles == ()


def test_mbox_in_steps(box: Path) -> None:
    _append(box, *range(3, 8))
    at, found = source(box), []
    for _ in range(3):
        read = visit(at, NOW, Limits(articles=3))
        found += keys(read)
        at = read.source
    assert found == list("1234567")
    assert at.next_visit == NOW + timedelta(hours=1)


@given(st.integers(0, 2000), st.integers(1, 4))
def test_mbox_cut_anywhere_loses_nothing(tmp_path_factory: pytest.TempPathFactory, cut: int, most: int) -> None:
    """It is read while its last message is still being written, then again when it is whole."""
    path = tmp_path_factory.mktemp("growing") / "box"
    _append(path, 1, 2, 3)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    read = visit(Source(None, "mbox", str(path), ""), NOW, Limits(articles=most))
    found = {article.key: article.text for article in read.articles}
    path.write_bytes(whole)
    for _ in range(4):
        read = visit(read.source, NOW, Limits(articles=most))
        found |= {article.key: article.text for article in read.articles}
    assert {key: found.get(key) for key in ("<1@example.org>", "<2@example.org>", "<3@example.org>")} == {
        "<1@example.org>": "text 1",
        "<2@example.org>": "text 2",
        "<3@example.org>": "text 3",
    }


def test_a_message_that_may_still_grow_waits(box: Path) -> None:
    whole = box.read_bytes()
    box.write_bytes(whole.removesuffix(b"\n"))
    first = visit(source(box), NOW)
    assert keys(first) == ["1"]
    settled(box)
    assert keys(visit(first.source, NOW)) == ["2"]


def test_mbox_too_big_a_message(box: Path) -> None:
    _append(box, 3, body="x" * 70 + "\n" + ("y" * 70 + "\n") * 1000)
    _append(box, 4)
    read = visit(source(box), NOW, Limits(size=20_000))
    assert keys(read) == ["1", "2", "4"]
    assert "1 message over 0.019" in str(read.source.error)


def test_maildir(tmp_path: Path) -> None:
    path = tmp_path / "Mail"
    folder = mailbox.Maildir(path)
    folder.add(mail(1))
    folder.add(mail(2))
    first = visit(source(path), NOW)
    assert (first.source.kind, first.source.title) == ("maildir", "Mail")
    assert sorted(keys(first)) == ["1", "2"]
    assert {article.text for article in first.articles} == {"text 1", "text 2"}
    time.sleep(2.1)
    at = visit(first.source, NOW).source
    assert visit(at, NOW).articles == (), "after two seconds nothing is read twice"
    folder.add(mail(3))
    (path / "tmp" / "growing").write_bytes(mail(9).as_bytes())
    assert keys(visit(at, NOW)) == ["3"]


def test_maildir_in_steps(tmp_path: Path) -> None:
    path = tmp_path / "Mail"
    folder = mailbox.Maildir(path)
    for number in range(7):
        folder.add(mail(number))
    at, found = source(path), []
    for _ in range(3):
        read = visit(at, NOW, Limits(articles=3))
        assert len(read.articles) <= 3
        found += keys(read)
        at = read.source
    assert sorted(found) == list("0123456")
    assert at.next_visit == NOW + timedelta(hours=1)


def test_links_out_of_a_maildir_are_refused(tmp_path: Path) -> None:
    path, secret = tmp_path / "Mail", tmp_path / "secret"
    secret.write_bytes(mail(9).as_bytes())
    mailbox.Maildir(path).add(mail(1))
    (path / "new" / "a").symlink_to(secret)
    (path / "new" / "b").symlink_to(tmp_path)
    (path / "cur" / "c").symlink_to("/etc/passwd")
    (path / "cur" / ".hidden").write_bytes(mail(8).as_bytes())
    os.mkfifo(path / "new" / "pipe")
    read = visit(source(path), NOW)
    assert keys(read) == ["1"]
    assert "3 files left out" in str(read.source.error)
    assert "is a link that leads out of the folder" in str(read.source.error)


def test_a_maildir_whose_folder_is_a_link(tmp_path: Path) -> None:
    path, other = tmp_path / "Mail", tmp_path / "other"
    mailbox.Maildir(path).add(mail(1))
    other.mkdir()
    (other / "x").write_bytes(mail(9).as_bytes())
    (path / "cur").rmdir()
    (path / "cur").symlink_to(other)
    read = visit(source(path), NOW)
    assert read.articles == ()
    assert "must not be" in str(read.source.error)


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "note.txt").write_text("Erste Zeile\nzweite")
    (tmp_path / "page.html").write_text('<!doctype html><html lang="pl"><title>Strona</title><p>Treść')
    (tmp_path / "letter.eml").write_bytes(mail(1).as_bytes())
    (tmp_path / "old.txt").write_bytes("文章分类和垃圾邮件".encode("gb18030"))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(32)) * 9)
    (tmp_path / ".secret").write_text("hidden")
    (tmp_path / "link").symlink_to("/etc/passwd")
    read = visit(source(tmp_path), NOW)
    found = {article.title: article for article in read.articles}
    assert set(found) == {"Erste Zeile zweite", "Strona", "Żółw 1", "文章分类和垃圾邮件"}
    assert found["Strona"].language == "pl"
    assert found["Strona"].html is not None
    assert found["Strona"].text.strip() == "Treść"
    assert found["Erste Zeile zweite"].text == "Erste Zeile\nzweite"
    assert "2 files left out" in str(read.source.error)


def test_the_date_of_a_mail_is_its_own_and_that_of_a_text_its_file_s(tmp_path: Path) -> None:
    (tmp_path / "letter.eml").write_bytes(mail(1).as_bytes())
    (tmp_path / "text").write_text("a text")
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    dates = {article.title: article.published for article in visit(source(tmp_path), NOW).articles}
    assert dates == {"Żółw 1": datetime(2026, 10, 7, 8, tzinfo=UTC), "a text": datetime(1970, 1, 1, tzinfo=UTC)}


def test_a_folder_keeps_the_key_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("first")
    first = visit(source(tmp_path), NOW)
    (tmp_path / "a").write_text("second")
    second = visit(first.source, NOW)
    assert [article.text for article in second.articles] == ["second"]
    assert first.articles[0].key == second.articles[0].key


def test_names_that_are_no_text(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff\xfe", "w") as file:
        file.write("odd name")
    read = visit(source(tmp_path), NOW)
    assert [article.text for article in read.articles] == ["odd name"]
    str(read.source.cursor).encode()


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("mbox", "can't be read (no such file or directory)"),
        ("maildir", "can't be read (no such file or directory)"),
        ("folder", "can't be read (no such file or directory)"),
        ("gopher", "unknown kind of source 'gopher'"),
    ],
)
def test_what_is_not_there(tmp_path: Path, kind: str, error: str) -> None:
    read = visit(Source(None, kind, str(tmp_path / "none"), "t", cursor="5 x"), NOW)
    assert error in str(read.source.error)
    assert (read.source.cursor, read.articles) == ("5 x", ())


def test_a_file_that_is_no_mbox(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(CallError, match="is no mbox, Maildir or folder"):
        recognise(str(tmp_path / "a.txt"))


@given(st.binary(max_size=300), st.sampled_from(["mbox", "maildir", "folder"]), st.text(max_size=20))
def test_any_bytes_survive(tmp_path_factory: pytest.TempPathFactory, noise: bytes, kind: str, cursor: str) -> None:
    path = tmp_path_factory.mktemp("noise")
    for part in ("cur", "new"):
        (path / part).mkdir()
    (path / "cur" / "a").write_bytes(b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\n" + noise)
    (path / "box").write_bytes(b"From a Mon Jan  1 00:00:00 2024\n" + noise)
    address = path / "box" if kind == "mbox" else path
    for said in (None, cursor):
        read = visit(Source(None, kind, str(address), "", cursor=said), NOW)
        assert "report this" not in str(read.source.error)
        assert all(article.key and article.title for article in read.articles)
