"""Cells on the terminal and as csv files of the custodian."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from discreet.errors import InputError, OutputError
from discreet.verbs.recipe import Kitchen, prepare, read_recipe
from discreet.verbs.save import table_to_frame


def show_tables(recipe: Path, allow_outside: bool, output: Path | None) -> None:
    """Print the assessed tables of a recipe, and write them where asked."""
    if not recipe.is_file():
        raise InputError(f"There is no recipe {recipe.name!r}.", hint=f"Looked for: {recipe}")
    tables = prepare(Kitchen(read_recipe(recipe.read_text(encoding="utf-8")), recipe.parent, allow_outside))
    for table in tables:
        click.echo(str(table))
        if output is not None:
            place = output if len(tables) == 1 else output.with_stem(f"{output.stem}_{table.name}")
            write_new(place, table_to_frame(table))


def write_new(path: Path, frame: Any) -> None:
    """Write a confidential frame as csv, readable by its owner only; an existing file is not overwritten."""
    from pyarrow import csv

    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OutputError(f"The file {path.name!r} exists.", hint="Choose another name, or remove it.") from None
    except OSError as error:
        raise OutputError(f"Cannot write {path.name!r}: {error.strerror}.") from None
    with os.fdopen(handle, "wb") as stream:
        csv.write_csv(frame, stream)
