"""The same job as a file: a strict TOML recipe from data to a verified release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.argus.output import Written
from discreet.attack import Audit
from discreet.comparison.algorithms import ALGORITHMS, AlgorithmComparison, compare_algorithms
from discreet.comparison.compare import compare
from discreet.comparison.naming import unlike
from discreet.comparison.result import Comparison
from discreet.comparison.tune import Tuned, tune
from discreet.errors import ParameterError, VerificationError, counted, listed, unknown_name
from discreet.files.published import check_formats
from discreet.files.records import check_record_formats
from discreet.files.replacing import refuse_another_recipe
from discreet.files.sealing import refuse_foreign
from discreet.methods.base import Method, TablePublisher
from discreet.model.claims.altered import KNOWN_LEVELS
from discreet.model.claims.base import NO_LEVELS
from discreet.model.condition import parse_conditions
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.pattern import Pattern
from discreet.model.release import Release
from discreet.model.spec import TableSpec, default_name
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.parallel import sharing
from discreet.progress import during
from discreet.recipe.argus_job import refuse_argus_keys
from discreet.recipe.job import RecipeJob
from discreet.recipe.schema import (
    PatternPart,
    Recipe,
    RecipeTable,
    RecordsPart,
    cost_column,
    read_recipe,
    recipe_text,
)
from discreet.report import custodian_report, records_report
from discreet.rules.assess import assess_table
from discreet.rules.base import Rule, rule_from_record
from discreet.rules.records import record_rule_from_record
from discreet.tables.suppress import Suppress
from discreet.verbs.already import Item, gather
from discreet.verbs.assess import assess
from discreet.verbs.audit import audit
from discreet.verbs.audit_records import audit_for_report, audit_records
from discreet.verbs.coordinate import Coordination, coordinate
from discreet.verbs.prices import prices_for_report
from discreet.verbs.proposals import Redesign
from discreet.verbs.protect import protect_tables
from discreet.verbs.protect_records import changed_microdata, compared, protect_records
from discreet.verbs.ready_made import table_from_cells
from discreet.verbs.repair import Repair, repair
from discreet.verbs.save import save
from discreet.verbs.steps import UNTOUCHED, Keys, as_steps
from discreet.verbs.tabulate import tabulate
from discreet.verbs.verify import verify
from discreet.verify import Verdict, check_folder
from discreet.watching import watched

AUDITED_WITHOUT_ASKING = 2_000
"""Releases with at most this many withheld cells are audited for the report unless the recipe says otherwise."""


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: the release, its verdict, folder and seal, what became of a given pattern, files beside it."""

    release: Release[Any]
    verdict: Verdict
    folder: Path
    seal: str
    audit: Audit | None
    repair: Repair | None = None
    files: tuple[Written, ...] = ()


def prepare(job: RecipeJob, publisher: TablePublisher | None = None, data: Microdata | None = None) -> TableSet:
    """Tables of a recipe, assessed and not yet protected.

    Parameters
    ----------
    job
        The recipe and its files.
    publisher
        The method that follows, which may want tables made in its own way.
    data
        The records, where a method has changed them.
    """
    recipe = job.recipe
    rules = [rule_from_record(record) for record in recipe.rules]
    refuse_argus_keys(recipe)
    job.refuse_unknown_missing()
    variables = list(dict.fromkeys(v for part in recipe.tables for v in part.by))
    for name in recipe.hierarchies:
        if name not in variables:
            raise ParameterError(unknown_name("variable", name, variables, "any table (hierarchies)"))
    if recipe.data.cells is not None and recipe.data.metadata is not None:
        tables = [job.argus.ready_made(part, bool(rules)) for part in recipe.tables]
    else:
        tables = _tabulated(job, variables, rules, publisher, data)
    finer = tables
    tables = [job.argus.recoded(t, part) for t, part in zip(tables, recipe.tables, strict=True)]
    tables = [job.marked(t, part.status) for t, part in zip(tables, recipe.tables, strict=True)]
    whole = TableSet(tables, [link.equation for link in recipe.links], recipe.one_pattern)
    assessed = _assessed(whole, recipe, rules)
    for table, before, part in zip(assessed, finer, recipe.tables, strict=True):
        if part.recode and part.status is None:
            judged = assess_table(before, rules, recipe.assess.profile, recipe.assess.missing_safe)
            job.argus.note(Redesign(judged, table, ()).effect)
    if any(part.apriori for part in recipe.tables):
        known = [job.argus.known(t, part) for t, part in zip(assessed, recipe.tables, strict=True)]
        assessed = _assessed(whole.replaced(known), recipe, rules)
    return assessed


