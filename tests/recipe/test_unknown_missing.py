"""A code for the gaps of a column that the data do not have is refused, whatever kind of data they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as ds
from discreet.errors import InputError

CELLS = """
version = 1
[data]
cells = "cells.csv"
missing = { regions = "?" }
[[tables]]
by = ["region"]
value = "value"
[[rules]]
kind = "p_percent"
p = 10
[[protect]]
method = "suppress"
"""
PEOPLE = """
version = 1
[data]
file = "people.asc"
metadata = "people.rda"
missing = { aeg = "?" }
[records]
[[protect]]
method = "local_suppress"
k = 2
"""
RDA = 'age 1 2 "99"\n  <RECODABLE>\n  <IDLEVEL> 1\nsex 3 1 "9"\n  <RECODABLE>\n'


def refused(tmp_path: Path, recipe: str) -> str:
    (tmp_path / "a.toml").write_text(recipe + '[output]\ndirectory = "out"\n', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        ds.run_recipe(tmp_path / "a.toml")
    return str(caught.value)


def test_beside_ready_made_cells(tmp_path):
    (tmp_path / "cells.csv").write_text("region,value\nTotal,30\na,10\nb,20\n")
    message = refused(tmp_path, CELLS)
    assert "no column 'regions' in the cells" in message
    assert "'region', 'value'" in message or "Did you mean 'region'" in message
    assert "Correct the name in [data] missing." in message


@pytest.mark.parametrize("records", ["[records]\n", ""])
def test_beside_metadata_of_argus(tmp_path, records):
    (tmp_path / "people.asc").write_text("20f\n20f\n30m\n")
    (tmp_path / "people.rda").write_text(RDA)
    recipe = PEOPLE if records else PEOPLE.replace("[records]\n", '[[tables]]\nby = ["sex"]\n')
    recipe = recipe if records else recipe.replace('"local_suppress"\nk = 2', '"suppress"')
    message = refused(tmp_path, recipe)
    assert "no column 'aeg' in the records" in message
    assert "Correct the name in [data] missing." in message


def test_a_column_that_is_there_is_fine(tmp_path):
    cells = "region,value,contributors,top1,top2\nTotal,30,9,4,4\na,10,5,2,2\nb,20,4,4,4\n"
    (tmp_path / "cells.csv").write_text(cells)
    recipe = CELLS.replace("regions", "region") + '[output]\ndirectory = "out"\n'
    (tmp_path / "a.toml").write_text(recipe, encoding="utf-8")
    assert ds.run_recipe(tmp_path / "a.toml").verdict.holds
