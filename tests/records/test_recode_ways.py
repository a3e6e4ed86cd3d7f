"""Every way to recode, against what one would write by hand, and always re-checked by the checker."""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import DiscreetError, InputError, ParameterError


def recoded(values, method: ds.Recode, kind=None, **roles) -> list:
    """One column after a recoding that the checker has proved."""
    data = ds.Microdata(pa.table({"x": pa.array(values, kind)}), **{"sensitive": "x", **roles})
    release = ds.protect(data, method, keep_order=True)
    assert release.verify().holds, release.verify()
    return release.public.records.columns["x"].to_pylist()


# ---- digits ------------------------------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.none(), st.text("ab1 ", max_size=4)), min_size=1, max_size=20), st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_codes_are_cut(values, digits):
    assert recoded(values, ds.Recode("x", digits=digits), pa.string()) == [
        v if v is None else v[:digits] for v in values
    ]


def test_whole_numbers_are_cut_as_they_are_written_and_codes_for_unknown_stay():
    assert recoded([123, 45, None, 9999], ds.Recode("x", digits=2), missing_codes={"x": ["9999"]}) == [
        "12",
        "45",
        None,
        "9999",
    ]
    assert recoded([123.0, 4.0], ds.Recode("x", digits=2)) == ["12", "4"]


@pytest.mark.parametrize("values", [[-12, 5], [1.5, 2.0], [date(2020, 1, 1), None]])
def test_what_has_no_digits_is_counted_and_refused(values):
    with pytest.raises(InputError, match=r"1 value of column 'x' is no code of digits\. digits= is for text and whole"):
        recoded(values, ds.Recode("x", digits=2))


# ---- rounding ----------------------------------------------------------------------------------------------------

BASES = st.sampled_from([1, 5, 10, 25, 0.05, 0.1, 0.25, 2.5, 1000])
RULES = {"even": ROUND_HALF_EVEN, "away": ROUND_HALF_UP}


def by_hand(value, base, ties):
    steps = (Decimal(str(value)) / Decimal(str(base))).quantize(Decimal(1), RULES[ties])
    return steps * Decimal(str(base))


@given(
    st.lists(st.one_of(st.none(), st.integers(-(10**6), 10**6)), min_size=1, max_size=30),
    BASES,
    st.sampled_from(["even", "away"]),
)
@settings(max_examples=40, deadline=None)
def test_hundredths_are_rounded_as_by_hand(hundredths, base, ties):
    values = [None if n is None else n / 100 for n in hundredths]
    found = recoded(values, ds.Recode("x", base=base, ties=ties), pa.float64())
    assert found == [None if v is None else float(by_hand(v, base, ties)) for v in values]


@given(
    st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=30),
    st.integers(1, 1000),
    st.sampled_from(["even", "away"]),
)
@settings(max_examples=40, deadline=None)
def test_whole_numbers_are_rounded_as_by_hand(values, base, ties):
    assert recoded(values, ds.Recode("x", base=base, ties=ties)) == [int(by_hand(v, base, ties)) for v in values]


@pytest.mark.parametrize(("ties", "expected"), [("even", [0.2, 0.4, -0.2, 0.0]), ("away", [0.2, 0.4, -0.2, 0.1])])
def test_halves_are_those_of_the_decimals_not_of_binary_fractions(ties, expected):
    # 0.15 and 0.35 lie below their half in binary, 0.45 would lie above it
    assert recoded([0.15, 0.35, -0.15, 0.05], ds.Recode("x", base=0.1, ties=ties)) == expected


def test_text_stays_text_and_unknown_codes_stay():
    codes = {"missing_codes": {"x": ["-9", "99"]}}
    assert recoded(["12.345", "-7.5", "-9", None], ds.Recode("x", base=0.5), **codes) == ["12.5", "-7.5", "-9", None]
    assert recoded([14, 16, 99], ds.Recode("x", base=10), **codes) == [10, 20, 99]


