"""Answers from belief networks: exact, by sampling, for one case or for many rows."""

from plausible.infer.analysis import (
    Effect,
    Slope,
    finding_sensitivity,
    parameter_sensitivity,
    steepest,
    value_of_observing,
)
from plausible.infer.approximate import Estimate, estimate, gibbs, loopy, sample, weighting
from plausible.infer.attribution import Reason, Reasons, reasons
from plausible.infer.engine import Cost, Engine, Impossible, cost, engine
from plausible.infer.evidence import Evidence, Likelihood, Not, Soft
from plausible.infer.exact import (
    Answer,
    Explanation,
    ask,
    conflict,
    explanation,
    joint,
    log_probability,
    posteriors,
    probability,
    query,
)
from plausible.infer.gaussian import MixedAnswer, Mixture, ask_mixed, sample_mixed
from plausible.infer.rows import codes, expected_counts, predict

__all__ = [
    "Answer",
    "Cost",
    "Effect",
    "Engine",
    "Estimate",
    "Evidence",
    "Explanation",
    "Impossible",
    "Likelihood",
    "MixedAnswer",
    "Mixture",
    "Not",
    "Reason",
    "Reasons",
    "Slope",
    "Soft",
    "ask",
    "ask_mixed",
    "codes",
    "conflict",
    "cost",
    "engine",
    "estimate",
    "expected_counts",
    "explanation",
    "finding_sensitivity",
    "gibbs",
    "joint",
    "log_probability",
    "loopy",
    "parameter_sensitivity",
    "posteriors",
    "predict",
    "probability",
    "query",
    "reasons",
    "sample",
    "sample_mixed",
    "steepest",
    "value_of_observing",
    "weighting",
]
