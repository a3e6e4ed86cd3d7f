"""Batch files and linked tables on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from discreet.argus.data import METADATA
from discreet.cli.terminal import progress, result, say
from discreet.errors import ParameterError
from discreet.files.argus.rda import read_metadata
from discreet.files.new_file import OPEN, new_file
from discreet.recipe.batch import convert_batch, run_batch
from discreet.recipe.links import TableMetadata, linked_clusters, read_table_metadata, tables_of_recipe
from discreet.recipe.schema import read_recipe, recipe_text
from discreet.recipe.to_batch import recipe_batch


def show_batch(
    batch: Path, log: Path | None, data: Path | None, strict: bool, allow_outside: bool, as_json: bool
) -> None:
    """Run a batch file and print its log book."""
    with progress(as_json):
        done = run_batch(batch, strict=strict, logbook=log, data_folder=data, allow_outside=allow_outside)
    if as_json:
        releases = [{"folder": str(run.folder), "seal": run.seal, **run.verdict.to_dict()} for run in done.runs]
        click.echo(json.dumps({"releases": releases, "files": [str(file) for file in done.files]}))
        return
    say(done.log.removesuffix("\n"))


def convert(source: Path, output: Path | None, data: Path | None, strict: bool, allow_outside: bool) -> None:
    """Write the recipes of a batch file, or the batch file of a recipe, beside it."""
    folder = source.parent if output is None else output
    if source.suffix.lower() == ".toml":
        recipe = read_recipe(recipe_text(source))
        if recipe.data.metadata is None:
            raise ParameterError(
                "A batch file needs metadata of the data.", hint="Give [data] metadata, the .rda file of the data."
            )
        path = source.parent / recipe.data.metadata
        metadata = read_metadata(path, "records" if recipe.data.file is not None else "cells")
        texts = {f"{source.stem}.arb": recipe_batch(recipe, metadata)}
    else:
        if source.suffix.lower() in METADATA and folder.resolve() != source.parent.resolve():
            raise ParameterError(
                "A recipe of metadata lies beside its data, whose paths are relative to it.",
                hint="Leave --output out, or move recipe, data and metadata together.",
            )
        texts = convert_batch(source, strict=strict, data_folder=data, allow_outside=allow_outside)
    for name, text in texts.items():
        with new_file(folder / name, OPEN) as stream:
            stream.write(text.encode())
        say(f"Written: {name}")


def show_links(files: Sequence[Path], equations: Sequence[str], as_json: bool) -> None:
    """Print which tables must be protected together."""
    found = [table for file in files for table in _tables(file, len(files) > 1)]
    clusters = linked_clusters(found, equations)
    told = {"groups": clusters.groups, "links": [asdict(link) for link in clusters.links]}
    result(told, clusters.summary(), as_json)


def _tables(file: Path, several: bool) -> list[TableMetadata]:
    """Tables of a file; those of one of several recipes carry its name."""
    kind = file.suffix.lower()
    if kind == ".arb":
        recipes = convert_batch(file)
    elif kind == ".toml":
        recipes = {file.name: recipe_text(file)}
    else:
        return read_table_metadata(file)
    prefixed = several or len(recipes) > 1
    return [
        table
        for name, text in recipes.items()
        for table in tables_of_recipe(read_recipe(text), f"{Path(name).stem}: " if prefixed else "")
    ]
