"""The command line: what it prints, and the codes it ends with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from discreet.cli import main
from tests.verbs.test_recipe import RECIPE, TWICE, folder, twice  # noqa: F401


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


@pytest.mark.parametrize(("command", "code"), [("run", 3), ("tabulate", 3), ("verify", 3), ("audit", 3)])
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


def test_the_demo_runs_again_and_again(tmp_path):
    pytest.importorskip("jinja2")
    for _ in range(2):
        done = discreet("demo", "--directory", tmp_path / "demo", "--records", 200)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "demo" / "release" / "custodian" / "report.html").is_file()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    assert discreet("demo", "--directory", tmp_path / "full").exit_code == 6


def test_an_interrupt_ends_with_code_130_and_writes_nothing(folder: Path, monkeypatch):  # noqa: F811
    import discreet.verbs.recipe as recipe

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recipe, "protect", interrupt)
    done = discreet("run", folder / "recipe.toml")
    assert done.exit_code == 130
    assert "Nothing was written" in done.stderr
    assert not (folder / "out").exists()


def test_earlier_releases_are_given_on_the_command_line(twice: Path):  # noqa: F811
    (twice / "recipe.toml").write_text(TWICE)
    done = discreet("run", twice / "recipe.toml", "--already-published", twice / "first")
    assert done.exit_code == 0, done.output
    assert "together with release 'first', table 'x'" in done.stdout
    assert "together with release 'first'" in discreet("verify", twice / "out").stdout
    audited = discreet("audit", twice / "out")
    assert audited.exit_code == 0
    assert "together with release 'first'" in audited.stdout
