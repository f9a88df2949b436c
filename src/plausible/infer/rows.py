"""Many cases at once: equal rows once, rows side by side in every table, gaps and patterns mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible import _native
from plausible.cpds import Array, Words, state_index
from plausible.errors import CallError, DataError
from plausible.infer.engine import Engine, engine
from plausible.infer.evidence import text_likelihood, unknown_variable
from plausible.network import Network
from plausible.schema import Variable
from plausible.sources import open_source

Codes = npt.NDArray[np.int32]
Columns = Mapping[str, Sequence[Any] | npt.NDArray[Any]]

GAP = -1

ENTRY = 1.2e-9
"""Seconds that a table entry takes when rows are side by side."""

COMPILING = 5e-6
"""Seconds that a variable takes when a schedule is compiled."""

CALL, VISIT = 1e-4, 1e-6
"""Seconds that a pattern of gaps with its own schedule takes, and each of its variables, beside its tables."""

MOST_PATTERNS = 2_000_000
"""Patterns of gaps times variables, beyond which their schedules would take too much memory."""

BLOCK = 1 << 18
"""Rows that are widened at once."""


def codes(network: Network, table: Columns | Any) -> Codes:
    """The rows of a table as state indices, shape (rows, variables); -1 where a cell is empty.

    The table is a mapping of columns, or whatever `open_source` takes. Cells are state names or indices; None, ""
    and NaN are gaps. A variable without a column is a gap throughout. Texts have no codes: left out.
    """
    tree = engine(network)
    columns, rows = _columns(network, table)
    found = np.full((rows, len(tree.names)), GAP, dtype=np.int32)
    for i, variable in enumerate(tree.variables):
        if variable.name in columns:
            found[:, i] = _column(variable, columns[variable.name])
    return found


def _columns(network: Network, table: Columns | Any) -> tuple[Columns, int]:
    """The columns of a table, and how many rows they have."""
    columns = table if hasattr(table, "items") else _read(table)
    for name in columns:
        if name not in network:
            raise unknown_variable(name, network.names)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the columns have different lengths: {lengths}; make them the same")
    return columns, next(iter(lengths.values()), 0)


def _read(given: Any) -> dict[str, list[Any]]:
    """All columns of a source of rows."""
    source = open_source(given)
    if source.documents:
        raise CallError(f"{source.name} holds documents, not a table; give a table with one column a variable")
    columns: dict[str, list[Any]] = {name: [] for name in source.columns}
    for table in source.tables():
        for name, cells in columns.items():
            cells.extend(table.columns[name])
    return columns


def _column(variable: Variable, cells: Sequence[Any] | npt.NDArray[Any]) -> Any:
    states = variable.states
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iu":
        wrong = (cells < GAP) | (cells >= len(states))
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"row {row}: {variable.name!r} has no state number {cells[row]}; its states are 0 to {len(states) - 1}"
            )
        return cells
    place: dict[Any, int] = {None: GAP, "": GAP} | {state: k for k, state in enumerate(states)}
    listed = cells.tolist() if isinstance(cells, np.ndarray) else cells
    try:
        return np.fromiter(map(place.__getitem__, listed), dtype=np.int32, count=len(listed))
    except (KeyError, TypeError):
        return [_cell(variable, place, row, cell) for row, cell in enumerate(listed)]


def _cell(variable: Variable, place: dict[Any, int], row: int, cell: Any) -> int:
    if isinstance(cell, str) and cell in place:
        return place[cell]
    if cell is None or cell != cell:  # NaN alone differs from itself
        return GAP
    try:
        return state_index(variable, cell if isinstance(cell, (int, np.integer, np.bool_)) else str(cell))
    except CallError as error:
        raise DataError(f"row {row}: {error}") from None


def predict(
    network: Network,
    table: Columns | Codes | Any,
    targets: Sequence[str] | None = None,
    *,
    threads: int = 0,
    memory: float | None = None,
) -> dict[str, Array]:
    """The posterior of each target in each row: `{target: array (rows, states)}`.

    Parameters
    ----------
    network : Network
    table : mapping of str to column, path, SQL text, data frame, list of dictionaries, or array of codes
        Columns of state names or indices, empty cells allowed; or what `codes` gives.
    targets : sequence of str, optional
        Their own columns are not looked at. None asks for all variables; those a row has are certain.
    threads : int
        0 uses all processors. The answer does not depend on it.

    Raises
    ------
    DataError
        Where a row has probability 0: the row is named.

    Examples
    --------
    >>> wet = Network(
    ...     {"rain": [], "wet": ["rain"]}, {"rain": [0.2, 0.8], "wet": [[0.9, 0.1], [0.3, 0.7]]}, states=("yes", "no")
    ... )
    >>> predict(wet, {"wet": ["yes", None]}, ["rain"])["rain"].round(3).tolist()
    [[0.429, 0.571], [0.2, 0.8]]
    """
    tree = engine(network)
    texts: dict[int, Array] = {}
    if not isinstance(table, np.ndarray):
        columns, _ = _columns(network, table)
        texts, table = _text_likelihoods(tree, columns), codes(network, columns)
    rows: Codes = table
    if rows.ndim != 2 or rows.shape[1] != len(tree.names):
        raise CallError(
            f"the codes have shape {rows.shape}; give one column for each of the variables ({len(tree.names)})"
        )
    asked = list(range(len(tree.names))) if targets is None else [tree.position(name) for name in targets]
    rows = np.pad(rows.astype(np.int32), ((0, 0), (0, tree.hidden)), constant_values=GAP)
    if targets is not None:
        rows[:, asked] = GAP
    if texts:
        return _with_texts(tree, rows, texts, asked, threads, memory)
    first, which = _native.distinct_rows(rows)
    repeated = len(first) < len(rows)
    if repeated:
        rows = rows[first]
    flat, logs, places = _run(tree, rows, asked, threads, memory)
    if (logs == -np.inf).any():
        row = int(np.argmax(logs[which] == -np.inf)) if repeated else int(np.argmax(logs == -np.inf))
        raise _impossible(row)
    if repeated:
        flat = flat[which]
    return {tree.names[i]: flat[:, places[i] : places[i] + tree.states[i]] for i in asked}


def _text_likelihoods(tree: Engine, columns: Columns) -> dict[int, Array]:
    """What the texts of each row say: `{their parent: log-likelihoods, shape (rows, its states)}`."""
    found: dict[int, Array] = {}
    for name, cpd in tree.texts.items():
        if name in columns:
            i = tree.position(cpd.parents[0].name)
            silent = np.zeros(tree.states[i])
            said = [silent if _empty(text) else _said(cpd, text, row) for row, text in enumerate(columns[name])]
            found[i] = found.get(i, 0.0) + np.array(said).reshape(-1, tree.states[i])
    return found


def _said(cpd: Words, text: Any, row: int) -> Array:
    try:
        return text_likelihood(cpd, text)
    except CallError as error:
        raise DataError(f"row {row}: {error}") from None


def _empty(cell: Any) -> bool:
    return cell is None or (not isinstance(cell, str) and cell != cell)  # NaN alone differs from itself


def _with_texts(
    tree: Engine, rows: Codes, texts: dict[int, Array], asked: list[int], threads: int, memory: float | None
) -> dict[str, Array]:
    """Each row as a mixture over the states of the texts' parents, weighed by what the texts say."""
    parents = list(texts)
    cases = np.array(list(np.ndindex(*(tree.states[i] for i in parents))), dtype=np.int32)
    whole = np.repeat(rows, len(cases), axis=0)
    given = whole[:, parents]
    clamped = np.tile(cases, (len(rows), 1))
    whole[:, parents] = clamped
    flat, logs, places = _run(tree, whole, asked, threads, memory)
    logs = np.where(((given == GAP) | (given == clamped)).all(axis=1), logs, -np.inf).reshape(len(rows), -1)
    logs = logs + sum(values[:, cases[:, k]] for k, values in enumerate(texts.values()))
    top = logs.max(axis=1, keepdims=True)
    if (top == -np.inf).any():
        raise _impossible(int((top == -np.inf).argmax()))
    share = np.exp(logs - top)
    share /= share.sum(axis=1, keepdims=True)
    cut = flat.reshape(len(rows), len(cases), -1)
    return {
        tree.names[i]: np.einsum("rc,rcs->rs", share, np.nan_to_num(cut[:, :, places[i] : places[i] + tree.states[i]]))
        for i in asked
    }


