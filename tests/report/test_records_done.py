"""The report on a file of records says which codes became which, and how many fields were emptied."""

from __future__ import annotations

import pyarrow as pa

import discreet as ds
from discreet.report.records import records_report
from discreet.report.records_done import EmptiedColumn, NewCode, emptied_columns, recoded_columns


def release() -> ds.Release:
    table = pa.table({"age": ["20", "21", "30", None, "44", "20"], "sex": ["f", "f", "m", "m", "m", "f"]})
    steps = [
        ds.Recode("age", map={"20": "young", "21": "young", "30": "old"}),
        ds.LocalSuppress(2, importance={"sex": 3}),
    ]
    return ds.protect(ds.Microdata(table, keys=["age", "sex"]), steps, keep_order=True)


def test_codes_that_changed_are_listed_with_what_became_them():
    (column,) = recoded_columns(release().custodian)
    assert (column.name, column.before, column.after, column.more) == ("age", "5", "4", 0)
    assert column.codes == (NewCode("old", "30", "1"), NewCode("young", "20, 21", "3"))


def test_emptied_fields_are_counted_by_column():
    assert emptied_columns(release().custodian) == [
        EmptiedColumn("age", "1", "2", "33.3 %"),
        EmptiedColumn("sex", "3", "0", "0.0 %"),
    ]


def test_long_lists_are_cut():
    ages = [str(n) for n in range(10, 110)]
    data = ds.Microdata(pa.table({"age": ages}), sensitive="age")
    wide = ds.protect(data, ds.Recode("age", map={age: f"a{int(age) // 20}" for age in ages})).custodian
    (column,) = recoded_columns(wide)
    assert column.codes[1].old.startswith("20, 21, 22, ")
    assert column.codes[1].old.endswith(" and 8 more")
    alone = ds.protect(data, ds.Recode("age", map={age: f"a{age}" for age in ages})).custodian
    assert (len(recoded_columns(alone)[0].codes), recoded_columns(alone)[0].more) == (60, 40)


def test_the_page_shows_both():
    page = records_report(release())
    assert "Fields that local suppression emptied" in page
    assert "<bdi>20, 21</bdi>" in page
    assert "Empty before" in page


def test_nothing_is_shown_of_what_was_not_done():
    data = ds.Microdata(pa.table({"n": [1, 2, 3]}), sensitive="n")
    page = records_report(ds.protect(data, ds.Recode("n", top=9)))
    assert "Fields that local suppression emptied" not in page
