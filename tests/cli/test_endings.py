"""Pipes that close, keys that interrupt, disks that are full."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, ROWS, Plausible, table


def test_a_closed_pipe_is_silent(tmp_path: Path, mail: Path, plausible: Plausible, model: str) -> None:
    table(tmp_path / "many.csv", [("text",), *(("cheap money " * 20,) for _ in range(5000))])
    for format_ in ("jsonl", "csv", "json", "table"):
        process = subprocess.Popen(
            [*COMMAND, "classify", model, "many.csv", "--format", format_],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a Linux device")
def test_output_to_a_full_disk(tmp_path: Path, mail: Path, plausible: Plausible, model: str) -> None:
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [*COMMAND, "classify", model, "new"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert process.returncode == 1
    assert process.stderr.decode() == "Error: output: No space left on device\n"


def test_interrupted_learning_keeps_the_old_model(tmp_path: Path, mail: Path, plausible: Plausible, model: str) -> None:
    """Ctrl-C while a slow source is read: status 130, a sentence, and the old file."""
    old = (tmp_path / model).read_bytes()
    process = subprocess.Popen(
        [*COMMAND, "learn", "-", "--target", "class", "-o", model],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"text,class\n" + b"a b,x\nc d,y\n" * 100_000)
    process.stdin.flush()  # it has read at least what the pipe can't hold, so it is past its start
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().strip() == "Interrupted; no file was changed."
    assert (tmp_path / model).read_bytes() == old
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".plausible-")]


def test_a_failure_leaves_the_old_model(tmp_path: Path, mail: Path, plausible: Plausible, model: str) -> None:
    old = (tmp_path / model).read_bytes()
    (tmp_path / "bad.csv").write_text('text,class\na,x\n"b,y\n')
    plausible("learn", "bad.csv", "-o", model, status=1)
    plausible("forget", model, "new/a.txt", "--class", "ham", status=1)
    plausible("merge", model, "bad.csv", "-o", model, status=1)
    plausible("estimate", model, "--smoothing", "m=nan", "-o", model, status=2)
    assert (tmp_path / model).read_bytes() == old


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn", "t.csv", "--target", "queue", "--text", "subject", "-o", "t.csv"],
        ["learn", "t.csv", "--target", "queue", "--text", "subject", "-o", "./mail/../t.csv"],
        ["learn", "mail", "--stop-words", "t.csv", "-o", "t.csv"],
        ["learn", "mail", "--unlabelled", "t.csv", "-o", "t.csv"],
        ["learn", "t.csv", "--network", "n.bif", "-o", "t.csv"],
        ["evaluate", "t.csv", "--target", "queue", "--plot", "t.csv"],
        ["evaluate", "mail", "--test", "t.csv", "--plot", "t.csv"],
        ["update", "mail.plausible", "t.csv", "--class", "ham", "-o", "t.csv"],
        ["forget", "mail.plausible", "t.csv", "--class", "ham", "-o", "t.csv"],
        ["cluster", "t.csv", "-k", "2", "--text", "body", "--memberships", "t.csv"],
        ["cluster", "mail", "-k", "2", "--plot", "p.svg", "--memberships", "p.svg"],
        ["structure", "t.csv", "-o", "t.csv"],
        ["sample", "t.csv", "-o", "t.csv"],
        ["draw", "t.csv", "-o", "t.csv"],
        ["reader", "--store", "t.csv", "--export", "t.csv"],
    ],
)
def test_what_is_read_is_not_overwritten(mail: Path, plausible: Plausible, model: str, arguments: list[str]) -> None:
    table(mail / "t.csv", ROWS)
    before = (mail / "t.csv").read_bytes()
    assert "would be overwritten" in plausible(*arguments, status=2).err
    assert (mail / "t.csv").read_bytes() == before


def test_pipes_are_written_to_and_kept(mail: Path, plausible: Plausible, model: str) -> None:
    """A device or a pipe is no file that another could take the place of."""
    pipe = mail / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reading:
        plausible("learn", "mail", "-o", "pipe")
        assert reading.stdout is not None
        assert reading.stdout.read() == (mail / model).read_bytes()
    assert pipe.is_fifo()
    assert "- is none" in plausible("learn", "mail", "-o", "-", status=2).err


def test_streams_that_are_closed_or_narrow(mail: Path, process: Plausible, model: str) -> None:
    def shell(line: str, **environment: str) -> tuple[bytes, bytes, int]:
        command = " ".join(map(shlex.quote, COMMAND))
        done = subprocess.run(
            ["sh", "-c", line.replace("plausible", command, 1)],
            cwd=mail,
            capture_output=True,
            env={**os.environ, **environment},
        )
        return done.stdout, done.stderr, done.returncode

    assert shell(f"plausible classify {model} new >&-") == (b"", b"", 0)
    assert shell(f"plausible classify {model} missing 2>&-") == (b"", b"", 2)
    out, error, status = shell(f"plausible classify {model} - <&-")
    assert (out, status) == (b"", 2)
    assert b"standard input is closed" in error

    name = os.fsencode(mail / "new") + b"/caf\xe9 \xe4\xb8\xad.txt"
    Path(os.fsdecode(name)).write_text("cheap money")
    for format_ in ("jsonl", "csv", "table"):
        for encoding in ("utf-8", "latin-1", "ascii"):
            line = f"plausible classify {model} new --format {format_}"
            out, error, status = shell(line, PYTHONIOENCODING=encoding)
            assert (error, status) == (b"", 0)
            assert len(out.splitlines()) >= 3
    assert (
        b"caf\\ufffd \\u4e2d.txt" in shell(f"plausible classify {model} new --format csv", PYTHONIOENCODING="ascii")[0]
    )
