"""The command ``discreet structure``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.options import JSON, OUTSIDE
from discreet.cli.terminal import errors, progress

if TYPE_CHECKING:
    from discreet.model.table import Table
    from discreet.model.tableset import TableSet


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--blocks", type=click.IntRange(min=2), help="How many blocks; left out, independent parts, or two.")
@click.option(
    "--form",
    type=click.Choice(["dual", "primal", "both"]),
    default="both",
    show_default=True,
    help="What links blocks: cells (dual), relations (primal), or whichever are fewer.",
)
@click.option(
    "--balance",
    type=click.FloatRange(min=0, max=1, max_open=True),
    default=0.1,
    show_default=True,
    help="How far halves may differ: the larger has at most (1 + balance) / 2.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Chooses where blocks grow from."
)
@click.option(
    "--frame",
    type=click.Choice(["blocks", "links", "cells", "relations"]),
    default="blocks",
    show_default=True,
    help="What --output writes.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write the frame to this csv file (confidential).")
@click.option("--plot", type=click.Path(path_type=Path), help="Write the picture to this svg file (confidential).")
@OUTSIDE
@JSON
def structure(
    source: Path,
    blocks: int | None,
    form: str,
    balance: float,
    seed: int,
    frame: str,
    output: Path | None,
    plot: Path | None,
    allow_outside: bool,
    as_json: bool,
) -> None:
    """Say how the tables of SOURCE hang together: nearly independent blocks, and what links them.

    SOURCE is a recipe, the folder of a saved release, or an instance of a solver (.jj). Nothing is published.
    """
    options = {"blocks": blocks, "form": form, "balance": balance, "seed": seed}
    with errors(as_json):
        _show(source, options, frame, output, plot, allow_outside, as_json)


def _show(
    source: Path,
    options: dict[str, Any],
    frame: str,
    output: Path | None,
    plot: Path | None,
    allow_outside: bool,
    as_json: bool,
) -> None:
    """Print how tables hang together, and write frame and image where asked."""
    from discreet.cli.cells import refuse_existing, write_new
    from discreet.verbs.structure import structure as structure_of

    refuse_existing((output, plot))
    with progress(as_json):
        found = structure_of(_tables(source, allow_outside), **options)
    if output is not None:
        write_new(output, found.to_frame(frame))
    if plot is not None:
        found.plot(plot)
    if as_json:
        click.echo(json.dumps({**found.counts(), "linked_by": list(found.links)}))
    else:
        click.echo(found.summary())


def _tables(source: Path, allow_outside: bool) -> Table | TableSet:
    """The tables of a saved release, an instance of a solver, or a recipe."""
    from discreet.errors import ParameterError
    from discreet.model.custodian import RecordCustodian
    from discreet.recipe.job import RecipeJob
    from discreet.recipe.run import prepare
    from discreet.recipe.schema import read_recipe, recipe_text
    from discreet.verbs.instances import table_from_jj
    from discreet.verbs.load import load

    if source.is_dir():
        custodian = load(source).custodian
        if isinstance(custodian, RecordCustodian):
            raise ParameterError(
                f"The release in {source.name!r} is of records, and relations are between cells.",
                hint="Give a release of tables, a recipe or a .jj file.",
            )
        saved: TableSet = custodian.tables
        return saved
    if source.suffix.lower() == ".jj":
        return table_from_jj(source)
    return prepare(RecipeJob(read_recipe(recipe_text(source)), source.parent, allow_outside))
