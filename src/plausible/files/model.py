"""The model file: a zip of JSON and `.npy` arrays.

`model.json` says what the model is. Of its text, `text.terms` holds the terms, sorted, one a line; `text.sizes.npy` for
each term the number of classes that have seen it; `text.labels.npy`, `text.documents.npy`, `text.occurrences.npy` and
`text.masses.npy` for each of those the class, its documents with the term, the term's occurrences, and their damped and
normalised sum (see native/terms.hpp).

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

import ast
import io
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from plausible.calibration import Calibration
from plausible.columns import PAIRS, Columns
from plausible.counts import Counts
from plausible.errors import CallError, ModelError, PlausibleError
from plausible.files.atomic import replacing
from plausible.model import Model, Reading
from plausible.priors import Rules, Smoothing
from plausible.schema import Variable
from plausible.text import Tokens

FORMAT = 1
TEXT = ("terms", "sizes.npy", "labels.npy", "documents.npy", "occurrences.npy", "masses.npy")
CATEGORICAL = ("states.json", "sizes.npy", "labels.npy", "counts.npy")
CONTINUOUS = ("exponents.npy", "sizes.npy", "digits.npy")
PAIRED = ("sizes.npy", "firsts.npy", "seconds.npy", "labels.npy", "counts.npy")
MOST_UNPACKED = 200
"""A file that unpacks to more than this many times its size is no model."""
_MAGIC = b"\x93NUMPY\x01\x00"


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model; the file is replaced whole or not at all."""
    with replacing(path) as file:
        file.write(to_bytes(model))


def to_bytes(model: Model) -> bytes:
    """The bytes of a model file."""
    order = model.counts.order()
    kept = [i for i in sorted(range(len(order)), key=order.__getitem__) if model.counts.documents[i]]
    head = {
        "plausible": FORMAT,
        "classes": model.classes,
        "documents": [model.counts.documents[i] for i in kept],
        "tokens": {"ngrams": model.tokens.ngrams, "chars": model.tokens.chars, "stem": model.tokens.stem},
        "reading": _reading_to_json(model.reading),
        "rules": _rules_to_json(model.rules),
        "calibration": _calibration_to_json(model.calibration),
        "choice": model.choice,
    }
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        _add(archive, "model.json", json.dumps(head, ensure_ascii=False, indent=1).encode())
        for start, name, members in _families(model.reading.columns):
            exported = model.counts.families[name].export(order)
            for member in members:
                value = exported[member.split(".")[0]]
                _add(archive, f"{start}.{member}", value if isinstance(value, bytes) else _npy(*value))
    return held.getvalue()


def _families(columns: Columns) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Of each family the start of its members' names, its own name, and how the members' names go on."""
    if columns.text:
        yield "text", "text", TEXT
    for i, variable in enumerate(columns.attributes):
        yield f"column.{i}", variable.name, CONTINUOUS if variable.kind == "continuous" else CATEGORICAL
    if columns.paired:
        yield "pairs", PAIRS, PAIRED


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model.

    Raises
    ------
    CallError
        If there is no such file.
    ModelError
        If it is damaged, of a newer version, or no model at all.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise CallError(f"there is no model {name!r}; `plausible learn … -o {name}` makes one") from None
    except OSError as error:
        raise CallError(f"{name} can't be read: {error.strerror or error}") from None
    return from_bytes(data, name)


def from_bytes(data: bytes, name: str = "the model") -> Model:
    """The model that `to_bytes` gave; `name` is for messages."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _model(_members(archive, len(data), name), name)
    except PlausibleError as error:
        raise error if isinstance(error, ModelError) else _damaged(name, error) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
        raise ModelError(
            f"{name} is no whole plausible model (not a zip, truncated or damaged); learn it anew"
        ) from None
    except Exception as error:  # what damage brings about has no bounds: a missing key, a wrong type, bad UTF-8
        raise _damaged(name, error) from None


