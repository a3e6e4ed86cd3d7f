"""Small releases written down by hand, with evidence of any kind, and the rules of proofs in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace

import numpy as np

import discreet as ds
from discreet.model.arrays import NO_LOWER, NO_UPPER, pointers
from discreet.model.claims.suppression import suppression_claim
from discreet.model.custodian import TableCustodian
from discreet.model.evidence import DOWN, MOVES, UP, Acceptance, Certificates, Evidence, Proofs
from discreet.model.table import Assessment, CellStatus, Contributions, Holders
from discreet.verify.evidence import check_evidence
from discreet.verify.known import Ground
from discreet.verify.verdict import Verdict

Cell = tuple[int, int]


@dataclass
class Box:
    """A certificate: amounts of finest cells, over a denominator."""

    amount: dict[Cell, int]
    denominator: int = 1
    both: bool = False

    def move(self, cell: Cell) -> Fraction:
        return Fraction(self.amount.get(cell, 0), self.denominator)


def box(*corners: int, times: int = 1, denominator: int = 1, both: bool = False) -> Box:
    """The four corners of two rows and two columns, the first one up."""
    r, c, s, d = corners
    return Box({(r, c): times, (r, d): -times, (s, c): -times, (s, d): times}, denominator, both)


@dataclass
class Case:
    """A plain table by two variables; finest cells are withheld, ``levels`` (up, down, sliding) those of unsafe ones.

    ``people`` are the contributors of a cell, largest first, with their amounts; the first ``listed`` are named.
    """

    value: np.ndarray
    levels: dict[Cell, tuple[int, int, int]]
    certificates: list[Box]
    proofs: dict[Cell, list[tuple[int, int]]]
    people: dict[Cell, list[tuple[int, int]]] = field(default_factory=dict)
    insiders: str | None = None
    within: float | None = None
    counts: bool = False
    named: bool = True
    bounds: Mapping[Cell, tuple[int | None, int | None]] = field(default_factory=dict)
    accepted: Sequence[Acceptance] = ()
    coalitions: bool = False
    listed: int = 2

    # ---- what the checker says ----------------------------------------------------------------------------

    def row(self, cell: Cell) -> int:
        return (cell[0] + 1) * (self.value.shape[1] + 1) + cell[1] + 1

    def custodian(self) -> TableCustodian:
        table = self._table()
        status = np.full(len(table), CellStatus.SAFE, np.int8)
        status[table.codes.min(axis=1) > 0] = CellStatus.SECONDARY
        status[[self.row(cell) for cell in self.levels]] = CellStatus.UNSAFE
        evidence = self.evidence()
        log = {
            "discreet": "0",
            "assess": [
                {
                    "table": table.name,
                    "rules": [dict(rule) for rule in table.assessment.rules],
                    "profile": table.assessment.profile,
                    "options": dict(table.assessment.options),
                }
            ],
            "protect": [dict(evidence.method)],
            "effort": dict(evidence.effort),
            "notes": [],
            "already_published": [],
        }
        return TableCustodian(ds.TableSet([table]), (status,), (evidence,), log)

    def _table(self) -> ds.Table:
        rows, columns = self.value.shape
        full = np.zeros((rows + 1, columns + 1), np.int64)
        full[1:, 1:] = self.value
        full[0], full[:, 0] = full.sum(axis=0), full.sum(axis=1)
        full[0, 0] = self.value.sum()
        size = full.size
        none = np.zeros(size, np.int64)
        low, high, sliding = np.full(size, NO_LOWER), np.full(size, NO_UPPER), none.copy()
        count, identity, own = none.copy(), np.full((size, self.listed), -1), np.zeros((size, self.listed), np.int64)
        for cell, (below, above) in self.bounds.items():
            low[self.row(cell)] = NO_LOWER if below is None else below
            high[self.row(cell)] = NO_UPPER if above is None else above
        for cell, people in self.people.items():
            count[self.row(cell)] = len(people)
            for k, (who, amount) in enumerate(people[: self.listed]):
                identity[self.row(cell), k], own[self.row(cell), k] = who, amount
        for cell, (_, _, width) in self.levels.items():
            sliding[self.row(cell)] = width
        unsafe = np.zeros(size, np.bool_)
        flat = [ds.Hierarchy.flat([f"{name}{i}" for i in range(n)]) for name, n in (("r", rows), ("c", columns))]
        return ds.Table(
            spec=ds.TableSpec({"row": flat[0], "column": flat[1]}, None if self.counts else "v", name="t"),
            codes=np.column_stack(np.divmod(np.arange(size), columns + 1)).astype(np.int32),
            value=full.ravel(),
            decimals=0,
            empty=unsafe,
            holders=Holders(count, identity, own) if self.named else None,
            contributions={
                "holding": Contributions(count, full.ravel(), np.zeros((size, 0), np.int64), np.zeros(size, np.bool_))
            },
            lower_bound=low,
            upper_bound=high,
            assessment=Assessment((), "handbook", {}, unsafe, none, none, none, sliding),
        )

    def evidence(self) -> Evidence:
        boxes, entries = self.certificates, [e for b in self.certificates for e in b.amount.items()]
        uses = [entry for members in self.proofs.values() for entry in members]
        return Evidence(
            method={"insiders": self.insiders, "known_within": self.within, "coalitions": self.coalitions},
            claim=suppression_claim(
                self.insiders,
                self.within,
                universes=False,
                unnamed=not self.named,
                uncounted=False,
                accepted=len(self.accepted),
                coalitions=self.coalitions,
                unnamed_pairs=not self.named,
                counts=True,
                fractions=True,
            ),
            decimals=0,
            certificates=Certificates(
                start=pointers(np.array([len(b.amount) for b in boxes], np.int64)),
                denominator=_numbers([b.denominator for b in boxes]),
                both=np.array([b.both for b in boxes], np.bool_),
                entry_table=np.zeros(len(entries), np.int64),
                entry_row=np.array([self.row(cell) for cell, _ in entries], np.int64),
                amount=_numbers([amount for _, amount in entries]),
            ),
            proofs=Proofs(
                table=np.zeros(len(self.proofs), np.int64),
                row=np.array([self.row(cell) for cell in self.proofs], np.int64),
                start=pointers(np.array([len(members) for members in self.proofs.values()], np.int64)),
                certificate=np.array([c for c, _ in uses], np.int64),
                use=np.array([use for _, use in uses], np.int8),
            ),
            accepted=self.accepted,
        )

    def verdict(self, evidence: Evidence | None = None) -> Verdict:
        """What the checker says of the evidence, with the levels taken for granted."""
        custodian = self.custodian()
        verdict = Verdict()
        check_evidence(verdict, Ground(custodian), evidence or custodian.evidence[0], [self.recheck()])
        return verdict

    def recheck(self) -> SimpleNamespace:
        """The levels, as if they had been computed from rules."""
        size = (self.value.shape[0] + 1) * (self.value.shape[1] + 1)
        upper, lower = np.zeros(size, object), np.zeros(size, object)
        for cell, (up, down, _) in self.levels.items():
            upper[self.row(cell)], lower[self.row(cell)] = up, down
        return SimpleNamespace(upper=upper, lower=lower)

    # ---- the same in plain Python -------------------------------------------------------------------------

    def holds(self) -> bool:
        """Whether certificates and proofs are as they should be."""
        return all(self._good(b) for b in self.certificates) and all(self._proved(cell) for cell in self.levels)

    def _known(self, cell: Cell) -> tuple[float, float]:
        below, above = self.bounds.get(cell, (None, None))
        low, high = 0 if below is None else below, float("inf") if above is None else above
        if self.within is not None:
            off = Fraction(str(self.within)) * int(self.value[cell]) // 100
            low, high = max(low, int(self.value[cell]) - off), min(high, int(self.value[cell]) + off)
        return low, high

    def _good(self, b: Box) -> bool:
        for cell in b.amount:
            low, high = self._known(cell)
            for sign in (1, -1) if b.both else (1,):
                if not low <= int(self.value[cell]) + sign * b.move(cell) <= high:
                    return False
            if self.counts and b.move(cell).denominator != 1:
                return False
        sums = [sum(a for (r, _), a in b.amount.items() if r == row) for row in range(self.value.shape[0])]
        sums += [sum(a for (_, c), a in b.amount.items() if c == column) for column in range(self.value.shape[1])]
        return not any(sums)

    def _proved(self, cell: Cell) -> bool:
        up, down, sliding = self.levels[cell]
        members = self.proofs.get(cell)
        if members is None:
            return False
        taken: dict[int, list[tuple[Box, int]]] = {UP: [], DOWN: [], MOVES: []}
        for number, use in members:
            b = self.certificates[number]
            move = b.move(cell)
            sign = 1 if use == MOVES or (move > 0) == (use == UP) else -1
            level = {UP: up, DOWN: down, MOVES: 0}[use]
            if move == 0 or abs(move) < level or (sign < 0 and not b.both):
                return False
            taken[use].append((b, sign))
        least = {use: min((abs(b.move(cell)) for b, _ in taken[use]), default=Fraction(0)) for use in (UP, DOWN)}
        if (up and not taken[UP]) or (down and not taken[DOWN]) or least[UP] + least[DOWN] < sliding:
            return False
        if self.insiders == "nonzero":
            every = [*taken[UP], *taken[DOWN], *taken[MOVES]]
            return not (up or down or sliding) or (self._hidden(cell, every, set()) and not self._pooled(cell, every))
        if self.insiders == "full":
            falls = down or sliding > least[UP]
            rises = up or sliding > least[DOWN] or (sliding and not falls)
            if rises and (not self._hidden(cell, taken[UP], set()) or self._pooled(cell, taken[UP])):
                return False
            if falls and not self._hidden(cell, taken[DOWN], self._cramped(cell, down)):
                return False
            if falls and self._pooled(cell, taken[DOWN], down):
                return False
        return True

    def _cramped(self, cell: Cell, level: int) -> set[object]:
        """The largest contributor, and those whose own contribution leaves no room for the lower level.

        Where cells may be negative, a contribution says nothing of that room.
        """
        largest = {who for who, _ in self._listed(cell)[:1]}
        if self.bounds.get(cell, (None, None))[0] not in (None, 0) and self.bounds[cell][0] < 0:
            return largest
        return largest | {who for who, own in self._listed(cell) if int(self.value[cell]) - level < own}

    def _listed(self, cell: Cell) -> list[tuple[int, int]]:
        return self.people.get(cell, [])[: self.listed] if self.named else []

    def _hidden(self, cell: Cell, members: list[tuple[Box, int]], spared: set[object]) -> bool:
        """Whether nobody but the spared rules all members out."""
        sets = [found for b, sign in members if (found := self._against(cell, b, sign)) is not None]
        if not sets:
            return False
        alone = self._sole(cell) if len(self.people.get(cell, [])) == 1 else None
        return not set.intersection(*sets) - spared - {alone}

    def _sole(self, cell: Cell) -> object:
        return self.people[cell][0][0] if self.named else ("only one of", cell)

    def _against(self, target: Cell, b: Box, sign: int) -> set[object] | None:
        """Who rules a certificate out; None where everybody may."""
        found: set[object] = set()
        exact = self.insiders == "full" or self.counts
        for cell in b.amount:
            move, people, listed = sign * b.move(cell), self.people.get(cell, []), self._listed(cell)
            if move and len(people) == 1:
                found.add(self._sole(cell))
            if move >= 0 or len(people) <= 1 or (cell == target and self.insiders == "full" and not self.counts):
                continue
            room = int(self.value[cell]) - min(self.bounds.get(cell, (None, None))[0] or 0, 0)
            seen = {who for who, own in listed if (room + move < own if exact else room <= own)}
            if len(people) > len(listed) > 0:
                own = listed[-1][1]
                if room + move < own if exact else room <= own:
                    return None
            found |= seen
        return found

    # ---- two together: all pairs, one after the other -----------------------------------------------------

    def _pooled(self, target: Cell, members: list[tuple[Box, int]], down: int | None = None) -> bool:
        """Whether some pair of anybody, strangers included, rules all members out; falls where a level is given."""
        if not self.coalitions:
            return False
        everybody: set[object] = {who for people in self.people.values() for who, _ in people}
        everybody |= {self._sole(cell) for cell, people in self.people.items() if len(people) == 1}
        everybody |= {"a stranger", "another stranger"}
        return any(
            not self._no_attackers(target, {a, b}, down)
            and all(self._seen_by_two(target, b_, sign, {a, b}) for b_, sign in members)
            for a, b in combinations(everybody, 2)
        )

    def _no_attackers(self, target: Cell, pair: set[object], down: int | None) -> bool:
        people, listed = self.people.get(target, []), self._listed(target)
        if len(people) == 1 and self._sole(target) in pair:
            return True
        if len(people) == len(listed) == 2 and {who for who, _ in listed} == pair:
            return True
        if len(people) == 2 and not listed and all(isinstance(who, tuple) for who in pair):
            return True  # neither is named: they may be the two who fill it
        if down is None:
            return False
        if listed and listed[0][0] in pair:
            return True
        if (self.bounds.get(target, (None, None))[0] or 0) < 0:
            return False
        return int(self.value[target]) - down < sum(own for who, own in listed if who in pair)

    def _seen_by_two(self, target: Cell, b: Box, sign: int, pair: set[object]) -> bool:
        """Whether two may rule a certificate out; whoever is not listed may be among those who are not."""
        for cell in b.amount:
            move, people, own = sign * b.move(cell), self.people.get(cell, []), dict(self._listed(cell))
            if move and len(people) == 1 and self._sole(cell) in pair:
                return True
            if not move or len(people) < 2 or not own:
                continue
            inside = [own[who] for who in pair if who in own]
            inside += [min(own.values())] * min(len(people) - len(own), len(pair) - len(inside))
            filled = len(people) == len(inside) == 2
            if filled and cell != target:
                return True
            if move > 0 or not inside or (cell == target and self.insiders == "full" and not self.counts):
                continue
            # Two who fill the target are no attackers of it, but either might be one with somebody else.
            together = max(inside) if cell == target and len(people) == 2 else sum(inside)
            room = int(self.value[cell]) - min(self.bounds.get(cell, (None, None))[0] or 0, 0)
            if room + move < together if self.insiders == "full" or self.counts else room <= together:
                return True
        return False


def _numbers(values: list[int]) -> np.ndarray:
    wide = max((abs(v) for v in values), default=0) >= 2**62
    return np.array(values, object if wide else np.int64)
