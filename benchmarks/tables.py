"""Tables beside scikit-learn's naive Bayes: accuracy, log-loss and calibration error of ten folds, what mixed columns
and gaps add, and speed on adult × 100 from memory and from files.

    python benchmarks/tables.py [quality] [classifiers] [gaps] [speed [TIMES]] [files [TIMES]]

Reads ../shared/data/tables (or $PLAUSIBLE_SHARED/data/tables). Prints Markdown. Without arguments everything runs.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import OrdinalEncoder

import plausible
from plausible.cli import plausible as commands
from plausible.columns import learned_columns
from plausible.encode import batches
from plausible.estimators import NaiveBayesClassifier
from plausible.learning.ahead import ahead
from plausible.reliability import calibration_error

TABLES = Path(os.environ.get("PLAUSIBLE_SHARED", Path(__file__).parents[2] / "shared")) / "data" / "tables"
SETS: dict[str, list[str]] = {
    "play_tennis.csv": ["Day"],
    "contact_lenses.csv": [],
    "house_votes_84.csv": [],
    "mushroom.csv.gz": [],
    "car.csv": [],
    "nursery.csv.gz": [],
    "breast_cancer_ljubljana.csv": [],
    "adult.csv.gz": ["fnlwgt", "split"],
    "iris.csv": [],
    "wine.csv": [],
    "old_faithful.csv": [],
}
ROUNDS = 5
DRAWS = 100
warnings.simplefilter("ignore")


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.read_csv(TABLES / name, keep_default_na=False, na_values=[""]).drop(columns=SETS[name])
    target = frame.columns[-1]
    for column in frame.columns.drop(target):
        if frame[column].nunique() <= 2 or not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].map(lambda value: value if pd.isna(value) else str(value)).astype(object)
    return frame.drop(columns=target), frame[target].astype(str).to_numpy(object)


def numeric(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]


class Ours:
    """`plausible.learn` as it comes, or with options: columns of one kind, gaps as a state, rows with gaps left out."""

    def __init__(self, kinds: str = "both", gaps: str = "missing", **options: Any) -> None:
        self.kinds, self.gaps, self.options = kinds, gaps, options

    def _given(self, frame: pd.DataFrame) -> pd.DataFrame:
        numbers = numeric(frame)
        if self.kinds != "both":
            frame = frame[[name for name in frame if (name in numbers) == (self.kinds == "numbers")]]
        if self.gaps == "a state":
            frame = frame.fillna({name: "a gap" for name in frame if name not in numbers})
        return frame

    def fit(self, frame: pd.DataFrame, y: np.ndarray) -> Ours:
        frame = self._given(frame).assign(**{"the class": y})
        frame = frame.dropna() if self.gaps == "left out" else frame
        self.model = plausible.learn(frame, target="the class", **self.options)
        self.classes_ = np.array(self.model.classes, dtype=object)
        return self

    def predict_log_proba(self, frame: pd.DataFrame) -> np.ndarray:
        return plausible.classify(self.model, self._given(frame)).log_probabilities


class Peer:
    """scikit-learn's best mix: CategoricalNB on categories, GaussianNB on numbers, added; gaps are a category."""

    def __init__(self, kinds: str = "both") -> None:
        self.kinds = kinds

    def _coded(self, frame: pd.DataFrame, *, fit: bool) -> np.ndarray:
        if fit:
            self.encoder = OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
            )
            self.encoder.fit(frame[self.categories])
        return (self.encoder.transform(frame[self.categories]) + 1).astype(int)

    def fit(self, frame: pd.DataFrame, y: np.ndarray) -> Peer:
        self.numbers = numeric(frame) if self.kinds != "categories" else []
        self.categories = [name for name in frame if name not in self.numbers] if self.kinds != "numbers" else []
        self.models: list[Any] = []
        if self.categories:
            codes = self._coded(frame, fit=True)
            least = [len(states) + 1 for states in self.encoder.categories_]
            self.models.append(CategoricalNB(min_categories=least).fit(codes, y))
        if self.numbers:
            self.mean = frame[self.numbers].mean()
            self.models.append(GaussianNB().fit(frame[self.numbers].fillna(self.mean).to_numpy(float), y))
        self.classes_ = self.models[0].classes_
        return self

    def predict_log_proba(self, frame: pd.DataFrame) -> np.ndarray:
        parts = []
        if self.categories:
            parts.append(self.models[0].predict_joint_log_proba(self._coded(frame, fit=False)))
        if self.numbers:
            parts.append(self.models[-1].predict_joint_log_proba(frame[self.numbers].fillna(self.mean).to_numpy(float)))
        scores = sum(parts)
        if len(parts) == 2:
            scores = scores - np.log(self.models[-1].class_prior_)
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


