"""The demonstration: a survey and a census, tables and records, from made-up data to verified releases."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from textwrap import indent
from typing import TYPE_CHECKING

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet

from discreet.cli.brief import brief_audit, brief_verdict
from discreet.cli.terminal import progress, say
from discreet.errors import OutputError, counted
from discreet.generate import business_survey, census_population
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.recipe.run import Run, run_recipe
from discreet.rules import MinContributors, PPercent
from discreet.rules.anonymity import KAnonymity
from discreet.stopping import written
from discreet.verbs.assess import assess
from discreet.verbs.proposals import Redesign, propose_recodes
from discreet.verbs.tabulate import tabulate

if TYPE_CHECKING:
    from discreet.generate import Generated

Tell = Callable[[str], None]
RECODES = 9
"""How many recodes the survey's table gets: half of its withheld cells become values, a fifth of its cells goes."""

SURVEY = """\
version = 1

[data]
file = "input/records.parquet"
contributor = "holding"

[hierarchies]
activity = "input/activity.hrc"
region = "input/region.hrc"

[[tables]]
name = "turnover"
by = ["activity", "region"]
value = "turnover"
{recode}
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

COUNTS = """\
version = 1

[data]
file = "input/records.parquet"

[hierarchies]
area = "input/area.hrc"
age_group = "input/age_group.hrc"
labour = "input/labour.hrc"

[[tables]]
name = "persons"
by = ["area", "age_group", "labour"]
recode = { area = 2 }             # down to districts

[[rules]]
kind = "min_frequency"
n = 3

[[protect]]
method = "cell_key"
D = 5                             # no count changes by more than 5
V = 3                             # variance of the changes
js = 2                            # no 1 and no 2 is published
identifier = "person"

[output]
directory = "counts"
audit = false                     # takes a minute: discreet audit counts
report = true
"""

PERSONS = """\
version = 1

[data]
file = "input/persons.parquet"
keys = ["area", "age", "sex"]
sensitive = ["labour", "education"]
numeric = ["income"]
identifier = ["person"]

[hierarchies]
area = "input/area.hrc"

[[rules]]
kind = "k_anonymity"
k = 3

[[protect]]
method = "recode"
column = "area"
level = 2                         # districts

[[protect]]
method = "recode"
column = "age"
intervals = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90]

[[protect]]
method = "recode"
column = "income"
top = 100_000

[[protect]]
method = "local_suppress"         # empties what is still rare
k = 3

[records]
name = "persons"

[output]
directory = "records"
report = true
"""
PERSON_COLUMNS = ["person", "area", "age", "sex", "labour", "education", "income"]


def run_demo(directory: Path, firms: int, persons: int, as_json: bool = False) -> None:
    """Protect a survey's table, a census table and a file of persons, and say what to look at."""
    marker = directory / "survey" / "recipe.toml"
    if directory.exists() and any(directory.iterdir()) and not marker.is_file():
        raise OutputError(
            f"The folder {directory.resolve().name!r} exists and is not a demonstration.",
            hint="Give another --directory.",
        )
    tell = _silent if as_json else say
    runs = [_survey(directory / "survey", firms, tell), *_census(directory / "census", persons, tell)]
    if as_json:
        told = [{"folder": str(run.folder), "seal": run.seal, **run.verdict.to_dict()} for run in runs]
        click.echo(json.dumps({"releases": told}))
        return
    _where_to_look(directory)


def _silent(_: str) -> None:
    """Say nothing: machines get one object at the end."""


def _survey(folder: Path, firms: int, tell: Tell) -> Run:
    """Turnover by activity and region: made a little coarser, then cells are withheld and the rest is proved safe."""
    survey = business_survey(firms, regions=(3, 8))
    _write(survey, folder)
    tell(f"1. A business survey: turnover of {firms:,} firms by activity and region")
    with progress(tell is _silent):
        found = _redesigned(survey)
    tell(f"   In full detail {_share(int(found.before.unsafe.sum()), len(found.before), 'cell')} are unsafe.")
    lines = ""
    if found.steps:
        parts = [f'{name} = "recodes/{name}_recode.csv"' for name in found.code_maps]
        (folder / "recodes").mkdir(exist_ok=True)
        for old in (folder / "recodes").glob("*_recode.csv"):  # of an earlier demonstration
            old.unlink()
        for path in found.write(folder / "recodes"):
            written(path)
        lines = f"recode = {{ {', '.join(parts)} }}    # proposed by: discreet redesign recipe.toml\n"
        unsafe, cells = int(found.table.unsafe.sum()), len(found.table)
        tell(f"   {len(found.steps)} proposed recodes leave {_share(unsafe, cells, 'cell')}; the first two:")
        for step in found.steps[:2]:
            tell(f"     {step}")
    done = _run(folder / "recipe.toml", SURVEY.format(recode=lines), tell)
    public = done.release.public.tables[0]
    shown = int(public.shown.sum())
    tell(f"   Released: {_share(shown, len(public), 'cell')} with their values; the others are withheld.")
    if done.audit is not None:
        tell(f"   {brief_audit(done.audit, after_run=True)}")
    tell(indent(brief_verdict(done.verdict), "   ") + "\n")
    return done


