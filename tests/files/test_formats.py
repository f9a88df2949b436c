"""What every network file format must do; a new entry in `FORMATS` is held to it without a new test."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from plausible.cpds import LinearGaussian, NoisyMax, Table, as_table
from plausible.errors import CallError, DataError, ModelError, PlausibleError
from plausible.files.formats import FORMATS, Format, format_of, read, write
from plausible.files.spelling import identifier
from plausible.network import Network
from plausible.schema import Variable

EXACT = [form for form in FORMATS if form.name != "gaussian"]
TABLES = [form for form in EXACT if form.name != "plausible"]
BY_NAME = {form.name: form for form in FORMATS}
ODD = r"""aZ09_ -+/<>&'.,;:|(){}[]%#\=é雨ǅ🌧_x41_"""

names = st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
notes = st.sampled_from(
    [
        "weight = 3",
        'label = "a; b"',
        "position = (1 2)",
        "no sense; at { all",
        "a = 1",
        "note_1 = 2",
        'say "so; and',
        "// x",
        'note_1 = "a"',
    ]
)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Small networks with names, states and notes of any script."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    words = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    variables = [Variable(w, states=tuple(draw(st.lists(names, min_size=1, max_size=3, unique=True)))) for w in words]
    cpds = []
    for i, variable in enumerate(variables):
        above = [variables[j] for j in rng.permutation(i)[:3] if rng.random() < 0.6]
        shape = [len(v.states) for v in (*above, variable)]
        raw = rng.exponential(size=shape) ** draw(st.sampled_from([0.1, 1, 30])) + 1e-300
        cpds.append(Table(variable, above, Table(variable, above, raw / raw.sum(axis=-1, keepdims=True)).values))
    said = {word: tuple(draw(st.lists(notes, max_size=3))) for word in ("", *words)}
    return Network(None, cpds, name=draw(names), properties={k: v for k, v in said.items() if v})


def gaussians() -> Network:
    a, b, c = (Variable(name, "continuous") for name in ("a", "b ü", "c"))
    return Network(
        None,
        [
            LinearGaussian(a, (), 0.1, [], 2),
            LinearGaussian(b, (a,), 1 / 3, [-0.7], 0),
            LinearGaussian(c, (b, a), 0, [1, 2], 1),
        ],
        properties={"a": ("weight = 3",)},
    )


def example(form: Format) -> Network:
    if form.name == "gaussian":
        return gaussians()
    a, b = Variable("Räin fall", states=("Asy/Patch", "<5")), Variable("wet", states=("12+", "-1", "0.5"))
    cpds = [Table(a, (), [0.3, 0.7]), Table(b, (a,), [[0.1, 0.2, 0.7], [0.25, 0.25, 0.5]])]
    return Network(None, cpds, name="odd", properties={"wet": ("weight = 3",), "": ('author = "a; b"',)})


def check(holds: object, about: object) -> None:
    assert holds, about


def same(a: Network, b: Network) -> None:
    """Equal to the last bit, whatever order the format writes variables in."""
    assert a.name == b.name
    assert {v.name: v for v in a.variables} == {v.name: v for v in b.variables}
    assert dict(a.graph.parents) == dict(b.graph.parents)
    assert dict(a.properties) == dict(b.properties)
    for name in a.names:
        x, y = a[name], b[name]
        if isinstance(x, LinearGaussian):
            assert isinstance(y, LinearGaussian)
            for field in ("intercept", "weights", "variance"):
                assert np.array_equal(getattr(x, field), getattr(y, field))
        else:
            assert np.array_equal(as_table(x).values, as_table(y).values)


def located(form: Format, where: str) -> re.Pattern[str]:
    """How an error begins: a text has lines and columns, a zip is damaged as a whole."""
    return re.compile(where if form.name == "plausible" else rf"{where}, line \d+, column \d+: ")


@pytest.mark.parametrize("form", EXACT, ids=lambda form: form.name)
@given(network=networks())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_round_trip_is_exact(form: Format, network: Network) -> None:
    if form.name == "bif":
        network = plain_quotes(network)
    same(network, form.parse(form.render(network), "x"))


