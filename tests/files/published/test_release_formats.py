"""A saved release holds the formats that were asked for; confidentiality flags lie apart."""

from __future__ import annotations

import csv
import json
import re
import stat
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.cli import main
from discreet.errors import OutputError, ParameterError
from discreet.files.published import FORMATS
from discreet.recipe.schema import PublicFormat, read_recipe
from tests.verify.test_mutations import reseal

CODES = {"trade": ["retail", "food", "crafts"], "region": ["North", "East", "South"]}


@pytest.fixture(scope="module")
def release() -> ds.Release:
    return ds.protect(ds.examples.small_table().assess(ds.PPercent(10), ds.MinContributors(3)), ds.Suppress())


def test_every_format_is_written_sealed_and_read_back(release, tmp_path):
    release.save(tmp_path / "out", formats=list(FORMATS))
    files = {path.name for path in (tmp_path / "out" / "public").iterdir()}
    assert files == {f"turnover{form.suffix}" for form in FORMATS.values()}
    verdict = ds.check_folder(tmp_path / "out")
    assert verdict.holds
    assert sum("shows the same cells" in text for text in verdict.proved) == len(FORMATS) - 1
    assert ds.load(tmp_path / "out").public.tables[0].columns() == release.public.tables[0].columns()


def test_the_recipe_knows_the_same_formats():
    assert set(PublicFormat.__args__) == set(FORMATS)


def test_a_release_as_a_whole_is_refused(release, tmp_path):
    with pytest.raises(ParameterError, match=r"Cannot publish a Release\. Give release\.public"):
        ds.write_public(release, tmp_path / "t.xlsx")
    with pytest.raises(ParameterError, match="does not say which format"):
        release.public.write(tmp_path / "t.doc")
    with pytest.raises(ParameterError, match="Did you mean 'xlsx'"):
        release.public.write(tmp_path / "t", "xslx")
    assert list(tmp_path.iterdir()) == []


def test_no_withheld_value_stands_in_any_byte(tmp_path):
    frame = ds.examples.small_table().to_frame().select(["trade", "region", "value"])
    frame = frame.set_column(2, "value", [np.asarray(frame["value"]) * 7_391_846_205])
    by = {name: ds.Hierarchy.flat(codes) for name, codes in CODES.items()}
    grown = ds.Table.from_cells(frame, by=by, name="turnover").marked({("crafts", "South"): "U"}, protection=(1e9, 1e9))
    release = ds.protect(grown.assess(), ds.Suppress())
    release.save(tmp_path / "out", formats=list(FORMATS))
    hidden = grown.value[~release.public.tables[0].shown]
    assert len(hidden) >= 4
    for path in (tmp_path / "out" / "public").iterdir():
        content = path.read_bytes()
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as book:
                content = b"".join(book.read(name) for name in book.namelist())
        for value in hidden.tolist():
            assert not re.search(rb"(?<!\d)%d(?!\d)" % value, content)
            assert np.float64(value).tobytes() not in content
            assert np.int64(value).tobytes() not in content


