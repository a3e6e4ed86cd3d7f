"""Rank swapping: what it keeps, how far values go, and what is refused."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.records.ordered_values import order_of
from discreet.records.rank_swapping_kernels import paired_ranks
from discreet.verify.records.rank_kernels import drawn_partners

KEY = ds.Key(bytes(range(32)))


@given(st.integers(1, 80), st.integers(1, 90), st.integers(0, 999))
@settings(max_examples=80, deadline=None)
def test_pairs_have_each_other_within_reach(many, reach, seed):
    partner = paired_ranks(np.random.default_rng(seed).random(many), reach)
    ranks = np.arange(many)
    assert np.array_equal(partner[partner], ranks)
    assert np.abs(partner - ranks).max() <= reach
    assert (partner == ranks).sum() == many % 2


@given(st.integers(1, 80), st.integers(1, 90), st.integers(0, 999))
@settings(max_examples=80, deadline=None)
def test_partners_are_drawn_among_all_that_are_free(many, reach, seed):
    """Against a list of free ranks, and against the checker's own way."""
    fraction = np.random.default_rng(seed).random(many)
    partner, free = list(range(many)), [True] * many
    for rank in range(many):
        near = [other for other in range(rank + 1, min(rank + reach, many - 1) + 1) if free[other]]
        if free[rank] and near:
            other = near[int(fraction[rank] * len(near))]
            partner[rank], partner[other], free[other] = other, rank, False
        free[rank] = False
    assert paired_ranks(fraction, reach).tolist() == partner
    assert drawn_partners(fraction, reach).tolist() == partner
    assert sum(one == rank for rank, one in enumerate(partner)) == many % 2


@given(st.one_of(st.lists(st.floats(allow_nan=False)), st.lists(st.integers(-(2**63), 2**63 - 1))))
def test_values_are_ordered_with_equal_ones_as_they_stand(values):
    column = np.array(values, np.int64 if values and isinstance(values[0], int) else np.float64)
    assert order_of(column).tolist() == np.argsort(column, kind="stable").tolist()


def test_values_that_agree_in_their_upper_bits_are_told_apart():
    draw = np.random.default_rng(2)
    for column in (np.append(draw.integers(0, 2**20, 300), 2**62), 1.0 + draw.integers(0, 50, 300) * 2.0**-52):
        assert order_of(column).tolist() == np.argsort(column, kind="stable").tolist()


def firms(rows: int = 200, **roles: object) -> ds.Microdata:
    draw = np.random.default_rng(3)
    sales = np.round(draw.lognormal(5, 1, rows), 2)
    table = pa.table(
        {
            "sales": sales,
            "staff": np.round(sales / 50 + draw.uniform(0, 2, rows)).astype(int),
            "profit": pa.array([None if i % 7 == 0 else float(v) for i, v in enumerate(np.round(sales * 0.1, 1))]),
            "area": draw.choice(["n", "s"], rows),
        }
    )
    return ds.Microdata(table, numeric=["sales", "staff", "profit"], **roles)


def ranks_moved(old: list, new: list) -> int:
    """How many ranks the farthest value went at least."""
    known = sorted(value for value in old if value is not None)
    farthest = 0
    for a, b in zip(old, new, strict=True):
        if a is not None and a != b:
            low, high = min(a, b), max(a, b)
            farthest = max(farthest, known.index(high) - (len(known) - 1 - known[::-1].index(low)))
    return farthest


@pytest.mark.parametrize("share", [0.02, 0.1, 1.0])
def test_every_column_keeps_its_values_and_none_goes_too_far(share):
    data = firms()
    release = ds.protect(data, ds.RankSwap(share=share), key=KEY, keep_order=True)
    assert not release.verify().refused
    shown = release.public.records.shown()
    for name in ("sales", "staff", "profit"):
        old = data.source[name].to_pylist()
        assert Counter(shown[name]) == Counter(old)
        assert [value is None for value in shown[name]] == [value is None for value in old]
        known = sum(value is not None for value in old)
        assert ranks_moved(old, shown[name]) <= int(share * known)
    assert sum(a == b for a, b in zip(shown["sales"], data.source["sales"].to_pylist(), strict=True)) <= 4


