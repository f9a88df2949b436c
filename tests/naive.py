"""The slow plain twin: what the product does, written to be read, not to be fast.

Tests hold the product against these few functions. They share no code with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import unicodedata2 as ucd  # the pinned version of Unicode that the core is built from

Bag = Counter[str]

LONGEST_TOKEN = 256
APOSTROPHES = "'’ʼ＇"
UNSPACED = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA",
    "HALFWIDTH HIRAGANA", "IDEOGRAPHIC ITERATION", "IDEOGRAPHIC NUMBER ZERO", "THAI ", "LAO ", "KHMER ", "MYANMAR ",
    "TAI THAM ", "NEW TAI LUE ", "TAI LE ", "TAI VIET ", "JAVANESE ", "BALINESE ", "TANGUT ", "NUSHU ",
)  # fmt: skip
INVISIBLE = (
    "\u00ad", "\u034f", "\u061c", "\u180b\u180f", "\u200c\u200f", "\u202a\u202e", "\u2060\u2064", "\u2066\u2069",
    "\ufe00\ufe0f", "\ufeff", "\U000e0100\U000e01ef",
)  # fmt: skip


# --- tokens ---------------------------------------------------------------------------------------------------------


@lru_cache(1 << 16)
def kind(char: str) -> str:
    """What a character is to the cutting of text: word, mark, unspaced, apostrophe, invisible or separator."""
    if char in APOSTROPHES:
        return "apostrophe"
    if any(span[0] <= char <= span[-1] for span in INVISIBLE):
        return "invisible"
    category = ucd.category(char)
    if category[0] == "M":
        return "mark"
    if (category[0] == "L" or category == "Nl") and ucd.name(char, "").startswith(UNSPACED):
        return "unspaced"
    return "word" if category[0] in "LN" else "separator"


def normal(word: str) -> str:
    """Case folded, full-width forms plain, composed (normal form C), at most 256 bytes."""
    word = ucd.normalize("NFD", word).replace("ŉ", "n")
    folded = "".join(c.casefold() if ucd.category(c) != "Cn" else c for c in word)
    plain = "".join(chr(ord(c) - 0xFEE0) if "０" <= c <= "ｚ" else "'" if c in APOSTROPHES else c for c in folded)
    return ucd.normalize("NFC", plain).encode()[:LONGEST_TOKEN].decode(errors="ignore")


def tokens(text: str, ngrams: tuple[int, int] = (1, 1), chars: tuple[int, int] | None = None) -> list[str]:
    """The terms of a text, in the order in which they are counted."""
    text = "".join(c for c in text if kind(c) != "invisible")
    kinds = ["word" if chars and kind(c) == "unspaced" else kind(c) for c in text] + ["separator"]
    out: list[str] = []
    words: list[str] = []  # the last ones, for n-grams
    i = 0

    def marks_from(j: int) -> int:
        while kinds[j] == "mark":
            j += 1
        return j

    while i < len(text):
        begin = i
        if kinds[i] == "word":
            while kinds[i] in ("word", "mark") or (kinds[i] == "apostrophe" and kinds[i + 1] == "word"):
                i += 1
            word = normal(text[begin:i])
            if chars:
                out += character_runs(word, *chars)
                continue
            words.append(word)
            if ngrams[0] == 1:
                out.append(word)
            out += [" ".join(words[-n:]) for n in range(max(ngrams[0], 2), ngrams[1] + 1) if n <= len(words)]
        elif kinds[i] == "unspaced":
            units: list[str] = []
            while kinds[i] == "unspaced":
                end = marks_from(i + 1)
                units.append(normal(text[i:end]))
                out.append(units[-1])
                if len(units) > 1:
                    out.append(units[-2] + units[-1])
                i = end
            words.clear()
        else:
            if kinds[i] != "mark" and not is_blank(text[i]):
                words.clear()  # n-grams don't reach over punctuation
            i += 1
    return out


def is_blank(char: str) -> bool:
    return char in "\t\n\v\f\r\x85" or ucd.category(char)[0] == "Z"


def character_runs(word: str, shortest: int, longest: int) -> list[str]:
    """Runs of characters of a word whose edges are blanks; a blank alone is none."""
    edged = f" {word} "
    runs = [edged[i : i + n] for n in range(shortest, longest + 1) for i in range(len(edged) - n + 1)]
    return [run for run in runs if run != " "]


# --- counting and estimating ----------------------------------------------------------------------------------------


@dataclass
class Rules:
    """As `plausible.Rules`, in plain words."""

    events: str = "multinomial"
    m: float | None = None
    share: bool = False
    prior: str | dict[str, float] = "fractions"
    drop: int = 0
    min_count: int = 1
    min_length: int = 1
    stop: Iterable[str] = ()


@dataclass
class Learned:
    """Documents as bags of terms with their classes; everything is computed from them, again each time."""

    bags: list[Bag]
    labels: list[str]
    rules: Rules = field(default_factory=Rules)

    @classmethod
    def of(
        cls,
        documents: Sequence[str],
        labels: Sequence[str],
        rules: Rules | None = None,
        cut: Callable[[str], list[str]] = tokens,
    ) -> Learned:
        return cls([Counter(cut(document)) for document in documents], list(labels), rules or Rules())

    @property
    def classes(self) -> list[str]:
        return sorted(set(self.labels))

    def without(self, i: int) -> Learned:
        """What would have been learned without document i."""
        return Learned(self.bags[:i] + self.bags[i + 1 :], self.labels[:i] + self.labels[i + 1 :], self.rules)

    def occurrences(self, label: str | None = None) -> Bag:
        return sum((b for b, c in zip(self.bags, self.labels, strict=True) if label in (None, c)), Counter())

    def holding(self, label: str) -> Bag:
        """How many documents of a class hold each term."""
        return sum((Counter(set(b)) for b, c in zip(self.bags, self.labels, strict=True) if c == label), Counter())

    def vocabulary(self) -> list[str]:
        """The terms that fit in length and are no stop words, less the most frequent of them, less the rare ones."""
        rules, counts = self.rules, self.occurrences()
        fit = [
            term
            for term in counts
            if (len(term) >= rules.min_length or any(kind(c) == "unspaced" for c in term)) and term not in rules.stop
        ]
        fit.sort(key=lambda term: (-counts[term], term.encode()))
        return sorted(term for term in fit[rules.drop :] if counts[term] >= rules.min_count)

    def prior(self, label: str) -> float:
        if isinstance(self.rules.prior, dict):
            return self.rules.prior[label]
        if self.rules.prior == "uniform":
            return 1 / len(self.classes)
        return self.labels.count(label) / len(self.labels)

    def log_scores(self, bag: Bag) -> list[float]:
        """ln P(c) + ln P(document given c) of each class; -inf where it is impossible."""
        return [_ln(self.prior(label)) + self.log_likelihood(bag, label) for label in self.classes]

    def log_likelihood(self, bag: Bag, label: str) -> float:
        rules, vocabulary = self.rules, self.vocabulary()
        if rules.events == "bernoulli":
            m = 2.0 if rules.m is None else rules.m
            holding, n = self.holding(label), self.labels.count(label)
            with_term = {term: holding[term] if term in bag else n - holding[term] for term in vocabulary}
            return sum(_ln((with_term[term] + m / 2) / (n + m)) for term in vocabulary)
        m = float(len(vocabulary)) if rules.m is None else rules.m
        counts, everywhere = self.occurrences(label), self.occurrences()
        n, total = sum(counts[term] for term in vocabulary), sum(everywhere[term] for term in vocabulary)

        def log_probability(term: str) -> float:
            if n + m == 0:
                return -math.inf
            p = everywhere[term] / total if rules.share else 1 / len(vocabulary)
            return _ln((counts[term] + m * p) / (n + m))

        return sum(bag[term] * log_probability(term) for term in vocabulary if term in bag)

    def log_posterior(self, bag: Bag) -> list[float]:
        """ln P(c given document); the prior where no class can have produced the document."""
        scores = self.log_scores(bag)
        if max(scores) == -math.inf:
            scores = [_ln(self.prior(label)) for label in self.classes]
        most = max(scores)
        over = most + math.log(sum(math.exp(score - most) for score in scores))
        return [score - over for score in scores]


def _ln(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf
