"""The model file: a zip of JSON and `.npy` arrays.

`model.json` says what the model is; `text.terms` holds the terms, sorted, one a line; `text.sizes.npy` for each term
the number of classes that have seen it; `text.labels.npy`, `text.documents.npy`, `text.occurrences.npy` and
`text.masses.npy` for each of those the class, its documents with the term, the term's occurrences, and their damped and
normalised sum (see native/terms.hpp). Nothing in the file can run code. The same
counts and rules give the same bytes, in whatever order they were learned.
"""

from __future__ import annotations

import ast
import json
import math
import os
import struct
import zipfile
import zlib
from dataclasses import asdict
from typing import Any

from plausible.calibration import Calibration
from plausible.counts import Counts
from plausible.encode import Columns
from plausible.errors import CallError, ModelError, PlausibleError
from plausible.files.atomic import replacing
from plausible.model import Model, Reading
from plausible.priors import Rules, Smoothing
from plausible.text import Tokens

FORMAT = 1
ARRAYS = ("sizes", "labels", "documents", "occurrences", "masses")
MOST_UNPACKED = 200
"""A file that unpacks to more than this many times its size is no model."""
_MAGIC = b"\x93NUMPY\x01\x00"


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model; the file is replaced whole or not at all."""
    order = model.counts.order()
    exported = model.terms.export(order)
    kept = [i for i in sorted(range(len(order)), key=order.__getitem__) if model.counts.documents[i]]
    head = {
        "plausible": FORMAT,
        "classes": model.classes,
        "documents": [model.counts.documents[i] for i in kept],
        "tokens": {"ngrams": model.tokens.ngrams, "chars": model.tokens.chars, "stem": model.tokens.stem},
        "reading": {
            "text": model.reading.columns.text,
            "target": model.reading.columns.target,
            "headers": model.reading.headers,
        },
        "rules": {
            "events": model.rules.events,
            "pairs": model.rules.pairs,
            "m": model.rules.smoothing.m,
            "a": model.rules.smoothing.a,
            "share": model.rules.smoothing.share,
            "prior": model.rules.prior
            if isinstance(model.rules.prior, str)
            else dict(sorted(model.rules.prior.items())),
            "drop_most_frequent": model.rules.drop_most_frequent,
            "min_count": model.rules.min_count,
            "min_length": model.rules.min_length,
            "stop_words": sorted(model.rules.stop_words),
        },
        "calibration": _calibration_to_json(model.calibration),
        "choice": model.choice,
    }
    with (
        replacing(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
    ):
        _add(archive, "model.json", json.dumps(head, ensure_ascii=False, indent=1).encode())
        _add(archive, "text.terms", exported["terms"])
        for name in ARRAYS:
            _add(archive, f"text.{name}.npy", _npy(*exported[name]))


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
        file = open(name, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise CallError(f"there is no model {name!r}; `plausible learn … -o {name}` makes one") from None
    except OSError as error:
        raise CallError(f"{name} can't be read: {error.strerror or error}") from None
    with file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _model(_members(archive, os.fstat(file.fileno()).st_size, name), name)
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
    wanted = {"model.json", "text.terms", *(f"text.{array}.npy" for array in ARRAYS)}
    infos = archive.infolist()
    if sum(info.file_size for info in infos) > MOST_UNPACKED * size + (1 << 20):
        raise ModelError(f"{name} would unpack to more than {MOST_UNPACKED} times its size; it is no plausible model")
    members: dict[str, bytes] = {}
    for info in infos:
        if info.filename in members or info.filename not in wanted:
            raise ModelError(f"{name} holds an unexpected member {info.filename!r}; it is no plausible model")
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
    if not all(type(n) is int and n > 0 for n in documents) or sum(documents) >= 1 << 63:
        raise ValueError("a class has no documents, or too many")
    rules, reading, tokens = head["rules"], head["reading"], head["tokens"]
    named = [*reading["text"], *rules["stop_words"], reading["target"] or "", reading["headers"] or ""]
    if not all(isinstance(one, str) for one in named) or isinstance(reading["text"], str):
        raise ValueError("the names of its columns or its stop words are no text")
    if len(tokens["ngrams"]) != 2 or len(tokens["chars"] or (1, 1)) != 2:
        raise ValueError("a range has not two ends")
    members["text.terms"].decode()
    model = Model(
        Tokens(tuple(tokens["ngrams"]), tuple(tokens["chars"]) if tokens["chars"] else None, tokens["stem"]),
        Rules(
            events=rules["events"],
            pairs=rules["pairs"],
            smoothing=Smoothing(rules["m"], rules["a"], rules["share"]),
            prior=rules["prior"],
            drop_most_frequent=rules["drop_most_frequent"],
            min_count=rules["min_count"],
            min_length=rules["min_length"],
            stop_words=frozenset(rules["stop_words"]),
        ),
        Reading(Columns(tuple(reading["text"]), reading["target"]), reading["headers"]),
        calibration=_calibration_from_json(head["calibration"]),
    )
    model.choice = str(head["choice"])
    model.terms.load(
        members["text.terms"],
        **{array: _array(members[f"text.{array}.npy"]) for array in ARRAYS},
        classes=documents,
    )
    model.counts = Counts({"text": model.terms}, {label: i for i, label in enumerate(classes)}, list(documents))
    return model


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
