"""The numbers of a custodian's report: how many cells, which status, at which level, for which reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.model.arrays import Bools, Codes, Ints, Status
from discreet.model.table import DECLARED_SAFE, CellStatus, Table

STATUSES = len(CellStatus)


@dataclass(frozen=True)
class Tally:
    """Numbers of cells by status (in the order of :class:`CellStatus`)."""

    cells: tuple[int, ...]

    @property
    def total(self) -> int:
        """All cells."""
        return sum(self.cells)

    @property
    def empty(self) -> int:
        """Cells without any record."""
        return self.cells[CellStatus.EMPTY]

    @property
    def unsafe(self) -> int:
        """Cells that break a rule and are withheld."""
        return self.cells[CellStatus.UNSAFE]

    @property
    def secondary(self) -> int:
        """Cells withheld besides, to protect the unsafe ones."""
        return self.cells[CellStatus.SECONDARY]

    @property
    def forced(self) -> int:
        """Cells published because somebody decided so."""
        return self.cells[CellStatus.FORCED]

    @property
    def published(self) -> int:
        """Cells published, those by force included."""
        return self.cells[CellStatus.SAFE] + self.forced

    @property
    def withheld(self) -> int:
        """Cells not published."""
        return self.unsafe + self.secondary

    def __add__(self, other: Tally) -> Tally:
        return Tally(tuple(a + b for a, b in zip(self.cells, other.cells, strict=True)))


@dataclass(frozen=True)
class Level:
    """One level of one variable: its codes, and the cells that stand at them."""

    variable: str
    depth: int
    codes: int
    examples: tuple[str, ...]
    tally: Tally


@dataclass(frozen=True)
class CodeShare:
    """One code of a variable, and the cells that stand at it."""

    code: str
    label: str
    tally: Tally


@dataclass(frozen=True)
class Reason:
    """One rule (or the hand of the custodian), and how many cells it makes unsafe.

    ``record`` is ``None`` for marks set by hand; ``with_others`` has for every reason the cells that both hit.
    """

    record: Mapping[str, Any] | None
    hit: int
    only: int
    forced: int
    with_others: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TableNumbers:
    """All counts of one table of a release."""

    table: Table
    status: Status

    @cached_property
    def tally(self) -> Tally:
        """Cells by status."""
        return _tallies(np.zeros(len(self.status), np.int64), self.status, 1)[0]

    @cached_property
    def base(self) -> Bools:
        """Cells at the lowest level of every variable, which no other cell of the table contains."""
        result = np.ones(len(self.table), np.bool_)
        for k, hierarchy in enumerate(self.table.spec.hierarchies):
            result &= hierarchy.base[self.table.codes[:, k]]
        return result

    @cached_property
    def base_tally(self) -> Tally:
        """Base cells by status."""
        status = self.status[self.base]
        return _tallies(np.zeros(len(status), np.int64), status, 1)[0]

    @cached_property
    def base_value(self) -> Tally:
        """Absolute value of the base cells by status, in units; every contribution counts once."""
        value = np.abs(self.table.value[self.base])
        status = self.status[self.base]
        return Tally(tuple(int(value[status == s].sum()) for s in CellStatus))

    @cached_property
    def secondary_value(self) -> int:
        """Absolute value of all cells withheld besides, totals included, in units."""
        return int(np.abs(self.table.value[self.status == CellStatus.SECONDARY]).sum())

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Cells by the level of each variable."""
        found = []
        for k, (variable, hierarchy) in enumerate(self.table.spec.by.items()):
            deepest = int(hierarchy.depth.max(initial=0))
            tallies = _tallies(hierarchy.depth[self.table.codes[:, k]], self.status, deepest + 1)
            for depth, tally in enumerate(tallies):
                codes = np.flatnonzero(hierarchy.depth == depth)
                examples = tuple(hierarchy.codes[i] for i in codes[:3].tolist())
                found.append(Level(variable, depth, len(codes), examples, tally))
        return tuple(found)

    def largest_shares(self, most: int) -> tuple[CodeShare, ...]:
        """Codes of the first variable with the largest shares of cells withheld, at most ``most``."""
        hierarchy = self.table.spec.hierarchies[0]
        tallies = _tallies(self.table.codes[:, 0], self.status, len(hierarchy))
        hit = [i for i, tally in enumerate(tallies) if tally.withheld]
        hit.sort(key=lambda i: (-tallies[i].withheld / (tallies[i].total - tallies[i].empty), -tallies[i].withheld, i))
        codes = [(hierarchy.codes[i], tallies[i]) for i in hit[:most]]
        return tuple(CodeShare(code, hierarchy.label(code), tally) for code, tally in codes)

    @cached_property
    def by_reason(self) -> tuple[Bools, ...]:
        """For every rule the cells that break it, and last, where there are some, the cells marked by hand."""
        found = self.table.assessment
        hits = np.zeros(len(self.table), np.int64) if found is None else found.hits
        rules = () if found is None else found.rules
        broken = [((hits >> bit) & 1).astype(np.bool_) for bit in range(len(rules))]
        by_hand = self.table.manual
        if by_hand is not None and bool(np.any(by_hand == CellStatus.UNSAFE)):
            broken.append(by_hand == CellStatus.UNSAFE)
        return tuple(broken)

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """How many cells each rule makes unsafe, alone and together with others."""
        if not self.by_reason:
            return ()
        hits = np.stack(self.by_reason)
        alone = hits.sum(axis=0) == 1
        rules = () if self.table.assessment is None else self.table.assessment.rules
        return tuple(
            Reason(
                record=rules[i] if i < len(rules) else None,
                hit=int(broken.sum()),
                only=int((broken & alone).sum()),
                forced=int((broken & self.all_the_same).sum()),
                with_others=tuple(int((broken & other).sum()) for other in self.by_reason),
            )
            for i, broken in enumerate(self.by_reason)
        )

    @property
    def all_the_same(self) -> Bools:
        """Cells that are published whatever the rules say: by force, or because they were declared safe by hand."""
        result: Bools = self.status == CellStatus.FORCED
        if self.table.manual is not None:
            result = result | ((self.table.manual == DECLARED_SAFE) & (self.status == CellStatus.SAFE))
        return result

    @property
    def forced_unsafe(self) -> int:
        """Cells that break a rule and are published all the same."""
        found = self.table.assessment
        return 0 if found is None else int(((found.hits > 0) & self.all_the_same).sum())

    def examples(self, each: int) -> Ints:
        """Some unsafe cells for every reason, those with the largest values."""
        chosen: list[int] = []
        for broken in self.by_reason:
            chosen += self.largest(broken & (self.status == CellStatus.UNSAFE))[:each].tolist()
        return np.unique(np.array(chosen, np.int64))

    def largest(self, which: Bools) -> Ints:
        """Rows from the largest absolute value down; equal ones in the order of the table."""
        rows = np.flatnonzero(which)
        return rows[np.argsort(-np.abs(self.table.value[rows]), kind="stable")]


def _tallies(group: Ints | Codes, status: Status, groups: int) -> list[Tally]:
    """One tally for every group of cells."""
    joint = np.bincount(group.astype(np.int64) * STATUSES + status, minlength=groups * STATUSES)
    return [Tally(tuple(row)) for row in joint.reshape(groups, STATUSES).tolist()]
