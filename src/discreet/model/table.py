"""Tables: columns of cells, exact to the last unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from functools import cached_property
from math import isfinite, prod
from typing import Any, SupportsIndex

import numpy as np

from discreet.errors import InputError, ParameterError, counted, unknown_name
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints, Status
from discreet.model.spec import TableSpec
from discreet.model.table_verbs import TableVerbs
from discreet.model.units import from_units, rounded_up, unit_text


class CellStatus(IntEnum):
    """What a cell is; the letters are those of the custodian's files."""

    EMPTY = 0
    SAFE = 1
    UNSAFE = 2
    SECONDARY = 3
    FORCED = 4

    @property
    def letter(self) -> str:
        """The letter in the custodian's files."""
        return "EVUMP"[self]

    @classmethod
    def from_letter(cls, letter: str) -> CellStatus:
        """Status of a letter; ``S`` is read as ``V``."""
        position = "EVUMP".find("V" if letter.upper() == "S" else letter.upper())
        if position < 0 or len(letter) != 1:
            raise InputError(
                f"Status {letter!r} is not known.",
                hint="Use V (or S) safe, U unsafe, M secondary, P forced published, E empty.",
            )
        return cls(position)


NOT_JUDGED = "?"
"""The letter of cells of which no rule has said anything yet."""
DECLARED_SAFE = 5
"""A mark by hand: the rules do not count for a cell. It is published, or withheld for others, and verdicts name it."""


@dataclass(frozen=True, eq=False)
class Contributions:
    """What the rules may look at, per cell, for one kind of contributor (holding or record).

    ``top`` holds the largest contributions, largest first, in units of the shadow variable; with sampling
    weights a contribution of weight 4 stands there four times. ``total`` is the cell's sum of the same variable.
    ``nonzero`` is how many of the contributors change the cell's value. With sampling weights, ``own`` holds the
    largest contributions once each and ``own_total`` their sum without weights, in the same units.
    """

    count: Ints
    total: Ints
    top: Ints
    negative: Bools
    unwaived: Ints | None = None
    requested: Ints | None = None
    nonzero: Ints | None = None
    own: Ints | None = None
    own_total: Ints | None = None

    def at(self, rows: Ints | Bools | slice) -> Contributions:
        """The same for some cells only."""
        return Contributions(*(None if a is None else a[rows] for a in self.columns))  # type: ignore[arg-type]

    @property
    def columns(self) -> tuple[Any, ...]:
        """All columns, in the order of the fields."""
        return tuple(getattr(self, one.name) for one in fields(self))


HOLDERS = 3
"""How many of its largest contributors a cell names."""
NOBODY = -1


@dataclass(frozen=True, eq=False)
class Holders:
    """Who is in each cell: what a contributor knows of it.

    ``count`` is the number of contributors; ``identity`` and ``amount`` the largest of them by the absolute amount,
    -1 and 0 where there are fewer. Amounts are in units of the cell's value, with the sampling weight. An identity
    stands for the same contributor in all tables.
    """

    count: Ints
    identity: Ints
    amount: Ints

    def at(self, rows: Ints | Bools | slice) -> Holders:
        """The same for some cells only."""
        return Holders(self.count[rows], self.identity[rows], self.amount[rows])


@dataclass(frozen=True, eq=False)
class Assessment:
    """Which cells are unsafe under which rules, and how far each must stay hidden.

    ``rules`` are plain records (kind and parameters); bit ``i`` of ``hits`` says that rule ``i`` was broken.
    Levels are distances from the value, in units. ``on_weights`` and ``on_zeros`` are cells that are safe only because
    a contribution counts as often as it weighs, or because contributors count who have nothing.
    """

    rules: tuple[Mapping[str, Any], ...]
    profile: str
    options: Mapping[str, Any]
    unsafe: Bools
    hits: Ints
    lower: Ints
    upper: Ints
    sliding: Ints
    on_weights: Bools | None = None
    on_zeros: Bools | None = None

    def resting(self) -> list[str]:
        """What safe cells rest on besides their contributors, in words."""
        said = []
        for mask, what, without in (
            (self.on_weights, "weights", "without sampling weights they would break a rule"),
            (self.on_zeros, "zeros", "counting only who has something, they would break a rule"),
        ):
            if mask is not None and mask.any():
                said.append(f"{counted(int(mask.sum()), 'safe cell', 'rest')} on {what}: {without}")
        return said


