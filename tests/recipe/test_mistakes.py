"""Mistakes in recipes: what stands there, what may stand there, and how to write it."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.recipe.schema import read_recipe

RECIPE = """version = 1
[data]
file = "people.csv"
[[tables]]
name = "people"
by = ["sex"]
[[rules]]
kind = "min_frequency"
n = 2
[[protect]]
method = "suppress"
[output]
directory = "out"
"""


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        (
            "version = 1",
            "version = 2",
            "version = 2, and this version of discreet reads version = 1",
            "Write version = 1",
        ),
        ("version = 1\n", "", "does not say its version", "version = 1 in its first line"),
        ("[[rules]]", "[rules]", "[rules] stands in single brackets", "Write [[rules]] in double brackets"),
        ("[data]", "[[data]]", "[[data]] stands in double brackets", "Write [data]"),
        ('by = ["sex"]', 'by = "sex"', 'by = "sex" in [[tables]] is not a list', 'Write by = ["sex"].'),
        ('directory = "out"', "directory = 3", "directory = 3 in [output] is not text in quotes", "text in quotes"),
        ('directory = "out"', "", "[output] of the recipe has no directory", "Add directory = ... below [output]"),
        ('[output]\ndirectory = "out"\n', "", "The recipe has no [output]", "Add [output]"),
        (
            'by = ["sex"]',
            'by = ["sex"]\ncells = "every"',
            'cells = "every" in [[tables]] is not allowed',
            '"nonempty" or "all"',
        ),
        (
            "kind =",
            "kin =",
            "An entry of [[rules]] has no kind. It has 'kin': did you mean 'kind'?",
            'kind = "p_percent"',
        ),
        ('method = "suppress"', 'algorithm = "optimal"', "An entry of [[protect]] has no method", "Write method = "),
        ('method = "suppress"', 'method = "round"', "Method 'round' needs base", "Add base = ..."),
        ('file = "people.csv"', "", "[data] of the recipe has no file", 'file = "records.csv"'),
        ('file = "people.csv"', 'file = "a"\ncells = "b"', "both file and cells", 'cells = "cells.csv"'),
        (
            'file = "people.csv"',
            'fiel = "people.csv"',
            "no key 'fiel' in [data] of the recipe. Did you mean 'file'?",
            "",
        ),
        ('directory = "out"', 'directory = "out', "not valid TOML", "text needs quotes"),
        (
            'file = "people.csv"',
            'file = "people.csv"\ndecimal = ";"',
            'decimal = ";" in [data] is not allowed',
            '"." or ","',
        ),
    ],
)
def test_a_mistake_is_told_in_words_of_the_recipe(old, new, message, hint):
    assert old in RECIPE
    with pytest.raises(ParameterError) as caught:
        read_recipe(RECIPE.replace(old, new, 1))
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert "$" not in str(caught.value)


def test_a_code_for_empty_fields_joins_the_codes_that_are_found(tmp_path: Path):
    (tmp_path / "people.csv").write_text("Région\n" + "N\n" * 5 + '""\n' * 4 + "S\n" * 6, encoding="utf-8")
    recipe = RECIPE.replace('"sex"', '"Région"').replace(
        'file = "people.csv"', 'file = "people.csv"\nmissing = { "Région" = "inconnu" }'
    )
    (tmp_path / "recipe.toml").write_text(recipe, encoding="utf-8")
    done = ds.run_recipe(tmp_path / "recipe.toml")
    assert done.release.to_frame().to_pydict()["Région"] == ["Total", "N", "S", "inconnu"]


def test_a_code_for_empty_fields_that_a_hierarchy_lacks_is_named_with_its_variable(tmp_path: Path):
    (tmp_path / "people.csv").write_text('Région\nN\n""\n', encoding="utf-8")
    by = {"Région": ds.Hierarchy.flat(["N", "S"])}
    with pytest.raises(ds.DiscreetError, match="no code 'inconnu' in the hierarchy of 'Région' \\(missing\\)"):
        ds.tabulate(tmp_path / "people.csv", by=by, missing={"Région": "inconnu"})


def test_a_filter_with_one_sign_of_equality_is_understood_as_a_slip():
    with pytest.raises(ParameterError, match="Did you mean x == 3"):
        ds.TableSpec(by={"a": ds.Hierarchy.flat(["b"])}, where="x = 3")
