"""Lists of feeds as other readers keep them: OPML 2.0, in and out.

Only addresses on the web and newsgroups are taken from a list: one that came from elsewhere must not make the reader
look into files of this machine. Written lists leave those out, too; the reader's own export has them.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring
from xml.parsers import expat

from plausible.collecting.articles import web_address
from plausible.errors import DataError
from plausible.reader.items import Source

_LARGEST = 10 << 20
_DEEPEST = 100
_UNWRITABLE = dict.fromkeys((*range(32), *range(55296, 57344), 65534, 65535), " ")


def read(content: bytes) -> list[Source]:
    """The feeds and newsgroups of a list, however deep in its folders, each address once; they are new and not visited.

    Raises
    ------
    DataError
        Where it is no OPML, or made to do harm.

    Examples
    --------
    >>> content = b'<opml><body><outline text="News"><outline text="A" xmlUrl="https://a.org/rss"/></outline></body></opml>'
    >>> [(source.kind, source.title, source.address) for source in read(content)]
    [('feed', 'A', 'https://a.org/rss')]
    """
    if len(content) > _LARGEST:
        raise DataError(f"the list of feeds has more than {_LARGEST >> 20} MB; is it an OPML file?")
    found: dict[str, Source] = {}
    trail: list[str] = []

    def opened(tag: str, attributes: dict[str, str]) -> None:
        trail.append(tag.lower())
        if trail[0] != "opml":
            raise DataError(f"the list of feeds begins with <{tag[:40]}>, not with <opml>; is it an OPML file?")
        if len(trail) > _DEEPEST:
            raise DataError(f"the list of feeds nests its folders more than {_DEEPEST} deep; it is refused")
        if trail[-1] == "outline":
            given = {name.lower(): value.strip() for name, value in attributes.items()}
            address = _address(given.get("xmlurl", ""))
            if address and address not in found:
                kind = "netnews" if address.startswith("nntp") else "feed"
                found[address] = Source(None, kind, address, given.get("title") or given.get("text") or address)

    def entity(name: str, *_: object) -> None:
        raise DataError(f"the list of feeds declares the entity {name!r}; entities are refused, write their text")

    parser = expat.ParserCreate()
    parser.StartElementHandler = opened
    parser.EndElementHandler = lambda _: trail.pop()
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(content.lstrip(), True)
    except expat.ExpatError as error:
        raise DataError(
            f"the list of feeds, line {error.lineno}: {expat.ErrorString(error.code)}; is it whole, and OPML?"
        ) from None
    return list(found.values())


def write(sources: list[Source]) -> str:
    """A list of the feeds and newsgroups among `sources`, in their order, that other readers can read.

    >>> text = write([Source(1, "feed", "https://a.org/rss?a&b", "A <b>"), Source(2, "mbox", "/home/me/mail", "mail")])
    >>> [(source.title, source.address) for source in read(text.encode())]
    [('A <b>', 'https://a.org/rss?a&b')]
    """
    root = Element("opml", version="2.0")
    SubElement(SubElement(root, "head"), "title").text = "Sources"
    body = SubElement(root, "body")
    for source in sources:
        if _address(source.address):
            title = source.title.translate(_UNWRITABLE)
            SubElement(body, "outline", type="rss", text=title, title=title, xmlUrl=source.address)
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _address(given: str) -> str | None:
    """An address that a list may bring."""
    if given.lower().startswith("feed:"):
        given = given[5:] if given[5:].startswith("http") else "https:" + given[5:]
    if given.startswith(("nntp://", "nntps://")):
        return given
    return web_address(given)
