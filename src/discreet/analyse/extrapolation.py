"""From coefficients at rising levels of noise back to none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from discreet.errors import ParameterError
from discreet.model.arrays import Floats

Extrapolant = Literal["linear", "quadratic", "rational"]
POINTS: dict[str, int] = {"linear": 2, "quadratic": 3, "rational": 3}
"""Extrapolations, and how many levels they need."""
NO_NOISE = -1.0
"""The level at which all noise is taken away: total noise is one plus the level times what was added."""


def checked_levels(levels: Sequence[float], extrapolation: Extrapolant) -> Floats:
    """Levels of added noise, from 0 on, as many as the extrapolation needs."""
    if extrapolation not in POINTS:
        raise ParameterError(
            f"extrapolation={extrapolation!r} is not known.", hint="Use 'linear', 'quadratic' or 'rational'."
        )
    found = np.array(levels, np.float64)
    rising = found.ndim == 1 and len(found) and np.isfinite(found).all() and bool(np.all(np.diff(found) > 0))
    if not rising or found[0] != 0:
        raise ParameterError(f"levels={list(levels)!r} is not allowed.", hint="Give rising numbers that begin with 0.")
    if len(found) < POINTS[extrapolation]:
        raise ParameterError(
            f"levels= has {len(found)}, and a {extrapolation} extrapolation needs {POINTS[extrapolation]}.",
            hint="For example levels=[0, 0.5, 1, 1.5, 2].",
        )
    return found


def curve(levels: Floats, path: Floats, extrapolation: Extrapolant, at: Floats) -> Floats:
    """The fitted curve of every coefficient: a row for every level of ``at``.

    Parameters
    ----------
    levels
        Levels of added noise.
    path
        Coefficients, a row for every level.
    extrapolation
        Which curve: ``a + b x``, ``a + b x + c x**2`` or ``a + b / (c + x)``.
    at
        Where.

    Examples
    --------
    >>> levels = np.array([0.0, 1.0, 2.0])
    >>> path = np.array([[4.0], [2.0], [2.0]])
    >>> curve(levels, path, "quadratic", np.array([-1.0])).round(6).tolist()
    [[8.0]]
    """
    degree = 1 if extrapolation == "linear" else 2
    known, wanted = (np.vander(x, degree + 1) for x in (levels, at))
    found: Floats = wanted @ np.linalg.lstsq(known, path, rcond=None)[0]
    if extrapolation == "rational":
        for place, column in enumerate(path.T):
            rational = _rational(levels, column, at)
            found[:, place] = found[:, place] if rational is None else rational
    return found


def without_rational(levels: Floats, path: Floats) -> list[int]:
    """Places of coefficients that have no rational curve, and a quadratic one in its place.

    Their best curve goes to infinity where there is no noise: mostly because noise hardly moves the coefficient and the
    curve follows the chance of the simulation.
    """
    return [place for place, column in enumerate(path.T) if _rational(levels, column, levels) is None]


def _rational(levels: Floats, values: Floats, at: Floats) -> Floats | None:
    """``a + b / (c + x)`` by least squares over ``c``, for which the other two follow; nothing at a pole."""
    from scipy.optimize import minimize_scalar

    spread = float(np.ptp(values))
    if spread <= 1e-12 * (1 + float(np.abs(values).max())):
        return np.full(len(at), float(values.mean()))  # a coefficient that noise does not touch

    def fitted(log_c: float) -> tuple[float, Floats, float]:
        c = 1 + float(np.exp(log_c))  # beyond 1, so that the pole lies below the level without noise
        known = np.column_stack([np.ones(len(levels)), 1 / (c + levels)])
        coefficients = np.asarray(np.linalg.lstsq(known, values, rcond=None)[0], np.float64)
        return float(((known @ coefficients - values) ** 2).sum()), coefficients, c

    grid = np.linspace(-7, 7, 57)
    best = min(grid, key=lambda x: fitted(float(x))[0])
    if best == grid[0]:
        return None
    answer = minimize_scalar(lambda x: fitted(float(x))[0], bounds=(best - 0.25, best + 0.25), method="bounded")
    _, coefficients, c = fitted(float(answer.x))
    return np.asarray(coefficients[0] + coefficients[1] / (c + at))
