"""Weights: of rows with text, of models that are calibrated, and of what is saved."""

from __future__ import annotations

import numpy as np
import pytest

import plausible
from plausible.files.model import from_bytes, to_bytes

RANDOM = np.random.default_rng(7)
WORDS = ["money", "cheap", "win", "lunch", "noon", "meeting", "report", "budget", "free", "offer"]
ROWS = [
    {
        "note": " ".join(RANDOM.choice(WORDS[: 6 + 4 * (i % 2)], 5)),
        "age": float(RANDOM.normal(i % 2)),
        "w": int(RANDOM.integers(1, 12)),
        "class": "xy"[i % 2],
    }
    for i in range(60)
]
CELLS = {"text": [row["note"] for row in ROWS], "age": np.array([row["age"] for row in ROWS])}
LABELS, WEIGHTS = [row["class"] for row in ROWS], [row["w"] for row in ROWS]
RULES = [
    {"events": "multinomial"},
    {"events": "bernoulli"},
    {"events": "multinomial", "min_count": 40, "drop_most_frequent": 2},
    {"model": "weighted", "smoothing": "a=0.1"},
    {"events": "odds", "smoothing": "a=0.5"},
]


def learned(rows, **options):
    return plausible.learn(rows, target="class", **options)


def counts(model):
    order = model.counts.order()
    return model.documents, {name: family.export(order) for name, family in model.counts.families.items()}


@pytest.mark.parametrize("kinds", [{"kinds": {"note": "text"}}, {"text": "note"}])
def test_a_weight_is_so_many_copies(kinds):
    copies = [{k: v for k, v in row.items() if k != "w"} for row in ROWS for _ in range(row["w"])]
    assert counts(learned(ROWS, weights="w", raw=True, **kinds)) == counts(learned(copies, raw=True, **kinds))


@pytest.mark.parametrize("rules", RULES)
def test_left_out_is_forgotten_with_all_its_weight(rules):
    model = learned(ROWS, weights="w", kinds={"note": "text"}, raw=True, **rules)
    left_out = np.asarray(model.scores_left_out(CELLS, LABELS, weights=WEIGHTS).log_posterior)
    for i in range(0, 60, 7):
        one = {name: column[i : i + 1] for name, column in CELLS.items()}
        other = model.copy()
        other.forget(one, LABELS[i : i + 1], weights=WEIGHTS[i : i + 1])
        assert other.documents == model.documents - WEIGHTS[i]
        np.testing.assert_allclose(np.asarray(other.scores(one).log_posterior)[0], left_out[i], rtol=0, atol=1e-9)


def test_halves_merge_and_forget_with_weights():
    whole, first, rest = (
        learned(part, weights="w", kinds={"note": "text"}, raw=True, smoothing="a=0.1")
        for part in (ROWS, ROWS[:30], ROWS[30:])
    )
    merged = plausible.merge(first, rest)
    assert to_bytes(merged) == to_bytes(whole)
    merged.counts.subtract(rest.counts)
    assert to_bytes(merged) == to_bytes(first)


@pytest.mark.parametrize("options", [{"kinds": {"note": "text"}}, {"ignore": "note"}])
def test_weighted_models_are_calibrated_in_any_order(options):
    model = learned(ROWS, weights="w", **options)
    plain = learned(ROWS, **{**options, "ignore": [*([options["ignore"]] if "ignore" in options else []), "w"]})
    if "kinds" in options:
        assert model.calibration is not None
        assert model.calibration != plain.calibration
    assert to_bytes(learned(ROWS[::-1], weights="w", **options)) == to_bytes(model)


def test_dependent_columns_are_calibrated_by_weight():
    """The same column five times is five times too sure, with weights as without."""
    random = np.random.default_rng(1)
    rows = []
    for _ in range(400):
        own = int(random.integers(2))
        said = own if random.random() < 0.7 else 1 - own
        weight = float(random.integers(1, 9)) / 4
        rows.append({**{f"c{k}": ["no", "yes"][said] for k in range(5)}, "w": weight, "class": "ab"[own]})
    model = plausible.learn(rows, target="class", weights="w")
    raw = plausible.learn(rows, target="class", weights="w", raw=True)
    row = {f"c{k}": ["yes"] for k in range(5)}
    calibrated, sure = (plausible.classify(one, row)[0].probability for one in (model, raw))
    assert sure > 0.95 > 0.8 > calibrated > 0.6


def test_fractions_are_kept_in_the_file():
    rows = [{"a": "pq"[i % 2], "x": float(i % 7), "w": 0.25 + i % 3, "class": "xy"[i % 2]} for i in range(40)]
    model = learned(rows, weights="w", kinds={"x": "bins:3"})
    again = from_bytes(to_bytes(model))
    assert again.documents == model.documents == 40 / 4 + sum(i % 3 for i in range(40))
    assert counts(again) == counts(model)


def test_rows_weigh_in_the_brier_score() -> None:
    """A Brier score with weights is that of each row written so many times."""
    from plausible.calibration import brier_score

    probabilities = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]])
    truth = np.array([0, 0, 1], np.int32)
    times = [3, 1, 2]
    written = brier_score(np.repeat(probabilities, times, axis=0), np.repeat(truth, times))
    assert brier_score(probabilities, truth, [float(n) for n in times]) == pytest.approx(written, abs=1e-15)
    assert written != pytest.approx(brier_score(probabilities, truth))


def test_rules_are_chosen_as_if_each_row_stood_there_as_often_as_it_counts():
    """Each row with its share, beside each row so many times over."""
    from plausible.learning.choose import Learned, choose

    model = plausible.learn(ROWS, target="class", weights="w", smoothing="a=0.1")
    shares = [1 + 8 * (label == "x") for label in LABELS]
    over = [i for i, share in enumerate(shares) for _ in range(share)]
    repeated = {name: [column[i] for i in over] for name, column in CELLS.items()}
    told = choose(model, Learned(CELLS, LABELS, None, WEIGHTS, shares)).tried
    rules = model.rules
    again = choose(model, Learned(repeated, [LABELS[i] for i in over], None, [WEIGHTS[i] for i in over])).tried
    assert model.rules == rules
    assert [one.brier for one in told] == pytest.approx([one.brier for one in again], rel=1e-3)
    assert [one.brier for one in told] != pytest.approx(
        [one.brier for one in choose(model, Learned(CELLS, LABELS, None, WEIGHTS)).tried], rel=1e-2
    )
