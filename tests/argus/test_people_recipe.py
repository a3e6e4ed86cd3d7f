"""A job of μ-ARGUS as a recipe: made of its metadata, run, verified and read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.argus.people_recipe import records_recipe
from discreet.cli.main import main
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.files.argus.rda import read_metadata
from discreet.recipe.schema import read_recipe

RDA = """REGION 1 2 "99"
  <RECODABLE>
  <IDLEVEL> 1
  <SUPPRESSWEIGHT> 60
  <CODELIST> "region.cdl"
SEX 3 1 "9"
  <RECODABLE>
  <IDLEVEL> 2
AGE 4 2 "99"
  <RECODABLE>
  <IDLEVEL> 3
JOB 6 1 "9"
  <RECODABLE>
  <IDLEVEL> 3
  <SUPPRESSPRIORITY> 10
WEIGHT 7 7
  <NUMERIC>
  <DECIMALS> 2
  <WEIGHT>
HOME 14 4
  <HOUSE_ID>
ROOMS 18 1 "9"
  <RECODABLE>
  <HOUSEHOLD>
"""
TAIL = """
[[protect]]
method = "recode"
column = "AGE"
map = { 00 = "old" }

[records]
name = "people"
profile = "{profile}"
{more}

[output]
directory = "out"
formats = ["asc"]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    lines = [
        f"{rng.integers(1, 4):02d}{rng.integers(1, 3)}{10 * rng.integers(0, 3):02d}{rng.integers(0, 3)}"
        f"{rng.integers(9000, 99999) / 100:7.2f}{home // 2:4d}{1 + home // 2 % 2}"
        for home in range(300)
    ]
    (tmp_path / "people.asc").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    (tmp_path / "people.rda").write_text(RDA, encoding="ascii")
    (tmp_path / "region.cdl").write_text("01,North\n02,South\n03,Isle\n", encoding="ascii")
    return tmp_path


def test_metadata_become_a_recipe_that_says_everything_itself(files):
    text = records_recipe(files / "people.rda")
    assert "# Made from people.rda: 4 keys of the identification levels 1, 2, 3." in text
    recipe = read_recipe(text)
    assert (recipe.data.file, recipe.data.metadata) == ("people.asc", "people.rda")
    assert recipe.rules == [
        {"kind": "k_anonymity", "k": 3, "combinations": [["REGION", "SEX", "AGE"], ["REGION", "SEX", "JOB"]]}
    ]
    importance = {"REGION": 60, "SEX": 50, "AGE": 50, "JOB": 10}
    assert recipe.protect == [
        {
            "method": "local_suppress",
            "k": 3,
            "combinations": [["REGION", "SEX", "AGE"], ["REGION", "SEX", "JOB"]],
            "importance": importance,
        }
    ]
    assert ds.convert_batch(files / "people.rda") == {"people.toml": text}


def test_the_recipe_runs_and_the_safe_file_is_one_of_mu_argus(files):
    runner = CliRunner()
    made = runner.invoke(main, ["argus", str(files / "people.rda"), "--convert"])
    assert (made.exit_code, made.output) == (0, "Written: people.toml\n")
    ran = runner.invoke(main, ["run", str(files / "people.toml"), "--json"])
    assert ran.exit_code == 0, ran.output
    checked = runner.invoke(main, ["verify", str(files / "people.release"), "--json"])
    assert (checked.exit_code, json.loads(checked.output)["holds"]) == (0, True)
    public = files / "people.release" / "public"
    assert sorted(path.name for path in public.iterdir()) == [
        "people_safe.asc",
        "people_safe.csv",
        "people_safe.rda",
        "people_safe_REGION.cdl",
    ]
    text = (public / "people_safe.rda").read_text(encoding="utf-8")
    assert "IDLEVEL" not in text
    assert "SUPPRESS" not in text
    safe = ds.read_argus(public / "people_safe.asc").microdata
    rule = ds.KAnonymity(3, combinations=[["REGION", "SEX", "AGE"], ["REGION", "SEX", "JOB"]])
    assert safe.assess(rule).assessment.unsafe == (0,)
    assert (safe.weight, safe.household) == ("WEIGHT", "HOME")


def test_what_the_metadata_could_not_say_stands_in_the_log(files):
    text = (files / "people.rda").read_text(encoding="utf-8").replace("  <HOUSE_ID>\n", "")
    (files / "people.rda").write_text(text, encoding="utf-8")
    (files / "people.toml").write_text(records_recipe(files / "people.rda"), encoding="utf-8")
    run = ds.run_recipe(files / "people.toml")
    assert any("<HOUSEHOLD> (of ROOMS) changes nothing" in note for note in run.release.custodian.log["notes"])


