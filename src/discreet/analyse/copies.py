"""Estimates from several synthetic copies of the same records, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from discreet.errors import ParameterError, counted, unknown_name
from discreet.files.frames import to_frame
from discreet.model.arrays import Floats

Kind = Literal["partial", "full", "single"]


@dataclass(frozen=True, eq=False)
class CombinedEstimate:
    """An estimate from several copies, or several estimates.

    Parameters
    ----------
    estimates
        Means over the copies.
    variances
        Their variances; ``standard_errors`` are the roots.
    degrees
        Degrees of freedom of the t distribution that intervals are made with; infinite for the normal distribution.
    within, between
        Mean variance within copies, and variance of the estimates between them (nan for one copy).
    copies
        How many copies there were.
    kind
        ``"partial"``, ``"full"`` or ``"single"``.
    notes
        What to beware of.
    """

    estimates: Floats
    variances: Floats
    degrees: Floats
    within: Floats
    between: Floats
    copies: int
    kind: str
    notes: tuple[str, ...] = ()

    @property
    def standard_errors(self) -> Floats:
        """Roots of the variances."""
        return np.asarray(np.sqrt(self.variances))

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of intervals that hold the truth with a stated confidence."""
        from scipy.stats import norm, t

        if not 0 < confidence < 1:
            raise ParameterError(f"confidence={confidence!r} is not allowed.", hint="Give a number between 0 and 1.")
        share = (1 + confidence) / 2
        wide = np.isinf(self.degrees)
        times = np.where(wide, norm.ppf(share), t.ppf(share, np.where(wide, 1.0, self.degrees)))
        reach = times * self.standard_errors
        return self.estimates - reach, self.estimates + reach

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row per estimate, in a frame of ``"pyarrow"``, ``"pandas"`` or ``"polars"``."""
        found = ("estimates", "standard_errors", "degrees", "within", "between")
        return to_frame({name: np.asarray(getattr(self, name)).ravel().tolist() for name in found}, backend)


def combine_copies(
    estimates: Sequence[Any], variances: Sequence[Any], *, kind: Kind = "partial", ratio: float = 1.0
) -> CombinedEstimate:
    """Put estimates from synthetic copies together.

    With the mean q of m estimates, their variance b (divisor m - 1) and the mean u of their variances, the variance of
    q is u + b/m for copies in which the records are the original ones and some values were drawn (``"partial"``), and
    (1 + 1/m)b - u for copies whose records are all new draws from a population (``"full"``); where that is negative, u
    times ``ratio`` stands in. For copies with all columns drawn from one model of the file, with or without
    ``proper=True``, ``"single"`` needs one copy only: u(ratio + 1/m).

    Parameters
    ----------
    estimates
        For every copy an estimate, or a list of them.
    variances
        For every copy the squared standard error of each.
    kind
        How the copies were made.
    ratio
        Records of a copy for each original one.

    Returns
    -------
    CombinedEstimate
        Estimates, variances, degrees of freedom.

    Notes
    -----
    Sources: Reiter (2003) for ``"partial"``; Raghunathan, Reiter and Rubin (2003) for ``"full"``; Raab, Nowok and
    Dibben (2016) for ``"single"``.

    Examples
    --------
    >>> import discreet as ds
    >>> found = ds.analyse.combine_copies([10.0, 12.0, 11.0], [4.0, 4.0, 4.0])
    >>> float(found.estimates), round(float(found.variances), 4)
    (11.0, 4.3333)
    """
    q, u = _checked(estimates, variances, kind, ratio)
    m = len(q)
    within = u.mean(axis=0)
    between = q.var(axis=0, ddof=1) if m > 1 else np.full(within.shape, np.nan)
    notes: tuple[str, ...] = ()
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "partial":
            total = within + between / m
            degrees = np.where(between > 0, (m - 1) * (1 + within * m / between) ** 2, np.inf)
        elif kind == "full":
            total = (1 + 1 / m) * between - within
            degrees = np.where(total > 0, (m - 1) * (1 - within * m / ((m + 1) * between)) ** 2, np.inf)
            negative = int((total <= 0).sum())
            total = np.where(total > 0, total, ratio * within)
            if negative:
                notes = (
                    f"{counted(negative, 'variance', 'were')} negative, and the mean within copies stands in; more "
                    "copies help.",
                )
        else:
            total = within * (ratio + 1 / m)
            degrees = np.full(within.shape, np.inf)
    return CombinedEstimate(q.mean(axis=0), total, np.asarray(degrees), within, between, m, kind, notes)


def _checked(estimates: Sequence[Any], variances: Sequence[Any], kind: str, ratio: float) -> tuple[Floats, Floats]:
    if kind not in get_args(Kind):
        raise ParameterError(unknown_name("kind", str(kind), get_args(Kind)))
    try:
        q, u = np.asarray(estimates, np.float64), np.asarray(variances, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "Estimates and variances must be numbers, as many in each copy.", hint="Give a list with one entry a copy."
        ) from None
    if q.ndim < 1 or q.shape != u.shape or not q.size:
        raise ParameterError(
            f"There are estimates of shape {q.shape} and variances of shape {u.shape}.",
            hint="Give both for every copy, in the same order.",
        )
    if not np.isfinite(q).all() or not np.isfinite(u).all() or (u < 0).any():
        raise ParameterError(
            "Some estimates or variances are not finite, or variances are negative.",
            hint="Leave out copies in which an analysis failed, and say so.",
        )
    if not np.isfinite(ratio) or ratio <= 0:
        raise ParameterError(f"ratio={ratio!r} is not allowed.", hint="Give a number above 0.")
    if kind != "single" and len(q) < 2:
        raise ParameterError(
            f"Copies of the kind {kind!r} need at least two, and there is {len(q)}.",
            hint="Make more with copy=1, copy=2 and so on, or give kind='single' where all columns were synthesised.",
        )
    return q, u
