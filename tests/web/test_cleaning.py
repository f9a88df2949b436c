"""What others wrote is shown without anything that could run, call out or leave its place."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.web.cleaning import ATTRIBUTES, TAGS, clean_body, clean_text, is_web, language

GIVEN_BY_US = {
    *(("a", "rel"), ("img", "loading"), ("img", "referrerpolicy"), ("img", "decoding")),
    *(("span", "class"), ("pre", "tabindex"), ("table", "tabindex")),
}
HOSTILE = [
    "<script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script><use href='data:image/svg+xml,x#y'/></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href=' java\tscript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='vbscript:x'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<form action='//evil.example'><input name=q><button>go</button></form>",
    "<button formaction='javascript:alert(1)'>x</button>",
    "<iframe src='https://evil.example' srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='x.swf'></object><embed src='x.swf'>",
    "<link rel=stylesheet href='https://evil.example/x.css'><style>body{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href='https://evil.example/'>",
    "<p style='position:fixed;inset:0;background:url(https://evil.example/x)'>over all</p>",
    "<div class='judge status' id='main' data-action='rate5' data-entry>like a part of the page</div>",
    "<video src=x onerror=alert(1) autoplay></video><audio src=x></audio>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<template><script>alert(1)</script></template>",
    "<textarea><script>alert(1)</script></textarea>",
    "<img srcset='https://evil.example/a.png 1x' src='https://evil.example/b.png' alt='a\" onerror=\"x'>",
    "<picture><source srcset='https://evil.example/a.png'></picture>",
    "<a href='https://example.org' target=_top ping='https://evil.example' onclick=x()>x</a>",
    "<!--[if IE]><script>alert(1)</script><![endif]-->",
    "<details open ontoggle=alert(1)>x</details>",
    "</div></main></body><script>alert(1)</script>",
    "<xmp><img src=x onerror=alert(1)></xmp><plaintext>",
]


class Tags(HTMLParser):
    """All tags and attributes of a piece of HTML."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.depth: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("br", "hr", "img", "wbr", "col"):
            self.depth.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.depth.pop() == tag, "every tag is closed where it was opened"


def check_safe(html: str, *, images: bool) -> None:
    tags = Tags(html)
    assert not tags.depth
    for tag, attributes in tags.found:
        assert tag in TAGS
        assert images or tag != "img"
        for name, value in attributes.items():
            allowed = name in ATTRIBUTES["*"] | ATTRIBUTES.get(tag, set())
            assert allowed or (tag, name) in GIVEN_BY_US, (tag, name)
            if name in ("href", "src"):
                assert (value or "").startswith(("https://", "http://", "mailto:")), value
            if name == "class":
                assert value in ("", "image")


@pytest.mark.parametrize("images", [False, True])
@pytest.mark.parametrize("source", HOSTILE)
def test_hostile_html_leaves_nothing_that_acts(source: str, images: bool) -> None:
    body = clean_body(source, base="https://example.org/post/1", images=images)
    check_safe(body.html, images=images)


@given(st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30)), max_size=6), st.booleans())
def test_any_mixture_is_safe(parts: list[str], images: bool) -> None:
    once = clean_body("".join(parts), base="https://example.org/", images=images).html
    check_safe(once, images=images)


@given(st.text(max_size=200))
def test_plain_text_is_never_markup(text: str) -> None:
    tags = Tags(clean_text(text).html)
    assert {tag for tag, _ in tags.found} <= {"p", "br", "blockquote"}
    assert all(not attributes for _, attributes in tags.found)


def test_images_are_named_but_not_loaded_until_asked_for() -> None:
    source = '<p>See <img src="/cat.jpg" alt="A cat"></p>'
    off = clean_body(source, base="https://example.org/x/")
    assert off.images == 1
    assert "cat.jpg" not in off.html
    assert "Image: A cat" in off.html
    on = clean_body(source, base="https://example.org/x/", images=True)
    assert 'src="https://example.org/cat.jpg"' in on.html
    assert 'referrerpolicy="no-referrer"' in on.html


@pytest.mark.parametrize(
    "pixel",
    [
        '<img src="https://t.example/p.gif" width="1" height="1">',
        '<img src="https://t.example/p.gif" height=0>',
        '<img src="https://t.example/p.gif" width="2px">',
        '<img src="https://t.example/p.gif" style="display: none">',
        '<img src="https://t.example/p.gif" style="border:0; WIDTH: 1px">',
        '<img src="https://t.example/p.gif" style="visibility:hidden">',
    ],
)
def test_tracking_pixels_are_never_loaded(pixel: str) -> None:
    for images in (False, True):
        body = clean_body(f"<p>text</p>{pixel}", images=images)
        assert body.images == 0
        assert "t.example" not in body.html


@pytest.mark.parametrize(
    "address",
    [
        *("http://127.0.0.1/x", "http://192.168.1.1/reboot", "http://[::1]/x", "http://localhost:8000/undo"),
        *("http://router/x", "http://printer.local/x", "http://2130706433/x", "http://127.1/x", "http://0x7f.0.0.1/x"),
        *("file:///etc/passwd", "data:image/svg+xml,<svg onload=alert(1)>", "http://169.254.169.254/latest"),
    ],
)
def test_images_of_this_machine_and_its_network_are_never_loaded(address: str) -> None:
    body = clean_body(f'<img src="{address}" alt="x">', images=True)
    assert body.images == 0
    assert "img" not in body.html


def test_links_are_made_absolute_and_tell_no_one_where_they_were_followed() -> None:
    body = clean_body('<a href="../other">x</a>', base="https://example.org/a/b/")
    assert body.html == '<a href="https://example.org/a/other" rel="noopener noreferrer">x</a>'


@pytest.mark.parametrize("base", ["", "nonsense", "http://a b/", "http://[::1", "http://x:99999999/", "javascript:x"])
def test_a_bad_base_address_only_costs_the_relative_links(base: str) -> None:
    assert clean_body('<a href="/x">y</a>', base=base).html == '<a rel="noopener noreferrer">y</a>'


@pytest.mark.parametrize(
    ("given", "levels"),
    [("121", "232"), ("35", "23"), ("42", "22"), ("421", "232"), ("123456", "234566")],
)
def test_headings_follow_the_title_without_a_gap(given: str, levels: str) -> None:
    html = clean_body("".join(f"<h{level}>x</h{level}>" for level in given)).html
    assert "".join(tag[1] for tag, _ in Tags(html).found) == levels


def test_language_tags() -> None:
    assert [language(tag) for tag in ("zh", "zh-Hant", "de-CH-1996", "", None, 'en" onload="x', "english!")] == [
        *("zh", "zh-Hant", "de-CH-1996", "", "", "", "")
    ]
    assert clean_body('<p lang="fr">x</p><p lang="&quot;">y</p>').html == '<p lang="fr">x</p><p>y</p>'


def test_addresses_that_may_be_links() -> None:
    addresses = [
        "https://example.org/x",
        "http://example.org",
        "javascript:alert(1)",
        "//example.org",
        "https:x",
        "http://[::",
    ]
    assert [is_web(address) for address in addresses] == [True, True, False, False, False, False]
