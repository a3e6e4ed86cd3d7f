"""Cells of a log-linear model: tables of sets of keys, the cells that they allow, and fitting to them in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.errors import ParameterError, listed
from discreet.measures.population.cells import SampleCells, numbered_cells
from discreet.model.arrays import Codes, Floats, Ints

WIDER = 16
"""While keys join, there may be so many times more cells for a moment."""
DENSE = 2**22
"""Shares are looked up in a table of up to so many cells, and by search beyond."""
KeySet = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class KeyPart:
    """Keys that hang together by terms: the cells that may occur, sorted, and the share of the population in each."""

    keys: KeySet
    sizes: tuple[int, ...]
    place: Ints
    share: Floats
    gap: float

    def at(self, cells: SampleCells) -> Floats:
        """The share of each cell of a sample."""
        asked = numbered_cells([cells.codes[key] for key in self.keys], self.sizes, len(cells.count))
        many = int(np.prod(self.sizes))
        if many > DENSE:
            return self.share[np.searchsorted(self.place, asked)]
        table = np.zeros(many)
        table[self.place] = self.share
        return table[asked]


class TooManyCells(ParameterError):
    """A part of the keys has too many cells."""


@dataclass(frozen=True, eq=False)
class KeyMargins:
    """Tables of sets of keys, each counted once: the places that occur, sorted, and their shares."""

    cells: SampleCells
    known: dict[KeySet, tuple[Ints, Floats]] = field(default_factory=dict)

    def of(self, keys: KeySet) -> tuple[Ints, Floats]:
        if keys not in self.known:
            self.known[keys] = self._counted(keys)
        return self.known[keys]

    def shape(self, keys: KeySet) -> tuple[int, ...]:
        return tuple(self.cells.sizes[key] for key in keys)

    def _counted(self, keys: KeySet) -> tuple[Ints, Floats]:
        cells = self.cells
        mass = cells.population if cells.weighted else cells.count
        own = numbered_cells([cells.codes[key] for key in keys], self.shape(keys), len(cells.count))
        many = float(np.prod([float(size) for size in self.shape(keys)]))
        if many <= DENSE:
            sums = np.bincount(own, mass, int(many))
            there = np.flatnonzero(sums)
            return there, sums[there] / sums.sum()
        there, inverse = np.unique(own, return_inverse=True)
        return there, np.bincount(inverse, mass) / float(mass.sum())


@dataclass(frozen=True)
class FitLimits:
    """When to give up fitting."""

    most_cells: int
    cycles: int
    tolerance: float

    def refusal(self, names: Sequence[str], keys: KeySet) -> TooManyCells:
        what = f"Terms that join {listed(names[key] for key in keys)} have more than {self.most_cells:,} cells."
        return TooManyCells(what, hint="Name fewer terms, make keys coarser, or raise most_cells=.")


def fitted_part(margins: KeyMargins, keys: KeySet, chosen: Sequence[KeySet], limits: FitLimits) -> KeyPart:
    """Fit keys that hang together to the tables of their terms."""
    cells, sizes = margins.cells, margins.shape(keys)
    within = [term for term in chosen if set(term) <= set(keys)]
    if np.prod([float(size) for size in sizes]) >= 2**62:
        raise limits.refusal(cells.names, keys)
    if len(within) == 1:
        place, share = margins.of(keys)
        if len(keys) > 1 and len(place) > limits.most_cells:
            raise limits.refusal(cells.names, keys)
        return KeyPart(keys, sizes, place, share, 0.0)
    codes = allowed_cells(margins, keys, within, limits)
    place = numbered_cells(
        [codes[key] for key in keys], sizes, len(codes[keys[0]])
    )  # in the order in which they were made
    share = np.full(len(place), 1 / len(place))
    gap = CellMargins.of(margins, codes, within).fit(share, limits)
    return KeyPart(keys, sizes, place, share, gap)


@dataclass(frozen=True, eq=False)
class CellMargins:
    """For every term the place of each cell in the table of the term, and the shares that the tables have."""

    place: Codes
    first: Ints
    target: Floats

    @classmethod
    def of(cls, margins: KeyMargins, codes: dict[int, Ints], within: Sequence[KeySet]) -> CellMargins:
        """The margins of some cells."""
        many = len(next(iter(codes.values())))
        places = np.zeros((len(within), many), np.int32)
        targets = []
        for row, term in enumerate(within):
            there, share = margins.of(term)
            targets.append(share)
            asked = numbered_cells([codes[key] for key in term], margins.shape(term), many)
            places[row] = np.searchsorted(there, asked)
        first = np.concatenate(([0], np.cumsum([len(target) for target in targets]))).astype(np.int64)
        return cls(places, first, np.concatenate(targets))

    def fit(self, share: Floats, limits: FitLimits) -> float:
        """Scale shares until the margins are met; how far they are off at the end, as a share of a margin.

        What the shares were before and no term can undo stays: the odds ratios of cells that differ in more than a
        term. An offset of the model is a start.
        """
        from discreet.solve.proportional import fit_by_place

        _, gap = fit_by_place(self.place, self.first, self.target, share, limits.cycles, limits.tolerance)
        return float(gap)


def allowed_cells(margins: KeyMargins, keys: KeySet, within: Sequence[KeySet], limits: FitLimits) -> dict[int, Ints]:
    """Codes of all cells of which every term occurs in the sample, key by key."""
    cells = margins.cells
    codes: dict[int, Ints] = {keys[0]: np.arange(cells.sizes[keys[0]], dtype=np.int64)}
    for key in keys[1:]:
        many, size = len(codes[keys[0]]), cells.sizes[key]
        if many * size > WIDER * limits.most_cells:
            raise limits.refusal(cells.names, keys)
        codes = {one: np.repeat(column, size) for one, column in codes.items()}
        codes[key] = np.tile(np.arange(size, dtype=np.int64), many)
        for term in within:
            asked = tuple(one for one in term if one in codes)
            if key in asked and len(asked) > 1:
                codes = _occurring(margins, codes, asked)
        if len(codes[key]) > limits.most_cells:
            raise limits.refusal(cells.names, keys)
    return codes


def _occurring(margins: KeyMargins, codes: dict[int, Ints], asked: KeySet) -> dict[int, Ints]:
    """The cells whose codes of some keys occur in the sample."""
    there, _ = margins.of(asked)
    shape = margins.shape(asked)
    place = numbered_cells([codes[key] for key in asked], shape, len(codes[asked[0]]))
    if len(there) == np.prod(shape):
        return codes
    at = np.minimum(np.searchsorted(there, place), len(there) - 1)
    kept = there[at] == place
    return {key: column[kept] for key, column in codes.items()}
