"""BIF files: the repository's, odd ones, damaged ones."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from plausible.cpds import NoisyMax, as_table
from plausible.errors import DataError, PlausibleWarning
from plausible.files.bif import parse_bif, read_bif, render_bif, write_bif
from plausible.network import Network
from tests.networks.naive import random_network
from tests.networks.shared import needs_shared, shared

SMALL = """network odd { property author = "a; b"; }
// a comment
variable "Räin fall" { type discrete [ 2 ] { Asy/Patch, <5 }; property weight = 3; }
variable 7 { type discrete [3] { 12+, -1, 0.5 }; }  /* another
one */
probability ( "Räin fall" ) { table 0.3000003, 0.7; }
probability ( 7 | "Räin fall" ) { (<5) .1 .2 .7; (Asy/Patch) 1e-1, 2e-1, 7e-1; }
"""


def same(a: Network, b: Network) -> None:
    assert a.variables == b.variables
    assert a.graph.parents == b.graph.parents
    assert a.properties == b.properties
    for name in a.names:
        assert np.array_equal(as_table(a[name]).values, as_table(b[name]).values)


def test_odd_names_and_round_trip(tmp_path: Path) -> None:
    network = parse_bif(SMALL.encode())
    assert network.name == "odd"
    assert network.names == ("Räin fall", "7")
    assert network.variables[1].states == ("12+", "-1", "0.5")
    assert network.properties == {"": ('author = "a; b"',), "Räin fall": ("weight = 3",)}
    write_bif(network, tmp_path / "odd.bif")
    same(network, read_bif(tmp_path / "odd.bif"))
    assert [path.name for path in tmp_path.iterdir()] == ["odd.bif"]


@pytest.mark.parametrize("seed", range(10))
def test_random_round_trip(seed: int) -> None:
    network = random_network(seed, nodes=8, zeros=0.2)
    same(network, parse_bif(render_bif(network).encode()))


def test_tables_and_defaults() -> None:  # the child's states run slowest in a whole table
    text = SMALL.replace("(<5) .1 .2 .7; (Asy/Patch) 1e-1, 2e-1, 7e-1;", "table .1 .4 .2 .5 .7 .1;")
    assert as_table(parse_bif(text.encode())["7"]).values.tolist() == [[0.1, 0.2, 0.7], [0.4, 0.5, 0.1]]
    text = SMALL.replace("(Asy/Patch) 1e-1, 2e-1, 7e-1;", "default .3 .3 .4;")
    assert as_table(parse_bif(text.encode())["7"]).values.tolist() == [[0.3, 0.3, 0.4], [0.1, 0.2, 0.7]]


def test_blocks_before_their_variables() -> None:
    lines = SMALL.splitlines()
    same(parse_bif("\n".join([*lines[5:], *lines[:5]]).encode()), parse_bif(SMALL.encode()))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(<5)", "(<4)", r"line 7, column 36: unknown state of variable 'Räin fall' '<4'.*'<5'"),
        (".7; (", ".7, .1; (", r"line 7, column 50: expected ';' after 3 numbers, found '.1'"),
        (".1 .2 .7", ".1 .2 x", "expected a number, found 'x'"),
        (".1 .2 .7", ".1 .2 .6", r"line 7.*P\(7 \| Räin fall=<5\) sums to 0.9"),
        (".1 .2 .7", "-.1 .4 .7", "is -0.1"),
        ("[3]", "[4]", "says it has 4 states and lists 3"),
        ("-1, 0.5", "-1, 12+", "has the state '12[+]' twice"),
        ("variable 7", 'variable "Räin fall"', "declared twice"),
        ("(<5) .1 .2 .7;", "", r"P\(7 \| Räin fall=<5\) is not given"),
        (
            '( 7 | "Räin fall" )',
            '( 7 | "Rain fall" )',
            "unknown variable 'Rain fall'.*did you mean 'Räin fall'",
        ),
        ('( 7 | "Räin fall" )', "( 7 | 7 )", "'7' occurs twice"),
        ('( 7 | "Räin fall" )', '( "Räin fall" | 7 )', "unknown state|second distribution|cycle"),
        ("one */", "one", "line 4, column 53: this comment is never closed"),
        ("network odd", "netwrok odd", "expected 'network', 'variable' or 'probability', found 'netwrok'"),
        ("7e-1;", "7e-1", "expected ';' after 3 numbers, found '}'"),
        ("odd {", "odd \0{", "zero byte"),
    ],
)
def test_damage_is_located(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(DataError, match=message):
        parse_bif(SMALL.replace(old, new).encode())


@pytest.mark.filterwarnings("ignore:.*is taken as uniform")
def test_every_truncation_is_located() -> None:
    source = SMALL.encode()
    whole = source.rindex(b"probability")  # cut here, the last variable is left without a distribution
    for end in range(source.index(b"variable") + 1, len(source) - 2):
        if source[:end].strip() != source[:whole].strip():
            with pytest.raises(DataError, match=r"line \d+, column \d+"):
                parse_bif(source[:end])


def test_binary_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "noise.bif").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(DataError, match="line 1, column 1: a zero byte"):
        read_bif(tmp_path / "noise.bif")
    (tmp_path / "cut.bif").write_bytes(b"\x1f\x8b\x08\x00junk")
    with pytest.raises(DataError, match="fetch the file again"):
        read_bif(tmp_path / "cut.bif")
    with pytest.raises(DataError, match="no such file"):
        read_bif(tmp_path / "none.bif")


def test_hostile_texts() -> None:
    assert len(parse_bif(b"/* " * 100_000 + b"*/")) == 0
    with pytest.raises(DataError, match="expected"):
        parse_bif(b"(" * 100_000)
    many = "".join(f"variable v{i} {{ type discrete [2] {{ a, b }}; }}\n" for i in range(1001))
    above = ", ".join(f"v{i}" for i in range(1, 1001))
    with pytest.raises(DataError, match="1000 parents"):
        parse_bif((many + f"probability ( v0 | {above} ) {{ default .5, .5; }}").encode())


def test_messages_hold_whole_characters() -> None:
    for start in range(52, 64):
        for letter in "Ñ中😀":
            with pytest.raises(DataError, match=rf"found 'x+{letter}*'"):
                parse_bif(("x" * start + letter * 40).encode())


def test_comments_do_not_nest() -> None:
    for text, at in (("/* a /* b */ c */", 14), ("/*" * 50 + "*/", 6), ("/* /* */ /* x */ c", 18)):
        hint = "" if text.endswith("c") else "; comments don't nest: the first */ ended this one"
        with pytest.raises(DataError, match=re.escape(f"column {at}: expected") + f".*{re.escape(hint)}$"):
            parse_bif(text.encode())
    with pytest.raises(DataError, match="line 2, column 1: this comment is never closed"):
        parse_bif(b"// x\n/* a /* b\nvariable")


def test_latin_1() -> None:
    assert parse_bif(SMALL.encode("latin-1")).names[0] == "Räin fall"


@needs_shared
def test_repository() -> None:
    folder = shared() / "data/bayesnets/bif"
    for path in sorted(folder.iterdir()):
        if path.name == "carpo.bif":
            with pytest.warns(PlausibleWarning, match="'N117' has no distribution"):
                network = read_bif(path)
            assert isinstance(network["N9"], NoisyMax)
        else:
            network = read_bif(path)
        if os.path.getsize(path) < 50_000:
            same(network, parse_bif(render_bif(network).encode()))
    alarm = read_bif(folder / "alarm.bif.gz")
    assert (len(alarm), len(alarm.graph.arcs)) == (37, 46)