@dataclass(frozen=True, eq=False)
class Table(TableVerbs):
    """Cells by code, with everything that rules and methods need.

    Made by ``ds.tabulate`` from records or by ``ds.Table.from_cells`` from a ready-made table. Cells stand in
    the canonical order of their codes. ``value`` holds integers in units of ``10 ** -decimals``. ``slack`` is how
    far a relation may be from adding up, in units; -1 stands for half a unit for each of its cells. ``came_as`` is the
    package of the data frame that ready-made cells came in.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table()
    >>> len(table), table.variables, table.cell_name(7)
    (16, ('trade', 'region'), 'trade=retail, region=South')
    """

    spec: TableSpec
    codes: Codes
    value: Ints
    decimals: int
    empty: Bools
    shadow_decimals: int = 0
    contributions: Mapping[str, Contributions] = field(default_factory=dict)
    holders: Holders | None = None
    records: Ints | None = None
    nonzero: Ints | None = None
    weighted: Ints | None = None
    weight_decimals: int = 0
    key_sum: Ints | None = None
    key_modulus: int = 0
    manual: Status | None = None
    manual_lower: Ints | None = None
    manual_upper: Ints | None = None
    lower_bound: Ints | None = None
    upper_bound: Ints | None = None
    cost: Floats | None = None
    slack: int | None = None
    assessment: Assessment | None = None
    from_records: bool = True
    notes: tuple[str, ...] = ()
    source: Any = field(default=None, repr=False)
    came_as: str = field(default="", repr=False)

    # ---- identity and look-up -----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.value)

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.spec.name

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables that span the table."""
        return self.spec.variables

    @cached_property
    def keys(self) -> Ints:
        """One number per cell, in canonical order."""
        return cell_numbers(self.codes, self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each variable."""
        return tuple(len(hierarchy) for hierarchy in self.spec.hierarchies)

    def find(self, codes: Codes) -> Ints:
        """Row of each code tuple, -1 where the table has no such cell."""
        wanted = cell_numbers(codes, self.shape)
        if not len(self):
            return np.full(len(wanted), -1, np.int64)
        rows = np.minimum(np.searchsorted(self.keys, wanted), len(self) - 1)
        return np.where(self.keys[rows] == wanted, rows, -1)

    def row(self, **codes: str) -> int:
        """Row of the cell with these codes; variables left out stand at their total."""
        for variable in codes:
            if variable not in self.spec.by:
                raise ParameterError(unknown_name("variable", variable, self.variables, f"table {self.name!r}"))
        position = []
        for variable, hierarchy in self.spec.by.items():
            code = codes.get(variable, hierarchy.total)
            if code is None:
                raise ParameterError(f"Variable {variable!r} has no total; name one of its codes.")
            position.append(hierarchy.position(code))
        row = int(self.find(np.array([position], dtype=np.int32))[0])
        if row < 0:
            raise InputError(f"Table {self.name!r} has no cell {self.spec_codes(position)}: it is empty.")
        return row

    def spec_codes(self, position: Sequence[int]) -> tuple[str, ...]:
        """Codes at the given positions of the hierarchies."""
        return tuple(h.codes[int(i)] for h, i in zip(self.spec.hierarchies, position, strict=True))

    def cell_name(self, row: SupportsIndex) -> str:
        """A cell in words: ``nace=C10, region=Total``."""
        codes = self.spec_codes(self.codes[row].tolist())
        return ", ".join(f"{variable}={code}" for variable, code in zip(self.variables, codes, strict=True))

    # ---- what a cell is -----------------------------------------------------------------------------------

    @property
    def values(self) -> Floats:
        """Cell values as floating-point numbers."""
        return from_units(self.value, self.decimals)

    @cached_property
    def status(self) -> Status:
        """Status of every cell: what the rules said, and before that what was set by hand.

        A given pattern (secondary cells) does not make an unsafe cell any safer.
        """
        result = np.where(self.empty, CellStatus.EMPTY, CellStatus.SAFE).astype(np.int8)
        if self.assessment is not None:
            result[self.assessment.unsafe] = CellStatus.UNSAFE
        if self.manual is not None:
            result[(self.manual == DECLARED_SAFE) & (result == CellStatus.UNSAFE)] = CellStatus.SAFE
            forced = np.isin(self.manual, (CellStatus.UNSAFE, CellStatus.FORCED))
            forced |= (self.manual == CellStatus.SECONDARY) & (result == CellStatus.SAFE)
            result[forced] = self.manual[forced]
        return result

    @property
    def judged(self) -> bool:
        """Whether anything says which cells are unsafe: a rule, or statuses given by hand (assessed tables only)."""
        if self.assessment is None:
            return False
        by_hand = self.manual is not None and bool(np.any(self.manual != 0))
        return bool(self.assessment.rules) or by_hand

    @property
    def unsafe(self) -> Bools:
        """Cells that may not be published."""
        result: Bools = self.status == int(CellStatus.UNSAFE)  # numpy takes long to look into enumerations
        return result

    def attacker_bounds(self) -> tuple[Ints, Ints]:
        """What everybody knows of each cell before publication: at least, at most.

        Given bounds count; where none are given, each cell is known not to be below zero unless it has a negative
        contribution, is negative itself, or is a difference. A cell that only subtracts is known not to be above zero.
        """
        lower, upper = self._natural_bounds()
        if self.lower_bound is not None:
            given = self.lower_bound > NO_LOWER
            lower[given] = self.lower_bound[given]
        if self.upper_bound is not None:
            upper = np.minimum(upper, self.upper_bound)
        return lower, upper

    def _natural_bounds(self) -> tuple[Ints, Ints]:
        """Zero as the floor or ceiling of each cell, as far as its own codes and contributions allow."""
        adds, takes = self.value >= 0, np.zeros(len(self), np.bool_)
        found = self._contributions_to_value()
        if found is not None:
            adds &= ~found.negative
        directions = [hierarchy.direction for hierarchy in self.spec.hierarchies]
        if any((direction < 1).any() for direction in directions):
            way = np.ones(len(self), np.int8)
            for k, direction in enumerate(directions):
                way *= direction[self.codes[:, k]]
            takes = (way < 0) & (self.value <= 0)
            if found is not None and not self.spec.absolute:
                takes &= ~(found.top > 0).any(axis=1)
            adds &= way > 0
        return np.where(adds, np.int64(0), NO_LOWER), np.where(takes, np.int64(0), NO_UPPER)

    def without_negative(self) -> Bools:
        """Cells that are known to have no negative contribution.

        Ready-made tables, and those whose rules look at a shadow variable, tell it of all cells or of none.
        """
        known: Bools = self._natural_bounds()[0] >= 0
        if self.spec.shadow is None and self.from_records:
            return known
        return known & (not bool((self.value < 0).any()))

    def _contributions_to_value(self) -> Contributions | None:
        """Contributions to the value itself, of holdings where they are known; a shadow's say nothing of it."""
        if self.spec.shadow is not None:
            return None
        return self.contributions.get("holding", self.contributions.get("record"))

    def with_(self, **changes: Any) -> Table:
        """The same table with some columns changed."""
        return replace(self, **changes)

    def marked(
        self,
        cells: Mapping[tuple[str, ...], str],
        *,
        protection: tuple[float, float] | None = None,
    ) -> Table:
        """Set the status of cells by hand.

        Parameters
        ----------
        cells
            Codes in the order of the variables, to ``"U"`` (unsafe), ``"P"`` (publish in any case) or ``"V"``
            (leave it to the rules again).
        protection
            Lower and upper protection level of the cells marked unsafe, as distances from the value.
        """
        if self.assessment is not None:
            raise ParameterError(
                f"Table {self.name!r} is assessed already, and marks would not count.",
                hint="Mark cells first, then call assess(rules).",
            )
        if protection is not None and not all(isfinite(level) and level >= 0 for level in protection):
            raise ParameterError(
                f"protection={protection!r} is not allowed.",
                hint="Give two distances from the value, below and above it; neither can be negative.",
            )
        manual = np.zeros(len(self), np.int8) if self.manual is None else self.manual.copy()
        lower = np.zeros(len(self), np.int64) if self.manual_lower is None else self.manual_lower.copy()
        upper = np.zeros(len(self), np.int64) if self.manual_upper is None else self.manual_upper.copy()
        for codes, letter in cells.items():
            if len(codes) != len(self.variables):
                raise ParameterError(
                    f"A cell of table {self.name!r} has {counted(len(self.variables), 'code')}, {codes!r} has "
                    f"{len(codes)}."
                )
            row = self.row(**dict(zip(self.variables, codes, strict=True)))
            status = CellStatus.from_letter(letter)
            if status in (CellStatus.EMPTY, CellStatus.SECONDARY):
                raise ParameterError(f"Cells cannot be marked {letter!r} by hand.", hint="Use 'U', 'P' or 'V'.")
            manual[row] = 0 if status == CellStatus.SAFE else status
            if protection is not None and status == CellStatus.UNSAFE:
                lower[row], upper[row] = (rounded_up(level, self.decimals) for level in protection)
        return self.with_(manual=manual, manual_lower=lower, manual_upper=upper)

    # ---- showing ------------------------------------------------------------------------------------------

    def columns(self) -> dict[str, list[Any]]:
        """Cells as plain columns: codes, value, contributors, status, levels."""
        result: dict[str, list[Any]] = {}
        for k, (variable, hierarchy) in enumerate(self.spec.by.items()):
            result[variable] = [hierarchy.codes[i] for i in self.codes[:, k].tolist()]
        result["value"] = [unit_number(v, self.decimals) for v in self.value.tolist()]
        main = self.contributions.get("holding")
        if main is not None:
            result["contributors"] = main.count.tolist()
        letters = [status.letter for status in CellStatus]
        if self.assessment is None:
            letters[CellStatus.SAFE] = NOT_JUDGED
        result["status"] = [letters[s] for s in self.status.tolist()]
        if self.assessment is not None:
            result["lower_protection"] = [unit_number(v, self.decimals) for v in self.assessment.lower.tolist()]
            result["upper_protection"] = [unit_number(v, self.decimals) for v in self.assessment.upper.tolist()]
        return result

    def view(self, **codes: str | Sequence[str]) -> Table:
        """The cells with the given codes: ``table.view(region="North")``."""
        keep = np.ones(len(self), dtype=np.bool_)
        for variable, wanted in codes.items():
            if variable not in self.spec.by:
                raise ParameterError(unknown_name("variable", variable, self.variables, f"table {self.name!r}"))
            hierarchy = self.spec.by[variable]
            several = list(wanted) if isinstance(wanted, Iterable) and not isinstance(wanted, str) else [wanted]
            keep &= np.isin(
                self.codes[:, self.variables.index(variable)], [hierarchy.position(code) for code in several]
            )
        return self.at(np.flatnonzero(keep))

    def at(self, rows: Ints) -> Table:
        """Some cells of the table, in canonical order; for looking, not for protecting."""
        changes: dict[str, Any] = {"codes": self.codes[rows]}
        for name in PER_CELL:
            column = getattr(self, name)
            changes[name] = None if column is None else column[rows]
        changes["contributions"] = {level: c.at(rows) for level, c in self.contributions.items()}
        changes["holders"] = None if self.holders is None else self.holders.at(rows)
        if self.assessment is not None:
            a = self.assessment
            changes["assessment"] = replace(
                a,
                unsafe=a.unsafe[rows],
                hits=a.hits[rows],
                lower=a.lower[rows],
                upper=a.upper[rows],
                sliding=a.sliding[rows],
                on_weights=None if a.on_weights is None else a.on_weights[rows],
                on_zeros=None if a.on_zeros is None else a.on_zeros[rows],
            )
        return self.with_(**changes)

    def __str__(self) -> str:
        from discreet.model.display import text_of_columns

        lines = [
            f"Table {self.name}: {counted(len(self), 'cell')} by {' x '.join(self.variables)} "
            f"({', '.join(self.counts_in_words()) or 'none'})",
            *self.remarks(),
        ]
        shown = self.at(np.arange(min(len(self), 12))).columns()
        return "\n".join([*lines, text_of_columns(shown, len(self), see="to_frame()")])

    __repr__ = __str__

    def counts_in_words(self) -> list[str]:
        """How many cells there are of each status."""
        words = {status: status.name.lower() for status in CellStatus}
        if self.assessment is None:
            words[CellStatus.SAFE] = "not assessed"
        found = {status: int((self.status == status).sum()) for status in words}
        return [f"{found[status]} {word}" for status, word in words.items() if found[status]]

    def remarks(self) -> list[str]:
        """What to know of the statuses beside their numbers."""
        if self.assessment is None:
            return []
        said = self.assessment.resting()
        if self.assessment.rules:
            return said
        return ["No rule was given: nothing but marks by hand says which cells are unsafe.", *said]

    def _repr_html_(self) -> str:
        from discreet.model.pages import table_page

        return table_page(self)


PER_CELL = (
    *("value", "empty", "records", "nonzero", "weighted", "key_sum", "manual", "manual_lower", "manual_upper"),
    *("lower_bound", "upper_bound", "cost"),
)
"""Columns that a table has itself; any may be missing."""


def unit_number(units: int, decimals: int) -> int | float:
    """Units as the plainest number that shows them."""
    return units if decimals == 0 else float(unit_text(units, decimals))


def cell_numbers(codes: Codes, shape: Sequence[int]) -> Ints:
    """One number per code tuple, ordered as the tuples are."""
    refuse_many_cells(shape)
    keys = np.zeros(len(codes), dtype=np.int64)
    for k, size in enumerate(shape):
        keys = keys * size + codes[:, k]
    return keys


def refuse_many_cells(shape: Sequence[int]) -> None:
    """Refuse tables with more combinations of codes than 64 bits can number."""
    if prod(int(n) for n in shape) >= 2**62:
        raise InputError(
            f"A table with {' x '.join(str(n) for n in shape)} possible cells is too large to number.",
            hint="Use fewer variables or coarser hierarchies.",
        )
