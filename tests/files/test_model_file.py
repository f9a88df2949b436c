"""The model file: whole or not at all, readable without trust, the same model back."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import as_ours, collections, rules

from plausible import CallError, DataError, Model, ModelError, Rules, Smoothing, Tokens, Variable, load, save
from plausible.columns import Reading
from plausible.encode import Columns
from plausible.files.atomic import replacing

CLASSES = ["a, b", 'quoted "so"', "two\nlines", "中文", "naïve\t", " ", "\x00", "🙂", "'; drop table"]


def a_model(**changes: Any) -> Model:
    model = Model(**changes)
    model.update(["good day", "bad bad day", "中文 naïve"] * 3, CLASSES)
    return model


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "m.plausible"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "m.plausible"
    save(a_model(), path)
    return path.read_bytes()


def same(one: Model, other: Model) -> bool:
    texts = ["good day", "bad", "", "zebra 中"]
    return (
        (one.classes, one.tokens, one.rules, one.reading) == (other.classes, other.tokens, other.rules, other.reading)
        and one.counts.total == other.counts.total
        and (
            not one.documents
            or np.array_equal(
                np.asarray(one.scores(texts).log_posterior), np.asarray(other.scores(texts).log_posterior)
            )
        )
    )


# --- round trips ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        a_model(),
        a_model(tokens=Tokens(ngrams=(1, 2))),
        a_model(tokens=Tokens(chars=(2, 4))),
        a_model(tokens=Tokens(stem="english")),
        a_model(rules=Rules(events="bernoulli", smoothing=Smoothing(0.1), prior="uniform")),
        a_model(rules=Rules(prior=dict.fromkeys(CLASSES, 1 / len(CLASSES)), stop_words=frozenset(["day", "中"]))),
        a_model(rules=Rules(drop_most_frequent=1, min_count=2, min_length=3, smoothing=Smoothing(5, share=True))),
        a_model(reading=Reading(Columns(("subject", "body, 正文"), "queue"), "from,subject")),
        Model(),
    ],
)
def test_round_trip(model: Model, path: Path) -> None:
    save(model, path)
    first = path.read_bytes()
    again = load(path)
    assert same(again, model)
    save(again, path)
    assert path.read_bytes() == first


@given(collections(), rules())
def test_round_trip_of_any_model(path: Path, pairs: tuple[list[str], list[str]], twin: Any) -> None:
    model = Model(rules=as_ours(twin))
    model.update(*pairs)
    save(model, path)
    assert same(load(path), model)


def test_fractional_weights_come_back(path: Path) -> None:
    model = Model(reading=Reading(Columns((), "y", (Variable("a"),), "w")))
    model.update({"a": ["x", "z", "x"]}, ["yes", "no", "no"], weights=np.array([0.5, 1.25, 0.7]))
    save(model, path)
    again = load(path)
    assert (again.counts.of("yes"), again.counts.of("no")) == (0.5, 1.95)
    cells = {"a": ["x", "z", None]}
    assert np.array_equal(np.asarray(again.scores(cells).log_posterior), np.asarray(model.scores(cells).log_posterior))


def test_a_loaded_model_goes_on_learning(path: Path) -> None:
    model, other = Model(), Model()
    model.update(["a b"], ["x"])
    save(model, path)
    loaded = load(path)
    loaded.update(["c c"], ["new"])
    other.update(["c c", "a b"], ["new", "x"])
    save(loaded, path)
    first = path.read_bytes()
    save(other, path)
    assert path.read_bytes() == first


def test_any_tool_can_read_it(whole: bytes) -> None:
    """Members are JSON, lines of text, and arrays that numpy reads without pickle."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        head = json.loads(archive.read("model.json"))
        terms = archive.read("text.terms").decode().splitlines()
        sizes, documents = (
            np.load(io.BytesIO(archive.read(f"text.{name}.npy")), allow_pickle=False) for name in ("sizes", "documents")
        )
    assert head["plausible"] == 1
    assert head["classes"] == sorted(CLASSES)
    assert terms == sorted(terms, key=str.encode)
    assert len(sizes) == len(terms)
    assert sizes.sum() == len(documents)