def test_related_variables_and_those_of_households_are_emptied_together(files):
    """A variable that is suppressed takes its related one along, and one of a household all members of it."""
    text = (files / "people.rda").read_text(encoding="utf-8")
    more = '  <HOUSEHOLD>\n  <IDLEVEL> 3\n  <SUPPRESSWEIGHT> 1\n  <RELATED> "age"\n'
    text = text.replace("  <HOUSEHOLD>\n", more)
    (files / "people.rda").write_text(text, encoding="utf-8")
    recipe = records_recipe(files / "people.rda", k=10)
    assert 'of_household = ["ROOMS"]' in recipe
    assert '[protect.together]\nROOMS = ["AGE"]' in recipe
    (files / "people.toml").write_text(recipe, encoding="utf-8")
    run = ds.run_recipe(files / "people.toml")
    assert run.verdict.holds, run.verdict.refused
    step = run.release.custodian.steps[0]
    gone = {name: step.changed[name].is_null().to_pylist() for name in step.changed.column_names}
    before = run.release.custodian.original
    assert any(gone["ROOMS"])
    for row, here in enumerate(gone["ROOMS"]):
        assert not here or before["ROOMS"][row].as_py() is None or gone["AGE"][row]
    homes = before["HOME"].to_pylist()
    lost = {
        home for home, here, old in zip(homes, gone["ROOMS"], before["ROOMS"].to_pylist(), strict=True) if here and old
    }
    assert all(gone["ROOMS"][row] for row, home in enumerate(homes) if home in lost)
    page = (files / "people.release" / "custodian" / "mu_argus_report.html").read_text(encoding="utf-8")
    # The sections of the report of mu-ARGUS 5.1 (HTMLReportWriter of its public sources), in their order.
    titles = [line.partition("</h2>")[0] for line in page.split("<h2>")[1:]]
    assert titles == [
        "Files",
        "Identifying variables",
        "Tables counted",
        "Related variables",
        "No global recodings",
        "Other changes",
        "Suppressions",
        "Record layout of the safe file",
    ]
    for row in (
        "<td>Original data</td><td>people.asc</td>",
        "<td>Original metadata</td><td>people.rda</td>",
        "<td>Records</td><td>300</td>",
        "<td>9</td><td>REGION x SEX x ROOMS</td>",
        "<td>ROOMS</td><td>AGE</td>",
        "<td>HOME</td><td>households are numbered anew</td>",
        "<td>all</td><td>records stand in a random order</td>",
        "<td>SEX</td><td>3</td><td>1</td><td>0</td>",
        f"<td>All</td><td></td><td>{sum(step.evidence.facts['blanks']):,}</td>",
    ):
        assert row in page, row
    assert "<td>ROOMS</td><td>2 (1)</td><td>yes</td>" in page
    assert "AGE wherever ROOMS was; ROOMS for all members of a household" in step.evidence.claim.statement


def test_digits_that_may_be_dropped_are_said_of_the_safe_file(files):
    text = (files / "people.rda").read_text(encoding="utf-8")
    (files / "people.rda").write_text(text.replace('AGE 4 2 "99"\n', 'AGE 4 2 "99"\n  <TRUNCABLE>\n'), encoding="utf-8")
    (files / "people.toml").write_text(records_recipe(files / "people.rda"), encoding="utf-8")
    assert ds.run_recipe(files / "people.toml").verdict.holds
    safe = files / "people.release" / "public" / "people_safe.rda"
    assert read_metadata(safe)["AGE"].truncable
    assert not read_metadata(safe)["SEX"].truncable
    # Another recoding than by digits leaves codes of which nobody knows whether they can be cut.
    cut = '[[protect]]\nmethod = "recode"\ncolumn = "AGE"\nmap = { 00 = "yy" }\n\n[[protect]]'
    recipe = (files / "people.toml").read_text(encoding="utf-8").replace("[[protect]]", cut, 1)
    (files / "people.toml").write_text(recipe, encoding="utf-8")
    assert ds.run_recipe(files / "people.toml", replace=True).verdict.holds
    assert not read_metadata(safe)["AGE"].truncable


def test_a_file_of_metadata_is_no_batch(files):
    with pytest.raises(ParameterError) as error:
        ds.run_batch(files / "people.rda")
    assert error.value.message == "'people.rda' is a file of metadata, and no batch."
    assert "discreet argus people.rda --convert" in error.value.hint


def test_metadata_without_records_or_keys_make_no_recipe(files):
    plain = RDA.replace("<IDLEVEL> 1", "").replace("<IDLEVEL> 2", "").replace("<IDLEVEL> 3", "")
    (files / "people.rda").write_text(plain, encoding="ascii")
    with pytest.raises(NeedsError, match=r"'people\.rda' gives no variable an identification level above 0"):
        records_recipe(files / "people.rda")
    (files / "people.asc").unlink()
    with pytest.raises(InputError, match=r"There are no records beside 'people\.rda'\."):
        records_recipe(files / "people.rda")


