"""What the commands that answer at once load, and what they don't."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from plausible import learn, save

STANDARD = ["zipfile", "pathlib", "csv", "email", "urllib.parse", "concurrent.futures", "gzip"]
OTHERS = ["numpy", "scipy", "duckdb", "narwhals", "selectolax", "snowballstemmer"]
OURS = [f"plausible.{name}" for name in ("kinds", "expected", "attributes", "learning", "ranks", "cli.looking")]
HEAVY = [*STANDARD, *OTHERS, *OURS]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("start") / "mail.plausible"
    save(learn(["win money now", "cheap money", "meeting at noon"] * 9, ["spam", "spam", "ham"] * 9), path)
    path.with_name("letter.txt").write_text("money for lunch at noon")
    return path


def loaded(*words: str | Path) -> tuple[str, list[str]]:
    """What a command prints, and the heavy modules that it loads."""
    code = f"""
import sys
from plausible.cli import main
try:
    main()
finally:
    print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr.split()


def test_one_text_is_classified_without_anything_heavy(model: Path) -> None:
    said, heavy = loaded("classify", model, model.with_name("letter.txt"))
    assert '"label": ' in said
    assert heavy == []


def test_help_loads_nothing_heavy(model: Path) -> None:
    for words in ("--version",), ("classify", "--help"):
        assert loaded(*words)[1] == []
    assert loaded("--help")[1] == ["plausible.cli.looking"]


@pytest.mark.parametrize("words", [["info"], ["explain", "letter.txt"]], ids=" ".join)
def test_a_model_is_looked_into_without_anything_heavy(model: Path, words: list[str]) -> None:
    command, *rest = words
    said, heavy = loaded(command, model, *(model.with_name(name) for name in rest))
    assert said
    assert heavy == ["plausible.cli.looking"]
