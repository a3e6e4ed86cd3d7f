"""A-priori files of ARGUS on assessed tables: statuses, costs, levels and bounds of single cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError, NeedsError
from discreet.files.argus.apriori import FROM, Apriori, read_apriori
from discreet.files.argus.text import wrong, wrong_data
from discreet.model.arrays import NO_LOWER, NO_UPPER, Ints
from discreet.model.table import DECLARED_SAFE, CellStatus, Table
from discreet.model.units import units_up

SAFE, SAFE_BY_HAND, RULE, REQUEST, FREQUENCY, ZERO = 1, 2, 3, 4, 5, 6
BY_HAND, PROTECTED, SECONDARY, SECONDARY_BY_HAND, EMPTY = 9, 10, 11, 12, 14
"""Statuses as τ-ARGUS numbers them."""
NUMBER_OF_RULE = {
    "request": REQUEST,
    "min_contributors": FREQUENCY,
    "min_frequency": FREQUENCY,
    "zero_unsafe": ZERO,
}
"""Rules that are not here (dominance, p%, ...) have number 3."""


@dataclass(frozen=True, eq=False)
class Known:
    """A table with what an a-priori file says of it, hints on costs for ``Suppress``, and what the log should say."""

    table: Table
    hints: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = field(default=())


def status_numbers(table: Table, final: Any = None) -> Ints:
    """The status of every cell as τ-ARGUS numbers it; ``final`` are statuses after protection.

    The first test that a cell fails names its status: concentration, request, frequency, zero.
    """
    result = np.full(len(table), SAFE, np.int64)
    found = table.assessment
    status = table.status if final is None else np.asarray(final)
    if found is not None:
        for bit in reversed(range(len(found.rules))):
            number = NUMBER_OF_RULE.get(str(found.rules[bit]["kind"]), RULE)
            hit = (found.hits >> bit & 1).astype(np.bool_)
            # Rules are looked at in the order of the numbers, whatever order they were given in.
            result = np.where(hit & ((result == SAFE) | (number < result)), number, result)
    unsafe = status == CellStatus.UNSAFE
    result = np.where(unsafe & (result == SAFE), BY_HAND, result)
    result = np.where((status == CellStatus.SAFE) | (status == CellStatus.SECONDARY), SAFE, result)
    result = np.where(status == CellStatus.FORCED, PROTECTED, result)
    marks = np.zeros(len(table), np.int8) if table.manual is None else table.manual
    result = np.where((marks == DECLARED_SAFE) & (status == CellStatus.SAFE), SAFE_BY_HAND, result)
    given = (marks == CellStatus.SECONDARY) | (marks == DECLARED_SAFE)
    result = np.where(status == CellStatus.SECONDARY, np.where(given, SECONDARY_BY_HAND, SECONDARY), result)
    return np.where(status == CellStatus.EMPTY, EMPTY, result)


def apply_apriori(
    table: Table, path: str | Path, separator: str = ",", *, ignore: bool = False, expand: bool = False
) -> Known:
    """Apply an a-priori file to a table that has been assessed; the result must be assessed again.

    Parameters
    ----------
    table
        An assessed table: which statuses may change depends on what the rules found.
    path, separator
        The file.
    ignore
        Leave lines out that cannot be read, name no cell or are not allowed; the notes name them.
    expand
        Cells that are the same under another code (trivial levels) get the same.

    Notes
    -----
    A cell that a rule finds unsafe and the file calls safe (``S``) is safe by hand, as in the program: it is published
    or withheld for others, its level does not count, and the officer answers for it. The notes and every verdict say
    so. Given levels (``PL``) count where they are larger than those of the rules.

    Examples
    --------
    >>> import discreet as ds, tempfile
    >>> from pathlib import Path
    >>> rule = ds.PPercent(10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "known.hst")
    ...     size = file.write_text("food,North,U")
    ...     known = ds.apply_apriori(ds.examples.small_table().assess(rule), file)
    >>> int(known.table.assess(rule).unsafe.sum())
    2
    """
    if table.assessment is None:
        raise NeedsError(f"Table {table.name!r} has not been assessed.", hint="Call table.assess(rules) first.")
    notes: list[str] = []
    entries = read_apriori(path, len(table.variables), separator, ignore=ignore, notes=notes)
    work = _EditedTable(table, Path(path).name)
    found, levels = work.find(entries), work.levels(entries)
    for number, entry in enumerate(entries):
        try:
            row = int(found[number])
            if row < 0 or table.empty[row]:
                raise work.not_there(entry)
            work.apply(entry, work.same(row) if expand else [row], levels[number])
        except InputError as error:
            if not ignore:
                raise
            notes.append(f"left out: {error.message}")
    return Known(work.result(), tuple(work.hints), (*notes, *work.notes))


class _EditedTable:
    """A table whose columns change entry by entry."""

    def __init__(self, table: Table, file: str) -> None:
        self.table, self.file = table, file
        size = len(table)
        self.number = status_numbers(table)
        self.found = status_numbers(table.with_(manual=None))
        self.manual = np.zeros(size, np.int8) if table.manual is None else table.manual.copy()
        self.lower, self.upper = (
            np.zeros(size, np.int64) if column is None else column.copy()
            for column in (table.manual_lower, table.manual_upper)
        )
        self.low, self.high = (
            np.full(size, nothing, np.int64) if column is None else column.copy()
            for column, nothing in ((table.lower_bound, NO_LOWER), (table.upper_bound, NO_UPPER))
        )
        self.hints: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.places = [self._places(k) for k in range(len(table.variables))]
        self.alike: dict[tuple[int, ...], list[int]] | None = None

    def _places(self, k: int) -> dict[str, list[int]]:
        places: dict[str, list[int]] = defaultdict(list)
        tree = self.table.spec.hierarchies[k]
        for position, code in enumerate(tree.codes):
            places[code.strip()].append(position)
        if tree.total is not None:
            places[""] = [tree.position(tree.total)]
        return places

    def find(self, entries: Sequence[Apriori]) -> Ints:
        """Row of the cell that each entry names, -1 where there is none."""
        positions = np.zeros((len(entries), len(self.table.variables)), np.int32)
        for k, places in enumerate(self.places):
            one = {code: found[0] if len(found) == 1 else -1 for code, found in places.items()}
            positions[:, k] = [one.get(entry.codes[k].strip(), -1) for entry in entries]
        known = (positions >= 0).all(axis=1)
        rows = np.full(len(entries), -1, np.int64)
        rows[known] = self.table.find(positions[known])
        return rows

    def levels(self, entries: Sequence[Apriori]) -> Ints:
        """Levels (PL) in units, rounded up; zero for other entries."""
        values = np.array([entry.values if entry.action == "PL" else (0.0, 0.0) for entry in entries], np.float64)
        flat = units_up(values.ravel(), self.table.decimals, "PL")
        return flat.reshape(-1, 2)

    def not_there(self, entry: Apriori) -> InputError:
        """Error for an entry that names no cell: which of its codes is unknown, or that the cell is empty."""
        for code, variable, places in zip(entry.codes, self.table.variables, self.places, strict=True):
            found = places.get(code.strip(), [])
            if len(found) != 1:
                many = "two codes of it differ by blanks only" if found else "a code of it, or nothing for the total"
                return wrong(self.file, entry.line, f"code {code} of {variable}", many)
        return wrong(self.file, entry.line, "a cell that is empty", "a cell of the table with a value")

    def same(self, row: int) -> list[int]:
        """Rows of all cells that sum the same."""
        trees = self.table.spec.hierarchies
        if self.alike is None:
            self.alike = defaultdict(list)
            keys = np.column_stack([tree.same_as[self.table.codes[:, k]] for k, tree in enumerate(trees)])
            for number, key in enumerate(keys.tolist()):
                self.alike[tuple(key)].append(number)
        mine = tuple(int(tree.same_as[self.table.codes[row, k]]) for k, tree in enumerate(trees))
        return self.alike[mine]

    def apply(self, entry: Apriori, rows: list[int], levels: Ints) -> None:
        """Do what an entry says to some rows; ``levels`` are those that it gives."""
        for row in rows:
            if entry.action in FROM:
                self._status(entry, row)
            elif entry.action in ("C", "W"):
                codes = list(self.table.spec_codes(self.table.codes[row].tolist()))
                self.hints.append({"table": self.table.name, "cell": codes, "cost": entry.values[0]})
            elif entry.action == "PL":
                self.lower[row], self.upper[row] = levels
            else:
                self._bounds(entry, row)

    def _status(self, entry: Apriori, row: int) -> None:
        allowed = FROM[entry.action]
        if int(self.number[row]) not in allowed:
            raise wrong(
                self.file, entry.line, f"{entry.action} for a cell of status {int(self.number[row])}",
                f"a cell of status {allowed.start} to {allowed.stop - 1}",
            )  # fmt: skip
        if entry.action == "S":
            broken = RULE <= self.found[row] < BY_HAND
            self.manual[row] = DECLARED_SAFE if broken else CellStatus.EMPTY
            self.number[row] = SAFE_BY_HAND
            if broken:
                name = self.table.cell_name(row)
                self.notes.append(f"{self.file}, line {entry.line}: {name} breaks a rule and is declared safe (S).")
            return
        mark, number = {
            "U": (CellStatus.UNSAFE, BY_HAND),
            "P": (CellStatus.FORCED, PROTECTED),
            "M": (CellStatus.SECONDARY, SECONDARY_BY_HAND),
            "ML": (CellStatus.SECONDARY, SECONDARY_BY_HAND),
        }[entry.action]
        self.manual[row], self.number[row] = mark, number

    def _bounds(self, entry: Apriori, row: int) -> None:
        low = units_up(np.array(entry.values[:1]), self.table.decimals, "AB")[0]
        high = -units_up(-np.array(entry.values[1:]), self.table.decimals, "AB")[0]
        if not low <= self.table.value[row] <= high:
            raise wrong_data(self.file, entry.line, "AB", "bounds beside the value", "bounds that hold the value")
        self.low[row], self.high[row] = low, high

    def result(self) -> Table:
        return self.table.with_(
            assessment=None,
            manual=self.manual,
            manual_lower=self.lower,
            manual_upper=self.upper,
            lower_bound=self.low if (self.low != NO_LOWER).any() else None,
            upper_bound=self.high if (self.high != NO_UPPER).any() else None,
        )
