"""Files that a reader takes in: another one's export, a list of feeds, what another one learned."""

from __future__ import annotations

from typing import IO

from plausible.collecting import opml
from plausible.errors import DataError
from plausible.reader.reading import Reader
from plausible.wording import quantity

MODEL_SIZE = 256 << 20
LIST_SIZE = 8 << 20


def bring_in(reader: Reader, file: IO[bytes]) -> str:
    """Import a file of any of the three kinds, told apart by how it begins; what came of it, in words.

    Raises
    ------
    DataError, ModelError
        If it is of no such kind, damaged or too large; then nothing changes.
    """
    start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    file.seek(0)
    if start.startswith(b"PK"):
        ratings = reader.merge_model(_whole(file, MODEL_SIZE))
        return f"what was learned from {quantity(ratings, 'rating')} was added"
    if start.startswith(b"<"):
        known = {source.address for source in reader.store.sources()}
        new = [source for source in opml.read(_whole(file, LIST_SIZE)) if source.address not in known]
        for source in new:
            reader.store.save(source)
        return f"new sources: {len(new):,}"
    if start.startswith(b"{"):
        brought = reader.take_in(file)
        return f"new sources: {brought.sources:,}, new articles: {brought.items:,}, new ratings: {brought.ratings:,}"
    raise DataError("the file is no export of a reader (JSON lines), no list of feeds (OPML) and no .plausible file")


def _whole(file: IO[bytes], size: int) -> bytes:
    data = file.read(size + 1)
    if len(data) > size:
        raise DataError(f"the file is larger than the {size >> 20} MB that are read of its kind")
    return data
