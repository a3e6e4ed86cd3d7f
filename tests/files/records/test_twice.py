"""Writer and checker, written apart, agree on every file of random records, or the writer refuses it in words."""

from __future__ import annotations

import datetime as dt
import tempfile
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.model.records import PublicColumn, PublicRecords
from tests.files.records.test_limits import written

WORDS = st.sampled_from(
    ["1", "2", "01", "02", "007", "1.5", ".a", "-3", "x", "é", "=1", "ü b", "99", "unknown code", ""]
)
LABELS = st.sampled_from(["one", "Köln, far", "", 'a "b"', "x" * 130, "line\nbreak", "\u00a0odd "])
FORMATS = st.sampled_from(
    [
        "",
        "F8.2",
        "N3",
        "Z2",
        "%8.0g",
        "%03.0f",
        "%9.2f",
        "A8",
        "%10s",
        "DATE11",
        "%td",
        "%tc",
        "TIME8",
        "DATETIME20",
        "COMMA9.1",
        "BEST12.",
        "Z3.",
        "%tm",
        "weird",
    ]
)
ENDS = st.one_of(
    WORDS.map(lambda word: (word, word)),
    st.sampled_from([(9, 9), (99.0, 99.0), (1, 5), (-1.7976931348623157e308, -1), (2.5, 1.7976931348623157e308)]),
)
VALUES = {
    "string": (pa.string(), WORDS),
    "whole": (pa.int64(), st.sampled_from([0, 1, 2, 9, 99, -3, 12345, 2**53, 2**60])),
    "float": (
        pa.float64(),
        st.sampled_from([0.0, 1.0, 2.5, 99.0, 0.1, 1e-7, 1e22, 123456.789, -1.0, 0.30000000000000004]),
    ),
    "truth": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), st.dates(dt.date(1600, 1, 1), dt.date(2100, 1, 1))),
    "time": (
        pa.timestamp("us"),
        st.datetimes(dt.datetime(1880, 1, 1), dt.datetime(2100, 1, 1)).map(
            lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
        ),
    ),
}


@st.composite
def public_records(draw) -> PublicRecords:
    rows = draw(st.integers(1, 6))
    columns, info = {}, {}
    for place in range(draw(st.integers(1, 3))):
        kind, values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
        name = draw(st.sampled_from(["age", "Age", "job title", "größe", "1st", "if", "x" * 40])) + "_" * place
        given = draw(st.lists(st.one_of(st.none(), values), min_size=rows, max_size=rows))
        columns[name] = pa.array(given, kind)
        info[name] = PublicColumn(
            draw(st.booleans()),
            draw(LABELS),
            draw(st.dictionaries(WORDS, LABELS, max_size=3)),
            tuple(draw(st.lists(ENDS, max_size=4, unique=True))),
            draw(FORMATS),
            draw(st.sampled_from(["", "weight", "household"])),
        )
    return PublicRecords("records", pa.table(columns), info)


@pytest.mark.parametrize("kind", ["csv", "parquet", "sav", "dta", "xlsx", "asc"])
@given(records=public_records())
@settings(max_examples=25, deadline=None)
def test_a_file_is_written_the_same_way_twice(kind, records):
    with tempfile.TemporaryDirectory() as folder, suppress(DiscreetError):  # what it cannot hold, it says in words
        assert written(Path(folder), kind, records).stat().st_size
