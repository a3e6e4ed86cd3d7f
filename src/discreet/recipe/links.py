"""Which of many tables share cells and must be protected together, from their metadata alone."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from discreet.errors import InputError, counted, listed
from discreet.files.argus.text import read_text_lines, wrong
from discreet.model.tableset import VariableEquation
from discreet.recipe.schema import HierarchyPart, Recipe

MOST_TABLES = 20_000
SPANNING = re.compile(r"spanning_(\d+)")


@dataclass(frozen=True)
class TableMetadata:
    """What a table is about: its spanning variables with the names of their hierarchies, its value, and for whom.

    ``family`` joins values that add up to each other; ``universes`` joins universes of which one holds the other.
    """

    name: str
    by: Mapping[str, str]
    value: str = ""
    universe: str = ""
    period: str = ""
    weight: str = ""
    family: str = ""
    universes: str = ""


@dataclass(frozen=True)
class Link:
    """Two tables that share cells, and which."""

    one: str
    other: str
    shared: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Clusters:
    """Groups of tables that must be protected together, and the links that make them."""

    groups: tuple[tuple[str, ...], ...]
    links: tuple[Link, ...] = field(default=())

    def summary(self) -> str:
        """The groups in words."""
        alone = [group[0] for group in self.groups if len(group) == 1]
        lines = []
        for number, group in enumerate((g for g in self.groups if len(g) > 1), start=1):
            lines.append(f"Cluster {number}: {', '.join(group)}")
            lines += [f"  {link.one} and {link.other}: {link.why}" for link in self.links if link.one in group]
        if alone:
            lines.append(f"Alone: {', '.join(alone)}")
        return "\n".join(lines)


def linked_clusters(tables: Iterable[TableMetadata], equations: Sequence[str] = ()) -> Clusters:
    """Groups of tables that share cells.

    Two tables are linked when they are about the same universe and period and the same value, or values that an
    equation joins. They share the cells of the spanning variables that they have in common, all others at their total;
    without any in common they share the grand total.

    Parameters
    ----------
    tables
        Metadata of the tables.
    equations
        Equations between values: ``"turnover = home + export"``.

    Examples
    --------
    >>> one = TableMetadata("one", {"nace": "", "region": ""}, "turnover")
    >>> two = TableMetadata("two", {"nace": ""}, "turnover")
    >>> three = TableMetadata("three", {"nace": ""}, "jobs")
    >>> linked_clusters([one, two, three]).groups
    (('one', 'two'), ('three',))
    """
    listing = list(tables)
    _check(listing)
    families = _families(listing, equations)
    buckets: dict[tuple[str, ...], list[TableMetadata]] = {}
    for table in listing:
        universe = f"any of {table.universes}" if table.universes else table.universe
        buckets.setdefault((universe, table.period, table.weight, families[table.value]), []).append(table)
    groups = {table.name: [table.name] for table in listing}
    links = []
    for mine in buckets.values():
        for one, other in combinations(mine, 2):
            links.append(_link(one, other))
        together = [table.name for table in mine]
        for name in together:
            groups[name] = together
    order = list(dict.fromkeys(tuple(groups[table.name]) for table in listing))
    return Clusters(tuple(order), tuple(links))


def _check(tables: Sequence[TableMetadata]) -> None:
    if not tables:
        raise InputError("There are no tables.", hint="Give a file with one table per line, recipes or batch files.")
    if len(tables) > MOST_TABLES:
        raise InputError(f"{counted(len(tables), 'table', 'are')} too many.", hint=f"Give at most {MOST_TABLES:,}.")
    names = [table.name for table in tables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"Table names must differ; used twice: {listed(twice)}.", hint="Give every table its own name."
        )


def _families(tables: Sequence[TableMetadata], equations: Sequence[str]) -> dict[str, str]:
    """For every value one that stands for all values that equations join it with."""
    first: dict[str, str] = {table.value: table.value for table in tables}

    def root(value: str) -> str:
        while first[value] != value:
            value = first[value]
        return value

    sets = [[name for name, _ in VariableEquation.parse(text).terms()] for text in equations]
    for family in {table.family for table in tables if table.family}:
        sets.append([table.value for table in tables if table.family == family])
    for names in sets:
        for name in names:
            first.setdefault(name, name)
            first[root(name)] = root(names[0])
    return {value: root(value) for value in first}


def _link(one: TableMetadata, other: TableMetadata) -> Link:
    shared = tuple(variable for variable in one.by if variable in other.by)
    what = f"share cells by {', '.join(shared)}" if shared else "share the grand total"
    differ = [v for v in shared if one.by[v] and other.by[v] and one.by[v] != other.by[v]]
    if differ:
        what += f" (codes of {', '.join(differ)} that mean the same in both hierarchies)"
    if one.value != other.value:
        what += f"; {one.value} and {other.value} are joined by an equation"
    if one.universe != other.universe:
        what += f"; {one.universe} and {other.universe} overlap"
    return Link(one.name, other.name, shared, what)


def tables_of_recipe(recipe: Recipe, prefix: str = "") -> list[TableMetadata]:
    """Metadata of the tables of a recipe."""
    found = []
    for part in recipe.tables:
        filters = [part.filter] if isinstance(part.filter, str) else part.filter or []
        trees = {v: _tree(recipe, v) for v in part.by}
        name = part.name or "_by_".join([part.value or "count", "_".join(part.by)])
        weight = part.weight if isinstance(part.weight, str) else "" if part.weight is None else "none"
        source = recipe.data.file or part.source or recipe.data.cells or ""
        universe = " and ".join([source, *sorted(filters)])
        found.append(TableMetadata(prefix + name, trees, part.value or "", universe, part.period, weight))
    return found


def _tree(recipe: Recipe, variable: str) -> str:
    part = recipe.hierarchies.get(variable, "")
    if isinstance(part, HierarchyPart):
        return part.file or ""
    return part if isinstance(part, str) else ""


def read_table_metadata(path: str | Path) -> list[TableMetadata]:
    """Read metadata of tables from a csv file, one table per line.

    Columns are ``table``, ``by`` (``nace|region``, each with ``=hierarchy`` where wanted) and any of ``value``,
    ``universe``, ``period`` and ``weight``; or those of rtauargus: ``table_name``, ``field``, ``hrc_field``,
    ``indicator``, ``hrc_indicator``, ``spanning_1``, ``hrc_spanning_1`` and so on.
    """
    path = Path(path)
    lines = read_text_lines(path, [])
    delimiter = ";" if lines[0].count(";") > lines[0].count(",") else ","
    rows = csv.reader(lines, delimiter=delimiter)
    found = []
    try:
        head = [name.strip() for name in next(rows)]
        known = {"table", "by", "value", "universe", "period", "weight"}
        foreign = {"table_name", "field", "hrc_field", "indicator", "hrc_indicator"}
        for name in head:
            plain = name.removeprefix("hrc_")
            if name not in known | foreign and not SPANNING.fullmatch(plain):
                raise wrong(path.name, 1, f"column {name}", f"columns {listed(sorted(known))} or those of rtauargus")
        for row in rows:
            if not any(field.strip() for field in row):
                continue
            if len(row) != len(head):
                raise wrong(path.name, rows.line_num, counted(len(row), "field"), f"{len(head)}, as the header has")
            fields = dict(zip(head, (field.strip() for field in row), strict=True))
            found.append(_described(path.name, rows.line_num, fields))
    except csv.Error as error:
        raise wrong(path.name, rows.line_num, str(error), "a line of a csv file") from None
    return found


def _described(file: str, line: int, fields: Mapping[str, str]) -> TableMetadata:
    if "table_name" in fields:
        by = {
            fields[name]: _nothing(fields.get(f"hrc_{name}", ""))
            for name in sorted((n for n in fields if SPANNING.fullmatch(n)), key=lambda n: int(n.split("_")[1]))
            if _nothing(fields[name])
        }
        table = TableMetadata(
            fields["table_name"],
            by,
            fields.get("indicator", ""),
            fields.get("field", ""),
            family=_nothing(fields.get("hrc_indicator", "")),
            universes=_nothing(fields.get("hrc_field", "")),
        )
    else:
        parts = [part.partition("=") for part in fields.get("by", "").split("|") if part.strip()]
        trees = {name.strip(): tree.strip() for name, _, tree in parts}
        options = {name: fields.get(name, "") for name in ("value", "universe", "period", "weight")}
        table = TableMetadata(fields.get("table", ""), trees, **options)
    if not table.name or not table.by:
        raise wrong(file, line, "a line without table or variables", "a name and at least one variable")
    return table


def _nothing(text: str) -> str:
    """An empty text where R writes NA."""
    return "" if text in ("NA", "F", "FALSE") else text
