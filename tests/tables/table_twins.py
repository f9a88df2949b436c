"""Slow plain twins of what the library does with tables, to hold it against."""

from __future__ import annotations

import math
from fractions import Fraction


def log_scores(rows, labels, kinds, query, *, weights=None, m=None, share=False, floor=1e-9, numbers="normal"):
    """ln P(c) + the sum of ln P(cell | c) of one row, by class, straight from the book.

    `rows` and `query` are dictionaries; None is missing. `kinds` says for each column whether it is a number.
    """
    weights = [1.0] * len(rows) if weights is None else weights
    classes = sorted(set(labels))
    total = math.fsum(weights)
    size = {c: math.fsum(w for w, label in zip(weights, labels, strict=True) if label == c) for c in classes}
    scores = {c: math.log(size[c] / total) for c in classes}
    for name, numeric in kinds.items():
        value = query.get(name)
        seen = [
            (row[name], label, w) for row, label, w in zip(rows, labels, weights, strict=True) if row[name] is not None
        ]
        if value is None or not seen:
            continue
        for c in classes:
            own = [(x, w) for x, label, w in seen if label == c]
            everything = [(x, w) for x, _, w in seen]
            if numeric and numbers == "student":
                groups = [[(x, w) for x, label, w in seen if label == other] for other in classes]
                scores[c] += _student(own, everything, groups, value, floor)
            elif numeric:
                scores[c] += _normal(own, everything, value, floor)
            else:
                scores[c] += _category(own, everything, value, m, share)
    return scores


def _category(own, everything, value, m, share):
    states = {x for x, _ in everything}
    if value not in states:
        return 0.0
    n = sum(w for _, w in own)
    n_c = sum(w for x, w in own if x == value)
    fraction = sum(w for x, w in everything if x == value) / sum(w for _, w in everything)
    p = fraction if share else 1 / len(states)
    m = len(states) if m is None else m
    estimate = (n_c + m * p) / (n + m) if n + m else fraction
    return math.log(estimate) if estimate else -math.inf


def _normal(own, everything, value, floor):
    whole = _variance(everything)
    if not whole:
        return 0.0
    mean, variance = (_mean(own), _variance(own)) if own else (_mean(everything), whole)
    variance = max(float(variance), floor * float(whole))
    off = float(Fraction(value) - mean)
    return -0.5 * math.log(2 * math.pi * variance) - off * off / (2 * variance)


def _student(own, everything, groups, value, floor):
    whole = _variance(everything)
    if not whole:
        return 0.0
    filled = [group for group in groups if group]
    within = sum(_variance(group) * _weight(group) for group in filled) / sum(map(_weight, filled))
    rows = own or everything
    n, mean = float(_weight(rows)), _mean(rows)
    variance = max(float(_variance(rows)), floor * float(whole)) + float(within) / n
    scale = (1 + 1 / n) * variance
    off = float(Fraction(value) - mean)
    gammas = math.lgamma((n + 1) / 2) - math.lgamma(n / 2)
    return gammas - 0.5 * math.log(n * math.pi * scale) - (n + 1) / 2 * math.log1p(off * off / (n * scale))


def _weight(pairs):
    return sum(Fraction(w) for _, w in pairs)


def _mean(pairs):
    return sum(Fraction(x) * Fraction(w) for x, w in pairs) / sum(Fraction(w) for _, w in pairs)


def _variance(pairs):
    mean = _mean(pairs)
    return sum(Fraction(w) * (Fraction(x) - mean) ** 2 for x, w in pairs) / sum(Fraction(w) for _, w in pairs)


def posterior(scores):
    most = max(scores.values())
    if most == -math.inf:
        return None
    total = sum(math.exp(score - most) for score in scores.values())
    return {c: math.exp(score - most) / total for c, score in scores.items()}
