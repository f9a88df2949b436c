"""From counts to probabilities: the books' figures, scikit-learn's numbers, and the plain twin's."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import as_ours, collections, learn_raw, rules

from plausible import CallError, Model, ModelError, Rules, Smoothing, Tokens, classify, m_estimate


def near(ours: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(ours), np.asarray(expected), rtol=1e-9, atol=1e-9)


# --- the books ------------------------------------------------------------------------------------------------------


def test_m_estimate() -> None:
    """Mitchell 1997, eq. 6.22: m = 0 is the fraction, and m = k with p = 1/k is Laplace's one more of each."""
    assert m_estimate(3, 9, 1 / 2, 0) == 3 / 9
    assert m_estimate(3, 5, 1 / 2, 0) == 3 / 5
    assert m_estimate(2, 10, 1 / 4, 4) == pytest.approx((2 + 1) / (10 + 4))
    assert m_estimate(0, 0, 1 / 3, 1) == 1 / 3


def test_three_sizes() -> None:
    """Ten positive examples, 4 small, 0 medium, 6 large; m = 1, p = 1/3: .394, .030, .576 (lecture, "Laplace smoothing
    example")."""
    estimates = [m_estimate(n, 10, 1 / 3, 1) for n in (4, 0, 6)]
    assert [round(p, 3) for p in estimates] == [0.394, 0.03, 0.576]
    assert sum(estimates) == pytest.approx(1)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.floats(0.001, 1000))
def test_estimates_sum_to_one(counts: list[int], m: float) -> None:
    assert sum(m_estimate(n, sum(counts), 1 / len(counts), m) for n in counts) == pytest.approx(1)


@pytest.mark.parametrize("m", [-1, math.nan, math.inf, -math.inf])
def test_m_must_be_a_number_that_is_not_negative(m: float) -> None:
    with pytest.raises(CallError, match="m must be a number that is not negative"):
        m_estimate(1, 2, 0.5, m)
    with pytest.raises(CallError, match="m must be a number that is not negative"):
        Smoothing(m)
    with pytest.raises(CallError, match="m must be a number that is not negative"):
        Smoothing.parse(f"m={m}")


def test_no_examples_and_no_prior() -> None:
    with pytest.raises(CallError, match="0/0; choose m > 0"):
        m_estimate(0, 0, 0.5, 0)


def test_word_given_class() -> None:
    """(n_k + 1) / (n + |V|), n = word positions in the class (Mitchell 1997, table 6.2)."""
    model = learn_raw(["win money money now", "lunch now"], ["spam", "ham"])
    spam, ham = model.class_index("spam"), model.class_index("ham")
    assert model.vocabulary == 4
    ((_, _, weights),) = model.scorer.terms(model.terms, "money")
    assert math.exp(weights[spam]) == pytest.approx((2 + 1) / (4 + 4))
    assert math.exp(weights[ham]) == pytest.approx((0 + 1) / (2 + 4))


def test_word_indicator_given_class() -> None:
    """(documents of the class with the word + 1) / (documents of the class + 2); the class prior is not smoothed (Ng,
    generative learning, Laplace smoothing)."""
    model = learn_raw(["money money", "money now", "lunch"], ["spam", "spam", "ham"], events="bernoulli")
    answer = classify(model, ["money"])[0]
    spam = Fraction(2, 3) * Fraction(3, 4) * (1 - Fraction(2, 4)) * (1 - Fraction(1, 4))  # money, no now, no lunch
    ham = Fraction(1, 3) * Fraction(1, 3) * (1 - Fraction(1, 3)) * (1 - Fraction(2, 3))
    assert answer.probabilities["spam"] == pytest.approx(float(spam / (spam + ham)))


FOUR_ROWS = ["small red circle", "large red circle", "small red triangle", "large blue circle"]


@pytest.mark.parametrize("events", ["multinomial", "bernoulli"])
def test_four_rows_without_smoothing_are_undefined(events: str) -> None:
    """The query medium red circle has product 0 in both classes when medium is known (here by one row of a third
    class): 0/0 is said so, and never NaN (lecture, "Probability estimation example"; Ng)."""
    documents, labels = [*FOUR_ROWS, "medium"], ["+", "+", "-", "-", "other"]
    model = learn_raw(documents, labels, smoothing="mle", events=events)
    answer = classify(model, ["medium red circle"])[0]
    assert "all products are 0" in answer.note
    assert "choose smoothing above 0" in answer.note
    assert answer.probabilities == pytest.approx({"+": 0.4, "-": 0.4, "other": 0.2})
    smoothed = classify(model.estimate(smoothing=Smoothing(1.0)), ["medium red circle"])[0]
    assert smoothed.label == "+"
    assert not smoothed.note


def test_unseen_words_are_ignored_and_counted() -> None:
    """Words that are not in the vocabulary take no part (Mitchell 1997, table 6.2)."""
    model = learn_raw(["a b", "c"], ["x", "y"])
    with_unseen, without = classify(model, ["a zebra", "a"])
    assert with_unseen.probabilities == without.probabilities
    assert (with_unseen.tokens, with_unseen.known) == (2, 1)