def test_a_fraction_is_no_base_of_whole_numbers():
    with pytest.raises(ParameterError, match=r"'x' holds whole numbers, and base=0\.5 is none"):
        recoded([1, 2], ds.Recode("x", base=0.5))


def test_huge_whole_numbers_are_not_rounded_wrongly():
    with pytest.raises(InputError, match="too large to be rounded exactly"):
        recoded([2**62], ds.Recode("x", base=10))
    assert recoded([1e300, 5.0], ds.Recode("x", base=10)) == [1e300, 0.0]


# ---- dates -------------------------------------------------------------------------------------------------------

BIRTHS = [date(2000, 2, 29), date(1990, 12, 31), None, date(1990, 1, 1)]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (ds.Recode("x", date="month"), ["2000-02", "1990-12", None, "1990-01"]),
        (ds.Recode("x", date="quarter"), ["2000-Q1", "1990-Q4", None, "1990-Q1"]),
        (ds.Recode("x", date="year"), [2000, 1990, None, 1990]),
        (ds.Recode("x", date="age", at="2023-02-28"), [22, 32, None, 33]),
        (ds.Recode("x", date="age", at="2023-03-01"), [23, 32, None, 33]),
    ],
)
def test_dates_times_and_text_become_periods_and_ages(method, expected):
    assert recoded(BIRTHS, method, pa.date32()) == expected
    times = pa.array(BIRTHS, pa.date32()).cast(pa.timestamp("us"))
    assert recoded(times, method) == expected
    assert recoded([None if day is None else str(day) for day in BIRTHS], method) == expected


def test_the_hour_of_a_day_is_left_out():
    import datetime

    late = datetime.datetime(1960, 5, 31, 23, 59, 59)
    assert recoded([late, None], ds.Recode("x", date="month"), pa.timestamp("us")) == ["1960-05", None]


def test_ages_beside_codes_for_unknown_are_text():
    found = recoded(
        ["1990-01-01", "9999-99-99"], ds.Recode("x", date="age", at="2000-01-01"), missing_codes={"x": ["9999-99-99"]}
    )
    assert found == ["10", "9999-99-99"]


def test_what_is_no_date_is_counted_not_shown():
    with pytest.raises(InputError, match="2 values of column 'x' are no date") as refused:
        recoded(["1990-01-01", "1990-02-30", "1/2/1990"], ds.Recode("x", date="year"))
    assert "02-30" not in str(refused.value)
    with pytest.raises(InputError, match=r"1 date of column 'x' lies after at=1989-01-01\. Give a later day"):
        recoded(["1990-01-01", "1980-01-01"], ds.Recode("x", date="age", at="1989-01-01"))


# ---- groups and files --------------------------------------------------------------------------------------------


def test_groups_name_codes_and_ranges_of_right_justified_text():
    method = ds.Recode("x", groups={"few": ["-9"], "teens": ["10-19"], "rest": ["20-"]})
    assert recoded(["5", "12", "100", None, "19"], method) == ["few", "teens", "rest", None, "teens"]


def test_a_range_does_not_reach_codes_for_unknown_but_a_name_does():
    unknown = {"missing_codes": {"x": ["99"]}}
    assert recoded(["5", "99", "50"], ds.Recode("x", groups={"all": ["1-"]}), **unknown) == ["all", "99", "all"]
    assert recoded(["5", "99"], ds.Recode("x", groups={"all": ["1-", "99"]}), **unknown) == ["all", "all"]


def test_a_code_in_two_groups_is_named_with_both():
    with pytest.raises(InputError, match=r"Groups of 'x' give 1 code two new codes: '5' \('a' and 'b'\)"):
        recoded(["5", "7"], ds.Recode("x", groups={"a": ["1-5"], "b": ["5-9"]}))
    with pytest.raises(ParameterError, match=r"groups= gives '5' two new codes: 'a' and 'b'"):
        ds.Recode("x", groups={"a": ["5"], "b": ["5"]})


