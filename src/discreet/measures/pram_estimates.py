"""What analysts make of post-randomised records: counts and sums before, and how sure of them one can be."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.any_records import records_of_release
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, ParameterError, ResourceError, counted, listed, unknown_column
from discreet.measures.pram import along_axes
from discreet.model.arrays import Floats, Ints
from discreet.model.microdata import Microdata
from discreet.model.records import PublicRecords
from discreet.model.transition import ILL_CONDITIONED, TransitionMatrix
from discreet.model.transition_codes import coded, in_order

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CELLS = 20_000_000
"""Cells of a table of estimates at most."""
Matrices = TransitionMatrix | Sequence[TransitionMatrix]


@dataclass(frozen=True, eq=False)
class PramEstimates:
    """Counts (or sums) of published records, and unbiased estimates of those before post-randomisation.

    Parameters
    ----------
    variables, codes
        The variables, one axis each, and the codes of each axis; ``""`` is an empty field.
    published
        What stands in the file.
    estimates
        What stood there before. They are not cut: one below zero says that the cell is small, and how unsure it is.
    variance
        An unbiased estimate of the variance of each estimate. It can be negative where there are few records.
    condition
        The worst condition number of the matrices of each variable: how much the inverse may amplify.
    """

    variables: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    published: Floats
    estimates: Floats
    variance: Floats
    condition: Mapping[str, float]

    @property
    def standard_error(self) -> Floats:
        """The square root of the variance; zero where its estimate is below zero."""
        found: Floats = np.sqrt(np.maximum(self.variance, 0))
        return found

    def columns(self) -> dict[str, list[Any]]:
        """Plain columns: codes, what is published, the estimate and its standard error; a line for every cell."""
        places = np.indices(self.published.shape).reshape(len(self.variables), -1)
        found: dict[str, list[Any]] = {
            name: [codes[place] for place in where]
            for name, codes, where in zip(self.variables, self.codes, places.tolist(), strict=True)
        }
        numbers = {"published": self.published, "estimate": self.estimates, "standard_error": self.standard_error}
        return {**found, **{name: values.ravel().tolist() for name, values in numbers.items()}}

    def __repr__(self) -> str:
        return f"PramEstimates of {counted(self.published.size, 'cell')} by {listed(self.variables)}"


def pram_estimates(
    records: Any, by: str | Sequence[str], matrices: Matrices | None = None, *, total: str | None = None
) -> PramEstimates:
    """Estimate counts before post-randomisation from the public file and the public transition matrices.

    Parameters
    ----------
    records
        Public records: a release or its public part, a data frame, or a file.
    by
        The variable, or the variables of a cross table. Those without a matrix are taken as they are.
    matrices
        Transition matrices of the variables; those that the release publishes where left out.
    total
        Column of numbers to add up (a weight, an income) in place of counting records. It must not depend on what was
        drawn.

    Returns
    -------
    PramEstimates
        Estimates with their variance: what post-randomisation adds, beside whatever the records are a sample of.

    Raises
    ------
    InputError
        Where a matrix is singular, or lacks a code that the file has.

    Notes
    -----
    Source: de Wolf (2006). Matrices with a condition number above a million are warned about.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> matrix = ds.TransitionMatrix.from_notation("sex", "2E(0.9)", ["m", "f"])
    >>> found = ds.pram_estimates(pa.table({"sex": ["m"] * 108 + ["f"] * 92}), "sex", matrix)
    >>> found.estimates.round(6).tolist(), found.standard_error.round(2).tolist()
    ([110.0, 90.0], [5.3, 5.3])
    """
    table, stated = _opened(records, total)
    names = (by,) if isinstance(by, str) else tuple(by)
    given = stated if matrices is None else [matrices] if isinstance(matrices, TransitionMatrix) else list(matrices)
    mine = [matrix for matrix in given if matrix.column in names]
    within = list(dict.fromkeys(name for matrix in mine for name in matrix.within))
    for name in [*names, *within, *([total] if total else [])]:
        if name not in table.column_names:
            raise unknown_column(name, table.column_names, "the records")
    if not mine or not names or len(set(names)) < len(names):
        raise ParameterError(
            f"There is no transition matrix of {listed(names)}." if names else "There is no variable to count by.",
            hint="Give matrices=, or a release that publishes them (ds.Pram(..., publish=[...])). Name variables once.",
        )
    _warn(mine)
    axes = [_axis(table[name], [matrix for matrix in mine if matrix.column == name]) for name in names]
    shape = tuple(len(codes) for codes, _ in axes)
    if np.prod([float(size) for size in shape]) > MOST_CELLS:
        raise ResourceError(
            f"A table by {listed(names)} has more than {MOST_CELLS:,} cells.", hint="Take fewer variables."
        )
    amount = np.ones(table.num_rows) if total is None else _numbers(table[total], total)
    strata = records_by_stratum(table, within)
    sums = [np.zeros(shape) for _ in range(3)]
    for stratum, rows in strata.items():
        where = tuple(place[rows] for _, place in axes)
        inverses = []
        for name, (codes, place) in zip(names, axes, strict=True):
            matrix = _matrix_of(mine, name, dict(zip(within, stratum, strict=True)))
            inverses.append(None if matrix is None else _inverse(matrix, codes, place[rows]))
        for number, found in enumerate(_estimated(shape, where, amount[rows], inverses)):
            sums[number] += found
    condition = {name: max((m.condition for m in mine if m.column == name), default=1.0) for name in names}
    listing = tuple(tuple(codes) for codes, _ in axes)
    return PramEstimates(names, listing, sums[0], sums[1], sums[2], condition)


def _estimated(
    shape: tuple[int, ...], where: tuple[Ints, ...], amount: Floats, inverses: Sequence[Floats | None]
) -> tuple[Floats, Floats, Floats]:
    """Published sums, estimates and their variance.

    A record of amount ``w`` published as ``l`` adds ``w A[l, c]`` to the estimate of cell ``c``, where ``A`` is the
    inverse. That has the expectation ``w`` where its true cell is ``c`` and 0 elsewhere, so that the variance is that
    of ``(w A[l, c])**2`` less ``w**2`` in the true cell: both are estimated from what is published, without bias.
    """
    place = np.ravel_multi_index(where, shape) if len(amount) else np.zeros(0, np.int64)
    sums, squares = (
        np.bincount(place, weights=values, minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)
        for values in (amount, amount**2)
    )
    spread = along_axes(squares, [None if a is None else a**2 for a in inverses])
    return sums, along_axes(sums, inverses), spread - along_axes(squares, inverses)


def _opened(records: Any, total: str | None) -> tuple[pa.Table, list[TransitionMatrix]]:
    """Columns of public records, and the matrices that go with them."""
    records = records_of_release(records)
    if isinstance(records, PublicRecords):
        return records.columns, list(records.matrices)
    data = records if isinstance(records, Microdata) else Microdata(records)
    return read_record_set(data, [total] if total else []).columns, []


def _warn(matrices: Sequence[TransitionMatrix]) -> None:
    for matrix in matrices:
        if matrix.condition > ILL_CONDITIONED:
            matrix.inverse  # noqa: B018  # a singular one is an error
            warnings.warn(
                f"The matrix of {matrix.column!r} is nearly singular (condition number {matrix.condition:.2g}): "
                "estimates with it are mostly noise.",
                stacklevel=3,
            )


def _axis(column: pa.ChunkedArray, matrices: Sequence[TransitionMatrix]) -> tuple[list[str], Ints]:
    """The codes of an axis and the place of every record in it: those of the matrices first, others behind them."""
    texts, place = coded(column)
    codes = list(dict.fromkeys(code for matrix in matrices for code in matrix.codes))
    others = [text for text in texts if text not in codes]
    codes += in_order(others)
    if np.any(place < 0) and "" not in codes:
        codes.append("")
    where = {code: i for i, code in enumerate(codes)}
    places = np.array([*(where[text] for text in texts), where.get("", -1)], np.int64)
    return codes, places[place]


def records_by_stratum(table: pa.Table, within: Sequence[str]) -> dict[tuple[str, ...], Ints]:
    """The records of every combination of codes of some columns."""
    if not within:
        return {(): np.arange(table.num_rows)}
    columns = [coded(table[name]) for name in within]
    places = np.stack([place for _, place in columns], axis=1)
    kinds, number = np.unique(places, axis=0, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(number.ravel()))[:-1]
    found: dict[tuple[str, ...], Ints] = {}
    for kind, rows in zip(kinds.tolist(), np.split(order, ends), strict=True):
        key = tuple("" if at < 0 else texts[at] for at, (texts, _) in zip(kind, columns, strict=True))
        found[key] = np.concatenate([found[key], rows]) if key in found else rows
    return found


def _matrix_of(matrices: Sequence[TransitionMatrix], name: str, codes: Mapping[str, str]) -> TransitionMatrix | None:
    """The matrix of a variable in a stratum; nothing where the variable has none."""
    mine = [matrix for matrix in matrices if matrix.column == name]
    if not mine:
        return None
    fits = [m for m in mine if all(codes[n] == code for n, code in zip(m.within, m.stratum, strict=True))]
    if len(fits) != 1:
        where = ", ".join(f"{n} {code!r}" for n, code in codes.items() if n in mine[0].within)
        raise InputError(
            f"There are {len(fits)} matrices of {name!r} for {where or 'the records'}, and one is needed.",
            hint="Give one matrix for each stratum, or one for all records.",
        )
    return fits[0]


def _inverse(matrix: TransitionMatrix, codes: Sequence[str], place: Ints) -> Floats:
    """The inverse over all codes of an axis. Empty fields stay; other codes that the matrix lacks must not occur."""
    where = {code: i for i, code in enumerate(codes)}
    rows = [where[code] for code in matrix.codes]
    known = {*rows, where.get("", -1)}
    strange = sorted({codes[at] for at in np.unique(place).tolist() if at not in known})
    if strange:
        raise InputError(
            f"The matrix of {matrix.column!r} lacks {counted(len(strange), 'code')} of the records: "
            f"{listed(strange, 5)}.",
            hint="Give the matrix that was published with these records.",
        )
    found = np.eye(len(codes))
    found[np.ix_(rows, rows)] = matrix.inverse
    return found


def _numbers(column: pa.ChunkedArray, name: str) -> Floats:
    import pyarrow as pa

    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)) or column.null_count:
        raise InputError(
            f"Column {name!r} cannot be added up: it holds text or empty fields.", hint="Fill or convert it first."
        )
    return np.asarray(column.to_numpy(), np.float64)
