"""Files of μ-ARGUS come in as records with their roles, and go out with everything that readers need."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError
from discreet.files.argus.rda import metadata_text, read_metadata
from discreet.model.records import ColumnInfo

RDA = """
REGION 1 2 "99"
    <RECODABLE>
    <IDLEVEL> 1
    <SUPPRESSWEIGHT> 50
    <CODELIST> "region.cdl"
SEX 3 1 "9" "8"
    <RECODABLE>
    <IDLEVEL> 2
AGE 4 3
    <RECODABLE>
    <NUMERIC>
    <IDLEVEL> 3
JOB 7 4
    <RECODABLE>
    <IDLEVEL> 0
    <RELATED> "SEX"
INCOME 11 7 "9999999"
    <NUMERIC>
    <DECIMALS> 2
WEIGHT 18 4
    <NUMERIC>
    <DECIMALS> 1
    <WEIGHT>
HOUSE 22 3
    <HOUSE_ID>
ROOMS 25 1
    <HOUSEHOLD>
    <RECODABLE>
"""
LINES = [
    "011 34cook1200.50 1.50014",
    "022  7smit9999999 2.00014",
    "999120          7 1.00022",
    "018   cook   0.00 3.50031",
]
LABELS = '01,North\n02,"South, far"\n99,not known\n'


@pytest.fixture
def files(tmp_path) -> Path:
    (tmp_path / "people.asc").write_text("".join(f"{line}\n" for line in LINES), encoding="ascii")
    (tmp_path / "people.rda").write_text(RDA, encoding="ascii")
    (tmp_path / "region.cdl").write_text(LABELS, encoding="ascii")
    return tmp_path


def read(files: Path) -> ds.Microdata:
    return ds.read_argus(files / "people.asc", files / "people.rda").microdata


def test_identification_levels_households_and_weights_are_roles(files):
    data = read(files)
    assert data.keys == ("REGION", "SEX", "AGE")
    assert (data.household, data.weight, data.numeric) == ("HOUSE", "WEIGHT", ("INCOME",))
    assert dict(data.missing_codes) == {"REGION": ("99",), "SEX": ("9", "8"), "INCOME": ("9999999",)}
    assert data.value_labels == {"REGION": {"01": "North", "02": "South, far", "99": "not known"}}


def test_records_keep_their_codes_and_gaps(files):
    records = read_record_set(read(files))
    found = records.columns.to_pydict()
    assert found["REGION"] == ["01", "02", "99", "01"]
    assert found["SEX"] == ["1", "2", "9", "8"]
    assert found["AGE"] == ["34", "7", "120", None]
    assert found["JOB"] == ["cook", "smit", None, "cook"]
    assert found["INCOME"] == [1200.5, None, 7.0, 0.0]
    assert found["HOUSE"] == ["001", "001", "002", "003"]
    assert records.about("SEX") == ColumnInfo("key", missing=(("9", "9"), ("8", "8")))


def test_what_has_no_effect_is_said(files):
    read = ds.read_argus(files / "people.asc", files / "people.rda")
    assert not any("<HOUSEHOLD>" in note for note in read.notes)
    # ROOMS is no key, and JOB, which takes SEX along, is none either.
    assert (read.together, read.of_household) == ({}, [])
    (files / "people.rda").write_text(RDA.replace("    <HOUSE_ID>\n", ""), encoding="utf-8")
    notes = ds.read_argus(files / "people.asc", files / "people.rda").notes
    assert any("<HOUSEHOLD> (of ROOMS) changes nothing without a variable with <HOUSE_ID>" in note for note in notes)


def test_metadata_are_written_as_they_were_read(files, tmp_path):
    first = read_metadata(files / "people.rda")
    (tmp_path / "again.rda").write_text(metadata_text(first), encoding="utf-8")
    assert read_metadata(tmp_path / "again.rda") == first
    assert first["REGION"].identification == 1
    assert first["REGION"].suppression_weight == 50
    assert first["JOB"].related == "SEX"
    assert first["ROOMS"].of_household


def test_a_file_goes_out_with_what_it_had(files):
    data = read(files)
    loose = data.with_(keys=(), sensitive=(*data.keys, "JOB", "ROOMS"))
    release = ds.protect(loose, ds.Recode("JOB", map={"smit": "metal"}), keep_order=True)
    release.save(files / "out", formats=["asc"])
    assert ds.check_folder(files / "out").holds
    public = files / "out" / "public"
    described = read_metadata(public / "records.rda")
    assert described["REGION"].missing == ("99",)
    assert described["SEX"].missing == ("9", "8")
    assert described["INCOME"].missing == ("9999999",)
    assert described["INCOME"].decimals == 1
    assert described["WEIGHT"].weight
    assert described["HOUSE"].household
    assert (public / described["REGION"].labels).read_text(encoding="utf-8") == LABELS
    again = ds.read_argus(public / "records.asc", public / "records.rda").microdata
    before, after = (read_record_set(each).columns.to_pydict() for each in (data, again))
    for name in ("REGION", "SEX", "AGE", "INCOME", "WEIGHT", "ROOMS"):
        assert after[name] == before[name], name
    assert after["JOB"] == ["cook", "metal", None, "cook"]
    assert after["HOUSE"] == [1, 1, 2, 3]
    assert "9999999" in (public / "records.asc").read_text(encoding="utf-8").splitlines()[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<IDLEVEL> high", "found '<IDLEVEL> high'; expected a whole number from 0 to 99"),
        ("<HOUSE_ID> 1", "expected <HOUSE_ID> without arguments"),
        ("<UNKNOWN> 1", "expected <UNKNOWN> with pairs of ends"),
        ("<UNKNOWN> x y", "expected <UNKNOWN> with numbers, or text in quotation marks"),
    ],
)
def test_bad_keywords_are_named_with_their_line(tmp_path, line, message):
    (tmp_path / "bad.rda").write_text(f"A 1 2\n  {line}\n", encoding="ascii")
    with pytest.raises(InputError) as error:
        read_metadata(tmp_path / "bad.rda")
    assert error.value.message.startswith("bad.rda, line 2: ")
    assert message in error.value.message


def test_ranges_and_third_codes_for_unknown_stand_in_the_description(tmp_path):
    data = ds.Microdata(
        pa.table({"x": ["1", "97", "98", "99"], "y": [1, 2, 3, 4]}),
        sensitive="x",
        missing_codes={"x": ["97", "98", "99"]},
    )
    ds.protect(data, ds.Recode("y", top=2), keep_order=True).save(tmp_path / "out", formats=["asc"])
    public = tmp_path / "out" / "public"
    described = read_metadata(public / "records.rda")
    assert described["x"].missing == ("97", "98")
    again = ds.read_argus(public / "records.asc", public / "records.rda", records=True).microdata
    assert read_record_set(again).about("x").missing == (("97", "97"), ("98", "98"), ("99", "99"))


def test_a_recipe_takes_the_roles_of_the_metadata_and_its_own(files):
    (files / "recipe.toml").write_text(
        """
