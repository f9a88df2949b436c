"""Probabilities that are right as often as they say."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import plausible
from plausible import _native
from plausible.calibration import LeftOut, brier_score, fit
from plausible.learning import choose
from plausible.learning.sample import Sample
from plausible.reliability import calibration_error, coverage, plot, reliability


def collection(size: int, seed: int = 0, classes: int = 3) -> tuple[list[str], list[str]]:
    """Documents with noisy topics and words that come in bursts, which makes naive Bayes too sure of itself."""
    draw = random.Random(seed)
    texts, labels = [], []
    for _ in range(size):
        topic = draw.randrange(classes)
        words = []
        for _ in range(draw.randrange(2, 12)):
            source = topic if draw.random() < 0.45 else draw.randrange(classes)
            words += [f"w{source * 30 + draw.randrange(40)}"] * draw.randrange(1, 6)
        texts.append(" ".join(words))
        labels.append(f"topic {topic}")
    return texts, labels


def test_the_sample_is_drawn_by_the_same_keys_in_every_version() -> None:
    """Others would give other calibrations, and other model files."""
    texts = ["a" * size for size in (1, 16, 17, 23, 24, 25, 31, 32, 40)]
    _, keys, _, _ = _native.small_keys([texts], len(texts), str, np.empty(0, np.uint64), 2**64 - 1)
    assert [f"{key:016x}" for key in keys.tolist()] == [
        "37e088c9fa8a135c",
        "0ff11c649f6e588b",
        "1408bce67c7c3cf3",
        "4368aa2d56aaee3c",
        "3751a08ffe05df8c",
        "4e458dd30ccb7530",
        "61104f86e684ee83",
        "1ff96b93705ea2e2",
        "e6e7a47c6b09e11f",
    ]


def softmax(u: np.ndarray) -> np.ndarray:
    p = np.exp(u - u.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 3), st.integers(2, 5), st.integers(10, 40))
def test_the_link_that_is_fitted_has_no_better_one_beside_it(seed, with_bias, channels, width, documents):
    random_ = np.random.default_rng(seed)
    truth = random_.integers(0, width, documents)
    scores = random_.normal(size=(documents, channels, width))
    scores[np.arange(documents), :, truth] += 1
    away, shares = random_.uniform(-2.4, 2.4, documents), random_.uniform(0.5, 3, documents)
    away[0] = 100  # so far that its sharpness is cut off, wherever the power is not near 0
    shares /= shares.sum()
    size = channels + 3 + (width if with_bias else 0)
    usual, hold = np.full(size, -0.5), np.full(size, 0.01)
    lower, upper = np.full(size, -2.0), np.full(size, 1.5)
    lower[:channels] = 0

    def twin(x: np.ndarray) -> float:
        factors, (power, *odds), bias = x[:channels], x[channels : channels + 3], x[channels + 3 :]
        tail, flat = 1 / (1 + np.exp(-np.array(odds)))
        sharp = np.exp(np.clip(-power * away, -5, 5))[:, None]
        u = (np.tensordot(scores, factors, (1, 0)) + (bias if with_bias else 0)) * sharp
        error = (1 - tail) * softmax(u) + tail * softmax(flat * u)
        error[np.arange(documents), truth] -= 1
        return float(shares @ (error**2).sum(1) + hold @ (x - usual) ** 2)

    start = np.full(size, 0.3)
    found = np.array(
        _native.fit_link(scores, away, truth, shares, *(given.tolist() for given in (start, usual, hold, lower, upper)))
    )
    assert ((lower <= found) & (found <= upper)).all()
    assert twin(found) < twin(start)
    assume(abs(found[channels]) > 0.055)
    for k in range(size):
        for step in (-0.003, 0.003):
            beside = found.copy()
            beside[k] = np.clip(beside[k] + step, lower[k], upper[k])
            assert twin(beside) > twin(found) - 1e-6


@pytest.mark.parametrize("model", ["plain", "weighted", "auto"])
def test_calibration_mends_probabilities_of_new_documents(model):
    texts, labels = collection(900)
    figures = plausible.evaluate(texts[:600], labels[:600], test=texts[600:], test_labels=labels[600:], model=model)
    assert figures.before is not None
    assert figures.calibration_error < figures.before.calibration_error
    assert figures.log_loss < figures.before.log_loss
    assert figures.brier < figures.before.brier
    assert figures.calibration_error < 0.08


def test_the_books_model_keeps_its_answers():
    texts, labels = collection(300)
    calibrated = plausible.learn(texts, labels, model="plain")
    raw = plausible.learn(texts, labels, model="book")
    assert calibrated.calibration is not None
    assert raw.calibration is None
    new, _ = collection(200, seed=1)
    assert plausible.classify(calibrated, new).labels == plausible.classify(raw, new).labels


def test_nothing_depends_on_the_order_of_documents():
    texts, labels = collection(80)
    order = list(range(80))
    random.Random(3).shuffle(order)
    one = plausible.learn(texts, labels)
    other = plausible.learn([texts[i] for i in order], [labels[i] for i in order], threads=1)
    assert one.calibration == other.calibration
    assert one.calibration is not None


def test_few_documents_are_held_to_usual_factors_and_many_are_not():
    def found(size: int, usual: tuple[float, ...] | None) -> tuple[float, ...]:
        """The factors of two channels, of which neither tells the class."""
        random_ = np.random.default_rng(5)
        scores, truth = random_.normal(size=(size, 2, 2)), np.arange(size) % 2
        fitted = fit(LeftOut(scores, np.full(size, 9), truth), ["a", "b"], with_bias=True, usual=usual)
        assert fitted is not None
        return fitted.factors

    assert max(found(30, None)) < 0.5
    assert found(30, (2.0, 1.0)) == pytest.approx((2.0, 1.0), rel=0.2)
    assert max(found(20_000, (2.0, 1.0))) < 0.1


def test_a_few_long_documents_do_not_set_the_scale():
    """Scores of naive Bayes grow with length; the fit must not be held back by those of the longest."""
    random_ = np.random.default_rng(1)
    truth = np.arange(1000) % 2
    lengths = np.full(1000, 50)
    scores = random_.normal(size=(1000, 1, 2)) * 10
    scores[np.arange(1000), 0, truth] += 6
    usual = fit(LeftOut(scores, lengths, truth), ["a", "b"], with_bias=False)
    scores[:3] *= 3000
    lengths[:3] *= 3000
    found = fit(LeftOut(scores, lengths, truth), ["a", "b"], with_bias=False)
    assert usual is not None
    assert found is not None
    assert found.factors == pytest.approx(usual.factors, rel=0.1)


def test_too_few_documents_are_not_calibrated():
    scores = np.zeros((3, 1, 2))
    assert fit(LeftOut(scores, np.ones(3, np.int64), np.zeros(3, np.int64)), ["a", "b"], with_bias=True) is None
    assert plausible.learn(["x", "y"], ["a", "b"]).calibration is None


@given(st.lists(st.tuples(st.text(max_size=4), st.sampled_from("ab")), max_size=30), st.integers(1, 8), st.randoms())
def test_a_sample_does_not_depend_on_order_or_batches(pairs, size, shuffler):
    one = Sample(size)
    one.add({"text": [text for text, _ in pairs]}, [label for _, label in pairs])
    shuffled = pairs[:]
    shuffler.shuffle(shuffled)
    other = Sample(size)
    for text, label in shuffled:
        other.add({"text": [text]}, [label])
    assert one.kept() == other.kept()
    kept = one.kept()
    assert len(kept.labels) == min(size, len(set(pairs)))
    assert kept.times == [pairs.count(pair) for pair in zip(kept.cells.get("text", []), kept.labels, strict=True)]


def test_a_sample_of_a_table_does_not_depend_on_how_its_cells_are_held():
    import numpy as np

    from plausible.counts import Coded

    lists = {"colour": ["red", None, "red", "blue"], "size": [1.5, None, 1.5, 0.0]}
    arrays = {
        "colour": Coded(np.array([1, -1, 1, 0], np.int32), ["blue", "red"]),
        "size": np.array([1.5, np.nan, 1.5, -0.0]),
    }
    one, other = Sample(), Sample()
    one.add(lists, ["a", "b", "a", "a"])
    other.add(arrays, Coded(np.array([0, 1, 0, 0], np.int32), ["a", "b"]))
    assert one.kept() == other.kept()
    assert sorted(one.kept().times) == [1, 1, 2]


def test_figures_of_reliability():
    confidence, right = [0.55, 0.95, 0.95, 0.95], [False, True, True, False]
    bins = reliability(confidence, right, bins=10)
    assert [(one.documents, round(one.confidence, 2), round(one.accuracy, 2)) for one in bins] == [
        (1, 0.55, 0.0),
        (3, 0.95, 0.67),
    ]
    assert calibration_error(confidence, right, bins=10) == pytest.approx((0.55 + 3 * (0.95 - 2 / 3)) / 4)
    assert [one.accuracy for one in coverage(confidence, right)][:3] == pytest.approx([0.5, 2 / 3, 2 / 3])
    assert coverage(confidence, right)[-1].accuracy is None
    assert brier_score(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 0])) == pytest.approx((0.08 + 0.72) / 2)


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_diagram_is_drawn(tmp_path, kind):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"diagram.{kind}"
    plot(path, reliability([0.2, 0.9], [False, True]), reliability([0.99, 0.99], [False, True]))
    assert path.read_bytes()[:4] == (b"\x89PNG" if kind == "png" else b"<?xm")
    with pytest.raises(plausible.CallError, match=r"\.png or \.svg"):
        plot(tmp_path / "diagram.gif", [])


def test_auto_says_what_it_chose_and_leaves_out_pairs_that_do_not_help():
    texts, labels = collection(200)
    model = plausible.learn(texts, labels, model="auto")
    assert model.choice.startswith(f"chose {model.rules.events} a={model.rules.smoothing.a:g}")
    assert model.rules.log_odds
    assert (model.tokens.ngrams == (1, 2)) == model.rules.pairs
    order = [f"{a} {b}" for a in ("red", "blue") for b in ("up", "down")]
    pairs = [order[i % 4] for i in range(80)]
    xor = ["same" if i % 4 in (0, 3) else "different" for i in range(80)]
    for ngrams in ((1, 2), (2, 2)):
        model = plausible.learn(pairs, xor, model="auto", ngrams=ngrams)
        assert model.rules.pairs
        assert model.choice.startswith(f"chose {model.rules.events} a={model.rules.smoothing.a:g} with pairs:")
        assert plausible.classify(model, order).labels == xor[:4]


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_auto_calibrates_on_all_that_was_kept(ngrams):
    """Though events and smoothings were compared on some of it."""
    words, labels = collection(1200)
    texts = [f"{text} {' '.join(text.split() * 40)}" for text in words]
    model = plausible.learn(texts, labels, model="auto", ngrams=ngrams)
    found = model.calibration
    kept = Sample()
    kept.add({"text": texts}, labels)
    cells, classes, times, _ = kept.kept()
    assert sum(map(len, cells["text"])) > choose.TRIED
    model.calibrate(cells, classes, times=times)
    assert model.calibration == found


def test_calibration_survives_the_file(tmp_path):
    texts, labels = collection(60)
    model = plausible.learn(texts, labels)
    plausible.save(model, tmp_path / "m.plausible")
    again = plausible.load(tmp_path / "m.plausible")
    assert again.calibration == model.calibration
    assert again.rules == model.rules
    got, expected = (np.asarray(one.scores(texts).log_posterior) for one in (again, model))
    assert got == pytest.approx(expected, abs=1e-12)


def test_estimate_keeps_the_calibration_only_with_the_events():
    texts, labels = collection(60)
    model = plausible.learn(texts, labels)
    assert model.estimate(min_length=2).calibration is not None
    assert model.estimate(events="multinomial", smoothing=plausible.Smoothing()).calibration is None


def test_a_balanced_column_does_not_give_the_label_of_a_left_out_row_away():
    """Without its row a class looks rarer than the others; reading that backwards would be perfect, and useless."""
    texts, _ = collection(120)
    rows = [
        {"text": text, "language": ("en", "pl", "zh")[i // 3 % 3], "class": f"topic {i % 3}"}
        for i, text in enumerate(texts)
    ]
    figures = plausible.evaluate(rows, leave_one_out=True)
    assert figures.accuracy < 0.6


@pytest.mark.parametrize("model", ["weighted", "plain"])
def test_balanced_classes_find_the_rare_one_more_often(model):
    texts, labels = collection(900, classes=2)
    rare = [i for i, label in enumerate(labels) if label == "topic 0"][:40]
    common = [i for i, label in enumerate(labels) if label == "topic 1"]
    chosen = rare[:30] + common[:300]
    train, classes = [texts[i] for i in chosen], [labels[i] for i in chosen]
    new = [text for text, label in zip(*collection(600, seed=5, classes=2), strict=True) if label == "topic 0"]

    def recall(**options: bool) -> float:
        learned = plausible.learn(train, classes, model=model, **options)
        return sum(label == "topic 0" for label in plausible.classify(learned, new).labels) / len(new)

    assert recall(balance=True) > recall()
