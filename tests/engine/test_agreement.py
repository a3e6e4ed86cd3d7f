"""Both engines agree with brute force and with each other, in every column."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engine import cells, encode, outofcore
from discreet.engine.encode import read_records
from discreet.engine.protocol import open_records
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.verbs.tabulate import tabulate
from tests.engine.brute_force import assert_agrees, assert_same_column, assert_same_table
from tests.engine.strategies import Case, cases

modest = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
few = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def in_memory(data: Microdata, spec: TableSpec, weight: str | None) -> Table:
    return read_records(data, [spec], weight).table(spec)


@modest
@given(cases())
def test_memory_agrees_with_brute_force(case: Case) -> None:
    data = case.microdata(case.frame)
    assert_agrees(in_memory(data, case.spec, case.weight), case.universe, data, case.weight)


@few
@given(cases(), st.sampled_from(["csv", "parquet"]), st.integers(2, 30))
def test_duckdb_agrees_with_memory(case: Case, kind: str, part: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(outofcore, "PART", part)
        patch.setattr(outofcore, "SORTED_PARTS", 3)
        file = Path(folder) / f"records.{kind}"
        if kind == "csv":
            pa.csv.write_csv(case.frame, file)
        else:
            pa.parquet.write_table(case.frame, file, row_group_size=7)
        data = case.microdata(file)
        with open_records(data.on("duckdb"), [case.spec], case.weight) as records:
            assert_same_table(records.table(case.spec), in_memory(data, case.spec, case.weight))


@few
@given(cases(), st.integers(0, 3))
def test_prepared_records_agree_with_memory(case: Case, asked_before: int) -> None:
    data = case.microdata(case.frame)
    prepared = data.prepared()
    smaller = [case.spec.with_(by={v: h}, value=None, shadow=None, cost=None) for v, h in case.spec.by.items()]
    for spec in [*smaller, case.spec][:asked_before]:
        with open_records(prepared, [spec], case.weight) as records:
            assert_same_table(records.table(spec), in_memory(data, spec, case.weight))
    with open_records(prepared, [case.spec], case.weight) as records:
        assert_same_table(records.table(case.spec), in_memory(data, case.spec, case.weight))


@few
@given(cases())
def test_a_sparse_code_space_gives_the_same_table(case: Case) -> None:
    data = case.microdata(case.frame)
    dense = in_memory(data, case.spec, case.weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "DENSE_CELLS", 0)
        patch.setattr(encode, "BLOCK", 3)
        sparse = in_memory(data, case.spec, case.weight)
    assert_same_table(sparse, dense)


@few
@given(cases(), st.randoms(use_true_random=False), st.integers(1, 6))
def test_order_and_chunks_of_records_do_not_matter(case: Case, chance: random.Random, size: int) -> None:
    order = list(range(len(case.records)))
    chance.shuffle(order)
    shuffled = case.frame.take(order)
    pieces = pa.concat_tables([shuffled.slice(start, size) for start in range(0, len(order), size)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "BLOCK", 2)
        patch.setattr(encode, "SMALL_BATCH", 0)
        again = in_memory(case.microdata(pieces), case.spec, case.weight)
    before = in_memory(case.microdata(case.frame), case.spec, case.weight)
    if before.holders is not None and "contributor" not in case.roles:
        # Records are known by their place in the file, which has changed.
        assert_same_column(np.abs(again.holders.amount), np.abs(before.holders.amount), "amount")
        before, again = before.with_(holders=None), again.with_(holders=None)
    assert_same_table(again, before)


def test_several_specs_read_the_file_once(tmp_path: Path, survey: pa.Table, by: dict[str, Hierarchy]) -> None:
    file = tmp_path / "survey.csv"
    pa.csv.write_csv(survey, file)
    data = Microdata(file, contributor="firm")
    specs = [
        TableSpec(by=by, value="turnover"),
        TableSpec(by={"region": by["region"]}, value="staff", shadow="turnover", cost="staff"),
        TableSpec(by={"industry": by["industry"]}),
    ]
    with open_records(data.on("duckdb"), specs, "weight") as records:
        for spec in specs:
            assert_same_table(records.table(spec), in_memory(data, spec, "weight"))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_several_values_make_a_set_of_the_single_tables(
    tmp_path: Path, survey: pa.Table, by: dict[str, Hierarchy], engine: Literal["memory", "duckdb"]
) -> None:
    pa.parquet.write_table(survey, tmp_path / "survey.parquet")
    data = Microdata(tmp_path / "survey.parquet", contributor="firm", weight="weight", waiver="agrees", request="asks")
    together = tabulate(data, by=by, value=["turnover", "staff"], where="turnover > 3", engine=engine)
    assert isinstance(together, TableSet)
    for table in together:
        alone = tabulate(data, by=by, value=table.spec.value, where="turnover > 3", engine="memory")
        assert isinstance(alone, Table)
        assert_same_table(table, alone)
