"""Documents that are kept as terms get the same scores as their texts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible import _native
from plausible.model import Model
from plausible.priors import Rules, Smoothing
from plausible.text import Tokens

WORDS = st.lists(st.sampled_from(["sun", "rain", "wind", "snow", "中文", "gęś", "x" * 20]), max_size=12).map(" ".join)
RULES = [
    Rules(),
    Rules(events="bernoulli"),
    Rules(smoothing=Smoothing(m=0.0)),
    Rules(min_count=2, drop_most_frequent=1),
    Rules(events="weighted", smoothing=Smoothing(a=0.1)),
    Rules(events="odds", smoothing=Smoothing(a=0.5)),
    Rules(events="rates", smoothing=Smoothing(a=2.0)),
]


@pytest.mark.parametrize("rules", RULES, ids=str)
@given(learned=st.lists(st.tuples(WORDS, st.sampled_from("abc")), min_size=3, max_size=10), texts=st.lists(WORDS))
def test_the_same_scores_as_of_texts(rules, learned, texts):
    model = Model(rules=rules)
    model.update([text for text, _ in learned], [label for _, label in learned])
    if rules.log_odds and len(model.classes) < 2:
        return
    kept = _native.Kept(model.terms)
    kept.add(texts[: len(texts) // 2])
    kept.add(texts[len(texts) // 2 :])
    assert len(kept) == len(texts)
    scores, tokens, known = kept.score(kept.weigh(model.scorer), threads=2)
    expected = [np.asarray(one) for one in model.scorer.score(texts)]
    np.testing.assert_allclose(scores, expected[0], rtol=1e-12, atol=1e-12)
    assert tokens.tolist() == expected[1].tolist()
    assert known.tolist() == expected[2].tolist()


def test_weights_stay_as_they_were_taken():
    model = Model()
    model.update(["sun", "rain"], ["good", "bad"])
    kept = _native.Kept(model.terms)
    kept.add(["sun rain sun"])
    weights = kept.weigh(model.scorer)
    before = kept.score(weights)[0]
    model.update(["sun"], ["bad"])
    kept.add(["fog"])
    np.testing.assert_array_equal(kept.score(weights)[0][0], before[0])
    assert kept.score(weights)[2].tolist() == [3, 0]


@given(st.lists(WORDS, max_size=30))
def test_documents_that_hold_each_term(texts):
    kept = _native.Kept(Tokens().terms())
    kept.add(texts)
    found = kept.frequencies()
    expected = Counter(term for text in texts for term in set(Tokens().of(text)))
    assert found.documents == len(texts)
    assert sorted(found.holding.tolist()) == sorted(number for number in expected.values() if number > 1)
    again = _native.Frequencies(found.documents, found.terms, found.holding)
    assert again.terms.tolist() == found.terms.tolist()


def test_pairs_of_words_are_not_kept():
    with pytest.raises(ValueError, match="single words"):
        _native.Kept(Tokens(ngrams=(1, 2)).terms())
