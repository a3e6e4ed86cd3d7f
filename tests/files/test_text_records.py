"""Records with a decimal comma, in another encoding, or on a sheet of a workbook."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError, ParameterError

flat = ds.Hierarchy.flat


@pytest.fixture
def french(tmp_path: Path) -> Path:
    path = tmp_path / "firms.csv"
    path.write_bytes("région;firme;chiffre\n01;é;1.234,5\n01;b;2,25\n02;c;3\n".encode("cp1252"))
    return path


HOW = {"delimiter": ";", "decimal": ",", "encoding": "cp1252"}


def test_numbers_are_numbers_and_codes_keep_their_zeros(french: Path):
    table = ds.tabulate(french, by={"région": flat(["01", "02"])}, value="chiffre", contributor="firme", **HOW)
    assert table.to_frame().to_pydict()["value"] == [1239.75, 1236.75, 3.0]
    plain = french.with_name("plain.csv")
    plain.write_text("région,firme,chiffre\n01,é,1234.5\n01,b,2.25\n02,c,3\n", encoding="utf-8")
    same = ds.tabulate(plain, by={"région": flat(["01", "02"])}, value="chiffre", contributor="firme")
    assert same.to_frame().to_pydict() == table.to_frame().to_pydict()


def test_a_recipe_reads_them_too(french: Path):
    recipe = french.with_name("recipe.toml")
    recipe.write_text(
        """version = 1
[data]
file = "firms.csv"
delimiter = ";"
decimal = ","
encoding = "cp1252"
[[tables]]
by = ["région"]
value = "chiffre"
[[rules]]
kind = "min_contributors"
n = 1
[[protect]]
method = "suppress"
[output]
directory = "out"
""",
        encoding="utf-8",
    )
    done = ds.run_recipe(recipe)
    assert done.release.to_frame().to_pydict()["value"] == [1239.75, 1236.75, 3.0]


def test_a_release_of_records_keeps_codes_as_they_stand(french: Path):
    data = ds.Microdata(french, keys=["région"], numeric=["chiffre"], identifier="firme", **HOW)
    release = ds.protect(data, ds.Recode("région", map={"01": "01", "02": "01"}))
    shown = release.to_frame().to_pydict()
    assert set(shown["région"]) == {"01"}
    assert sorted(shown["chiffre"]) == [2.25, 3.0, 1234.5]


def test_a_column_that_is_no_number_everywhere_stays_text_and_is_refused_by_name(tmp_path: Path):
    (tmp_path / "x.csv").write_text("a;x\nN;1,5\nN;1.5\n")
    data = ds.Microdata(tmp_path / "x.csv", delimiter=";", decimal=",")
    with pytest.raises(InputError, match="Column 'x' holds text where numbers are needed"):
        ds.tabulate(data, by={"a": flat(["N"])}, value="x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "nope"}, "There is no encoding 'nope'"),
        ({"decimal": ","}, "A comma cannot both separate columns and begin decimals"),
        ({"decimal": "'"}, 'decimal="\'" is not allowed'),
        ({"delimiter": ";", "decimal": ",", "encoding": "utf-8"}, "'firms.csv' is not utf-8 text"),
        ({"sheet": "Sheet1"}, "Only xlsx files have sheets"),
    ],
)
def test_what_does_not_go_together_is_refused(french: Path, options, message):
    with pytest.raises(DiscreetError, match=message):
        ds.Microdata(french, **options)


def test_errors_name_the_way_to_read_such_files(french: Path):
    with pytest.raises(InputError, match=r"Microdata\('firms.csv', encoding='latin-1'\)"):
        ds.tabulate(french, by={"région": flat(["01", "02"])}, delimiter=";")
    (french.parent / "comma.csv").write_text("a;x\nN;1,5\n")
    with pytest.raises(InputError, match="Say so: Microdata\\(delimiter=';', decimal=','\\)"):
        ds.tabulate(french.parent / "comma.csv", by={"a": flat(["N"])}, value="x", delimiter=";")


def test_parquet_files_have_neither_sign_nor_encoding(tmp_path: Path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": ["N"]}), tmp_path / "x.parquet")
    with pytest.raises(ParameterError, match=r"are for csv files, and 'x.parquet' is none"):
        ds.Microdata(tmp_path / "x.parquet", decimal=",")


def test_records_are_read_from_a_sheet(tmp_path: Path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    page = book.active
    page.append(["region", "code", "x"])
    for row in (["N", "01", 1], ["N", "02", 2.5], ["S", "01", 3.0], [None, "01", 4]):
        page.append(row)
    second = book.create_sheet("second")
    second.append(["region", None, "x"])
    second.append(["N", 1, 2])
    book.save(tmp_path / "x.xlsx")
    by = {"region": flat(["N", "S"]), "code": flat(["01", "02"])}
    table = ds.tabulate(tmp_path / "x.xlsx", by=by, value="x", where="region is not null")
    assert table.to_frame().to_pydict()["value"][0] == 6.5
    with pytest.raises(InputError, match=r"Column 2 of the sheet in 'x.xlsx' has no name"):
        ds.Microdata(tmp_path / "x.xlsx", sheet="second")
    with pytest.raises(ParameterError, match="There is no sheet 'third'"):
        ds.Microdata(tmp_path / "x.xlsx", sheet="third")
