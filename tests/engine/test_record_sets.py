"""Records are read through their engine, and are the same whichever it is."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError

ROWS = 40
ROADS: dict[str, Callable[[ds.Microdata], ds.Microdata]] = {
    "prepared": lambda data: data.prepared(),
    "duckdb": lambda data: data.on("duckdb"),
}


def prices() -> pa.Array:
    return pa.array([f"{i % 3}.{i % 10}5" for i in range(ROWS)]).cast(pa.decimal128(10, 2))


def people() -> pa.Table:
    return pa.table(
        {
            "age": [f"{i % 7:02d}" if i % 9 else None for i in range(ROWS)],
            "income": [i * 1.25 if i % 5 else None for i in range(ROWS)],
            "rooms": list(range(ROWS)),
            "owner": [i % 2 == 0 for i in range(ROWS)],
            "moved": [datetime.date(2020, 1, 1 + i % 28) for i in range(ROWS)],
            "price": prices(),
        }
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("road", ROADS)
def test_every_engine_reads_the_same_records(kind: str, road: str, tmp_path: Path) -> None:
    file = tmp_path / f"people.{kind}"
    (pa.csv.write_csv if kind == "csv" else pa.parquet.write_table)(people(), file)
    data = ds.Microdata(file, keys=["age"], numeric=["income", "price"])
    one, two = read_record_set(ROADS[road](data)), read_record_set(data)
    assert one.columns.equals(two.columns)
    assert np.array_equal(one.identity, two.identity)


def test_prepared_columns_are_not_read_again(tmp_path: Path) -> None:
    pa.parquet.write_table(people(), tmp_path / "people.parquet")
    prepared = ds.Microdata(tmp_path / "people.parquet", keys=["age"]).prepared()
    before = read_record_set(prepared)
    pa.parquet.write_table(people()[::-1], tmp_path / "people.parquet")
    assert read_record_set(prepared).columns.equals(before.columns)


def test_decimal_numbers_keep_their_digits() -> None:
    records = read_record_set(ds.Microdata(people(), numeric=["price"]))
    assert records["price"].to_pylist() == [float(str(price)) for price in prices().to_pylist()]


@pytest.mark.parametrize(("price", "scale"), [("1234567890123456789.5", 2), ("0.12345678901234567891", 20)])
def test_decimal_numbers_that_are_too_long_are_refused(price: str, scale: int) -> None:
    frame = pa.table({"price": pa.array([Decimal(price), None], pa.decimal128(38, scale))})
    with pytest.raises(InputError, match="'price' holds decimal numbers with more digits than files of records can"):
        read_record_set(ds.Microdata(frame, numeric=["price"]))


def test_a_large_decimal_number_of_few_digits_is_read() -> None:
    frame = pa.table({"price": pa.array([Decimal("1e15"), Decimal("0.1"), None], pa.decimal128(38, 9))})
    assert read_record_set(ds.Microdata(frame, numeric=["price"]))["price"].to_pylist() == [1e15, 0.1, None]


@pytest.mark.parametrize("where", ["price == 0.35", "price in [0.35, 1000]", ["price <= 0.35", "price >= 0.35"]])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_filter_finds_decimal_numbers(where: str | list[str], engine: str, tmp_path: Path) -> None:
    price = pa.array(["0.34", "0.35", "0.36"]).cast(pa.decimal128(5, 2))
    pa.parquet.write_table(pa.table({"area": ["N", "S", "N"], "price": price}), tmp_path / "sales.parquet")
    data = ds.Microdata(tmp_path / "sales.parquet", engine=engine)
    table = ds.tabulate(data, by={"area": ds.Hierarchy.flat(["N", "S"])}, where=where)
    assert table.values.tolist()[0] == 1
