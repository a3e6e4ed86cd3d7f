"""A table by the level of each variable: which rules hit there, and what its users lose there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.measures.loss import Loss, hellinger_utility, information_loss
from discreet.model.arrays import Bools, Floats, Ints, Status
from discreet.model.table import CellStatus, Table
from discreet.report.words import count, percent


class Lost(NamedTuple):
    """Cells of one level that are not empty: values before and after (zero where withheld), and which are withheld."""

    before: Floats
    after: Floats
    withheld: Bools

    @property
    def published(self) -> Loss:
        """Differences of the published cells."""
        return information_loss(self.before[~self.withheld], self.after[~self.withheld])


Measure = tuple[str, Callable[[Lost], str]]


def _value(lost: Lost) -> str:
    size = np.abs(lost.before)
    return percent(float(size[lost.withheld].sum()), float(size.sum()))


def _changed(lost: Lost) -> str:
    return percent(int((lost.before != lost.after).sum()), len(lost.before))


COMMON: tuple[Measure, ...] = (("Cells", lambda lost: count(len(lost.before))),)
WITHHELD: tuple[Measure, ...] = (
    *COMMON,
    ("Withheld", lambda lost: count(int(lost.withheld.sum()))),
    ("Share of cells", lambda lost: percent(int(lost.withheld.sum()), len(lost.withheld))),
    ("Share of value", _value),
    ("Hellinger utility", lambda lost: f"{hellinger_utility(np.abs(lost.before), np.abs(lost.after)):.4f}"),
)
"""What is measured of withheld cells, level by level; further measures are further lines."""
ALTERED: tuple[Measure, ...] = (
    *COMMON,
    ("Changed", _changed),
    ("Mean absolute change", lambda lost: f"{lost.published.absolute.mean:,.4g}"),
    ("Mean relative change", lambda lost: f"{100 * lost.published.relative.mean:,.2f} %"),
    ("Largest relative change", lambda lost: f"{100 * lost.published.relative.largest:,.2f} %"),
    ("Hellinger utility", lambda lost: f"{hellinger_utility(np.abs(lost.before), np.abs(lost.after)):.4f}"),
)
"""What is measured of altered values, level by level."""


@dataclass(frozen=True)
class LevelLine:
    """One level of one variable, or all cells, and its numbers in words."""

    variable: str
    level: str
    numbers: tuple[str, ...]


def loss_by_level(
    table: Table, after: Ints, decimals: int, withheld: Bools, what: Sequence[Measure]
) -> list[LevelLine]:
    """What users lose at each level; ``after`` are published values in units of ``10 ** -decimals``."""
    there = ~table.empty
    before = table.value / 10.0**table.decimals
    shown = np.where(withheld, 0.0, after / 10.0**decimals)
    return [
        LevelLine(variable, level, tuple(of(Lost(before[m], shown[m], withheld[m])) for _, of in what))
        for variable, level, m in ((v, depth, mine & there) for v, depth, mine in _levels(table))
        if m.any()
    ]


def unsafe_by_level(table: Table, broken: Sequence[Bools], status: Status) -> list[LevelLine]:
    """How many cells each rule makes unsafe at each level, and how many are unsafe in all."""
    unsafe = status == CellStatus.UNSAFE
    return [
        LevelLine(variable, level, tuple(count(int(n[mine].sum())) for n in (*broken, unsafe)))
        for variable, level, mine in _levels(table)
        if mine.any()
    ]


def rule_heads(rules: int) -> list[str]:
    """Heads of the columns of :func:`unsafe_by_level`."""
    return [*(f"Rule {i + 1}" for i in range(rules)), "Unsafe in all"]


def _levels(table: Table) -> Iterator[tuple[str, str, Bools]]:
    """Every level of every variable, and the whole table, with its cells."""
    yield "All cells", "", np.ones(len(table), np.bool_)
    for k, (variable, hierarchy) in enumerate(table.spec.by.items()):
        depth = hierarchy.depth[table.codes[:, k]]
        for level in range(int(hierarchy.depth.max(initial=0)) + 1):
            yield variable, str(level), depth == level
