"""What a model is, in words."""

from __future__ import annotations

from collections.abc import Mapping

from plausible.model import Model


def described(model: Model) -> dict[str, str]:
    """Each column beside the text in words.

    >>> from plausible.columns import Columns
    >>> from plausible.columns import Reading
    >>> from plausible.schema import Variable
    >>> model = Model(reading=Reading(Columns((), "play", (Variable("wind"),))))
    >>> model.update({"wind": ["weak", "strong"]}, ["yes", "no"])
    >>> described(model)
    {'wind': "categorical: 'weak', 'strong'"}
    """
    out = {}
    for variable in model.schema.variables:
        if any(variable.name == own.name for own in model.variables):
            shown = ", ".join(repr(state) for state in variable.states[:8])
            more = f" and {len(variable.states) - 8:,} more" if len(variable.states) > 8 else ""
            out[variable.name] = variable.taken_as + (shown and f": {shown}") + more
    return out


def settings(model: Model) -> Mapping[str, str]:
    """The options of learning, in the words of the command line."""
    rules, tokens = model.rules, model.tokens
    shown = {
        "events": rules.events,
        "smoothing": str(rules.smoothing),
        "prior": rules.prior
        if isinstance(rules.prior, str)
        else ", ".join(f"{k} {v:g}" for k, v in rules.prior.items()),
        "drop most frequent": f"{rules.drop_most_frequent:,}",
        "min count": f"{rules.min_count:,}",
        "min length": f"{rules.min_length:,}",
        "stop words": f"{len(rules.stop_words):,}",
        "numbers": rules.numbers if any(variable.kind == "continuous" for variable in model.variables) else "",
        "dependence": rules.dependence,
        "tree": ", ".join(map(" → ".join, model.dependence.arcs))
        if rules.dependence == "tan" and model.documents and model.dependence
        else "",
        "n-grams": f"{tokens.ngrams[0]}-{tokens.ngrams[1]}",
        "characters": f"{tokens.chars[0]}-{tokens.chars[1]}" if tokens.chars else "",
        "stem": tokens.stem or "",
        "headers": model.reading.headers or "",
        "text": ", ".join(model.reading.columns.text),
        "target": model.reading.columns.target or "",
    }
    usual = {
        "drop most frequent": "0",
        "min count": "1",
        "numbers": "normal",
        "dependence": "none",
        "min length": "1",
        "stop words": "0",
        "n-grams": "1-1",
    }
    return {name: value for name, value in shown.items() if value and usual.get(name) != value}
