"""Clusters of documents: rows of words, their weights, starts, and `plausible cluster` on every kind of source."""

import csv
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import _native
from plausible.cli import plausible
from plausible.errors import CallError, DataError
from plausible.learning.mixtures.clusters import cluster
from plausible.learning.mixtures.tables import mixture_of_tables
from plausible.learning.mixtures.words import PART, Bags, Entries, Words, beside
from plausible.text import Tokens

TOPICS = ("rose tulip garden soil bloom", "bank rate loan credit money", "goal match team league score")


def articles(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return [
        " ".join([*rng.choice(TOPICS[i % 3].split(), 6), *rng.choice(["the", "of", "day", "again"], 4)])
        for i in range(n)
    ]


def run(*arguments):
    return CliRunner().invoke(plausible, ["cluster", *map(str, arguments)], catch_exceptions=False)


def plain(texts, least, most):
    """The twin: sorted terms by documents, and a dictionary a document."""
    bags = [dict.fromkeys(Tokens().of(text), 0) for text in texts]
    for bag, text in zip(bags, texts, strict=True):
        for term in Tokens().of(text):
            bag[term] += 1
    with_ = {term: sum(term in bag for bag in bags) for bag in bags for term in bag}
    terms = sorted((t for t in with_ if least <= with_[t] <= most), key=lambda t: (-with_[t], t))
    return terms, [with_[t] for t in terms], [{t: n for t, n in bag.items() if t in terms} for bag in bags]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.text(alphabet="ab ż,\n", max_size=30), min_size=1, max_size=12),
    st.integers(1, 3),
    st.integers(1, 12),
    st.integers(1, 4),
)
def test_rows_of_documents_are_their_plain_twin(texts, least, most, threads):
    bags = _native.Bags()
    for text in texts:
        bags.add([text], threads)
    raw, documents, starts, features, times = bags.rows(least, most, [], threads)
    terms, with_, rows = plain(texts, least, most)
    assert raw.decode().split("\n")[:-1] == terms
    assert documents.tolist() == with_

    def listed(starts, features, times):
        return [{terms[features[e]]: times[e] for e in range(starts[i], starts[i + 1])} for i in range(len(texts))]

    assert listed(starts, features, times) == rows
    assert listed(*bags.rows_of(raw, threads)) == rows


def test_threads_change_nothing():
    texts = articles(3000)
    found = []
    for threads in (1, 4):
        bags = _native.Bags(1, 2)
        bags.add(texts, threads)
        found.append(bags.rows(2, 10**9, ["the"], threads))
    assert found[0][0] == found[1][0]
    assert b"the\n" not in b"\n" + found[0][0].replace(b" the\n", b"")
    for one, other in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_array_equal(one, other)


def test_masses_are_the_formula():
    texts = ["rose rose rose bank", "bank loan", "rose loan", "tulip"]
    bags = Bags(Tokens())
    bags.add(texts, 1)
    words, entries = Words.of(bags, "texts", (), 1)
    assert set(words.terms) == {"bank", "loan", "rose"}
    rarity = math.log(5 / 2.5)
    rose, bank = math.log(4) * rarity, math.log(2) * rarity
    norm = math.hypot(rose, bank)
    first = dict(zip(entries.features[:2].tolist(), entries.times[:2].tolist(), strict=True))
    assert first[words.terms.index("rose")] == pytest.approx(PART * rose / norm)
    assert first[words.terms.index("bank")] == pytest.approx(PART * bank / norm)
    assert entries.starts.tolist() == [0, 2, 4, 6, 6]


def test_sparse_rows_beside_each_other():
    one = Entries(np.array([0, 1, 1]), np.array([2], np.int32), np.array([1.0], np.float32))
    two = Entries(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([0.5, 0.25, 4.0], np.float32))
    both = beside(one, two, 5)
    assert both.starts.tolist() == [0, 3, 4]
    assert both.features.tolist() == [2, 5, 6, 6]
    assert both.times.tolist() == [1.0, 0.5, 0.25, 4.0]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 40), st.integers(1, 12))
def test_sparse_products_and_transposes(seed, rows, columns, k):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.4)
    where, features = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=rows))]).astype(np.int64)
    features, values, by = features.astype(np.int32), dense[dense != 0], rng.normal(size=(columns, k))
    np.testing.assert_allclose(_native.sparse_product(starts, features, values, by, 2), dense @ by, atol=1e-12)
    turned = _native.sparse_transpose(starts, features, values, columns)
    other = rng.normal(size=(rows, k))
    np.testing.assert_allclose(_native.sparse_product(*turned, other, 1), dense.T @ other, atol=1e-12)


def test_the_native_products_check_their_arrays():
    starts, features, values = np.array([0, 1]), np.array([3], np.int32), np.array([1.0])
    with pytest.raises(ValueError, match="out of range"):
        _native.sparse_product(starts, features, values, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="out of range"):
        _native.sparse_transpose(starts, features, values, 3)


