"""Files larger than memory: what duckdb leaves behind, and how it is stopped."""

from __future__ import annotations

import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from discreet.engine import outofcore, staging
from discreet.errors import Cancelled, InputError, NeedsError, ParameterError
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from discreet.progress import Step, reporting
from discreet.verbs.tabulate import tabulate
from tests.engine.brute_force import assert_same_table


@pytest.fixture
def file(tmp_path: Path, survey: pa.Table) -> Path:
    pa.csv.write_csv(survey, tmp_path / "survey.csv")
    return tmp_path / "survey.csv"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def both(file: Path, **options: Any) -> tuple[Table, Table]:
    one, other = (tabulate(file, engine=engine, **options) for engine in ("memory", "duckdb"))
    assert isinstance(one, Table)
    assert isinstance(other, Table)
    return one, other


def test_temporary_files_are_private_and_go(file: Path, by: dict[str, Hierarchy], scratch: Path) -> None:
    modes: list[int] = []

    def listener(step: Step) -> None:
        modes.extend(stat.S_IMODE(folder.stat().st_mode) for folder in scratch.iterdir())

    with reporting(listener):
        tabulate(file, by=by, value="turnover", contributor="firm", engine="duckdb")
    assert set(modes) == {0o700}
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("stage", ["read", "sums", "contributors"])
def test_cancelling_leaves_nothing_behind(file: Path, by: dict[str, Hierarchy], scratch: Path, stage: str) -> None:
    def listener(step: Step) -> None:
        if step.stage == stage:
            raise Cancelled

    with reporting(listener), pytest.raises(Cancelled):
        tabulate(file, by=by, value="turnover", contributor="firm", engine="duckdb")
    assert not list(scratch.iterdir())


def test_an_error_leaves_nothing_behind(file: Path, by: dict[str, Hierarchy], scratch: Path) -> None:
    with pytest.raises(InputError):
        tabulate(file, by=by, value="firm", engine="duckdb")
    assert not list(scratch.iterdir())


def test_a_running_statement_is_interrupted() -> None:
    heard: list[Step] = []

    def listener(step: Step) -> None:
        heard.append(step)
        if len(heard) > 1:
            raise Cancelled

    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) = 1"
    with staging.opened() as session:
        with reporting(listener), pytest.raises(Cancelled):
            session.run("endless", endless)
        assert session.rows("SELECT 1") == [(1,)]


def test_progress_is_reported(file: Path, by: dict[str, Hierarchy]) -> None:
    heard: list[str] = []
    with reporting(lambda step: heard.append(step.stage)):
        tabulate(file, by=by, value="staff", contributor="firm", engine="duckdb")
    assert {"read", "decimals", "sums", "contributors"} <= set(heard)


def test_without_duckdb_the_extra_is_named(
    file: Path, by: dict[str, Hierarchy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(NeedsError, match=r"discreet\[sql\]"):
        tabulate(file, by=by, engine="duckdb")


def test_frames_are_for_the_engine_in_memory(survey: pa.Table, by: dict[str, Hierarchy]) -> None:
    with pytest.raises(ParameterError, match="engine='memory'"):
        tabulate(survey, by=by, engine="duckdb")


def test_what_duckdb_cannot_do_is_an_error_of_ours(file: Path, by: dict[str, Hierarchy]) -> None:
    with pytest.raises(InputError, match="duckdb could not finish") as caught, staging.opened() as session:
        session.rows("SELECT 1 FROM nowhere")
    assert "nowhere" in caught.value.details
    assert "nowhere" not in str(caught.value)


def test_only_what_is_needed_is_read(tmp_path: Path, by: dict[str, Hierarchy], survey: pa.Table) -> None:
    file = tmp_path / "survey.csv"
    pa.csv.write_csv(survey, file)
    with staging.opened() as session:
        source = staging.Source(session, file, ["region", "turnover"], ["region"], ",")
        assert session.rows("SELECT count(*) FROM duckdb_columns() WHERE table_name = 'raw'") == [(2,)]
        assert source.kinds == {"region": "text", "turnover": "integer"}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (["1", "-20", "", " 7 ", "007"], "integer"),
        (["1", "2.5"], "float"),
        (["1e3", "7"], "float"),
        (["9223372036854775808", "1"], "float"),
        (["nan", "1"], "float"),
        (["true", "0", "False"], "boolean"),
        (["1_000", "2"], "text"),
        (["1", "x"], "text"),
        (["", ""], "nothing"),
    ],
)
def test_types_of_csv_columns_are_those_of_the_reader_in_memory(tmp_path: Path, fields: list[str], kind: str) -> None:
    from discreet.files.frames import read_columns

    file = tmp_path / "fields.csv"
    file.write_text("a,b\n" + "".join(f"{field},1\n" for field in fields))
    with staging.opened() as session:
        source = staging.Source(session, file, ["a"], [], ",")
        assert source.kinds == {"a": kind}
        read = session.rows(f"SELECT {source.column('a')} FROM raw ORDER BY rowid")
    column = read_columns(file, ["a"])["a"]
    types = {
        "integer": pa.int64(),
        "float": pa.float64(),
        "boolean": pa.bool_(),
        "text": pa.string(),
        "nothing": pa.null(),
    }
    assert column.type == types[kind]
    assert str(sorted(map(str, column.to_pylist()))) == str(sorted(str(row[0]) for row in read))