class AgrumTree:
    """pyAgrum's tree-augmented naive Bayes; its discretizer cuts numbers, a gap is a state."""

    def fit(self, frame: pd.DataFrame, y: np.ndarray) -> AgrumTree:
        import pyagrum.skbn as skbn
        from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor

        self.numbers = {name: frame[name].mean() for name in numeric(frame)}
        self.classes_ = np.unique(y).astype(object)
        prepared = self._prepared(frame)
        self.states = {name: set(prepared[name]) for name in prepared if name not in self.numbers}
        self.model = skbn.BNClassifier(
            type_processor=DiscreteTypeProcessor("quantile", 5, discretizationThreshold=5),
            learningMethod="TAN",
            prior="Smoothing",
            priorWeight=1,
        )
        self.model.fit(prepared, y.astype(str))
        return self

    def _prepared(self, frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(
            {
                name: frame[name].fillna(self.numbers[name]) if name in self.numbers else frame[name].fillna("gap")
                for name in frame
            }
        )

    def predict_log_proba(self, frame: pd.DataFrame) -> np.ndarray:
        """A state that was never learned stops pyAgrum, so it is given the first one instead."""
        prepared = self._prepared(frame)
        for name, states in self.states.items():
            prepared[name] = [one if one in states else min(states) for one in prepared[name]]
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(self.model.predict_proba(prepared), 1e-300))


class Figures(NamedTuple):
    """Accuracy and its standard error, log-loss in nats, calibration error in 15 bins, and what it would be by chance.

    The last is that of answers which are right as often as was stated: few rows have such an error of themselves.
    """

    accuracy: float
    error: float
    loss: float
    calibration: float
    chance: float

    def __str__(self) -> str:
        return f"{self.accuracy:.3f} ± {self.error:.3f} / {self.loss:.4f} / {self.calibration:.3f} ({self.chance:.3f})"


def figures(make: Callable[[], Any], frame: pd.DataFrame, y: np.ndarray) -> Figures:
    """Of ten folds."""
    right, loss, confidence = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
    smallest = pd.Series(y).value_counts().iloc[0]
    for train, test in StratifiedKFold(min(10, smallest), shuffle=True, random_state=0).split(frame, y):
        model = make().fit(frame.iloc[train], y[train])
        log_posterior = model.predict_log_proba(frame.iloc[test])
        right[test] = model.classes_[log_posterior.argmax(1)] == y[test]
        confidence[test] = np.exp(log_posterior.max(1))
        place = {name: k for k, name in enumerate(model.classes_)}
        rows = zip(log_posterior, y[test], strict=True)
        loss[test] = [-row[place[name]] if name in place else np.nan for row, name in rows]
    error = right.std() / np.sqrt(len(y))
    random = np.random.default_rng(0)
    chance = np.mean([calibration_error(confidence, random.random(len(y)) < confidence) for _ in range(DRAWS)])
    found = calibration_error(confidence, right)
    return Figures(right.mean(), error, float(np.nanmean(loss)), found, float(chance))


def quality() -> None:
    print("\n### Ten folds, accuracy ± standard error / log-loss in nats / calibration error (by chance)\n")
    print(
        "| table | plausible | scikit-learn, numbers and categories "
        "| scikit-learn, every column read as a category | scikit-learn, only the numbers |"
    )
    print("|---|---|---|---|---|")
    for name in SETS:
        frame, y = read(name)
        cells = []
        makers: list[Callable[[], Any] | None] = [Ours, Peer]
        has_numbers, has_categories = bool(numeric(frame)), len(numeric(frame)) < frame.shape[1]
        makers.append((lambda: Peer("categories")) if has_categories and has_numbers else None)
        makers.append((lambda: Peer("numbers")) if has_categories and has_numbers else None)
        for make in makers:
            if make is None:
                cells.append("–")
                continue
            cells.append(str(figures(make, frame, y)))
        print(f"| {name.split('.')[0]} | {' | '.join(cells)} |", flush=True)


