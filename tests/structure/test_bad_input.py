"""Bad input to `plausible structure`, each by a real command: one line, and never a wrong graph in silence."""

from __future__ import annotations

import subprocess
import sys

import pytest

TABLES = {
    "one row": "a,b\nx,y\n",
    "one column": "a\n" + "x\ny\n" * 20,
    "constant": "a,b,c\n" + "x,y,z\nx,w,v\n" * 20,
    "twice": "a,b,c\n" + "x,x,1\ny,y,2\ny,y,1\n" * 20,
    "identifier": "id,a,b\n" + "".join(f"r{i},{'xy'[i % 2]},{'vw'[i % 3 > 0]}\n" for i in range(40)),
    "numbered": "id,a,b\n" + "".join(f"{i},{'xy'[i % 2]},{'vw'[i % 3 > 0]}\n" for i in range(40)),
    "plain": "a,b,c\n" + "x,v,1\ny,w,2\ny,v,1\nx,w,2\n" * 20,
    "gaps": "a,b,c\n" + "x,,1\ny,w,2\n,v,1\nx,w,2\n" * 20,
    "numbers": "a,b,n\n" + "".join(f"{'xy'[i % 2]},{'vw'[i % 3 > 0]},{i * i / 7}\n" for i in range(60)),
    "empty": "",
    "head": "a,b\n",
    "wide": "a,b,c\n" + "".join(f"a{i},b{i},c{i % 50}\n" for i in range(4000)),
}


def run(tmp_path, table, *words):
    path = tmp_path / "cases.csv"
    path.write_text(TABLES[table])
    code = "from plausible.cli import main; main()"
    out = str(tmp_path / "net.bif")
    command = [sys.executable, "-c", code, "structure", str(path), "-o", out, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert "Traceback" not in done.stderr
    return done, (tmp_path / "net.bif").exists()


@pytest.mark.parametrize(
    ("table", "words", "said"),
    [
        ("one row", [], "1 row"),
        ("constant", [], "column 'a' is the same in every row"),
        ("twice", [], "columns 'a' and 'b' say the same"),
        ("identifier", ["--method", "hill-climb"], "drop=['id']"),
    ],
)
def test_odd_tables_are_told_and_learned(tmp_path, table, words, said):
    done, written = run(tmp_path, table, *words)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert written


def test_a_column_that_numbers_the_rows_is_told(tmp_path):
    done, _ = run(tmp_path, "numbered", "-o", str(tmp_path / "net.plausible"))
    assert done.returncode == 0, done.stderr
    assert "column 'id' numbers the rows" in done.stderr


def test_one_column_is_a_network_of_one(tmp_path):
    done, written = run(tmp_path, "one column")
    assert done.returncode == 0
    assert "1 variable, 0 arcs" in done.stderr
    assert written


@pytest.mark.parametrize(
    ("table", "words", "said"),
    [
        ("empty", [], "cases.csv"),
        ("head", [], "has no value at all"),
        ("plain", ["--method", "k2", "--order", "a,b"], "the order lacks 'c'"),
        ("plain", ["--method", "k2", "--order", "a,b,c,d"], "unknown variable 'd'"),
        (
            "plain",
            ["--require", "a -> b", "--forbid", "a -> b", "--method", "tabu"],
            "'a' -> 'b' is required, but it is",
        ),
        ("plain", ["--require", "a -> b", "--require", "b -> a", "--method", "tabu"], "cycle: "),
        ("plain", ["--require", "b -> a", "--tier", "a", "--tier", "b", "--method", "tabu"], "later tier"),
        ("plain", ["--require", "a -> z", "--method", "tabu"], "unknown variable in the knowledge 'z'"),
        ("plain", ["--require", "a to b"], "write 'PARENT -> CHILD'"),
        ("plain", ["--require", "a -> b"], "ges can't heed required"),
        ("plain", ["--method", "pc", "--alpha", "1.5"], "alpha is 1.5; it lies between 0 and 1"),
        ("plain", ["--method", "pc", "--alpha", "0"], "alpha is 0"),
        ("plain", ["--score", "bdeu:-1"], "the equivalent sample size"),
        ("plain", ["--score", "bci"], "did you mean"),
        ("plain", ["--max-parents", "-1"], "max_parents is -1"),
        ("plain", ["--method", "pc", "--test", "fisher-z"], "there are none"),
        ("plain", ["--bootstrap", "0"], "times is 0"),
        ("plain", ["--mcmc", "0"], "steps is 0"),
        ("plain", ["--mcmc", "100", "--restarts", "3"], "--mcmc takes no restarts"),
        ("plain", ["--query", "a"], "--bootstrap N or --mcmc N"),
        ("plain", ["--mcmc", "100", "--query", "d"], "unknown variable 'd'"),
        ("plain", ["--seconds", "-1"], "the time limit is -1"),
        ("gaps", ["--method", "pc"], "structural EM needs a method that scores"),
        ("gaps", ["--bootstrap", "9"], "gaps"),
        ("numbers", ["--score", "k2", "--method", "hill-climb"], "column 'n' holds numbers; cut them"),
        ("numbers", ["--method", "ges"], "ges takes categories or numbers, not both"),
        ("numbers", ["--method", "hill-climb", "--require", "n -> a"], "can't have a continuous parent"),
        (
            "wide",
            ["--method", "hill-climb", "--require", "a -> c", "--require", "b -> c"],
            "cells; allow fewer parents",
        ),
    ],
)
def test_what_can_not_be_is_one_line_and_no_file(tmp_path, table, words, said):
    done, written = run(tmp_path, table, *words)
    assert done.returncode in (1, 2), done.stdout
    assert said in done.stderr
    assert not done.stdout
    assert not written


def test_gaps_are_filled_and_said(tmp_path):
    done, written = run(tmp_path, "gaps")
    assert done.returncode == 0, done.stderr
    assert "'a' 20, 'b' 20) are filled by structural EM" in done.stderr
    assert written


def test_numbers_are_regressions_and_can_be_cut(tmp_path):
    done, _ = run(tmp_path, "numbers", "--cut", "4")
    assert done.returncode == 0, done.stderr
    assert "Note" not in done.stderr
