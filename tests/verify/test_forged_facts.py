"""Releases whose evidence is made up so that every sum fits: who is in a place, which rule is broken, what is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.verify.records.multiplied import _short
from tests.verify.forging import UNSAFE, WORDING, Forgery, refused_for

# ---- maps of magnitudes -------------------------------------------------------------------------------------


def contributions(rows: list[tuple[int, int, int]]) -> Mapping[str, Any]:
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return dict(zip(("place", "contributor", "value"), columns.T, strict=True))


def given(f: Forgery) -> list[tuple[int, int, int]]:
    part = f.evidence.parts["contributions"]
    return list(zip(*(part[name].tolist() for name in ("place", "contributor", "value")), strict=True))


def test_a_contributor_who_is_listed_in_parts_counts_once():
    """The true map; everybody in it is listed as three who have a third each."""

    def forge(f: Forgery) -> None:
        f.published[0] = f.true.copy()
        parts = [(p, who, v // 3 + (i < v % 3)) for p, who, v in given(f) for i in range(3)]
        f.part("repaired", **contributions(parts))

    refused_for("redistribute-values", forge, "an occupied place has fewer contributors than the threshold")
    refused_for("redistribute-values", forge, "a place breaks a rule")


def test_a_map_that_shows_the_truth_is_no_repaired_one_whoever_is_said_to_be_there():
    """The true map, with everybody said to be everywhere."""

    def forge(f: Forgery) -> None:
        f.published[0] = f.true.copy()
        everybody = sorted({who for _, who, _ in given(f)})
        sums: dict[int, int] = {}
        for place, _, value in given(f):
            sums[place] = sums.get(place, 0) + value
        share = [
            (p, who, v // len(everybody) + (i < v % len(everybody)))
            for p, v in sums.items()
            for i, who in enumerate(everybody)
        ]
        f.part("repaired", **contributions(share))

    assert refused_for("redistribute-values", forge, "a place that broke a rule shows its true value", alone=True)


def test_no_single_place_that_broke_a_rule_shows_the_truth():
    """All but one of the places that broke a rule; one that did not makes up for it."""
    f = Forgery("redistribute-values")
    honest = f.published[0].copy()
    f.published[0] = f.true.copy()
    moved = f.rows((honest != f.true) & f.finest())
    f.published[0][moved[0]], f.published[0][moved[1]] = f.true[moved[0]] + 1, f.true[moved[1]] - 1
    places = {row: i for i, row in enumerate(f.rows(f.finest()))}
    everybody = sorted({who for _, who, _ in given(f)})
    share = [
        (places[row], who, int(f.published[0][row]) // len(everybody) + (i < f.published[0][row] % len(everybody)))
        for row in places
        for i, who in enumerate(everybody)
        if f.published[0][row] > 0
    ]
    f.part("repaired", **contributions(share))
    said = {refusal.message for refusal in f.verdict().refused}
    assert "a place that broke a rule shows its true value" in said
    assert said <= {WORDING, "a place that broke a rule shows its true value"}


def test_contributions_to_a_map_are_not_below_zero():
    """One who has less than nothing lets another have more."""

    def forge(f: Forgery) -> None:
        part = f.evidence.parts["repaired"]
        rows = np.flatnonzero(part["place"] == part["place"][0])
        value = part["value"].copy()
        value[rows[0]], value[rows[1]] = -1, value[rows[1]] + value[rows[0]] + 1
        f.part("repaired", value=value)

    refused_for("redistribute-values", forge, "a contribution is below zero")


# ---- noise --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("moved", "short"), [(0, True), (9, True), (10, False)])
def test_a_single_contributor_below_zero_moves_far_enough(moved, short):
    frame = pa.table({"g": ["x", "y"], "v": [-100, 7], "firm": ["a", "b"]})
    table = ds.tabulate(frame, by={"g": ds.Hierarchy.flat(["x", "y"])}, value="v", contributor="firm")
    row = table.row(g="x")
    found = _short(table, [moved] * len(table), table.value, Fraction(1, 10))
    assert bool(found[row]) is short


@pytest.mark.parametrize("by", [-1, 1])
def test_an_empty_cell_of_noisy_values_stays_empty(by):
    def forge(f: Forgery) -> None:
        row = f.rows(f.table.empty)[0]
        value = f.evidence.parts["altered"]["value"].copy()
        value[row] += by
        f.published[0][row] += by
        f.part("altered", value=value)

    assert len(refused_for("noise-all", forge, "an empty cell got a value")) == 1


def test_rows_of_a_noise_table_rise():
    def forge(f: Forgery) -> None:
        noise = dict(f.evidence.facts["noise"])
        values = list(noise["values"])
        values[-1], values[-2] = values[-2], values[-1]
        f.facts(noise={**noise, "values": values})

    refused_for("cell-key", forge, "what is stated of the method cannot be used (ValueError)")


def test_small_counts_are_of_counts_alone():
    """A second table that says of itself that it holds values."""

    def forge(f: Forgery) -> None:
        assert f.table.assessment is not None
        unruled = replace(f.table.assessment, rules=(), hits=0 * f.table.value)
        f.tables.append(f.table.with_(spec=f.table.spec.with_(name="again", value="sales"), assessment=unruled))
        f.published.append(f.published[0].copy())
        f.status.append(f.status[0].copy())

    refused_for("small-count", forge, "the base or the tables are not such that this checker knows them")


# ---- which rules a cell breaks ------------------------------------------------------------------------------


@pytest.mark.parametrize("bit", [0, 1])
def test_a_cell_breaks_the_rules_that_it_is_said_to_break(bit):
    for row in range(3):

        def forge(f: Forgery, row: int = row) -> None:
            assert f.table.assessment is not None
            hits = f.table.assessment.hits.copy()
            hits[row] ^= 1 << bit
            f.cells(assessment=replace(f.table.assessment, hits=hits))

        message = "a cell breaks other rules than those that it is said to break"
        (where,) = refused_for("adjust", forge, message, alone=True)
        assert where == f"{Forgery('adjust').table.name}: {Forgery('adjust').table.cell_name(row)}"


def test_what_breaks_a_rule_of_the_offices_own_is_unsafe():
    def forge(f: Forgery) -> None:
        assert f.table.assessment is not None
        assessment = f.table.assessment
        hits = assessment.hits.copy()
        hits[f.rows(f.status[0] != UNSAFE)[0]] |= 4
        f.cells(assessment=replace(assessment, rules=(*assessment.rules, {"kind": "office.own"}), hits=hits))

    message = "a cell is unsafe under the stated rules but not marked unsafe"
    assert len(refused_for("adjust", forge, message, alone=True)) == 1


# ---- what everybody knows -----------------------------------------------------------------------------------


def test_no_count_has_a_floor_below_zero():
    def forge(f: Forgery, floor: int = -1) -> None:
        f.cells(lower_bound=np.full(len(f.table), floor, np.int64))

    message = "a count is said to have a floor below zero"
    assert refused_for("small-count", forge, message)
    honest = Forgery("small-count")
    forge(honest, 0)
    assert honest.verdict().holds
