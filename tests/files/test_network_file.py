"""Networks in the model file: every distribution back to the last bit, and nothing read on trust."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import CallError, Model, ModelError, Network, Tokens, Variable, load, read, save, write
from plausible.cpds import LinearGaussian, NoisyMax, Table, Words, deterministic, noisy_or
from plausible.files.model import load_model
from plausible.files.plausible import parse_plausible, render_plausible

NOTES = {"": ("made by hand",), "a": ('label = "x; y"',)}


def every_kind(seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    a, b = Variable("a", states=("no", "yes, or so")), Variable("b ü", states=("low", "mid", "high"), ordered=True)
    size = Variable("size", states=("<= 1", "> 1"), cuts=(1.0,))
    x, y, z = (Variable(name, "continuous") for name in "xyz")
    either, fever, ill = (Variable(name, states=("0", "1")) for name in ("either", "fever", "ill"))
    dull, mail, note = Variable("dull", states=("only",)), Variable("mail", "text"), Variable("note", "text")

    def rows(*shape: int) -> Any:
        return rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])

    cpds = [
        Table(a, (), rows(2)),
        Table(b, (a,), rows(2, 3)),
        Table(size, (b, a), rows(3, 2, 2)),
        Table(dull, (b,), np.ones((3, 1))),
        deterministic(either, (a, size), lambda p, q: str(int(p != "no" or q == "> 1"))),
        noisy_or(fever, (either, a), [1 / 3, 0.7], leak=0.1),
        NoisyMax(ill, (b, fever), [np.vstack([[1, 0], rows(2, 2)]), rows(2, 2)], rows(2)),
        LinearGaussian(x, (), 1 / 3, [], 0.1),
        LinearGaussian(y, (x,), -0.0, [1e-300], 0),
        LinearGaussian(z, (b, a, y, x), rng.normal(size=(3, 2)), rng.normal(size=(3, 2, 2)), rng.random((3, 2))),
        Words(mail, (b,), ("café", "line\nbreak", "new york"), rows(3, 3), tokens=Tokens(ngrams=(1, 2)), length=4.5),
        Words(note, (fever,), ("x", "y"), rng.random((2, 2)), "bernoulli", Tokens(chars=(2, 3))),
    ]
    return Network(None, cpds, name="every kind", properties=NOTES)


def same(one: Network, other: Network) -> None:
    assert (one.name, one.names, one.variables) == (other.name, other.names, other.variables)
    assert one.graph.parents == other.graph.parents
    assert dict(one.properties) == dict(other.properties)
    for name in one.names:
        mine, theirs = one[name], other[name]
        assert type(mine) is type(theirs)
        for field in type(mine).__dataclass_fields__:  # type: ignore[attr-defined]
            a, b = getattr(mine, field), getattr(theirs, field)
            if isinstance(a, np.ndarray):
                assert a.tobytes() == b.tobytes(), (name, field)
                assert a.shape == b.shape, (name, field)
            elif field == "pushes":
                assert [push.tobytes() for push in a] == [push.tobytes() for push in b]
            else:
                assert a == b, (name, field)


@given(st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_round_trip_is_exact(seed: int) -> None:
    network = every_kind(seed)
    data = render_plausible(network)
    same(network, parse_plausible(data))
    assert render_plausible(parse_plausible(data)) == data


def test_the_same_file_by_every_door(tmp_path: Path) -> None:
    network = every_kind()
    save(network, tmp_path / "saved.plausible")
    write(network, tmp_path / "written.plausible")
    write(network, tmp_path / "packed.plausible.gz")
    assert (tmp_path / "saved.plausible").read_bytes() == (tmp_path / "written.plausible").read_bytes()
    for name in ("saved.plausible", "written.plausible"):
        loaded = load(tmp_path / name)
        assert isinstance(loaded, Network)
        same(network, loaded)
        same(network, read(tmp_path / name))
    same(network, read(tmp_path / "packed.plausible.gz"))


def test_any_tool_can_read_it() -> None:
    with zipfile.ZipFile(io.BytesIO(render_plausible(every_kind()))) as archive:
        head = json.loads(archive.read("network.json"))
        numbers = np.load(io.BytesIO(archive.read("numbers.npy")), allow_pickle=False)
    assert head["plausible"] == 1
    assert [given["kind"] for given in head["distributions"]][-3:] == ["linear-gaussian", "words", "words"]
    assert numbers[:2].tolist() == every_kind()["a"].values.tolist()  # type: ignore[attr-defined]


def test_empty_and_emptiest() -> None:
    same(Network({}), parse_plausible(render_plausible(Network({}))))


def test_a_sparse_table_is_no_bomb() -> None:
    """Zeros pack a thousandfold, and the file must still open."""
    wide = Variable("wide", states=tuple(map(str, range(1500))))
    network = Network(
        None,
        [Table(wide, (), np.eye(1500)[0]), Table(Variable("v", "categorical", wide.states), (wide,), np.eye(1500))],
    )
    same(network, parse_plausible(render_plausible(network)))


def changed(data: bytes, member: str, content: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, content if name == member else old.read(name))
    return held.getvalue()


def altered(**changes: Any) -> bytes:
    data = render_plausible(every_kind())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        head = json.loads(archive.read("network.json"))
    return changed(data, "network.json", json.dumps({**head, **changes}).encode())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (altered(plausible=2), "has format 2, and this plausible reads up to 1; upgrade"),
        (altered(plausible="1"), "states no format version"),
        (altered(variables=[]), "damaged"),
        (altered(distributions=[]), "more numbers"),
        (altered(properties=3), "damaged"),
        (altered(name=3), "a name is no text"),
        (altered(distributions=[{"child": "a", "parents": [], "kind": "magic"}]), "kind 'magic'"),
        (altered(distributions=[{"child": "a", "parents": ["a"] * 40, "kind": "table"}]), "fewer numbers"),
        (altered(distributions=[{"child": "z", "parents": ["x"], "kind": "table"}]), "damaged|needs categorical"),
        (changed(render_plausible(every_kind()), "numbers.npy", b"\x93NUMPY junk"), "damaged"),
        (changed(render_plausible(every_kind()), "numbers.npy", b""), "damaged"),
        (changed(render_plausible(every_kind()), "network.json", b"{"), "damaged"),
        (changed(render_plausible(every_kind()), "network.json", b"\xff"), "damaged"),
        (b"PK\x03\x04" + bytes(26) + b"network.json", "no whole plausible model"),
        (b"hello", "no whole plausible model"),
    ],
)
def test_damage_is_refused(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "n.plausible"
    path.write_bytes(data)
    for reader in (load, read):
        with pytest.raises(ModelError, match=said):
            reader(path)


def test_more_members_and_bombs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.plausible"
    path.write_bytes(render_plausible(every_kind()))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("run.py", "print(1)")
    with pytest.raises(ModelError, match=r"unexpected member 'run.py'"):
        load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("network.json", json.dumps({"plausible": 1}))
        archive.writestr("numbers.npy", bytes(100 << 20))
    with pytest.raises(ModelError, match="would unpack to more than"):
        load(path)


def test_cut_or_flipped_anywhere() -> None:
    data = render_plausible(every_kind())
    rng = np.random.default_rng(0)
    for end in range(0, len(data), 7):
        with pytest.raises(ModelError):
            parse_plausible(data[:end])
    for _ in range(300):
        noisy = bytearray(data)
        noisy[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        try:
            same(every_kind(), parse_plausible(bytes(noisy)))  # a time stamp in the zip, say
        except ModelError:
            continue


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "n.plausible"
    save(every_kind(), path)
    before = path.read_bytes()
    with pytest.raises(AttributeError):
        save(object(), path)  # type: ignore[arg-type]
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["n.plausible"]


def test_models_and_networks_are_told_apart(tmp_path: Path) -> None:
    model = Model()
    model.update(["win money now", "meeting at noon"], ["spam", "ham"])
    save(model, tmp_path / "model.plausible")
    save(every_kind(), tmp_path / "network.plausible")
    assert isinstance(load(tmp_path / "model.plausible"), Model)
    assert read(tmp_path / "model.plausible").graph.parents == {"class": (), "text": ("class",)}
    with pytest.raises(CallError, match=r"holds a belief network.*plausible query"):
        load_model(tmp_path / "network.plausible")


def shell(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from plausible.cli import main; main()", *words],
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


def test_in_a_shell(tmp_path: Path) -> None:
    bif = "variable rain { type discrete [2] { no, yes }; } probability (rain) { table .8, .2; }"
    (tmp_path / "a.bif").write_text(bif)
    for one, other in (("a.bif", "b.plausible"), ("b.plausible", "c.xdsl"), ("c.xdsl", "d.plausible")):
        done = shell("convert", one, other, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    asked = shell("query", "d.plausible", "rain", "--format", "csv", cwd=tmp_path)
    assert asked.stdout == "variable,state,probability,error\nrain,no,0.8,0.0\nrain,yes,0.2,0.0\n"
    facts = json.loads(shell("info", "b.plausible", "--format", "json", cwd=tmp_path).stdout)
    assert (facts["variables"], facts["parameters"]) == (1, 1)
    assert shell("compare", "b.plausible", "a.bif", cwd=tmp_path).returncode == 0
    refused = shell("classify", "b.plausible", "a.bif", cwd=tmp_path)
    assert refused.returncode == 2
    assert "plausible query b.plausible" in refused.stderr
