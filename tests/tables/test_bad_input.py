"""Bad input: a message that names column, row and value, and the next step; never NaN, nothing lost."""

from __future__ import annotations

import warnings
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from table_models import model_of

import plausible
from plausible.errors import CallError, DataError, ModelError, PlausibleWarning
from plausible.kinds import Said, choose_columns, look
from plausible.learning.unseen import reported
from plausible.sources import open_source

ROWS = [
    {"age": 20 + i % 30, "job": ["clerk", "nurse", "cook"][i % 3], "w": 1 + i % 2, "class": "ab"[i % 2]}
    for i in range(60)
]


def learn(rows=ROWS, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlausibleWarning)
        return plausible.learn(rows, **{"target": "class", **options})


def changed(row, **cells):
    return [{**one, **cells} if i == row else one for i, one in enumerate(ROWS)]


def test_constant_and_empty_columns_are_said_and_say_nothing():
    rows = [{**row, "same": "x", "fixed": 7.5, "none": None} for row in ROWS]
    with pytest.warns(PlausibleWarning) as said:
        model = plausible.learn(rows, target="class")
    text = "\n".join(str(one.message) for one in said)
    assert "column 'same' of the rows is the same in every row" in text
    assert "column 'fixed' of the rows is the same in every row" in text
    assert "column 'none' of the rows is empty in every row" in text
    cells = {
        "age": np.array([25.0]),
        "job": ["cook"],
        "w": ["1"],
        "same": ["x"],
        "fixed": np.array([7.5]),
        "none": [None],
    }
    assert np.isfinite(np.asarray(model.scores(cells).log_posterior)).all()
    assert not np.isnan(np.asarray(model.scores({**cells, "fixed": np.array([9.0])}).log_posterior)).any()


@pytest.mark.parametrize("bad", [float("inf"), float("-inf")])
def test_infinities_are_refused(bad):
    with pytest.raises(DataError, match=r"row 4: column 'age' holds -?inf; empty the cell"):
        learn(changed(3, age=bad))


def test_numbers_whose_square_is_none_are_refused():
    with pytest.raises(DataError, match=r"row 4: column 'age' holds 1e\+200, beyond 1e\+150; empty the cell"):
        learn(changed(3, age=1e200))


def test_a_lone_row_of_a_class_is_said():
    with pytest.warns(PlausibleWarning, match="class 'c' has one row only in the rows: .* leave it out with --where"):
        plausible.learn(changed(3, **{"class": "c"}), target="class")


def test_a_class_with_one_row():
    rows = [*ROWS, {"age": 90, "job": "pilot", "w": 1, "class": "rare"}]
    model = learn(rows, ignore="w")
    scores = model.scores({"age": np.array([90.0, 25.0, np.nan]), "job": ["pilot", "cook", None]})
    assert scores.classes == ["a", "b", "rare"]
    assert np.asarray(scores.best).tolist()[0] == 2
    assert not np.isnan(np.asarray(scores.log_posterior)).any()


def test_columns_that_are_absent_or_extra_later(tmp_path):
    model = learn(ignore="w")
    from plausible.columns import learned_columns

    source = open_source([{"age": 30, "extra": "?"}])
    with pytest.warns(PlausibleWarning, match="the rows has no column 'job': it is missing in every row"):
        columns = learned_columns(source, model.reading.columns)
    from plausible.encode import batches

    batch = next(batches(source, columns))
    assert batch.cells["job"] == [None]
    assert len(plausible.classify(model, batch.cells)) == 1
    with pytest.raises(CallError, match="none of the columns that the model was learned from"):
        learned_columns(open_source([{"other": 1}]), model.reading.columns)


def test_text_where_numbers_were_learned():
    with pytest.raises(DataError, match=r"row 3: 'old' in column 'age' is no number"):
        learn(changed(2, age="old"), kinds={"age": "continuous"})


def test_mixed_types_are_said():
    rows = [{"x": "?" if i == 5 else i * 1.5, "class": "ab"[i % 2]} for i in range(40)]
    with pytest.warns(PlausibleWarning, match=r"column 'x' holds numbers, but also '\?'"):
        plausible.learn(rows, target="class")


