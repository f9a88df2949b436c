"""The zip that holds a model: JSON and `.npy` arrays, which can run no code, read without trust."""

from __future__ import annotations

import ast
import json
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from plausible.errors import ModelError, PlausibleError
from plausible.files import zipped

FORMAT = 1
MOST_UNPACKED = 200
"""A file that unpacks to more than this many times its size is no model."""
KINDS = ("u1", "u2", "u4", "u8", "f8")
_MAGIC = b"\x93NUMPY\x01\x00"

Built = TypeVar("Built")


def packed(name: str, head: Mapping[str, Any], members: Mapping[str, bytes]) -> bytes:
    """The bytes of a file whose first member, `name`, is the head with the format's version."""
    import io
    import zipfile

    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        stated = json.dumps({"plausible": FORMAT, **head}, ensure_ascii=False, indent=1).encode()
        for member, data in {name: stated, **members}.items():
            info = zipfile.ZipInfo(member, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED if _packs_modestly(data) else zipfile.ZIP_STORED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return held.getvalue()


def holds_network(data: bytes) -> bool:
    """Whether bytes begin like a file that holds a network; others hold a model of classes."""
    return data[:4] == b"PK\x03\x04" and data.startswith(b"network.json", 30)


def _packs_modestly(data: bytes) -> bool:
    """Whether a member stays below the limit of `unpacked`, with room to spare."""
    return len(data) < 4096 or len(zlib.compress(data, 1)) * MOST_UNPACKED / 4 > len(data)


def unpacked(
    data: bytes,
    name: str,
    member: str,
    built: Callable[[dict[str, Any], dict[str, bytes]], Built],
    most: int | None = None,
) -> Built:
    """What `built` makes of the head, which is `member`, and the other members.

    `name` is for messages, and `most` the bytes that the file may unpack to.

    Raises
    ------
    ModelError
        Where the file is damaged, of a newer version, or no model at all.
    """
    try:
        members = _members(data, name, most)
        if member not in members:
            raise ModelError(f"{name} holds no {member}; it is no plausible model")
        head: dict[str, Any] = json.loads(members.pop(member))
        version = head["plausible"]
        if not isinstance(version, int) or version < 1:
            raise ValueError("it states no format version")
        if version > FORMAT:
            raise ModelError(f"{name} has format {version}, and this plausible reads up to {FORMAT}; upgrade plausible")
        return built(head, members)
    except PlausibleError as error:
        raise error if isinstance(error, ModelError) else _damaged(name, error) from None
    except zipped.BadZip:
        raise ModelError(
            f"{name} is no whole plausible model (not a zip, truncated or damaged); name another file, or learn it anew"
        ) from None
    except Exception as error:  # what damage brings about has no bounds: a missing key, a wrong type, bad UTF-8
        raise _damaged(name, error) from None


def _damaged(name: str, error: Exception) -> ModelError:
    return ModelError(f"{name} is damaged ({error or type(error).__name__}); learn it anew")


def _members(data: bytes, name: str, most: int | None) -> dict[str, bytes]:
    held = list(zipped.directory(data))
    whole = sum(member.size for member in held)
    if whole > MOST_UNPACKED * len(data) + (1 << 20):
        raise ModelError(f"{name} would unpack to more than {MOST_UNPACKED} times its size; it is no plausible model")
    if most is not None and whole > most:
        raise ModelError(f"{name} would unpack to {whole >> 20:,} MB, more than the {most >> 20:,} that are read")
    names = set()
    for member in held:
        if member.name in names:
            raise ModelError(f"{name} holds {member.name!r} twice; it is no plausible model")
        if member.method not in (zipped.STORED, zipped.DEFLATED):
            raise ModelError(f"{name} is packed in a way that no plausible model is; it is no plausible model")
        names.add(member.name)
    return zipped.unpacked(data, held)


def only(members: Mapping[str, bytes], wanted: set[str], name: str) -> None:
    """ModelError where there is a member beside those wanted."""
    odd = next((member for member in members if member not in wanted), None)
    if odd is not None:
        raise ModelError(f"{name} holds an unexpected member {odd!r}; it is no plausible model")


def npy(kind: str, data: bytes) -> bytes:
    """The bytes of a one-dimensional `.npy` file, without numpy, whose import costs more than a whole answer."""
    order = "|" if kind == "u1" else "<"
    head = f"{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': ({len(data) // int(kind[1:])},), }}"
    head += " " * (-(len(_MAGIC) + 2 + len(head) + 1) % 64) + "\n"
    return _MAGIC + struct.pack("<H", len(head)) + head.encode("ascii") + data


def array(data: bytes) -> tuple[str, bytes]:
    """The type and the bytes of the numbers in a `.npy` file."""
    if data[: len(_MAGIC)] != _MAGIC:
        raise ValueError("an array is not in .npy format 1.0")
    (size,) = struct.unpack_from("<H", data, len(_MAGIC))
    start = len(_MAGIC) + 2 + size
    head = ast.literal_eval(data[len(_MAGIC) + 2 : start].decode("ascii"))
    kind = head["descr"][1:]
    if kind not in KINDS or head["fortran_order"] or head["shape"] != ((len(data) - start) // int(kind[1:]),):
        raise ValueError("an array is not whole")
    return kind, data[start:]
