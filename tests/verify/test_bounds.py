"""Which floor everybody is taken to know of each cell, and that the checker works it out by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import ProtectionError
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.verify.bounds import bounds_of
from discreet.verify.check import check_release
from discreet.verify.verdict import Verdict

PLAIN = ds.Hierarchy.flat(["x1", "x2", "x3"])
SIGNED = PLAIN.with_grouping("d", ["x1", "x3"], minus=["x2"])


def tabulated(values: list[float], codes: list[str], hierarchy: ds.Hierarchy = PLAIN, **options: object) -> ds.Table:
    frame = pa.table({"g": codes, "v": values, "firm": [f"f{i}" for i in range(len(codes))]})
    return ds.tabulate(ds.Microdata(frame, contributor="firm"), by={"g": hierarchy}, value="v", **options)


def floors(table: ds.Table) -> dict[str, int | None]:
    """Floor of each code; None where there is none."""
    lower, _ = table.attacker_bounds()
    names = [table.spec_codes(codes)[0] for codes in table.codes.tolist()]
    return {name: None if low <= NO_LOWER else int(low) for name, low in zip(names, lower.tolist(), strict=True)}


def test_absolute_contributions_leave_cells_without_negative_ones_their_floor() -> None:
    table = tabulated([100, 5, 7], ["x1", "x2", "x3"], absolute=True)
    assert floors(table) == {"Total": 0, "x1": 0, "x2": 0, "x3": 0}


def test_a_negative_record_takes_the_floor_from_its_own_cells_only() -> None:
    table = tabulated([100, -5, 7], ["x1", "x2", "x3"], absolute=True)
    assert floors(table) == {"Total": None, "x1": 0, "x2": None, "x3": 0}


def test_a_difference_has_no_floor_and_the_codes_beside_it_keep_theirs() -> None:
    table = tabulated([100, 5, 7], ["x1", "x2", "x3"], SIGNED)
    assert floors(table) == {"Total": 0, "d": None, "x1": 0, "x2": 0, "x3": 0}


def test_a_code_that_only_subtracts_has_a_ceiling() -> None:
    table = tabulated([4, 5], ["x1", "x2"], PLAIN.with_grouping("less", [], minus=["x1"]))
    lower, upper = table.attacker_bounds()
    row = table.row(g="less")
    assert (lower[row], upper[row]) == (NO_LOWER, 0)
    assert (upper[np.arange(len(table)) != row] == NO_UPPER).all()


def test_an_upper_level_that_the_floor_of_another_cell_forbids_is_not_called_reached() -> None:
    """a = 100 must reach 130; beside b = 5 alone it reaches 105."""
    table = tabulated([100, 5, 400], ["x1", "x2", "x3"], absolute=True)
    table = table.marked({("x1",): "U", ("x3",): "P", ("Total",): "P"}, protection=(0, 30)).assess()
    with pytest.raises(ProtectionError):
        ds.protect(table, ds.Suppress(insiders=None))


def test_counts_with_a_signed_grouping_are_not_taken_to_be_negative() -> None:
    """Total and difference stay published, so that x1 + x3 and x2 are known, and x1 cannot exceed their sum."""
    codes = ["x1"] * 2 + ["x2"] * 5 + ["x3"] * 1
    frame = pa.table({"g": codes})
    table = ds.tabulate(frame, by={"g": SIGNED})
    marks = {("x1",): "U", ("Total",): "P", ("d",): "P"}
    with pytest.raises(ProtectionError):
        ds.protect(table.marked(marks, protection=(1, 5)).assess(), ds.Suppress(insiders=None))


@st.composite
def random_table(draw: st.DrawFn) -> ds.Table:
    values = draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8))
    codes = [draw(st.sampled_from(["x1", "x2", "x3"])) for _ in values]
    hierarchy = draw(st.sampled_from([PLAIN, SIGNED]))
    table = tabulated([float(v) for v in values], codes, hierarchy, absolute=True)
    if draw(st.booleans()):
        lower = np.where(draw(st.booleans()), table.value - 2, NO_LOWER).astype(np.int64)
        table = table.with_(lower_bound=np.broadcast_to(lower, len(table)).copy())
    return table


@given(random_table())
@settings(deadline=None, max_examples=60)
def test_the_checker_finds_the_same_bounds_by_code_of_its_own(table: ds.Table) -> None:
    for mine, other in zip(bounds_of(table), table.attacker_bounds(), strict=True):
        assert mine.tolist() == other.tolist()


@given(random_table())
@settings(deadline=None, max_examples=60)
def test_a_cell_has_a_floor_exactly_where_nothing_below_zero_is_in_it(table: ds.Table) -> None:
    plain = table.with_(lower_bound=None)
    found = table.contributions["holding"]
    for row, low in enumerate(plain.attacker_bounds()[0].tolist()):
        difference = table.spec_codes(table.codes[row].tolist())[0] == "d"
        assert (low <= NO_LOWER) == (difference or bool(found.negative[row]))


def released(table: ds.Table) -> ds.Release:
    return ds.protect(table.assess(ds.MinContributors(2)), ds.Suppress(insiders=None))


def forged(release: ds.Release, negative: list[bool]) -> Verdict:
    """The verdict on a release whose cells say otherwise of negative contributions."""
    custodian = release.custodian
    table = custodian.tables.tables[0]
    changed = replace(table.contributions["holding"], negative=np.array(negative))
    tables = custodian.tables.replaced([table.with_(contributions={"holding": changed})])
    return check_release(replace(custodian, tables=tables), release.public)


def test_the_verdict_says_which_floor_is_known_and_how_many_cells_have_none() -> None:
    verdict = released(tabulated([4, 5, 6, 7, -1, 3], ["x1", "x1", "x2", "x2", "x3", "x3"], absolute=True)).verify()
    assert verdict.known == ["table v_by_g: 2 cells are not below 0, 2 cells have none"]
    assert "known beforehand: table v_by_g: 2 cells are not below 0" in str(verdict)


def test_a_total_that_alone_has_a_negative_contribution_is_refused() -> None:
    release = released(tabulated([4, 5, 6, 7], ["x1", "x1", "x2", "x2"]))
    verdict = forged(release, [True, False, False])
    messages = [str(refusal) for refusal in verdict.refused]
    assert any("a sum has a negative contribution that none of its parts has" in message for message in messages)


def test_a_cell_below_zero_without_a_negative_contribution_is_refused() -> None:
    release = released(tabulated([4, 5, 6, -7], ["x1", "x1", "x2", "x2"], absolute=True))
    messages = [str(refusal) for refusal in forged(release, [False, False, False]).refused]
    assert any("a cell is below zero, but none of its contributions is" in message for message in messages)
