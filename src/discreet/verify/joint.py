"""Joint dominance, checked a second time: no sum of withheld cells that is known breaks a rule.

Everybody knows the sum of what a relation withholds on one side; and, where a withheld total stands in it, also what
comes of putting the withheld parts of that total in its place. Who is behind such a sum is worked out from the named
contributors of its cells; whoever is not named counts with the most that it can have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.claims.suppression import sums_are_judged
from discreet.model.table import NOBODY, Contributions, Table
from discreet.verify.known import Ground
from discreet.verify.rules import CONCENTRATION, Recheck
from discreet.verify.verdict import Verdict

JUDGED = (*CONCENTRATION, "min_contributors")
MOST = 20

Rows = tuple[int, ...]


def check_joint(verdict: Verdict, ground: Ground, accepted: Ints) -> None:
    """Every sum that is known is safe under the rules of its table, or somebody answers for one of its cells."""
    exempt = set(accepted.tolist())
    for number in range(ground.present):
        table, first = ground.tables.tables[number], int(ground.first[number])
        if not sums_are_judged(table):
            continue
        sums = sorted({rows for rows in _known(ground, number) if not exempt & {first + r for r in rows}})
        if not sums or table.assessment is None:
            continue
        rules = tuple(rule for rule in table.assessment.rules if rule.get("kind") in JUDGED)
        hits = np.zeros(len(sums), np.int64)
        stated = replace(table.assessment, rules=rules, options={}, hits=hits)
        broken = Recheck(_added_up(table, sums).with_(assessment=stated)).unsafe
        for i in np.flatnonzero(broken)[:MOST].tolist():
            cells = "; ".join(table.cell_name(r) for r in sums[i][:3])
            more = f" and {len(sums[i]) - 3} more" if len(sums[i]) > 3 else ""
            verdict.refuse("joint", "withheld cells are known together, and their sum is unsafe", f"{cells}{more}")


def _known(ground: Ground, number: int) -> Iterator[Rows]:
    """Rows of one table whose sum is known."""
    relations, first = ground.relations, int(ground.first[number])
    mine = (relations.row >= first) & (relations.row < first + len(ground.tables.tables[number]))
    mine &= relations.table_sum[relations.relation]
    relation, row, plus = relations.relation[mine], relations.row[mine], relations.positive[mine]
    minus = np.bincount(relation[~plus], minlength=len(relations))
    hidden = ground.hidden[row]
    sides: dict[int, tuple[list[int], list[int]]] = {}
    for r, cell, added in zip(relation[hidden].tolist(), row[hidden].tolist(), plus[hidden].tolist(), strict=True):
        sides.setdefault(r, ([], []))[0 if added else 1].append(cell)
    parts: dict[tuple[int, int], list[int]] = {}
    variables = relations.variable
    for r in sorted(sides):
        added, taken = sides[r]
        if len(taken) == 1 and minus[r] == 1:
            parts.setdefault((int(variables[r]), taken[0]), added)
    count = len(ground.tables.tables[number].variables)
    ways = [[], *([v] for v in range(count)), list(range(count))]
    for added, taken in sides.values():
        if added and taken:
            continue
        for way in ways:
            cells = Counter(added or taken)
            for variable in way:
                cells = _in_parts(cells, variable, parts)
            if len(cells) > 1 and max(cells.values()) == 1 and any(ground.unsafe[c] for c in cells):
                yield tuple(sorted(c - first for c in cells))


def _in_parts(cells: Counter[int], variable: int, parts: dict[tuple[int, int], list[int]]) -> Counter[int]:
    """Each withheld total in its withheld parts, down to the last."""
    whole: Counter[int] = Counter()
    for cell, times in cells.items():
        inner = parts.get((variable, cell))
        if inner is None:
            whole[cell] += times
        else:
            for part, again in _in_parts(Counter(inner), variable, parts).items():
                whole[part] += times * again
    return whole


def _added_up(table: Table, sums: Sequence[Rows]) -> Table:
    """Sums as the cells of a table."""
    groups = [np.array(rows, np.int64) for rows in sums]

    def total(column: Ints | None) -> Ints | None:
        return None if column is None else np.array([int(column[g].sum()) for g in groups], np.int64)

    contributions = {}
    for level, found in table.contributions.items():
        some = None
        if level == "holding":
            judged = [_behind(table, g, found.top.shape[1]) for g in groups]
            if found.nonzero is not None:
                some = [max(_with_value(table, g), int(found.nonzero[g].max())) for g in groups]
        else:
            judged = [(int(found.count[g].sum()), sorted(found.top[g].ravel().tolist(), reverse=True)) for g in groups]
            some = None if found.nonzero is None else [int(found.nonzero[g].sum()) for g in groups]
        top = [amounts[: found.top.shape[1]] for _, amounts in judged]
        contributions[level] = Contributions(
            np.array([count for count, _ in judged], np.int64),
            np.array([int(found.total[g].sum()) for g in groups], np.int64),
            np.array(top, np.int64).reshape(len(groups), -1),
            np.array([bool(found.negative[g].any()) for g in groups], np.bool_),
            nonzero=None if some is None else np.array(some, np.int64),
        )
    nothing = dict.fromkeys(("holders", "manual", "manual_lower", "manual_upper", "lower_bound", "upper_bound", "cost"))
    return table.with_(
        codes=table.codes[[rows[0] for rows in sums]],
        value=total(table.value),
        empty=np.zeros(len(groups), np.bool_),
        records=total(table.records),
        nonzero=total(table.nonzero),
        weighted=total(table.weighted),
        contributions=contributions,
        source=None,
        **nothing,
    )


def _with_value(table: Table, group: Ints) -> int:
    """How many of the contributors that are named in some rows have something there."""
    holders = table.holders
    assert holders is not None
    has: Counter[int] = Counter()
    for who, amount in zip(
        holders.identity[group].ravel().tolist(), holders.amount[group].ravel().tolist(), strict=True
    ):
        has[who] += amount if who != NOBODY else 0
    return sum(amount != 0 for amount in has.values())


def _behind(table: Table, group: Ints, width: int) -> tuple[int, list[int]]:
    """How many contributors a sum has at least, and the most that the largest of them can have, largest first."""
    holders = table.holders
    assert holders is not None
    identity, amount, count = holders.identity[group], holders.amount[group], holders.count[group]
    here = identity != NOBODY
    smallest = np.where(here, amount, np.iinfo(np.int64).max).min(axis=1)
    besides = np.where(here.any(axis=1), smallest, table.value[group])
    besides[count <= here.sum(axis=1)] = 0
    most = []
    for who in np.unique(identity[here]):
        among = identity == who
        most.append(int(amount[among].sum()) + int(besides[~among.any(axis=1)].sum()))
    most += [int(besides.sum())] * width
    unit = 10 ** max(table.shadow_decimals - table.decimals, 0)
    left, capped = int(table.value[group].sum()), []
    for amounts in sorted(most, reverse=True)[:width]:
        capped.append(min(max(amounts, 0), left) * unit)
        left -= min(max(amounts, 0), left)
    return max(int(count.max(initial=0)), len(np.unique(identity[here]))), capped
