"""The page on recipes shows parts that a recipe may have, and every key that it may have."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from discreet.recipe import schema

PAGE = (Path(__file__).parents[2] / "docs" / "recipe.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^### `(\[+[a-z_]+\]+)`.*?^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
NEEDED = """
version = 1
[data]
file = "x.csv"
[[protect]]
method = "suppress"
[output]
directory = "out"
"""
PARTS = {
    "Recipe": schema.Recipe,
    "data": schema.DataPart,
    "hierarchies": schema.HierarchyPart,
    "tables": schema.RecipeTable,
    "assess": schema.AssessPart,
    "already_published": schema.PublishedPart,
    "records": schema.RecordsPart,
    "output": schema.OutputPart,
}


def test_every_part_is_shown():
    assert len(SHOWN) >= 11


@pytest.mark.parametrize(("head", "text"), SHOWN, ids=[head for head, _ in SHOWN])
def test_what_is_shown_may_stand_in_a_recipe(head, text):
    shown = tomllib.loads(text)
    assert shown, head
    whole = {**tomllib.loads(NEEDED), **shown}
    if not {"records", "tables"} & set(shown):
        whole["tables"] = [{"by": ["region"], "name": "turnover"}]
    msgspec.convert(whole, schema.Recipe)


@pytest.mark.parametrize("name", PARTS)
def test_every_key_is_on_the_page(name):
    for key in PARTS[name].__struct_fields__:
        assert re.search(rf"`?\[*\b{key}\b", PAGE), f"{name}: {key}"
