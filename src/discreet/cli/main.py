"""The command ``discreet``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Literal

import click

from discreet.cli.group import Commands
from discreet.cli.options import EARLIER, FOLDER, JOBS, JSON, OUTSIDE, RECIPE, REPLACE
from discreet.cli.structure import structure
from discreet.cli.terminal import errors, progress, result

NOT_AUDITED = 7
"""Exit code of an audit that did not look."""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="discreet")
def main() -> None:
    """Make official statistics safe to publish, and prove it."""


@main.command()
@click.option("--directory", type=click.Path(path_type=Path), default=Path("discreet-demo"), show_default=True)
@click.option("--firms", type=int, default=20_000, show_default=True, help="How many firms the survey has.")
@click.option("--persons", type=int, default=10_000, show_default=True, help="How many persons the census has.")
@JSON
def demo(directory: Path, firms: int, persons: int, as_json: bool) -> None:
    """Protect a made-up survey and a made-up census, from records to verified releases."""
    from discreet.cli.demo import run_demo

    with errors(as_json):
        run_demo(directory, firms, persons, as_json)


@main.command()
@RECIPE
@click.option("--format", "formats", multiple=True, help="A further format of the public files; may be given often.")
@OUTSIDE
@EARLIER
@REPLACE
@JOBS
@JSON
def run(
    recipe: Path,
    formats: tuple[str, ...],
    allow_outside: bool,
    earlier: tuple[Path, ...],
    replace: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Run a RECIPE: read, tabulate, find unsafe cells, protect, verify, save.

    Run again, it replaces what it made before; the release of another recipe only with --replace.
    """
    from discreet.cli.cells import show_run
    from discreet.recipe.run import run_recipe

    with errors(as_json):
        with progress(as_json):
            done = run_recipe(
                recipe,
                allow_outside=allow_outside,
                already_published=earlier,
                formats=formats,
                replace=replace,
                jobs=jobs,
            )
        show_run(done, as_json)


@main.command()
@FOLDER
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "form", help="The format, where the name of the file does not say it.")
@click.option("--table", help="Which table, where the release has several.")
@JSON
def export(folder: Path, file: Path, form: str | None, table: str | None, as_json: bool) -> None:
    """Write a public table of the saved release in FOLDER to FILE: csv, xlsx, SDMX, JSON-stat, px, Parquet, sav, dta.

    The release is verified first.
    """
    from discreet.cli.cells import export_table

    with errors(as_json):
        export_table(folder, file, form, table)
        result({"file": str(file)}, f"Written: {file.name}", as_json)