def _impossible(row: int) -> DataError:
    return DataError(f"row {row} has probability 0: its values can't occur together; mend or drop the row")


def _run(
    tree: Engine, rows: Codes, asked: list[int], threads: int, memory: float | None
) -> tuple[Array, Array, list[int]]:
    """Posteriors side by side, the rows' log probabilities, and where each variable's posterior starts."""
    gaps = rows == GAP
    first, which = _native.distinct_rows(gaps.astype(np.int32))
    pooled = _pooled(tree, gaps, asked, len(first))
    if pooled is not None:
        tree.afford(pooled, memory)
        logs, flat = pooled.run_rows(tree.values, rows, threads)
        return flat, logs, pooled.places
    flat = np.empty((len(rows), int(tree.states[asked].sum())))
    logs = np.empty(len(rows))
    places: list[int] = []
    for group, at in enumerate(first):
        members = np.flatnonzero(which == group)
        pattern = np.flatnonzero(~gaps[at]).tolist()
        wide = 16 if len(members) >= 16 else 1
        schedule = tree.schedule(pattern, (), asked, rows=wide, memory=memory)
        logs[members], flat[members] = schedule.run_rows(tree.values, np.ascontiguousarray(rows[members]), threads)
        places = schedule.places
    return flat, logs, places


def _pooled(tree: Engine, gaps: npt.NDArray[np.bool_], asked: list[int], patterns: int) -> _native.Schedule | None:
    """One schedule for all rows, where that is cheaper than one for each pattern of gaps."""
    some, throughout = gaps.any(axis=0), gaps.all(axis=0)
    seen = np.flatnonzero(~some).tolist() if len(gaps) else []
    mixed = np.flatnonzero(some & ~throughout).tolist()
    schedule = tree.schedule(seen, mixed, asked, rows=1, memory=np.inf)
    if patterns > 1 and len(gaps) * schedule.entries * ENTRY > patterns * len(tree.names) * COMPILING:
        return None
    return tree.schedule(seen, mixed, asked, rows=_wide(schedule), memory=np.inf)


