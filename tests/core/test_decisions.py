"""Costs, unsure answers, ranks without repeats, baselines."""

from __future__ import annotations

import pytest

import plausible
from plausible.baselines import BASELINES
from plausible.decisions import Decision, cost
from plausible.duplicates import first_of_each

SPAM = ["win money now", "cheap money", "money money", "win cheap pills"] * 4
HAM = ["meeting at noon", "lunch at noon", "see you at lunch", "the minutes of the meeting"] * 4


@pytest.fixture(scope="module")
def model() -> plausible.Model:
    return plausible.learn(SPAM + HAM, ["spam"] * len(SPAM) + ["ham"] * len(HAM))


def test_a_costly_mistake_is_avoided(model):
    texts = ["money at lunch", "win money", "cheap lunch"]
    plain = plausible.classify(model, texts)
    p = plain.probabilities[:, plain.classes.index("ham")]
    for factor in (0.1, 1.0, 20.0):
        careful = plausible.classify(model, texts, decision=Decision({("ham", "spam"): factor}))
        # Answer spam only if its expected cost, factor P(ham), is below that of ham, P(spam).
        assert careful.labels == ["spam" if factor * x < 1 - x else "ham" for x in p]


def test_unsure_is_an_answer(model):
    sure = plausible.classify(model, ["win cheap money", ""], decision=Decision(unsure_below=0.8))
    assert sure.labels == ["spam", None]
    assert sure[1].note.startswith("unsure: perhaps ham")


@pytest.mark.parametrize("text", ["ham:spam", "ham=2", "ham:spam=x", "ham:spam=-1", ":spam=2", "ham:spam=nan"])
def test_a_cost_that_is_none_is_refused(text):
    with pytest.raises(plausible.CallError, match="TRUE:ANSWER=X"):
        cost(text)


def test_a_cost_of_an_unknown_class_is_refused(model):
    with pytest.raises(plausible.CallError, match="did you mean 'spam'"):
        plausible.classify(model, ["x"], decision=Decision({("ham", "spma"): 2.0}))


def test_near_duplicates_fold_into_the_first():
    long = "the quick brown fox jumps over the lazy dog while the cat sleeps in the warm afternoon sun"
    texts = [long, "something else entirely here", long.upper() + "!", long + " today", "", "something else"]
    assert first_of_each(texts) == [0, 1, 0, 0, 4, 5]
    assert first_of_each(["", ""]) == [0, 0]


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_answer(name):
    answers = BASELINES[name](
        SPAM + HAM, ["spam"] * 16 + ["ham"] * 16, ["cheap money", "lunch meeting"], plausible.Tokens()
    )
    if name == "majority class":
        assert answers == ["ham", "ham"]
    else:
        assert answers == ["spam", "ham"]


def test_evaluation_beside_baselines_and_ranking():
    figures = plausible.evaluate(SPAM + HAM, ["spam"] * 16 + ["ham"] * 16, against=True, label="spam", seed=1)
    assert set(figures.against) == set(BASELINES)
    assert figures.against["majority class"]["accuracy"] == pytest.approx(0.5, abs=0.1)
    assert figures.top_tenth == {"precision": 1.0, "base": pytest.approx(0.5, abs=0.1)}
