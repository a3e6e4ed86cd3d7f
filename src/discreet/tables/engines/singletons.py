"""Sums that stand for what a single contributor can subtract."""

from __future__ import annotations

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.relations import System


def pair_sums(system: System, withheld: Bools) -> list[Ints]:
    """Pairs of withheld cells that are the only ones of a relation, where one is unsafe and the other sole.

    The only contributor of a cell knows it, and so works out the other one, unless their sum is itself not known.
    Pairs of one and the same contributor are left out: it learns nothing new.
    """
    matrix = system.matrix
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    hidden = withheld[matrix.indices]
    count = np.bincount(row[hidden], minlength=matrix.shape[0])
    two = np.flatnonzero(count == 2)
    if not len(two):
        return []
    entries = np.flatnonzero(hidden & (count[row] == 2))
    cells = matrix.indices[entries].astype(np.int64).reshape(-1, 2)
    sole = system.contributors[cells] == 1
    unsafe = system.unsafe[cells]
    holder = system.holder[:, 0] if system.holder.ndim == 2 else system.holder
    same = sole.all(axis=1) & (holder[cells[:, 0]] == holder[cells[:, 1]])
    exposed = ((sole[:, 0] & unsafe[:, 1]) | (sole[:, 1] & unsafe[:, 0])) & ~same
    pairs = np.unique(np.sort(cells[exposed], axis=1), axis=0)
    return list(pairs)
