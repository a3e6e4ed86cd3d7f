"""Random rounding of records: where values go, how often, and what stays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, ParameterError

KEY = ds.Key(bytes(range(32)))
MANY = 100_000


def shown(table: dict, method: ds.RoundRandomly, key: ds.Key = KEY, **roles: object) -> dict:
    roles = {"identifier": "id", "numeric": [name for name in table if name not in ("id", "area")]} | roles
    release = ds.protect(ds.Microdata(pa.table(table), **roles), method, key=key, keep_order=True)
    verdict = release.verify()
    assert verdict.holds, verdict
    return release.public.records.shown()


def rounded(
    values: list, bases: object = ((1_000_000, 10_000), (10_000, 1_000), (1_000, 100), (0, 10)), **more
) -> list:
    table = {"id": list(range(len(values))), "x": pa.array(values)}
    return shown(table, ds.RoundRandomly(["x"], bases, **more))["x"]


@pytest.mark.parametrize(("value", "base", "chance"), [(1_222_221, 10_000, 0.2221), (-54_321, 1_000, 0.679)])
def test_draws_without_bias(value, base, chance):
    """Card 003-25: 1,222,221 goes up with 0.2221 (the print has 7,879/1000 for down); -54,321 to -55,000 or -54,000."""
    found = np.array(rounded([value] * MANY))
    lower = value // base * base
    assert set(found.tolist()) == {lower, lower + base}
    error = (chance * (1 - chance) / MANY) ** 0.5
    assert abs((found > lower).mean() - chance) < 4 * error
    assert abs(found.mean() - value) < 4 * error * base


def test_bases_switch_exactly_at_the_sizes():
    """A step beside a multiple can only go to the two multiples of the base that its size calls for."""
    for value, base in [(999_999, 1_000), (1_000_001, 10_000), (9_999, 100), (10_001, 1_000), (999, 10), (1_001, 100)]:
        for sign in (1, -1):
            found = set(rounded([sign * value] * 4_000))
            lower = sign * value // base * base
            assert found <= {lower, lower + base}, value
    assert rounded([1_000_000, 1_010_000, 10_000, 11_000, 1_000, 10, 0, -20]) == [
        1_000_000,
        1_010_000,
        10_000,
        11_000,
        1_000,
        10,
        0,
        -20,
    ]


def test_codes_and_gaps_stay():
    table = {"id": list(range(6)), "x": [-9, -1, None, 0, 4_999, 123_456]}
    found = shown(table, ds.RoundRandomly(keep=[-9]), missing_codes={"x": ["-1"]})["x"]
    assert found[:4] == [-9, -1, None, 0]
    assert found[4] in (4_900, 5_000)
    assert found[5] in (123_000, 124_000)


def test_the_same_value_of_the_same_record_is_rounded_the_same_way_in_every_release():
    """Other columns, another order, other decimals beside it: nothing to average."""
    draw = np.random.default_rng(1)
    values = draw.integers(0, 10**6, 300)
    one = shown({"id": range(300), "x": values}, ds.RoundRandomly("x"))["x"]
    floats = [*(float(v) for v in values[:-1]), 0.25]
    two = shown({"id": range(300), "x": floats, "y": values}, ds.RoundRandomly(["x", "y"]))
    assert one[:-1] == two["x"][:-1]
    assert two["x"][:-1] != two["y"][:-1]
    back = shown({"id": list(range(300))[::-1], "x": values[::-1]}, ds.RoundRandomly("x"))["x"]
    assert back[::-1] == one
    assert shown({"id": range(300), "x": values}, ds.RoundRandomly("x", version=2))["x"] != one


def test_totals_are_added_up_anew():
    draw = np.random.default_rng(2)
    assets, debts = draw.integers(0, 10**6, 200), draw.integers(0, 10**5, 200)
    house, cash = assets // 3, assets - assets // 3
    table = {"id": range(200), "house": house, "cash": cash, "debts": debts, "assets": assets, "worth": assets - debts}
    totals = {"worth": ["assets", "-debts"], "assets": ["house", "cash"]}
    found = shown(table, ds.RoundRandomly(totals=totals))
    for row in range(200):
        assert found["assets"][row] == found["house"][row] + found["cash"][row]
        assert found["worth"][row] == found["assets"][row] - found["debts"][row]
    apart = shown(table, ds.RoundRandomly())
    assert any(apart["assets"][row] != apart["house"][row] + apart["cash"][row] for row in range(200))


def test_a_total_has_gaps_where_it_had_them_and_gaps_count_nothing():
    table = {"id": range(4), "a": [1_234, None, 55, -9], "b": [0.5, 7.25, None, 3.0], "t": [1234.5, 7.25, None, 3.0]}
    found = shown(table, ds.RoundRandomly(["a"], 100, bases_of={"b": 0.5}, totals={"t": ["a", "b"]}, keep=-9))
    assert found["t"][0] in (1200.5, 1300.5)
    assert found["b"][1] in (7.0, 7.5)
    assert found["t"][1] == found["b"][1]
    assert found["t"][2] is None
    assert (found["a"][3], found["t"][3]) == (-9, 3.0)


@given(
    st.lists(st.integers(-(10**7), 10**7), min_size=1, max_size=30),
    st.integers(0, 4),
    st.lists(st.integers(1, 50_000), min_size=1, max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_every_value_becomes_a_multiple_next_to_it(values, decimals, bases):
    sizes = [10**5, 10**3, 0][-len(bases) :]
    pairs = [(size, base) for size, base in zip(sizes, bases, strict=True)]
    scaled = [value / 10**decimals for value in values] if decimals else values
    found = rounded(scaled, pairs)
    for old, new in zip(scaled, found, strict=True):
        base = next(base for size, base in pairs if abs(old) >= size)
        assert new % base == 0
        assert abs(new - old) < base


def test_before_tables():
    table = pa.table({"id": range(50), "area": ["n", "s"] * 25, "x": np.arange(50) * 137})
    data = ds.Microdata(table, identifier="id", numeric="x")
    spec = ds.TableSpec(by={"area": ds.Hierarchy.flat(["n", "s"])}, value="x")
    release = ds.protect(
        data.with_(contributor="id", identifier=()), [ds.RoundRandomly("x"), ds.Round(100)], tables=[spec], key=KEY
    )
    assert not release.verify().refused


def wrong(message: str, kind: type[Exception] = ParameterError, table: dict | None = None, **given) -> None:
    table = table or {"id": range(3), "x": [1, 2, 3], "y": [4, 5, 6], "t": [5, 7, 9]}
    data = ds.Microdata(pa.table(table), identifier="id", numeric=["x", "y"])
    with pytest.raises(kind, match=message):
        ds.protect(data, ds.RoundRandomly(**given), key=KEY)


def test_bad_input_is_refused_in_words():
    wrong(
        r"bases: the sizes \[10, 100, 0\] do not fall.*Give the largest size first", bases=[(10, 1), (100, 5), (0, 1)]
    )
    wrong(r"bases has the base 0\..*above 0", bases=0)
    wrong(r"bases_of\['x'\] has the base -5", bases_of={"x": -5})
    wrong(r"does not say how values below 10 are rounded.*\(0, 10\)", bases=[(10, 5)])
    wrong(r"bases=\(1, 2\) is not allowed.*pairs of a size and a base", bases=(1, 2))
    wrong("more than nine decimals", bases=1e-10)
    wrong("holds what is no number", bases=[("10", 5), (0, 1)])
    wrong("holds whole numbers, and its bases have decimals", bases=0.5)
    wrong(r"keep=\[True\] is not allowed", keep=[True])
    wrong("'t' is to be changed and to be added up", columns=["t"], totals={"t": ["x", "y"]})
    wrong(r"totals= goes in a circle", totals={"t": ["x"], "x": ["t"]})
    wrong(r"3 records have another total in 't' than the sum of its parts \('x'\)", InputError, totals={"t": ["x"]})
    wrong("No part of the total 't' is changed: 'y'", columns=["x"], totals={"t": ["y"]})
    wrong("Column 'id' has the role identifier, and is no part of a total", totals={"t": ["x", "id"]})
    wrong("There is no column 'z'", InputError, totals={"t": ["x", "z"]})
    wrong("code 2 of column 'x' lies among its values", InputError, keep=2)
    codes = {"id": range(3), "x": [10, 11, 11], "y": [20, 30, 40]}
    wrong("A new value of column 'x' would read as one of its codes", InputError, codes, keep=10, bases=10)
    big = {"id": range(2), "x": [2**61, 1], "y": [1, 2]}
    wrong("too large to be rounded exactly", InputError, big, bases=2**61)


def test_a_value_that_would_read_as_unknown_is_refused():
    data = ds.Microdata(pa.table({"x": [96, 97, 96, 97, 100]}), numeric="x", missing_codes={"x": ["100"]})
    with pytest.raises(InputError, match="would read as one of its codes"):
        ds.protect(data, ds.RoundRandomly(bases=10), key=KEY)


def test_records_without_an_identifier_are_told_of():
    data = ds.Microdata(pa.table({"x": [17, 23]}), numeric="x")
    verdict = ds.protect(data, ds.RoundRandomly(), key=KEY).verify()
    assert verdict.holds
    assert any("without an identifier" in words for words in verdict.not_considered)


def test_multiples_are_told_of():
    data = ds.Microdata(pa.table({"id": [1, 2], "x": [10, 20]}), identifier="id", numeric="x")
    release = ds.protect(data, ds.RoundRandomly(), key=KEY)
    assert release.verify().holds
    assert "Every value of 'x' was a multiple of its base already." in release.custodian.log["notes"]
