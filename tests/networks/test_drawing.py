"""Layouts that keep their promises, and pictures that say what they show."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from plausible.cpds import LinearGaussian, Table
from plausible.drawing import draw
from plausible.errors import CallError
from plausible.files.formats import read
from plausible.graph import Graph
from plausible.infer.evidence import Likelihood, Not
from plausible.infer.exact import posteriors
from plausible.layout import Layout, layered
from plausible.network import Network
from plausible.schema import Variable
from tests.networks.naive import random_network
from tests.networks.shared import needs_shared, shared

SVG = "{http://www.w3.org/2000/svg}"


def check(page: Layout, graph: Graph) -> None:
    boxes = page.boxes
    for a, b in combinations(boxes.values(), 2):
        assert (
            a.x + a.width <= b.x + 1e-6
            or b.x + b.width <= a.x + 1e-6
            or not (a.y < b.y + b.height and b.y < a.y + a.height)
        )
    for box in boxes.values():
        assert box.x >= -1e-6
        assert box.x + box.width <= page.width + 1e-6
        assert box.y + box.height <= page.height + 1e-6
    assert set(page.routes) == set(graph.arcs)
    for (parent, child), route in page.routes.items():
        top, bottom = boxes[parent], boxes[child]
        assert top.x < route[0][0] < top.x + top.width
        assert route[0][1] == top.y + top.height
        assert bottom.x < route[-1][0] < bottom.x + bottom.width
        assert route[-1][1] == bottom.y
        assert all(a[1] <= b[1] + 1e-6 for a, b in pairwise(route))
        for (x, y), (_, low) in zip(route[2:-2:2], route[3:-2:2], strict=False):
            for box in boxes.values():
                across = box.x + 1e-6 < x < box.x + box.width - 1e-6
                assert not (across and box.y < low and y < box.y + box.height)


@pytest.mark.parametrize("seed", range(20))
def test_layouts_keep_apart(seed: int) -> None:
    graph = random_network(seed, nodes=4 + seed, most_parents=4).graph
    rng = np.random.default_rng(seed)
    sizes = {name: (float(rng.integers(60, 160)), float(rng.integers(20, 120))) for name in graph.nodes}
    page = layered(graph, sizes)
    check(page, graph)
    assert page == layered(graph, sizes)


def test_trees_are_drawn_without_crossings() -> None:
    graph = Graph({f"n{i}": [f"n{(i - 1) // 2}"] if i else [] for i in range(15)})
    page = layered(graph, dict.fromkeys(graph.nodes, (80.0, 30.0)))
    check(page, graph)
    ends = sorted(page.routes.values(), key=lambda route: route[0])
    for a, b in combinations(ends, 2):
        if abs(a[0][1] - b[0][1]) < 1:
            assert (a[0][0] - b[0][0]) * (a[-1][0] - b[-1][0]) > 0


def test_a_wide_fan_is_folded() -> None:
    graph = Graph({"top": [], **{f"n{i}": ["top"] for i in range(40)}})
    page = layered(graph, dict.fromkeys(graph.nodes, (100.0, 30.0)))
    check(page, graph)
    assert page.width < 2500


def rain() -> Network:
    a, b = Variable("Räin & <fall>", states=("no", "yes")), Variable("wet", states=tuple("abcdefghijk"))
    rows = np.full((2, 11), 0.05)
    rows[:, 3] = 0.5
    return Network(None, [Table(a, (), [0.8, 0.2]), Table(b, (a,), rows)], name="odd")


def titles(svg: str) -> list[str]:
    return [
        node.find(f"{SVG}title").text
        for node in ElementTree.fromstring(svg).iter(f"{SVG}g")
        if node.find(f"{SVG}title") is not None
    ]  # type: ignore[union-attr,misc]


def test_nodes_say_what_they_show() -> None:
    svg = draw(rain())
    assert titles(svg) == [
        "Räin & <fall> → wet",
        "Räin & <fall>\nno: 80.0%\nyes: 20.0%",
        "wet\na: 5.0%\nb: 5.0%\nc: 5.0%\nd: 50.0%\ne: 5.0%\nf: 5.0%\n… 5 more: 25.0%",
    ]
    assert 'class="before"' not in svg
    assert svg == draw(rain())


@pytest.mark.parametrize(
    ("finding", "word", "sign"),
    [
        ("yes", "observed", "◆ yes"),
        (1, "observed", "◆ yes"),
        (Not("no"), "ruled out", "✕ no"),
        (Likelihood([1, 3]), "likelihood", "≈ no"),
        ({"no": 0.1, "yes": 0.9}, "expected", "≈ yes"),
    ],
)
def test_evidence_is_marked_in_words_and_signs(finding: object, word: str, sign: str) -> None:
    svg = draw(rain(), {"Räin & <fall>": finding})  # type: ignore[dict-item]
    assert f">{word}<" in svg
    assert f">{sign}<" in svg
    assert svg.count('class="node given"') == 1
    assert "before the evidence" in svg
    assert "80.0% before" in svg


def test_bars_are_as_long_as_beliefs() -> None:
    network = random_network(3, nodes=6)
    svg, beliefs = draw(network), posteriors(network)
    bars = [float(width) for width in re.findall(r'class="bar"[^>]* width="([\d.]+)"', svg)]
    tracks = [float(width) for width in re.findall(r'class="track"[^>]* width="([\d.]+)"', svg)]
    shares = [p for name in network.graph.order for p in beliefs[name] if p * tracks[0] >= 0.05]
    assert np.allclose(np.array(bars) / tracks[0], shares, atol=0.06 / tracks[0])


def test_big_networks_can_be_sampled() -> None:
    svg = draw(rain(), {"wet": "d"}, method="weighting")
    assert "probability of the evidence: 0.5, by weighting<" in svg


def test_the_observed_state_is_never_folded() -> None:
    assert ">◆ k<" in draw(rain(), {"wet": "k"})


def test_without_beliefs() -> None:
    svg = draw(rain(), method=None)
    assert 'class="bar"' not in svg
    assert titles(svg)[1] == "Räin & <fall>\nno\nyes"
    a, b = (Variable(name, "continuous") for name in "ab")
    gaussian = draw(Network(None, [LinearGaussian(a, (), 0, [], 1), LinearGaussian(b, (a,), 0, [1], 1)]))
    assert titles(gaussian) == ["a → b", "a", "b"]
    assert "no variables" in draw(Network({}, {}))


def test_impossible_evidence_is_an_error() -> None:
    a = Variable("a", states=("x", "y"))
    with pytest.raises(CallError, match="probability 0"):
        draw(Network(None, [Table(a, (), [1.0, 0.0])]), {"a": "y"})


@needs_shared
@pytest.mark.parametrize("name", ["asia", "alarm", "insurance", "hailfinder", "munin1", "pigs"])
def test_real_networks(name: str) -> None:
    network = read(shared() / f"data/bayesnets/bif/{name}.bif.gz")
    svg = draw(network, method="auto" if len(network) < 100 else None)
    assert len(titles(svg)) == len(network) + len(network.graph.arcs)
    sizes = {variable.name: (120.0, 30.0 + 19 * min(7, len(variable.states))) for variable in network.variables}
    if len(network) < 100:
        check(layered(network.graph, sizes), network.graph)
