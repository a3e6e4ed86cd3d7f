"""The command line: what it prints, and the codes it ends with."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import discreet as ds
from discreet.cli import main
from tests.recipe.test_recipe import RECIPE, TWICE, folder, small_folder, twice  # noqa: F401


def discreet(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_run_verify_audit(folder: Path):  # noqa: F811
    done = discreet("run", folder / "recipe.toml")
    assert done.exit_code == 0, done.output
    assert "The claims hold." in done.stdout
    assert "not considered: contributors" in done.stdout
    checked = discreet("verify", folder / "out")
    assert checked.exit_code == 0
    assert "REFUSED" not in checked.stdout
    audited = discreet("audit", folder / "out", "--output", folder / "intervals.csv")
    assert audited.exit_code == 0
    assert "short of their level: 0" in audited.stdout
    assert (folder / "intervals.csv").stat().st_mode & 0o077 == 0
    assert discreet("audit", folder / "out", "--output", folder / "intervals.csv").exit_code == 6


def test_run_shares_its_work_out_and_writes_the_same_files(folder: Path):  # noqa: F811
    joblib = pytest.importorskip("joblib", reason="joblib is not installed (discreet[jobs])")
    (folder / "recipe.toml").write_text(RECIPE.replace('"suppress"', '"suppress"\nalgorithm = "modular"'))
    assert discreet("run", folder / "recipe.toml").exit_code == 0
    (folder / "out").rename(folder / "alone")
    asked = []

    def parallel(**options: object) -> object:
        asked.append(options["n_jobs"])
        return joblib.parallel.Parallel(**options)

    with pytest.MonkeyPatch.context() as patch, joblib.parallel_config(backend="threading"):
        patch.setattr(joblib, "Parallel", parallel)
        done = discreet("run", folder / "recipe.toml", "--jobs", 3)
    assert done.exit_code == 0, done.output
    assert set(asked) == {3}
    public = sorted(path.relative_to(folder / "out") for path in (folder / "out" / "public").rglob("*"))
    assert public == sorted(path.relative_to(folder / "alone") for path in (folder / "alone" / "public").rglob("*"))
    for path in (path for path in public if (folder / "out" / path).is_file()):
        assert (folder / "out" / path).read_bytes() == (folder / "alone" / path).read_bytes(), path
    refused = discreet("run", folder / "recipe.toml", "--jobs", 0)
    assert refused.exit_code == 2
    assert "jobs" in refused.output


def test_json_is_one_object_a_machine_can_read(folder: Path):  # noqa: F811
    done = json.loads(discreet("run", folder / "recipe.toml", "--json").stdout)
    assert done["holds"]
    assert done["tables"][0]["name"] == "turnover"
    assert json.loads(discreet("verify", folder / "out", "--json").stdout)["refused"] == []
    assert json.loads(discreet("audit", folder / "out", "--json").stdout)["short"] == 0
    (folder / "recipe.toml").write_text(RECIPE.replace("p = 10", "p = 101"))
    failed = discreet("run", folder / "recipe.toml", "--json")
    assert failed.exit_code == 2
    assert "p=101" in json.loads(failed.stdout)["message"]


def test_a_changed_release_ends_with_code_5_and_names_the_file(folder: Path):  # noqa: F811
    discreet("run", folder / "recipe.toml")
    path = folder / "out" / "public" / "turnover.csv"
    path.write_text(path.read_text().replace(",V", ",X", 1))
    checked = discreet("verify", folder / "out")
    assert checked.exit_code == 5
    assert "public/turnover.csv" in checked.stdout


@pytest.mark.parametrize(("command", "code"), [("run", 3), ("tabulate", 3), ("verify", 3), ("audit", 3), ("repair", 3)])
def test_a_path_that_is_not_there_ends_with_code_3_and_advice(tmp_path, command, code):
    done = discreet(command, tmp_path / "nothing")
    assert done.exit_code == code
    assert "Error: " in done.stderr
    assert "What to do: " in done.stderr


def test_tabulate_shows_unsafe_cells_and_publishes_nothing(folder: Path):  # noqa: F811
    done = discreet("tabulate", folder / "recipe.toml", "--output", folder / "cells.csv")
    assert done.exit_code == 0
    assert "unsafe" in done.stdout
    assert (folder / "cells.csv").read_text().startswith('"activity","region","value"')
    assert not (folder / "out").exists()


def test_details_for_the_custodian_do_not_reach_a_pipe(tmp_path):
    (tmp_path / "cells.csv").write_text("region,value\nTotal,1234567\nN,600\nS,300\n")
    text = RECIPE.replace('file = "input/records.csv"\ncontributor = "holding"', 'cells = "cells.csv"')
    text = text.replace('[hierarchies]\nactivity = "input/activity.hrc"\n', "")
    text = text.replace('["activity", "region"]\nvalue = "turnover"', '["region"]\nvalue = "value"')
    (tmp_path / "recipe.toml").write_text(text)
    done = discreet("run", tmp_path / "recipe.toml")
    assert done.exit_code == 3
    assert "region: Total = N + S" in done.stderr
    assert "12336" not in done.output
    assert "For you only" not in done.output


def test_schema_is_json():
    assert "Recipe" in json.loads(discreet("schema").stdout)["$defs"]


def test_the_demo_runs_again_and_again(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    import discreet.cli.demo as module

    monkeypatch.setattr(module, "business_survey", partial(module.business_survey, activities=(2, 4)))
    done = discreet("demo", "--directory", tmp_path / "demo", "--firms", 200, "--persons", 1_500)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("The claims hold.") == 3
    assert done.stdout.count("against outsiders") == 1
    machine = discreet("demo", "--directory", tmp_path / "demo", "--firms", 200, "--persons", 1_500, "--json")
    assert machine.exit_code == 0, machine.output
    assert [release["holds"] for release in json.loads(machine.stdout)["releases"]] == [True] * 3
    assert "proposed recodes leave 0 of" in done.stdout
    for release in ("survey/release", "census/counts", "census/records"):
        assert (tmp_path / "demo" / release / "custodian" / "report.html").is_file()
        assert discreet("verify", tmp_path / "demo" / release).exit_code == 0
    assert "recode = { " in (tmp_path / "demo" / "survey" / "recipe.toml").read_text()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    assert discreet("demo", "--directory", tmp_path / "full").exit_code == 6


def test_an_interrupt_ends_with_code_130_and_writes_nothing(folder: Path, monkeypatch):  # noqa: F811
    import discreet.recipe.run as recipe

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recipe, "protect_tables", interrupt)
    done = discreet("run", folder / "recipe.toml")
    assert done.exit_code == 130
    assert "Nothing was written" in done.stderr
    assert not (folder / "out").exists()


def test_repair_audits_completes_and_saves(small_folder: Path):  # noqa: F811
    discreet("run", small_folder / "recipe.toml")
    import discreet as ds

    release = ds.load(small_folder / "out")
    release.custodian.tables.tables[0].pattern().write(small_folder / "bare.csv", only_withheld=True)
    audited = discreet("repair", small_folder / "recipe.toml", "--pattern", small_folder / "bare.csv", "--audit-only")
    assert audited.exit_code == 5
    assert "short of their level" in audited.stdout
    done = discreet(
        "repair",
        small_folder / "recipe.toml",
        "--pattern",
        small_folder / "bare.csv",
        "--added",
        small_folder / "added.csv",
    )
    assert done.exit_code == 0, done.output
    assert "As it stood it was NOT safe." in done.stdout
    assert "The claims hold." in done.stdout
    assert (small_folder / "added.csv").read_text().startswith('"table","activity","region","before","status","reason"')
    assert (small_folder / "added.csv").stat().st_mode & 0o077 == 0
    again = discreet(
        "repair",
        small_folder / "recipe.toml",
        "--pattern",
        small_folder / "bare.csv",
        "--added",
        small_folder / "added.csv",
    )
    assert again.exit_code == 6
    ds.load(small_folder / "out").pattern().write(small_folder / "whole.csv")
    words = ("repair", small_folder / "recipe.toml", "--pattern", small_folder / "whole.csv", "--json")
    found = json.loads(discreet(*words).stdout)
    assert found["holds"]
    assert (found["pattern"]["held"], found["pattern"]["added"]) == (True, 0)
    assert json.loads(discreet(*words, "--audit-only").stdout)["held"]


def test_repair_reads_files_of_other_programs_or_says_what_is_missing(small_folder: Path):  # noqa: F811
    (small_folder / "t.csv").write_text("NACE;region;flag\nTotal;Total;x\n")
    recipe = small_folder / "recipe.toml"
    options = ("--column", "NACE=activity", "--column", "flag=status", "--delimiter", ";", "--audit-only")
    done = discreet("repair", recipe, "--pattern", small_folder / "t.csv", "--letters", "sdctable", *options)
    assert done.exit_code == 5
    assert "unsafe cells that are published" in done.stdout
    wrong = discreet("repair", recipe, "--pattern", small_folder / "t.csv", *options)
    assert wrong.exit_code == 3
    assert "--letters public would fit" in wrong.stderr
    assert discreet("repair", recipe, "--pattern", small_folder / "t.csv", "--column", "NACE").exit_code == 2
    for extra in ((), ("--audit-only",)):
        nothing = discreet("repair", recipe, *extra)
        assert nothing.exit_code == 2
        assert "There is no pattern." in nothing.stderr
    stray = discreet("repair", recipe, "--letters", "argus")
    assert "There is no --pattern for 'letters'" in stray.stderr
    assert not (small_folder / "out").exists()


def test_earlier_releases_are_given_on_the_command_line(twice: Path):  # noqa: F811
    (twice / "recipe.toml").write_text(TWICE)
    done = discreet("run", twice / "recipe.toml", "--already-published", twice / "first")
    assert done.exit_code == 0, done.output
    assert "together with release 'first', table 'x'" in done.stdout
    assert "together with release 'first'" in discreet("verify", twice / "out").stdout
    audited = discreet("audit", twice / "out")
    assert audited.exit_code == 0
    assert "together with release 'first'" in audited.stdout


def test_repair_takes_earlier_releases_and_an_audit_of_them_alone_writes_nothing(twice: Path):  # noqa: F811
    (twice / "recipe.toml").write_text(TWICE)
    (twice / "theirs.csv").write_text("row,col\nb,q\n")
    words = ("repair", twice / "recipe.toml", "--pattern", twice / "theirs.csv", "--all-are", "unsafe")
    words = (*words, "--already-published", twice / "first")
    audited = discreet(*words, "--audit-only")
    assert audited.exit_code == 5
    assert "together with release 'first'" in audited.stdout
    assert not (twice / "out").exists()
    done = discreet(*words)
    assert done.exit_code == 0, done.output
    assert "was NOT safe" in done.stdout
    assert "together with release 'first'" in discreet("verify", twice / "out").stdout


def test_an_audit_with_cells_that_were_out_before_ends_with_code_5(twice: Path):  # noqa: F811
    (twice / "notice.csv").write_text("row,col,value\nb,q,19\n")
    accept = 'accept = [{ class = "revealed", reason = "known", name = "A. Officer" }]'
    published = '\n[[already_published]]\ncells = "notice.csv"\n'
    (twice / "recipe.toml").write_text(TWICE.replace('"suppress"', f'"suppress"\n{accept}') + published)
    assert discreet("run", twice / "recipe.toml").exit_code == 0
    audited = discreet("audit", twice / "out")
    assert audited.exit_code == 5
    assert "unsafe cells that were published before: 1" in audited.stdout


def test_structure_says_how_the_tables_of_a_recipe_hang_together(folder: Path):  # noqa: F811
    done = discreet("structure", folder / "recipe.toml", "--output", folder / "b.csv", "--plot", folder / "b.svg")
    assert done.exit_code == 0, done.output
    assert "relations between" in done.stdout
    assert "Linked by:" in done.stdout
    assert (folder / "b.csv").read_text().startswith('"block","relations","cells","codes"')
    assert (folder / "b.svg").read_text().startswith("<svg ")
    assert (folder / "b.csv").stat().st_mode & 0o077 == 0
    again = discreet("structure", folder / "recipe.toml", "--output", folder / "b.csv")
    assert again.exit_code == 6
    assert "'b.csv' exists" in again.stderr
    assert not (folder / "out").exists()


def test_structure_reads_releases_and_instances_and_says_the_same(folder: Path):  # noqa: F811
    discreet("run", folder / "recipe.toml")
    words = ("--form", "primal", "--json")
    of_recipe, of_release = (
        json.loads(discreet("structure", folder / name, *words).stdout) for name in ("recipe.toml", "out")
    )
    assert of_recipe == of_release
    assert of_recipe["form"] == "primal"
    assert len(of_recipe["linked_by"]) == of_recipe["links"]
    ds.write_argus(ds.examples.small_table().assess(ds.PPercent(10)), folder / "small.jj", "jj")
    of_instance = json.loads(discreet("structure", folder / "small.jj", "--json").stdout)
    assert (of_instance["relations"], of_instance["cells"], of_instance["entries"]) == (8, 16, 32)


def test_structure_refuses_what_cannot_be(folder: Path):  # noqa: F811
    assert discreet("structure", folder / "nothing").exit_code == 3
    many = discreet("structure", folder / "recipe.toml", "--blocks", 10_000)
    assert many.exit_code == 2
    assert "blocks=10000 is not allowed." in many.stderr
    assert discreet("structure", folder / "recipe.toml", "--form", "triple").exit_code == 2
    drawn = discreet("structure", folder / "recipe.toml", "--plot", folder / "blocks.png")
    assert drawn.exit_code == 2
    assert "ends in .svg" in drawn.stderr
