"""Exact tests of whether a method pushes values one way (Shlomo and Young 2006)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Floats, Ints

EXACT_RANKS = 150
"""Up to so many changed cells the chance of signed ranks is counted out, ties and all; beyond it is the normal one."""
AS_LIKELY = 1e-7
"""Outcomes whose chances differ by less than this share are as likely as each other."""


class BiasTest(NamedTuple):
    """``cells`` went into the test, ``successes`` of them as expected; ``p`` is two-sided, ``doubled`` by tails."""

    cells: int
    successes: int
    p: float
    doubled: float


class SignedRanks(NamedTuple):
    """``cells`` changed; ``statistic`` is the sum of ranks of those that fell; ``p`` two-sided."""

    cells: int
    statistic: float
    p: float
    exact: bool


def rounding_bias(original: npt.ArrayLike, rounded: npt.ArrayLike, base: int) -> BiasTest:
    """Whether unbiased rounding went to the nearer multiple as often as it must.

    Values that are multiples, and those in the middle between two, say nothing and are left out. The nearer multiple
    has the chance max(r, base − r) / base of a rest r.

    Examples
    --------
    >>> found = rounding_bias([1, 4, 7, 2, 2, 5, 1], [0, 3, 9, 3, 3, 6, 0], 3)
    >>> found.cells, found.successes, round(found.p, 6), round(found.doubled, 6)
    (7, 6, 0.436671, 0.526749)
    """
    if isinstance(base, bool) or not isinstance(base, int | np.integer) or base < 2:
        raise ParameterError(f"base={base!r} is not allowed.", hint="Give a whole number of at least 2.")
    before, after = np.asarray(original).ravel(), np.asarray(rounded).ravel()
    if before.shape != after.shape:
        raise InputError(
            f"The tables have {before.size} and {counted(after.size, 'cell')}.", hint="Compare the same cells."
        )
    if np.any(before != np.rint(before)) or np.any(after != np.rint(after)):
        raise InputError("The test of rounding needs whole numbers.", hint="Use the signed-rank test.")
    rest = np.mod(before, base)
    if np.any(np.mod(after, base) != 0) or np.any(np.abs(after - before) >= base):
        raise InputError(
            f"The published values are not the originals rounded to a neighbouring multiple of {base}.",
            hint="Give the base that was used, or use the signed-rank test.",
        )
    used = (rest != 0) & (2 * rest != base)
    down = 2 * rest < base
    success = used & ((after < before) == down)
    chances = np.array([1.0])
    for r in range(1, base):
        n = int((used & (rest == r)).sum())
        if n:
            chances = _joined(chances, n, max(r, base - r) / base)
    return _two_sided(chances, int(used.sum()), int(success.sum()))


def _joined(chances: Floats, n: int, p: float) -> Floats:
    """Chances of a sum with ``n`` more successes of chance ``p``."""
    from scipy.signal import fftconvolve
    from scipy.stats import binom

    more = binom.pmf(np.arange(n + 1), n, p)
    if len(chances) == 1:
        return more
    if len(chances) * len(more) <= 10**7:
        return np.convolve(chances, more)
    joined: Floats = np.maximum(fftconvolve(chances, more), 0.0)
    return joined


def _two_sided(chances: Floats, cells: int, successes: int) -> BiasTest:
    seen = chances[successes]
    p = float(chances[chances <= seen * (1 + AS_LIKELY)].sum())
    tails = chances[: successes + 1].sum(), chances[successes:].sum()
    return BiasTest(cells, successes, min(p, 1.0), min(2 * float(min(tails)), 1.0))


def signed_rank(
    original: npt.ArrayLike, published: npt.ArrayLike, method: Literal["auto", "exact", "normal"] = "auto"
) -> SignedRanks:
    """Wilcoxon's signed-rank test of original less published values; cells that did not change are dropped.

    Unbiased rounding has skewed changes, which this test takes for bias: use :func:`rounding_bias` for it.

    Examples
    --------
    >>> signed_rank([1, 2, 3], [2, 4, 6]).p
    0.25
    """
    from scipy.stats import norm, rankdata

    before, after = np.asarray(original, np.float64).ravel(), np.asarray(published, np.float64).ravel()
    if before.shape != after.shape:
        raise InputError(
            f"The tables have {before.size} and {counted(after.size, 'cell')}.", hint="Compare the same cells."
        )
    gap = (before - after)[before != after]
    n = len(gap)
    if n == 0:
        return SignedRanks(0, 0.0, 1.0, True)
    twice = np.rint(2 * rankdata(np.abs(gap))).astype(np.int64)
    fell = int(twice[gap > 0].sum())
    if method == "exact" or (method == "auto" and n <= EXACT_RANKS):
        chances = _rank_sums(twice)
        p = 2 * min(float(chances[: fell + 1].sum()), float(chances[fell:].sum()))
        return SignedRanks(n, fell / 2, min(p, 1.0), True)
    deviation = np.sqrt(float((twice.astype(np.float64) ** 2).sum()) / 4)
    z = (fell - twice.sum() / 2) / deviation
    return SignedRanks(n, fell / 2, float(2 * norm.sf(abs(z))), False)


def _rank_sums(twice: Ints) -> Floats:
    """Chances of all sums of ranks whose signs are drawn evenly; ranks are doubled, so that ties are whole."""
    chances = np.zeros(int(twice.sum()) + 1)
    chances[0] = 1.0
    for rank in twice.tolist():
        moved = np.zeros_like(chances)
        moved[rank:] = chances[: len(chances) - rank]
        chances = (chances + moved) / 2
    return chances
