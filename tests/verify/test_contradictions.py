"""Cell files that contradict themselves are refused, whatever the records are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.model.table import CellStatus, Holders
from discreet.verify import check_release
from discreet.verify.contradictions import check_contradictions
from discreet.verify.verdict import Verdict
from tests.verify.forging import BY, firms

FILLED = "a cell is called empty and has a value, records or contributors"
OUTSIDE = "a value lies outside the bounds that are stated of it"
OTHERS = "the named contributors of a cell are not as many or as large as its contributions"


def table(**options: Any) -> ds.Table:
    return ds.tabulate(firms(), by=BY, value="value", contributor="company", **options)


def refused(found: ds.Table) -> list[tuple[str, str]]:
    verdict = Verdict()
    check_contradictions(verdict, found)
    return [(refusal.message, refusal.where) for refusal in verdict.refused]


def changed(column: np.ndarray, row: int, to: int) -> np.ndarray:
    result = column.copy()
    result[row] = to
    return result


@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"cells": "all"}, {"shadow": "whole"}, {"absolute": True}])
def test_what_the_engine_makes_does_not_contradict_itself(options):
    assert refused(table(**options)) == []


@pytest.mark.parametrize("left", ["value", "records", "contributors"])
def test_nothing_is_in_an_empty_cell(left):
    made, row = table(), 5
    holding = made.contributions["holding"]
    parts: dict[str, Any] = {
        "value": changed(made.value, row, made.value[row] if left == "value" else 0),
        "records": changed(made.records, row, 1 if left == "records" else 0),
        "contributions": {"holding": replace(holding, count=changed(holding.count, row, int(left == "contributors")))},
        "empty": np.arange(len(made)) == row,
        "holders": None,
    }
    name = f"{made.name}: {made.cell_name(row)}"
    assert refused(made.with_(**parts)) == [(FILLED, name)]
    nothing = {"value": changed(made.value, row, 0), "records": None, "contributions": {}}
    assert refused(made.with_(**parts | nothing)) == []


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_values_lie_within_their_bounds(off):
    made, row = table(), 3
    name = f"{made.name}: {made.cell_name(row)}"
    free = {"lower_bound": NO_LOWER, "upper_bound": NO_UPPER}
    for side, broken in (("lower_bound", off > 0), ("upper_bound", off < 0)):
        bound = changed(np.full(len(made), free[side], np.int64), row, int(made.value[row]) + off)
        assert refused(made.with_(**{side: bound})) == ([(OUTSIDE, name)] if broken else [])


def test_named_contributors_are_those_of_the_rules():
    made, row = table(), 4
    holders = made.holders
    assert holders is not None
    name = f"{made.name}: {made.cell_name(row)}"
    for by in (-1, 1):
        fewer = Holders(changed(holders.count, row, int(holders.count[row]) + by), holders.identity, holders.amount)
        assert refused(made.with_(holders=fewer)) == [(OTHERS, name)]
        for k in range(3):
            amount = holders.amount.copy()
            amount[row, k] += by
            other = Holders(holders.count, holders.identity, amount)
            assert refused(made.with_(holders=other)) == [(OTHERS, name)]


@pytest.mark.parametrize(
    ("options", "told"),
    [({}, True), ({"weight": "w"}, False), ({"shadow": "whole"}, False), ({"absolute": True}, False)],
)
def test_contributions_of_something_else_than_the_value_are_not_compared(options, told):
    made = table(**options)
    assert made.holders is not None
    more = Holders(made.holders.count, made.holders.identity, made.holders.amount + 1)
    assert bool(refused(made.with_(holders=more))) is told


def test_a_release_whose_unsafe_cells_are_made_safe_in_the_counts_alone_is_refused():
    """Counts and largest contributions say that many are in every cell; the list of who they are still tells."""
    release = ds.protect(table().assess(ds.PPercent(15), ds.MinContributors(3)), ds.Suppress())
    assert release.verify().holds
    custodian = release.custodian
    made = custodian.tables.tables[0]
    holding, assessment = made.contributions["holding"], made.assessment
    assert assessment is not None
    many = np.where(holding.count > 0, 50, 0)
    harmless = replace(holding, count=many, nonzero=many, top=holding.top // 100)
    nothing = np.zeros(len(made), np.int64)
    safe = replace(assessment, unsafe=nothing > 0, hits=nothing, lower=nothing, upper=nothing)
    forged = replace(
        custodian,
        tables=ds.TableSet([made.with_(contributions={"holding": harmless}, assessment=safe)]),
        status=(np.where(made.empty, CellStatus.EMPTY, CellStatus.SAFE).astype(np.int8),),
        evidence=(),
    )
    assert {refusal.message for refusal in check_release(forged, forged.public()).refused} == {OTHERS}
