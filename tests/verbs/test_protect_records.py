"""Records through every door: roles, bad input, recipes, pipelines."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.cli import main
from discreet.errors import DiscreetError, InputError, NeedsError, ParameterError, ProtectionError
from tests.battery.record_cases import people


def small(**columns) -> pa.Table:
    return pa.table({"age": [20, 20, 30, 30], "sex": ["m", "m", "f", "f"], **columns})


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"keys": ["age"], "numeric": ["age"]}, "Column 'age' is given as key and as numeric"),
        ({"keys": ["age", "age"]}, "names a column twice"),
        ({"keys": 5}, "keys=5 is not allowed"),
        ({"identifier": "sex", "sensitive": "sex"}, "given as sensitive and as identifier"),
    ],
)
def test_a_column_has_one_role(roles, message):
    with pytest.raises(ParameterError, match=message):
        ds.Microdata(small(), **roles)


def test_a_contributor_may_be_the_identifier():
    assert ds.Microdata(small(), contributor="sex", identifier="sex").roles == {"sex": "identifier"}


@pytest.mark.parametrize("role", ["keys", "sensitive", "numeric", "household", "identifier", "strata"])
def test_a_role_that_names_no_column_lists_what_is_there(role):
    data = ds.Microdata(small(), **{role: "agee"})
    with pytest.raises(InputError, match=r"'agee'.*Did you mean 'age'\? Available: 'age', 'sex'"):
        ds.protect(data, ds.Recode("age", top=25))


def test_an_identifier_that_repeats_is_refused():
    data = ds.Microdata(small(id=[1, 2, 3, 3]), identifier="id")
    with pytest.raises(InputError, match="1 record has the identifier of an earlier record"):
        ds.protect(data, ds.Recode("age", top=25))


def test_two_columns_may_identify_together():
    data = ds.Microdata(small(home=[1, 1, 2, 2], person=[1, 2, 1, 2]), identifier=["home", "person"])
    shown = ds.protect(data, ds.Recode("age", top=25)).public.records
    assert shown.variables == ("age", "sex")


@pytest.mark.parametrize("role", ["identifier", "household"])
def test_a_record_without_identifier_or_household_is_refused(role):
    data = ds.Microdata(small(who=["a", "b", None, "d"]), **{role: "who"})
    with pytest.raises(InputError, match=f"1 record has nothing in 'who', the {role}"):
        ds.protect(data, ds.Recode("age", top=25))


def test_households_are_numbered_anew_and_stay_together():
    data = ds.Microdata(small(home=["x17", "y4", "x17", "y4"]), household="home")
    release = ds.protect(data, ds.Recode("age", top=25))
    shown = release.public.records
    assert sorted(shown.columns["home"].to_pylist()) == [1, 1, 2, 2]
    assert "home" in shown.altered
    before = [data.source["home"][i].as_py() for i in release.custodian.order.tolist()]
    assert len(set(zip(before, shown.columns["home"].to_pylist(), strict=True))) == 2


@pytest.mark.parametrize(
    "values",
    [
        [f"Main Street {i}" for i in range(30)],
        list(range(1000, 1030)),
        [1000.0 + i for i in range(30)],
        [date(1950 + i, 1, 1) for i in range(30)],
    ],
)
def test_a_nearly_unique_column_without_a_role_is_refused_by_name(values):
    table = pa.table({"age": [20] * 30, "who": values})
    with pytest.raises(NeedsError, match=r"'who' is nearly unique .*identifier='who'"):
        ds.protect(ds.Microdata(table), ds.Recode("age", top=25))
    for role in ("identifier", "sensitive"):
        assert ds.protect(ds.Microdata(table, **{role: "who"}), ds.Recode("age", top=25)).verify().holds


def test_a_key_with_as_many_values_as_records_is_refused_until_it_is_recoded():
    table = pa.table({"day": [f"19{i:02d}-01-01" for i in range(90)], "sex": ["m"] * 90})
    data = ds.Microdata(table, keys=["day", "sex"])
    with pytest.raises(NeedsError, match=r"Key 'day' is nearly unique \(90 values of 90 records occur once\)"):
        ds.protect(data, ds.Recode("sex", map={"m": "x"}))
    years = {f"19{i:02d}-01-01": f"19{i // 10}0s" for i in range(90)}
    assert ds.protect(data, ds.Recode("day", map=years), rules=[ds.KAnonymity(10)]).verify().holds


def test_records_that_break_a_rule_are_not_released():
    with pytest.raises(ProtectionError, match="4 records have a combination of 'age', 'sex' that occurs fewer than 3"):
        ds.protect(ds.Microdata(small(), keys=["age", "sex"]), ds.Recode("age", top=25), rules=[ds.KAnonymity(3)])


def test_an_assessment_carries_its_rules_into_protection():
    judged = ds.Microdata(small(), keys=["age", "sex"]).assess(ds.KAnonymity(3))
    assert judged.assessment.unsafe == (4,)
    with pytest.raises(ProtectionError, match="fewer than 3"):
        ds.protect(judged, ds.Recode("age", top=25))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([ds.Suppress()], "Suppress acts on tables, and records were given without a table"),
        ([ds.Suppress(), ds.Recode("age", top=25)], "Recode cannot follow Suppress"),
        ([ds.Round(5), ds.Suppress()], "Suppress cannot follow Round"),
        ([ds.Recode], "Recode was not called"),
        (["recode"], "takes methods, not a str"),
    ],
)
def test_steps_in_an_impossible_order_are_refused(steps, message):
    with pytest.raises(ParameterError, match=message):
        ds.protect(ds.Microdata(small()), steps)


def test_what_is_for_tables_is_refused_for_records():
    with pytest.raises(ParameterError, match="already_published= and parts= are for tables"):
        ds.protect(ds.Microdata(small()), ds.Recode("age", top=25), already_published=[])
    with pytest.raises(ParameterError, match="PPercent is no rule for records"):
        ds.protect(ds.Microdata(small()), ds.Recode("age", top=25), rules=[ds.PPercent(10)])
    with pytest.raises(ParameterError, match="keep_order= and name= are for releases of records"):
        ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress(), keep_order=True)


@pytest.mark.parametrize("option", [{"recode": {"sex": {"m": "x"}}}, {"missing": {"sex": "x"}}])
def test_options_of_tables_are_not_left_aside_in_silence(option):
    with pytest.raises(ParameterError, match="is for tables, and records are to be published"):
        ds.protect(ds.Microdata(small(), **option), ds.Recode("age", top=25))


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.binary(), pa.time64("us")])
def test_columns_that_no_file_of_records_has_are_named(kind):
    table = small(odd=pa.nulls(4, kind))
    with pytest.raises(InputError, match="Column 'odd' holds"):
        ds.protect(ds.Microdata(table), ds.Recode("age", top=25))


def test_infinite_numbers_are_refused_and_nan_is_a_gap():
    with pytest.raises(InputError, match="'x' holds 1 infinite number"):
        ds.protect(ds.Microdata(small(x=[1.0, 2.0, 3.0, np.inf])), ds.Recode("age", top=25))
    shown = ds.protect(ds.Microdata(small(x=[1.0, np.nan, 3.0, 4.0])), ds.Recode("age", top=25), keep_order=True)
    assert shown.public.records.columns["x"].to_pylist() == [1.0, None, 3.0, 4.0]


# ---- tables of changed records ---------------------------------------------------------------------------------


def survey() -> ds.Microdata:
    return people(600, keys=(), contributor=None, missing_codes={})


def spec() -> ds.TableSpec:
    return ds.TableSpec(
        by={"age": ds.Hierarchy.flat(["<15", "15-64", "65+"]), "region": ds.Hierarchy.flat(["N1", "N2", "S1", "S2"])},
        name="persons",
    )


def pipeline(**options) -> ds.Release:
    steps = [ds.Recode("age", intervals=[15, 65]), ds.Suppress()]
    return ds.protect(survey(), steps, tables=[spec()], rules=[ds.MinFrequency(12)], **options)


def test_records_are_changed_before_tables_are_made_of_them():
    release = pipeline()
    assert [evidence.claim.method for evidence in release.custodian.evidence] == ["recode", "suppress"]
    verdict = release.verify()
    assert verdict.holds, verdict
    assert any("done to the records before: Column age" in text for text in verdict.asserted)
    assert ds.audit(release).complete


def test_a_pipeline_is_saved_loaded_replayed_and_checked_with_its_records(tmp_path):
    release = pipeline()
    release.save(tmp_path / "out", report=True)
    loaded = ds.load(tmp_path / "out")
    assert np.array_equal(loaded.replay().custodian.status[0], release.custodian.status[0])
    verdict = loaded.verify(survey())
    assert verdict.holds, verdict
    other = survey()
    other = other.with_(source=other.source.slice(1))
    assert not loaded.verify(other).holds


def test_a_claim_about_what_came_before_is_held_to_its_words():
    from dataclasses import replace

    release = pipeline()
    first, last = release.custodian.evidence
    for lie in (
        replace(first, claim=replace(first.claim, statement="Nobody can be recognised.")),
        replace(first, claim=replace(first.claim, method="magic"), method={"method": "magic"}),
    ):
        forged = ds.Release(release.public, replace(release.custodian, evidence=(lie, last)))
        assert not forged.verify().holds


def test_a_method_that_only_changes_records_does_not_publish_tables():
    with pytest.raises(ParameterError, match="does not say what is published of tables"):
        ds.protect(survey(), ds.Recode("age", intervals=[15, 65]), tables=[spec()])


# ---- recipes ---------------------------------------------------------------------------------------------------

RECIPE = """
version = 1
[data]
file = "people.csv"
keys = ["age", "sex", "region"]
sensitive = ["health"]
numeric = ["income"]
weight = "weight"
household = "home"
identifier = ["name"]
[hierarchies]
region = {{ file = "region.hrc", total = "All" }}
[[rules]]
kind = "k_anonymity"
k = 3
[[protect]]
method = "recode"
column = "age"
intervals = [15, 65]
[[protect]]
method = "recode"
column = "region"
level = 1
[records]
{records}
[output]
directory = "out"
formats = ["csv", "parquet"]
report = true
"""


def recipe(folder, records: str = 'name = "persons"') -> str:
    from pyarrow import csv

    csv.write_csv(people(400).source, folder / "people.csv")
    (folder / "region.hrc").write_text("north\n@N1\n@N2\nsouth\n@S1\n@S2\n", encoding="utf-8")
    (folder / "recipe.toml").write_text(RECIPE.format(records=records), encoding="utf-8")
    return str(folder / "recipe.toml")


def test_a_recipe_of_records_runs_and_verifies(tmp_path):
    run = ds.run_recipe(recipe(tmp_path))
    assert run.verdict.holds
    assert sorted(p.name for p in (tmp_path / "out" / "public").iterdir()) == ["persons.csv", "persons.parquet"]
    assert "Who is at risk" in (tmp_path / "out" / "custodian" / "report.html").read_text()
    ages = {line.split(",")[1] for line in (tmp_path / "out/public/persons.csv").read_text().splitlines()[1:]}
    assert ages == {"<15", "15-64", "65+"}


def test_recipe_and_python_give_the_same_records(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_KEY", "ab" * 32)
    run = ds.run_recipe(recipe(tmp_path, "keep_order = true"))
    data = people(400, missing_codes={})
    release = ds.protect(
        data,
        [ds.Recode("age", intervals=[15, 65]), ds.Recode("region", level=1)],
        rules=[ds.KAnonymity(3)],
        keep_order=True,
    )
    assert run.release.public.records.columns.equals(release.public.records.columns)


def test_the_command_line_runs_and_verifies_records(tmp_path):
    done = CliRunner().invoke(main, ["run", recipe(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "400 records" in done.output
    checked = CliRunner().invoke(main, ["verify", str(tmp_path / "out"), "--json"])
    assert checked.exit_code == 0
    assert json.loads(checked.output)["holds"] is True


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[records]\n", '[[tables]]\nby = ["age"]\n[records]\n'), r"both \[\[tables\]\] and \[records\]"),
        (('[records]\nname = "persons"\n', ""), r"neither \[\[tables\]\] nor \[records\]"),
        (('kind = "k_anonymity"', 'kind = "p_percent"'), "There is no rule for records 'p_percent'"),
        (("k = 3\n", "k = 3\n[assess]\nmissing_safe = true\n"), "assess is for tables"),
        (("level = 1", "lvel = 1"), "Did you mean 'level'"),
        (('name = "persons"', 'nam = "persons"'), "Did you mean 'name'"),
        (('formats = ["csv", "parquet"]', 'formats = ["px"]'), "There is no format 'px'"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(tmp_path, change, message):
    path = tmp_path / "recipe.toml"
    recipe(tmp_path)
    path.write_text(path.read_text().replace(*change), encoding="utf-8")
    with pytest.raises(DiscreetError, match=message):
        ds.run_recipe(path)
    assert not (tmp_path / "out").exists()


TABLES = """
version = 1
[data]
{data}
[[tables]]
name = "t"
by = ["sex"]
[[rules]]
kind = "min_frequency"
n = 3
[[protect]]
method = "recode"
column = "sex"
map = {{ m = "f" }}
[[protect]]
method = "suppress"
{pattern}
[output]
directory = "out"
"""


@pytest.mark.parametrize(
    ("data", "pattern", "message"),
    [
        ('cells = "cells.csv"', "", "'recode' changes records, and the cells are given"),
        ('file = "people.csv"', '[pattern]\nfile = "pattern.csv"', "A pattern is given for tables as they are"),
    ],
)
def test_records_are_not_said_to_be_changed_where_they_are_not(tmp_path, data, pattern, message):
    (tmp_path / "cells.csv").write_text("sex,value\nTotal,9\nm,4\nf,5\n")
    (tmp_path / "people.csv").write_text("sex\nm\nf\n")
    (tmp_path / "pattern.csv").write_text("table,sex,status\nt,m,secondary\n")
    (tmp_path / "recipe.toml").write_text(TABLES.format(data=data, pattern=pattern))
    with pytest.raises(DiscreetError, match=message):
        ds.run_recipe(tmp_path / "recipe.toml")
    assert not (tmp_path / "out").exists()


def test_rows_of_two_releases_stand_in_different_orders():
    """With one key and one order, the places of rows would link two files of the same people."""
    table = pa.table({"id": [f"p{i}" for i in range(60)], "pay": list(range(60)), "sex": ["m", "f"] * 30})
    key = ds.Key(bytes(32))
    orders = []
    for columns, method, name in [
        (["id", "sex"], ds.Recode("sex", map={"m": "a"}), "records"),
        (["id", "sex"], ds.Recode("sex", map={"m": "b"}), "records"),
        (["id", "sex"], ds.Recode("sex", map={"m": "b"}), "others"),
        (["id", "pay", "sex"], ds.Recode("sex", map={"m": "b"}), "records"),
    ]:
        data = ds.Microdata(table.select(columns), identifier="id", numeric=[n for n in columns if n == "pay"])
        release = ds.protect(data, method, key=key, name=name)
        again = ds.protect(data, method, key=key, name=name)
        assert again.custodian.order.tolist() == release.custodian.order.tolist()
        orders.append(tuple(release.custodian.order.tolist()))
    assert len(set(orders)) == 4
