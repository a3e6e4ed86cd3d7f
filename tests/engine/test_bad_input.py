"""What is wrong with the data is said in the same words by both engines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from discreet.errors import DiscreetError, InputError, ParameterError
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.verbs.tabulate import tabulate

ENGINES = ("memory", "duckdb")
BY = {"c": Hierarchy.from_nested({"A": ["a1", "a2"], "B": ["b1"]})}


def message_of(file: Path, engine: str, **options: Any) -> str:
    with pytest.raises(DiscreetError) as caught:
        tabulate(file, **{"by": BY, "engine": engine, **options})
    return str(caught.value)


def table_of(file: Path, engine: str, **options: Any) -> Table:
    found = tabulate(file, **{"by": BY, "engine": engine, **options})
    assert isinstance(found, Table)
    return found


def written(folder: Path, kind: str, **columns: Any) -> Path:
    file = folder / f"records.{kind}"
    table = pa.table({"c": ["a1", "a2", "b1"], **columns})
    if kind == "csv":
        pa.csv.write_csv(table, file)
    else:
        pa.parquet.write_table(table, file)
    return file


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["csv", "parquet"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_file_that_is_not_there(tmp_path: Path, engine: str) -> None:
    assert "There is no file 'none.csv'." in message_of(tmp_path / "none.csv", engine)


def test_an_unknown_column_names_the_nearest(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, turnover=[1, 2, 3])
    said = message_of(file, engine, value="turnovr")
    assert f"There is no column 'turnovr' in the file 'records.{kind}'. Did you mean 'turnover'?" in said


def test_a_wrong_delimiter(tmp_path: Path, engine: str) -> None:
    file = tmp_path / "records.csv"
    file.write_text("c;x\na1;2\n")
    assert "'records.csv' is separated by ';', not by ','." in message_of(file, engine)
    assert table_of(file, engine, delimiter=";").value[0] == 1


@pytest.mark.parametrize(("content", "said"), [("", "is empty."), ("c,x\n", "The data have no records.")])
def test_an_empty_file(tmp_path: Path, engine: str, content: str, said: str) -> None:
    file = tmp_path / "records.csv"
    file.write_text(content)
    assert said in message_of(file, engine)


def test_a_file_that_is_not_utf8(tmp_path: Path, engine: str) -> None:
    file = tmp_path / "records.csv"
    file.write_bytes("c,x\na1,2\né,3\n".encode("latin-1"))
    assert "'records.csv' is not UTF-8 text." in message_of(file, engine)


@pytest.mark.parametrize("line", ["a1", "a1,2,3"])
def test_a_ragged_file(tmp_path: Path, engine: str, line: str) -> None:
    file = tmp_path / "records.csv"
    file.write_text(f"c,x\na1,2\n{line}\n")
    assert "'records.csv' is not a regular csv file." in message_of(file, engine)


def test_unknown_codes_are_counted(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, d=["q", "a1", "q"])
    said = message_of(file, engine, by={"d": BY["c"]})
    assert "'d' has 1 code that its hierarchy does not have as base codes: 'q' (2 records)." in said


def test_a_sum_is_not_a_base_code(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, d=["A", "a1", "a2"])
    assert "'A' (1 record)" in message_of(file, engine, by={"d": BY["c"]})


def test_unknown_codes_that_the_filter_leaves_out_are_no_matter(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, d=["q", "a1", "a2"], x=[1, 2, 3])
    assert table_of(file, engine, by={"d": BY["c"]}, where="x > 1").value[0] == 2


def test_a_gap_in_a_code_variable(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, d=[None, "a1", None])
    assert "Variable 'd' is empty in 2 records." in message_of(file, engine, by={"d": BY["c"]})
    table = table_of(file, engine, by={"d": BY["c"]}, missing={"d": "b1"})
    assert table.value[table.row(d="b1")] == 2
    assert "'A' (2 records)" in message_of(file, engine, by={"d": BY["c"]}, missing={"d": "A"})
    assert "There is no code 'zz'" in message_of(file, engine, by={"d": BY["c"]}, missing={"d": "zz"})


@pytest.mark.parametrize("option", ["missing", "recode"])
def test_codes_for_a_column_that_is_not_there(tmp_path: Path, engine: str, kind: str, option: str) -> None:
    """It would change nothing, and nobody would know of the misspelt name."""
    file = written(tmp_path, kind, region=["a1", None, "a2"])
    stated = {"regions": "b1" if option == "missing" else {"a1": "b1"}}
    said = message_of(file, engine, **{option: stated})
    assert "There is no column 'regions' in the records. Did you mean 'region'? Available: 'c', 'region'." in said
    assert f"Correct the name in Microdata({option}=)." in said


def test_old_codes_are_recoded(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, d=["old", "a1", "a2"])
    table = table_of(file, engine, by={"d": BY["c"]}, recode={"d": {"old": "a2"}})
    assert table.value[table.row(d="a2")] == 2
    assert "'zz' (1 record)" in message_of(file, engine, by={"d": BY["c"]}, recode={"d": {"old": "zz"}})


def test_text_in_a_value(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, x=["1", "2", "n/a"])
    assert "'x' holds text where numbers are needed, first in record 3." in message_of(file, engine, value="x")


def test_a_gap_in_a_value(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, x=[1, None, None], y=[5, 6, 5])
    assert "'x' 2 values are empty, first in record 2." in message_of(file, engine, value="x")
    said = message_of(file, engine, value="x", where="y == 5")
    assert "'x' 1 value is empty, first in record 2." in said


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite(tmp_path: Path, engine: str, kind: str, wrong: float) -> None:
    file = written(tmp_path, kind, x=[1.5, 2.0, wrong])
    assert "'x' 1 value is not finite, first in record 3." in message_of(file, engine, value="x")


@pytest.mark.parametrize("weights", [[1, 0, 2], [1.5, -0.5, 2.0], [1.0, 1e-7, 2.0]])
def test_weights_must_be_positive(tmp_path: Path, engine: str, kind: str, weights: list[float]) -> None:
    file = written(tmp_path, kind, w=weights)
    said = message_of(file, engine, weight="w")
    assert "In weight column 'w' 1 value is not positive, first in record 2." in said


def test_every_record_needs_a_contributor(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, firm=["x", None, "y"], x=[1, 2, 3])
    said = message_of(file, engine, value="x", contributor="firm")
    assert "Contributor column 'firm' is empty in 1 record." in said


@pytest.mark.parametrize("requests", [[0, 1, 3], [0, -1, 2], [0.5, 1.0, 2.0]])
def test_requests_are_0_1_or_2(tmp_path: Path, engine: str, kind: str, requests: list[float]) -> None:
    file = written(tmp_path, kind, r=requests, x=[1, 2, 3])
    assert "Request column 'r' must hold 0, 1 or 2." in message_of(file, engine, value="x", request="r")


def test_waivers_are_true_or_false(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, agrees=[0, 1, 2], x=[1, 2, 3])
    assert "'agrees' must hold true or false" in message_of(file, engine, value="x", waiver="agrees")


@pytest.mark.parametrize("keys", [[0.5, 1.0, 0.25], [0.5, -0.25, 0.25]])
def test_fractional_record_keys_lie_below_one(tmp_path: Path, engine: str, kind: str, keys: list[float]) -> None:
    file = written(tmp_path, kind, k=keys)
    said = message_of(file, engine, record_key="k")
    assert "Record keys in column 'k' must be fractions in [0, 1) or whole numbers." in said


@pytest.mark.parametrize("keys", [[1, 2**31, 3], [1, -1, 3]])
def test_whole_record_keys_have_31_bits(tmp_path: Path, engine: str, kind: str, keys: list[int]) -> None:
    file = written(tmp_path, kind, k=keys)
    assert "Record keys in column 'k' must lie in 0 .. 2147483647." in message_of(file, engine, record_key="k")


def test_a_gap_in_record_keys(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, k=[0.5, None, 0.25])
    assert "'k' 1 value is empty, first in record 2." in message_of(file, engine, record_key="k")


def test_a_filter_that_nobody_meets(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, x=[1, 2, 3])
    assert "No record meets the filter 'x > 3'." in message_of(file, engine, where="x > 3")


@pytest.mark.parametrize("where", ["x == 'one'", "t > 5"])
def test_a_filter_that_does_not_fit_its_column(tmp_path: Path, engine: str, where: str) -> None:
    file = written(tmp_path, "parquet", x=[1, 2, 3], t=["p", "q", "r"])
    with pytest.raises(ParameterError, match="does not fit column"):
        tabulate(file, by=BY, engine=engine, where=where)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([2**62 - 1, 2**62 - 1, 5], "Column 'x' is too large for exact 64-bit sums."),
        ([2**63 - 1, 1, 5], "Column 'x' holds values too large for exact 64-bit sums with 0 decimals."),
        ([4e15, 0.0005, 5.0], "Column 'x' is too large for exact 64-bit sums with 4 decimals."),
        ([1e300, 0.5, 5.0], "Column 'x' is too large for exact 64-bit sums"),
    ],
)
def test_sums_that_64_bits_do_not_hold(tmp_path: Path, engine: str, kind: str, values: list[float], said: str) -> None:
    file = written(tmp_path, kind, x=values)
    assert said in message_of(file, engine, value="x")


def test_unsigned_numbers_do_not_turn_negative(tmp_path: Path, engine: str) -> None:
    file = written(tmp_path, "parquet", x=pa.array([2**64 - 5, 1, 2], type=pa.uint64()))
    said = message_of(file, engine, value="x")
    assert "Column 'x' holds values too large for exact 64-bit sums with 0 decimals." in said


def test_weighted_sums_that_64_bits_do_not_hold(tmp_path: Path, engine: str, kind: str) -> None:
    file = written(tmp_path, kind, x=[2**60, 1, 2], w=[1.0, 1.25, 8.0])
    said = message_of(file, engine, value="x", weight="w")
    assert "Column 'x' is too large for exact 64-bit sums with its weights." in said


def test_messages_are_input_errors_without_values(tmp_path: Path, engine: str) -> None:
    file = written(tmp_path, "csv", x=["1", "2", "secret"])
    with pytest.raises(InputError) as caught:
        tabulate(file, by=BY, value="x", engine=engine)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)
