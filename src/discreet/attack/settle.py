"""Push cells until everything that is asked of them is settled: in large batches first, around single cells last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.attack.moves import PossibleMoves
from discreet.model.arrays import Bools, Floats, Ints

ALIKE = 1e3
"""Aims in one program differ by no more than this factor, or the small ones drown in rounding errors."""
POOR = 8
"""A program that settles fewer than one in so many pushed cells pushed too many."""
WORTH = 300
"""Cells for each demand that a program over all of them must settle to be worth its time."""
HUGE, SPARSE = 50_000, 10
"""Above so many cells, programs over all of them are for more than one demand in so many cells."""
SIZES = (150, 600, 2_400, 9_600)
"""Cells around a single one: more are looked at only where fewer leave the question open."""

Report = Callable[[int], None]


EVERY = slice(None)


class Wanted(ABC):
    """What is asked of cells."""

    scale: float | None = None
    """The unit of programs; None leaves it to the aims."""
    first: int = 10**9
    """How many cells to push in the first program."""
    sizes: tuple[int, ...] = SIZES
    """How many cells to look at around a single one before all that are tied to it."""

    @abstractmethod
    def open(self, moves: PossibleMoves, cells: Ints | slice = EVERY) -> tuple[Bools, Floats]:
        """Which rises and falls of all or some cells are not settled yet, and how far to push each."""


@dataclass(frozen=True, eq=False)
class SettledLevels(Wanted):
    """Whether cells rise and fall by their levels, and have at least some width.

    ``level`` is what each cell must be able to rise and fall by, ``width`` what both must make together, ``reach``
    how far to push for the width; tolerances are taken off already.
    """

    level: Floats
    enough: Floats
    width: Floats
    reach: Floats

    def open(self, moves: PossibleMoves, cells: Ints | slice = EVERY) -> tuple[Bools, Floats]:
        """Levels and widths that are neither shown nor shown to be impossible."""
        shown, possible = moves.shown[:, cells], moves.possible[:, cells]
        enough, width = self.enough[:, cells], self.width[cells]
        lacking = (shown < enough) & (possible >= enough)
        narrow = (shown.sum(axis=0) < width) & (possible.sum(axis=0) >= width)
        further = narrow & (possible > shown)
        aim = np.where(lacking, self.level[:, cells], 0.0)
        aim = np.where(further, np.maximum(aim, np.minimum(possible, self.reach[:, cells])), aim)
        return (lacking | further) & (aim > 0), aim


@dataclass(frozen=True, eq=False)
class Ends(Wanted):
    """How far exactly cells rise and fall, but for a tolerance; endless ones count as settled."""

    tolerance: Floats
    most: float
    scale: float = 1.0
    first = 64
    sizes = ()

    def open(self, moves: PossibleMoves, cells: Ints | slice = EVERY) -> tuple[Bools, Floats]:
        """Rises and falls of which more is possible than shown."""
        aim = np.minimum(moves.possible[:, cells], self.most)
        return aim - moves.shown[:, cells] > self.tolerance[cells], aim


def settle(moves: PossibleMoves, wanted: Wanted, seed: int, report: Report, batches: bool = True) -> None:
    """Push until nothing is open. The seed decides which cells are pushed together, not what is found.

    ``batches=False`` pushes every cell alone from the beginning: right for the hard ones among many that are settled.
    """
    if batches and worth_batches(moves, int(wanted.open(moves)[0].sum())):
        _together(moves, wanted, seed, report)
    _one_by_one(moves, wanted, report)


def worth_batches(moves: PossibleMoves, demands: int) -> bool:
    """Whether to push cells together; a few among very many are better looked at in their surroundings."""
    return len(moves) <= HUGE or SPARSE * demands > len(moves)


def _together(moves: PossibleMoves, wanted: Wanted, seed: int, report: Report) -> None:
    """Push many cells at once while that settles many."""
    random = np.random.default_rng(seed)
    size: dict[int, int] = {}
    poor: set[int] = set()
    while True:
        is_open, aim = wanted.open(moves)
        count = int(is_open.sum())
        report(count)
        bins = _bins(is_open, aim)
        rich = [number for number in np.unique(bins[is_open]).tolist()[::-1] if number not in poor]
        if not rich:
            return
        number = rich[0]
        way, cell = np.nonzero(is_open & (bins == number))
        pick = _distinct(random, cell)[: size.get(number, wanted.first)]
        moves.push(moves.whole, cell[pick], way[pick], aim[way[pick], cell[pick]], wanted.scale)
        settled = count - int(wanted.open(moves)[0].sum())
        size[number] = _next_size(len(pick), settled)
        if settled * WORTH < len(moves):
            poor.add(number)


def _bins(is_open: Bools, aim: Floats) -> Ints:
    with np.errstate(divide="ignore"):
        return np.where(is_open, np.floor(np.log(np.maximum(aim, 1e-300)) / np.log(ALIKE)), 0).astype(np.int64)


def _distinct(random: np.random.Generator, cells: Ints) -> Ints:
    """Positions of all distinct cells, in random order."""
    order = random.permutation(len(cells))
    _, first = np.unique(cells[order], return_index=True)
    return order[np.sort(first)]


def _next_size(pushed: int, settled: int) -> int:
    if settled * POOR <= pushed:
        return max(1, pushed // 2)
    return 2 * pushed if 2 * settled > pushed else pushed


def _one_by_one(moves: PossibleMoves, wanted: Wanted, report: Report) -> None:
    """What is left, cell by cell, in growing surroundings."""
    ways, cells = np.nonzero(wanted.open(moves)[0])
    order = np.lexsort((cells, moves.labels[0][cells]))  # one component after the other, to build each program once
    for number, (way, cell) in enumerate(zip(ways[order].tolist(), cells[order].tolist(), strict=True)):
        report(len(order) - number)
        alone = np.array([cell])
        for size in (*wanted.sizes, len(moves)):
            is_open, aim = wanted.open(moves, alone)
            if not is_open[way, 0]:
                break
            region = moves.near(cell, size)
            moves.push(region, alone, np.array([way]), aim[way], wanted.scale)
