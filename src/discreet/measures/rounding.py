"""What rounding to a base does to counts, and what can be told from a rounded count. Exact where it can be.

Rules are ``"conventional"``, ``"modified"``, ``"fifty_fifty"`` and ``"unbiased"``. Source: Cox
and Kim (2006), with printed formulas repaired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import ParameterError, unknown_name

RULES = ("conventional", "modified", "fifty_fifty", "unbiased")


class Moments(NamedTuple):
    """Moments of rounded rests for rests that are equally likely: all as exact fractions."""

    mean: Fraction
    variance: Fraction
    mean_squared_change: Fraction
    chance_up: Fraction


class Risk(NamedTuple):
    """How much a rounded count tells: the likeliest value's chance, what is left of the uncertainty, and candidates."""

    most_likely: float
    entropy_ratio: float
    candidates: int


def _check(rule: str, base: int) -> None:
    if rule not in RULES:
        raise ParameterError(unknown_name("rule", str(rule), RULES))
    if isinstance(base, bool) or not isinstance(base, int | np.integer) or base < 2:
        raise ParameterError(f"base={base!r} is not allowed.", hint="Give a whole number of at least 2.")


def chance_up(rule: str, rest: int, base: int) -> Fraction:
    """Chance that a count with a rest goes up."""
    _check(rule, base)
    if rest == 0:
        return Fraction(0)
    if rule == "unbiased":
        return Fraction(rest, base)
    if rule == "fifty_fifty":
        return Fraction(1, 2)
    if 2 * rest == base and rule == "modified":
        return Fraction(1, 2)
    return Fraction(int(2 * rest >= base))


def moments(rule: str, base: int) -> Moments:
    """Mean, variance and mean squared change of rounded rests 0 .. base - 1 that are equally likely.

    The rests themselves have mean ``(base - 1) / 2`` and variance ``(base ** 2 - 1) / 12``.

    Examples
    --------
    >>> moments("unbiased", 10).mean_squared_change
    Fraction(33, 2)
    """
    _check(rule, base)
    up = [chance_up(rule, r, base) for r in range(base)]
    mean = sum((u * base for u in up), Fraction(0)) / base
    square = sum((u * base**2 for u in up), Fraction(0)) / base
    change = sum((_squared(u, r, base) for r, u in enumerate(up)), Fraction(0)) / base
    return Moments(mean, square - mean**2, change, sum(up, Fraction(0)) / base)


def _squared(up: Fraction, rest: int, base: int) -> Fraction:
    """Mean squared change of a count with a rest."""
    return up * (base - rest) ** 2 + (1 - up) * rest**2


def chi_square(original: npt.ArrayLike, rounded: npt.ArrayLike) -> float:
    """Sum of squared changes over original values; cells with zero count nothing."""
    x, y = np.asarray(original, np.float64), np.asarray(rounded, np.float64)
    some = x != 0
    return float((((y - x) ** 2)[some] / x[some]).sum())


def expected_chi_square(original: npt.ArrayLike, base: int, rule: str) -> float:
    """What the chi-square statistic of known counts will be on average, exactly.

    Examples
    --------
    >>> round(expected_chi_square(range(1000), 10, "unbiased") / 1000, 5)
    0.12072
    """
    _check(rule, base)
    x = np.asarray(list(original) if isinstance(original, range) else original, np.int64)
    by_rest = np.array([float(_squared(chance_up(rule, r, base), r, base)) for r in range(base)])
    some = x != 0
    return float((by_rest[x % base][some] / x[some]).sum())


def chi_square_constants(rule: str, base: int) -> tuple[Fraction, Fraction]:
    """Mean of squared change over value for rests 1 .. base - 1, and mean squared change over the base.

    Examples
    --------
    >>> [str(c) for c in chi_square_constants("fifty_fifty", 10)]
    ['24305/2268', '57/20']
    """
    _check(rule, base)
    small = [_squared(chance_up(rule, r, base), r, base) / r for r in range(1, base)]
    return sum(small, Fraction(0)) / (base - 1), moments(rule, base).mean_squared_change / base


