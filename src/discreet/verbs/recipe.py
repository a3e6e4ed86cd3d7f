"""The same job as a file: a strict TOML recipe from data to a verified release."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from discreet.attack import Audit
from discreet.errors import InputError, ParameterError, VerificationError, listed, unknown_name
from discreet.files.frames import code_text, file_columns, read_columns
from discreet.files.hrc import read_code_map, read_hierarchy, read_labels
from discreet.files.pattern import is_own, read_pattern
from discreet.files.published import check_formats
from discreet.files.release_folder import refuse_foreign
from discreet.files.statistical import is_statistical, statistical_metadata
from discreet.keys import Key
from discreet.model.already import AlreadyPublished, PublishedCells
from discreet.model.condition import parse_conditions
from discreet.model.evidence import KNOWN_LEVELS, NO_LEVELS
from discreet.model.figure import Figure
from discreet.model.geography import Geography
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.pattern import Pattern
from discreet.model.release import Release
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.progress import checkpoint
from discreet.report import custodian_report
from discreet.rules.assess import assess_table
from discreet.rules.base import Rule, rule_from_record
from discreet.tables.method import Method
from discreet.tables.redistribute.grid import Adjacency, HexGrid
from discreet.tables.suppress import Suppress
from discreet.verbs.algorithms import ALGORITHMS, AlgorithmComparison, compare_algorithms
from discreet.verbs.already import Found, Item
from discreet.verbs.argus_output import Written
from discreet.verbs.argus_recipe import ArgusKitchen, refuse_argus_keys
from discreet.verbs.assess import assess
from discreet.verbs.audit import audit
from discreet.verbs.compare import Tried, compare, method_name, unlike
from discreet.verbs.comparison import Comparison
from discreet.verbs.coordinate import Coordination, coordinate
from discreet.verbs.given_files import with_files_read
from discreet.verbs.load import load
from discreet.verbs.proposals import Redesign
from discreet.verbs.protect import protect
from discreet.verbs.ready_made import table_from_cells
from discreet.verbs.recipe_parts import (
    HierarchyPart,
    PatternPart,
    PublishedPart,
    Recipe,
    TablePart,
    cost_column,
    method_of,
    preferred,
    read_recipe,
    varied_records,
)
from discreet.verbs.repair import Repair, repair
from discreet.verbs.save import save, verify
from discreet.verbs.tabulate import tabulate
from discreet.verbs.tune import Tuned, tune
from discreet.verify import Verdict, check_folder

AUDITED_WITHOUT_ASKING = 2_000
"""Releases with at most this many withheld cells are audited for the report unless the recipe says otherwise."""


WAYS = ("file", "digits", "columns", "parents", "hexagons", "neighbours")
"""Ways to say how codes add up or where they lie; a recipe gives one of them."""


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: the release, its verdict, folder and seal, what became of a given pattern, files beside it."""

    release: Release
    verdict: Verdict
    folder: Path
    seal: str
    audit: Audit | None
    repair: Repair | None = None
    files: tuple[Written, ...] = ()


