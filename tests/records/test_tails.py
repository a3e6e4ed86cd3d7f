"""Top and bottom codes, against lists that are sorted and counted by hand."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, ParameterError, ProtectionError


def released(columns: dict, method: ds.Recode, **roles) -> ds.Release:
    """A release that the checker has proved."""
    data = ds.Microdata(pa.table(columns), **{"numeric": [n for n in columns if n != "w"], **roles})
    release = ds.protect(data, method, keep_order=True)
    assert release.verify().holds, release.verify()
    return release


def coded(values, method: ds.Recode, weights=None, **roles) -> list:
    columns = {"x": values} if weights is None else {"x": values, "w": weights}
    return released(columns, method, **roles).public.records.shown()["x"]


def by_hand_limit(values, weights, *, share=None, many=None):
    """The limit of the top, by trying every value."""
    known = [(v, w) for v, w in zip(values, weights, strict=True) if v is not None]
    total = sum(w for _, w in known)
    for limit in sorted({v for v, _ in known}, reverse=many is not None):
        if share is not None and sum(w for v, w in known if v <= limit) >= share * total:
            return limit
        if many is not None and sum(w for v, w in known if v > limit) >= many:
            return limit
    return None


VALUES = st.lists(st.one_of(st.none(), st.integers(-5, 12)), min_size=2, max_size=25)
SHARES = st.integers(1, 19).map(lambda n: n / 20)


@given(VALUES, SHARES, st.data())
@settings(max_examples=40, deadline=None)
def test_quantiles_are_those_of_a_sorted_list(values, share, data):
    weights = data.draw(
        st.one_of(
            st.none(), st.lists(st.integers(0, 8).map(lambda n: n / 4), min_size=len(values), max_size=len(values))
        )
    )
    exact = [Fraction(1 if weights is None else w) for w in weights or values]
    if not sum(w for v, w in zip(values, exact, strict=True) if v is not None):
        with pytest.raises(InputError, match="so that its top cannot be found"):
            coded(
                pa.array(values, pa.int64()),
                ds.Recode("x", top_quantile=share, weight="w" if weights else None),
                weights,
            )
        return
    limit = by_hand_limit(values, exact, share=Fraction(str(share)))
    method = ds.Recode("x", top_quantile=share, weight="w" if weights else None)
    assert coded(pa.array(values, pa.int64()), method, weights) == [v if v is None else min(v, limit) for v in values]
    opposite = [None if v is None else -v for v in values]
    below = ds.Recode("x", bottom_quantile=float(1 - Decimal(str(share))), weight="w" if weights else None)
    assert coded(pa.array(opposite, pa.int64()), below, weights) == [
        v if v is None else max(v, -limit) for v in opposite
    ]


@given(VALUES, st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_counts_leave_out_at_least_so_many_and_all_that_equal_them(values, many):
    limit = by_hand_limit(values, [1] * len(values), many=many)
    method = ds.Recode("x", top_count=many)
    if limit is None:
        with pytest.raises((InputError, ParameterError), match=r"would leave no other value|has no value"):
            coded(pa.array(values, pa.int64()), method)
        return
    found = coded(pa.array(values, pa.int64()), method)
    assert found == [v if v is None else min(v, limit) for v in values]
    assert sum(v is not None and v > limit for v in values) >= many


def test_counts_and_means_by_weight():
    values, weights = [1.5, 2.5, 10.0, 20.0, 30.0, 40.0], [10.0, 10.0, 1.0, 0.5, 0.5, 2.0]
    found = coded(values, ds.Recode("x", top_count=4, weight="w", coded_as="mean", least=3, base=0.01), weights)
    # 40, 30, 20 and 10 weigh 4: (80 + 15 + 10 + 10) / 4
    assert found == [1.5, 2.5, 28.75, 28.75, 28.75, 28.75]


def test_the_mean_is_rounded_to_the_decimals_of_the_column_or_to_the_base():
    values = [1.0, 2.25, 10.0, 10.0, 10.25, 10.25, 10.0]
    assert coded(values, ds.Recode("x", top=5, coded_as="mean"))[2:] == [10.1] * 5
    assert coded(values, ds.Recode("x", top=5, coded_as="mean", base=4, ties="away"))[2:] == [12.0] * 5
    assert coded([1, 2, 9, 9, 10, 10, 10], ds.Recode("x", top=5, coded_as="mean"))[2:] == [10] * 5
    assert (
        coded(["1", "2", "9.5", "9", "10", "10", "10"], ds.Recode("x", top=5, coded_as="mean"), numeric=[])[2:]
        == ["9.7"] * 5
    )


@pytest.mark.parametrize(
    ("values", "weights", "expected"),
    [
        ([0, 10, 20, 30, 40, 50], None, 30),
        ([0, 10, 20, 30, 40], None, 25),
        ([0, 10, 20, 30, 40], [1.0, 5.0, 1.0, 1.0, 1.0], 10),
        ([0, 10, 20, 30, 40], [1.0, 3.0, 1.0, 1.0, 1.0], 15),
        ([0, 10, 20, 30, 40], [1.0, 1.0, 0.0, 0.0, 1.0], 25),
    ],
)
def test_the_median_has_half_of_the_weight_on_either_side(values, weights, expected):
    method = ds.Recode("x", top=5, coded_as="median", least=3, weight=None if weights is None else "w")
    assert coded(values, method, weights) == [0] + [expected] * (len(values) - 1)


def test_a_mean_of_too_few_records_is_never_published():
    method = ds.Recode("x", top=5, coded_as="mean")
    with pytest.raises(ProtectionError, match=r"mean of the top of column 'x' would be that of 4 records, and least=5"):
        coded([1, 2, 9, 9, 10, 10], method)
    assert coded([1, 2, 3], method) == [1, 2, 3]  # nothing is coded, so there is no mean


def test_the_number_of_records_in_each_tail_is_told():
    release = released({"x": [1, 2, 3, 50, 60, None]}, ds.Recode("x", top=10, bottom=2))
    assert "x: 2 records lie above 10, of 6." in release.summary()
    assert "x: 1 record lies below 2, of 6." in release.summary()
    statement = release.custodian.evidence[0].claim.statement
    assert "values above 10 (2 of 6 records) became 10 and values below 2 (1 of 6 records) became 2" in statement


ORDER = ["none", "primary", "secondary", "tertiary", "doctorate"]


def test_ordered_codes_have_tops_and_bottoms():
    values = ["none", "tertiary", "doctorate", None, "primary", "?"]
    known = {"missing_codes": {"x": ["?"]}, "numeric": [], "sensitive": "x"}
    method = ds.Recode("x", order=ORDER, top="secondary", bottom="primary", top_code="above", bottom_code="low")
    assert coded(values, method, **known) == ["low", "above", "above", None, "primary", "?"]
    assert coded(values, ds.Recode("x", order=ORDER, top="tertiary"), **known)[2] == "tertiary"
    assert coded(values, ds.Recode("x", order=ORDER, top_count=1), **known)[2] == "tertiary"
    assert coded(values, ds.Recode("x", order=ORDER, bottom_quantile=0.3), **known)[0] == "primary"
    assert coded([1, 2, 3], ds.Recode("x", order=["1", "2", "3"], top="2", top_code="2+")) == ["1", "2", "2+"]


def test_codes_that_the_order_lacks_are_listed_with_counts():
    with pytest.raises(InputError, match=r"2 codes that order= does not name: 'b' \(2 records\), 'c' \(1 record\)"):
        coded(["a", "b", "b", "c", "z"], ds.Recode("x", order=["a", "z"], top="a"), numeric=[])


def test_a_record_beyond_one_limit_is_coded_in_all_columns():
    columns = {"a": [1, 2, 90, 4, None, 95], "b": [5, 600, 7, 8, 900, None]}
    method = ds.Recode(["a", "b"], top={"a": 50, "b": 500}, together=True, coded_as="mean", least=3)
    release = released(columns, method)
    # rows 2, 3, 5 and 6 are coded: a has 2, 90 and 95, b has 600, 7 and 900
    assert release.public.records.shown() == {"a": [1, 62, 62, 4, None, 62], "b": [5, 502, 502, 8, 502, None]}
    assert "4 records are coded in all columns." in release.summary()
    apart = released(columns, ds.Recode(["a", "b"], top={"a": 50, "b": 500}))
    assert apart.public.records.shown() == {"a": [1, 2, 50, 4, None, 50], "b": [5, 500, 7, 8, 500, None]}


def test_a_marker_takes_the_place_of_what_lies_beyond():
    assert coded([-500, 3, None], ds.Recode("x", bottom=0, bottom_code=-9)) == [-9, 3, None]
    assert coded([500.5, 3.0], ds.Recode("x", top=10, top_code=99)) == [99.0, 3.0]
    with pytest.raises(ParameterError, match=r"'x' holds whole numbers, and top_code='10\+' is none"):
        coded([1, 50], ds.Recode("x", top=10, top_code="10+"))


def test_limits_that_are_no_numbers_or_cross_are_refused():
    with pytest.raises(ParameterError, match=r"The limit 'a' of column 'x' is no number\. Give a number, or order="):
        coded([1, 2], ds.Recode("x", top="a"))
    with pytest.raises(ParameterError, match="The bottom of column 'x' ends above where its top begins"):
        coded([1, 2, 3, 4], ds.Recode("x", top=2, bottom_quantile=0.9))
    with pytest.raises(ParameterError, match=r"more than nine decimals, and no unit to round a mean to\. Give base="):
        coded([1 / 3, 2 / 3, 1 / 7, 5 / 7, 6 / 7, 8 / 9], ds.Recode("x", top=0.01, coded_as="mean"))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, None, 1.0], "1 record has no weight in 'w'"),
        ([1.0, -1.0, 1.0], "1 record has a negative weight in 'w'"),
        ([0.0, 0.0, 0.0], "'x' has no weight above zero beside a value, so that its top cannot be found. Give top="),
        (["a", "b", "c"], "The weight 'w' holds string, not numbers"),
        ([1e12, 1.0, 1.0], "The weights in 'w' are too large to be added exactly"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        coded([1, 2, 3], ds.Recode("x", top_quantile=0.5, weight="w"), weights)


def test_an_empty_column_has_no_quantile():
    with pytest.raises(InputError, match=r"Column 'x' has no value, so that its bottom cannot be found\. Give bottom="):
        coded(pa.array([None, None], pa.int64()), ds.Recode("x", bottom_quantile=0.5))


def test_the_order_of_rows_does_not_matter():
    values = [3.5, 1.0, 9.0, 9.0, 7.5, 2.0, 8.0, 1.5]
    method = ds.Recode("x", top_quantile=0.3, coded_as="mean")
    assert sorted(coded(values, method)) == sorted(coded(values[::-1], method))


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
def test_codes_for_unknown_take_no_part_in_quantiles(kind):
    values = pa.array([1, 2, 3, 4, 999, 999, 999, 999]).cast(kind)
    roles = {"missing_codes": {"x": ["999"]}, "numeric": [], "sensitive": "x"}
    found = coded(values, ds.Recode("x", top_quantile=0.5), **roles)
    assert found == pa.array([1, 2, 2, 2, 999, 999, 999, 999]).cast(kind).to_pylist()