def plain_quotes(network: Network) -> Network:
    """BIF has no way to write a double quote in a name, and refuses it."""
    with_quote = [w for v in network.variables for w in (network.name, v.name, *v.states) if '"' in w]
    if with_quote:
        with pytest.raises(CallError, match="double quote"):
            BY_NAME["bif"].render(network)
    assume(not with_quote)
    return network


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_files(form: Format, tmp_path: Path) -> None:
    network = example(form)
    for name in (f"a{form.suffixes[0]}", f"a{form.suffixes[-1].upper()}.gz"):
        write(network, tmp_path / name)
        same(network, read(tmp_path / name))
    assert gzip.decompress((tmp_path / name).read_bytes()) == (tmp_path / f"a{form.suffixes[0]}").read_bytes()
    write(network, tmp_path / "plain", format=form.name)
    same(network, read(tmp_path / "plain"))
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_looks_are_told_apart(form: Format) -> None:
    assert format_of("file", form.render(example(form))) is form


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.filterwarnings("ignore:.*taken as")
def test_a_file_cut_anywhere_is_located_or_complete(form: Format) -> None:
    network = example(form)
    source = form.render(network)
    for end in range(len(source)):
        try:
            found = form.parse(source[:end], "cut")
        except (DataError, ModelError) as error:
            check(located(form, "cut").match(str(error)), (end, error))
        else:
            assert len(found) in (0, len(network)) or form.name == "bif", end


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@given(data=st.data())
@settings(max_examples=80, deadline=None)
@pytest.mark.filterwarnings("ignore:.*taken as")
def test_noise_gives_located_errors(form: Format, data: st.DataObject) -> None:
    source = bytearray(form.render(example(form)))
    if data.draw(st.booleans()):
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(source) - 1))
            source[at : at + data.draw(st.integers(0, 3))] = data.draw(
                st.binary(max_size=3) | st.just(b'"') | st.just(b"9")
            )
    else:
        source = bytearray(data.draw(st.binary(max_size=60)))
    try:
        network = form.parse(bytes(source), "noise")
    except (DataError, ModelError) as error:
        check(located(form, "noise").match(str(error)), error)
    else:
        for name in network.names:
            if not isinstance(network[name], LinearGaussian):
                assert np.isfinite(as_table(network[name]).values).all()


@pytest.mark.parametrize("form", TABLES, ids=lambda form: form.name)
def test_rows_that_miss_one(form: Format) -> None:
    text = form.render(example(form)).decode()
    assert text.count("0.7") == 2
    at = text.rindex("0.7")
    near = form.parse((text[:at] + "0.7000003" + text[at + 3 :]).encode(), "x")
    assert abs(as_table(near["wet"]).values.sum(axis=-1) - 1).max() < 1e-15
    with pytest.raises(DataError, match=r"line \d+, column \d+: P\(wet \| Räin fall=Asy/Patch\) sums to 0.9, not 1"):
        form.parse((text[:at] + "0.6" + text[at + 3 :]).encode(), "x")
    with pytest.warns(UserWarning, match=r"sums to 1.001, not 1; taken as rounded, and scaled"):
        form.parse((text[:at] + "0.701" + text[at + 3 :]).encode(), "x")


@pytest.mark.parametrize("form", TABLES, ids=lambda form: form.name)
@pytest.mark.parametrize("bad", ["nan", "-0.7", "x", "inf", "1_0"])
def test_bad_numbers(form: Format, bad: str) -> None:
    text = form.render(example(form)).decode()
    with pytest.raises(DataError, match=r"line \d+, column \d+: .*"):
        form.parse(text.replace("0.7", bad).encode(), "x")


@pytest.mark.parametrize("form", TABLES, ids=lambda form: form.name)
def test_repeated_states_and_double_definitions(form: Format) -> None:
    text = form.render(example(form)).decode()
    plus, minus = ("12+", "-1") if "12+" in text else map(identifier, ("12+", "-1"))
    with pytest.raises(DataError, match=r"line \d+, column \d+: .*'-1' twice"):
        form.parse(text.replace(plus, minus).encode(), "x")
    if form.name == "uai":
        twice = text.replace("\n2 0 1\n", "\n1 0\n")
    else:
        spelled = {"bif": '"Räin fall"', "xmlbif": "Räin fall"}.get(form.name, identifier("Räin fall"))
        twice = text.replace("wet", spelled)
    with pytest.raises(DataError, match=r"twice|second|declared"):
        form.parse(twice.encode(), "x")


