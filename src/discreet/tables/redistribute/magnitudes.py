"""Maps of magnitudes: contributors or value move to cells close by until no rule fails (Lee, Choi and O'Keefe 2012)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.tables.redistribute.counts import Outliers, outlier_cells
from discreet.tables.redistribute.grid import FAR, Geometry


@dataclass(frozen=True)
class MapRules:
    """When a cell of a map of magnitudes is sensitive; what is left out is not tested.

    Parameters
    ----------
    threshold
        Least number of contributors.
    max_share
        A largest contributor above this share is too much.
    dominance
        (n, k): the n largest together reach the share k.
    p
        p% rule: the remainder without the two largest is below p per cent of the largest.
    tolerance
        Relative slack of all comparisons, so that a repaired cell on its limit is not called sensitive.
    margin
        How far below its limit the (n, k) rule is repaired, because it fails on the limit already.
    """

    threshold: int = 3
    max_share: float | None = None
    dominance: tuple[int, float] | None = None
    p: float | None = None
    tolerance: float = 1e-12
    margin: float = 1e-6

    def __post_init__(self) -> None:
        if self.threshold < 2:
            raise ParameterError(f"threshold={self.threshold} must be at least 2.")
        if self.max_share is not None and not 0 < self.max_share < 1:
            raise ParameterError(f"max_share={self.max_share} must lie between 0 and 1.")
        if self.dominance is not None and (self.dominance[0] < 1 or not 0 < self.dominance[1] < 1):
            raise ParameterError(f"dominance={self.dominance} must be (n >= 1, 0 < k < 1).")
        if self.p is not None and not 0 < self.p <= 100:
            raise ParameterError(f"p={self.p} must lie in (0, 100].")
        if not 0 <= self.tolerance < self.margin:
            raise ParameterError("margin must exceed tolerance.")

    def broken(self, values: Floats) -> str:
        """The first dominance rule that a cell breaks, or nothing: ``share``, ``dominance`` or ``p``."""
        v = np.sort(values)[::-1]
        total = float(v.sum())
        if total <= 0:
            return ""
        if self.max_share is not None and v[0] > self.max_share * total * (1 + self.tolerance):
            return "share"
        if self.dominance is not None:
            n, k = self.dominance
            if v[:n].sum() >= k * total * (1 - self.tolerance):
                return "dominance"
        if self.p is not None:
            rest = total - float(v[:2].sum())
            if rest < self.p / 100 * v[0] * (1 - self.tolerance):
                return "p"
        return ""

    def sensitive(self, values: Floats) -> bool:
        """Whether a cell of these contributions has too few of them or breaks another rule."""
        return int((values > 0).sum()) < self.threshold or self.broken(values) != ""

    def hopeless(self, contributors: int) -> str:
        """Why a cell of so many contributors cannot be repaired by value, if it cannot."""
        if self.max_share is not None and self.max_share < 1 / contributors:
            return f"{contributors} equal contributors already exceed the share of {self.max_share:g}"
        if self.dominance is not None and self.dominance[1] <= self.dominance[0] / contributors:
            return f"the {self.dominance[0]} largest of {contributors} equal contributors reach {self.dominance[1]:g}"
        if self.p is not None and contributors < 3:
            return "the p% rule needs three contributors"
        return ""

    def repaired(self, values: Floats, rule: str) -> Floats:
        """Values with the dominating ones reduced to their limit; the others stay.

        Examples
        --------
        >>> MapRules(max_share=0.5).repaired(np.array([48.0, 7, 4, 9, 6]), "share").tolist()
        [26.0, 7.0, 4.0, 9.0, 6.0]
        """
        order = np.argsort(-values, kind="stable")
        total = float(values.sum())
        result = values.copy()
        if rule == "share" and self.max_share is not None:
            result[order[0]] = self.max_share / (1 - self.max_share) * (total - values[order[0]])
        elif rule == "dominance" and self.dominance is not None:
            n, k = self.dominance
            largest = order[:n]
            together = float(values[largest].sum())
            wanted = k / (1 - k) * (total - together) * (1 - self.margin)
            result[largest] = values[largest] * (wanted / together)
        elif rule == "p" and self.p is not None:
            result[order[0]] = 100 / self.p * (total - float(values[order[:2]].sum()))
        return result


class ContributorMove(NamedTuple):
    """A contributor that moved from one cell to another."""

    contributor: int
    source: int
    target: int
    value: float
    steps: int


class ValueMove(NamedTuple):
    """Value that a repaired cell handed to a neighbour, and the rule that asked for it."""

    source: int
    target: int
    value: float
    rule: str


class RepairedMap(NamedTuple):
    """Contributors after the repair, all moves, and cells that could not be repaired, with the reason."""

    cell: Ints
    contributor: Ints
    value: Floats
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
        total = float(self.value.sum())
        return sum(move.value for move in self.value_moves) / total if total else 0.0


class _CellContributors:
    """Contributors of every cell, which may move; one identity counts once in a cell."""

    def __init__(self, cell: Ints, contributor: Ints, value: Floats) -> None:
        self.members: dict[int, dict[int, float]] = {}
        for c, who, amount in zip(cell.tolist(), contributor.tolist(), value.tolist(), strict=True):
            inside = self.members.setdefault(c, {})
            inside[who] = inside.get(who, 0.0) + amount
        self.members = {c: m for c, m in self.members.items() if sum(m.values()) > 0}

    def values(self, cell: int) -> tuple[list[int], Floats]:
        ids = sorted(self.members[cell])
        return ids, np.array([self.members[cell][who] for who in ids])

    def set_values(self, cell: int, ids: list[int], values: Floats) -> None:
        self.members[cell] = dict(zip(ids, values.tolist(), strict=True))


class MovedContributions(NamedTuple):
    """Contributions without those of outliers, or with these elsewhere; which cells were outliers, and the moves."""

    cell: Ints
    contributor: Ints
    value: Floats
    outlier: Bools
    moves: list[ContributorMove]


def contributors_of(cell: Ints, contributor: Ints, value: Floats, cells: int) -> Ints:
    """How many contributors every cell has; none where nothing is contributed."""
    pairs = np.unique(np.stack([cell, contributor]), axis=1)
    count = np.bincount(pairs[0], minlength=cells).astype(np.int64)
    count[np.bincount(cell, value, cells) <= 0] = 0
    return count


def without_outliers(
    cell: Ints,
    contributor: Ints,
    value: Floats,
    geometry: Geometry,
    *,
    threshold: int,
    outlier_distance: int | None,
    outliers: Outliers,
) -> MovedContributions:
    """Contributions of a map whose outliers, cells with few contributors far from all others, are removed or moved.

    ``"redistribute"`` moves each contributor of an outlier to another of the closest cells, smaller ones first.
    """
    counts = contributors_of(cell, contributor, value, len(geometry))
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
            moves.append(ContributorMove(int(who[one]), c, int(targets[at]), float(held[one]), int(steps[at])))
    return MovedContributions(moved, contributor, value, outlier, moves)


def repaired_map(
    cell: Ints, contributor: Ints, value: Floats, geometry: Geometry, rules: MapRules, *, most_repairs: int = 1000
) -> RepairedMap:
    """Move contributors, then value, until no cell is sensitive.

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
    most_repairs
        How often one cell is repaired before it is given up.
    """
    if len(value) and (not np.isfinite(value).all() or value.min() < 0):
        raise InputError("Contributions must be numbers of at least zero.")
    if len(cell) and (cell.min() < 0 or cell.max() >= len(geometry)):
        raise InputError("A contribution lies in a cell that the map does not have.")
    cells = _CellContributors(cell, contributor, value)
    contributor_moves = _fill_up(cells, geometry, rules.threshold)
    value_moves: list[ValueMove] = []
    unresolved: dict[int, str] = {}
    there = np.array(sorted(cells.members), np.int64)
    # What a cell takes in changes no rule's outcome there, so that it is known beforehand which ones are repaired.
    broken = np.array([c for c in there.tolist() if rules.broken(cells.values(c)[1])], np.int64)
    for c, steps in _with_distances(broken, there, geometry):
        _repair(c, cells, there, steps, rules, most_repairs, value_moves, unresolved)
    rows = [(c, who, amount) for c, inside in sorted(cells.members.items()) for who, amount in sorted(inside.items())]
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    return RepairedMap(
        np.array(columns[0], np.int64),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.float64),
        contributor_moves,
        value_moves,
        unresolved,
    )


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
    c: int, members: Mapping[int, Mapping[int, float]], there: Ints, steps: Ints
) -> tuple[int, float, int, int] | None:
    """Distance, value, cell and identity of the smallest contributor of the nearest cells that is not there already."""
    left = steps.copy()
    while (away := int(left.min())) < FAR:
        near = np.flatnonzero(left == away)
        offers = [(m, d, who) for d in there[near].tolist() for who, m in members[d].items() if who not in members[c]]
        if offers:
            return (away, *min(offers))
        left[near] = FAR
    return None


def _repair(
    c: int,
    cells: _CellContributors,
    there: Ints,
    steps: Ints,
    rules: MapRules,
    most_repairs: int,
    moves: list[ValueMove],
    unresolved: dict[int, str],
) -> None:
    ids, values = cells.values(c)
    rule = rules.broken(values)
    if not rule:
        return
    reason = rules.hopeless(int((values > 0).sum()))
    target = None if reason else _receiver(cells, there, steps, rules)
    if target is None:
        unresolved[c] = reason or "no other cell can take value"
        return
    handed: dict[str, float] = {}
    before = values.copy()
    for _ in range(most_repairs):
        new = rules.repaired(values, rule)
        handed[rule] = handed.get(rule, 0.0) + float((values - new).sum())
        values = new
        rule = rules.broken(values)
        if not rule:
            break
    else:
        unresolved[c] = f"still sensitive after {most_repairs} repairs"
        return
    if values.sum() <= 0:
        unresolved[c] = "nothing would remain"
        return
    cells.set_values(c, ids, values)
    # In proportion, so that no rule's outcome changes where the value goes.
    other_ids, others = cells.values(target)
    cells.set_values(target, other_ids, others * (1 + float((before - values).sum()) / float(others.sum())))
    moves.extend(ValueMove(c, target, amount, name) for name, amount in handed.items())


def _receiver(cells: _CellContributors, there: Ints, steps: Ints, rules: MapRules) -> int | None:
    """The neighbour that takes the value: one that breaks no rule if there is one, with the smallest contributor.

    Where no neighbour is occupied, the nearest cells are taken for neighbours.
    """
    away = np.where(steps > 0, steps, FAR)
    if int(away.min()) >= FAR:
        return None
    near = there[away == away.min()].tolist()
    return int(min(near, key=lambda d: (rules.broken(cells.values(d)[1]) != "", min(cells.members[d].values()), d)))