def gaps() -> None:
    print(
        "\n### What mixed columns and gaps add: ten folds, accuracy ± standard error / log-loss in nats "
        "/ calibration error (by chance)\n"
    )
    print("| columns and gaps | adult | house_votes_84 |\n|---|---|---|")
    tables = {name: read(name) for name in ("adult.csv.gz", "house_votes_84.csv")}
    makers: dict[str, Callable[[], Any]] = {
        "plausible: all columns, gaps take no part": Ours,
        "plausible: only categories": lambda: Ours("categories"),
        "plausible: only numbers": lambda: Ours("numbers"),
        "plausible: gaps as a state": lambda: Ours(gaps="a state"),
        "plausible: rows with gaps not learned": lambda: Ours(gaps="left out"),
        "scikit-learn: all columns, gaps as a state": Peer,
    }
    for what, make in makers.items():
        cells = []
        for frame, y in tables.values():
            if what.endswith("numbers") and not numeric(frame):
                cells.append("–")
                continue
            cells.append(str(figures(make, frame, y)))
        print(f"| {what} | {' | '.join(cells)} |", flush=True)
    for name, (frame, _) in tables.items():
        gaps_here, rows = frame.isna().sum().sum(), frame.isna().any(axis=1).sum()
        print(f"\n{name.split('.')[0]}: {gaps_here:,} gaps in {rows:,} of {len(frame):,} rows.")


def classifiers() -> None:
    """Naive Bayes, tree-augmented and averaged one-dependence, beside their peers in the same folds."""
    print("\n### Ten folds, accuracy ± standard error / log-loss in nats / calibration error (by chance)\n")
    makers: dict[str, Callable[[], Any]] = {
        "naive Bayes": Ours,
        "tan": lambda: Ours(model="tan"),
        "aode": lambda: Ours(model="aode"),
        "scikit-learn": Peer,
        "pyAgrum TAN": AgrumTree,
    }
    print(f"| table | {' | '.join(makers)} | less scikit-learn, the best, the best, in standard errors |")
    print(f"|{'---|' * (len(makers) + 2)}")
    for name in SETS:
        frame, y = read(name)
        found: dict[str, Figures] = {}
        cells = []
        for who, make in makers.items():
            try:
                found[who] = figures(make, frame, y)
                cells.append(str(found[who]))
            except Exception as error:
                cells.append(f"{type(error).__name__}: {str(error)[:40]}")
        plain = found["scikit-learn"]
        best = max(plain, found.get("pyAgrum TAN", plain))
        held = {"naive Bayes": plain, "tan": best, "aode": best}
        behind = [(found[who][0] - peer[0]) / max(found[who][1], peer[1], 1e-9) for who, peer in held.items()]
        cells.append(", ".join(f"{one:+.1f}" for one in behind))
        print(f"| {name.split('.')[0]} | {' | '.join(cells)} |", flush=True)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def speed(times: int) -> None:
    frame, y = read("adult.csv.gz")
    frame = pd.concat([frame] * times, ignore_index=True)
    y = np.concatenate([y] * times)
    print(f"\n### adult × {times}, {len(y):,} rows in memory: seconds, encoding included\n")
    print("| | learn | classify | both | times scikit-learn |\n|---|---|---|---|---|")

    def run(make: Callable[[], Any], held: Any) -> tuple[float, float]:
        learning, model = timed(lambda: make().fit(held, y))
        asking, _ = timed(lambda: model.classes_[model.predict_log_proba(held).argmax(1)])
        return learning, asking

    theirs = run(Peer, frame)
    rows = [("scikit-learn, pandas", theirs), ("plausible, pandas", run(NaiveBayesClassifier, frame))]
    coded = frame.astype({name: "category" for name in frame if name not in numeric(frame)})
    rows.append(("plausible, pandas with categories", run(NaiveBayesClassifier, coded)))
    rows.append(("plausible, polars", run(NaiveBayesClassifier, pl.from_pandas(frame))))
    for name, (learning, asking) in rows:
        both = learning + asking
        print(f"| {name} | {learning:.2f} | {asking:.2f} | {both:.2f} | {sum(theirs) / both:.1f} |")


