"""Counts beside a network: updates, forgetting, merging, and the file that keeps them."""

from __future__ import annotations

import io
import json
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import load, read, save, write
from plausible.coding import read_cases, read_mixed
from plausible.counted import Counted
from plausible.errors import CallError, DataError, ModelError, PlausibleWarning
from plausible.files.model import load_counted
from plausible.files.plausible import parse_counted, render_plausible
from plausible.learning.fit import count
from plausible.learning.hidden import fit_hidden
from plausible.learning.parameters import learn_parameters
from plausible.schema import Variable
from tests.networks.naive import random_network
from tests.parameters.naive import gappy
from tests.parameters.test_gaussian import mixed
from tests.parameters.test_hidden import tables
from tests.structure.naive import sample


def same(one: Counted, other: Counted) -> None:
    assert (one.rows, one.expected, one.network.names) == (other.rows, other.expected, other.network.names)
    assert render_plausible(one) == render_plausible(other)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_counts_are_a_group(seed):
    network = random_network(seed, nodes=4)
    cases = sample(network, 60, seed)
    rng = np.random.default_rng(seed)
    mine = rng.random(60) < 0.5
    if mine.all() or not mine.any():
        return
    whole = count(network, cases, "bdeu:2")
    one, other = (count(network, cases.select(part), "bdeu:2") for part in (mine, ~mine))
    same(one.update(cases.select(~mine)), whole)
    same(one + other, whole)
    same(whole.forget(cases.select(mine)), other)


def test_what_was_never_learned_is_not_forgotten():
    rain, wet = Variable("rain", states=("no", "yes")), Variable("wet", states=("no", "yes"))
    days = read_cases([{"rain": "no", "wet": "no"}, {"rain": "yes", "wet": "yes"}], like=[rain, wet])
    counted = count({"wet": ["rain"]}, days)
    with pytest.raises(DataError, match=r"never learned: -1 rows would be left of P\(wet=yes \| rain=no\)"):
        counted.forget([{"rain": "no", "wet": "yes"}])
    with pytest.raises(DataError, match="2 rows learned, too few to forget 3"):
        counted.forget([{"rain": "no", "wet": "no"}] * 3)
    with pytest.raises(DataError, match=r"column 'wet' has 1 gap in 1 row; update needs every cell"):
        counted.update([{"rain": "no", "wet": ""}])
    with pytest.raises(DataError, match=r"unknown state of 'rain' 'No' .*did you mean 'no'"):
        counted.update([{"rain": "No", "wet": "no"}])
    with pytest.raises(DataError, match="no row"):
        counted.update(days.select([False, False]))
    with pytest.raises(ModelError, match="differ in their arcs or states"):
        counted + count({"rain": ["wet"]}, days)
    gone = counted.forget([{"rain": "no", "wet": "no"}]).forget([{"rain": "yes", "wet": "yes"}])
    assert gone.rows == 0
    assert gone.network["wet"].values.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_expected_counts_stay_as_they_are():
    network = random_network(1, nodes=3)
    cases = gappy(sample(network, 30, 1), 0.2, 1)
    counted = fit_hidden(network, cases).counted
    for change in (counted.update, counted.forget):
        with pytest.raises(CallError, match=r"expected ones.*learn anew from all rows"):
            change(cases)
    with pytest.raises(CallError, match="expected ones"):
        counted + counted


@pytest.mark.parametrize("kind", ["whole", "expected", "mixed"])
def test_the_file_keeps_them(kind, tmp_path):
    network = random_network(4, nodes=5)
    cases = sample(network, 50, 1)
    if kind == "mixed":
        counted = count({"y": ["switch", "x"]}, mixed())
    elif kind == "expected":
        counted = fit_hidden(network, gappy(cases, 0.2, 1)).counted
    else:
        counted = count(network, cases, prior=network, weight=3)
    path = tmp_path / "net.plausible"
    save(counted, path)
    found = load(path)
    assert isinstance(found, Counted)
    same(found, counted)
    same(load_counted(path), counted)
    assert read(path).names == counted.network.names
    if kind == "whole":
        np.testing.assert_array_equal(tables(read(path)), tables(counted.network))
        same(found.update(cases), counted.update(cases))


