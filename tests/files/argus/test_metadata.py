"""``.rda`` files: every keyword, both formats, and errors with file, line, found and expected."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.files.argus.rda import ArgusMetadata, RdaVariable, read_metadata, write_metadata

FIXED = """
// records of a survey
Year 1 2 99
  <RECODEABLE>
IndustryCode 4 5 99999
  <RECODABLE>
  <HIERARCHICAL>
  <HIERLEVELS> 3 1 1 0 0
  <DISTANCE> 1 3 5 7 9
Region 12 2 " 9" "99"
  <RECODEABLE>
  <TOTCODE> "All"
  <CODELIST> "region.cdl"
  <HIERARCHICAL>
  <HIERCODELIST> "region2.hrc"
  <HIERLEADSTRING> "@"
Wgt 15 4 9999
  <DECIMALS> 1
  <WEIGHT>
Var2 28 10
  <NUMERIC> <DECIMALS> 2
  <CKM> T(3)
  <INCLUDEZEROS> N
  <PARITY> Y
  <SEPARATION> Y
  <SCALING> F(0.03,0.30,1000,3,0.5,0.2)
Firm 40 6
  <HOLDING>
Request 99 1
  <REQUEST> "1" "2"
Key 100 17
  <RECORDKEY>
  <DECIMALS> 15
  <PFILE> "freq.txt"
  <PFILE_CONT> "cont.txt"
  <PFILE_SEP> "sep.txt"
  <TRUNCABLE>
"""
TABLE = """   <SEPARATOR> ";"
<SAFE> "V"
Size "99"
    <RECODEABLE>
Var2
    <NUMERIC>
    <DECIMALS> 2
Freq
    <FREQUENCY>
Shadow
    <NUMERIC> <SHADOW>
Cost
    <NUMERIC> <COSTVAR>
Top1
    <MAXSCORE>
Top2
    <MAXSCORE>
Status
    <STATUS>
Low
    <NUMERIC> <LOWERPL>
High
    <NUMERIC> <UPPERPL>
