"""Weighted events: against a plain twin, without the document, and merged."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible import CallError, Model, Rules, Smoothing, Tokens, _native, learn
from plausible.terms import LEAST_PAIRS, RATES, REST

WORDS = ["red", "blue", "green", "circle", "square", "中"]
UNIT = 2**20

collections = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join), st.sampled_from("abc")),
    min_size=2,
    max_size=9,
).filter(lambda pairs: len({label for _, label in pairs}) > 1)
rules = st.builds(
    Rules,
    events=st.sampled_from(["weighted", "odds", "rates"]),
    pairs=st.booleans(),
    smoothing=st.builds(Smoothing, a=st.sampled_from([0.02, 0.1, 1.0]), share=st.booleans()),
)
PAIRS = Tokens(ngrams=(1, 2))


def is_pair(term: str) -> bool:
    return " " in term


def masses(text: str, raw: bool) -> dict[str, float]:
    """What each term of a document counts: its occurrences, or damped and normalised (docs/weighted.md)."""
    times = Counter(PAIRS.of(text))
    if raw:
        return {term: float(f) for term, f in times.items()}
    out = {}
    for pairs in (False, True):
        mine = {term: math.log1p(f) for term, f in times.items() if is_pair(term) == pairs}
        norm = math.sqrt(sum(x * x for x in mine.values()))
        out |= {term: round(x / norm * UNIT) / UNIT for term, x in mine.items()}
    return out


def twin(
    pairs: list[tuple[str, str]], text: str, rule: Rules, classes: list[str], collection: list[str] | None = None
) -> np.ndarray:
    """The channels' scores of a document, shape (channels, classes), by the formulas of docs/weighted.md."""
    if rule.events == "rates":
        return rates_twin(pairs, text, rule, classes, collection)
    raw = rule.events == "odds"
    a = rule.smoothing.a
    s: dict[tuple[str, str], float] = {}
    with_term: Counter[str] = Counter()
    for learned, label in pairs:
        for term, mass in masses(learned, raw).items():
            s[label, term] = s.get((label, term), 0.0) + mass
            with_term[term] += 1
    channels = [(False, a, a)] if len(classes) == 2 else [(False, a, 0.0), (False, 0.0, REST * a)]
    channels += [(True, a, a)] if rule.pairs else []
    out = np.zeros((len(channels), len(classes)))
    for k, (of_pairs, own, rest) in enumerate(channels):
        least = LEAST_PAIRS if of_pairs else 1
        terms = [t for t, d in with_term.items() if is_pair(t) == of_pairs and d >= least]
        power = 1.0 if rule.smoothing.share else 0.0 if raw else 0.5
        spread = {t: (with_term[t] + 0.5) ** power for t in terms}
        mean = sum(spread.values()) / len(terms) if terms else 1.0
        for i, c in enumerate(classes):
            n_c = sum(s.get((c, t), 0.0) for t in terms)
            everything = sum(s.get((other, t), 0.0) for other in classes for t in terms)
            for term, x in masses(text, raw).items():
                if term not in spread:
                    continue
                r = spread[term] / mean
                power = 0.0 if raw else 1.0 if of_pairs else 0.5
                rarity = math.log((len(pairs) + 1) / (with_term[term] + 0.5)) ** power
                mine = s.get((c, term), 0.0)
                everyone = sum(s.get((other, term), 0.0) for other in classes)
                weight = math.log((mine + own * r) / (n_c + own * len(terms))) if own else 0.0
                if rest:
                    weight -= math.log((max(everyone - mine, 0.0) + rest * r) / (everything - n_c + rest * len(terms)))
                out[k, i] += x * rarity * weight
    return out


def rates_twin(
    pairs: list[tuple[str, str]], text: str, rule: Rules, classes: list[str], collection: list[str] | None
) -> np.ndarray:
    """The same for rates, whose rarity may come from a larger collection."""
    learned = Counter(term for one, _ in pairs for term in masses(one, raw=False))
    held = learned if collection is None else Counter(term for one in collection for term in set(PAIRS.of(one)))
    documents = len(pairs) if collection is None else max(len(pairs), len(collection))
    out = np.zeros((1 + rule.pairs, len(classes)))
    for k, of_pairs in enumerate([False, True][: len(out)]):
        for term, x in masses(text, raw=False).items():
            if is_pair(term) != of_pairs or learned[term] < (LEAST_PAIRS if of_pairs else 1):
                continue
            share = (max(held[term], learned[term], 1) + 0.5) / (documents + 1)
            imaginary = rule.smoothing.a * share ** (1.0 if rule.smoothing.share else 0.5)
            for i, c in enumerate(classes):
                own = [masses(one, raw=False).get(term, 0.0) for one, label in pairs if label == c]
                rate = len(pairs) * sum(own) / len(own)
                out[k, i] += x * (-math.log(share)) ** 1.5 * math.log(rate + imaginary)
    return out


def centred(scores: np.ndarray) -> np.ndarray:
    return scores - scores.mean(axis=-1, keepdims=True)


def model_of(pairs: list[tuple[str, str]], rule: Rules) -> Model:
    model = Model(PAIRS, rule)
    model.update([text for text, _ in pairs], [label for _, label in pairs])
    return model


@given(collections, st.lists(st.sampled_from([*WORDS, "new"]), max_size=6).map(" ".join), rules)
def test_scores_are_those_of_the_formulas(pairs, text, rule):
    model = model_of(pairs, rule)
    raw, _, _ = model.scorer.score([text])
    got = np.asarray(raw)[:, model.class_indices]
    expected = twin(pairs, text, rule, model.classes).sum(0)
    assert centred(got[0]) == pytest.approx(centred(expected), abs=1e-9)