def test_both_event_models_by_brute_force() -> None:
    """Five words, every probability written out as a fraction (McCallum and Nigam 1998)."""
    documents = ["a a b", "b c", "d d d", "a e"]
    labels = ["x", "x", "y", "y"]
    query = "a a e"
    n, v = {"x": 5, "y": 5}, 5
    times = {"x": {"a": 2, "b": 2, "c": 1}, "y": {"a": 1, "d": 3, "e": 1}}
    holds = {"x": {"a": 1, "b": 2, "c": 1}, "y": {"a": 1, "d": 1, "e": 1}}
    multinomial, bernoulli = {}, {}
    for c in "xy":
        w = {t: Fraction(times[c].get(t, 0) + 1, n[c] + v) for t in "abcde"}
        multinomial[c] = Fraction(1, 2) * w["a"] * w["a"] * w["e"]
        h = {t: Fraction(holds[c].get(t, 0) + 1, 2 + 2) for t in "abcde"}
        bernoulli[c] = Fraction(1, 2) * h["a"] * (1 - h["b"]) * (1 - h["c"]) * (1 - h["d"]) * h["e"]
    for events, products in (("multinomial", multinomial), ("bernoulli", bernoulli)):
        answer = classify(learn_raw(documents, labels, events=events), [query])[0]
        expected = {c: float(products[c] / sum(products.values())) for c in "xy"}
        assert answer.probabilities == pytest.approx(expected, rel=1e-12)


# --- scikit-learn ---------------------------------------------------------------------------------------------------


@given(collections(least=2, most=12), st.booleans(), st.sampled_from([0.1, 1.0, 3.0]))
def test_equal_to_scikit_learn_raw(pairs: tuple[list[str], list[str]], bernoulli: bool, alpha: float) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import BernoulliNB, MultinomialNB

    documents, labels = [*pairs[0], "aa bb"], [*pairs[1], "w"]
    vectors = CountVectorizer(analyzer=Tokens().of, binary=bernoulli)
    peer = (BernoulliNB if bernoulli else MultinomialNB)(alpha=alpha).fit(vectors.fit_transform(documents), labels)
    m = 2 * alpha if bernoulli else alpha * len(vectors.vocabulary_)
    model = learn_raw(documents, labels, events="bernoulli" if bernoulli else "multinomial", smoothing=Smoothing(m))
    queries = [*documents, "", "aa zebra", "ff ff ff bb 中"]
    answers = classify(model, queries)
    near(answers.log_probabilities, peer.predict_log_proba(vectors.transform(queries)))


# --- the twin -------------------------------------------------------------------------------------------------------


@given(
    collections(), rules(), st.lists(st.sampled_from(["aa bb bb", "", "zebra", "中 e ff", "aa bb cc dd"]), min_size=1)
)
@example((["aa", "aa aa"], ["x", "y"]), naive.Rules(m=0.0), ["aa", "bb"])
@example((["", ""], ["x", "y"]), naive.Rules(events="bernoulli"), ["aa"])
@example((["aa bb", "aa"], ["x", "y"]), naive.Rules(drop=3), ["aa"])
def test_equal_to_the_plain_twin(
    pairs: tuple[list[str], list[str]], twin_rules: naive.Rules, queries: list[str]
) -> None:
    twin = naive.Learned.of(*pairs, twin_rules)
    model = Model(rules=as_ours(twin_rules))
    model.update(*pairs)
    assert model.scorer.words() == twin.vocabulary()
    queries = queries + pairs[0]
    scores = model.scores(queries, 2)
    expected = [twin.log_posterior(naive.Bag(naive.tokens(query))) for query in queries]
    near(scores.log_posterior, expected)
    vocabulary = set(twin.vocabulary())
    assert memoryview(scores.tokens).tolist() == [len(naive.tokens(query)) for query in queries]
    assert memoryview(scores.known).tolist() == [sum(t in vocabulary for t in naive.tokens(query)) for query in queries]
    impossible = [max(twin.log_scores(naive.Bag(naive.tokens(query)))) == -math.inf for query in queries]
    assert scores.undefined == [i for i, nothing in enumerate(impossible) if nothing]


@given(collections(most=12), rules(), st.data())
def test_the_order_of_learning_does_not_matter(
    pairs: tuple[list[str], list[str]], twin_rules: naive.Rules, data: st.DataObject
) -> None:
    one, other = Model(rules=as_ours(twin_rules)), Model(rules=as_ours(twin_rules))
    one.update(*pairs)
    for i in data.draw(st.permutations(range(len(pairs[0])))):
        other.update([pairs[0][i]], [pairs[1][i]])
    first, second = one.scores(pairs[0]), other.scores(pairs[0])
    assert first.classes == second.classes
    near(first.log_posterior, second.log_posterior)


