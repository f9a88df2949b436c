"""The textbook's figures on tables, each with its source (figures.md, sections 1 and 2)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from table_models import TABLES, needs_data, probabilities

import plausible
from plausible.encode import row_cells
from plausible.priors import m_estimate

PLAY_TENNIS = """Outlook,Temperature,Humidity,Wind,PlayTennis
Sunny,Hot,High,Weak,No
Sunny,Hot,High,Strong,No
Overcast,Hot,High,Weak,Yes
Rain,Mild,High,Weak,Yes
Rain,Cool,Normal,Weak,Yes
Rain,Cool,Normal,Strong,No
Overcast,Cool,Normal,Strong,Yes
Sunny,Mild,High,Weak,No
Sunny,Cool,Normal,Weak,Yes
Rain,Mild,Normal,Weak,Yes
Sunny,Mild,Normal,Strong,Yes
Overcast,Mild,High,Strong,Yes
Overcast,Hot,Normal,Weak,Yes
Rain,Mild,High,Strong,No
"""


@pytest.fixture
def play_tennis(tmp_path):
    path = tmp_path / "play_tennis.csv"
    path.write_text(PLAY_TENNIS)
    return plausible.learn(str(path), target="PlayTennis", smoothing="mle", raw=True)


def test_wind_given_play_tennis(play_tennis):
    """Mitchell 1997, section 6.9.1: P(strong / yes) = 3/9 = .33, P(strong / no) = 3/5 = .60."""
    wind = play_tennis.cpds["Wind"]
    strong = wind.probabilities()[wind.family.index["Strong"]]
    assert strong[play_tennis.class_index("Yes")] == pytest.approx(3 / 9)
    assert strong[play_tennis.class_index("No")] == pytest.approx(3 / 5)


def test_play_tennis(play_tennis):
    """Mitchell 1997, section 6.9.1: products .0053 and .0206, P(no) = .795."""
    row = {"Outlook": "Sunny", "Temperature": "Cool", "Humidity": "High", "Wind": "Strong"}
    cells = row_cells(play_tennis.reading.columns, row)
    products = {}
    for name in play_tennis.classes:
        product = math.exp(play_tennis.log_prior()[play_tennis.classes.index(name)])
        for column, cpd in play_tennis.cpds.items():
            product *= cpd.probabilities()[cpd.family.index[row[column]], play_tennis.class_index(name)]
        products[name] = product
    assert round(products["Yes"], 4) == 0.0053
    assert round(products["No"], 4) == 0.0206
    answer = plausible.classify(play_tennis, cells)[0]
    assert answer.label == "No"
    assert round(answer.probabilities["No"], 3) == 0.795


def test_explanation_of_play_tennis_sums_to_the_score(play_tennis):
    row = {"Outlook": "Sunny", "Temperature": "Cool", "Humidity": "High", "Wind": "Strong"}
    why = plausible.explain(play_tennis, row)
    assert (why.label, why.against) == ("No", "Yes")
    assert why.score == pytest.approx(math.log(0.795417 / 0.204583), abs=1e-4)
    assert why.score == pytest.approx(why.prior + math.fsum(why.by_column().values()))
    assert why.in_bits().score == pytest.approx(why.score / math.log(2))
    wind = next(one for one in why.evidence if one.column == "Wind")
    assert (wind.term, wind.seen, wind.seen_against) == ("Strong", 3, 3)
    assert wind.weight == pytest.approx(math.log((3 / 5) / (3 / 9)))


def test_three_sizes():
    """Laplace smoothing example of the lecture: 4 small, 0 medium, 6 large, m = 1, p = 1/3: .394, .030, .576."""
    rows = [{"size": "small"}] * 4 + [{"size": "large"}] * 6
    labels = ["positive"] * 10
    model = plausible.learn(
        [{**row, "class": label} for row, label in zip(rows, labels, strict=True)] + [{"size": "medium", "class": "n"}],
        target="class",
        kinds={"size": "small<medium<large"},
        smoothing="m=1",
    )
    found = model.cpds["size"].probabilities()[:, model.class_index("positive")]
    assert [round(p, 3) for p in found] == [0.394, 0.030, 0.576]
    assert found.sum() == pytest.approx(1)
    assert [round(m_estimate(n, 10, 1 / 3, 1), 3) for n in (4, 0, 6)] == [0.394, 0.030, 0.576]


def test_laplace_is_m_the_number_of_states():
    """Mitchell 1997, eq. 6.22: m = k with p = 1/k is +1 (Cestnik 1990)."""
    rows = [{"x": value, "class": "c"} for value in "aaab"] + [{"x": "c", "class": "d"}]
    laplace, by_m = (
        plausible.learn(rows, target="class", kinds={"x": "categorical"}, smoothing=rule).cpds["x"].probabilities()
        for rule in ("laplace", "m=3")
    )
    assert laplace[:, 0] == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert by_m == pytest.approx(laplace)


def shapes():
    """Counts that give P(medium) = 3/8, 2/8; P(red) = 5/8, 2/8; P(circle) = 5/8, 2/8, priors 1/2."""

    def rows(label, medium, red, circle):
        return [
            {
                "size": "medium" if i < medium else "small",
                "colour": "red" if i < red else "blue",
                "shape": "circle" if i < circle else "square",
                "class": label,
            }
            for i in range(8)
        ]

    return rows("positive", 3, 5, 5) + rows("negative", 2, 2, 2)


def test_size_colour_shape():
    """Naïve Bayes example of the lecture: .073 and .0078 before normalising: positive."""
    model = plausible.learn(shapes(), target="class", smoothing="mle", raw=True)
    row = {"size": "medium", "colour": "red", "shape": "circle"}
    answer = plausible.classify(model, row_cells(model.reading.columns, row))[0]
    products = (0.5 * 3 / 8 * 5 / 8 * 5 / 8, 0.5 * (2 / 8) ** 3)
    assert [round(products[0], 3), round(products[1], 4)] == [0.073, 0.0078]
    assert answer.label == "positive"
    assert answer.probability == pytest.approx(products[0] / sum(products))


FOUR_ROWS = [
    {"size": "small", "colour": "red", "shape": "circle", "class": "+"},
    {"size": "large", "colour": "red", "shape": "circle", "class": "+"},
    {"size": "small", "colour": "red", "shape": "triangle", "class": "-"},
    {"size": "large", "colour": "blue", "shape": "circle", "class": "-"},
]


def test_undefined_case():
    """Probability estimation example of the lecture: with m = 0 both products are 0, the posterior 0/0; m > 0 answers.

    "medium" is a declared size that no row has.
    """
    row = {"size": "medium", "colour": "red", "shape": "circle"}
    given = {"target": "class", "kinds": {"size": "small<medium<large"}, "raw": True}
    undefined = plausible.learn(FOUR_ROWS, smoothing="mle", **given)
    answer = plausible.classify(undefined, row_cells(undefined.reading.columns, row))[0]
    assert "all products are 0" in answer.note
    assert answer.probabilities == {"+": 0.5, "-": 0.5}
    smoothed = plausible.learn(FOUR_ROWS, smoothing="m=1", **given)
    answer = plausible.classify(smoothed, row_cells(smoothed.reading.columns, row))[0]
    assert answer.label == "+"
    assert not answer.note


@pytest.mark.filterwarnings("ignore:column 'b'")
def test_missing_values_take_no_part():
    """Lecture on naive Bayes for documents: empty cells take no part, neither in learning nor in classifying."""
    gappy = [
        {"a": "x", "b": None, "class": "p"},
        {"a": None, "b": "u", "class": "p"},
        {"a": "y", "b": "u", "class": "q"},
    ]
    model = plausible.learn(gappy, target="class", smoothing="mle", raw=True)
    a = model.cpds["a"]
    assert a.probabilities()[a.family.index["x"], model.class_index("p")] == 1
    only_b = plausible.learn(
        [{"b": r["b"], "class": r["class"]} for r in gappy],
        target="class",
        smoothing="mle",
        raw=True,
        kinds={"b": "categorical"},
    )
    both = plausible.classify(model, row_cells(model.reading.columns, {"a": None, "b": "u"}))[0]
    one = plausible.classify(only_b, row_cells(only_b.reading.columns, {"b": "u"}))[0]
    assert both.probabilities == pytest.approx(one.probabilities)


def test_continuous_attribute_equals_the_closed_formula():
    """Continuous attributes, lecture: the class's own mean and standard deviation."""
    x = {"a": np.array([1.0, 2.0, 4.0]), "b": np.array([10.0, 10.5, 13.0, 9.0])}
    rows = [{"x": float(v), "class": c} for c, values in x.items() for v in values]
    model = plausible.learn(rows, target="class", model="book")
    scores = model.scores(row_cells(model.reading.columns, {"x": 5.0}))
    density = {
        c: len(v) / 7 * math.exp(-((5 - v.mean()) ** 2) / (2 * v.var())) / math.sqrt(2 * math.pi * v.var())
        for c, v in x.items()
    }
    expected = [density[c] / sum(density.values()) for c in scores.classes]
    assert probabilities(scores)[0] == pytest.approx(expected, rel=1e-12)


@needs_data
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::plausible.errors.PlausibleWarning")
@pytest.mark.parametrize(
    ("file", "target", "least"),
    [
        ("house_votes_84.csv", "class", 0.89),
        ("car.csv", "class", 0.85),
        ("iris.csv", "species", 0.94),
        ("wine.csv", "class", 0.96),
        ("mushroom.csv.gz", "class", 0.95),
        ("contact_lenses.csv", None, 0.6),
    ],
)
def test_accuracy_of_ten_folds(file, target, least):
    """README of the tables: what scikit-learn reaches on them."""
    if target is None or target not in plausible.open_source(str(TABLES / file)).columns:
        target = plausible.open_source(str(TABLES / file)).columns[-1]
    assert plausible.evaluate(str(TABLES / file), target=target, folds=10).accuracy >= least