def _damaged(name: str, error: Exception) -> ModelError:
    return ModelError(f"{name} is damaged ({error or type(error).__name__}); learn it anew")


def _members(archive: zipfile.ZipFile, size: int, name: str) -> dict[str, bytes]:
    infos = archive.infolist()
    if sum(info.file_size for info in infos) > MOST_UNPACKED * size + (1 << 20):
        raise ModelError(f"{name} would unpack to more than {MOST_UNPACKED} times its size; it is no plausible model")
    members: dict[str, bytes] = {}
    for info in infos:
        if info.filename in members:
            raise ModelError(f"{name} holds {info.filename!r} twice; it is no plausible model")
        if info.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            raise ModelError(f"{name} is packed in a way that no plausible model is; it is no plausible model")
        with archive.open(info) as member:
            members[info.filename] = member.read(info.file_size + 1)
    if "model.json" not in members:
        raise ModelError(f"{name} holds no model.json; it is no plausible model")
    return members


def _model(members: dict[str, bytes], name: str) -> Model:
    head: dict[str, Any] = json.loads(members["model.json"])
    version = head["plausible"]
    if not isinstance(version, int) or version < 1:
        raise ValueError("it states no format version")
    if version > FORMAT:
        raise ModelError(f"{name} has format {version}, and this plausible reads up to {FORMAT}; upgrade plausible")
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
    wanted = {f"{start}.{member}" for start, _, members_ in _families(model.reading.columns) for member in members_}
    odd = next((member for member in members if member not in wanted and member != "model.json"), None)
    if odd is not None:
        raise ModelError(f"{name} holds an unexpected member {odd!r}; it is no plausible model")
    for start, family, names in _families(model.reading.columns):
        arrays: dict[str, Any] = {
            member.split(".")[0]: _array(data) if member.endswith(".npy") else data
            for member in names
            for data in [members[f"{start}.{member}"]]
        }
        if "terms" in arrays:
            arrays["terms"].decode()
        model.counts.families[family].load(classes=documents, **arrays)
    model.counts = Counts(model.counts.families, {label: i for i, label in enumerate(classes)}, list(documents))
    return model


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
        "floor": rules.floor,
        "dependence": rules.dependence,
        "pair_m": rules.pair_m,
    }


def _rules_from_json(given: dict[str, Any]) -> Rules:
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
    return {**asdict(reading.columns), "headers": reading.headers}


def _reading_from_json(given: dict[str, Any]) -> Reading:
    attributes = tuple(
        Variable(
            variable["name"],
            variable["kind"],
            tuple(variable["states"]),
            variable["ordered"],
            tuple(map(float, variable["cuts"])),
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
    return {**asdict(calibration), "bias": dict(sorted(calibration.bias.items()))}


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


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def _npy(kind: str, data: bytes) -> bytes:
    """The bytes of a one-dimensional `.npy` file, without numpy, whose import costs more than a whole answer."""
    order = "|" if kind == "u1" else "<"
    head = f"{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': ({len(data) // int(kind[1:])},), }}"
    head += " " * (-(len(_MAGIC) + 2 + len(head) + 1) % 64) + "\n"
    return _MAGIC + struct.pack("<H", len(head)) + head.encode("ascii") + data


def _array(data: bytes) -> tuple[str, bytes]:
    if data[: len(_MAGIC)] != _MAGIC:
        raise ValueError("an array is not in .npy format 1.0")
    (size,) = struct.unpack_from("<H", data, len(_MAGIC))
    start = len(_MAGIC) + 2 + size
    head = ast.literal_eval(data[len(_MAGIC) + 2 : start].decode("ascii"))
    kind = head["descr"][1:]
    if (
        kind not in ("u1", "u2", "u4", "u8")
        or head["fortran_order"]
        or head["shape"] != ((len(data) - start) // int(kind[1:]),)
    ):
        raise ValueError("an array is not whole")
    return kind, data[start:]