@given(collections(), rules())
def test_never_not_a_number(pairs: tuple[list[str], list[str]], twin_rules: naive.Rules) -> None:
    model = Model(rules=as_ours(twin_rules))
    model.update(*pairs)
    for queries in (pairs[0], ["", "zebra", "aa bb cc dd e 中 ff"]):
        log_posterior = np.asarray(model.scores(queries).log_posterior)
        assert not np.isnan(log_posterior).any()
        near(np.exp(log_posterior).sum(axis=1), np.ones(len(queries)))


def test_many_classes_take_the_sparse_path() -> None:
    """Above 64 classes weights are stored by class and term."""
    documents = [f"w{i} w{i + 1} all" for i in range(100)]
    labels = [f"class {i:02}" for i in range(100)]
    twin = naive.Learned.of(documents, labels)
    near(
        classify(learn_raw(documents, labels), [documents[0], "all w7 w8 w8"]).log_probabilities,
        [twin.log_posterior(naive.Bag(naive.tokens(d))) for d in [documents[0], "all w7 w8 w8"]],
    )


def test_a_word_seen_more_than_4096_times() -> None:
    documents, labels = ["w " * 5000 + "v", "w v v"], ["x", "y"]
    twin = naive.Learned.of(documents, labels)
    near(classify(learn_raw(documents, labels), ["w v"]).log_probabilities, [twin.log_posterior(naive.Bag(["w", "v"]))])


@pytest.mark.parametrize("m", [1e-200, 1e300])
def test_extreme_m(m: float) -> None:
    for events in ("multinomial", "bernoulli"):
        model = learn_raw(["a b", "c"], ["x", "y"], smoothing=Smoothing(m), events=events)
        log_posterior = classify(model, ["a c", "a", "c c", ""]).log_probabilities
        assert not np.isnan(log_posterior).any()


def test_m_that_can_not_be_told_from_0() -> None:
    with pytest.raises(CallError, match="can't be told from 0; choose mle"):
        Smoothing(1e-300)


# --- what the user says ---------------------------------------------------------------------------------------------


@given(st.none() | st.floats(1e-200, 1e300) | st.just(0.0), st.booleans())
def test_smoothing_round_trip(m: float | None, share: bool) -> None:
    rule = Smoothing(m, share=share and m != 0)
    assert Smoothing.parse(str(rule)) == rule


@pytest.mark.parametrize("text", ["", "m", "m=", "m=x", "laplace,x", "mle,share", "m=1,share,share", "LAPLACE "])
def test_unknown_smoothing(text: str) -> None:
    with pytest.raises(CallError, match="use laplace, mle, m=X, a=X"):
        Smoothing.parse(text)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"events": "gaussian"}, "use multinomial, bernoulli"),
        ({"prior": "flat"}, "use fractions, uniform"),
        ({"prior": {"x": 0.5, "y": 0.6}}, "their sum 1"),
        ({"prior": {"x": 1.0, "y": 0.0}}, "above 0"),
        ({"min_count": 0}, "min_count must be a whole number of at least 1"),
        ({"min_count": 1 << 64}, "min_count must be a whole number"),
        ({"drop_most_frequent": -1}, "drop_most_frequent must be a whole number of at least 0"),
        ({"min_length": 1.5}, "min_length must be a whole number"),
    ],
)
def test_rules_that_can_not_be(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        Rules(**wrong)


def test_a_prior_that_lacks_a_class() -> None:
    with pytest.raises(CallError, match="no probability for class 'z'"):
        classify(learn_raw(["a", "b", "c"], ["x", "y", "z"], prior={"x": 0.5, "y": 0.5}), ["a"])


def test_estimated_again_without_the_data() -> None:
    documents, labels = ["the cat", "the dog", "a cat the the cat"], ["x", "y", "x"]
    changed = learn_raw(documents, labels).estimate(events="bernoulli", smoothing=Smoothing(1.0), drop_most_frequent=1)
    fresh = learn_raw(documents, labels, events="bernoulli", smoothing="m=1", drop_most_frequent=1)
    assert changed.scorer.words() == fresh.scorer.words() == ["a", "cat", "dog"]
    near(classify(changed, documents).log_probabilities, classify(fresh, documents).log_probabilities)


@pytest.mark.parametrize(
    ("options", "stop", "left"),
    [
        ({}, ["The", "ISN’T", "cafe\u0301", "的", "e-mail"], ["now"]),
        ({"ngrams": (1, 2)}, ["New  York"], ["new", "york"]),
        ({"stem": "english"}, ["running"], ["fast"]),
        ({}, ["我们"], ["们", "我"]),
    ],
)
def test_stop_words_are_read_as_text_is(options: dict[str, Any], stop: list[str], left: list[str]) -> None:
    """However a stop word is written, it meets the term it becomes."""
    texts = {
        "now": "the isn't caf\u00e9 的 e-mail now",
        "new": "new york",
        "fast": "runs fast",
        "们": "我们",
    }
    with pytest.warns(match="one class only"):
        model = learn_raw([texts[left[0]]], ["x"], stop_words=stop, **options)
    assert model.scorer.words() == left


def test_nothing_learned() -> None:
    with pytest.raises(ModelError, match="learned nothing yet"):
        classify(Model(), ["a"])