def test_topics_are_found():
    texts = articles()
    mixture = mixture_of_tables([{"t": text} for text in texts], 3, text=["t"])
    found = mixture.posterior([{"t": text} for text in texts]).argmax(axis=1).reshape(-1, 3)
    assert all(len(set(column)) == 1 for column in found.T)
    assert len(set(found[0])) == 3
    assert (np.diff(mixture.trace) >= 0).all()
    for j, topic in zip(found[0], TOPICS, strict=True):
        first = mixture.characteristics(int(j), 3)
        assert all(c.value in topic.split() for c in first)
        share = np.mean([first[0].value in text.split() for text in texts[list(found[0]).index(j) :: 3]])
        assert first[0].here == pytest.approx(share, abs=0.02)
        assert all(text % 3 == list(found[0]).index(j) for text in mixture.exemplars[int(j)])
    np.testing.assert_allclose(mixture.posterior([{"t": "unheard of"}])[0], mixture.weights)


def test_the_number_of_topics_is_found():
    choice = cluster([{"t": text} for text in articles(240)], "auto", text=["t"])
    assert len(choice.best.weights) == 3
    assert all(candidate.held_out is None for candidate in choice.candidates)
    held_out = cluster([{"t": text} for text in articles(90)], "auto", text=["t"], by="held_out")
    assert len(held_out.best.weights) == 3


def test_words_beside_columns():
    rows = [
        {"t": text, "size": float(i % 3) + 0.01 * (i % 7), "kind": "abc"[i % 3] if i % 5 else None}
        for i, text in enumerate(articles())
    ]
    mixture = cluster(rows, 3, text=["t"], columns=["size", "kind"], restarts=3).best
    found = mixture.posterior(rows).argmax(axis=1).reshape(-1, 3)
    assert all(len(set(column)) == 1 for column in found.T)
    assert {c.variable for c in mixture.characteristics(0, 30)} >= {"text", "size", "kind"}


# ---- The command ------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    for i, text in enumerate(articles()):
        place = tmp_path / "articles" / f"part{i % 2}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i:02}.txt").write_text(text)
    return tmp_path / "articles"


def test_a_folder(folder, tmp_path):
    result = run(folder, "-k", 3, "--format", "json", "--words", 4, "--memberships", tmp_path / "m.csv")
    record = json.loads(result.stdout)
    assert sorted(record["sizes"]) == [20, 20, 20]
    assert len(record["clusters"][0]["characteristics"]) == 4
    assert record["clusters"][0]["exemplars"][0].endswith(".txt")
    rows = list(csv.DictReader((tmp_path / "m.csv").read_text().splitlines()))
    assert len(rows) == 60
    topics = {int(row["row"].rpartition("/")[2][:2]) % 3: row["cluster"] for row in rows}
    assert all(topics[int(row["row"].rpartition("/")[2][:2]) % 3] == row["cluster"] for row in rows)
    shown = run(folder, "-k", 3, "--format", "table").stdout
    assert "word" in shown
    assert ".txt" in shown


def test_tables_mail_and_lines(tmp_path):
    texts = articles()
    (tmp_path / "a.csv").write_text("id,body\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"id": i, "body": t}) + "\n" for i, t in enumerate(texts)))
    (tmp_path / "a.mbox").write_text(
        "".join(f"From x Mon Jan  5 10:00:00 2026\nSubject: {i}\n\n{text}\n\n" for i, text in enumerate(texts))
    )
    for arguments in (["a.csv", "--text", "body"], ["a.jsonl", "--text", "body"], ["a.mbox"]):
        result = run(tmp_path / arguments[0], *arguments[1:], "-k", 3, "--format", "json")
        assert sorted(json.loads(result.stdout)["sizes"]) == [20, 20, 20], arguments


@pytest.mark.parametrize(
    ("texts", "k", "error", "message"),
    [
        (["a rose", "a rose"], 3, CallError, "k is 3, but the table has 2 rows"),
        (["rose bank", "rose bank"] * 4 + ["tulip"] * 9, 3, DataError, "without duplicates the table has 2 rows"),
        (["one", "two", "three"], 2, DataError, "no word is in at least 2 of 3 documents"),
        (["", "", ""], 2, DataError, "no word is in"),
    ],
)
def test_clear_errors(texts, k, error, message):
    with pytest.raises(error, match=message):
        mixture_of_tables([{"t": text} for text in texts], k, text=["t"])


def test_bad_calls(folder):
    with pytest.raises(CallError, match="no columns to choose from"):
        cluster(str(folder), 2, columns=["name"])
    with pytest.raises(CallError, match="need columns of numbers"):
        cluster(str(folder), 2, covariance="full")
    with pytest.raises(CallError, match="unknown column"):
        cluster([{"t": "a"}], 1, text=["x"])
