"""Tables as they are seen."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from plausible.cli import show
from tests.cli.running import Plausible


def on_a_terminal(folder: Path, *arguments: str, columns: int = 40) -> str:
    """What a command shows on a terminal so wide."""
    ours, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns)}
    with subprocess.Popen(
        [sys.executable, "-m", "plausible", *arguments], cwd=folder, stdin=its, stdout=its, stderr=its, env=environment
    ) as running:
        os.close(its)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the end of a terminal
                break
        assert running.wait(timeout=60) == 0
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_a_narrow_terminal(mail: Path, model: str) -> None:
    (mail / "new" / ("long name " * 8 + ".txt")).write_text("cheap money")
    shown = on_a_terminal(mail, "classify", model, "new")
    assert shown.splitlines()[0].split() == ["name", "label", "probability", "note"]
    assert all(len(line) <= 45 for line in shown.splitlines()), shown
    assert "…" in shown
    assert "…" not in on_a_terminal(mail, "classify", model, "new/a.txt", columns=200)


def test_what_a_terminal_would_obey_is_not_shown(tmp_path: Path, plausible: Plausible) -> None:
    (tmp_path / "t.csv").write_text("class,text\n\x1b[31mred,hi\nok\u202e,bye\n")
    plausible("learn", "t.csv", "-o", "m")
    shown = on_a_terminal(tmp_path, "explain", "m", "t.csv", "--row", "1") + on_a_terminal(tmp_path, "words", "m")
    assert "\N{REPLACEMENT CHARACTER}[31mred" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_classes_named_as_the_headings(tmp_path: Path, plausible: Plausible) -> None:
    (tmp_path / "t.csv").write_text("class,text\nfor,hi there\ntimes,bye\n")
    plausible("learn", "t.csv", "-o", "m")
    lines = plausible("explain", "m", "-", "--format", "table", stdin=b"hi").out.splitlines()
    assert lines[2].split() == ["word", "times", "for", "for", "times"]
    word, times, weight, seen, against, bar = lines[3].split()
    assert (word, times, seen, against) == ("hi", "1", "1", "0")
    assert float(weight) > 0
    assert bar.startswith("+")


@pytest.mark.parametrize(
    ("text", "width"), [("plain", 5), ("中文", 4), ("हिन्दी", 5), ("ที่นี่", 2), ("soft\u00adhyphen", 10)]
)
def test_the_width_of_scripts(text: str, width: int) -> None:
    first, second = show.table([{"a": text, "b": "x"}], ["a", "b"]).splitlines()
    assert first.index("b") - 2 == width
    assert second.endswith("x")
