"""The command as a user meets it: in a process of its own, on real files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plausible.cli import COMMANDS, main

COMMAND = [sys.executable, "-c", "from plausible.cli import main; main()"]
EVALUATE_KEYS = [
    *("accuracy", "macro_f1", "log_loss", "calibration_error", "n_train", "n_test", "vocabulary"),
    *("classes", "per_class", "confusion"),
]


class Done:
    """What a command printed, and its exit status."""

    def __init__(self, out: bytes, err: bytes, status: int) -> None:
        self.out, self.err, self.status = out.decode(), err.decode(), status

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Plausible = Callable[..., Done]


def checked(done: Done, status: int) -> Done:
    assert done.status == status, done.err
    assert "Traceback" not in done.err
    if status in (1, 2):
        assert done.out == "", "standard output stays empty on failure"
        assert done.err.strip()
    return done


@pytest.fixture
def process(tmp_path: Path) -> Plausible:
    """Run the command in a process of its own, in a folder of its own."""

    def run(*arguments: str, stdin: bytes = b"", status: int = 0, **environment: str) -> Done:
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

    def run(*arguments: str, stdin: bytes = b"", status: int = 0) -> Done:
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


SPAM = ["win cheap money now", "cheap pills, win money", "money now now", "zażółć cheap 中文"]
HAM = ["meeting at noon", "lunch at noon?", "the meeting notes", "notes of lunch, 会议"]


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


def table(path: Path, rows: list[tuple[str, ...]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path.name


ROWS = [("subject", "body", "queue"), *((text, text, "spam") for text in SPAM), *((text, "", "ham") for text in HAM)]


# --- the lines of the issue -----------------------------------------------------------------------------------------


def test_a_folder_from_learning_to_forgetting(mail: Path, process: Plausible, model: str) -> None:
    learned = process("learn", "mail/", "-o", "again.plausible").rows
    assert learned == [
        {"model": "again.plausible", "documents": 8, "classes": 2, "vocabulary": learned[0]["vocabulary"]}
    ]
    assert (mail / "again.plausible").read_bytes() == (mail / model).read_bytes()

    answers = process("classify", model, "new/a.txt", "new/b.txt").rows
    assert [(row["name"], row["label"], row["note"]) for row in answers] == [
        ("new/a.txt", "spam", ""),
        ("new/b.txt", "ham", ""),
    ]
    assert process("classify", model, "new").rows == answers
    (from_stdin,) = process("classify", model, "-", stdin=b"cheap money").rows
    assert (from_stdin["label"], from_stdin["probability"]) == ("spam", answers[0]["probability"])
    (every,) = process("classify", model, "new/a.txt", "--probabilities").rows
    assert every["probabilities"]["spam"] == every["probability"]
    assert sum(every["probabilities"].values()) == pytest.approx(1)

    (why,) = process("explain", model, "new/a.txt", "--for", "ham").rows
    assert (why["label"], why["against"]) == ("ham", "spam")
    assert why["prior"] + why["absent"] + sum(word["weight"] for word in why["evidence"]) == pytest.approx(why["score"])
    assert {word["term"]: (word["seen"], word["seen_against"]) for word in why["evidence"]} == {
        "cheap": (0, 3),
        "money": (0, 3),
    }

    words = process("words", model, "--class", "spam", "--top", "2").rows
    assert {(row["class"], row["word"], row["seen"]) for row in words} == {("spam", "money", 3), ("spam", "cheap", 3)}

    (facts,) = process("info", model).rows
    assert (facts["documents"], facts["classes"]) == (8, {"ham": 4, "spam": 4})

    (said,) = process("forget", model, "mail/spam/0.txt", "--class", "spam", "-o", "less.plausible").rows
    assert said == {"model": "less.plausible", "forgotten": 1, "documents": 7}
    (less,) = process("info", "less.plausible").rows
    assert less["classes"] == {"ham": 4, "spam": 3}


def test_forgotten_and_merged_to_the_byte(mail: Path, plausible: Plausible) -> None:
    """What is forgotten leaves no trace; models learned apart give the model learned at once (uncalibrated)."""
    book = ("--model", "book")
    plausible("learn", "mail", *book, "-o", "all.plausible")
    for label in ("spam", "ham"):
        (mail / "monday" / label).mkdir(parents=True)
        shutil.move(mail / "mail" / label / "0.txt", mail / "monday" / label / "0.txt")
    plausible("learn", "mail", *book, "-o", "tuesday.plausible")
    plausible("learn", "monday", *book, "-o", "monday.plausible")
    plausible("merge", "monday.plausible", "tuesday.plausible", "-o", "both.plausible")
    assert (mail / "both.plausible").read_bytes() == (mail / "all.plausible").read_bytes()
    plausible("forget", "all.plausible", "monday")
    assert (mail / "all.plausible").read_bytes() == (mail / "tuesday.plausible").read_bytes()
    (said,) = plausible("update", "monday.plausible", "mail").rows
    assert said == {"model": "monday.plausible", "learned": 6, "documents": 8}
    assert (mail / "monday.plausible").read_bytes() == (mail / "both.plausible").read_bytes()
    told = plausible("update", "monday.plausible", "new/a.txt", status=2).err
    assert "which class is it of? say --class NAME" in told


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_threads_do_not_matter(mail: Path, plausible: Plausible, model: str, threads: str) -> None:
    plausible("learn", "mail", "-o", "again.plausible", "--threads", threads)
    assert (mail / "again.plausible").read_bytes() == (mail / model).read_bytes()


def test_a_table_with_two_texts(tmp_path: Path, plausible: Plausible) -> None:
    name = table(tmp_path / "tickets.csv", ROWS)
    arguments = ("--target", "queue", "--text", "subject", "--text", "body")
    plausible("learn", name, *arguments, "-o", "t.plausible")
    (facts,) = plausible("info", "t.plausible").rows
    assert (facts["text"], facts["target"], facts["classes"]) == ("subject, body", "queue", {"ham": 4, "spam": 4})
    answers = plausible("classify", "t.plausible", name).rows
    assert [row["label"] for row in answers] == ["spam"] * 4 + ["ham"] * 4
    assert answers[0]["name"] == "tickets.csv, line 2"
    plausible("forget", "t.plausible", name, "-o", "none.plausible")
    (nothing,) = plausible("info", "none.plausible").rows
    assert (nothing["documents"], nothing["vocabulary"], nothing["classes"]) == (0, 0, {})
    assert "learned nothing yet" in plausible("classify", "none.plausible", name, status=1).err


def as_json_lines(rows: list[tuple[str, ...]]) -> bytes:
    return "".join(
        json.dumps(dict(zip(rows[0], row, strict=True)), ensure_ascii=False) + "\n" for row in rows[1:]
    ).encode()


def test_one_model_from_every_kind_of_table(tmp_path: Path, plausible: Plausible) -> None:
    import duckdb

    table(tmp_path / "t.csv", ROWS)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    (tmp_path / "t.jsonl").write_bytes(as_json_lines(ROWS))
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(as_json_lines(ROWS)))
    duckdb.sql(f"copy (from read_csv('{tmp_path}/t.csv', all_varchar=true)) to '{tmp_path}/t.parquet'")
    arguments = ("--target", "queue", "--text", "subject", "-o", "m.plausible")
    models = []
    for source in ("t.csv", "t.csv.gz", "t.jsonl", "t.jsonl.gz", "t.parquet"):
        plausible("learn", source, *arguments)
        models.append((tmp_path / "m.plausible").read_bytes())
    plausible("learn", "-", *arguments, stdin=(tmp_path / "t.csv").read_bytes())
    models.append((tmp_path / "m.plausible").read_bytes())
    plausible("learn", "--sql", "select subject, queue from 't.parquet' where queue is not null", *arguments)
    models.append((tmp_path / "m.plausible").read_bytes())
    assert len(set(models)) == 1


MESSAGE = "From x@y Thu Jan  1 00:00:00 1970\nFrom: x@y\nSubject: {}\n\n{}\n\n"


def test_rank_a_mailbox(tmp_path: Path, plausible: Plausible, model: str) -> None:
    messages = [("lunch", "at noon"), ("cheap", "money"), ("", ""), ("cheap", "meeting")]
    (tmp_path / "inbox.mbox").write_text("".join(MESSAGE.format(*message) for message in messages))
    ranked = plausible("rank", model, "inbox.mbox", "--for", "spam").rows
    assert [row["name"].rpartition(" ")[2] for row in ranked] == ["2", "4", "1", "3"]
    assert [row["rank"] for row in ranked] == [1, 2, 3, 4]
    assert ranked[-1]["score"] is None
    assert plausible("rank", model, "inbox.mbox", "--for", "spam", "--top", "50%").rows == ranked[:2]
    assert plausible("rank", model, "inbox.mbox", "--for", "spam", "--top", "1").rows == ranked[:1]


def test_evaluate(mail: Path, plausible: Plausible) -> None:
    for way in (["--test-share", "0.333"], ["--test", "mail"], ["--folds", "4"], ["--leave-one-out"]):
        done = plausible("evaluate", "mail", *way, "--seed", "0", "--format", "json")
        figures = json.loads(done.out)
        assert list(figures)[: len(EVALUATE_KEYS)] == EVALUATE_KEYS
        assert done.out == plausible("evaluate", "mail", *way, "--seed", "0", "--format", "json").out
        assert figures["classes"] == ["ham", "spam"]


def test_a_gate_that_is_missed(mail: Path, plausible: Plausible) -> None:
    assert plausible("evaluate", "mail", "--test", "mail", "--fail-under", ".5").status == 0
    missed = plausible("evaluate", "mail", "--test", "mail", "--fail-under", "1.01", status=3)
    assert json.loads(missed.out)["accuracy"] <= 1
    assert "below 1.01" in missed.err


def test_test_on_sql(tmp_path: Path, plausible: Plausible) -> None:
    table(tmp_path / "t.csv", ROWS)
    arguments = ("--target", "queue", "--text", "subject", "--format", "json")
    done = plausible("evaluate", "t.csv", "--test", "select * from 't.csv' where queue = 'spam'", *arguments)
    assert json.loads(done.out)["n_test"] == 4


def test_estimated_again(mail: Path, plausible: Plausible, model: str) -> None:
    options = ("--smoothing", "m=100", "--drop-most-frequent", "2")
    plausible("estimate", model, "--events", "multinomial", *options, "-o", "new.plausible")
    (facts,) = plausible("info", "new.plausible").rows
    assert (facts["smoothing"], facts["drop most frequent"], facts["events"]) == ("m=100", "2", "multinomial")


# --- formats --------------------------------------------------------------------------------------------------------


def test_every_format_has_the_same_values(mail: Path, plausible: Plausible, model: str) -> None:
    lines = plausible("classify", model, "new").rows
    assert json.loads(plausible("classify", model, "new", "--format", "json").out) == lines
    assert plausible("classify", model, "new", "--format", "jsonl").rows == lines
    as_csv = list(csv.DictReader(io.StringIO(plausible("classify", model, "new", "--format", "csv").out)))
    assert [(row["name"], row["label"], float(row["probability"])) for row in as_csv] == [
        (row["name"], row["label"], row["probability"]) for row in lines
    ]
    shown = plausible("classify", model, "new", "--format", "table").out.splitlines()
    assert shown[0].split() == ["name", "label", "probability", "note"]
    assert [line.split()[:2] for line in shown[1:]] == [["new/a.txt", "spam"], ["new/b.txt", "ham"]]


@pytest.mark.parametrize("command", [["info"], ["words"], ["explain", "new/a.txt"], ["rank", "new", "--for", "spam"]])
@pytest.mark.parametrize("format_", ["table", "json", "jsonl", "csv"])
def test_every_answer_in_every_format(
    mail: Path, plausible: Plausible, model: str, command: list[str], format_: str
) -> None:
    out = plausible(command[0], model, *command[1:], "--format", format_).out
    if format_ == "json":
        json.loads(out)
    elif format_ == "jsonl":
        assert [json.loads(line) for line in out.splitlines()]
    elif format_ == "csv":
        rows = list(csv.reader(io.StringIO(out)))
        assert len(rows) > 1
        assert len({len(row) for row in rows}) == 1
    else:
        assert len(out.splitlines()) > 2


@pytest.mark.parametrize("command", ["evaluate", "learn"])
@pytest.mark.parametrize("format_", ["table", "json", "jsonl", "csv"])
def test_learning_in_every_format(mail: Path, plausible: Plausible, command: str, format_: str) -> None:
    more = ("-o", "m.plausible") if command == "learn" else ("--test", "mail")
    assert plausible(command, "mail", *more, "--format", format_).out.strip()


def test_classes_with_any_name(tmp_path: Path, plausible: Plausible) -> None:
    """Commas, quotes, newlines, Chinese: through CSV, the model, and back out as CSV and JSON."""
    names = ["a, b", 'say "so"', "two\nlines", "中文 类", "'; drop", " spaced "]
    table(tmp_path / "t.csv", [("text", "class"), *((f"word{i} word{i}", name) for i, name in enumerate(names))])
    plausible("learn", "t.csv", "-o", "m.plausible")
    assert [row["label"] for row in plausible("classify", "m.plausible", "t.csv").rows] == names
    out = plausible("classify", "m.plausible", "t.csv", "--format", "csv").out
    assert [row["label"] for row in csv.DictReader(io.StringIO(out, newline=""))] == names
    assert list(json.loads(plausible("info", "m.plausible").out)["classes"]) == sorted(names)
    assert plausible("classify", "m.plausible", "t.csv", "--format", "table").out.count("\n") == len(names) + 1


def test_no_colour(mail: Path, process: Plausible, model: str) -> None:
    for environment in ({"NO_COLOR": "1"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, {}):
        done = process("classify", model, "new", "--format", "table", **environment)
        assert "\x1b" not in done.out + done.err


# --- pipes, interruptions, full disks -------------------------------------------------------------------------------


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


# --- help -----------------------------------------------------------------------------------------------------------


def test_help_opens_with_an_example(plausible: Plausible) -> None:
    assert "plausible learn mail/ -o mail.plausible" in plausible("--help").out
    assert plausible("--version").out.startswith("plausible, version 0.")
    for command in COMMANDS:
        text = plausible(command, "--help").out
        paragraphs = text.split("\n\n")
        assert paragraphs[2].strip().startswith(f"plausible {command} "), text
        assert text == plausible(command, "-h").out
        assert command in plausible("--help").out


def test_every_option_is_explained(plausible: Plausible) -> None:
    for command in COMMANDS:
        options = plausible(command, "--help").out.partition("Options:\n")[2]
        for line in options.splitlines():
            if line.strip().startswith("-"):
                assert len(line.split("  ")) > 2 or options.split(line)[1].startswith("\n   "), line


# --- bad input ------------------------------------------------------------------------------------------------------


def write(tmp_path: Path, name: str, data: bytes | str) -> str:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return name


@pytest.mark.parametrize(
    ("files", "arguments", "status", "said"),
    [
        ({"empty/.hidden": ""}, ["learn", "empty", "-o", "m"], 1, ["'empty' holds no files", "sub-folder"]),
        ({"f/Spam/1": "a", "f/spam/1": "b"}, ["learn", "f", "-o", "m"], 1, ["Spam", "spam", "case"]),
        ({}, ["learn", "nothing.csv", "-o", "m"], 2, ["no file or folder 'nothing.csv'"]),
        ({"tickets.csv": "a,b\n"}, ["learn", "tickts.csv", "-o", "m"], 2, ["did you mean 'tickets.csv'"]),
        (
            {"t.csv": "subject,queue\na,x\n"},
            ["learn", "t.csv", "--target", "quue", "-o", "m"],
            2,
            ["unknown column of t.csv 'quue'", "'subject', 'queue'", "did you mean 'queue'?"],
        ),
        (
            {"t.csv": "a,b,c\n1,2,3\n"},
            ["learn", "t.csv", "-o", "m"],
            2,
            ["which column of t.csv is the class", "--target"],
        ),
        ({"t.csv": "text,class\na,\nb,\n"}, ["learn", "t.csv", "-o", "m"], 1, ["all 2 documents lack a class"]),
        (
            {"t.csv": "text,class\na,x\nb,\n"},
            ["learn", "t.csv", "--strict", "-o", "m"],
            1,
            ["t.csv, line 3", "no class in 'class'", "--strict"],
        ),
        ({"t.csv": 'text,class\na,x\n"b"c,y\n'}, ["learn", "t.csv", "-o", "m"], 1, ["t.csv, line 3", "quot"]),
        ({"t.csv": 'text,class\na,x\n"b,y\nc,z\n'}, ["learn", "t.csv", "-o", "m"], 1, ["t.csv, line 3", "quot"]),
        ({"t.csv": "text,class\na,x,y\n"}, ["learn", "t.csv", "-o", "m"], 1, ["t.csv, line 2", "3 cells", "2 columns"]),
        ({"t.csv": ""}, ["learn", "t.csv", "-o", "m"], 1, ["t.csv is empty", "name the columns"]),
        (
            {"t.csv.gz": gzip.compress(b"text,class\na,x\n" * 1000)[:60]},
            ["learn", "t.csv.gz", "-o", "m"],
            1,
            ["t.csv.gz", "breaks off"],
        ),
        (
            {"f/x/1.txt": b"caf\xff\xfe \x81 \xe9", "f/y/1.txt": "a"},
            ["learn", "f", "--encoding", "utf-8", "-o", "m"],
            1,
            ["f/x/1.txt", "byte"],
        ),
        ({"t.csv": "text,class\na,x\n"}, ["learn", "t.csv", "--encoding", "utf-88", "-o", "m"], 2, ["utf-88"]),
        ({"m": b"PK\x03\x04"}, ["classify", "m", "-"], 1, ["no whole plausible model"]),
        ({"m": b""}, ["info", "m"], 1, ["no whole plausible model"]),
        ({}, ["classify", "no.plausible", "-"], 2, ["there is no model 'no.plausible'", "plausible learn"]),
        (
            {"t.csv": "text,class\na,x\n"},
            ["learn", "t.csv", "-o", "no/such/m"],
            2,
            ["can't be written", "another place"],
        ),
        ({}, ["learn", "--sql", "select nope from nowhere", "-o", "m"], 2, ["nowhere"]),
        ({}, ["learn", "-o", "m"], 2, ["name one source"]),
        ({}, ["lern"], 2, ["unknown command 'lern'", "did you mean 'learn'?"]),
        ({}, ["learn", "x", "-o", "m", "--ngrams", "2-"], 2, ["no range", "A-B"]),
        ({}, ["learn", "x", "-o", "m", "--ngrams", "2-1"], 2, ["ngrams 2-1", "must rise"]),
        ({}, ["learn", "x", "-o", "m", "--smoothing", "m=-1"], 2, ["m must be a number that is not negative"]),
        ({}, ["learn", "x", "-o", "m", "--smoothing", "m=nan"], 2, ["m must be a number that is not negative"]),
        ({}, ["learn", "x", "-o", "m", "--smoothing", "lots"], 2, ["laplace, mle, m=X"]),
        ({}, ["learn", "x", "-o", "m", "--min-count", "0"], 2, ["min_count must be a whole number of at least 1"]),
        ({}, ["learn", "x", "-o", "m", "--min-count", "9" * 30], 2, ["min_count must be a whole number"]),
        ({}, ["learn", "x", "-o", "m", "--threads", "0"], 2, ["--threads"]),
        ({"t.csv": "text,class\na,x\nb,y\n"}, ["evaluate", "t.csv", "--seed", "-1"], 2, ["seed must not be negative"]),
        ({"t.csv": "text,class\na,x\nb,y\n"}, ["evaluate", "t.csv", "--folds", "9"], 2, ["9 folds of 2 documents"]),
        ({"t.csv": "text,class\na,x\nb,y\n"}, ["evaluate", "t.csv", "--test-share", "2"], 2, ["between 0 and 1"]),
    ],
)
def test_bad_input(
    tmp_path: Path,
    plausible: Plausible,
    files: dict[str, bytes | str],
    arguments: list[str],
    status: int,
    said: list[str],
) -> None:
    for name, data in files.items():
        write(tmp_path, name, data)
    done = plausible(*arguments, status=status)
    for words in said:
        assert words in done.err
    assert not (tmp_path / "m").exists() or "m" in files


def test_bad_questions(mail: Path, plausible: Plausible, model: str) -> None:
    (mail / "two.csv").write_text("text\na\nb\n")
    for arguments, status, said in (
        (["rank", model, "new", "--for", "spa"], 2, "did you mean 'spam'"),
        (["rank", model, "new", "--for", "spam", "--top", "0"], 2, "--top 0"),
        (["rank", model, "new", "--for", "spam", "--top", "-5%"], 2, "--top -5%"),
        (["rank", model, "new", "--for", "spam", "--top", "x"], 2, "a number of documents, or a share such as 10%"),
        (["explain", model, "two.csv"], 2, "2 documents; explain takes one"),
        (["explain", model, "new/a.txt", "--for", "Ham"], 2, "did you mean 'ham'"),
        (["words", model, "--class", "Spam"], 2, "did you mean 'spam'"),
        (["forget", model, "new/a.txt"], 2, "new/a.txt: which class is it of? say --class NAME"),
        (["forget", model, "new/a.txt", "--class", "hum"], 2, "did you mean 'ham'"),
        (["forget", model, "new/b.txt", "--class", "spam"], 1, "never learned"),
        (["classify", model, "new/c.txt"], 2, "no file or folder"),
    ):
        assert said in plausible(*arguments, status=status).err, arguments


def test_what_is_odd_is_noted(mail: Path, plausible: Plausible, model: str) -> None:
    """Empty documents, documents without a known word, labels left empty, one class: done, and said."""
    rows = plausible("classify", model, "-", stdin=b"").rows
    assert rows[0]["note"] == "no text: answered by the prior"
    rows = plausible("classify", model, "-", stdin=b"xylophone").rows
    assert rows[0]["note"] == "no known word: answered by the prior"
    (mail / "t.csv").write_text("text,class\na,x\nb,\nc,\nd,y\n")
    assert "skipped 2 documents of t.csv without a class" in plausible("learn", "t.csv", "-o", "m").err
    (mail / "one.csv").write_text("text,class\na,x\nb,x\n")
    assert "one class only ('x')" in plausible("learn", "one.csv", "-o", "m").err
    assert plausible("classify", "m", "-", stdin=b"anything").rows[0]["label"] == "x"


def test_undefined_is_said(mail: Path, plausible: Plausible) -> None:
    """Without smoothing a document with words of two classes is impossible in both."""
    plausible("learn", "mail", "--smoothing", "mle", "--model", "book", "-o", "m")
    (row,) = plausible("classify", "m", "-", stdin=b"cheap meeting").rows
    assert "all products are 0" in row["note"]
    assert row["probability"] == pytest.approx(0.5)
    (why,) = plausible("explain", "m", "-", stdin=b"cheap meeting").rows
    assert {word["weight"] for word in why["evidence"]} == {"inf", "-inf"}
    assert why["score"] == 0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1", "gb18030"])
def test_encodings(mail: Path, plausible: Plausible, model: str, encoding: str) -> None:
    text = {"latin-1": "réunion à midi: meeting, lunch, déjà", "gb18030": "会议中文，会议中文，会议"}.get(
        encoding, "会议 meeting zażółć"
    )
    (mail / "new" / "a.txt").write_bytes(text.encode(encoding))
    assert plausible("classify", model, "new/a.txt").rows[0]["label"] == "ham"


def test_nul_bytes_and_one_long_line(mail: Path, plausible: Plausible, model: str) -> None:
    (mail / "new" / "a.txt").write_bytes(b"cheap\x00money " * 500_000)
    (row,) = plausible("classify", model, "new/a.txt").rows
    assert (row["label"], row["note"]) == ("spam", "")


@pytest.mark.long
def test_a_line_of_100_megabytes(mail: Path, plausible: Plausible, model: str) -> None:
    (mail / "big.csv").write_bytes(b"text\n" + b"cheap money " * 9_000_000 + b"\n")
    (row,) = plausible("classify", model, "big.csv").rows
    assert row["label"] == "spam"


def test_stop_words_of_a_file(mail: Path, plausible: Plausible) -> None:
    (mail / "stop.txt").write_text("Money\nThe Noon\n\n")
    plausible("learn", "mail", "--stop-words", "stop.txt", "-o", "m")
    found = {row["word"] for row in plausible("words", "m", "--top", "100").rows}
    assert "cheap" in found
    assert not found & {"money", "the", "noon"}


def test_the_installed_command(mail: Path) -> None:
    """The script that installing makes, where the package is installed."""
    script = shutil.which("plausible", path=os.path.dirname(sys.executable))
    if script is None:
        pytest.skip("plausible is not installed in this environment (it is run from its folder)")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("plausible, version")


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "plausible", "info", "no-such-file"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "no-such-file" in done.stderr
