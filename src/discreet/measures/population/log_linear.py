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

from discreet.errors import ParameterError, listed, unknown_name
from discreet.measures.population.cells import SampleCells, numbered_cells
from discreet.measures.population.estimate import PopulationEstimate, without_uniques
from discreet.measures.population.fit_error import FitError, fit_errors
from discreet.measures.population.formulas import unique_risk
from discreet.model.arrays import Floats, Ints
from discreet.progress import steps

MOST_CELLS = 4_000_000
"""A part of the keys is fitted over at most so many cells."""
CYCLES, TOLERANCE = 1_000, 1e-7
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
        return self.share[np.searchsorted(self.place, asked)]


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


def log_linear(cells: SampleCells, terms: Terms = "main", most_cells: int = MOST_CELLS) -> LogLinearFit:
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

    Returns
    -------
    LogLinearFit
        The estimates; ``estimate.uniques_bias`` is B1 and ``estimate.matches_bias`` B2 of Skinner and Shlomo (2008).
    """
    chosen = _sets(cells.names, terms)
    parts = tuple(_fitted(cells, keys, chosen, most_cells) for keys in _hanging_together(chosen))
    return _judged(cells, chosen, parts)


def choose_log_linear(cells: SampleCells, most_cells: int = MOST_CELLS) -> tuple[LogLinearFit, ...]:
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
    """
    chosen: list[KeySet] = [(key,) for key in range(len(cells.names))]
    known = {keys: _fitted(cells, keys, chosen, most_cells) for keys in chosen}
    found = [_judged(cells, chosen, tuple(known[keys] for keys in chosen))]
    for pair in steps("log-linear models", _by_dependence(cells)):
        if found[-1].error.uniques < 0 or not cells.uniques:
            break
        wider = _maximal([*chosen, pair])
        together = _hanging_together(wider)
        try:
            for keys in together:
                joined = any(set(pair) <= set(keys) for keys in (keys,))
                if keys not in known or joined:
                    known[keys] = _fitted(cells, keys, wider, most_cells)
        except _TooLarge:
            continue
        chosen = wider
        found.append(_judged(cells, chosen, tuple(known[keys] for keys in together)))
    best = min(range(len(found)), key=lambda place: abs(found[place].error.standardised))
    return (found[best], *(one for place, one in enumerate(found) if place != best))


def _judged(cells: SampleCells, chosen: Sequence[KeySet], parts: tuple[KeyPart, ...]) -> LogLinearFit:
    mean = np.full(len(cells.count), cells.persons)
    for part in parts:
        mean *= part.at(cells)
    alone = cells.alone
    fraction = cells.fractions[alone] if cells.weighted else np.full(cells.uniques, cells.fraction)
    risk = unique_risk(mean[alone] * fraction, 0.0, fraction)
    error = fit_errors(cells, mean, [part.share for part in parts])
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
    if gap > TOLERANCE:
        yield f"Fitting ended with margins off by up to {gap:.1e} of them."


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


def _by_dependence(cells: SampleCells) -> list[KeySet]:
    """Pairs of keys, those first that tell most of each other: by deviance from independence over its degrees."""
    mass = cells.population * cells.fraction
    found = []
    for one, other in combinations(range(len(cells.names)), 2):
        rows, columns = cells.sizes[one], cells.sizes[other]
        table = np.bincount(cells.codes[one] * columns + cells.codes[other], mass, rows * columns)
        expected = np.outer(
            np.bincount(cells.codes[one], mass, rows), np.bincount(cells.codes[other], mass, columns)
        ).ravel()
        there = table > 0
        deviance = 2 * float(table[there] @ np.log(table[there] * mass.sum() / expected[there]))
        found.append((-deviance / max(1, (rows - 1) * (columns - 1)), (one, other)))
    return [pair for _, pair in sorted(found)]


# ---- fitting ----------------------------------------------------------------------------------------------------


