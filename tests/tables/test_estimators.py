"""scikit-learn's interface: its own checks, and what it is used for."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from plausible.errors import CallError
from plausible.estimators import NaiveBayesClassifier, TextClassifier

RANDOM = np.random.default_rng(3)
Y = np.array(["no", "yes"])[RANDOM.integers(0, 2, 300)]
FRAME = pd.DataFrame(
    {
        "size": RANDOM.normal(size=300) + (Y == "yes"),
        "colour": np.where(RANDOM.random(300) < 0.3, None, RANDOM.choice(["red", "blue"], 300)),
        "rooms": RANDOM.integers(1, 6, 300),
        "grade": pd.Categorical(RANDOM.choice(["a", "b", "c"], 300)),
        "flag": RANDOM.random(300) < np.where(Y == "yes", 0.7, 0.3),
    }
)
FRAME.loc[::7, "size"] = np.nan
TEXTS = ["cheap money", "win money", "money now", "lunch at noon", "noon meeting", "meeting at nine"] * 10
SPAM = [1, 1, 1, 0, 0, 0] * 10


@parametrize_with_checks([NaiveBayesClassifier(), NaiveBayesClassifier(prior="uniform", smoothing="m=1")])
@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_text_classifier_tells_its_tags():
    tags = TextClassifier().__sklearn_tags__()
    assert tags.input_tags.string
    assert tags.input_tags.one_d_array
    assert not tags.input_tags.two_d_array


def test_frames_of_any_kind_give_the_same():
    expected = NaiveBayesClassifier().fit(FRAME, Y).predict_proba(FRAME)
    polars = pl.from_pandas(FRAME)
    for frame in (polars, polars.to_arrow(), FRAME.astype({"colour": "category", "rooms": float})):
        found = NaiveBayesClassifier().fit(frame, Y).predict_proba(frame)
        np.testing.assert_array_equal(found, expected)


def test_feature_names_and_kinds():
    fitted = NaiveBayesClassifier(categorical=["rooms"]).fit(FRAME, Y)
    assert fitted.feature_names_in_.tolist() == list(FRAME.columns)
    assert [v.kind for v in fitted.model_.variables] == ["continuous", *["categorical"] * 4]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(FRAME[["colour", "size", "rooms", "grade", "flag"]])
    with pytest.raises(ValueError, match="no column of X"):
        NaiveBayesClassifier(categorical=["nosuch"]).fit(FRAME, Y)


def test_chunks_equal_one_fit_exactly():
    whole = NaiveBayesClassifier().fit(FRAME, Y)
    parts = NaiveBayesClassifier()
    for at in (200, 100, 0):
        parts.partial_fit(FRAME[at : at + 100], Y[at : at + 100])
    np.testing.assert_array_equal(parts.predict_proba(FRAME), whole.predict_proba(FRAME))
    texts = TextClassifier().fit(TEXTS, SPAM)
    chunked = TextClassifier().partial_fit(TEXTS[:20], SPAM[:20]).partial_fit(TEXTS[20:], SPAM[20:])
    np.testing.assert_array_equal(texts.predict_proba(TEXTS), chunked.predict_proba(TEXTS))


def test_a_declared_class_without_rows_is_never_answered():
    fitted = NaiveBayesClassifier().partial_fit(FRAME, Y, classes=["maybe", "no", "yes"])
    assert fitted.classes_.tolist() == ["maybe", "no", "yes"]
    assert (fitted.predict_proba(FRAME)[:, 0] == 0).all()
    fitted.partial_fit(FRAME[:5], ["new"] * 5)
    assert fitted.predict_proba(FRAME).shape == (300, 4)


def test_pipelines_searches_and_calibration():
    mixed = ColumnTransformer([("scale", StandardScaler(), ["size"])], remainder="passthrough")
    mixed.set_output(transform="pandas")
    assert make_pipeline(mixed, NaiveBayesClassifier()).fit(FRAME, Y).score(FRAME, Y) > 0.6
    search = GridSearchCV(NaiveBayesClassifier(), {"smoothing": ["m=0.1", "laplace"]}, cv=3).fit(FRAME, Y)
    assert search.best_score_ > 0.6
    calibrated = CalibratedClassifierCV(NaiveBayesClassifier(), cv=3).fit(FRAME, Y)
    assert calibrated.predict_proba(FRAME).sum(axis=1) == pytest.approx(1)
    assert cross_val_score(TextClassifier(), TEXTS, SPAM, cv=3).mean() == 1
    assert (
        GridSearchCV(TextClassifier(), {"events": ["multinomial", "bernoulli"]}, cv=2).fit(TEXTS, SPAM).best_score_ == 1
    )


def test_sparse_equals_dense():
    dense = RANDOM.poisson(1, (300, 6)).astype(float)
    expected = NaiveBayesClassifier().fit(dense, Y).predict_proba(dense)
    for form in (sparse.csr_matrix(dense), sparse.csc_array(dense)):
        np.testing.assert_array_equal(NaiveBayesClassifier().fit(form, Y).predict_proba(form), expected)


@pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), TextClassifier()])
def test_pickles(estimator):
    X, y = (TEXTS, SPAM) if isinstance(estimator, TextClassifier) else (FRAME, Y)
    fitted = estimator.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    again.partial_fit(X, y)


def test_bad_calls():
    with pytest.raises(ValueError, match="not one text"):
        TextClassifier().fit("text", [1])
    with pytest.raises(ValueError, match="text 1 is None"):
        TextClassifier().fit(["a", None], [1, 0])
    with pytest.raises(CallError, match="smoothing"):
        NaiveBayesClassifier(smoothing="much").fit(FRAME, Y)
    with pytest.raises(ValueError, match="weight of row 0 is negative"):
        NaiveBayesClassifier().fit(FRAME, Y, np.where(np.arange(300) == 0, -1, 1))
