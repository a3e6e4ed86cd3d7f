"""Unions of files as they are: other types of identifiers, dates, decimals, missing values, strange texts."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pandas as pd
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.private.problems import ProtocolError
from discreet.private.union.records import read_records

PLAIN = [f"q{k}" for k in range(12)]
DAYS = [datetime.date(2000, 1, 1 + k) for k in range(12)]
MOMENTS = pd.to_datetime([day.isoformat() for day in DAYS])


def united(one, other, **options):
    """Of two lists of identifiers."""
    files = {name: {"id": ids, "x": list(range(len(ids)))} for name, ids in (("A", one), ("B", other))}
    return ds.private.unite(files, ["id"], ["x"], **options)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (list(range(12)), [f"{k:03d}" for k in range(12)]),
        ([float(k) for k in range(12)], [str(k) for k in range(12)]),
        (DAYS, [f"{day:%d.%m.%Y}" for day in DAYS]),
    ],
    ids=["numbers and text", "numbers with points and text", "dates and text"],
)
def test_identifiers_of_other_kinds_do_not_silently_miss_each_other(one, other):
    with pytest.raises(ProtocolError, match="another kind of 'id'"):
        united(one, other)
    with pytest.raises(ProtocolError, match="another kind of 'id'"):
        ds.private.union_sizes({"A": {"id": one}, "B": {"id": other}}, ["id"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (list(range(12)), [float(k) for k in range(12)]),
        (DAYS, MOMENTS),
        (MOMENTS.to_numpy(), [datetime.datetime.combine(day, datetime.time()) for day in DAYS]),
        (["Ångström ", *PLAIN[1:]], ["  A\u030angstr\u00f6m", *PLAIN[1:]]),
        (["Nan", *PLAIN[1:]], ["NAN", *PLAIN[1:]]),
        (["none", *PLAIN[1:]], ["None", *PLAIN[1:]]),
    ],
    ids=["whole numbers", "dates and days", "moments", "accents", "a name that is Nan", "a name that is None"],
)
def test_identifiers_that_mean_the_same_meet(one, other):
    assert united(one, other).shared == 12


@pytest.mark.parametrize("missing", [None, float("nan"), "", "  ", pd.NaT])
def test_records_without_an_identifier_are_counted_and_refused(missing):
    with pytest.raises(InputError, match="1 records lack an identifier"):
        united([missing, *PLAIN[1:]], PLAIN)


def test_moments_that_are_missing_are_missing():
    dates = pd.Series(MOMENTS)
    dates[3] = None
    with pytest.raises(InputError, match="1 records lack an identifier"):
        united(dates, MOMENTS)


def test_an_identifier_that_is_no_unicode_is_refused():
    with pytest.raises(InputError, match="no text of Unicode"):
        united(["\ud800", *PLAIN[1:]], PLAIN)


def test_parts_of_identifiers_do_not_run_into_each_other():
    one = {"a": ["x\0y", *PLAIN[1:]], "b": ["z"] * 12, "n": [0] * 12}
    other = {"a": ["x", *PLAIN[1:]], "b": ["y\0z", *["z"] * 11], "n": [0] * 12}
    assert ds.private.unite({"A": one, "B": other}, ["a", "b"], ["n"]).shared == 11


@pytest.mark.parametrize(
    "values",
    [
        DAYS,
        [Decimal("1.10")] * 6 + [None] * 6,
        [datetime.datetime(2000, 1, 1, 12, k) for k in range(12)],
        [True, False] * 6,
        [1.5, None] * 6,
        ["ä", None] * 6,
        [2**63 - 1] * 12,
    ],
    ids=["dates", "decimals", "moments", "truths", "numbers", "texts", "large"],
)
def test_values_come_back_as_what_they_were(values):
    frame = pd.DataFrame({"id": PLAIN, "x": pd.Series(values, dtype=object)})
    more = pd.DataFrame({"id": [f"r{k}" for k in range(12)], "x": pd.Series(values, dtype=object)})
    found = [row["x"] for row in ds.private.unite({"A": frame, "B": more}, ["id"], ["x"]).rows]
    assert sorted(map(repr, found)) == sorted(map(repr, [*values, *values]))


def test_moments_of_frames_come_back_as_moments():
    frame = pd.DataFrame({"id": PLAIN, "x": MOMENTS})
    found = ds.private.unite({"A": frame, "B": frame}, ["id"], ["x"]).rows
    assert sorted(row["x"] for row in found) == list(MOMENTS)


def test_a_file_that_made_up_records_would_not_hide_is_refused():
    with pytest.raises(ParameterError, match="would hide nothing"):
        united(PLAIN, PLAIN, pad_to=11)
    assert united(PLAIN, PLAIN, pad_to=12).other == 12


def test_the_spelling_of_a_spelling_is_itself():
    for text in ["ΐ", "ß", "ǰ", "ſ", "K", "İ", "ﬁ", "㎏", " a  B ", "ͅ"]:
        (once,) = read_records({"id": [text]}, ["id"], []).identifiers if text.strip() else ("",)
        assert read_records({"id": [once[0]]}, ["id"], []).identifiers == [once]
