"""Search finds words of any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible.errors import CallError
from plausible.reader.search import asked
from plausible.reader.views import View

from .conftest import NOON, article

TEXTS = {
    "zh": ("新望远镜拍到遥远的星系", "天文学家用新的望远镜观测到了一个遥远的星系。"),
    "zh2": ("足球比赛", "昨晚的比赛非常精彩，球迷都很高兴。"),
    "pl": ("Łódź wygrywa mecz", "Zażółć gęślą jaźń, isn't it?"),
    "en": ("New telescope", "Heat pumps warm houses; the pump was new."),
    "th": ("สวัสดีชาวโลก", "ข่าวดี"),
    "hi": ("हिन्दी समाचार", "नया दूरबीन"),
}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("望远镜", {"zh"}),
        ("新望远镜", {"zh"}),
        ("远望", set()),
        ("新的 星系", {"zh"}),
        ("赛", {"zh2"}),
        ("新", {"zh"}),
        ("zażółć", {"pl"}),
        ("zazolc GESLA", {"pl"}),
        ("lodz", {"pl"}),
        ("isn’t", {"pl"}),
        ("new", {"en"}),
        ("telescop*", {"en"}),
        ("telescop", set()),
        ('"heat pumps"', {"en"}),
        ('"pumps heat"', set()),
        ("new -telescope", set()),
        ("title:new", {"en"}),
        ("title:pump", set()),
        ("ชาวโลก", {"th"}),
        ("हिन्दी", {"hi"}),
        ('" OR 1', set()),
        ("new) OR (title", set()),
    ],
)
def test_searches(reader, query, found):
    keys = dict(zip(reader.add(1, [article(key, *text) for key, text in TEXTS.items()], NOON), TEXTS, strict=True))
    page = reader.page(View(search=query, period="all"), NOON)
    assert {keys[entry.item.id] for entry in page.entries} == found
    assert {entry.place for entry in page.entries} <= {"search"}
    assert page.below == 0


def test_the_most_relevant_first(reader):
    low, high = reader.add(1, [article("1", "", "comet " + "other " * 50), article("2", "comet", "comet comet")], NOON)
    entries = reader.page(View(search="comet", order="relevance"), NOON).entries
    assert [entry.item.id for entry in entries] == [high, low]


def test_a_search_without_a_word_is_refused(reader):
    for query in ("!!", '"', "-word"):
        with pytest.raises(CallError, match="names no word"):
            reader.page(View(search=query), NOON)


@given(st.text(max_size=30))
def test_whatever_is_typed_is_a_search_or_refused(store_of_all, query):
    try:
        expression = asked(query)
    except CallError:
        return
    store_of_all.rows("SELECT rowid FROM words WHERE words MATCH ?", (expression,))


@pytest.fixture(scope="module")
def store_of_all(tmp_path_factory):
    from plausible.reader.items import Source
    from plausible.reader.store import Store

    store = Store(tmp_path_factory.mktemp("search") / "reader.db")
    store.save(Source(None, "feed", "https://example.org/feed", "Example"))
    store.add(1, [article(key, *text) for key, text in TEXTS.items()], NOON)
    yield store
    store.close()
