"""The native core of plausible: arrays in, arrays out."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def read_bif(source: bytes) -> object:
    """
    The network's name and properties, its variables (name, states, properties, offset) and blocks
    (child, parents, table, properties, offset); of a bad file (offset, what, name, known names).
    """

class Cases:
    """Coded cases that can be counted."""

    def __init__(self, codes: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], states: Sequence[int]) -> None: ...

    def tables(self, families: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int = 0) -> tuple:
        """
        The tables of families of one width, end to end, and where each starts.
        """

def dirichlets(cells: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], states: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], priors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    ln of the marginal likelihood of each table; `priors` imaginary cases a cell.
    """

def likelihoods(cells: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], states: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The greatest log-likelihood of each table."""

def dependences(cells: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], firsts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lasts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    G², χ² and degrees of freedom of the first and last axis of each table given those between.
    """

def chi2_tails(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], freedoms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """P(χ² > value), value by value."""

unicode_version: str = '15.1.0'

def tokens(text: object, shortest_gram: int = 1, longest_gram: int = 1, shortest_chars: int = 0, longest_chars: int = 0) -> list:
    """The tokens of one text, in the order in which they are counted."""

class Terms:
    """
    Class-by-term counts: documents and occurrences of each term in each class.
    """

    def __init__(self, shortest_gram: int = 1, longest_gram: int = 1, shortest_chars: int = 0, longest_chars: int = 0) -> None: ...

    def count(self, texts: object, labels: Sequence[int], threads: int = 1) -> None:
        """Count texts, the i-th for the class labels[i]."""

    def merge(self, other: Terms, labels: Sequence[int], threads: int = 1) -> None:
        """Add the counts of `other`, whose class i is class labels[i] here."""

    def uncovered(self, other: Terms, labels: Sequence[int]) -> str:
        """
        A term of which `other` has more than there is here; empty if there is none.
        """

    def subtract(self, other: Terms, labels: Sequence[int]) -> None:
        """Take the counts of `other` away; they must be covered."""

    def row(self, term: str) -> list[tuple[int, tuple[int, int]]]:
        """
        For each class that has seen the term: (class, (documents, occurrences)).
        """

    def export(self, order: Sequence[int]) -> dict:
        """Sorted terms and counts, class i renamed to order[i]."""

    def load(self, terms: bytes, sizes: object, labels: object, documents: object, occurrences: object, classes: int) -> None:
        """Take in what `export` gave."""

    def memory(self) -> int:
        """Bytes held."""

    @property
    def rules(self) -> tuple: ...

def log_posteriors(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Sequence[int], fallback: Sequence[float]) -> tuple:
    """
    Of each row of scores: ln P(c given text) of the classes in `order`, the position of the largest (the first of equals), and the rows in which no class is possible, which get `fallback`.
    """

class Scorer:
    """
    Log probabilities estimated from Terms, and the scores of documents under them.
    """

    def __init__(self, terms: Terms, documents: Sequence[int], bernoulli: bool = False, m: float | None = None, share: bool = False, log_prior: Sequence[float] = [], min_count: int = 1, drop_most_frequent: int = 0, min_length: int = 1, stop: Sequence[str] = []) -> None: ...

    def score(self, texts: object, own: Sequence[int] | None = None, threads: int = 1) -> tuple:
        """
        ln P(c) + ln P(text given c), shape (texts, classes), in nats; tokens; tokens in the vocabulary. With `own`, the class of each text, from the counts less the text's own.
        """

    def terms(self, text: object) -> list:
        """Of each distinct term of a text: (term, occurrences, weights or None)."""

    def intercepts(self) -> list[float]:
        """What every text starts with in each class."""

    def weights(self, term: str) -> list[float] | None:
        """
        What one occurrence adds to each class; None if the term is not in the vocabulary.
        """

    def words(self) -> list[str]:
        """The vocabulary, sorted."""

    @property
    def vocabulary(self) -> int:
        """|V|."""

    @property
    def positions(self) -> list[int]:
        """Occurrences of vocabulary terms in each class."""