# --- damage ---------------------------------------------------------------------------------------------------------


def read(data: bytes, path: Path) -> Model | None:
    """The model in these bytes, or None after a ModelError that names the file."""
    path.write_bytes(data)
    try:
        return load(path)
    except ModelError as refused:
        if str(path) in str(refused):
            return None
        raise AssertionError("the message doesn't name the file") from refused


def test_truncated_at_any_byte(whole: bytes, path: Path) -> None:
    for size in range(len(whole)):
        assert read(whole[:size], path) is None


def test_altered_bytes(whole: bytes, path: Path) -> None:
    """A flipped bit is found, or stands where it changes nothing."""
    original, chance = a_model(), random.Random(0)
    for _ in range(600):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 1, 1, 4])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        model = read(bytes(data), path)
        assert model is None or same(model, original)


@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda tail: b"PK\x03\x04" + tail))
def test_any_bytes(path: Path, data: bytes) -> None:
    assert read(data, path) is None


def repacked(whole: bytes, changes: dict[str, bytes | None], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The file with members replaced, added or (None) left out, checksums right."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(out, "w", compression) as new:
        members: dict[str, bytes | None] = {name: old.read(name) for name in old.namelist()}
        for name, data in (members | changes).items():
            if data is not None:
                new.writestr(name, data)
    return out.getvalue()


def test_members_missing_or_extra(whole: bytes, path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        names = archive.namelist()
    assert len(names) == 7
    for name in names:
        assert read(repacked(whole, {name: None}), path) is None
        assert read(repacked(whole, {name: b""}), path) is None
    assert read(repacked(whole, {"extra.txt": b"x"}), path) is None
    assert read(repacked(whole, {"../../model.json": b"{}"}), path) is None
    assert same(read(repacked(whole, {}), path) or Model(), a_model())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_twice(whole: bytes, path: Path) -> None:
    out = io.BytesIO(whole)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("text.terms", "a\n")
    assert read(out.getvalue(), path) is None


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packed_otherwise(whole: bytes, path: Path, compression: int) -> None:
    assert read(repacked(whole, {}, compression), path) is None


def test_newer_version(whole: bytes, path: Path) -> None:
    path.write_bytes(repacked(whole, {"model.json": b'{"plausible": 2, "whatever": 1}'}))
    with pytest.raises(ModelError, match="format 2, and this plausible reads up to 1; upgrade"):
        load(path)


def test_zip_bomb(whole: bytes, path: Path) -> None:
    """A quarter of a gigabyte of blanks in a small file is refused before it is unpacked."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("text.terms", "w", force_zip64=True) as member,
    ):
        for _ in range(16):
            member.write(b" " * (1 << 24))
    path.write_bytes(out.getvalue())
    with pytest.raises(ModelError, match="200 times its size"):
        load(path)


def test_a_zip_bomb_that_lies_about_its_size(whole: bytes, path: Path) -> None:
    """The central directory says that the member is small; no more than that is unpacked."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("text.terms", b" " * (1 << 24))
    data = out.getvalue().replace((1 << 24).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert read(data, path) is None


class Trap:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo trapped > trapped",)


def test_pickle_is_never_loaded(whole: bytes, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], dtype=object), allow_pickle=True)
    for data in (
        pickle.dumps(Trap()),
        repacked(whole, {"text.sizes.npy": buffer.getvalue()}),
        repacked(whole, {"text.sizes.npy": pickle.dumps(Trap())}),
        repacked(whole, {"model.json": pickle.dumps(Trap())}),
    ):
        assert read(data, path) is None
    assert not (tmp_path / "trapped").exists()


def npy(values: list[int], kind: str = "u1") -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(values, kind))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "arrays",
    [
        {"sizes": npy([1])},
        {"sizes": npy([1, 1, 1])},
        {"sizes": npy([0, 2])},
        {"sizes": npy([255, 1])},
        {"labels": npy([0, 2])},
        {"labels": npy([1])},
        {"documents": npy([0, 1])},
        {"documents": npy([2, 1])},  # more documents than occurrences
        {"documents": npy([2, 1]), "occurrences": npy([9, 1])},  # more documents than the class has
        {"documents": npy([(1 << 32) + 1, 1], "u8"), "occurrences": npy([1 << 40, 1], "u8")},
        {"occurrences": npy([0, 1])},
        {"occurrences": npy([1, 1], "i2")},
        {"occurrences": npy([1, 1], "f8")},
        {"occurrences": npy([[1, 1]])},  # type: ignore[list-item]
        {"occurrences": npy([1, 1]).replace(b"(2,)", b"(3,)")},
        {"occurrences": npy([1, 1]).replace(b"'|u1'", b"'|u0'")},
        {"occurrences": npy([1, 1]).replace(b"'|u1'", b"  (((")},
        {"occurrences": npy([1, 1])[:9]},
    ],
)
def test_arrays_that_do_not_fit(path: Path, arrays: dict[str, bytes]) -> None:
    model = Model()
    model.update(["a", "b"], ["x", "y"])
    save(model, path)
    good = path.read_bytes()
    assert read(repacked(good, {"text.labels.npy": npy([0, 1])}), path) is not None
    assert read(repacked(good, {f"text.{name}.npy": data for name, data in arrays.items()}), path) is None


