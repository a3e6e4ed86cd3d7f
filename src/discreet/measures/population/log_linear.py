"""Log-linear models of the keys of a sample, and the risk of its uniques by them.

The population count of a cell is taken to be Poisson with a mean that is a product of terms for sets of keys. Sets that
share no key multiply, so that each part of the keys which hang together is fitted by itself, over the cells that its
terms allow: those of which every term occurs in the sample. All others have a fitted mean of zero. This is exact, and
works for tables with billions of cells as long as no part has too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from discreet.errors import ParameterError, listed, unknown_name
from discreet.measures.population.cells import SampleCells, numbered_cells
from discreet.measures.population.estimate import PopulationEstimate, without_uniques
from discreet.measures.population.fit_error import FitError, fit_errors
from discreet.measures.population.formulas import unique_risk
from discreet.model.arrays import Floats, Ints
from discreet.progress import steps

MOST_CELLS = 4_000_000
"""A part of the keys is fitted over at most so many cells."""
CYCLES, TOLERANCE = 500, 1e-6
WORTH_SAYING = 0.01
"""Margins that are off by more than this share are reported."""
WIDER = 16
"""While keys join, there may be so many times more cells for a moment."""
DENSE = 2**22
"""Shares are looked up in a table of up to so many cells, and by search beyond."""
Terms = Literal["main", "two-way"] | Sequence[Sequence[str]]
KeySet = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class KeyPart:
    """Keys that hang together by terms: the cells that may occur, sorted, and the share of the population in each."""

    keys: KeySet
    sizes: tuple[int, ...]
    place: Ints
    share: Floats
    gap: float

    def at(self, cells: SampleCells) -> Floats:
        """The share of each cell of a sample."""
        asked = numbered_cells([cells.codes[key] for key in self.keys], self.sizes, len(cells.count))
        many = int(np.prod(self.sizes))
        if many > DENSE:
            return self.share[np.searchsorted(self.place, asked)]
        table = np.zeros(many)
        table[self.place] = self.share
        return table[asked]


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
    chosen = _sets(cells.names, terms)
    margins, limits = _Margins(cells), _Limits(most_cells, cycles, tolerance)
    parts = {keys: _fitted(margins, keys, chosen, limits) for keys in _hanging_together(chosen)}
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
    found = list(_searched(cells, _Limits(most_cells, cycles, tolerance)))
    best = _closest(found)
    return (_judged(cells, *found[best]), *(_judged(cells, *one) for i, one in enumerate(found) if i != best))


def best_log_linear(cells: SampleCells, most_cells: int, cycles: int, tolerance: float) -> LogLinearFit:
    """The first of :func:`choose_log_linear` alone, which is quicker."""
    found = list(_searched(cells, _Limits(most_cells, cycles, tolerance)))
    return _judged(cells, *found[_closest(found)])


_Candidate = tuple[list[KeySet], tuple[KeyPart, ...], Floats, FitError]


def _closest(found: Sequence[_Candidate]) -> int:
    return min(range(len(found)), key=lambda place: abs(found[place][-1].standardised))


def _searched(cells: SampleCells, limits: _Limits) -> Iterator[_Candidate]:
    """Models with one more pair of keys each."""
    chosen: list[KeySet] = [(key,) for key in range(len(cells.names))]
    margins = _Margins(cells)
    parts = {keys: _fitted(margins, keys, chosen, limits) for keys in chosen}
    shares = {keys: part.at(cells) for keys, part in parts.items()}
    found = _candidate(cells, chosen, parts, shares)
    yield found
    for pair in steps("log-linear models", _by_dependence(margins)):
        if found[-1].uniques < 0 or not cells.uniques:
            return
        wider = _maximal([*chosen, pair])
        joined = next(keys for keys in _hanging_together(wider) if set(pair) <= set(keys))
        try:
            part = _fitted(margins, joined, wider, limits)
        except _TooLarge:
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
    alone = cells.alone
    fraction = cells.fractions[alone] if cells.weighted else np.full(cells.uniques, cells.fraction)
    risk = unique_risk(mean[alone] * fraction, 0.0, fraction)
    name = f"log-linear, {_words(cells.names, chosen)}"
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
        notes=tuple(_notes(error, max(part.gap for part in parts))),
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


def _words(names: Sequence[str], chosen: Sequence[KeySet]) -> str:
    if all(len(keys) == 1 for keys in chosen):
        return "main effects"
    if len(names) > 2 and sorted(chosen) == list(combinations(range(len(names)), 2)):
        return "all pairs of keys"
    return " + ".join("×".join(names[key] for key in keys) for keys in chosen if len(keys) > 1)


def _sets(names: Sequence[str], terms: Terms) -> list[KeySet]:
    """Terms as sets of keys, none within another; every key is in one."""
    alone = [(key,) for key in range(len(names))]
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


def _by_dependence(margins: _Margins) -> list[KeySet]:
    """Pairs of keys, those first that tell most of each other: by deviance from independence over its degrees."""
    found = []
    for one, other in combinations(range(len(margins.cells.names)), 2):
        place, share = margins.of((one, other))
        rows, columns = margins.shape((one, other))
        expected = margins.of((one,))[1][place // columns] * margins.of((other,))[1][place % columns]
        deviance = float(share @ np.log(share / expected))
        found.append((-deviance / max(1, (rows - 1) * (columns - 1)), (one, other)))
    return [pair for _, pair in sorted(found)]


# ---- fitting ----------------------------------------------------------------------------------------------------


class _TooLarge(ParameterError):
    """A part of the keys has too many cells."""


@dataclass(frozen=True, eq=False)
class _Margins:
    """Tables of sets of keys, each counted once: the places that occur, sorted, and their shares."""

    cells: SampleCells
    known: dict[KeySet, tuple[Ints, Floats]] = field(default_factory=dict)

    def of(self, keys: KeySet) -> tuple[Ints, Floats]:
        if keys not in self.known:
            self.known[keys] = self._counted(keys)
        return self.known[keys]

    def shape(self, keys: KeySet) -> tuple[int, ...]:
        return tuple(self.cells.sizes[key] for key in keys)

    def _counted(self, keys: KeySet) -> tuple[Ints, Floats]:
        cells = self.cells
        mass = cells.population if cells.weighted else cells.count
        own = numbered_cells([cells.codes[key] for key in keys], self.shape(keys), len(cells.count))
        many = float(np.prod([float(size) for size in self.shape(keys)]))
        if many <= DENSE:
            sums = np.bincount(own, mass, int(many))
            there = np.flatnonzero(sums)
            return there, sums[there] / sums.sum()
        there, inverse = np.unique(own, return_inverse=True)
        return there, np.bincount(inverse, mass) / float(mass.sum())


@dataclass(frozen=True)
class _Limits:
    """When to give up fitting."""

    most_cells: int
    cycles: int
    tolerance: float

    def refusal(self, names: Sequence[str], keys: KeySet) -> _TooLarge:
        what = f"Terms that join {listed(names[key] for key in keys)} have more than {self.most_cells:,} cells."
        return _TooLarge(what, hint="Name fewer terms, make keys coarser, or raise most_cells=.")


def _fitted(margins: _Margins, keys: KeySet, chosen: Sequence[KeySet], limits: _Limits) -> KeyPart:
    """Fit keys that hang together to the tables of their terms."""
    from discreet.solve.proportional import fit_by_place

    cells, sizes = margins.cells, margins.shape(keys)
    within = [term for term in chosen if set(term) <= set(keys)]
    if np.prod([float(size) for size in sizes]) >= 2**62:
        raise limits.refusal(cells.names, keys)
    if len(within) == 1:
        place, share = margins.of(keys)
        if len(place) > limits.most_cells:
            raise limits.refusal(cells.names, keys)
        return KeyPart(keys, sizes, place, share, 0.0)
    codes = _allowed(margins, keys, within, limits)
    many = len(codes[keys[0]])
    places = np.zeros((len(within), many), np.int32)
    targets = []
    for row, term in enumerate(within):
        there, share = margins.of(term)
        targets.append(share)
        places[row] = np.searchsorted(there, numbered_cells([codes[key] for key in term], margins.shape(term), many))
    first = np.concatenate(([0], np.cumsum([len(target) for target in targets]))).astype(np.int64)
    share = np.full(many, 1 / many)
    _, gap = fit_by_place(places, first, np.concatenate(targets), share, limits.cycles, limits.tolerance)
    # cells were made in the order of their places
    return KeyPart(keys, sizes, numbered_cells([codes[key] for key in keys], sizes, many), share, gap)


def _allowed(margins: _Margins, keys: KeySet, within: Sequence[KeySet], limits: _Limits) -> dict[int, Ints]:
    """Codes of all cells of which every term occurs in the sample, key by key."""
    cells = margins.cells
    codes: dict[int, Ints] = {keys[0]: np.arange(cells.sizes[keys[0]], dtype=np.int64)}
    for key in keys[1:]:
        many, size = len(codes[keys[0]]), cells.sizes[key]
        if many * size > WIDER * limits.most_cells:
            raise limits.refusal(cells.names, keys)
        codes = {one: np.repeat(column, size) for one, column in codes.items()}
        codes[key] = np.tile(np.arange(size, dtype=np.int64), many)
        for term in within:
            asked = tuple(one for one in term if one in codes)
            if key in asked and len(asked) > 1:
                codes = _occurring(margins, codes, asked)
        if len(codes[key]) > limits.most_cells:
            raise limits.refusal(cells.names, keys)
    return codes


def _occurring(margins: _Margins, codes: dict[int, Ints], asked: KeySet) -> dict[int, Ints]:
    """The cells whose codes of some keys occur in the sample."""
    there, _ = margins.of(asked)
    shape = margins.shape(asked)
    place = numbered_cells([codes[key] for key in asked], shape, len(codes[asked[0]]))
    if len(there) == np.prod(shape):
        return codes
    at = np.minimum(np.searchsorted(there, place), len(there) - 1)
    kept = there[at] == place
    return {key: column[kept] for key, column in codes.items()}
