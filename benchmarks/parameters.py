"""Learning of parameters beside pyAgrum and pybnesian, in the same run: Markdown tables.

    python benchmarks/parameters.py [counts] [em] [methods] [memory] [--shared ../shared]

Everyone has the data in memory and one thread. A ratio is the peer's time over ours: above 1 ours is faster. Seconds
of EM are those of one iteration; the log-likelihood that a peer reaches is worked out by our own inference.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyagrum as gum
import pybnesian as pbn
from structure import Agrum, batch, heading, line, ratio, sample, take_turns

from plausible.counting import Cases
from plausible.cpds import Table
from plausible.files.bif import read_bif
from plausible.learning.fit import fit
from plausible.learning.hidden import METHODS, fit_hidden
from plausible.network import Network

MANY = 10_000_000


def alarm(shared: Path) -> Network:
    return read_bif(shared / "bif/alarm.bif.gz")


def bench_counts(shared: Path) -> None:
    """As in structure.py, whose pyAgrum has read the table before; our time includes making sets of bits of it."""
    network = alarm(shared)
    heading("maximum likelihood, ALARM", "ours, ms, best", "pyAgrum", "× pyAgrum, median", "pybnesian", "× pybnesian")
    for rows in (10_000, 100_000):
        cases = sample(network, rows, 1)
        peer, table = Agrum(cases), batch(cases)
        dag = peer_arcs(network, gum.BayesNet(peer.template))
        calls = {
            "ours": lambda cases=cases: fit(network, Cases(cases.variables, cases.codes, threads=1), "mle"),
            "agrum": lambda peer=peer, dag=dag: peer.parameters(dag.dag()),
            "pybnesian": lambda table=table: pbn.DiscreteBN(list(network.names), list(network.graph.arcs)).fit(table),
        }
        t, _ = take_turns(calls, 15)
        best = {name: f"{1000 * min(taken):.1f}" for name, taken in t.items()}
        line(
            f"{rows:,} rows", best["ours"], best["agrum"], ratio(t["agrum"], t["ours"]), best["pybnesian"],
            ratio(t["pybnesian"], t["ours"]),
        )  # fmt: skip


def peer_arcs(network: Network, bn: Any) -> Any:
    for parent, child in network.graph.arcs:
        bn.addArc(parent, child)
    return bn


def with_gaps(cases: Cases, share: float) -> Cases:
    rng = np.random.default_rng(0)
    return Cases(
        cases.variables, tuple(np.where(rng.random(cases.rows) < share, -1, c) for c in cases.codes), threads=1
    )


def without(cases: Cases, name: str) -> Cases:
    columns = zip(cases.variables, cases.codes, strict=True)
    return Cases(
        cases.variables, tuple(np.full(cases.rows, -1) if v.name == name else c for v, c in columns), threads=1
    )


def bench_em(shared: Path, iterations: int = 2) -> None:
    network = alarm(shared)
    rows = sample(network, 10_000, 1)
    heading(
        "EM, 10,000 rows of ALARM", "ours, s an iteration", "pyAgrum", "×", f"log-likelihood, ours after {iterations}",
        "pyAgrum", "ours, converged", "steps", "seconds in all",
    )  # fmt: skip
    for name, cases in (("10 % gaps", with_gaps(rows, 0.1)), ("LVFAILURE hidden", without(rows, "LVFAILURE"))):
        start = fit(network, rows, "laplace")
        begun = time.perf_counter()
        peer, taken, done = peer_em(start, cases, iterations)
        theirs = taken / done
        ours = float("inf")
        for _ in range(3):
            begun = time.perf_counter()
            same = fit_hidden(start, cases, "mle", max_iterations=10, tolerance=0, threads=1)
            ours = min(ours, (time.perf_counter() - begun) / 10)
        same = fit_hidden(start, cases, "mle", max_iterations=done, tolerance=0, threads=1)
        begun = time.perf_counter()
        whole = fit_hidden(start, cases, "mle", threads=1)
        all_of_it = time.perf_counter() - begun
        theirs_likelihood = fit_hidden(peer, cases, "mle", max_iterations=0, threads=1).log_likelihood
        line(
            name, f"{ours:.4f}", f"{theirs:.2f}", f"{theirs / ours:.0f}", f"{same.log_likelihood:.2f}",
            f"{theirs_likelihood:.2f}", f"{whole.log_likelihood:.2f}", whole.iterations, f"{all_of_it:.2f}",
        )  # fmt: skip


def peer_em(start: Network, cases: Cases, iterations: int) -> tuple[Network, float, int]:
    """pyAgrum's tables from the same start, seconds, and how many iterations it made."""
    import pandas as pd

    bn = gum.BayesNet()
    for v in start.variables:
        bn.add(gum.LabelizedVariable(v.name, v.name, list(v.states)))
    peer_arcs(start, bn)
    for name in start.names:
        values = start[name].values  # type: ignore[attr-defined]
        have = [*(p.name for p in start[name].parents), name]
        bn.cpt(name)[:] = np.ascontiguousarray(values.transpose([have.index(n) for n in reversed(bn.cpt(name).names)]))
    columns = {
        v.name: np.array([*v.states, "?"], dtype=object)[codes]
        for v, codes in zip(cases.variables, cases.codes, strict=True)
    }
    learner = gum.BNLearner(pd.DataFrame(columns), bn, ["?"])
    learner.useEM(1e-12, 0.0)
    learner.EMsetMaxIter(iterations)
    learner.useSmoothingPrior(1e-9)
    begun = time.perf_counter()
    found = learner.learnParameters(bn)
    taken = time.perf_counter() - begun
    tables = []
    for name in start.names:
        have = [*(p.name for p in start[name].parents), name]
        theirs = list(reversed(found.cpt(name).names))
        values = found.cpt(name).toarray().transpose([theirs.index(n) for n in have])
        tables.append(Table(start[name].child, start[name].parents, values / values.sum(axis=-1, keepdims=True)))
    return start.replace(*tables), taken, max(learner.EMnbrIterations(), 1)