@main.command()
@FOLDER
@click.option("--data", type=click.Path(path_type=Path), help="The records: check the cells against them, too.")
@click.option("--contributor", help="Their column of contributors.")
@click.option("--weight", help="Their column of weights.")
@click.option("--record-key", help="Their column of record keys.")
@click.option("--delimiter", default=",", show_default=True, help="Separator of their csv file.")
@click.option("--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="Its decimal sign.")
@click.option("--encoding", default="utf-8", show_default=True, help="Its encoding.")
@click.option("--sheet", help="Their sheet in an xlsx file; its first when left out.")
@click.option("--seal", help="The seal of the release as you kept it: refuse one that was changed and sealed anew.")
@click.option(
    "--public-key", type=click.Path(path_type=Path), help="The office's public key: refuse what it did not sign."
)
@JSON
def verify(
    folder: Path,
    data: Path | None,
    contributor: str | None,
    weight: str | None,
    record_key: str | None,
    seal: str | None,
    public_key: Path | None,
    as_json: bool,
    **written: Any,
) -> None:
    """Re-check a saved release in FOLDER with the independent checker."""
    from discreet.cli.brief import brief_verdict
    from discreet.folders import as_one
    from discreet.verify import Verdict, check_folder
    from discreet.verify.folder import refuse_unsaved

    def check(place: Path) -> Verdict:
        verdict = check_folder(place, seal=seal, public_key=public_key)
        if data is None or not verdict.holds:
            return verdict
        from discreet.model.microdata import Microdata
        from discreet.verbs.load import load
        from discreet.verbs.with_records import check_with_records

        records = Microdata(data, contributor=contributor, weight=weight, record_key=record_key, **written)
        return check_with_records(verdict, load(place), records)

    with errors(as_json):
        refuse_unsaved(folder)
        with progress(as_json):
            verdict = as_one(folder, check)
        result(verdict.to_dict(), brief_verdict(verdict), as_json, failed=not verdict.holds)
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
@REPLACE
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
    replace: bool,
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
        if not repair_pattern(recipe, given, audit_only, added, allow_outside, earlier, as_json, replace):
            sys.exit(5)


@main.command()
@RECIPE
@click.option(
    "--release",
    "releases",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Folder of a saved release of the same tables, measured as it is; may be given several times.",
)
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True, help="Runs of random methods.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Makes the keys of these runs.")
@click.option("--sample", type=click.IntRange(min=1), help="Attack so many unsafe cells, chosen at random.")
@click.option("--attack/--no-attack", default=True, help="Whether to audit what each method would publish.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes that share methods and runs, through joblib.")
@click.option("--guess", help="Of counts: the variable that an intruder guesses in the fair comparison.")
@click.option("--beta", type=float, default=0.5, show_default=True, help="Weight of recall in the fair comparison.")
@click.option("--utility", multiple=True, help="A measure of utility to take besides, or all; may be repeated.")
@click.option(
    "--imputation", type=click.Choice(["zero", "row_mean", "weighted"]), help="How readers fill withheld cells for it."
)
@click.option("--risk", help="The measure of risk on the map; left out, risk, or fair_risk where nobody attacks.")
@click.option("--loss", help="The measure of loss on the map; left out, relative, or fair_loss.")
@click.option("--equal-risk", type=float, help="Tune each entry of [[compare]] to at most this risk first.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the frame to this csv file (confidential).")
@click.option("--plot", type=click.Path(path_type=Path), help="Write the map to this svg or png file (confidential).")
@click.option("--report", type=click.Path(path_type=Path), help="Write the page to this html file (confidential).")
@OUTSIDE
@EARLIER
@JSON
def compare(
    recipe: Path,
    releases: tuple[Path, ...],
    runs: int,
    seed: int,
    sample: int | None,
    attack: bool,
    jobs: int | None,
    guess: str | None,
    beta: float,
    utility: tuple[str, ...],
    imputation: str | None,
    risk: str | None,
    loss: str | None,
    equal_risk: float | None,
    output: Path | None,
    plot: Path | None,
    report: Path | None,
    allow_outside: bool,
    earlier: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Compare the methods of [[compare]] in a RECIPE: what each leaves at risk, and what it costs.

    Nothing is published. The exit code is 5 where the evidence of something that was measured does not verify.
    """
    from discreet.cli.cells import show_methods

    options: dict[str, Any] = {
        "runs": runs,
        "seed": seed,
        "sample": sample,
        "attack": attack,
        "jobs": jobs,
        "releases": releases,
        "allow_outside": allow_outside,
        "already_published": earlier,
        "utility": "all" if utility == ("all",) else utility,
        "imputation": imputation,
    }
    with errors(as_json):
        from discreet.comparison.fair import FairRisk

        options["fair"] = None if guess is None else FairRisk(guess, beta)
        if not show_methods(recipe, options, (risk, loss), (output, plot, report), as_json, equal_risk):
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
@click.argument("variable")
@click.option("--table", default="", help="Which table the offices publish together, where the recipe has several.")
@click.option(
    "--model",
    type=click.Choice(["central", "decentral", "weighted", "block"]),
    default="decentral",
    show_default=True,
    help="One run; every office for itself; the same with last period's pattern; or some alone and the rest jointly.",
)
@click.option("--pattern", "given", multiple=True, help="OFFICE=FILE: the pattern that an office made itself.")
@click.option("--last", type=click.Path(path_type=Path), help="Last period's pattern, for the model 'weighted'.")
@click.option("--alone", multiple=True, help="An office that works for itself, for the model 'block'.")
@click.option(
    "--frozen",
    type=click.Choice(["keep", "report", "reopen"]),
    default="keep",
    show_default=True,
    help="Where cells of offices would have to be withheld: stop, list them, or let the top withhold them too.",
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="A new folder for the offices' patterns (confidential)."
)
@OUTSIDE
@JSON
def coordinate(
    recipe: Path,
    variable: str,
    table: str,
    model: str,
    given: tuple[str, ...],
    last: Path | None,
    alone: tuple[str, ...],
    frozen: str,
    output: Path | None,
    allow_outside: bool,
    as_json: bool,
) -> None:
    """Let the offices that are codes of a VARIABLE protect the table of a RECIPE together.

    Nothing is published: the patterns go to the offices, and `discreet repair RECIPE --pattern together.csv` makes the
    certified release. The exit code is 5 where attackers find unsafe cells too closely.
    """
    from discreet.cli.cells import show_coordination

    options = {
        "table": table,
        "model": model,
        "last": last,
        "alone": alone,
        "frozen": frozen,
        "allow_outside": allow_outside,
    }
    with errors(as_json):
        if not show_coordination(recipe, variable, output, given, options, as_json):
            sys.exit(5)


@main.command()
@RECIPE
@OUTSIDE
@click.option("--output", type=click.Path(path_type=Path), help="Write the cells to this csv file (confidential).")
@JSON
def tabulate(recipe: Path, allow_outside: bool, output: Path | None, as_json: bool) -> None:
    """Build and assess the tables of a RECIPE without protecting or publishing them. The result is confidential."""
    from discreet.cli.cells import show_tables

    with errors(as_json):
        show_tables(recipe, allow_outside, output, as_json)


@main.command()
@RECIPE
@click.option("--table", help="Which table, where the recipe has several.")
@click.option(
    "--target",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Stop at so many unsafe cells or records.",
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
    """Propose recodes of a table of a RECIPE, or of its records, that remove most risk for the least detail.

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
    help="What must hold against contributors: levels kept, nothing known exactly, or nothing; left out, what the "
    "release claims.",
)
@click.option(
    "--coalitions/--no-coalitions",
    default=None,
    help="Whether any two contributors together are attackers too; left out, what the release claims.",
)
@click.option(
    "--known-within",
    type=click.FloatRange(min=0, min_open=True),
    help="Everybody knows each cell to within so many per cent; left out, what the release claims.",
)
@click.option("--sample", type=click.IntRange(min=1), help="Look at so many unsafe cells or records.")
@click.option("--columns", multiple=True, help="Of records: columns whose original values an intruder has: age,pay.")
@click.option("--most", type=click.FloatRange(0, 1), help="Of records: the largest share of right guesses allowed.")
@JSON
def audit(
    folder: Path,
    output: Path | None,
    insiders: Literal["full", "nonzero", "none"] | None,
    coalitions: bool | None,
    known_within: float | None,
    sample: int | None,
    columns: tuple[str, ...],
    most: float | None,
    as_json: bool,
) -> None:
    """Work out what an attacker can deduce from the saved release in FOLDER.

    Of tables, what withheld cells are; of records, which record is whose and what it held. The exit code is 5 where
    attackers find unsafe cells too closely or are right about records more often than --most allows, and 7 where nobody
    looked, because the method does not say what its readers can tell.
    """
    from discreet.attack import Audit, RecordAudit
    from discreet.cli.brief import brief_audit
    from discreet.cli.cells import write_new
    from discreet.cli.risk import names_in
    from discreet.verbs.audit import AS_RELEASED
    from discreet.verbs.audit import audit as audit_release
    from discreet.verbs.load import load

    with errors(as_json):
        with progress(as_json):
            found: Audit | RecordAudit = audit_release(  # type: ignore[call-overload,misc]
                load(folder),
                insiders=AS_RELEASED if insiders is None else None if insiders == "none" else insiders,
                coalitions=coalitions,
                known_within=AS_RELEASED if known_within is None else known_within,
                sample=sample,
                columns=names_in(columns),
                most=most,
            )
        if output is not None:
            write_new(output, found.to_frame())
        if isinstance(found, RecordAudit):
            failed = bool(found.too_often) or not found.linked
            result(found.to_dict(), found.summary(), as_json, failed=failed)
            if failed:
                sys.exit(5 if found.too_often else NOT_AUDITED)
            return
        failed = bool(found.not_audited or found.recoverable or not found.holds)
        result(found.counts(), brief_audit(found), as_json, failed=failed)
        if found.not_audited:
            sys.exit(NOT_AUDITED)
        if found.recoverable or not found.holds:
            sys.exit(5)