def _redesigned(survey: Generated) -> Redesign:
    """The recodes that save most of the survey's table."""
    by = {name: Hierarchy.from_parents(survey.parents[name], total="Total") for name in ("activity", "region")}
    table = tabulate(Microdata(survey.records, contributor="holding"), by=by, value="turnover", name="turnover")
    return propose_recodes(assess(table, PPercent(10), MinContributors(3)), most=RECODES)


def _census(folder: Path, persons: int, tell: Tell) -> tuple[Run, Run]:
    """The same persons twice: a table of counts with noise, and a file of records."""
    census = census_population(persons)
    _write(census, folder)
    pa.parquet.write_table(census.records.select(PERSON_COLUMNS), folder / "input" / "persons.parquet")
    written(folder / "input" / "persons.parquet")
    tell(f"2. A census: counts of {persons:,} persons by area, age and labour status, with cell keys")
    counts = _run(folder / "counts.toml", COUNTS, tell)
    tell(f"   Released: {_change(counts)}")
    tell(f"   {counts.verdict.headline()} The noise is as stated; that is no proof of safety.\n")
    tell("3. The same persons as a file of records, recoded and with single fields emptied")
    unsafe = assess(Microdata(census.records, keys=["area", "age", "sex"]), KAnonymity(3)).assessment
    tell(f"   Before: {unsafe}.")
    records = _run(folder / "persons.toml", PERSONS, tell)
    public = records.release.public.records
    assert public is not None
    emptied = records.release.custodian.evidence[-1].claim.statement.partition(", and")[0]
    tell(f"   Released: {len(public):,} records; altered columns: {', '.join(public.altered)}. {emptied}.")
    for text in records.verdict.proved:
        if text.startswith("Every combination"):
            tell(f"   Proved: {text}")
    tell(f"   {records.verdict.headline()}\n")
    return counts, records


def _change(run: Run) -> str:
    """How far the published counts are from the true ones."""
    (before,), (after,) = run.release.custodian.tables, run.release.custodian.published
    change = np.abs(after - before.value)
    return (
        f"{_share(int((change > 0).sum()), len(before), 'count')} changed, "
        f"by {change[change > 0].mean():.1f} on average and {change.max()} at most."
    )


def _write(data: Generated, folder: Path) -> None:
    for path in data.write(folder / "input"):
        written(path)


def _run(recipe: Path, text: str, tell: Tell) -> Run:
    recipe.write_text(text, encoding="utf-8")
    written(recipe)
    with progress(tell is _silent):
        return run_recipe(recipe)


def _share(part: int, whole: int, noun: str) -> str:
    return f"{part:,} of {counted(whole, noun)} ({100 * part / whole:.0f} %)"


def _where_to_look(directory: Path) -> None:
    survey, census = directory / "survey", directory / "census"
    shown = quote(os.path.relpath(sys.executable))
    lines = [
        ("Reports, with pictures", survey / "release" / "custodian" / "report.html"),
        ("", census / "counts" / "custodian" / "report.html"),
        ("", census / "records" / "custodian" / "report.html"),
        ("What may be published", survey / "release" / "public" / "turnover.csv"),
        ("", census / "counts" / "public" / "persons.csv"),
        ("", census / "records" / "public" / "persons.csv"),
        ("The recipes", survey / "recipe.toml"),
        ("", census / "counts.toml"),
        ("", census / "persons.toml"),
    ]
    for head, path in lines:
        say(f"{head:<24}{path}")
    say(f"{'Check one again':<24}{shown} -m discreet verify {quote(str(survey / 'release'))}")
