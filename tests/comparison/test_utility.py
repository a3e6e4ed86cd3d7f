"""Utility of releases: levels, imputation, flags and refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.model.release import Release


def table() -> ds.Table:
    return ds.examples.small_table().assess(ds.PPercent(10))


@pytest.fixture(scope="module")
def suppressed() -> Release:
    return ds.protect(table(), ds.Suppress())


@pytest.fixture(scope="module")
def rounded() -> Release:
    return ds.protect(table(), ds.Round(base=10))


def test_withheld_cells_need_an_imputation(suppressed):
    with pytest.raises(ParameterError, match="imputation='zero', 'row_mean'"):
        ds.utility(suppressed)
    with pytest.raises(ParameterError, match="not known"):
        ds.utility(suppressed, imputation="mean")


@pytest.mark.parametrize("way", ["row_mean", "weighted"])
def test_filling_from_rows_keeps_their_totals(suppressed, way):
    found = suppressed.utility(imputation=way)
    assert found["totals_absolute"] == pytest.approx(0)
    assert found["absolute_distance"] > 0


def test_filling_by_zero_loses_what_is_withheld(suppressed):
    public = suppressed.public.tables[0]
    true = suppressed.custodian.tables.tables[0]
    inner = np.all(true.codes > 0, axis=1) & ~public.shown
    found = suppressed.utility(imputation="zero")
    assert found["total"] == -true.values[inner].sum()


def test_what_is_withheld_is_counted_by_level(suppressed):
    found = suppressed.utility(imputation="zero")
    public = suppressed.public.tables[0]
    assert found["withheld_cells"] == (~public.shown).sum() == 4
    assert found["withheld_value"] == -found["total"]
    assert found["withheld_contributors"] == 36


def test_every_level_is_measured(rounded):
    frame = rounded.utility().to_frame("pandas")
    assert set(frame.level) == {"finest", "trade 0, region 0", "trade 0, region 1", "trade 1, region 0"}
    total = frame[(frame.level == "trade 0, region 0") & (frame.measure == "total")]
    assert total.original.item() == 920
    only = rounded.utility(levels=False).to_frame("pandas")
    assert set(only.level) == {"finest"}


def test_rows_can_be_another_variable(rounded):
    one, other = rounded.utility(), rounded.utility(rows="region")
    assert one["cramers_v_change"] == pytest.approx(other["cramers_v_change"])
    with pytest.raises(ParameterError, match="no variable 'area'"):
        rounded.utility(rows="area")


def test_other_tables_are_refused(rounded):
    other = ds.examples.small_table()
    renamed = other.with_(spec=dataclasses.replace(other.spec, name="other"))
    with pytest.raises(InputError, match="not \\['other'\\]"):
        ds.utility(rounded, renamed)
    with pytest.raises(InputError, match="cells"):
        ds.utility(rounded, other.at(np.arange(15)))
    with pytest.raises(ParameterError, match="Cannot measure"):
        ds.utility(other)


def test_a_release_that_does_not_verify_is_measured_and_flagged(rounded):
    custodian = rounded.custodian
    wrong = (custodian.published[0] + np.eye(1, 16, 5, dtype=np.int64)[0],)
    forged = dataclasses.replace(custodian, published=wrong)
    found = ds.utility(Release(forged.public(), forged))
    assert found.refused
    assert found.summary().startswith("NOT VERIFIED")
    assert not rounded.utility().refused


def test_unknown_measures_are_named(rounded):
    with pytest.raises(ParameterError, match="Did you mean 'hellinger'"):
        rounded.utility()["helinger"]


def test_withheld_row_totals_are_estimated_from_the_whole():
    cells = {
        "a": ["T", "T", "T", "x", "x", "x", "y", "y", "y"],
        "b": ["T", "u", "v"] * 3,
        "value": [100, 40, 60, 30, 10, 20, 70, 30, 40],
        "status": ["V", "V", "V", "U", "U", "V", "M", "M", "V"],
    }
    import pyarrow as pa

    by = {"a": ds.Hierarchy.flat(["x", "y"], total="T"), "b": ds.Hierarchy.flat(["u", "v"], total="T")}
    given = ds.Table.from_cells(pa.table(cells), by=by)
    from discreet.comparison.utility import _Filling, _finest
    from discreet.model.public import public_table

    public = public_table(given, np.isin(cells["status"], ["U", "M"]))
    finest = _finest(given)
    filling = _Filling(given, public, 0, "row_mean", finest)
    grid = filling.grid(finest)
    # Half of 100 is left for each row; 20 and 40 are shown.
    assert grid.published.tolist() == [30, 20, 10, 40]
    assert "2 row totals" in filling.notes()[0]
    # Withheld totals are the sums of what was filled.
    assert filling.grid(given.codes[:, 1] == 0).published.tolist() == [100, 50, 50]


def test_withheld_cells_between_are_sums_of_filled_finest_ones():
    """An unbalanced hierarchy: cells at one depth do not add up to the total, those of base codes do."""
    from discreet.comparison.utility import _Filling, _finest
    from discreet.model.public import public_table

    tree = ds.Hierarchy.from_parents({"A": "T", "B": "T", "A1": "A", "A2": "A"}, "T")
    flat = ds.Hierarchy.flat(["x", "y"], total="S")
    import pyarrow as pa

    value = {"T": (60, 40), "A": (30, 10), "B": (30, 30), "A1": (10, 5), "A2": (20, 5)}
    rows = [(c, r, v) for c, (x, y) in value.items() for r, v in (("S", x + y), ("x", x), ("y", y))]
    cells = pa.table({"c": [r[0] for r in rows], "r": [r[1] for r in rows], "value": [r[2] for r in rows]})
    given = ds.Table.from_cells(cells, by={"r": flat, "c": tree})
    names = [given.spec_codes(codes) for codes in given.codes]
    hidden = np.array([name in {("x", "A"), ("x", "A1"), ("x", "B")} for name in names])
    finest = _finest(given)
    filling = _Filling(given, public_table(given, hidden), 0, "row_mean", finest)
    found = dict(zip(names, filling.filled.tolist(), strict=True))
    assert (found["x", "A1"], found["x", "B"]) == (20, 20)
    assert found["x", "A"] == 40