def bench_methods(shared: Path) -> None:
    network = alarm(shared)
    cases = with_gaps(sample(network, 2_000, 1), 0.1)
    heading("2,000 rows of ALARM, 10 % gaps, BDeu", "seconds", "steps", "objective", "stopped")
    for name, options in [*((m, {"method": m}) for m in METHODS), ("em, leaps", {"accelerate": True})]:
        begun = time.perf_counter()
        found = fit_hidden(network, cases, max_seconds=60, threads=1, **options)
        line(
            name, f"{time.perf_counter() - begun:.2f}", found.iterations, f"{found.objective:.3f}", found.stopped
        )  # fmt: skip


def bench_memory(shared: Path) -> None:
    """A Parquet file of 10 million rows of ALARM: its tables and arcs by the command."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    network = alarm(shared)
    heading("10 million rows × 37", "seconds", "peak memory, GB", "network")
    with tempfile.TemporaryDirectory() as folder:
        table, net = Path(folder) / "cases.parquet", Path(folder) / "net.bif"
        writer = None
        for seed in range(MANY // 250_000):
            part = batch(sample(network, 250_000, seed))
            writer = writer or pq.ParquetWriter(table, part.schema)
            writer.write_table(pa.Table.from_batches([part]))
        assert writer is not None
        writer.close()
        own = str(shared / "bif/alarm.bif.gz")
        commands = {
            "learn": ["learn", str(table), "--network", own, "--rule", "mle"],
            "structure, K2": ["structure", str(table), "--method", "k2", "--order", own],
            "structure, hill climbing": ["structure", str(table), "--method", "hill-climb", "--score", "bic"],
        }
        for name, command in commands.items():
            taken, peak = apart([*command, "-o", str(net)])
            found = read_bif(net)
            missing, extra = (
                len(set(a.graph.arcs) - set(b.graph.arcs)) for a, b in ((network, found), (found, network))
            )
            line(f"plausible {name}", f"{taken:.1f}", f"{peak:.2f}", f"{missing} arcs missing, {extra} extra")


def apart(command: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in GB of a command in a process of its own."""
    run = "from plausible.cli import main\ntry:\n main()\nfinally:\n print(open('/proc/self/status').read())"
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", run, *command], check=True, capture_output=True, text=True)
    (peak,) = (int(text.split()[1]) for text in done.stdout.splitlines() if text.startswith("VmHWM"))
    return time.perf_counter() - begun, peak / 2**20


def main() -> None:
    every = {"counts": bench_counts, "em": bench_em, "methods": bench_methods, "memory": bench_memory}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[[], *every], default=[])
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("PLAUSIBLE_SHARED", "../shared")))
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    gum.setNumberOfThreads(1)
    print(f"pyAgrum {gum.__version__}, pybnesian {pbn.__version__}; load {os.getloadavg()[0]:.1f}")
    for name in chosen.what or every:
        every[name](chosen.shared / "data/bayesnets")


if __name__ == "__main__":
    main()
