"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

RECIPE = click.argument("recipe", type=click.Path(path_type=Path))
FOLDER = click.argument("folder", type=click.Path(path_type=Path))
OUTSIDE = click.option("--allow-outside", is_flag=True, help="Let the recipe use files outside its own folder.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
EARLIER = click.option(
    "--already-published",
    "earlier",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Folder of an earlier release to be protected together with; may be given several times.",
)
JOBS = click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes that share independent pieces of the work, through joblib."
)
REPLACE = click.option("--replace", is_flag=True, help="Let the release replace another one, with its evidence.")
