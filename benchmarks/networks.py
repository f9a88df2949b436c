"""Belief networks beside pyAgrum, in the same run: medians and ratios as Markdown tables.

    python benchmarks/networks.py [reading] [posteriors] [heavy] [rows] [sampling] [--shared ../shared]

Ratios are pyAgrum's time over ours: above 1 ours is faster.
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyagrum as gum

from plausible.cpds import as_table
from plausible.files.bif import read_bif
from plausible.infer.engine import engine
from plausible.infer.exact import ask
from plausible.network import Network

SMALL = ("asia", "alarm", "insurance", "child", "hailfinder", "hepar2", "win95pts")
LARGE = ("water", "andes", "pigs", "mildew", "barley", "diabetes", "munin", "munin1", "munin2")


def seconds(call: Callable[[], object], least: float = 0.05, times: int = 5) -> float:
    """The median of a few runs; of many where one is short."""
    taken: list[float] = []
    while len(taken) < times or (sum(taken) < least and len(taken) < 1000):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
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


def sample_once(network: Network, rng: np.random.Generator) -> dict[str, int]:
    row: dict[str, int] = {}
    for name in network.graph.order:
        table = as_table(network[name])
        p = table.values[tuple(row[q.name] for q in table.parents)]
        row[name] = int(rng.choice(len(p), p=p))
    return row


def peer_query(engine_of_peer: object, evidence: dict[str, int], names: tuple[str, ...]) -> None:
    engine_of_peer.eraseAllEvidence()  # type: ignore[attr-defined]
    engine_of_peer.setEvidence(evidence)  # type: ignore[attr-defined]
    engine_of_peer.makeInference()  # type: ignore[attr-defined]
    for name in names:
        engine_of_peer.posterior(name)  # type: ignore[attr-defined]


def load(shared: Path, name: str) -> Network:
    return read_bif(shared / f"data/bayesnets/bif/{name}.bif.gz")


def posteriors(shared: Path, names: tuple[str, ...], patterns: int) -> None:
    print("\n## All posteriors, evidence on a tenth of the nodes: milliseconds\n")
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

            new = seconds(fresh, times=3)
            known = seconds(lambda: ask(network, evidence), times=3)  # noqa: B023
            entries = next(iter(tree.schedules.values())).entries
            slow = [seconds(lambda: peer_query(peer, evidence, network.names), 0, 2) for peer in peers]  # noqa: B023
            rows.append((known, new, *slow, min(slow) / known, min(slow) / new, entries))
        k, n, a, b, rk, rn, e = (statistics.median(column) for column in zip(*rows, strict=True))
        print(
            f"| {name} | {k * 1e3:.3f} | {n * 1e3:.3f} | {a * 1e3:.2f} | {b * 1e3:.2f} | {rk:.1f} | {rn:.1f} "
            f"| {e:,.0f} |",
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["reading", "posteriors", "heavy"])
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("PLAUSIBLE_SHARED", "../shared")))
    parser.add_argument("--networks", nargs="*", default=None)
    parser.add_argument("--patterns", type=int, default=3)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if "reading" in asked.parts:
        reading(asked.shared)
    if "posteriors" in asked.parts:
        posteriors(asked.shared, tuple(asked.networks or SMALL + LARGE), asked.patterns)
    if "heavy" in asked.parts:
        heavy(asked.shared)


if __name__ == "__main__":
    main()
