"""Microaggregated swapping: every value is the mean of its piece of the cell, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.claims.microaggregated_swap import microaggregated_swap_claim
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.keyed_draws import drawn_fractions, identity_of, purpose_of
from discreet.verify.records.value_columns import NEVER, stated_columns, whole_units

Numbers = NDArray[np.int64]
ROWS = ("piece", "added")
SHARES = 0.75
"""The unit of a column divides this share of its values."""


class PiecedColumn(NamedTuple):
    """A column before in whole units, where it is empty, what it holds after, and what is stated of every record."""

    name: str
    place: int
    units: Numbers
    empty: NDArray[np.bool_]
    after: NDArray[np.float64]
    piece: Numbers
    added: Numbers


def check_pieced(step: CheckedStep) -> None:
    """Cells are large enough, and every value is the mean of the piece that is as long as its weight."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    columns = _columns(step)
    weights = None if columns is None else _weights(step)
    if columns is None or weights is None:
        return
    cells = _cells(step)
    sizes = []
    for column in columns:
        _check_dither(step, column)
        inside = [rows[~column.empty[rows]] for rows in cells]
        sizes.append([len(rows) for rows in inside if len(rows)])
        _check_cells(step, column, [rows for rows in inside if len(rows)], weights)
    _check_sizes(step, sizes)
    if len(step.verdict.refused) == before:
        _check_draws(step, columns, cells)
    if type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    _check_twice(step)
    step.claims(microaggregated_swap_claim(facts))
    if step.key is None:
        step.verdict.take_for_granted("that pieces and dither were drawn at random", "method")
    followed = "" if step.key is None else " Every piece, and all dither, is what the secret key draws."
    step.verdict.prove(step.evidence.claim.statement + followed, before)


def _columns(step: CheckedStep) -> list[PiecedColumn] | None:
    """The columns that changed, with what is stated of their rows."""
    facts, names = step.evidence.facts, stated_columns(step, "cut into pieces")
    if names is None:
        return None
    by = list(dict.fromkeys([*step.method["cells"], *step.original.strata]))
    parts = step.evidence.parts.get("records", {})
    wanted = [f"{what}_{place}" for place in range(len(names)) for what in ROWS]
    roles = [step.original.about(name).role for name in by]
    if list(facts["by"]) != by or set(by) & set(names) or not set(by) <= set(step.before):
        step.refuse("the cells are not those of the method")
    elif any(role in NEVER and role != "weight" for role in roles):
        step.refuse("a column makes cells that names somebody")
    elif any(len(facts[what]) != len(names) for what in ("decimals", "units", "fine", "spans")):
        step.refuse("what is stated is not stated of every column")
    elif sorted(parts) != sorted(wanted) or any(len(parts[name]) != len(step.original) for name in wanted):
        step.refuse("pieces and dither of the records are not stated")
    else:
        found = [_column(step, name, place) for place, name in enumerate(names)]
        return None if any(one is None for one in found) else [one for one in found if one is not None]
    return None


def _column(step: CheckedStep, name: str, place: int) -> PiecedColumn | None:
    old, new = step.before[name], step.changed[name]
    if str(old.type) not in ("int64", "double") or str(new.type) != "double":
        step.refuse("a column is not one of numbers", name)
        return None
    unknown = step.original.about(name).missing
    empty = empty_fields(old, unknown)
    raw, after = (np.asarray(one.fill_null(0).to_numpy(), one.type.to_pandas_dtype()) for one in (old, new))
    gaps, later = (np.asarray(one.is_null().to_numpy(), np.bool_) for one in (old, new))
    if np.any(gaps & ~later) or np.any(raw[empty] != after[empty]) or np.any(empty_fields(new, unknown) & ~empty):
        step.refuse("an empty field changed, or a value became empty", name)
        return None
    units = whole_units(np.where(empty, raw.dtype.type(0), raw), step.evidence.facts["decimals"][place], 9)
    if units is None:
        step.refuse("the numbers before are not whole in the stated unit", name)
        return None
    parts = step.evidence.parts["records"]
    return PiecedColumn(name, place, units, empty, after, *(np.asarray(parts[f"{what}_{place}"]) for what in ROWS))