@pytest.mark.parametrize(
    "where",
    [
        "region == 'N'",
        "region != 'N'",
        "region in ['N', 'none']",
        "region not in ['N']",
        "turnover >= 11",
        "turnover < 20.5",
        "turnover in [7, 3, 100]",
        "turnover not in [7]",
        "agrees == 1",
        "agrees not in [1]",
        "staff in [1, 2.25]",
        "staff not in [1]",
        "staff > 1",
        "staff != 1",
        ["staff <= 5", "region > 'M'"],
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_filters_mean_the_same(
    tmp_path: Path, survey: pa.Table, by: dict[str, Hierarchy], where: str | list[str], kind: str
) -> None:
    gaps = {"region": ["N", None, "N", "S", "S", "S"], "turnover": [100, 20, 50, 7, None, 11]}
    gaps["staff"] = [10.5, 2.25, float("nan"), 1.0, None, 0.0]
    for name, values in gaps.items():
        survey = survey.set_column(survey.column_names.index(name), name, pa.array(values))
    file = tmp_path / f"survey.{kind}"
    write = pa.csv.write_csv if kind == "csv" else pa.parquet.write_table
    write(survey, file)
    one, other = both(file, by={"industry": by["industry"]}, where=where)
    assert_same_table(one, other)


def test_columns_of_a_parquet_file_may_have_any_name_and_type(tmp_path: Path) -> None:
    from datetime import date

    names = ['a "quoted" name', "select", "Code", "code", "when"]
    columns = [
        [1, 2, 1],
        [2.0, 2.0, 3.5],
        [True, False, True],
        ["x", "y", "x"],
        [date(2024, 1, 1)] * 2 + [date(2025, 1, 1)],
    ]
    codes = [["1", "2"], ["2", "3.5"], ["True", "False"], ["x", "y"], ["2024-01-01", "2025-01-01"]]
    file = tmp_path / "it's [1] *.parquet"
    pa.parquet.write_table(pa.table(dict(zip(names, columns, strict=True))), file)
    for name, listing in zip(names, codes, strict=True):
        one, other = both(file, by={name: Hierarchy.flat(listing)}, contributor="Code", value="select")
        assert_same_table(one, other)
        assert one.value[0] == 75


def test_integers_beyond_floating_point_stay_exact(tmp_path: Path) -> None:
    file = tmp_path / "large.csv"
    file.write_text("c,x\na,9007199254740993\nb,1\n")
    one, other = both(file, by={"c": Hierarchy.flat(["a", "b"])}, value="x")
    assert_same_table(one, other)
    assert one.value.tolist() == [9007199254740994, 9007199254740993, 1]


def test_many_decimals_are_cut_alike(tmp_path: Path) -> None:
    file = tmp_path / "thirds.parquet"
    values = [1 / 3, 2e5 / 7, -1e-9]
    pa.parquet.write_table(pa.table({"c": ["a", "b", "a"], "x": values, "w": [1 / 3, 1.0, 2.0]}), file)
    one, other = both(file, by={"c": Hierarchy.flat(["a", "b"])}, value="x", weight="w")
    assert_same_table(one, other)
    assert one.decimals == 5 + 6


def test_a_file_without_contributors_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outofcore, "PART", 1000)
    values = [(7919 * i) % 1000 / 8 for i in range(5000)]
    table = pa.table({"c": [f"{i % 7}" for i in range(5000)], "x": values})
    pa.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=700)
    data = Microdata(tmp_path / "x.parquet")
    one, other = (
        tabulate(data, by={"c": Hierarchy.flat([str(i) for i in range(7)])}, value="x", engine=engine)
        for engine in ("memory", "duckdb")
    )
    assert isinstance(one, Table)
    assert isinstance(other, Table)
    assert_same_table(one, other)
