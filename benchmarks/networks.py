"""Belief networks beside pyAgrum and pgmpy, in the same run: medians and ratios as Markdown tables.

    python benchmarks/networks.py [reading] [posteriors] [single] [heavy] [memory] [rows] [sampling]

Ratios are the peer's time over ours: above 1 ours is faster. pgmpy is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyagrum as gum

from plausible.cpds import as_table
from plausible.files.bif import read_bif
from plausible.infer.approximate import sample, weighting
from plausible.infer.engine import engine
from plausible.infer.exact import ask
from plausible.infer.rows import expected_counts, predict
from plausible.network import Network

SMALL = ("asia", "alarm", "insurance", "child", "hailfinder", "hepar2", "win95pts")
PARTS = ["reading", "posteriors", "single", "heavy", "memory", "rows", "sampling"]
LARGE = ("water", "andes", "pigs", "mildew", "barley", "diabetes", "munin", "munin1", "munin2")


def seconds(
    call: Callable[[], object],
    least: float = 0.05,
    times: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The median of a few runs; of many where one is short."""
    taken: list[float] = []
    while len(taken) < times or (sum(taken) < least and len(taken) < 1000):
        start = clock()
        call()
        taken.append(clock() - start)
    return statistics.median(taken)


def peer_network(network: Network) -> gum.BayesNet:
    """The network as pyAgrum has it; built node by node, since its reader refuses some files."""
    bn = gum.BayesNet()
    for v in network.variables:
        bn.add(gum.LabelizedVariable(v.name, v.name, list(v.states)))
    for parent, child in network.graph.arcs:
        bn.addArc(parent, child)
    for name in network.names:
        table = as_table(network[name])
        have = [*(p.name for p in table.parents), name]
        want = list(reversed(bn.cpt(name).names))
        bn.cpt(name)[:] = np.ascontiguousarray(table.values.transpose([have.index(n) for n in want]))
    return bn


def sample_once(network: Network, rng: np.random.Generator) -> dict[str, str]:
    row: dict[str, int] = {}
    for name in network.graph.order:
        table = as_table(network[name])
        p = table.values[tuple(row[q.name] for q in table.parents)]
        row[name] = int(rng.choice(len(p), p=p))
    return {name: network[name].child.states[state] for name, state in row.items()}


def peer_query(engine_of_peer: object, evidence: dict[str, str], names: tuple[str, ...]) -> None:
    engine_of_peer.eraseAllEvidence()  # type: ignore[attr-defined]
    engine_of_peer.setEvidence(evidence)  # type: ignore[attr-defined]
    engine_of_peer.makeInference()  # type: ignore[attr-defined]
    for name in names:
        engine_of_peer.posterior(name)  # type: ignore[attr-defined]


def load(shared: Path, name: str) -> Network:
    return read_bif(shared / f"data/bayesnets/bif/{name}.bif.gz")