class _TooLarge(ParameterError):
    """A part of the keys has too many cells."""


def _fitted(cells: SampleCells, keys: KeySet, chosen: Sequence[KeySet], most_cells: int) -> KeyPart:
    """Fit keys that hang together to the tables of their terms."""
    from discreet.solve.proportional import fit_by_place

    mass = cells.population if cells.weighted else cells.count.astype(np.float64)
    sizes = tuple(cells.sizes[key] for key in keys)
    within = [term for term in chosen if set(term) <= set(keys)]
    if np.prod([float(size) for size in sizes]) >= 2**62:
        raise _TooLarge(_too_many(cells.names, keys, most_cells), hint="Name fewer terms, or make keys coarser.")
    if len(within) == 1:
        asked = numbered_cells([cells.codes[key] for key in keys], sizes, len(cells.count))
        place, inverse = np.unique(asked, return_inverse=True)
        return KeyPart(keys, sizes, place, np.bincount(inverse, mass) / mass.sum(), 0.0)
    codes = _allowed(cells, keys, within, most_cells)
    many = len(codes[keys[0]])
    places = np.zeros((len(within), many), np.int32)
    targets = []
    for row, term in enumerate(within):
        shape = [cells.sizes[key] for key in term]
        own = numbered_cells([cells.codes[key] for key in term], shape, len(cells.count))
        there, inverse = np.unique(own, return_inverse=True)
        targets.append(np.bincount(inverse, mass) / mass.sum())
        places[row] = np.searchsorted(there, numbered_cells([codes[key] for key in term], shape, many))
    first = np.concatenate(([0], np.cumsum([len(target) for target in targets]))).astype(np.int64)
    share = np.full(many, 1 / many)
    _, gap = fit_by_place(places, first, np.concatenate(targets), share, CYCLES, TOLERANCE)
    place = numbered_cells([codes[key] for key in keys], sizes, many)
    order = np.argsort(place, kind="stable")
    return KeyPart(keys, sizes, place[order], share[order], gap)


def _too_many(names: Sequence[str], keys: KeySet, most_cells: int) -> str:
    return f"Terms that join {listed(names[key] for key in keys)} have more than {most_cells:,} cells."


def _allowed(cells: SampleCells, keys: KeySet, within: Sequence[KeySet], most_cells: int) -> dict[int, Ints]:
    """Codes of all cells of which every term occurs in the sample, key by key."""
    codes: dict[int, Ints] = {keys[0]: np.arange(cells.sizes[keys[0]], dtype=np.int64)}
    for key in keys[1:]:
        many, size = len(codes[keys[0]]), cells.sizes[key]
        if many * size > 16 * most_cells:
            raise _TooLarge(_too_many(cells.names, keys, most_cells), hint="Name fewer terms, or make keys coarser.")
        codes = {one: np.repeat(column, size) for one, column in codes.items()}
        codes[key] = np.tile(np.arange(size, dtype=np.int64), many)
        for term in within:
            asked = tuple(one for one in term if one in codes)
            if key in asked and len(asked) > 1:
                codes = _occurring(cells, codes, asked)
        if len(codes[key]) > most_cells:
            raise _TooLarge(_too_many(cells.names, keys, most_cells), hint="Name fewer terms, or make keys coarser.")
    return codes


def _occurring(cells: SampleCells, codes: dict[int, Ints], asked: KeySet) -> dict[int, Ints]:
    """The cells whose codes of some keys occur in the sample."""
    shape = [cells.sizes[key] for key in asked]
    many = len(codes[asked[0]])
    there = np.unique(numbered_cells([cells.codes[key] for key in asked], shape, len(cells.count)))
    place = numbered_cells([codes[key] for key in asked], shape, many)
    at = np.minimum(np.searchsorted(there, place), len(there) - 1)
    kept = there[at] == place
    return codes if kept.all() else {key: column[kept] for key, column in codes.items()}
