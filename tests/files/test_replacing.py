"""Which release may take the place of another."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as ds
from discreet.errors import OutputError

RECIPE = """version = 1
[data]
file = "people.csv"
[[tables]]
by = ["region"]
[[rules]]
kind = "min_frequency"
n = 3
[[protect]]
method = "suppress"
[output]
directory = "out"
"""


def release(p: int = 10) -> ds.Release:
    return ds.protect(ds.examples.small_table().assess(ds.PPercent(p)), ds.Suppress())


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("region,sex\n" + "N,f\n" * 9 + "E,m\n" * 9 + "S,f\n" * 2)
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE)
    return path


def test_the_same_release_made_again_takes_its_own_place(tmp_path: Path):
    seal = release().save(tmp_path / "out")
    assert release().save(tmp_path / "out") == seal
    release().save(tmp_path / "out", formats=["jsonstat"])
    assert len(list((tmp_path / "out" / "public").iterdir())) == 2


def test_another_release_takes_it_only_when_told(tmp_path: Path):
    seal = release(10).save(tmp_path / "out")
    with pytest.raises(OutputError, match=r"'out' holds another release \(.*\), with its evidence.*replace=True"):
        release(60).save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out", seal=seal).holds
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    changed = release(60).save(tmp_path / "out", replace=True)
    assert changed != seal
    assert ds.check_folder(tmp_path / "out", seal=changed).holds


def test_a_release_whose_list_of_files_cannot_be_read_counts_as_another(tmp_path: Path):
    release().save(tmp_path / "out")
    (tmp_path / "out" / "custodian" / "manifest.json").write_text("[")
    with pytest.raises(OutputError, match="another release"):
        release().save(tmp_path / "out")


def test_a_recipe_replaces_what_it_made_every_night_and_after_a_change(recipe: Path):
    first = ds.run_recipe(recipe).seal
    (recipe.parent / "people.csv").write_text("region,sex\n" + "N,f\n" * 8 + "E,m\n" * 9 + "S,f\n" * 2)
    second = ds.run_recipe(recipe).seal
    recipe.write_text(RECIPE.replace("n = 3", "n = 4"))
    assert len({first, second, ds.run_recipe(recipe).seal}) == 3


def test_a_recipe_does_not_replace_the_release_of_another(recipe: Path):
    seal = ds.run_recipe(recipe).seal
    recipe.write_text(RECIPE.replace('by = ["region"]', 'by = ["sex"]'))
    with pytest.raises(OutputError, match=r"other tables \('count_by_region'\) than this recipe's \('count_by_sex'"):
        ds.run_recipe(recipe)
    assert ds.check_folder(recipe.parent / "out", seal=seal).holds
    assert ds.run_recipe(recipe, replace=True).verdict.holds


def test_a_recipe_does_not_replace_what_no_recipe_made(recipe: Path):
    release().save(recipe.parent / "out")
    with pytest.raises(OutputError, match="another release, which no recipe made"):
        ds.run_recipe(recipe)
