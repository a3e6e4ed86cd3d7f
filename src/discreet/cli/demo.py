"""The demonstration: a made-up business survey from records to a verified release."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shlex import quote

from discreet.cli.cells import show_run
from discreet.cli.terminal import progress, say
from discreet.errors import OutputError
from discreet.generate import business_survey
from discreet.recipe.run import run_recipe
from discreet.stopping import written

RECIPE = """\
version = 1

[data]
file = "input/records.parquet"
contributor = "holding"

[hierarchies]
activity = { file = "input/activity.hrc" }
region = { file = "input/region.hrc" }

[[tables]]
name = "turnover"
by = ["activity", "region"]
value = "turnover"

[[rules]]
kind = "p_percent"
p = 10

[[rules]]
kind = "min_contributors"
n = 3

[[protect]]
method = "suppress"
cost = "value"

[output]
directory = "release"
report = true
"""


def run_demo(directory: Path, records: int, as_json: bool = False) -> None:
    """Write records and recipe, run it, and say what to look at."""
    recipe = directory / "recipe.toml"
    if directory.exists() and any(directory.iterdir()) and not recipe.is_file():
        raise OutputError(
            f"The folder {directory.resolve().name!r} exists and is not a demonstration.",
            hint="Give another --directory.",
        )
    survey = business_survey(records)
    directory.mkdir(parents=True, exist_ok=True)
    for path in survey.write(directory / "input"):
        written(path)
    recipe.write_text(RECIPE, encoding="utf-8")
    written(recipe)
    if not as_json:
        say(f"A survey of {records:,} firms and a recipe lie in {directory}. Running it ...")
    with progress(as_json):
        done = run_recipe(recipe)
    show_run(done, as_json)
    if as_json:
        return
    folder = directory / "release"
    shown = quote(os.path.relpath(sys.executable))
    say(f"\nPublic table:   {folder / 'public' / 'turnover.csv'}")
    say(f"Report:         {folder / 'custodian' / 'report.html'}")
    say(f"Check it again: {shown} -m discreet verify {quote(str(folder))}")