def test_groups_of_which_no_code_occurs_are_refused_and_empty_ones_noted():
    with pytest.raises(InputError, match="None of the codes in the groups of 'x' occurs"):
        recoded(["5"], ds.Recode("x", groups={"a": ["6"]}))
    data = ds.Microdata(pa.table({"x": ["5", "5"]}))
    assert (
        "1 group of 'x' got no record: 'b'" in ds.protect(data, ds.Recode("x", groups={"a": "5", "b": "6"})).summary()
    )


GRC = 'young: -17\n"old": 18-\n<MISSING> "9"\n<CODELIST> "age.cdl"\n'


def test_a_grc_file_enters_the_evidence_with_its_labels_and_codes_for_unknown(tmp_path: Path):
    (tmp_path / "age.grc").write_text(GRC + "9: 99\n")
    (tmp_path / "age.cdl").write_text("young,Below 18\nold,18 and above\n9,Not known\ngone,Nobody\n")
    method = ds.Recode("x", file=tmp_path / "age.grc")
    data = ds.Microdata(pa.table({"x": ["5", "40", "99"] * 8}), keys="x", missing_codes={"x": ["99"]})
    release = ds.protect(data, method, keep_order=True)
    plain = release.custodian.log["protect"][0]
    assert plain["groups"] == {"young": ("-17",), "old": ("18-",), "9": ("99",)}
    assert "file" not in plain
    assert release.public.records.columns["x"].to_pylist()[:3] == ["young", "old", "9"]
    about = release.public.records.info["x"]
    assert about.value_labels == {"young": "Below 18", "old": "18 and above", "9": "Not known"}
    assert about.missing == (("9", "9"),)
    release.save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds
    assert ds.load(tmp_path / "out").replay().public.records.columns.equals(release.public.records.columns)


def test_a_grc_file_that_puts_a_code_into_two_groups_is_refused_by_name(tmp_path: Path):
    (tmp_path / "a.grc").write_text("a: 1, 2\nb: 2, 3\n")
    with pytest.raises(ParameterError, match="groups= gives '2' two new codes: 'a' and 'b'"):
        recoded(["1", "2"], ds.Recode("x", file=str(tmp_path / "a.grc")))


def test_a_tree_recode_closes_branches(tmp_path: Path):
    tree = ds.Hierarchy.from_nested({"north": {"coast": ["N1", "N2"], "hills": ["N3"]}, "south": ["S1"]}, total="All")
    (tmp_path / "a.grc").write_text("<TREERECODE>\ncoast\nsouth\n")
    method = ds.Recode("x", file=str(tmp_path / "a.grc"))
    assert recoded(["N1", "N3", "S1", None], method, hierarchies={"x": tree}) == ["coast", "N3", "south", None]
    assert recoded(["N1", "N3"], ds.Recode("x", closed=["coast", "north"]), hierarchies={"x": tree}) == ["north"] * 2
    with pytest.raises(InputError, match="no code 'west' in the hierarchy"):
        recoded(["N1"], ds.Recode("x", closed="west"), hierarchies={"x": tree})


def test_a_file_of_old_and_new_codes_is_a_map(tmp_path: Path):
    (tmp_path / "a.csv").write_text("old,new\na,z\n")
    assert recoded(["a", "b"], ds.Recode("x", file=str(tmp_path / "a.csv"))) == ["z", "b"]


def test_codes_that_the_hierarchy_lacks_are_listed_with_their_counts():
    tree = ds.Hierarchy.from_nested({"north": ["N1"]}, total="All")
    with pytest.raises(InputError, match=r"'N9' \(3 records\), 'N8' \(1 record\)"):
        recoded(["N9", "N1", "N9", "N8", "N9"], ds.Recode("x", level=1), hierarchies={"x": tree})


# ---- several columns, labels, codes for unknown ---------------------------------------------------------------------


