"""Risk of sample uniques by their neighbours: generalised negative binomial smoothing (Rinott and Shlomo 2006).

A cell is like those that are close to it by keys with an order, such as age: a polynomial of low degree describes the
means of the cells around each sample unique, and their counts vary more than Poisson counts by a spread of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError, counted
from discreet.files.frames import to_frame
from discreet.measures.population.cells import numbered_cells
from discreet.measures.population.estimate import PopulationEstimate, without_uniques
from discreet.measures.population.formulas import refuse_fractions, unique_risk
from discreet.model.arrays import Bools, Floats, Ints
from discreet.parameters import AtLeastOne, Declared, Number
from discreet.progress import steps

MOST_NEIGHBOURS = 200_000
BATCH = 200
"""Sample uniques between two reports of progress."""
Boundary = Literal["zero", "drop"]


@dataclass(frozen=True)
class Neighbours(Declared):
    """Which cells are close to another, and what is fitted to them.

    Parameters
    ----------
    c
        Codes of keys with an order differ by at most so much.
    d
        The differences of all keys add up to at most so much; no such limit where left out.
    t
        Degree of the polynomial of each key.
    boundary
        Cells outside of the table count as empty (``"zero"``), or are left out (``"drop"``).

    Examples
    --------
    >>> len(Neighbours(c=2).offsets(3)), len(Neighbours(c=2, d=4).offsets(5))
    (125, 581)
    """

    c: AtLeastOne = 2
    d: AtLeastOne | None = None
    t: Annotated[int, Number(least=0)] = 2
    boundary: Boundary = "zero"

    def __post_init__(self) -> None:
        super().__post_init__()
        reach = self.c if self.d is None else min(self.c, self.d)
        if self.t > 2 * reach:
            raise ParameterError(
                f"t={self.t} is not allowed: {2 * reach + 1} codes side by side do not tell such a polynomial.",
                hint=f"Give t of at most {2 * reach}, or a larger c.",
            )

    def offsets(self, axes: int) -> Ints:
        """How the codes of neighbours differ from those of the cell, which is one of them."""
        if (2 * self.c + 1) ** axes > 50 * MOST_NEIGHBOURS:
            raise ParameterError(
                f"c={self.c} with {axes} keys gives too many neighbours.", hint="Give a smaller c, or d as well."
            )
        step = range(-self.c, self.c + 1)
        found = np.array(list(product(step, repeat=axes)), np.int64)
        if self.d is not None:
            found = found[np.abs(found).sum(axis=1) <= self.d]
        if len(found) > MOST_NEIGHBOURS:
            raise ParameterError(
                f"c={self.c}, d={self.d} with {axes} keys gives {len(found):,} neighbours; "
                f"at most {MOST_NEIGHBOURS:,} are allowed.",
                hint="Give a smaller c or d.",
            )
        return found

    def design(self, offsets: Ints) -> Floats:
        """The terms of the polynomial, scaled but not centred: the first stays the mean of the cell itself."""
        powers = [
            offsets[:, axis].astype(np.float64) ** k for axis in range(offsets.shape[1]) for k in _degrees(self.t)
        ]
        scaled = [power / power.std() for power in powers]
        return np.ascontiguousarray(np.column_stack([np.ones(len(offsets)), *scaled]))


def _degrees(t: int) -> range:
    return range(1, t + 1)


@dataclass(frozen=True, eq=False, repr=False)
class SmoothedRisk:
    """Every sample unique with what its neighbours say of it.

    ``cells`` are its codes, one row each; ``mean`` how many records are expected there and ``spread`` how much more
    than Poisson counts vary (0: Poisson); ``unique`` and ``match`` the chances to be unique in the population and to
    be matched. ``size`` counts neighbours, ``occupied`` those that are not empty besides the cell itself; ``flat``
    marks cells with too few of them for a polynomial, and ``converged`` those whose fit came to rest.
    """

    neighbours: Neighbours
    estimate: PopulationEstimate
    cells: Ints
    mean: Floats
    spread: Floats
    fraction: Floats
    unique: Floats
    match: Floats
    converged: Bools
    flat: Bools
    size: Ints
    occupied: Ints
    record: Ints | None = field(default=None)

    def __repr__(self) -> str:
        return self.estimate.summary()

    @property
    def rho(self) -> Floats:
        """The probability of success of the negative binomial distribution of persons who were not sampled."""
        with np.errstate(divide="ignore"):
            shape = 1 / self.spread
        full = np.isfinite(shape)
        shape = np.where(full, shape, 0.0)
        return np.where(full, (self.mean + shape) / (self.mean / self.fraction + shape), 1.0)

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """For the custodian: one row for every sample unique, as a data frame."""
        codes = {f"code {axis + 1}": self.cells[:, axis] for axis in range(self.cells.shape[1])}
        names = ("mean", "spread", "unique", "match", "converged", "flat", "size", "occupied")
        return to_frame({**codes, **{name: getattr(self, name) for name in names}}, backend)


def smoothed_risk(
    counts: npt.ArrayLike,
    fraction: npt.ArrayLike,
    ordinal: Sequence[int],
    neighbours: Neighbours | None = None,
) -> SmoothedRisk:
    """Smooth the counts of a table of keys, and estimate the risk of its uniques.

    Parameters
    ----------
    counts
        The table of the sample, one axis for each key, empty cells included.
    fraction
        The share of the population that is in the sample; one number, or one for every cell.
    ordinal
        Axes with an order, from 0. All others are the same for neighbours.
    neighbours
        Which cells are neighbours and what is fitted to them; two codes on each side and a quadratic where left out.

    Raises
    ------
    InputError
        Where counts are negative or not whole, or fractions are not in (0, 1].

    Examples
    --------
    >>> table = np.zeros((5, 5, 5), int)
    >>> table[2, 2, 2] = 1
    >>> found = smoothed_risk(table, 0.1, [0, 1, 2])
    >>> found.flat.tolist(), found.unique.round(4).tolist(), found.match.round(4).tolist()
    ([True], [0.9305], [0.9648])
    """
    table = np.asarray(counts)
    if not np.issubdtype(table.dtype, np.number) or not np.all(np.isfinite(table)):
        raise InputError("A table of counts must hold numbers, without gaps.", hint="Give 0 for empty cells.")
    if np.any(table < 0) or np.any(table != np.floor(table)):
        raise InputError(
            "Counts of records must be whole numbers from 0 on.", hint="Count records, do not weight them."
        )
    pi = np.asarray(fraction, np.float64)
    refuse_fractions(pi)
    if pi.ndim and pi.shape != table.shape:
        raise InputError(
            f"Fractions of shape {pi.shape} and counts of shape {table.shape} do not belong together.",
            hint="Give one fraction, or one for every cell.",
        )
    # where fractions differ, those of empty cells are known as well
    known = np.nonzero(table if not pi.ndim else np.ones_like(table))
    fractions = np.broadcast_to(pi, table.shape)[known]
    codes = [axis.astype(np.int64) for axis in known]
    return _smoothed(codes, table.shape, table[known].astype(np.float64), fractions, ordinal, neighbours)


def smoothed_records(
    codes: Sequence[npt.ArrayLike],
    ordinal: Sequence[int],
    *,
    weight: npt.ArrayLike | None = None,
    fraction: float | None = None,
    neighbours: Neighbours | None = None,
) -> SmoothedRisk:
    """The same from records, without a table of all cells: ``record`` of the result is the position of each unique.

    Parameters
    ----------
    codes
        For each key the code of every record, 0 or more; the difference of codes of keys with an order is how far
        apart they are. :func:`ordinal_codes` makes them.
    ordinal
        Keys with an order, by their place from 0.
    weight, fraction
        One of them: how many persons each record stands for, or the share of the population in the sample.
    neighbours
        As in :func:`smoothed_risk`.

    Examples
    --------
    >>> age, sex = [3, 4, 4, 5, 9], [0, 0, 0, 0, 1]
    >>> found = smoothed_records([age, sex], [0], fraction=0.5, neighbours=Neighbours(c=1, t=0))
    >>> found.record.tolist(), found.size.tolist(), found.unique.round(3).tolist()
    ([0, 3, 4], [3, 3, 3], [0.368, 0.368, 0.717])
    """
    from discreet.measures.population.cells import sample_cells
    from discreet.rules.key_counts import KeyCodes

    columns = [_codes(one, place) for place, one in enumerate(codes)]
    keys = KeyCodes(
        tuple(f"key {place + 1}" for place in range(len(columns))),
        tuple(column + 1 for column in columns),
        tuple(int(column.max(initial=0)) + 2 for column in columns),
    )
    cells = sample_cells(keys, weight, fraction)
    first = np.zeros(len(cells.count), np.int64)
    first[cells.cell[::-1]] = np.arange(len(cells.cell))[::-1]
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    found = _smoothed(
        [column[first] for column in columns],
        sizes,
        cells.count.astype(np.float64),
        cells.fractions,
        ordinal,
        neighbours,
        first,
    )
    return found


def ordinal_codes(values: npt.ArrayLike) -> Ints:
    """Codes of a key with an order: whole numbers keep their distances, all else is one step apart in its order.

    Text is in the order of the alphabet, which is seldom the order that is meant: code it by hand then.

    Examples
    --------
    >>> ordinal_codes([30, 34, 31]).tolist(), ordinal_codes(["b", "a", "b"]).tolist()
    ([0, 4, 1], [1, 0, 1])
    """
    column = np.asarray(values)
    if column.dtype.kind in "fc" and not np.all(np.isfinite(column)):
        raise InputError(
            "A key with an order has empty fields.", hint="Fill them, or count the key among those without an order."
        )
    if column.dtype.kind in "iu" or (column.dtype.kind == "f" and np.all(column == np.floor(column))):
        whole = column.astype(np.int64)
        return whole - whole.min(initial=whole[0] if len(whole) else 0)
    if column.dtype.kind == "O" and any(one is None for one in column):
        raise InputError(
            "A key with an order has empty fields.", hint="Fill them, or count the key among those without an order."
        )
    return np.unique(column, return_inverse=True)[1].astype(np.int64)


def smoothing_grid(
    counts: npt.ArrayLike, fraction: npt.ArrayLike, ordinal: Sequence[int], grid: Sequence[Neighbours]
) -> tuple[SmoothedRisk, ...]:
    """The same table with several neighbourhoods: how far the estimates depend on a choice that nobody can make well.

    Examples
    --------
    >>> table = np.random.default_rng(1).poisson(0.4, (8, 8))
    >>> grid = [Neighbours(c=1), Neighbours(c=2), Neighbours(c=3)]
    >>> [round(one.estimate.matches, 1) for one in smoothing_grid(table, 0.1, [0, 1], grid)]
    [2.9, 3.9, 4.1]
    """
    return tuple(smoothed_risk(counts, fraction, ordinal, one) for one in grid)


# ---- the work ----------------------------------------------------------------------------------------------------


def _codes(column: npt.ArrayLike, place: int) -> Ints:
    values = np.asarray(column)
    if values.dtype.kind not in "iu" or values.ndim != 1 or values.min(initial=0) < 0:
        raise InputError(
            f"Key {place + 1} must hold codes: whole numbers from 0 on, without empty fields.",
            hint="Use ordinal_codes for keys with an order; give empty fields of other keys a code of their own.",
        )
    return values.astype(np.int64)


def _smoothed(
    codes: Sequence[Ints],
    sizes: Sequence[int],
    counts: Floats,
    fractions: Floats,
    ordinal: Sequence[int],
    neighbours: Neighbours | None,
    first: Ints | None = None,
) -> SmoothedRisk:
    how = neighbours or Neighbours()
    axes = _axes(ordinal, len(sizes))
    offsets = how.offsets(len(axes))
    places, jumps = _places(codes, sizes, axes, how.c, offsets)
    order = np.argsort(places, kind="stable")
    alone = np.flatnonzero(counts == 1)
    coordinates = np.ascontiguousarray(np.column_stack([codes[axis][alone] for axis in axes]).reshape(-1, len(axes)))
    fitted = _fits(
        (places[order], counts[order], np.ascontiguousarray(fractions[order], np.float64)),
        (places[alone], coordinates),
        (
            offsets,
            jumps,
            np.array([sizes[axis] for axis in axes], np.int64),
            how.design(offsets),
            how.boundary == "drop",
        ),
    )
    mean, spread = np.exp(fitted.centre), fitted.spread
    pi = np.ascontiguousarray(fractions[alone], np.float64)
    from discreet.measures.population.smoothing_kernels import MOST_SPREAD

    risk = unique_risk(mean, np.where(spread >= MOST_SPREAD, np.inf, spread), pi)
    records = int(counts.sum())
    name = f"negative binomial smoothing, {len(offsets):,} neighbours"
    estimate = without_uniques(name, records)
    if len(alone):
        total = float(risk.unique.sum()), float(risk.match.sum())
        notes = tuple(_notes(fitted))
        estimate = PopulationEstimate(name, records, len(alone), *total, *risk.deviations(), notes=notes)
    return SmoothedRisk(
        how,
        estimate,
        np.column_stack([column[alone] for column in codes]),
        mean,
        spread,
        pi,
        risk.unique,
        risk.match,
        fitted.rest,
        fitted.flat,
        fitted.size,
        fitted.occupied,
        None if first is None else first[alone],
    )


@dataclass(frozen=True, eq=False)
class _Fits:
    centre: Floats
    spread: Floats
    rest: Bools
    flat: Bools
    size: Ints
    occupied: Ints


def _fits(
    known: tuple[Ints, Floats, Floats],
    uniques: tuple[Ints, Ints],
    around: tuple[Ints, Ints, Ints, Floats, bool],
) -> _Fits:
    """Fit the neighbours of all sample uniques, some at a time."""
    from discreet.measures.population.smoothing_kernels import smooth_cells

    centres, coordinates = uniques
    many = len(centres)
    found = _Fits(
        np.zeros(many),
        np.zeros(many),
        np.zeros(many, np.bool_),
        np.zeros(many, np.bool_),
        np.zeros(many, np.int64),
        np.zeros(many, np.int64),
    )
    for begin in steps("smooth counts", range(0, many, BATCH)):
        part = slice(begin, min(many, begin + BATCH))
        columns = (found.centre, found.spread, found.rest, found.flat, found.size, found.occupied)
        own = (centres[part].copy(), np.ascontiguousarray(coordinates[part]))
        smooth_cells(*known, *own, *around, *(column[part] for column in columns))
    return found


def _axes(ordinal: Sequence[int], keys: int) -> tuple[int, ...]:
    axes = tuple(ordinal)
    if not axes:
        raise ParameterError(
            "Smoothing needs at least one key with an order.",
            hint="Name an axis such as age; use a log-linear model else.",
        )
    if len(set(axes)) < len(axes) or not all(0 <= axis < keys for axis in axes):
        raise ParameterError(
            f"ordinal={list(axes)} is not allowed: there are {counted(keys, 'key')}.",
            hint=f"Give different numbers from 0 to {keys - 1}.",
        )
    return axes


def _places(
    codes: Sequence[Ints], sizes: Sequence[int], axes: tuple[int, ...], c: int, offsets: Ints
) -> tuple[Ints, Ints]:
    """A number for each cell, with room around ordered codes so that no neighbour is another's cell; and jumps."""
    fixed = [axis for axis in range(len(sizes)) if axis not in axes]
    wide = [sizes[axis] + 2 * c for axis in axes]
    if np.prod([float(size) for size in [*wide, *(sizes[axis] for axis in fixed)]]) >= 2**62:
        raise ParameterError("The table of all keys has too many cells.", hint="Make keys coarser, or leave some out.")
    cells = len(codes[0])
    columns = [codes[axis] for axis in fixed] + [codes[axis] + c for axis in axes]
    places = numbered_cells(columns, [*(sizes[axis] for axis in fixed), *wide], cells)
    jumps = np.zeros(len(offsets), np.int64)
    for place, size in enumerate(wide):
        jumps = jumps * size + offsets[:, place]
    return places, jumps


def _notes(fitted: _Fits) -> list[str]:
    notes = []
    restless, flat = int((~fitted.rest).sum()), int(fitted.flat.sum())
    if restless:
        notes.append(f"The fit of {counted(restless, 'sample unique')} did not come to rest.")
    if flat:
        notes.append(
            f"{counted(flat, 'sample unique', 'have')} fewer than three neighbours that are not empty: "
            "their mean is that of the neighbourhood."
        )
    return notes
