"""An attacker's intervals against what was required, for the custodian to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.attack.insiders import WorstInsider
from discreet.attack.intervals import AttackIntervals
from discreet.errors import counted
from discreet.files.frames import to_frame
from discreet.model.arrays import Bools, Ints, Status
from discreet.model.claims.base import CONTRIBUTORS, EXTERNAL
from discreet.model.claims.suppression import COALITIONS, INSIDERS, NOT_JOINT, TOGETHER
from discreet.model.notebook import Chip, items, listing, page, sentence
from discreet.relations import System

WORDS = {
    WorstInsider.NOT_ATTACKED: "not attacked",
    WorstInsider.KEPT: "kept",
    WorstInsider.SHORT: "short against {}",
    WorstInsider.RECOVERABLE: "recoverable by {}",
}


@dataclass(frozen=True, eq=False)
class Audit:
    """Intervals of withheld cells against what was required. For the custodian's eyes.

    Parameters
    ----------
    system
        Cells and relations.
    intervals
        What an outsider can work out.
    attackers
        Who was considered, in words.
    insiders
        For every withheld cell the worst that an insider can do (:class:`WorstInsider`); None when none was considered.
    why_no_insiders
        Why none was, or why not for all cells.
    published
        Unsafe cells that are not withheld at all, besides those that were published before or elsewhere.
    together
        For every withheld cell the worst that two contributors together can do; None when they were not considered.
    sums
        Sums of withheld cells that are known and unsafe themselves, in words; None when they were not considered.
    hidden
        How values are hidden, in a word.
    not_audited
        Why nobody looked at all: the method does not say what its readers can tell. Empty where somebody did.
    not_considered
        What else was left out, in words.
    certain
        For every withheld cell whether readers can tell it exactly by other means than relations, and how, in words;
        None where that was not looked at.
    unsettled
        Unsafe cells of which whole numbers would have to be tried that were too many; they do not count as kept.
    """

    system: System
    intervals: AttackIntervals
    attackers: tuple[str, ...] = (EXTERNAL,)
    insiders: Status | None = None
    why_no_insiders: str = "not asked for"
    published: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    together: Status | None = None
    sums: tuple[str, ...] | None = None
    hidden: str = "withheld"
    not_audited: str = ""
    not_considered: tuple[str, ...] = ()
    certain: tuple[Bools, str] | None = None
    unsettled: Bools | None = None

    @property
    def holds(self) -> bool:
        """Whether every unsafe cell that was looked at is known to nobody and keeps its level against all attackers.

        Never where nobody looked.
        """
        if self.not_audited or self.told or self.undecided:
            return False
        exact = self.intervals.recoverable & self.system.unsafe[self.intervals.cells]
        known = len(self.published) + self.revealed
        alone = self.short_insiders or self.recoverable_insiders
        pairs = self.short_together or self.recoverable_together
        return not (known or self.short or exact.any() or alone or pairs or self.sums)

    @property
    def complete(self) -> bool:
        """Whether both ends of the interval of every withheld cell of the tables were computed."""
        seen = self.intervals.looked_at | ~(self.system.now | self.system.unsafe)[self.intervals.cells]
        return self.intervals.exact and bool(seen.all())

    @property
    def told(self) -> int:
        """How many unsafe cells readers can tell exactly by other means than bounds and relations."""
        return 0 if self.certain is None else int(self.certain[0].sum())

    @property
    def undecided(self) -> int:
        """How many unsafe cells nobody settled, because too many whole numbers would have to be tried."""
        return 0 if self.unsettled is None else int(self.unsettled.sum())

    @property
    def withheld_cells(self) -> Ints:
        """Numbers of the withheld cells of tables."""
        return self.intervals.cells[self.system.in_tables[self.intervals.cells]]

    @property
    def revealed(self) -> int:
        """How many unsafe cells were published before or elsewhere."""
        return int((self.system.unsafe & self.system.known).sum())

    @property
    def short(self) -> int:
        """How many unsafe cells miss their level."""
        return int(self.intervals.short.sum())

    @property
    def external_short(self) -> int:
        """How many unsafe cells an outsider knows exactly or more closely than their level allows."""
        exact = self.intervals.recoverable & self.system.unsafe[self.intervals.cells]
        return int((self.intervals.short | exact).sum())

    @property
    def known_too_closely(self) -> int:
        """How many unsafe cells somebody who was considered knows more closely than allowed, each counted once.

        Cells that nobody settled count too, and so do those that were published.
        """
        found = self.intervals.short | (self.intervals.recoverable & self.system.unsafe[self.intervals.cells])
        for worst, levels in ((self.insiders, INSIDERS["full"]), (self.together, TOGETHER["full"])):
            if worst is not None:
                least = WorstInsider.SHORT if levels in self.attackers else WorstInsider.RECOVERABLE
                found = found | (worst >= least)
        for mask in (None if self.certain is None else self.certain[0], self.unsettled):
            found = found if mask is None else found | mask
        return int(found.sum()) + len(self.published) + self.revealed

    @property
    def recoverable(self) -> int:
        """How many withheld cells can be worked out exactly."""
        return int(self.intervals.recoverable.sum())

    @property
    def short_insiders(self) -> int:
        """How many unsafe cells miss their level against an insider; 0 where levels were not asked for."""
        return _short(self.insiders) if INSIDERS["full"] in self.attackers else 0

    @property
    def recoverable_insiders(self) -> int:
        """How many unsafe cells an insider can work out exactly."""
        return _recoverable(self.insiders)

    @property
    def short_together(self) -> int:
        """How many unsafe cells miss their level against two contributors together; 0 where that was not asked for."""
        return _short(self.together) if TOGETHER["full"] in self.attackers else 0

    @property
    def recoverable_together(self) -> int:
        """How many unsafe cells two contributors together can work out exactly."""
        return _recoverable(self.together)

    @property
    def sampled(self) -> tuple[int, int]:
        """How many unsafe cells were looked at, and of how many."""
        unsafe = self.system.unsafe[self.intervals.cells]
        return int((unsafe & self.intervals.looked_at).sum()), int(unsafe.sum())

    def columns(self) -> dict[str, list[Any]]:
        """One row a withheld cell that was looked at: required and realised interval, verdicts."""
        system, found = self.system, self.intervals
        seen = np.flatnonzero(found.looked_at)
        cells, value = found.cells[seen], found.value[seen]
        unit = 10.0**system.decimals
        level_low, level_up = system.lower_level[cells], system.upper_level[cells]
        state = np.where(found.recoverable, "recoverable", np.where(found.short, "short", "kept"))[seen]
        return {
            "cell": [system.cell_name(cell) for cell in cells.tolist()],
            "unsafe": system.unsafe[cells].tolist(),
            "value": (value / unit).tolist(),
            "required_lower": ((value - level_low) / unit).tolist(),
            "required_upper": ((value + level_up) / unit).tolist(),
            "lower": (found.lower[seen] / unit).tolist(),
            "upper": (found.upper[seen] / unit).tolist(),
            "verdict": state.tolist(),
            "insiders": _words(self.insiders, seen, "an insider"),
            "coalitions": _words(self.together, seen, "two together"),
        }

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """The audit as a data frame."""
        return to_frame(self.columns(), backend)

    def counts(self) -> dict[str, int]:
        """The audit in numbers."""
        looked_at, unsafe = self.sampled
        return {
            "withheld": len(self.withheld_cells),
            "unsafe": unsafe,
            "looked_at": looked_at,
            "published": len(self.published),
            "short": self.short,
            "recoverable": self.recoverable,
            "short_insiders": self.short_insiders,
            "recoverable_insiders": self.recoverable_insiders,
            "short_together": self.short_together,
            "recoverable_together": self.recoverable_together,
            "unsafe_sums": len(self.sums or ()),
            "revealed": self.revealed,
            "told": self.told,
            "undecided": self.undecided,
            "not_audited": int(bool(self.not_audited)),
        }

    def summary(self) -> str:
        """The audit in a few lines, without confidential values."""
        count = self.counts()
        if self.not_audited:
            return "\n".join(
                [
                    f"NOT AUDITED: {counted(count['withheld'], f'distinct {self.hidden} cell')} ({count['unsafe']:,} "
                    "unsafe), of which nobody knows what readers can work out",
                    f"  why: {self.not_audited}",
                    *(f"  not considered: {text}" for text in self.not_considered),
                ]
            )
        return "\n".join(
            [
                self.headline(),
                *(f"  NOT JUDGED: no rule says which cells of table {name} are unsafe" for name in self._unjudged()),
                *(f"  {words}: {number:,}" for words, number in self._findings()),
                *(f"  attacker: {attacker}" for attacker in self.attackers),
                *(f"  together with {text}" for text in self.system.already.together_with()),
                *(f"  not considered: {text}" for text in self._left_out()),
            ]
        )

    def headline(self) -> str:
        """What was audited, in one line."""
        count = self.counts()
        return (
            f"Audit of {counted(count['withheld'], f'distinct {self.hidden} cell')} ({count['unsafe']:,} unsafe), "
            f"all {counted(self.system.matrix.shape[0], 'relation')} together:"
        )

    def _unjudged(self) -> list[str]:
        return [table.name for table in self.system.tables.tables[: self.system.present] if not table.judged]

    def _findings(self) -> list[tuple[str, int]]:
        """What was counted, in words, and how often it was found."""
        looked_at, unsafe = self.sampled
        judged = "unsafe" if looked_at < unsafe else self.hidden
        said = [("unsafe cells that are published", len(self.published))] if len(self.published) else []
        said += [
            ("unsafe cells short of their level", self.short),
            (f"{judged} cells that can be worked out exactly", self.recoverable),
        ]
        if self.certain is not None:
            said.append((f"unsafe cells that {self.certain[1]}", self.told))
        if self.undecided:
            said.append(("unsafe cells that are not settled, and must count as short", self.undecided))
        if INSIDERS["full"] in self.attackers:
            said.append(("unsafe cells short of their level against an insider", self.short_insiders))
        if self.insiders is not None:
            said.append(("unsafe cells that an insider can work out exactly", self.recoverable_insiders))
        if TOGETHER["full"] in self.attackers:
            said.append(("unsafe cells short of their level against two together", self.short_together))
        if self.together is not None:
            said.append(("unsafe cells that two together can work out exactly", self.recoverable_together))
        if self.sums is not None:
            said.append(("known sums of withheld cells that are unsafe themselves", len(self.sums)))
        if self.revealed:
            said.append(("unsafe cells that were published before", self.revealed))
        return said

    def _left_out(self) -> list[str]:
        """What was not considered, in words."""
        said = [f"{CONTRIBUTORS} ({self.why_no_insiders})"] if self.why_no_insiders else []
        said += [COALITIONS] if self.insiders is not None and self.together is None else []
        said += [NOT_JOINT] if self.sums is None else []
        return [*said, *self.not_considered]

    def _repr_html_(self) -> str:
        if self.not_audited:
            title = "Not audited: nobody knows what readers can work out"
            left_out = items("Not considered", self.not_considered, "warn")
            return page(title, [Chip("not audited", "warn")], sentence(f"Why: {self.not_audited}"), left_out)
        unjudged = self._unjudged()
        looked_at, unsafe = self.sampled
        state = Chip("every level is kept against the attackers below", "good")
        if not self.holds:
            state = Chip("not every unsafe cell is kept", "u")
        elif unjudged:
            state = Chip("not judged: no rule says what is unsafe", "warn")
        elif looked_at < unsafe:
            state = Chip(f"a sample: {looked_at:,} of {unsafe:,} unsafe cells were looked at and are kept", "warn")
        found = self._findings()
        return page(
            self.headline().rstrip(":"),
            [state],
            listing({"what": [words for words, _ in found], "cells": [number for _, number in found]}),
            items("Not judged", [f"no rule says which cells of table {name} are unsafe" for name in unjudged], "warn"),
            items("Attackers", self.attackers),
            items("Together with", self.system.already.together_with()),
            items("Not considered", self._left_out(), "warn"),
            sentence("to_frame() has the interval of every cell."),
        )

    __repr__ = summary


def _short(found: Status | None) -> int:
    return 0 if found is None else int((found >= WorstInsider.SHORT).sum())


def _recoverable(found: Status | None) -> int:
    return 0 if found is None else int((found == WorstInsider.RECOVERABLE).sum())


def _words(found: Status | None, seen: Ints, whom: str) -> list[str]:
    codes = np.full(len(seen), WorstInsider.NOT_ATTACKED, np.int8) if found is None else found[seen]
    return [WORDS[WorstInsider(code)].format(whom) for code in codes.tolist()]
