"""Two contributors together: no pair of them rules out all certificates of a cell.

A pair rules a certificate out where one of the two does alone; where it changes a cell that has no other contributor
than the two; and where a cell falls below what they contribute together. Of a contributor who is not listed one only
knows that it has no more than the last one listed, so that whatever such a one might do is taken as done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.model.evidence import DOWN, UP
from discreet.model.table import NOBODY, Table
from discreet.verify.certificates import CertificateEntries
from discreet.verify.known import Ground, RowContributors
from discreet.verify.proofs import ProofDirections, ProofTargets, Targets, name_cells
from discreet.verify.verdict import Verdict

Pair = frozenset[int]


@dataclass(frozen=True)
class Against:
    """Who rules a certificate out: whoever is in a pair with one of some, and further pairs."""

    alone: set[int]
    pairs: set[Pair]

    def __len__(self) -> int:
        return len(self.alone) + len(self.pairs)

    def has(self, pair: Pair) -> bool:
        """Whether a pair is among them."""
        return not self.alone.isdisjoint(pair) or pair in self.pairs


def has_unnamed_pairs(table: Table) -> bool:
    """Whether cells have several contributors, of whom none is named."""
    holders = table.holders
    if holders is None:
        return "holding" in table.contributions
    nobody = (holders.identity == NOBODY).all(axis=1)
    return bool((nobody & (holders.count > 1)).any())


def check_coalitions(
    verdict: Verdict,
    ground: Ground,
    entries: CertificateEntries,
    targets: Targets,
    shown: ProofDirections,
    levels: ProofTargets,
    whole: Bools,
    insiders: RowContributors,
    full: bool,
) -> None:
    """No two contributors together rule out all certificates of a cell: of each direction that is needed, or of all."""
    rows = Rows(ground.cells, whole, insiders, full)
    amount = entries.wide_amount if len(entries.wide) else entries.amount
    if full:
        rounds = [
            (UP, shown.needed[UP], " of the upper protection level"),
            (DOWN, shown.needed[DOWN], " of the lower protection level"),
        ]
    else:
        rounds = [(-1, shown.needed[UP] | shown.needed[DOWN], "")]
    for use, needed, what in rounds:
        bad = np.zeros(len(targets.row), np.bool_)
        for p in np.flatnonzero(needed).tolist():
            target = int(targets.row[p])
            found = []
            for i in range(int(targets.start[p]), int(targets.start[p + 1])):
                if use not in (-1, int(targets.use[i])):
                    continue
                c = int(targets.certificate[i])
                part = slice(int(entries.start[c]), int(entries.start[c + 1]))
                changes = list(zip(entries.row[part].tolist(), amount[part].tolist(), strict=True))
                if shown.opposite[i]:
                    changes = [(row, -a) for row, a in changes]
                found.append(rows.against(target, changes, int(entries.exact_denominator[c])))
            level = int(levels.lower[p]) if use == DOWN else None
            bad[p] = _some_pair([a for a in found if a is not None], rows.spared(target, level))
        message = f"two contributors together can rule out all certificates{what}"
        name_cells(verdict, ground, targets.row[bad], message, "insiders")


class Rows:
    """Rows, and who contributes to them."""

    def __init__(self, cells: Ints, whole: Bools, insiders: RowContributors, full: bool) -> None:
        self.cells, self.whole, self.insiders, self.full = cells, whole, insiders, full

    def listed(self, row: int) -> list[tuple[int, int]]:
        """Contributors of a row by name, with what they contribute."""
        named = zip(self.insiders.holder[row].tolist(), self.insiders.own[row].tolist(), strict=True)
        return [(who, own) for who, own in named if who >= 0]

    def against(self, target: int, changes: Sequence[tuple[int, Any]], denominator: int) -> Against | None:
        """Who rules a certificate of a target out; nothing where that might be anybody."""
        found = Against(set(), set())
        rigid = any(self.whole[row] and amount != 0 for row, amount in changes)
        for row, amount in changes:
            count = int(self.insiders.count[row])
            if amount == 0 or count == 0:
                continue
            if count == 1:
                found.alone.add(int(self.insiders.sole[row]))
                continue
            names = self.listed(row)
            mine = bool(self.cells[row] == self.cells[target])
            # Two who fill the target are no attackers of it.
            two = not (mine and count == 2)
            if two and count == 2:
                _fill(found, [who for who, _ in names])
            if amount > 0 or not names or not self.insiders.floored[row]:
                continue
            if mine and self.full and not rigid:  # a smaller move the same way would do
                continue
            # Where a small move suffices, only those rule it out for whom the cell cannot fall at all.
            falls = -(amount // denominator) if self.full or rigid else 1
            left = int(self.insiders.room[row]) - falls
            rest, more = int(self.insiders.rest[row]), count - len(names)
            if more and rest * (2 if more > 1 and two else 1) > left:
                return None
            found.alone.update(who for who, own in names if own + (rest if more and two else 0) > left)
            if two:
                found.pairs.update(Pair((a[0], b[0])) for a, b in combinations(names, 2) if a[1] + b[1] > left)
        return found

    def spared(self, target: int, level: int | None) -> Callable[[Pair], bool]:
        """Pairs, or single ones with anybody, who are no attackers of a target; at a lower level where one is given."""
        insiders = self.insiders
        names = dict(self.listed(target))
        count = int(insiders.count[target])
        people = {int(insiders.sole[target])} if count == 1 else set()
        if level is not None:
            people.add(int(insiders.largest[target]))
            people |= insiders.parts.spared(target, level)
        room = int(insiders.room[target])
        tight = level is not None and bool(insiders.certain[target])

        def answer(pair: Pair) -> bool:
            if not people.isdisjoint(pair) or (count == 2 and pair == names.keys() and len(pair) == 2):
                return True
            if count == 2 and not names and len(pair) == 2 and min(pair) >= insiders.named:
                return True  # two of whom neither is named are taken for those who fill the cell
            return tight and room - sum(names.get(who, 0) for who in pair) < (level or 0)

        return answer


def _fill(found: Against, names: list[int]) -> None:
    """The two contributors of a cell see that it changes; where one is not named, it may be anybody."""
    if len(names) == 2:
        found.pairs.add(Pair(names))
    else:
        found.alone.update(names)


def _some_pair(found: list[Against], spared: Callable[[Pair], bool]) -> bool:
    """Whether some pair rules out all certificates. It is among those of the certificate that fewest rule out."""
    if not found:
        return True
    first = min(found, key=len)
    if any(not spared(pair) and all(a.has(pair) for a in found) for pair in first.pairs):
        return True
    for one in first.alone:
        if spared(Pair((one,))):
            continue
        others = [a for a in found if one not in a.alone]
        if not others:
            return True
        second = min(others, key=len)
        partners = second.alone.union(*(pair for pair in second.pairs if one in pair)) - {one}
        pairs = [Pair((one, other)) for other in partners]
        if any(not spared(pair) and all(a.has(pair) for a in others) for pair in pairs):
            return True
    return False
