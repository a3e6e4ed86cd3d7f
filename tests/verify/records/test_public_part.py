"""The public part of a release of records, forged in memory: each lie has its own refusal."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.custodian import RecordCustodian
from discreet.model.public import PublicRelease, PublicTable
from discreet.verify import check_records
from tests.battery.record_cases import people


@cache
def release() -> ds.Release[RecordCustodian]:
    data = people(60, keys=(), missing_codes={"sex": ["x"]})
    return ds.protect(data.with_(sensitive=("health", "age", "sex", "region")), ds.Recode("age", intervals=[50]))


def test_rows_that_keep_their_order_are_said_to():
    kept = ds.protect(people(60, keys=()), ds.Recode("age", intervals=[50]), keep_order=True)
    assert check_records(kept.custodian, kept.public).holds
    denied = PublicRelease((), replace(kept.public.records, keeps_order=False))
    (refusal,) = check_records(kept.custodian, denied).refused
    assert refusal.message == "the public file says something else of its name or of the order of its rows"


def refused(public: PublicRelease) -> list[str]:
    return [refusal.message for refusal in check_records(release().custodian, public).refused]


def shown(**changes: object) -> PublicRelease:
    records = release().public.records
    assert records is not None
    return PublicRelease((), replace(records, **changes))


def told(column: str, **changes: object) -> PublicRelease:
    info = release().public.records.info
    return shown(info={**info, column: replace(info[column], **changes)})


def test_the_true_public_part_holds():
    assert refused(release().public) == []


def test_there_is_one_file_of_records_and_no_table():
    one = np.ones(1, np.int64)
    table = PublicTable("t", ("sex",), (("m",),), ({},), np.zeros((1, 1), np.int32), one, 0, one > 0, one > 1)
    message = ["the public part is not one file of records"]
    assert refused(PublicRelease(())) == message
    assert refused(PublicRelease((table,), release().public.records)) == message
    assert refused(PublicRelease((table,))) == message


def test_columns_are_those_of_the_release():
    columns = release().public.records.columns
    info = release().public.records.info
    message = "the public columns are not those that the release gives"
    more = columns.append_column("note", pa.array(["x"] * len(columns)))
    for forged in (
        shown(columns=more, info={**info, "note": info["sex"]}),
        shown(columns=columns.drop_columns(["income"])),
        shown(columns=columns.set_column(1, "age", columns["age"].cast(pa.large_string()))),
        shown(columns=columns.select([*columns.column_names[1:], columns.column_names[0]])),
    ):
        assert message in refused(forged)


@pytest.mark.parametrize(
    "forged",
    [
        lambda: told("age", altered=False),
        lambda: told("sex", altered=True),
        lambda: told("home", altered=False),
        lambda: told("age", label="Age in days"),
        lambda: told("sex", value_labels={"m": "Ann lives in N1"}),
        lambda: told("sex", value_labels={}),
        lambda: told("sex", missing=()),
        lambda: told("health", missing=(("bad", "bad"),)),
        lambda: shown(keeps_order=True),
        lambda: shown(name="other"),
    ],
)
def test_what_is_said_of_columns_and_rows_is_true(forged):
    assert len(refused(forged())) == 1
