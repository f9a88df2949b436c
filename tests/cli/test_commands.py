"""The command as a user meets it: on real files, in every format, and its help."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plausible.cli import COMMANDS
from tests.cli.running import ROWS, Plausible, table

EVALUATE_KEYS = [
    *("accuracy", "macro_f1", "log_loss", "calibration_error", "n_train", "n_test", "vocabulary"),
    *("classes", "per_class", "confusion"),
]


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
    for label, other in (("spam", "ham"), ("ham", "spam")):
        shutil.copytree(mail / "mail" / label, mail / "other" / other)
    missed = plausible("evaluate", "mail", "--test", "other", "--fail-under", "1", status=3)
    assert json.loads(missed.out)["accuracy"] < 1
    assert "below 1" in missed.err


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