def altered(counted: Counted, counts: bytes | None = None, **said: object) -> bytes:
    held = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(render_plausible(counted))) as old,
        zipfile.ZipFile(held, "w") as new,
    ):
        for name in old.namelist():
            data = old.read(name)
            if name == "network.json":
                head = json.loads(data)
                head["counts"] |= said
                data = json.dumps(head).encode()
            new.writestr(name, counts if counts is not None and name == "counts.npy" else data)
    return held.getvalue()


def test_damaged_counts_are_refused(tmp_path):
    network = random_network(4, nodes=3)
    counted = count(network, sample(network, 50, 1))
    parse_counted(altered(counted))
    with pytest.raises(ModelError, match="how many rows"):
        parse_counted(altered(counted, rows=-1))
    with pytest.raises(ModelError, match="how many rows"):
        parse_counted(altered(counted, expected="no"))
    with zipfile.ZipFile(io.BytesIO(render_plausible(counted))) as archive:
        numbers = np.load(io.BytesIO(archive.read("counts.npy")))
    for bad in (numbers[:-1], np.append(numbers, 1.0), np.where(np.arange(len(numbers)) == 2, -1, numbers)):
        member = io.BytesIO()
        np.save(member, bad)
        with pytest.raises(ModelError, match="damaged"):
            parse_counted(altered(counted, member.getvalue()))
    path = tmp_path / "plain.plausible"
    write(network, path)
    with pytest.raises(CallError, match="holds no network with the counts"):
        load_counted(path)


def test_parquet_is_coded_without_python_values(tmp_path):
    columns = {"rain": ["no", "yes", None, "yes"] * 5, "n": [1, 2, 3, None] * 5, "heat": [0.5 * i for i in range(20)]}
    path = tmp_path / "days.parquet"
    pq.write_table(pa.table(columns), path)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausibleWarning)
        for drop in ([], ["heat"]):
            one, other = read_mixed(path, drop=drop), read_mixed(records, drop=drop)
            assert one.variables == other.variables
            assert one.gaps == other.gaps == {"rain": 5, "n": 5}
            for a, b in zip(one.cases.codes, other.cases.codes, strict=True):
                np.testing.assert_array_equal(a, b)
    rain = Variable("rain", states=("yes",))
    with pytest.raises(DataError, match=r"days.parquet, row 1: unknown state of 'rain' 'no'"):
        read_cases(path, like=[rain])


def test_what_stands_for_a_gap_is_told():
    rain = Variable("rain", states=("no", "yes"))
    with pytest.raises(DataError, match=r"unknown state of 'rain' 'NA'.*if it stands for a gap, say gaps=\['NA'\]"):
        read_cases([{"rain": "NA"}], like=[rain])
    with pytest.raises(DataError) as told:
        read_cases([{"rain": "maybe"}], like=[rain])
    assert "gap" not in str(told.value)


def test_the_method_is_chosen_by_the_cases():
    network = random_network(1, nodes=4)
    cases = sample(network, 40, 1)
    assert learn_parameters(network, cases).method == "counts"
    assert learn_parameters(network, gappy(cases, 0.2, 1)).method == "em"
    assert learn_parameters(network, cases, fixed=[network.names[0]]).method == "em"
    assert learn_parameters(network, cases, method="lbfgs").method == "lbfgs"
    with pytest.raises(CallError, match="need a search"):
        learn_parameters(network, cases, method="counts", restarts=3)
    with pytest.raises(DataError, match=r"fit needs every cell.*fit_hidden \(--method em\)"):
        learn_parameters(network, gappy(cases, 0.2, 1), method="counts")
    with pytest.raises(CallError, match=r"unknown method 'count'.*did you mean 'counts'"):
        learn_parameters(network, cases, method="count")
    with pytest.raises(DataError, match=r"unknown variable in the data 'v.'.*say that it is hidden"):
        learn_parameters(network, [{"other": 1}])
