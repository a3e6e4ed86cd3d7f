"""What a comparison measures of one release: a list of columns, each a name, its words and a function.

Whatever has a risk or a loss to tell goes into :data:`COLUMNS`; frame, map and pages take it from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discreet.attack import Audit
from discreet.measures.loss import Loss, information_loss
from discreet.measures.noise import noise_errors
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.release import Release
from discreet.relations import System
from discreet.report.riskmap import Axis


@dataclass(frozen=True, eq=False)
class Seen:
    """A release as the measures see it: distinct cells that are not empty, before and after.

    ``audit`` is None where nobody attacked.
    """

    release: Release
    system: System
    audit: Audit | None

    @cached_property
    def cells(self) -> Ints:
        """Numbers of the cells."""
        return np.flatnonzero(self.system.now & ~self.system.empty)

    @cached_property
    def unsafe(self) -> Bools:
        """Which of them are unsafe."""
        return self.system.unsafe[self.cells]

    @property
    def alters(self) -> bool:
        """Whether published values are not the true ones."""
        return self.release.custodian.published is not None

    @cached_property
    def withheld(self) -> Bools:
        """Which cells nobody is told."""
        custodian = self.release.custodian
        hidden = self.system.withheld([custodian.withheld(number) for number in range(len(custodian.tables))])
        return hidden[self.cells]

    @cached_property
    def units(self) -> Ints:
        """Published values in units of the system; withheld ones are zero."""
        custodian, published = self.release.custodian, self.system.value.copy()
        if custodian.published is not None:
            scale = 10 ** (self.system.decimals - custodian.decimals)
            for of, values in zip(self.system.of, custodian.published, strict=False):
                published[of] = values * scale
        return np.where(self.withheld, 0, published[self.cells])

    @cached_property
    def before(self) -> Floats:
        """True values."""
        return self.system.value[self.cells] / 10.0**self.system.decimals

    @cached_property
    def after(self) -> Floats:
        """Published values; nothing, zero, where a cell is withheld."""
        return self.units / 10.0**self.system.decimals

    @cached_property
    def near(self) -> Bools:
        """Unsafe cells that are published, and closer to their value than their level allows."""
        change = self.units - self.system.value[self.cells]
        below, above = self.system.lower_level[self.cells], self.system.upper_level[self.cells]
        close = ((-below < change) & (change < above)) | (change == 0)
        result: Bools = self.unsafe & ~self.withheld & close
        return result

    @cached_property
    def loss(self) -> Loss:
        """Differences between before and after."""
        return information_loss(self.before, self.after)

    def share(self, found: Bools | int) -> float:
        """A share of the unsafe cells; none where there are none."""
        unsafe = int(self.unsafe.sum())
        return int(np.sum(found)) / unsafe if unsafe else 0.0

    def deduced(self, of: Callable[[Audit], Bools]) -> Bools | None:
        """Unsafe cells of which an audit finds something; one that looked at a sample says nothing of the others."""
        if self.audit is None:
            return None
        marks = np.zeros(len(self.system), np.bool_)
        marks[self.audit.intervals.cells[of(self.audit)]] = True
        return marks[self.cells] & self.unsafe

    @property
    def deducible(self) -> Bools:
        """Cells that are not told as they are, so that an attacker has to work them out."""
        return np.ones(len(self.cells), np.bool_) if self.alters else self.withheld

    def looked_at(self) -> int:
        """Unsafe cells that the audit looked at, and those that are published."""
        assert self.audit is not None
        return self.audit.sampled[0] + len(self.audit.published)


class MeasureColumn(NamedTuple):
    """One measure: how it is called and read, and how it is found; None where it says nothing of the release."""

    axis: Axis
    of: Callable[[Seen], float | None]


def _attacked(seen: Seen, of: Callable[[Audit], Bools]) -> float | None:
    """Share of the unsafe cells that were looked at of which attackers find something."""
    found = seen.deduced(of)
    if found is None or seen.audit is None:
        return None
    whole = seen.looked_at()
    return (int(found.sum()) + len(seen.audit.published)) / whole if whole else 0.0


def _short(audit: Audit) -> Bools:
    return audit.intervals.short | audit.intervals.recoverable


def _exact(audit: Audit) -> Bools:
    return audit.intervals.recoverable


def _risk(seen: Seen) -> float | None:
    """The share of unsafe cells that are published too closely, or can be worked out too closely.

    Of a sample, the share of the cells that were looked at; those that are published count in any case.
    """
    short, looked_at = seen.deduced(_short), seen.deduced(lambda audit: audit.intervals.looked_at)
    if short is None or looked_at is None:
        return None
    judged = looked_at | (seen.near & ~seen.deducible)
    return int(((short | seen.near) & judged).sum()) / int(judged.sum()) if judged.any() else 0.0


def _insiders(seen: Seen) -> float | None:
    if seen.audit is None or seen.audit.insiders is None:
        return None
    worst = max(seen.audit.short_insiders, seen.audit.recoverable_insiders)
    whole = seen.looked_at()
    return (worst + len(seen.audit.published)) / whole if whole else 0.0


def _guess(seen: Seen) -> float | None:
    """How likely a value taken at random from what an attacker holds possible lies within the level, on average."""
    if seen.audit is None or not seen.audit.intervals.exact:
        return None
    system, found = seen.system, seen.audit.intervals
    mine = found.looked_at & system.unsafe[found.cells]
    cells, value = found.cells[mine], found.value[mine]
    low, high = found.lower[mine], found.upper[mine]
    left = np.maximum(low, value - system.lower_level[cells])
    right = np.minimum(high, value + system.upper_level[cells])
    with np.errstate(divide="ignore", invalid="ignore"):
        # Whole units: an interval from 3 to 5 has three values.
        chance = np.maximum(right - left + 1, 0) / (high - low + 1)
    known = np.where(np.isfinite(chance), np.minimum(chance, 1.0), 0.0)
    whole = len(known) + len(seen.audit.published)
    return float((known.sum() + len(seen.audit.published)) / whole) if whole else 0.0


def _missing(seen: Seen) -> float | None:
    if not seen.alters:
        return None
    level = np.maximum(seen.system.lower_level, seen.system.upper_level)[seen.cells] / 10.0**seen.system.decimals
    return noise_errors(np.abs(seen.before), np.abs(seen.after), np.where(seen.unsafe, level, -1.0)).alpha


def _withheld_value(seen: Seen) -> float:
    size = np.abs(seen.before)
    return float(size[seen.withheld].sum() / size.sum()) if size.sum() else 0.0


def _of_cells(number: float, seen: Seen) -> float:
    return number / len(seen.cells) if len(seen.cells) else 0.0


def _changed(seen: Seen) -> float:
    differs = (seen.units != seen.system.value[seen.cells]) & ~seen.withheld
    return _of_cells(int(differs.sum()), seen)


RISK, LOSS = "risk", "loss"
COLUMNS: tuple[MeasureColumn, ...] = (
    MeasureColumn(Axis("risk", "unsafe cells published or worked out more closely than their level", RISK), _risk),
    MeasureColumn(Axis("short", "unsafe cells that an outsider works out more closely than their level", RISK),
           lambda seen: _attacked(seen, _short)),
    MeasureColumn(Axis("exact", "unsafe cells that an outsider works out exactly", RISK),
           lambda seen: _attacked(seen, _exact)),
    MeasureColumn(Axis("insiders", "unsafe cells that a contributor works out more closely than their level", RISK),
           _insiders),
    MeasureColumn(Axis("guess", "chance of a guess within the level, all possible values alike", RISK), _guess),
    MeasureColumn(Axis("near", "unsafe cells published with a value within their level", RISK),
           lambda seen: seen.share(seen.near) if seen.alters else None),
    MeasureColumn(Axis("missing", "missing change of unsafe cells, as a share of their level", RISK), _missing),
    MeasureColumn(Axis("withheld", "cells withheld", LOSS), lambda seen: _of_cells(int(seen.withheld.sum()), seen)),
    MeasureColumn(Axis("withheld_value", "value of all cells withheld", LOSS), _withheld_value),
    MeasureColumn(Axis("changed", "cells published with another value", LOSS), _changed),
    MeasureColumn(Axis("relative", "mean relative change; a withheld cell counts as 1", LOSS),
           lambda seen: seen.loss.relative.mean),
    MeasureColumn(Axis("absolute", "mean absolute change; a withheld cell counts its value", LOSS, share=False),
           lambda seen: seen.loss.absolute.mean),
    MeasureColumn(Axis("root", "mean change of square roots; a withheld cell counts its root", LOSS, share=False),
           lambda seen: seen.loss.root.mean),
    MeasureColumn(Axis("hellinger", "Hellinger loss; a withheld cell counts as zero", LOSS),
           lambda seen: 1 - seen.loss.hellinger),
    MeasureColumn(Axis("false_zeros", "cells published as zero that are not", LOSS),
           lambda seen: _of_cells(int(((seen.units == 0) & (seen.before != 0) & ~seen.withheld).sum()), seen)),
)  # fmt: skip
"""All measures. Risks first; smaller is better everywhere. Cells are distinct ones that are not empty."""


def measured(seen: Seen) -> dict[str, Any]:
    """All measures of a release by name."""
    return {column.axis.name: column.of(seen) for column in COLUMNS}
