"""XML as small trees: no entities, no files fetched, nothing nested without end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from plausible.cpds import Array
from plausible.errors import CallError, DataError, unknown
from plausible.files.source import numbers

DEEPEST = 100

Place = tuple[int, int]

RETURN = {"\r": "&#13;"}
SPACES = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


@dataclass(slots=True)
class Element:
    """A tag, what it holds and where it opens."""

    tag: str
    attributes: dict[str, str]
    at: Place
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text, without the white space around it unless `xml:space` keeps that."""
        whole = "".join(self.pieces)
        return whole if self.attributes.get("xml:space") == "preserve" else whole.strip()

    def all(self, tag: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag == tag)

    def texts(self, tag: str) -> list[str]:
        return [child.text for child in self.all(tag)]


class Markup:
    """An XML file in memory: its `root`, and errors that say where."""

    def __init__(self, source: bytes, where: str, root: str) -> None:
        self.where = where
        blank = source[: len(source) - len(source.lstrip())]
        self._lines, self._columns = blank.count(b"\n"), len(blank) - blank.rfind(b"\n") - 1
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._open
        parser.EndElementHandler = self._close
        parser.CharacterDataHandler = self._read
        parser.EntityDeclHandler = self._refuse
        self._trail = [Element("", {}, (1, 1))]
        try:
            parser.Parse(source[len(blank) :], True)
        except expat.ExpatError as error:
            at = self._place(error.lineno, error.offset)
            raise self.fail(at, f"{expat.ErrorString(error.code)}; is this whole, and XML?") from None
        except DataError:
            raise
        except (UnicodeError, LookupError, ValueError) as error:
            raise self.fail(self._here(), f"{error}; is this XML?") from None
        self.root = self._trail[0].children[0]
        if self.root.tag != root:
            raise self.fail(self.root.at, f"{unknown('element', self.root.tag, [root])}")

    def fail(self, at: Place, what: str) -> DataError:
        return DataError(f"{self.where}, line {at[0]}, column {at[1]}: {what}")

    def only(self, element: Element, tag: str) -> Element:
        """The one child of that tag."""
        found = list(element.all(tag))
        if len(found) != 1:
            at = found[1].at if found else element.at
            raise self.fail(at, f"<{element.tag}> needs one <{tag}>, and has {len(found)}")
        return found[0]

    def numbers(self, element: Element) -> Array:
        """The numbers that an element holds."""
        return numbers(" ".join(element.text.split()), self.fail, lambda _: element.at)

    def attribute(self, element: Element, name: str) -> str:
        if name not in element.attributes:
            raise self.fail(element.at, f"<{element.tag}> needs the attribute '{name}'")
        return element.attributes[name]

    def _here(self) -> Place:
        return self._place(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)

    def _place(self, line: int, column: int) -> Place:
        return line + self._lines, column + 1 + (self._columns if line == 1 else 0)

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self._here())
        if len(self._trail) > DEEPEST:
            raise self.fail(element.at, f"elements are nested more than {DEEPEST} deep; is this a network?")
        self._trail[-1].children.append(element)
        self._trail.append(element)

    def _close(self, _: str) -> None:
        self._trail.pop()

    def _read(self, text: str) -> None:
        self._trail[-1].pieces.append(text)

    def _refuse(self, name: str, *_: object) -> None:
        raise self.fail(self._here(), f"the entity '{name}' is declared; entities are refused, write its text")


def element(tag: str, text: str, attributes: str = "") -> str:
    """`<tag>text</tag>`, in which the text keeps its white space."""
    kept = ' xml:space="preserve"' if text != text.strip() else ""
    return f"<{tag}{attributes}{kept}>{escape(_writable(text), RETURN)}</{tag}>"


def attribute(text: str) -> str:
    """A value for an attribute, in its quotes."""
    return quoteattr(_writable(text), SPACES)


def _writable(text: str) -> str:
    for c in text:
        if (c < " " and c not in "\t\n\r") or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff":
            raise CallError(f"{text!r} holds the character U+{ord(c):04X}, which XML can't carry; rename it")
    return text
