"""Network files: one module a format, one list of them, and reading and writing by name or by looking."""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from plausible.errors import CallError, DataError, unknown
from plausible.files.archive import holds_network
from plausible.files.atomic import replacing

if TYPE_CHECKING:
    from plausible.network import Network

HEAD = 1 << 16
"""Bytes that are looked at to tell a format."""

LARGEST_FILE = 1 << 30
"""Bytes of the longest text that is read (1 GB): a small gzip file can unpack to any length."""

BLANK = rb"\A(?:\xef\xbb\xbf)?(?:\s|//[^\n]*\n|(?>/\*.*?\*/)|[%#][^\n]*\n)*+"


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. Its module has `parse_<name>(bytes, where)` and `render_<name>(network)`, text or bytes.

    Attributes
    ----------
    name : str
    suffixes : tuple of str
        The first is the usual one.
    looks : bytes
        A pattern that the first bytes of such a file match.
    """

    name: str
    suffixes: tuple[str, ...]
    looks: bytes

    def parse(self, source: bytes, where: str) -> Network:
        """The network in the text; DataError with line and column where it is damaged."""
        return cast("Network", self._function("parse")(source, where))

    def render(self, network: Network) -> bytes:
        """The network in this format."""
        rendered: str | bytes = self._function("render")(network)
        return rendered.encode() if isinstance(rendered, str) else rendered

    def _function(self, verb: str) -> Any:
        return getattr(import_module(f"plausible.files.{self.name}"), f"{verb}_{self.name}")


def _format(name: str, *suffixes: str, looks: bytes) -> Format:
    return Format(name, suffixes, looks)


FORMATS = (
    _format("bif", ".bif", looks=BLANK + rb"(network|variable|probability|property)\b"),
    _format("xmlbif", ".xml", ".bifxml", ".xmlbif", looks=rb"<(!DOCTYPE\s+)?BIF\b"),
    _format("net", ".net", looks=BLANK + rb"(net\s*\{|(\w+\s+)?node\b|potential\b)"),
    _format("xdsl", ".xdsl", looks=rb"<smile\b"),
    _format("uai", ".uai", looks=BLANK + rb"(BAYES|MARKOV)\b"),
    _format("dsl", ".dsl", looks=BLANK + rb"net\s+\w+\s*\{"),
    _format("dsc", ".dsc", looks=BLANK + rb"belief\s+network\b"),
    _format("gaussian", ".json", looks=rb'\A\s*\{\s*"(nodes|arcs|cpds)"'),
    _format("plausible", ".plausible", looks=rb"\APK\x03\x04.{26}(network|model)\.json"),
)


def format_named(name: str) -> Format:
    """The format of that name; CallError with the nearest where there is none."""
    for form in FORMATS:
        if form.name == name.lower():
            return form
    raise CallError(unknown("network format", name, [form.name for form in FORMATS]))


def format_of(path: str | os.PathLike[str], head: bytes = b"") -> Format | None:
    """The format of a file: what its first bytes look like, then what its suffix says; None for neither."""
    by_suffix = [form for form in FORMATS if _suffix(path) in form.suffixes]
    by_look = [form for form in FORMATS if re.search(form.looks, head, re.DOTALL)]
    both = [form for form in by_suffix if form in by_look]
    return next(iter((*both, *by_look, *by_suffix)), None)


def is_network(path: str | os.PathLike[str]) -> bool:
    """Whether a file looks like a network in one of the formats, or is named like one; not so a model of classes."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
        if head[:2] == b"\x1f\x8b":
            head = zlib.decompressobj(wbits=31).decompress(head, HEAD)
    except (OSError, zlib.error):
        head = b""
    if head.startswith(b"PK"):
        return holds_network(head)
    return format_of(path, head) is not None and _suffix(path) != ".plausible"


def read(path: str | os.PathLike[str], format: str | None = None) -> Network:
    """The network in a file of any known format, plain or gzipped.

    Parameters
    ----------
    path : path
    format : str, optional
        One of the names in `FORMATS`, for a file that tells it neither by its text nor by its suffix.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/coin.bif", "w") as file:
    ...         _ = file.write("variable coin { type discrete [2] { heads, tails }; }")
    ...         _ = file.write("probability (coin) { table .5, .5; }")
    ...     read(f"{folder}/coin.bif")["coin"].child.states
    ('heads', 'tails')
    """
    where = os.fspath(path)
    source = _bytes(path)
    if not source:
        raise DataError(f"{where}: the file is empty; is it whole?")
    form = format_named(format) if format else format_of(path, source[:HEAD])
    if form is None:
        known = ", ".join(f"{form.name} ({form.suffixes[0]})" for form in FORMATS)
        raise DataError(
            f"{where}, line 1, column 1: this looks like none of the known network formats: {known}; "
            "if it is one of them, name it"
        )
    return form.parse(source, where)


def written_format(path: str | os.PathLike[str], format: str | None = None) -> Format:
    """The format that `write` will use; CallError where the name tells none."""
    form = format_named(format) if format else format_of(path)
    if form is None:
        known = [suffix for form in FORMATS for suffix in form.suffixes]
        raise CallError(
            unknown("network file suffix", _suffix(path), known, then="use one of these, or name the format")
        )
    return form


def write(network: Network, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a network, in the format that the suffix names if none is given; `.gz` after it packs the file.

    The file is written whole or not at all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from plausible.network import Network
    >>> coin = Network({"coin": []}, {"coin": [0.5, 0.5]}, states=("heads", "tails"))
    >>> with TemporaryDirectory() as folder:
    ...     write(coin, f"{folder}/coin.xdsl")
    ...     read(f"{folder}/coin.xdsl")
    Network('Network', 1 variable, 0 arcs)
    """
    form = written_format(path, format)
    data = form.render(network)
    if os.fspath(path).lower().endswith(".gz"):
        import gzip

        data = gzip.compress(data, mtime=0)
    with replacing(path) as file:
        file.write(data)


def _suffix(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(os.fspath(path).lower().removesuffix(".gz"))[1]


def _bytes(path: str | os.PathLike[str]) -> bytes:
    import gzip

    where = os.fspath(path)
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            with gzip.open(file) if packed else file as opened:
                source = opened.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise DataError(f"{where}: no such file; check the path") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{where}: can't be unpacked ({error}); fetch the file again") from None
    except OSError as error:
        raise DataError(f"{where}: can't be read ({error.strerror or error}); name another file") from None
    if len(source) > LARGEST_FILE:
        raise DataError(f"{where}: longer than {LARGEST_FILE >> 30} GB; is it a network?")
    return source
