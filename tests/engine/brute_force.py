"""Tabulation in plain Python, record by record and cell by cell: what the engines must agree with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from hashlib import md5
from itertools import product
from typing import Any

import numpy as np

from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import Table

Record = Mapping[str, Any]


@dataclass
class Sums:
    """What one contributor has in one cell."""

    adds: Fraction = Fraction(0)

    own: Fraction = Fraction(0)
    weighted: Fraction = Fraction(0)


@dataclass
class Cell:
    """Everything about one cell; amounts are plain numbers, not units."""

    records: int = 0
    nonzero: int = 0
    value: Fraction = Fraction(0)
    cost: Fraction = Fraction(0)
    weighted: Fraction = Fraction(0)
    key_sum: Fraction = Fraction(0)
    by_level: dict[str, dict[Any, Sums]] = field(default_factory=dict)
    holders: dict[int, Fraction] = field(default_factory=dict)


def number(value: Any) -> Fraction:
    """The decimal number that was written."""
    return Fraction(str(value))


def cover(hierarchy: Hierarchy, code: str) -> dict[str, int]:
    """Base codes under a code, with signs."""
    for grouping in hierarchy.groupings:
        if grouping.parent == code:
            total: dict[str, int] = {}
            for part, sign in grouping.parts:
                for base, inner in cover(hierarchy, part).items():
                    total[base] = total.get(base, 0) + sign * inner
            return {base: sign for base, sign in total.items() if sign}
    return {code: 1}


def identity_of(value: Any) -> int:
    """A whole number stands for itself, anything else for a hash of its text."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if text.isdecimal() and text.isascii() and (text == "0" or text[0] != "0") and len(text) <= 18:
        return int(text)
    return int.from_bytes(md5(text.encode()).digest()[:8], "big") % 2**62


def brute_force(records: Sequence[Record], spec: TableSpec, data: Microdata, weight: str | None) -> dict[Any, Cell]:
    """All cells of a spec by their codes, empty ones left out unless the spec wants them."""
    covers = [[(code, cover(h, code)) for code in h.codes] for h in spec.hierarchies]
    cells: dict[Any, Cell] = {}
    for combination in product(*covers):
        cell = Cell(by_level={level: {} for level in spec.levels})
        for place, record in enumerate(records):
            sign = 1
            for variable, (_, bases) in zip(spec.variables, combination, strict=True):
                sign *= bases.get(record[variable], 0)
            if sign:
                enter(cell, record, place, sign, spec, data, weight)
        if cell.records or spec.cells == "all":
            cells[tuple(code for code, _ in combination)] = cell
    return cells


def enter(
    cell: Cell, record: Record, place: int, sign: int, spec: TableSpec, data: Microdata, weight: str | None
) -> None:
    w = number(record[weight]) if weight else Fraction(1)
    value = number(record[spec.value]) if spec.value else Fraction(1)
    shadow = number(record[spec.shadow]) if spec.shadow else value
    cell.records += 1
    cell.nonzero += value != 0
    cell.value += sign * value * w
    cell.cost += sign * number(record[spec.cost]) * w if spec.cost else 0
    cell.weighted += sign * w
    cell.key_sum += number(record[data.record_key]) if data.record_key else 0
    for level, contributors in cell.by_level.items():
        who = record[data.contributor] if level == "holding" and data.contributor else place
        sums = contributors.setdefault(who, Sums())
        sums.own += sign * shadow
        sums.weighted += sign * shadow * w
        sums.adds += sign * value * w
    who = identity_of(record[data.contributor]) if data.contributor else record.get("place", place)
    cell.holders[who] = cell.holders.get(who, Fraction(0)) + sign * value * w


def replicated(contributors: Sequence[Sums], top: int) -> list[Fraction]:
    """The largest contributions when each stands there as often as its weight says."""
    shares = [Fraction(0)] * top
    filled = Fraction(0)
    for sums in sorted(contributors, key=lambda s: (s.own, s.weighted), reverse=True):
        if sums.own <= 0:
            break
        left = sums.weighted / sums.own
        while left > 0 and filled < top:
            part = min(left, int(filled) + 1 - filled)
            shares[int(filled)] += part * sums.own
            filled += part
            left -= part
    return shares


def assert_agrees(table: Table, records: Sequence[Record], data: Microdata, weight: str | None) -> None:
    """Every column of a table against brute force."""
    spec = table.spec
    cells = brute_force(records, spec, data, weight)
    found = [table.spec_codes(row) for row in table.codes.tolist()]
    positions = {codes: [h.index[c] for h, c in zip(spec.hierarchies, codes, strict=True)] for codes in cells}
    assert found == sorted(cells, key=positions.__getitem__)
    expected = [cells[codes] for codes in found]
    unit = 10**table.decimals
    shadow_unit = 10**table.shadow_decimals
    assert table.value.tolist() == [cell.value * unit for cell in expected]
    assert table.records is not None
    assert table.records.tolist() == [cell.records for cell in expected]
    assert table.empty.tolist() == [cell.records == 0 for cell in expected]
    if weight:
        assert table.weighted is not None
        assert table.weighted.tolist() == [cell.weighted * 10**table.weight_decimals for cell in expected]
    else:
        assert table.weighted is None
    if spec.cost:
        assert table.cost is not None
        np.testing.assert_allclose(table.cost, [float(cell.cost) for cell in expected], rtol=1e-12, atol=1e-12)
    if data.record_key:
        assert table.key_sum is not None
        modulus = table.key_modulus
        wanted = [cell.key_sum * modulus % modulus if modulus else cell.key_sum for cell in expected]
        assert table.key_sum.tolist() == wanted
    assert_holders_agree(table, expected, data)
    assert list(table.contributions) == list(spec.levels)
    for level in spec.levels:
        assert_contributions_agree(table, level, expected, records, data, weight, shadow_unit)


