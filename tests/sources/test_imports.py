"""What the room loads, and when."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("numpy", "duckdb", "selectolax", "email", "narwhals", "gzip")


def test_reading_one_text_file_loads_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear John")
    script = (
        "import sys; from plausible.sources import open_source\n"
        "list(open_source(sys.argv[1]).tables())\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
