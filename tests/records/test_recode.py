"""Recoding, against what one would write by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import DiscreetError, InputError, NeedsError
from discreet.model.records import PublicColumn
from discreet.records.recode import interval_names


def recoded(values, method: ds.Recode, kind=None, **roles) -> list:
    table = pa.table({"x": pa.array(values, kind)})
    records = read_record_set(ds.Microdata(table, **roles))
    return method.run(records).changed["x"].to_pylist()


@given(st.lists(st.one_of(st.none(), st.integers(-20, 120)), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_intervals_hold_what_their_names_say(values):
    found = recoded(values, ds.Recode("x", intervals=[0, 18, 19, 65]), pa.int64())
    for value, name in zip(values, found, strict=True):
        if value is None:
            assert name is None
        elif value < 0:
            assert name == "<0"
        elif value < 18:
            assert name == "0-17"
        elif value < 19:
            assert name == "18"
        else:
            assert name == ("19-64" if value < 65 else "65+")


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
def test_top_and_bottom_keep_the_type(kind):
    values = pa.array([5, 50, 500, None]).cast(kind)
    found = recoded(values, ds.Recode("x", top=100, bottom=10))
    assert found == pa.array([10, 50, 100, None]).cast(kind).to_pylist()


def test_a_limit_itself_stays():
    assert recoded([99, 100, 101], ds.Recode("x", top=100)) == [99, 100, 100]


def test_codes_outside_the_map_stay():
    assert recoded(["a", "b", None], ds.Recode("x", map={"a": "z"})) == ["z", "b", None]


@pytest.mark.parametrize(
    ("values", "kind", "old"), [([1, 2], pa.int64(), "1"), ([1.0, 2.5], pa.float64(), "1"), ([True], None, "true")]
)
def test_a_map_speaks_of_values_as_they_are_written(values, kind, old):
    assert recoded(values, ds.Recode("x", map={old: "new"}), kind)[0] == "new"


def test_a_map_of_which_no_code_occurs_is_refused():
    with pytest.raises(InputError, match="None of the codes"):
        recoded(["a"], ds.Recode("x", map={"A": "z"}))


def test_codes_of_a_map_that_do_not_occur_are_noted():
    people = ds.Microdata(pa.table({"x": ["a", "b"]}))
    release = ds.protect(people, ds.Recode("x", map={"a": "z", "q": "z"}))
    assert "1 code in the map of 'x' did not occur: 'q'" in release.summary()


TREE = ds.Hierarchy.from_nested({"north": ["N1", "N2"], "south": {"deep": ["S1"]}}, total="All")


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (0, ["All", "All", "All"]),
        (1, ["north", "south", "north"]),
        (2, ["N1", "deep", "north"]),
        (9, ["N1", "S1", "north"]),
    ],
)
def test_levels_go_up_the_tree(level, expected):
    assert recoded(["N1", "S1", "north"], ds.Recode("x", level=level), hierarchies={"x": TREE}) == expected


def test_a_code_that_the_hierarchy_does_not_know_is_named():
    with pytest.raises(DiscreetError, match="'N3'"):
        recoded(["N3"], ds.Recode("x", level=1), hierarchies={"x": TREE})


def test_a_level_without_a_hierarchy_is_refused_with_the_way_out():
    with pytest.raises(NeedsError, match=r"hierarchies=\{'x': hierarchy\}"):
        recoded(["N1"], ds.Recode("x", level=1))


@pytest.mark.parametrize("method", [ds.Recode("x", intervals=[5]), ds.Recode("x", top=5)])
def test_text_where_numbers_are_needed_is_counted_not_shown(method):
    with pytest.raises(InputError, match="2 values of column 'x' are no number") as refused:
        recoded(["1", "secret", "words"], method)
    assert "secret" not in str(refused.value)


def test_a_fraction_is_no_limit_of_whole_numbers():
    with pytest.raises(DiscreetError, match=r"whole numbers, and 2.5 is none"):
        recoded([1, 2], ds.Recode("x", top=2.5))


def test_an_unknown_column_is_named():
    with pytest.raises(DiscreetError, match=r"'xx'.*Did you mean 'x'"):
        recoded([1], ds.Recode("xx", top=2))


def test_names_of_intervals():
    assert interval_names([10], whole=True) == ("<10", "10+")
    assert interval_names([0.5, 10], whole=True) == ("<0.5", "0.5 to <10", "10+")
    assert recoded([1, 20], ds.Recode("x", intervals=[10], names=["low", "high"])) == ["low", "high"]


@pytest.mark.parametrize(
    ("method", "values", "expected"),
    [
        (ds.Recode("x", top=90), [5, 95, 99, 999, None], [5, 90, 99, 999, None]),
        (ds.Recode("x", intervals=[18]), [5, 95, 99, 999, None], ["<18", "18+", "99", "999", None]),
        (ds.Recode("x", map={"99": "old"}), [5, 99, 999, None], ["5", "old", "999", None]),
        (ds.Recode("x", bottom=10), ["5", "95", ".a", "999"], ["10", "95", ".a", "999"]),
    ],
)
def test_codes_for_unknown_stay_unless_the_map_names_them(method, values, expected):
    codes = {"missing_codes": {"x": ["99", "999", ".a"]}}
    assert recoded(values, method, **codes) == expected
    data = ds.Microdata(pa.table({"x": values}), sensitive="x", **codes)
    release = ds.protect(data, method, keep_order=True)
    assert release.verify().holds
    assert release.public.records.columns["x"].to_pylist() == expected


def test_an_altered_column_keeps_the_codes_for_unknown_that_it_has_and_nothing_else():
    data = ds.Microdata(
        pa.table({"x": [5, 95, 99, 998]}),
        sensitive="x",
        labels={"x": "Age"},
        value_labels={"x": {"5": "five"}},
        missing_codes={"x": ["99", "97", "998"]},
    )
    about = ds.protect(data, ds.Recode("x", intervals=[18])).public.records.info["x"]
    assert about == PublicColumn(altered=True, label="Age", missing=(("99", "99"), ("998", "998")))
    limited = ds.protect(data, ds.Recode("x", top=90)).public.records.info["x"]
    assert limited.missing == (("99", "99"), ("998", "998"))
