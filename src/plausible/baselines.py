"""What a model is worth: the figures of simple and of well-known methods on the same documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plausible.text import Tokens


def majority(train: Sequence[str], labels: Sequence[str], test: Sequence[str], tokens: Tokens) -> list[str]:
    """The most frequent class, whatever the document."""
    counts = Counter(labels)
    return [min(counts, key=lambda name: (-counts[name], name))] * len(test)


def rocchio(train: Sequence[str], labels: Sequence[str], test: Sequence[str], tokens: Tokens) -> list[str]:
    """The class whose centroid of tf-idf vectors is nearest by cosine (Rocchio 1971; Salton 1991)."""
    from scipy import sparse

    place: dict[str, int] = {}

    def matrix(texts: Sequence[str], grow: bool) -> Any:
        rows, columns, values = [], [], []
        for i, text in enumerate(texts):
            for term, times in Counter(tokens.of(text)).items():
                column = place.setdefault(term, len(place)) if grow else place.get(term)
                if column is not None:
                    rows.append(i)
                    columns.append(column)
                    values.append(times)
        return sparse.csr_matrix((np.array(values, float), (rows, columns)), shape=(len(texts), len(place)))

    def unit(vectors: Any) -> Any:
        norms = np.sqrt(np.asarray(vectors.multiply(vectors).sum(1)).ravel())
        return sparse.diags(1 / np.where(norms > 0, norms, 1)) @ vectors

    learned = matrix(train, True)
    rarity = sparse.diags(np.log(len(train) / np.maximum(np.bincount(learned.indices, minlength=len(place)), 1)) + 1)
    classes = sorted(set(labels))
    membership = sparse.csr_matrix(
        (np.ones(len(labels)), ([classes.index(label) for label in labels], np.arange(len(labels)))),
        shape=(len(classes), len(labels)),
    )
    centroids = unit(membership @ unit(learned @ rarity))
    nearest = np.asarray((unit(matrix(test, False) @ rarity) @ centroids.T).todense()).argmax(1)
    return [classes[k] for k in nearest]


def linear_svm(train: Sequence[str], labels: Sequence[str], test: Sequence[str], tokens: Tokens) -> list[str] | None:
    """scikit-learn's linear support vector machine on tf-idf; None where scikit-learn is not installed."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import LinearSVC
    except ImportError:
        return None
    pipeline = make_pipeline(TfidfVectorizer(analyzer=tokens.of, sublinear_tf=True), LinearSVC(random_state=0))
    answers: list[str] = pipeline.fit(train, labels).predict(test).tolist()
    return answers


BASELINES: dict[str, Callable[..., list[str] | None]] = {
    "majority class": majority,
    "Rocchio": rocchio,
    "linear SVM": linear_svm,
}