def test_values_never_learned_are_reported_or_refused():
    model = learn(ignore="w")
    from plausible.encode import batches

    def read(strict):
        source = open_source([{"age": 30, "job": "cook"}, {"age": 31, "job": "3.5"}])
        return list(
            reported(model, batches(source, model.reading.columns.__class__((), None, model.variables)), strict=strict)
        )

    with pytest.warns(PlausibleWarning, match=r"'job' has 1 value never learned, such as '3.5' \(the rows, row 2\)"):
        (batch,) = read(strict=False)
    answers = plausible.classify(model, batch.cells)
    assert (answers[1].tokens, answers[1].known) == (2, 1)
    with pytest.raises(DataError, match=r"row 2: '3.5' in column 'job' was never learned"):
        read(strict=True)


@pytest.mark.parametrize(
    ("weight", "shown"), [(0, "weight 0"), (-1, "weight -1"), (None, "no weight"), (1e-12, "weight 1e-12")]
)
def test_bad_weights(weight, shown):
    with pytest.raises(DataError, match=rf"row 6: {shown} in column 'w'; weights are finite numbers above 0"):
        learn(changed(5, w=weight), weights="w")


def test_weights_are_copies_of_rows():
    weighted = learn(weights="w", raw=True)
    repeated = learn([{k: v for k, v in row.items() if k != "w"} for row in ROWS for _ in range(row["w"])], raw=True)
    assert weighted.documents == repeated.documents == 90
    cells = {"age": np.array([22.0, 40.0]), "job": ["clerk", "cook"]}
    assert (np.asarray(weighted.scores(cells).log_posterior) == np.asarray(repeated.scores(cells).log_posterior)).all()


def test_weights_of_rows_with_text_are_whole():
    rows = [{"note": "a long note with many words", "w": 0.5 if i == 4 else 2, "class": "ab"[i % 2]} for i in range(20)]
    with pytest.raises(DataError, match=r"row 5: weight 0.5 in column 'w'; rows with text .* are whole numbers"):
        learn(rows, weights="w", kinds={"note": "text"})
    rows[4]["w"] = 2**31 + 1
    with pytest.raises(DataError, match=r"row 5: weight .* up to 2"):
        learn(rows, weights="w", text="note")


def test_gaps_in_the_target():
    rows = changed(3, **{"class": None})
    with pytest.warns(PlausibleWarning, match="skipped 1 row of the rows without a class in 'class'"):
        model = plausible.learn(rows, target="class", ignore="w")
    assert model.documents == 59
    with pytest.raises(DataError, match="row 4: no class in 'class'"):
        plausible.learn(rows, target="class", ignore="w", strict=True)


def test_duplicated_column_names(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("a,a,class\n1,2,x\n")
    with pytest.raises(DataError, match="two columns have the name 'a'"):
        plausible.learn(str(path), target="class")


def test_unknown_names_and_kinds():
    with pytest.raises(CallError, match="did you mean 'age'"):
        learn(kinds={"Age": "continuous"})
    with pytest.raises(CallError, match="did you mean 'continuous'"):
        learn(kinds={"age": "continous"})
    with pytest.raises(CallError, match="at least 2 intervals"):
        learn(kinds={"age": "bins:1"})
    with pytest.raises(CallError, match="no column of the rows is left"):
        learn(ignore=["age", "job", "w"])
    with pytest.raises(CallError, match="which column of the rows is the class"):
        plausible.learn([{"a": 1, "b": 2}])
    with pytest.raises(CallError, match="floor of variances"):
        learn(floor=0)


def test_models_of_different_columns_don_t_merge():
    with pytest.raises(ModelError, match="different columns"):
        learn(ignore="w").merge(learn(ignore="job"))


def test_a_table_with_a_column_of_documents_needs_no_words_elsewhere():
    model = learn(ignore="w")
    with pytest.raises(ModelError, match="no text; its columns are age continuous, job categorical"):
        _ = model.scorer


def test_empty_rows_are_answered_by_the_prior():
    model = learn(ignore="w")
    answer = plausible.classify(model, {"age": np.array([np.nan]), "job": [None]})[0]
    assert answer.note == "every value is missing: answered by the prior"
    assert answer.probabilities == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["true", "false"] * 9, "categorical"),
        (["0", "1", "1", "0"] * 9, "categorical"),
        ([str(i % 7) for i in range(100)], "categorical"),
        ([str(i * 3 % 71) for i in range(100)], "continuous"),
        ([str(i) for i in range(100, 150)], "ignored"),
        ([f"2024-0{i % 9 + 1}-1{i % 10}" for i in range(60)], "ignored"),
        ([f"{i * 37 % 91:05}" for i in range(500)], "categorical"),
        ([f"{i * 7:05}" for i in range(500)], "ignored"),
        ([f"P-{i * 7919 % 1000:03}" for i in range(50)], "ignored"),
        ([f"the quick brown fox {i} jumps" for i in range(50)], "text"),
        (["0"] * 150 + [str(i * 37) for i in range(50)], "mdl"),
        (["red", "green", "blue"] * 5, "categorical"),
        (["1.5", "2.5", "nan", "3.5", "1e5"], "continuous"),
        ([], "categorical"),
    ],
)
def test_what_a_column_looks_like(cells, kind):
    assert look(Counter(cells))[0] == kind


