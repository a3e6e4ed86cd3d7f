"""Files of records that true releases were refused of: many columns, gaps beside given columns, huge values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds

KEY = ds.Key(bytes(32))


@pytest.mark.parametrize(
    "method",
    [ds.Microaggregate(k=3), ds.MaskResidual(ds.RankSwap(share=0.5), ds.Microaggregate(k=20), most_linked=1)],
    ids=["microaggregate", "mask-residual"],
)
def test_claims_about_many_columns_are_saved_and_loaded(method, tmp_path):
    draw = np.random.default_rng(1)
    names = [f"a_name_that_is_rather_long_{number}" for number in range(45)]
    data = ds.Microdata(pa.table({name: draw.integers(0, 900, 30) for name in names}), numeric=names)
    release = ds.protect(data, method, key=KEY)
    assert len(release.custodian.steps[0].evidence.claim.statement) > 1000
    release.save(tmp_path / "out")
    assert ds.load(tmp_path / "out").verify().holds


def test_given_columns_of_records_that_have_nothing_to_shuffle():
    draw = np.random.default_rng(2)
    rent = [None if row % 7 == 0 else float(value) for row, value in enumerate(draw.lognormal(6, 1, 80).round())]
    data = ds.Microdata(pa.table({"rent": rent, "rooms": draw.integers(1, 40, 80)}), numeric=["rent", "rooms"])
    assert ds.protect(data, ds.Shuffle(["rent"], given=["rooms"]), key=KEY).verify().holds


@pytest.mark.parametrize("second", ["local", "gaussian"])
def test_noise_of_residuals_does_not_depend_on_the_order_of_rows(second):
    """Of huge values, the last bits of a sum are whole units."""
    draw = np.random.default_rng(3)
    table = pa.table({"x": draw.integers(-500, 500, 120) * 10**15, "y": draw.lognormal(8, 1, 120).round()})
    method = ds.MaskResidual(ds.Microaggregate(["x", "y"], 3, "sum"), second, most_linked=1)
    shown = []
    for order in (np.arange(120), draw.permutation(120)):
        release = ds.protect(ds.Microdata(table.take(order), numeric=["x", "y"]), method, key=KEY)
        assert release.verify().holds
        shown.append(release.public.records.columns)
    assert shown[0].equals(shown[1])
