"""Random draws that give the same numbers on every platform.

Only the raw 64-bit stream of PCG64 and the entropy mixing of ``SeedSequence`` are used, because numpy
promises never to change those two, while it may change the methods of ``Generator``. From there on every
operation is either integer or one of ``+ - * / sqrt floor``, which IEEE 754 rounds in one way only: ``exp``,
``log`` and ``pow`` differ in the last bit between machines and appear only in small tables that are rounded
afterwards. Sums of floats, whose order depends on the processor, do not appear at all.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bits = NDArray[np.uint64]

_QUANTILE_STEPS = 4096


class Draws:
    """Named random streams of one seed.

    Every name has a stream of its own, so that a new column never changes the old ones.

    Parameters
    ----------
    seed
        A number that is not negative.
    room
        Put before every name: two generators with the same seed share no stream.
    """

    def __init__(self, seed: int, room: str) -> None:
        self._seed = seed
        self._room = room

    def bits(self, name: str, size: int) -> Bits:
        """``size`` random 64-bit words of the stream ``name``."""
        digest = hashlib.blake2b(f"{self._room}/{name}".encode(), digest_size=16).digest()
        words = tuple(int(word) for word in np.frombuffer(digest, dtype="<u4"))
        stream = np.random.PCG64(np.random.SeedSequence(self._seed, spawn_key=words))
        return np.asarray(stream.random_raw(size), dtype=np.uint64)

    def uniform(self, name: str, size: int) -> Floats:
        """``size`` numbers in [0, 1) of the stream ``name``, with 53 random bits each."""
        bits = self.bits(name, size)
        bits >>= np.uint64(11)
        numbers = bits.astype(np.float64)
        numbers *= 2.0**-53
        return numbers

    def order(self, name: str, size: int) -> Integers:
        """Permute ``range(size)`` at random."""
        return np.argsort(self.bits(name, size), kind="stable").astype(np.int64, copy=False)

    def record_keys(self, identifiers: NDArray[np.int32]) -> Floats:
        """Record keys in [0, 1) with eight decimals, a hash of the seed and each identifier.

        The key belongs to the unit and not to its place: the same unit in another order keeps its key.
        """
        mixed = identifiers.astype(np.uint64)
        mixed += self.bits("record_key", 1)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed ^= mixed >> np.uint64(shift)
            mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
        mixed %= np.uint64(10**8)
        return mixed.astype(np.float64) / 1e8


def zipf_weights(ranks: Integers, exponent: float) -> Integers:
    """Whole-number weights that fall as ``(rank + 2) ** -exponent``, for ranks from 0."""
    weights: Integers = np.rint(1e6 * (ranks + 2.0) ** -exponent).astype(np.int64)
    return weights


def choose(uniform: Floats, weights: Integers | Sequence[int]) -> Integers:
    """One category for every uniform number, with probability in proportion to its weight."""
    cumulated = np.cumsum(np.asarray(weights, dtype=np.int64))
    places = np.floor(uniform * float(cumulated[-1])).astype(np.int64)
    return np.searchsorted(cumulated, places, side="right").astype(np.int64, copy=False)


def choose_within(uniform: Floats, group: NDArray[np.integer], weights: Sequence[Sequence[int]]) -> Integers:
    """One category for every uniform number, with the weights of its group.

    Parameters
    ----------
    uniform
        Numbers in [0, 1).
    group
        For every number the row of `weights` to use.
    weights
        A row of whole-number weights for each group, all of one length.
    """
    group = group.astype(np.int64, copy=False)
    table = np.cumsum(np.asarray(weights, dtype=np.int64), axis=1)
    categories = table.shape[1]
    # Row g is moved to [g, g + 1], so that one sorted search serves all groups.
    stacked = (table / table[:, -1:] + np.arange(len(table))[:, None]).ravel()
    found = np.searchsorted(stacked, uniform + group, side="right") - group * categories
    # A number next to 1 becomes 1 when the group is added.
    chosen: Integers = np.minimum(found, categories - 1)
    return chosen


def lognormal(uniform: Floats, sigma: float) -> Floats:
    """Lognormal numbers with median 1, by linear interpolation in a table of quantiles.

    The table ends at about 3.7 standard deviations; `heavy_tail` makes what lies beyond.
    """
    normal = NormalDist()
    middles = [(step + 0.5) / (_QUANTILE_STEPS + 1) for step in range(_QUANTILE_STEPS + 1)]
    table = np.array([float(f"{math.exp(sigma * normal.inv_cdf(middle)):.6g}") for middle in middles])
    place = uniform * _QUANTILE_STEPS
    below = place.astype(np.int64)
    place -= below
    place *= np.diff(table)[below]
    place += table[below]
    return place


def pareto(uniform: Floats) -> Floats:
    """Pareto numbers from 1 upwards with tail index 4/3, near what firm sizes and top incomes show."""
    return _pareto_quantile(1.0 - uniform)


def heavy_tail(uniform: Floats, share: float, cap: float) -> Floats:
    """Factors that are 1 for all but a share of the units, which get a Pareto factor of at most `cap`."""
    return np.minimum(_pareto_quantile(np.minimum((1.0 - uniform) / share, 1.0)), cap)


def _pareto_quantile(above: Floats) -> Floats:
    """Return the number that a share `above` of the units exceeds: ``above ** -0.75``, by square roots."""
    root = np.sqrt(above)
    root *= np.sqrt(root)
    return np.asarray(1.0 / root)
