"""Counts that were loaded answer and change as those that were counted, though they are opened only for change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible import _native
from plausible.model import Model
from plausible.priors import Rules, Smoothing

SOME = ["sun", "rain", "wind", "s", "中文", "gęś", "x" * 16, "x" * 17, "y" * 40]
WORDS = st.lists(st.sampled_from(SOME), max_size=12)
TEXTS = st.lists(st.tuples(WORDS.map(" ".join), st.sampled_from("abc")), min_size=1, max_size=10)
RULES = [Rules(), Rules(events="bernoulli"), Rules(events="weighted", smoothing=Smoothing(a=0.1), pairs=True)]


def counted(texts: list[tuple[str, str]]) -> _native.Terms:
    terms = _native.Terms(1, 2)
    terms.count([text for text, _ in texts], ["abc".index(label) for _, label in texts])
    return terms


def stored(terms: _native.Terms) -> _native.Terms:
    loaded = _native.Terms(1, 2)
    loaded.load(**terms.export([0, 1, 2]), classes=[100] * 3)
    return loaded


def exported(terms: _native.Terms) -> dict[str, object]:
    return dict(terms.export([0, 1, 2]))


@given(texts=TEXTS, more=TEXTS)
def test_what_is_loaded_changes_as_what_was_counted(texts, more):
    one, other = counted(texts), stored(counted(texts))
    assert exported(one) == exported(other)
    assert exported(one.words_only()) == exported(other.words_only())
    change = counted(more)
    one.merge(change, [0, 1, 2])
    other.merge(stored(change), [0, 1, 2])
    assert exported(one) == exported(other)
    assert [other.row(word) for word in SOME] == [one.row(word) for word in SOME]
    other.subtract(stored(change), [0, 1, 2], [100] * 3)
    assert exported(other) == exported(counted(texts))
    other.count([text for text, _ in more], ["abc".index(label) for _, label in more])
    assert exported(other) == exported(one)


@given(texts=TEXTS, more=TEXTS)
def test_what_is_loaded_tells_what_it_can_not_cover(texts, more):
    one, other = counted(texts), stored(counted(texts))
    change = counted(more)
    assert bool(one.uncovered(change, [0, 1, 2], [5] * 3)) == bool(other.uncovered(stored(change), [0, 1, 2], [5] * 3))


@pytest.mark.parametrize("rules", RULES, ids=str)
@given(texts=TEXTS, asked=st.lists(WORDS.map(" ".join), max_size=20))
def test_what_is_loaded_scores_as_what_was_counted(rules, texts, asked):
    given_texts, labels = [text for text, _ in texts] * 2, [label for _, label in texts] * 2
    one, other = Model(rules=rules), Model(rules=rules)
    one.update(given_texts, labels)
    other.terms.load(**one.terms.export(list(range(len(one.classes)))), classes=[int(n) for n in one.counts.documents])
    other.counts.index, other.counts.documents = dict(one.counts.index), list(one.counts.documents)
    if rules.log_odds and len(one.classes) < 2:
        return
    for read in (
        lambda model: model.scores(asked).log_posterior,
        lambda model: model.scores_left_out(given_texts, labels).log_posterior,
    ):
        np.testing.assert_array_equal(np.asarray(read(one)), np.asarray(read(other)))
    assert one.scorer.words() == other.scorer.words()
