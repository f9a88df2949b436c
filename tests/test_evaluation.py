"""Evaluation: what is tested, the figures by hand, and what is said of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible import CallError, DataError, Model, PlausibleWarning, classify, evaluate, learn
from plausible.cells import Batch
from plausible.evaluation import Evaluation, Tally
from plausible.learning.classifier import options_from
from plausible.reliability import calibration_error
from plausible.splits import choose, folds

TEXTS = [f"{word} {i % 3} common" for i in range(20) for word in ("spam", "ham", "eggs")]
LABELS = ["spam", "ham", "eggs"] * 20
RAW: dict[str, Any] = {"model": "plain", "raw": True}


def quiet(*arguments: Any, **options: Any) -> Evaluation:
    """Evaluate where words give the class away, which is not the matter here."""
    with pytest.warns(PlausibleWarning):
        return evaluate(*arguments, **options)


# --- splits ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=200), st.floats(0.01, 0.99), st.integers(0, 99))
def test_a_share_of_each_class(labels: list[str], share: float, seed: int) -> None:
    tested = choose(labels, share, seed)
    assert set(tested) <= {0, 1}
    assert abs(tested.sum() - share * len(labels)) <= 0.5 + 1e-9
    for label in set(labels):
        here = np.array(labels) == label
        assert abs(tested[here].sum() - share * here.sum()) <= 1 + 1e-9
    assert (tested == choose(labels, share, seed)).all()


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=200), st.integers(2, 7), st.integers(0, 99))
def test_folds_are_even(labels: list[str], parts: int, seed: int) -> None:
    fold_of = folds(labels, parts, seed)
    assert set(fold_of) <= set(range(parts))
    sizes = np.bincount(fold_of, minlength=parts)
    assert sizes.max() - sizes.min() <= 1
    for label in set(labels):
        sizes = np.bincount(fold_of[np.array(labels) == label], minlength=parts)
        assert sizes.max() - sizes.min() <= 1


def test_another_seed_is_another_split() -> None:
    assert (choose(LABELS, 0.5, 0) != choose(LABELS, 0.5, 1)).any()
    assert (folds(LABELS, 5, 0) != folds(LABELS, 5, 1)).any()


# --- ways of testing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "sizes"),
    [({}, (40, 20)), ({"test_share": 0.25}, (45, 15)), ({"folds": 4}, (45, 60)), ({"leave_one_out": True}, (59, 60))],
)
def test_a_seed_reproduces(way: dict[str, Any], sizes: tuple[int, int]) -> None:
    chance = np.random.default_rng(0)
    texts = [" ".join(chance.choice(list("abcdefgh"), 6)) for _ in range(60)]
    one = evaluate(texts, LABELS, seed=3, threads=1, **way, **RAW)
    assert one == evaluate(texts, LABELS, seed=3, threads=2, **way, **RAW)
    assert (one.n_train, one.n_test) == sizes


def test_leave_one_out_by_relearning() -> None:
    texts, labels = ["a b", "a c", "b d", "d d a", "c"], ["x", "x", "y", "y", "y"]
    figures = evaluate(texts, labels, leave_one_out=True, **RAW)
    log_loss, right = 0.0, 0
    for i in range(len(texts)):
        model = Model()
        model.update(texts[:i] + texts[i + 1 :], labels[:i] + labels[i + 1 :])
        scores = model.scores([texts[i]])
        log_posterior = np.asarray(scores.log_posterior)[0]
        log_loss -= log_posterior[scores.classes.index(labels[i])] / len(texts)
        right += scores.classes[int(log_posterior.argmax())] == labels[i]
    assert figures.log_loss == pytest.approx(log_loss)
    assert figures.accuracy == right / len(texts)


def test_folds_by_relearning() -> None:
    texts, labels = ["a b", "a c", "b d", "d d a", "c", "a"], ["x", "x", "y", "y", "y", "x"]
    figures = evaluate(texts, labels, folds=3, seed=1, **RAW)
    fold_of, answers = folds(labels, 3, 1), [""] * len(texts)
    for k in range(3):
        model = Model()
        train = [i for i in range(len(texts)) if fold_of[i] != k]
        model.update([texts[i] for i in train], [labels[i] for i in train])
        for i in range(len(texts)):
            if fold_of[i] == k:
                scores = model.scores([texts[i]])
                answers[i] = scores.classes[int(np.asarray(scores.best)[0])]
    assert figures.accuracy == np.mean([a == b for a, b in zip(answers, labels, strict=True)])
    assert figures.n_test == 6


def test_on_other_documents(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,topic\na b,x\nc d,y\n")
    (tmp_path / "test.csv").write_text("text,topic\na,x\nd,y\nc,x\n,y\nb,\n")
    with pytest.warns(PlausibleWarning, match="skipped 1 document .* without a class in 'topic'"):
        figures = evaluate(str(tmp_path / "train.csv"), test=str(tmp_path / "test.csv"), target="topic", **RAW)
    assert (figures.n_train, figures.n_test) == (2, 4)
    assert figures.confusion == {"x": {"x": 1, "y": 1}, "y": {"x": 1, "y": 1}}
    sql = f"select text, topic from '{tmp_path}/test.csv' where topic = 'x'"
    assert evaluate(str(tmp_path / "train.csv"), test=sql, target="topic", **RAW).n_test == 2
    lists = evaluate(["a b", "c d"], ["x", "y"], test=["a", "d", "c"], test_labels=["x", "y", "x"], **RAW)
    assert lists.accuracy == pytest.approx(2 / 3)


# --- figures --------------------------------------------------------------------------------------------------------


def test_figures_by_hand() -> None:
    """Answers x x y y for truth x y y z: z was never learned."""
    with pytest.warns(PlausibleWarning, match=r"1 tested document .* not learned \(z\): counted as wrong, left out"):
        figures = evaluate(["a", "b"], ["x", "y"], test=["a", "a", "b", "b"], test_labels=["x", "y", "y", "z"], **RAW)
    assert figures.accuracy == 2 / 4
    assert figures.classes == ["x", "y", "z"]
    x, y, z = (figures.per_class[name] for name in "xyz")
    assert (x.tested, x.precision, x.recall, x.f1) == (1, 1 / 2, 1, pytest.approx(2 / 3))
    assert (y.tested, y.precision, y.recall, y.f1) == (2, 1 / 2, 1 / 2, 1 / 2)
    assert (z.tested, z.precision, z.recall, z.f1) == (1, 0, 0, 0)
    assert figures.macro_f1 == pytest.approx((2 / 3 + 1 / 2) / 3)
    assert figures.confusion == {"x": {"x": 1}, "y": {"x": 1, "y": 1}, "z": {"y": 1}}
    right, wrong = 2 / 3, 1 / 3  # (1 + 1) / (1 + 2) and (0 + 1) / (1 + 2)
    assert figures.log_loss == pytest.approx(-(2 * math.log(right) + math.log(wrong)) / 3)
    assert figures.calibration_error == pytest.approx(abs(right - 2 / 4))
    assert (figures.n_train, figures.n_test, figures.vocabulary) == (2, 4, 2)


def test_figures_equal_to_scikit_learn() -> None:
    from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

    chance = np.random.default_rng(1)
    texts = [" ".join(chance.choice(list("abcdefgh"), 6)) for _ in range(60)]
    figures = evaluate(texts[:30], LABELS[:30], test=texts[30:], test_labels=LABELS[30:], **RAW)
    answers = classify(learn(texts[:30], LABELS[:30], **RAW), texts[30:]).labels
    assert figures.accuracy == pytest.approx(accuracy_score(LABELS[30:], answers))
    assert figures.macro_f1 == pytest.approx(f1_score(LABELS[30:], answers, average="macro"))
    matrix = confusion_matrix(LABELS[30:], answers, labels=figures.classes)
    for i, truth in enumerate(figures.classes):
        for j, answer in enumerate(figures.classes):
            assert figures.confusion[truth].get(answer, 0) == matrix[i, j]


def test_calibration_error_by_hand() -> None:
    assert calibration_error([0.95, 0.95, 0.35, 0.35], [True, False, True, False]) == pytest.approx(0.3)
    assert calibration_error([1.0, 1.0], [True, True]) == 0


@pytest.mark.parametrize("way", [{"leave_one_out": True}, {"folds": 4}])
def test_a_class_of_one_document_is_not_learned_when_it_is_tested(way: dict[str, Any]) -> None:
    with pytest.warns(PlausibleWarning, match=r"not learned \(z\)"):
        figures = evaluate(["a b", "a", "c c", "c", "z"], ["x", "x", "y", "y", "z"], **way, **RAW)
    assert math.isfinite(figures.log_loss)
    assert figures.per_class["z"].recall == 0


def test_without_a_class_that_was_learned_there_is_no_log_loss() -> None:
    learned, labels = ["a b", "a", "c c", "c"], ["x", "x", "y", "y"]
    model = learn(learned, labels, **RAW)
    tally = Tally(options_from(**RAW))
    tally.test(model, Batch({"text": ["a", "c"]}, ["u", "v"], str))
    with pytest.warns(PlausibleWarning, match="which is nan, since there are no others"):
        figures = tally.figures(model, 4)
    assert math.isnan(figures.log_loss)
    assert figures.accuracy == 0


def test_without_smoothing() -> None:
    figures = evaluate(["a b", "a", "c c", "c"], ["x", "x", "y", "y"], leave_one_out=True, smoothing="mle", raw=True)
    assert not math.isnan(figures.log_loss)
    assert not math.isnan(figures.calibration_error)


# --- what is said ---------------------------------------------------------------------------------------------------


def test_words_that_give_the_class_away() -> None:
    with pytest.warns(PlausibleWarning, match=r"'spam' finds 'spam' with F1 1\.00.*Will new documents have them"):
        evaluate(TEXTS, LABELS, **RAW)


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_of_a_word_that_is_no_giveaway() -> None:
    texts = [f"common {'spam' if i % 10 else 'ham'}" for i in range(40)]
    evaluate(texts, ["x", "y"] * 20, **RAW)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"folds": 1}, "folds must be at least 2"),
        ({"folds": 100}, "100 folds of 60 documents"),
        ({"test_share": 0.0}, "test_share must lie between 0 and 1"),
        ({"test_share": 1.0}, "test_share must lie between 0 and 1"),
        ({"test_share": math.nan}, "test_share must lie between 0 and 1"),
        ({"folds": 3, "leave_one_out": True}, "choose one of"),
        ({"seed": -1}, "the seed is -1; it is a whole number"),
        ({"threads": 0}, "threads must be at least 1"),
    ],
)
def test_what_can_not_be_evaluated(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        evaluate(TEXTS, LABELS, **wrong)


def test_documents_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="2 documents and 1 label;"):
        evaluate(["a", "b"], ["x"])
    with pytest.raises(DataError, match="the list holds no documents"):
        evaluate(["a", "b"], ["x", "y"], test=[], test_labels=[])
    (tmp_path / "t.csv").write_text("text,class\na,\nb,\n")
    with pytest.raises(DataError, match="has a class; there is nothing to learn from"):
        evaluate(str(tmp_path / "t.csv"))


def test_left_out_documents_of_a_calibrated_model() -> None:
    """The default model: figures with and without calibration, and neither is NaN."""
    figures = quiet(TEXTS, LABELS, leave_one_out=True)
    assert figures.accuracy == 1
    assert figures.before is not None
    assert not math.isnan(figures.log_loss)
    assert not math.isnan(figures.before.log_loss)
