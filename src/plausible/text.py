"""What a token is, and how the terms of a text are chosen.

A token is a run of letters, digits and the marks on them, in any script, with apostrophes inside it. Case is folded,
composed and decomposed forms are one, and characters that show nothing (soft hyphens, joiners) are skipped. In scripts
that put no blanks between words (Chinese, Japanese kana, Thai, Lao, Khmer, Burmese) each character with its marks is a
token, and so is each pair of neighbours. See docs/tokens.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from plausible import _native
from plausible.errors import CallError, unknown

LONGEST_GRAM = 8


@dataclass(frozen=True)
class Tokens:
    """How a text becomes terms; fixed when learning starts, since the counts are of these terms.

    Parameters
    ----------
    ngrams : (int, int)
        Runs of this many words are terms; (1, 2) is words and pairs.
    chars : (int, int), optional
        Terms are runs of this many characters inside a word, its edges marked by blanks, instead of words.
    stem : str, optional
        A language of the Snowball stemmers ("english", "polish", ...); needs the extra `plausible[stem]`.

    Examples
    --------
    >>> Tokens().of("Isn't it? Zażółć GĘŚLĄ, naïve cafe\\u0301")
    ["isn't", 'it', 'zażółć', 'gęślą', 'naïve', 'café']
    >>> Tokens().of("हिन्दी में, 中文分词")
    ['हिन्दी', 'में', '中', '文', '中文', '分', '文分', '词', '分词']
    >>> Tokens(ngrams=(1, 2)).of("new york city")
    ['new', 'york', 'new york', 'city', 'york city']
    >>> Tokens(chars=(3, 3)).of("new york")
    [' ne', 'new', 'ew ', ' yo', 'yor', 'ork', 'rk ']
    """

    ngrams: tuple[int, int] = (1, 1)
    chars: tuple[int, int] | None = None
    stem: str | None = None

    def __post_init__(self) -> None:
        for name, span in (("ngrams", self.ngrams), ("chars", self.chars)):
            if span is not None and not 1 <= span[0] <= span[1] <= LONGEST_GRAM:
                raise CallError(
                    f"{name} {span[0]}-{span[1]}: the lengths must rise and lie between 1 and {LONGEST_GRAM}"
                )
        if self.chars and self.ngrams != (1, 1):
            raise CallError("runs of characters and of words can't be had together; leave out ngrams or chars")
        self.prepare  # noqa: B018 - an unknown language is an error now, not at the first document

    @property
    def _lengths(self) -> tuple[int, int, int, int]:
        return (*self.ngrams, *(self.chars or (0, 0)))

    def terms(self) -> _native.Terms:
        """Empty counts of such terms."""
        return _native.Terms(*self._lengths)

    def of(self, text: str) -> list[str]:
        """The terms of a text, in the order in which they are counted."""
        return _native.tokens(self.prepare([text])[0], *self._lengths)

    def terms_of(self, words: Iterable[str]) -> frozenset[str]:
        """The terms that words become, however they are written; a blank makes n-grams of them.

        Of two characters of an unspaced script, the pair; a longer run of them is no term.

        >>> sorted(Tokens().terms_of(["The", "ISN’T", "的", "我们"]))
        ["isn't", 'the', '我们', '的']
        """
        if self.chars:
            return frozenset(words)
        out: set[str] = set()
        for word in words:
            parts = [_native.tokens(part) for part in self.prepare(word.split())]
            if 1 < len(parts) <= self.ngrams[1]:
                out.add(" ".join(token for part in parts for token in part))
                continue
            for tokens in parts:
                pairs = [i for i in range(2, len(tokens)) if tokens[i] == tokens[i - 2] + tokens[i - 1]]
                out.update(tokens[2:] if pairs == [2] else [] if pairs else tokens)
        return frozenset(out)

    @cached_property
    def prepare(self) -> Callable[[Sequence[str]], Sequence[str]]:
        """What is done to texts before the core cuts them into terms: nothing, unless words are stemmed."""
        return _stemmer(self.stem) if self.stem else lambda texts: texts


def count_times(
    terms: _native.Terms, texts: Sequence[str], labels: Sequence[int], times: Sequence[int], threads: int
) -> None:
    """Count each text so many times: bit by bit of the numbers, what was counted being doubled in between."""
    classes = list(range(max(labels, default=-1) + 1))
    whole = _native.Terms(*terms.rules)
    for bit in reversed(range(max(times, default=0).bit_length())):
        doubled = _native.Terms(*terms.rules)
        doubled.merge(whole, classes, threads)
        doubled.merge(whole, classes, threads)
        here = [i for i, n in enumerate(times) if n >> bit & 1]
        doubled.count([texts[i] for i in here], [labels[i] for i in here], threads)
        whole = doubled
    terms.merge(whole, classes, threads)


def _stemmer(language: str) -> Callable[[Sequence[str]], Sequence[str]]:
    try:
        import snowballstemmer
    except ImportError:
        raise CallError("stemming needs the Snowball stemmers: pip install 'plausible[stem]'") from None
    if language not in snowballstemmer.algorithms():
        raise CallError(unknown("language of the stemmers", language, snowballstemmer.algorithms()))
    stem: Any = lru_cache(1 << 16)(snowballstemmer.stemmer(language).stemWord)

    def stemmed(texts: Sequence[str]) -> Sequence[str]:
        return [" ".join(map(stem, _native.tokens(text))) for text in texts]

    return stemmed