def test_confidentiality_flags_lie_in_restricted_only(release, tmp_path):
    heading = ds.Heading(agency="XX")
    both = ["sdmx-csv", "sdmx-json"]
    release.save(tmp_path / "out", formats=both, restricted=both, heading=heading)
    out = tmp_path / "out"
    assert stat.S_IMODE((out / "restricted").stat().st_mode) == 0o700
    for path in (out / "restricted").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not any(b"CONF_STATUS" in path.read_bytes() for path in (out / "public").iterdir())
    with (out / "restricted" / "turnover.sdmx.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    table, status = release.custodian.tables.tables[0], release.custodian.status[0]
    assert [int(line["OBS_VALUE"]) for line in lines] == table.value.tolist()
    flags = [line["CONF_STATUS"] for line in lines]
    assert [flag == "F" for flag in flags] == release.public.tables[0].shown.tolist()
    assert [flag == "D" for flag in flags] == (status == ds.model.table.CellStatus.SECONDARY).tolist()
    assert lines[0]["STRUCTURE_ID"] == "XX:turnover(1.0.0)"
    message = json.loads((out / "restricted" / "turnover.sdmx.json").read_text())
    attributes = message["data"]["structures"][0]["attributes"]["observation"]
    assert [attribute["id"] for attribute in attributes] == ["OBS_STATUS", "CONF_STATUS"]
    assert ds.check_folder(out).holds


def test_reasons_of_confidentiality_say_what_is_known(tmp_path):
    table = ds.examples.small_table()
    records = {
        "trade": ["a"] * 6 + ["b"] * 7,
        "region": ["N", "N", "N", "S", "S", "S", "N", "S", "S", "S", "N", "N", "N"],
    }
    by = {"trade": ds.Hierarchy.flat(["a", "b"]), "region": ds.Hierarchy.flat(["N", "S"])}
    counted = ds.tabulate(pa.table(records), by=by, name="turnover")
    few = ds.protect(counted.assess(ds.MinContributors(4)), ds.Suppress())
    dominated = ds.protect(table.assess(ds.PPercent(10)), ds.Suppress())
    marked = ds.protect(table.marked({("crafts", "South"): "U"}).assess(), ds.Suppress())
    for release, code in ((few, "A"), (dominated, "G"), (marked, "C")):
        release.save(tmp_path / code, restricted=["sdmx-csv"])
        text = (tmp_path / code / "restricted" / "turnover.sdmx.csv").read_text(encoding="utf-8")
        with_reason = {line.rsplit(",", 1)[1] for line in text.splitlines()[1:]}
        assert with_reason == {"F", "D", code}


def test_altered_tables_have_no_confidentiality_flags(tmp_path):
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Round(base=50))
    release.save(tmp_path / "open", formats=list(FORMATS))
    assert ds.check_folder(tmp_path / "open").holds
    assert "were altered" in (tmp_path / "open" / "public" / "turnover.sdmx.csv").read_text()
    with pytest.raises(ParameterError, match="altered values withholds none"):
        release.save(tmp_path / "out", restricted=["sdmx-csv"])
    assert not (tmp_path / "out").exists()


def test_intervals_are_published_in_every_format(tmp_path):
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Intervals())
    release.save(tmp_path / "out", formats=list(FORMATS))
    verdict = ds.check_folder(tmp_path / "out")
    assert verdict.holds
    assert sum("shows the same cells" in text for text in verdict.proved) == len(FORMATS) - 1


def test_a_changed_public_file_is_refused_even_when_it_is_sealed_again(release, tmp_path):
    release.save(tmp_path / "out", formats=["px"])
    path = tmp_path / "out" / "public" / "turnover.px"
    path.write_text(path.read_text().replace("920", "921"))
    assert "changed after the release was sealed" in str(ds.check_folder(tmp_path / "out"))
    reseal(tmp_path / "out")
    assert [refused.where for refused in ds.check_folder(tmp_path / "out").refused] == ["turnover.px"]


def test_two_tables_that_would_share_a_file_are_refused(tmp_path):
    table = ds.examples.small_table().assess(ds.PPercent(10))
    other = table.with_(spec=table.spec.with_(name="turnover.sdmx"))
    release = ds.protect(ds.TableSet([table, other]), ds.Suppress())
    with pytest.raises(OutputError, match=r"Two tables would be written to 'turnover\.sdmx\.csv'"):
        release.save(tmp_path / "out", formats=["sdmx-csv"])
    assert not (tmp_path / "out").exists()


def test_the_command_line_exports_a_saved_release(release, tmp_path):
    release.save(tmp_path / "out")
    target = tmp_path / "table.xlsx"
    done = CliRunner().invoke(main, ["export", str(tmp_path / "out"), str(target)])
    assert (done.exit_code, target.is_file()) == (0, True)
    assert CliRunner().invoke(main, ["export", str(tmp_path / "out"), str(target)]).exit_code == 6


def test_headings_are_checked(tmp_path: Path):
    with pytest.raises(ParameterError, match="SDMX identifier"):
        ds.Heading(agency="=1")
    with pytest.raises(ParameterError, match="time zone"):
        ds.Heading(prepared="yesterday")
    data = 'version=1\n[data]\nfile="a"\n[[tables]]\nby=["x"]\n'
    recipe = f'{data}[[protect]]\nmethod="suppress"\n[output]\ndirectory="o"\n'
    with pytest.raises(ParameterError, match="agency"):
        read_recipe(f'{recipe}[output.heading]\nagency="=1"\n')
    assert read_recipe(f'{recipe}[output.heading]\nunits="EUR"\n').output.heading.units == "EUR"
