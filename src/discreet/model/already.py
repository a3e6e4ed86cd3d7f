"""What is already out: earlier releases, files of others, and figures derived from cells."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ParameterError, counted
from discreet.model.arrays import Bools, Ints, Status
from discreet.model.figure import Figure
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, VariableEquation

LETTERS = 16
"""So many letters of a digest tell known cells apart."""


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """A file or frame of cells that somebody has published.

    Parameters
    ----------
    source
        Data frame, or path of a csv or Parquet file.
    table
        Name of the table whose cells they are; may be left out where there is one table only.
    value
        Column of the values.
    columns
        Variable to column, for code columns that are named otherwise. Variables without a column stand at their total.
    withheld
        What stands in the value column where a cell is withheld, besides nothing.
    decimals
        Decimals that the values are rounded to; the most that any of them shows when left out.
    name
        How the claim names it; the file's name when left out.
    ignore_unknown
        Leave cells aside that the table does not hold; the claim then says how many.
    delimiter
        Separator of a csv file.

    Examples
    --------
    Last month's release had the cells of the south; what is withheld now must hold beside them:

    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> south = pa.table({"trade": ["food", "crafts"], "region": ["South", "South"], "value": [150, 70]})
    >>> out = ds.PublishedCells(south)
    >>> release = ds.protect(table, ds.Suppress(), already_published=out)
    >>> release.verify().holds, release.pattern().count("secondary")
    (True, 3)
    """

    source: Any
    table: str | None = None
    value: str = "value"
    columns: Mapping[str, str] | None = None
    withheld: tuple[str, ...] = ("x", "X", "c", "C", ".", ":", "-", "*")
    decimals: int | None = None
    name: str = ""
    ignore_unknown: bool = False
    delimiter: str = ","


@dataclass(frozen=True, eq=False)
class EarlierTable:
    """A table of an earlier release: ``original`` is its name there, ``status`` what became of its cells.

    Without a release it is a table that nobody publishes and published ones stand on: all of its cells are withheld.
    """

    release: str
    original: str
    table: Table
    status: Status

    @property
    def unseen(self) -> bool:
        """Whether nobody publishes it."""
        return not self.release

    @property
    def published(self) -> Bools:
        """Cells that were published."""
        result: Bools = (self.status != CellStatus.UNSAFE) & (self.status != CellStatus.SECONDARY)
        return result

    @property
    def digest(self) -> str:
        """A fingerprint of the table and of its published cells."""
        return known_digest(self.table, np.flatnonzero(self.published))

    def __str__(self) -> str:
        known = f"{int(self.published.sum()):,} of {counted(len(self.table), 'cell')} published"
        return f"release {self.release!r}, table {self.original!r}: {known} (fingerprint {self.digest})"


@dataclass(frozen=True, eq=False)
class KnownCells:
    """Cells that a file of others publishes: rows of a table of the release, or of an earlier one."""

    source: str
    table: str
    rows: Ints
    fingerprint: str
    ignored: int = 0

    def __str__(self) -> str:
        many = counted(len(self.rows), f"cell of table {self.table!r}")
        return f"file {self.source!r}: {many} (fingerprint {self.fingerprint})"


@dataclass(frozen=True, eq=False)
class AlreadyPublished:
    """Everything that is out besides a release, found and named.

    Parameters
    ----------
    tables
        Tables of earlier releases, with values for the custodian's eyes.
    equations
        Equations between variables that earlier releases state.
    known
        Cells that files of others publish.
    figures
        Derived figures, with their cells found.
    set_apart
        Tables of earlier releases that describe another universe, in words.
    """

    tables: tuple[EarlierTable, ...] = ()
    equations: tuple[VariableEquation, ...] = ()
    known: tuple[KnownCells, ...] = ()
    figures: tuple[Figure, ...] = ()
    set_apart: tuple[str, ...] = ()

    def joined(self, tables: TableSet) -> TableSet:
        """A set of tables together with the earlier ones, which stand behind them."""
        if not self.tables:
            return tables
        whole = [*tables, *(earlier.table for earlier in self.tables)]
        equations = dict.fromkeys((*tables.equations, *self.equations))
        return TableSet(whole, tuple(equations), tables.one_pattern)

    def together_with(self) -> tuple[str, ...]:
        """What a claim is made together with, in words."""
        seen = (earlier for earlier in self.tables if not earlier.unseen)
        return tuple(str(item) for item in (*seen, *self.known, *self.figures))

    def left_out(self) -> tuple[str, ...]:
        """What was given and could not be considered, in words."""
        ignored = [
            f"{counted(known.ignored, 'cell')} of file {known.source!r} that the tables do not hold"
            for known in self.known
            if known.ignored
        ]
        return (*self.set_apart, *ignored)

    def published_rows(self, tables: TableSet) -> list[tuple[str, int, Ints]]:
        """Rows that are known from before: who published them, number of the table in the joined set, rows."""
        names = {table.name: number for number, table in enumerate(self.joined(tables))}
        found = [
            (f"release {earlier.release!r}", names[earlier.table.name], np.flatnonzero(earlier.published))
            for earlier in self.tables
        ]
        for known in self.known:
            if known.table not in names:
                raise ParameterError(
                    f"Cells of table {known.table!r} are said to be known, but there is no such table."
                )
            found.append((f"file {known.source!r}", names[known.table], known.rows))
        return found


def known_digest(table: Table, rows: Ints) -> str:
    """A fingerprint of some cells of a table with their values."""
    digest = hashlib.sha256(repr((table.spec.identity, table.decimals, len(table))).encode())
    for variable, hierarchy in table.spec.by.items():
        digest.update(repr((variable, hierarchy.codes)).encode())
    digest.update(np.ascontiguousarray(table.codes[rows], "<i4").tobytes())
    digest.update(np.ascontiguousarray(table.value[rows], "<i8").tobytes())
    return digest.hexdigest()[:LETTERS]
