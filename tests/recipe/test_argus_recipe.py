"""Recipes over ARGUS files meet what other parts of recipes say: costs, hierarchies and maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.recipe.job import RecipeJob
from discreet.recipe.run import compare_recipe, prepare, run_recipe
from discreet.recipe.schema import read_recipe

RECIPE = """version = 1
[data]
file = "stand_in.asc"
metadata = "stand_in.rda"
[hierarchies]
{hierarchies}
[[tables]]
by = ["Size", "Region"]
value = "Var2"
{table}
[[rules]]
kind = "dominance"
n = 3
k = 75
[[protect]]
method = "suppress"
cost = "{cost}"
[output]
directory = "out"
"""


def recipe(folder: Path, hierarchies: str = "", table: str = "", cost: str = "value") -> Path:
    ds.generate.argus_example(folder, records=2_000, seed=3)
    (folder / "job.toml").write_text(RECIPE.format(hierarchies=hierarchies, table=table, cost=cost))
    return folder / "job.toml"


def test_a_cost_variable_is_read_from_the_records(tmp_path: Path) -> None:
    table = run_recipe(recipe(tmp_path, cost="Var1")).release.custodian.tables.tables[0]
    read = ds.read_argus(tmp_path / "stand_in.asc", tmp_path / "stand_in.rda", by=["Size", "Region"], values=["Var1"])
    sums = ds.tabulate(read.microdata, by=read.hierarchies, value="Var1")
    assert table.spec.cost == "Var1"
    assert np.array_equal(table.cost, sums.values)


def test_costs_of_a_priori_files_hold_in_comparisons_too(tmp_path: Path) -> None:
    path = recipe(tmp_path)
    (plain,) = compare_recipe(path, ["certified"]).totals
    release = run_recipe(path).release
    table = release.custodian.tables.tables[0]
    secondary = np.flatnonzero(release.custodian.withheld(0) & ~table.unsafe)
    cells = [";".join(table.spec_codes(table.codes[row].tolist())) for row in secondary[:3]]
    (tmp_path / "a.hst").write_text("".join(f"{cell};c;1000000\n" for cell in cells))
    path = recipe(tmp_path, table='apriori = [{ file = "a.hst", separator = ";" }]')
    (dear,) = compare_recipe(path, ["certified"]).totals
    assert dear["secondary_value"] != plain["secondary_value"]


def test_hierarchies_are_said_once(tmp_path: Path) -> None:
    both = 'Size = { digits = [1, 1], hexagons = { x = "Var1", y = "Var2", size = 1.0 } }'
    with pytest.raises(ParameterError, match="'Size' has both 'digits', 'hexagons'"):
        run_recipe(recipe(tmp_path, both))
    path = recipe(tmp_path, "Size = { digits = [1, 1] }")
    path.write_text(path.read_text().replace('file = "stand_in.asc"', 'cells = "stand_in.asc"'))
    with pytest.raises(ParameterError, match="metadata of cells say how codes add up"):
        run_recipe(path)


BY_METHOD = """version = 1
[data]
file = "people.csv"
metadata = "people.rda"
[hierarchies]
{hierarchies}
[[tables]]
by = [{by}]
[[protect]]
{method}
insecure_seed = 1
[output]
directory = "out"
"""
PEOPLE = """<SEPARATOR> ","
Area 1
  <RECODEABLE>
Job 1
  <RECODEABLE>
Id 4
Home 4
East 6
  <NUMERIC>
  <DECIMALS> 1
North 6
  <NUMERIC>
  <DECIMALS> 1
"""


@pytest.mark.parametrize(
    ("method", "by", "hierarchies"),
    [
        ('method = "cell_key"\nidentifier = "Id"', '"Area", "Job"', ""),
        ('method = "drop_add"\nidentifier = "Id"', '"Area", "Job"', ""),
        ('method = "swap"\narea = "Area"\nhousehold = "Home"\nrate = 0.3', '"Area", "Job"', ""),
        (
            'method = "cell_key"\nidentifier = "Id"',
            '"place"',
            'place = { hexagons = { x = "East", y = "North", size = 40.0 } }',
        ),
    ],
)
def test_columns_that_only_methods_name_are_read(tmp_path: Path, method: str, by: str, hierarchies: str) -> None:
    rng = np.random.default_rng(5)
    rows = [
        f"{'NS'[rng.integers(2)]},{'abc'[rng.integers(3)]},{n},{n},{rng.random() * 90:.1f},{rng.random() * 90:.1f}\n"
        for n in range(200)
    ]
    (tmp_path / "people.csv").write_text("".join(rows))
    (tmp_path / "people.rda").write_text(PEOPLE)
    text = BY_METHOD.format(method=method, by=by, hierarchies=hierarchies)
    job = RecipeJob(read_recipe(text), tmp_path, False)
    tables = prepare(job)
    release = ds.protect(tables, job.methods())
    assert release.verify().holds
    assert not np.array_equal(release.public.tables[0].value, release.custodian.tables.tables[0].value)