class Kitchen:
    """Where a recipe finds its files: below its own folder, unless told otherwise."""

    def __init__(self, recipe: Recipe, folder: Path, allow_outside: bool, shared: dict[Any, Any] | None = None) -> None:
        self.recipe = recipe
        self.folder = folder.resolve()
        self.allow_outside = allow_outside
        self.inputs: dict[str, str] = {}
        self.argus = ArgusKitchen(self, shared)

    def path(self, name: str) -> Path:
        """A path of the recipe; outside its folder it is an error."""
        path = (self.folder / name).resolve()
        if not self.allow_outside and self.folder != path and self.folder not in path.parents:
            raise ParameterError(
                f"The recipe names {name!r}, which lies outside its own folder.",
                hint="Move the file below the recipe, or run with --allow-outside.",
            )
        return path

    def input(self, name: str) -> Path:
        """An input file, whose digest goes into the log."""
        path = self.path(name)
        if not path.is_file():
            raise InputError(f"There is no file {name!r}.", hint="Paths in a recipe are relative to its folder.")
        with path.open("rb") as stream:
            self.inputs[name] = hashlib.file_digest(stream, "sha256").hexdigest()
        return path

    def source(self) -> Any:
        """The file of records or cells; the records themselves where metadata describe them."""
        if self.argus.described:
            return self.argus.frame()
        return self.input(str(self.recipe.data.file or self.recipe.data.cells))

    def dimension(self, variable: str, source: Any) -> Hierarchy | Geography:
        """The hierarchy of a variable, or where its codes lie."""
        part = self.recipe.hierarchies.get(variable, HierarchyPart())
        if isinstance(part, HierarchyPart):
            given = [name for name in WAYS if getattr(part, name) is not None]
            if len(given) > 1:
                raise ParameterError(f"Hierarchy {variable!r} has both {listed(given)}.", hint="Give one of them.")
        if isinstance(part, HierarchyPart) and part.hexagons is not None:
            return HexGrid(**msgspec.structs.asdict(part.hexagons))
        if isinstance(part, HierarchyPart) and part.neighbours is not None:
            names = ["code", "neighbour"]
            rows = read_columns(self.input(part.neighbours), names, text=names, delimiter=self.recipe.data.delimiter)
            pairs = list(zip(*(rows[name].to_pylist() for name in names), strict=True))
            codes = {c for c in self._distinct(source, [variable])[variable] if c is not None}
            return Adjacency(sorted(codes | {code for pair in pairs for code in pair}), pairs)
        return self.hierarchy(variable, source)

    def hierarchy(self, variable: str, source: Any) -> Hierarchy:
        """The hierarchy of a variable; plain codes of the data under a total where the recipe has none."""
        if self.argus.described and variable not in self.recipe.hierarchies:
            return self.argus.hierarchy(variable)
        part = self.recipe.hierarchies.get(variable, HierarchyPart())
        part = HierarchyPart(file=part) if isinstance(part, str) else part
        options: dict[str, Any] = {"missing": frozenset(part.missing)}
        if part.labels is not None:
            options["labels"] = read_labels(self.input(part.labels))
        if part.file is not None:
            return read_hierarchy(self.input(part.file), total=part.total, **options)
        if part.parents is not None:
            return Hierarchy.from_parents(part.parents, part.total, **options)
        if part.columns is not None:
            levels = list(dict.fromkeys([*part.columns, variable]))
            columns = [self._distinct(source, levels)[name] for name in levels]
            return Hierarchy.from_columns(columns, part.total, **options)
        codes = sorted({c for c in self._distinct(source, [variable])[variable] if c is not None})
        codes = [code for code in codes if code != part.total]
        options = self._described(variable, source, codes, options)
        if part.digits is not None:
            return Hierarchy.from_digits(codes, part.digits, part.total, **options)
        return Hierarchy.flat(codes, part.total, **options)

    def _described(self, variable: str, source: Any, codes: list[str], options: dict[str, Any]) -> dict[str, Any]:
        """Labels and codes for "unknown" that a statistical package keeps beside its data; the recipe's own count."""
        if not is_statistical(source):
            return options
        about = statistical_metadata(source)
        words = {code: text for code, text in about.value_labels.get(variable, {}).items() if code in codes}
        unknown = frozenset(about.missing_codes(variable, codes))
        return {"labels": words, **options, "missing": options["missing"] | unknown}

    def _distinct(self, source: Any, columns: list[str]) -> dict[str, list[str | None]]:
        """Distinct combinations of code columns, as text."""
        frame = read_columns(source, columns, text=columns, delimiter=self.recipe.data.delimiter)
        rows = frame.group_by(columns).aggregate([]).to_pydict()
        return {name: [None if x is None else code_text(x) for x in rows[name]] for name in columns}

    def microdata(self) -> Microdata:
        """The records with their roles."""
        data = self.recipe.data
        roles = self.argus.roles() if self.argus.described else {}
        return Microdata(
            self.source(),
            contributor=data.contributor or roles.get("contributor"),
            weight=data.weight or roles.get("weight"),
            waiver=data.waiver,
            request=data.request or roles.get("request"),
            record_key=data.record_key or roles.get("record_key"),
            missing=data.missing,
            recode={variable: read_code_map(self.input(name)) for variable, name in data.recode.items()},
            delimiter=data.delimiter,
        )

    def pattern(self, part: PatternPart, path: Path | None = None) -> Pattern:
        """A pattern file; of one that another program made only the variables of the tables are read.

        ``path`` is where the operator says that it lies; otherwise it is a file of the recipe.
        """
        path = self.input(part.file) if path is None else path
        options = msgspec.structs.asdict(part)
        options["name"] = Path(options.pop("file")).name
        names = file_columns(path, part.delimiter)
        if part.variables is None and not is_own(names):
            ours = {part.columns.get(name, name) for name in names}
            options["variables"] = [v for v in dict.fromkeys(v for t in self.recipe.tables for v in t.by) if v in ours]
        return read_pattern(path, **options)

    def methods(self) -> list[Method]:
        """The methods of the recipe, with what their files say."""
        found = []
        for record in self.recipe.protect:
            part = preferred(record)
            given = record if part is None else {**record, "prefer": self.pattern(part)}
            found.append(with_files_read(method_of(given), self.input))
        return found

    def compared(self) -> dict[str, Tried]:
        """The methods that the recipe compares, by name."""
        found: list[tuple[str, Tried]] = []
        for record in self.recipe.compare:
            for name, varied in varied_records(record):
                method = with_files_read(method_of(varied), self.input)
                found.append((name or method_name(method), method))
        return unlike(found)

    def families(self) -> dict[str, list[Method]]:
        """The entries of ``[[compare]]``, each with the methods that it varies over."""
        found = []
        for record in self.recipe.compare:
            methods = [with_files_read(method_of(varied), self.input) for _, varied in varied_records(record)]
            found.append((str(record.get("name") or method_name(methods[0])), methods))
        return unlike(found)

    def key(self, methods: Sequence[Method]) -> Key | None:
        """The key that a method names a file for."""
        files = [str(file) for method in methods if (file := getattr(method, "key_file", None)) is not None]
        return Key.from_file(self.path(files[0])) if files else None

    def published(self, part: PublishedPart) -> tuple[str, Release | PublishedCells | Figure]:
        """Something that is already published, with its name."""
        if part.figure is not None:
            if part.value is None:
                raise ParameterError(f"The figure '{part.figure}' has no value.", hint='Add value = "12.5".')
            return "", Figure(part.figure, part.value, part.decimals)
        if part.release is not None:
            folder = self.path(part.release)
            if not (folder / "custodian").is_dir():
                raise InputError(
                    f"{part.release!r} is not the folder of a saved release.",
                    hint="Paths in a recipe are relative to its folder.",
                )
            return part.name or folder.name, load(folder)
        file = str(part.cells)
        options: dict[str, Any] = {} if part.withheld is None else {"withheld": tuple(part.withheld)}
        cells = PublishedCells(
            self.input(file),
            table=part.table,
            value="value" if part.value is None else str(part.value),
            columns=part.columns,
            decimals=part.decimals,
            name=part.name or Path(file).name,
            ignore_unknown=part.ignore_unknown,
            delimiter=part.delimiter,
            **options,
        )
        return part.name, cells

    def already(self, tables: TableSet, more: Sequence[Item] = ()) -> AlreadyPublished:
        """All that is already published: what the recipe names, and more."""
        found = Found(tables)
        for part in self.recipe.already_published:
            found.take(*self.published(part))
        for item in more:
            found.take("", item)
        return found.gathered()

    def marked(self, table: Table, status: str | None) -> Table:
        """The table with statuses set by hand, from a file with code columns and ``status``."""
        if status is None:
            return table
        path = self.input(status)
        columns = [*table.variables, "status"]
        rows = read_columns(path, columns, text=columns, delimiter=self.recipe.data.delimiter).to_pydict()
        cells = {
            tuple(str(rows[v][i]) for v in table.variables): str(letter) for i, letter in enumerate(rows["status"])
        }
        return table.marked(cells)


