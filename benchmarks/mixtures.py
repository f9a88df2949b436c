"""Speed, memory and quality of mixtures beside their peers, in one run.

    python benchmarks/mixtures.py [--quick]

Reads ../shared/data (or $PLAUSIBLE_SHARED/data): Old Faithful, votes, mushroom, 20 Newsgroups. Peers are scikit-learn,
and k-modes written out below. `--quick` takes a tenth of the rows. `--only documents`, `unlabelled`, `tables` or
`gaussians` runs a part. Prints Markdown.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(os.environ.get("PLAUSIBLE_SHARED", Path(__file__).parents[2] / "shared")) / "data"
ROWS = 100_000 if "--quick" in sys.argv else 1_000_000
COLUMNS, COMPONENTS, ITERATIONS = 16, 32, 20
COVARIANCES = ("diag", "spherical", "full")


def show(title: str, columns: list[str], rows: Iterable[list[str]]) -> None:
    """A table, each row as soon as it is there."""
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def old_faithful() -> None:
    from plausible.learning.mixtures.gaussian import gaussian_mixture

    x = np.loadtxt(DATA / "tables" / "old_faithful.csv", delimiter=",", skiprows=1, usecols=(0, 1))
    mixture = gaussian_mixture(x, 2, tolerance=1e-13)
    means = ", ".join(f"({a:.3f}, {b:.3f})" for a, b in mixture.means)
    show(
        "Old Faithful, 2 full components",
        ["", "log-likelihood", "weights", "means"],
        [
            ["bar", "−1130.264", ".356 / .644", "(2.036, 54.479), (4.290, 79.968)"],
            ["here", f"{mixture.log_likelihood:.5f}", " / ".join(f"{w:.4f}" for w in mixture.weights), means],
        ],
    )


def peak() -> int:
    """The most bytes this process has held; Linux keeps it for each program, `ru_maxrss` for those before it too."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def fit_once(who: str, kind: str, path: str) -> dict[str, float]:
    """One fit of fixed iterations from the same start: seconds, extra memory as a share of the data, ln p a row."""
    warnings.simplefilter("ignore")
    x = np.load(path)
    start = np.eye(COLUMNS)[None].repeat(COMPONENTS, axis=0) if kind == "full" else np.ones((COMPONENTS, COLUMNS))
    weights, means = np.full(COMPONENTS, 1 / COMPONENTS), x[:COMPONENTS].copy()
    if who == "plausible":
        from plausible.learning.mixtures.components import Components
        from plausible.learning.mixtures.gaussian import gaussian_mixture

        before, begun = peak(), time.perf_counter()
        mixture = gaussian_mixture(
            x, COMPONENTS, covariance=kind, start=Components(weights, means, start, kind), prior=0,
            max_iterations=ITERATIONS, tolerance=0,
        )  # fmt: skip
        seconds, objective = time.perf_counter() - begun, float(mixture.trace[ITERATIONS - 1]) / len(x)
    else:
        from sklearn.mixture import GaussianMixture

        model = GaussianMixture(
            COMPONENTS, covariance_type={"diagonal": "diag"}.get(kind, kind), reg_covar=0, tol=0, init_params="random",
            max_iter=ITERATIONS, weights_init=weights, means_init=means, precisions_init=start,
        )  # fmt: skip
        before, begun = peak(), time.perf_counter()
        model.fit(x)
        seconds, objective = time.perf_counter() - begun, float(model.lower_bound_)
    return {"seconds": seconds, "memory": (peak() - before) / x.nbytes, "objective": objective}


def gaussian_speed() -> Iterator[list[str]]:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.npy")
        centres = 1.5 * rng.normal(size=(COMPONENTS, COLUMNS))
        np.save(path, centres[rng.integers(COMPONENTS, size=ROWS)] + rng.normal(size=(ROWS, COLUMNS)))
        for kind, bar in (("diagonal", 3), ("full", 1.5)):
            found: dict[str, Any] = {}
            for who in ("plausible", "scikit-learn"):  # each in a process of its own, for its memory
                command = [sys.executable, __file__, "--one", who, kind, path]
                found[who] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            ours, theirs = found["plausible"], found["scikit-learn"]
            yield [
                kind,
                f"{ours['seconds']:.1f} s",
                f"{theirs['seconds']:.1f} s",
                f"{theirs['seconds'] / ours['seconds']:.1f} (bar {bar})",
                f"{abs(ours['objective'] / theirs['objective'] - 1):.1e} (bar 1e-8)",
                f"{ours['memory']:.1%} (bar 10 %)",
                f"{theirs['memory']:.0%}",
            ]


