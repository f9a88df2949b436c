"""What a table holds that structures are seldom learned from on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

import numpy as np
import numpy.typing as npt

from plausible.counting import Cases, Mixed

LOOK = 10_000
"""Rows in which columns are compared first."""


def oddities(cases: Cases | Mixed) -> Iterator[str]:
    """Columns that say nothing, say the same as another, or number the rows; and too few rows.

    Examples
    --------
    >>> from plausible.schema import Variable
    >>> a, b = (Variable(name, states=("x", "y")) for name in "ab")
    >>> next(oddities(Cases((a, b), ([0, 1, 1], [1, 0, 0]))))[:60]
    "columns 'a' and 'b' say the same, so an arc joins them and o"
    """
    if cases.rows == 1:
        yield "there is 1 row, from which no arc can be told; give more"
        return
    table = cases.cases if isinstance(cases, Mixed) else cases
    first: dict[bytes, list[int]] = {}
    for v, (variable, codes) in enumerate(zip(table.variables, table.codes, strict=True)):
        seen = int(np.count_nonzero(table.counts([variable.name])))
        if seen < 2:
            yield f"column {variable.name!r} is the same in every row and says nothing; leave it out (--drop)"
            continue
        alike = first.setdefault(_as_first_seen(codes[:LOOK]).tobytes(), [])
        for u in alike:
            if np.array_equal(_as_first_seen(table.codes[u]), _as_first_seen(codes)):
                yield (
                    f"columns {table.variables[u].name!r} and {variable.name!r} say the same, so an arc joins them and "
                    f"others may hang on either; leave one out (--drop {variable.name})"
                )
                break
        alike.append(v)
    for name, numbers in cases.numbers.items() if isinstance(cases, Mixed) else ():
        steps = np.diff(np.sort(numbers))
        if len(steps) and (steps == 1).all():
            yield f"column {name!r} numbers the rows, as an identifier does; leave it out (--drop {quote(name)})"


def _as_first_seen(codes: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.int32]:
    """The same column with its states numbered in the order in which they first occur."""
    _, at, inverse = np.unique(codes, return_index=True, return_inverse=True)
    out: npt.NDArray[np.int32] = np.argsort(np.argsort(at)).astype(np.int32)[inverse]
    return out
