"""Speed and memory of text learning beside its peers, in one run: medians, and ratios to each peer.

    python benchmarks/text.py [--quick]

Reads ../shared/data (or $PLAUSIBLE_SHARED/data): 20 Newsgroups by date, SIB-200. Peers that are not installed are left
out. Prints Markdown.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

import plausible

DATA = Path(os.environ.get("PLAUSIBLE_SHARED", Path(__file__).parents[2] / "shared")) / "data"
RUNS = 3 if "--quick" in sys.argv else 9


def newsgroups() -> tuple[list[str], list[str], list[str], list[str]]:
    table = parquet.read_table(DATA / "20newsgroups" / "20news-bydate.parquet").to_pydict()
    rows = list(zip(table["split"], table["text"], table["group"], strict=True))
    train = [(text, group) for split, text, group in rows if split == "train"]
    test = [(text, group) for split, text, group in rows if split == "test"]
    return [t for t, _ in train], [g for _, g in train], [t for t, _ in test], [g for _, g in test]


def megabytes(texts: list[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def interleaved(jobs: dict[str, Callable[[], object]], runs: int = RUNS) -> dict[str, float]:
    """Median seconds of each job; the jobs take turns, so that a slow spell of the machine hits all."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(runs):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(spent) for name, spent in times.items()}


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def speed_beside_peers() -> None:
    train, labels, test, truth = newsgroups()
    learn: dict[str, Callable[[], object]] = {}
    classify: dict[str, Callable[[], object]] = {}

    def book(threads: int) -> plausible.Model:
        model = plausible.learn(train, labels, threads=threads, **PLAIN)
        _ = model.scorer
        return model

    learn["plausible, 1 thread"] = lambda: book(1)
    learn["plausible, 2 threads"] = lambda: book(2)
    model = book(1)
    default = plausible.learn(train, labels, threads=2)
    learn["plausible, default model, calibrated, 2 threads"] = lambda: plausible.learn(train, labels, threads=2)
    classify["plausible, default model, calibrated, 2 threads"] = lambda: plausible.classify(default, test, 2).labels
    classify["plausible, 1 thread"] = lambda: plausible.classify(model, test, 1).labels
    classify["plausible, 2 threads"] = lambda: plausible.classify(model, test, 2).labels

    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("\n".join(train))
        file.flush()
        learn["wc -w"] = lambda: subprocess.run(["wc", "-w", file.name], check=True, capture_output=True)
        _add_scikit_learn(train, labels, test, learn, classify)
        _add_vowpal_wabbit(train, labels, test, learn, classify)
        learned = interleaved(learn)
        answered = interleaved(classify)
    rows = []
    for name in learned:
        rate = megabytes(train) / learned[name]
        answer = megabytes(test) / answered[name] if name in answered else None
        rows.append(
            [
                name,
                f"{rate:.0f}",
                f"{learned[name] / learned['plausible, 1 thread']:.1f}",
                f"{answer:.0f}" if answer else "–",
                f"{answered[name] / answered['plausible, 1 thread']:.1f}" if answer else "–",
            ]
        )
    show(
        "20 Newsgroups by date, strings in memory",
        ["", "learn MB/s", "plausible is faster by", "classify MB/s", "plausible is faster by"],
        rows,
    )
    hits = sum(a == b for a, b in zip(plausible.classify(model, test).labels, truth, strict=True))
    better = sum(a == b for a, b in zip(plausible.classify(default, test).labels, truth, strict=True))
    print(f"\nAccuracy of the book's model {hits / len(test):.4f}, of the default model {better / len(test):.4f}")


PLAIN: dict[str, object] = {"model": "book"}


def cost_of_models() -> None:
    """What is learned beside the counts of words: calibration, and a model that is chosen."""
    train, labels, _, _ = newsgroups()
    models: dict[str, dict[str, object]] = {
        "--model book": PLAIN,
        "--model book --ngrams 1-2": PLAIN | {"ngrams": (1, 2)},
        "the default": {},
        "--model auto": {"model": "auto"},
    }
    busy: dict[str, list[float]] = {name: [] for name in models}

    def job(name: str) -> Callable[[], object]:
        def learn() -> None:
            start = time.process_time()
            plausible.learn(train, labels, threads=2, **models[name])
            busy[name].append(time.process_time() - start)

        return learn

    wall = interleaved({name: job(name) for name in models})
    processor = {name: statistics.median(spent) for name, spent in busy.items()}
    book, default = "--model book", "the default"
    show(
        "20 Newsgroups by date, learned with 2 threads",
        ["", "seconds", "processor seconds", "of the book's", "of the default's"],
        [
            [
                name,
                f"{wall[name]:.2f}",
                f"{processor[name]:.2f}",
                f"{processor[name] / processor[book]:.1f}",
                f"{processor[name] / processor[default]:.1f}",
            ]
            for name in models
        ],
    )