def prepare(kitchen: Kitchen) -> TableSet:
    """Tables of a recipe, assessed and not yet protected."""
    recipe = kitchen.recipe
    rules = [rule_from_record(record) for record in recipe.rules]
    refuse_argus_keys(recipe)
    variables = list(dict.fromkeys(v for part in recipe.tables for v in part.by))
    for name in recipe.hierarchies:
        if name not in variables:
            raise ParameterError(unknown_name("variable", name, variables, "any table (hierarchies)"))
    if recipe.data.cells is not None and recipe.data.metadata is not None:
        tables = [kitchen.argus.ready_made(part, bool(rules)) for part in recipe.tables]
    else:
        tables = _tabulated(kitchen, variables, rules)
    finer = tables
    tables = [kitchen.argus.recoded(t, part) for t, part in zip(tables, recipe.tables, strict=True)]
    tables = [kitchen.marked(t, part.status) for t, part in zip(tables, recipe.tables, strict=True)]
    whole = TableSet(tables, [link.equation for link in recipe.links], recipe.one_pattern)
    assessed = _assessed(whole, recipe, rules)
    for table, before, part in zip(assessed, finer, recipe.tables, strict=True):
        if part.recode and part.status is None:
            judged = assess_table(before, rules, recipe.assess.profile, recipe.assess.missing_safe)
            kitchen.argus.note(Redesign(judged, table, ()).effect)
    if any(part.apriori for part in recipe.tables):
        known = [kitchen.argus.known(t, part) for t, part in zip(assessed, recipe.tables, strict=True)]
        assessed = _assessed(whole.replaced(known), recipe, rules)
    return assessed