"""


def written(tmp_path: Path, text: str | bytes, name: str = "meta.rda") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_every_keyword_of_fixed_records_is_read(tmp_path: Path) -> None:
    found = read_metadata(written(tmp_path, FIXED))
    assert found.separator == ""
    region = found["Region"]
    assert (region.start, region.length, region.missing, region.total) == (12, 2, (" 9", "99"), "All")
    assert (region.labels, region.hierarchy, region.lead) == ("region.cdl", "region2.hrc", "@")
    assert found["IndustryCode"].levels == (3, 1, 1, 0, 0)
    assert found["IndustryCode"].distance == (1, 3, 5, 7, 9)
    assert found["Var2"].numeric
    assert found["Var2"].decimals == 2
    assert dict(found["Var2"].cell_key)["scaling"] == "F(0.03,0.30,1000,3,0.5,0.2)"
    assert found["Request"].request == ("1", "2")
    assert dict(found["Key"].noise_files) == {"freq": "freq.txt", "cont": "cont.txt", "sep": "sep.txt"}
    roles = {role: found.the(role) for role in ("weight", "holding", "record_key")}
    assert {role: v.name for role, v in roles.items() if v} == {"weight": "Wgt", "holding": "Firm", "record_key": "Key"}
    assert [v.name for v in found.variables if v.truncable] == ["Key"]


def test_every_keyword_of_tables_is_read(tmp_path: Path) -> None:
    found = read_metadata(written(tmp_path, TABLE), "cells")
    assert found.separator == ";"
    assert found.letters == ("V", "U", "P")
    roles = ["", "", "frequency", "shadow", "cost", "top", "top", "status", "lower", "upper"]
    assert [v.role for v in found.variables] == roles


def test_free_format_has_no_positions(tmp_path: Path) -> None:
    found = read_metadata(written(tmp_path, '<SEPARATOR> ";"\nSex 1 9\n <RECODEABLE>\nIncome 8\n <NUMERIC>\n'))
    assert (found.separator, found["Sex"].start, found["Sex"].length) == (";", 0, 1)


def test_latin_1_is_read_and_noted(tmp_path: Path) -> None:
    found = read_metadata(written(tmp_path, "Größe 1 2\n <RECODEABLE>\n".encode("latin-1")))
    assert found.variables[0].name == "Größe"
    assert found.notes == ("meta.rda is not UTF-8 (line 1) and was read as Latin-1.",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Year 1\n", "meta.rda, line 1: found 'Year 1'; expected name, start, length and up to two missing codes."),
        ("Year one 2\n", "meta.rda, line 1: found 'Year one 2'; expected name, start, length with whole numbers"),
        ("\nYear 1 2\n <RECODABEL>\n", "meta.rda, line 3: found '<RECODABEL>'; expected a keyword of an .rda file."),
        ("<NUMERIC>\n", "meta.rda, line 1: found '<NUMERIC>'; expected <SEPARATOR>, or a variable's name"),
        ("Year 1 2\nYear 3 2\n", "meta.rda, line 2: found 'Year'; expected each variable once."),
        ("Year 1 2\n <HIERARCHICAL>\n", "meta.rda, line 1: found 'Year with <HIERARCHICAL>'; expected <HIERLEVELS>"),
        ("Year 1 2\n <HIERLEVELS> 1 2\n", "meta.rda, line 1: found '<HIERLEVELS> of Year that add up to 3'"),
        ('Year 1 2 "99\n', "meta.rda, line 1: found '\"99'; expected a closing quotation mark"),
        ("Year 1 2\n <DECIMALS> x\n", "meta.rda, line 2: found '<DECIMALS> x'; expected a whole number from 0 to 15."),
        ("A 1 2\n<WEIGHT>\nB 3 2\n<WEIGHT>\n", "meta.rda, line 3: found '<WEIGHT> for B'; expected one such variable."),
        ("Year 1 2\n <STATUS>\n", "meta.rda, line 2: found '<STATUS>'; expected a keyword of records"),
        ("Year 1 200\n", "meta.rda, line 1: found 'a length of 200'; expected at most 100."),
        ("// nothing\n", "meta.rda, line 1: found 'no variable'; expected a line with a variable's name."),
        ("", "meta.rda, line 1: the file is empty."),
        ("Year 1 2\0", "meta.rda, line 1: found 'a zero byte'; expected text."),
    ],
)
def test_bad_metadata_name_file_line_found_and_expected(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_metadata(written(tmp_path, text))
    assert caught.value.message.startswith(message)


codes = st.text("ab1 é", min_size=1, max_size=3).map(lambda code: code.rstrip() or "9")
names = st.text("abcXYZ_1é", min_size=1, max_size=6)


@st.composite
def fixed_variables(draw: st.DrawFn, name: str) -> RdaVariable:
    length = draw(st.integers(1, 9))
    spanning = draw(st.booleans())
    hierarchy = draw(st.sampled_from(["", "levels", "file"])) if spanning else ""
    return RdaVariable(
        name,
        start=draw(st.integers(1, 50)),
        length=length,
        missing=tuple(draw(st.lists(codes, max_size=2, unique=True))),
        recodeable=spanning,
        total=draw(st.sampled_from(["Total", "All of it"])) if spanning else "Total",
        hierarchical=bool(hierarchy),
        levels=(length,) if hierarchy == "levels" else (),
        hierarchy="tree.hrc" if hierarchy == "file" else "",
        lead=draw(st.sampled_from(["@", "  ."])) if hierarchy == "file" else "@",
        numeric=not spanning,
        decimals=None if spanning else draw(st.none() | st.integers(0, 5)),
        distance=tuple(draw(st.lists(st.integers(0, 9), max_size=5))),
    )


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_metadata_survive_the_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    listing = data.draw(st.lists(names, min_size=1, max_size=4, unique=True))
    metadata = ArgusMetadata(tuple(data.draw(fixed_variables(name)) for name in listing))
    path = tmp_path_factory.mktemp("rda") / "meta.rda"
    write_metadata(metadata, path)
    assert read_metadata(path) == metadata


def test_metadata_of_tables_survive_the_round_trip(tmp_path: Path) -> None:
    metadata = read_metadata(written(tmp_path, TABLE), "cells")
    write_metadata(metadata, tmp_path / "again.rda")
    assert read_metadata(tmp_path / "again.rda", "cells") == metadata


def test_fields_that_overlap_are_noted_and_others_are_not(tmp_path: Path):
    (tmp_path / "meta.rda").write_text("Nace 1 4\n<RECODABLE>\nSection 1 1\n<RECODABLE>\nRegion 5 2\n<RECODABLE>\n")
    found = read_metadata(tmp_path / "meta.rda", "records")
    assert found.notes == ("meta.rda, line 3: the field of Section (from character 1) overlaps that of Nace (1 to 4).",)