def profiled(files: Path, profile: str, more: str = "", data: str = "") -> ds.Release:
    head = f'version = 1\n[data]\nfile = "people.asc"\nmetadata = "people.rda"\n{data}\n'
    text = head + TAIL.replace("{profile}", profile).replace("{more}", more)
    (files / "job.toml").write_text(text, encoding="utf-8")
    return ds.run_recipe(files / "job.toml").release


def test_a_recipe_takes_a_profile_and_the_levels_of_the_metadata(files):
    release = profiled(files, "research")
    assert [rule["k"] for rule in release.custodian.rules] == [100, 10_000]
    assert {rule["weight"] for rule in release.custodian.rules} == {"WEIGHT"}
    assert any("the profile 'research' demands it: a panel" in note for note in release.custodian.log["notes"])
    assert ds.check_folder(files / "out").holds


def test_digits_are_dropped_by_a_recipe_as_the_metadata_allow(files):
    (files / "people.rda").write_text(RDA.replace("<IDLEVEL> 1", "<IDLEVEL> 1\n <TRUNCABLE>"), encoding="ascii")
    text = records_recipe(files / "people.rda")
    step = '[[protect]]\nmethod = "recode"\ncolumn = "REGION"\nlevel = 1\n\n'
    (files / "job.toml").write_text(text.replace("[[protect]]", f"{step}[[protect]]", 1), encoding="utf-8")
    run = ds.run_recipe(files / "job.toml")
    assert set(run.release.public.records.shown()["REGION"]) == {"0"}


def test_levels_of_the_recipe_stand_in_place_of_those_of_the_metadata(files):
    release = profiled(files, "research", data="levels = { SEX = 2, AGE = 3 }")
    (rule,) = release.custodian.rules
    assert [table["keys"] for table in rule["combinations"]] == [("SEX", "AGE")]


def test_a_public_use_file_is_refused_a_region_and_counts_households(files):
    with pytest.raises(ParameterError, match="'REGION' is of identification level 1"):
        profiled(files, "public-use")
    with pytest.raises(ds.DiscreetError, match="fewer than 200000 units of weight"):
        profiled(files, "public-use", 'household_keys = ["ROOMS"]', "levels = { SEX = 2, AGE = 3 }")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('profile = "research"', 'profile = "PUF"'), "profile"),
        (('profile = "research"', 'household_keys = ["ROOMS"]'), "household_keys of [records] is for a profile"),
        (('profile = "research"', ""), "levels of [data] are for a profile, and the recipe has none."),
        (("levels = { SEX = 2 }", "weight = 'SEX'"), "SEX"),
    ],
)
def test_keys_of_profiles_that_cannot_be_used_are_refused(files, change, message):
    head = 'version = 1\n[data]\nfile = "people.asc"\nmetadata = "people.rda"\nlevels = { SEX = 2 }\n'
    text = head + TAIL.replace("{profile}", "research").replace("{more}", "")
    if "household_keys" in change[1]:
        text = text.replace("levels = { SEX = 2 }\n", "")
    (files / "job.toml").write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(ds.DiscreetError) as error:
        ds.run_recipe(files / "job.toml")
    assert message in error.value.message


def test_records_are_never_read_as_a_batch_or_as_csv_and_shown(files):
    first = (files / "people.asc").read_text(encoding="ascii").splitlines()[0]
    for wrong in (ds.run_batch, ds.convert_batch):
        with pytest.raises(ParameterError) as error:
            wrong(files / "people.asc")
        assert error.value.message == "'people.asc' is a file of records, and no batch."
        assert "people.rda --convert" in error.value.hint
    with pytest.raises(ParameterError) as error:
        ds.Microdata(files / "people.asc", keys=["SEX"])
    assert error.value.message == "'people.asc' has no separators: its metadata say where fields begin."
    text = records_recipe(files / "people.rda").replace('metadata = "people.rda"\n', "")
    (files / "job.toml").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(main, ["run", str(files / "job.toml")])
    assert done.exit_code == 2
    assert 'Give [data] metadata = "....rda"' in done.output
    assert first not in done.output


def test_a_recipe_of_metadata_lies_beside_its_data(files):
    (files / "elsewhere").mkdir()
    asked = ["argus", str(files / "people.rda"), "--convert", "--output", str(files / "elsewhere")]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 2
    assert "A recipe of metadata lies beside its data" in done.output
    assert not list((files / "elsewhere").iterdir())
