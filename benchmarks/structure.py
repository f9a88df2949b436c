"""Learning of structure and tables beside pyAgrum and pybnesian, in the same run: Markdown tables.

    python benchmarks/structure.py [k2] [climb] [pc] [ges] [fit] [gaussian] [--shared ../shared] [--large]

Everyone has the data in memory and one thread; our time includes making sets of bits of the codes. Times are those of
the processor, runs take turns, and a ratio is the median of the peer's time over ours: above 1 ours is faster.
Distances are structural Hamming distances of equivalence classes; `--large` adds 100,000 rows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyagrum as gum
import pyarrow as pa
import pybnesian as pbn

from plausible.coding import read_cases
from plausible.counting import Cases, Mixed
from plausible.cpds import as_table
from plausible.errors import ModelError
from plausible.files.bif import read_bif
from plausible.files.formats import read
from plausible.graph import Graph
from plausible.infer.gaussian import sample_mixed
from plausible.learning.fit import fit
from plausible.learning.structure import Structure, ges, hill_climb, k2, pc, score_graph, tabu
from plausible.network import Network


def sample(network: Network, rows: int, seed: int) -> Cases:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for name in network.graph.order:
        table = as_table(network[name])
        chances = table.values[tuple(columns[p.name] for p in table.parents)]
        columns[name] = (rng.random(rows)[:, None] > chances.cumsum(axis=-1)[..., :-1]).sum(axis=-1)
    return Cases(network.variables, tuple(columns[v.name] for v in network.variables), threads=1)


def frame(cases: Cases) -> pd.DataFrame:
    return pd.DataFrame(
        {
            v.name: pd.Categorical.from_codes(codes, categories=list(v.states))
            for v, codes in zip(cases.variables, cases.codes, strict=True)
        }
    )


def take_turns(calls: Mapping[str, Callable[[], Any]], times: int) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Seconds of each call, round by round, and what it gave last."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    gave: dict[str, Any] = {}
    for _ in range(times):
        for name, call in calls.items():
            start = time.process_time()
            gave[name] = call()
            taken[name].append(time.process_time() - start)
    return taken, gave


def ratio(peer: list[float], ours: list[float]) -> str:
    return f"{statistics.median(p / o for p, o in zip(peer, ours, strict=True)):.1f}"


def milliseconds(taken: list[float]) -> str:
    return f"{1000 * statistics.median(taken):.1f}"


def line(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def heading(*cells: str) -> None:
    print()
    line(*cells)
    line(*("---" for _ in cells))


class Agrum:
    """pyAgrum on one table; the learner is made anew for each run, outside the clock's reach where it can be."""

    def __init__(self, cases: Cases) -> None:
        self.names = [v.name for v in cases.variables]
        self.template = gum.BayesNet()
        for v in cases.variables:
            self.template.add(gum.LabelizedVariable(v.name, v.name, list(v.states)))
        self.frame = frame(cases).astype(str)
        self.ready = self.learner()

    def learner(self) -> Any:
        return gum.BNLearner(self.frame, self.template)

    def parameters(self, dag: Any) -> Any:
        self.ready.useSmoothingPrior(1e-9)
        return self.ready.learnParameters(dag)

    def run(self, *settings: str, order: list[str] | None = None) -> Graph:
        learner = self.ready
        for setting in settings:
            getattr(learner, setting)()
        if order is not None:
            learner.useK2([self.names.index(name) for name in order])
        dag = learner.learnDAG()
        return Graph({self.names[i]: [self.names[p] for p in dag.parents(i)] for i in dag.nodes()})


def batch(cases: Cases) -> pa.RecordBatch:
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(v.states), pa.string()))
        for v, codes in zip(cases.variables, cases.codes, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, [v.name for v in cases.variables])


def bnesian(table: pa.RecordBatch, score: str) -> Graph:
    judge = pbn.BIC(table) if score == "bic" else pbn.BDe(table, iss=1)
    names = table.schema.names
    model = pbn.GreedyHillClimbing().estimate(pbn.ArcOperatorSet(), judge, pbn.DiscreteBN(names))
    return Graph({name: model.parents(name) for name in names})


def again(cases: Cases, call: Callable[[Cases], Structure]) -> Callable[[], Structure]:
    return lambda: call(Cases(cases.variables, cases.codes, threads=1))


def tables(shared: Path, sizes: list[int]) -> list[tuple[str, Cases, Network]]:
    alarm = read_bif(shared / "bif/alarm.bif.gz")
    insurance = read_bif(shared / "bif/insurance.bif.gz")
    cases = read_cases(shared / "data/insurance.csv.gz", threads=1)
    found = [(f"ALARM {rows:,}", sample(alarm, rows, rows), alarm) for rows in sizes]
    return [*found, ("insurance 20,000", cases, insurance)]


