"""The model file: a zip of JSON and `.npy` arrays.

`model.json` says what the model is. Of its text, `text.terms` holds the terms, sorted, one a line; `text.sizes.npy` for
each term the number of classes that have seen it; `text.labels.npy`, `text.documents.npy`, `text.occurrences.npy` and
`text.masses.npy` for each of those the class, its documents with the term, the term's occurrences, and their damped and
normalised sum (see native/terms.hpp). `expected.…` has the same of unlabelled documents, in 256ths of a document.

Of column i, `column.i.…`: if it is categorical `states.json`, sorted, `sizes.npy` for each state the number of classes
that have it, `labels.npy` and `counts.npy` for each of those the class and how often; if it is continuous three numbers
for each class, the sums of w, w x and w x², which are exact: `exponents.npy` (of two, plus 8192), `sizes.npy` and
`digits.npy` (the bytes of a whole number, least first, two's complement).

If columns are counted two by two, `pairs.sizes.npy` says for each pair of categorical columns how many of its cells are
not 0, and `pairs.firsts.npy`, `pairs.seconds.npy`, `pairs.labels.npy` and `pairs.counts.npy` for each of those the
states, the class and how often.

Nothing in the file can run code. The same counts and rules give the same bytes, in whatever order they were learned.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from plausible.calibration import Calibration
from plausible.columns import PAIRS, Columns, Reading
from plausible.counts import Counts, Family
from plausible.errors import CallError
from plausible.files.archive import array, holds_network, npy, only, packed, unpacked
from plausible.files.atomic import replacing
from plausible.model import Model
from plausible.priors import Rules, Smoothing
from plausible.schema import Variable
from plausible.text import Tokens

if TYPE_CHECKING:
    from plausible.counted import Counted
    from plausible.expected import Expected
    from plausible.network import Network

TEXT = ("terms", "sizes.npy", "labels.npy", "documents.npy", "occurrences.npy", "masses.npy")
CATEGORICAL = ("states.json", "sizes.npy", "labels.npy", "counts.npy")
CONTINUOUS = ("exponents.npy", "sizes.npy", "digits.npy")
PAIRED = ("sizes.npy", "firsts.npy", "seconds.npy", "labels.npy", "counts.npy")


def save(model: Model | Network | Counted, path: str | os.PathLike[str]) -> None:
    """Write a model, or a network with or without its counts; the file is replaced whole or not at all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> model = Model()
    >>> model.update(["cheap money", "lunch at noon"], ["spam", "ham"])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/mail.plausible")
    ...     load(f"{folder}/mail.plausible")
    Model(2 documents, 2 classes)
    """
    if isinstance(model, Model):
        data = to_bytes(model)
    else:
        from plausible.files.plausible import render_plausible

        data = render_plausible(model)
    with replacing(path) as file:
        file.write(data)


def to_bytes(model: Model) -> bytes:
    """The bytes of a model file."""
    order = model.counts.order()
    kept = [i for i in sorted(range(len(order)), key=order.__getitem__) if model.counts.documents[i]]
    head = {
        "classes": model.classes,
        "documents": [model.counts.documents[i] for i in kept],
        "tokens": {"ngrams": model.tokens.ngrams, "chars": model.tokens.chars, "stem": model.tokens.stem},
        "reading": _reading_to_json(model.reading),
        "rules": _rules_to_json(model.rules),
        "calibration": _calibration_to_json(model.calibration),
        "choice": model.choice,
        "expected": _expected_to_json(model.expected),
    }
    members: dict[str, bytes] = {}
    for start, name, names in _families(model.reading.columns):
        members |= _exported(model.counts.families[name], order, start, names)
    if model.expected is not None:
        given = model.expected.counts
        members |= _exported(given.families["text"], given.order(), "expected", TEXT)
    return packed("model.json", head, members)


def _exported(family: Family, order: list[int], start: str, names: Sequence[str]) -> dict[str, bytes]:
    """The members of a family of counts."""
    exported = family.export(order)
    members = {}
    for member in names:
        value = exported[member.split(".")[0]]
        members[f"{start}.{member}"] = value if isinstance(value, bytes) else npy(*value)
    return members


def _families(columns: Columns) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Of each family the start of its members' names, its own name, and how the members' names go on."""
    if columns.text:
        yield "text", "text", TEXT
    for i, variable in enumerate(columns.attributes):
        yield f"column.{i}", variable.name, CONTINUOUS if variable.kind == "continuous" else CATEGORICAL
    if columns.paired:
        yield "pairs", PAIRS, PAIRED