def _wide(schedule: _native.Schedule) -> int:
    """Rows side by side, so that the tables stay in the processor's caches."""
    return 32 if schedule.entries < 4_000 else 8 if schedule.entries < 400_000 else 1


def expected_counts(
    tree: Engine,
    rows: Codes,
    shares: Array | None = None,
    values: Array | None = None,
    *,
    threads: int = 0,
    memory: float | None = None,
) -> tuple[list[Array], Array]:
    """The expected counts of every family over the rows, and each row's log probability.

    The E step of EM, and all that gradient ascent needs (Russell et al. 1995). Rows of probability 0
    count nothing and have log probability -inf.

    Parameters
    ----------
    tree : Engine
        `engine(network)`; stays the same while the parameters change.
    rows : array of codes, shape (rows, variables)
    shares : array, shape (rows,), optional
        How often each row counts.
    values : array, optional
        Parameters in place of the network's own, laid out as `tree.values`.

    Returns
    -------
    counts : list of array, one a variable, in the shape of its table
    logs : array, shape (rows,)
    """
    first, which = _native.distinct_rows(np.ascontiguousarray(rows, dtype=np.int32))
    weight = np.bincount(which, weights=shares, minlength=len(first)).astype(np.float64)
    flat, logs = Expectation(tree, rows[first], weight, threads=threads, memory=memory)(
        tree.values if values is None else values
    )
    ends = np.cumsum([tree.sizes]).tolist()
    counts = [
        flat[end - size : end].reshape([tree.states[i] for i in scope])
        for end, size, scope in zip(ends, tree.sizes, tree.scopes, strict=True)
    ]
    return counts, logs[which]


