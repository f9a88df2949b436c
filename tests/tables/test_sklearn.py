"""The same probabilities as scikit-learn's naive Bayes on complete data, with the same smoothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from table_models import model_of

from plausible.counts import Coded
from plausible.priors import Smoothing

RANDOM = np.random.default_rng(0)
Y = RANDOM.integers(0, 3, 400)
LABELS = [f"class {y}" for y in Y]
CODES = (RANDOM.integers(0, 4, (400, 5)) + Y[:, None] * RANDOM.integers(0, 2, (400, 5))).astype(np.int32)
NUMBERS = RANDOM.normal(size=(400, 4)) * [1, 10, 0.1, 1e3] + Y[:, None]


@pytest.mark.parametrize("alpha", [1.0, 0.3, 5.0])
def test_categorical(alpha):
    model = model_of({f"c{j}": False for j in range(5)}, smoothing=Smoothing(a=alpha))
    cells = {f"c{j}": Coded(CODES[:, j], [str(k) for k in range(6)]) for j in range(5)}
    model.update(cells, LABELS)
    states = [sorted({*CODES[:, j].tolist()}) for j in range(5)]
    dense = np.stack([np.searchsorted(states[j], CODES[:, j]) for j in range(5)], axis=1)
    theirs = CategoricalNB(alpha=alpha).fit(dense, LABELS)
    np.testing.assert_allclose(
        np.asarray(model.scores(cells).log_posterior), theirs.predict_log_proba(dense), rtol=1e-9, atol=1e-9
    )


def test_gaussian():
    model = model_of({f"x{j}": True for j in range(4)})
    cells = {f"x{j}": NUMBERS[:, j].copy() for j in range(4)}
    model.update(cells, LABELS)
    theirs = GaussianNB(var_smoothing=0).fit(NUMBERS, LABELS)
    np.testing.assert_allclose(
        np.asarray(model.scores(cells).log_posterior), theirs.predict_log_proba(NUMBERS), rtol=1e-9, atol=1e-9
    )


def test_weights():
    weights = RANDOM.integers(1, 2**20, 400) * 2.0**-18
    model = model_of({f"x{j}": True for j in range(4)})
    cells = {f"x{j}": NUMBERS[:, j].copy() for j in range(4)}
    model.update(cells, LABELS, weights=weights)
    theirs = GaussianNB(var_smoothing=0).fit(NUMBERS, LABELS, weights)
    np.testing.assert_allclose(
        np.asarray(model.scores(cells).log_posterior), theirs.predict_log_proba(NUMBERS), rtol=1e-9, atol=1e-9
    )