def k_modes(codes: np.ndarray, k: int, seed: int, restarts: int = 10) -> np.ndarray:
    """Huang 1998: k-means on categories, distance the values that differ, a cluster's centre its modes."""
    rng = np.random.default_rng(seed)
    best: tuple[int, np.ndarray] | None = None
    for _ in range(restarts):
        modes = codes[rng.choice(len(codes), k, replace=False)]
        nearest = np.full(len(codes), -1)
        for _ in range(100):
            apart = np.stack([(codes != mode).sum(axis=1) for mode in modes], axis=1)
            now = apart.argmin(axis=1)
            if (now == nearest).all():
                break
            nearest = now
            for j in np.unique(nearest):
                modes[j] = [np.bincount(column).argmax() for column in codes[nearest == j].T]
        cost = int(apart.min(axis=1).sum())
        if best is None or cost < best[0]:
            best = cost, nearest
    assert best is not None
    return best[1]


def purity(clusters: np.ndarray, classes: list[str]) -> float:
    pairs = Counter(zip(clusters.tolist(), classes, strict=True))
    most: Counter[int] = Counter()
    for (cluster, _), n in pairs.items():
        most[cluster] = max(most[cluster], n)
    return sum(most.values()) / len(classes)


def read(name: str) -> tuple[list[dict[str, str | None]], list[str]]:
    path = DATA / "tables" / name
    with gzip.open(path, "rt") if name.endswith(".gz") else open(path) as file:
        rows = list(csv.DictReader(file))
    target = list(rows[0])[-1]
    return [{k: v or None for k, v in row.items() if k != target} for row in rows], [row[target] for row in rows]


def table_purity() -> Iterator[list[str]]:
    from sklearn.mixture import GaussianMixture

    from plausible.learning.mixtures.tables import mixture_of_tables

    warnings.simplefilter("ignore")
    for name, k in (
        ("house_votes_84.csv", 2),
        ("house_votes_84.csv", 5),
        ("mushroom.csv.gz", 2),
        ("mushroom.csv.gz", 20),
    ):
        rows, classes = read(name)
        begun = time.perf_counter()
        ours = mixture_of_tables(rows, k).posterior(rows).argmax(axis=1)
        seconds = time.perf_counter() - begun
        columns = [[str(row[key]) for row in rows] for key in rows[0]]
        codes = np.stack([np.unique(column, return_inverse=True)[1] for column in columns], axis=1)
        one_hot = np.concatenate([np.eye(column.max() + 1)[column] for column in codes.T], axis=1)
        begun = time.perf_counter()
        theirs = {
            kind: GaussianMixture(k, covariance_type=kind, n_init=5, random_state=0).fit_predict(one_hot)
            for kind in ("diag", "spherical", *(["full"] if len(rows) < 1000 else []))
        }
        their_seconds = (time.perf_counter() - begun) / len(theirs)
        yield [
            f"{name.split('.')[0]}, k = {k}",
            f"{purity(ours, classes):.4f}",
            f"{purity(k_modes(codes, k, 0), classes):.4f}",
            *(f"{purity(theirs[kind], classes):.4f}" if kind in theirs else "–" for kind in COVARIANCES),
            f"{seconds:.1f} s / {their_seconds:.1f} s",
        ]