@pytest.mark.parametrize(
    "terms",
    [
        b"",
        b"a\n",
        b"b\na\n",
        b"a\na\n",
        b"a\nb",
        b"a\nb\nc\n",
        b"\nb\n",
        b"a\n\xff\n",
        b"a\n\xf0\n",
        b"a\n\xed\xa0\x80\n",
    ],
)
def test_terms_that_do_not_fit(path: Path, terms: bytes) -> None:
    model = Model()
    model.update(["a", "b"], ["x", "y"])
    save(model, path)
    assert read(repacked(path.read_bytes(), {"text.terms": terms}), path) is None


WRONG: list[tuple[tuple[str, ...], Any]] = [
    (("plausible",), None),
    (("plausible",), "1"),
    (("plausible",), 0),
    (("classes",), ["x"]),
    (("classes",), ["y", "x"]),
    (("classes",), ["", "x"]),
    (("classes",), [1, 2]),
    (("classes",), "xy"),
    (("documents",), [1]),
    (("documents",), [1, 0]),
    (("documents",), [1, -1]),
    (("documents",), [1, 1.5]),
    (("documents",), [1 << 62, 1 << 62]),
    (("documents",), [1, 1 << 70]),
    (("tokens", "ngrams"), [1]),
    (("tokens", "ngrams"), [1, 2, 3]),
    (("tokens", "ngrams"), [2, 1]),
    (("tokens", "ngrams"), "12"),
    (("tokens", "ngrams"), [1, 1.5]),
    (("tokens", "chars"), [1]),
    (("tokens", "chars"), 3),
    (("tokens", "stem"), "klingon"),
    (("rules", "events"), "x"),
    (("rules", "smoothing", "m"), -1),
    (("rules", "smoothing", "m"), "1"),
    (("rules", "smoothing", "m"), float("nan")),
    (("rules", "prior"), {"x": 2}),
    (("rules", "prior"), {"x": "1"}),
    (("rules", "prior"), 3),
    (("rules", "min_count"), 0),
    (("rules", "min_count"), 1 << 80),
    (("rules", "stop_words"), [1]),
    (("rules", "stop_words"), None),
    (("reading", "text"), "text"),
    (("reading", "text"), [1]),
    (("reading", "headers"), 5),
    (("reading",), []),
]


