"""Multiplicative noise: caps of every cell, single contributors, unchanged counts, additivity."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import counted
from discreet.model.arrays import Bools, Ints
from discreet.model.claims.noise import ONE_FACTOR, multiplied_statement, noise_claim
from discreet.model.table import Table
from discreet.verify.altered import Altered

KIND = "multiplicative_noise"


def check_multiplied(a: Altered) -> None:
    """No cell moved by more than its own share allows, single contributors far enough, counts not at all."""
    verdict, ground, evidence, published = a.verdict, a.ground, a.evidence, a.published
    method = evidence.method
    least, most = Fraction(str(method["a"])), Fraction(str(method["b"]))
    if not 1 < least < most < 2:
        verdict.refuse(KIND, "factors do not lie where they must")
        return
    columns = evidence.parts["altered"]
    if any(len(column) != len(published) for column in columns.values()):
        verdict.refuse(KIND, "there is not one sum for every cell")
        return
    before = len(verdict.refused)
    found = {"too_noisy": 0, "sensitive": 0, "unprotected": 0}
    wrong = np.zeros(len(published), np.bool_)
    near = np.zeros(len(published), np.bool_)
    for number, table in enumerate(ground.tables):
        first = int(ground.first[number])
        rows = slice(first, first + len(table))
        mine = {name: column[rows] for name, column in columns.items()}
        scale = 10 ** (evidence.decimals - table.decimals)
        if np.any(mine["value"].astype(object) * scale != published[rows]):
            verdict.refuse(KIND, "a value is not what the records add up to", table.name)
        moved = [abs(x) for x in (mine["value"].astype(object) - table.value.astype(object)).tolist()]
        if table.spec.value is None:
            wrong[rows] = np.array([m != 0 for m in moved], np.bool_)
            continue
        if not table.spec.weight and np.any(mine["own"] != table.value):
            verdict.refuse(KIND, "own shares are not the values of a table without weights", table.name)
        many = _records(table)
        wrong[rows] = _beyond(moved, mine["own"], most - 1, many)
        near[rows] = _short(table, moved, mine["own"], least - 1)
        _count(method, table, mine, moved, found)
    a.refuse_where(wrong, "a value moved further than the factors allow")
    a.refuse_where(near, "the value of a single contributor moved too little")
    a.refuse_where(a.empty & (published != 0), "an empty cell got a value")
    a.check_additive()
    p = method["p"]
    statement = multiplied_statement(float(least), float(most), p, found)
    variables = {table.spec.value for table in ground.tables} - {None}
    left_out = () if method["factors"] == "variable" or len(variables) < 2 else (ONE_FACTOR,)
    claim = noise_claim(KIND, statement, additive=True, **a.marks, left_out=left_out)
    a.claims(claim)
    verdict.take_for_granted(
        "factors and directions of single records, own shares where there are weights, and the two largest companies",
        "method",
    )
    verdict.prove(f"{claim.statement} ({counted(len(published), 'cell')})", before)


def _records(table: Table) -> list[int]:
    """How many records were rounded in each cell."""
    return [len(table)] * len(table) if table.records is None else table.records.tolist()


def _beyond(moved: list[int], own: Ints, most: Fraction, many: list[int]) -> Bools:
    """Values that moved by more than the largest factor and less than a unit a record, for rounding up."""
    cells = zip(moved, own.tolist(), many, strict=True)
    return np.array([m > 0 and m >= most * o + n for m, o, n in cells], np.bool_)


def _short(table: Table, moved: list[int], own: Ints, least: Fraction) -> Bools:
    """Cells of one contributor that moved by less than the least factor, and not to zero.

    One contributor is also who has all of a value where others report nothing.
    """
    holding = table.contributions.get("holding")
    if holding is None:
        return np.zeros(len(table), np.bool_)
    alone = np.asarray(holding.count == 1)
    if not table.spec.weight and table.spec.shadow is None and holding.top.shape[1]:
        alone = alone | np.asarray((holding.top[:, 0] == table.value) & ~table.empty)
    rows = zip(alone.tolist(), moved, own.tolist(), table.value.tolist(), strict=True)
    return np.array([s and m < least * abs(o) and m < abs(v) for s, m, o, v in rows], np.bool_)


def _count(
    method: Mapping[str, Any], table: Table, mine: Mapping[str, Ints], moved: list[int], found: dict[str, int]
) -> None:
    """Flagged, sensitive and unprotected cells."""
    if method["limit"] is not None:
        limit = Fraction(str(method["limit"]))
        found["too_noisy"] += sum(m > limit * abs(v) for m, v in zip(moved, table.value.tolist(), strict=True))
    if method["p"] is None:
        return
    share, unit = Fraction(str(method["p"])) / 100, method["round_unit"]
    step = None if unit is None else Fraction(str(unit)) * 10**table.decimals
    cells = zip(table.value.tolist(), mine["first"].tolist(), mine["second"].tolist(), moved, table.empty, strict=True)
    for value, one, two, move, empty in cells:
        rest = Fraction(value - one - two)
        if step is not None:
            rounded = step * ((value / step + Fraction(1, 2)) // 1)
            rest += abs(step / 2 - abs(value - rounded))
        needed = share * one - rest
        if needed > 0 and not empty:
            found["sensitive"] += 1
            found["unprotected"] += int(move < needed)
