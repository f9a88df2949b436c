"""Random and mutated bytes at the tokeniser and at the reader of model files: no crash, no hang, no other exception.

Short by default; `make test-long` goes on for minutes. The seed of a failure is in the name of its test.
"""

from __future__ import annotations

import random
from pathlib import Path

import naive
import pytest
from strategies import ALPHABET, SAMPLES

from plausible import Model, ModelError, Tokens, load, save

SHORT, LONG = range(4), range(1000, 1200)
seeds = pytest.mark.parametrize("seed", [*SHORT, *(pytest.param(seed, marks=pytest.mark.long) for seed in LONG)])
RULES = [Tokens(), Tokens(ngrams=(1, 3)), Tokens(ngrams=(2, 2)), Tokens(chars=(1, 4))]


def random_text(chance: random.Random) -> str:
    """Mutated samples, bytes in some encoding, long runs, and code points of one width."""
    way = chance.randrange(5)
    if way == 0:
        text = list(chance.choice(SAMPLES) * chance.randrange(1, 20))
        for _ in range(chance.randrange(10)):
            if text:
                text[chance.randrange(len(text))] = chr(chance.randrange(0x110000))
        return "".join(text)
    if way == 1:
        encoding = chance.choice(["latin-1", "utf-8", "utf-16-le", "gb18030"])
        return chance.randbytes(chance.randrange(400)).decode(
            encoding, "surrogateescape" if encoding == "utf-8" else "replace"
        )
    if way == 2:
        return chance.choice(ALPHABET) * chance.randrange(2000) + "".join(chance.choices(ALPHABET, k=50))
    if way == 3:
        top = chance.choice([0x80, 0x100, 0x10000, 0x110000])
        return "".join(chr(chance.randrange(top)) for _ in range(chance.randrange(300)))
    return "".join(chance.choices(ALPHABET, k=chance.randrange(300)))


@seeds
def test_any_text_is_cut_as_the_twin_cuts_it(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(150):
        text, tokens = random_text(chance), chance.choice(RULES)
        assert tokens.of(text) == naive.tokens(text, tokens.ngrams, tokens.chars)


@seeds
def test_any_documents_are_learned_and_forgotten(seed: int) -> None:
    chance = random.Random(seed)
    documents = [random_text(chance) for _ in range(60)]
    labels = [chance.choice("xyz") for _ in documents]
    model = Model(chance.choice(RULES))
    model.update(documents, labels, 2)
    model.scores_left_out(documents, labels, 2)
    model.forget(documents[1:], labels[1:])
    for term in set(model.tokens.of(documents[0])):
        assert model.terms.row(term) == [(0, (1, model.tokens.of(documents[0]).count(term)))]


@seeds
def test_any_model_file_is_read_or_refused(seed: int, tmp_path: Path) -> None:
    """Mutations under right checksums, so that they reach what lies behind them."""
    chance, path = random.Random(seed), tmp_path / "m.plausible"
    model = Model(chance.choice(RULES))
    model.update([random_text(chance) or "a" for _ in range(6)], list("xyzxyz"))
    save(model, path)
    whole = path.read_bytes()
    for _ in range(60):
        path.write_bytes(mutated(whole, chance))
        try:
            read = load(path)
        except ModelError:
            continue
        if read.documents:
            read.scores(["a b 中", ""])
            read.scorer.words()
        save(read, path)
        load(path)


def mutated(whole: bytes, chance: random.Random) -> bytes:
    """The zip with a few bytes of one member changed, cut or doubled; sizes and checksums made right again."""
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        victim = chance.choice(old.namelist())
        for name in old.namelist():
            data = bytearray(old.read(name))
            if name == victim and data:
                for _ in range(chance.choice([1, 1, 2, 8])):
                    at = chance.randrange(len(data))
                    way = chance.randrange(4)
                    if way == 0:
                        data[at] ^= 1 << chance.randrange(8)
                    elif way == 1:
                        data[at] = chance.choice(b"\x00\xff\n0{[\"'")
                    elif way == 2:
                        del data[at : at + chance.randrange(1, 9)]
                        data = data or bytearray(b"0")
                    else:
                        data[at:at] = data[at : at + chance.randrange(1, 9)]
            new.writestr(name, bytes(data))
    return out.getvalue()


def test_mutations_keep_their_checksums(tmp_path: Path) -> None:
    """Else the fuzz would test zlib: most mutations must reach the reader of the model itself."""
    path, chance = tmp_path / "m.plausible", random.Random(0)
    model = Model()
    model.update(["a b"], ["x"])
    save(model, path)
    whole, said = path.read_bytes(), []
    for _ in range(50):
        path.write_bytes(mutated(whole, chance))
        try:
            load(path)
        except ModelError as error:
            said.append(str(error))
    assert said
    assert not any("not a zip" in message for message in said)
