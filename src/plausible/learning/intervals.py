"""Columns that are cut into intervals once all their values are counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from plausible.bins import Histogram, interval_variable
from plausible.cells import encoded, values_of
from plausible.counts import Counts
from plausible.errors import DataError
from plausible.kinds import Uncut
from plausible.model import Model


def cut(model: Model, cells: Mapping[str, Any]) -> tuple[Model, dict[str, Any]]:
    """A model whose columns are cut, chosen by what it has counted of them; and cells of rows, cut the same way."""
    columns, classes = model.reading.columns, len(model.counts.index)
    families, cells = dict(model.counts.families), dict(cells)
    variables = []
    for variable in columns.attributes:
        histogram: Any = families[variable.name]
        if isinstance(variable, Uncut) and isinstance(histogram, Histogram):
            if not histogram.filled:
                raise DataError(f"column {variable.name!r} is empty, so it can't be cut into intervals; ignore it")
            variable = interval_variable(variable.name, histogram.cuts(variable.intervals, classes))
            families[variable.name] = histogram.categories(variable, classes)
            if variable.name in cells:
                numbers = np.array(cells[variable.name], float)
                cells[variable.name] = values_of(encoded(numbers, variable, len(numbers), lambda i: "a row"))
        variables.append(variable)
    counts = Counts(families, model.counts.index, model.counts.documents)
    reading = model.reading._replace(columns=columns._replace(attributes=tuple(variables)))
    return Model(model.tokens, model.rules, reading, counts), cells
