"""Combinations of cells that stand for what a single contributor can subtract."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.relations import System


class Pairs(NamedTuple):
    """Pairs of cells, and the coefficients of a combination of each that is known from what is published."""

    cells: Ints
    coefficient: Ints

    def __len__(self) -> int:
        return len(self.cells)

    def and_(self, others: Pairs) -> Pairs:
        """These, and others."""
        return Pairs(*(np.concatenate(both) for both in zip(self, others, strict=True)))

    def without(self, others: Pairs) -> Pairs:
        """Those whose cells are not a pair of others."""
        known = set(map(tuple, others.cells.tolist()))
        fresh = np.array([tuple(pair) not in known for pair in self.cells.tolist()], np.bool_)
        return Pairs(self.cells[fresh], self.coefficient[fresh])


NO_PAIRS = Pairs(np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64))


def pairs_in_relations(system: System, withheld: Bools) -> Pairs:
    """Pairs of withheld cells that are the only ones of a relation, where one is unsafe and the other sole.

    The only contributor of a cell knows it, and so works out the other one, unless what the relation says of the two
    together is itself not known. Pairs of one and the same contributor are left out: it learns nothing new.
    """
    matrix = system.matrix
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    hidden = withheld[matrix.indices]
    count = np.bincount(row[hidden], minlength=matrix.shape[0])
    entries = np.flatnonzero(hidden & (count[row] == 2))
    cells = matrix.indices[entries].astype(np.int64).reshape(-1, 2)
    return _exposed(system, Pairs(cells, matrix.data[entries].astype(np.int64).reshape(-1, 2)))


def pairs_in_series(system: System, hidden: Ints, key: Ints, move: Ints, prime: int) -> Pairs:
    """Pairs of a sole and an unsafe cell that move in one ratio in all alternatives.

    ``key`` tells cells in series from others, ``move`` is how each moves in one alternative, modulo ``prime``. The
    contributor of the sole cell works out the other one, by whatever relations that takes.
    """
    sole = system.contributors[hidden] == 1
    holder = _holder(system)[hidden]
    order = np.lexsort((np.arange(len(hidden)), key))
    first = np.flatnonzero(np.append(True, np.diff(key[order]) != 0)) if len(order) else np.zeros(0, np.int64)
    cells, coefficient = [], []
    for group in np.split(order, first[1:]):
        knowing = group[sole[group] & (move[group] != 0)]
        for u in group[system.unsafe[hidden[group]] & (move[group] != 0)].tolist():
            others = knowing[(knowing != u) & (~sole[u] | (holder[knowing] != holder[u]))]
            if len(others):
                s = int(others[0])
                ratio = int(move[u]) * pow(int(move[s]), -1, prime) % prime
                cells.append((hidden[u], hidden[s]))
                coefficient.append((1, (prime - ratio) % prime))
    if not cells:
        return NO_PAIRS
    return _exposed(system, Pairs(np.array(cells, np.int64), np.array(coefficient, np.int64)))


def _exposed(system: System, pairs: Pairs) -> Pairs:
    """Pairs of which one cell is unsafe and the other one filled by somebody else alone, each once, in order."""
    cells = pairs.cells
    sole, unsafe, holder = system.contributors[cells] == 1, system.unsafe[cells], _holder(system)[cells]
    same = sole.all(axis=1) & (holder[:, 0] == holder[:, 1])
    chosen = ((sole[:, 0] & unsafe[:, 1]) | (sole[:, 1] & unsafe[:, 0])) & ~same
    by_cell = np.argsort(cells[chosen], axis=1)
    sorted_cells = np.take_along_axis(cells[chosen], by_cell, axis=1)
    coefficient = np.take_along_axis(pairs.coefficient[chosen], by_cell, axis=1)
    unique, at = np.unique(sorted_cells, axis=0, return_index=True)
    return Pairs(unique, coefficient[at])


def _holder(system: System) -> Ints:
    holder: Ints = system.holder.reshape(len(system), -1)[:, 0]
    return holder