def files(times: int) -> None:
    """Each figure from a fresh process, so that memory is its own.

    DuckDB's pace is that of a client who gets every cell: all columns as Arrow batches of 65,536 rows, in the types
    that they have, on as many threads as DuckDB takes. Beside it stands what it takes to hash every cell without
    handing any out, which it does once for each entry of a Parquet file's dictionaries. Classifying is scoring;
    writing is the command, which prints all columns and the answers as CSV, beside DuckDB printing all columns, both
    into nothing. The rows are shuffled, since equal rows in a run are read faster by all.
    """
    frame, y = read("adult.csv.gz")
    frame["income"] = y
    print(f"\n### adult from files: seconds, and MB above what the process held before; medians of {ROUNDS} rounds\n")
    print(
        "| | rows | DuckDB to Arrow | DuckDB hashes | learn | classify | DuckDB writes | classify and write "
        "| learn, times Arrow | classify, times Arrow | write, times DuckDB | learn MB | classify MB | write MB |\n"
        f"|{'---|' * 14}"
    )
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/adult.plausible"
        plausible.save(plausible.learn(frame, target="income"), model)
        for n in (max(times // 10, 1), times):
            for kind in ("parquet", "csv"):
                path = f"{folder}/adult.{kind}"
                many = pd.concat([frame] * n).sample(frac=1, random_state=0)
                duckdb.sql(f"copy (from many) to '{path}'")
                del many
                apart(path, model, "scan")  # the file is in the cache of the system from here on
                works = ("scan", "hash", "learn", "classify", "copy", "write")
                rounds = [[apart(path, model, what) for what in works] for _ in range(ROUNDS)]
                seconds = np.array([[figure for figure, _ in one] for one in rounds])
                ratios = np.median(seconds[:, [2, 3, 5]] / seconds[:, [0, 0, 4]], axis=0)
                memory = np.median([[held for _, held in one] for one in rounds], axis=0)[[2, 3, 5]]
                cells = [f"{figure:.2f}" for figure in (*np.median(seconds, axis=0), *ratios)]
                cells += [f"{held:.0f}" for held in memory]
                print(f"| {kind} | {len(y) * n:,} | {' | '.join(cells)} |", flush=True)


def apart(path: str, model: str, what: str) -> tuple[float, float]:
    """Seconds, and MB above the start, of a process of its own."""
    done = subprocess.run([sys.executable, __file__, "alone", path, model, what], capture_output=True, check=True)
    seconds, held = map(float, done.stdout.split())
    return seconds, held


def alone(path: str, model: str, what: str) -> None:
    def scan() -> None:
        for _ in duckdb.sql(f"from '{path}'").to_arrow_reader(65536):
            pass

    def hashes() -> None:
        duckdb.sql(f"select bit_xor(hash(columns(*))) from '{path}'").fetchall()

    def ask() -> None:
        known = plausible.load(model)
        source = plausible.open_source(path)
        for batch in ahead(batches(source, learned_columns(source, known.reading.columns))):
            known.scores(batch.cells)

    def copy() -> None:
        duckdb.sql(f"copy (from '{path}') to '{os.devnull}' (format csv)")

    def write() -> None:
        with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
            commands(["classify", model, path, "--format", "csv"], standalone_mode=False)

    learn = partial(plausible.learn, path, target="income")
    work: Callable[[], Any] = {
        "scan": scan,
        "hash": hashes,
        "learn": learn,
        "classify": ask,
        "copy": copy,
        "write": write,
    }[what]
    few = [{"a": i % 7 / 2, "b": "uvw"[i % 3], "class": "xy"[i % 2]} for i in range(40)]
    plausible.learn(few, target="class")  # what loads when first used
    before = peak()
    seconds, _ = timed(work)
    print(seconds, (peak() - before) / 2**20)


def peak() -> int:
    """The most bytes this process has held; Linux keeps it for each program, `ru_maxrss` for those before it too."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["alone"]:
        alone(*arguments[1:])
        return
    wanted = [one for one in arguments if not one.isdecimal()] or ["quality", "classifiers", "gaps", "speed", "files"]
    times = next((int(one) for one in arguments if one.isdecimal()), None)
    if "quality" in wanted:
        quality()
    if "classifiers" in wanted:
        classifiers()
    if "gaps" in wanted:
        gaps()
    if "speed" in wanted:
        speed(times or 100)
    if "files" in wanted:
        files(times or 100)


if __name__ == "__main__":
    main()
