"""Coverage-guided fuzzing of the tokeniser and the readers: whatever the bytes, an answer or a PlausibleError.

    python fuzz/fuzz.py tokens|mail|mbox|csv|jsonl|model|network [-max_total_time=60] [CORPUS_FOLDER]

Options behind the name are libFuzzer's. An input that fails is written to the current folder, and given as an argument
it is run again.
"""

from __future__ import annotations

import io
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["plausible"]):
    import plausible
    from plausible.encode import batches
    from plausible.learning.classifier import options_from

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import contextlib

import naive

FOLDER = Path(tempfile.mkdtemp())
RULES = [plausible.Tokens(), plausible.Tokens(ngrams=(1, 3)), plausible.Tokens(chars=(1, 4))]
ENCODINGS = ["utf-8", "utf-16-le", "utf-32-le", "latin-1", "gb18030"]


def tokens(data: bytes) -> None:
    """The tokens of a text are those of the slow twin."""
    if len(data) < 2:
        return
    text = data[2:].decode(ENCODINGS[data[0] % len(ENCODINGS)], "replace")
    rules = RULES[data[1] % len(RULES)]
    assert rules.of(text) == naive.tokens(text, rules.ngrams, rules.chars)


def reader(name: str, **options: object) -> Callable[[bytes], None]:
    """Every row of a file of this name is read, or the file is refused."""

    def run(data: bytes) -> None:
        path = FOLDER / name
        path.write_bytes(data)
        chosen = options_from(**options)  # type: ignore[arg-type]
        try:
            source = chosen.open(path)
            columns = chosen.model_for(source).reading.columns
            for batch in batches(source, columns):
                len(batch)
        except plausible.PlausibleError:
            pass

    return run


def model(data: bytes) -> None:
    """A model file whose members are these bytes, cut at blank lines, under right checksums."""
    path = FOLDER / "m.plausible"
    out = io.BytesIO(GOOD)
    with zipfile.ZipFile(io.BytesIO(GOOD)) as good, zipfile.ZipFile(out, "w") as made:
        names = good.namelist()
        victim = names[data[0] % len(names)] if data else names[0]
        for name in names:
            made.writestr(name, data[1:] if name == victim else good.read(name))
    path.write_bytes(out.getvalue())
    with contextlib.suppress(plausible.PlausibleError):
        plausible.load(path).scores(["a b 中"])


def network(data: bytes) -> None:
    path = FOLDER / "n.bif"
    path.write_bytes(data)
    with contextlib.suppress(plausible.PlausibleError):
        plausible.read(path)


def good_model() -> bytes:
    path = FOLDER / "good.plausible"
    plausible.save(plausible.learn(["a b", "b c", "中文"], ["x", "y", "x"], raw=True), path)
    return path.read_bytes()


GOOD = good_model()
TARGETS: dict[str, Callable[[bytes], None]] = {
    "tokens": tokens,
    "mail": reader("m.eml"),
    "mbox": reader("m.mbox"),
    "csv": reader("t.csv", target="a"),
    "jsonl": reader("t.jsonl", target="a"),
    "model": model,
    "network": network,
}
SEEDS: dict[str, list[bytes]] = {
    "tokens": [b"\0\0It's 3 o'clock", "\0\1wstał zły".encode(), b"\1\2" + "हिन्दी 中文 ไทย".encode("utf-16-le")],
    "mail": [b"Subject: a\nContent-Type: text/html; charset=gb18030\n\n<p>b</p>"],
    "mbox": [b"From a@b Mon Jan  1 00:00:00 2024\nSubject: x\n\nbody\n\nFrom c@d Mon Jan  1 00:00:00 2024\n\nb\n"],
    "csv": [b'a,b\n1,"x ""y""\nz"\n2,\n', b"a;b\r\n1;2\r\n"],
    "jsonl": [b'{"a": "x", "b": 1}\n{"a": null}\n'],
    "model": [bytes([i]) for i in range(8)],
    "network": [
        b"network n {}\nvariable a { type discrete [ 2 ] { x, y }; }\nprobability ( a ) { table 0.2, 0.8; }\n",
    ],
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: fuzz.py {'|'.join(TARGETS)} [libFuzzer's options]")
    warnings.simplefilter("ignore")
    target = sys.argv.pop(1)
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    for i, seed in enumerate(SEEDS[target]):
        (corpus / f"{i}").write_bytes(seed)
    atheris.Setup([*sys.argv, "-close_fd_mask=1", str(corpus)], TARGETS[target])
    atheris.Fuzz()