def counts_records(spec: TableSpec, data: Microdata) -> bool:
    """Whether every record counts as one, so that nobody needs to know who it is."""
    signed = any(sign < 0 for h in spec.hierarchies for c in h.codes for sign in cover(h, c).values())
    return not (spec.value or spec.shadow or data.contributor or data.waiver or data.request or signed)


def assert_holders_agree(table: Table, cells: Sequence[Cell], data: Microdata) -> None:
    found = table.holders
    if not table.spec.holders or counts_records(table.spec, data):
        assert found is None
        return
    if found is None:
        # A sum that subtracts something is not signed as long as no record lies there.
        assert table.spec.value is None
        return
    assert found.count.tolist() == [len(cell.holders) for cell in cells]
    for row, cell in enumerate(cells):
        largest = sorted(cell.holders.items(), key=lambda holder: (-abs(holder[1]), holder[0]))[:3]
        largest += [(-1, Fraction(0))] * (3 - len(largest))
        assert found.identity[row].tolist() == [who for who, _ in largest]
        assert found.amount[row].tolist() == [amount * 10**table.decimals for _, amount in largest]


def assert_contributions_agree(
    table: Table,
    level: str,
    cells: Sequence[Cell],
    records: Sequence[Record],
    data: Microdata,
    weight: str | None,
    unit: int,
) -> None:
    found = table.contributions[level]
    top = table.spec.top
    whose = {
        place: r[data.contributor] if level == "holding" and data.contributor else place
        for place, r in enumerate(records)
    }
    waived = (
        {who: all(records[p][data.waiver] for p in whose if whose[p] == who) for who in whose.values()}
        if data.waiver
        else {}
    )
    asked = (
        {who: {records[p][data.request] for p in whose if whose[p] == who} for who in whose.values()}
        if data.request
        else {}
    )
    assert found.count.tolist() == [len(cell.by_level[level]) for cell in cells]
    some = [sum(sums.adds != 0 for sums in cell.by_level[level].values()) for cell in cells]
    assert found.nonzero is not None
    assert found.nonzero.tolist() == some
    assert table.nonzero is None if table.spec.value is None else table.nonzero.tolist() == [c.nonzero for c in cells]
    below = [any(sums.own < 0 for sums in cell.by_level[level].values()) for cell in cells]
    assert found.negative.tolist() == below
    if table.spec.absolute:
        for cell in cells:
            for sums in cell.by_level[level].values():
                sums.own, sums.weighted = abs(sums.own), abs(sums.weighted)
    total = [sum(sums.weighted for sums in cell.by_level[level].values()) for cell in cells]
    assert found.total.tolist() == [amount * unit for amount in total]
    for row, cell in enumerate(cells):
        contributors = cell.by_level[level]
        own = {who: sums.own for who, sums in contributors.items()}
        positive = sorted((amount for amount in own.values() if amount > 0), reverse=True)
        once = ([a * unit for a in positive] + [0] * top)[:top]
        if weight:
            assert found.own is not None
            assert found.own_total is not None
            assert found.own[row].tolist() == once
            assert found.own_total[row] == sum(own.values()) * unit
            # A holding with several weights has a mean weight, and its shares need not be whole units.
            wanted = [float(share * unit) for share in replicated(list(contributors.values()), top)]
            if any(sums.own > 0 and sums.weighted < sums.own for sums in contributors.values()):
                # Amounts of both signs can leave a holding a mean weight below one, which uses up the list of the
                # largest: its last entry then stands for those that it left out, none of which is larger.
                assert np.all(found.top[row] >= np.array(wanted) - 0.5 - 1e-6)
            else:
                np.testing.assert_allclose(found.top[row], wanted, rtol=0, atol=0.5 + 1e-6)
        else:
            assert found.own is found.own_total is None
            assert found.top[row].tolist() == once
        if data.waiver:
            assert found.unwaived is not None
            known = [max(amount, 0) * unit for who, amount in own.items() if not waived[who]]
            assert found.unwaived[row] == max(known, default=-1)
        if data.request:
            assert found.requested is not None
            for code in (1, 2):
                known = [max(amount, 0) * unit for who, amount in own.items() if code in asked[who]]
                assert found.requested[row, code - 1] == max(known, default=-1)


def assert_same_table(one: Table, other: Table) -> None:
    """Two tables that agree in every column, to the last unit."""
    plain = ("name", "value", "weight", "decimals", "period", "cells", "top", "levels", "holders", "shadow", "cost")
    for name in (*plain, "where"):
        assert getattr(one.spec, name) == getattr(other.spec, name), name
    for name in ("decimals", "shadow_decimals", "weight_decimals", "key_modulus", "from_records"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("codes", "value", "empty", "records", "nonzero", "weighted", "key_sum", "cost"):
        assert_same_column(getattr(one, name), getattr(other, name), name)
    assert list(one.contributions) == list(other.contributions)
    for level, contributions in one.contributions.items():
        for name in (column.name for column in fields(contributions)):
            assert_same_column(getattr(contributions, name), getattr(other.contributions[level], name), name)
    assert (one.holders is None) == (other.holders is None)
    if one.holders is not None:
        for name in ("count", "identity", "amount"):
            assert_same_column(getattr(one.holders, name), getattr(other.holders, name), name)


def assert_same_column(one: Any, other: Any, name: str) -> None:
    assert (one is None) == (other is None), name
    if one is not None:
        np.testing.assert_array_equal(one, other, err_msg=name)
        assert one.dtype == other.dtype, name