def _tabulated(
    job: RecipeJob,
    variables: Sequence[str],
    rules: list[Rule],
    publisher: TablePublisher | None,
    data: Microdata | None,
) -> list[Table]:
    """Tables of records or of ready-made cells, not yet assessed."""
    recipe = job.recipe
    job.refuse_found_codes()
    source = job.source()
    hierarchies: dict[str, Any] = {v: job.dimension(v, source) for v in variables}
    by = [{v: hierarchies[v] for v in part.by} for part in recipe.tables]
    worth = cost_column(recipe)
    if recipe.data.cells is not None:
        return [
            table_from_cells(
                source,
                mine,
                part.value or "value",
                counts=part.value is None,
                name=part.name,
                period=part.period,
                decimals=part.decimals,
                compute_totals=part.compute_totals,
                disjoint=part.disjoint,
                slack=part.slack,
                delimiter=recipe.data.delimiter,
                cost=part.cost or worth,
            )
            for part, mine in zip(recipe.tables, by, strict=True)
        ]
    specs = [_spec(part, mine, rules, worth) for part, mine in zip(recipe.tables, by, strict=True)]
    if publisher is not None:
        specs = [publisher.tabulated(spec) for spec in specs]
    made = tabulate(data or job.microdata(), specs=specs)
    return list(made) if isinstance(made, TableSet) else [made]


def _assessed(tables: TableSet, recipe: Recipe, rules: list[Rule]) -> TableSet:
    options = recipe.assess
    return assess(
        tables,
        *rules,
        profile=options.profile,
        missing_safe=options.missing_safe,
        manual_range=options.manual_range,
        unrelated=options.unrelated,
    )


def _spec(part: RecipeTable, by: Mapping[str, Hierarchy], rules: list[Rule], worth: str | None) -> TableSpec:
    """The spec of a table; it keeps as many contributions as the rules look at."""
    top = max([2, *(_looks_at(rule) for rule in rules)])
    levels = {str(getattr(rule, "level", "holding")) for rule in rules} | {"holding"}
    return TableSpec(
        by=by,
        value=part.value,
        name=part.name,
        where=parse_conditions(part.filter),
        weight=part.weight,
        period=part.period,
        shadow=part.shadow,
        absolute=part.absolute,
        cost=part.cost or worth,
        decimals=part.decimals,
        cells=part.cells,
        top=top,
        levels=tuple(sorted(levels)),
    )


def _looks_at(rule: Rule) -> int:
    if rule.kind == "dominance":
        return int(getattr(rule, "n", 1))
    return int(getattr(rule, "coalition", 1)) + 1


@watched
def run_recipe(
    path: str | Path,
    *,
    pattern: Pattern | PatternPart | None = None,
    repairing: bool = False,
    allow_outside: bool = False,
    already_published: Sequence[Item] = (),
    formats: Sequence[str] = (),
    replace: bool = False,
    jobs: int | None = None,
) -> Run:
    """Run a recipe file from data to a saved and verified release.

    Run again, every night or after a change, it replaces what it made before. A release of other tables, or one that no
    recipe made, is replaced only with ``replace=True``.

    Parameters
    ----------
    path
        The recipe.
    pattern
        A pattern to be completed, where the recipe names none.
    repairing
        Refuse to run without a pattern.
    allow_outside
        Let it read and write outside its own folder.
    already_published
        Further releases, cells or figures that are out already, besides those that the recipe names.
    formats
        Further formats of the public files, besides those that the recipe names.
    replace
        Let the release take the place of another one, whose evidence goes with it.
    jobs
        How many processes share independent pieces of the work, as in :func:`discreet.protect`.

    Raises
    ------
    DiscreetError
        Whatever went wrong; nothing is written then.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from pathlib import Path
    >>> recipe = '''
    ... version = 1
    ... [data]
    ... file = "people.csv"
    ... [[tables]]
    ... name = "people"
    ... by = ["region"]
    ... [[rules]]
    ... kind = "min_frequency"
    ... n = 3
    ... [[protect]]
    ... method = "suppress"
    ... [output]
    ... directory = "out"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "recipe.toml")
    ...     size = file.write_text(recipe)
    ...     size = Path(folder, "people.csv").write_text("region\\n" + "N\\n" * 9 + "E\\n" * 9 + "S\\n" * 2)
    ...     run = ds.run_recipe(file)
    >>> run.verdict.holds, run.release.public.tables[0].status
    (True, ['V', 'V', 'X', 'X'])
    """
    text, job = _opened(path, allow_outside)
    with sharing(jobs):
        return run_job(
            text,
            job,
            pattern,
            repairing=repairing,
            already_published=already_published,
            formats=formats,
            replace_other=replace,
        )


