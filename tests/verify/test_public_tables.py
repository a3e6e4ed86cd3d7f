"""Public tables that show, name or leave out anything else than the published cells."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.model.public import PublicRelease, PublicTable
from discreet.verify.public import check_public
from discreet.verify.verdict import Verdict
from tests.verify.forging import BY, counts, firms, made, magnitude

OTHER_SHAPE = "the public table has other variables or another number of cells"
OTHER_CELLS = "the public table lists other cells"
DECIMALS = "the public table has another number of decimals"
DIFFERS = "a published value differs from the custodian's"
NO_INTERVALS = "the public table does not show the intervals that the custodian has"


@cache
def release(kind: str) -> ds.Release:
    if kind == "withheld":
        return ds.protect(counts(cells="all", n=25), ds.Suppress())
    if kind == "decimals":
        table = ds.tabulate(firms(), by=BY, value="value", contributor="company", decimals=2)
        return ds.protect(table.assess(ds.PPercent(15)), ds.Suppress())
    return made(kind)


def refused(kind: str, **changes: Any) -> set[str]:
    """What the checker says of a public table after changes."""
    honest = release(kind)
    verdict = Verdict()
    forged = replace(honest.public.tables[0], **changes)
    check_public(verdict, honest.custodian, PublicRelease((forged, *honest.public.tables[1:])))
    return {refusal.message for refusal in verdict.refused}


def shown(kind: str) -> PublicTable:
    return release(kind).public.tables[0]


def changed(column: np.ndarray, row: int, by: int) -> np.ndarray:
    result = column.copy()
    result[row] = not result[row] if result.dtype == np.bool_ else result[row] + by
    return result


def cut(table: PublicTable, rows: np.ndarray) -> dict[str, Any]:
    ends = {name: getattr(table, name) for name in ("lower", "upper")}
    return {
        **{name: getattr(table, name)[rows] for name in ("codes", "value", "shown", "empty")},
        **{name: None if column is None else column[rows] for name, column in ends.items()},
    }


@pytest.mark.parametrize("kind", ["withheld", "decimals", "round", "intervals", "round-unbiased", "cell-key-whole"])
def test_honest_tables_are_accepted(kind):
    assert refused(kind) == set()


@pytest.mark.parametrize("kind", ["withheld", "round"])
def test_the_tables_are_those_of_the_release(kind):
    assert refused(kind, name="another") == {f"the public tables are not those of the release ({shown(kind).name})"}


# ---- withheld cells -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["withheld", "round"])
def test_variables_and_number_of_cells_are_those_of_the_table(kind):
    for names in (("a", "a"), ("z", "z")):
        assert OTHER_SHAPE in refused(kind, variables=names)
    rows = np.arange(len(shown(kind)))
    assert OTHER_SHAPE in refused(kind, **cut(shown(kind), rows[:-1]))
    assert OTHER_SHAPE in refused(kind, **cut(shown(kind), np.append(rows, 0)))


def test_codes_are_those_of_the_table():
    table = shown("withheld")
    for word in ("A", "z"):
        lists = (tuple(word if code == "N1" else code for code in table.code_lists[0]), table.code_lists[1])
        assert refused("withheld", code_lists=lists) == {OTHER_CELLS}
    for row in (0, len(table) - 1):
        codes = table.codes.copy()
        codes[row, 0] = (codes[row, 0] + 1) % 3
        assert refused("withheld", codes=codes) == {OTHER_CELLS}


def test_an_unaltered_table_does_not_say_that_it_is_altered():
    assert refused("withheld", altered=True) == {"the public table says that its values are altered"}


@pytest.mark.parametrize("change", [{"shown": 0}, {"value": 1}, {"value": -1}])
def test_a_withheld_cell_is_not_shown_nor_kept_below(change):
    table, custodian = shown("withheld"), release("withheld").custodian
    row = int(np.flatnonzero(custodian.withheld(0))[0])
    ((name, by),) = change.items()
    assert refused("withheld", **{name: changed(getattr(table, name), row, by)}) == {"a withheld cell is shown"}


def test_published_cells_are_shown_and_empty_ones_are_not():
    table, custodian = shown("withheld"), release("withheld").custodian
    message = "a published cell is missing, or an empty one is shown"
    for row in (int(np.flatnonzero(table.shown)[0]), int(np.flatnonzero(table.empty)[0])):
        assert message in refused("withheld", shown=changed(table.shown, row, 0))
    for row in (int(np.flatnonzero(table.empty)[0]), int(np.flatnonzero(custodian.withheld(0))[0])):
        assert refused("withheld", empty=changed(table.empty, row, 0)) == {"a cell is marked empty wrongly"}


@pytest.mark.parametrize("by", [-1, 1])
def test_decimals_and_values_are_those_of_the_custodian(by):
    table = shown("decimals")
    assert table.decimals == 2
    assert refused("decimals", decimals=2 + by) == {DECIMALS}
    for row in np.flatnonzero(table.shown).tolist():
        assert refused("decimals", value=changed(table.value, row, by)) == {DIFFERS}


def test_one_pattern_is_the_same_in_every_value_variable():
    custodian = release("withheld").custodian
    table = custodian.tables.tables[0]
    other = magnitude(cells="all").at(np.arange(len(table)))
    assert len(other) == len(table)
    two = replace(
        custodian,
        tables=ds.TableSet([table, other], one_pattern=True),
        status=(custodian.status[0], np.ones(len(other), np.int8)),
    )
    verdict = Verdict()
    check_public(verdict, two, two.public())
    hidden = custodian.withheld(0) & ~other.empty
    assert hidden.any()
    places = [f"{other.name}: {other.cell_name(row)}" for row in np.flatnonzero(hidden).tolist()]
    found = [r.where for r in verdict.refused if r.message == "a cell is withheld in another value variable only"]
    assert found == places


# ---- altered values -----------------------------------------------------------------------------------------


def test_an_altered_table_says_so():
    assert refused("round", altered=False) == {"the public table does not say that its values are altered"}


def test_intervals_are_shown_where_there_are_some_and_only_there():
    zeros = np.zeros(len(shown("round")), np.int64)
    for side in ("lower", "upper"):
        assert refused("round", **{side: zeros}) == {NO_INTERVALS}
        assert refused("intervals", **{side: None}) == {NO_INTERVALS}


@pytest.mark.parametrize("field", ["empty", "shown"])
def test_no_altered_cell_is_empty_or_withheld(field):
    column = changed(getattr(shown("round"), field), 3, 0)
    assert refused("round", **{field: column}) == {"a cell is marked empty among altered values"}


@pytest.mark.parametrize("by", [-1, 1])
def test_altered_values_are_those_of_the_custodian(by):
    table = shown("intervals")
    for name in ("value", "lower", "upper"):
        assert refused("intervals", **{name: changed(getattr(table, name), 2, by)}) == {DIFFERS}
    assert DECIMALS in refused("round", decimals=shown("round").decimals + 1)


def test_altered_values_have_their_decimals():
    custodian = made("round").custodian
    table, before = shown("round"), custodian.published[0]
    finer = replace(custodian.evidence[0], decimals=custodian.evidence[0].decimals + 1)
    tenths = replace(custodian, evidence=(finer,), published=(np.where(before != 0, before * 10 + 1, 0),))
    verdict = Verdict()
    check_public(verdict, tenths, PublicRelease((table,)))
    assert DECIMALS in {refusal.message for refusal in verdict.refused}


def test_a_code_that_no_published_cell_has_is_not_named():
    table = shown("cell-key-whole")
    lists = ((*table.code_lists[0], "N9"), table.code_lists[1])
    message = "the public table names codes that no published cell has"
    assert refused("cell-key-whole", code_lists=lists) == {message}


def test_altered_cells_are_those_of_the_custodian():
    table = shown("round")
    for row in (1, len(table) - 1):
        for by in (-1, 1):
            codes = table.codes.copy()
            codes[row, 0] = (codes[row, 0] + by) % len(table.code_lists[0])
            assert refused("round", codes=codes) == {OTHER_CELLS}


def test_zeros_are_told_where_everything_is_and_only_there():
    """Where all cells were asked for, all are listed; otherwise none that became zero."""
    everything = shown("round-unbiased")
    assert (everything.value == 0).any()
    nonzero = np.flatnonzero(everything.value != 0)
    assert OTHER_SHAPE in refused("round-unbiased", **cut(everything, nonzero))
    custodian = made("round").custodian
    published = custodian.published[0].copy()
    published[4] = 0
    verdict = Verdict()
    check_public(verdict, replace(custodian, published=(published,)), PublicRelease((shown("round"),)))
    assert OTHER_SHAPE in {refusal.message for refusal in verdict.refused}


def test_a_value_below_zero_is_told_like_any_other():
    custodian = made("round").custodian
    published = custodian.published[0].copy()
    published[4] = -5000
    changed = replace(custodian, published=(published,))
    verdict = Verdict()
    check_public(verdict, changed, changed.public())
    assert verdict.holds
