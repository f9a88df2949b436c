"""Commands run in a folder of their own, and the mail that they learn from."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from plausible.cli import main
from tests.cli.running import COMMAND, HAM, SPAM, Done, Plausible, checked


@pytest.fixture
def process(tmp_path: Path) -> Plausible:
    """Run the command in a process of its own, in a folder of its own."""

    def run(*arguments: str, stdin: bytes = b"", status: int | None = 0, **environment: str) -> Done:
        here = {**os.environ, **environment}
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=tmp_path, input=stdin, capture_output=True, env=here, timeout=99
        )
        return checked(Done(done.stdout, done.stderr, done.returncode), status)

    return run


@pytest.fixture
def plausible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plausible:
    """Run the command in this process, which is quicker, as a process would."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: bytes = b"", status: int | None = 0) -> Done:
        streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("default")
            patch.setattr(sys, "argv", ["plausible", *arguments])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            with pytest.raises(SystemExit) as end:
                main()
        texts = []
        for stream in streams.values():
            stream.flush()
            texts.append(stream.buffer.getvalue())  # type: ignore[attr-defined]
        return checked(Done(*texts, end.value.code), status)  # type: ignore[arg-type]

    return run


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    """A folder with one sub-folder a class, files to classify, and a model."""
    for label, texts in (("spam", SPAM), ("ham", HAM)):
        (tmp_path / "mail" / label).mkdir(parents=True)
        for i, text in enumerate(texts):
            (tmp_path / "mail" / label / f"{i}.txt").write_text(text)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.txt").write_text("cheap money")
    (tmp_path / "new" / "b.txt").write_text("lunch meeting")
    return tmp_path


@pytest.fixture
def model(mail: Path, plausible: Plausible) -> str:
    """The model of that folder."""
    plausible("learn", "mail", "-o", "mail.plausible")
    return "mail.plausible"