def test_several_columns_are_recoded_in_one_call():
    data = ds.Microdata(pa.table({"a": [11, 26], "b": [94, None]}), numeric=["a", "b"])
    release = ds.protect(data, ds.Recode(["a", "b"], base=10), keep_order=True)
    assert release.public.records.shown() == {"a": [10, 30], "b": [90, None]}
    verdict = release.verify()
    assert verdict.holds
    assert "Columns a, b: numbers were rounded to multiples of 10, halves to the even multiple" in str(verdict)


@pytest.mark.parametrize(
    ("method", "values"),
    [
        (ds.Recode("x", digits=2), ["991", "12"]),
        (ds.Recode("x", base=9), [100, 3]),
        (ds.Recode("x", top=99), [150, 3]),
        (ds.Recode("x", intervals=[10], names=["99", "more"]), [3, 20]),
    ],
)
def test_a_known_value_never_becomes_a_code_for_unknown(method, values):
    with pytest.raises(InputError, match="1 known value of column 'x' would become a code that stands for unknown"):
        recoded(values, method, missing_codes={"x": ["99"]})


def test_a_later_recoding_without_labels_drops_those_of_the_earlier_one():
    data = ds.Microdata(pa.table({"x": ["a", "b"] * 5}), keys="x")
    named = ds.Recode("x", map={"a": "1", "b": "2"}, labels={"1": "one", "2": "two", "3": "three"})
    release = ds.protect(data, named)
    assert release.public.records.info["x"].value_labels == {"1": "one", "2": "two"}
    assert release.verify().holds
    again = ds.protect(data, [named, ds.Recode("x", map={"2": "1"})])
    assert again.public.records.info["x"].value_labels == {}
    assert again.verify().holds
    emptied = ds.protect(data, [named, ds.LocalSuppress(5)])
    assert emptied.public.records.info["x"].value_labels == {"1": "one", "2": "two"}
    assert emptied.verify().holds


# ---- parameters that do not go together ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"digits": 2, "base": 5}, r"has both 'digits', 'base'\. Give one Recode for each"),
        ({"digits": 0}, "digits=0 is not allowed. Give a whole number of at least 1"),
        ({"base": 0}, "base=0 is not allowed. Give a number above 0"),
        ({"base": 5, "ties": "up"}, "There is no ties 'up'"),
        ({"digits": 2, "ties": "away"}, "ties= says how numbers are rounded, and none is"),
        ({"date": "week"}, "There is no date 'week'"),
        ({"date": "age"}, "date='age' needs the day on which ages are counted. Give at="),
        ({"date": "year", "at": "2020-01-01"}, "at= is for date='age'. Leave it out"),
        ({"date": "age", "at": "1 May"}, "at='1 May' is no day. Write year, month and day"),
        ({"date": "age", "at": "20200101"}, "at='20200101' is no day"),
        ({"groups": {"a": []}}, r"groups\['a'\]=\[\] is not allowed"),
        ({"groups": {"a": [5]}}, r"groups\['a'\]=\[5\] is not allowed"),
        ({"map": {"a": 5}}, "map= takes text to text"),
        ({"map": {"a": "b"}, "labels": {"b": 5}}, "labels= takes text to text"),
        ({"digits": 2, "weight": "w"}, "'weight' of Recode.'x'. is for top and bottom codes, and there are none"),
        ({"top": 5, "top_quantile": 0.5}, "has both 'top', 'top_quantile'. Give one limit for each end"),
        ({"top_quantile": 1}, "top_quantile=1 is not allowed. Give a number above 0 and below 1"),
        ({"top_count": 0}, "top_count=0 is not allowed"),
        ({"top": 5, "bottom_code": "x"}, "bottom_code= is given, and no bottom is coded"),
        ({"top": 5, "coded_as": "mean", "top_code": 9}, "top_code= and coded_as='mean' say two things"),
        ({"top": 5, "coded_as": "mode"}, "There is no coded_as 'mode'"),
        ({"top": 5, "coded_as": "mean", "least": 2}, "least=2 is not allowed. Give a whole number of at least 3"),
        ({"top": 5, "weight": "w"}, "weight= is for quantiles, counts and means, and there are none"),
        ({"top": True}, "top=True is not allowed. Give a number"),
        ({"top": 5, "together": True}, "together= codes one end of several columns"),
        ({"column": ["x", "y"], "top": 5, "bottom": 1, "together": True}, "together= codes one end of several columns"),
        ({"column": ["x", "y"], "top": {"x": 5}}, "top= names 'x', and the columns are 'x', 'y'"),
        ({"column": ["x", "x"], "top": 5}, r"column=\['x', 'x'\] is not allowed"),
        ({"column": [], "top": 5}, r"column=\[\] is not allowed"),
        ({"top": "b", "order": ["a", "a"]}, "order= names a code twice, or fewer than two"),
        ({"top": "c", "order": ["a", "b"]}, "top='c' is none of the codes in order="),
        ({"top": "a", "bottom": "b", "order": ["a", "b"]}, "bottom='b' lies above top='a'"),
        ({"top_count": 2, "order": ["a", "b"], "coded_as": "mean"}, "Codes have no mean"),
    ],
)
def test_bad_parameters_say_what_is_allowed(parameters, message):
    with pytest.raises(ParameterError, match=message):
        ds.Recode(**{"column": "x", **parameters})