def posteriors(shared: Path, names: tuple[str, ...], patterns: int) -> None:
    print("\n## All posteriors, evidence on a tenth of the nodes: milliseconds of processor time, one thread\n")
    print("| network | known | new | pyAgrum lazy | Shafer-Shenoy | ratio known | ratio new | entries |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        network = load(shared, name)
        tree = engine(network)
        bn = peer_network(network)
        peers = [gum.LazyPropagation(bn), gum.ShaferShenoyInference(bn)]
        for peer in peers:
            peer.setNumberOfThreads(1)
        rng = np.random.default_rng(1)
        rows = []
        for _ in range(patterns):
            row = sample_once(network, rng)
            chosen = rng.choice(network.names, size=max(1, len(network) // 10), replace=False)
            evidence = {str(n): row[str(n)] for n in chosen}

            def fresh(tree=tree, network=network, evidence=evidence) -> None:  # type: ignore[no-untyped-def]
                tree.schedules.clear()
                ask(network, evidence)

            new = seconds(fresh, times=3, clock=time.process_time)
            known = seconds(lambda: ask(network, evidence), times=3, clock=time.process_time)  # noqa: B023
            entries = next(iter(tree.schedules.values())).entries
            asked = (partial(peer_query, peer, evidence, network.names) for peer in peers)
            slow = [seconds(call, 0, 3, time.process_time) for call in asked]
            rows.append((known, new, *slow, min(slow) / known, min(slow) / new, entries))
        k, n, a, b, rk, rn, e = (statistics.median(column) for column in zip(*rows, strict=True))
        print(
            f"| {name} | {k * 1e3:.3f} | {n * 1e3:.3f} | {a * 1e3:.2f} | {b * 1e3:.2f} | {rk:.1f} | {rn:.1f} "
            f"| {e:,.0f} |",
            flush=True,
        )


def elimination_of_pgmpy(network: Network) -> Any:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork

    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    model = DiscreteBayesianNetwork(network.graph.arcs)
    model.add_nodes_from(network.names)
    for name in network.names:
        table = as_table(network[name])
        family = (*table.parents, table.child)
        *above, own = table.values.shape
        columns = table.values.reshape(-1, own).T
        states = {v.name: list(v.states) for v in family}
        model.add_cpds(TabularCPD(name, own, columns, [p.name for p in table.parents], above, state_names=states))
    return VariableElimination(model)


def single(shared: Path, names: tuple[str, ...], patterns: int) -> None:
    if importlib.util.find_spec("pgmpy") is None:
        print("\npgmpy is not installed: left out")
        return
    print("\n## One variable, evidence on a tenth of the nodes: milliseconds of processor time, one thread\n")
    print("| network | known | new | pgmpy, elimination | ratio known | ratio new | largest difference |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        network = load(shared, name)
        tree = engine(network)
        peer = elimination_of_pgmpy(network)
        rng = np.random.default_rng(1)
        rows = []
        for _ in range(patterns):
            row = sample_once(network, rng)
            target, *chosen = (str(n) for n in rng.permutation(network.names)[: 1 + max(1, len(network) // 10)])
            evidence = {n: row[n] for n in chosen}

            def ours() -> np.ndarray:
                return ask(network, evidence, [target]).posteriors[target]  # noqa: B023

            def fresh() -> None:
                tree.schedules.clear()  # noqa: B023
                ours()

            def theirs() -> np.ndarray:
                return peer.query([target], evidence, show_progress=False).values  # type: ignore[no-any-return]  # noqa: B023

            new = seconds(fresh, times=3, clock=time.process_time)
            known = seconds(ours, times=3, clock=time.process_time)
            slow = seconds(theirs, 0, 3, time.process_time)
            rows.append((known, new, slow, slow / known, slow / new, np.abs(ours() - theirs()).max()))
        k, n, p, rk, rn, _ = (statistics.median(column) for column in zip(*rows, strict=True))
        off = max(row[-1] for row in rows)
        print(
            f"| {name} | {k * 1e3:.3f} | {n * 1e3:.3f} | {p * 1e3:.1f} | {rk:,.0f} | {rn:,.0f} | {off:.0e} |",
            flush=True,
        )


def heavy(shared: Path) -> None:
    print("\n## link, which the peers can't hold: seconds\n")
    network = load(shared, "link")
    rng = np.random.default_rng(1)
    row = sample_once(network, rng)
    chosen = rng.choice(network.names, size=len(network) // 10, replace=False)
    print("| evidence | compile | query | entries | MB |")
    print("|---|---|---|---|---|")
    for title, evidence in (("none", {}), ("a tenth", {str(n): row[str(n)] for n in chosen})):
        tree = engine(network)
        start = time.perf_counter()
        schedule = tree.schedule([tree.index[n] for n in evidence])
        compiled = time.perf_counter() - start
        taken = seconds(lambda: ask(network, evidence), times=3)  # noqa: B023
        print(
            f"| {title} | {compiled:.3f} | {taken:.3f} | {schedule.entries:,.0f} "
            f"| {schedule.doubles * 8 / 2**20:,.0f} |",
            flush=True,
        )


QUERY = """
import json, sys
from pathlib import Path
from plausible.files.bif import read_bif
from plausible.infer.engine import engine
from plausible.infer.exact import ask

def memory(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))

network = read_bif(sys.argv[1])
evidence = json.loads(sys.argv[2])
tree = engine(network)
schedule = tree.schedule([tree.index[name] for name in evidence])
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = memory("VmRSS")
ask(network, evidence)
print(json.dumps([8 * schedule.entries, memory("VmHWM") - before]))
"""


def memory(shared: Path, names: tuple[str, ...], patterns: int) -> None:
    """What a query adds to the memory of a fresh process (Linux only), beside the tables of its junction tree."""
    print("\n## Memory of a query in a fresh process: MB\n")
    print("| network | evidence | tables | highest, beyond what was there | ratio |\n|---|---|---|---|---|")
    for name in names:
        network = load(shared, name)
        for title, count in (("none", 1), ("a tenth", patterns)):
            rng = np.random.default_rng(1)
            found = []
            for _ in range(count):
                row = sample_once(network, rng)
                chosen = rng.choice(network.names, size=max(1, len(network) // 10), replace=False)
                evidence = {str(n): row[str(n)] for n in chosen} if title != "none" else {}
                path = str(shared / f"data/bayesnets/bif/{name}.bif.gz")
                done = subprocess.run(
                    [sys.executable, "-c", QUERY, path, json.dumps(evidence)],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode == 0:
                    tables, high = json.loads(done.stdout)
                    found.append((tables, high, high / tables))
            if found:
                tables, high, ratio = (statistics.median(column) for column in zip(*found, strict=True))
                print(f"| {name} | {title} | {tables / 2**20:,.1f} | {high / 2**20:,.1f} | {ratio:.2f} |", flush=True)
            else:
                print(f"| {name} | {title} | refused: too large | | |", flush=True)


def reading(shared: Path) -> None:
    print("\n## Reading BIF: milliseconds\n\n| network | ours | pyAgrum | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("alarm", "munin", "diabetes", "mildew"):
            path = os.path.join(folder, f"{name}.bif")
            packed = shared / f"data/bayesnets/bif/{name}.bif.gz"
            Path(path).write_bytes(gzip.decompress(packed.read_bytes()))
            ours = seconds(lambda: read_bif(path))  # noqa: B023
            theirs = seconds(lambda: gum.loadBN(path), times=3)  # noqa: B023
            print(f"| {name} | {ours * 1e3:.1f} | {theirs * 1e3:.1f} | {theirs / ours:.1f} |", flush=True)


def rows(shared: Path, count: int) -> None:
    print(f"\n## ALARM, {count:,} rows: seconds (pyAgrum with gaps: {count // 10:,} rows, times ten)\n")
    print("| what | names | codes | pyAgrum | ratio, names | ratio, codes |\n|---|---|---|---|---|---|")
    network = load(shared, "alarm")
    bn = peer_network(network)
    rng = np.random.default_rng(0)
    full = np.ascontiguousarray(sample(network, count, seed=3))
    gappy = full.copy()
    gappy[rng.random(full.shape) < 0.2] = -1
    target = "HYPOVOLEMIA"
    for title, table, targets in (
        ("one variable, 20 % gaps", gappy, [target]),
        ("all unobserved, 20 % gaps", gappy, None),
        ("one variable, complete rows", full, [target]),
    ):
        columns = {
            v.name: [v.states[c] if c >= 0 else None for c in table[:, i]] for i, v in enumerate(network.variables)
        }
        named = seconds(lambda: predict(network, columns, targets))  # noqa: B023
        coded = seconds(lambda: predict(network, table, targets))  # noqa: B023
        some = [
            {n: int(c) for n, c in zip(network.names, row, strict=True) if c >= 0 and n not in (targets or ())}
            for row in table[: count // 10]
        ]
        peer = gum.LazyPropagation(bn)
        peer.setNumberOfThreads(1)

        def theirs() -> None:
            for evidence in some:  # noqa: B023
                wanted = targets or [n for n in network.names if n not in evidence]  # noqa: B023
                peer_query(peer, evidence, tuple(wanted))  # noqa: B023

        if table is full:
            slow = seconds(classifier_of_peer(bn, network, target, table), 0, 3)
        else:
            slow = 10 * seconds(theirs, 0, 1)
        print(
            f"| {title} | {named:.4f} | {coded:.4f} | {slow:.2f} | {slow / named:.0f} | {slow / coded:.0f} |",
            flush=True,
        )
    tree = engine(network)
    taken = seconds(lambda: expected_counts(tree, gappy))
    print(f"\nExpected counts of {count:,} rows with 20 % gaps (an E step): {taken:.4f} s")


def classifier_of_peer(bn: gum.BayesNet, network: Network, target: str, table: np.ndarray) -> Callable[[], object]:
    """pyAgrum's fast path for complete rows: the product over the Markov blanket of the target."""
    import pandas
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    classifier = BNClassifier(type_processor=DiscreteTypeProcessor())
    classifier.fromTrainedModel(bn, target)
    columns = {v.name: [v.states[c] for c in table[:, i]] for i, v in enumerate(network.variables)}
    columns.pop(target)
    frame = pandas.DataFrame(columns)
    return lambda: classifier.predict_proba(frame)


def sampling(shared: Path, count: int) -> None:
    print(f"\n## ALARM, {count:,} samples: seconds\n\n| what | ours | pyAgrum | ratio |\n|---|---|---|---|")
    network = load(shared, "alarm")
    bn = peer_network(network)
    given = {"HRBP": "HIGH", "CO": "LOW", "BP": "LOW"}

    def forward() -> None:
        generator = gum.BNDatabaseGenerator(bn)
        generator.drawSamples(count)

    def weighted() -> None:
        peer = gum.WeightedSampling(bn)
        peer.setEvidence(given)
        peer.setMaxIter(count)
        peer.setEpsilon(1e-12)
        peer.setMinEpsilonRate(1e-12)
        peer.setMaxTime(100)
        peer.setPeriodSize(count)
        peer.makeInference()
        for name in network.names:
            peer.posterior(name)

    for title, ours, theirs in (
        ("forward", lambda: sample(network, count), forward),
        ("likelihood weighting", lambda: weighting(network, given, samples=count), weighted),
    ):
        fast, slow = seconds(ours), seconds(theirs, 0, 2)
        print(f"| {title} | {fast:.4f} | {slow:.3f} | {slow / fast:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS)
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("PLAUSIBLE_SHARED", "../shared")))
    parser.add_argument("--networks", nargs="*", default=None)
    parser.add_argument("--patterns", type=int, default=7)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if "reading" in asked.parts:
        reading(asked.shared)
    if "posteriors" in asked.parts:
        posteriors(asked.shared, tuple(asked.networks or SMALL + LARGE), asked.patterns)
    if "single" in asked.parts:
        single(asked.shared, tuple(asked.networks or SMALL), asked.patterns)
    if "memory" in asked.parts:
        memory(asked.shared, tuple(asked.networks or (*LARGE, "link")), asked.patterns)
    if "rows" in asked.parts:
        rows(asked.shared, 10_000)
    if "sampling" in asked.parts:
        sampling(asked.shared, 100_000)
    if "heavy" in asked.parts:
        heavy(asked.shared)


if __name__ == "__main__":
    main()