def run_job(
    text: str,
    job: RecipeJob,
    pattern: Pattern | PatternPart | None = None,
    *,
    repairing: bool = False,
    already_published: Sequence[Item] = (),
    formats: Sequence[str] = (),
    replace_other: bool = False,
) -> Run:
    """Run a recipe whose text is at hand; :func:`run_recipe` says what the parameters are."""
    recipe = job.recipe
    if recipe.records is not None:
        return _run_records(text, job, recipe.records, formats, replace_other)
    folder = job.path(recipe.output.directory)
    refuse_foreign(folder)
    if not replace_other:
        refuse_another_recipe(folder, [part.name or default_name(part.value, part.by) for part in recipe.tables])
    formats = check_formats([*recipe.output.formats, *formats])
    steps, given = as_steps(job.methods()), _given(job, pattern)
    if repairing and given is None:
        raise no_pattern()
    before, publisher = _divided(recipe, steps, given)
    key, data, earlier = job.key(steps), None, UNTOUCHED
    if before:
        keys = Keys(key)
        data, earlier = changed_microdata(job.microdata(), before, _numbers(recipe), keys)
        key = keys.of(publisher)
    tables = prepare(job, publisher, data)
    publisher = job.argus.hinted(publisher)
    already = job.already(tables, already_published)
    repaired = None
    if given is None:
        release = protect_tables(tables, publisher, gather(tables, already), key=key, earlier=earlier)
    else:
        repaired = repair(tables, given, publisher, already_published=already)
        release = repaired.release
    custodian = release.custodian
    log = {**custodian.log, "recipe": text, "inputs": job.inputs}
    log["notes"] = [*job.argus.notes, *log.get("notes", ())]
    release = Release(release.public, custodian.with_log(log))
    verdict = verify(release).require()
    found = _audited(release, verdict, recipe.output.audit)
    page = _page(release, found, text, verdict) if recipe.output.report else False
    job.argus.refuse_bad_places(folder)
    seal = save(
        release,
        folder,
        report=page,
        formats=formats,
        restricted=recipe.output.restricted,
        heading=recipe.output.heading,
        replace=True,
    )
    with during("check"):
        verdict = check_folder(folder).require()
    files = job.argus.write(release, found)
    return Run(release, verdict, folder, seal, found, repaired, files)


def _page(release: Release, found: Audit | None, text: str, verdict: Verdict) -> str:
    """The custodian's report."""
    with during("report"):
        return custodian_report(release, audit=found, recipe=text, verdict=verdict, prices=prices_for_report(release))


def _divided(recipe: Recipe, steps: Sequence[Method], given: Pattern | None) -> tuple[list[Method], TablePublisher]:
    """The methods that change records, and the one that publishes tables."""
    *before, publisher = steps
    if not isinstance(publisher, TablePublisher):
        raise ParameterError(
            f"{publisher.kind!r} changes records, and does not say what is published of tables.",
            hint="Let a method for tables follow, or publish the records: [records] in place of [[tables]].",
        )
    if before and recipe.data.cells is not None:
        raise ParameterError(
            f"{before[0].kind!r} changes records, and the cells are given.", hint="Give file = ..., or leave it out."
        )
    if before and given is not None:
        raise ParameterError(
            f"A pattern is given for tables as they are, and {before[0].kind!r} changes the records before.",
            hint="Leave one of them out.",
        )
    return before, publisher