def bench_k2(shared: Path, sizes: list[int]) -> None:
    alarm = read_bif(shared / "bif/alarm.bif.gz")
    true = set(alarm.graph.arcs)
    heading("K2, true order, K2 score", "ours, ms", "pruned, ms", "pyAgrum, ms", "× pyAgrum", "pruned × pyAgrum")
    for rows in sizes:
        cases = sample(alarm, rows, 1)
        peer = Agrum(cases)
        calls = {
            "ours": again(cases, lambda c: k2(c, alarm)),
            "pruned": again(cases, lambda c: k2(c, alarm, prune=True)),
            "agrum": lambda peer=peer: peer.run("useScoreK2", order=list(alarm.graph.order)),
        }
        t, _ = take_turns(calls, 5)
        line(
            f"ALARM {rows:,}", milliseconds(t["ours"]), milliseconds(t["pruned"]), milliseconds(t["agrum"]),
            ratio(t["agrum"], t["ours"]), ratio(t["agrum"], t["pruned"]),
        )  # fmt: skip
    heading("K2 on 20 samples of 3,000 rows", "missing, median", "extra, median")
    ours: list[tuple[int, int]] = []
    plain: list[tuple[int, int]] = []
    peers: list[tuple[int, int]] = []
    for seed in range(20):
        cases = sample(alarm, 3000, seed)
        found = [
            (ours, k2(cases, alarm, prune=True).graph),
            (plain, k2(cases, alarm).graph),
            (peers, Agrum(cases).run("useScoreK2", order=list(alarm.graph.order))),
        ]
        for kept, graph in found:
            arcs = set(graph.arcs)
            kept.append((len(true - arcs), len(arcs - true)))
    for name, kept in (("ours, pruned", ours), ("ours", plain), ("pyAgrum", peers)):
        line(name, statistics.median(m for m, _ in kept), statistics.median(e for _, e in kept))


def bench_climb(shared: Path, sizes: list[int]) -> None:
    heading("hill climbing", "score", "who", "ms", "its time / ours", "score of the graph", "distance")
    for name, cases, network in tables(shared, sizes):
        peer, table = Agrum(cases), batch(cases)
        for score, agrum in (("bic", "useScoreBIC"), ("bdeu", "useScoreBDeu")):
            calls: dict[str, Callable[[], Any]] = {
                "hill_climb": again(cases, lambda c, score=score: hill_climb(c, score=score)),
                "tabu": again(cases, lambda c, score=score: tabu(c, score=score)),
                "pybnesian": lambda score=score, table=table: bnesian(table, score),
                "pyAgrum": lambda peer=peer, agrum=agrum: peer.run(agrum, "useGreedyHillClimbing"),
                "pyAgrum tabu": lambda peer=peer, agrum=agrum: peer.run(agrum, "useLocalSearchWithTabuList"),
            }
            t, gave = take_turns(calls, 3)
            for who, found in gave.items():
                graph = found.graph if isinstance(found, Structure) else found
                base = t["tabu" if "tabu" in who else "hill_climb"]
                line(
                    name, score, who, milliseconds(t[who]), ratio(t[who], base),
                    f"{score_graph(graph, cases, score):.1f}", distance(network, graph),
                )  # fmt: skip


def bench_pc(shared: Path, sizes: list[int]) -> None:
    heading("PC-stable, G², α = .01", "ours, ms", "pyAgrum, ms", "× pyAgrum", "distance, ours", "distance, pyAgrum")
    for name, cases, network in tables(shared, sizes):
        peer = Agrum(cases)
        calls: dict[str, Callable[[], Any]] = {"ours": again(cases, pc), "agrum": lambda peer=peer: agrum_pc(peer)}
        t, gave = take_turns(calls, 3)
        line(
            name, milliseconds(t["ours"]), milliseconds(t["agrum"]), ratio(t["agrum"], t["ours"]),
            distance(network, gave["ours"].graph), distance(network, gave["agrum"]),
        )  # fmt: skip


def agrum_pc(peer: Agrum) -> Any:
    learner = peer.ready
    learner.usePC()
    learner.useG2Test()
    learner.setPCStable(True)
    learner.setPCAlpha(0.01)
    try:
        found = learner.learnPDAG()
        names = peer.names
        arcs = [(names[a], names[b]) for a, b in found.arcs()]
        edges = [(names[a], names[b]) for a, b in found.edges()]
        return arcs, edges
    except gum.GumException as error:
        return str(error)


def distance(network: Network, found: Any) -> object:
    """Between classes; a peer's own arrows and edges are taken as they are."""
    true = network.graph.equivalence_class()
    if isinstance(found, Graph):
        try:
            return true.distance(Graph({n: found.parents[n] for n in network.names}).equivalence_class())
        except ModelError as error:
            return error
    if isinstance(found, str):
        return found
    arcs, edges = found
    kind = type(true)
    return true.distance(kind(true.nodes, frozenset(arcs), frozenset(tuple(sorted(e)) for e in edges)))


