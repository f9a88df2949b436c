"""Left out is as never learned: each document scored with its own counts taken away, against learning without it."""

from __future__ import annotations

import random
from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import as_ours, collections, rules

from plausible import CallError, DataError, Model, Rules, Smoothing, Tokens, evaluate, open_source
from plausible.files.model import save


def left_out(model: Model, documents: list[str], labels: list[str], i: int) -> dict[str, float]:
    """ln P of each class for document i, left out."""
    scores = model.scores_left_out([documents[i]], [labels[i]])
    return dict(zip(scores.classes, np.asarray(scores.log_posterior)[0], strict=True))


def same(ours: dict[str, float], relearned: dict[str, float]) -> None:
    """Equal; a class that has no other document is impossible."""
    for label, log_posterior in ours.items():
        assert log_posterior == pytest.approx(relearned.get(label, -np.inf), rel=1e-9, abs=1e-9), label


@given(collections(least=2), rules())
@example((["aa bb", "bb"], ["x", "y"]), naive.Rules(m=0.0))
@example((["aa", "bb", "aa"], ["x", "y", "y"]), naive.Rules(m=0.0, events="bernoulli"))
@example((["aa aa bb", "aa", "bb bb bb"], ["x", "y", "y"]), naive.Rules(drop=1))
@example((["aa aa bb", "aa", "bb bb bb"], ["x", "y", "y"]), naive.Rules(drop=2, events="bernoulli"))
@example((["aa bb", "aa", "cc"], ["x", "y", "z"]), naive.Rules(min_count=2, share=True))
@example((["", "aa"], ["x", "x"]), naive.Rules(events="bernoulli", m=0.0))
def test_equal_to_relearning(pairs: tuple[list[str], list[str]], twin_rules: naive.Rules) -> None:
    documents, labels = pairs
    model, twin = Model(rules=as_ours(twin_rules)), naive.Learned.of(*pairs, twin_rules)
    model.update(*pairs)
    for i in range(len(documents)):
        without = twin.without(i)
        same(
            left_out(model, documents, labels, i),
            dict(zip(without.classes, without.log_posterior(twin.bags[i]), strict=True)),
        )


@given(collections(least=2), rules())
def test_the_answer_is_the_most_probable_class(pairs: tuple[list[str], list[str]], twin_rules: naive.Rules) -> None:
    model = Model(rules=as_ours(twin_rules))
    model.update(*pairs)
    scores = model.scores_left_out(*pairs, 2)
    log_posterior = np.asarray(scores.log_posterior)
    assert not np.isnan(log_posterior).any()
    assert np.asarray(scores.best).tolist() == log_posterior.argmax(axis=1).tolist()


def test_nothing_is_changed(tmp_path: Path) -> None:
    model = Model()
    model.update(["aa bb", "bb", "cc"], ["x", "y", "y"])
    save(model, tmp_path / "before")
    model.scores_left_out(["aa bb", "bb"], ["x", "y"])
    save(model, tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_never_learned() -> None:
    model = Model()
    model.update(["aa bb", "bb"], ["x", "y"])
    for document, label in (("zebra", "x"), ("aa aa", "x"), ("aa", "y")):
        with pytest.raises(DataError, match="never learned"):
            model.scores_left_out([document], [label])
    with pytest.raises(CallError, match=r"unknown class 'X'.*did you mean 'x'"):
        model.scores_left_out(["aa"], ["X"])


def test_nothing_else_was_learned() -> None:
    with pytest.warns(match="one class only"), pytest.raises(DataError, match="learn more documents"):
        evaluate(["aa"], ["x"], leave_one_out=True)


@pytest.mark.data
@pytest.mark.long
@pytest.mark.parametrize("events", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("smoothing", ["laplace", "mle", "m=50"])
@pytest.mark.parametrize(
    "vocabulary", [{}, {"drop_most_frequent": 100, "min_count": 3, "min_length": 2}], ids=["all words", "chosen words"]
)
def test_200_documents_of_20_newsgroups(shared: Path, events: str, smoothing: str, vocabulary: dict[str, int]) -> None:
    path = shared / "20newsgroups" / "20news-bydate.parquet"
    tables = list(open_source(str(path), where="split = 'train'").tables())
    columns = tables[0].columns
    text, target = (
        next(name for name in columns if name in wanted)
        for wanted in (("text",), ("group", "label", "class", "target"))
    )
    documents = [str(cell or "") for table in tables for cell in table.columns[text]]
    labels = [str(cell) for table in tables for cell in table.columns[target]]
    model = Model(rules=Rules(events=events, smoothing=Smoothing.parse(smoothing), **vocabulary))  # type: ignore[arg-type]
    model.update(documents, labels)
    thorough = events == "multinomial" and smoothing == "laplace" and vocabulary
    chosen = random.Random(0).sample(range(len(documents)), 200 if thorough else 15)
    ours = [left_out(model, documents, labels, i) for i in chosen]
    for i, mine in zip(chosen, ours, strict=True):
        model.forget([documents[i]], [labels[i]])
        scores = model.scores([documents[i]])
        same(mine, dict(zip(scores.classes, np.asarray(scores.log_posterior)[0], strict=True)))
        model.update([documents[i]], [labels[i]])


weighted = st.builds(
    lambda events, smoothing, pairs, min_length, stop: Rules(
        events=events, smoothing=smoothing, pairs=pairs, min_length=min_length, stop_words=frozenset(stop)
    ),
    st.sampled_from(["weighted", "odds"]),
    st.builds(Smoothing, a=st.sampled_from([0.01, 0.1, 1.0]), share=st.booleans()),
    st.booleans(),
    st.integers(1, 2),
    st.sets(st.sampled_from(["aa", "bb"])),
)


@given(collections(least=3), weighted)
def test_weighted_events_equal_to_relearning(pairs: tuple[list[str], list[str]], rules: Rules) -> None:
    """Held against the product itself, learned anew, where each class keeps another document."""
    documents, labels = [*pairs[0], *pairs[0]], [*pairs[1], *pairs[1]]
    assume(len(set(labels)) > 1)
    tokens = Tokens(ngrams=(1, 2)) if rules.pairs else Tokens()
    model = Model(tokens, rules)
    model.update(documents, labels)
    for i in range(len(documents)):
        without = Model(tokens, rules)
        without.update(documents[:i] + documents[i + 1 :], labels[:i] + labels[i + 1 :])
        scores = without.scores([documents[i]])
        same(
            left_out(model, documents, labels, i),
            dict(zip(scores.classes, np.asarray(scores.log_posterior)[0], strict=True)),
        )


def test_what_was_never_learned_is_named_by_a_term_of_its_own():
    model = Model()
    model.update(["cheap money", "cheap offer", "noon"], ["spam", "spam", "ham"])
    with pytest.raises(DataError, match="counts of 'noon'"):
        model.forget(["noon"], ["spam"])
