"""Input that can't be used as it is, or only after a word about it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.running import Plausible


def write(tmp_path: Path, name: str, data: bytes | str) -> str:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return name


NET = (
    "network n {} variable x { type discrete [2] { u, v }; } variable y { type discrete [2] { u, v }; } "
    "probability ( x ) { table 0.5, 0.5; } probability ( y | x ) { (u) 0.1, 0.9; (v) 0.8, 0.2; }"
)


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
        ({"t.csv": "text,class\na,\nb,\n"}, ["learn", "t.csv", "-o", "m"], 1, ["no document has a class"]),
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
            {"t.csv.gz": gzip.compress(b"text,class\na,x\n") + b"more"},
            ["learn", "t.csv.gz", "-o", "m"],
            1,
            ["t.csv.gz", "breaks off or is damaged"],
        ),
        (
            {"f/x/1.txt": b"caf\xff\xfe \x81 \xe9", "f/y/1.txt": "a"},
            ["learn", "f", "--encoding", "utf-8", "-o", "m"],
            1,
            ["f/x/1.txt", "byte"],
        ),
        ({"t.csv": "text,class\na,x\n"}, ["learn", "t.csv", "--encoding", "utf-88", "-o", "m"], 2, ["utf-88"]),
        ({"m": b"PK\x03\x04"}, ["classify", "m", "-"], 1, ["no whole plausible model"]),
        ({"m": b"hello"}, ["info", "m"], 1, ["no whole plausible model", "name another file"]),
        ({"m": NET}, ["classify", "m", "-"], 2, ["holds a belief network", "plausible query m"]),
        ({"n.bif": NET}, ["words", "n.bif"], 2, ["holds a belief network", "plausible query n.bif"]),
        ({"n.bif": NET}, ["draw", "n.bif", "-o", "m.png"], 2, ["an .svg file"]),
        ({"n.bif": NET}, ["sample", "n.bif", "-n", str(10**15)], 1, ["more memory than there is"]),
        ({"t.csv": "a,b b\nu,\nv,\n"}, ["structure", "t.csv"], 1, ["no value at all", "--drop 'b b'"]),
        ({}, ["classify", "no.plausible", "-"], 2, ["there is no model 'no.plausible'", "plausible learn"]),
        (
            {"t.csv": "text,class\na,x\n"},
            ["learn", "t.csv", "-o", "no/such/m"],
            2,
            ["can't be written", "another place"],
        ),
        # told before anything is read
        ({}, ["learn", "none.csv", "-o", "no/such/m"], 2, ["can't be written", "another place"]),
        ({}, ["learn", "none.csv", "-o", "-"], 2, ["needs a file"]),
        ({}, ["evaluate", "none.csv", "--plot", "no/such/m.svg"], 2, ["can't be written", "another place"]),
        ({}, ["structure", "none.csv", "-o", "no/such/m.bif"], 2, ["can't be written", "another place"]),
        ({}, ["cluster", "none.csv", "--memberships", "no/such/m"], 2, ["can't be written", "another place"]),
        (
            {"t.csv": "text,class\na,x\n", "inbox.txt": "a"},
            ["learn", "t.csv", "--unlabelled", "inbx.txt", "-o", "m"],
            2,
            ["no file or folder 'inbx.txt'", "did you mean 'inbox.txt'"],
        ),
        ({}, ["learn", "--sql", "select nope from nowhere", "-o", "m"], 2, ["nowhere"]),
        ({}, ["learn", "--sql", "selec nope", "-o", "m"], 2, ["the SQL text: Parser Error", 'near "selec"']),
        ({}, ["cluster", "--sql", "selec nope", "-k", "2"], 2, ["the SQL text: Parser Error"]),
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
        (
            {"t.csv": "text,class\na,x\nb,y\n"},
            ["evaluate", "t.csv", "--seed", "-1"],
            2,
            ["the seed is -1; it is a whole number"],
        ),
        ({"t.csv": "text,class\na,x\nb,y\n"}, ["evaluate", "t.csv", "--folds", "9"], 2, ["9 folds of 2 documents"]),
        ({"t.csv": "text,class\na,x\nb,y\n"}, ["evaluate", "t.csv", "--test-share", "2"], 2, ["between 0 and 1"]),
        ({}, ["evaluate", "t.csv", "--fail-under", "nan"], 2, ["--fail-under", "0<=x<=1"]),
        ({}, ["evaluate", "t.csv", "--fail-under", "85"], 2, ["--fail-under", "0<=x<=1"]),
        ({}, ["structure", "t.csv", "--bootstrap", "9", "--least", "nan"], 2, ["--least", "0<=x<=1"]),
        ({}, ["query", "n.bif", "--precision", "nan"], 2, ["--precision", "x>0"]),
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


@pytest.mark.parametrize("seed", [-1, 1 << 64])
@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster", "t.csv", "-k", "2"],
        ["structure", "t.csv", "--cut", "2", "--bootstrap", "2"],
        ["structure", "t.csv", "--cut", "2", "--mcmc", "10"],
        ["structure", "t.csv", "--cut", "2", "--method", "k2"],
        ["sample", "n.bif"],
        ["query", "n.bif", "--method", "weighting"],
        ["query", "n.bif", "--method", "gibbs"],
        ["learn", "h.csv", "--network", "n.bif", "--hidden", "y=2", "-o", "o.bif"],
    ],
)
def test_seeds(tmp_path: Path, plausible: Plausible, arguments: list[str], seed: int) -> None:
    write(tmp_path, "t.csv", "a,b\n1,2\n2,4\n4,1\n")
    write(tmp_path, "n.bif", NET)
    write(tmp_path, "h.csv", "x\nu\nv\nu\n")
    assert f"the seed is {seed}; it is a whole number" in plausible(*arguments, "--seed", str(seed), status=2).err


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


def test_hints_can_be_typed(tmp_path: Path, plausible: Plausible) -> None:
    (tmp_path / "t.csv").write_text("the text,same,class\nhello you,1,x\nbye you,1,y\n")
    said = plausible("learn", "t.csv", "-o", "m").err
    assert "(--ignore same leaves it out)" in said
    (tmp_path / "t.csv").write_text("a,all one,class\nu,1,x\nv,1,y\n")
    assert "(--ignore 'all one' leaves it out)" in plausible("learn", "t.csv", "-o", "m").err


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
