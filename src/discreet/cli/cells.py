"""Cells on the terminal and as csv files of the custodian."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from discreet.cli.brief import brief_audit, brief_release, brief_verdict
from discreet.cli.terminal import coloured, progress, result, say
from discreet.comparison.result import Comparison
from discreet.errors import OutputError, ParameterError, listed, unknown_name
from discreet.files.new_file import new_file
from discreet.files.pattern import write_pattern
from discreet.files.published import write_public
from discreet.files.sealing import closed_to_others
from discreet.recipe.job import RecipeJob
from discreet.recipe.run import (
    Run,
    audit_pattern,
    compare_methods,
    compare_recipe,
    coordinate_recipe,
    prepare,
    run_recipe,
    tune_methods,
)
from discreet.recipe.schema import PatternPart, read_recipe, recipe_text
from discreet.report.riskmap import DEFAULT, FAIR
from discreet.rules.records import record_rule_from_record
from discreet.verbs.load import load
from discreet.verbs.proposals import propose_recodes
from discreet.verbs.show import table_to_frame

TOGETHER = "together"
"""Name of the file with the patterns of all offices as one."""


def show_run(done: Run, as_json: bool) -> None:
    """Print what a run did."""
    if as_json:
        public = done.release.public.tables
        tables = [{"name": t.name, "cells": len(t), "shown": int(t.shown.sum())} for t in public]
        told = {"folder": str(done.folder), "seal": done.seal, "tables": tables, **done.verdict.to_dict()}
        told["notes"] = list(done.release.custodian.log.get("notes", ()))
        closed = closed_to_others(done.folder)
        if closed:
            told["note"] = closed
        if done.repair is not None:
            pattern = {**done.repair.audit.counts(), "held": done.repair.held, "added": done.repair.added.num_rows}
            told["pattern"] = pattern
        click.echo(json.dumps(told))
        return
    say(brief_release(done.release) if done.repair is None else done.repair.summary())
    if done.audit is not None:
        say(brief_audit(done.audit, after_run=True))
    say(brief_verdict(done.verdict))
    say(f"Saved in {_from_here(done.folder)} (seal {done.seal[:16]})")
    closed = closed_to_others(done.folder)
    if closed:
        say(f"{coloured('note:', 'yellow')} {closed}")


def _from_here(folder: Path) -> Path:
    """A folder as one would name it here."""
    here = Path.cwd()
    return folder.relative_to(here) if here in folder.parents else folder


def export_table(folder: Path, file: Path, form: str | None, table: str | None) -> None:
    """Write a table of a verified release in another format; an existing file is not overwritten."""
    if file.exists():
        raise OutputError(f"The file {file.name!r} exists.", hint="Choose another name, or remove it.")
    write_public(load(folder).public, file, form, table=table)


def repair_pattern(
    recipe: Path,
    pattern: PatternPart | None,
    audit_only: bool,
    added: Path | None,
    allow_outside: bool,
    earlier: Sequence[Path],
    as_json: bool,
    replace: bool = False,
) -> bool:
    """Complete a pattern, or only audit it; whether that ended well."""
    if audit_only:
        with progress(as_json):
            found = audit_pattern(recipe, pattern=pattern, allow_outside=allow_outside, already_published=earlier)
        result({**found.counts(), "held": found.holds}, brief_audit(found), as_json, failed=not found.holds)
        return found.holds
    if added is not None and added.exists():
        raise OutputError(f"The file {added.name!r} exists.", hint="Choose another name, or remove it.")
    with progress(as_json):
        done = run_recipe(
            recipe,
            pattern=pattern,
            repairing=True,
            allow_outside=allow_outside,
            already_published=earlier,
            replace=replace,
        )
    if added is not None and done.repair is not None:
        write_new(added, done.repair.added)
    show_run(done, as_json)
    return True


def pattern_part(file: Path | None, columns: Sequence[str], options: dict[str, Any]) -> PatternPart | None:
    """The pattern file that the command line names, and how to read it."""
    if file is not None:
        return PatternPart(file=str(file), columns=_column_names(columns), **options)
    nothing = PatternPart(file="")
    unused = [name for name, value in options.items() if value != getattr(nothing, name)]
    if columns or unused:
        raise ParameterError(
            f"There is no --pattern for {listed(['columns', *unused] if columns else unused)}.",
            hint="Give --pattern FILE, or write [pattern] into the recipe, with its own options.",
        )
    return None


def _column_names(pairs: Sequence[str]) -> dict[str, str]:
    """Names of columns as given on the command line: theirs to ours."""
    for pair in pairs:
        if "=" not in pair:
            raise ParameterError(f"--column {pair} is not allowed.", hint="Write --column THEIRS=OURS.")
    return {theirs: ours for theirs, _, ours in (pair.rpartition("=") for pair in pairs)}


def show_tables(recipe: Path, allow_outside: bool, output: Path | None, as_json: bool) -> None:
    """Print the assessed tables of a recipe, and write them where asked."""
    with progress(as_json):
        tables = prepare(RecipeJob(read_recipe(recipe_text(recipe)), recipe.parent, allow_outside))
    for table in tables:
        if output is not None:
            place = output if len(tables) == 1 else output.with_stem(f"{output.stem}_{table.name}")
            write_new(place, table_to_frame(table))
    counts = [{"name": t.name, "cells": len(t), "unsafe": int(t.unsafe.sum())} for t in tables]
    result({"tables": counts}, "\n".join(str(table) for table in tables), as_json)


def show_methods(
    recipe: Path,
    options: dict[str, Any],
    axes: tuple[str | None, str | None],
    paths: tuple[Path | None, Path | None, Path | None],
    as_json: bool,
    equal_risk: float | None = None,
) -> bool:
    """Compare methods on the tables of a recipe, print lines and map, write frame, image and page where asked.

    With ``equal_risk`` each entry of the recipe is tuned to that risk first. Whether the evidence of all verified.
    """
    refuse_existing(paths)
    with progress(as_json):
        found = compare_methods(recipe, **options) if equal_risk is None else _tuned(recipe, options, axes, equal_risk)
    output, plot, report = paths
    drawn = found.map(*axes)
    if output is not None:
        write_new(output, found.to_frame(each_run=options["runs"] > 1))
    if plot is not None:
        found.plot(plot, *axes)
    if report is not None:
        found.page(report, title=f"Methods compared: {recipe.name}")
    result(found.to_frame().to_pylist(), f"{found.summary()}\n\n{drawn}", as_json, failed=bool(found.flags))
    return not found.flags


def _tuned(recipe: Path, options: dict[str, Any], axes: tuple[str | None, str | None], most_risk: float) -> Comparison:
    """Each entry of a recipe at the same risk; says which parameters were chosen."""
    if options.pop("releases"):
        raise ParameterError("--release cannot be tuned.", hint="Leave --release or --equal-risk out.")
    fair = options["fair"] is not None and not options["attack"]
    standard = FAIR if fair else DEFAULT
    risk, loss = axes[0] or standard[0], axes[1] or standard[1]
    found = tune_methods(recipe, most_risk=most_risk, risk=risk, loss=loss, **options)
    click.echo(found.summary(), err=True)
    if not any(found.chosen.values()):
        raise ParameterError("No method keeps the risk.", hint="Vary the parameters further, or allow more risk.")
    return found.comparison


def refuse_existing(paths: Sequence[Path | None]) -> None:
    """Refuse to write to files that exist, before any work is done."""
    for path in paths:
        if path is not None and path.exists():
            raise OutputError(f"The file {path.name!r} exists.", hint="Choose another name, or remove it.")


def show_proposal(
    recipe: Path, name: str | None, output: Path | None, allow_outside: bool, as_json: bool, options: dict[str, Any]
) -> None:
    """Print proposed recodes of a table of a recipe, and write files of codes where asked."""
    job = RecipeJob(read_recipe(recipe_text(recipe)), recipe.parent, allow_outside)
    if job.recipe.records is not None:
        _show_recodings(job, name, output, as_json, options)
        return
    with progress(as_json):
        tables = prepare(job).tables
        names = [table.name for table in tables]
        if name is None and len(tables) > 1:
            raise ParameterError("The recipe has several tables.", hint=f"Give --table, one of {listed(names)}.")
        if name is not None and name not in names:
            raise ParameterError(unknown_name("table", name, names, "the recipe"))
        found = propose_recodes(tables[0 if name is None else names.index(name)], **options)
    if output is not None:
        found.write(output)
    unsafe = [int(table.unsafe.sum()) for table in (found.before, found.table)]
    told = {"unsafe": unsafe, "recodes": found.code_maps, "steps": [str(step) for step in found.steps]}
    result(told, found.summary(), as_json)


def _show_recodings(
    job: RecipeJob, name: str | None, output: Path | None, as_json: bool, options: dict[str, Any]
) -> None:
    """Print proposed recodings of the records of a recipe."""
    if name is not None or output is not None or not options["merge"]:
        raise ParameterError(
            "--table, --output and --no-merge are for tables, and the recipe publishes records.",
            hint="Leave them out, and write the proposed steps into the recipe.",
        )
    rules = [record_rule_from_record(record) for record in job.recipe.rules]
    wanted = {key: options[key] for key in ("target", "most", "variables")}
    with progress(as_json):
        source = job.source()
        trees = {variable: job.hierarchy(variable, source) for variable in job.recipe.hierarchies}
        found = propose_recodes(job.microdata().with_(hierarchies=trees), rules=rules, **wanted)
    told = {
        "unsafe": [found.unsafe, found.left],
        "recodes": [method.record() for method in found.methods],
        "steps": [str(step) for step in found.steps],
    }
    result(told, found.summary(), as_json)


def show_comparison(
    recipe: Path,
    algorithms: Sequence[str],
    output: Path | None,
    plot: Path | None,
    allow_outside: bool,
    earlier: Sequence[Path],
    as_json: bool,
) -> None:
    """Compare algorithms on the tables of a recipe, print a line each, and write frame and image where asked."""
    refuse_existing((output, plot))
    with progress(as_json):
        found = compare_recipe(recipe, algorithms, allow_outside=allow_outside, already_published=earlier)
    if output is not None:
        write_new(output, found.to_frame())
    if plot is not None:
        found.plot(plot)
    result([dict(row) for row in found.rows], found.summary(), as_json)


def show_coordination(
    recipe: Path, variable: str, folder: Path | None, given: Sequence[str], options: dict[str, Any], as_json: bool
) -> bool:
    """Let offices protect the table of a recipe, print what came out, and write a pattern file for each of them."""
    if folder is not None and folder.exists():
        raise OutputError(f"The folder {folder.name!r} exists.", hint="Choose another name, or remove it.")
    for pair in given:
        if "=" not in pair:
            raise ParameterError(f"--pattern {pair} is not allowed.", hint="Write --pattern OFFICE=FILE.")
    patterns = {office: Path(file) for office, _, file in (pair.partition("=") for pair in given)}
    with progress(as_json):
        done = coordinate_recipe(recipe, variable, patterns=patterns or None, **options)
    if folder is not None:
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise OutputError(f"Cannot make {folder.name!r}: {error.strerror}.") from None
        for office, pattern in {**done.patterns, TOGETHER: done.pattern}.items():
            write_pattern(pattern, folder / f"{quote(office, safe=' ')}.csv")
    held = not done.open and not len(done.found.missed)
    result({**done.counts(), "cells_open": list(done.open)}, done.summary(), as_json, failed=not held)
    return held


def write_new(path: Path, frame: Any) -> None:
    """Write a confidential frame as csv, readable by its owner only; an existing file is not overwritten."""
    from pyarrow import csv

    with new_file(path) as stream:
        csv.write_csv(frame, stream)