@main.command("check-output")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--by", "variables", multiple=True, required=True, metavar="VARIABLE[=HRC]", help="A column, and its codes."
)
@click.option("--value", default="value", show_default=True, help="The column of values.")
@click.option("--total", default="Total", show_default=True, help="Code of totals of variables without a hierarchy.")
@click.option("--counts", is_flag=True, help="The values are counts.")
@click.option("--within", default="0", show_default=True, help="How far true values may lie off, or 'rounded'.")
@click.option("--smallest", type=click.IntRange(min=2), help="Counts from 1 to one less than this must not be shown.")
@click.option("--signed", is_flag=True, help="Values may be negative.")
@click.option(
    "--missing",
    type=click.Choice(["zero", "withheld"]),
    default="zero",
    show_default=True,
    help="What finest cells are that the table does not list.",
)
@click.option("--true", "truth", type=click.Path(path_type=Path), help="The true cells (csv or Parquet; confidential).")
@click.option("--p-percent", type=float, help="Rule for the true cells, which then need top1 and top2.")
@click.option("--min-contributors", type=int, help="Rule for the true cells, which then need contributors.")
@click.option("--min-frequency", type=int, help="Rule for true counts.")
@click.option("--mark", "marks", multiple=True, help="A mark of withheld cells, instead of the usual ones.")
@click.option("--delimiter", default=",", show_default=True, help="Separator of a csv file.")
@click.option("--sheet", help="Sheet of an xlsx file; its first when left out.")
@click.option("--output", type=click.Path(path_type=Path), help="Write all intervals to this csv file (confidential).")
@JSON
def check_output(file: Path, output: Path | None, as_json: bool, **options: Any) -> None:
    """Check a published table of any origin: FILE is a csv or xlsx table with holes.

    Says what can be worked out of it, and with the true cells whether they are protected. The exit code is 5 where
    something was found against it.
    """
    from discreet.cli.checking import checked_output, show_output

    with errors(as_json):
        with progress(as_json):
            found = checked_output(file, **options)
        show_output(found, output, as_json)
        if not found.holds:
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

    mu-ARGUS has no batch files: of its metadata (.rda), --convert writes the recipe that makes its safe file.
    """
    from discreet.cli.argus import convert as convert_file
    from discreet.cli.argus import show_batch
    from discreet.recipe.batch import argus_code

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

    FILES are csv files with one table per line, recipes (.toml) or batch files (.arb).
    """
    from discreet.cli.argus import show_links

    with errors(as_json):
        show_links(files, equations, as_json)


@main.command()
def schema() -> None:
    """Print the JSON schema of recipes."""
    from discreet.recipe.schema import recipe_schema

    click.echo(json.dumps(recipe_schema(), indent=2))


main.add_command(structure)