def _add_scikit_learn(train, labels, test, learn, classify) -> None:  # type: ignore[no-untyped-def]
    try:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.naive_bayes import MultinomialNB
        from sklearn.pipeline import make_pipeline
    except ImportError:
        return
    pipeline = make_pipeline(CountVectorizer(encoding="utf-8"), MultinomialNB()).fit(train, labels)
    learn["scikit-learn"] = lambda: make_pipeline(CountVectorizer(), MultinomialNB()).fit(train, labels)
    classify["scikit-learn"] = lambda: pipeline.predict(test)


def _add_vowpal_wabbit(train, labels, test, learn, classify) -> None:  # type: ignore[no-untyped-def]
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return
    number = {label: i for i, label in enumerate(sorted(set(labels)), 1)}

    def line(text: str, label: str = "") -> str:
        return f"{label} | " + re.sub(r"[:|\s]+", " ", text)

    def fit() -> Workspace:
        workspace = Workspace(f"--oaa {len(number)} --quiet")
        for text, label in zip(train, labels, strict=True):
            workspace.learn(line(text, str(number[label])))
        return workspace

    workspace = fit()
    learn["vowpal wabbit"] = fit
    classify["vowpal wabbit"] = lambda: [workspace.predict(line(text)) for text in test]


def two_threads() -> None:
    """Two threads against one, in a process that has no other library's threads; and two processes of one thread each,
    which is what the machine has to give at the time."""
    train, labels, test, _ = newsgroups()
    fork = multiprocessing.get_context("fork")
    done = fork.Semaphore(0)

    def book(threads: int) -> plausible.Model:
        model = plausible.learn(train, labels, threads=threads, **PLAIN)
        _ = model.scorer
        return model

    model = book(1)
    tasks: dict[str, Callable[[int], object]] = {
        "learn": book,
        "classify": lambda threads: plausible.classify(model, test, threads).labels,
    }

    def serve(go: Any, task: Callable[[int], object]) -> None:
        while True:
            go.acquire()
            task(1)
            done.release()

    rows = []
    for name, task in tasks.items():
        goes = [fork.Semaphore(0), fork.Semaphore(0)]
        for go in goes:
            fork.Process(target=serve, args=(go, task), daemon=True).start()

        def both(goes: list[Any] = goes) -> None:
            for go in goes:
                go.release()
            for _ in goes:
                done.acquire()

        both()
        spent = interleaved(
            {"one": lambda task=task: task(1), "two": lambda task=task: task(2), "both": both}, 2 * RUNS + 1
        )
        one, two, processes = spent["one"], spent["two"], spent["both"]
        rows.append([name, f"{one:.3f}", f"{two:.3f}", f"{one / two:.2f}", f"{2 * one / processes:.2f}"])
    show(
        "Two threads against one, in a process of their own",
        ["", "one thread s", "two threads s", "faster by", "two processes of one thread each, faster by"],
        rows,
    )


def other_scripts() -> None:
    table = parquet.read_table(DATA / "multilingual" / "sib200_20langs.parquet").to_pydict()
    rows = list(zip(table["lang"], table["text"], table["label"], strict=True))
    jobs: dict[str, Callable[[], object]] = {}
    characters: dict[str, int] = {}
    for name, lang in (("English", "eng_Latn"), ("Polish", "pol_Latn"), ("Hindi", "hin_Deva"), ("Chinese", "zho_Hans")):
        chosen = [(text, label) for code, text, label in rows if code == lang] * 20
        random.Random(0).shuffle(chosen)
        texts, labels = [text for text, _ in chosen], [label for _, label in chosen]
        characters[name] = sum(map(len, texts))
        jobs[name] = lambda texts=texts, labels=labels: plausible.learn(texts, labels, threads=1, **PLAIN)
    spent = interleaved(jobs)
    rates = {name: characters[name] / spent[name] / 1e6 for name in jobs}
    show(
        "Other scripts: learn, one thread (SIB-200, 20 times over)",
        ["", "million characters/s", "of the English rate"],
        [[name, f"{rate:.0f}", f"{rate / rates['English']:.2f}"] for name, rate in rates.items()],
    )


