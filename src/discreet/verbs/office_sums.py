"""Whether what several offices withhold is unsafe taken together.

Where a total and the published cells of the offices are known, so is the sum of the cells that offices withhold: it is
a cell of its own, which the rules must find safe.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.model.table import NOBODY, Contributions, Holders, Table
from discreet.rules.assess import assess_table
from discreet.rules.base import rule_from_record


class Sums(NamedTuple):
    """Rows of totals, and the levels of the sums of what offices withhold there."""

    row: Ints
    lower: Ints
    upper: Ints


def unsafe_sums(top: Table, hidden: Bools, variable: str) -> Sums:
    """Totals of which the withheld parts are unsafe together, by the rules that the table was assessed with.

    Parameters
    ----------
    top
        The assessed table of the office at the top: totals and offices.
    hidden
        Rows that offices withhold; two or more of a total count.
    variable
        The variable that offices are codes of.

    Notes
    -----
    A contributor of several offices counts once where it is among the largest of each, which are named; its smaller
    parts are taken for somebody else's.
    """
    found = top.assessment
    rules = [] if found is None else [rule_from_record(record) for record in found.rules]
    k, hierarchy = top.variables.index(variable), top.spec.by[variable]
    part = np.flatnonzero(hidden & (hierarchy.depth[top.codes[:, k]] == 1) & ~top.empty)
    codes = top.codes[part].copy()
    codes[:, k] = hierarchy.position(str(hierarchy.total))
    total = top.find(codes)
    part, total = part[total >= 0], total[total >= 0]
    row, count = np.unique(total, return_counts=True)
    row = row[count > 1]
    if found is None or not rules or not len(row):
        nothing = np.zeros(0, np.int64)
        return Sums(nothing, nothing, nothing)
    groups = [part[total == r] for r in row.tolist()]
    together = top.at(row).with_(
        value=_added(top.value, groups),
        empty=np.zeros(len(row), np.bool_),
        contributions={level: _joined(c, top, groups, level) for level, c in top.contributions.items()},
        holders=None,
        records=None if top.records is None else _added(top.records, groups),
        nonzero=None if top.nonzero is None else _added(top.nonzero, groups),
        weighted=None if top.weighted is None else _added(top.weighted, groups),
        manual=None,
        manual_lower=None,
        manual_upper=None,
        assessment=None,
    )
    judged = assess_table(together, rules, found.profile, **found.options).assessment
    assert judged is not None
    unsafe = np.flatnonzero(judged.unsafe)
    return Sums(row[unsafe], judged.lower[unsafe], judged.upper[unsafe])


def _added(column: Ints, groups: list[Ints]) -> Ints:
    return np.array([column[rows].sum() for rows in groups], column.dtype)


def _joined(found: Contributions, top: Table, groups: list[Ints], level: str) -> Contributions:
    """What rules may look at in several cells together."""
    named = top.holders if level == "holding" and top.spec.shadow is None else None
    largest = np.array([_largest(found.top, named, rows) for rows in groups], np.int64)

    def most(column: Any) -> Any:
        return None if column is None else np.array([column[rows].max(axis=0) for rows in groups], column.dtype)

    own = found.own
    return Contributions(
        _added(found.count, groups),
        _added(found.total, groups),
        largest,
        most(found.negative),
        most(found.unwaived),
        most(found.requested),
        None if found.nonzero is None else _added(found.nonzero, groups),
        None if own is None else np.array([_largest(own, None, rows) for rows in groups], np.int64),
        None if found.own_total is None else _added(found.own_total, groups),
    )


def _largest(top: Ints, named: Holders | None, rows: Ints) -> list[int]:
    """The largest contributions of several cells together, each contributor's added where it is named."""
    amounts: list[int] = []
    by_name: dict[int, int] = {}
    for r in rows.tolist():
        for i, amount in enumerate(top[r].tolist()):
            who = NOBODY
            # The list of names may be shorter, or weighted: only what is surely the same contribution has a name.
            if named is not None and i < named.identity.shape[1] and named.amount[r, i] == amount:
                who = int(named.identity[r, i])
            if who == NOBODY:
                amounts.append(amount)
            else:
                by_name[who] = by_name.get(who, 0) + amount
    return sorted([*amounts, *by_name.values()], reverse=True)[: top.shape[1]]
