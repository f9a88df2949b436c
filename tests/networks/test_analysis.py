"""Sensitivity against finite differences, information against its definition."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from plausible.cpds import Table, as_table
from plausible.errors import CallError
from plausible.infer.analysis import finding_sensitivity, parameter_sensitivity, value_of_observing
from plausible.infer.engine import Impossible
from plausible.infer.evidence import Evidence, Likelihood
from plausible.infer.exact import joint, query
from plausible.network import Network
from tests.networks.naive import random_network
from tests.networks.test_exact import asia

STEP = 1e-6


def moved(network: Network, name: str, entry: tuple[int, ...], step: float) -> Network:
    """One parameter moved, the others of its row scaled to make room."""
    table = as_table(network[name])
    values = table.values.copy()
    row = values[entry[:-1]]
    old = row[entry[-1]]
    rest = 1 - old
    row *= (1 - old - step) / rest
    row[entry[-1]] = old + step
    return network.replace(Table(table.child, table.parents, values))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("given", [{}, {"v1": 0}, {"v1": 0, "v2": Likelihood([0.2, 0.9, 0.4])}])
def test_slopes_are_slopes(seed: int, given: Evidence) -> None:
    network = random_network(seed, nodes=5, zeros=0.2)
    if "v2" in given and len(network["v2"].child.states) != 3:
        given = {"v1": 0}
    if query(network, "v1")[0] == 0:
        return
    slopes = parameter_sensitivity(network, "v0", 1, given)
    for name in network.names:
        values = as_table(network[name]).values
        for entry in np.ndindex(values.shape):
            theta = values[entry]
            if theta > 1 - 1e-9:
                continue
            up = query(moved(network, name, entry, STEP), "v0", given)[1]
            down = query(moved(network, name, entry, -STEP), "v0", given)[1] if theta > STEP else None
            now = query(network, "v0", given)[1]
            slope = (up - now) / STEP if down is None else (up - down) / (2 * STEP)
            assert slopes[name][entry] == pytest.approx(slope, abs=2e-5, rel=1e-4)


def test_findings_by_strength() -> None:
    effects = finding_sensitivity(asia(), "lung", {"xray": "yes", "asia": "yes"})
    assert [effect.finding for effect in effects] == ["xray", "asia"]
    np.testing.assert_allclose(effects[0].without, query(asia(), "lung", {"asia": "yes"}))


def test_value_of_observing_is_mutual_information() -> None:
    given = {"dysp": "yes"}
    found = dict(value_of_observing(asia(), "lung", given))
    for name in ("xray", "smoke", "either"):
        table = joint(asia(), ["lung", name], given)
        product = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
        expected = sum(p * log(p / q) for p, q in zip(table.ravel(), product.ravel(), strict=True) if p > 0)
        assert found[name] == pytest.approx(expected, abs=1e-12)
    assert next(iter(found)) == "either"
    assert "dysp" not in found


def test_bad_calls() -> None:
    with pytest.raises(Impossible):
        parameter_sensitivity(asia(), "asia", "yes", {"either": "no", "lung": "yes"})
    with pytest.raises(CallError, match="not distributions"):
        parameter_sensitivity(asia(), "asia", "yes", {"lung": [0.5, 0.5]})
    with pytest.raises(CallError, match="in the evidence already"):
        value_of_observing(asia(), "lung", {"lung": "yes"})
