"""Explanations, ranks and words, as a reader can check them."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import as_ours, collections, learn_raw, rules

from plausible import CallError, Model, Smoothing, classify, explain, rank, words

MAIL = ["win money money now", "cheap money", "meeting at noon", "lunch at noon, 中文"]
KINDS = ["spam", "spam", "ham", "ham"]


# --- explain --------------------------------------------------------------------------------------------------------


@given(collections(least=2), rules(), st.sampled_from(["aa bb bb zebra", "", "中 e", "aa cc dd dd e"]))
@example((["aa", "bb"], ["x", "y"]), naive.Rules(m=0.0), "aa bb")
@example((["aa", "bb", "cc"], ["x", "y", "z"]), naive.Rules(m=0.0, events="bernoulli"), "aa bb")
@example((["cc", ""], ["z", "x"]), naive.Rules(m=0.0), "aa cc")
def test_words_sum_to_the_score(pairs: tuple[list[str], list[str]], twin_rules: naive.Rules, document: str) -> None:
    model = Model(rules=as_ours(twin_rules))
    model.update([*pairs[0], "aa", "bb"], [*pairs[1], "x", "y"])
    why = explain(model, document)
    answer = classify(model, [document])[0]
    assert (why.label, why.probability) == (answer.label, pytest.approx(answer.probability))
    parts = [why.prior, why.absent, *(word.weight for word in why.evidence)]
    assert not any(math.isnan(part) for part in [*parts, why.score])
    log_p = {c: math.log(p) if p else -math.inf for c, p in answer.probabilities.items()}
    if "all products are 0" not in answer.note and not {math.inf, -math.inf} <= set(parts):
        assert sum(parts) == pytest.approx(why.score)
    if log_p[why.label] != log_p[why.against]:
        assert why.score == pytest.approx(log_p[why.label] - log_p[why.against], abs=1e-6)
    weights = [abs(word.weight) for word in why.evidence]
    assert weights == sorted(weights, reverse=True)


def test_evidence_has_the_counts() -> None:
    why = explain(learn_raw(MAIL, KINDS), "money at noon zebra money", "spam")
    assert (why.label, why.against, why.ignored) == ("spam", "ham", ["zebra"])
    by_term = {word.term: (word.times, word.seen, word.seen_against) for word in why.evidence}
    assert by_term == {"money": (2, 3, 0), "at": (1, 0, 2), "noon": (1, 0, 2)}
    documents = explain(learn_raw(MAIL, KINDS, events="bernoulli"), "money money", "spam")
    assert {word.term: (word.seen, word.seen_against) for word in documents.evidence} == {"money": (2, 0)}


def test_against_the_next_most_probable_class() -> None:
    model = learn_raw(["a a", "a b", "c"], ["x", "y", "z"])
    assert (explain(model, "a").label, explain(model, "a").against) == ("x", "y")
    assert explain(model, "a", "z").against == "x"
    assert explain(model, "a", "x", "z").against == "z"


def test_what_can_not_be_explained() -> None:
    model = learn_raw(MAIL, KINDS)
    with pytest.raises(CallError, match=r"unknown class 'Spam'.*did you mean 'spam'"):
        explain(model, "a", "Spam")
    with pytest.raises(CallError, match="against itself"):
        explain(model, "a", "spam", "spam")
    with pytest.raises(CallError, match="unknown class 'jam'"):
        explain(model, "a", "spam", "jam")
    with pytest.warns(match="one class only"):
        single = learn_raw(["a"], ["x"])
    with pytest.raises(CallError, match="one class only"):
        explain(single, "a")


# --- rank -----------------------------------------------------------------------------------------------------------


def test_rank_by_log_odds_of_a_known_word() -> None:
    model = learn_raw(MAIL, KINDS)
    documents = ["", "noon noon", "money", "zebra", "money " * 200, "money noon"]
    ranked = rank(model, documents, "spam")
    assert [one.index for one in ranked][2:] == [5, 1, 0, 3]  # what has no known word comes last, in its order
    assert {one.index for one in ranked[:2]} == {2, 4}  # though both posteriors are 1 to many digits
    assert [one.score is None for one in ranked] == [False] * 4 + [True] * 2
    by_index = {one.index: one for one in ranked}
    p = classify(model, ["money noon"])[0].probabilities["spam"]
    assert by_index[5].score == pytest.approx(math.log(p / (1 - p)) / 2)
    assert by_index[5].probability == pytest.approx(p)


@given(collections(least=2), rules(), st.permutations([*range(4)]))
def test_rank_does_not_depend_on_the_order_of_documents(
    pairs: tuple[list[str], list[str]], twin_rules: naive.Rules, order: list[int]
) -> None:
    model = Model(rules=as_ours(twin_rules))
    model.update(*pairs)
    documents = ["aa bb", "cc", "", "e 中 aa"]
    label = model.classes[0]
    scores = [None if one.score is None else round(one.score, 9) for one in rank(model, documents, label)]
    shuffled = rank(model, [documents[i] for i in order], label)
    assert not any(score is not None and math.isnan(score) for score in scores)
    assert [None if one.score is None else round(one.score, 9) for one in shuffled] == scores


@pytest.mark.parametrize(("top", "size"), [(None, 10), (3, 3), (0.1, 1), (0.25, 3), (0.3, 3), (99, 10), (1, 1)])
def test_top(top: float | int | None, size: int) -> None:
    assert len(rank(learn_raw(MAIL, KINDS), ["money"] * 10, "spam", top=top)) == size


@pytest.mark.parametrize("top", [0, -1, -0.5, math.nan])
def test_top_of_nothing(top: float) -> None:
    with pytest.raises(CallError, match="top must be above 0"):
        rank(learn_raw(MAIL, KINDS), ["money"], "spam", top=top)


def test_rank_for_an_unknown_class() -> None:
    with pytest.raises(CallError, match=r"unknown class 'span'.*did you mean 'spam'"):
        rank(learn_raw(MAIL, KINDS), ["money"], "span")


# --- words ----------------------------------------------------------------------------------------------------------


def test_words_of_a_class() -> None:
    found = words(learn_raw(MAIL, KINDS), "spam")
    assert found[0].term == "money"
    assert (found[0].seen, found[0].seen_elsewhere) == (3, 0)
    assert found[0].probability == pytest.approx((3 + 1) / (6 + 11))
    assert [word.score for word in found] == sorted((word.score for word in found), reverse=True)
    assert [word.term for word in words(learn_raw(MAIL, KINDS), "spam", 2)] == [word.term for word in found[:2]]


@given(collections(least=1), rules())
@example((["aa", "aa"], ["x", "x"]), naive.Rules(m=0.0))
@example((["aa", "bb"], ["x", "y"]), naive.Rules(m=0.0, events="bernoulli"))
@example((["aa aa", "bb"], ["x", "y"]), naive.Rules(share=True, m=2.0))
def test_words_have_the_probabilities_of_the_model(pairs: tuple[list[str], list[str]], twin_rules: naive.Rules) -> None:
    model, twin = Model(rules=as_ours(twin_rules)), naive.Learned.of(*pairs, twin_rules)
    model.update(*pairs)
    for label in model.classes:
        found = words(model, label, 100)
        assert {word.term for word in found} == set(twin.vocabulary())
        for word in found:
            assert not any(math.isnan(x) for x in (word.probability, word.ratio, word.score))
            if twin_rules.events == "multinomial":
                alone = twin.log_likelihood(naive.Bag([word.term]), label)
                assert word.probability == pytest.approx(math.exp(alone))


def test_words_of_an_unknown_class() -> None:
    with pytest.raises(CallError, match=r"unknown class 'Ham'.*did you mean 'ham'"):
        words(learn_raw(MAIL, KINDS), "Ham")


# --- classify -------------------------------------------------------------------------------------------------------


def test_answers_by_row_and_by_column() -> None:
    answers = classify(learn_raw(MAIL, KINDS), ["money", "", "zebra", "at noon"])
    assert answers.labels == [answer.label for answer in answers] == ["spam", "ham", "ham", "ham"]
    assert [answer.note for answer in answers] == [
        "",
        "no text: answered by the prior",
        "no known word: answered by the prior",
        "",
    ]
    assert answers[-1] == answers[3] == answers[2:][1]
    assert len(answers) == 4
    np.testing.assert_allclose(answers.probabilities[:, 1], [one.probabilities["spam"] for one in answers])
    with pytest.raises(IndexError):
        answers[4]


def test_equal_probabilities_give_the_first_class_by_name() -> None:
    assert classify(learn_raw(["a", "a"], ["b", "a"]), ["a"]).labels == ["a"]


def test_a_posterior_of_0_is_no_gap() -> None:
    answer = classify(learn_raw(["a b", "b c"], ["x", "y"], smoothing=Smoothing(0.0)), ["a b"])[0]
    assert answer.probabilities == {"x": 1.0, "y": 0.0}
