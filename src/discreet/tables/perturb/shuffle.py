"""Noise tables whose neighbouring cell keys mean unlike changes."""

from __future__ import annotations

import numpy as np

from discreet.engine.draws import checked_key, draws
from discreet.errors import ParameterError
from discreet.model.arrays import Ints
from discreet.model.noise_table import NoiseTable

ARRANGEMENTS = 64


def shuffled(table: NoiseTable, key: bytes, *, largest: float = 0.05, version: int = 1) -> NoiseTable:
    """The same probabilities in small pieces, in an order that only the key knows.

    In a table made in ascending order the cell key tells the sign of the change; here it tells nothing. Of
    several arrangements the one with the fewest equal neighbours is taken.

    Parameters
    ----------
    table
        The noise table.
    key
        The secret key of 32 bytes.
    largest
        Pieces have at most this share of the cell keys.
    version
        Version of the arrangement.

    Examples
    --------
    >>> table = NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}})
    >>> mixed = shuffled(table, bytes(32), largest=0.25)
    >>> mixed.row(1).variance, len(mixed.row(1).change) > 2
    (1.0, True)
    """
    checked_key(key)
    if not 0 < largest <= 1:
        raise ParameterError(f"largest={largest} must lie in (0, 1].")
    most = max(int(largest * table.modulus), 1)
    rows: list[tuple[float, Ints, Ints]] = []
    for number, value in enumerate(table.values):
        part = slice(int(table.start[number]), int(table.start[number + 1]))
        width = np.diff(table.upper[part], prepend=0)
        pieces = -(-width // most)
        change = np.repeat(table.change[part], pieces)
        size = np.concatenate([_split(int(w), int(n)) for w, n in zip(width, pieces, strict=True)])
        order = _arrangement(change, number, key, version)
        rows.append((float(value), change[order], np.cumsum(size[order])))
    return NoiseTable.from_intervals(rows, modulus=table.modulus, step=table.step, cycle=table.cycle)


def _split(width: int, pieces: int) -> Ints:
    size = np.full(pieces, width // pieces, np.int64)
    size[: width % pieces] += 1
    return size


def _arrangement(change: Ints, row: int, key: bytes, version: int) -> Ints:
    """The order of pieces with the fewest equal neighbours among several that the key draws."""
    count = len(change)
    attempts, pieces = np.divmod(np.arange(ARRANGEMENTS * count, dtype=np.int64), count)
    drawn = draws(key, "shuffle", version, np.full(len(pieces), row), attempts, pieces)
    orders = np.argsort(drawn.reshape(ARRANGEMENTS, count), axis=1)
    alike = (np.diff(change[orders], axis=1) == 0).sum(axis=1)
    best: Ints = orders[int(np.argmin(alike))].astype(np.int64)
    return best
