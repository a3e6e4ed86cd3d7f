"""How well altered values of a set of cells stand for the original ones.

Sources: Cox, Kelly and Patil (2004) and Cox, Orelien and Shah (2006).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import ParameterError

SERIES = 100
"""Terms of the series of the Kuiper test; it converges long before."""


@dataclass(frozen=True)
class Fit:
    """Statistics of altered against original values. The tests are descriptive: the values are paired.

    ``shift`` is the covariance of original and change over the variance of the original: what the slope exceeds 1 by.
    """

    mean_ratio: float
    variance_ratio: float
    correlation: float
    slope: float
    intercept: float
    shift: float
    ks: float
    ks_p: float
    kuiper: float
    kuiper_p: float
    chi_square: float
    chi_square_p: float
    degrees: int

    def to_dict(self) -> dict[str, float]:
        """Plain data."""
        return asdict(self)


def fit(original: npt.ArrayLike, altered: npt.ArrayLike, tested: npt.ArrayLike | None = None) -> Fit:
    """Compare altered with original values.

    Parameters
    ----------
    original, altered
        Values of the same cells.
    tested
        Which of them go into the chi-square statistic; all that were not zero when left out. Its degrees of freedom are
        so many less one.

    Raises
    ------
    ParameterError
        When there are fewer than two cells, or all have the same value.

    Examples
    --------
    >>> round(fit([1, 2, 3, 4], [1, 2, 3, 6]).slope, 6)
    1.6
    """
    from scipy.stats import chi2, ks_2samp

    a, b = np.asarray(original, np.float64), np.asarray(altered, np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2 or a.var() == 0:
        raise ParameterError(
            "Fit needs two equally long columns of at least two cells that are not all the same.",
            hint="Compare a larger set of cells.",
        )
    change = b - a
    shift = float(((a - a.mean()) * (change - change.mean())).mean() / a.var())
    ratio = float(b.var() / a.var())
    used = (a != 0) if tested is None else np.asarray(tested, np.bool_) & (a != 0)
    statistic = float((change[used] ** 2 / a[used]).sum())
    degrees = max(int(used.sum()) - 1, 1)
    ks = ks_2samp(a, b, method="asymp")
    kuiper, kuiper_p = _kuiper(a, b)
    return Fit(
        mean_ratio=float(b.mean() / a.mean()) if a.mean() else float("nan"),
        variance_ratio=ratio,
        correlation=(1 + shift) / float(np.sqrt(ratio)) if ratio > 0 else float("nan"),
        slope=1 + shift,
        intercept=float(b.mean() - (1 + shift) * a.mean()),
        shift=shift,
        ks=float(ks.statistic),
        ks_p=float(ks.pvalue),
        kuiper=kuiper,
        kuiper_p=kuiper_p,
        chi_square=statistic,
        chi_square_p=float(chi2.sf(statistic, degrees)),
        degrees=degrees,
    )


def _kuiper(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Two-sample Kuiper statistic and its asymptotic chance; 1 where the series says nothing."""
    pooled = np.sort(np.concatenate((a, b)))
    one = np.searchsorted(np.sort(a), pooled, side="right") / len(a)
    two = np.searchsorted(np.sort(b), pooled, side="right") / len(b)
    statistic = float(max((one - two).max(), 0.0) + max((two - one).max(), 0.0))
    scaled = float(np.sqrt(len(a) * len(b) / (len(a) + len(b))) * statistic)
    if scaled < 0.4:
        return statistic, 1.0
    j = np.arange(1, SERIES + 1)
    chance = float(2 * ((4 * j**2 * scaled**2 - 1) * np.exp(-2 * j**2 * scaled**2)).sum())
    return statistic, min(max(chance, 0.0), 1.0)