def test_columns_that_are_exchanged_together_stay_together():
    data = firms()
    release = ds.protect(data, ds.RankSwap(["sales", "staff"], 0.3, joint=True), key=KEY)
    shown = release.public.records.shown()
    assert Counter(zip(shown["sales"], shown["staff"], strict=True)) == Counter(
        zip(data.source["sales"].to_pylist(), data.source["staff"].to_pylist(), strict=True)
    )
    assert not release.verify().refused


def test_nothing_leaves_its_stratum():
    data = firms(strata=["area"])
    release = ds.protect(data, ds.RankSwap(share=1.0), key=KEY)
    shown = release.public.records.shown()
    for area in "ns":
        new = Counter(v for v, a in zip(shown["sales"], shown["area"], strict=True) if a == area)
        old = zip(data.source["sales"].to_pylist(), data.source["area"].to_pylist(), strict=True)
        assert new == Counter(v for v, a in old if a == area)
    assert not release.verify().refused


def test_codes_for_unknown_stay_and_dates_are_exchanged():
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(12)]
    table = pa.table({"day": days, "x": [99, 99, *range(10)]})
    data = ds.Microdata(table, numeric=["x"], keys=["day"], missing_codes={"x": ["99"]})
    release = ds.protect(data, ds.RankSwap(["day", "x"], 0.5), key=KEY, keep_order=True)
    shown = release.public.records.shown()
    assert shown["x"][:2] == [99, 99]
    assert sorted(shown["x"][2:]) == list(range(10))
    assert shown["day"] != days
    assert sorted(shown["day"]) == days
    assert not release.verify().refused


def test_a_share_and_not_a_percentage():
    with pytest.raises(ParameterError, match="at most 1"):
        ds.RankSwap(share=5)


def test_bad_input_is_refused_in_words():
    with pytest.raises(InputError, match=r"Empty fields stand in 'profit', and columns are exchanged together"):
        ds.protect(firms(), ds.RankSwap(joint=True), key=KEY)
    with pytest.raises(InputError, match="holds string, which has no order"):
        ds.protect(firms(), ds.RankSwap(["area"]), key=KEY)
    with pytest.raises(NeedsError, match="which columns it is about"):
        ds.protect(ds.Microdata(pa.table({"x": [1, 2]})), ds.RankSwap(), key=KEY)
    with pytest.raises(ProtectionError, match=r"No value of 'sales' changed.*Raise share"):
        ds.protect(firms(), ds.RankSwap(["sales"], 0.001), key=KEY)
    with pytest.raises(ParameterError, match="Column 'w' is a weight"):
        ds.protect(ds.Microdata(pa.table({"w": [1.0, 2.0]}), weight="w"), ds.RankSwap(["w"]), key=KEY)


@pytest.mark.parametrize("share", [1 / 3, 2 / 3, 0.29, 0.07, 0.1])
def test_shares_that_are_no_round_numbers(share):
    """A third of 300 is 99 ranks where 0.3333333333333333 is stated; method and checker must agree on it."""
    data = ds.Microdata(pa.table({"sales": np.arange(300)}), numeric="sales")
    release = ds.protect(data, ds.RankSwap(share=share), key=ds.Key(bytes(32)))
    assert release.verify().holds


@pytest.mark.parametrize("again", [ds.RankSwap("sales", 0.1, version=2), ds.RankSwap(share=0.3)])
def test_a_second_exchange_would_bring_values_back(again):
    data = ds.Microdata(pa.table({"sales": np.arange(20), "staff": np.arange(20)}), numeric=["sales", "staff"])
    with pytest.raises(ParameterError, match="Values of column 'sales' are exchanged twice"):
        ds.protect(data, [ds.RankSwap("sales", 0.05), again])
    assert ds.protect(data, [ds.RankSwap("sales", 0.05), ds.RankSwap("staff", 0.05)]).verify().holds