def test_a_recoding_shows_what_it_says_and_nothing_else():
    assert repr(ds.Recode("age", intervals=[15, 65])) == "Recode('age', intervals=(15, 65))"
    assert repr(ds.Recode(["a", "b"], top_quantile=0.99)) == "Recode(('a', 'b'), top_quantile=0.99)"
    assert "groups" not in ds.Recode("age", top=5).record()


def test_what_no_public_file_has_is_not_recoded():
    with pytest.raises(
        ParameterError, match="Column 'x' has the role identifier, and no public file of records has it"
    ):
        ds.protect(ds.Microdata(pa.table({"x": ["a1", "a2"], "y": [1, 2]}), identifier="x"), ds.Recode("x", digits=1))


def test_a_missing_file_is_an_error_of_ours(tmp_path: Path):
    with pytest.raises(DiscreetError):
        recoded(["1"], ds.Recode("x", file=str(tmp_path / "none.grc")))


# ---- recipes -------------------------------------------------------------------------------------------------------


def test_a_recipe_recodes_in_every_way(tmp_path: Path):
    columns = {
        "age": [str(n) for n in range(40)] * 2,
        "area": ["N11", "N12", "S21", "S22"] * 20,
        "born": ["1990-05-06", "1980-12-31"] * 40,
        "income": [100 * n for n in range(80)],
        "tax": [3 * n for n in range(80)],
        "school": ["low", "mid", "high", "top"] * 20,
        "w": [1.5, 2.5] * 40,
    }
    from pyarrow import csv

    csv.write_csv(pa.table(columns), tmp_path / "people.csv")
    (tmp_path / "age.grc").write_text('young: -17\nold: 18-\n<CODELIST> "age.cdl"\n')
    (tmp_path / "age.cdl").write_text("young,Below 18\nold,18 and above\n")
    (tmp_path / "job.toml").write_text(
        """version = 1
[data]
file = "people.csv"
keys = ["age", "area", "born", "school"]
numeric = ["income", "tax"]
weight = "w"
[records]
keep_order = true
[[rules]]
kind = "k_anonymity"
k = 2
keys = ["age"]
[[protect]]
method = "recode"
column = "age"
file = "age.grc"
[[protect]]
method = "recode"
column = "area"
digits = 2
[[protect]]
method = "recode"
column = "area"
groups = { north = ["N0-N9"], south = "S2" }
labels = { north = "The north" }
[[protect]]
method = "recode"
column = ["income", "tax"]
bottom = { income = 200, tax = 6 }
[[protect]]
method = "recode"
column = "born"
date = "quarter"
[[protect]]
method = "recode"
column = ["income", "tax"]
top_quantile = 0.9
weight = "w"
coded_as = "mean"
together = true
[[protect]]
method = "recode"
column = "school"
order = ["low", "mid", "high", "top"]
top = "mid"
top_code = "more"
[output]
directory = "out"
"""
    )
    done = ds.run_recipe(tmp_path / "job.toml")
    assert done.verdict.holds
    shown = done.release.public.records
    assert set(shown.columns["age"].to_pylist()) == {"young", "old"}
    assert shown.info["age"].value_labels == {"young": "Below 18", "old": "18 and above"}
    assert set(shown.columns["area"].to_pylist()) == {"north", "south"}
    assert shown.info["area"].value_labels == {"north": "The north"}
    assert (min(shown.columns["income"].to_pylist()), min(shown.columns["tax"].to_pylist())) == (200, 6)
    assert set(shown.columns["born"].to_pylist()) == {"1990-Q2", "1980-Q4"}
    assert set(shown.columns["school"].to_pylist()) == {"low", "mid", "more"}
    assert "recode age: unsafe records 0 to 0 (k_anonymity, k=2)." in done.release.custodian.log["notes"]
    assert ds.load(tmp_path / "out").replay().public.records.columns.equals(shown.columns)