def _numbers(recipe: Recipe) -> list[str]:
    """Columns of records that the tables of a recipe take numbers from."""
    named = (name for part in recipe.tables for name in (part.value, part.shadow, part.cost, part.weight))
    return [
        *(name for name in named if name),
        *(name for part in recipe.tables for name in compared(parse_conditions(part.filter))),
    ]


def _audited(release: Release, verdict: Verdict, asked: bool | str) -> Audit | None:
    """The audit of a release, where it is asked for or takes little; one against the certificates is an error."""
    custodian = release.custodian
    withheld = sum(int(custodian.withheld(number).sum()) for number in range(len(custodian.tables)))
    wanted = withheld <= AUDITED_WITHOUT_ASKING if asked == "auto" else asked
    found = audit(release) if wanted else None
    claimed = not {KNOWN_LEVELS, NO_LEVELS} & set(verdict.not_considered)
    short = 0 if found is None or not claimed else _short_unaccepted(found, release)
    if short:
        raise VerificationError(
            f"The audit finds {counted(short, 'unsafe cell')} short of the level, against the certificates.",
            hint="Nothing is published; please report the table's shape.",
        )
    return found


def _run_records(text: str, job: RecipeJob, part: RecordsPart, formats: Sequence[str], replace_other: bool) -> Run:
    """Run a recipe that publishes records."""
    recipe = job.recipe
    folder = job.path(recipe.output.directory)
    refuse_foreign(folder)
    if not replace_other:
        refuse_another_recipe(folder, [part.name])
    formats = check_record_formats([*recipe.output.formats, *formats])
    methods = job.methods()
    job.refuse_unknown_missing()
    source = job.source()
    data = job.microdata()
    own = {name: job.hierarchy(name, source) for name in recipe.hierarchies}
    data = data.with_(hierarchies={**data.hierarchies, **own})
    rules = [
        *(record_rule_from_record(record).with_files_read(job.input) for record in recipe.rules),
        *job.profile_rules(data, part),
    ]
    release = protect_records(
        data,
        methods,
        rules,
        key=job.key(methods),
        keep_order=part.keep_order,
        name=part.name,
    )
    notes = [*job.argus.notes, *release.custodian.log["notes"]]
    log = {**release.custodian.log, "notes": notes, "recipe": text, "inputs": job.inputs}
    release = Release(release.public, release.custodian.with_log(log))
    verdict = verify(release).require()
    asked = recipe.output.audit
    found = None if not asked else audit_for_report(release) if asked == "auto" else audit_records(release)
    page = records_report(release, recipe=text, verdict=verdict, audit=found) if recipe.output.report else False
    seal = save(release, folder, report=page, formats=formats, replace=True)
    with during("check"):
        verdict = check_folder(folder).require()
    return Run(release, verdict, folder, seal, None)


def audit_pattern(
    path: str | Path,
    *,
    pattern: Pattern | PatternPart | None = None,
    allow_outside: bool = False,
    already_published: Sequence[Item] = (),
) -> Audit:
    """What attackers can work out of a pattern as it stands, for the tables of a recipe; nothing is written.

    They know what is already published, too: what the recipe names and what is given here.
    """
    _, job = _opened(path, allow_outside)
    given = _given(job, pattern)
    if given is None:
        raise no_pattern()
    tables = prepare(job)
    return audit(tables, pattern=given, already_published=job.already(tables, already_published))


def compare_methods(
    path: str | Path,
    *,
    releases: Sequence[Path] = (),
    allow_outside: bool = False,
    already_published: Sequence[Item] = (),
    **options: Any,
) -> Comparison:
    """The methods of ``[[compare]]``, and saved releases, on the tables of a recipe. Nothing is written.

    ``options`` are those of :func:`~discreet.comparison.compare.compare`.
    """
    _, job = _opened(path, allow_outside)
    tried = job.compared()
    if not tried and not releases:
        raise ParameterError(
            "The recipe compares nothing.", hint='Add [[compare]] with method = "suppress", and others.'
        )
    chosen = unlike([*tried.items(), *((folder.name, folder) for folder in releases)])
    tables = prepare(job)
    already = job.already(tables, already_published)
    return compare(tables, chosen, already_published=already, **options)


