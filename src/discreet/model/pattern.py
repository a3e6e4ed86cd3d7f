"""Patterns: which cells of which tables are withheld, in codes and statuses, without a single value."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, counted, listed, unknown_name
from discreet.model import doors
from discreet.model.arrays import Bools, Codes, Ints, Status
from discreet.model.display import text_of_columns
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table, cell_numbers
from discreet.model.tableset import TableSet, as_set

WORDS = {
    "published": CellStatus.SAFE,
    "unsafe": CellStatus.UNSAFE,
    "secondary": CellStatus.SECONDARY,
    "forced": CellStatus.FORCED,
}
"""What a pattern says of a cell. A forced cell is frozen: it must be published whatever else is withheld."""
NAMES = {int(status): word for word, status in WORDS.items()}
OWN_COLUMNS = ("table", "status", "pattern_status")
"""Columns of pattern files, which no variable of a pattern may be named after."""
SHOWN = 5


@dataclass(frozen=True, eq=False)
class PatternTable:
    """The cells of one table that a pattern speaks of.

    ``codes`` holds positions in ``code_lists``; an empty code stands for the variable's total. ``status`` is that of
    :data:`WORDS`. Cells that are not listed are published.
    """

    name: str
    variables: tuple[str, ...]
    code_lists: tuple[tuple[str, ...], ...]
    codes: Codes
    status: Status

    def __post_init__(self) -> None:
        for variable in self.variables:
            if variable in OWN_COLUMNS:
                raise ParameterError(
                    f"A variable of a pattern cannot be called {variable!r}: pattern files have a column of that name.",
                    hint="Rename the variable in the table or map the file's column to another name (columns=).",
                )

    def __len__(self) -> int:
        return len(self.status)

    @property
    def withheld(self) -> Bools:
        """Cells that the pattern withholds."""
        result: Bools = (self.status == CellStatus.UNSAFE) | (self.status == CellStatus.SECONDARY)
        return result

    def at(self, rows: Ints | Bools) -> PatternTable:
        """Some of the cells."""
        return replace(self, codes=self.codes[rows], status=self.status[rows])

    def cells(self) -> list[list[str]]:
        """Codes of every cell."""
        return [[codes[i] for codes, i in zip(self.code_lists, row, strict=True)] for row in self.codes.tolist()]

    def cell_name(self, row: int) -> str:
        """A cell in words: ``nace=C10, region=Total``."""
        codes = (codes[i] for codes, i in zip(self.code_lists, self.codes[row].tolist(), strict=True))
        return ", ".join(f"{variable}={code}" for variable, code in zip(self.variables, codes, strict=True))

    def refuse_twice(self) -> None:
        """Refuse a cell that stands in the pattern twice."""
        keys = cell_numbers(self.codes, [len(codes) for codes in self.code_lists])
        order = np.argsort(keys, kind="stable")
        again = np.flatnonzero(np.diff(keys[order]) == 0)
        if not len(again):
            return
        pairs = [(int(order[i]), int(order[i + 1])) for i in again.tolist()]
        clash = [(a, b) for a, b in pairs if self.status[a] != self.status[b]]
        where = f" in table {self.name!r}" if self.name else ""
        if clash:
            said = [f"{self.cell_name(a)} ({_word(self, a)} and {_word(self, b)})" for a, b in clash]
            raise InputError(
                f"The pattern contradicts itself{where}: {listed(said, SHOWN)}.",
                hint="Keep one line per cell, with the status that counts.",
            )
        raise InputError(
            f"{counted(len(pairs), 'cell', 'stand')} in the pattern twice{where}: "
            f"{listed([self.cell_name(a) for a, _ in pairs], SHOWN)}.",
            hint="Keep one line per cell; where the file holds several tables, name its table column (columns=).",
        )


def _word(part: PatternTable, row: int) -> str:
    return NAMES[int(part.status[row])]


class PatternOnTables(NamedTuple):
    """A pattern on tables: for every table the status that the pattern gives each row (0 where it is silent), and the
    cells of the pattern that the tables do not have."""

    status: tuple[Status, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Pattern:
    """Which cells are withheld, unsafe or frozen: codes and statuses of one or more tables, never a value.

    Made by ``release.pattern()``, ``table.pattern()`` or ``ds.read_pattern``; written by ``pattern.write``. Offices
    exchange patterns instead of tables; ``ds.repair`` audits one and completes it.

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> pattern = release.pattern()
    >>> pattern.cells(status="unsafe")
    [('retail', 'South')]
    """

    tables: tuple[PatternTable, ...]
    name: str = ""
    one_name: bool = False
    """Whether a cell that stands under several names is meant wherever it stands, though it is listed once."""

    def __post_init__(self) -> None:
        names = [part.name for part in self.tables]
        if not names or len(set(names)) < len(names):
            raise ParameterError("A pattern needs tables with different names.", hint="Name every table once.")

    def __len__(self) -> int:
        return sum(len(part) for part in self.tables)

    def cells(self, table: str | None = None, *, status: str | None = None) -> list[tuple[str, ...]]:
        """Codes of the cells of a table (the first by default), of one status where asked."""
        if status is not None and status not in WORDS:
            raise ParameterError(unknown_name("status", str(status), WORDS))
        part = self.tables[0] if table is None else next((t for t in self.tables if t.name == table), None)
        if part is None:
            raise ParameterError(unknown_name("table", str(table), [t.name for t in self.tables], "the pattern"))
        chosen = part if status is None else part.at(part.status == WORDS[status])
        return [tuple(codes) for codes in chosen.cells()]

    def count(self, status: str) -> int:
        """How many cells have a status: ``"published"``, ``"unsafe"``, ``"secondary"`` or ``"forced"``."""
        if status not in WORDS:
            raise ParameterError(unknown_name("status", str(status), WORDS))
        return sum(int((part.status == WORDS[status]).sum()) for part in self.tables)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the pattern says, in any order of lines and columns; published cells are no part of it."""
        lines = []
        for part in self.tables:
            said = part.at(part.status != CellStatus.SAFE)
            for codes, status in zip(said.cells(), said.status.tolist(), strict=True):
                pairs = sorted((v, c) for v, c in zip(part.variables, codes, strict=True) if c)
                lines.append(repr((part.name, pairs, NAMES[status])))
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()

    def renamed(self, names: Mapping[str, str]) -> Pattern:
        """The pattern with other table names: old to new."""
        for name in names:
            if name not in [part.name for part in self.tables]:
                raise ParameterError(unknown_name("table", name, [t.name for t in self.tables], "the pattern"))
        return replace(self, tables=tuple(replace(t, name=names.get(t.name, t.name)) for t in self.tables))

    def placed(self, tables: Table | TableSet) -> PatternOnTables:
        """Where the pattern's cells stand in tables; every cell that they do not have is named as unknown.

        Raises
        ------
        InputError
            When a table of the pattern is not there or has other variables.
        """
        whole = as_set(tables)
        status = [np.zeros(len(table), np.int8) for table in whole]
        unknown: list[str] = []
        for part in self.tables:
            number = self._home(part, whole)
            table = whole.tables[number]
            rows = rows_of(table, part.variables, part.code_lists, part.codes)
            label = f"{table.name}: " if len(whole) > 1 else ""
            unknown += [f"{label}{part.cell_name(i)}" for i in np.flatnonzero(rows < 0).tolist()]
            known = np.flatnonzero(rows >= 0)
            _refuse_same_row(part, rows, known)
            status[number][rows[known]] = part.status[known]
        return PatternOnTables(tuple(status), tuple(unknown))

    def _home(self, part: PatternTable, whole: TableSet) -> int:
        names = [table.name for table in whole]
        if part.name in names:
            return names.index(part.name)
        if not part.name and len(names) == len(self.tables) == 1:
            return 0
        raise InputError(
            unknown_name("table", part.name, names, "what the pattern is for")
            if part.name
            else f"The pattern does not say which of the tables it is for: {listed(names)}.",
            hint="Name its tables as yours: pattern.renamed({'theirs': 'ours'}), or read_pattern(..., table='ours').",
            recipe_hint='Give --table NAME, or tables = { "theirs" = "ours" } in [pattern] of the recipe.',
        )

    def columns(self, most: int | None = None) -> dict[str, list[Any]]:
        """Plain columns: table, one a variable (empty where a table does not have it), status."""
        variables = list(dict.fromkeys(v for part in self.tables for v in part.variables))
        result: dict[str, list[Any]] = {"table": [], **{v: [] for v in variables}, "status": []}
        for part in self.tables:
            room = None if most is None else max(most - len(result["table"]), 0)
            shown = part.at(np.arange(len(part))[:room])
            result["table"] += [part.name] * len(shown)
            for variable in variables:
                if variable in part.variables:
                    k = part.variables.index(variable)
                    result[variable] += [part.code_lists[k][i] for i in shown.codes[:, k].tolist()]
                else:
                    result[variable] += [""] * len(shown)
            result["status"] += [NAMES[s] for s in shown.status.tolist()]
        return result

    def write(self, path: str | Path, *, only_withheld: bool = False) -> None:
        """Write the pattern as csv: ``table``, one column per variable, ``pattern_status``. It holds no value.

        Which cells are unsafe is confidential, so that only the owner can read the file; an existing one stays.

        Parameters
        ----------
        path
            A file that does not exist yet.
        only_withheld
            Leave published cells out; forced ones stay. Reading gives the same pattern.

        Examples
        --------
        >>> import discreet as ds, tempfile
        >>> pattern = ds.examples.small_table().assess(ds.PPercent(10)).pattern()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pattern.write(f"{folder}/pattern.csv")
        ...     ds.read_pattern(f"{folder}/pattern.csv").digest == pattern.digest
        True
        """
        doors.write_pattern(self, path, only_withheld=only_withheld)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(word):,} {word}" for word in WORDS)
        head = f"Pattern {self.name}: {counted(len(self), 'cell')} ({counts})"
        return f"{head}\n{text_of_columns(self.columns(12), len(self), see='columns()')}"

    def _repr_html_(self) -> str:
        from discreet.model.pages import pattern_page

        return pattern_page(self)


