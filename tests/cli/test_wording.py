"""Of one, messages speak in the singular, whatever they count."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import Plausible

ONE = re.compile(r"(?<![\d.,#])1 (?:(?!and|by|of|or)[a-z]+ ){0,2}?[a-z]+s\b")
SINGULAR = {"1 class", "1 is", "1 has", "1 was"}

MODELS: list[list[str]] = [
    ["learn", "one.csv", "-o", "m"],
    ["learn", "columns.csv", "--target", "class", "-o", "t"],
    ["learn", "gaps.csv", "-o", "g"],
    ["learn", "unlabelled.csv", "-o", "u"],
    ["learn", "folder", "-o", "f"],
    ["learn", "columns.csv", "--network", "net.bif", "-o", "n.plausible"],
    ["learn", "holes.csv", "--network", "net.bif", "-o", "h.plausible"],
]
USES: list[list[str]] = [
    ["evaluate", "one.csv"],
    ["evaluate", "one.csv", "--folds", "2"],
    ["evaluate", "two.csv", "--test", "strange.csv"],
    ["evaluate", "two.csv", "--leave-one-out"],
    ["classify", "m", "one.csv"],
    ["classify", "t", "strange.csv", "--strict"],
    ["classify", "t", "strange.csv"],
    ["rank", "two", "one.csv", "--for", "x"],
    ["explain", "two", "unknown.txt"],
    ["explain", "m", "two.csv", "--row", "3"],
    ["words", "m", "--class", "x"],
    ["info", "m"],
    ["update", "m", "one.csv"],
    ["forget", "m", "two.csv"],
    ["forget", "m", "one.csv"],
    ["estimate", "m", "--smoothing", "m=1", "-o", "e"],
    ["merge", "m", "m", "-o", "mm"],
    ["update", "n.plausible", "columns.csv"],
    ["update", "n.plausible", "holes.csv"],
    ["forget", "n.plausible", "columns.csv"],
    ["forget", "n.plausible", "many.csv"],
    ["merge", "n.plausible", "n.plausible", "-o", "nn.plausible"],
    ["info", "net.bif"],
    ["query", "net.bif", "a"],
    ["query", "net.bif", "a", "--given", "a=#5"],
    ["query", "net.bif", "a", "--given", "a=likelihood:1"],
    ["query", "net.bif", "a", "--given", "a=yes", "--method", "weighting"],
    ["query", "few.bif", "a"],
    ["query", "short.bif", "a"],
    ["draw", "net.bif", "-o", "net.svg"],
    ["structure", "column.csv"],
    ["structure", "column.csv", "--bootstrap", "2"],
    ["structure", "columns.csv", "--seconds", "0"],
    ["cluster", "points.csv", "-k", "2"],
    ["cluster", "same.csv", "-k", "2"],
    ["cluster", "points.csv", "-k", "1"],
    ["cluster", "words.csv", "-k", "2", "--text", "text"],
    ["learn", "ragged.csv", "-o", "m"],
]

NET = "network n {} variable a { type discrete [2] { yes, no }; } probability ( a ) { table 0.5, 0.5; }"
FILES = {
    "one.csv": "text,class\nhello,x\n",
    "two.csv": "text,class\nhello,x\nbye,y\n",
    "strange.csv": "text,class,a,b\nhello,z,other,1\n",
    "unlabelled.csv": "text,class\nhello,x\nbye,\n",
    "gaps.csv": "a,class\n,x\nu,x\n",
    "columns.csv": "a,class\nyes,x\n",
    "many.csv": "a,class\nyes,x\nyes,x\nyes,x\nno,x\n",
    "holes.csv": "a,class\n,x\n",
    "column.csv": "a\nu\nv\nu\nv\n",
    "points.csv": "a,b\n1,2\n",
    "same.csv": "a,b\n1,2\n1,2\n",
    "words.csv": "text\nhello\n",
    "ragged.csv": "text,class\nhello,x\nbye\n",
    "unknown.txt": "never",
    "folder/x/1.txt": "hello",
    "net.bif": NET,
    "few.bif": NET.replace("[2]", "[1]"),
    "short.bif": NET.replace("table 0.5, 0.5", "table 0.5, 0.5, 0.5"),
}


@pytest.mark.parametrize("uses", [MODELS, USES])
def test_one_is_said_in_the_singular(tmp_path: Path, plausible: Plausible, uses: list[list[str]]) -> None:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    for command in [*MODELS, ["learn", "two.csv", "-o", "two"], *uses]:
        table = [] if command[0] == "draw" else ["--format", "table"]
        done = plausible(*command, *table, status=None)
        for said in ONE.findall(done.out + done.err):
            assert said in SINGULAR, (command, done.out + done.err)
