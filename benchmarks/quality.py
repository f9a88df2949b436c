"""Accuracy and probabilities beside the naive Bayes pipelines of scikit-learn, and the book's experiment.

    python benchmarks/quality.py [book] [news] [sets] [rank]

Reads ../shared/data (or $PLAUSIBLE_SHARED/data). Prints Markdown. Without arguments everything runs.
"""

from __future__ import annotations

import os
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import plausible
from plausible.reliability import calibration_error

DATA = Path(os.environ.get("PLAUSIBLE_SHARED", Path(__file__).parents[2] / "shared")) / "data"
Docs = list[str]
Split = tuple[Docs, Docs, Docs, Docs]  # train, its labels, test, its labels

warnings.simplefilter("ignore")


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def peers(characters: bool) -> dict[str, Callable[[], object]]:
    words: dict[str, object] = (
        {"analyzer": "char", "ngram_range": (1, 2)} if characters else {"token_pattern": r"(?u)\b\w+\b"}
    )
    pairs = words | {"ngram_range": (1, 3) if characters else (1, 2)}
    return {
        "multinomial a=1": lambda: make_pipeline(CountVectorizer(**words), MultinomialNB()),
        "multinomial a=.1": lambda: make_pipeline(CountVectorizer(**words), MultinomialNB(alpha=0.1)),
        "multinomial a=.01": lambda: make_pipeline(CountVectorizer(**words), MultinomialNB(alpha=0.01)),
        "multinomial tf-idf a=.01": lambda: make_pipeline(
            TfidfVectorizer(sublinear_tf=True, **words), MultinomialNB(alpha=0.01)
        ),
        "complement a=1": lambda: make_pipeline(CountVectorizer(**words), ComplementNB()),
        "complement tf-idf a=.3": lambda: make_pipeline(
            TfidfVectorizer(sublinear_tf=True, **words), ComplementNB(alpha=0.3)
        ),
        "Bernoulli a=.01": lambda: make_pipeline(CountVectorizer(binary=True, **words), BernoulliNB(alpha=0.01)),
        "words and pairs, multinomial tf-idf a=.01": lambda: make_pipeline(
            TfidfVectorizer(sublinear_tf=True, **pairs), MultinomialNB(alpha=0.01)
        ),
    }