@pytest.mark.parametrize("form", TABLES, ids=lambda form: form.name)
def test_numbers_missing_or_too_many(form: Format) -> None:
    text = form.render(example(form)).decode()
    at = text.rindex("0.7")
    for changed in (text[:at] + text[at + 3 :], f"{text[:at]}0.7 0.1{text[at + 3 :]}"):
        with pytest.raises(DataError, match=r"line \d+, column \d+"):
            form.parse(changed.replace(", ;", ";").encode(), "x")


@pytest.mark.parametrize("form", EXACT, ids=lambda form: form.name)
def test_one_state(form: Format) -> None:
    network = Network(None, [Table(Variable("only", states=("so",)), (), [1.0])], name="n")
    same(network, form.parse(form.render(network), "x"))


def test_two_formats_one_network(tmp_path: Path) -> None:
    network = example(BY_NAME["bif"])
    path = tmp_path / "a.bif"
    write(network, path)
    for form in TABLES:
        write(read(path), tmp_path / f"b{form.suffixes[0]}")
        path = tmp_path / f"b{form.suffixes[0]}"
    same(network, read(path))


def test_noisy_max_stays_one_in_xdsl() -> None:
    c1, c2 = Variable("c1", states=("no", "yes")), Variable("c2", states=("low", "mid", "high"))
    ill, test = Variable("ill", states=("none", "mild", "bad")), Variable("test", states=("-", "+"))
    cpds = [
        Table(c1, (), [0.9, 0.1]),
        Table(c2, (), [0.5, 0.3, 0.2]),
        NoisyMax(
            ill,
            (c1, c2),
            [[[1, 0, 0], [0.2, 0.5, 0.3]], [[1, 0, 0], [0.6, 0.3, 0.1], [0.3, 0.3, 0.4]]],
            [0.9, 0.06, 0.04],
        ),
        Table(test, (c1, ill), [[[0.99, 0.01], [0.5, 0.5], [0.1, 0.9]], [[0.98, 0.02], [0.4, 0.6], [0.2, 0.8]]]),
        NoisyMax(
            Variable("fever", states=("no", "yes")),
            (ill, c1),
            [[[1, 0], [0.7, 0.3], [0.1, 0.9]], [[1, 0], [0.8, 0.2]]],
        ),
    ]
    network = Network(None, cpds, name="noisy")
    text = BY_NAME["xdsl"].render(network).decode()
    found = BY_NAME["xdsl"].parse(text.encode(), "x")
    same(network, found)
    assert isinstance(found["ill"], NoisyMax)
    assert list(re.findall(r'<noisymax id="ill">.*?</noisymax>', text, re.DOTALL))
    assert "0.3 0.5 0.2 0.0 0.0 1.0" in text  # strongest cause first, the row of no effect last


def test_uai_without_names_and_with_evidence(tmp_path: Path) -> None:
    from plausible.files.uai import read_uai_evidence, render_uai_evidence

    network = BY_NAME["uai"].parse(b"BAYES 2 2 3 2 1 0 2 0 1 2 .3 .7 6 .1 .2 .7 .25 .25 .5", "x")
    assert network.names == ("0", "1")
    assert network.variables[1].states == ("0", "1", "2")
    path = tmp_path / "a.uai.evid"
    for text in ("2 1 2 0 1", "1\n2 1 2 0 1\n", "# seen\n2\n1 2\n0 1"):
        path.write_text(text)
        assert read_uai_evidence(path, network) == {"1": "2", "0": "1"}
    path.write_text(render_uai_evidence(network, {"1": "2"}))
    assert read_uai_evidence(path, network) == {"1": "2"}
    for text, said in (
        ("1 1 3", "column 5: the state of '1': 3 is too high"),
        ("1 2 0", "a variable: 2"),
        ("", "needed"),
        ("2 1 2", "2 findings need 4"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=said):
            read_uai_evidence(path, network)
    with pytest.raises(DataError, match="MARKOV"):
        BY_NAME["uai"].parse(b"# so\nMARKOV 1 2 1 1 0 2 1 1", "x")
    with pytest.raises(DataError, match=r"line 1, column 9: expected a number, found '2\x1f1'"):
        BY_NAME["uai"].parse(b"BAYES 1 2\x1f1", "x")


XML = '<?xml version="1.0"?>\n{}\n<BIF VERSION="0.3"><NETWORK><NAME>{}</NAME></NETWORK></BIF>'


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            XML.format('<!DOCTYPE BIF [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>', "&b;"),
            "line 2.*entity 'a'.*refused",
        ),
        (
            XML.format('<!DOCTYPE BIF [<!ENTITY a SYSTEM "file:///etc/passwd">]>', "&a;"),
            "entity 'a'.*refused",
        ),
        (
            XML.format('<!DOCTYPE BIF [<!ENTITY % a SYSTEM "http://127.0.0.1/x"> %a;]>', ""),
            "entity 'a'.*refused",
        ),
        (XML.format("", "&nothing;"), "line 3, column .*undefined entity"),
        (XML.format("", "<x>" * 200_000), "nested more than 100 deep"),
        ("<net/>", "unknown element 'net'"),
    ],
)
def test_xml_that_bites(source: str, said: str) -> None:
    for form in ("xmlbif", "xdsl") if "BIF" not in said else ("xmlbif",):
        with pytest.raises(DataError, match=said):
            BY_NAME[form].parse(source.encode(), "x")


