"""A model in coarser classes is what learning under them gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.columns import Columns, Reading
from plausible.errors import CallError
from plausible.files.model import to_bytes
from plausible.model import Model
from plausible.priors import Rules, Smoothing
from plausible.schema import Variable

INTO = {"1": "low", "2": "low", "3": "low", "4": "high", "5": "high"}
READING = Reading(
    Columns(("text",), "rating", (Variable("colour"), Variable("size", states=("s", "m")), Variable("x", "continuous")))
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["sun", "rain sun", "snow snow wind"]),
        st.sampled_from(["red", "blue", None]),
        st.sampled_from(["s", "m", None]),
        st.sampled_from([1.5, -2.0, float("nan")]),
        st.sampled_from("12345"),
    ),
    min_size=1,
)


def learned(rows, labels, rules=None):
    text, colour, size, x, _ = zip(*rows, strict=True)
    model = Model(rules=rules, reading=READING)
    model.update({"text": list(text), "colour": list(colour), "size": list(size), "x": np.array(x)}, labels)
    return model


@given(rows=ROWS)
def test_the_same_as_learning_under_coarser_classes(rows):
    labels = [row[-1] for row in rows]
    fine, coarse = learned(rows, labels), learned(rows, [INTO[label] for label in labels])
    assert to_bytes(fine.regrouped(INTO)) == to_bytes(coarse)


def test_each_class_needs_a_group():
    with pytest.raises(CallError, match="class '3' has no group"):
        learned([("sun", "red", "s", 1.0, "3")], ["3"]).regrouped({"1": "low"})


@given(rows=ROWS)
def test_declared_states_that_no_row_has_say_nothing_where_their_share_is_the_prior(rows):
    labels = [INTO[row[-1]] for row in rows]
    if len(set(labels)) < 2:
        return
    rules = Rules(events="weighted", smoothing=Smoothing(a=0.1), by_column={"size": Smoothing(m=4.0, share=True)})
    model = learned(rows, labels, rules)
    text, colour, size, x, _ = zip(*rows, strict=True)
    cells = {"text": list(text), "colour": list(colour), "size": list(size), "x": np.array(x)}
    channels, _, _ = model.left_out_channels(cells, labels)
    alone = [labels.count(label) == 1 for label in labels]
    assert np.isfinite(channels[~np.array(alone), 0]).all()
    of_size = np.zeros((len(rows), 2))
    model.cpds["size"].add_without(of_size, cells["size"], np.asarray(model.counts.codes(labels)), np.ones(len(rows)))
    assert np.isfinite(of_size).all()
    codes, table, tells = model.cpds["size"].part(["m"])
    assert not tells[codes[0]] or np.isfinite(table[codes[0]]).all()
