"""Bayesian learning: classify text and tables, reason with belief networks, find hidden classes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Answer": "answers",
    "Answers": "answers",
    "classify": "answers",
    "classify_frame": "answers",
    "explain": "reasons",
    "rank": "ranks",
    "words": "keywords",
    "Cache": "counting",
    "Cases": "counting",
    "FrameCounter": "counting",
    "Mixed": "counting",
    "LinearGaussian": "cpds",
    "NoisyMax": "cpds",
    "Table": "cpds",
    "Words": "cpds",
    "deterministic": "cpds",
    "noisy_or": "cpds",
    "CallError": "errors",
    "DataError": "errors",
    "ModelError": "errors",
    "PlausibleError": "errors",
    "PlausibleWarning": "errors",
    "evaluate": "evaluation",
    "read_cases": "coding",
    "read_mixed": "coding",
    "Counted": "counted",
    "compare": "comparison",
    "Comparison": "comparison",
    "draw": "drawing",
    "read": "files.formats",
    "write": "files.formats",
    "load": "files.model",
    "load_model": "files.model",
    "save": "files.model",
    "Graph": "graph",
    "sample": "infer.approximate",
    "Impossible": "infer.engine",
    "Likelihood": "infer.evidence",
    "Not": "infer.evidence",
    "Soft": "infer.evidence",
    "ask": "infer.exact",
    "explanation": "infer.exact",
    "joint": "infer.exact",
    "posteriors": "infer.exact",
    "probability": "infer.exact",
    "query": "infer.exact",
    "predict": "infer.rows",
    "learn": "learning.classifier",
    "em": "learning.em",
    "choose_gaussian_mixture": "learning.mixtures.candidates",
    "cluster": "learning.mixtures.clusters",
    "gaussian_mixture": "learning.mixtures.gaussian",
    "mixture_of_tables": "learning.mixtures.tables",
    "count": "learning.fit",
    "fit": "learning.fit",
    "fit_hidden": "learning.hidden",
    "learn_parameters": "learning.parameters",
    "parameter_intervals": "learning.uncertainty",
    "query_intervals": "learning.uncertainty",
    "Knowledge": "learning.structure",
    "bootstrap": "learning.structure",
    "learn_structure": "learning.structure",
    "order_mcmc": "learning.structure",
    "score_graph": "learning.structure",
    "structural_em": "learning.structure",
    "Model": "model",
    "forget": "model",
    "merge": "model",
    "star": "naive_bayes",
    "Network": "network",
    "m_estimate": "priors",
    "Rules": "priors",
    "Smoothing": "priors",
    "Schema": "schema",
    "Variable": "schema",
    "open_source": "sources",
    "Tokens": "text",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used, so that a short command costs little."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'plausible' has no attribute {name!r}")
    value = getattr(import_module(f"plausible.{_PUBLIC[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
