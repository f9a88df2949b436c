"""Files that others wrote, and what other programs make of ours."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from plausible.cpds import as_table
from plausible.errors import DataError
from plausible.files.formats import read, write
from plausible.files.xdsl import parse_xdsl
from plausible.network import Network
from tests.files.test_formats import same
from tests.networks.shared import needs_shared, shared

FOLDERS = ("xmlbif", "net", "uai", "other", "bif")
REFUSED = {
    "carpo.bifxml": "sums to 0, not 1",
    "grid4x4.uai": "a Markov network",
    "markov_example.uai": "line 4, column 1: a Markov network",
}
SIZES = {
    "alarm": (37, 46), "asia": (8, 8), "cancer": (5, 4), "child": (20, 25), "hailfinder": (56, 66),
    "insurance": (27, 52), "sachs": (11, 17), "survey": (6, 6), "water": (32, 66), "win95pts": (76, 112),
    "hepar2": (70, 123), "barley": (48, 84), "benefits": (14, 24), "cpcs54": (54, 108), "spect": (23, 22),
    "Link": (724, 1125), "Pigs": (441, 592), "Munin1": (186, 273), "Water": (32, 66),
}  # fmt: skip


def quietly(path: Path) -> Network:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(path)


@needs_shared
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_reads(folder: str) -> None:
    for path in sorted((shared() / "data/bayesnets" / folder).iterdir()):
        if said := REFUSED.get(path.name):
            with pytest.raises(DataError, match=said):
                quietly(path)
            continue
        network = quietly(path)
        if size := SIZES.get(path.name.split(".")[0]):
            assert (len(network), len(network.graph.arcs)) == size, path.name


@needs_shared
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bif/alarm.bif.gz", "net/alarm.net"),
        ("bif/asia.bif.gz", "net/asia.net"),
        ("bif/child.bif.gz", "net/child.net"),
        ("bif/insurance.bif.gz", "net/insurance.net"),
        ("bif/barley.bif.gz", "net/barley.net.gz"),
        ("bif/water.bif.gz", "net/water.net.gz"),
        ("net/alarm.net", "net/alarm_agrum.net"),
    ],
)
def test_one_network_in_two_formats(one: str, other: str) -> None:
    a, b = (quietly(shared() / "data/bayesnets" / name) for name in (one, other))
    assert set(a.names) == set(b.names)
    for name in a.names:
        x, y = as_table(a[name]), as_table(b[name])
        assert x.child.states == y.child.states
        order = [[p.name for p in y.parents].index(p.name) for p in x.parents]
        turned = y.values.transpose(*order, len(order))
        assert np.allclose(x.values, turned, rtol=0, atol=2e-6), name


@needs_shared
@pytest.mark.parametrize("name", ["ecoli70", "arth150", "magic-irri", "magic-niab"])
def test_gaussian_networks_go_to_net_and_back(name: str, tmp_path: Path) -> None:
    network = quietly(shared() / f"data/bayesnets/other/{name}.json.gz")
    write(network, tmp_path / "a.net.gz")
    write(read(tmp_path / "a.net.gz"), tmp_path / "a.json")
    same(network, read(tmp_path / "a.json"))


@needs_shared
@pytest.mark.parametrize("suffix", [".bif", ".bifxml", ".net", ".dsl"])
def test_pyagrum_reads_ours(suffix: str, tmp_path: Path) -> None:
    """Not XDSL and UAI: pyAgrum 3.3 takes the first parent as the fastest there; GeNIe does not."""
    gum = pytest.importorskip("pyagrum", reason="needs pyagrum")
    network = quietly(shared() / "data/bayesnets/bif/asia.bif.gz")
    path = tmp_path / f"a{suffix}"
    write(network, path)
    theirs = gum.loadBN(str(path))
    for name in network.names:
        table, potential = as_table(network[name]), theirs.cpt(name)
        axes = list(potential.names)[::-1]
        order = [axes.index(variable.name) for variable in (*table.parents, table.child)]
        assert np.allclose(potential.toarray().transpose(order), table.values, atol=1e-6)


def test_genie_lists_the_last_parent_fastest() -> None:
    """As in GeNIe's own Asia: dyspnoea has .8 with bronchitis alone, .7 with tuberculosis or cancer alone."""
    node = '<cpt id="{}"><state id="no" /><state id="yes" />{}</cpt>'
    single = "<probabilities>0.5 0.5</probabilities>"
    both = "<parents>either bronc</parents><probabilities>0.9 0.1 0.2 0.8 0.3 0.7 0.1 0.9</probabilities>"
    nodes = [node.format("either", single), node.format("bronc", single), node.format("dysp", both)]
    network = parse_xdsl(f"<smile><nodes>{''.join(nodes)}</nodes></smile>".encode())
    assert as_table(network["dysp"]).values[0, 1, 1] == 0.8  # either=no, bronc=yes
