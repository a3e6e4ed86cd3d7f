"""Methods for records, compared."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import NeedsError, ParameterError
from discreet.measures.records import changed_share, entropy_lost, rare_share
from tests.battery.record_cases import people


def test_broader_codes_are_less_risky_and_tell_less():
    found = ds.compare(
        people(),
        {
            "narrow": ds.Recode("age", intervals=[20, 40, 60, 80]),
            "broad": [ds.Recode("age", intervals=[50]), ds.Recode("region", level=1)],
            "top": ds.Recode("age", top=90),
        },
    )
    spots = {point.name: point.spots for point in found.risk_map.points}
    assert spots["broad"]["rare"].mean < spots["narrow"]["rare"].mean < spots["top"]["rare"].mean
    assert spots["broad"]["lost"].mean > spots["narrow"]["lost"].mean > spots["top"]["lost"].mean
    assert "rare" in found.summary()
    assert not found.flags
    assert "broad" in found.map()
    assert found.to_frame().num_rows == 3


def test_one_that_fails_does_not_stop_the_others():
    found = ds.compare(people(), [ds.Recode("age", top=90), ds.Recode("wealth", top=9)])
    assert [point.status == "done" for point in found.risk_map.points] == [True, False]


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ([], "no methods to compare"),
        ([ds.Suppress()], "Cannot compare a Suppress on records"),
        ([ds.Recode("age", top=9), ds.Recode("age", top=9)], "Several methods are called"),
    ],
)
def test_what_cannot_be_compared_is_refused(methods, message):
    with pytest.raises(ParameterError, match=message):
        ds.compare(people(), methods)


def test_records_without_keys_and_numbers_cannot_be_compared():
    with pytest.raises(NeedsError, match="by their keys and their numbers, and neither are given"):
        ds.compare(people(keys=(), numeric=()), [ds.Recode("age", top=9)])


def test_numbers_are_compared_by_who_is_found_again():
    draw = np.random.default_rng(1)
    data = ds.Microdata(pa.table({name: draw.normal(size=300).round(3) for name in "xy"}), numeric=["x", "y"])
    found = ds.compare(
        data, {"three": ds.Microaggregate(k=3), "nine": ds.Microaggregate(k=9), "swap": ds.RankSwap(share=0.3)}, runs=2
    )
    spots = {point.name: point.spots for point in found.risk_map.points}
    assert spots["three"]["linked"].mean > spots["nine"]["linked"].mean > spots["swap"]["linked"].mean
    assert spots["three"]["il1"].mean < spots["nine"]["il1"].mean < spots["swap"]["il1"].mean
    assert spots["swap"]["variances"].mean == pytest.approx(0)
    assert "on the frontier of linked and il1: swap; nine; three" in found.summary()
    assert not found.flags


def columns(**given) -> dict:
    return {name: pa.chunked_array([pa.array(values)]) for name, values in given.items()}


def test_measures_against_hand_counts():
    records = read_record_set(ds.Microdata(pa.table({"x": ["a", "a", "b", "c"], "y": [1, 1, 1, 1]})))
    assert rare_share(records, ["x", "y"], 2) == 0.5
    assert changed_share(columns(x=["a", None, "c"]), columns(x=["a", None, "d"])) == pytest.approx(1 / 3)
    assert changed_share(columns(x=[1, 2]), columns(x=["1", "low"])) == 0.5
    # Four values alike become two: half of what the column tells is lost.
    assert entropy_lost(columns(x=[1, 2, 3, 4]), columns(x=["a", "a", "b", "b"])) == pytest.approx(0.5)
    assert entropy_lost(columns(x=[1, 2]), columns(x=["p", "q"])) == 0
    assert entropy_lost(columns(x=[1, 2]), columns(x=["p", "p"])) == 1


def test_how_well_files_are_told_apart_is_measured_where_all_columns_can_be_compared():
    rng = np.random.default_rng(2)
    frame = pa.table({"age": rng.integers(16, 90, 300), "pay": rng.lognormal(7, 1, 300).round()})
    people = ds.Microdata(frame, keys=["age"], numeric=["pay"])
    mild, strong = ds.family(ds.AddNoise("pay"), amount=[0.01, 3.0])
    found = ds.compare(people, {"mild": mild, "strong": strong, "recoded": ds.Recode("age", intervals=[30, 50])})
    rows = {row["method"]: row["pmse"] for row in found.rows}
    assert rows["mild"] < rows["strong"]
    assert rows["recoded"] is None
