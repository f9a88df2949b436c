"""What a token is, in every script."""

from __future__ import annotations

import random
from collections import Counter

import naive
import pytest
import unicodedata2 as ucd
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import SAMPLES, texts

from plausible import CallError, Tokens, _native

cut = Tokens().of
EVERY_CHARACTER = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
BULK = ("CJK UNIFIED IDEOGRAPH", "HANGUL SYLLABLE", "TANGUT IDEOGRAPH")  # many, and all alike


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Isn't it? C, R and 7!", ["isn't", "it", "c", "r", "and", "7"]),
        ("rock'n'roll 'quoted' O’Neill’s", ["rock'n'roll", "quoted", "o'neill's"]),
        ("e-mail x86_64 3.14", ["e", "mail", "x86", "64", "3", "14"]),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zero", "width"]),
        ("Zażółć GĘŚLĄ jaźń", ["zażółć", "gęślą", "jaźń"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("Straſse ﬁn ＡＢＣ１", ["strasse", "fin", "abc1"]),
        ("ΣΊΣΥΦΟΣ Σίσυφος", ["σίσυφοσ", "σίσυφοσ"]),
        ("中文分词", ["中", "文", "中文", "分", "文分", "词", "分词"]),
        ("用Python写", ["用", "python", "写"]),
        ("日本の", ["日", "本", "日本", "の", "本の"]),
        ("हिन्दी में क्‍या", ["हिन्दी", "में", "क्या"]),
        ("น้ำ", ["น้", "ำ", "น้ำ"]),
        ("한국어 값", ["한국어", "값"]),
        ("العربيّة ١٢", ["العربيّة", "١٢"]),
        ("Tiếng Việt", ["tiếng", "việt"]),
        ("a\x00b", ["a", "b"]),
        ("a\ud800b", ["a", "b"]),
        ("≠a -\u0301b 😀\ufe0f", ["a", "b"]),
        ("ŉ Huis, 'n huis", ["n", "huis", "n", "huis"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert cut(text) == tokens


@given(texts)
def test_equal_to_the_plain_twin(text: str) -> None:
    assert cut(text) == naive.tokens(text)


@given(texts, st.tuples(st.integers(1, 3), st.integers(0, 2)))
def test_n_grams_equal_to_the_plain_twin(text: str, span: tuple[int, int]) -> None:
    ngrams = span[0], sum(span)
    assert Tokens(ngrams=ngrams).of(text) == naive.tokens(text, ngrams=ngrams)


@given(texts, st.tuples(st.integers(1, 4), st.integers(0, 2)))
def test_character_runs_equal_to_the_plain_twin(text: str, span: tuple[int, int]) -> None:
    chars = span[0], sum(span)
    assert Tokens(chars=chars).of(text) == naive.tokens(text, chars=chars)


@given(texts)
@example("α\u0345\u0301")
@example("e\u0302\u0323")
def test_composed_and_decomposed_forms_are_one(text: str) -> None:
    assume(not any("\ud800" <= c <= "\udfff" for c in text))
    assert cut(ucd.normalize("NFC", text)) == cut(ucd.normalize("NFD", text)) == cut(text)


def alike(characters: list[str]) -> None:
    """One text of every character alone, and one of every character with a mark on it."""
    for mark in ("", "\u0301"):
        text = " ".join(c + mark for c in characters)
        tokens = cut(text)
        assert tokens == cut(ucd.normalize("NFC", text))
        assert tokens == cut(ucd.normalize("NFD", text))
        assert tokens == naive.tokens(text)


def test_characters_composed_and_decomposed() -> None:
    alike(
        [c for c in EVERY_CHARACTER if ucd.category(c) not in ("Cn", "Co") and not ucd.name(c, "").startswith(BULK)]
        + [chr(code) for low in (0x4E00, 0xAC00, 0x17000, 0xE000) for code in range(low, low + 60)]
    )


@pytest.mark.long
def test_every_character_composed_and_decomposed() -> None:
    alike(EVERY_CHARACTER)


@given(texts)
def test_case_makes_no_difference(text: str) -> None:
    assume(not any("\ud800" <= c <= "\udfff" for c in text))
    for apart in "ıŉ":  # the capital of the dotless i is the common I; that of ŉ begins with an apostrophe
        text = text.replace(apart, "")
    text = ucd.normalize("NFC", text)
    assume("\u0345" not in ucd.normalize("NFD", text))  # the iota below has a letter for a capital
    assert cut(text.upper()) == cut(text.lower()) == cut(text)


@given(st.text(st.characters(max_codepoint=127)))
@example("don''t 'a' a' 'a it's")
@example("x" * 64 + "'" + "y" * 63 + "'z")
def test_ascii_text_is_cut_as_any_text(text: str) -> None:
    """Text with a character outside ASCII takes the general path."""
    assert cut(text) == cut(text + " \u2014")


@given(st.integers(0, 70), st.sampled_from("aZ0' \n"), st.integers(0, 70), st.sampled_from("bY9' -"))
def test_ascii_words_across_blocks(before: int, one: str, between: int, other: str) -> None:
    text = "w" * before + one + "v" * between + other + "u"
    assert cut(text) == naive.tokens(text) == cut(text + "\u2014")


@given(st.sampled_from(["w", "w ", "v' ", "'"]), st.integers(4090, 4100), st.text("aZ0' ", max_size=70))
def test_far_into_ascii_text(before: str, far: int, text: str) -> None:
    """ASCII text is taken in by 4096 characters."""
    text = (before * far)[:far] + text
    assert cut(text) == naive.tokens(text) == cut(text + "\u2014")


@given(st.sampled_from(["ą", "ą ", "a, ", "中", "क़ ", "’"]), st.integers(1000, 1030), texts, texts)
@example("ą", 1023, "'a", "")
@example("ą ", 1024, "\u0301", "")
def test_far_into_a_text(before: str, far: int, text: str, behind: str) -> None:
    """Letters are taken in by the thousand."""
    text = (before * far)[:far] + text + " — " + behind
    assert cut(text) == naive.tokens(text)
    assert Tokens(ngrams=(1, 3)).of(text) == naive.tokens(text, ngrams=(1, 3))
    assert Tokens(chars=(2, 3)).of(text) == naive.tokens(text, chars=(2, 3))


def test_characters_that_change_with_their_neighbours() -> None:
    """All that two characters are composed to, and marks of every class, side by side."""
    known = [c for c in EVERY_CHARACTER if ucd.decomposition(c)]
    pairs = [ucd.normalize("NFD", c) for c in known if not "가" <= c <= "힣"]
    seconds = sorted({pair[-1] for pair in pairs if len(pair) > 1} | set("\u1161\u1175\u11a7\u11a8\u11c2"))
    marks = sorted({ucd.combining(c): c for c in EVERY_CHARACTER if ucd.combining(c)}.values())
    firsts = sorted({pair[0] for pair in pairs if len(pair) > 1} | set("\u1100가각ßŉǰᾳéếड़क়"))
    for mark in ("", "\u200d", *marks):
        text = " ".join(first + mark + second for first in firsts[:: 7 if mark else 1] for second in seconds)
        assert cut(text) == naive.tokens(text)
    text = " ".join(one + first + other for first in "aéᾳकড়가中" for one in marks for other in marks)
    text += " ".join(first + one + other for first in "aéᾳकড়가中" for one in marks for other in marks)
    assert cut(text) == naive.tokens(text)


@given(texts)
def test_a_token_is_its_own_token(text: str) -> None:
    assume("\u0345" not in text)  # below a character that has no case it becomes a letter beside it
    for token in cut(text):
        assert cut(token)[-1] == token


@pytest.mark.parametrize("letter", ["a", "é", "e\u0301", "ß", "한", "क", "ᾳ", "\U0001d400", "o'"])
@pytest.mark.parametrize("size", [63, 64, 85, 86, 127, 128, 255, 256, 257, 5000])
def test_long_words_are_cut_at_256_bytes(letter: str, size: int) -> None:
    text = letter * size + "x end"
    word, end = cut(text)
    assert len(word.encode()) <= 256
    assert [word, end] == naive.tokens(text) == cut(ucd.normalize("NFD", text))


def test_a_character_with_a_thousand_marks() -> None:
    for text in ("中" + "\u0301" * 5000 + "文", "a" + "\u0301\u0323" * 5000 + "b"):
        assert all(len(token.encode()) <= 2 * 256 for token in cut(text))
        assert cut(text)[0][0] in "中ạ"


@given(st.lists(texts, max_size=5), st.integers(1, 3))
def test_counted_as_cut(documents: list[str], threads: int) -> None:
    terms = Tokens().terms()
    terms.count(documents, [0] * len(documents), threads)
    for token in {token for document in documents for token in cut(document)}:
        ((_, (holding, occurrences)),) = terms.row(token)
        cuts = [cut(document) for document in documents]
        assert holding == sum(token in one for one in cuts)
        assert occurrences == sum(one.count(token) for one in cuts)


@pytest.mark.parametrize(
    "text", ["中文 中\u200d文 中' 文\u200d", "中\u200d文 中文", "がかき か\u3099かき", "か\u3099 が豈 \uf900"]
)
def test_a_character_that_is_looked_at_closely_is_the_same_term(text: str) -> None:
    terms = Tokens().terms()
    terms.count([text, text], [0, 0])
    for token, times in Counter(naive.tokens(text)).items():
        assert terms.row(token) == [(0, (2, 2 * times))]


def test_more_distinct_characters_and_pairs_than_are_tallied_together() -> None:
    characters = list(map(chr, range(0x4E00, 0x9F00)))
    documents = []
    for seed in range(8):
        random.Random(seed).shuffle(characters)
        documents.append("".join(characters))
    together, apart = Tokens().terms(), Tokens().terms()
    together.count(documents, [0] * 8)
    for document in documents:
        apart.count([document], [0])
    assert together.row("一") == [(0, (8, 8))]
    assert together.export([0]) == apart.export([0])


def test_many_distinct_terms_in_one_document() -> None:
    document = " ".join(f"w{i} é{i}" for i in range(5000))
    terms = Tokens(ngrams=(1, 2)).terms()
    terms.count([document, document], [0, 1], 2)
    assert terms.row("w4999") == terms.row("é0") == terms.row("w7 é7") == [(0, (1, 1)), (1, (1, 1))]


def test_unicode_version_is_pinned() -> None:
    assert _native.unicode_version == ucd.unidata_version


@pytest.mark.parametrize("wrong", [{"ngrams": (0, 1)}, {"ngrams": (2, 1)}, {"ngrams": (1, 9)}, {"chars": (0, 2)}])
def test_lengths_out_of_order(wrong: dict[str, tuple[int, int]]) -> None:
    with pytest.raises(CallError, match="the lengths must rise and lie between 1 and 8"):
        Tokens(**wrong)  # type: ignore[arg-type]


def test_runs_of_words_and_of_characters() -> None:
    with pytest.raises(CallError, match="leave out ngrams or chars"):
        Tokens(ngrams=(1, 2), chars=(3, 3))


def test_stems() -> None:
    assert Tokens(stem="english").of("Running runs, isn't it") == ["run", "run", "isn't", "it"]
    with pytest.raises(CallError, match="did you mean 'english'"):
        Tokens(stem="englsh")


def test_samples_hold_every_kind_of_character() -> None:
    kinds = {naive.kind(c) for sample in SAMPLES for c in sample}
    assert kinds == {"word", "mark", "unspaced", "apostrophe", "invisible", "separator"}