@given(collections, rules)
def test_a_document_left_out_is_one_never_learned(pairs, rule):
    model = model_of(pairs, rule)
    for i, (text, label) in enumerate(pairs):
        others = pairs[:i] + pairs[i + 1 :]
        if {name for _, name in others} != set(model.classes):
            continue
        raw, _, _ = model.scorer.score_without([text], [model.counts.index[label]])
        channels = np.asarray(raw).reshape(-1, len(model.counts.documents))[:, model.class_indices]
        expected = twin(others, text, rule, model.classes)
        assert centred(channels) == pytest.approx(centred(expected), abs=1e-9)


@given(collections, st.lists(st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join), max_size=9))
def test_rarity_of_a_larger_collection_stays_when_a_document_is_left_out(pairs, more):
    rule = Rules(events="rates", smoothing=Smoothing(a=2.0))
    model = Model(Tokens(), rule)
    texts, labels = zip(*pairs, strict=True)
    model.update(texts, labels)
    collection = [*texts, *more]
    kept = _native.Kept(model.terms)
    kept.add(collection)
    model.collection = kept.frequencies()
    expected = [twin(pairs, text, rule, model.classes, collection)[0] for text in collection]
    assert centred(np.asarray(model.scorer.score(collection)[0])[:, model.class_indices]) == pytest.approx(
        centred(np.array(expected)), abs=1e-9
    )
    for i, (text, label) in enumerate(pairs):
        others = pairs[:i] + pairs[i + 1 :]
        if {name for _, name in others} == set(model.classes):
            raw, _, _ = model.scorer.score_without([text], [model.counts.index[label]])
            left = twin(others, text, rule, model.classes, collection)
            assert centred(np.asarray(raw)[:, model.class_indices]) == pytest.approx(centred(left), abs=1e-9)


def test_words_of_a_larger_collection_that_grows():
    model = Model(Tokens(), Rules(events="rates", smoothing=Smoothing(a=2.0)))
    model.update(["sun", "rain"], ["good", "bad"])

    def odds() -> float:
        good, bad = np.asarray(model.scorer.score(["sun"])[0])[0][model.class_indices[::-1]]
        return float(good - bad)

    alone = odds()
    kept = _native.Kept(model.terms)
    kept.add(["sun", "rain", "fog", "fog", "fog", "fog"])
    model.collection = kept.frequencies()
    rare = odds()
    kept.add(["sun"] * 6)
    assert odds() == rare
    model.collection = kept.frequencies()
    assert odds() < alone < rare
    assert model.copy().collection is model.estimate(min_length=2).collection is model.collection


def test_rates_without_evidence_of_the_rest_and_frequencies_that_fit():
    terms = Tokens().terms()
    with pytest.raises(ValueError, match="no evidence of the other classes"):
        _native.Weighted(_native.Totals(terms, [1, 1], **RATES, least=(1, 1), grams=False), [(False, 1.0, 1.0)])
    for documents, hashes, holding, what in (
        (3, [1, 2], [2], "one number of documents a term"),
        (3, [2, 1], [2, 2], "must rise"),
        (3, [1, 2], [2, 4], "more documents than there are"),
    ):
        with pytest.raises(ValueError, match=what):
            _native.Frequencies(documents, np.array(hashes, np.uint64), np.array(holding, np.uint32))


@given(collections, collections, rules)
def test_merged_is_one_pass(one, other, rule):
    merged = model_of(one, rule)
    merged.merge(model_of(other, rule))
    whole = model_of(one + other, rule)
    assert merged.terms.export(merged.counts.order()) == whole.terms.export(whole.counts.order())
    texts = [text for text, _ in one + other]
    got, expected = (np.asarray(model.scores(texts).log_posterior) for model in (merged, whole))
    assert got == pytest.approx(expected, abs=1e-12)


@given(collections)
def test_words_only_is_what_words_alone_count(pairs):
    both = model_of(pairs, Rules(events="weighted", pairs=True))
    words = Model(Tokens(), Rules(events="weighted"))
    words.update([text for text, _ in pairs], [label for _, label in pairs])
    assert both.terms.words_only().export(both.counts.order()) == words.terms.export(words.counts.order())


def test_explanations_sum_to_the_difference_of_the_scores():
    from plausible import explain

    texts = ["red circle red", "red square", "blue square", "blue blue circle", "green circle", "green square now"] * 3
    model = learn(texts, ["a", "a", "b", "b", "c", "c"] * 3)
    why = explain(model, "red blue circle circle", "a", "b")
    assert why.score == pytest.approx(why.prior + sum(word.weight for word in why.evidence), abs=1e-12)
    odds = np.asarray(model.log_odds(["red blue circle circle"]))[0]
    assert why.score == pytest.approx(odds[0] - odds[1], abs=1e-9)


def test_rules_that_do_not_go_with_weighted_events_are_refused():
    for unfit in (
        {"smoothing": Smoothing(m=3.0)},
        {"smoothing": Smoothing(a=0.0)},
        {"min_count": 2},
        {"prior": "uniform"},
    ):
        with pytest.raises(CallError, match="weighted events"):
            Rules(events="weighted", **unfit)


def test_pairs_stop_at_punctuation():
    assert PAIRS.of("one two, three\n four. Ёлка ёж; ёж") == [
        "one", "two", "one two", "three", "four", "three four", "ёлка", "ёж", "ёлка ёж", "ёж",
    ]  # fmt: skip
