"""Log-linear models of the keys of a sample, and the risk of its uniques by them.

The population count of a cell is taken to be Poisson with a mean that is a product of terms for sets of keys. Sets that
share no key multiply, so that each part of the keys which hang together is fitted by itself, over the cells that its
terms allow: those of which every term occurs in the sample. All others have a fitted mean of zero. This is exact, and
works for tables with billions of cells as long as no part has too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from discreet.errors import ParameterError, unknown_name
from discreet.measures.population.cells import SampleCells
from discreet.measures.population.estimate import PopulationEstimate, without_uniques
from discreet.measures.population.fit_error import FitError, fit_errors
from discreet.measures.population.formulas import cell_risk, unique_risk
from discreet.measures.population.key_margins import FitLimits, KeyMargins, KeyPart, KeySet, TooManyCells, fitted_part
from discreet.model.arrays import Floats
from discreet.progress import steps

MOST_CELLS = 4_000_000
"""A part of the keys is fitted over at most so many cells."""
CYCLES, TOLERANCE = 500, 1e-6
WORTH_SAYING = 0.01
"""Margins that are off by more than this share are reported."""
Terms = Literal["main", "two-way"] | Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False, repr=False)
class LogLinearFit:
    """A log-linear model that was fitted.

    Parameters
    ----------
    terms
        Sets of keys whose tables the model reproduces; the model has all their subsets, too.
    estimate
        Population uniques and matches, with what is known of their errors.
    mean
        Per cell of the sample the expected population count.
    match
        Per cell of the sample with one record, in their order, the chance of a correct match.
    error
        Error estimates, and by how much they vary.

    Examples
    --------
    >>> from discreet.measures.population.cells import sample_cells
    >>> from discreet.rules.key_counts import KeyCodes
    >>> rng = np.random.default_rng(3)
    >>> keys = KeyCodes(("a", "b"), (rng.integers(1, 9, 60), rng.integers(1, 9, 60)), (9, 9))
    >>> found = log_linear(sample_cells(keys, fraction=0.1))
    >>> found.terms, round(found.estimate.matches, 1)
    ((('a',), ('b',)), 4.3)
    """

    terms: tuple[tuple[str, ...], ...]
    estimate: PopulationEstimate
    mean: Floats
    match: Floats
    error: FitError

    @property
    def name(self) -> str:
        """The model in words."""
        return self.estimate.model

    def record_risk(self, cells: SampleCells) -> Floats:
        """For every record of the sample the chance of a correct match, of those that share their keys, too.

        Parameters
        ----------
        cells
            The cells that the model was fitted to.
        """
        fraction = cells.fractions if cells.weighted else np.full(len(cells.count), cells.fraction)
        risk = np.empty(len(cells.count))
        alone = cells.alone
        risk[alone] = self.match
        shared = ~alone
        risk[shared] = cell_risk(cells.count[shared], (self.mean * fraction)[shared], 0.0, fraction[shared])
        return risk[cells.cell]

    def __repr__(self) -> str:
        return self.estimate.summary()


def log_linear(
    cells: SampleCells,
    terms: Terms = "main",
    most_cells: int = MOST_CELLS,
    cycles: int = CYCLES,
    tolerance: float = TOLERANCE,
) -> LogLinearFit:
    """Fit a log-linear model to the keys of a sample, and estimate the risk of its uniques.

    Weighted samples are fitted to sums of weights (pseudo likelihood), others to counts.

    Parameters
    ----------
    cells
        The cells of the sample.
    terms
        ``"main"``: keys are independent. ``"two-way"``: all pairs of keys. Or sets of keys, such as
        ``[["age", "sex"], ["sex", "region"]]``; keys that are not named are independent of all others.
    most_cells
        Refuse models with a part of more cells.
    cycles, tolerance
        Fit for at most so many cycles, or until margins are met within this share of them.

    Returns
    -------
    LogLinearFit
        The estimates; ``estimate.uniques_bias`` is B1 and ``estimate.matches_bias`` B2 of Skinner and Shlomo (2008).
    """
    chosen = key_sets(cells.names, terms)
    margins, limits = KeyMargins(cells), FitLimits(most_cells, cycles, tolerance)
    parts = {keys: fitted_part(margins, keys, chosen, limits) for keys in _hanging_together(chosen)}
    return _judged(cells, *_candidate(cells, chosen, parts, {keys: part.at(cells) for keys, part in parts.items()}))


def choose_log_linear(
    cells: SampleCells, most_cells: int = MOST_CELLS, cycles: int = CYCLES, tolerance: float = TOLERANCE
) -> tuple[LogLinearFit, ...]:
    """Models from independent keys on with one more pair of keys each, the best by its error estimate first.

    Pairs join in the order of how far they are from independence, those that would make a part of more than
    ``most_cells`` cells never. The search ends when the model overfits: its error estimate is negative. The best has
    the error estimate of population uniques that is closest to zero, beside how much it varies by chance.

    Parameters
    ----------
    cells
        The cells of the sample.
    most_cells
        The most cells of a part.
    cycles, tolerance
        Fit each model for at most so many cycles, or until margins are met within this share of them.
    """
    found = list(_searched(cells, FitLimits(most_cells, cycles, tolerance)))
    best = _closest(found)
    return (_judged(cells, *found[best]), *(_judged(cells, *one) for i, one in enumerate(found) if i != best))


def best_log_linear(cells: SampleCells, most_cells: int, cycles: int, tolerance: float) -> LogLinearFit:
    """The first of :func:`choose_log_linear` alone, which is quicker."""
    found = list(_searched(cells, FitLimits(most_cells, cycles, tolerance)))
    return _judged(cells, *found[_closest(found)])


_Candidate = tuple[list[KeySet], tuple[KeyPart, ...], Floats, FitError]


def _closest(found: Sequence[_Candidate]) -> int:
    return min(range(len(found)), key=lambda place: abs(found[place][-1].standardised))


def _searched(cells: SampleCells, limits: FitLimits) -> Iterator[_Candidate]:
    """Models with one more pair of keys each."""
    chosen: list[KeySet] = [(key,) for key in range(len(cells.names))]
    margins = KeyMargins(cells)
    parts = {keys: fitted_part(margins, keys, chosen, limits) for keys in chosen}
    shares = {keys: part.at(cells) for keys, part in parts.items()}
    found = _candidate(cells, chosen, parts, shares)
    yield found
    for pair in steps("log-linear models", _by_dependence(margins)):
        if found[-1].uniques < 0 or not cells.uniques:
            return
        wider = _maximal([*chosen, pair])
        joined = next(keys for keys in _hanging_together(wider) if set(pair) <= set(keys))
        try:
            part = fitted_part(margins, joined, wider, limits)
        except TooManyCells:
            continue
        chosen = wider
        parts = {keys: one for keys, one in parts.items() if not set(keys) <= set(joined)} | {joined: part}
        shares = {keys: one for keys, one in shares.items() if keys in parts} | {joined: part.at(cells)}
        found = _candidate(cells, chosen, parts, shares)
        yield found


def _candidate(
    cells: SampleCells, chosen: list[KeySet], parts: dict[KeySet, KeyPart], shares: dict[KeySet, Floats]
) -> _Candidate:
    mean = np.full(len(cells.count), cells.persons)
    for share in shares.values():
        mean *= share
    return chosen, tuple(parts.values()), mean, fit_errors(cells, mean, [part.share for part in parts.values()])


def _judged(
    cells: SampleCells, chosen: Sequence[KeySet], parts: tuple[KeyPart, ...], mean: Floats, error: FitError
) -> LogLinearFit:
    return judged_fit(
        cells, f"log-linear, {term_words(cells.names, chosen)}", chosen, mean, error, max(p.gap for p in parts)
    )


def judged_fit(
    cells: SampleCells, name: str, chosen: Sequence[KeySet], mean: Floats, error: FitError, gap: float
) -> LogLinearFit:
    """The estimates that follow from the expected population count of each cell of a sample."""
    alone = cells.alone
    fraction = cells.fractions[alone] if cells.weighted else np.full(cells.uniques, cells.fraction)
    risk = unique_risk(mean[alone] * fraction, 0.0, fraction)
    names = tuple(tuple(cells.names[key] for key in keys) for keys in chosen)
    if not cells.uniques:
        return LogLinearFit(names, without_uniques(name, cells.records), mean, risk.match, error)
    estimate = PopulationEstimate(
        name,
        cells.records,
        cells.uniques,
        float(risk.unique.sum()),
        float(risk.match.sum()),
        *risk.deviations(),
        error.uniques,
        error.matches,
        notes=tuple(_notes(error, gap)),
    )
    return LogLinearFit(names, estimate, mean, risk.match, error)


def _notes(error: FitError, gap: float) -> Iterator[str]:
    if error.standardised > 2:
        yield "The keys hang together more than the model has it: its numbers are too high by its own error estimate."
    elif error.standardised < -2:
        yield "The model follows the sample too closely: its numbers are too low by its own error estimate."
    if gap > WORTH_SAYING:
        yield f"Fitting ended with margins off by up to {gap:.1%} of them."


# ---- terms -----------------------------------------------------------------------------------------------------


def term_words(names: Sequence[str], chosen: Sequence[KeySet]) -> str:
    """The terms of a model in words."""
    if all(len(keys) == 1 for keys in chosen):
        return "main effects"
    if len(names) > 2 and sorted(chosen) == list(combinations(range(len(names)), 2)):
        return "all pairs of keys"
    return " + ".join("×".join(names[key] for key in keys) for keys in chosen if len(keys) > 1)


def key_sets(names: Sequence[str], terms: Terms) -> list[KeySet]:
    """Terms as sets of keys, none within another; every key is in one."""
    alone: list[KeySet] = [(key,) for key in range(len(names))]
    if terms == "main":
        return alone
    if terms == "two-way":
        return _maximal([*alone, *combinations(range(len(names)), 2)])
    if isinstance(terms, str):
        raise ParameterError(
            f"terms={terms!r} is not allowed.", hint="Give 'main', 'two-way', or sets of keys such as [['age', 'sex']]."
        )
    named: list[KeySet] = []
    for term in terms:
        for name in term:
            if name not in names:
                raise ParameterError(unknown_name("key", str(name), names))
        named.append(tuple(sorted({list(names).index(name) for name in term})))
    return _maximal([*alone, *(keys for keys in named if keys)])


def _maximal(sets: Sequence[KeySet]) -> list[KeySet]:
    different = sorted(set(sets))
    return [keys for keys in different if not any(set(keys) < set(other) for other in different)]


def _hanging_together(sets: Sequence[KeySet]) -> list[KeySet]:
    """Keys that are joined by terms."""
    parts: list[set[int]] = []
    for keys in sets:
        joined = [part for part in parts if part & set(keys)]
        parts = [part for part in parts if not part & set(keys)]
        parts.append(set(keys).union(*joined))
    return sorted(tuple(sorted(part)) for part in parts)


def _by_dependence(margins: KeyMargins) -> list[KeySet]:
    """Pairs of keys, those first that tell most of each other: by deviance from independence over its degrees."""
    found = []
    for one, other in combinations(range(len(margins.cells.names)), 2):
        place, share = margins.of((one, other))
        rows, columns = margins.shape((one, other))
        expected = margins.of((one,))[1][place // columns] * margins.of((other,))[1][place % columns]
        deviance = float(share @ np.log(share / expected))
        found.append((-deviance / max(1, (rows - 1) * (columns - 1)), (one, other)))
    return [pair for _, pair in sorted(found)]
