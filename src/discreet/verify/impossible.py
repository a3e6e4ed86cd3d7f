"""Cells that nobody could protect: relations times multipliers leave them less room than their level.

The relations are added up anew from the codes, over every cell that could be withheld at all: what is published by
force, known from before, empty, or kept by a hint does not move. Of the others only what an attacker knows counts.
Whatever the multipliers are, their sum is an equation between changes; the bound that it gives is exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.model.arrays import Bools, Ints, pointers
from discreet.model.evidence import DOWN, UP, Acceptance, Evidence, Impossible, Weighted
from discreet.model.table import CellStatus
from discreet.verify.coalitions import Pair, Rows
from discreet.verify.known import NEVER_SEEN, CommonKnowledge, Ground, RowContributors
from discreet.verify.proofs import levels_of
from discreet.verify.rules import Recheck
from discreet.verify.verdict import Verdict

KINDS = ("", "impossible", "revealed", "undecided")


def check_impossible(
    verdict: Verdict,
    ground: Ground,
    evidence: Evidence,
    rechecks: Sequence[Recheck],
    knowledge: CommonKnowledge,
    insiders: RowContributors | None,
    coalitions: bool,
) -> None:
    """Every accepted cell that is said to be out of reach is so; those without a proof are named as asserted."""
    before = len(verdict.refused)
    said = [a for a in evidence.accepted if a.kind in ("impossible", "revealed")]
    for accepted in evidence.accepted:
        if accepted.kind not in KINDS or (accepted.because is not None and accepted not in said):
            verdict.refuse("impossible", "what was found of an accepted cell is not known", _where(accepted))
    proved, open_ = 0, 0
    room = _Room(ground, knowledge, insiders, evidence.method) if said else None
    for accepted in said:
        row = ground.row(accepted.table, accepted.cell)
        if room is None or row < 0:  # a cell that is not there is refused as an acceptance
            continue
        if accepted.because is None:
            known = bool(ground.known[row])
            proved, open_ = proved + known, open_ + (not known)
            continue
        people = None if insiders is None or evidence.method.get("insiders") != "full" else insiders
        problem = _problem(room, row, accepted.because, rechecks, evidence.decimals, people, 2 if coalitions else 1)
        if problem:
            verdict.refuse("impossible", problem, ground.name(row))
        proved += 1
    if proved:
        verdict.prove(
            f"{proved} of the accepted cells cannot be protected, even if every cell is withheld that may be "
            "(exact reasons)",
            before,
        )
    if open_:
        verdict.asserted.append(f"that {open_} of the accepted cells cannot be protected")


def _where(accepted: Acceptance) -> str:
    return f"{accepted.table}: {', '.join(accepted.cell)}"


def _problem(
    room: _Room,
    row: int,
    because: Impossible,
    rechecks: Sequence[Recheck],
    decimals: int,
    insiders: RowContributors | None,
    together: int,
) -> str:
    """What is wrong with a reason; nothing where it shows that the cell cannot reach its level."""
    ground = room.ground
    if because.use not in (UP, DOWN):
        return "a reason is about neither direction"
    levels = levels_of(ground, rechecks, decimals, np.array([row]))
    level = int((levels.lower if because.use == DOWN else levels.upper)[0])
    people: set[int] = set()
    if because.insiders:
        if insiders is None or len(because.insiders) > together:
            return "a reason is about contributors who are no attackers here"
        found = [_contributor(ground, insiders, *named) for named in because.insiders]
        people = {who for who in found if who is not None}
        if len(people) < len(found):
            return "a reason names a contributor who is not there"
        spared = Rows(ground.cells, room.whole, insiders, True).spared(row, level if because.use == DOWN else None)
        if spared(Pair(people)):
            return "a reason is about contributors from whom the cell need not be hidden"
    weights = room.added_up(because.relations)
    if weights is None:
        return "a reason names a relation that is not there"
    most = room.furthest(row, 1 if because.use == UP else -1, weights, people)
    if most is None or most >= level:
        return "a reason does not show that the cell cannot reach its level"
    return ""


def _contributor(
    ground: Ground, insiders: RowContributors, table: str, cell: tuple[str, ...], place: int
) -> int | None:
    """The number of a contributor who is listed in a cell, or fills it alone."""
    row = ground.row(table, cell)
    if row < 0 or not 0 <= place < insiders.holder.shape[1]:
        return None
    listed = int(insiders.holder[row, place])
    if listed < 0 and place == 0:
        listed = int(insiders.sole[row])
    return listed if listed >= 0 else None


class _Room:
    """How far cells can move where everything is withheld that may be."""

    def __init__(
        self, ground: Ground, knowledge: CommonKnowledge, insiders: RowContributors | None, method: Mapping[str, Any]
    ) -> None:
        self.ground, self.insiders, self.whole = ground, insiders, knowledge.whole
        size = int(ground.cells.max(initial=-1)) + 1
        self.rise, self.fall = (np.full(size, NEVER_SEEN, np.int64) for _ in range(2))
        np.minimum.at(self.rise, ground.cells, knowledge.rise)
        np.minimum.at(self.fall, ground.cells, knowledge.fall)
        self.fixed = self._fixed(size, method)
        order = np.argsort(ground.relations.relation, kind="stable")
        self._order = order
        self._start = pointers(np.bincount(ground.relations.relation, minlength=len(ground.relations)))

    def _fixed(self, size: int, method: Mapping[str, Any]) -> Bools:
        """Cells that cannot be withheld."""
        ground = self.ground
        empty = np.ones(size, np.bool_)
        empty[ground.cells[~np.concatenate([table.empty for table in ground.tables])]] = False
        empty[ground.cells[ground.unsafe]] = False
        result = empty
        result[ground.cells[ground.known]] = True
        result[ground.cells[ground.now & (ground.status == CellStatus.FORCED)]] = True
        for row in _kept(ground, method):
            if not ground.hidden[row]:
                result[ground.cells[row]] = True
        return result

    def added_up(self, relations: Sequence[Weighted]) -> dict[int, Fraction] | None:
        """The sum of relations times multipliers, by cell; nothing where a relation is not there."""
        r = self.ground.relations
        weights: dict[int, Fraction] = defaultdict(Fraction)
        for weighted in relations:
            number = self._number(weighted)
            if number is None:
                return None
            for i in self._order[self._start[number] : self._start[number + 1]].tolist():
                weights[int(self.ground.cells[r.row[i]])] += weighted.times if r.positive[i] else -weighted.times
        return weights

    def _number(self, weighted: Weighted) -> int | None:
        """The number of a relation that a cell stands in, under whatever name."""
        row = self.ground.row(weighted.table, weighted.cell)
        if row < 0:
            return None
        r, names = self.ground.relations, [row]
        if not weighted.variable:  # an equation counts a cell once, wherever it stands
            while (twin := int(self.ground.twin[names[-1]])) != row:
                names.append(twin)
        for name in names:
            for i in range(int(r.start[name]), int(r.start[name + 1])):
                if r.is_named(int(r.relation[i]), weighted.table, weighted.variable, weighted.number):
                    return int(r.relation[i])
        return None

    def furthest(self, row: int, direction: int, weights: Mapping[int, Fraction], people: set[int]) -> Fraction | None:
        """The furthest that a cell can move for some contributors; nothing where that has no limit.

        What contributors know of the cell itself does not count: it is their own knowledge that a level is kept from.
        """
        target = int(self.ground.cells[row])
        own = int((self.rise if direction > 0 else self.fall)[target])
        limits = [Fraction(own)] if own < NEVER_SEEN - 2 else []
        if self.fixed[target]:
            limits.append(Fraction(0))
        bound = self._bound(target, direction, weights, people)
        return min(limits if bound is None else [*limits, bound], default=None)

    def _bound(self, target: int, direction: int, weights: Mapping[int, Fraction], people: set[int]) -> Fraction | None:
        own = weights.get(target, Fraction(0)) * direction
        if own == 0:
            return None
        still, fall = self._seen(people)
        total = Fraction(0)
        for cell, weight in weights.items():
            push = -weight / own
            if cell == target or push == 0 or self.fixed[cell] or cell in still:
                continue
            limit = int(self.rise[cell]) if push > 0 else min(int(self.fall[cell]), fall.get(cell, NEVER_SEEN))
            if limit >= NEVER_SEEN - 2:  # no limit, or one that 64 bits do not hold
                return None
            total += abs(push) * limit
        return total

    def _seen(self, people: set[int]) -> tuple[set[int], dict[int, int]]:
        """Cells that contributors know exactly, and how far they see others fall at most, together."""
        still: set[int] = set()
        fall: dict[int, int] = {}
        who = self.insiders
        if who is None or not people:
            return still, fall
        listed = np.isin(who.holder, sorted(people)) & (who.holder >= 0)
        for row in np.flatnonzero(listed.any(axis=1) | np.isin(who.sole, sorted(people))).tolist():
            cell, mine = int(self.ground.cells[row]), int(listed[row].sum())
            if int(who.sole[row]) in people or int(who.count[row]) == mine:
                still.add(cell)
            elif who.floored[row]:
                together = sum(int(own) for own in who.own[row][listed[row]].tolist())
                fall[cell] = min(fall.get(cell, NEVER_SEEN), max(int(who.room[row]) - together, 0))
        return still, fall


def _kept(ground: Ground, method: Mapping[str, Any]) -> Ints:
    """Rows that hints of the officer keep published."""
    rows = []
    hints = method.get("hints", ())
    for hint in hints if isinstance(hints, list | tuple) else ():
        if not isinstance(hint, Mapping) or hint.get("use") != "never":
            continue
        table = next((t for t in ground.tables if hint.get("table") in (None, t.name)), None)
        cell = hint.get("cell")
        if table is None or not isinstance(cell, Mapping | list | tuple):
            continue
        if isinstance(cell, Mapping):
            cell = [cell.get(v) or h.total for v, h in table.spec.by.items()]
        rows.append(ground.row(table.name, tuple(str(code) for code in cell)))
    return np.array([row for row in rows if row >= 0], np.int64)
