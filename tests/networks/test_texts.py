"""Texts as nodes: their likelihood is evidence on their parent, whatever is asked and however."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible import (
    CallError,
    DataError,
    Impossible,
    Likelihood,
    Model,
    ModelError,
    Network,
    Not,
    Rules,
    Smoothing,
    Tokens,
    Variable,
    joint,
    posteriors,
    predict,
    probability,
    query,
    sample,
    star,
)
from plausible.cpds import LinearGaussian, Table, Words
from plausible.files.formats import read, write
from plausible.infer import ask, ask_mixed, conflict, estimate, explanation, finding_sensitivity, sample_mixed
from tests.networks.naive import marginal, random_network, weighted

TERMS = ("a", "b", "c d")
TEXTS = ("", "a", "b a b", "c d", "zebra", "A, b; c d")


def with_texts(seed: int, events: str = "multinomial", zeros: float = 0.0) -> Network:
    """A random network with a text under each of two variables, and a second one under the first of them."""
    rng = np.random.default_rng(seed)
    network = random_network(seed, nodes=5, zeros=zeros / 2)
    for name, parent in (("t0", "v0"), ("t1", "v1"), ("u0", "v0")):
        above = network[parent].child
        values = rng.dirichlet(np.ones(3), size=len(above.states)) * (rng.random((len(above.states), 3)) >= zeros)
        values[:, 0] += 1e-3
        if events == "multinomial":
            values /= values.sum(axis=1, keepdims=True)
        child = Variable(name, "text")
        network = network.replace(
            Words(child, (above,), TERMS, values, events, Tokens(ngrams=(1, 2)))  # type: ignore[arg-type]
        )
    return network


def likelihoods(network: Network, texts: Mapping[str, str]) -> dict[str, np.ndarray]:
    """By the definition, term by term: for each parent P(its texts | state)."""
    found: dict[str, np.ndarray] = {}
    for name, text in texts.items():
        words = network[name]
        assert isinstance(words, Words)
        terms = words.tokens.of(text)
        chance = np.ones(len(words.parents[0].states))
        for place, term in enumerate(TERMS):
            if words.events == "multinomial":
                chance = chance * words.values[:, place] ** terms.count(term)
            else:
                chance = chance * (words.values[:, place] if term in terms else 1 - words.values[:, place])
        parent = words.parents[0].name
        found[parent] = found.get(parent, 1.0) * chance
    return found


seeds = st.integers(0, 2**32)
some_texts = st.fixed_dictionaries({}, optional={name: st.sampled_from(TEXTS) for name in ("t0", "t1", "u0")})
kinds = st.sampled_from(["multinomial", "bernoulli"])


@given(seeds, some_texts, kinds, st.sampled_from([0.0, 0.4]), st.integers(0, 4))
@settings(deadline=None, max_examples=80)
def test_every_answer_is_that_of_the_joint(
    seed: int, texts: dict[str, str], events: str, zeros: float, kind: int
) -> None:
    network = with_texts(seed, events, zeros)
    plain = network.without("t0", "t1", "u0")
    states = network["v0"].child.states
    size = len(states)
    findings = [None, states[-1], Not(states[0]), Likelihood(np.arange(1.0, size + 1)), {"v1": None}]
    vectors = [1.0, np.eye(size)[-1], 1 - np.eye(size)[0], np.arange(1.0, size + 1), 1.0]
    evidence = dict(texts) if findings[kind] is None or kind == 4 else {**texts, "v0": findings[kind]}
    said = likelihoods(network, texts)
    said["v0"] = said.get("v0", np.ones(size)) * vectors[kind]
    whole = weighted(plain, said)
    if whole.sum() == 0:
        with pytest.raises(Impossible) as error:
            ask(network, evidence)
        assert set(error.value.conflict) <= set(evidence)
        with pytest.raises(DataError, match="row 0 has probability 0"):
            predict(network, {name: [value] for name, value in texts.items()} | {"v0": [states[-1]]})
        return
    answer = ask(network, evidence)
    assert answer.log_probability == pytest.approx(log(whole.sum()), rel=1e-9, abs=1e-9)
    assert set(answer.posteriors) == set(plain.names)
    for name in plain.names:
        assert answer.posteriors[name] == pytest.approx(marginal(plain, whole, name), abs=1e-12)
        assert query(network, name, evidence) == pytest.approx(marginal(plain, whole, name), abs=1e-12)
    assert joint(network, ["v2", "v0"], evidence) == pytest.approx(marginal(plain, whole, "v2", "v0"), abs=1e-12)
    assert exp(explanation(network, evidence).log_probability) == pytest.approx(whole.max(), rel=1e-9)
    assert ask_mixed(network, evidence).log_density == pytest.approx(log(whole.sum()), rel=1e-9, abs=1e-9)
    assert ask_mixed(network, evidence).posteriors["v3"] == pytest.approx(marginal(plain, whole, "v3"), abs=1e-12)
    if kind < 2:
        table = {name: [value] for name, value in evidence.items()} or {"v0": [None]}
        for name, rows in predict(network, table).items():
            assert rows[0] == pytest.approx(marginal(plain, whole, name), abs=1e-12)


@given(seeds, kinds)
@settings(deadline=None, max_examples=20)
def test_many_rows_of_texts(seed: int, events: str) -> None:
    network = with_texts(seed, events)
    rng = np.random.default_rng(seed)
    states = network["v2"].child.states
    table = {
        "t0": [None if rng.random() < 0.3 else str(rng.choice(TEXTS)) for _ in range(8)],
        "t1": [float("nan") if rng.random() < 0.3 else str(rng.choice(TEXTS)) for _ in range(8)],
        "v2": [None if rng.random() < 0.5 else str(rng.choice(states)) for _ in range(8)],
    }
    found = predict(network, table, ["v0", "v3"])
    for i in range(8):
        evidence = {name: column[i] for name, column in table.items() if isinstance(column[i], str)}
        for name, rows in found.items():
            assert rows[i] == pytest.approx(query(network, name, evidence), abs=1e-12)


@pytest.mark.parametrize("method", ["weighting", "gibbs", "loopy"])
def test_by_sampling_and_loopy_propagation(method: str) -> None:
    network = with_texts(7)
    evidence = {"t0": "b a b", "u0": "c d", "t1": "a"}
    exact = ask(network, evidence)
    found = estimate(network, evidence, method, seed=3)  # type: ignore[arg-type]
    for name, values in found.posteriors.items():
        room = 0.05 if method == "loopy" else 5 * found.errors[name].max() + 1e-9
        assert values == pytest.approx(exact.posteriors[name], abs=room)
    if method == "weighting":
        assert found.log_probability == pytest.approx(exact.log_probability, abs=0.1)


def test_long_texts_do_not_underflow() -> None:
    network = with_texts(1)
    answer = ask(network, {"t0": "b " * 100_000})
    assert answer.log_probability < -1000
    assert np.isfinite(list(answer.posteriors["v0"])).all()


def test_drawn_texts_tell_their_parent() -> None:
    label, text, size = Variable("class", states=("x", "y")), Variable("text", "text"), Variable("size", "continuous")
    words = Words(text, (label,), ("left", "right"), [[0.9, 0.1], [0.1, 0.9]], length=12.0)
    height = LinearGaussian(size, (label,), [0, 10], [[], []], [1, 1])
    network = Network(None, [Table(label, (), [0.3, 0.7]), words, height])
    cases = sample_mixed(network, 4000, seed=5)
    assert cases["class"].mean() == pytest.approx(0.7, abs=0.03)
    assert np.mean([len(t.split()) for t in cases["text"]]) == pytest.approx(12, abs=0.3)
    counts = np.array([[t.split().count(w) for w in words.terms] for t in cases["text"]])
    for state in (0, 1):
        total = counts[cases["class"] == state].sum(axis=0)
        assert total / total.sum() == pytest.approx(words.values[state], abs=0.02)
    assert np.mean(sample_mixed(network, 500, {"text": "right right"})["class"]) > 0.9
    assert set(sample_mixed(network, 5, {"text": "right"})["text"]) == {"right"}
    assert sample(Network(None, [network["class"], words]), 3, {"text": "left"}).shape == (3, 1)
    with pytest.raises(CallError, match="given a number"):
        sample_mixed(network, 5, {"size": 1.0})
    holds = Words(text, (label,), ("u", "v"), [[0.9, 0.2], [0.1, 0.5]], "bernoulli")
    drawn = sample_mixed(Network(None, [Table(label, (), [0, 1]), holds]), 4000, seed=1)["text"]
    assert np.mean(["u" in t for t in drawn]) == pytest.approx(0.1, abs=0.02)
    assert np.mean(["v" in t for t in drawn]) == pytest.approx(0.5, abs=0.03)


def test_conflict_and_sensitivity_count_each_text() -> None:
    network = with_texts(3)
    evidence = {"t0": "b a b", "u0": "c d"}
    alone = sum(log(probability(network, {name: text})) for name, text in evidence.items())
    assert conflict(network, evidence) == pytest.approx(alone - log(probability(network, evidence)))
    assert {effect.finding for effect in finding_sensitivity(network, "v0", evidence)} == {"t0", "u0"}


def test_what_texts_can_not_do() -> None:
    network = with_texts(0)
    with pytest.raises(DataError, match="row 1: 't0' is a text: give it as a string, not 3"):
        predict(network, {"t0": ["a", 3]})
    label, text = network["v0"].child, Variable("t", "text")
    with pytest.raises(CallError, match="'t0' is a text: it can be given"):
        query(network, "t0")
    with pytest.raises(CallError, match="give it as a string"):
        query(network, "v0", {"t0": 3})
    with pytest.raises(CallError, match=r"unknown variable 'T0'.*did you mean 't0'"):
        query(network, "v0", {"T0": "x"})
    with pytest.raises(ModelError, match="one categorical parent"):
        Words(text, (), (), [[]])
    with pytest.raises(ModelError, match=r"sums to 0\.9"):
        Words(text, (label,), ("a", "b"), [[0.4, 0.5]] * len(label.states))
    with pytest.raises(ModelError, match="no probability"):
        Words(text, (label,), ("a",), [[1.5]] * len(label.states), "bernoulli")
    with pytest.raises(ModelError, match="'a' twice"):
        Words(text, (label,), ("a", "a"), [[0.5, 0.5]] * len(label.states))
    with pytest.raises(ModelError, match="needs categorical variables, but 't0' is text"):
        Table(label, (network["t0"].child,), [])


def test_formats_of_tables_refuse_texts(tmp_path: object) -> None:
    with pytest.raises(ModelError, match=r"'t0' is text.*\.plausible"):
        write(with_texts(0), f"{tmp_path}/a.bif")
    write(with_texts(0), f"{tmp_path}/a.plausible")
    asked = [query(network, "v0", {"t0": "b"}).tolist() for network in (read(f"{tmp_path}/a.plausible"), with_texts(0))]
    assert asked[0] == asked[1]


# --- a naive Bayes model as a network -------------------------------------------------------------------------------

WORDS = ["good", "bad", "day", "day day", "中文", ""]


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(WORDS), max_size=5), st.sampled_from("xyz")), min_size=2, max_size=12),
    kinds,
    st.sampled_from([Smoothing(), Smoothing(0.1), Smoothing(2, share=True), Smoothing(a=0.5)]),
    st.sampled_from(["fractions", "uniform"]),
    st.integers(1, 2),
)
@settings(deadline=None, max_examples=60)
def test_a_star_says_what_its_model_says(
    pairs: list[tuple[list[str], str]], events: str, smoothing: Smoothing, prior: str, least: int
) -> None:
    model = Model(rules=Rules(events=events, smoothing=smoothing, prior=prior, min_count=least))  # type: ignore[arg-type]
    model.update([" ".join(words) for words, _ in pairs], [label for _, label in pairs])
    network = star(model)
    texts = ["good day", "bad bad day", "zebra", "", "中文"]
    ours = predict(network, {"text": texts}, ["class"])["class"]
    theirs = np.exp(np.asarray(model.scores(texts).log_posterior))
    known = np.asarray(model.scores(texts).known) > 0
    rows = known if events == "multinomial" else slice(None)
    assert ours[rows] == pytest.approx(theirs[rows], abs=1e-9)


@pytest.mark.filterwarnings("ignore:column 'same'")
def test_a_star_with_columns_and_text() -> None:
    from plausible import learn

    columns = {
        "text": ["win money", "money now", "meeting at noon", "noon", "meet me", "cash"],
        "wind": ["weak", "strong", "weak", None, "weak", "strong"],
        "size": [1.0, 2.5, 3.0, 4.5, None, 2.0],
        "same": [7.0] * 6,
        "y": ["a", "a", "b", "b", "b", "a"],
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    model = learn(rows, target="y", model="plain", kinds={"text": "text", "size": "continuous", "same": "continuous"})
    model = model.uncalibrated()
    network = star(model)
    assert set(network.names) == {"y", "text", "wind", "size"}
    row = {"text": "money at noon", "wind": "strong", "size": 2.2}
    cells = {name: [value] for name, value in {**row, "same": 7.0}.items()}
    scores = np.exp(np.asarray(model.scores(cells).log_posterior))
    assert ask_mixed(network, row).posteriors["y"] == pytest.approx(scores[0], abs=1e-9)


def test_weights_of_words_are_no_network() -> None:
    model = Model(rules=Rules(events="weighted"))
    model.update(["a b", "b c"], ["x", "y"])
    with pytest.raises(ModelError, match=r"estimate\(events='multinomial'\)"):
        star(model)
    assert posteriors(star(model.estimate(events="multinomial")), {"text": "a"})["class"][0] > 0.5
