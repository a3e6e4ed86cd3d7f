"""What recipes take from ARGUS files: records and cells with metadata, recodes, a-priori files, and output files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from discreet.argus.apriori import apply_apriori
from discreet.argus.data import ArgusRecords, read_argus, read_argus_table, shadow_differs
from discreet.argus.output import Written, write_argus
from discreet.attack import Audit
from discreet.errors import NeedsError, OutputError, ParameterError
from discreet.files.argus.cells import read_argus_cells
from discreet.files.argus.rda import ArgusMetadata, read_metadata
from discreet.files.argus.recodes import nodes_at
from discreet.files.argus.text import find_file
from discreet.methods.base import TablePublisher
from discreet.model.condition import parse_conditions
from discreet.model.hierarchy import Hierarchy
from discreet.model.release import Release
from discreet.model.table import Table
from discreet.recipe.schema import HierarchyPart, Recipe, RecipeTable, cost_column
from discreet.tables.suppress import Suppress
from discreet.verbs.redesign import read_how, recode

if TYPE_CHECKING:
    import pyarrow as pa

CODES_OF_METHODS = ("identifier", "household", "area", "within", "profile", "risk")
NUMBERS_OF_METHODS = ("known_weight", "replicates")
"""Parameters of methods that name columns of the records."""
Chosen = TypeVar("Chosen", bound=TablePublisher)


class Finder(Protocol):
    """Where a recipe finds its files."""

    recipe: Recipe
    folder: Path
    inputs: dict[str, str]

    def path(self, name: str) -> Path:
        """A path of the recipe."""
        ...

    def input(self, name: str) -> Path:
        """An input file."""
        ...


def _coordinates(part: str | list[str] | HierarchyPart) -> list[str]:
    """Columns of coordinates that a variable is made of."""
    grid = part.hexagons if isinstance(part, HierarchyPart) else None
    return [] if grid is None else [grid.x, grid.y]


def _named(recipe: Recipe, parameters: Sequence[str]) -> list[str]:
    """Columns that methods name in some of their parameters; coordinates and levels of hierarchies, too."""
    found: list[str] = []
    for record in (*recipe.protect, *recipe.compare):
        for name in parameters:
            given = record.get(name) or ()
            found += [given] if isinstance(given, str) else [each for each in given if isinstance(each, str)]
    parts = recipe.hierarchies.values()
    if parameters is NUMBERS_OF_METHODS:
        return found + [column for part in parts for column in _coordinates(part)]
    return found + [column for part in parts if isinstance(part, HierarchyPart) for column in part.columns or ()]


def refuse_argus_keys(recipe: Recipe) -> None:
    """Refuse keys that say something of ARGUS files where there are none, and what the metadata of cells say."""
    if recipe.data.metadata is not None:
        if recipe.data.cells is not None and recipe.hierarchies:
            raise ParameterError(
                "The metadata of cells say how codes add up, and the recipe has hierarchies besides.",
                hint="Leave [hierarchies] out, or name the hierarchy in the metadata.",
            )
        return
    for part in recipe.tables:
        if part.source is not None or part.metadata is not None or part.totals != "given":
            raise ParameterError(
                "source, metadata and totals of a table are for cells that metadata describe.",
                hint="Give [data] both cells and metadata.",
            )


class ArgusJob:
    """The part of a recipe that deals with ARGUS files; records are read once, by all recipes that share them."""

    def __init__(self, finder: Finder, shared: dict[Any, Any] | None = None) -> None:
        self.finder = finder
        self.shared: dict[Any, Any] = {} if shared is None else shared
        self.named: list[str] = []
        self.notes: list[str] = []
        self.hints: list[dict[str, Any]] = []
        self._records: ArgusRecords | None = None
        self._metadata: dict[str, ArgusMetadata] = {}

    @property
    def described(self) -> bool:
        """Whether metadata describe the records."""
        data = self.finder.recipe.data
        return data.metadata is not None and data.file is not None

    def note(self, *texts: str) -> None:
        """Put something into the log, once."""
        self.notes += [text for text in texts if text not in self.notes]

    def _find(self, beside: Path) -> Any:
        """Finds files that metadata name: beside them, or beside the recipe; they are inputs, too."""

        def find(name: str) -> Path:
            notes: list[str] = []
            path = find_file(name, [beside.parent, self.finder.folder], notes).resolve()
            self.note(*notes)
            inside = self.finder.folder in path.parents
            self.named.append(str(path.relative_to(self.finder.folder)) if inside else str(path))
            return self.finder.input(self.named[-1])

        return find

    # ---- records ------------------------------------------------------------------------------------------

    def records(self) -> ArgusRecords:
        """The records, with the columns that the tables need."""
        if self._records is None:
            recipe = self.finder.recipe
            data = recipe.data
            if data.engine != "memory":
                raise ParameterError("Records with metadata are read into memory.", hint="Leave engine out.")
            if data.delimiter != ",":
                raise ParameterError("The metadata state the separator of the records.", hint="Leave delimiter out.")
            path, file = self.finder.input(str(data.metadata)), self.finder.input(str(data.file))
            if recipe.records is not None:
                self._records = read_argus(file, read_metadata(path), records=True, find=self._find(path))
                self.note(*self._records.notes)
                return self._records
            drawn = {name for name, part in recipe.hierarchies.items() if _coordinates(part)}
            spanning = tuple(dict.fromkeys(v for part in recipe.tables for v in part.by if v not in drawn))
            filters = [c for part in recipe.tables for c in parse_conditions(part.filter)]
            words = [c.column for c in filters if any(isinstance(value, str) for value in c.values)]
            numbers = [c.column for c in filters if c.column not in words]
            worth = cost_column(recipe)
            columns = [c for part in recipe.tables for c in (part.value, part.shadow, part.cost or worth) if c]
            roles = [c for c in (data.weight, data.waiver, data.request, data.record_key) if c]
            values = tuple(dict.fromkeys([*columns, *roles, *numbers, *_named(recipe, NUMBERS_OF_METHODS)]))
            contributor = [data.contributor] if data.contributor else []
            others = tuple(dict.fromkeys([*contributor, *words, *_named(recipe, CODES_OF_METHODS)]))
            key = (path, file, spanning, values, others)
            if key in self.shared:
                self._records, named = self.shared[key]
                for name in named:
                    self.finder.input(name)
            else:
                self._records = read_argus(
                    file, read_metadata(path), by=spanning, values=values, others=others, find=self._find(path)
                )
                self.shared[key] = self._records, tuple(self.named)
            self.note(*self._records.notes)
        return self._records

    def frame(self) -> pa.Table:
        """The records as a frame."""
        frame: pa.Table = self.records().microdata.source
        return frame

    def hierarchy(self, variable: str) -> Hierarchy:
        """How the codes of a variable add up."""
        return self.records().hierarchies[variable]

    def roles(self) -> dict[str, str]:
        """Columns with a role, as the metadata state them."""
        found = self.records().microdata
        roles = {role: getattr(found, role) for role in ("contributor", "weight", "request", "record_key")}
        return {role: column for role, column in roles.items() if column is not None}

    # ---- ready-made tables --------------------------------------------------------------------------------

    def ready_made(self, part: RecipeTable, with_rules: bool) -> Table:
        """A ready-made table with its metadata."""
        data = self.finder.recipe.data
        cells = self.finder.input(part.source or str(data.cells))
        name = part.metadata or str(data.metadata)
        path = self.finder.input(name)
        if name not in self._metadata:
            self._metadata[name] = read_metadata(path, "cells")
        metadata = self._metadata[name]
        if with_rules and shadow_differs(read_argus_cells(cells, metadata, part.value, tuple(part.by))):
            raise NeedsError(
                "The rules of a ready-made table look at its response; this one has another shadow variable.",
                hint="Leave the rules out and use the status column, or protect the table from its records.",
            )
        notes: list[str] = []
        table = read_argus_table(
            cells,
            metadata,
            by=part.by,
            value=part.value or "<freq>",
            totals=part.totals,
            find=self._find(path),
            notes=notes,
            name=part.name,
            period=part.period,
        )
        self.note(*notes)
        return table

    # ---- what changes a table ------------------------------------------------------------------------------

    def recoded(self, table: Table, part: RecipeTable) -> Table:
        """The table with its variables recoded: by groups, by nodes of a tree, or to a level."""
        for variable, how in part.recode.items():
            if variable not in table.spec.by:
                raise ParameterError(f"{variable!r} is recoded but does not span table {table.name!r}.")
            tree = table.spec.by[variable]
            if isinstance(how, int) and not nodes_at(tree, how):
                self.note(f"The tree of {variable} ends at level {how} or before; nothing is recoded.")
                continue
            notes: list[str] = []
            codes, _ = read_how(tree, how if isinstance(how, int) else self.finder.input(how), notes)
            self.note(*notes)
            table = recode(table, variable, codes)
        return table

    def known(self, table: Table, part: RecipeTable) -> Table:
        """The table with what its a-priori files say; hints on costs are kept for the method."""
        for file in part.apriori:
            found = apply_apriori(
                table, self.finder.input(file.file), file.separator, ignore=file.ignore, expand=file.expand
            )
            self.hints += found.hints
            self.note(*found.notes)
            table = replace(found.table, assessment=table.assessment)
        return table.with_(assessment=None)

    def hinted(self, method: Chosen) -> Chosen:
        """The method with the costs that a-priori files state."""
        if not self.hints:
            return method
        if not isinstance(method, Suppress):
            self.note("Costs of a-priori files are for suppression; they change nothing here.")
            return method
        return replace(method, hints=(*method.hints, *self.hints))

    # ---- output -------------------------------------------------------------------------------------------

    def refuse_bad_places(self, folder: Path) -> None:
        """Files beside a release must not lie in it, nor take the place of a file that was read."""
        read = {self.finder.path(name) for name in self.finder.inputs}
        for part in self.finder.recipe.output.argus:
            path = self.finder.path(part.file)
            if path in read:
                raise OutputError(f"{part.file!r} is a file that the job reads.", hint="Choose another name.")
            if path == folder or folder in path.parents:
                raise OutputError(f"{part.file!r} would lie inside the release.", hint="Choose another place.")

    def write(self, release: Release, audit: Audit | None) -> tuple[Written, ...]:
        """Write the files that the recipe asks for besides the release."""
        return tuple(
            write_argus(
                release, self.finder.path(part.file), part.kind, table=part.table, options=part.options, audit=audit
            )
            for part in self.finder.recipe.output.argus
        )