def tune_methods(
    path: str | Path, *, allow_outside: bool = False, already_published: Sequence[Item] = (), **options: Any
) -> Tuned:
    """Every entry of ``[[compare]]`` at the same risk, on the tables of a recipe. Nothing is written.

    ``options`` are those of :func:`~discreet.comparison.tune.tune`.
    """
    _, job = _opened(path, allow_outside)
    families = job.families()
    if not families:
        raise ParameterError(
            "The recipe compares nothing.", hint="Add [[compare]] with a method and vary = { base = [3, 5, 10] }."
        )
    tables = prepare(job)
    already = job.already(tables, already_published)
    return tune(tables, families, already_published=already, **options)


def compare_recipe(
    path: str | Path,
    algorithms: Sequence[str] = (),
    *,
    allow_outside: bool = False,
    already_published: Sequence[Item] = (),
) -> AlgorithmComparison:
    """Suppression algorithms on the tables of a recipe, with the costs and attackers that it states.

    Nothing is written. All algorithms of :data:`ALGORITHMS` where none is named.
    """
    _, job = _opened(path, allow_outside)
    own = next((m for m in job.methods() if isinstance(m, Suppress)), Suppress())
    names: Sequence[Any] = algorithms or ALGORITHMS  # names that the method does not know are refused by it
    methods = {name: replace(own, algorithm=name, repair=False, settings={}) for name in names}
    if own.algorithm in methods:
        methods[own.algorithm] = own
    tables = prepare(job)
    methods = {name: job.argus.hinted(method) for name, method in methods.items()}
    return compare_algorithms(tables, methods, already_published=job.already(tables, already_published))


def coordinate_recipe(
    path: str | Path, variable: str, *, table: str = "", allow_outside: bool = False, **options: Any
) -> Coordination:
    """The table of a recipe protected by several offices, with the suppression that the recipe states.

    Nothing is written. ``options`` are those of :func:`~discreet.verbs.coordinate.coordinate`.
    """
    _, job = _opened(path, allow_outside)
    method = next((m for m in job.methods() if isinstance(m, Suppress)), None)
    tables = {one.name: one for one in prepare(job)}
    method = method and job.argus.hinted(method)
    if table and table not in tables:
        raise ParameterError(unknown_name("table", table, tables, "the recipe"))
    if len(tables) > 1 and not table:
        raise ParameterError(
            f"The recipe has several tables: {listed(tables)}.", hint="Say which one the offices publish together."
        )
    return coordinate(tables[table] if table else next(iter(tables.values())), variable, method, **options)


def no_pattern() -> ParameterError:
    """Error for a repair without anything to repair."""
    return ParameterError("There is no pattern.", hint="Give --pattern FILE, or write [pattern] into the recipe.")


def _opened(path: str | Path, allow_outside: bool) -> tuple[str, RecipeJob]:
    path = Path(path)
    text = recipe_text(path)
    return text, RecipeJob(read_recipe(text), path.parent, allow_outside)


def _given(job: RecipeJob, pattern: Pattern | PatternPart | None) -> Pattern | None:
    """The pattern to be completed, if any."""
    part = job.recipe.pattern
    if part is not None and pattern is not None:
        raise ParameterError("The recipe has a [pattern] of its own.", hint="Give one of the two.")
    if isinstance(pattern, PatternPart):
        return job.pattern(pattern, Path(pattern.file))
    return pattern if part is None else job.pattern(part)


def _short_unaccepted(found: Audit, release: Release) -> int:
    """How many unsafe cells miss their level that nobody accepted so."""
    accepted = [entry for evidence in release.custodian.evidence for entry in evidence.accepted]
    if not accepted:
        return found.short
    system = found.system
    answered = np.zeros(len(system), np.bool_)
    names = [table.name for table in system.tables]
    for entry in accepted:
        table = system.tables[entry.table]
        row = table.row(**dict(zip(table.variables, entry.cell, strict=True)))
        answered[system.of[names.index(entry.table)][row]] = True
    return int((found.intervals.short & ~answered[found.intervals.cells]).sum())
