"""Individual risk by an old census and new margins: structure preserving estimation (SPREE).

The census says how keys hang together, newer margins say how many persons there are. Iterative proportional fitting
scales the census to the margins and keeps every odds ratio that they leave open (Di Consiglio and Polettini 2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError, counted, listed
from discreet.measures.individual_risk import individual_risk
from discreet.measures.population.estimate import PopulationEstimate, without_uniques
from discreet.model.arrays import Floats, Ints
from discreet.parameters import AtLeastOne, Declared, Number

AGREE = 1e-6
"""Margins agree if their totals differ by at most this share."""
Margin = tuple[Sequence[int], npt.ArrayLike]
Axes = tuple[int, ...]


@dataclass(frozen=True)
class SpreeSettings(Declared):
    """How an old census is brought up to date.

    Parameters
    ----------
    tolerance, cycles
        Scale until every margin is met within this share of it, at most so many times.
    adjust
        ``"max_f"``: no cell has fewer persons than the sample has records. ``"none"``: leave estimates as they are,
        and let risks be above what is possible.
    empty
        What a cell gets that is empty in the census but not in the sample: this share of the smallest count above 0.
    disagree
        What happens to margins that do not agree: ``"rescale"`` the earlier to the later one of each pair, or
        ``"refuse"`` them.
    """

    tolerance: Annotated[float, Number(above=0, most=0.1)] = 1e-6
    cycles: AtLeastOne = 500
    adjust: Literal["max_f", "none"] = "max_f"
    empty: Annotated[float, Number(above=0, most=1)] = 0.5
    disagree: Literal["rescale", "refuse"] = "rescale"


@dataclass(frozen=True, eq=False, repr=False)
class SpreeRisk:
    """Estimated population counts, and the risk of every cell that is in the sample.

    ``population`` are the counts of the table after fitting and ``fitted`` those before they were adjusted to the
    sample. ``risk`` is one over the population count, ``cautious`` the mean of one over it by the model of Benedetti
    and Franconi with this count in place of the weights; both are not a number where the sample is empty.
    ``cycles`` were needed, ``gaps`` are left per margin; ``adjusted`` cells had fewer persons than records and
    ``filled`` ones were empty in the census.
    """

    fitted: Floats
    population: Floats
    count: Ints
    risk: Floats
    cautious: Floats
    cycles: int
    gaps: tuple[float, ...]
    adjusted: int
    filled: tuple[Axes, ...]
    notes: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """Whether all margins were met."""
        return not any(note.startswith("Margins were not met") for note in self.notes)

    @property
    def estimates(self) -> tuple[PopulationEstimate, PopulationEstimate]:
        """Population uniques and matches by both risks: the plain one first.

        By the plain one a sample unique is unique in the population if its count rounds to one person.
        """
        records, alone = int(self.count.sum()), self.count == 1
        names = "SPREE", "SPREE with Benedetti and Franconi"
        if not alone.any():
            return without_uniques(names[0], records), without_uniques(names[1], records)
        one = np.maximum(self.population[alone], 1.0)
        uniques = int((one < 1.5).sum())
        plain, cautious = (float(np.minimum(risk[alone], 1.0).sum()) for risk in (self.risk, self.cautious))
        many = int(alone.sum())
        chance = float((1 / one).sum())
        return (
            PopulationEstimate(names[0], records, many, min(float(uniques), plain), plain, notes=self.notes),
            PopulationEstimate(names[1], records, many, min(chance, cautious), cautious, notes=self.notes),
        )

    def __repr__(self) -> str:
        return "\n".join(one.summary() for one in self.estimates)


def spree_risk(
    sample: npt.ArrayLike, census: npt.ArrayLike, margins: Sequence[Margin], settings: SpreeSettings | None = None
) -> SpreeRisk:
    """The risk of sample cells by an old census that is brought up to date.

    Parameters
    ----------
    sample
        Counts of the sample, one axis for each key.
    census
        The table of the same keys at an earlier time, of the whole population.
    margins
        Newer margins: pairs of axes and of a table over them, in the order in which cells are scaled. Give those from
        a survey first and those from a register last, so that the register decides where they do not agree.
    settings
        Tolerances, and what to do about cells and margins that contradict each other.

    Raises
    ------
    InputError
        Where shapes differ, counts are negative, or margins do not agree.

    Examples
    --------
    >>> census = [[[10, 5], [4, 1]], [[20, 30], [6, 14]]]
    >>> sample = [[[1, 0], [0, 1]], [[2, 3], [1, 1]]]
    >>> margins = [((1, 2), [[35, 38], [12, 18]]), ((0, 1), [[17, 6], [56, 24]])]
    >>> found = spree_risk(sample, census, margins)
    >>> found.population[0].round(4).tolist(), found.risk[0].round(4).tolist()
    ([[11.607, 5.393], [4.8, 1.2]], [[0.0862, nan], [nan, 0.8333]])
    """
    how = settings or SpreeSettings()
    count, old = _sample_and_census(sample, census)
    targets, notes = _margins(old.shape, margins, how)
    filled = np.argwhere((old == 0) & (count > 0))
    start = old.copy()
    if len(filled):
        start[tuple(filled.T)] = how.empty * old[old > 0].min()
        notes.append(
            f"{counted(len(filled), 'cell', 'are')} empty in the census but not in the sample: a small count was put there."
        )
    fitted, cycles, gaps = _scaled(start, targets, how)
    if max(gaps) > how.tolerance:
        notes.append(f"Margins were not met: after {cycles} cycles they are off by up to {max(gaps):.2g} of them.")
    return _with_risk(count, fitted, how, cycles, gaps, filled, notes)


def _with_risk(
    count: Ints,
    fitted: Floats,
    how: SpreeSettings,
    cycles: int,
    gaps: tuple[float, ...],
    filled: Ints,
    notes: list[str],
) -> SpreeRisk:
    there = count > 0
    low = there & (fitted < count)
    population = np.where(low, count, fitted) if how.adjust == "max_f" else fitted.copy()
    if low.any():
        was = "raised to that" if how.adjust == "max_f" else "left as they are, with risks above what is possible"
        share = low.sum() / there.sum()
        notes.append(f"{share:.1%} of the cells of the sample have fewer persons than records: {was}.")
    risk, cautious = np.full(count.shape, np.nan), np.full(count.shape, np.nan)
    with np.errstate(divide="ignore"):
        risk[there] = 1 / population[there]
    cautious[there] = individual_risk(count[there], np.maximum(population[there], count[there]))
    places = tuple(tuple(int(code) for code in row) for row in filled)
    return SpreeRisk(fitted, population, count, risk, cautious, cycles, gaps, int(low.sum()), places, tuple(notes))


def _sample_and_census(sample: npt.ArrayLike, census: npt.ArrayLike) -> tuple[Ints, Floats]:
    count, old = np.asarray(sample), np.asarray(census, np.float64)
    if count.shape != old.shape or not count.ndim:
        raise InputError(
            f"The sample has shape {count.shape} and the census {old.shape}.",
            hint="Give both by the same keys and codes; aligned_tables makes them from records.",
        )
    if not np.all(np.isfinite(old)) or np.any(old < 0) or not old.any():
        raise InputError(
            "Counts of the census must be numbers from 0 on, not all 0.", hint="Give 0 for cells without persons."
        )
    if not np.all(np.isfinite(count)) or np.any(count < 0) or np.any(count != np.floor(count)):
        raise InputError(
            "Counts of records must be whole numbers from 0 on.", hint="Count records, do not weight them."
        )
    return count.astype(np.int64), old


# ---- margins -----------------------------------------------------------------------------------------------------


def _margins(shape: Axes, margins: Sequence[Margin], how: SpreeSettings) -> tuple[list[tuple[Axes, Floats]], list[str]]:
    """Margins in the order of axes, made to agree; and what was done to them."""
    if not margins:
        raise ParameterError("There are no margins.", hint="Give at least one, such as ((0, 1), table).")
    found = [_margin(shape, axes, table, place) for place, (axes, table) in enumerate(margins)]
    notes = []
    # later margins decide, so that those before them are scaled to agree from the end on
    for late, early in sorted(combinations(range(len(found)), 2), key=lambda pair: (-pair[1], -pair[0])):
        first, second = min(late, early), max(late, early)
        table, note = _agreeing(found, first, second, how)
        if note:
            found[first] = (found[first][0], table)
            notes.append(note)
    return found, notes


def _margin(shape: Axes, axes: Sequence[int], table: npt.ArrayLike, place: int) -> tuple[Axes, Floats]:
    over, target = tuple(axes), np.asarray(table, np.float64)
    if not over or len(set(over)) < len(over) or not all(0 <= axis < len(shape) for axis in over):
        raise ParameterError(
            f"Margin {place + 1} is over axes {over}.", hint=f"Name different axes from 0 to {len(shape) - 1}."
        )
    asked = tuple(shape[axis] for axis in over)
    if target.shape != asked:
        raise InputError(
            f"Margin {place + 1} over axes {over} has shape {target.shape}, and the census {asked} there.",
            hint="Give the margin by the codes of the census.",
        )
    if not np.all(np.isfinite(target)) or np.any(target < 0) or not target.any():
        raise InputError(f"Margin {place + 1} must hold numbers from 0 on, not all 0.", hint="Correct the margin.")
    order = np.argsort(over)
    return tuple(sorted(over)), np.ascontiguousarray(target.transpose(order))


def _agreeing(
    margins: Sequence[tuple[Axes, Floats]], first: int, second: int, how: SpreeSettings
) -> tuple[Floats, str]:
    """The earlier of two margins scaled to the later one where both say the same thing differently."""
    (one, early), (other, late) = margins[first], margins[second]
    shared = tuple(axis for axis in one if axis in other)
    here = early.sum(axis=tuple(place for place, axis in enumerate(one) if axis not in shared))
    there = late.sum(axis=tuple(place for place, axis in enumerate(other) if axis not in shared))
    apart = np.abs(here - there) > AGREE * np.maximum(here, there)
    if not apart.any():
        return early, ""
    what = f"axis {listed(shared)}" if shared else "their total"
    furthest = float((np.abs(here - there) / np.maximum(np.maximum(here, there), 1e-300)).max())
    words = f"Margins {first + 1} and {second + 1} do not agree on {what}: they differ by up to {furthest:.1%}"
    if how.disagree == "refuse" or np.any((here == 0) & (there > 0)):
        raise InputError(
            f"{words}, in {counted(int(apart.sum()), 'total')}.",
            hint="Correct them, or let disagree='rescale' scale the earlier to the later where neither is 0.",
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(here > 0, there / here, 0.0)
    wide = tuple(slice(None) if axis in shared else None for axis in one)
    return early * factor[wide], f"{words}; the first was scaled to the second."


def _scaled(
    start: Floats, targets: Sequence[tuple[Axes, Floats]], how: SpreeSettings
) -> tuple[Floats, int, tuple[float, ...]]:
    """The table scaled to its margins, the cycles that it took, and the gap of each margin."""
    from discreet.solve.proportional import fit_by_place

    there = np.nonzero(start)
    places = np.zeros((len(targets), len(there[0])), np.int32)
    for row, (axes, target) in enumerate(targets):
        places[row] = np.ravel_multi_index(tuple(there[axis] for axis in axes), target.shape)
    first = np.concatenate(([0], np.cumsum([target.size for _, target in targets]))).astype(np.int64)
    wanted = np.concatenate([target.ravel() for _, target in targets])
    cell = np.ascontiguousarray(start[there])
    cycles, _ = fit_by_place(places, first, wanted, cell, how.cycles, how.tolerance)
    fitted = np.zeros(start.shape)
    fitted[there] = cell
    return fitted, cycles, tuple(_gap(places[row], cell, target.ravel()) for row, (_, target) in enumerate(targets))


def _gap(place: npt.NDArray[np.int32], cell: Floats, target: Floats) -> float:
    reached = np.bincount(place, cell, len(target))
    return float((np.abs(reached - target) / np.where(target > 0, target, 1.0)).max())
