"""The commands for networks, run as a person runs them."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.shell_completion import ShellComplete

from plausible.cli import main, plausible
from plausible.cpds import LinearGaussian, Table, Words
from plausible.files.formats import read, write
from plausible.network import Network
from plausible.schema import Variable

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["plausible", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return command


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    rain, sprinkler = (Variable(name, states=("no", "yes")) for name in ("Rain", "a=b"))
    grass = Variable("Grass", states=("dry", "not:wet", "wet"))
    rows = [[[0.9, 0.05, 0.05], [0.2, 0.2, 0.6]], [[0.1, 0.2, 0.7], [0, 0.1, 0.9]]]
    cpds = [Table(rain, (), [0.8, 0.2]), Table(sprinkler, (rain,), [[0.5, 0.5], [1, 0]])]
    path = tmp_path / "rain.bif"
    write(Network(None, [*cpds, Table(grass, (rain, sprinkler), rows)], name="rain"), path)
    return path


def rows(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


def test_query(run: Run, rain: Path) -> None:
    code, out, err = run("query", rain, "Rain", "--given", "Grass=wet")
    assert code == 0
    assert "P(evidence) = 0.4" in err
    wet = np.array([0.8 * (0.5 * 0.05 + 0.5 * 0.6), 0.2 * 0.7])
    assert np.allclose([row["probability"] for row in rows(out)], wet / wet.sum())
    assert [row["state"] for row in rows(out)] == ["no", "yes"]
    code, out, err = run("query", rain, "--format", "csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "variable,state,probability,error"
    assert len(out.splitlines()) == 8
    code, out, _ = run("query", rain, "Rain", "--format", "table")
    assert out.splitlines()[1].split() == ["Rain", "no", "0.800", "█" * 13]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("a=b=yes", [1.0, 0.0]),
        ("Grass=not:wet", None),  # the state of that name
        ("Grass=not:not:wet,wet", None),
        ("Rain=likelihood:.5,1", [2 / 3, 1 / 3]),
        ("Rain=soft:yes=.9,no=.1", [0.1, 0.9]),
        ("Rain=#1", [0.0, 1.0]),
        ("Rain=not:#1", [1.0, 0.0]),
    ],
)
def test_evidence_of_all_kinds(run: Run, rain: Path, given: str, wanted: list[float] | None) -> None:
    code, out, err = run("query", rain, "Rain", "--given", given)
    assert code == 0, err
    if wanted:
        assert np.allclose([row["probability"] for row in rows(out)], wanted)


def test_evidence_in_files(run: Run, rain: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# known\nRain=yes\n\nGrass=not:dry\n")
    (tmp_path / "a.evid").write_text("2 0 1 2 2\n")
    wanted = run("query", rain, "--given", "Rain=yes", "--given", "Grass=not:dry")
    assert run("query", rain, "--given", f"@{tmp_path}/a.txt") == wanted
    assert run("query", rain, "--given", f"@{tmp_path}/a.evid") == run(
        "query", rain, "--given", "Rain=yes", "--given", "Grass=wet"
    )
    assert "given twice" in run("query", rain, "--given", f"@{tmp_path}/a.txt", "--given", "Rain=no")[2]
    assert "no file or folder" in run("query", rain, "--given", "@none")[2]


def test_do_joint_and_most_probable(run: Run, rain: Path) -> None:
    _, out, _ = run("query", rain, "Rain", "--do", "a=b=yes")
    assert np.allclose([row["probability"] for row in rows(out)], [0.8, 0.2])
    assert run("query", rain, "Rain", "--do", "a=b=#1")[1] == out
    _, out, _ = run("query", rain, "Rain", "a=b", "--joint")
    assert rows(out)[0] == {"Rain": "no", "a=b": "no", "probability": pytest.approx(0.4)}
    _, out, err = run("query", rain, "--most-probable", "--given", "Rain=yes")
    assert "log P" in err
    assert rows(out)[1:] == [{"variable": "a=b", "state": "no"}, {"variable": "Grass", "state": "wet"}]


@pytest.mark.parametrize("method", ["exact", "weighting", "gibbs", "loopy"])
def test_methods(run: Run, rain: Path, method: str) -> None:
    _, out, _ = run("query", rain, "Grass", "--method", method, "--seed", "1")
    _, exact, _ = run("query", rain, "Grass")
    for a, b in zip(rows(out), rows(exact), strict=True):
        assert a["probability"] == pytest.approx(b["probability"], abs=0.05)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["query", "{}", "Rian"], "unknown variable 'Rian' (known: 'Rain', 'a=b', 'Grass'); did you mean 'Rain'?"),
        (["query", "{}", "--given", "Rain=Yes"], "did you mean 'yes'?"),
        (["query", "{}", "--given", "rain=yes"], "did you mean 'Rain'?"),
        (["query", "{}", "--given", "Rain=#2"], "variable 'Rain' has no state #2: its states are #0 to #1"),
        (["query", "{}", "--do", "Rain=Yes"], "did you mean 'yes'?"),
        (
            ["query", "{}", "--given", "Rain=soft:.2,.8", "--given", "Grass=soft:.2,.3,.5", "--method", "gibbs"],
            "'weighting' or 'loopy'",
        ),
        (["query", "{}", "--given", "Rain"], "write VARIABLE=state, such as Rain=no"),
        (["query", "{}", "--given", "Rain=yes", "--given", "Rain=no"], "given twice"),
        (["query", "{}", "--given", "Rain=yes", "--given", "a=b=yes"], "probability 0"),
        (["query", "{}", "--given", "Grass=likelihood:1,2"], "has 3 states"),
        (["query", "{}", "--given", "Rain=likelihood:1,x"], "not a list of numbers"),
        (["query", "{}", "--joint"], "name them"),
        (["convert", "{}", "x.bff"], "did you mean '.bif'?"),
        (["draw", "{}", "--given", "Rain=maybe"], "unknown state"),
    ],
)
def test_mistakes_are_explained(run: Run, rain: Path, words: list[str], said: str) -> None:
    code, out, err = run(*(word.format(rain) for word in words))
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert said in err


def test_damaged_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cut.net").write_text('node a { states = ("x"')
    code, out, err = run("query", tmp_path / "cut.net")
    assert (code, out) == (1, "")
    assert "line 1, column 19" in err
    assert run("compare", tmp_path / "cut.net", tmp_path / "nothing.bif")[0] == 1


def test_sample(run: Run, rain: Path, tmp_path: Path) -> None:
    code, out, err = run("sample", rain, "-n", 200, "--given", "Rain=yes", "--seed", 3)
    assert (code, err) == (0, "")
    assert {row["Rain"] for row in rows(out)} == {"yes"}
    assert run("sample", rain, "-n", 200, "--given", "Rain=yes", "--seed", 3)[1] == out
    assert run("sample", rain, "-n", 5000, "-o", tmp_path / "rows.csv") == (0, "", "")
    with open(tmp_path / "rows.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 5000
    assert sum(row["Rain"] == "yes" for row in table) == pytest.approx(1000, abs=150)


def test_draw_compare_convert_info(run: Run, rain: Path, tmp_path: Path) -> None:
    _, out, _ = run("draw", rain, "--given", "Grass=wet")
    assert out.startswith("<svg")
    assert run("draw", rain, "--given", "Grass=wet", "-o", tmp_path / "a.svg") == (0, "", "")
    assert (tmp_path / "a.svg").read_text() == out
    for suffix in (".xml", ".net", ".xdsl", ".uai", ".dsl", ".dsc.gz", ".plausible"):
        assert run("convert", rain, tmp_path / f"a{suffix}") == (0, "", "")
        _, out, _ = run("compare", rain, tmp_path / f"a{suffix}")
        assert rows(out)[0]["distance"] == 0
    write(read(rain).do(Grass="wet"), tmp_path / "b.bif")
    _, out, _ = run("compare", rain, tmp_path / "b.bif", "--format", "table")
    assert "missing        Rain → Grass" in out
    _, out, _ = run("info", rain, "--given", "Rain=yes")
    assert rows(out)[0]["parameters"] == 11
    _, out, _ = run("info", rain, "--format", "table")
    assert "exact megabytes" in out


def test_explain(run: Run, rain: Path) -> None:
    given = ("--given", "Grass=wet", "--given", "a=b=not:yes")
    code, out, err = run("explain", rain, "Rain", *given)
    assert (code, err) == (0, "")
    (why,) = rows(out)
    assert (why["label"], why["against"]) == ("yes", "no")
    weights = [one["weight"] for one in why["reasons"]]  # type: ignore[attr-defined]
    assert why["prior"] + sum(weights) == pytest.approx(why["score"])  # type: ignore[operator]
    assert why["score"] == pytest.approx(np.log(0.2 * 0.7 / (0.4 * 0.05)))
    _, out, _ = run("explain", rain, "Rain", *given, "--for", "no", "--bits", "--format", "table", "--top", 1)
    assert out.startswith("Rain: no rather than yes: -2.807 bits (probability 0.125)")
    assert "1 more -" in out
    _, out, _ = run("explain", rain, "a=b", "--given", "Rain=yes", "--format", "table")  # rules sprinkling out
    assert "+" + "█" * 16 in out
    (why,) = rows(run("explain", rain, "Rain", "--given", "Grass=wet", "--do", "a=b=no")[1])
    assert why["score"] == pytest.approx(np.log(0.2 * 0.7 / (0.8 * 0.05)))
    assert "Rain\nno: 80%" in run("draw", rain, "--do", "a=b=yes")[1].replace(".0%", "%")
    for words, said in (
        (["Rain", "--row", 3], "for documents and tables"),
        (["rain"], "did you mean 'Rain'"),
        (["Rain", "--for", "Yes"], "did you mean 'yes'"),
        (["Rain", "--given", "Rain=no"], "in the evidence itself"),
    ):
        code, out, err = run("explain", rain, *words)
        assert (code, out) == (2, "")
        assert said in err


def test_sensitivity_and_what_to_observe_next(run: Run, rain: Path) -> None:
    _, out, _ = run("query", rain, "Rain", "--next")
    assert [row["variable"] for row in rows(out)] == ["a=b", "Grass"]
    assert rows(out)[0]["nats"] > rows(out)[1]["nats"] > 0  # type: ignore[operator]
    _, out, _ = run("query", rain, "Rain", "--sensitivity", "yes")
    assert rows(out) == [{"parameter": "P(Rain=no)", "value": 0.8, "slope": pytest.approx(-1)}]
    _, out, _ = run("query", rain, "Rain", "--sensitivity", "yes", "--given", "Grass=wet", "--top", 2)
    assert [row["parameter"] for row in rows(out)] == ["P(Rain=no)", "P(a=b=no | Rain=no)"]
    for question in (["--next"], ["--sensitivity", "yes"]):
        _, out, _ = run("query", rain, "Rain", *question, "--given", "Grass=wet", "--format", "table")
        assert "█" * 16 in out
        assert run("query", rain, *question)[0] == 2
        assert "gives no" in run("query", rain, "Rain", *question, "--method", "gibbs")[2]
        assert "2 questions" in run("query", rain, "Rain", *question, "--joint")[2]
    assert "did you mean 'yes'" in run("query", rain, "Rain", "--sensitivity", "Yes")[2]


def test_a_network_that_is_too_large(run: Run, tmp_path: Path) -> None:
    """What is asked for alone may be cheap; else sampling answers, and says so."""
    size = 24
    grid = {(i, j): Variable(f"v{i}.{j}", states=("0", "1")) for i in range(size) for j in range(size)}
    cpds = []
    for (i, j), variable in grid.items():
        above = [grid[place] for place in ((i - 1, j), (i, j - 1)) if place in grid]
        cpds.append(Table(variable, above, np.broadcast_to([0.4, 0.6], (2,) * len(above) + (2,))))
    path = tmp_path / "grid.plausible"
    write(Network(None, cpds), path)
    code, out, err = run("query", path, "v2.2")
    assert (code, err) == (0, "")
    assert rows(out)[0]["probability"] == pytest.approx(0.4)
    code, out, err = run("query", path, "v23.23")
    assert code == 0
    assert "too much memory" in err
    assert "Answered by weighting, worth " in err
    assert rows(out)[0]["probability"] == pytest.approx(0.4, abs=0.02)
    assert rows(run("info", path, "--given", "v0.0=1")[1])[0]["exact_is_affordable"] is False
    code, _, err = run("query", path, "v9.9", "--method", "exact", "--memory", "0.01")
    assert code == 2
    assert "--memory MB" in err


def test_info_on_evidence(run: Run, rain: Path) -> None:
    (facts,) = rows(run("info", rain, "--given", "Grass=wet", "--given", "Rain=yes")[1])
    assert facts["log_probability_of_evidence"] == pytest.approx(np.log(0.2 * 0.7))
    assert facts["conflict_in_nats"] == pytest.approx(np.log(0.2 * 0.4 / 0.14), abs=0.1)
    (facts,) = rows(run("info", rain, "--given", "a=b=yes", "--given", "Rain=yes", "--given", "Grass=dry")[1])
    assert facts["impossible_together"] == ["a=b", "Rain"]
    assert "a=b and Rain" in run("info", rain, "--given", "a=b=yes", "--given", "Rain=yes", "--format", "table")[1]


def test_networks_with_texts(run: Run, tmp_path: Path) -> None:
    label, text = Variable("class", states=("ham", "spam")), Variable("text", "text")
    words = Words(text, (label,), ("noon", "money"), [[0.9, 0.1], [0.2, 0.8]])
    path = tmp_path / "mail.plausible"
    write(Network(None, [Table(label, (), [0.5, 0.5]), words]), path)
    code, out, _ = run("query", path, "--given", "text=Money!")
    assert code == 0
    assert [row["probability"] for row in rows(out)] == [pytest.approx(1 / 9), pytest.approx(8 / 9)]
    (tmp_path / "letter.txt").write_text("Money!")
    assert run("query", path, "--given", f"text=@{tmp_path}/letter.txt")[1] == out
    (why,) = rows(run("explain", path, "class", "--given", "text=money at noon")[1])
    assert why["reasons"][0]["weight"] == pytest.approx(np.log(0.16 / 0.09))  # type: ignore[index]
    _, out, _ = run("sample", path, "-n", 3, "--given", "class=ham")
    assert {row["class"] for row in rows(out)} == {"ham"}
    assert all(set(str(row["text"]).split()) <= {"noon", "money"} for row in rows(out))
    assert rows(run("info", path)[1])[0]["parameters"] == 3
    assert "has no posterior" in run("query", path, "text")[2]
    assert "write one with numbers or texts as .plausible" in run("convert", path, tmp_path / "a.bif")[2]
    _, picture, _ = run("draw", path, "--given", "text=Money!")
    assert "spam: 88.9%, 50.0% before" in picture
    assert ">given</text>" in picture


def test_networks_with_continuous_variables(run: Run, tmp_path: Path) -> None:
    sex, tall = Variable("sex", states=("f", "m")), Variable("size", "continuous")
    cpds = [Table(sex, (), [0.5, 0.5]), LinearGaussian(tall, (sex,), [165, 178], np.empty((2, 0)), [36, 49])]
    path = tmp_path / "size.net"
    write(Network(None, cpds), path)
    code, out, err = run("query", path)
    assert (code, err) == (0, "Answered exactly.\n")
    size = {"mean": 171.5, "deviation": pytest.approx(9.206, abs=0.01)}
    assert rows(out)[2] == {"variable": "size", "state": None, "probability": None, **size}
    _, out, err = run("query", path, "sex", "--given", "size=180")
    assert rows(out)[1]["probability"] > 0.9  # type: ignore[operator]
    assert "log density" in err
    code, out, err = run("query", path, "--given", "size=tall")
    assert (code, out) == (2, "")
    assert "give a number, such as size=1.5, not 'tall'" in err
    _, out, _ = run("sample", path, "-n", 500, "--format", "csv")
    assert out.splitlines()[0] == "sex,size"
    assert np.mean([float(line.split(",")[1]) for line in out.splitlines()[1:]]) == pytest.approx(171.5, abs=2)
    _, out, _ = run("sample", path, "-n", 500, "--given", "sex=f", "--format", "csv")
    assert np.mean([float(line.split(",")[1]) for line in out.splitlines()[1:]]) == pytest.approx(165, abs=2)
    assert run("sample", path, "--given", "size=3")[0] == 2
    assert run("query", path, "--joint")[0] == 2
    _, out, _ = run("info", path, "--given", "sex=f")
    assert rows(out)[0]["parameters"] == 5
    assert rows(out)[0]["log_density_of_evidence"] == pytest.approx(np.log(0.5))
    assert run("draw", path)[1].startswith("<svg")


def completions(*words: str) -> list[str]:
    shell = ShellComplete(plausible, {}, "plausible", "_PLAUSIBLE_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_completion_in_bash(rain: Path, tmp_path: Path) -> None:
    """Bash breaks words at = and :, quotes what it must, and puts no blank after VAR=."""
    odd = Variable("Räin fall", states=("<5 mm", "5+"))
    write(Network(None, [Table(odd, (), [0.5, 0.5])]), tmp_path / "odd.bif")
    command = tmp_path / "plausible"
    command.write_text(f"#!{sys.executable}\nfrom plausible.cli import main\nmain()\n")
    command.chmod(0o755)
    script = (
        'PATH="$PWD:$PATH"; eval "$(plausible completion bash)"; compopt() { opts=$2; }\n'
        "ask() { COMP_LINE=$1 COMP_POINT=${#1} opts=; _plausible_completion plausible; "
        'printf \'%s|\' "${COMPREPLY[@]}" "$opts"; echo; }\n'
    )
    wanted = {
        "plausible quer": "query||",
        f"plausible query {rain} r": "Rain||",
        f"plausible query {rain} --given Gr": "Grass=|nospace|",
        f"plausible query {rain} --given Grass=w": "wet||",
        f"plausible query {rain} --given Grass=not:w": "wet||",
        f"plausible query {rain} --given a=b=": "no|yes||",
        f"plausible query {rain} Rain --sensitivity y": "yes||",
        f"plausible explain {rain} Rain --for ": "no|yes||",
        "plausible query odd.bif R": "Räin\\ fall||",
        "plausible query odd.bif 'R": "Räin fall||",
        "plausible query odd.bif --given Räin\\ fall=": "\\<5\\ mm|5+||",
        "plausible query odd.bif --given 'Räin fall=<": "<5 mm||",
        "plausible query odd": "default|",
        "plausible explain m.plausible lett": "default|",
    }
    for line in wanted:
        script += f"ask {shlex.quote(line)}\n"
    found = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert found.splitlines() == list(wanted.values())


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_of_other_shells(run: Run, shell: str) -> None:
    code, out, _ = run("completion", shell)
    assert code == 0
    assert "_PLAUSIBLE_COMPLETE" in out


def test_names_complete_in_the_shell(rain: Path, tmp_path: Path) -> None:
    assert completions("query", str(rain), "r") == ["Rain"]
    assert completions("query", str(rain), "--given", "G") == ["Grass="]
    assert completions("query", str(rain), "--given", "Grass=w") == ["Grass=wet"]
    assert completions("sample", str(rain), "--do", "Rain=") == ["Rain=no", "Rain=yes"]
    assert completions("info", str(rain), "--given", "Rain=not:y") == ["Rain=not:yes"]
    assert completions("query", str(tmp_path / "none.bif"), "r") == []
