"""The demonstration: a made-up business survey from records to a verified release."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shlex import quote

import click

from discreet.errors import OutputError
from discreet.generate import business_survey
from discreet.recipe.run import run_recipe
from discreet.stopping import written
from discreet.verbs.show import summary

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


def run_demo(directory: Path, records: int) -> None:
    """Write records and recipe, run it, and say what to look at."""
    recipe = directory / "recipe.toml"
    if directory.exists() and any(directory.iterdir()) and not recipe.is_file():
        raise OutputError(
            f"The folder {directory.name!r} exists and is not a demonstration.", hint="Give another --directory."
        )
    survey = business_survey(records)
    directory.mkdir(parents=True, exist_ok=True)
    for path in survey.write(directory / "input"):
        written(path)
    recipe.write_text(RECIPE, encoding="utf-8")
    written(recipe)
    click.echo(f"A survey of {records:,} firms and a recipe lie in {directory}. Running it ...")
    done = run_recipe(recipe)
    click.echo(summary(done.release))
    if done.audit is not None:
        click.echo(done.audit.summary())
    click.echo(str(done.verdict))
    folder = directory / "release"
    shown = quote(os.path.relpath(sys.executable))
    click.echo(f"\nPublic table:   {folder / 'public' / 'turnover.csv'}")
    click.echo(f"Report:         {folder / 'custodian' / 'report.html'}")
    click.echo(f"Check it again: {shown} -m discreet verify {quote(str(folder))}")