def rows_of(table: Table, variables: Sequence[str], lists: Sequence[Sequence[str]], codes: Codes) -> Ints:
    """Rows of a table with the given codes, -1 where it has no such cell. An empty code stands for the total.

    Raises
    ------
    InputError
        When the variables are not those of the table. A variable that the table does not have may stand there
        without any code.
    """
    for k, variable in enumerate(variables):
        if variable not in table.spec.by and any(lists[k][i] for i in np.unique(codes[:, k]).tolist()):
            raise InputError(
                unknown_name("variable", variable, table.variables, f"table {table.name!r}"),
                hint="Map the columns to the table's variables (columns=), and leave out columns that are none.",
            )
    missing = [variable for variable in table.variables if variable not in variables]
    if missing:
        raise InputError(
            f"Variable {missing[0]!r} of table {table.name!r} is not among {listed(variables)}.",
            hint="Every cell is named by one code for each variable; map the columns to the variables (columns=).",
        )
    position = np.zeros((len(codes), len(table.variables)), np.int32)
    known = np.ones(len(codes), np.bool_)
    for j, (variable, hierarchy) in enumerate(table.spec.by.items()):
        k = list(variables).index(variable)
        total = -1 if hierarchy.total is None else hierarchy.index[hierarchy.total]
        of = np.array([hierarchy.index.get(c, -1) if c else total for c in lists[k]] or [-1], np.int32)
        position[:, j] = of[codes[:, k]]
        known &= position[:, j] >= 0
    rows = np.full(len(codes), -1, np.int64)
    rows[known] = table.find(position[known])
    return rows


