"""Why a document or row is of one class rather than another: what each of its words and values says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

from plausible.counts import whole
from plausible.encode import row_cells
from plausible.errors import CallError
from plausible.model import Model
from plausible.priors import m_estimate
from plausible.scores import difference

if TYPE_CHECKING:
    from plausible.infer.attribution import Reasons
    from plausible.infer.evidence import Evidence as Findings
    from plausible.network import Network


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one term or cell says for a class and against another.

    `weight` is its share of the score in nats, all its occurrences together. `seen` and `seen_against` are its
    occurrences in the two classes (documents, for Bernoulli events; for a cell the rows with its value, or with any
    number).
    """

    term: str
    times: int
    weight: float
    seen: float
    seen_against: float
    column: str = "text"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a document or row is of one class rather than another.

    `score` is the log-odds of the two classes in nats, calibrated if the model is: the sum of `prior` (what speaks
    before the first word), `absent` (Bernoulli events only: the vocabulary's terms that the document lacks) and the
    weights of `evidence`. With m = 0 a word can be infinitely strong; where one is for and another against, or no
    class can have produced the document, no sum exists, and `score` is that of the answer.
    """

    label: str
    against: str
    probability: float
    score: float
    prior: float
    absent: float
    evidence: list[Evidence] = field(repr=False)
    ignored: list[str] = field(repr=False)
    """Terms that are not in the vocabulary, and values that were never learned."""

    def by_column(self) -> dict[str, float]:
        """What each column says, its words together; strongest first."""
        sums: dict[str, list[float]] = {}
        for one in self.evidence:
            sums.setdefault(one.column, []).append(one.weight)
        totals = {column: _sum(weights) for column, weights in sums.items()}
        return dict(sorted(totals.items(), key=lambda item: -abs(item[1])))

    def in_bits(self) -> Explanation:
        """The same in bits."""
        bit = math.log(2)
        evidence = [replace(one, weight=one.weight / bit) for one in self.evidence]
        return replace(
            self, score=self.score / bit, prior=self.prior / bit, absent=self.absent / bit, evidence=evidence
        )


@overload
def explain(
    model: Model, document: str | Mapping[str, Any], label: str | None = None, against: str | None = None
) -> Explanation: ...


@overload
def explain(
    model: Network, document: str, label: str | None = None, against: str | None = None, *, given: Findings
) -> Reasons: ...


def explain(
    model: Model | Network,
    document: str | Mapping[str, Any],
    label: str | None = None,
    against: str | None = None,
    *,
    given: Findings | None = None,
) -> Explanation | Reasons:
    """The words and values for and against a class, strongest first; they sum to the score.

    Of a network, the findings for and against a state of a variable: see `plausible.infer.reasons`.

    Parameters
    ----------
    model : Model or Network
    document : str, or mapping of column to value
        Of a network, the name of the variable.
    label : str, optional
        The class to explain; by default the most probable one.
    against : str, optional
        The class to hold it against; by default the most probable other one.
    given : mapping of str to finding
        The evidence on a network.

    Examples
    --------
    >>> from plausible import learn
    >>> model = learn(["win money now", "cheap money", "meeting at noon"], ["spam", "spam", "ham"])
    >>> why = explain(model, "money at noon")
    >>> why.label, why.against
    ('ham', 'spam')
    >>> abs(why.score - why.prior - sum(word.weight for word in why.evidence)) < 1e-12
    True

    >>> from plausible import Network
    >>> states = ("ill", "well")
    >>> tables = {"state": [0.01, 0.99], "test": [[0.9, 0.1], [0.2, 0.8]]}
    >>> test = Network({"state": [], "test": ["state"]}, tables, states=states)
    >>> why = explain(test, "state", "ill", given={"test": "ill"})
    >>> [(one.finding, round(one.weight, 2)) for one in why.reasons], round(why.prior, 2)
    ([('test=ill', 1.5)], -4.6)
    """
    if not isinstance(model, Model):
        from plausible.infer.attribution import reasons

        if given is None or not isinstance(document, str):
            raise CallError("of a network, say which variable and given what: explain(network, variable, given=...)")
        return reasons(model, document, given, label, against)
    if given is not None:
        raise CallError("`given` is for networks; a model explains the document itself")
    classes = model.classes
    if len(classes) < 2:
        raise CallError("the model has one class only; there is nothing to hold it against")
    cells = row_cells(model.reading.columns, document)
    scored = model.scores(cells)
    scores, length = memoryview(scored.log_posterior), memoryview(scored.tokens)[0]
    by_probability = sorted(range(len(classes)), key=lambda k: (-scores[0, k], k))
    label = label if label is not None else classes[memoryview(scored.best)[0]]
    model.class_index(label)
    if against is None:
        against = next(classes[k] for k in by_probability if classes[k] != label)
    if against == label:
        raise CallError(f"class {label!r} can't be held against itself")
    one, other = model.class_index(label), model.class_index(against)
    sharpness = model.sharpness(length)
    of_words, of_cells = (factor * sharpness for factor in model.factors)

    evidence, ignored = [], []
    bernoulli = model.has_text and model.rules.events == "bernoulli"
    present = {one: 0.0, other: 0.0}
    if model.has_text:
        column = " and ".join(model.reading.columns.text)
        for term, times, shares in model.scorer.terms(model.scored_terms, model.tokens.prepare(cells["text"])[0]):
            if shares is None:
                ignored.append(term)
                continue
            seen = {c: cell[0 if bernoulli else 1] for c, cell in model.terms.row(term)}
            if bernoulli:
                shares = {c: _log_present(model, seen.get(c, 0), c) for c in present}
                present = {c: present[c] + shares[c] for c in present}
            weight = difference(shares[one], shares[other]) * of_words
            evidence.append(Evidence(term, times, weight, seen.get(one, 0), seen.get(other, 0), column))
    if model.variables:
        from plausible.attributes import shares_of_cells

        for cell in shares_of_cells(model.cpds, model.variables, model.dependence, cells):
            if cell.shares is None:
                ignored.append(f"{cell.column}={cell.value}")
                continue
            weight = difference(cell.shares[one], cell.shares[other]) * of_cells
            rows = (whole(cell.seen[one]), whole(cell.seen[other]))
            evidence.append(Evidence(cell.value, 1, weight, rows[0], rows[1], cell.column))
    evidence.sort(key=lambda word: (-abs(word.weight), word.column, word.term))
    starts = model.starts()
    prior = difference(starts[label], starts[against]) * sharpness
    absent = 0.0
    if bernoulli:
        raw = memoryview(model.scorer.score(model.tokens.prepare(cells["text"]))[0])
        log_prior = dict(zip(classes, model.log_prior(), strict=True))
        lacking = {
            c: raw[0, c] - log_prior[name] - present[c] if math.isfinite(present[c]) else 0.0
            for c, name in ((one, label), (other, against))
        }
        absent = difference(lacking[one], lacking[other]) * of_words
    parts = [prior, absent, *(word.weight for word in evidence)]
    if scored.undefined:
        score = difference(scores[0, classes.index(label)], scores[0, classes.index(against)])
    else:
        score = _sum(parts)
    probability = math.exp(scores[0, classes.index(label)])
    return Explanation(label, against, probability, score, prior, absent, evidence, ignored)


def _log_present(model: Model, documents: int, c: int) -> float:
    """ln P(term in a document given class c), with Bernoulli events."""
    smoothing = model.rules.smoothing
    m = 2 * smoothing.a if smoothing.m is None else smoothing.m
    p = m_estimate(documents, model.counts.documents[c], 1 / 2, m)
    return math.log(p) if p else -math.inf


def _sum(weights: list[float]) -> float:
    """Their sum; 0 where some rule out the one class and some the other."""
    return 0.0 if math.inf in weights and -math.inf in weights else math.fsum(weights)