def test_what_is_found_can_be_overridden_and_is_kept():
    rows = [{"id": f"k{i}", "zip": 10000 + i % 9, "age": i % 50, "class": "ab"[i % 2]} for i in range(100)]
    source = open_source(rows)
    with pytest.warns(PlausibleWarning) as said:
        found = choose_columns(source)
    assert [v.name for v in found.attributes] == ["zip", "age"]
    assert any("different in every row" in str(one.message) for one in said)
    assert any("9 different values: taken as categories; --as zip=continuous" in str(one.message) for one in said)
    said = Said(kinds={"id": "categorical", "zip": "continuous", "age": "low<high"})
    kept = choose_columns(source, said).attributes
    assert [(v.kind, v.states, v.ordered) for v in kept] == [
        ("categorical", (), False),
        ("continuous", (), False),
        ("categorical", ("low", "high"), True),
    ]


def test_labels_and_cells_that_do_not_fit():
    model = model_of({"x": True, "s": False})
    with pytest.raises(CallError, match="2 rows and 1 label;"):
        model.update({"x": np.zeros(2), "s": ["a", "b"]}, ["c"])
    with pytest.raises(DataError, match="columns differ in length"):
        model.update({"x": np.zeros(1), "s": ["a", "b"]}, ["c", "d"])
    with pytest.raises(DataError, match="no cells of 's'"):
        model.update({"x": np.zeros(1)}, ["c"])
    with pytest.raises(DataError, match="label 0 is empty"):
        model.update({"x": np.zeros(1), "s": ["a"]}, [""])
    assert model.documents == 0


def test_a_target_that_is_no_class_is_said():
    with pytest.warns(PlausibleWarning, match="'age' has 60 classes in 60 rows of the rows; is it the class"):
        plausible.learn([{**row, "age": i + 0.5} for i, row in enumerate(ROWS)], target="age", ignore="w")


def test_duplicated_names_of_a_frame():
    frame = pd.DataFrame([[1.0, 2.0, "a"], [2.0, 3.0, "b"]], columns=["x", "x", "class"])
    with pytest.raises(DataError, match="two columns of the DataFrame have the name 'x'; rename one"):
        plausible.learn(frame, target="class")


def test_lists_in_cells_are_categories():
    model = learn(pl.DataFrame({"l": [[1, 2], [3]] * 10, "class": ["a", "b"] * 10}))
    assert model.schema["l"].states == ("[1, 2]", "[3]")


def test_a_relation_can_be_read_again_after_an_error():
    relation = duckdb.from_arrow(pl.DataFrame(changed(3, age=float("inf")), strict=False).to_arrow())
    for _ in range(2):
        with pytest.raises(DataError, match="row 4: column 'age' holds inf") as caught:
            learn(relation, ignore="w")
        assert relation.fetchall(), caught