def test_external_dtd_is_not_fetched() -> None:
    assert (
        BY_NAME["xmlbif"].parse(XML.format('<!DOCTYPE BIF SYSTEM "http://127.0.0.1:1/x.dtd">', "n").encode(), "x").name
        == "n"
    )


def test_deep_nesting_and_a_thousand_parents() -> None:
    for name, text in (
        ("net", "(" * 10**5),
        ("dsl", "net a { " + "b = { " * 10**5),
        ("gaussian", "[" * 10**5),
        ("dsc", "belief network [" + "{" * 10**5),
    ):
        with pytest.raises(DataError, match=r"line 1, column \d+"):
            BY_NAME[name].parse(text.encode(), "x")
    nodes = "".join(f'node v{i} {{ states = ("a" "b"); }}\n' for i in range(1001))
    above = " ".join(f"v{i}" for i in range(1, 1001))
    with pytest.raises(DataError, match="line 1002, column 11: the table of 'v0' with 1,000 parents"):
        BY_NAME["net"].parse((nodes + f"potential (v0 | {above}) {{ }}").encode(), "x")


def test_cycles_and_unknown_names() -> None:
    text = 'node a { states = ("x"); } node b { states = ("x"); } potential (a | b) { } potential (b | %s) { }'
    with pytest.raises(DataError, match="cycle: a -> b -> a"):
        BY_NAME["net"].parse((text % "a").encode(), "x")
    with pytest.raises(DataError, match=r"unknown variable 'A'.*did you mean 'a'"):
        BY_NAME["net"].parse((text % "A").encode(), "x")


def test_hugin_extras() -> None:
    text = b"""% from Hugin
    net { node_size = (80 40); HR_Desc = "a \\"quoted\\" word"; }
    discrete node A { label = "Asia?"; position = (1 2); states = ("yes" "no"); }
    node B { states = (yes, no); }
    potential (A |) { data = (0.01 % rare
      0.99); }
    potential (B | A) { }"""
    network = BY_NAME["net"].parse(text, "x")
    assert network.properties["A"] == ('label = "Asia?"', "position = (1 2)")
    assert as_table(network["B"]).values.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    same(network, BY_NAME["net"].parse(BY_NAME["net"].render(network), "x"))
    with pytest.raises(DataError, match="line 1, column 1: 'utility' is not read"):
        BY_NAME["net"].parse(b"utility U { }", "x")


def test_looking_takes_no_time_for_comments_without_end() -> None:
    assert format_of("file", b"/* x */" * 5000 + b"junk") is None


