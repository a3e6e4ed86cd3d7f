"""Output files: layouts, options, and what must not leave the house."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import NeedsError, ParameterError
from discreet.files.argus.jj import read_jj
from discreet.files.argus.outputs import Options


@pytest.fixture(scope="module")
def release() -> ds.Release:
    table = ds.examples.small_table().assess(ds.PPercent(10), profile="argus")
    return ds.protect(table, ds.Suppress())


def text(release: ds.Release, tmp_path: Path, kind: str | int, options: str = "") -> str:
    return ds.write_argus(release, tmp_path / "out.txt", kind, options=options).files[0].read_text()


def test_code_value_shows_x_or_the_status(release: ds.Release, tmp_path: Path) -> None:
    lines = text(release, tmp_path, 3).splitlines()
    assert lines[0] == '"Total","Total",920'
    assert lines[7] == '"retail","South",x'
    assert sum(line.endswith(",x") for line in lines) == 4
    assert text(release, tmp_path, 3, "AS+").splitlines()[7] == '"retail","South",200,3'
    assert text(release, tmp_path, 3, "AS+QU-FL+").splitlines()[0] == "trade,region,turnover,Status"


def test_pivot_has_a_header_and_csv_is_a_grid(release: ds.Release, tmp_path: Path) -> None:
    assert text(release, tmp_path, "pivot").splitlines()[0] == '"trade","region","turnover"'
    grid = text(release, tmp_path, "csv").splitlines()
    assert grid[0] == ',"Total","North","East","South"'
    assert grid[1] == '"Total",920,250,250,420'
    assert sum(line.split(",").count("x") for line in grid) == 4
    assert grid[-1] == ""
    assert text(release, tmp_path, "csv", "AS+QU-").splitlines()[1] == "Total,920,250,250,420"


def test_a_grid_has_a_block_for_each_code_of_the_first_variables(tmp_path: Path) -> None:
    codes = {"a": ["x"], "b": ["y"], "c": ["p", "q"], "d": ["u", "v"]}
    rows = [(a, b, c, d) for a in codes["a"] for b in codes["b"] for c in codes["c"] for d in codes["d"]]
    cells = pa.table({name: [row[k] for row in rows] for k, name in enumerate(codes)} | {"value": [1, 2, 3, 4]})
    by = {name: ds.Hierarchy.flat(listing) for name, listing in codes.items()}
    table = ds.Table.from_cells(cells, by=by, compute_totals=True).assess()
    blocks = ds.write_argus(table, tmp_path / "grid.csv", 1).files[0].read_text().split("\n\n")
    assert blocks[1] == ('Var 1,"Total", Var 2,"y"\n,"Total","u","v"\n"Total",10,4,6\n"p",3,1,2\n"q",7,3,4')
    assert len(blocks) == 5
    one = ds.Table.from_cells(cells.select(["d", "value"]).slice(0, 2), by={"d": by["d"]}, compute_totals=True).assess()
    assert ds.write_argus(one, tmp_path / "one.csv", 1).files[0].read_text() == ',"Total","u","v"\n,3,1,2\n'


def test_sbs_has_contributors_letters_shares_and_levels(release: ds.Release, tmp_path: Path) -> None:
    lines = text(release, tmp_path, 4, "HL+").splitlines()
    assert lines[0] == '"Total",0,"Total",0,920,9,V'
    assert lines[7] == '"retail",0,"South",0,200,9,F,90.0,5.0'
    assert sum(line.endswith(",D") for line in lines) == 3


def test_letters_of_sbs_say_which_rule_was_broken(tmp_path: Path) -> None:
    table = ds.examples.small_table()
    top = table.contributions["holding"].top[7]
    assert top.tolist() == [180, 10, 5]
    by_two = ds.write_argus(table.assess(ds.Dominance(2, 92)), tmp_path / "two.txt", 4).files[0].read_text()
    assert by_two.splitlines()[7] == '"retail","South",200,9,C,95.0'
    by_one = ds.write_argus(table.assess(ds.Dominance(2, 80)), tmp_path / "one.txt", 4).files[0].read_text()
    assert by_one.splitlines()[7] == '"retail","South",200,9,B,90.0'
    few = ds.write_argus(table.assess(ds.MinContributors(10)), tmp_path / "few.txt", 4).files[0].read_text()
    assert few.splitlines()[7] == '"retail","South",200,9,A'
    hand = table.marked({("retail", "South"): "U"}).assess()
    assert ds.write_argus(hand, tmp_path / "hand.txt", 4).files[0].read_text().splitlines()[7].endswith(",9,B,90.0")


def test_rounded_and_adjusted_tables_have_the_columns_of_the_program(tmp_path: Path) -> None:
    table = ds.examples.small_table().assess(ds.PPercent(10))
    rounded = ds.protect(table, ds.Round(base=10))
    lines = text(rounded, tmp_path, 2, "AS+").splitlines()
    assert lines[0] == '"trade","region","turnover_Round","turnover_Orig"'
    assert [line.count(",") for line in lines[:2]] == [3, 3]
    adjusted = text(ds.protect(table, ds.Adjust()), tmp_path, 2, "AS+").splitlines()
    assert adjusted[0] == '"trade","region","turnover_CTA","turnover_Orig","Status"'
    assert adjusted[1].count(",") == 4


def test_an_intermediate_file_is_read_back(release: ds.Release, tmp_path: Path) -> None:
    written = ds.write_argus(release, tmp_path / "out.tab", 5)
    assert written.confidential
    assert written.files[0].stat().st_mode & 0o077 == 0
    again = ds.read_argus_table(tmp_path / "out.tab", tmp_path / "out.rda")
    table = release.custodian.tables.tables[0]
    cells = [dict(zip(table.variables, table.spec_codes(codes), strict=True)) for codes in table.codes.tolist()]
    rows = [again.row(**codes) for codes in cells]
    assert again.manual is not None
    assert (again.value[rows] == table.value).all()
    assert (again.manual[rows] == release.custodian.status[0]).all()
    assert (again.contributions["holding"].top[rows] == table.contributions["holding"].top).all()
    assert table.assessment is not None
    assert again.manual_upper is not None
    assert (again.manual_upper[rows] == table.assessment.upper).all()


def test_an_intermediate_file_takes_the_audit_or_the_status_only(release: ds.Release, tmp_path: Path) -> None:
    line = text(release, tmp_path, 5, "AR+").splitlines()[7].split(";")
    low, high = float(line[-6]), float(line[-5])
    assert low <= 200 - float(line[-7])
    assert high >= 200 + float(line[-7])
    assert text(release, tmp_path, 5, "AR+").splitlines()[0].split(";")[-3:] == ["0", "0", "0"]
    assert text(release, tmp_path, 5, "SO+").splitlines()[7] == '"retail";"South";U'


def test_a_jj_file_holds_cells_and_relations(release: ds.Release, tmp_path: Path) -> None:
    written = ds.write_argus(release, tmp_path / "out.jj", "jj")
    instance = read_jj(written.files[0])
    table = release.custodian.tables.tables[0]
    assert len(instance) == len(table)
    assert not instance.residual().any()
    assert np.bincount(instance.status, minlength=4).tolist() == [12, 1, 3, 0]
    assert instance.upper_level[instance.status == 1].tolist() == [8.0]


def test_cell_key_files_need_cell_keys(release: ds.Release, tmp_path: Path) -> None:
    with pytest.raises(NeedsError, match="needs a table that was changed by cell keys"):
        ds.write_argus(release, tmp_path / "out.txt", 7)


def test_bad_kinds_and_options_are_refused(release: ds.Release, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no kind of file 'spss'"):
        ds.write_argus(release, tmp_path / "out.txt", "spss")
    with pytest.raises(ParameterError, match="no option 'ZZ'"):
        ds.write_argus(release, tmp_path / "out.txt", options="ZZ+")
    with pytest.raises(ParameterError, match="cannot be read"):
        ds.write_argus(release, tmp_path / "out.txt", options="A+")


@given(st.text("ASEFLQU+- ", max_size=12))
def test_options_are_read_back_as_they_are_written(words: str) -> None:
    try:
        options = Options.parse(words)
    except ParameterError:
        return
    assert Options.parse(options.text()) == options


def test_formulas_are_text_in_files_for_spreadsheets_only(tmp_path: Path) -> None:
    cells = pa.table({"v": ["Total", "=1+1", "b"], "value": [3, 1, 2]})
    table = ds.Table.from_cells(cells, by={"v": ds.Hierarchy.flat(["=1+1", "b"])})
    table = table.marked({("b",): "P"}).assess()
    release = ds.protect(table, ds.Suppress())
    assert '"\'=1+1"' in text(release, tmp_path, "pivot")
    assert '"\'=1+1"' in text(release, tmp_path, "csv")
    assert '"=1+1"' in text(release, tmp_path, "code_value")


code = st.text("aB1 é;,'中", min_size=1, max_size=4).map(str.strip).filter(lambda c: c not in ("", "Total", "-"))


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_intermediate_files_survive_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lists = [data.draw(st.lists(code, min_size=1, max_size=4, unique=True)) for _ in range(2)]
    decimals = data.draw(st.integers(0, 3))
    size = len(lists[0]) * len(lists[1])
    inner = data.draw(st.lists(st.integers(0, 10**13), min_size=size, max_size=size))
    from decimal import Decimal

    rows = [(a, b) for a in lists[0] for b in lists[1]]
    cells = pa.table(
        {
            "one": [a for a, _ in rows],
            "two": [b for _, b in rows],
            "value": pa.array([Decimal(n).scaleb(-decimals) for n in inner], pa.decimal128(38, 9)),
        }
    )
    by = {"one": ds.Hierarchy.flat(lists[0]), "two": ds.Hierarchy.flat(lists[1])}
    table = ds.Table.from_cells(cells, by=by, compute_totals=True, decimals=decimals, variable="x").assess()
    folder = tmp_path_factory.mktemp("tab")
    ds.write_argus(table, folder / "t.tab", "intermediate")
    again = ds.read_argus_table(folder / "t.tab", folder / "t.rda")
    scale = 10 ** (max(decimals, again.decimals) - min(decimals, again.decimals))
    for a, b in [*rows, ("Total", "Total")]:
        mine = int(table.value[table.row(one=a, two=b)])
        theirs = int(again.value[again.row(one=a, two=b)])
        assert mine == theirs * scale if again.decimals < decimals else mine * scale == theirs
