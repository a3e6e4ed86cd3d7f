"""Noise tables of maximum entropy: as much uncertainty as a variance, a largest change and forbidden results allow.

The dual of the problem is a smooth convex function of a few multipliers, one for each condition; conditions that are
inequalities have multipliers that are not negative. It is minimised by projected Newton steps to machine precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.errors import ParameterError, counted
from discreet.model.arrays import Bools, Floats
from discreet.model.noise_table import NoiseTable, limits_of, whole_changes

Mode = Literal["at_most", "exact", "lower_stay"]
MODES: tuple[Mode, ...] = ("at_most", "exact", "lower_stay")
EDGE = 1e-9
"""A variance this close to the least or largest possible one leaves some changes no probability."""
STEPS = 200
ROUNDING = 2e-15
STAY_STEP = 0.05


class Conditions(NamedTuple):
    """What a row must satisfy beside summing to one with mean zero: changes, variance, least stay, monotone."""

    change: Floats
    variance: float
    stay: float
    monotone: bool
    exact: bool


def maximum_entropy(
    D: int,
    V: float | Sequence[float],
    js: int = 0,
    *,
    p_stay: float | Sequence[float | None] | None = None,
    monotone: bool | Sequence[bool] = True,
    mode: Mode | Sequence[Mode] = "at_most",
    step: int = 1,
    values: Sequence[int] | None = None,
) -> NoiseTable:
    """A noise table with mean zero, bounded changes and the largest entropy.

    Parameters
    ----------
    D
        Largest absolute change.
    V
        Variance of the change.
    js
        Results 1 .. js never occur; counts that small become 0 or more than js.
    p_stay
        Least probability of no change (left out where the count itself is forbidden).
    monotone
        Whether probabilities may not fall while the change rises to zero, as in the package ptable. Without it
        the rows are those of Langsrud (2021).
    mode
        ``"at_most"``: the variance is V at most; ``"exact"``: it is V; ``"lower_stay"``: as ``"at_most"``, but where
        ``p_stay`` keeps the variance below V it is lowered by 0.05 until V is met.
    step
        Changes are multiples of ``1 / step``; more than 1 for magnitudes.
    values
        Values of the rows; left out, ``1 .. D + js + 1`` for counts. Magnitudes are interpolated between rows.

    ``V``, ``p_stay``, ``monotone`` and ``mode`` may be given for every row, in a list.

    Raises
    ------
    ParameterError
        When a row cannot have the variance; the message names the least and the largest that it can have.

    Examples
    --------
    >>> table = maximum_entropy(2, 1.05, js=1, monotone=[True, True, False, True])
    >>> [round(p, 6) for p in table.row(1).probability.tolist()]
    [0.508333, 0.475, 0.016667]

    Notes
    -----
    Source: Langsrud (2021) and the package ptable.
    """
    _check(D, js, step)
    rows = list(range(1, D + js + 2)) if values is None else list(values)
    if rows != sorted(set(rows)) or rows[0] < 1:
        raise ParameterError("values= must ascend and be at least 1.", hint="The row for 0 is added by itself.")
    variances = _per_row("V", V, len(rows))
    stays = _per_row("p_stay", p_stay, len(rows))
    shapes = _per_row("monotone", monotone, len(rows))
    modes = _per_row("mode", mode, len(rows))
    wanted = []
    for row, variance, stay, falling, how in zip(rows, variances, stays, shapes, modes, strict=True):
        if how not in MODES:
            raise ParameterError(f"mode={how!r} is not known.", hint=f"Use one of {', '.join(map(repr, MODES))}.")
        if not (np.isfinite(variance) and variance > 0):
            raise ParameterError(f"V={variance} must be greater than zero.")
        if stay is not None and not 0 <= stay < 1:
            raise ParameterError(f"p_stay={stay} must lie in [0, 1).")
        change = _changes(row, D, js, step)
        least_stay = float(stay or 0.0) if np.any(change == 0) else 0.0
        wanted.append((row, Conditions(change, float(variance), least_stay, bool(falling), how == "exact"), how))
    _refuse_impossible(wanted)
    built = [(0.0, np.zeros(1, np.int64), limits_of(0, np.ones(1)))]
    for row, conditions, how in wanted:
        probability = _probabilities(conditions, how)
        built.append((float(row), whole_changes(row, conditions.change, step), limits_of(row, probability)))
    return NoiseTable.from_intervals(built, step=step)


def _check(D: int, js: int, step: int) -> None:
    for name, number, least in (("D", D, 1), ("js", js, 0), ("step", step, 1)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise ParameterError(f"{name}={number!r} must be a whole number of at least {least}.")
    if js >= D:
        raise ParameterError(
            f"js={js} must be less than D={D}.", hint="A count of 1 must be able to become 0 or more than js."
        )


def _per_row(name: str, given: Any, rows: int) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        return [given] * rows
    if len(given) != rows:
        raise ParameterError(
            f"{name}= has {counted(len(given), 'entry')}; the table has {counted(rows, 'row')}.", hint="Give one a row."
        )
    return list(given)


def _changes(row: int, D: int, js: int, step: int) -> Floats:
    """Changes of a row in ascending order: not below zero, and not to 1 .. js."""
    units = np.arange(max(-D, -row) * step, D * step + 1)
    result = units + row * step
    allowed = ~((result > 0) & (result <= js * step))
    found: Floats = units[allowed] / step
    return found


# ---- what is possible -------------------------------------------------------------------------------------------


def _refuse_impossible(wanted: Sequence[tuple[int, Conditions, str]]) -> None:
    """Refuse variances that a row cannot have, with the least that works for all rows."""
    least: list[float] = []
    problem = ""
    for row, conditions, how in wanted:
        smallest, largest = variance_range(conditions)
        if np.isnan(smallest):
            raise ParameterError(
                f"The row for {row} cannot have mean zero with p_stay={conditions.stay:g}"
                f"{' and rising probabilities' if conditions.monotone else ''}.",
                hint="Lower p_stay or give monotone=False for this row.",
            )
        least.append(smallest)
        if conditions.variance < smallest - EDGE and not problem:
            problem = f"V={conditions.variance:g} is impossible: the row for {row} allows {smallest:g} to {largest:g}"
        if how == "exact" and conditions.variance > largest + EDGE:
            raise ParameterError(
                f"V={conditions.variance:g} is impossible: the row for {row} allows {smallest:g} to {largest:g}.",
                hint=f"Give a V of {largest:g} at most, a larger D, or mode='at_most'.",
            )
    if problem:
        needed = np.nextafter(max(least), np.inf)
        raise ParameterError(f"{problem}.", hint=f"The least V that works for all rows is {float(f'{needed:.9g}'):g}.")


def variance_range(conditions: Conditions) -> tuple[float, float]:
    """The least and the largest variance that a row can have; not a number when nothing satisfies the conditions."""
    from scipy.optimize import linprog

    change = conditions.change
    inequalities, limits = _inequalities(conditions)
    found = []
    for sign in (1.0, -1.0):
        answer = linprog(
            sign * change**2,
            A_ub=-inequalities if len(inequalities) else None,
            b_ub=-limits if len(limits) else None,
            A_eq=np.stack([np.ones(len(change)), change]),
            b_eq=[1.0, 0.0],
            bounds=(0, 1),
        )
        found.append(sign * float(answer.fun or 0.0) if answer.status == 0 else np.nan)
    return found[0], found[1]


def _inequalities(conditions: Conditions) -> tuple[Floats, Floats]:
    """Rows of ``G p >= h``: the least probability of staying, and probabilities that do not fall up to zero."""
    change = conditions.change
    rows: list[Floats] = []
    limits: list[float] = []
    here = np.flatnonzero(change == 0)
    if len(here):
        if conditions.stay > 0:
            rows.append((change == 0).astype(np.float64))
            limits.append(conditions.stay)
        if conditions.monotone:
            for k in range(int(here[0])):
                row = np.zeros(len(change))
                row[k], row[k + 1] = -1.0, 1.0
                rows.append(row)
                limits.append(0.0)
    return np.array(rows).reshape(len(rows), len(change)), np.array(limits)


# ---- the row of largest entropy ---------------------------------------------------------------------------------


def _probabilities(conditions: Conditions, how: str) -> Floats:
    probability = row_of_largest_entropy(conditions)
    if how != "lower_stay":
        return probability
    while conditions.stay > 0 and conditions.change**2 @ probability < conditions.variance - EDGE:
        conditions = conditions._replace(stay=max(round(conditions.stay - STAY_STEP, 12), 0.0))
        probability = row_of_largest_entropy(conditions)
    return probability


def row_of_largest_entropy(conditions: Conditions) -> Floats:
    """Probabilities of the changes of one row."""
    support = _support(conditions)
    inner = conditions._replace(change=conditions.change[support])
    inequalities, limits = _inequalities(conditions)
    inequalities = inequalities[:, support]
    change = inner.change
    scale = float(np.abs(change).max(initial=1.0))
    rows = [change / scale, -(change**2) / scale**2, *inequalities]
    targets = np.array([0.0, -inner.variance / scale**2, *limits])
    free = np.zeros(len(rows), np.bool_)
    free[: 2 if inner.exact else 1] = True
    result = np.zeros(len(conditions.change))
    result[support] = _minimised(np.array(rows), targets, free)
    return result


def _support(conditions: Conditions) -> Bools:
    """Changes that can have a probability above zero; all of them unless the variance lies at its limit."""
    from scipy.optimize import linprog

    change = conditions.change
    least, largest = variance_range(conditions)
    if least + EDGE < conditions.variance and (not conditions.exact or conditions.variance < largest - EDGE):
        return np.ones(len(change), np.bool_)
    variance = min(max(conditions.variance, least), largest) if conditions.exact else least
    inequalities, limits = _inequalities(conditions)
    possible = np.zeros(len(change), np.bool_)
    for k in range(len(change)):
        answer = linprog(
            -(np.arange(len(change)) == k).astype(np.float64),
            A_ub=-inequalities if len(inequalities) else None,
            b_ub=-limits if len(limits) else None,
            A_eq=np.stack([np.ones(len(change)), change, change**2]),
            b_eq=[1.0, 0.0, variance],
            bounds=(0, 1),
        )
        possible[k] = answer.status == 0 and -float(answer.fun or 0.0) > 1e-7
    return possible


def _minimised(rows: Floats, targets: Floats, free: Bools) -> Floats:
    """Probabilities of largest entropy with ``rows @ p = targets`` where free, ``>= targets`` elsewhere.

    Each step minimises a quadratic model of the dual over the allowed multipliers.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import lsq_linear

    multipliers = np.zeros(len(rows))
    lowest = np.where(free, -np.inf, 0.0)
    value, probability = _dual(multipliers, rows, targets)
    for _ in range(STEPS):
        gradient = rows @ probability - targets
        if _violation(gradient, multipliers, free) < 1e-13:
            break
        centred = rows - (rows @ probability)[:, None]
        curvature = (centred * probability) @ centred.T
        curvature[np.diag_indices_from(curvature)] += 1e-14 + 1e-12 * float(np.trace(curvature))
        factor = np.linalg.cholesky(curvature)
        wanted = factor.T @ multipliers - solve_triangular(factor, gradient, lower=True)
        best = lsq_linear(factor.T, wanted, bounds=(lowest, np.inf), method="bvls", tol=1e-15).x
        step = _step(multipliers, best - multipliers, gradient, value, rows, targets)
        if step is None:
            break
        multipliers, value, probability = step
    if _violation(rows @ probability - targets, multipliers, free) > 1e-9:
        raise ParameterError(
            "The row of largest entropy was not found: its conditions leave almost no room.",
            hint="Raise V a little, lower p_stay, or give monotone=False.",
        )
    return probability


def _violation(gradient: Floats, multipliers: Floats, free: Bools) -> float:
    """How far conditions are from being met, or kept with a multiplier although they do not bind."""
    held = np.abs(np.minimum(gradient, multipliers))
    return float(np.where(free, np.abs(gradient), held).max())


def _step(
    multipliers: Floats, direction: Floats, gradient: Floats, value: float, rows: Floats, targets: Floats
) -> tuple[Floats, float, Floats] | None:
    """The longest of ever shorter steps that lowers the dual enough; none when rounding hides all progress."""
    length, slope = 1.0, float(gradient @ direction)
    while length > 1e-12:
        tried = multipliers + length * direction
        new_value, probability = _dual(tried, rows, targets)
        if new_value <= value + 1e-4 * length * slope + ROUNDING * max(1.0, abs(value)):
            return tried, new_value, probability
        length /= 2
    return None


def _dual(multipliers: Floats, rows: Floats, targets: Floats) -> tuple[float, Floats]:
    exponent = multipliers @ rows
    highest = float(exponent.max())
    weight = np.exp(exponent - highest)
    total = float(weight.sum())
    return highest + float(np.log(total)) - float(multipliers @ targets), weight / total
