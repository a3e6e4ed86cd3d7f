"""Recoded numbers, codes and tails beside plain Python: rounding, limits, ranges of codes, quantiles, profiles."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.recoding import recoded_claim
from discreet.model.records import ColumnInfo, RecordSet
from discreet.verify import check_records
from discreet.verify.records.randomised import BEYOND_CHANCE, _apart, _beyond_chance
from discreet.verify.records.recoded import _at, _is_whole, _limited, _means, _names, _wrongly_limited
from discreet.verify.records.recoded_numbers import multiple, rounded_value, wrongly_rounded
from discreet.verify.records.recoded_tails import MILLION, TailedColumn, _is_limit, _median
from discreet.verify.records.swapped_records import _profiles, _telling


def column(values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


# ---- rounding ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["even", "away"])
def test_the_nearest_multiple(ties):
    for quarters in range(-14, 15):
        number, unit = Fraction(quarters, 4), Decimal("1")
        apart = [(abs(number - whole), whole) for whole in range(-6, 7)]
        nearest = [whole for off, whole in apart if off == min(apart)[0]]
        wanted = nearest[0]
        if len(nearest) == 2:
            wanted = next(w for w in nearest if (w % 2 == 0 if ties == "even" else abs(w) > abs(number)))
        assert multiple(number, unit, ties) == wanted


WHOLE = [-13, -7, -6, -5, -3, -2, -1, 0, 1, 2, 3, 5, 6, 7, 13, 14, 15]
PARTS = [
    -7.55,
    -2.5,
    -0.25,
    -0.05,
    0.0,
    0.05,
    0.15,
    0.25,
    0.37,
    2.5,
    3.5,
    7.5,
    1e14,
    -1e14,
    -1e17,
    123456789.05,
    -123456789.05,
]


@pytest.mark.parametrize("ties", ["even", "away"])
@pytest.mark.parametrize(
    ("values", "kind", "bases"), [(WHOLE, pa.int64(), [2, 3, 4, 5]), (PARTS, pa.float64(), [0.1, 0.5, 1.0, 2.0])]
)
def test_numbers_that_were_rounded_wrongly_are_counted(values, kind, bases, ties):
    for base in bases:
        right = [rounded_value(value, base, ties) for value in values]
        old = column([*values, None], kind)
        assert wrongly_rounded(old, column([*right, None], kind), base, ties) == 0
        for more in (-2, -1, -0.5, 0.5, 1, 2):
            for place, value in enumerate(right):
                lie = value + (int(more * base) or 1 if kind == pa.int64() else more * base)
                if lie == value:
                    continue
                told = column([*right[:place], lie, *right[place + 1 :], None], kind)
                wrong = wrongly_rounded(old, told, base, ties)
                # The floating-point neighbour of a multiple that is not the nearest is wrong in two ways.
                assert wrong in ({1} if kind == pa.int64() else {1, 2}), (base, value, lie)


def test_rounding_that_cannot_be():
    old = column([1, 2, 3], pa.int64())
    assert wrongly_rounded(old, column([1, 2, 3], pa.int64()), 1, "even") == 0
    assert wrongly_rounded(old, column([1.0, 2.0, 3.0], pa.float64()), 1, "even") == 3
    assert wrongly_rounded(old, column([1, None, 3], pa.int64()), 1, "even") == 3
    assert wrongly_rounded(old, column([1, 2, 3], pa.int64()), 1, "odd") == 3
    assert wrongly_rounded(old, column([1, 2, 3], pa.int64()), 0.5, "even") == 3
    assert wrongly_rounded(*[column([None], pa.int64())] * 2, 5, "even") == 0


@pytest.mark.parametrize("base", [-5.0, -5, 0, -0.5])
@pytest.mark.parametrize(("kind", "shown"), [(pa.float64(), [1000.0, -995.0, 5.0]), (pa.int64(), [12, 13, 7])])
def test_multiples_of_what_is_not_above_zero(base, kind, shown):
    """Any multiple would be near enough to any number."""
    data = ds.Microdata(pa.table({"x": pa.array([12, 13, 7], kind)}))
    custodian = ds.protect(data, ds.Recode("x", base=5), keep_order=True).custodian
    (step,) = custodian.steps
    method = {**step.evidence.method, "base": base}
    evidence = replace(step.evidence, method=method, claim=recoded_claim(method, {}))
    forged = replace(step, evidence=evidence, changed=pa.table({"x": pa.array(shown, kind)}))
    lie = replace(custodian, steps=(forged,))
    found = [refusal.message for refusal in check_records(lie, lie.public()).refused]
    assert found == ["numbers are said to be rounded to multiples of a number that is not above zero"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (2**61, -(2**61)),
        (-(2**61), 2**61),
        (-(2**62), 0),
        (2**62, 0),
        (0, 2**62),
        (0, -(2**62)),
        (-(2**63), 0),
        (0, -(2**63)),
    ],
)
def test_whole_numbers_whose_distance_64_bits_do_not_hold_are_not_taken_for_near(old, new):
    """The lowest of them would be its own opposite."""
    assert wrongly_rounded(column([old], pa.int64()), column([new], pa.int64()), 2, "even") == 1


# ---- limits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()])
@pytest.mark.parametrize(("top", "bottom"), [(5, None), (None, 2), (5, 2)])
def test_numbers_that_limits_make_of_others(kind, top, bottom):
    values = [value / 2 for value in range(14)] if kind == pa.float64() else list(range(8))
    right = [min(max(v, -99 if bottom is None else bottom), 99 if top is None else top) for v in values]
    old = column([*values, None], kind)
    assert _wrongly_limited(old, column([*right, None], kind), top, bottom) == 0
    assert _wrongly_limited(old, old, top, bottom) == sum(a != b for a, b in zip(values, right, strict=True))
    assert _wrongly_limited(column([1], pa.int64()), column([1.0], pa.float64()), top, bottom) == 1
    assert _wrongly_limited(old, pa.chunked_array([pa.nulls(len(old), kind)]), top, bottom) == len(old)


@pytest.mark.parametrize(
    ("value", "top", "bottom", "wanted"),
    [
        ("50.0", 50, None, "50.0"),
        ("50.5", 50, None, "50"),
        ("51", 50, None, "50"),
        ("7", 50, None, "7"),
        ("10.0", None, 10, "10.0"),
        ("9.5", None, 10, "10"),
        ("9", None, 10, "10"),
        ("11", None, 10, "11"),
        (51, 50, 10, 50),
        (9, 50, 10, 10),
        (30, 50, 10, 30),
    ],
)
def test_a_value_that_limits_make_of_another(value, top, bottom, wanted):
    assert _limited(value, top, bottom) == wanted


# ---- codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "code", "known", "wanted"),
    [
        ("a", "a", {"a"}, True),
        ("x", "a", {"a"}, False),
        ("1-3", "2", {"2"}, True),
        ("1-3", "2", {"2", "1-3"}, False),
        ("1-3", "1-3", {"2", "1-3"}, True),
        ("1-3", "4", {"4"}, False),
        ("-3", "2", {"2"}, True),
        ("-b", "\x01", {"\x01"}, True),
        ("3-", "12", {"12"}, True),
        ("3-", "2", {"2"}, False),
    ],
)
def test_whether_a_part_of_a_group_names_a_code(part, code, known, wanted):
    assert _means(part, code, known, code, ()) is wanted


def test_levels_of_short_branches_and_names_of_intervals():
    assert _at(["all", "a"], 5) == "a"
    assert _at(["all", "a"], 0) == "all"
    assert _at(None, 0) is None
    assert [_is_whole(value) for value in (3, "3", "3.5", 3.5)] == [True, True, False, False]
    begins = [Decimal(text) for text in ("1", "2", "4.5", "6", "9")]
    assert _names(begins, True) == ["<1", "1", "2 to <4.5", "4.5 to <6", "6-8", "9+"]
    assert _names(begins, False) == ["<1", "1 to <2", "2 to <4.5", "4.5 to <6", "6 to <9", "9+"]


# ---- tails ------------------------------------------------------------------------------------------------------


def tailed(values: list[Any], weight: list[int] | None = None) -> TailedColumn:
    """A column with some gaps."""
    known = [value for value in values if value is not None]
    distinct, found = np.unique(np.array(known), return_inverse=True)
    places = np.full(len(values), -1, np.int64)
    places[[i for i, value in enumerate(values) if value is not None]] = found
    weights = np.array(weight if weight is not None else [MILLION] * len(values), np.int64)
    return TailedColumn("x", column(values, pa.int64()), distinct, places, weights, ())


def test_values_beyond_a_limit():
    found = tailed([4, 5, 6])
    assert found.further(5, "top").tolist() == [False, False, True]
    assert found.further(5, "bottom").tolist() == [True, False, False]
    assert found.further(5.5, "bottom").tolist() == [True, True, False]
    assert found.further(5.5, "top").tolist() == [False, False, True]
    large = TailedColumn("x", found.old, np.array([2**53, 2**53 + 1]), found.places, found.weight, ())
    assert large.further(2.0**53, "top").tolist() == [False, True]


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("end", ["top", "bottom"])
def test_limits_of_quantiles_and_counts(seed, end):
    draw = np.random.default_rng(seed)
    values = [None if draw.random() < 0.1 else int(value) for value in draw.integers(0, 8, 12)]
    weight = (draw.integers(0, 4, 12) * MILLION).tolist() if seed % 2 else [MILLION] * 12
    data = tailed(values, weight)
    held = [(v, w) for v, w in zip(values, weight, strict=True) if v is not None]
    total = sum(w for _, w in held)

    def beyond(limit: int) -> int:
        return sum(w for v, w in held if (v > limit if end == "top" else v < limit))

    nearer = sorted({v for v, _ in held}, reverse=end == "bottom")
    for share in (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
        most = (1 - share if end == "top" else share) * total
        wanted = next(v for v in nearer if beyond(v) <= most)
        able = [v for v in nearer if beyond(v) <= most < beyond(v) + sum(w for u, w in held if u == v)]
        for limit in nearer:
            rows = data.beyond(limit, end)
            said = _is_limit({f"{end}_quantile": float(share)}, data, limit, end, rows)
            assert said == (limit in able)
        assert not able or wanted in able
    for many in (1, 2, 5):
        able = [v for v in nearer if beyond(v) >= many * MILLION]
        for limit in nearer:
            said = _is_limit({f"{end}_count": many}, data, limit, end, data.beyond(limit, end))
            step = [v for v in nearer if (v > limit if end == "top" else v < limit)]
            first = sum(w for u, w in held if step and u == step[0])
            assert said == (limit in able and beyond(limit) - first < many * MILLION)
    last = nearer[-1]
    assert not _is_limit({f"{end}_count": 0}, data, last, end, data.beyond(last, end))


def test_counts_of_records_that_weigh_a_millionth_less_than_one():
    """What lies beyond must weigh at least as much as is asked for, and without the nearest value less."""
    data = tailed([1, 2, 3], [MILLION, MILLION, MILLION - 1])
    asked = {limit: _is_limit({"top_count": 1}, data, limit, "top", data.beyond(limit, "top")) for limit in (1, 2, 3)}
    assert asked == {1: True, 2: False, 3: False}


def test_the_median_of_light_records():
    assert _median(tailed([1, 2, 9], [1, 1, 1]), np.ones(3, np.bool_)) == 2
    assert _median(tailed([1, 2, 9], [1, 0, 1]), np.ones(3, np.bool_)) == 5
    assert _median(tailed([1, 2, 9], [1, 5, 1]), np.ones(3, np.bool_)) == 2
    nothing = tailed([1, 2], [0, 0])
    with pytest.raises(LookupError):  # which the check of the step takes for a refusal
        _median(nothing, np.ones(2, np.bool_))


# ---- draws and exchanges ----------------------------------------------------------------------------------------


def test_a_chance_of_nothing_or_of_everything_is_not_judged():
    assert _apart(0.5, 0.0) == _apart(0.5, 1.0) == 0.0
    assert _apart(0.5, 0.5) == 0.0
    assert _apart(0.5, 0.25) > 0


def test_counts_that_no_chance_gives():
    chances = np.array([[0.9, 0.1], [0.0, 1.0]])
    enough = int(BEYOND_CHANCE / -np.log(0.9)) + 1
    assert _beyond_chance(np.array([[enough, 0], [0, 0]]), chances)
    assert not _beyond_chance(np.array([[enough - 1, 0], [0, 0]]), chances)
    assert not _beyond_chance(np.zeros((2, 2), np.int64), chances)
    # Each code could stay as often; all of them together could not.
    many = np.full((20, 20), 0.1 / 19)
    np.fill_diagonal(many, 0.9)
    assert _beyond_chance(np.eye(20, dtype=np.int64) * 30, many)
    assert not _beyond_chance(np.eye(20, dtype=np.int64) * 10, many)


def test_large_households_are_one_band():
    home = np.repeat([0, 1, 2, 3], [8, 9, 7, 7])
    found = _profiles(home, []).tolist()
    assert found == [0, 0, 1, 1]
    assert _profiles(home, [np.zeros(len(home), np.int64)]).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("codes", "areas", "telling"),
    [
        ("aabbcc", "112233", True),
        ("aabbcd", "112233", True),
        ("aabcde", "112233", False),
        ("aabc", "1123", True),
        ("aabbca", "112233", False),
        ("aabbcc", "111111", False),
        ("aabbcc", "111122", True),
        ("aabcde", "111222", False),
        ("abcdef", "112233", False),
    ],
)
def test_columns_that_tell_the_area(codes, areas, telling):
    table = pa.table(
        {
            "area": list(areas),
            "code": list(codes),
            "hidden": list(codes),
            "part": [float(ord(code)) for code in codes],
            "none": pa.array([None] * len(codes), pa.string()),
        }
    )
    info = {name: ColumnInfo("identifier" if name == "hidden" else "") for name in table.column_names}
    step = SimpleNamespace(before={name: table[name] for name in table.column_names}, original=RecordSet(table, info))
    number = np.array([int(area) for area in areas])
    assert _telling(step, "area", number) == (["code"] if telling else [])
