"""What everybody knows of each cell before anything is published: floors and ceilings, from codes and contributions.

A cell that adds contributions of which none is negative is known not to be below zero. The sign of every code is
worked out here from the sums of its hierarchy, and not taken from the model.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from discreet.errors import counted
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Ints, Status
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Contributions, Table
from discreet.model.tableset import TableSet
from discreet.verify.relations import RowRelations
from discreet.verify.verdict import Verdict

MOST = 20
"""So many cells are named for each thing that is wrong."""


def bounds_of(table: Table) -> tuple[Ints, Ints]:
    """Floor and ceiling of every cell; what the custodian states of a cell counts instead."""
    lower, upper = natural_bounds(table)
    if table.lower_bound is not None:
        lower = np.where(table.lower_bound > NO_LOWER, table.lower_bound, lower)
    if table.upper_bound is not None:
        upper = np.where(table.upper_bound < upper, table.upper_bound, upper)
    return lower, upper


def natural_bounds(table: Table) -> tuple[Ints, Ints]:
    """Zero where a cell cannot be below or above it; no bound elsewhere."""
    sign = cell_signs(table)
    floored, capped = (sign > 0) & (table.value >= 0), (sign < 0) & (table.value <= 0)
    found = amounts(table)
    if found is not None:
        floored &= ~found.negative
        if not table.spec.absolute:
            capped &= np.all(found.top <= 0, axis=1)
    return (
        np.where(floored, 0, NO_LOWER).astype(np.int64),
        np.where(capped, 0, NO_UPPER).astype(np.int64),
    )


def without_negative(table: Table) -> Bools:
    """Cells of which everybody in them knows that no contribution is negative.

    Records say it of each cell; where only values are there, one below zero casts doubt on all.
    """
    known = natural_bounds(table)[0] >= 0
    if not table.from_records or table.spec.shadow is not None:
        known = known & bool(np.all(table.value >= 0))
    return known


def amounts(table: Table) -> Contributions | None:
    """What contributors add to the value, where the cell file says so: holdings before records."""
    if table.spec.shadow is not None or not table.contributions:
        return None
    return table.contributions["holding" if "holding" in table.contributions else "record"]


def cell_signs(table: Table) -> Status:
    """1 for cells that add records only, -1 for those that subtract them only, 0 for differences."""
    result = np.ones(len(table), np.int8)
    for k, hierarchy in enumerate(table.spec.hierarchies):
        signs = code_signs(hierarchy)
        if any(sign != 1 for sign in signs):
            result = result * np.array(signs, np.int8)[table.codes[:, k]]
    return result


def code_signs(hierarchy: Hierarchy) -> list[int]:
    """The same for the codes of a hierarchy."""
    sums = {grouping.parent: grouping.parts for grouping in hierarchy.groupings}
    plain: dict[str, bool] = {}

    def is_plain(code: str) -> bool:
        """Whether nothing below a code is subtracted."""
        if code not in plain:
            plain[code] = all(sign > 0 and is_plain(part) for part, sign in sums.get(code, ()))
        return plain[code]

    def base(code: str) -> Counter[str]:
        """How often each base code counts; what is added and subtracted counts no more."""
        if code not in sums:
            return Counter({code: 1})
        found: Counter[str] = Counter()
        for part, sign in sums[code]:
            for one, times in base(part).items():
                found[one] += sign * times
        return found

    def sign_of(code: str) -> int:
        if is_plain(code):
            return 1
        signs = {times > 0 for times in base(code).values() if times}
        return 0 if len(signs) == 2 else -1 if False in signs else 1

    return [sign_of(code) for code in hierarchy.codes]


# ---- what the verdict says of them ---------------------------------------------------------------------------


def check_floors(verdict: Verdict, tables: TableSet, relations: RowRelations) -> None:
    """Say which floors everybody is taken to know; what takes the floor from a cell must be there."""
    negative = []
    for table in tables:
        found = amounts(table)
        negative.append(np.zeros(len(table), np.bool_) if found is None else found.negative)
        wrong = (cell_signs(table) > 0) & (table.value < 0) & (found is not None) & ~negative[-1]
        for row in np.flatnonzero(wrong)[:MOST].tolist():
            name = f"{table.name}: {table.cell_name(row)}"
            verdict.refuse("floors", "a cell is below zero, but none of its contributions is", name)
        for row in np.flatnonzero(_below_nobody(table))[:MOST].tolist():
            name = f"{table.name}: {table.cell_name(row)}"
            verdict.refuse("floors", "a count is said to have a floor below zero", name)
        verdict.known.append(f"table {table.name}: {_words(table, *bounds_of(table))}")
    for relation in _sums_below_zero_alone(relations, np.concatenate(negative))[:MOST].tolist():
        where = relations.text(relation)
        verdict.refuse("floors", "a sum has a negative contribution that none of its parts has", where)


def _below_nobody(table: Table) -> Bools:
    """Counts whose stated floor is lower than what everybody knows of any count: that nobody is less than nobody."""
    if table.spec.value is not None or table.lower_bound is None:
        return np.zeros(len(table), np.bool_)
    given = table.lower_bound > NO_LOWER
    return np.asarray(given & (table.lower_bound < natural_bounds(table)[0]), np.bool_)


def _sums_below_zero_alone(relations: RowRelations, negative: Bools) -> Ints:
    """Sums that only add, with a negative contribution in the total and in none of the parts."""
    total, parts = (np.zeros(len(relations), np.bool_) for _ in range(2))
    below = negative[relations.row]
    total[relations.relation[below & ~relations.positive]] = True
    parts[relations.relation[below & relations.positive]] = True
    return np.flatnonzero(total & ~parts & relations.exactly_added)


def _words(table: Table, lower: Ints, upper: Ints) -> str:
    given = np.zeros(len(table), np.bool_) if table.lower_bound is None else table.lower_bound > NO_LOWER
    none = int((lower <= NO_LOWER).sum())
    zero = int(((lower == 0) & ~given).sum())
    said = [f"{counted(zero, 'cell', 'are')} not below 0"]
    if given.any():
        said.append(f"{counted(int(given.sum()), 'cell', 'have')} a stated floor")
    said.append(f"{counted(none, 'cell', 'have')} none" if none else "none is without a floor")
    capped = int((upper < NO_UPPER).sum())
    if capped:
        said.append(f"{counted(capped, 'cell', 'have')} a ceiling")
    return ", ".join(said)
