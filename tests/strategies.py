"""Texts and small labelled collections for property tests."""

from __future__ import annotations

from typing import Any

import naive
from hypothesis import strategies as st

from plausible import Model, Rules, Smoothing, learn

SAMPLES = [
    "Isn't it? The SOFT\u00adHYPHEN, rock'n'roll, O’Neill’s 'quoted' 2nd C, R 7 x86_64 e-mail",
    "Zażółć gęślą jaźń. ZAŻÓŁĆ GĘŚLĄ JAŹŃ, łódź",
    "中文分词，他说：“不”。𠮷野家 〇々",
    "हिन्दी में क्‍या लिखें? क्षत्रिय १२३",
    "ภาษาไทย ไม่มี เว้นวรรค น้ำ ๑๒",
    "日本語のテキスト、ｶﾞｷﾞｸﾞ ガギグ か\u3099 ー",
    "한국어 각\u1100\u1161\u11a8 값",
    "العربيّة كِتَابٌ ١٢٣ مَدْرَسَة",
    "Tiếng Việt: nghiêng, thuỷ, ệ e\u0323\u0302 e\u0302\u0323",
    "ᾳ ᾴ α\u0345\u0301 α\u0301\u0345 ᾼ Ώ ΣΊΣΥΦΟΣ σίσυφος ς",
    "ﬁn STRASSE straße İstanbul ŉ ǰ ΐ K Å Ω ｅ＇１ ＡＢＣ",
    "≠ =\u0338 \u0301a - \u0301 😀\ufe0f 1\ufe0f\u20e3",
    "a\u200d\u0301 na\u00efve nai\u0308ve na\u034fi\u0308ve a'\u00adb a'\u0301b",
    "\x00nul\x00\ud800half\udfff \U0010ffff",
    "ខ្មែរ မြန်မာ ລາວ བོད་ཡིག ꦗꦮ ᬩᬮᬶ",
    "",
]
ALPHABET = sorted(set("".join(SAMPLES)))

texts = (
    st.text(st.sampled_from(ALPHABET), max_size=40)
    | st.text(st.characters(), max_size=40)  # every code point, surrogates too
    | st.text(max_size=40)
    | st.sampled_from(SAMPLES)
)

documents = st.lists(st.sampled_from(["aa", "bb", "cc", "dd", "e", "中", "ff"]), max_size=8).map(" ".join)


@st.composite
def collections(draw: st.DrawFn, least: int = 1, most: int = 8) -> tuple[list[str], list[str]]:
    """A few documents over a few words, and their classes."""
    size = draw(st.integers(least, most))
    return (
        draw(st.lists(documents, min_size=size, max_size=size)),
        draw(st.lists(st.sampled_from(["x", "y", "z"]), min_size=size, max_size=size)),
    )


smoothings = st.sampled_from([None, 0.0, 1e-9, 0.5, 1.0, 7.0, 1e6])


@st.composite
def rules(draw: st.DrawFn) -> naive.Rules:
    """Any rules, for the twin."""
    m = draw(smoothings)
    events = draw(st.sampled_from(["multinomial", "bernoulli"]))
    return naive.Rules(
        events=events,
        m=m,
        share=m != 0 and events == "multinomial" and draw(st.booleans()),
        prior=draw(st.sampled_from(["fractions", "uniform", {"x": 0.5, "y": 0.2, "z": 0.3}])),
        drop=draw(st.integers(0, 3)),
        min_count=draw(st.integers(1, 3)),
        min_length=draw(st.integers(1, 2)),
        stop=draw(st.sets(st.sampled_from(["aa", "bb"]))),
    )


def as_ours(twin: naive.Rules) -> Rules:
    return Rules(
        events=twin.events,  # type: ignore[arg-type]
        smoothing=Smoothing(twin.m, share=twin.share),
        prior=twin.prior,  # type: ignore[arg-type]
        drop_most_frequent=twin.drop,
        min_count=twin.min_count,
        min_length=twin.min_length,
        stop_words=frozenset(twin.stop),
    )


def learn_raw(documents: list[str], labels: list[str], **options: Any) -> Model:
    """The plain model with the posterior as it comes: what the books compute."""
    return learn(documents, labels, model="plain", raw=True, **options)