def _tabulated(kitchen: Kitchen, variables: Sequence[str], rules: list[Rule]) -> list[Table]:
    """Tables of records or of ready-made cells, not yet assessed."""
    recipe = kitchen.recipe
    source = kitchen.source()
    hierarchies: dict[str, Any] = {v: kitchen.dimension(v, source) for v in variables}
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
    made = tabulate(kitchen.microdata(), specs=specs, engine=recipe.data.engine)
    return list(made) if isinstance(made, TableSet) else [made]


def _assessed(tables: TableSet, recipe: Recipe, rules: list[Rule]) -> TableSet:
    options = recipe.assess
    return assess(
        tables,
        *rules,
        profile=options.profile,
        missing_safe=options.missing_safe,
        manual_range=options.manual_range,
    )


def _spec(part: TablePart, by: Mapping[str, Hierarchy], rules: list[Rule], worth: str | None) -> TableSpec:
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


def run_recipe(
    path: str | Path,
    *,
    pattern: Pattern | PatternPart | None = None,
    repairing: bool = False,
    allow_outside: bool = False,
    already_published: Sequence[Item] = (),
    formats: Sequence[str] = (),
) -> Run:
    """Run a recipe file from data to a saved and verified release.

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

    Raises
    ------
    DiscreetError
        Whatever went wrong; nothing is written then.
    """
    text, kitchen = _opened(path, allow_outside)
    return cook(text, kitchen, pattern, repairing=repairing, already_published=already_published, formats=formats)


def cook(
    text: str,
    kitchen: Kitchen,
    pattern: Pattern | PatternPart | None = None,
    *,
    repairing: bool = False,
    already_published: Sequence[Item] = (),
    formats: Sequence[str] = (),
) -> Run:
    """Run a recipe whose text is at hand; :func:`run_recipe` says what the parameters are."""
    recipe = kitchen.recipe
    checkpoint("read", 0, 1)
    folder = kitchen.path(recipe.output.directory)
    refuse_foreign(folder)
    formats = check_formats([*recipe.output.formats, *formats])
    methods, given = kitchen.methods(), _given(kitchen, pattern)
    if repairing and given is None:
        raise no_pattern()
    tables = prepare(kitchen)
    methods = [kitchen.argus.hinted(method) for method in methods]
    already = kitchen.already(tables, already_published)
    repaired = None
    if given is None or len(methods) != 1:
        release = protect(tables, *methods, already_published=already, key=kitchen.key(methods))
    else:
        repaired = repair(tables, given, methods[0], already_published=already)
        release = repaired.release
    custodian = release.custodian
    log = {**custodian.log, "recipe": text, "inputs": kitchen.inputs}
    log["notes"] = [*kitchen.argus.notes, *log.get("notes", ())]
    release = Release(release.public, custodian.with_log(log))
    verdict = verify(release).require()
    withheld = sum(int(custodian.withheld(number).sum()) for number in range(len(tables)))
    wanted = withheld <= AUDITED_WITHOUT_ASKING if recipe.output.audit == "auto" else recipe.output.audit
    found = audit(release) if wanted else None
    claimed = not {KNOWN_LEVELS, NO_LEVELS} & set(verdict.not_considered)
    short = 0 if found is None or not claimed else _short_unaccepted(found, release)
    if short:
        raise VerificationError(
            f"The audit finds {short} unsafe cells short of their level, against the certificates.",
            hint="Nothing is published; please report the table's shape.",
        )
    page: str | bool = False
    if recipe.output.report:
        page = custodian_report(release, audit=found, recipe=text, verdict=verdict)
    kitchen.argus.refuse_bad_places(folder)
    seal = save(
        release,
        folder,
        report=page,
        formats=formats,
        restricted=recipe.output.restricted,
        heading=recipe.output.heading,
    )
    verdict = check_folder(folder).require()
    files = kitchen.argus.write(release, found)
    return Run(release, verdict, folder, seal, found, repaired, files)


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
    _, kitchen = _opened(path, allow_outside)
    given = _given(kitchen, pattern)
    if given is None:
        raise no_pattern()
    tables = prepare(kitchen)
    return audit(tables, pattern=given, already_published=kitchen.already(tables, already_published))


