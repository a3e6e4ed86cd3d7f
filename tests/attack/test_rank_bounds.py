"""Intervals of values before an exchange of ranks."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError

KEY = ds.Key(bytes(range(32)))


def firms(rows: int = 60, **roles: object) -> ds.Microdata:
    draw = np.random.default_rng(8)
    sales = [None if i % 9 == 0 else float(v) for i, v in enumerate(np.round(draw.lognormal(4, 1, rows), 1))]
    table = pa.table(
        {
            "sales": pa.array(sales, pa.float64()),
            "staff": draw.integers(0, 12, rows),
            "code": draw.choice([99, 1, 2, 3, 4, 5], rows),
            "day": [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in draw.integers(0, 400, rows)],
            "area": draw.choice(["n", "s"], rows),
        }
    )
    given = {
        "numeric": ["sales", "staff", "code"],
        "sensitive": ["day"],
        "missing_codes": {"code": ["99"]},
        "strata": ["area"],
    }
    return ds.Microdata(table, **{**given, **roles})


def by_hand(values: list, strata: list, row: int, share: float) -> tuple:
    """The least and greatest value of a rank within reach, looked for one by one."""
    mine = sorted(v for v, s in zip(values, strata, strict=True) if s == strata[row] and v is not None)
    reach = int(share * len(mine))
    near = [
        other
        for i, other in enumerate(mine)
        for j, same in enumerate(mine)
        if same == values[row] and abs(i - j) <= reach
    ]
    return min(near), max(near)


@pytest.mark.parametrize("share", [0.1, 0.4, 1.0])
def test_every_interval_is_that_of_the_ranks_within_reach_and_holds_the_value_before(share):
    release = ds.protect(firms(), ds.RankSwap(["sales", "staff", "code", "day"], share), key=KEY)
    bounds = ds.attack.rank_bounds(release)
    shown = release.public.records.shown()
    for name in ("sales", "staff", "code", "day"):
        values = [None if value == 99 else value for value in shown[name]]
        before = release.custodian.original.columns[name].take(pa.array(release.custodian.order)).to_pylist()
        low, high = (bounds.intervals[f"{name} {end}"].to_pylist() for end in ("from", "to"))
        for row, value in enumerate(values):
            if value is None:
                assert low[row] is None
                assert high[row] is None
            else:
                assert (low[row], high[row]) == by_hand(values, shown["area"], row, share)
                assert low[row] <= before[row] <= high[row]


def test_columns_that_were_exchanged_together_are_known_by_the_first():
    release = ds.protect(firms(), ds.RankSwap(["staff", "day"], 0.2, joint=True), key=KEY)
    bounds = ds.attack.rank_bounds(release)
    shown = release.public.records.shown()
    days = release.custodian.original.columns["day"].take(pa.array(release.custodian.order)).to_pylist()
    for row in range(60):
        low, high = by_hand(shown["staff"], shown["area"], row, 0.2)
        near = [
            shown["day"][other]
            for other in range(60)
            if shown["area"][other] == shown["area"][row] and low <= shown["staff"][other] <= high
        ]
        found = [bounds.intervals[f"day {end}"][row].as_py() for end in ("from", "to")]
        assert min(near) <= found[0] <= days[row] <= found[1] <= max(near)


def test_widths_say_how_much_is_known():
    data = ds.Microdata(pa.table({"x": [0, 0, 0, 0, 0, 0, 1, 5, 9, 30]}), numeric="x")
    bounds = ds.attack.rank_bounds(ds.protect(data, ds.RankSwap(share=0.1), key=KEY))
    # Six zeros among ten values with a reach of one rank: nobody can have come from farther than the 1.
    assert sorted(bounds.widths["x"].tolist()) == [1, 1, 1, 1, 1, 1, 5, 8, 21, 25]
    assert (bounds.median("x"), bounds.least("x"), bounds.known("x")) == (1, 1, 0)
    assert "x: median width 1, least 1, known exactly 0 of 10" in str(bounds)


def test_what_was_not_exchanged_has_no_bounds():
    release = ds.protect(firms(), ds.Recode("staff", top=9), key=KEY)
    with pytest.raises(NeedsError, match="No ranks were exchanged in this release"):
        ds.attack.rank_bounds(release)
    again = ds.protect(firms(), [ds.RankSwap(["staff"], 0.2), ds.Recode("staff", top=9)], key=KEY)
    with pytest.raises(InputError, match="'staff' changed again after the exchange"):
        ds.attack.rank_bounds(again)


def test_the_narrowest_interval_of_lognormal_numbers():
    """Card 003-10 (propensity): 1,000 numbers, a reach of 50 ranks, 200 files; 0.16 in print lies in the upper tail."""
    draw = np.random.default_rng(10)
    widths, clipped, ends = [], [], []
    for _ in range(200):
        values = np.sort(np.exp(draw.normal(size=1000)))
        low, high = (values[np.clip(np.arange(1000) + reach, 0, 999)] for reach in (-50, 50))
        widths.append((high - low)[50:-50].min())
        clipped.append((high - low).min())
        ends.append(values[[0, -1]])
    assert np.mean(widths) == pytest.approx(0.135, abs=0.005)
    assert np.mean(clipped) == pytest.approx(0.133, abs=0.005)
    assert np.mean(ends, axis=0) == pytest.approx([0.041, 26.8], rel=0.1)
    data = ds.Microdata(pa.table({"x": np.round(values, 9)}), numeric="x")
    bounds = ds.attack.rank_bounds(ds.protect(data, ds.RankSwap(share=0.05), key=KEY))
    assert bounds.least("x") == pytest.approx(clipped[-1], abs=1e-8)
