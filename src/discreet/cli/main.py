"""The command ``discreet``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import click

from discreet.cli.terminal import errors, progress

RECIPE = click.argument("recipe", type=click.Path(path_type=Path))
FOLDER = click.argument("folder", type=click.Path(path_type=Path))
OUTSIDE = click.option("--allow-outside", is_flag=True, help="Let the recipe use files outside its own folder.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="discreet")
def main() -> None:
    """Make official statistics safe to publish, and prove it."""


@main.command()
@click.option("--directory", type=click.Path(path_type=Path), default=Path("discreet-demo"), show_default=True)
@click.option("--records", type=int, default=10_000, show_default=True, help="How many firms the survey has.")
def demo(directory: Path, records: int) -> None:
    """Protect a made-up business survey from records to a verified release."""
    from discreet.cli.demo import run_demo

    with errors(False), progress(False):
        run_demo(directory, records)


@main.command()
@RECIPE
@OUTSIDE
@click.option(
    "--already-published",
    "earlier",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Folder of an earlier release to be protected together with; may be given several times.",
)
@JSON
def run(recipe: Path, allow_outside: bool, earlier: tuple[Path, ...], as_json: bool) -> None:
    """Run a RECIPE: read, tabulate, find unsafe cells, protect, verify, save."""
    from discreet.verbs.recipe import run_recipe
    from discreet.verbs.save import summary

    with errors(as_json):
        with progress(as_json):
            done = run_recipe(recipe, allow_outside=allow_outside, already_published=earlier)
        if as_json:
            public = done.release.public.tables
            tables = [{"name": t.name, "cells": len(t), "shown": int(t.shown.sum())} for t in public]
            result = {"folder": str(done.folder), "seal": done.seal, "tables": tables, **done.verdict.to_dict()}
            click.echo(json.dumps(result))
            return
        click.echo(summary(done.release))
        if done.audit is not None:
            click.echo(done.audit.summary())
        click.echo(str(done.verdict))
        click.echo(f"Saved in {done.folder} (seal {done.seal[:16]})")


@main.command()
@FOLDER
@JSON
def verify(folder: Path, as_json: bool) -> None:
    """Re-check a saved release in FOLDER with the independent checker."""
    from discreet.verify import check_folder

    with errors(as_json):
        verdict = check_folder(folder)
        click.echo(json.dumps(verdict.to_dict()) if as_json else str(verdict))
        if not verdict.holds:
            sys.exit(5)


@main.command()
@RECIPE
@OUTSIDE
@click.option("--output", type=click.Path(path_type=Path), help="Write the cells to this csv file (confidential).")
def tabulate(recipe: Path, allow_outside: bool, output: Path | None) -> None:
    """Build and assess the tables of a RECIPE without protecting or publishing them. The result is confidential."""
    from discreet.cli.cells import show_tables

    with errors(False), progress(False):
        show_tables(recipe, allow_outside, output)


@main.command()
@FOLDER
@click.option("--output", type=click.Path(path_type=Path), help="Write all intervals to this csv file (confidential).")
@click.option(
    "--insiders",
    type=click.Choice(["full", "nonzero", "none"]),
    default="full",
    show_default=True,
    help="What must hold against contributors: levels kept, nothing known exactly, or nothing.",
)
@click.option("--sample", type=click.IntRange(min=1), help="Look at so many unsafe cells, chosen at random.")
@JSON
def audit(
    folder: Path, output: Path | None, insiders: Literal["full", "nonzero", "none"], sample: int | None, as_json: bool
) -> None:
    """Work out what an attacker can deduce from the saved release in FOLDER."""
    from discreet.cli.cells import write_new
    from discreet.verbs.audit import audit as audit_release
    from discreet.verbs.load import load

    with errors(as_json):
        with progress(as_json):
            found = audit_release(load(folder), insiders=None if insiders == "none" else insiders, sample=sample)
        if output is not None:
            write_new(output, found.to_frame())
        click.echo(json.dumps(found.counts()) if as_json else found.summary())
        if found.short or found.recoverable or found.short_insiders or found.recoverable_insiders:
            sys.exit(5)


@main.command()
def schema() -> None:
    """Print the JSON schema of recipes."""
    from discreet.verbs.recipe import recipe_schema

    click.echo(json.dumps(recipe_schema(), indent=2))
