"""The tables of single offices, cut out of one table that they publish together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.errors import NeedsError, ParameterError, unknown_name
from discreet.model.arrays import Ints
from discreet.model.hierarchy import Grouping, Hierarchy
from discreet.model.table import Contributions, Holders, Table

JOINT = "joint offices"
"""The code of the made-up total over several offices."""


def offices_of(table: Table, variable: str) -> tuple[str, ...]:
    """Codes of the offices: the parts of the total of one variable."""
    return tuple(code for code, _ in _top(table, variable).parts)


def office_table(table: Table, variable: str, code: str) -> Table:
    """The table that one office publishes: everything at or below its code.

    Parameters
    ----------
    table
        The table of all offices together; its rules have been applied, or not yet.
    variable
        The variable that offices are codes of; a tree.
    code
        The office.

    Examples
    --------
    >>> import discreet as ds
    >>> from discreet.generate import business_survey
    >>> made = business_survey(300, activities=(3, 6), regions=(2, 5))
    >>> by = {v: ds.Hierarchy.from_parents(made.parents[v], total="Total") for v in ("activity", "region")}
    >>> table = ds.tabulate(ds.Microdata(made.records, contributor="holding"), by=by, value="turnover")
    >>> ds.office_table(table, "region", "R1").spec.by["region"].total
    'R1'
    """
    known = offices_of(table, variable)
    if code not in known:
        raise ParameterError(unknown_name("office", str(code), known, f"variable {variable!r}"))
    old = table.spec.by[variable]
    kept = _below(old, code)
    return _cut(table, variable, _subtree(old, code, kept), kept)


def top_table(table: Table, variable: str) -> Table:
    """The table of the office at the top: the total and the offices, without what is below them."""
    top, old = _top(table, variable), table.spec.by[variable]
    kept = [top.parent, *offices_of(table, variable)]
    hierarchy = Hierarchy((top,), old.total, tuple(kept), _labels(old, kept))
    return _cut(table, variable, hierarchy, kept)


def joint_table(table: Table, variable: str, codes: Sequence[str]) -> Table:
    """The tables of several offices under a made-up total, which nobody publishes and no rule judges."""
    old = table.spec.by[variable]
    kept = [code for office in codes for code in _below(old, office)]
    groupings = [Grouping(JOINT, tuple((code, 1) for code in codes))]
    groupings += [g for g in old.groupings if g.parent in kept]
    total = old.index[_top(table, variable).parent]
    k = table.variables.index(variable)
    hierarchy = Hierarchy(tuple(groupings), JOINT, (JOINT, *kept), _labels(old, kept))
    # The rows of the total lend their columns to the made-up one.
    made = _cut(table, variable, hierarchy, [old.codes[total], *kept], {old.codes[total]: JOINT})
    mine = np.flatnonzero(made.codes[:, k] == hierarchy.index[JOINT])
    value, empty = made.value.copy(), made.empty.copy()
    value[mine], empty[mine] = 0, True
    for office in codes:
        codes_of = made.codes[mine].copy()
        codes_of[:, k] = hierarchy.index[office]
        rows = made.find(codes_of)
        there = rows >= 0
        value[mine[there]] += made.value[rows[there]]
        empty[mine[there]] &= made.empty[rows[there]]
    return _unjudged(made.with_(value=value, empty=empty), mine)


def _top(table: Table, variable: str) -> Grouping:
    """The sum that makes the total out of the offices; other shapes are refused."""
    if variable not in table.spec.by:
        raise ParameterError(unknown_name("variable", variable, table.variables, f"table {table.name!r}"))
    hierarchy = table.spec.by[variable]
    parts = [code for g in hierarchy.groupings for code, _ in g.parts]
    parents = [g.parent for g in hierarchy.groupings]
    signed = any(sign < 0 for g in hierarchy.groupings for _, sign in g.parts)
    top = [g for g in hierarchy.groupings if g.parent == hierarchy.total]
    if signed or len(set(parts)) < len(parts) or len(set(parents)) < len(parents) or len(top) != 1:
        raise NeedsError(
            f"The codes of {variable!r} are not one tree, so that they do not say who the offices are.",
            hint="Offices are the codes right below the total of a tree; leave other sums out of its hierarchy.",
        )
    return top[0]


def _below(hierarchy: Hierarchy, code: str) -> list[str]:
    """A code and all codes below it."""
    parts = {g.parent: [part for part, _ in g.parts] for g in hierarchy.groupings}
    found, waiting = [], [code]
    while waiting:
        found.append(waiting.pop(0))
        waiting = parts.get(found[-1], []) + waiting
    return found


def _subtree(old: Hierarchy, root: str, kept: Sequence[str]) -> Hierarchy:
    groupings = tuple(g for g in old.groupings if g.parent in kept)
    return Hierarchy(groupings, root, tuple(kept), _labels(old, kept))


def _labels(old: Hierarchy, kept: Sequence[str]) -> dict[str, str]:
    return {code: label for code, label in old.labels.items() if code in kept}


def _cut(
    table: Table, variable: str, new: Hierarchy, kept: Sequence[str], renamed: dict[str, str] | None = None
) -> Table:
    """The rows with some codes of a variable, under another hierarchy, in its order."""
    k, old = table.variables.index(variable), table.spec.by[variable]
    place = np.full(len(old), -1, np.int32)
    for code in kept:
        place[old.index[code]] = new.index[(renamed or {}).get(code, code)]
    rows = np.flatnonzero(place[table.codes[:, k]] >= 0)
    part = table.at(rows)
    codes = part.codes.copy()
    codes[:, k] = place[codes[:, k]]
    spec = table.spec.with_(by={**table.spec.by, variable: new})
    moved = part.with_(spec=spec, codes=codes, source=None)
    order = np.argsort(moved.keys, kind="stable")
    # A new object, because the keys of the old one stay in its memory.
    return moved.at(order)


def _unjudged(table: Table, rows: Ints) -> Table:
    """Some rows as cells that are safe and whose contributors nobody knows."""
    changes: dict[str, object] = {}
    if table.assessment is not None:
        found = {
            name: getattr(table.assessment, name).copy() for name in ("unsafe", "hits", "lower", "upper", "sliding")
        }
        for column in found.values():
            column[rows] = 0
        changes["assessment"] = replace(table.assessment, **found)
    if table.holders is not None:
        identity, amount = table.holders.identity.copy(), table.holders.amount.copy()
        identity[rows], amount[rows] = -1, 0
        changes["holders"] = Holders(table.holders.count, identity, amount)
    if table.manual is not None:
        manual = table.manual.copy()
        manual[rows] = 0
        changes["manual"] = manual
    many = {level: _many(c, rows) for level, c in table.contributions.items()}
    return table.with_(**changes, contributions=many)


def _many(found: Contributions, rows: Ints) -> Contributions:
    """The same, with nobody large in some rows."""
    top = found.top.copy()
    top[rows] = 0
    own = None if found.own is None else found.own.copy()
    if own is not None:
        own[rows] = 0
    return replace(found, top=top, own=own)