def bench_ges(shared: Path, sizes: list[int]) -> None:
    alarm = read_bif(shared / "bif/alarm.bif.gz")
    true = alarm.graph.equivalence_class()
    heading("GES on 10 samples", "processor s, median", "most", "distance, median", "distances")
    for rows in sizes:
        taken, found = [], []
        for seed in range(10):
            cases = sample(alarm, rows, seed)
            start = time.process_time()
            found.append(true.distance(ges(cases).pattern))
            taken.append(time.process_time() - start)
        line(f"ALARM {rows:,}", f"{statistics.median(taken):.2f}", f"{max(taken):.2f}", statistics.median(found), found)


def bench_fit(shared: Path, sizes: list[int]) -> None:
    alarm = read_bif(shared / "bif/alarm.bif.gz")
    heading("maximum likelihood", "ours, ms", "pyAgrum, ms", "× pyAgrum", "pybnesian, ms", "× pybnesian")
    for rows in sizes:
        cases = sample(alarm, rows, 1)
        peer, table = Agrum(cases), batch(cases)
        dag = gum.BayesNet(peer.template)
        for parent, child in alarm.graph.arcs:
            dag.addArc(parent, child)
        calls: dict[str, Callable[[], Any]] = {
            "ours": lambda cases=cases: fit(
                alarm, Cases(cases.variables, cases.codes, threads=1), "maximum-likelihood"
            ),
            "agrum": lambda peer=peer, dag=dag: peer.parameters(dag.dag()),
            "pybnesian": lambda table=table: pbn.DiscreteBN(list(alarm.names), list(alarm.graph.arcs)).fit(table),
        }
        t, _ = take_turns(calls, 7)
        line(
            f"ALARM {rows:,}", milliseconds(t["ours"]), milliseconds(t["agrum"]), ratio(t["agrum"], t["ours"]),
            milliseconds(t["pybnesian"]), ratio(t["pybnesian"], t["ours"]),
        )  # fmt: skip


def bench_gaussian(shared: Path, sizes: list[int]) -> None:
    """Samples of Gaussian networks: BIC and Fisher's z, α = .01."""
    heading("Gaussian networks", "who", "ms", "its time / ours", "score of the graph", "distance")
    for name in ("ecoli70", "magic-niab", "magic-irri"):
        network = read(shared / f"other/{name}.json.gz")
        for rows in (500, 2000, 10_000):
            columns = sample_mixed(network, rows, seed=1)
            data = Mixed(Cases((), ()), columns, rows)
            table = pa.RecordBatch.from_pandas(pd.DataFrame(columns))
            calls: dict[str, Callable[[], Any]] = {
                "hill_climb": lambda data=data: hill_climb(data),
                "tabu": lambda data=data: tabu(data),
                "pybnesian": lambda table=table: bnesian_lines(table),
                "pc": lambda data=data: pc(data),
                "pybnesian pc": lambda table=table: bnesian_pc(table),
            }
            t, gave = take_turns(calls, 1)
            for who, found in gave.items():
                graph = found.graph if isinstance(found, Structure) else found
                scored = isinstance(graph, Graph) and "pc" not in who
                line(
                    f"{name} {rows:,}", who, milliseconds(t[who]),
                    ratio(t[who], t["pc" if "pc" in who else "hill_climb"]),
                    f"{score_graph(graph, data):.1f}" if scored else "–", distance(network, graph),
                )  # fmt: skip


def bnesian_lines(table: pa.RecordBatch) -> Graph:
    names = table.schema.names
    model = pbn.GreedyHillClimbing().estimate(pbn.ArcOperatorSet(), pbn.BIC(table), pbn.GaussianNetwork(names))
    return Graph({name: model.parents(name) for name in names})


def bnesian_pc(table: pa.RecordBatch) -> Any:
    found = pbn.PC().estimate(pbn.LinearCorrelation(table), alpha=0.01)
    return found.arcs(), found.edges()


def main() -> None:
    every = {"k2": bench_k2, "climb": bench_climb, "pc": bench_pc, "ges": bench_ges, "fit": bench_fit}
    every["gaussian"] = bench_gaussian
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[[], *every], default=[])
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("PLAUSIBLE_SHARED", "../shared")))
    parser.add_argument("--large", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    gum.setNumberOfThreads(1)
    print(f"pyAgrum {gum.__version__}, pybnesian {pbn.__version__}; load {os.getloadavg()[0]:.1f}")
    for name in chosen.what or every:
        every[name](chosen.shared / "data/bayesnets", [3000, 10_000, *([100_000] if chosen.large else [])])


if __name__ == "__main__":
    main()
