"""Learning from documents without a class: the counts they are expected to have, and the weight that helps."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from plausible import _native, learn, merge
from plausible.cli import plausible
from plausible.errors import CallError, DataError, ModelError, PlausibleWarning
from plausible.expected import MASS, UNIT, Expected, Rows, together
from plausible.files.model import from_bytes, load, save, to_bytes
from plausible.learning.unlabelled import _folds
from plausible.model import Model
from plausible.reasons import explain
from plausible.text import Tokens

WORDS = {"garden": [f"petal{i}" for i in range(40)], "bank": [f"bond{i}" for i in range(40)]}


def documents(n, seed=0):
    rng = np.random.default_rng(seed)
    labels = [("garden", "bank")[i % 2] for i in range(n)]
    texts = [" ".join([*rng.choice(WORDS[label], 4), *rng.choice(["the", "day", "of", "new"], 2)]) for label in labels]
    return texts, labels


def half(n=8, unlabelled=200, **options):
    texts, labels = documents(n)
    return learn(texts, labels, unlabelled=documents(unlabelled, 1)[0], **options)


def accuracy(model, texts, labels):
    scores = model.scores(texts)
    return np.mean(np.array(scores.classes)[np.asarray(scores.best)] == np.array(labels))


# ---- Counts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [Tokens(), Tokens(ngrams=(1, 2)), Tokens(chars=(3, 3))])
def test_sure_shares_are_whole_counts(tokens):
    """Documents that are wholly of a class are counted as if they had been learned 256 times over."""
    texts, labels = documents(12)
    bags = _native.Bags(*tokens._lengths)
    bags.add(texts, 2)
    classes = ["bank", "garden"]
    counts = Rows(tokens, bags, 1).counts(np.eye(2)[[classes.index(label) for label in labels]], classes)
    model = Model(tokens)
    model.update(texts, labels)
    found, wanted = (one.families["text"].export([0, 1]) for one in (counts, _renamed(model, classes)))
    for name in ("terms", "sizes", "labels"):
        assert _array(found[name]) == _array(wanted[name])
    for name in ("documents", "occurrences"):
        assert _array(found[name]) == [UNIT * n for n in _array(wanted[name])]
    np.testing.assert_allclose(_array(found["masses"]), UNIT * np.array(_array(wanted["masses"])), rtol=1e-4)


def _renamed(model, classes):
    counts = Model(model.tokens).counts
    counts.codes(classes)
    counts.merge(model.counts)
    return counts


def _array(value):
    return value if isinstance(value, bytes) else np.frombuffer(value[1], value[0]).astype(int).tolist()


def test_together_is_what_was_seen_and_what_is_expected():
    model = Model()
    model.update(["rose tulip", "loan"], ["garden", "bank"])
    terms = _native.Terms()
    terms.load(
        terms=b"rose\nsoil\n", sizes=("u1", b"\1\1"), labels=("u1", b"\0\0"), documents=("u1", b"\x80\x40"),
        occurrences=("u1", b"\x80\x40"), masses=("u4", np.array([MASS, MASS], np.uint32).tobytes()), classes=[200],
    )  # fmt: skip
    counts = type(model.counts)({"text": terms}, {"garden": 0}, [200])
    both, sizes = together(model.counts, Expected(0.5, 1, counts))
    garden = model.counts.index["garden"]
    assert dict(both.row("rose"))[garden] == (UNIT + 128, UNIT + 128)
    assert dict(both.row("soil"))[garden] == (64, 64)
    assert sizes[garden] == UNIT + 200
    assert sizes[model.counts.index["bank"]] == UNIT


def test_folds_deal_out_each_class():
    assert _folds(np.array([0, 0, 0, 0, 1, 1, 2])).tolist() == [0, 1, 2, 0, 0, 1, -1]


# ---- Learning ---------------------------------------------------------------------------------------------------


def test_unlabelled_documents_help():
    texts, labels = documents(300, 2)
    model = half()
    assert model.expected is not None
    assert model.expected.documents == 200
    assert accuracy(model, texts, labels) > accuracy(learn(*documents(8)), texts, labels) + 0.02
    assert "the documents without a class (200) count with weight" in model.choice
    assert model.documents == 8
    why = explain(model, "petal7 and petal8")
    assert why.label == "garden"
    assert why.score == pytest.approx(why.prior + sum(word.weight for word in why.evidence))


@pytest.mark.filterwarnings("ignore::plausible.errors.PlausibleWarning")
def test_noise_is_left_out_or_does_no_harm():
    rng = np.random.default_rng(0)
    noise = [" ".join(rng.choice(WORDS["garden"] + WORDS["bank"], 6)) for _ in range(200)]
    texts, labels = documents(300, 2)
    known = documents(60)
    plain, model = learn(*known), learn(*known, unlabelled=noise)
    assert accuracy(model, texts, labels) >= accuracy(plain, texts, labels) - 0.005


def test_that_they_do_not_help_is_said():
    rng = np.random.default_rng(0)
    noise = [" ".join(rng.choice(["qq", "ww", "ee", "rr"], 5)) for _ in range(50)]
    with pytest.warns(PlausibleWarning, match=r"the documents without a class \(50\) don't help"):
        model = learn(*documents(40), unlabelled=noise)
    assert model.expected is None


def test_a_weight_that_is_given_is_taken():
    model = half(weight=0.25)
    assert model.expected.weight == 0.25
    assert sum(model.expected.counts.documents) == pytest.approx(0.25 * 200 * UNIT, abs=4)
    plain = half(weight=1, model="plain")
    assert accuracy(plain, *documents(300, 2)) > 0.9
    book = half(weight=1, model="book")
    assert book.calibration is None
    assert accuracy(book, *documents(300, 2)) > 0.9


def test_a_document_a_class_needs_a_weight():
    texts, labels = documents(2)
    with pytest.raises(CallError, match=r"label two of each, or say --weight X"):
        learn(texts, labels, unlabelled=documents(20, 1)[0])
    assert learn(texts, labels, unlabelled=documents(200, 1)[0], weight=1).expected.documents == 200


def test_the_file_keeps_what_is_expected(tmp_path):
    model = half()
    save(model, tmp_path / "half.plausible")
    again = load(tmp_path / "half.plausible")
    assert to_bytes(again) == to_bytes(model)
    texts = documents(20, 5)[0]
    np.testing.assert_array_equal(
        np.asarray(again.scores(texts).log_posterior), np.asarray(model.scores(texts).log_posterior)
    )
    broken = to_bytes(model).replace(b"expected.sizes", b"expected.sizez")
    with pytest.raises(ModelError):
        from_bytes(broken)


def test_merging_and_forgetting():
    one, other = half(weight=1.0), half(8, 100, weight=0.5)
    both = merge(one, other)
    assert both.expected.documents == 300
    assert both.expected.weight == pytest.approx((200 + 50) / 300)
    assert one.expected.documents == 200
    assert accuracy(merge(learn(*documents(8)), one), *documents(300, 2)) > 0.9
    texts, labels = documents(8)
    with pytest.warns(PlausibleWarning, match="unlabelled documents stay as they were found"):
        one.forget(texts[:1], labels[:1])
    assert one.documents == 7
    with pytest.raises(DataError, match=r"never learned|never go below zero"):
        one.forget([documents(200, 1)[0][0]], ["garden"])


def test_what_would_be_wrong_is_refused():
    model = half(weight=1.0)
    with pytest.raises(ModelError, match="no exact leave-one-out"):
        model.scores_left_out(*documents(8))
    with pytest.raises(ModelError, match="no bernoulli events"):
        model.uncalibrated().estimate(events="bernoulli", smoothing=Model().rules.smoothing).scores(["rose"])
    with pytest.raises(CallError, match="neither bernoulli events nor balanced"):
        half(events="bernoulli")
    with pytest.raises(CallError, match="above 0 and up to 1"):
        half(weight=2)
    with pytest.raises(CallError, match="weight is that of unlabelled documents"):
        learn(*documents(8), weight=0.5)
    with pytest.raises(DataError, match="no unlabelled documents"):
        learn(*documents(8), unlabelled=[])
    with pytest.raises(CallError, match="models of text alone"):
        learn([{"wind": "weak", "play": "yes"}, {"wind": "strong", "play": "no"}], target="play", unlabelled=["a"])


# ---- The command ------------------------------------------------------------------------------------------------


def test_the_command(tmp_path):
    for i, (text, label) in enumerate(zip(*documents(12), strict=True)):
        (tmp_path / "mail" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "mail" / label / f"{i}.txt").write_text(text)
    (tmp_path / "inbox.mbox").write_text(
        "".join(f"From x Mon Jan  5 10:00:00 2026\nSubject: {t}\n\n{t}\n\n" for t in documents(120, 1)[0])
    )
    model = tmp_path / "m.plausible"
    arguments = ["learn", tmp_path / "mail", "--unlabelled", tmp_path / "inbox.mbox", "-o", model, "--format", "json"]
    result = CliRunner().invoke(plausible, [*map(str, arguments)], catch_exceptions=False)
    assert json.loads(result.stdout)["documents"] == 12
    assert "the documents without a class (120) count with weight" in result.stderr
    (tmp_path / "new.txt").write_text("petal1 petal2 and petal3")
    answer = CliRunner().invoke(plausible, ["classify", str(model), str(tmp_path / "new.txt")], catch_exceptions=False)
    assert json.loads(answer.stdout)["label"] == "garden"
    info = CliRunner().invoke(plausible, ["info", str(model), "--format", "json"], catch_exceptions=False)
    assert json.loads(info.stdout)["unlabelled"] == {"documents": 120, "weight": load(model).expected.weight}