def _weights(step: CheckedStep) -> list[int] | None:
    """Weights as whole numbers in the same proportions."""
    roles = [name for name in step.before if step.original.about(name).role == "weight"]
    name = step.method["weight"] or (roles[0] if roles else "")
    if step.evidence.facts["weight"] != name or name in step.changed or (name and name not in step.before):
        step.refuse("the weight is not that of the method, or changed")
        return None
    if not name:
        return [1] * len(step.original)
    column = step.before[name]
    if str(column.type) not in ("int64", "double") or empty_fields(column, step.original.about(name).missing).any():
        step.refuse("a record has no weight", name)
        return None
    ratios = [value.as_integer_ratio() for value in column.to_pylist()]
    if any(top <= 0 for top, _ in ratios):
        step.refuse("a weight is not above 0", name)
        return None
    most = max(bottom for _, bottom in ratios)  # all are powers of two
    return [top * (most // bottom) for top, bottom in ratios]


def _cells(step: CheckedStep) -> list[Numbers]:
    """Rows of every cell."""
    import pyarrow as pa

    names = step.evidence.facts["by"]
    if not names:
        return [np.arange(len(step.original))]
    table = pa.table({str(i): step.before[name] for i, name in enumerate(names)})
    table = table.append_column("row", pa.array(np.arange(len(step.original))))
    groups = table.group_by(table.column_names[:-1]).aggregate([("row", "list")])["row_list"]
    return [np.array(rows, np.int64) for rows in groups.to_pylist()]


def _check_dither(step: CheckedStep, column: PiecedColumn) -> None:
    """The unit of the column, and the width of dither, are what they must be."""
    facts, place = step.evidence.facts, column.place
    unit, fine, span = (facts[what][place] for what in ("units", "fine", "spans"))
    there = column.units[~column.empty]
    asked = step.method["dither"]
    width = Fraction(unit) if asked is None else Fraction(str(asked)) * 10 ** facts["decimals"][place]
    if unit != _unit(there):
        step.refuse("the unit of a column is not what is stated", column.name)
    elif type(fine) is not int or (fine < 16 if width else fine != 1) or span != ceil(width * fine):
        step.refuse("dither is not as wide as stated", column.name)
    elif (
        np.any(column.added[column.empty])
        or column.added.min() < -(span // 2)
        or column.added.max() > max(span - span // 2 - 1, 0)
    ):
        step.refuse("dither is larger than stated, or stands where there is no value", column.name)


def _unit(units: Numbers) -> int:
    """What divides all numbers, times the largest of 1, 2, 5, 10, ... with which it still divides most."""
    some = [abs(one) for one in units.tolist() if one]
    least = gcd(*some) if some else 1
    found, power = least, 1
    while some and least * power <= max(some):
        for candidate in (least * power, 2 * least * power, 5 * least * power):
            if sum(one % candidate == 0 for one in some) >= SHARES * len(some):
                found = candidate
        power *= 10
    return found


def _check_cells(step: CheckedStep, column: PiecedColumn, cells: list[Numbers], weights: list[int]) -> None:
    """Cells are large enough, do not hold one value only, and their records have the means of their pieces."""
    facts = step.evidence.facts
    fine, scale = facts["fine"][column.place], facts["fine"][column.place] * 10 ** facts["decimals"][column.place]
    if np.any(column.piece[column.empty] != -1):
        step.refuse("an empty field has a piece", column.name)
    few = sum(len(rows) < step.method["least"] for rows in cells)
    same = sum(len(np.unique(column.units[rows])) == 1 for rows in cells)
    if few or same:
        step.refuse(f"{counted(few + same, 'cell', 'have')} too few values, or one value only", column.name)
        return
    wrong = 0
    for rows in cells:
        piece = column.piece[rows]
        if not np.array_equal(np.sort(piece), np.arange(len(rows))):
            step.refuse("the pieces of a cell are not one for each record", column.name)
            return
        added, mine = column.added[rows].tolist(), [weights[row] for row in rows.tolist()]
        values = [unit * fine + more for unit, more in zip(column.units[rows].tolist(), added, strict=True)]
        expected = _means(values, mine, piece, sum(w * e for w, e in zip(mine, added, strict=True)), scale)
        wrong += sum(a != b for a, b in zip(expected, column.after[rows].tolist(), strict=True))
    if wrong:
        step.refuse(f"{counted(wrong, 'record', 'have')} something else than the mean of their piece", column.name)


def _means(values: list[int], weights: list[int], piece: Any, dithered: int, scale: int) -> list[float]:
    """The mean of every record's piece: walk along the values, and take from each what the piece still needs."""
    total = sum(weights)
    found = [0.0] * len(values)
    line = iter(sorted(range(len(values)), key=values.__getitem__))
    at = next(line)
    left = weights[at]
    for record in np.argsort(piece).tolist():
        need, gathered = weights[record], 0
        while need > left:
            gathered += left * values[at]
            need -= left
            at = next(line)
            left = weights[at]
        gathered += need * values[at]
        left -= need
        # Python divides whole numbers to the nearest floating-point number; adding 0.0 leaves one zero.
        mine = weights[record]
        found[record] = (gathered * total - dithered * mine) / (mine * total * scale) + 0.0
    return found


def _check_sizes(step: CheckedStep, sizes: list[list[int]]) -> None:
    facts, every = step.evidence.facts, [size for column in sizes for size in column]
    count = max(len(column) for column in sizes)
    if (facts["cells"], facts["smallest"], facts["largest"]) != (count, min(every), max(every)):
        step.refuse("the cells are not as many, or not as large, as stated")


def _check_draws(step: CheckedStep, columns: list[PiecedColumn], cells: list[Numbers]) -> None:
    """Pieces stand in the order of what the key draws, and so does dither."""
    if step.key is None:
        return
    identity, asked = identity_of(step.original), step.method["dither"]
    width = None if asked is None else float(asked)
    for column in columns:
        purpose = purpose_of(step.method, f"microaggregated swap/{column.name}")
        drawn = drawn_fractions(identity, step.key.secret, purpose)
        span, wrong = step.evidence.facts["spans"][column.place], 0
        for rows in cells:
            there = rows[~column.empty[rows]]
            order = there[np.lexsort((identity[there].astype(np.int64), drawn[there]))]
            wrong += int((column.piece[order] != np.arange(len(order))).sum())
        if wrong:
            step.refuse(f"{counted(wrong, 'record', 'have')} another piece than the key draws", column.name)
        purpose = purpose_of(step.method, f"microaggregated swap dither/{column.name}", width)
        noise = drawn_fractions(identity, step.key.secret, purpose)
        dither = np.where(column.empty, 0, np.floor(noise * span).astype(np.int64) - span // 2)
        if span and np.any(dither != column.added):
            step.refuse("dither is not what the key draws", column.name)


def _check_twice(step: CheckedStep) -> None:
    earlier = [done for done in step.earlier if done.method["method"] == "microaggregated_swap"]
    version, names = step.method["version"], step.evidence.facts["columns"]
    twice = [n for n in names if any(n in d.facts["columns"] and d.method["version"] == version for d in earlier)]
    if twice:
        step.refuse("values were cut into the same pieces twice", ", ".join(twice))
