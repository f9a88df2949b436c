"""Building, editing and refusing networks and their distributions."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.cpds import LinearGaussian, NoisyMax, Table, as_table, deterministic, noisy_or
from plausible.errors import CallError, ModelError
from plausible.network import Network
from plausible.schema import Variable
from tests.networks import naive

YESNO = ("yes", "no")
A, B, C = (Variable(name, states=YESNO) for name in "abc")


def test_from_arcs_and_arrays() -> None:
    network = Network({"a": [], "b": ["a"]}, {"a": [0.2, 0.8], "b": [[0.9, 0.1], [0.3, 0.7]]}, states=YESNO)
    assert network.names == ("a", "b")
    assert network["b"].parents == (A,)
    assert "a" in network
    assert len(network) == 2
    assert len(Network()) == 0


def test_joint_round_trip() -> None:
    network = naive.random_network(1, nodes=4)
    joint = naive.joint(network)
    again = Network.from_joint(network.variables, joint)
    np.testing.assert_allclose(naive.joint(again), joint, atol=1e-15)
    same = Network.from_joint(network.variables, joint, arcs=network.graph.parents)
    np.testing.assert_allclose(naive.joint(same), joint, atol=1e-14)


def test_lecture_joint() -> None:  # shared/design/figures.md, section 3
    category = Variable("category", states=("positive", "negative"))
    colour = Variable("colour", states=("red", "blue"))
    shape = Variable("shape", states=("circle", "square"))
    table = [[[0.20, 0.02], [0.02, 0.01]], [[0.05, 0.30], [0.20, 0.20]]]
    joint = naive.joint(Network.from_joint([category, colour, shape], table))
    assert joint[:, 0, 0].sum() == pytest.approx(0.25)
    assert joint[:, 0].sum() == pytest.approx(0.57)
    assert joint[0, 0, 0] / joint[:, 0, 0].sum() == pytest.approx(0.80)


def test_editing_gives_a_new_network() -> None:
    network = Network(None, [Table(A, (), [0.2, 0.8]), Table(B, (A,), [[0.9, 0.1], [0.3, 0.7]])])
    changed = network.replace(Table(A, (), [0.5, 0.5]), Table(C, (B,), np.full((2, 2), 0.5)))
    assert as_table(network["a"]).values[0] == 0.2
    assert as_table(changed["a"]).values[0] == 0.5
    assert changed.names == ("a", "b", "c")
    assert changed.without("c").names == ("a", "b")
    with pytest.raises(CallError, match="child 'b'"):
        changed.without("a")
    with pytest.raises(ValueError, match="read-only"):
        as_table(network["a"]).values[0] = 1


def test_do_cuts_the_arcs() -> None:
    network = naive.random_network(2, nodes=5)
    name = next(n for n in network.names if network.graph.parents[n])
    cut = network.do({name: 1})
    assert cut.graph.parents[name] == ()
    assert as_table(cut[name]).values.tolist()[1] == 1
    with pytest.raises(CallError, match="unknown state"):
        network.do({name: "maybe"})


@pytest.mark.parametrize("states", [2, 3])
def test_noisy_max_is_the_maximum_of_its_causes(states: int) -> None:
    rng = np.random.default_rng(0)
    child = Variable("y", states=tuple("0123"[:states]))
    parents = [Variable("p", states=("0", "1")), Variable("q", states=("0", "1", "2"))]
    pushes = [rng.dirichlet(np.ones(states), size=len(p.states)) for p in parents]
    leak = rng.dirichlet(np.ones(states))
    table = NoisyMax(child, parents, pushes, leak).table().values
    for i, j in np.ndindex(2, 3):
        expected = np.zeros(states)
        for a, b, c in np.ndindex(states, states, states):
            expected[max(a, b, c)] += pushes[0][i, a] * pushes[1][j, b] * leak[c]
        np.testing.assert_allclose(table[i, j], expected, atol=1e-15)


def test_noisy_or() -> None:
    values = noisy_or(C, (A, B), [0.8, 0.5], leak=0.1).table().values
    assert values[1, 1, 1] == pytest.approx(1 - 0.9 * 0.2 * 0.5)
    assert values[0, 0, 1] == pytest.approx(0.1)
    with pytest.raises(ModelError, match="two states"):
        noisy_or(Variable("z", states=("a", "b", "c")), (A,), [0.5])


def test_deterministic() -> None:
    table = deterministic(C, (A, B), lambda a, b: "yes" if a == b else "no").values
    assert table[0, 0].tolist() == [1, 0]
    assert table[0, 1].tolist() == [0, 1]


def test_linear_gaussian() -> None:
    x, y = Variable("x", kind="continuous"), Variable("y", kind="continuous")
    cpd = LinearGaussian(y, (A, x), [1, 2], [[0.5], [1.5]], [1, 4])
    assert cpd.discrete == (A,)
    assert cpd.continuous == (x,)
    assert LinearGaussian(x, (), 1.0, [], 2.0).weights.shape == (0,)
    with pytest.raises(ModelError, match="categorical, then continuous"):
        LinearGaussian(y, (x, A), [1, 2], [[0.5], [1.5]], [1, 4])
    with pytest.raises(ModelError, match="variance"):
        LinearGaussian(x, (), 1.0, [], -2.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.5, 0.4], [0.3, 0.7]], r"P\(b \| a=yes\) sums to 0.9, not 1"),
        ([[1.5, -0.5], [0.3, 0.7]], r"P\(b=no \| a=yes\) is -0.5"),
        ([[0.5, 0.5], [np.nan, 0.7]], r"P\(b=yes \| a=no\) is nan"),
        ([[0.5, 0.5], [np.inf, 0.7]], r"P\(b \| a=no\) sums to inf"),
        ([0.5, 0.5], r"shape \(2,\).*\(2, 2\)"),
    ],
)
def test_bad_tables(values: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Table(B, (A,), values)  # type: ignore[arg-type]


def test_nearly_one_is_renormalised() -> None:
    values = Table(A, (), [0.3000003, 0.7]).values
    assert values.sum() == pytest.approx(1, abs=1e-15)


def test_bad_networks() -> None:
    root = Table(A, (), [0.2, 0.8])
    with pytest.raises(ModelError, match="no distribution"):
        Network({"a": [], "b": ["a"]}, [root])
    with pytest.raises(ModelError, match="two distributions"):
        Network(None, [root, root])
    with pytest.raises(ModelError, match="did you mean 'a'"):
        Network({"a": []}, {"a": root, "A": root})
    with pytest.raises(ModelError, match="the arcs say"):
        Network({"a": [], "b": []}, [root, Table(B, (A,), np.full((2, 2), 0.5))])
    with pytest.raises(CallError, match="states of 'a' are not known"):
        Network({"a": []}, {"a": [0.5, 0.5]})
    other = Variable("a", states=("no", "yes"))
    with pytest.raises(ModelError, match="sees its parent 'a'"):
        Network(None, [root, Table(B, (other,), np.full((2, 2), 0.5))])
    many = [Variable(f"p{i}", states=YESNO) for i in range(1000)]
    with pytest.raises(ModelError, match=r"1,000 parents would have about 10\^301 entries"):
        Table(A, many, [])
    one = Table(Variable("one", states=("only",)), (), [1.0])
    assert len(Network(None, [one])) == 1


@pytest.mark.parametrize("values", [["x", "y"], [[0.5, 0.5], [1.0]], [None, object()]])
def test_tables_of_anything_but_numbers(values: object) -> None:
    with pytest.raises(ModelError, match="the table of 'a' holds something other than numbers"):
        Table(A, (), values)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="the joint table holds something other"):
        Network.from_joint([A], values)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="the intercept of 'x' holds something other"):
        LinearGaussian(Variable("x", "continuous"), (), values, [], 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(("state", "message"), [(2, "no state number 2"), (-1, "no state number -1"), ("Yes", "'yes'")])
def test_do_refuses_what_is_no_state(state: str | int, message: str) -> None:
    network = Network(None, [Table(A, (), [0.2, 0.8])])
    assert as_table(network.do(a=1)["a"]).values.tolist() == [0, 1]
    with pytest.raises(CallError, match=message):
        network.do(a=state)
