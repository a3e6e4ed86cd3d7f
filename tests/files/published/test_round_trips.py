"""What is written in a format of publication can be read back by others, and is the same table."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import OutputError
from discreet.files.published import FORMATS, Heading, write_public
from discreet.model.public import PublicTable, in_rows_of
from discreet.verify.formats import CHECKS, Different, ShownTable, Words
from tests.files.published.making import one_table, public_tables

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
OTHERS = [name for name in FORMATS if name != "csv"]


def cells(table: PublicTable) -> dict[tuple[str, ...], tuple[Decimal | None, str]]:
    found = {}
    for i, place in enumerate(table.codes.tolist()):
        key = tuple(codes[c] for codes, c in zip(table.code_lists, place, strict=True))
        value = Decimal(int(table.value[i])).scaleb(-table.decimals) if table.shown[i] else None
        found[key] = (value, table.status[i])
    return found


def rounded() -> tuple[ds.Table, PublicTable]:
    """A rounded table of people, one of whom is lost in a cell that the public table does not list."""
    people = pa.table({"area": ["N"] * 13 + ["S"] * 9, "sex": ["m"] * 12 + ["f"] * 10})
    by = {"area": ds.Hierarchy.flat(["N", "S"], labels={"N": "North"}), "sex": ds.Hierarchy.flat(["m", "f"])}
    release = ds.protect(ds.tabulate(people, by=by).assess(), ds.Round(base=3, levels=False))
    return release.custodian.tables.tables[0], release.public.tables[0]


def refusal(path: Path, table: PublicTable, words: Words | None = None) -> list[str]:
    """What the checker says against a file."""
    try:
        CHECKS[path.name.removeprefix("t")](path.read_bytes(), ShownTable(table, words or Words()))
    except Different as error:
        return [str(error)]
    return []


def refusals(name: str, written: PublicTable, table: PublicTable) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{FORMATS[name].suffix}"
        FORMATS[name].write(path, written, Heading())
        return refusal(path, table)


@pytest.mark.parametrize("name", OTHERS)
def test_zeros_that_only_some_places_have_are_refused(name):
    table, public = rounded()
    leaky = in_rows_of(table, public)
    assert len(leaky) > len(public)
    assert refusals(name, public, public) == []
    # A PX file states every place of the cube, and so tells nothing of this one.
    assert bool(refusals(name, leaky, public)) == (name != "px")


@pytest.mark.parametrize("name", ["xlsx", "jsonstat", "sdmx-json", "px", "sav"])
def test_codes_that_no_listed_cell_has_are_refused(name):
    _, public = rounded()
    lists, parents = (("Total", "N", "S", "W"), *public.code_lists[1:]), ((-1, 0, 0, 0), *public.parents[1:])
    labels = ({"N": "North", "W": "West"}, {})
    for k in range(2):  # once down and once across
        order = slice(None, None, -1) if k else slice(None)
        codes = np.ascontiguousarray(public.codes[:, order])
        plain = {"variables": public.variables[order], "code_lists": public.code_lists[order]}
        right = replace(public, codes=codes, labels=public.labels[order], parents=public.parents[order], **plain)
        wrong = replace(right, code_lists=lists[order], labels=labels[order], parents=parents[order])
        silent = name == "xlsx" and k == 0  # codes without a row do not reach the sheet
        assert refusals(name, right, right) == []
        assert bool(refusals(name, wrong, right)) != silent


def test_a_row_of_a_sheet_without_values_is_refused():
    _, public = rounded()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.xlsx"
        FORMATS["xlsx"].write(path, public, Heading())
        book = openpyxl.load_workbook(path)
        book["Table"].append(["W", "West"])
        book.save(path)
        assert refusal(path, public)


@pytest.mark.parametrize("name", OTHERS)
def test_the_checker_reads_back_what_was_written(name):
    held = 0

    @QUICK
    @given(public_tables(rare=True), st.text("aé\"' =\\\n\x01€😀", max_size=300), st.text("ab\"'<&", max_size=120))
    def check(table, units, source):
        nonlocal held
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"t{FORMATS[name].suffix}"
            try:
                FORMATS[name].write(path, table, Heading("X.Y", units, source))
            except OutputError:
                assert name in ("px", "sav", "dta")  # codes or digits that these cannot hold
                return
            assert refusal(path, table, Words("X.Y", units, source)) == []
            held += 1

    check()
    assert held >= 2


@pytest.mark.parametrize("name", OTHERS)
def test_the_same_table_gives_the_same_bytes(name, tmp_path):
    table = one_table()
    one, two = (write_public(table, tmp_path / f"{k}{FORMATS[name].suffix}") for k in "ab")
    assert one.read_bytes() == two.read_bytes()


@QUICK
@given(public_tables(ends=False))
def test_openpyxl_finds_the_same_cells_and_no_formula(table):
    with tempfile.TemporaryDirectory() as folder:
        path = write_public(table, Path(folder) / "t.xlsx")
        book = openpyxl.load_workbook(path)
        sheet = book["Table"]
        down = len(table.variables) - 1
        labelled = [any(words.get(code, code) != code for code in table.code_lists[k])
                    for k, words in enumerate(table.labels)]  # fmt: skip
        starts = [k + sum(labelled[:k]) for k in range(down)]
        first = down + sum(labelled[:down]) or 1
        rows = [list(row) for row in sheet.iter_rows()]
        assert all(cell.data_type != "f" for row in rows for cell in row)
        codes = list(table.code_lists[-1])
        head = next(i for i, row in enumerate(rows) if _texts(row[:1] + row[first:]) == [table.variables[0], *codes])
        found = {}
        for row in rows[head + 1 :]:
            for code, cell in zip(table.code_lists[-1], row[first:], strict=True):
                if cell.value is not None:
                    key = (*(str(row[k].value) for k in starts), code)
                    signs = {"x": (None, "X"), "-": (None, "E")}
                    number = signs.get(cell.value) if isinstance(cell.value, str) else None
                    value = (
                        Decimal(str(cell.value)).quantize(Decimal(1).scaleb(-table.decimals)) if not number else None
                    )
                    found[key] = number or (value, "A" if table.altered else "V")
        assert found == cells(table)


def _texts(row: list) -> list[str]:
    return [str(cell.value) for cell in row]


@QUICK
@given(public_tables(ends=False))
def test_arrow_finds_exact_decimals(table):
    with tempfile.TemporaryDirectory() as folder:
        data = pq.read_table(write_public(table, Path(folder) / "t.parquet")).to_pydict()
    keys = zip(*(data[name] for name in table.variables), strict=True)
    values = [None if v is None else Decimal(v) for v in data["value"]]
    assert dict(zip(keys, zip(values, data["status"], strict=True), strict=True)) == cells(table)


@QUICK
@given(public_tables(ends=False))
def test_json_stat_is_what_the_format_says(table):
    with tempfile.TemporaryDirectory() as folder:
        text = write_public(table, Path(folder) / "t.jsonstat.json").read_text(encoding="utf-8")
    data = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    assert (data["version"], data["class"]) == ("2.0", "dataset")
    assert data["id"] == list(table.variables)
    assert data["size"] == [len(codes) for codes in table.code_lists]
    for variable, codes, parents in zip(table.variables, table.code_lists, table.parents, strict=True):
        category = data["dimension"][variable]["category"]
        assert category["index"] == list(codes)
        children = {child: parent for parent, below in category.get("child", {}).items() for child in below}
        assert children == {code: codes[p] for code, p in zip(codes, parents, strict=True) if p >= 0}


@QUICK
@given(public_tables())
def test_no_field_of_sdmx_csv_is_a_formula(table):
    with tempfile.TemporaryDirectory() as folder:
        path = write_public(table, Path(folder) / "t.sdmx.csv")
        with path.open(encoding="utf-8", newline="") as stream:
            head, *lines = csv.reader(stream)
    value = head.index("OBS_VALUE")
    for line in lines:
        assert len(line) == len(head)
        for place, field in enumerate(line):
            assert place == value or not field.startswith(("=", "+", "-", "@", "\t", "\r"))
        assert all(re.fullmatch(r"[A-Za-z0-9_@$-]+", field) for field in line[3 : 3 + len(table.variables)])


@pytest.mark.parametrize("name", OTHERS)
def test_the_checker_refuses_a_file_with_another_value(name, tmp_path):
    table = one_table()
    other = PublicTable(**{**vars(table), "value": table.value + table.shown})
    path = write_public(other, tmp_path / f"t{FORMATS[name].suffix}")
    assert re.search("is not what the published cells give", *refusal(path, table))


@pytest.mark.parametrize("suffix", CHECKS)
@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04", b'A="b";\nDATA=\n1;', b"\xff\xfe\x00"])
def test_the_checker_refuses_what_it_cannot_read(suffix, content, tmp_path):
    table = one_table()
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    assert len(refusal(path, table)) == 1


def test_headings_are_merged_over_the_codes_below_them(tmp_path):
    table = one_table()
    turned = PublicTable(
        **{
            **vars(table),
            "variables": table.variables[::-1],
            "code_lists": table.code_lists[::-1],
            "labels": table.labels[::-1],
            "parents": table.parents[::-1],
            "codes": table.codes[:, ::-1],
        }
    )
    sheet = openpyxl.load_workbook(write_public(turned, tmp_path / "t.xlsx"))["Table"]
    assert {str(merged) for merged in sheet.merged_cells.ranges} == {"B2:F2", "B3:B4", "C3:E3", "F3:F4"}
    assert [cell.value for cell in sheet[3]][2] == "Crafts"
    assert sheet["B6"].number_format == "#,##0.00"


def test_codes_without_labels_stand_once(tmp_path):
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    sheet = openpyxl.load_workbook(release.public.write(tmp_path / "t.xlsx"))["Table"]
    texts = [str(cell.value) for row in sheet.iter_rows() for cell in row]
    assert [texts.count(code) for code in ("retail", "food", "North", "South")] == [1, 1, 1, 1]
    assert [cell.value for cell in sheet[4]] == ["trade", "Total", "North", "East", "South"]
    assert [cell.value for cell in sheet[6]] == ["retail", 400, "x", 80, "x"]


def test_notes_say_what_the_signs_mean(tmp_path):
    heading = Heading(agency="XX", units="1000 EUR", source="Office")
    book = openpyxl.load_workbook(write_public(one_table(), tmp_path / "t.xlsx", heading=heading))
    lines = {tuple(cell.value for cell in row) for row in book["Notes"].iter_rows()}
    assert {("x", "withheld for confidentiality"), ("-", "no units in this cell")} <= lines
    assert {("Units", "1000 EUR"), ("Source", "Office"), ("Period", "2027")} <= lines


def test_labels_survive_in_spss_and_stata(tmp_path):
    data, about = pyreadstat.read_sav(str(write_public(one_table(), tmp_path / "t.sav")), output_format="dict")
    assert about.variable_value_labels["trade"] == {"A": "Crafts", "A1": "Bäcker"}
    assert about.variable_value_labels["status"]["X"] == "withheld for confidentiality"
    assert about.original_variable_types["value"] == "F22.2"
    data, about = pyreadstat.read_dta(
        str(write_public(one_table(), tmp_path / "t.dta")), output_format="dict", user_missing=True
    )
    assert list(data["value"]) == [1234.56, 20.0, 15.0, "a", "b", 9.5, "a"]
    assert data["trade_label"][2] == "Crafts"
    assert about.variable_value_labels["value"] == {"a": "withheld for confidentiality", "b": "no units in this cell"}
