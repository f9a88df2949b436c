"""Linear Gaussians by their moments, against least squares by QR."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.coding import read_mixed
from plausible.counting import Cases, Mixed
from plausible.cpds import LinearGaussian, Table
from plausible.errors import CallError, DataError, PlausibleWarning
from plausible.files.formats import read
from plausible.graph import Graph
from plausible.infer.gaussian import sample_mixed
from plausible.learning.fit import count, fit
from plausible.learning.hidden import fit_hidden
from plausible.network import Network
from plausible.regressions import LinearMoments
from plausible.schema import Variable
from tests.networks.shared import needs_shared, shared


def same_as_lstsq(network: Network, data: Mixed, rel: float = 1e-8) -> int:
    """Each regression against numpy's least squares on the rows of its combination; how many were compared."""
    compared = 0
    codes = {v.name: c for v, c in zip(data.cases.variables, data.cases.codes, strict=True)}
    for name in network.names:
        cpd = network[name]
        if not isinstance(cpd, LinearGaussian):
            continue
        for row in product(*(range(len(v.states)) for v in cpd.discrete)):
            here = np.ones(data.rows, dtype=bool)
            for variable, state in zip(cpd.discrete, row, strict=True):
                here &= codes[variable.name] == state
            x = np.column_stack([np.ones(here.sum()), *(data.numbers[v.name][here] for v in cpd.continuous)])
            y = data.numbers[name][here]
            right = np.linalg.lstsq(x, y, rcond=None)[0]
            found = np.append(cpd.intercept[row], cpd.weights[row])
            np.testing.assert_allclose(found, right, rtol=rel, atol=rel * np.abs(right).max())
            assert cpd.variance[row] == pytest.approx(np.mean((y - x @ right) ** 2), rel=rel)
            compared += 1
    return compared


def arcs(text: str) -> dict[str, list[str]]:
    """A model string of bnlearn as parents."""
    nodes = (node.partition("|") for node in text.strip("[]").split("]["))
    return {name: above.split(":") if above else [] for name, _, above in nodes}


@needs_shared
@pytest.mark.parametrize(
    ("name", "structure", "regressions"),
    [
        ("gaussian.test", "[A][B][E][G][C|A:B][D|B][F|A:D:E:G]", 7),
        ("clgaussian.test", "[A][B][C][H][D|A:H][F|B:C][E|B:D][G|A:D:E:F]", 1 + 2 + 3 + 4),
    ],
)
def test_real_tables(name, structure, regressions):
    data = read_mixed(shared() / f"data/bayesnets/data/{name}.csv.gz")
    network = fit(arcs(structure), data)
    assert same_as_lstsq(network, data) == regressions


@needs_shared
def test_the_coefficients_that_made_gaussian_test():
    """bnlearn's documentation of gaussian.test: C ~ 2 + 2A + 2B, D ~ 6 + 1.5B, F ~ 2A + D + E + 1.5G."""
    network = fit(arcs("[A][B][E][G][C|A:B][D|B][F|A:D:E:G]"), shared() / "data/bayesnets/data/gaussian.test.csv.gz")
    assert network["C"].weights == pytest.approx([2, 2], abs=0.02)
    assert network["C"].intercept == pytest.approx(2, abs=0.03)
    assert network["D"].weights == pytest.approx([1.5], abs=0.02)
    assert network["F"].weights == pytest.approx([2, 1, 1, 1.5], abs=0.02)


@needs_shared
@pytest.mark.parametrize("name", ["ecoli70", "magic-niab", "magic-irri"])
def test_sample_then_fit_recovers_real_networks(name):
    truth = read(shared() / f"data/bayesnets/other/{name}.json.gz")
    data = Mixed(Cases((), ()), sample_mixed(truth, 20_000, seed=1), 20_000)
    network = fit(truth, data)
    assert network.graph.arcs == truth.graph.arcs
    same_as_lstsq(network, data)
    for node in truth.names:
        assert network[node].variance == pytest.approx(truth[node].variance, rel=0.06, abs=1e-12)
        x = [data.numbers[v.name] for v in truth[node].continuous]
        errors = (network[node].weights - truth[node].weights) * [column.std() for column in x]
        assert np.abs(errors).max(initial=0) < 0.1 * data.numbers[node].std()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3), st.sampled_from([1.0, 1e6]))