@pytest.mark.parametrize(("where", "value"), WRONG)
def test_values_that_can_not_be(path: Path, where: tuple[str, ...], value: Any) -> None:
    model = Model()
    model.update(["a", "b"], ["x", "y"])
    save(model, path)
    good = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        head = json.loads(archive.read("model.json"))
    inner = head
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = value
    assert read(repacked(good, {"model.json": json.dumps(head).encode()}), path) is None
    del inner[where[-1]]
    assert read(repacked(good, {"model.json": json.dumps(head).encode()}), path) is None


def test_files_from_before_numbers_had_a_rule(path: Path) -> None:
    model = Model(rules=Rules(numbers="normal"))
    model.update(["a", "b"], ["x", "y"])
    save(model, path)
    with zipfile.ZipFile(path) as archive:
        head = json.loads(archive.read("model.json"))
    for stated, read_as in (({"numbers": "many"}, None), ({}, "normal")):
        rules = {name: value for name, value in head["rules"].items() if name != "numbers"}
        data = repacked(path.read_bytes(), {"model.json": json.dumps({**head, "rules": {**rules, **stated}}).encode()})
        found = read(data, path.with_name("other.plausible"))
        assert (found and found.rules.numbers) == read_as


def test_json_without_end(whole: bytes, path: Path) -> None:
    for data in (b"[" * 100_000, b"{" * 5, b"\xff\xfe", b'{"plausible": ' + b"1" * 5000 + b"}", b"null", b"[]"):
        assert read(repacked(whole, {"model.json": data}), path) is None


def test_no_file_and_no_permission(tmp_path: Path) -> None:
    with pytest.raises(CallError, match=r"there is no model .*plausible learn"):
        load(tmp_path / "none.plausible")
    with pytest.raises(CallError, match="can't be read"):
        load(tmp_path)


# --- written whole or not at all ------------------------------------------------------------------------------------


def test_a_write_that_fails_leaves_the_old_file(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.plausible"
    target.write_bytes(b"old")

    def fail() -> None:
        with replacing(target) as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m.plausible"]


def test_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk that is full."""
    target = tmp_path / "m.plausible"
    save(a_model(), target)
    old = target.read_bytes()
    big = Model()
    big.update([" ".join(f"{i * 7919 % 100003}x{i}" for i in range(20_000))], ["x"])
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        with pytest.raises(DataError, match=r"was not written: .*; the old file, if any, is whole"):
            save(big, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert target.read_bytes() == old
    assert os.listdir(tmp_path) == ["m.plausible"]


def test_places_that_can_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="is a folder; name a file"):
        save(a_model(), tmp_path)
    with pytest.raises(CallError, match="choose another place"):
        save(a_model(), tmp_path / "no" / "such" / "folder")


def test_links_and_permissions_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.plausible", tmp_path / "link.plausible"
    save(a_model(), real)
    real.chmod(0o640)
    link.symlink_to(real)
    save(Model(), link)
    assert link.is_symlink()
    assert load(real).documents == 0
    assert real.stat().st_mode & 0o777 == 0o640


def test_readers_never_see_half_a_file(tmp_path: Path) -> None:
    target = tmp_path / "m.plausible"
    save(a_model(), target)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            save(a_model(), target)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):
            assert load(target).documents == 9
    finally:
        stop.set()
        writer.join()


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C while the model is being written leaves the old one, and no other file."""
    target = tmp_path / "m.plausible"
    save(a_model(), target)
    old = target.read_bytes()
    script = (
        "import os, sys, time\n"
        "from plausible import Model, save\n"
        "def slow(file):\n"
        "    print('on its way', flush=True)\n"
        "    time.sleep(60)\n"
        "os.fsync = slow\n"
        "model = Model()\n"
        "model.update(['new'], ['x'])\n"
        "save(model, sys.argv[1])\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(target)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "on its way\n"
    child.send_signal(signal.SIGINT)
    _, complaint = child.communicate(timeout=30)
    assert "KeyboardInterrupt" in complaint
    assert target.read_bytes() == old
    assert os.listdir(tmp_path) == ["m.plausible"]