def chi_square_bounds(original: npt.ArrayLike, base: int, rule: str) -> tuple[float, float]:
    """Bounds of the expected statistic that know of each count only whether it is zero, below the base, or its tens.

    They hold where rests are equally likely within each multiple.
    """
    x = np.asarray(list(original) if isinstance(original, range) else original, np.int64)
    one, two = (float(c) for c in chi_square_constants(rule, base))
    below = int(((x > 0) & (x < base)).sum())
    multiples = (x // base)[x >= base]
    low, high = float((1 / (multiples + 1)).sum()), float((1 / multiples).sum())
    return below * one + two * low, below * one + two * high


def forecast_chi_square(mean: float, base: int, rule: str, form: str = "change") -> float:
    """The statistic of one cell before there are data, from the mean of the counts.

    ``form="change"`` forecasts the squared change over the mean; ``form="printed"`` is the form printed in the source,
    the variance of rounded rests over the mean, which is the same for all rules and too large.
    """
    found = moments(rule, base)
    if form not in ("change", "printed"):
        raise ParameterError(unknown_name("form", str(form), ("change", "printed")))
    return float(found.mean_squared_change if form == "change" else found.variance) / mean


def chi_square_p(statistic: float, degrees: int) -> float:
    """Chance that a chi-square variable exceeds a statistic."""
    from scipy.stats import chi2

    return float(chi2.sf(statistic, degrees))


def posterior(
    published: int, base: int, rule: str, prior: Mapping[int, float | Fraction] | None = None
) -> dict[int, Fraction]:
    """Chance of every count that may stand behind a published one.

    Parameters
    ----------
    published
        The published multiple of the base.
    base, rule
        How it was rounded.
    prior
        Chances of counts before; all candidates equally likely when left out.

    Examples
    --------
    >>> {x: str(p) for x, p in posterior(0, 3, "unbiased").items()}
    {0: '1/2', 1: '1/3', 2: '1/6'}
    """
    _check(rule, base)
    if published % base or published < 0:
        raise ParameterError(f"{published} is not a multiple of {base}.", hint="Give a published count.")
    weights: dict[int, Fraction] = {}
    for x in range(max(0, published - base + 1), published + base):
        up = chance_up(rule, x % base, base)
        likely = up if x < published else 1 - up
        before = Fraction(1) if prior is None else Fraction(prior.get(x, 0))
        weights[x] = likely * before
    total = sum(weights.values(), Fraction(0))
    if total == 0:
        raise ParameterError(f"No count that the prior allows is rounded to {published}.", hint="Give another prior.")
    return {x: weight / total for x, weight in weights.items()}


def posterior_risk(published: int, base: int, rule: str) -> Risk:
    """How much a published count tells of one that is not zero, where all candidates were equally likely."""
    found = {x: p for x, p in posterior(published, base, rule).items() if x > 0}
    total = sum(found.values(), Fraction(0))
    shares = [float(p / total) for p in found.values() if p > 0]
    entropy = -sum(p * log(p) for p in shares)
    return Risk(max(shares), entropy / log(len(found)) if len(found) > 1 else 0.0, len(shares))


def compare_rules(original: npt.ArrayLike, bases: Iterable[int], degrees: int | None = None) -> list[dict[str, Any]]:
    """All rules and some bases on given counts: bias, squared change, chi-square with its chance, and risk of zeros.

    ``degrees`` of freedom are the cells less one when left out.
    """
    x = np.asarray(original, np.int64)
    lines = []
    for base in bases:
        for rule in RULES:
            up = np.array([float(chance_up(rule, r, base)) for r in range(base)])[x % base]
            rest = x % base
            statistic = expected_chi_square(x, base, rule)
            free = max(len(x) - 1, 1) if degrees is None else degrees
            lines.append(
                {
                    "base": base,
                    "rule": rule,
                    "bias": float((up * base - rest).mean()),
                    "mean_squared_change": float((up * (base - rest) ** 2 + (1 - up) * rest**2).mean()),
                    "expected_chi_square": statistic,
                    "p": chi_square_p(statistic, free),
                    "most_likely_behind_zero": posterior_risk(0, base, rule).most_likely,
                }
            )
    return lines
