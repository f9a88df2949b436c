"""The command as a user meets it: what it printed, and how it ended."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-c", "from plausible.cli import main; main()"]


class Done:
    """What a command printed, and its exit status."""

    def __init__(self, out: bytes, err: bytes, status: int) -> None:
        self.out, self.err, self.status = out.decode(), err.decode(), status

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Plausible = Callable[..., Done]


def checked(done: Done, status: int | None) -> Done:
    """What was done, once it has ended with that status, or with any of ours."""
    assert done.status == status or (status is None and done.status in range(4)), done.err
    assert "Traceback" not in done.err
    if done.status in (1, 2):
        assert done.out == "", "standard output stays empty on failure"
        assert done.err.strip()
    return done


SPAM = ["win cheap money now", "cheap pills, win money", "money now now", "zażółć cheap 中文"]
HAM = ["meeting at noon", "lunch at noon?", "the meeting notes", "notes of lunch, 会议"]


def table(path: Path, rows: list[tuple[str, ...]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path.name


ROWS = [("subject", "body", "queue"), *((text, text, "spam") for text in SPAM), *((text, "", "ham") for text in HAM)]