def figures(probabilities: np.ndarray, classes: list[str], truth: Docs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each document: whether the answer is right, its confidence, and ln P(truth)."""
    place = {name: k for k, name in enumerate(classes)}
    columns = np.array([place[name] for name in truth])
    best = probabilities.argmax(1)
    rows = np.arange(len(truth))
    return best == columns, probabilities[rows, best], np.log(np.maximum(probabilities[rows, columns], 1e-300))


def run_ours(split: Split, **options: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    train, labels, test, truth = split
    model = plausible.learn(train, labels, **options)
    return figures(plausible.classify(model, test).probabilities, model.classes, truth)


def run_peer(make: Callable[[], object], split: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    train, labels, test, truth = split
    pipeline = make().fit(train, labels)  # type: ignore[attr-defined]
    return figures(pipeline.predict_proba(test), list(pipeline.classes_), truth)


def over(splits: list[Split], run: Callable[[Split], tuple[np.ndarray, ...]]) -> tuple[float, float, float, int]:
    right, confidence, log_truth = (np.concatenate(parts) for parts in zip(*map(run, splits), strict=True))
    return float(right.mean()), float(-log_truth.mean()), calibration_error(confidence, right), len(right)


def table(name: str) -> dict[str, list[str]]:
    return parquet.read_table(DATA / name).to_pydict()


def newsgroups() -> Split:
    rows = table("20newsgroups/20news-bydate.parquet")
    by = {which: [i for i, split in enumerate(rows["split"]) if split == which] for which in ("train", "test")}
    train, test = ([rows["text"][i] for i in by[which]] for which in ("train", "test"))
    return train, [rows["group"][i] for i in by["train"]], test, [rows["group"][i] for i in by["test"]]


def stripped(split: Split) -> Split:
    from sklearn.datasets._twenty_newsgroups import (
        strip_newsgroup_footer,
        strip_newsgroup_header,
        strip_newsgroup_quoting,
    )

    def strip(text: str) -> str:
        return strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(text)))

    train, labels, test, truth = split
    return [strip(text) for text in train], labels, [strip(text) for text in test], truth


NAMING = re.compile(r"^(Newsgroups|Xref|Path|Followup-To):.*\n(?:[ \t].*\n)*", re.MULTILINE)


def book() -> None:
    """Mitchell 1997, section 6.10.1: two thirds learned, one third tested; five random splits."""
    rows = table("20newsgroups/20news-19997.parquet")
    groups = rows["group"]

    def without_naming(text: str) -> str:
        head, blank, body = text.partition("\n\n")
        return NAMING.sub("", head + "\n") + blank + body

    texts = {
        "all headers": rows["text"],
        "without the header lines that name the group": [without_naming(text) for text in rows["text"]],
        "body only": [text.partition("\n\n")[2] for text in rows["text"]],
    }
    out = []
    for name, chosen in texts.items():
        found = [
            plausible.evaluate(
                chosen,
                groups,
                model="book",
                drop_most_frequent=100,
                min_count=3,
                min_length=2,
                test_share=1 / 3,
                seed=seed,
            )
            for seed in range(5)
        ]
        accuracy = [one.accuracy for one in found]
        out.append([name, f"{np.mean(accuracy):.4f}", f"{np.std(accuracy, ddof=1):.4f}", f"{found[0].vocabulary:,}"])
    show(
        "The book's experiment: 19,997 articles, the 100 most frequent words and words seen < 3 times dropped",
        ["text", "accuracy (the book: .89)", "sd of 5 splits", "words"],
        out,
    )


def news() -> None:
    raw = newsgroups()
    for name, split in (
        ("20 Newsgroups by date", raw),
        ("the same without headers, footers and quotes", stripped(raw)),
    ):
        rows = []
        for model in ("book", "plain", "weighted", "auto"):
            accuracy, loss, error, _ = over([split], lambda part, model=model: run_ours(part, model=model))
            rows.append([f"plausible, {model}", f"{accuracy:.4f}", f"{loss:.3f}", f"{error:.3f}"])
        for peer, make in peers(False).items():
            accuracy, loss, error, _ = over([split], lambda part, make=make: run_peer(make, part))
            rows.append([f"scikit-learn, {peer}", f"{accuracy:.4f}", f"{loss:.3f}", f"{error:.3f}"])
        train, labels, test, truth = split
        svm = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()).fit(train, labels)
        rows.append(["scikit-learn, linear SVM", f"{np.mean(svm.predict(test) == np.array(truth)):.4f}", "–", "–"])
        show(name, ["", "accuracy", "log-loss", "calibration error"], rows)


def folds(texts: Docs, labels: Docs, parts: int) -> list[Split]:
    chosen = StratifiedKFold(parts, shuffle=True, random_state=0).split(texts, labels)
    return [
        ([texts[i] for i in a], [labels[i] for i in a], [texts[i] for i in b], [labels[i] for i in b])
        for a, b in chosen
    ]


def between(rows: dict[str, list[str]], text: str, label: str, train: tuple[str, ...], test: str) -> Split:
    one = [i for i, split in enumerate(rows["split"]) if split in train]
    other = [i for i, split in enumerate(rows["split"]) if split == test]
    return (
        [rows[text][i] for i in one], [str(rows[label][i]) for i in one],
        [rows[text][i] for i in other], [str(rows[label][i]) for i in other],
    )  # fmt: skip


def collections() -> Iterator[tuple[str, list[Split], bool]]:
    import csv
    import gzip

    with gzip.open(DATA / "spam/sms_spam_collection.tsv.gz", "rt", encoding="utf-8", newline="") as file:
        sms = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    yield "SMS spam, 10 folds", folds([row[1] for row in sms], [row[0] for row in sms], 10), False
    mail = table("spam/spamassassin.parquet")
    yield "SpamAssassin, 5 folds", folds(mail["text"], mail["label"], 5), False
    bbc = table("news/bbc_news.parquet")
    yield "BBC news, 5 folds", folds(bbc["text"], bbc["label"], 5), False
    titles = table("multilingual/zh_thucnews_titles.parquet")
    yield "THUCNews titles, dev → test", [between(titles, "text", "label", ("dev",), "test")], True
    hotel = table("multilingual/zh_chnsenticorp_htl_all.parquet")
    yield "hotel reviews, 5 folds", folds([t or "" for t in hotel["text"]], [str(x) for x in hotel["label"]], 5), True
    sib = table("multilingual/sib200_20langs.parquet")
    for unspaced in (False, True):
        splits = []
        for lang in sorted(set(sib["lang"])):
            if (lang[:3] in ("zho", "jpn", "tha")) == unspaced:
                rows = {key: [v for v, code in zip(sib[key], sib["lang"], strict=True) if code == lang] for key in sib}
                splits.append(between(rows, "text", "label", ("train", "dev"), "test"))
        name = "4 unspaced" if unspaced else "16 spaced"
        yield f"SIB-200, {name} languages pooled", splits, unspaced


def sets() -> None:
    rows = []
    for name, splits, characters in collections():
        found = {
            peer: over(splits, lambda part, make=make: run_peer(make, part)) for peer, make in peers(characters).items()
        }
        best = max(found, key=lambda peer: found[peer][0])
        ours: dict[str, dict[str, object]] = {"weighted": {"model": "weighted"}, "auto": {"model": "auto"}}
        if characters:
            ours["weighted, --chars 1-4"] = {"model": "weighted", "chars": (1, 4)}
        for model, options in ours.items():
            accuracy, loss, error, tested = over(splits, lambda part, options=options: run_ours(part, **options))
            se = (accuracy * (1 - accuracy) / tested) ** 0.5
            rows.append(
                [
                    name, model, f"{accuracy:.4f}", f"{loss:.3f}", f"{error:.3f}", f"{found[best][0]:.4f} ({best})",
                    f"{min(one[1] for one in found.values()):.3f}", f"{(accuracy - found[best][0]) / se:+.1f}",
                ]
            )  # fmt: skip
        show(
            f"{name}",
            [
                "data",
                "model",
                "accuracy",
                "log-loss",
                "calibration error",
                "best peer",
                "best peer log-loss",
                "standard errors",
            ],
            rows[-len(ours) :],
        )


def rank() -> None:
    """Ten simulated readers who like 3 of the 20 groups: precision among the top tenth of the test articles."""
    train, groups, test, truth = newsgroups()
    names = sorted(set(groups))
    rows = []
    for ratings in (200, 1000, 5000):
        precision: dict[str, list[float]] = {}
        for reader in range(10):
            draw = random.Random(reader)
            liked = set(draw.sample(names, 3))
            rated = draw.sample(range(len(train)), ratings)
            texts = [train[i] for i in rated]
            labels = ["like" if groups[i] in liked else "dislike" for i in rated]
            true = np.array([group in liked for group in truth])
            top = round(len(test) / 10)
            for model in ("weighted", "book"):
                learned = plausible.learn(texts, labels, model=model)
                chosen = [one.index for one in plausible.rank(learned, test, "like", top=top)]
                precision.setdefault(f"plausible, {model}", []).append(float(true[chosen].mean()))
            svm = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()).fit(texts, labels)
            chosen = np.argsort(-svm.decision_function(test))[:top]
            precision.setdefault("linear SVM", []).append(float(true[chosen].mean()))
            naive = make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, labels)
            chosen = np.argsort(-naive.predict_proba(test)[:, list(naive.classes_).index("like")], kind="stable")[:top]
            precision.setdefault("scikit-learn, posterior", []).append(float(true[chosen].mean()))
        rows.append([f"{ratings:,}", *(f"{np.mean(values):.3f}" for values in precision.values())])
    show("Ranking: precision among the top tenth (base rate .15)", ["ratings", *precision], rows)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["book", "news", "sets", "rank"]
    for job in wanted:
        {"book": book, "news": news, "sets": sets, "rank": rank}[job]()