def votes() -> Iterator[list[str]]:
    """Purity over 20 seeds; and where the others' clusters lie in our model, and who alone is right how often."""
    from scipy.stats import binomtest
    from sklearn.mixture import GaussianMixture

    from plausible.learning.em import em
    from plausible.learning.mixtures.stars import count, e_step
    from plausible.learning.mixtures.tables import mixture_of_tables

    warnings.simplefilter("ignore")
    rows, classes = read("house_votes_84.csv")
    stated = [{name: value or "gap" for name, value in row.items()} for row in rows]
    codes = np.stack([np.unique([row[key] for row in stated], return_inverse=True)[1] for key in rows[0]], axis=1)
    one_hot = np.concatenate([np.eye(column.max() + 1)[column] for column in codes.T], axis=1)

    def right(clusters: np.ndarray) -> np.ndarray:
        pairs = Counter(zip(clusters.tolist(), classes, strict=True))
        usual = {c: max(set(classes), key=lambda name: pairs[c, name]) for c in set(clusters.tolist())}
        return np.array([usual[c] == name for c, name in zip(clusters.tolist(), classes, strict=True)])

    def gaussian(kind: str) -> Any:
        return lambda seed: GaussianMixture(2, covariance_type=kind, n_init=5, random_state=seed).fit_predict(one_hot)

    mixture = mixture_of_tables(rows, 2)
    encoded, mine = mixture.read(rows), right(mixture.assigned)
    methods = {
        "here": lambda seed: mixture_of_tables(rows, 2, seed=seed).assigned,
        "here, columns taken as independent": lambda seed: mixture_of_tables(rows, 2, temper=False, seed=seed).assigned,
        "here, a gap as a state": lambda seed: mixture_of_tables(stated, 2, seed=seed).assigned,
        "k-modes": lambda seed: k_modes(codes, 2, seed),
        **{f"scikit-learn, {kind}": gaussian(kind) for kind in ("diag", "spherical", "full")},
    }
    for name, method in methods.items():
        found = [method(seed) for seed in range(20)]
        purities = [purity(clusters, classes) for clusters in found]
        star = mixture.prior.estimate(count(encoded, found[0].astype(np.intp), 2))
        climbed = em(
            [star], lambda star: e_step(encoded, star, 1), mixture.prior.estimate, log_prior=mixture.prior.log_density
        )
        begun = float(climbed.trace[0])
        theirs = right(found[0])
        they, we = int((theirs & ~mine).sum()), int((mine & ~theirs).sum())
        yield [
            name,
            f"{np.median(purities):.4f}",
            f"{min(purities):.4f}–{max(purities):.4f}",
            f"{begun:.1f}",
            f"{climbed.objective:.1f}",
            f"{they} / {we}" + (f", p = {binomtest(they, they + we).pvalue:.2f}" if they + we else ""),
        ]


def newsgroups() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts, groups, and which are of the training part."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(DATA / "20newsgroups" / "20news-bydate.parquet")
    rows = np.arange(table.num_rows)[:: 10 if "--quick" in sys.argv else 1]
    table = table.take(rows)
    groups, train = np.array(table["group"].to_pylist()), np.array(table["split"].to_pylist()) == "train"
    return table["text"].to_pylist(), groups, train


def documents() -> Iterator[list[str]]:
    """Strings to clusters, by three seeds; the median of time, of which the words take a part, and of information.

    The bar's peer is the one with the most information; the methods take turns, so that a busy machine slows all of
    them. LDA takes minutes and has one seed.
    """
    from sklearn.cluster import KMeans
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.metrics import normalized_mutual_info_score

    from plausible.learning.mixtures.reading import learned_rows, schema_of
    from plausible.learning.mixtures.tables import mixture_of_rows
    from plausible.sources import open_source
    from plausible.text import Tokens

    texts, groups, _ = newsgroups()
    usual = {"stop_words": "english", "max_df": 0.5, "min_df": 5}

    def read() -> tuple[Any, ...]:
        source = open_source([{"text": text} for text in texts])
        schema = schema_of(source, text=["text"])
        return schema, *learned_rows(source, schema, Tokens())

    def mixture(read: tuple[Any, ...], seed: int) -> np.ndarray:
        schema, rows, words = read
        return mixture_of_rows(rows, schema, 20, words=words, seed=seed).assigned

    def k_means(x: Any, seed: int) -> np.ndarray:
        return KMeans(20, random_state=seed).fit_predict(x)

    def lda(x: Any, seed: int) -> np.ndarray:
        model = LatentDirichletAllocation(20, random_state=seed, n_jobs=os.cpu_count())
        return model.fit_transform(x).argmax(axis=1)

    def tf_idf(**options: Any) -> Any:
        return TfidfVectorizer(**usual, **options).fit_transform(texts)

    methods: dict[str, tuple[Callable[[], Any], Callable[[Any, int], np.ndarray], int]] = {
        "here": (read, mixture, 3),
        "k-means on tf-idf": (tf_idf, k_means, 3),
        "k-means on tf-idf, damped": (lambda: tf_idf(sublinear_tf=True), k_means, 3),
        "LDA": (lambda: CountVectorizer(**usual).fit_transform(texts), lda, 1),
    }
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in methods}
    for seed in range(3):
        for name, (words, method, seeds) in methods.items():
            if seed >= seeds:
                continue
            begun = time.perf_counter()
            x = words()
            read_at = time.perf_counter()
            clusters = method(x, seed)
            seconds = time.perf_counter() - begun
            found[name].append((normalized_mutual_info_score(groups, clusters), seconds, read_at - begun))
    medians = {name: np.median(runs, axis=0) for name, runs in found.items()}
    peer = max((name for name in methods if name != "here"), key=lambda name: medians[name][0])
    for name, (information, seconds, reading) in medians.items():
        faster = f"{seconds / medians['here'][1]:.1f}"
        yield [
            name,
            f"{information:.3f}",
            ", ".join(f"{run[0]:.3f}" for run in found[name]),
            f"{seconds:.2f} s ({reading:.2f} s)",
            "" if name == "here" else f"{faster} (bar 5)" if name == peer else faster,
        ]


