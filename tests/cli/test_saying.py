"""How much commands say, in which words, and in which colours."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

import discreet as ds
from discreet.cli import main
from discreet.cli.wording import advice, in_recipe_words
from discreet.errors import Cancelled, InputError, ParameterError, ResourceError

RECIPE = """version = 1
[data]
file = "people.csv"
[[tables]]
name = "people"
by = ["region"]
[[rules]]
kind = "min_frequency"
n = 3
[[protect]]
method = "suppress"
[output]
directory = "out"
"""


def discreet(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("region\n" + "N\n" * 9 + "E\n" * 9 + "S\n" * 2)
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE)
    return path


def test_a_run_is_told_in_a_short_table_and_in_full_on_request(recipe: Path):
    brief = discreet("run", recipe)
    assert brief.exit_code == 0, brief.output
    lines = brief.stdout.splitlines()
    assert lines[0].split() == ["table", "cells", "unsafe", "withheld", "besides", "published"]
    assert lines[1].split()[:4] == ["people", "4", "1", "1"]
    assert "The claims hold." in brief.stdout
    assert "against outsiders" in brief.stdout
    assert "not considered: what was published before" in brief.stdout
    assert "  proved " not in brief.stdout
    full = discreet("run", recipe, "-v")
    assert "  proved    the public tables show exactly the published cells" in full.stdout
    assert "knows the publication, the relations" in full.stdout
    assert len(lines) < 12 < len(full.stdout.splitlines())


def test_quiet_says_nothing_but_what_went_wrong(recipe: Path):
    done = discreet("run", recipe, "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert discreet("verify", recipe.parent / "out", "-q").output == ""
    changed = recipe.parent / "out" / "public" / "people.csv"
    changed.write_text(changed.read_text().replace("9", "8"))
    refused = discreet("verify", recipe.parent / "out", "-q")
    assert refused.exit_code == 5
    assert "REFUSED" in refused.stdout
    recipe.write_text(RECIPE.replace("version = 1", "version = 3"))
    assert "version = 3" in discreet("run", recipe, "-q").stderr


def test_quiet_and_verbose_together_are_refused(recipe: Path):
    done = discreet("run", recipe, "-q", "-v")
    assert done.exit_code == 2
    assert "--quiet and --verbose contradict each other" in done.stderr


@pytest.mark.parametrize(
    ("words", "key"),
    [(("tabulate", "recipe.toml"), "tables"), (("signing-key", "office.key"), "fingerprint")],
)
def test_commands_give_one_object_of_json(recipe: Path, monkeypatch, words, key):
    monkeypatch.chdir(recipe.parent)
    done = discreet(*words, "--json")
    assert done.exit_code == 0, done.output
    assert key in json.loads(done.stdout)


def test_a_refused_release_is_never_cut_short(recipe: Path):
    discreet("run", recipe, "-q")
    changed = recipe.parent / "out" / "public" / "people.csv"
    changed.write_text(changed.read_text().replace("9", "8"))
    checked = discreet("verify", recipe.parent / "out")
    assert "refused   files: a file was changed after the release was sealed (public/people.csv)" in checked.stdout


def on_a_terminal(folder: Path, *words: str, **environment: str) -> str:
    ours, theirs = pty.openpty()
    given = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(Path(ds.__file__).parent.parent), **environment}
    given = given if environment else {k: v for k, v in given.items() if k != "NO_COLOR"}
    command = [sys.executable, "-m", "discreet", *words]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=given, cwd=folder)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    process.wait()
    os.close(ours)
    return shown.decode()


def test_colours_are_for_terminals_alone(recipe: Path):
    recipe.write_text(RECIPE.replace("version = 1", "version = 3"))
    assert "\x1b[31m" in on_a_terminal(recipe.parent, "run", "recipe.toml")
    assert "\x1b[31m" not in on_a_terminal(recipe.parent, "run", "recipe.toml", NO_COLOR="1")
    assert "\x1b[" not in discreet("run", recipe).output


def test_doctor_says_what_is_there_and_what_is_missing(monkeypatch):
    from importlib import metadata

    from discreet.cli import checkup

    there = metadata.version

    def without_duckdb(name: str) -> str:
        if name == "duckdb":
            raise metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(checkup.metadata, "version", without_duckdb)
    done = discreet("doctor")
    assert done.exit_code == 0, done.output
    assert "sql, for records larger than memory (not installed: duckdb)" in done.stdout
    assert "pip install 'discreet[sql]'" in done.stdout
    assert "a small table was protected and its evidence checked" in done.stdout
    assert done.stdout.rstrip().endswith("This machine can do the work.")
    assert "numpy" not in done.stdout
    assert "numpy" in discreet("doctor", "-v").stdout


def test_doctor_ends_with_code_1_where_something_is_wrong(monkeypatch):
    from discreet.cli import checkup

    def broken() -> str:
        raise ImportError("libhighs is not there")

    monkeypatch.setattr(checkup, "_small_release", broken)
    monkeypatch.setattr(checkup, "_installed", lambda name: "0.1" if name == "numpy" else "9999.0")
    done = discreet("doctor", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert not found["well"]
    wrong = [one["text"] for one in found["findings"] if one["state"] == "wrong"]
    assert any(text.startswith("numpy 0.1, needed >=") for text in wrong)
    assert any("libhighs is not there" in text for text in wrong)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_prints_a_script(shell):
    done = discreet("completion", shell)
    assert done.exit_code == 0, done.output
    assert "_DISCREET_COMPLETE" in done.stdout


def test_commands_and_options_are_completed():
    complete = ShellComplete(main, {}, "discreet", "_DISCREET_COMPLETE")
    assert [item.value for item in complete.get_completions([], "comp")] == [
        "compare",
        "compare-suppression",
        "completion",
    ]
    assert "--replace" in [item.value for item in complete.get_completions(["run"], "--re")]


# ---- in the words of the door -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("python", "toml"),
    [
        ("Give delimiter=';'.", 'Give delimiter = ";".'),
        ("Use insiders='nonzero' or insiders=None.", 'Use insiders = "nonzero" or insiders = "none".'),
        ("Give compute_totals=True, or slack=.", "Give compute_totals = true, or slack."),
        ("Use ds.Suppress().", 'Use method = "suppress".'),
        ("For example ds.PPercent(10).", 'For example kind = "p_percent", p = 10.'),
        (
            "Recode it, for example ds.Recode('age', top=85).",
            'Recode it, for example method = "recode", column = "age", top = 85.',
        ),
        ("Give Microdata(missing={'region': 'unknown'}).", 'Give [data] missing = { "region" = "unknown" }.'),
        ("Write [[rules]] in double brackets.", "Write [[rules]] in double brackets."),
        ("Check with a == b and c >= 3.", "Check with a == b and c >= 3."),
    ],
)
def test_hints_are_spelt_as_recipes_are(python, toml):
    assert in_recipe_words(python) == toml


def test_an_own_hint_for_recipes_counts_more_and_memory_is_never_loaded_for():
    assert advice(InputError("x", hint="Call table.assess()", recipe_hint="Add [[rules]].")) == "Add [[rules]]."
    assert advice(ResourceError("x", hint="Use engine='duckdb'")) == "Use engine='duckdb'"


def test_hints_of_the_rooms_that_recipes_use_hold_no_python():
    """The literal parts of hints, as the command line prints them."""
    import ast

    source = Path(ds.__file__).parent
    left = []
    for room in ("files", "recipe", "rules", "tables", "records", "relations"):
        for path in (source / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                given = {word.arg: word.value for word in node.keywords}
                own = given.get("hint")
                if isinstance(own, ast.Constant) and "recipe_hint" not in given:
                    said = in_recipe_words(str(own.value))
                    if re.search(r"\bds\.[a-zA-Z]|\b[a-z_]+=['\"\[{0-9TFN]", said):
                        left.append(f"{path.name}: {said}")
    assert left == PYTHON_ALONE


PYTHON_ALONE = ["method.py: Call ds.protect(table, method), which reads it."]
"""Hints of what nobody reaches by a recipe."""


def test_a_code_for_empty_fields_of_no_column_is_told_with_the_columns_there_are(recipe: Path):
    recipe.write_text(RECIPE.replace('file = "people.csv"', 'file = "people.csv"\nmissing = { regions = "unknown" }'))
    done = discreet("run", recipe)
    assert done.exit_code == 3
    said = " ".join(done.stderr.split())
    assert "There is no column 'regions' in the records. Did you mean 'region'? Available: 'region'." in said
    assert "Correct the name in [data] missing." in said
    assert not (recipe.parent / "out").exists()


def test_a_cancelled_command_is_no_error_with_advice(recipe: Path, monkeypatch):
    import discreet.recipe.run as module

    def cancel(*_: object, **__: object) -> None:
        raise Cancelled()

    monkeypatch.setattr(module, "protect_tables", cancel)
    done = discreet("run", recipe)
    assert done.exit_code == 130
    assert done.stderr.splitlines()[-1] == "Cancelled. Nothing was written."
    assert "What to do" not in done.stderr


def test_an_error_keeps_its_hints_when_it_travels_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(ParameterError("a", hint="b", recipe_hint="c")))
    assert (error.message, error.hint, error.recipe_hint) == ("a", "b", "c")
