"""Maps of magnitudes: contributors or value move to cells close by until no rule fails (Lee, Choi and O'Keefe 2012)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, ProtectionError, counted
from discreet.model.arrays import Bools, Ints
from discreet.tables.redistribute.counts import Outliers, outlier_cells
from discreet.tables.redistribute.grid import FAR, Geometry
from discreet.tables.redistribute.limits import MapRules, reduced, spread


class ContributorMove(NamedTuple):
    """A contributor that moved from one cell to another."""

    contributor: int
    source: int
    target: int
    value: int
    steps: int


class ValueMove(NamedTuple):
    """Value that a repaired cell handed to a neighbour, and the rule that asked for it."""

    source: int
    target: int
    value: int
    rule: str


class RepairedMap(NamedTuple):
    """Contributors after the repair, all moves, and cells that could not be repaired, with the reason."""

    cell: Ints
    contributor: Ints
    value: Ints
    contributor_moves: list[ContributorMove]
    value_moves: list[ValueMove]
    unresolved: dict[int, str]

    @property
    def distance(self) -> int:
        """Steps of all contributors that moved (mu)."""
        return sum(move.steps for move in self.contributor_moves)

    @property
    def share_moved(self) -> float:
        """Value handed over, as a share of the total."""
        total = int(self.value.sum())
        return sum(move.value for move in self.value_moves) / total if total else 0.0


class _CellContributors:
    """Contributors of every cell, which may move; one identity counts once in a cell, and nobody has nothing."""

    def __init__(self, cell: Ints, contributor: Ints, value: Ints) -> None:
        self.members: dict[int, dict[int, int]] = {}
        for c, who, amount in zip(cell.tolist(), contributor.tolist(), value.tolist(), strict=True):
            if amount:
                inside = self.members.setdefault(c, {})
                inside[who] = inside.get(who, 0) + amount

    def values(self, cell: int) -> list[int]:
        """Contributions of a cell, by identity."""
        return [amount for _, amount in sorted(self.members[cell].items())]

    def set_values(self, cell: int, values: Sequence[int]) -> None:
        """Give the contributors of a cell other values, by identity."""
        self.members[cell] = dict(zip(sorted(self.members[cell]), values, strict=True))

    def columns(self) -> tuple[Ints, Ints, Ints]:
        """Cell, contributor and value of all contributions."""
        rows = [(c, who, v) for c, inside in sorted(self.members.items()) for who, v in sorted(inside.items())]
        made = np.array(rows, np.int64).reshape(-1, 3)
        return made[:, 0].copy(), made[:, 1].copy(), made[:, 2].copy()


class MovedContributions(NamedTuple):
    """Contributions without those of outliers, or with these elsewhere; which cells were outliers, and the moves."""

    cell: Ints
    contributor: Ints
    value: Ints
    outlier: Bools
    moves: list[ContributorMove]


def contributors_of(cell: Ints, contributor: Ints, cells: int) -> Ints:
    """How many contributors every cell has."""
    pairs = np.unique(np.stack([cell, contributor]), axis=1)
    return np.bincount(pairs[0], minlength=cells).astype(np.int64)


def without_outliers(
    cell: Ints,
    contributor: Ints,
    value: Ints,
    geometry: Geometry,
    *,
    threshold: int,
    outlier_distance: int | None,
    outliers: Outliers,
) -> MovedContributions:
    """Contributions of a map whose outliers, cells with few contributors far from all others, are removed or moved.

    Values are above zero. ``"redistribute"`` moves each contributor of an outlier to another of the closest cells,
    smaller ones first.
    """
    counts = contributors_of(cell, contributor, len(geometry))
    outlier = np.zeros(len(geometry), np.bool_)
    if outliers != "none":
        outlier = outlier_cells(counts, geometry, threshold, outlier_distance)
    if not outlier.any():
        return MovedContributions(cell, contributor, value, outlier, [])
    inside = outlier[cell]
    if outliers == "suppress":
        return MovedContributions(cell[~inside], contributor[~inside], value[~inside], outlier, [])
    targets = np.flatnonzero((counts > 0) & ~outlier)
    if not len(targets):
        raise ProtectionError("All cells of the map are outliers.", hint="Use a coarser grid or suppress them.")
    moved, moves = cell.copy(), []
    for c, steps in _with_distances(np.flatnonzero(outlier), targets, geometry):
        order = np.lexsort((targets, -counts[targets], steps))
        rows = np.flatnonzero(cell == c)
        who = np.unique(contributor[rows])
        held = np.array([value[rows][contributor[rows] == one].sum() for one in who])
        for k, one in enumerate(np.lexsort((who, held)).tolist()):
            at = int(order[k % len(order)])
            moved[rows[contributor[rows] == who[one]]] = targets[at]
            moves.append(ContributorMove(int(who[one]), c, int(targets[at]), int(held[one]), int(steps[at])))
    return MovedContributions(moved, contributor, value, outlier, moves)


def repaired_map(
    cell: Ints,
    contributor: Ints,
    value: Ints,
    geometry: Geometry,
    rules: MapRules,
    *,
    never: Mapping[int, int] | None = None,
    most_repairs: int = 1000,
) -> RepairedMap:
    """Move contributors, then value, until no cell is sensitive, in whole units.

    Parameters
    ----------
    cell
        Cell of each contribution, by its number in the geometry.
    contributor
        Identity (holding) of each contribution.
    value
        Contributions of at least zero.
    geometry
        Where the cells lie.
    rules
        What makes a cell sensitive.
    never
        What some cells must not hold in the end: the true values of sensitive ones.
    most_repairs
        How often one cell is repaired before it is given up.
    """
    if len(value) and value.min() < 0:
        raise InputError("Contributions must be numbers of at least zero.")
    if len(cell) and (cell.min() < 0 or cell.max() >= len(geometry)):
        raise InputError("A contribution lies in a cell that the map does not have.")
    cells = _CellContributors(cell, contributor, value)
    contributor_moves = _fill_up(cells, geometry, rules.threshold)
    repair = _ValueRepair(cells, rules, never or {}, len(geometry))
    for c, steps in _with_distances(np.array(sorted(repair.broken), np.int64), repair.there, geometry):
        repair.mend(c, steps, most_repairs)
    for c, steps in _with_distances(np.array(repair.true_cells(), np.int64), repair.there, geometry):
        repair.leave_truth(c, steps)
    return RepairedMap(*cells.columns(), contributor_moves, repair.moves, repair.unresolved)


def _fill_up(cells: _CellContributors, geometry: Geometry, threshold: int) -> list[ContributorMove]:
    """Give cells with few contributors the smallest ones of the nearest cells that have more than enough."""
    members = cells.members
    if sum(len(inside) for inside in members.values()) < threshold * len(members):
        raise ProtectionError(
            f"The map is too fine: {counted(len(members), 'cell', 'hold')} less than {threshold} contributors each "
            "on average.",
            hint="Use a coarser grid, or join neighbouring places.",
        )
    moves: list[ContributorMove] = []
    there = np.array(sorted(members), np.int64)
    size = np.array([len(members[c]) for c in there.tolist()], np.int64)
    few = there[size < threshold]
    few = few[np.lexsort((few, size[size < threshold]))]
    for c, steps in _with_distances(few, there, geometry):
        while len(members[c]) < threshold:
            offer = _nearest_offer(c, members, there, np.where(size > threshold, steps, FAR))
            if offer is None:
                raise ProtectionError("A cell finds no contributor to take in.", hint="Use a coarser grid.")
            away, amount, donor, who = offer
            del members[donor][who]
            size[np.searchsorted(there, donor)] -= 1
            members[c][who] = amount
            moves.append(ContributorMove(who, donor, c, amount, away))
    return moves


def _with_distances(some: Ints, there: Ints, geometry: Geometry) -> Iterator[tuple[int, Ints]]:
    """Some cells, each with its distances from all that are there."""
    for block in np.array_split(some, max(len(some) // 512, 1)):
        yield from zip(block.tolist(), geometry.distances(block, there) if len(block) else (), strict=True)


def _nearest_offer(
    c: int, members: Mapping[int, Mapping[int, int]], there: Ints, steps: Ints
) -> tuple[int, int, int, int] | None:
    """Distance, value, cell and identity of the smallest contributor of the nearest cells that is not there already."""
    left = steps.copy()
    while (away := int(left.min())) < FAR:
        near = np.flatnonzero(left == away)
        offers = [(m, d, who) for d in there[near].tolist() for who, m in members[d].items() if who not in members[c]]
        if offers:
            return (away, *min(offers))
        left[near] = FAR
    return None


class _ValueRepair:
    """Cells with large contributors hand value to cells close by.

    What a cell takes in changes no rule's outcome there, so that it is known beforehand which ones are repaired.
    """

    def __init__(self, cells: _CellContributors, rules: MapRules, never: Mapping[int, int], size: int) -> None:
        self.cells, self.rules, self.never = cells, rules, never
        self.there = np.array(sorted(cells.members), np.int64)
        self.broken: set[int] = set(np.flatnonzero(rules.dominated(*cells.columns(), size)).tolist())
        self.moves: list[ValueMove] = []
        self.unresolved: dict[int, str] = {}

    def mend(self, c: int, steps: Ints, most_repairs: int) -> None:
        """Reduce what is too large in a cell, and hand it to another one."""
        values = self.cells.values(c)
        reason = self.rules.hopeless(len(values)) or ("" if len(self.there) > 1 else "no other cell can take value")
        handed: dict[str, int] = {}
        for _ in range(most_repairs if not reason else 0):
            rule = self.rules.broken(values)
            if rule is None:
                break
            new = reduced(values, rule)
            handed[rule.kind] = handed.get(rule.kind, 0) + sum(values) - sum(new)
            values = new
        else:
            reason = reason or f"still sensitive after {most_repairs} repairs"
        target = None if reason else self._receiver(c, sum(handed.values()), steps)
        if target is None:
            self.unresolved[c] = reason or "no cell can take its value in whole units"
            return
        self.cells.set_values(c, values)
        self.cells.set_values(target, spread(self.cells.values(target), sum(handed.values())))
        self.broken.discard(c)
        self.moves.extend(ValueMove(c, target, amount, name) for name, amount in handed.items())

    def _receiver(self, c: int, amount: int, steps: Ints) -> int | None:
        """The neighbour that takes the value: one that breaks no rule if there is one, with the smallest contributor.

        Where no neighbour is occupied, or none can take the amount, the next nearest cells are taken for neighbours.
        """
        return next((d for d in self._nearest(c, steps) if self._may_hold(d, self._with(d, amount))), None)

    def _nearest(self, c: int, steps: Ints) -> Iterator[int]:
        """Other cells, nearest first, and those first that break no rule."""
        away = np.where((steps < FAR) & (self.there != c), steps, FAR)
        for distance in np.unique(away[away < FAR]).tolist():
            near = self.there[away == distance].tolist()
            yield from sorted(near, key=lambda d: (d in self.broken, min(self.cells.members[d].values()), d))

    def _with(self, cell: int, amount: int) -> list[int]:
        return spread(self.cells.values(cell), amount)

    def _may_hold(self, cell: int, values: list[int]) -> bool:
        """Whether a cell may hold these values: they break no rule, unless it is to be repaired anyway."""
        return min(values) > 0 and (cell in self.broken or self.rules.broken(values) is None)

    def true_cells(self) -> list[int]:
        """Cells that hold what they must not, though all rules are kept."""
        return [] if self.unresolved else [c for c in self.never if c in self.cells.members and self._is_true(c)]

    def _is_true(self, c: int, more: int = 0) -> bool:
        return sum(self.cells.members[c].values()) + more == self.never.get(c, -1)

    def leave_truth(self, c: int, steps: Ints) -> None:
        """Hand value on, or take some, where a cell came back to its true value by chance."""
        held = self.cells.values(c)
        enough = max(math.ceil(self.rules.near * max(held)), 1)
        for d, amount in product(self._nearest(c, steps), (enough, 1)):
            for more in (amount, -amount):
                if min(sum(held) - more, sum(self.cells.values(d)) + more) <= 0 or self._is_true(d, more):
                    continue
                mine, theirs = self._with(c, -more), self._with(d, more)
                if self._may_hold(c, mine) and self._may_hold(d, theirs):
                    self.cells.set_values(c, mine)
                    self.cells.set_values(d, theirs)
                    self.moves.append(ValueMove(*((c, d) if more > 0 else (d, c)), amount, "true value"))
                    return
        self.unresolved[c] = "it would show its true value"