def test_a_codelist_outside_of_the_folder_of_a_recipe_is_not_read(tmp_path: Path):
    (tmp_path / "job").mkdir()
    (tmp_path / "secret.cdl").write_text("a,b\n")
    (tmp_path / "job" / "age.grc").write_text('young: 1\n<CODELIST> "..\\secret.cdl"\n')
    (tmp_path / "job" / "people.csv").write_text("age\n1\n1\n")
    (tmp_path / "job" / "job.toml").write_text(
        'version = 1\n[data]\nfile = "people.csv"\n[records]\n'
        '[[protect]]\nmethod = "recode"\ncolumn = "age"\nfile = "age.grc"\n[output]\ndirectory = "out"\n'
    )
    with pytest.raises(DiscreetError, match=r"secret\.cdl.*outside|outside.*secret\.cdl"):
        ds.run_recipe(tmp_path / "job" / "job.toml")


@pytest.mark.parametrize("limit", ["top", "bottom"])
def test_a_limit_of_minus_zero_does_not_mark_records(limit):
    """Files write -0.0 and 0.0 in two ways: who was coded would be seen."""
    data = ds.Microdata(pa.table({"x": [1.0, 0.0, -1.0, 2.0]}), numeric="x")
    release = ds.protect(data, ds.Recode("x", **{limit: -0.0}))
    values = release.public.records.columns["x"].to_numpy()
    assert not np.signbit(values[values == 0]).any()
    assert release.verify().holds


# ---- all codes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "way"),
    [({"map": {"1": "a", "2": "a"}}, "map"), ({"groups": {"a": ["1-2"]}}, "groups")],
)
def test_codes_that_nobody_named_are_refused_where_all_are_to_be(how, way):
    values, unknown = ["1", "2", None, "x"], {"missing_codes": {"x": ["x"]}}
    assert recoded(values, ds.Recode("x", **how, complete=True), **unknown) == ["a", "a", None, "x"]
    assert recoded([*values, "3"], ds.Recode("x", **how), **unknown) == ["a", "a", None, "x", "3"]
    message = rf"Column 'x' has 2 codes that its {way} does not name: '4' \(2 records\), '3' \(1 record\)\."
    with pytest.raises(InputError, match=message):
        recoded([*values, "3", "4", "4"], ds.Recode("x", **how, complete=True), **unknown)
    with pytest.raises(ParameterError, match="complete= is for map= and groups="):
        ds.Recode("x", digits=1, complete=True)
