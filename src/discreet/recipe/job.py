"""Where a recipe finds what it names: files, hierarchies, records, patterns, methods and earlier releases."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from discreet.argus.roles import with_stated_roles
from discreet.comparison.compare import Tried
from discreet.comparison.naming import method_name, unlike
from discreet.errors import InputError, ParameterError, listed, unknown_name
from discreet.files.argus.rda import read_metadata
from discreet.files.frames import code_text, column_names, file_columns, read_columns
from discreet.files.hrc import read_code_map, read_hierarchy, read_labels
from discreet.files.pattern import is_own, read_pattern
from discreet.files.statistical import is_statistical, statistical_metadata
from discreet.files.text_records import read_text_records
from discreet.keys import Key
from discreet.methods.base import Method, TablePublisher
from discreet.methods.registry import METHODS
from discreet.model.already import AlreadyPublished, PublishedCells
from discreet.model.figure import Figure
from discreet.model.geography import Adjacency, Geography, HexGrid
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata, needs_text
from discreet.model.pattern import Pattern
from discreet.model.release import Release
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.recipe.argus_job import ArgusJob
from discreet.recipe.schema import (
    HierarchyPart,
    PatternPart,
    PublishedPart,
    Recipe,
    RecordsPart,
    method_of,
    preferred,
    publisher_of,
    varied_records,
)
from discreet.rules.anonymity import KAnonymity
from discreet.rules.profiles import profile
from discreet.verbs.already import Item, PublishedBefore
from discreet.verbs.load import load

WAYS = ("file", "digits", "columns", "parents", "hexagons", "neighbours")
"""Ways to say how codes add up or where they lie; a recipe gives one of them."""


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class RecipeJob:
    """Where a recipe finds its files: below its own folder, unless told otherwise."""

    def __init__(self, recipe: Recipe, folder: Path, allow_outside: bool, shared: dict[Any, Any] | None = None) -> None:
        self.recipe = recipe
        self.folder = folder.resolve()
        self.allow_outside = allow_outside
        self.inputs: dict[str, str] = {}
        self._records: Any = None
        self.argus = ArgusJob(self, shared)

    def path(self, name: str) -> Path:
        """A path of the recipe; outside its folder it is an error."""
        try:
            path = (self.folder / name).resolve()
            path.exists()  # says whether such a name can be
        except (OSError, ValueError, RuntimeError) as error:
            raise ParameterError(
                f"The recipe names {name[:60]!r}, which cannot be a file ({_reason(error)}).",
                hint="Give a path relative to the recipe's folder.",
            ) from None
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
        data = self.recipe.data
        path = self.input(str(data.file or data.cells))
        if not needs_text(path, data.decimal, data.encoding, data.sheet):
            return path
        if self._records is None:
            self._records = read_text_records(
                path, delimiter=data.delimiter, decimal=data.decimal, encoding=data.encoding, sheet=data.sheet
            )
        return self._records

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

    def refuse_found_codes(self) -> None:
        """Refuse tables of altered values that list every code where codes are those that the data have.

        A code that one record has would be published, although the record itself is hidden.
        """
        if self.recipe.data.cells is not None and any(part.cells == "all" for part in self.recipe.tables):
            raise ParameterError(
                "cells = 'all' is for tables of records, and the cells are given.",
                hint="Leave it out; a file that has every combination of codes keeps its zeros.",
            )
        kinds = [METHODS[record["method"]] for record in self.recipe.protect]
        if not any(issubclass(kind, TablePublisher) and kind.alters for kind in kinds):
            return
        for variable in dict.fromkeys(v for part in self.recipe.tables if part.cells == "all" for v in part.by):
            part = self.recipe.hierarchies.get(variable, HierarchyPart())
            if isinstance(part, HierarchyPart) and part.file is None and part.parents is None:
                raise ParameterError(
                    f"cells = 'all' would publish every code of {variable!r} that any record has.",
                    hint=f"State them in [hierarchies], {variable} = ['...'] or a file; or leave cells out.",
                )

    def refuse_unknown_missing(self) -> None:
        """Refuse a code for the gaps of a column that the data do not have: a misspelt name would go unnoticed."""
        data = self.recipe.data
        if not data.missing:
            return
        if data.metadata is not None:
            names = [v.name for v in read_metadata(self.input(data.metadata), self._kind).variables]
        else:
            names = column_names(self.source(), data.delimiter)
        for name in data.missing:
            if name not in names:
                where = "the cells" if data.cells is not None else "the records"
                raise InputError(unknown_name("column", name, names, where), hint="Correct the name in [data] missing.")

    @property
    def _kind(self) -> Literal["records", "cells"]:
        return "records" if self.recipe.data.cells is None else "cells"

    def hierarchy(self, variable: str, source: Any) -> Hierarchy:
        """The hierarchy of a variable; plain codes of the data under a total where the recipe has none."""
        if self.argus.described and variable not in self.recipe.hierarchies:
            return self.argus.hierarchy(variable)
        part = self.recipe.hierarchies.get(variable, HierarchyPart())
        if isinstance(part, list):
            return Hierarchy.flat(part)
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
        unknown = self.recipe.data.missing.get(variable)
        found = {unknown if c is None else c for c in self._distinct(source, [variable])[variable]}
        codes = sorted(code for code in found if code is not None and code != part.total)
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
        if self.argus.described and self.recipe.records is not None:
            return with_stated_roles(self.argus.records().microdata, data).with_(leave_out=data.leave_out)
        roles = self.argus.roles() if self.argus.described else {}
        return Microdata(
            self.source(),
            contributor=data.contributor or roles.get("contributor"),
            weight=data.weight or roles.get("weight"),
            waiver=data.waiver,
            request=data.request or roles.get("request"),
            record_key=data.record_key or roles.get("record_key"),
            keys=data.keys,
            sensitive=data.sensitive,
            numeric=data.numeric,
            household=data.household,
            identifier=data.identifier,
            strata=data.strata,
            missing_codes=data.missing_codes,
            leave_out=data.leave_out,
            missing=data.missing,
            recode={variable: read_code_map(self.input(name)) for variable, name in data.recode.items()},
            delimiter=data.delimiter,
            engine=data.engine,
        )

    def profile_rules(self, data: Microdata, part: RecordsPart) -> list[KAnonymity]:
        """The rules of the profile that the recipe names; what it demands besides goes into the log."""
        if part.profile is None:
            return []
        levels: dict[str, int] = dict(self.recipe.data.levels)
        if not levels and self.argus.described:
            levels = {key: level for key, level in self.argus.records().levels.items() if key in data.keys}
        weight = data.weight or ""
        found = profile(
            part.profile, levels or data.keys, weight, household=data.household, household_keys=part.household_keys
        )
        self.argus.note(
            *(f"See to it yourself, the profile {found.name!r} demands it: {duty}." for duty in found.duties)
        )
        return list(found.rules)

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
            found.append(method_of(given).with_files_read(self.input))
        return found

    def compared(self) -> dict[str, Tried]:
        """The methods that the recipe compares, by name."""
        found: list[tuple[str, Tried]] = []
        for record in self.recipe.compare:
            for name, varied in varied_records(record):
                method = publisher_of(varied).with_files_read(self.input)
                found.append((name or method_name(method), method))
        return unlike(found)

    def families(self) -> dict[str, list[TablePublisher]]:
        """The entries of ``[[compare]]``, each with the methods that it varies over."""
        found = []
        for record in self.recipe.compare:
            methods = [publisher_of(varied).with_files_read(self.input) for _, varied in varied_records(record)]
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
        found = PublishedBefore(tables)
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