def one_file() -> None:
    train, labels, _, _ = newsgroups()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        plausible.save(plausible.learn(train, labels), path / "news.plausible")
        (path / "one.txt").write_text(train[0], encoding="utf-8")
        command = [str(Path(sys.executable).parent / "plausible"), "classify", "news.plausible", "one.txt"]
        # As after an installation, which compiles what it installs.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        spent = interleaved(
            {
                "plausible classify, whole process": lambda: subprocess.run(
                    command, cwd=path, check=True, capture_output=True, env=kept
                ),
                "python -c 'import numpy'": lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True),
            },
            2 * RUNS + 1,
        )
        show(
            "One document from the shell",
            ["", "seconds"],
            [[name, f"{seconds:.3f}"] for name, seconds in spent.items()],
        )
        print(f"\nModel file: {(path / 'news.plausible').stat().st_size / 1e6:.2f} MB")


def stream(copies: int = 2 if "--quick" in sys.argv else 24) -> None:
    train, labels, _, _ = newsgroups()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.jsonl"
        rows = [json.dumps({"text": text, "group": label}) for text, label in zip(train, labels, strict=True)]
        random.Random(0).shuffle(rows)
        with open(path, "w", encoding="utf-8") as file:
            for _ in range(copies):
                file.writelines(row + "\n" for row in rows)
        script = (
            "import sys, time, plausible, json\n"
            "from plausible import _native, answers, calibration\n"
            "import numpy, scipy.optimize\n"
            "import plausible.learning.classifier\n"
            "peak = lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
            "before = peak()\n"
            "start = time.perf_counter()\n"
            "plausible.learn(sys.argv[1], target='group', text='text')\n"
            "spent = time.perf_counter() - start\n"
            "after = peak()\n"
            "start = time.perf_counter()\n"
            "for line in open(sys.argv[1], 'rb'): json.loads(line)\n"
            "print(spent, (after - before) / 1024, time.perf_counter() - start)\n"
        )
        out = subprocess.run([sys.executable, "-c", script, path], check=True, capture_output=True, text=True).stdout
        spent, memory, parsing = map(float, out.split())
        size = path.stat().st_size / 1e6
        show(
            f"{size:.0f} MB of JSON lines",
            ["", "seconds", "MB/s", "memory above start, MB"],
            [
                ["plausible.learn", f"{spent:.1f}", f"{size / spent:.0f}", f"{memory:.0f}"],
                ["json.loads of each line alone", f"{parsing:.1f}", f"{size / parsing:.0f}", "–"],
            ],
        )


def many_classes() -> None:
    """10,000 classes, 1,000,000 words, 10,000,000 counts that are not zero."""
    script = (
        "import random, resource, tempfile, time, plausible\n"
        "draw = random.Random(0)\n"
        "model = plausible.Model()\n"
        "start = time.perf_counter()\n"
        "for c in range(0, 10_000, 250):\n"
        "    texts = [' '.join(f'w{draw.randrange(1_000_000)}' for _ in range(1001)) for _ in range(250)]\n"
        "    model.update(texts, [f'class {k}' for k in range(c, c + 250)])\n"
        "learned = time.perf_counter() - start\n"
        "sparse = sum(map(len, (model.terms.row(f'w{i}') for i in range(0, 1_000_000, 1000)))) * 1000\n"
        "with tempfile.NamedTemporaryFile() as file:\n"
        "    start = time.perf_counter(); plausible.save(model, file.name); saved = time.perf_counter() - start\n"
        "    del model\n"
        "    start = time.perf_counter(); model = plausible.load(file.name); loaded = time.perf_counter() - start\n"
        "start = time.perf_counter()\n"
        "answers = plausible.classify(model, texts[:100])\n"
        "right = sum(answer.label == f'class {9750 + i}' for i, answer in enumerate(answers))\n"
        "asked = time.perf_counter() - start\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6\n"
        "print(sparse, model.vocabulary, learned, saved, loaded, asked, right, peak)\n"
    )
    out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    sparse, words, learned, saved, loaded, asked, right, peak = map(float, out)
    show(
        f"10,000 classes, {words:,.0f} words, about {sparse / 1e6:.1f} million counts",
        ["make and learn s", "save s", "load s", "estimate, classify 100 s", "right", "peak GB"],
        [[f"{learned:.1f}", f"{saved:.1f}", f"{loaded:.1f}", f"{asked:.1f}", f"{right:.0f} %", f"{peak:.2f}"]],
    )


if __name__ == "__main__":
    if "--two-threads" in sys.argv:
        two_threads()
        sys.exit()
    print(f"plausible {plausible.__version__}, {os.cpu_count()} processors, medians of {RUNS} runs")
    speed_beside_peers()
    subprocess.run([sys.executable, *sys.argv, "--two-threads"], check=True)
    cost_of_models()
    other_scripts()
    one_file()
    stream()
    many_classes()
    print(f"\nPeak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
