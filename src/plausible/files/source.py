"""The text of a file: where things stand, the tokens of the brace languages, long rows of numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from plausible.cpds import Array
from plausible.errors import DataError
from plausible.files.spelling import STRING, unquoted

Fail = Callable[[Any, str], DataError]
"""Makes the error for what is wrong at a place; places are the format's own."""


class Source:
    """A text file in memory.

    Parameters
    ----------
    data : bytes
        UTF-8, UTF-16 with a mark, or else Latin-1.
    where : str
        The file's name, for errors.
    """

    def __init__(self, data: bytes, where: str) -> None:
        self.where = where
        self.text = _decoded(data)
        if (zero := self.text.find("\0")) >= 0:
            raise self.fail(zero, "a zero byte; this isn't a text file")

    def fail(self, at: int, what: str) -> DataError:
        """The error for what is wrong at a position in the text."""
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return DataError(f"{self.where}, line {line}, column {column}: {what}")


class Scanner:
    """The tokens of a language of words, "strings" and marks.

    Parameters
    ----------
    source : Source
    marks : str
        The characters that are a token each.
    comment : str
        A pattern for what is passed over beside white space.
    """

    def __init__(self, source: Source, marks: str, comment: str) -> None:
        self.source = source
        self.comment = re.compile(comment, re.DOTALL)
        self._gap = re.compile(rf"(?:\s|{comment})*", re.DOTALL)
        self._mark = re.compile(f"[{re.escape(marks)}]")
        self._word = re.compile(rf'(?:(?!{comment})[^\s"{re.escape(marks)}])+', re.DOTALL)
        self._position = 0
        self.next()

    def next(self) -> None:
        """Go to the next token; `token` is empty at the end of the file."""
        text = self.source.text
        self.at = self._match(self._gap, self._position)
        if self.at == len(text):
            self._position, self.token = self.at, ""
            return
        for pattern in (self._mark, self._word, STRING):
            if found := pattern.match(text, self.at):
                self._position, self.token = found.end(), found.group()
                return
        raise self.fail("this is never closed" if text[self.at] in '"/' else "a stray character")

    def _match(self, pattern: re.Pattern[str], start: int) -> int:
        found = pattern.match(self.source.text, start)
        return found.end() if found else start

    def fail(self, what: str) -> DataError:
        return self.source.fail(self.at, what)

    def expected(self, what: str) -> DataError:
        found = f"'{self.token[:60]}'" if self.token else "the end of the file; is it whole?"
        return self.fail(f"expected {what}, found {found}")

    def accept(self, token: str) -> bool:
        if self.token != token:
            return False
        self.next()
        return True

    def expect(self, token: str, where: str) -> None:
        if not self.accept(token):
            raise self.expected(f"'{token}' {where}")

    def word(self, what: str) -> str:
        """A word, or what stands in quotes."""
        token = self.token
        if not token or self._mark.fullmatch(token):
            raise self.expected(what)
        self.next()
        return unquoted(token)

    def words(self, opening: str, closing: str, what: str) -> list[str]:
        """Words between brackets, with or without commas."""
        self.expect(opening, f"before {what}")
        found = []
        while not self.accept(closing):
            if not self.accept(","):
                found.append(self.word(what))
        return found

    def until(self, stop: str) -> tuple[str, int]:
        """What stands before the next `stop` outside quotes, comments as white space, and where it starts."""
        text, start, position = self.source.text, self.at, self.at
        pattern = re.compile(rf"{self.comment.pattern}|{STRING.pattern}|{re.escape(stop)}", re.DOTALL)
        parts = []
        while found := pattern.search(text, position):
            parts.append(text[position : found.start()])
            position = found.end()
            if found.group() == stop:
                self._position = position
                self.next()
                return "".join(parts), start
            parts.append(found.group() if found.group()[0] == '"' else " " * len(found.group()))
        raise self.source.fail(start, f"no '{stop}' follows; is the file whole?")


def numbers(raw: str, fail: Fail, place: Callable[[int], Any]) -> Array:
    """The numbers of a long text. `place` turns a position in the text into one for `fail`."""
    try:
        return np.fromstring(raw, sep=" ") if raw.strip() else np.empty(0)
    except ValueError:
        for token in re.finditer(r"\S+", raw, re.ASCII):
            try:
                np.fromstring(token.group(), sep=" ")
            except ValueError:
                raise fail(place(token.start()), f"expected a number, found '{token.group()[:60]}'") from None
        raise


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")
