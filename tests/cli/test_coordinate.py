"""The command for offices that publish together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import csv

import discreet as ds
from discreet.cli import main
from discreet.generate import business_survey


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    made = business_survey(1_200, activities=(4, 10), regions=(3, 7))
    csv.write_csv(made.records.select(["activity", "region", "turnover", "holding"]), tmp_path / "firms.csv")
    trees = {}
    for variable in ("activity", "region"):
        trees[variable] = ", ".join(f'{code} = "{parent}"' for code, parent in made.parents[variable].items())
    path = tmp_path / "recipe.toml"
    path.write_text(
        'version = 1\n[data]\nfile = "firms.csv"\ncontributor = "holding"\n'
        + "".join(f"[hierarchies.{v}]\nparents = {{ {tree} }}\n" for v, tree in trees.items())
        + '[[tables]]\nname = "firms"\nby = ["activity", "region"]\nvalue = "turnover"\n'
        '[[rules]]\nkind = "p_percent"\np = 10\n'
        '[[protect]]\nmethod = "suppress"\ninsiders = "nonzero"\n[output]\ndirectory = "out"\n',
        encoding="utf-8",
    )
    return path


def run(*arguments: object):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_offices_get_a_pattern_each_and_the_release_is_made_of_all_together(recipe: Path):
    folder = recipe.parent / "patterns"
    done = run("coordinate", recipe, "region", "--frozen", "report", "--output", folder)
    assert done.exit_code == 0, done.output
    assert "decentral: withheld besides unsafe cells" in done.output
    assert {path.stem for path in folder.iterdir()} == {"R1", "R2", "R3", "top", "together"}
    assert not (recipe.parent / "out").exists()
    made = run("repair", recipe, "--pattern", folder / "together.csv")
    assert made.exit_code == 0, made.output
    pattern = ds.read_pattern(folder / "together.csv")
    released = ds.load(recipe.parent / "out").pattern()
    assert set(pattern.cells(status="secondary")) <= set(released.cells(status="secondary"))


def test_an_office_brings_its_own_pattern(recipe: Path):
    first, second = recipe.parent / "first", recipe.parent / "second"
    options = ("--frozen", "report", "--json")
    own = run("coordinate", recipe, "region", *options, "--output", first)
    taken = run("coordinate", recipe, "region", *options, "--pattern", f"R2={first / 'R2.csv'}", "--output", second)
    assert json.loads(own.output) == json.loads(taken.output)
    assert (first / "together.csv").read_bytes() == (second / "together.csv").read_bytes()


def test_what_is_left_open_has_an_exit_code(recipe: Path):
    text = recipe.read_text(encoding="utf-8").replace('insiders = "nonzero"', 'algorithm = "gauss"')
    recipe.write_text(text, encoding="utf-8")
    done = run("coordinate", recipe, "region", "--model", "central")
    assert done.exit_code == 5
    assert "not PS1*" in done.output


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["state"], 2, "no variable 'state'"),
        (["region", "--table", "shops"], 2, "no table 'shops'"),
        (["region", "--pattern", "R2"], 2, "OFFICE=FILE"),
        (["region", "--pattern", "R9=x.csv"], 2, "no office 'R9'"),
        (["region", "--model", "weighted"], 2, "last="),
        (["region", "--output", "."], 6, "exists"),
    ],
)
def test_impossible_requests_are_refused(recipe: Path, options: list[str], code: int, said: str):
    done = run("coordinate", recipe, *options)
    assert done.exit_code == code, done.output
    assert said in done.output
