"""Labels stay with codes that mean what they meant, and tell nothing of codes that are gone."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.public import PublicRelease
from discreet.verify import check_records
from discreet.verify.records.words import _cut_by_digits

LABELS = {"1": "North", "2": "South", "3": "Isle", "9": "unknown"}


def suppressed(*steps: ds.Method) -> ds.Release:
    codes = ["1", "1", "1", "2", "2", "2", "3", "9", "9"]
    sexes = ["m"] * 9
    data = ds.Microdata(
        pa.table({"region": codes, "sex": sexes}),
        keys=["region", "sex"],
        labels={"region": "Region of birth"},
        value_labels={"region": LABELS},
        missing_codes={"region": ["9"]},
    )
    return ds.protect(data, [*steps, ds.LocalSuppress(2, keys=["region"])], keep_order=True)


def test_an_emptied_column_keeps_the_labels_of_codes_that_are_left():
    release = suppressed()
    about = release.public.records.info["region"]
    assert release.public.records.shown()["region"].count(None) == 2
    assert about.altered
    assert about.label == "Region of birth"
    assert "3" not in about.value_labels
    assert set(about.value_labels) < set(LABELS)
    assert set(about.value_labels) == {code for code in release.public.records.shown()["region"] if code}
    assert release.verify().holds


def test_a_recoded_column_has_none_whatever_follows():
    release = suppressed(ds.Recode("region", map={"1": "2", "2": "1"}))
    assert release.public.records.info["region"].value_labels == {}
    assert release.verify().holds


@pytest.mark.parametrize("labels", [LABELS, {}, {"1": "South", "2": "South"}])
def test_other_labels_of_an_emptied_column_are_refused(labels):
    release = suppressed()
    records = release.public.records
    forged = replace(records, info={**records.info, "region": replace(records.info["region"], value_labels=labels)})
    (refusal,) = check_records(release.custodian, PublicRelease((), forged)).refused
    assert refusal.message == "a column has other labels than the original one"


def test_labels_of_a_recoded_column_are_refused():
    release = suppressed(ds.Recode("region", map={"1": "2", "2": "1"}))
    records = release.public.records
    forged = replace(records, info={**records.info, "region": replace(records.info["region"], value_labels=LABELS)})
    (refusal,) = check_records(release.custodian, PublicRelease((), forged)).refused
    assert refusal.message == "a column has other labels than the original one"


def test_swapped_areas_keep_their_labels():
    data = ds.Microdata(
        pa.table({"area": ["1", "2"] * 20, "home": list(range(40))}),
        household="home",
        sensitive="area",
        value_labels={"area": LABELS},
    )
    release = ds.protect(data, ds.Swap("area", "home", rate=0.5))
    about = release.public.records.info["area"]
    assert (about.altered, dict(about.value_labels)) == (True, {"1": "North", "2": "South"})
    assert release.verify().holds


def test_labels_that_a_recoding_states_are_those_of_its_own_columns_whatever_follows():
    """The last recoding is of another column, and the first column is emptied after it was recoded."""
    steps = [
        ds.Recode("region", map={"1": "2", "2": "1"}, labels={"1": "first", "2": "second"}),
        ds.Recode("sex", map={"m": "1"}, labels={"1": "male"}),
    ]
    release = suppressed(*steps)
    info = release.public.records.info
    assert dict(info["region"].value_labels) == {"1": "first", "2": "second"}
    assert dict(info["sex"].value_labels) == {"1": "male"}
    assert release.verify().holds


def test_codes_for_unknown_stay_where_some_records_have_them():
    data = ds.Microdata(pa.table({"x": [1, 2, 3, 4, 5, 6, 99, 99]}), numeric="x", missing_codes={"x": ["99", "98"]})
    release = ds.protect(data, ds.RankSwap("x", 0.5), key=ds.Key(bytes(32)))
    assert [low for low, _ in release.public.records.info["x"].missing] == ["99"]
    assert release.verify().holds


DIGITS = ds.Hierarchy.from_digits(["11", "12", "21"], [1, 1], total="all")


def cut(hierarchy: ds.Hierarchy | None) -> bool:
    """Whether the checker lets a file say that codes may be cut digit by digit."""
    return _cut_by_digits(SimpleNamespace(original=SimpleNamespace(hierarchies={"x": hierarchy})), "x")


@pytest.mark.parametrize(
    ("hierarchy", "may"),
    [
        (DIGITS, True),
        (ds.Hierarchy.from_digits(["111", "121", "211"], [1, 1, 1], total="all"), True),
        (None, False),
        (ds.Hierarchy((), None, ("11", "12")), False),
        (ds.Hierarchy.flat(["1", "2"], total="all"), False),  # nothing is left of them
        (ds.Hierarchy.from_nested({"1": ["11", "22"], "2": ["21"]}, total="all"), False),
        (ds.Hierarchy.from_digits(["111", "121"], [2, 1], total="all"), False),
        (DIGITS.with_grouping("rest", ["all"], minus=["1"]), True),  # what the total is part of is no level
        (
            replace(ds.Hierarchy.from_nested({"1": ["11", "12"], "99": None}, total="all"), missing=frozenset(["99"])),
            True,
        ),
        (ds.Hierarchy.from_nested({"1": ["11", "12"], "99": None}, total="all"), False),
    ],
)
def test_codes_that_may_be_cut_digit_by_digit(hierarchy, may):
    assert cut(hierarchy) is may


@pytest.mark.parametrize("codes", [["11", "12"], ["1", "2"]])
def test_files_say_of_codes_whether_they_may_be_cut(codes):
    tree = ds.Hierarchy.from_digits(codes, [1] * len(codes[0]), total="all")
    data = ds.Microdata(pa.table({"x": codes * 2, "y": codes * 2}), keys=["x", "y"], hierarchies={"x": tree})
    release = ds.protect(data, ds.LocalSuppress(2), keep_order=True)
    records = release.public.records
    told = records.info["x"].truncable
    assert told is (len(codes[0]) > 1)
    assert release.verify().holds
    forged = replace(records, info={**records.info, "x": replace(records.info["x"], truncable=not told)})
    (refusal,) = check_records(release.custodian, PublicRelease((), forged)).refused
    assert refusal.message == "a column has other labels than the original one"
