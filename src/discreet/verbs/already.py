"""What is already published: earlier releases, files of others and derived figures, found among the cells at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError, ParameterError, listed, unknown_name
from discreet.model.already import AlreadyPublished, EarlierTable, KnownCells, PublishedCells
from discreet.model.figure import Figure, Reference
from discreet.model.release import Release
from discreet.model.table import Table
from discreet.model.tableset import TableSet, VariableEquation
from discreet.relations.identity import cell_identities
from discreet.verbs.unseen import with_unseen

Item = Release | PublishedCells | Figure | str | Path
Items = Item | Iterable[Item] | Mapping[str, Item] | AlreadyPublished | None


def gather(tables: TableSet, items: Items) -> AlreadyPublished:
    """Everything that is already published, with its cells found in the tables, and unseen tables that they stand on.

    Parameters
    ----------
    tables
        The tables that are to be published.
    items
        Releases (or their folders), files of published cells and figures; a mapping gives releases names.

    Raises
    ------
    ParameterError
        When an item is none of these, or a figure names a cell that is not there or not the only one.
    InputError
        When a release is of another universe, or a file does not fit the tables.
    """
    if items is None or isinstance(items, AlreadyPublished):
        return with_unseen(tables, AlreadyPublished() if items is None else items)
    found = PublishedBefore(tables)
    named = list(items.items()) if isinstance(items, Mapping) else [("", item) for item in _several(items)]
    for name, item in named:
        found.take(name, item)
    return with_unseen(tables, found.gathered())


def _several(items: Any) -> list[Any]:
    single = isinstance(items, Release | PublishedCells | Figure | str | Path) or not isinstance(items, Iterable)
    return [items] if single else list(items)


@dataclass
class PublishedBefore:
    """What was found so far, with names that differ."""

    tables: TableSet
    earlier: list[EarlierTable] = field(default_factory=list)
    equations: list[VariableEquation] = field(default_factory=list)
    known: list[KnownCells] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    placed: list[Figure] = field(default_factory=list)
    releases: list[str] = field(default_factory=list)

    def take(self, name: str, item: Any) -> None:
        """Take in one item."""
        if isinstance(item, Figure):
            self.figures.append(item)
        elif isinstance(item, PublishedCells):
            from discreet.verbs.published_cells import known_cells  # few releases stand beside files of others

            self.known.append(known_cells(self.tables, item, name or item.name or f"file {len(self.known) + 1}"))
        elif isinstance(item, str | Path):
            folder = Path(item)
            if not (folder / "custodian").is_dir():
                raise InputError(
                    f"{folder.name!r} is not the folder of a saved release.",
                    hint="Give the folder that holds public/ and custodian/; a file of published cells goes into "
                    "ds.PublishedCells(file).",
                    recipe_hint="Give the folder that holds public/ and custodian/; a file of published cells is named "
                    'in [[already_published]] of the recipe: cells = "FILE".',
                )
            from discreet.verbs.load import load  # brings the whole checker, which few releases need here

            self.release(name or folder.resolve().name, load(folder))
        elif isinstance(item, Release):
            self.release(name or f"release {len(self.releases) + 1}", item)
        else:
            raise ParameterError(
                f"A {type(item).__name__} cannot be taken as already published.",
                hint="Give a release with its custodian part or the folder of one, ds.PublishedCells or ds.Figure.",
            )

    def release(self, name: str, release: Release) -> None:
        """Take in a release with all that it was itself certified with."""
        if release.custodian.published is not None:
            raise InputError(
                f"Release {name!r} publishes altered values, which cannot be considered together with others yet.",
                hint="Leave it out; the release then says that what was published before is not considered.",
            )
        name = _unused(name, self.releases)
        self.releases.append(name)
        custodian, names = release.custodian, {}
        for earlier in custodian.already.tables:
            if earlier.unseen:
                continue
            names[earlier.table.name] = self._table(earlier.release, earlier.original, earlier)
        for table, status in zip(custodian.tables, custodian.status, strict=True):
            names[table.name] = self._table(name, table.name, EarlierTable(name, table.name, table, status))
        self.equations += [*custodian.tables.equations, *custodian.already.equations]
        for known in custodian.already.known:
            self.known.append(replace(known, table=names[known.table]))
        for figure in custodian.already.figures:
            self.placed.append(figure.at(tuple((names[table], codes) for table, codes in figure.cells)))

    def _table(self, release: str, original: str, earlier: EarlierTable) -> str:
        """Take in an earlier table, unless it stands there already; the answer is its name in the joined set."""
        for other in self.earlier:
            if other.original == original and _alike(other, earlier):
                return other.table.name
        taken = [*(table.name for table in self.tables), *(other.table.name for other in self.earlier)]
        name = _unused(f"{release}: {original}", taken)
        table = earlier.table.with_(spec=earlier.table.spec.with_(name=name), source=None)
        self.earlier.append(EarlierTable(release, original, table, earlier.status))
        return name

    def gathered(self) -> AlreadyPublished:
        """All of it; tables of other universes are set apart unless a figure ties them to the others."""
        everything = AlreadyPublished(tuple(self.earlier)).joined(self.tables)
        placed = [*self.placed, *_placed(self.figures, everything, self.tables, self.earlier)]
        tied = {name for figure in placed for name, _ in figure.cells}
        universes = {table.spec.identity[1:] for table in self.tables}
        keep = [e for e in self.earlier if e.table.spec.identity[1:] in universes or e.table.name in tied]
        apart = [e for e in self.earlier if e not in keep]
        for release in self.releases:
            mine = [e for e in apart if e.release == release]
            if mine and not any(e.release == release for e in keep):
                raise _other_universe(release, mine[0].table, self.tables)
        names = {table.name for table in self.tables} | {e.table.name for e in keep}
        values = {table.spec.value for table in self.tables} | {e.table.spec.value for e in keep}
        equations = [e for e in dict.fromkeys(self.equations) if {v for v, _ in e.terms()} <= values]
        return AlreadyPublished(
            tuple(keep),
            tuple(equations),
            tuple(known for known in self.known if known.table in names),
            tuple(placed),
            tuple(f"release {e.release!r}, table {e.original!r}, which is of another universe" for e in apart),
        )


def _alike(one: EarlierTable, two: EarlierTable) -> bool:
    """Whether two tables say the same of the same cells: values, what was published, and what must stay hidden."""
    if one.digest != two.digest or not np.array_equal(one.status, two.status):
        return False
    if not np.array_equal(one.table.codes, two.table.codes) or not np.array_equal(one.table.value, two.table.value):
        return False
    found = [t.table.assessment for t in (one, two) if t.table.assessment is not None]
    levels = [(a.lower, a.upper, a.sliding) for a in found]
    return len(levels) == 2 and all(np.array_equal(a, b) for a, b in zip(*levels, strict=True))


def _unused(name: str, taken: Sequence[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name} ({number})", number + 1
    return candidate


def _other_universe(release: str, table: Table, tables: TableSet) -> InputError:
    return InputError(
        f"Release {release!r} is about {_universe(table)}, the tables are about "
        f"{listed(dict.fromkeys(_universe(t) for t in tables))}: they have no cell in common.",
        hint="Leave it out, or give the tables the same filter, period and weight if they are about the same units; "
        "a ds.Figure that names cells of both ties them together.",
    )


def _universe(table: Table) -> str:
    _, where, period, weight = table.spec.identity
    parts = [where or "all records", f"period {period}" if period else "", f"weight {weight}" if weight else ""]
    return ", ".join(part for part in parts if part)


# ---- figures ------------------------------------------------------------------------------------------------


def _placed(
    figures: Sequence[Figure], everything: TableSet, now: TableSet, earlier: Sequence[EarlierTable]
) -> list[Figure]:
    """Figures with the cells that they name."""
    if not figures:
        return []
    of, _ = cell_identities(everything)
    originals = {e.table.name: e.original for e in earlier}
    found = []
    for figure in figures:
        cells = [_meant(figure, reference, everything, of, originals, now) for reference in figure.references]
        found.append(figure.at(tuple(cells)))
    return found


def _meant(
    figure: Figure,
    reference: Reference,
    tables: TableSet,
    of: Sequence[Any],
    originals: Mapping[str, str],
    now: TableSet,
) -> tuple[str, tuple[str, ...]]:
    """The table and codes of a cell: in the table of that name, or wherever the variable of that name stands."""
    names = [{t.name, originals.get(t.name, ""), t.spec.value or "count"} for t in tables]
    if not any(reference.name in mine for mine in names):
        known = list(dict.fromkeys(name for mine in names for name in sorted(mine) if name))
        where = f"the figure '{figure.formula}'"
        raise ParameterError(unknown_name("table or value variable", reference.name, known, where))
    own = [table.name for table in now if table.name == reference.name and _codes(table, reference) is not None]
    choices: dict[int, tuple[str, tuple[str, ...]]] = {}
    for number, (table, mine) in enumerate(zip(tables, names, strict=True)):
        codes = _codes(table, reference) if reference.name in mine and (not own or table.name in own) else None
        if codes is None:
            continue
        position = [h.position(code) for h, code in zip(table.spec.hierarchies, codes, strict=True)]
        row = int(table.find(np.array([position], np.int32))[0])
        choices.setdefault(-1 - number if row < 0 else int(of[number][row]), (table.name, codes))
    if len(choices) == 1:
        return next(iter(choices.values()))
    held = [place for cell, place in choices.items() if cell >= 0]
    if not choices:
        problem, hint = "names no cell of the tables", "Check variables and codes; add the table to the set."
    elif not held:
        return next(iter(choices.values()))  # empty wherever it could stand
    else:
        problem = f"may mean cells of {listed(name for name, _ in choices.values())}"
        hint = "Write the name of the table instead of the variable, or add period= to the brackets."
    raise ParameterError(f"{reference} in the figure '{figure.formula}' {problem}.", hint=hint)


def _codes(table: Table, reference: Reference) -> tuple[str, ...] | None:
    """The codes of a cell in a table, or ``None`` where the table cannot hold it."""
    wanted = dict(reference.codes)
    if "period" not in table.spec.by and wanted.pop("period", table.spec.period) != table.spec.period:
        return None
    if not set(wanted) <= set(table.variables):
        return None
    codes = [wanted.get(variable, hierarchy.total) for variable, hierarchy in table.spec.by.items()]
    good = all(code in h.index for code, h in zip(codes, table.spec.hierarchies, strict=True) if code is not None)
    return tuple(code for code in codes if code is not None) if good and None not in codes else None
