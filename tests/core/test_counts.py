"""Counts are a group: added, merged, taken away and added again, exactly and in any order."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import collections, texts

from plausible import DataError, Model, ModelError, Rules, Tokens, classify, forget, load, merge, save


def learned(documents: list[str], labels: list[str], threads: int = 1, **rules: object) -> Model:
    model = Model(rules=Rules(**rules))  # type: ignore[arg-type]
    model.update(documents, labels, threads)
    return model


def file_of(model: Model, folder: Path) -> bytes:
    path = folder / "m.plausible"
    save(model, path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def labelled(draw_texts: st.SearchStrategy[str] = texts) -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(draw_texts, st.sampled_from(["x", "y", "一,\n\"二'"])), max_size=12)


@given(labelled(), st.data())
def test_any_parts_threads_and_order_give_the_same_bytes(
    folder: Path, pairs: list[tuple[str, str]], data: st.DataObject
) -> None:
    whole = learned([d for d, _ in pairs], [c for _, c in pairs])
    shuffled = data.draw(st.permutations(pairs))
    parts: list[Model] = []
    while shuffled:
        size = data.draw(st.integers(1, len(shuffled)))
        part, shuffled = shuffled[:size], shuffled[size:]
        model = Model()
        if data.draw(st.booleans()):
            model.update([d for d, _ in part], [c for _, c in part], data.draw(st.integers(1, 4)))
        else:
            for document, label in part:
                model.update([document], [label], data.draw(st.integers(1, 2)))
        parts.append(model)
    if parts:
        assert file_of(merge(*data.draw(st.permutations(parts))), folder) == file_of(whole, folder)


@given(labelled(), st.integers(1, 3), st.integers(0, 3), st.integers(1, 3))
def test_ngrams_are_counted_as_the_plain_twin_finds_them(
    pairs: list[tuple[str, str]], shortest: int, more: int, threads: int
) -> None:
    """Of each text twice, so that a term is met again in other documents."""
    ngrams = shortest, shortest + more
    model = Model(Tokens(ngrams=ngrams))
    model.update([text for text, _ in pairs] * 2, [label for _, label in pairs] * 2, threads)
    expected: dict[str, dict[str, tuple[int, int]]] = {}
    for text, label in pairs:
        for term, times in Counter(naive.tokens(text, ngrams=ngrams)).items():
            here = expected.setdefault(term, {})
            documents, occurrences = here.get(label, (0, 0))
            here[label] = documents + 2, occurrences + 2 * times
    order = list(range(len(model.counts.index)))
    assert model.terms.export(order)["terms"].decode().split("\n")[:-1] == sorted(expected, key=str.encode)
    names = list(model.counts.index)
    for term, here in expected.items():
        assert {names[c]: seen for c, seen in model.terms.row(term)} == here


@pytest.mark.parametrize("ngrams", [(1, 2), (1, 3), (2, 3)])
def test_more_ngrams_than_are_held_at_a_time(ngrams: tuple[int, int]) -> None:
    """They are added to the vocabulary in between, and those that were there are found again."""
    chance = random.Random(0)
    words = [f"{'w' * (i % 19)}{i}" for i in range(800)]
    documents = [" ".join(chance.choices(words, k=3000)) for _ in range(60)]
    labels = [chance.choice("xxxy") for _ in documents]
    together = Tokens(ngrams=ngrams).terms()
    together.count(documents, ["xy".index(label) for label in labels], 1)
    apart = Tokens(ngrams=ngrams).terms()
    for document, label in zip(documents, labels, strict=True):
        one = Tokens(ngrams=ngrams).terms()
        one.count([document], [0], 1)
        apart.merge(one, ["xy".index(label)], 1)
    assert together.export([0, 1]) == apart.export([0, 1])
    expected = Counter(term for document in documents for term in naive.tokens(document, ngrams=ngrams))
    assert len(expected) > 1 << 17
    for term in chance.sample(sorted(expected), 200):
        assert sum(occurrences for _, (_, occurrences) in together.row(term)) == expected[term]


def test_threads_give_the_same_bytes(folder: Path) -> None:
    chance = random.Random(0)
    words = [f"w{int(chance.paretovariate(0.8))}" for _ in range(60_000)]
    documents = [" ".join(words[i : i + 40]) for i in range(0, len(words), 40)]
    labels = [f"class {chance.randrange(50)}" for _ in documents]
    one = file_of(learned(documents, labels, 1), folder)
    assert one == file_of(learned(documents, labels, 2), folder) == file_of(learned(documents, labels, 7), folder)


def test_many_classes_in_any_order_give_the_same_bytes(folder: Path) -> None:
    chance = random.Random(0)
    pairs = [(f"w{chance.randrange(90)} 中文", f"class {chance.randrange(700)}") for _ in range(3000)]
    files = [file_of(learned([d for d, _ in order], [c for _, c in order]), folder) for order in (pairs, sorted(pairs))]
    assert files[0] == files[1]


def test_many_documents_of_a_class_give_the_same_bytes(folder: Path) -> None:
    """The masses of one term add up to more than 2**32."""
    documents = ["中", "w", "中 中 w"] * 4000
    whole = learned(documents, ["x"] * len(documents))
    parts = [learned(documents[i : i + 1000], ["x"] * 1000) for i in range(0, len(documents), 1000)]
    assert file_of(whole, folder) == file_of(merge(*parts), folder)


@pytest.mark.parametrize("times", [256, 257])
def test_many_occurrences_in_many_documents(times: int) -> None:
    """What is tallied in one number is moved before it is full, whatever the documents hold."""
    documents = 2 * 4095 + 1
    terms = Tokens().terms()
    terms.count(["a " * times] * documents, [0] * documents)
    assert terms.row("a") == [(0, (documents, times * documents))]
    kind, masses = terms.export([0])["masses"]
    assert list(memoryview(masses).cast({"u4": "I", "u8": "Q"}[kind])) == [documents << 20]


@pytest.mark.parametrize("times", [1, 2, 15, 16, 17, 63, 64, 256, 257, 1000])
def test_masses(times: int) -> None:
    terms = Tokens().terms()
    terms.count(["a " * times + "中"], [0])
    damped = [math.log1p(times), math.log1p(1)]
    kind, masses = terms.export([0])["masses"]
    assert list(memoryview(masses).cast({"u4": "I"}[kind])) == [round(2**20 * x / math.hypot(*damped)) for x in damped]


@given(collections(most=12))
def test_counts_equal_to_the_plain_twin(pairs: tuple[list[str], list[str]]) -> None:
    model, twin = learned(*pairs, threads=2), naive.Learned.of(*pairs)
    assert model.classes == twin.classes
    for term in twin.occurrences():
        row = dict(model.terms.row(term))
        for label in twin.classes:
            expected = twin.holding(label)[term], twin.occurrences(label)[term]
            assert row.get(model.class_index(label), (0, 0)) == expected


@given(collections(), collections())
def test_forgotten_is_as_never_learned(
    folder: Path, kept: tuple[list[str], list[str]], gone: tuple[list[str], list[str]]
) -> None:
    model = learned(kept[0] + gone[0], kept[1] + gone[1])
    without = forget(model, *gone)
    assert file_of(without, folder) == file_of(learned(*kept), folder)
    assert without.vocabulary == learned(*kept).vocabulary
    model.forget(*gone)
    model.update(*gone)
    assert file_of(model, folder) == file_of(learned(kept[0] + gone[0], kept[1] + gone[1]), folder)


@given(collections(), collections(most=3))
def test_what_can_not_have_been_learned_is_refused(
    folder: Path, known: tuple[list[str], list[str]], gone: tuple[list[str], list[str]]
) -> None:
    """A model either becomes one that some documents teach, or stays as it is to the byte."""
    model = learned(*known)
    before = file_of(model, folder)
    try:
        model.forget(*gone)
    except DataError:
        assert file_of(model, folder) == before
        return
    documents = {label: model.counts.of(label) for label in model.classes}
    for term in naive.Learned.of(*known).occurrences():
        for c, (holding, occurrences) in model.terms.row(term):
            label = next(name for name, i in model.counts.index.items() if i == c)
            assert 1 <= holding <= min(occurrences, documents[label])
    load(folder / "m.plausible")
    assert file_of(model, folder)  # and it can be written
    load(folder / "m.plausible")


@pytest.mark.parametrize(
    ("documents", "labels"),
    [
        (["never seen"], ["x"]),
        (["a b"], ["y"]),
        (["a b"], ["unknown"]),
        (["a"], ["x"]),  # the one document has two a
        (["a a a b"], ["x"]),
        ([""], ["x"]),  # without the one document of the class no word can be left
        (["a a b", "a a b"], ["x", "x"]),
        (["a a b", "c", "never"], ["x", "y", "y"]),
    ],
)
def test_refused_to_forget(folder: Path, documents: list[str], labels: list[str]) -> None:
    model = learned(["a a b", "c", "c d"], ["x", "y", "y"])
    before = file_of(model, folder)
    with pytest.raises(DataError, match=r"never go below zero"):
        model.forget(documents, labels)
    assert file_of(model, folder) == before


def test_all_is_forgotten() -> None:
    model = learned(["a b", "c"], ["x", "y"])
    model.forget(["a b", "c"], ["x", "y"])
    assert (model.classes, model.documents) == ([], 0)
    with pytest.raises(ModelError, match="learned nothing yet; learn documents first"):
        model.scores(["a"])
    model.update(["a"], ["z"])
    assert model.classes == ["z"]


def test_new_words_and_classes_at_any_time() -> None:
    model = learned(["a"], ["x"])
    assert classify(model, ["b"])[0].known == 0
    model.update(["b"], ["a new class"])
    answer = classify(model, ["b"])[0]
    assert (answer.label, answer.known, list(answer.probabilities)) == ("a new class", 1, ["a new class", "x"])


def test_counts_beyond_32_bits() -> None:
    """A gigaword of the same document: 2**20 occurrences, merged with itself 20 times."""
    whole = learned(["big " * (1 << 20), "small"], ["x", "y"])
    for _ in range(20):
        whole = merge(whole, whole)
    assert whole.terms.row("big") == [(whole.class_index("x"), (1 << 20, 1 << 40))]
    assert whole.documents == 1 << 21
    assert classify(whole, ["big", "small"]).labels == ["x", "y"]


def test_a_model_merged_with_itself_in_place(folder: Path) -> None:
    model, twice = learned(["a a b", "c"], ["x", "y"]), learned(["a a b", "c"] * 2, ["x", "y"] * 2)
    model.merge(model)
    assert file_of(model, folder) == file_of(twice, folder)


def test_documents_of_a_class_that_no_longer_fit() -> None:
    """More than 2**32 documents that hold the same term are refused, and nothing is changed."""
    model = learned(["w", "v"], ["x", "y"])
    for _ in range(31):
        model = merge(model, model)
    assert model.terms.row("w") == [(0, (1 << 31, 1 << 31))]
    with pytest.raises(ModelError, match="more than 4,294,967,295 documents"):
        model.merge(model)
    assert (model.documents, model.terms.row("w"), model.terms.row("v")) == (
        1 << 32,
        [(0, (1 << 31, 1 << 31))],
        [(1, (1 << 31, 1 << 31))],
    )


def test_models_of_different_terms_are_not_merged() -> None:
    with pytest.raises(ModelError, match="different terms"):
        merge(Model(), Model(Tokens(ngrams=(1, 2))))


@pytest.mark.parametrize(
    ("documents", "labels", "message"),
    [
        (["a"], [], "1 document and 0 labels"),
        ("a", ["x"], "must be lists"),
        (["a", None], ["x", "y"], "document 1 is None"),
        (["a", "b"], ["x", 3], "label 1 is 3"),
        (["a", "b"], ["x", ""], "label 1 is empty"),
        (["a", "b"], ["x", "\ud800"], "label 1 holds half a character"),
    ],
)
def test_documents_and_labels_that_do_not_fit(documents: list[str], labels: list[str], message: str) -> None:
    model = Model()
    with pytest.raises(ValueError, match=message):
        model.update(documents, labels)
    assert model.documents == 0


def test_documents_in_columns_of_frames() -> None:
    import pandas as pd

    frame = pd.DataFrame({"text": ["a b", "c"], "label": ["x", "y"]})
    model = Model()
    model.update(frame["text"], frame["label"])
    assert (model.classes, model.documents) == (["x", "y"], 2)
