"""From scores to ln probabilities, in the core, beside a plain twin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausible import _native

SCORES = st.one_of(st.floats(-2000, 2000), st.sampled_from([-math.inf, 0.0]))


def twin(row, length, known, fallback, power, mean, tail, flat, bias, factor):
    sharp = math.exp(min(max(-power * (math.log(max(length, 1)) - mean), -5), 5)) if power else 1.0
    u = [(x * factor + b) * sharp for x, b in zip(row, bias, strict=True)]
    if known == 0 or max(u) == -math.inf:
        u, tail = fallback, 0.0

    def log_softmax(v):
        most = max(v)
        over = math.log(sum(math.exp(x - most) for x in v))
        return [x - most - over for x in v]

    one, other = log_softmax(u), log_softmax([flat * x for x in u])
    if not tail:
        return one
    return [np.logaddexp(math.log1p(-tail) + a, math.log(tail) + b) for a, b in zip(one, other, strict=True)]


@given(st.data(), st.integers(2, 5), st.integers(1, 20), st.sampled_from([0.0, 0.02, 0.4]))
def test_rows_have_the_probabilities_of_a_plain_twin(data, classes, rows, tail):
    some = st.lists(SCORES, min_size=classes, max_size=classes)
    scores = data.draw(st.lists(some, min_size=rows, max_size=rows))
    lengths = data.draw(st.lists(st.integers(0, 500), min_size=rows, max_size=rows))
    known = [data.draw(st.integers(0, length)) for length in lengths]
    bias = [0.3 * k for k in range(classes)]
    fallback = [math.log((k + 1) / (classes * (classes + 1) / 2)) for k in range(classes)]
    power = data.draw(st.sampled_from([0.0, 0.5]))
    log_posterior, best, undefined = _native.log_posteriors(
        np.array(scores),
        list(range(classes)),
        fallback,
        np.array(lengths, np.uint64),
        known=np.array(known, np.uint64),
        power=power,
        mean_log_length=3.0,
        tail=tail,
        flat=0.3,
        bias=bias,
        factor=0.7,
    )
    found = np.asarray(log_posterior)
    for i in range(rows):
        expected = twin(scores[i], lengths[i], known[i], fallback, power, 3.0, tail, 0.3, bias, 0.7)
        assert found[i].tolist() == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert expected[int(np.asarray(best)[i])] == pytest.approx(max(expected), rel=1e-10, abs=1e-10)
    assert list(undefined) == [i for i, row in enumerate(scores) if max(row) == -math.inf]
