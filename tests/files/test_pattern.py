"""Pattern files: our own, and those of other programs."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, OutputError, ParameterError
from tests.model.test_pattern import linked, release, table


@pytest.mark.parametrize("only_withheld", [False, True])
def test_a_pattern_survives_its_file(tmp_path, only_withheld):
    for name, pattern in (("one", release().pattern()), ("two", ds.protect(linked(), ds.Suppress()).pattern())):
        path = tmp_path / f"{name}.csv"
        pattern.write(path, only_withheld=only_withheld)
        back = ds.read_pattern(path)
        assert back.digest == pattern.digest
        assert back.name == f"{name}.csv"
        assert len(back) == (len(pattern) - pattern.count("published") if only_withheld else len(pattern))
        assert path.stat().st_mode & 0o077 == 0


def test_the_file_is_plain_csv(tmp_path):
    table().pattern().write(tmp_path / "p.csv", only_withheld=True)
    assert (tmp_path / "p.csv").read_text() == "table,trade,region,pattern_status\nturnover,retail,South,unsafe\n"


def test_an_existing_file_stays(tmp_path):
    (tmp_path / "p.csv").write_text("mine")
    with pytest.raises(OutputError, match=r"'p.csv' exists"):
        table().pattern().write(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == "mine"
    with pytest.raises(OutputError, match=r"Cannot write"):
        table().pattern().write(tmp_path / "none" / "p.csv")


def test_codes_that_look_like_formulas_come_back(tmp_path):
    cells = pa.table({"region": ["=A1", '-x,"y"'], "value": [5, 6], "status": ["U", "V"]})
    by = {"region": ds.Hierarchy.flat(["=A1", '-x,"y"'])}
    pattern = ds.Table.from_cells(cells, by=by, compute_totals=True).assess().pattern()
    pattern.write(tmp_path / "p.csv")
    assert "'=A1" in (tmp_path / "p.csv").read_text()
    assert ds.read_pattern(tmp_path / "p.csv").digest == pattern.digest


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        ("argus", ["S", "U", "M", "P", "E"]),
        ("argus", ["1", "3", "11", "10", "14"]),
        ("sdctable", ["s", "u", "x", "z", "s"]),
        ("jj", ["s", "u", "m", "z", "s"]),
        ("custodian", ["V", "U", "M", "P", "E"]),
        ({"ok": "published", "p": "unsafe", "c": "secondary", "f": "forced"}, ["ok", "p", "c", "f", "ok"]),
        ("words", ["published", "unsafe", "withheld", "frozen", "empty"]),
    ],
)
def test_letters_of_other_programs(tmp_path, letters, said):
    lines = [f"r{i};{i * 111};{status}" for i, status in enumerate(said)]
    (tmp_path / "theirs.csv").write_text("\n".join(["Reg;Turnover;Flag", *lines, ""]))
    pattern = ds.read_pattern(
        tmp_path / "theirs.csv",
        variables=["region"],
        columns={"Reg": "region", "Flag": "status"},
        letters=letters,
        delimiter=";",
    )
    assert pattern.cells(status="unsafe") == [("r1",)]
    assert pattern.cells(status="secondary") == [("r2",)]
    assert pattern.cells(status="forced") == [("r3",)]
    assert pattern.count("published") == 2
    assert "111" not in str(pattern.columns())


def test_a_file_of_withheld_cells_only(tmp_path):
    (tmp_path / "w.csv").write_text("trade,region\nretail,South\nfood,\n")
    pattern = ds.read_pattern(tmp_path / "w.csv", variables=["trade", "region"], all_are="secondary")
    assert pattern.cells() == [("retail", "South"), ("food", "")]
    assert pattern.count("secondary") == 2
    with pytest.raises(ParameterError, match=r"all_are='published' is not allowed"):
        ds.read_pattern(tmp_path / "w.csv", variables=["trade", "region"], all_are="published")


def test_several_tables_in_one_file_under_other_names():
    frame = pa.table(
        {"t": ["T1", "T1", "T2"], "region": ["N", "S", "N"], "size": [None, None, "1"], "s": ["u", "s", "x"]}
    )
    pattern = ds.read_pattern(
        frame,
        variables=["region", "size"],
        columns={"t": "table", "s": "status"},
        letters="sdctable",
        tables={"T1": "a", "T2": "b"},
    )
    placed = pattern.placed(linked())
    tables = linked().tables
    assert placed.status[0][tables[0].row(region="N")] == 2
    assert placed.status[1][tables[1].row(region="N", size="1")] == 3


def test_values_are_never_taken_for_codes(tmp_path):
    """A file of another program must say which columns are codes; its values are not even read."""
    (tmp_path / "full.csv").write_text("table,trade,region,turnover,status\nturnover,retail,South,777123,unsafe\n")
    with pytest.raises(InputError, match=r"Which columns of the pattern hold codes is not known.*variables="):
        ds.read_pattern(tmp_path / "full.csv")
    pattern = ds.read_pattern(tmp_path / "full.csv", variables=["trade", "region"])
    assert "777123" not in repr(pattern) + str(vars(pattern.tables[0]))
    (tmp_path / "own.csv").write_text("table,trade,value,pattern_status\nturnover,retail,777123,unsafe\n")
    with pytest.raises(InputError, match=r"columns that cannot be codes: 'value'"):
        ds.read_pattern(tmp_path / "own.csv")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (
            {"r": ["N", "N"], "status": ["unsafe", "secondary"]},
            {},
            r"contradicts itself: 'r=N \(unsafe and secondary\)'.*one line per cell",
        ),
        ({"r": ["N", "S", "N"], "status": ["unsafe"] * 3}, {}, r"1 cell stands in the pattern twice: 'r=N'"),
        ({"r": ["N"], "status": ["x"]}, {}, r"not known: 'x' in record 1.*letters='public', 'argus', 'sdctable'"),
        ({"r": ["N"], "status": ["q"]}, {}, r"not known: 'q' in record 1.*Say what they mean"),
        ({"r": ["N"], "status": [None]}, {}, r"not known: '' in record 1"),
        ({"r": ["N"], "flag": ["x"]}, {}, r"no column 'status'.*all_are='secondary'"),
        ({"r": ["N"], "status": ["u"]}, {"columns": {"R": "r"}}, r"no column 'R'"),
        ({"r": ["N"], "status": ["u"]}, {"letters": "argos"}, r"Did you mean 'argus'"),
        ({"r": ["N"], "status": ["u"]}, {"letters": {"u": "unsaf"}}, r"no status 'unsaf'"),
        ({"r": ["N"], "status": ["u"]}, {"variables": "r"}, r"takes a list of names"),
        ({"r": ["N"], "status": ["u"]}, {"variables": []}, r"at least one variable"),
        ({"r": ["N"], "status": ["unsafe"]}, {"variables": ["s"]}, r"no column 's'"),
        ({"table": ["N"], "status": ["unsafe"]}, {"variables": ["table"]}, r"cannot be called 'table'"),
        ({"a": ["N"], "b": ["u"]}, {"columns": {"a": "r", "b": "r"}}, r"two columns to one name"),
    ],
)
def test_mistakes_are_named_with_what_to_do(rows, options, message):
    with pytest.raises((InputError, ParameterError), match=message):
        ds.read_pattern(pa.table(rows), **{"variables": ["r"], **options})
