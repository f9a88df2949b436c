"""What others wrote, made safe to show: no script, no style, no form, no image that was not asked for."""

from __future__ import annotations

import html
import ipaddress
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


TAGS = _names("""
    a abbr b bdi bdo blockquote br caption cite code dd del dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i
    img ins kbd li mark ol p pre q rp rt ruby s samp small span strong sub sup table tbody td tfoot th thead time tr
    u ul var wbr
""")
DROPPED_WHOLE = _names("""
    applet audio button canvas embed form frameset head iframe input math noembed noframes noscript object script
    select style svg template textarea title video
""")
ATTRIBUTES = {
    "*": {"dir", "lang", "title"},
    "a": {"href"},
    "img": {"alt", "height", "src", "width"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
    "time": {"datetime"},
}
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")
FORMS = {
    "colspan": re.compile(r"\d{1,3}\Z"),
    "dir": re.compile(r"(ltr|rtl|auto)\Z"),
    "height": re.compile(r"\d{1,5}\Z"),
    "lang": LANGUAGE,
    "rowspan": re.compile(r"\d{1,3}\Z"),
    "start": re.compile(r"-?\d{1,6}\Z"),
    "width": re.compile(r"\d{1,5}\Z"),
}
SCHEMES = frozenset({"http", "https"})
TRACKING_SIZE = 2  # pixels: no one looks at an image so small


@dataclass(frozen=True, slots=True)
class Body:
    """The text of an article for the page: safe HTML, and how many images it has."""

    html: str
    images: int


def clean_body(source: str, *, base: str = "", images: bool = False) -> Body:
    """HTML of an article, safe to show; images only where asked for, tracking pixels never.

    >>> clean_body('<p onclick="x()">Hi <script>x()</script><a href="javascript:x()">you</a></p>').html
    '<p>Hi <a rel="noopener noreferrer">you</a></p>'
    >>> clean_body('<img src="https://example.org/cat.jpg" alt="A cat">')
    Body(html='<span class="image">Image: A cat</span>', images=1)
    """
    prepared, count = _without_pixels(source, base, images)
    return Body(_headings_below_the_title(_cleaned(prepared, base, images)), count)


def _cleaned(source: str, base: str, images: bool) -> str:
    import nh3

    fixed = {"pre": {"tabindex": "0"}, "table": {"tabindex": "0"}}  # what can be scrolled can be reached by keyboard
    if images:
        fixed["img"] = {"loading": "lazy", "referrerpolicy": "no-referrer", "decoding": "async"}
    options: dict[str, Any] = {
        "tags": set(TAGS if images else TAGS - {"img"}),
        "clean_content_tags": set(DROPPED_WHOLE),
        "attributes": {tag: set(names) for tag, names in ATTRIBUTES.items() if images or tag != "img"},
        "attribute_filter": _attribute,
        "allowed_classes": {"span": {"image"}},
        "set_tag_attribute_values": fixed,
        "url_schemes": {*SCHEMES, "mailto"},
    }
    try:
        return nh3.clean(source, url_relative=("rewrite_with_base", base), **options)
    except ValueError:  # the base is no address
        return nh3.clean(source, url_relative="deny", **options)


def clean_text(source: str) -> Body:
    """Plain text as paragraphs; lines of a quoted message stay together and stand back.

    >>> clean_text("Hello <you>\\n\\n> said before\\n> and more\\nno").html
    '<p>Hello &lt;you&gt;</p><blockquote><p>said before<br>and more</p></blockquote><p>no</p>'
    """
    blocks: list[tuple[bool, list[str]]] = []
    gap = True
    for line in source.splitlines():
        text, quoted = line.strip(), line.startswith(">")
        if quoted:
            text = text.lstrip("> ")
        if not text:
            gap = True
            continue
        if gap or blocks[-1][0] != quoted:
            blocks.append((quoted, []))
        blocks[-1][1].append(html.escape(text))
        gap = False
    paragraphs = ((quoted, "<p>" + "<br>".join(lines) + "</p>") for quoted, lines in blocks)
    return Body("".join(f"<blockquote>{p}</blockquote>" if quoted else p for quoted, p in paragraphs), 0)


def is_web(address: str) -> bool:
    """Whether an address may be a link: http or https, with a host."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in SCHEMES and bool(parts.netloc)


def language(name: str | None) -> str:
    """A language tag that a page may carry, or nothing."""
    return name if name and LANGUAGE.match(name) else ""


def _attribute(_tag: str, name: str, value: str) -> str | None:
    form = FORMS.get(name)
    return value if form is None or form.match(value) else None


def _without_pixels(source: str, base: str, images: bool) -> tuple[str, int]:
    if "<im" not in source.lower():  # "image" is another name of the same tag
        return source, 0
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(source)
    count = 0
    for image in tree.css("img"):
        attributes = image.attributes
        address = _absolute(base, attributes.get("src") or "")
        if _is_tracking(attributes) or not is_web(address) or _is_private(address):
            image.decompose()
            continue
        count += 1
        if not images:
            alternative = (attributes.get("alt") or "").strip()
            mark = tree.create_node("span")
            mark.attrs["class"] = "image"
            mark.insert_child(f"Image: {alternative}" if alternative else "Image")
            image.replace_with(mark)
    body = tree.body
    return (body.html or "" if body is not None else ""), count


def _absolute(base: str, address: str) -> str:
    try:
        return urljoin(base, address.strip())
    except ValueError:
        return ""


def _is_tracking(attributes: dict[str, str | None]) -> bool:
    for name in ("width", "height"):
        size = re.match(r"\s*(\d+)\s*(px)?\s*\Z", attributes.get(name) or "")
        if size and int(size[1]) <= TRACKING_SIZE:
            return True
    style = re.sub(r"\s", "", attributes.get("style") or "").lower()
    return bool(re.search(r"display:none|visibility:hidden|(?<!-)(width|height):[012](px|;|!|\Z)", style))


def _is_private(address: str) -> bool:
    """Whether an image would make the browser call this machine or its network."""
    host = (urlsplit(address).hostname or "").rstrip(".")
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        last = host.rpartition(".")[2]  # of 127.1 or 0x7f.1 browsers make 127.0.0.1
        return "." not in host or last in ("localhost", "local", "internal") or last[:1].isdigit()


def _headings_below_the_title(safe: str) -> str:
    """The page has its heading; those of the text follow on from level 2 and leave no level out."""
    used = sorted({int(level) for level in re.findall(r"<h([1-6])", safe)})
    levels = [1]  # of the headings so far

    def renamed(tag: re.Match[str]) -> str:
        if tag[1] == "<":
            levels.append(min(2 + used.index(int(tag[2])), levels[-1] + 1, 6))
        return f"{tag[1]}h{levels[-1]}"

    return re.sub(r"(</?)h([1-6])(?=[ >])", renamed, safe)
