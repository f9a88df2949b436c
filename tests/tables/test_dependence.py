"""Columns that lean on one another: against plain twins, and exact like all counts."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_models import probabilities
from table_twins import posterior

import plausible
from plausible.columns import Columns, Reading
from plausible.errors import CallError, DataError, ModelError
from plausible.files.model import from_bytes, to_bytes
from plausible.model import Model
from plausible.naive_bayes import star
from plausible.priors import Rules
from plausible.schema import Variable

NAMES = ("colour", "shape", "taste", "size")
CELL = st.none() | st.sampled_from(["a", "b", "c"])
ROW = st.fixed_dictionaries({**dict.fromkeys(NAMES[:3], CELL), "size": st.none() | st.integers(-3, 3).map(float)})
ROWS = st.lists(st.tuples(ROW, st.sampled_from("xyz")), min_size=2, max_size=20)


def empty(kind, m=5.0):
    attributes = tuple(Variable(name) for name in NAMES[:3])
    columns = Columns((), "class", (*attributes, Variable("size", "continuous")), pairs=True)
    return Model(rules=Rules(dependence=kind, pair_m=m, floor=0.1), reading=Reading(columns))


def cells(rows):
    given = {name: [row[name] for row in rows] for name in NAMES}
    return {**given, "size": np.array([np.nan if x is None else x for x in given["size"]], float)}


def learned(pairs, kind, m=5.0):
    model = empty(kind, m)
    if pairs:
        model.update(cells([row for row, _ in pairs]), [label for _, label in pairs])
    return model


def twin(pairs, kind, m, query, parents=None):
    """ln P(c) + ln P(row | c) by class, from the rows themselves."""
    classes = sorted({label for _, label in pairs})
    known = {name: sorted({row[name] for row, _ in pairs} - {None}) for name in NAMES[:3]}
    there = [name for name in NAMES[:3] if query[name] in known[name]]
    scores = {}
    for c in classes:
        own = [row for row, label in pairs if label == c]

        def alone(name, own=own):
            n = sum(row[name] is not None for row in own)
            n_c = sum(row[name] == query[name] for row in own)
            return (n_c + 1) / (n + len(known[name]))

        def upon(name, other, own=own, alone=alone):
            both = [row for row in own if row[name] is not None and row[other] == query[other]]
            n_c = sum(row[name] == query[name] for row in both)
            return (n_c + m * alone(name)) / (len(both) + m)

        if kind == "tan":
            p = math.prod(upon(n, parents[n]) if parents.get(n) in there else alone(n) for n in there)
        else:
            p = sum(alone(y) * math.prod(upon(x, y) for x in there if x != y) for y in there) / max(len(there), 1)
            p = p if there else 1.0
        scores[c] = math.log(len(own) / len(pairs)) + math.log(p)
        scores[c] += normal([row["size"] for row in own], [row["size"] for row, _ in pairs], query["size"])
    return scores


def normal(own, everything, value):
    everything = [x for x in everything if x is not None]
    if value is None or not everything or not np.var(everything):
        return 0.0
    own = [x for x in own if x is not None] or everything
    variance = max(np.var(own), 0.1 * np.var(everything))
    return -0.5 * math.log(2 * math.pi * variance) - (value - np.mean(own)) ** 2 / (2 * variance)


def information(pairs, one, other):
    rows = [(row[one], row[other], label) for row, label in pairs if row[one] is not None and row[other] is not None]
    total = 0.0
    for x, y, c in rows:
        n_c = sum(r[2] == c for r in rows)
        n_xy = sum(r == (x, y, c) for r in rows)
        n_x, n_y = sum(r[::2] == (x, c) for r in rows), sum(r[1:] == (y, c) for r in rows)
        total += math.log(n_xy * n_c / (n_x * n_y))
    for c in "xyz":
        x, y = ({row[at] for row in rows if row[2] == c} for at in (0, 1))
        total -= max(len(x) - 1, 0) * max(len(y) - 1, 0)
    return total


@given(ROWS, ROW, st.sampled_from([0.5, 5.0]))
def test_probabilities_are_those_of_the_rows_themselves(pairs, query, m):
    for kind in ("tan", "aode"):
        model = learned(pairs, kind, m)
        parents = {child: parent for parent, child in model.dependence.arcs}
        expected = posterior(twin(pairs, kind, m, query, parents))
        found = model.scores(cells([query]))
        assert np.allclose(probabilities(found)[0], [expected[c] for c in found.classes], atol=1e-12)


@given(ROWS)
def test_the_tree_is_the_one_that_says_most_for_its_parameters(pairs):
    arcs = learned(pairs, "tan").dependence.arcs
    weight = {frozenset(pair): information(pairs, *pair) for pair in itertools.combinations(NAMES[:3], 2)}
    best = sum(w for w in sorted(weight.values())[1:] if w > 0)
    assert sum(weight[frozenset(arc)] for arc in arcs) == pytest.approx(best, abs=1e-8)
    assert len({child for _, child in arcs}) == len(arcs)


@given(ROWS.filter(lambda pairs: len({label for _, label in pairs}) > 1), st.sampled_from(["aode", "tan"]))
def test_left_out_is_learning_without_the_row(pairs, kind):
    model = learned(pairs, kind)
    found = model.scores_left_out(cells([row for row, _ in pairs]), [label for _, label in pairs])
    parents = {child: parent for parent, child in model.dependence.arcs}
    for i, (row, _) in enumerate(pairs):
        rest = pairs[:i] + pairs[i + 1 :]
        expected = posterior(twin(rest, kind, 5.0, row, parents))
        for k, name in enumerate(found.classes):
            assert probabilities(found)[i, k] == pytest.approx(expected.get(name, 0.0), abs=1e-9)


@given(ROWS, ROWS, st.sampled_from(["aode", "tan"]))
def test_merged_forgotten_and_written_models_are_those_of_one_pass(one, other, kind):
    whole = to_bytes(learned(one + other, kind))
    merged = learned(other, kind)
    merged.merge(learned(one, kind))
    assert to_bytes(merged) == whole
    assert to_bytes(from_bytes(whole)) == whole
    merged.forget(cells([row for row, _ in other]), [label for _, label in other])
    assert to_bytes(merged) == to_bytes(learned(one, kind))


@given(ROWS, ROW, st.sampled_from(["aode", "tan"]))
def test_reasons_sum_to_the_score(pairs, query, kind):
    model = learned(pairs, kind)
    if len(model.classes) < 2:
        return
    why = plausible.explain(model, query)
    scores = np.asarray(model.scores(cells([query])).log_posterior)[0]
    at = [model.classes.index(name) for name in (why.label, why.against)]
    assert why.score == pytest.approx(scores[at[0]] - scores[at[1]], abs=1e-9)


@given(ROWS, ROW)
def test_a_tree_as_a_network_answers_alike(pairs, query):
    pairs = [({**row, "size": None}, label) for row, label in pairs]
    model = learned(pairs, "tan", 2.0)
    parents = {child: parent for parent, child in model.dependence.arcs}
    seen = {name: {row[name] for row, _ in pairs} for name in NAMES[:3]}
    kept = {name: value for name, value in query.items() if value is not None and value in seen.get(name, ())}
    while not kept.keys() >= {parents.get(name, name) for name in kept}:  # a parent may be left out for want of its own
        kept = {name: value for name, value in kept.items() if parents.get(name, name) in kept}
    network = star(model)
    found = plausible.posteriors(network, kept)["class"] if kept else np.exp(model.log_prior())
    query = {**dict.fromkeys(NAMES), **kept}
    assert np.allclose(found, probabilities(model.scores(cells([query])))[0], atol=1e-9)


def test_an_average_of_networks_is_no_network():
    with pytest.raises(ModelError, match="dependence tan"):
        star(learned([({**dict.fromkeys(NAMES), "colour": "a"}, "x")], "aode"))


def test_a_pair_that_was_never_there_is_not_forgotten():
    model = learned([({**dict.fromkeys(NAMES), "colour": "a", "shape": "b"}, "x")] * 2
                    + [({**dict.fromkeys(NAMES), "colour": "b", "shape": "a"}, "x")], "tan")  # fmt: skip
    before = to_bytes(model)
    with pytest.raises(DataError, match="'a with a'"):
        model.forget(cells([{**dict.fromkeys(NAMES), "colour": "a", "shape": "a"}]), ["x"])
    assert to_bytes(model) == before


def test_exclusive_or_is_learned():
    rows = [{"a": a, "b": b, "class": str(a != b)} for a, b in itertools.product("01", repeat=2)] * 10
    naive = plausible.learn(rows, target="class", kinds=dict.fromkeys("ab", "categorical"))
    for kind in ("tan", "aode"):
        model = plausible.learn(rows, target="class", model=kind, kinds=dict.fromkeys("ab", "categorical"))
        answers = plausible.classify(model, {"a": ["0", "1"], "b": ["1", "1"]})
        assert answers.labels == ["True", "False"]
        assert plausible.classify(naive, {"a": ["0"], "b": ["1"]})[0].probability == pytest.approx(0.5)


def test_other_rules_on_the_same_counts():
    rows = [{"a": a, "b": b, "class": str(a != b)} for a, b in itertools.product("01", repeat=2)] * 10
    kinds = dict.fromkeys("ab", "categorical")
    tree, one = (plausible.learn(rows, target="class", model=kind, kinds=kinds, raw=True) for kind in ("tan", "aode"))
    assert to_bytes(tree.estimate(dependence="aode")) == to_bytes(one)
    plain = plausible.learn(rows, target="class", kinds=kinds, raw=True, model="plain")
    query = {"a": ["0"], "b": ["1"]}
    assert probabilities(tree.estimate(dependence="none").scores(query)) == pytest.approx(
        probabilities(plain.scores(query))
    )
    with pytest.raises(CallError, match="--model tan"):
        plain.estimate(dependence="tan")
    with pytest.raises(ModelError, match="two by two"):
        plain.merge(tree)


def test_what_has_no_columns_to_pair_is_refused():
    with pytest.raises(CallError, match="list of texts"):
        plausible.learn(["a b", "c d"], ["x", "y"], model="tan")
    with pytest.raises(CallError, match="two categorical columns"):
        plausible.learn([{"a": "0", "class": "x"}, {"a": "1", "class": "y"}], target="class", model="aode")
    many = [{"a": f"v{i}", "b": f"w{i}", "class": "x"} for i in range(9000)]
    with pytest.raises(DataError, match="two by two"):
        plausible.learn(many, target="class", model="tan", kinds=dict.fromkeys("ab", "categorical"))


@pytest.mark.parametrize("kind", ["tan", "aode"])
def test_the_commands(tmp_path, kind):
    lines = ["a,b,n,class", *(f"{a},{b},{a * 2 + b}.5,{a ^ b}" for a, b in itertools.product((0, 1), repeat=2))]
    table = tmp_path / "t.csv"
    table.write_text("\n".join([lines[0], *(lines[1:] * 12)]) + "\n")
    model = str(tmp_path / "m.plausible")

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-c", "from plausible.cli import main; main()", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("learn", str(table), "--target", "class", "--model", kind, "-o", model)
    classified = [json.loads(line) for line in run("classify", model, str(table), "--format", "jsonl").splitlines()]
    assert {row["label"] for row in classified[:4]} == {"0", "1"}
    assert json.loads(run("evaluate", str(table), "--model", kind, "--folds", "3", "--format", "json"))["accuracy"] == 1
    assert "dependence" in run("info", model, "--format", "json")
    run("merge", model, model, "-o", str(tmp_path / "twice.plausible"))
    run("forget", str(tmp_path / "twice.plausible"), str(table), "-o", str(tmp_path / "once.plausible"))
    once, first = (from_bytes((tmp_path / name).read_bytes()) for name in ("once.plausible", "m.plausible"))
    assert to_bytes(once.uncalibrated()) == to_bytes(first.uncalibrated())
    run("estimate", model, "--dependence", "none", "-o", str(tmp_path / "nb.plausible"))
    ranked = [
        json.loads(line) for line in run("rank", model, str(table), "--for", "1", "--format", "jsonl").splitlines()
    ]
    assert all(row["probability"] > 0.5 for row in ranked[:24])
