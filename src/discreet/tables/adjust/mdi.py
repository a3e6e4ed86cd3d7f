"""Adjustment by least discrimination information: unsafe cells at safe values, the others in proportion.

Directions come from votes of the slices that a cell lies in and from flips of single cells; the other cells are fitted
to the margins by iterative proportional fitting. Source: Cox, Orelien and Shah (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil, log

import numpy as np

from discreet.errors import NeedsError, ParameterError
from discreet.model.arrays import Bools, Codes, Floats, Ints
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.relations.interior import Interior
from discreet.tables.adjust.moves import MoveLimits

ENUMERATE = 16
"""Slices with at most so many unsafe cells are looked at in all combinations of directions."""
CONFIDENCE, BEST_SHARE = 0.99, 0.001
"""Of larger ones so many combinations are drawn that one of the best share is among them with this confidence."""
STARTS = 3
"""Single cells and pairs are then flipped from so many of the best draws."""
SWEEPS, FINAL_SWEEPS = 60, 2_000
TOLERANCE, FINAL_TOLERANCE = 0.25, 1e-7


def sample_size(confidence: float, share: float) -> int:
    """How many random draws hit the best ``share`` at least once with a given confidence.

    Examples
    --------
    >>> sample_size(0.99, 0.001)
    4603
    """
    if not (0 < confidence < 1 and 0 < share < 1):
        raise ParameterError("Confidence and share lie between 0 and 1.", hint="For example sample_size(0.99, 0.001).")
    return ceil(log(1 - confidence) / log(1 - share))


@dataclass(frozen=True, eq=False)
class Fitted:
    """Adjusted finest cells for some directions; ``distance`` is infinite where there are none."""

    directions: Bools
    value: Floats
    distance: float


class Proportional:
    """The finest cells of a table, what they must be near to, and the margins that are kept.

    Parameters
    ----------
    original
        Values of the finest cells.
    unsafe
        Positions of the unsafe ones.
    safe_low, safe_high
        Their safe values.
    families
        For each family of margins the number of each cell's margin; each family covers every cell once.
    slices
        The same for the slices that vote.
    """

    def __init__(
        self,
        original: Floats,
        unsafe: Ints,
        safe_low: Floats,
        safe_high: Floats,
        families: list[Ints],
        slices: list[Ints],
    ) -> None:
        self.original, self.unsafe = original, unsafe
        self.low, self.high = safe_low, safe_high
        self.families, self.slices = families, slices
        self.free = np.ones(len(original), np.bool_)
        self.free[unsafe] = False
        self.totals = [np.bincount(f, original) for f in families]
        self.margins = _margins(families)
        self.sweeps = SWEEPS

    def fit(self, directions: Bools, final: bool = False) -> Fitted:
        """Fit the other cells to the margins by proportions."""
        from discreet.solve.proportional import fit_until_close

        value = self.original.copy()
        value[self.unsafe] = np.where(directions, self.high, self.low)
        frozen = np.where(self.free, 0.0, value)
        targets = [t - np.bincount(f, frozen) for f, t in zip(self.families, self.totals, strict=True)]
        nothing = Fitted(directions, value, np.inf)
        if any(np.any(t < -1e-9) for t in targets):
            return nothing
        free = np.where(self.free, value, 0.0)
        tolerance, sweeps = (FINAL_TOLERANCE, FINAL_SWEEPS) if final else (TOLERANCE, self.sweeps)
        if not fit_until_close(*self.margins, np.concatenate(targets), free, sweeps, tolerance):
            return nothing
        value = np.where(self.free, free, value)
        return Fitted(directions, value, self.distance(value))

    def distance(self, value: Floats) -> float:
        """Sum of value times the logarithm of its ratio to the original."""
        some = value > 0
        return float((value[some] * np.log(value[some] / self.original[some])).sum())

    def votes(self, slices: Ints) -> Ints:
        """For every unsafe cell 1 (up), 0 (down) or -1 (no preference) from the slices of one variable."""
        result = np.full(len(self.unsafe), -1, np.int64)
        free_total = np.bincount(slices, np.where(self.free, self.original, 0.0))
        total = np.bincount(slices, self.original)
        mine = slices[self.unsafe]
        for number in np.unique(mine).tolist():
            cells = np.flatnonzero(mine == number)
            best = self._slice(cells, float(total[number]), float(free_total[number]))
            if best is not None:
                result[cells] = best
        return result

    def _slice(self, cells: Ints, total: float, rest: float) -> Bools | None:
        """The best directions of the unsafe cells of a slice when its other cells keep their proportions."""
        if rest <= 0:
            return None
        original = self.original[self.unsafe[cells]]
        cost = np.stack([_entropy(safe[cells], original) for safe in (self.low, self.high)])
        sums = np.stack((self.low[cells], self.high[cells]))
        if len(cells) <= ENUMERATE:
            number = np.arange(2 ** len(cells))
            chosen = ((number[:, None] >> np.arange(len(cells))) & 1).astype(np.bool_)
            found = _slice_distance(chosen, cost, sums, total, rest)
            best = int(np.argmin(found))
            return chosen[best] if np.isfinite(found[best]) else None
        rng = np.random.default_rng(len(cells))
        drawn = rng.random((sample_size(CONFIDENCE, BEST_SHARE), len(cells))) < 0.5
        nearest = np.argsort(_slice_distance(drawn, cost, sums, total, rest), kind="stable")[:STARTS]
        starts = [np.zeros(len(cells), np.bool_), np.ones(len(cells), np.bool_), *drawn[nearest]]
        tried = [self._descend(start, cost, sums, total, rest) for start in starts]
        distance, directions = min(tried, key=lambda entry: entry[0])
        return directions if np.isfinite(distance) else None

    def _descend(self, start: Bools, cost: Floats, sums: Floats, total: float, rest: float) -> tuple[float, Bools]:
        """Flip single cells and pairs of cells of a slice while that helps."""
        now = start.copy()
        best = float(_slice_distance(now[None], cost, sums, total, rest)[0])
        one, two = np.triu_indices(len(now))
        while True:
            flipped = np.repeat(now[None], len(one), axis=0)
            flipped[np.arange(len(one)), one] ^= True
            flipped[np.arange(len(two)), two] ^= one != two
            found = _slice_distance(flipped, cost, sums, total, rest)
            step = int(np.argmin(found))
            if not found[step] < best:
                return best, now
            best, now = float(found[step]), flipped[step]

    def start(self, printed: bool = False) -> Bools:
        """Directions by majority of the votes; ties go where the entropy of the cell changes less.

        ``printed`` takes the tie rule of the source's formula, which is the opposite of its words.
        """
        votes = np.stack([self.votes(slices) for slices in self.slices])
        balance = np.where(votes == 1, 1, np.where(votes == 0, -1, 0)).sum(axis=0)
        original = self.original[self.unsafe]
        change = [np.abs(_plogp(safe) - _plogp(original)) for safe in (self.high, self.low)]
        up = change[0] >= change[1] if printed else change[0] < change[1]
        return np.where(balance > 0, True, np.where(balance < 0, False, up))

    def flipped(self, start: Fitted, allowed: Bools, passes: int = 50) -> Fitted:
        """Flip one cell after the other where that brings the values nearer, until a whole pass brings nothing."""
        best = start
        for _ in range(passes):
            before = best.distance
            for i in np.flatnonzero(allowed).tolist():
                directions = best.directions.copy()
                directions[i] ^= True
                found = self.fit(directions)
                if found.distance < best.distance - 1e-9:
                    best = found
            if not best.distance < before:
                break
        return best


def _margins(families: list[Ints]) -> tuple[Ints, Codes]:
    """Where the cells of each margin begin, and the cells, one family after the other."""
    starts, members = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
    for family in families:
        starts.append(starts[-1][-1] + np.cumsum(np.bincount(family)))
        members.append(np.argsort(family, kind="stable").astype(np.int32))
    return np.concatenate(starts), np.concatenate(members)


def _entropy(value: Floats, original: Floats) -> Floats:
    """Value times the logarithm of its ratio to the original; zero for zero."""
    return np.where(value > 0, value * np.log(np.where(value > 0, value, 1.0) / original), 0.0)


def _plogp(value: Floats) -> Floats:
    return np.where(value > 0, value * np.log(np.where(value > 0, value, 1.0)), 0.0)


def _slice_distance(chosen: Bools, cost: Floats, sums: Floats, total: float, rest: float) -> Floats:
    """Distance of a slice for some combinations of directions; infinite where the rest would be negative."""
    left = total - np.where(chosen, sums[1], sums[0]).sum(axis=1)
    share = np.where(left > 0, left, 1.0)
    other = np.where(left > 0, share * np.log(share / rest), np.where(left == 0, 0.0, np.inf))
    return np.asarray(np.where(chosen, cost[1], cost[0]).sum(axis=1) + other, np.float64)


def proportional(system: System, inner: Interior, moves: MoveLimits, all_margins: bool) -> Proportional:
    """The problem of a system of one table.

    Raises
    ------
    NeedsError
        When there are several tables, an unsafe cell is a total, or values are negative or zero where they are unsafe.
    """
    where = "Adjustment by least information (objective='mdi')"
    if len(system.tables) > 1 or len(inner.cells) < len(inner.finest):
        raise NeedsError(f"{where} takes one table.", hint="Use objective='l1', which takes linked tables.")
    place = np.full(len(system), -1, np.int64)
    place[inner.cells] = np.arange(len(inner.cells))
    at = place[moves.unsafe]
    if np.any(at < 0):
        cell = system.cell_name(int(moves.unsafe[np.argmax(at < 0)]))
        raise NeedsError(f"{where} cannot move totals, and {cell} is unsafe.", hint="Use objective='l1'.")
    original = system.value[inner.cells].astype(np.float64) / moves.grid
    if np.any(original < 0) or np.any(original[at] <= 0):
        raise NeedsError(
            f"{where} needs values that are not negative, and unsafe ones above zero.", hint="Use objective='l1'."
        )
    table = system.tables.tables[0]
    row = np.zeros(len(system), np.int64)
    row[system.of[0]] = np.arange(len(table))
    codes = table.codes[row[inner.cells]]
    variables = range(len(table.variables))
    size = max(len(table.variables) - 1, 1) if all_margins else 1
    families = [_numbers(codes[:, list(some)]) for some in combinations(variables, size)]
    slices = [_numbers(codes[:, [k]]) for k in variables]
    low, high = original[at] - moves.least_down, original[at] + moves.least_up
    return Proportional(original, at, low, high, families, slices)


def _numbers(columns: Codes) -> Ints:
    return np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def least_information(problem: Proportional, moves: MoveLimits, draws: int) -> tuple[Fitted, dict[str, float]]:
    """Votes, flips, and random draws of directions with flips after each that is better."""
    best, facts = _best_directions(problem, moves, draws)
    if not np.isfinite(best.distance):  # small cells that must grow a lot are fitted slowly
        problem.sweeps = FINAL_SWEEPS
        best, facts = _best_directions(problem, moves, draws)
    checkpoint("adjust", 2, 4)
    if np.isfinite(best.distance):
        final = problem.fit(best.directions, final=True)
        best = final if np.isfinite(final.distance) else best
    return best, {**facts, "distance": best.distance}


def _best_directions(problem: Proportional, moves: MoveLimits, draws: int) -> tuple[Fitted, dict[str, float]]:
    """The directions that were found with the least distance, and the distances on the way."""
    rise, fall = moves.can_rise, moves.can_fall
    allowed = rise & fall
    directions = np.where(allowed, problem.start(), rise)
    first = problem.fit(directions)
    checkpoint("adjust", 1, 4)
    best = problem.flipped(first, allowed)
    facts = {"start_distance": first.distance, "flipped_distance": best.distance}
    rng = np.random.default_rng(20240229)
    for _ in range(draws):
        drawn = np.where(allowed, rng.random(len(rise)) < 0.5, rise)
        found = problem.fit(drawn)
        if found.distance < best.distance:
            best = problem.flipped(found, allowed)
    return best, facts