def load(path: str | os.PathLike[str]) -> Model | Network | Counted:
    """Read a model or a network that `save` wrote; with its counts, if it was learned here.

    Raises
    ------
    CallError
        If there is no such file.
    ModelError
        If it is damaged, of a newer version, or no model at all.
    """
    data, name = _read(path)
    if holds_network(data):
        from plausible.files.plausible import parse_counted

        return parse_counted(data, name)
    return from_bytes(data, name)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model that learns and classifies; CallError where the file holds a network."""
    data, name = _read(path)
    if _is_network(path, data):
        raise CallError(f"{name} holds a belief network, not a model of classes; ask it with `plausible query {name}`")
    return from_bytes(data, name)


def _is_network(path: str | os.PathLike[str], data: bytes) -> bool:
    if data.startswith(b"PK"):
        return holds_network(data)
    from plausible.files.formats import is_network

    return is_network(path)


def load_counted(path: str | os.PathLike[str]) -> Counted:
    """Read a network with the counts it was learned from; CallError where the file has none."""
    from plausible.counted import Counted
    from plausible.files.plausible import parse_counted

    data, name = _read(path)
    found = parse_counted(data, name) if holds_network(data) else None
    if isinstance(found, Counted):
        return found
    raise CallError(
        f"{name} holds no network with the counts it was learned from; a model file keeps them: "
        "`plausible learn cases.csv --network net.bif -o net.plausible`"
    )


def _read(path: str | os.PathLike[str]) -> tuple[bytes, str]:
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            return file.read(), name
    except FileNotFoundError:
        raise CallError(f"there is no model {name!r}; `plausible learn … -o {name}` makes one") from None
    except OSError as error:
        raise CallError(f"{name} can't be read: {error.strerror or error}") from None


def from_bytes(data: bytes, name: str = "the model", most: int | None = None) -> Model:
    """The model that `to_bytes` gave; `name` is for messages, and `most` the bytes that it may unpack to."""
    return unpacked(data, name, "model.json", lambda head, members: _model(head, members, name), most)


def _model(head: dict[str, Any], members: dict[str, bytes], name: str) -> Model:
    classes, documents = head["classes"], head["documents"]
    if not all(isinstance(label, str) and label for label in classes):
        raise ValueError("a class has no name")
    if len(classes) != len(documents) or sorted(set(classes)) != classes:
        raise ValueError("its classes are not sorted, or not as many as their counts")
    if not all(type(n) in (int, float) and n > 0 for n in documents) or not sum(documents) < 1 << 63:
        raise ValueError("a class has no documents, or too many")
    tokens = head["tokens"]
    if len(tokens["ngrams"]) != 2 or len(tokens["chars"] or (1, 1)) != 2:
        raise ValueError("a range has not two ends")
    model = Model(
        Tokens(tuple(tokens["ngrams"]), tuple(tokens["chars"]) if tokens["chars"] else None, tokens["stem"]),
        _rules_from_json(head["rules"]),
        _reading_from_json(head["reading"]),
        calibration=_calibration_from_json(head["calibration"]),
    )
    model.choice = str(head["choice"])
    families = list(_families(model.reading.columns))
    wanted = {f"{start}.{member}" for start, _, names in families for member in names}
    expected: dict[str, Any] | None = head.get("expected")
    if expected is not None:
        wanted |= {f"expected.{member}" for member in TEXT}
    only(members, wanted, name)
    for start, family, names in families:
        model.counts.families[family].load(classes=documents, **_arrays(members, start, names))
    model.counts = Counts(model.counts.families, {label: i for i, label in enumerate(classes)}, list(documents))
    if expected is not None:
        model.expected = _expected_from_json(expected, model.tokens, members)
        model.counts.codes(list(model.expected.counts.index))
    return model


def _arrays(members: dict[str, bytes], start: str, names: tuple[str, ...]) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        member.split(".")[0]: array(data) if member.endswith(".npy") else data
        for member in names
        for data in [members[f"{start}.{member}"]]
    }
    if "terms" in arrays:
        arrays["terms"].decode()
    return arrays


def _expected_to_json(expected: Expected | None) -> dict[str, Any] | None:
    if expected is None:
        return None
    counts = expected.counts
    return {
        "weight": expected.weight,
        "documents": expected.documents,
        "classes": {name: counts.documents[counts.index[name]] for name in counts.classes},
    }


def _expected_from_json(given: dict[str, Any], tokens: Tokens, members: dict[str, bytes]) -> Expected:
    weight, documents, classes = given["weight"], given["documents"], given["classes"]
    if not (type(weight) in (int, float) and 0 < weight <= 1 and type(documents) is int and documents > 0):
        raise ValueError("its unlabelled documents have no weight, or there are none")
    if list(classes) != sorted(classes) or not all(name and type(n) is int and n > 0 for name, n in classes.items()):
        raise ValueError("the classes of its unlabelled documents are not sorted, or one has none")
    from plausible.expected import Expected

    terms: Any = tokens.terms()
    parts = list(classes.values())
    terms.load(classes=parts, **_arrays(members, "expected", TEXT))
    return Expected(weight, documents, Counts({"text": terms}, {name: i for i, name in enumerate(classes)}, parts))


def _rules_to_json(rules: Rules) -> dict[str, Any]:
    return {
        "events": rules.events,
        "pairs": rules.pairs,
        "smoothing": asdict(rules.smoothing),
        "prior": rules.prior if isinstance(rules.prior, str) else dict(sorted(rules.prior.items())),
        "drop_most_frequent": rules.drop_most_frequent,
        "min_count": rules.min_count,
        "min_length": rules.min_length,
        "stop_words": sorted(rules.stop_words),
        "by_column": {name: asdict(smoothing) for name, smoothing in sorted(rules.by_column.items())},
        "numbers": rules.numbers,
        "floor": rules.floor,
        "dependence": rules.dependence,
        "pair_m": rules.pair_m,
    }


def _rules_from_json(given: dict[str, Any]) -> Rules:
    given = {"numbers": "normal", **given}  # which files of earlier days don't say
    smoothings = [given["smoothing"], *given["by_column"].values()]
    if set(given) != set(Rules.__dataclass_fields__) or any(set(one) != set(Smoothing.__slots__) for one in smoothings):
        raise ValueError("its rules are not whole")
    if not all(isinstance(one, str) for one in (*given["stop_words"], *given["by_column"])):
        raise ValueError("its stop words are no text")
    return Rules(
        **{
            **given,
            "smoothing": Smoothing(**given["smoothing"]),
            "stop_words": frozenset(given["stop_words"]),
            "by_column": {name: Smoothing(**smoothing) for name, smoothing in given["by_column"].items()},
        }
    )


def _reading_to_json(reading: Reading) -> dict[str, Any]:
    columns = reading.columns
    attributes = [asdict(variable) for variable in columns.attributes]
    return {**columns._asdict(), "attributes": attributes, "headers": reading.headers}


def _reading_from_json(given: dict[str, Any]) -> Reading:
    attributes = tuple(
        Variable(
            variable["name"],
            variable["kind"],
            tuple(variable["states"]),
            variable["ordered"],
            tuple(map(float, variable["cuts"])),
            bool(variable.get("dates")),
        )
        for variable in given["attributes"]
    )
    if isinstance(given["text"], str) or not all(
        isinstance(one, str)
        for one in (*given["text"], given["target"] or "", given["weights"] or "", given["headers"] or "")
    ):
        raise ValueError("the names of its columns are no text")
    names = [*given["text"], *(variable.name for variable in attributes)]
    if (
        not names
        or len(set(names)) < len(names)
        or not all(v.kind in ("categorical", "continuous") for v in attributes)
    ):
        raise ValueError("its columns are of no known kind, or there are none, or one is there twice")
    if type(given["pairs"]) is not bool or (given["pairs"] and sum(v.kind == "categorical" for v in attributes) < 2):
        raise ValueError("it has no columns that could be counted two by two")
    columns = Columns(tuple(given["text"]), given["target"], attributes, given["weights"], given["pairs"])
    return Reading(columns, given["headers"])


def _calibration_to_json(calibration: Calibration | None) -> dict[str, Any] | None:
    if calibration is None:
        return None
    return {**calibration._asdict(), "bias": dict(sorted(calibration.bias.items()))}


def _calibration_from_json(given: dict[str, Any] | None) -> Calibration | None:
    if given is None:
        return None
    numbers = [
        *given["factors"],
        *given["bias"].values(),
        *(given[k] for k in ("power", "mean_log_length", "tail", "flat")),
    ]
    if not all(type(x) in (int, float) and math.isfinite(x) for x in numbers) or not 0 <= given["tail"] < 1:
        raise ValueError("its calibration is out of range")
    return Calibration(**{**given, "factors": tuple(given["factors"])})