def distinct(columns: Sequence[npt.NDArray[np.signedinteger[Any]]]) -> tuple[npt.NDArray[Any], Array]:
    """Rows that differ, shape (rows, columns), in the narrowest numbers; and how often each occurs.

    They are looked for block by block, and then among those found, if equal rows are common.
    """
    count = len(columns[0])
    parts, shares = [], []
    for at in range(0, count, BLOCK):
        rows = np.stack([column[at : at + BLOCK] for column in columns], axis=1)
        first, which = _native.distinct_rows(np.ascontiguousarray(rows, dtype=np.int32))
        parts.append(rows[first])
        shares.append(np.bincount(which, minlength=len(first)).astype(np.float64))
    rows, often = np.concatenate(parts), np.concatenate(shares)
    if len(parts) > 1 and len(rows) <= count / 2:
        first, which = _native.distinct_rows(np.ascontiguousarray(rows, dtype=np.int32))
        rows, often = rows[first], np.bincount(which, often, len(first)).astype(np.float64)
    return rows, often


def _packed(marks: npt.NDArray[np.bool_]) -> Codes:
    """Rows of marks, 32 to a number."""
    bits = np.packbits(marks, axis=1)
    words: Codes = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 4))).view(np.int32)
    return words


class Expectation:
    """The E step over the same rows again and again: from parameters to expected counts.

    One schedule serves all rows, its tables cut at the columns without a gap; or each pattern of gaps has one of its
    own, cut at all that is seen: where the one is too wide, or a cost estimate says that it is slower.

    Parameters
    ----------
    tree : Engine
    rows : array of codes, shape (rows, variables)
        Of any width of whole numbers; they are widened block by block.
    shares : array, shape (rows,)
        How often each row counts.
    """

    def __init__(
        self,
        tree: Engine,
        rows: npt.NDArray[np.signedinteger[Any]],
        shares: Array,
        *,
        threads: int = 0,
        memory: float | None = None,
    ) -> None:
        tree.own_tables("counting")
        self._rows, self._shares, self._threads = rows, shares, threads
        gaps = rows == GAP
        some = gaps.any(axis=0)
        single = self._schedule(tree, some, 1, np.inf)
        first, which = _native.distinct_rows(_packed(gaps))
        pooled = len(rows) * single.entries * ENTRY
        apart = not tree.affordable(single, memory) or pooled > len(first) * (CALL + VISIT * len(tree.names))
        patterns = [(some, np.arange(len(rows)))]
        if len(first) > 1 and apart and len(first) * len(tree.names) <= MOST_PATTERNS:
            order = np.argsort(which, kind="stable")
            groups = np.split(order, np.flatnonzero(np.diff(which[order])) + 1)
            patterns = [(gaps[members[0]], members) for members in groups]
        self._parts = []
        for empty, members in patterns:
            wide = _wide(self._schedule(tree, empty, 1, memory))
            self._parts.append((members, self._schedule(tree, empty, wide, memory)))

    @staticmethod
    def _schedule(tree: Engine, empty: npt.NDArray[np.bool_], rows: int, memory: float | None) -> _native.Schedule:
        """Cut at what is seen. What can be empty is weighed, by 1 in all states, so that it counts though barren."""
        seen, weighed = (np.flatnonzero(marks).tolist() for marks in (~empty, empty))
        return tree.schedule(seen, weighed, (), everything=True, rows=rows, memory=memory)

    def __call__(self, values: Array) -> tuple[Array, Array]:
        """The expected counts, laid out as `tree.values`, and the log probability of each row."""
        counts, logs = np.zeros(len(values)), np.empty(len(self._rows))
        for members, schedule in self._parts:
            for at in range(0, len(members), BLOCK):
                block = members[at : at + BLOCK]
                rows = np.ascontiguousarray(self._rows[block], dtype=np.int32)
                logs[block], some = schedule.expected(values, rows, self._shares[block], self._threads)
                counts += some
        return counts, logs
