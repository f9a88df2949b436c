"""A naive Bayes model as the network that it is: a star, the class with a child for each column, or a tree in it."""

from __future__ import annotations

import numpy as np

from plausible.arrays import TermArrays
from plausible.categories import CategoryTable
from plausible.cpds import CPD, LinearGaussian, Table, Words
from plausible.errors import ModelError
from plausible.model import Model
from plausible.moments import Normal
from plausible.network import Network
from plausible.schema import Variable


def star(model: Model) -> Network:
    """The network of a model: the class, and under it its words and columns, but for those that say nothing.

    Its probabilities are those of the model's rules before calibration. Weights of words are no distribution of texts,
    so a model that has them must be estimated anew first, which needs no data.

    Raises
    ------
    ModelError
        Where the model has learned nothing, weighs its words, or averages networks.

    Examples
    --------
    >>> from plausible import learn, posteriors
    >>> texts, labels = ["win money now", "cheap money", "meeting at noon"], ["spam", "spam", "ham"]
    >>> network = star(learn(texts, labels, model="plain"))
    >>> network.graph.parents
    {'class': (), 'text': ('class',)}
    >>> posteriors(network, {"text": "money at noon"})["class"].round(3).tolist()
    [0.535, 0.465]
    """
    if model.log_odds_of_words:
        raise ModelError(
            f"a model with {model.rules.events} words is no network: their weights are no probabilities; estimate it "
            "anew first: model.estimate(events='multinomial'), or in a shell plausible estimate … --events multinomial"
        )
    dependence = model.dependence
    if dependence is not None and dependence.parents is None:
        raise ModelError(
            "averaged one-dependence estimators are an average of networks, and no network; estimate the model anew "
            "first: model.estimate(dependence='tan'), or in a shell plausible estimate … --dependence tan"
        )
    upon = {} if dependence is None else {child: parent for parent, child in dependence.arcs}
    schema = model.schema
    label = schema[schema.target or "class"]
    order = model.class_indices
    cpds: list[CPD] = [Table(label, (), np.exp(model.log_prior()))]
    if model.has_text:
        cpds.append(_words(model, label))
    for name, learned in model.cpds.items():
        if isinstance(learned, CategoryTable) and learned.known.any():
            other = model.cpds[upon[name]] if name in upon else None
            if dependence is not None and isinstance(other, CategoryTable) and other.known.any():
                whole = dependence.given(upon[name], name)[other.known][:, learned.known][..., order]
                cpds.append(Table(schema[name], (label, schema[upon[name]]), whole.transpose(2, 0, 1)))
                continue
            values = learned.probabilities()[learned.known][:, order].T
            cpds.append(Table(schema[name], (label,), values))
        elif isinstance(learned, Normal) and learned.whole.squares[0] > 0:
            mean, variance = (numbers[order] for numbers in learned.parameters())
            cpds.append(LinearGaussian(schema[name], (label,), mean, np.zeros((len(order), 0)), variance))
    return Network(None, cpds)


def _words(model: Model, label: Variable) -> Words:
    """P(word | class) by the m-estimate (Mitchell 1997, equation 6.22), dense."""
    arrays = TermArrays.of(model, within=True)
    classes, terms, rules = len(label.states), len(arrays.terms), model.rules
    child = Variable(" and ".join(model.reading.columns.text), "text")
    bernoulli = rules.events == "bernoulli"
    counted = arrays.documents if bernoulli else arrays.occurrences
    n_c = np.zeros((classes, terms))
    n_c[arrays.labels, np.repeat(np.arange(terms), arrays.sizes)] = counted
    words = arrays.occurrences.sum() / model.documents
    a, m, total = rules.smoothing.a, rules.smoothing.m, n_c.sum()
    if bernoulli:
        m, p = 2 * a if m is None else m, np.array(0.5)
        n = np.array([[model.counts.of(name)] for name in label.states], float)
    else:
        m = a * terms if m is None else m
        p = n_c.sum(axis=0) / total if rules.smoothing.share and total else np.array(1 / max(terms, 1))
        n = n_c.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        values = np.where(n + m > 0, (n_c + m * p) / (n + m), p)
    return Words(child, (label,), arrays.terms, values, rules.events, model.tokens, float(words))  # type: ignore[arg-type]
