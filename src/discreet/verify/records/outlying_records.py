"""How far records lie out, by code of the checker's own: by distance, by influence, and by limits of single columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.model.arrays import Floats

NORMAL_MAD = 1.4826
AT_ONCE = 50_000


def outlyingness(values: Floats, flag: str, beyond: float) -> Floats | None:
    """How far each record lies out, where 1 is the limit; none where that cannot be said. One row for each record."""
    from scipy.stats import chi2, norm

    if flag == "distance":
        squares = _robust_squares(values)
        if squares is None:
            return None
        freedom = values.shape[1]
        limit = chi2.ppf(beyond, freedom) * np.median(squares) / chi2.median(freedom)
        return np.asarray(np.sqrt(squares / limit))
    if flag == "influence":
        return np.asarray(np.sqrt(np.maximum(_added_to_eigenvalues(values), 0) / chi2.ppf(beyond, 1)))
    if flag != "limits":
        return None
    shaped = _in_robust_deviations(np.stack([_made_symmetric(column) for column in values.T], axis=1))
    return None if shaped is None else np.asarray(np.abs(shaped).max(axis=1) / norm.ppf(0.5 + beyond / 2))


def _in_robust_deviations(values: Floats) -> Floats | None:
    away = values - np.median(values, axis=0)
    scale = NORMAL_MAD * np.median(np.abs(away), axis=0)
    return None if np.any(scale <= 0) else np.asarray(away / scale)


def _robust_squares(values: Floats) -> Floats | None:
    """Squared distances from the medians along robust principal axes."""
    plain = _in_robust_deviations(values)
    if plain is None:
        return None
    many = plain.shape[1]
    together = np.eye(many)
    for j, k in zip(*np.triu_indices(many, 1), strict=True):
        sides = [plain[:, j] + plain[:, k], plain[:, j] - plain[:, k]]
        plus, minus = (NORMAL_MAD * np.median(np.abs(side - np.median(side))) for side in sides)
        together[j, k] = together[k, j] = (plus**2 - minus**2) / 4
    axes = np.linalg.eigh(together)[1]
    along = _in_robust_deviations(plain @ axes)
    return None if along is None else np.asarray((along**2).sum(axis=1))


def _added_to_eigenvalues(values: Floats) -> Floats:
    """What leaving a record out takes from the first two eigenvalues, as the squared normal score it stands for."""
    rows = len(values)
    scores = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    full = np.cov(scores, rowvar=False).reshape(scores.shape[1], -1)
    best = np.sort(np.linalg.eigvalsh(full))[::-1][:2]
    found: list[Any] = []
    for first in range(0, rows, AT_ONCE):
        some = scores[first : first + AT_ONCE]
        squares = np.einsum("ij,ik->ijk", some, some) * (rows / (rows - 1))
        left = np.sort(np.linalg.eigvalsh((full * (rows - 1) - squares) / (rows - 2)), axis=1)[:, ::-1][:, :2]
        found.append(np.max(1 + (best - left) * (rows - 2) / best, axis=1))
    return np.concatenate(found)


def _made_symmetric(column: Floats) -> Floats:
    """A positive column to the power of a quarter's multiple from -2 to 2 that is most like a normal one."""
    if np.any(column <= 0):
        return column
    relative = np.log(column) - np.log(column).mean()
    made = {}
    for quarter in range(-8, 9):
        power = quarter / 4
        with np.errstate(all="ignore"):
            shaped = np.expm1(power * relative) / power if quarter else relative
        spread = float(np.var(shaped))
        if np.isfinite(spread):
            made[spread] = shaped
    return np.asarray(made[min(made)])
