"""Records of SPSS, Stata and SAS files are read with their labels, missing codes and formats."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.files.frames import read_columns
from discreet.recipe.run import run_recipe

RECORDS = pl.DataFrame(
    {
        "nace": [1.0, 2.0, 99.0, 1.0, 7.0, 2.0, 2.0],
        "region": ["N", "S", "N", "é é", "S", "N", "S"],
        "turnover": [10.5, 20.0, 30.25, 1e15, 4.0, 6.0, 7.0],
        "spare": [1.0, -1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "firm": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    }
)


@pytest.fixture
def sav(tmp_path: Path) -> Path:
    path = tmp_path / "firms.sav"
    pyreadstat.write_sav(
        RECORDS,
        str(path),
        column_labels={"nace": "Branch", "turnover": "Turnover in EUR"},
        variable_value_labels={"nace": {1: "Crafts", 99: "not known"}},
        missing_ranges={"nace": [99.0], "spare": [{"lo": -9, "hi": -1}]},
        variable_format={"nace": "N3", "turnover": "F12.2"},
    )
    return path


@pytest.fixture
def dta(tmp_path: Path) -> Path:
    path = tmp_path / "firms.dta"
    frame = RECORDS.to_pandas()
    frame["nace"] = [1.0, 2.0, "a", 1.0, 7.0, 2.0, 2.0]
    pyreadstat.write_dta(
        frame,
        str(path),
        version=14,
        missing_user_values={"nace": ["a"]},
        variable_value_labels={"nace": {1: "Crafts", "a": "not known"}},
        variable_format={"nace": "%03.0f"},
    )
    return path


def test_spss_codes_keep_zeros_and_missing_codes(sav):
    found = read_columns(sav, ["nace", "region", "turnover"], text=["nace", "region"]).to_pydict()
    assert found["nace"] == ["001", "002", "099", "001", "007", "002", "002"]
    assert found["region"][3] == "é é"
    assert found["turnover"] == RECORDS["turnover"].to_list()


def test_missing_numbers_are_empty_and_not_summed(sav):
    assert read_columns(sav, ["spare"]).to_pydict()["spare"] == [1, None, 2, 3, 4, 5, 6]
    with pytest.raises(InputError, match="'spare' 1 value is empty, first in record 2"):
        ds.tabulate(ds.Microdata(sav), by={"region": ds.Hierarchy.flat(["N", "S", "é é"])}, value="spare")


def test_what_spss_keeps_beside_its_data(sav):
    about = ds.statistical_metadata(sav)
    assert about.labels == {"nace": "Branch", "turnover": "Turnover in EUR"}
    assert about.value_labels["nace"] == {"001": "Crafts", "099": "not known"}
    assert about.missing_codes("nace", ["001", "099", "x"]) == ["099"]
    assert about.formats["turnover"] == "F12.2"


def test_stata_missing_codes_have_their_point(dta):
    about = ds.statistical_metadata(dta)
    found = read_columns(dta, ["nace"], text=["nace"]).to_pydict()["nace"]
    assert found == ["001", "002", ".a", "001", "007", "002", "002"]
    assert about.value_labels["nace"] == {"001": "Crafts", ".a": "not known"}
    assert about.missing_codes("nace", found) == [".a"]


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_a_table_of_the_file_is_the_table_of_the_frame(kind, request):
    path = request.getfixturevalue(kind)
    by = {"region": ds.Hierarchy.flat(["N", "S", "é é"])}
    from_file = ds.tabulate(ds.Microdata(path, contributor="firm"), by=by, value="turnover")
    from_frame = ds.tabulate(ds.Microdata(RECORDS, contributor="firm"), by=by, value="turnover")
    assert from_file.columns() == from_frame.columns()


def test_a_recipe_reads_labels_and_unknown_codes_from_the_file(sav, tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        """
        version = 1
        [data]
        file = "firms.sav"
        contributor = "firm"
        [[tables]]
        by = ["nace", "region"]
        value = "turnover"
        [[rules]]
        kind = "min_contributors"
        n = 2
        [[protect]]
        method = "suppress"
        [output]
        directory = "out"
        formats = ["xlsx", "sav", "px"]
        """,
        encoding="utf-8",
    )
    done = run_recipe(recipe, formats=["jsonstat"])
    tree = done.release.custodian.tables.tables[0].spec.by["nace"]
    assert dict(tree.labels) == {"001": "Crafts", "099": "not known"}
    assert tree.missing == {"099"}
    files = {path.name.split(".", 1)[1] for path in (tmp_path / "out" / "public").iterdir()}
    assert files == {"csv", "xlsx", "sav", "px", "jsonstat.json"}
    assert sum("shows the same cells" in text for text in done.verdict.proved) == 4
    again = ds.statistical_metadata(next((tmp_path / "out" / "public").glob("*.sav")))
    assert again.value_labels["nace"]["001"] == "Crafts"


def test_the_engine_for_large_files_says_that_it_cannot(sav):
    pytest.importorskip("duckdb")
    with pytest.raises(ParameterError, match=r'"duckdb" does not read \.sav files'):
        ds.tabulate(ds.Microdata(sav), by={"region": ds.Hierarchy.flat(["N"])}, value="turnover", engine="duckdb")


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".sas7bdat"])
@pytest.mark.parametrize("content", [b"x", b"$FL2" + b"\0" * 500, b"<stata_dta><header>", b"\x00" * 2000])
def test_damaged_files_are_refused_by_name(suffix, content, tmp_path):
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"'bad{suffix}' cannot be read as a {suffix} file"):
        ds.statistical_metadata(path)


def test_a_truncated_file_is_refused(sav):
    sav.write_bytes(sav.read_bytes()[:-60])
    with pytest.raises(InputError, match="cannot be read"):
        read_columns(sav, ["turnover"])


def test_a_file_that_crashes_the_library_is_refused(sav):
    content = bytearray(sav.read_bytes())
    refused = 0
    for place in range(176, 400, 8):  # the records of variables, whose counts lead the library astray
        content[place : place + 4] = b"\xff\xff\xff\x7f"
        if place % 64 == 48:
            sav.write_bytes(content)
            with pytest.raises(InputError, match="cannot be read"):
                read_columns(sav, ["turnover"])
            refused += 1
    assert refused == 4


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(
        st.tuples(
            st.text("aé =+-@Ñ0", min_size=1, max_size=9).map(lambda text: f"{text}."),
            st.one_of(st.integers(-(10**15), 10**15).map(float), st.decimals(-9999, 9999, places=3).map(float)),
        ),
        min_size=1,
        max_size=12,
    )
)
@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_records_survive_the_way_through_a_file(kind, rows, tmp_path):
    frame = pl.DataFrame({"code": [code for code, _ in rows], "amount": [amount for _, amount in rows]})
    path = tmp_path / f"records.{kind}"
    pyreadstat.write_sav(frame, str(path)) if kind == "sav" else pyreadstat.write_dta(frame, str(path), version=14)
    found = read_columns(path, ["code", "amount"], text=["code"]).to_pydict()
    assert list(zip(found["code"], found["amount"], strict=True)) == rows


def test_a_missing_package_is_named_with_the_command(sav, monkeypatch):
    monkeypatch.setattr("discreet.files.statistical.find_spec", lambda name: None)
    with pytest.raises(NeedsError, match=r"pip install 'discreet\[stat\]'"):
        ds.statistical_metadata(sav)


@pytest.mark.parametrize(("format", "extra"), [("xlsx", "xlsx"), ("sav", "stat"), ("dta", "stat")])
def test_a_missing_package_for_writing_is_named_before_any_work(format, extra, monkeypatch, tmp_path):
    monkeypatch.setattr("discreet.files.published.find_spec", lambda name: None)
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    with pytest.raises(NeedsError, match=rf"pip install 'discreet\[{extra}\]'"):
        release.save(tmp_path / "out", formats=[format])
    assert not (tmp_path / "out").exists()


AIRLINE = Path(__file__).parent / "data" / "airline.sas7bdat"


def test_a_file_that_sas_wrote_is_read_with_its_labels():
    about = ds.statistical_metadata(AIRLINE)
    assert about.columns == ("YEAR", "Y", "W", "R", "L", "K")
    assert about.labels["W"] == "wage rate"
    assert about.formats == {}  # none is stated in the file
    found = read_columns(AIRLINE, ["YEAR", "Y", "K"], text=[]).to_pydict()
    assert len(found["Y"]) == 32
    assert found["Y"][:2] == pytest.approx([1.21399998665, 1.35399997234], rel=1e-9)
    assert found["K"][1] == pytest.approx(0.559000015259, rel=1e-9)
    codes = read_columns(AIRLINE, ["YEAR"], text=["YEAR"])["YEAR"].to_pylist()
    assert codes[2] == "1950"
    assert ds.tabulate(AIRLINE, by={"YEAR": ds.Hierarchy.flat(sorted(set(codes)))}).value[0] == 32