def test_moments_are_a_group(seed, parents, far):
    rng = np.random.default_rng(seed)
    x = rng.normal(far, 1, (60, parents + 1))
    codes = [rng.integers(0, 3, 60), rng.integers(0, 2, 60)]
    whole = LinearMoments.of((3, 2), codes, x)
    cut = int(rng.integers(0, 61))
    one, two = (LinearMoments.of((3, 2), [c[part] for c in codes], x[part]) for part in (slice(cut), slice(cut, None)))
    for found, right in ((one + two, whole), (whole - two, one)):
        np.testing.assert_array_equal(found.n, right.n)
        np.testing.assert_allclose(found.mean, right.mean, rtol=1e-9)
        np.testing.assert_allclose(found.squares, right.squares, rtol=1e-6, atol=1e-6)
    for row in np.ndindex(3, 2):
        here = x[(codes[0] == row[0]) & (codes[1] == row[1])]
        assert whole.n[row] == len(here)
        if len(here):
            np.testing.assert_allclose(whole.mean[row], here.mean(axis=0), rtol=1e-12)
            off = here - here.mean(axis=0)
            np.testing.assert_allclose(whole.squares[row], off.T @ off, rtol=1e-9, atol=1e-9)


def test_blocks_are_added(monkeypatch):
    rng = np.random.default_rng(1)
    x, codes = rng.normal(size=(100, 3)), [rng.integers(0, 2, 100)]
    whole = LinearMoments.of((2,), codes, x)
    monkeypatch.setattr("plausible.regressions.BLOCK", 7)
    np.testing.assert_allclose(LinearMoments.of((2,), codes, x).squares, whole.squares, rtol=1e-12)


def mixed(rows: int = 200, seed: int = 0) -> Mixed:
    rng = np.random.default_rng(seed)
    switch = Variable("switch", states=("off", "on"))
    on = rng.integers(0, 2, rows)
    x = rng.normal(3, 2, rows)
    y = np.where(on == 1, 1 + 2 * x, -x) + rng.normal(0, 0.5, rows)
    return Mixed(Cases((switch,), (on,)), {"x": x, "y": y}, rows)


def test_updates_and_forgetting():
    data = mixed()
    graph = Graph({"y": ["x", "switch"]})
    whole = count(graph, data)
    assert [p.name for p in whole.network["y"].parents] == ["switch", "x"]
    assert same_as_lstsq(whole.network, data) == 3
    first = count(graph, data.select(np.arange(200) < 120))
    more = first.update(data.select(np.arange(200) >= 120))
    assert more.rows == 200
    for a, b in ((more, whole), (whole.forget(data.select(np.arange(200) >= 120)), first)):
        np.testing.assert_allclose(a.network["y"].weights, b.network["y"].weights, rtol=1e-9)
        np.testing.assert_allclose(a.network["y"].variance, b.network["y"].variance, rtol=1e-8)
    with pytest.raises(DataError, match="never learned"):
        first.forget(mixed(seed=5).select(np.arange(200) < 100))


def test_states_in_another_order():
    data = mixed()
    wider = Variable("switch", states=("on", "broken", "off"))
    x, y = Variable("x", "continuous"), Variable("y", "continuous")
    network = Network(
        None,
        [
            LinearGaussian(x, (), 0, [], 1),
            LinearGaussian(y, (wider, x), np.zeros(3), np.zeros((3, 1)), np.ones(3)),
            Table(wider, (), [0.3, 0.3, 0.4]),
        ],
    )
    with pytest.warns(PlausibleWarning, match=r"P\(y \| switch=broken\) has no row; it takes the regression of all"):
        found = fit(network, data)["y"]
    plain = fit({"y": ["switch", "x"]}, data)["y"]
    np.testing.assert_array_equal(found.weights[[2, 0]], plain.weights)
    pooled = np.polyfit(data.numbers["x"], data.numbers["y"], 1)
    assert [found.weights[1, 0], found.intercept[1]] == pytest.approx(pooled)