version = 1
[data]
file = "people.asc"
metadata = "people.rda"
sensitive = ["AGE", "JOB"]
[[rules]]
kind = "k_anonymity"
k = 2
[[protect]]
method = "recode"
column = "SEX"
map = { 1 = "0", 2 = "0", 8 = "0", 9 = "0" }
[[protect]]
method = "recode"
column = "REGION"
map = { 01 = "all", 02 = "all", 99 = "all" }
[records]
name = "people"
[output]
directory = "out"
formats = ["asc", "sav"]
""",
        encoding="utf-8",
    )
    run = ds.run_recipe(files / "recipe.toml")
    assert run.verdict.holds
    assert run.release.custodian.original.with_role("key") == ("REGION", "SEX")
    assert run.release.custodian.original.with_role("sensitive") == ("AGE", "JOB")
    names = sorted(path.name for path in (files / "out" / "public").iterdir())
    assert names == ["people.asc", "people.csv", "people.rda", "people.sav"]


def test_free_format_comes_in_the_same_way(tmp_path):
    (tmp_path / "free.rda").write_text(
        '<SEPARATOR> ";"\nSEX 1 "9"\n <RECODABLE>\n <IDLEVEL> 1\nINCOME 8 "-1"\n <NUMERIC>\nHOUSE 3\n <HOUSE_ID>\n',
        encoding="ascii",
    )
    (tmp_path / "free.csv").write_text("1;12.5;7\n9;-1;7\n;;8\n", encoding="ascii")
    data = ds.read_argus(tmp_path / "free.csv", tmp_path / "free.rda").microdata
    assert (data.keys, data.household, data.numeric) == (("SEX",), "HOUSE", ("INCOME",))
    assert read_record_set(data).columns.to_pydict() == {
        "SEX": ["1", "9", None],
        "INCOME": [12.5, None, None],
        "HOUSE": ["7", "7", "8"],
    }


def test_numbers_of_other_metadata_may_not_be_missing(tmp_path):
    (tmp_path / "tau.rda").write_text('A 1 1\n <RECODEABLE>\nX 2 3 "999"\n <NUMERIC>\n', encoding="ascii")
    (tmp_path / "tau.asc").write_text("1  5\n2999\n", encoding="ascii")
    with pytest.raises(InputError, match="line 2: what stands in 'X' cannot be read"):
        ds.read_argus(tmp_path / "tau.asc", tmp_path / "tau.rda")
    found = ds.read_argus(tmp_path / "tau.asc", tmp_path / "tau.rda", records=True).microdata
    assert read_record_set(found).columns["X"].to_pylist() == [5, None]
