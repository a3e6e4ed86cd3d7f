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
EARLIER = click.option(
    "--already-published",
    "earlier",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Folder of an earlier release to be protected together with; may be given several times.",
)


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
@click.option("--format", "formats", multiple=True, help="A further format of the public files; may be given often.")
@OUTSIDE
@EARLIER
@JSON
def run(recipe: Path, formats: tuple[str, ...], allow_outside: bool, earlier: tuple[Path, ...], as_json: bool) -> None:
    """Run a RECIPE: read, tabulate, find unsafe cells, protect, verify, save."""
    from discreet.cli.cells import show_run
    from discreet.verbs.recipe import run_recipe

    with errors(as_json):
        with progress(as_json):
            done = run_recipe(recipe, allow_outside=allow_outside, already_published=earlier, formats=formats)
        show_run(done, as_json)


@main.command()
@FOLDER
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "form", help="The format, where the name of the file does not say it.")
@click.option("--table", help="Which table, where the release has several.")
def export(folder: Path, file: Path, form: str | None, table: str | None) -> None:
    """Write a public table of the saved release in FOLDER to FILE: csv, xlsx, SDMX, JSON-stat, px, Parquet, sav, dta.

    The release is verified first.
    """
    from discreet.cli.cells import export_table

    with errors(False):
        export_table(folder, file, form, table)


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
@click.option("--pattern", type=click.Path(path_type=Path), help="The pattern file; without it the recipe's [pattern].")
@click.option(
    "--letters",
    default="words",
    show_default=True,
    help="What its statuses mean: words, argus, sdctable, jj, sbs, custodian or public.",
)
@click.option("--column", "columns", multiple=True, metavar="THEIRS=OURS", help="Another name for one of its columns.")
@click.option("--variable", "variables", multiple=True, help="A column of codes, if not all variables of the tables.")
@click.option("--all-are", type=click.Choice(["unsafe", "secondary"]), help="It lists withheld cells and no status.")
@click.option("--table", default="", help="Name of its table, where it has no column for that.")
@click.option("--delimiter", default=",", show_default=True, help="Separator of its columns.")
@click.option("--audit-only", is_flag=True, help="Say what can be worked out of it as it stands, and write nothing.")
@click.option("--added", type=click.Path(path_type=Path), help="Write the added cells to this csv file (confidential).")
@OUTSIDE
@EARLIER
@JSON
def repair(
    recipe: Path,
    pattern: Path | None,
    letters: str,
    columns: tuple[str, ...],
    variables: tuple[str, ...],
    all_are: Literal["unsafe", "secondary"] | None,
    table: str,
    delimiter: str,
    audit_only: bool,
    added: Path | None,
    allow_outside: bool,
    earlier: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Audit a given pattern for the tables of a RECIPE, complete it to a certified one, verify, save.

    The pattern's cells stay withheld, and its forced cells published. It may come from another program.
    """
    from discreet.cli.cells import pattern_part, repair_pattern

    options = {
        "variables": list(variables) or None,
        "letters": letters,
        "all_are": all_are,
        "table": table,
        "delimiter": delimiter,
    }
    with errors(as_json):
        given = pattern_part(pattern, columns, options)
        if not repair_pattern(recipe, given, audit_only, added, allow_outside, earlier, as_json):
            sys.exit(5)


@main.command("compare-suppression")
@RECIPE
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    help="An algorithm to compare; may be given several times. Without it all but the optimal one.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write the frame to this csv file (confidential).")
@click.option("--plot", type=click.Path(path_type=Path), help="Write the image to this svg file (confidential).")
@OUTSIDE
@EARLIER
@JSON
def compare_suppression(
    recipe: Path,
    algorithms: tuple[str, ...],
    output: Path | None,
    plot: Path | None,
    allow_outside: bool,
    earlier: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Compare suppression algorithms on the tables of a RECIPE: what they withhold, leave open and take.

    Nothing is published. Costs, hints and attackers are those of the recipe's own suppression, where it has one.
    """
    from discreet.cli.cells import show_comparison

    with errors(as_json):
        show_comparison(recipe, algorithms, output, plot, allow_outside, earlier, as_json)


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
@RECIPE
@click.option("--table", help="Which table, where the recipe has several.")
@click.option(
    "--target", type=click.IntRange(min=0), default=0, show_default=True, help="Stop at so many unsafe cells."
)
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many recodes.")
@click.option("--variable", "variables", multiple=True, help="A variable that may be recoded; all otherwise.")
@click.option("--no-merge", is_flag=True, help="Only close branches of trees.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder for files of old and new codes.")
@OUTSIDE
@JSON
def redesign(
    recipe: Path,
    table: str | None,
    target: int,
    most: int,
    variables: tuple[str, ...],
    no_merge: bool,
    output: Path | None,
    allow_outside: bool,
    as_json: bool,
) -> None:
    """Propose recodes of a table of a RECIPE that remove most unsafe cells for the least detail.

    Nothing is published.
    """
    from discreet.cli.cells import show_proposal

    options = {"target": target, "most": most, "variables": variables or None, "merge": not no_merge}
    with errors(as_json):
        show_proposal(recipe, table, output, allow_outside, as_json, options)


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
        if (
            len(found.published)
            or found.revealed
            or found.short
            or found.recoverable
            or found.short_insiders
            or found.recoverable_insiders
        ):
            sys.exit(5)


@main.command()
@click.argument("batch", type=click.Path(path_type=Path))
@click.argument("log", type=click.Path(path_type=Path), required=False)
@click.argument("temporary", type=click.Path(path_type=Path), required=False, expose_value=False)
@click.argument("data", type=click.Path(path_type=Path), required=False)
@click.option("--convert", is_flag=True, help="Write the equivalent recipe; of a recipe, the batch file. Run nothing.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder for what --convert writes.")
@click.option(
    "--strict-argus", is_flag=True, help="Keep to what tau-ARGUS does where more would be done, and its codes."
)
@OUTSIDE
@JSON
def argus(
    batch: Path,
    log: Path | None,
    data: Path | None,
    convert: bool,
    output: Path | None,
    strict_argus: bool,
    allow_outside: bool,
    as_json: bool,
) -> None:
    """Run a BATCH file of tau-ARGUS (.arb).

    The arguments are those of the program: LOG is the log book, TEMPORARY is accepted and not used, DATA is where files
    are looked for that do not lie beside the batch, and where output goes then.
    """
    from discreet.argus.run import argus_code
    from discreet.cli.argus import convert as convert_file
    from discreet.cli.argus import show_batch

    try:
        with errors(as_json):
            if convert:
                convert_file(batch, output, data, strict_argus, allow_outside)
            else:
                show_batch(batch, log, data, strict_argus, allow_outside, as_json)
    except SystemExit as ending:
        sys.exit(argus_code(int(ending.code or 0)) if strict_argus else ending.code)


@main.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--equation", "equations", multiple=True, help='An equation between values: "turnover = home + export".')
@JSON
def links(files: tuple[Path, ...], equations: tuple[str, ...], as_json: bool) -> None:
    """Say which tables share cells and must be protected together, from their metadata.

    FILES are csv files with one table a line, recipes (.toml) or batch files (.arb).
    """
    from discreet.cli.argus import show_links

    with errors(as_json):
        show_links(files, equations, as_json)


@main.command()
def schema() -> None:
    """Print the JSON schema of recipes."""
    from discreet.verbs.recipe_parts import recipe_schema

    click.echo(json.dumps(recipe_schema(), indent=2))