def unlabelled() -> Iterator[list[str]]:
    """Accuracy on the test part, when a few articles of each group in the training part are labelled."""
    from plausible.learning.classifier import learn

    warnings.simplefilter("ignore")
    texts, groups, train = newsgroups()
    test = np.flatnonzero(~train)

    def accuracy(model: Any) -> float:
        scores = model.scores([texts[i] for i in test])
        return float((np.array(scores.classes)[np.asarray(scores.best)] == groups[test]).mean())

    for each in (2, 5, 10, 50):
        plain, half, weights, seconds = [], [], [], []
        for seed in range(2):
            rng = np.random.default_rng(seed)
            chosen = [rng.permutation(np.flatnonzero(train & (groups == g)))[:each] for g in np.unique(groups)]
            known = np.concatenate(chosen)
            rest = np.setdiff1d(np.flatnonzero(train), known)
            given = [texts[i] for i in known], groups[known].tolist()
            plain.append(accuracy(learn(*given)))
            begun = time.perf_counter()
            model = learn(*given, unlabelled=[texts[i] for i in rest])
            seconds.append(time.perf_counter() - begun)
            half.append(accuracy(model))
            weights.append(model.expected.weight if model.expected else 0)
        gains = [b - a for a, b in zip(plain, half, strict=True)]
        yield [
            str(each),
            f"{np.mean(plain):.3f}",
            f"{np.mean(half):.3f}",
            f"{np.mean(gains):+.3f}",
            f"{min(gains):+.3f} (bar −.005)",
            ", ".join(f"{weight:g}" for weight in weights),
            f"{np.mean(seconds):.0f} s",
        ]


PARTS = {
    "tables": lambda: (
        old_faithful(),
        show(
            "Latent classes: purity, clusters against classes",
            ["table", "here", "k-modes", "scikit-learn on one-hot: diagonal", "spherical", "full",
             "seconds, here / scikit-learn"],
            table_purity(),
        ),
        show(
            "Votes, k = 2, 20 seeds: purity; ln posterior here of these clusters, and of where EM goes from them",
            ["", "median", "least to most", "of these", "after EM", "right only there / only here (sign test)"],
            votes(),
        ),
    ),
    "documents": lambda: show(
        "20 Newsgroups in 20 clusters, from strings; normalised mutual information with the groups",
        ["", "median", "each seed", "seconds (words)", "times faster here"],
        documents(),
    ),
    "unlabelled": lambda: show(
        "20 Newsgroups by date: accuracy with few labels, and the rest of the training part without",
        ["labelled a group", "labels only", "with the rest", "gain", "least gain", "weights chosen", "seconds"],
        unlabelled(),
    ),
    "gaussians": lambda: show(
        f"Gaussian mixture, {ROWS:,} × {COLUMNS}, {COMPONENTS} components, {ITERATIONS} iterations, "
        f"{os.cpu_count()} processors",
        ["covariances", "here", "scikit-learn", "times faster", "objective, relative difference",
         "memory beyond the data", "scikit-learn's"],
        gaussian_speed(),
    ),
}  # fmt: skip

if __name__ == "__main__":
    if "--one" in sys.argv:
        print(json.dumps(fit_once(*sys.argv[sys.argv.index("--one") + 1 :])))
    else:
        only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
        for name, part in PARTS.items():
            if only in (None, name):
                part()
