"""Ways in which a log-linear model of a weighted sample takes account of its weights, those of ``modRisk`` of sdcMicro.

The expected count of a cell of the *sample* is a product of terms, and the population count follows from the sampling
fraction of the cell; or, by pseudo likelihood, the *population* itself is fitted to sums of weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from discreet.errors import NeedsError, ParameterError
from discreet.measures.population.cells import SampleCells, numbered_cells
from discreet.measures.population.estimate import not_fitted
from discreet.measures.population.fit_error import FitError, fit_errors
from discreet.measures.population.key_margins import CellMargins, FitLimits, KeyMargins, KeySet, allowed_cells
from discreet.measures.population.log_linear import (
    CYCLES,
    MOST_CELLS,
    TOLERANCE,
    LogLinearFit,
    Terms,
    judged_fit,
    key_sets,
    log_linear,
    term_words,
)
from discreet.model.arrays import Floats, Ints

SurveyWay = Literal["default", "CE", "PML", "weightedLLM", "IPF"]
STEEPEST = 16.0
"""Slopes of the sum of weights (over the largest one) beyond this count as without end."""
SETTLED, EXACT = 1e-9, 1e-10
WORDS = {
    "default": "counts",
    "IPF": "counts",
    "CE": "offset of Clogg and Eliason",
    "PML": "pseudo likelihood",
    "weightedLLM": "weights as a predictor",
}
ENDLESS = (
    "The likelihood has no highest point within reach: weights tell occupied cells from empty ones (nearly) without "
    "error. Take another way, or fewer terms."
)


def survey_log_linear(
    cells: SampleCells,
    terms: Terms = "main",
    way: SurveyWay = "default",
    *,
    added: float | None = None,
    most_cells: int = MOST_CELLS,
    cycles: int = CYCLES,
    tolerance: float = TOLERANCE,
) -> LogLinearFit:
    """Fit a log-linear model to a weighted sample in one of the ways that ``modRisk`` of sdcMicro names.

    Parameters
    ----------
    cells
        The cells of a sample with weights.
    terms
        As in :func:`log_linear`.
    way
        ``"default"`` or ``"IPF"``: counts of the sample are fitted as if nobody had weights. ``"CE"``: the same with
        the logarithm of the sampling fraction of the cell (its records over the sum of their weights) as an offset
        (Clogg and Eliason 1987); cells without records have the fraction of the whole sample. ``"PML"``: sums of
        weights are fitted (pseudo likelihood). ``"weightedLLM"``: the sum of weights of the cell, 0 in empty ones, is
        one more predictor.
    added
        Of ``"CE"``: add this to the sampling fraction of every cell, 0 for cells without records, before the logarithm
        is taken. sdcMicro does that with 0.1.
    most_cells
        ``"CE"`` and ``"weightedLLM"`` are fitted over all cells of the table: refuse more than so many.
    cycles, tolerance
        Fit for at most so many cycles, or until margins are met within this share of them.

    Returns
    -------
    LogLinearFit
        The estimates. All but ``"PML"`` fit the sample, and divide what they expect there by the sampling fraction of
        the cell. Error estimates judge how well counts of the sample are met.

    Raises
    ------
    NeedsError
        Where the sample has one fraction and no weights: all ways are then the same.

    Examples
    --------
    >>> from discreet.measures.population.cells import sample_cells
    >>> from discreet.rules.key_counts import KeyCodes
    >>> rng = np.random.default_rng(3)
    >>> keys = KeyCodes(("a", "b"), (rng.integers(1, 9, 60), rng.integers(1, 9, 60)), (9, 9))
    >>> cells = sample_cells(keys, weight=rng.integers(5, 20, 60))
    >>> {way: round(survey_log_linear(cells, way=way).estimate.matches, 1) for way in ("default", "CE", "PML")}
    {'default': 3.9, 'CE': 3.9, 'PML': 3.4}
    """
    _refuse(cells, way, added)
    limits = FitLimits(most_cells, cycles, tolerance)
    chosen = key_sets(cells.names, terms)
    name = f"log-linear by {WORDS[way]}, {term_words(cells.names, chosen)}"
    if way == "PML":
        found = log_linear(cells, terms, most_cells, cycles, tolerance)
        return replace(found, estimate=replace(found.estimate, model=name))
    if way in ("default", "IPF"):
        counted = replace(cells, weighted=False, population=cells.count / cells.fraction)
        plain = log_linear(counted, terms, most_cells, cycles, tolerance)
        found = judged_fit(cells, name, chosen, plain.mean * cells.fraction / cells.fractions, plain.error, 0.0)
        return replace(found, estimate=replace(found.estimate, notes=plain.estimate.notes))
    table = _AllCells.of(cells, chosen, limits)
    if way == "CE":
        gap = table.margins.fit(share := _offset(cells, table, added), limits)
        return _judged(cells, name, chosen, table, share, gap)
    steep = _by_weights(cells, table, limits)
    if steep is None:
        nothing = np.zeros(len(cells.count))
        lost = not_fitted(name, cells.records, cells.uniques, ENDLESS)
        names = tuple(tuple(cells.names[key] for key in keys) for keys in chosen)
        return LogLinearFit(names, lost, nothing, nothing[cells.alone], FitError(0.0, 0.0, 0.0, 0.0))
    return _judged(cells, name, chosen, table, *steep)


@dataclass(frozen=True, eq=False)
class _AllCells:
    """All cells that the terms allow, empty ones among them, and where the cells of the sample are."""

    margins: CellMargins
    cells: int
    there: Ints

    @classmethod
    def of(cls, cells: SampleCells, chosen: Sequence[KeySet], limits: FitLimits) -> _AllCells:
        keys = tuple(range(len(cells.names)))
        if np.prod([float(size) for size in cells.sizes]) >= 2**62:
            raise limits.refusal(cells.names, keys)
        margins = KeyMargins(replace(cells, weighted=False))
        codes = allowed_cells(margins, keys, chosen, limits)
        place = numbered_cells([codes[key] for key in keys], cells.sizes, len(codes[0]))
        there = np.searchsorted(place, numbered_cells(cells.codes, cells.sizes, len(cells.count)))
        return cls(CellMargins.of(margins, codes, chosen), len(place), there.astype(np.int64))


def _offset(cells: SampleCells, table: _AllCells, added: float | None) -> Floats:
    """Shares to start from: the sampling fraction of every cell."""
    start = np.full(table.cells, cells.fraction if added is None else added)
    start[table.there] = cells.count / cells.population + (added or 0.0)
    return np.asarray(start / start.sum(), np.float64)


def _by_weights(cells: SampleCells, table: _AllCells, limits: FitLimits) -> tuple[Floats, float] | None:
    """Shares with the sum of weights as a predictor, and their gap; nothing where its slope has no end.

    The score of the slope falls as the slope grows, so that its zero is found between two slopes.
    """
    from scipy.optimize import brentq

    exact = replace(limits, tolerance=min(limits.tolerance, EXACT))
    weight = np.zeros(table.cells)
    weight[table.there] = cells.population / cells.population.max()
    aim = float(weight[table.there] @ cells.count) / cells.records
    share, at, gap = np.full(table.cells, 1 / table.cells), 0.0, 0.0

    def score(slope: float) -> float:
        nonlocal share, at, gap
        moved = share * np.exp((slope - at) * (weight - weight.max() * (slope > at)))
        share, at = moved / moved.sum(), slope
        gap = table.margins.fit(share, exact)
        return aim - float(share @ weight)

    if abs(first := score(0.0)) > SETTLED * max(aim, 1e-300):
        step = 1.0 if first > 0 else -1.0
        while (score(step) > 0) == (first > 0):
            if abs(step) >= STEEPEST:
                return None
            step *= 2
        low, high = sorted((step / 2 if abs(step) > 1 else 0.0, step))
        score(float(brentq(score, low, high, xtol=SETTLED, rtol=1e-12)))
    return share, gap


def _judged(
    cells: SampleCells, name: str, chosen: Sequence[KeySet], table: _AllCells, share: Floats, gap: float
) -> LogLinearFit:
    """The estimates of shares of the sample in all cells."""
    sample = cells.records * share[table.there]
    error = fit_errors(cells, sample / cells.fraction, [share])
    return judged_fit(cells, name, chosen, sample / cells.fractions, error, gap)


def _refuse(cells: SampleCells, way: str, added: float | None) -> None:
    if way not in get_args(SurveyWay):
        allowed = ", ".join(repr(one) for one in get_args(SurveyWay))
        raise ParameterError(f"way={way!r} is not allowed.", hint=f"Give one of {allowed}.")
    if not cells.weighted:
        raise NeedsError(
            "These models differ by what they make of weights, and the sample has one fraction for all.",
            hint="Give weights of the records, or use log_linear.",
        )
    if added is not None and (way != "CE" or not 0 < added < np.inf):
        raise ParameterError(f"added={added!r} is not allowed.", hint="Give a number above 0, for way='CE' only.")