def test_parents_that_depend_on_each_other_and_few_rows():
    x = np.linspace(0, 1, 50)
    data = Mixed(Cases((), ()), {"a": x, "b": 2 * x, "c": 5 * x + 1}, 50)
    with pytest.warns(PlausibleWarning, match=r"P\(c\) rests on 50 rows, in which its continuous parents depend"):
        found = fit({"c": ["a", "b"]}, data)["c"]
    assert found.intercept + found.weights @ [0.5, 1] == pytest.approx(3.5)
    with pytest.warns(PlausibleWarning, match="rests on 1 row,"):
        one = fit({"c": ["a"]}, data.select([7]))["c"]
    assert (one.weights.tolist(), one.variance.tolist()) == ([0.0], 0.0)
    assert one.intercept == pytest.approx(5 * x[7] + 1)


def test_a_far_mean_loses_nothing():
    rng = np.random.default_rng(0)
    x = 1e9 + rng.normal(0, 1, 5000)
    data = Mixed(Cases((), ()), {"x": x, "y": 3 * (x - 1e9) + rng.normal(0, 1, 5000)}, 5000)
    slope = np.polyfit(x - 1e9, data.numbers["y"], 1)[0]
    assert fit({"y": ["x"]}, data)["y"].weights[0] == pytest.approx(slope, rel=1e-8)


def test_reading_numbers_beside_states(tmp_path):
    path = tmp_path / "days.csv"
    lines = [f"{'yes' if i % 2 else 'no'},{i / 7},{i % 3}," + ("NA" if i == 5 else str(i / 3)) for i in range(60)]
    path.write_text("\n".join(["wet,rain,level,heat", *lines]))
    data = read_mixed(path, gaps=("", "NA"), drop=["heat"])
    assert [(v.name, v.kind, v.states) for v in data.variables] == [
        ("wet", "categorical", ("no", "yes")),
        ("level", "categorical", ("0", "1", "2")),
        ("rain", "continuous", ()),
    ]
    heat = Variable("heat", "continuous")
    gappy = read_mixed(path, like=[heat], gaps=("NA",))
    assert gappy.gaps == {"heat": 1}
    assert np.isnan(gappy.numbers["heat"][5])
    with pytest.raises(DataError, match=r"column 'heat': could not convert .*'NA'.*gaps"):
        read_mixed(path, like=[heat])
    with pytest.raises(DataError, match=r"column 'heat' has 1 gap in 60 rows"):
        fit({"heat": []}, gappy)


def test_what_can_not_be_is_said():
    data = mixed()
    with pytest.raises(CallError, match=r"'switch' is categorical and has the continuous parent 'x'.*turn the arc"):
        fit({"switch": ["x"]}, data)
    with pytest.raises(DataError, match=r"'x' is continuous in the network and categorical in the data"):
        fit(fit({"x": []}, data), Cases((Variable("x", states=("1", "2")),), ([0, 1],)))
    with pytest.raises(CallError, match=r"'x' is continuous; expected counts are of states only"):
        fit_hidden(fit({"x": []}, data), data)
    broken = Mixed(data.cases, {**data.numbers, "x": np.where(np.arange(200) == 3, np.nan, data.numbers["x"])}, 200)
    with pytest.raises(DataError, match=r"column 'x' has 1 gap in 200 rows; fit needs every cell"):
        fit({"y": ["x"]}, broken)
    assert fit({"y": []}, broken)["y"].variance > 0  # the gap is in no family