def test_conditional_gaussians_in_net() -> None:
    net = BY_NAME["net"]
    same(gaussians(), net.parse(net.render(gaussians()), "x"))
    sex, part = Variable("sex", states=("f", "m")), Variable("part", states=("a", "b", "c"))
    x, y = Variable("x é", "continuous"), Variable("y", "continuous")
    rng = np.random.default_rng(1)
    cpds = [
        Table(sex, (), [0.5, 0.5]),
        Table(part, (), [0.25, 0.25, 0.5]),
        LinearGaussian(x, (sex,), rng.normal(size=2) * 1e-7, np.empty((2, 0)), [1, 2]),
        LinearGaussian(y, (sex, part, x), rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 1)), rng.random((2, 3))),
    ]
    network = Network(None, cpds, name="mixed")
    same(network, net.parse(net.render(network), "x"))
    text = b"""continuous node A { } continuous node B { }
    potential (A) { data = ( normal(0, 1) ); }
    potential (B | A) { data = normal ( 1.5 + A - 2*A + .5, 1e-3 ); }"""
    found = net.parse(text, "x")["B"]
    assert isinstance(found, LinearGaussian)
    assert (found.intercept.tolist(), found.weights.tolist(), found.variance.tolist()) == (2.0, [-1.0], 0.001)
    for old, new, said in (
        (b"1.5 +", b"1.5 + 2 3", "line 3, column .*expected a sum"),
        (b"1.5 + A - 2*A + .5", b" ", "line 3, column .*expected a sum"),
        (b"1e-3", b"x", "line 3, column .*expected a number"),
        (b"1e-3", b"-1", "line 3, column .*variance below 0"),
        (b"- 2*A", b"- 2*C", "line 3, column .*unknown continuous parent of 'B' 'C'"),
        (b"normal(0, 1)", b"normal(0, 1) normal(1, 1)", "line 2, column .*needs 1 normal distribution, found 2"),
        (b"normal(0, 1)", b"gamma(0, 1)", "expected a number"),
        (b"normal(0, 1)", b"0.5 0.5", "a table needs categorical variables"),
    ):
        with pytest.raises(DataError, match=said):
            net.parse(text.replace(old, new), "x")


def test_content_is_believed_before_the_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.bif").write_bytes(BY_NAME["xmlbif"].render(example(BY_NAME["xmlbif"])))
    same(example(BY_NAME["xmlbif"]), read(tmp_path / "a.bif"))


def test_refusals(tmp_path: Path) -> None:
    network = example(BY_NAME["bif"])
    for path, said in (
        ("a.bff", "unknown network file suffix '.bff'.*did you mean '.bif'"),
        ("none/a.bif", "can't be written"),
    ):
        with pytest.raises(PlausibleError, match=said):
            write(network, tmp_path / path)
    with pytest.raises(CallError, match=r"unknown network format 'bfi'.*did you mean 'bif'"):
        write(network, tmp_path / "a", format="bfi")
    (tmp_path / "empty.bif").write_bytes(b"")
    with pytest.raises(DataError, match=r"empty\.bif: the file is empty"):
        read(tmp_path / "empty.bif")
    (tmp_path / "odd").write_bytes(b"hello")
    with pytest.raises(DataError, match="odd, line 1, column 1: this looks like none of the known"):
        read(tmp_path / "odd")
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nothing.net")
    (tmp_path / "cut.net.gz").write_bytes(gzip.compress(b"net { }" * 100)[:30])
    with pytest.raises(DataError, match="fetch the file again"):
        read(tmp_path / "cut.net.gz")
    with pytest.raises(ModelError, match="not linear Gaussian"):
        write(network, tmp_path / "a.json")
    with pytest.raises(ModelError, match="so it has no table"):
        write(gaussians(), tmp_path / "a.bif")
    with pytest.raises(CallError, match=r"U\+0001, which XML can't carry"):
        BY_NAME["xmlbif"].render(Network(None, [Table(Variable("a\x01", states=("b",)), (), [1.0])]))


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    write(example(BY_NAME["bif"]), tmp_path / "a.json", format="bif")
    before = (tmp_path / "a.json").read_bytes()
    with pytest.raises(ModelError):
        write(example(BY_NAME["bif"]), tmp_path / "a.json")
    assert (tmp_path / "a.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.long
def test_two_hundred_megabytes(tmp_path: Path) -> None:
    for name, start in (
        ("a.bif", b"network x { }\n"),
        ("a.net", b"net { }\n"),
        ("a.xml", b"<BIF>"),
        ("a.uai", b"BAYES 1"),
        ("a.dsl", b"net a {"),
    ):
        (tmp_path / name).write_bytes(start + b"0.123 " * (200_000_000 // 6))
        with pytest.raises(DataError, match=r"line \d+, column \d+"):
            read(tmp_path / name)
        (tmp_path / name).unlink()


def test_a_gzip_bomb_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plausible.files.formats.LARGEST_FILE", 1 << 20)
    (tmp_path / "a.net.gz").write_bytes(gzip.compress(b" " * (1 << 22)))
    with pytest.raises(DataError, match="longer than"):
        read(tmp_path / "a.net.gz")


def test_import_is_light() -> None:
    code = "import sys, plausible.files.formats; print('numpy' in sys.modules, 'xml.parsers.expat' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": "src"}
    )
    assert done.stdout.split() == ["False", "False"]
