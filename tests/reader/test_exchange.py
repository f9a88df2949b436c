"""Everything goes out and comes back; what is damaged or hostile changes nothing."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta

import pytest

from plausible.errors import DataError, ModelError
from plausible.files.model import to_bytes
from plausible.reader import counted
from plausible.reader.counted import compare_counts
from plausible.reader.items import Source
from plausible.reader.reading import Reader
from plausible.reader.settings import Settings

from .conftest import NOON, article, news


def filled(path):
    reader = Reader(path)
    reader.store.save(Source(None, "feed", "https://example.org/feed", "Example", interval=900))
    reader.store.save(Source(None, "folder", "/home/me/news", "Mine"))
    told = news(40)
    ids = reader.add(1, [one for one, _ in told], NOON)
    ids += reader.add(
        2, [article("f", "Łódź", "中文", html="<b>x</b>", url="https://example.org/x", language="pl")], NOON
    )
    for item, (_, stars) in list(zip(ids, told, strict=False))[:25]:
        reader.rate(item, 5 if stars else 2, "best", NOON)
    reader.settle()
    reader.rate(ids[0], 3, "random", NOON + timedelta(hours=1))
    reader.skip(ids[30])
    reader.rate(ids[31], 1)
    reader.undo()
    reader.undo()
    reader.clear(ids[2])
    reader.set(Settings(boost=("striker",), top=0.2))
    reader.store.keep("keys", {"rate1": "1"})
    reader.store.keep("secret", "hidden")
    return reader


def exported(reader):
    held = io.BytesIO()
    reader.export(held)
    return held.getvalue()


def lines_of(data):
    return [json.loads(line) for line in data.splitlines()]


def test_everything_comes_back(tmp_path):
    with filled(tmp_path / "one.db") as one, Reader(tmp_path / "two.db") as two:
        data = exported(one)
        assert b"hidden" not in data
        brought = two.take_in(io.BytesIO(data))
        assert (brought.sources, brought.items, brought.ratings) == (2, 41, 27)
        again = exported(two)
        assert lines_of(again)[1:] == lines_of(data)[1:]
        assert to_bytes(one._levels.model) == to_bytes(two._levels.model)
        assert compare_counts(two.store) == []
        assert two.settings == one.settings
        # A second time nothing is new.
        brought = two.take_in(io.BytesIO(data))
        assert (brought.sources, brought.items, brought.ratings) == (0, 0, 0)
        assert lines_of(exported(two))[1:] == lines_of(data)[1:]


def test_what_is_there_stays(tmp_path):
    with filled(tmp_path / "one.db") as one, Reader(tmp_path / "two.db") as two:
        two.store.save(Source(None, "feed", "https://example.org/feed", "My title"))
        (mine,) = two.add(1, [news(1)[0][0]], NOON)
        two.rate(mine, 1)
        two.set(Settings(top=0.5))
        brought = two.take_in(io.BytesIO(exported(one)))
        assert (brought.sources, brought.items) == (1, 40)
        assert two.store.item(mine).rating == 1
        assert two.store.source(1).title == "My title"
        assert two.settings.top == 0.5
        assert compare_counts(two.store) == []
        two.undo()
        assert compare_counts(two.store) == []


def test_sources_of_this_machine_come_without_being_read(tmp_path):
    with filled(tmp_path / "one.db") as one, Reader(tmp_path / "two.db") as two:
        two.take_in(io.BytesIO(exported(one)))
        assert [source.kind for source in two.store.sources()] == ["feed"]
        assert two.store.due(NOON) == two.store.sources()
        assert two.store.source(2).address == "/home/me/news"


HEAD = {"is": "export", "version": 1}
SOURCE = {"is": "source", "kind": "feed", "address": "https://example.org/f", "title": "F", "interval": 3600}
ITEM = {
    "is": "item", "item": 1, "source": "https://example.org/f", "key": "k", "url": None, "title": "t", "author": "",
    "published": "2026-03-02T12:00:00+00:00", "collected": "2026-03-02T12:00:00+00:00", "language": None, "length": 2,
    "text": "x", "html": None, "rating": None, "skipped": False,
}  # fmt: skip
EVENT = {
    "is": "event", "event": 1, "item": 1, "action": "rate", "rating": 5, "at": "2026-03-02T12:00:00+00:00",
    "place": "best", "probability": 0.5, "expected": 3.0, "undoes": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "empty"),
        ([SOURCE], "line 1 is damaged: the first line"),
        ([{"is": "export", "version": 2}], "upgrade plausible"),
        ([HEAD, {"is": "cat"}], "line 2 is damaged: it is of an unknown kind 'cat'"),
        ([HEAD, [1]], "no JSON object"),
        ([HEAD, SOURCE | {"address": "file:///etc/passwd"}], "none of a feed"),
        ([HEAD, SOURCE | {"kind": "disk"}], "kind 'disk' is none of"),
        ([HEAD, SOURCE | {"interval": 0}], "interval 0"),
        ([HEAD, SOURCE | {"title": 5}], "title is no text"),
        ([HEAD, SOURCE | {"title": "\ud800"}], "damaged"),
        ([HEAD, ITEM], "was not named before"),
        ([HEAD, SOURCE, ITEM, ITEM], "there twice"),
        ([HEAD, SOURCE, {name: value for name, value in ITEM.items() if name != "text"}], "'text' is missing"),
        ([HEAD, SOURCE, ITEM | {"published": "yesterday"}], "damaged"),
        ([HEAD, SOURCE, ITEM | {"published": "2026-03-02T12:00:00"}], "names no zone"),
        ([HEAD, SOURCE, ITEM, EVENT | {"rating": 6}], "rating 6 is none of 1 to 5"),
        ([HEAD, SOURCE, ITEM, EVENT | {"rating": True}], "rating True is none of 1 to 5"),
        ([HEAD, SOURCE, ITEM, EVENT | {"action": "skip"}], "skip has no rating"),
        ([HEAD, SOURCE, ITEM, EVENT | {"action": "drop"}], "unknown"),
        ([HEAD, SOURCE, ITEM, EVENT | {"item": 2}], "item 2 was not named before"),
        ([HEAD, SOURCE, ITEM, EVENT, EVENT | {"event": 2, "undoes": 7}], "event 7 is none of this item"),
        ([HEAD, SOURCE, ITEM, EVENT | {"probability": 2.0}], "out of range"),
        ([HEAD, SOURCE, ITEM, EVENT | {"probability": None}], "out of range"),
        ([HEAD, {"is": "setting", "name": "secret", "value": {}}], "setting 'secret' is none of"),
        ([HEAD, {"is": "setting", "name": "reader", "value": {"top": 7}}], "share that is recommended"),
    ],
)
def test_a_damaged_file_changes_nothing(reader, lines, said):
    before = exported(reader)
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    with pytest.raises(DataError, match=said):
        reader.take_in(io.BytesIO(data))
    assert lines_of(exported(reader))[1:] == lines_of(before)[1:]


def test_what_is_no_text_or_never_ends_is_refused(reader, monkeypatch):
    from plausible.reader import exchange

    for data in (b"\x00\xff\xfe", b"PK\x03\x04", b"[" * 100_000, b'{"is": "export", "version": NaN}'):
        with pytest.raises(DataError, match="line 1"):
            reader.take_in(io.BytesIO(data))
    monkeypatch.setattr(exchange, "LONGEST_LINE", 1000)
    with pytest.raises(DataError, match="longer than"):
        reader.take_in(io.BytesIO(json.dumps(HEAD).encode() + b"\n" + b"x" * 2000))


def test_model_files_with_bombs_and_paths_are_refused(reader, monkeypatch):
    def packed(**members):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return held.getvalue()

    good = reader.model_bytes()
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for data, said in (
        (packed(**members, **{"../../evil": b"x"}), "unexpected member '../../evil'"),
        (packed(**{"model.json": b" " * 50_000_000}), "would unpack to more than"),
        (good[:50], "no whole plausible model"),
        (b"", "no whole plausible model"),
    ):
        with pytest.raises(ModelError, match=said):
            reader.merge_model(data)
    monkeypatch.setattr(counted, "MOST_UNPACKED", 100)
    with pytest.raises(ModelError, match="more than the 0 that are read"):
        reader.merge_model(good)
    assert reader.store.rows("SELECT * FROM elsewhere") == []