def compare_methods(
    path: str | Path,
    *,
    releases: Sequence[Path] = (),
    allow_outside: bool = False,
    already_published: Sequence[Item] = (),
    **options: Any,
) -> Comparison:
    """The methods of ``[[compare]]``, and saved releases, on the tables of a recipe. Nothing is written.

    ``options`` are those of :func:`~discreet.verbs.compare.compare`.
    """
    _, kitchen = _opened(path, allow_outside)
    tried = kitchen.compared()
    if not tried and not releases:
        raise ParameterError(
            "The recipe compares nothing.", hint='Add [[compare]] with method = "suppress", and others.'
        )
    chosen = unlike([*tried.items(), *((folder.name, folder) for folder in releases)])
    tables = prepare(kitchen)
    already = kitchen.already(tables, already_published)
    return compare(tables, chosen, already_published=already, **options)


def tune_methods(
    path: str | Path, *, allow_outside: bool = False, already_published: Sequence[Item] = (), **options: Any
) -> Tuned:
    """Every entry of ``[[compare]]`` at the same risk, on the tables of a recipe. Nothing is written.

    ``options`` are those of :func:`~discreet.verbs.tune.tune`.
    """
    _, kitchen = _opened(path, allow_outside)
    families = kitchen.families()
    if not families:
        raise ParameterError(
            "The recipe compares nothing.", hint="Add [[compare]] with a method and vary = { base = [3, 5, 10] }."
        )
    tables = prepare(kitchen)
    already = kitchen.already(tables, already_published)
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
    _, kitchen = _opened(path, allow_outside)
    own = next((m for m in kitchen.methods() if isinstance(m, Suppress)), Suppress())
    names: Sequence[Any] = algorithms or ALGORITHMS  # names that the method does not know are refused by it
    methods = {name: replace(own, algorithm=name, repair=False, settings={}) for name in names}
    if own.algorithm in methods:
        methods[own.algorithm] = own
    tables = prepare(kitchen)
    methods = {name: kitchen.argus.hinted(method) for name, method in methods.items()}
    return compare_algorithms(tables, methods, already_published=kitchen.already(tables, already_published))


def coordinate_recipe(
    path: str | Path, variable: str, *, table: str = "", allow_outside: bool = False, **options: Any
) -> Coordination:
    """The table of a recipe protected by several offices, with the suppression that the recipe states.

    Nothing is written. ``options`` are those of :func:`~discreet.verbs.coordinate.coordinate`.
    """
    _, kitchen = _opened(path, allow_outside)
    method = next((m for m in kitchen.methods() if isinstance(m, Suppress)), None)
    tables = {one.name: one for one in prepare(kitchen)}
    method = method and kitchen.argus.hinted(method)
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


def _opened(path: str | Path, allow_outside: bool) -> tuple[str, Kitchen]:
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no recipe {path.name!r}.", hint=f"Looked for: {path}")
    text = path.read_text(encoding="utf-8")
    return text, Kitchen(read_recipe(text), path.parent, allow_outside)


def _given(kitchen: Kitchen, pattern: Pattern | PatternPart | None) -> Pattern | None:
    """The pattern to be completed, if any."""
    part = kitchen.recipe.pattern
    if part is not None and pattern is not None:
        raise ParameterError("The recipe has a [pattern] of its own.", hint="Give one of the two.")
    if isinstance(pattern, PatternPart):
        return kitchen.pattern(pattern, Path(pattern.file))
    return pattern if part is None else kitchen.pattern(part)


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