def _refuse_same_row(part: PatternTable, rows: Ints, known: Ints) -> None:
    """Refuse two lines that turn out to be one cell, once with an empty code and once with the total's."""
    order = known[np.argsort(rows[known], kind="stable")]
    again = np.flatnonzero(np.diff(rows[order]) == 0)
    if len(again):
        raise InputError(
            f"Two lines of the pattern are the same cell: {part.cell_name(int(order[again[0]]))} and "
            f"{part.cell_name(int(order[again[0] + 1]))}.",
            hint="An empty code stands for the total; keep one line per cell.",
        )


def pattern_of(subject: Table | TableSet | Release, name: str = "") -> Pattern:
    """The pattern of a release, or of tables as they are: status of every cell that is not plainly empty.

    Parameters
    ----------
    subject
        A release, a table or a set.
    name
        Name of the pattern; by default the names of its tables.
    """
    if isinstance(subject, Release):
        whole, statuses = subject.custodian.tables, subject.custodian.status
    else:
        whole = as_set(subject)
        statuses = tuple(table.status for table in whole)
    parts = []
    for table, status in zip(whole, statuses, strict=True):
        rows = np.flatnonzero(status != CellStatus.EMPTY)
        lists = tuple(hierarchy.codes for hierarchy in table.spec.hierarchies)
        parts.append(PatternTable(table.name, table.variables, lists, table.codes[rows].copy(), status[rows].copy()))
    return Pattern(tuple(parts), name or ", ".join(part.name for part in parts))
