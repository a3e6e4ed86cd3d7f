"""Tables made by Spark are those of memory; ``make test-engines`` runs these, which take some minutes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

import discreet as ds
from discreet.engine.encode import read_records
from discreet.engine.protocol import open_records
from discreet.errors import InputError, NeedsError
from tests.engine import sparks
from tests.engine.brute_force import assert_agrees, assert_same_table
from tests.engine.strategies import Case, cases

pytestmark = [pytest.mark.engines, pytest.mark.skipif(bool(sparks.missing()), reason=sparks.missing() or "there")]

batch = settings(
    deadline=None,
    max_examples=12,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""One batch that is the same every time: every table costs Spark some seconds."""
KEY = ds.Key(bytes(range(32)))
AREA = ds.Hierarchy.from_nested({"N": ["n1", "n2"], "S": ["s1"]})


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    found = sparks.session(tmp_path_factory.mktemp("spark"))
    yield found
    found.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def frame_of(spark: Any, frame: pa.Table, folder: Path, name: str) -> Any:
    pa.parquet.write_table(frame, folder / f"{name}.parquet", row_group_size=7)
    return spark.read.parquet(str(folder / f"{name}.parquet"))


@batch
@given(case=cases())
def test_spark_agrees_with_memory_and_brute_force(spark: Any, folder: Path, case: Case) -> None:
    assume(not any(isinstance(record.get("firm"), float) for record in case.records))
    numbered = case.frame.append_column("number", pa.array(range(len(case.records))))
    frame = frame_of(spark, numbered, folder, f"case{abs(hash(str(case.records)))}")
    data = ds.Microdata(frame, weight=case.weight, identifier="number", **case.roles)
    assert data.engine == "remote"
    with open_records(data, [case.spec], case.weight) as records:
        found = records.table(case.spec)
    memory = case.microdata(case.frame)
    assert_same_table(found, read_records(memory, [case.spec], case.weight).table(case.spec))
    assert_agrees(found, case.universe, memory, case.weight)


def test_cell_keys_of_spark_are_those_of_memory(spark: Any, folder: Path) -> None:
    draw = np.random.default_rng(5)
    frame = pa.table({"area": draw.choice(AREA.base_codes, 300), "id": [f"id {i}" for i in range(300)]})
    data = ds.Microdata(frame_of(spark, frame, folder, "keys"))
    one, other = (
        ds.protect(source, ds.CellKey(identifier="id"), tables=[ds.TableSpec(by={"area": AREA})], key=KEY)
        for source in (data, ds.Microdata(frame))
    )
    np.testing.assert_array_equal(one.custodian.published[0], other.custodian.published[0])


def test_records_dropped_and_added_by_spark_are_those_of_memory(spark: Any, folder: Path) -> None:
    draw = np.random.default_rng(6)
    frame = pa.table({"area": draw.choice(AREA.base_codes, 300), "id": [f"id {i}" for i in range(300)]})
    one, other = (
        ds.protect(ds.Microdata(source), ds.DropAdd("id", rate=0.2), tables=[ds.TableSpec(by={"area": AREA})], key=KEY)
        for source in (frame_of(spark, frame, folder, "dropped"), frame)
    )
    np.testing.assert_array_equal(one.custodian.published[0], other.custodian.published[0])


def test_text_that_spark_compares_loosely_is_refused(spark: Any, folder: Path) -> None:
    frame = frame_of(spark, pa.table({"area": ["n1", "N1"]}), folder, "loose")
    with pytest.raises(NeedsError, match=r"compares column 'area' of table 'Spark frame' loosely.*UTF8_LCASE"):
        ds.tabulate(ds.Microdata(frame.selectExpr("area COLLATE UTF8_LCASE AS area")), by={"area": AREA})


def test_large_numbers_keep_their_last_digits_beside_gaps_of_lists(spark: Any, folder: Path) -> None:
    """Cells with fewer contributors than their lists are long have gaps, which make floats of a column in pandas."""
    amounts = [2**60 + 1, 2**58 + 3, 2**57 + 5, 7]
    frame = pa.table({"area": ["n1", "n1", "n2", "s1"], "x": amounts, "firm": ["ann", "bob", "cy", "ann"]})
    one, other = (
        ds.tabulate(ds.Microdata(source, contributor="firm"), by={"area": AREA}, value="x")
        for source in (frame_of(spark, frame, folder, "digits"), frame)
    )
    assert_same_table(one, other)


def test_sums_beyond_64_bits_are_refused_in_the_words_of_memory(spark: Any, folder: Path) -> None:
    frame = pa.table({"area": ["n1", "n2", "s1"], "x": [2**62 - 1, 2**62 - 1, 2**62 - 1], "firm": [1, 2, 3]})
    said = []
    for source in (frame_of(spark, frame, folder, "large"), frame):
        with pytest.raises(InputError) as caught:
            ds.tabulate(ds.Microdata(source, contributor="firm"), by={"area": AREA}, value="x")
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_names_that_spark_takes_for_one_are_refused(spark: Any, folder: Path) -> None:
    frame = frame_of(spark, pa.table({"area": ["n1"], "b": [1]}), folder, "names")
    twice = frame.selectExpr("area", "b AS `Area`")
    with pytest.raises(InputError, match="which Spark takes for one"):
        ds.tabulate(ds.Microdata(twice), by={"area": AREA})
