"""Standard errors of weighted counts: a curve of the design, found once, that gives each *published* count its error.

The error of one cell, worked out of its own records, would tell of them: in a simple sample it is one over the root of
their number. So the errors of many large cells are worked out when the data set is made, of replicate weights or of the
strata and clusters of the design, and a curve is drawn through them: relative variance = a + b / count. An answer takes
the curve at the published count, which tells nothing that the count does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from discreet.engine.protocol import columns_of
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError, counted
from discreet.files.frames import numbers
from discreet.model.arrays import Floats, Ints
from discreet.model.microdata import Microdata

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_RECORDS = 30
"""Records of a cell from which on its error is taken for the curve: those of fewer are mostly chance."""
LEAST_CELLS = 12
"""Cells that a curve needs."""
MOST_PAIRS = 12
"""Tables by two variables whose cells are taken for the curve."""
SIGNIFICANT = 3
"""Digits that are kept of the curve: no more than it is good for."""


class QualityPart(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What standard errors are worked out of: replicate weights, or strata and clusters."""

    replicates: list[str] = []
    """Columns of replicate weights."""
    scale: float | None = None
    """Factor of their sum of squares: 1/R where left out (balanced repeats, bootstrap), (R - 1)/R for a jackknife."""
    strata: str | None = None
    clusters: str | None = None
    marks: list[float] = msgspec.field(default_factory=lambda: [25.0, 50.0])
    """Percent from which on a count has a mark, two marks, and so on."""


class ErrorCurve(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Relative variance of a weighted count: ``a + b / count``."""

    a: float
    b: float

    def percent(self, count: Floats) -> Floats:
        """Relative standard error of published counts in percent; of counts that are not above zero there is none.

        Examples
        --------
        >>> ErrorCurve(0.0, 400.0).percent(np.array([400.0, 40_000.0])).tolist()
        [100.0, 10.0]
        """
        there = count > 0
        found: Floats = np.full(len(count), np.nan)
        found[there] = 100 * np.sqrt(np.maximum(self.a + self.b / count[there], 0.0))
        return found


def check_quality(part: QualityPart, weight: str | None) -> None:
    """Refuse a part ``[quality]`` of a catalogue that says too little or too much.

    Raises
    ------
    ParameterError
        When it does, with what to write.
    """
    if weight is None:
        raise ParameterError(
            "[quality] is for weighted records, and [data] names no weight.",
            hint='Write weight = "..." in [data], or leave [quality] out.',
        )
    design = part.clusters is not None
    if design == bool(part.replicates):
        raise ParameterError(
            "[quality] names both replicate weights and clusters, or neither.",
            hint='Write replicates = ["w1", "w2", ...], or strata = "..." and clusters = "...".',
        )
    if (part.strata is not None and not design) or (part.scale is not None and design):
        raise ParameterError(
            "strata go with clusters and scale with replicates in [quality].", hint="Leave the other one out."
        )
    if part.replicates and len(set(part.replicates)) < max(2, len(part.replicates)):
        raise ParameterError(
            "replicates of [quality] names one column only, or one twice.", hint="Name each of them once, at least two."
        )
    if part.scale is not None and not 0 < part.scale < 1e6:
        raise ParameterError(f"scale = {part.scale} of [quality] is no factor.", hint="Give a number above 0.")
    if not part.marks or sorted(set(part.marks)) != part.marks or part.marks[0] <= 0:
        raise ParameterError("marks of [quality] must rise, from above 0.", hint="Usual are marks = [25, 50].")


def error_curve(part: QualityPart, data: Microdata, names: Sequence[str]) -> ErrorCurve:
    """The curve of a data set.

    Parameters
    ----------
    part
        What errors are worked out of.
    data
        The records.
    names
        Variables whose tables are looked at.

    Raises
    ------
    ProtectionError
        When there are too few large cells to draw it through.
    """
    assert data.weight is not None
    design = [one for one in (part.strata, part.clusters) if one is not None]
    table = columns_of(data, [*names, data.weight, *part.replicates, *design], text=[*names, *design])
    weight = np.asarray(numbers(table, data.weight), np.float64)
    codes = {name: _numbered(table, name) for name in names}
    variance: _Clusters | _Replicates
    if part.clusters is not None:
        strata = None if part.strata is None else _numbered(table, part.strata)
        variance = _Clusters(_numbered(table, part.clusters), strata)
    else:
        columns = [np.asarray(numbers(table, name), np.float64) for name in part.replicates]
        if any((column < 0).any() for column in columns):
            raise InputError("A replicate weight is below zero.", hint="Correct the columns that replicates names.")
        variance = _Replicates(columns, part.scale)
    count, relative = [], []
    for cell in _tables(codes):
        space = int(cell.max(initial=0)) + 1
        large = np.bincount(cell, minlength=space) >= LEAST_RECORDS
        total = np.bincount(cell, weight, space)
        large &= total > 0
        count.append(total[large])
        relative.append(variance.of(cell, weight, space)[large] / total[large] ** 2)
    return _through(np.concatenate(count), np.concatenate(relative))


def marks_of(percent: float, marks: Sequence[float]) -> str:
    """The mark of an error: a star for each limit that it reaches.

    Examples
    --------
    >>> [marks_of(percent, [25, 50]) for percent in (24.9, 25, 80)]
    ['', '*', '**']
    """
    return "*" * sum(percent >= limit for limit in marks)


# ---- the curve ----------------------------------------------------------------------------------------------------


class _Replicates:
    """Variances of totals from replicate weights."""

    def __init__(self, columns: Sequence[Floats], scale: float | None) -> None:
        self.columns = columns
        self.scale = 1 / len(columns) if scale is None else scale

    def of(self, cell: Ints, weight: Floats, space: int) -> Floats:
        """The variance of the total of each cell."""
        total = np.bincount(cell, weight, space)
        found: Floats = np.zeros(space)
        for column in self.columns:
            found += (np.bincount(cell, column, space) - total) ** 2
        return self.scale * found


class _Clusters:
    """Variances of totals from clusters in strata, as if clusters had been drawn with replacement."""

    def __init__(self, cluster: Ints, stratum: Ints | None) -> None:
        stratum = np.zeros(len(cluster), np.int64) if stratum is None else stratum
        pair, self.cluster = np.unique(np.stack([stratum, cluster], axis=1), axis=0, return_inverse=True)
        self.cluster = self.cluster.ravel()
        self.stratum: Ints = pair[:, 0]
        self.size: Ints = np.bincount(self.stratum)
        alone = int((self.size == 1).sum())
        if alone:
            raise NeedsError(
                f"strata of [quality] has {counted(alone, 'stratum', 'strata')} with one cluster only: nobody can tell "
                "how much it varies.",
                hint="Put such strata together with others.",
            )

    def of(self, cell: Ints, weight: Floats, space: int) -> Floats:
        """The variance of the total of each cell."""
        found: Floats = np.zeros(space)
        clusters = len(self.stratum)
        by_cluster = np.bincount(self.cluster * space + cell, weight, clusters * space).reshape(clusters, space)
        for stratum in np.unique(self.stratum).tolist():
            mine = by_cluster[self.stratum == stratum]
            found += len(mine) / (len(mine) - 1) * ((mine - mine.mean(axis=0)) ** 2).sum(axis=0)
        return found


def _numbered(table: pa.Table, name: str) -> Ints:
    """The codes of a column as numbers."""
    column = table[name].combine_chunks().dictionary_encode()
    return np.asarray(column.indices.to_numpy(zero_copy_only=False), np.int64)


def _tables(codes: Mapping[str, Ints]) -> Iterator[Ints]:
    """Cells of the records in tables by one variable and by two."""
    yield from codes.values()
    for first, second in list(combinations(sorted(codes), 2))[:MOST_PAIRS]:
        pair = codes[first] * (int(codes[second].max(initial=0)) + 1) + codes[second]
        yield np.unique(pair, return_inverse=True)[1].astype(np.int64)


def _through(count: Floats, relative: Floats) -> ErrorCurve:
    """The curve through relative variances: least squares of relative deviations from it, weighted anew three times."""
    if len(count) < LEAST_CELLS:
        raise ProtectionError(
            f"{counted(len(count), 'cell')} of {LEAST_RECORDS} records or more are too few for standard errors.",
            hint="Leave [quality] out, or give more records.",
        )
    design = np.stack([np.ones(len(count)), 1 / count], axis=1)
    inverse = count.copy()
    a, b = 0.0, 0.0
    for _ in range(4):
        found, *_ = np.linalg.lstsq(design * inverse[:, None], relative * inverse, rcond=None)
        a, b = (float(one) for one in found)
        if b <= 0:
            b = float(np.median(relative * count))
            a = 0.0
        inverse = 1 / np.maximum(a + b / count, 1e-3 * b / count)
    return ErrorCurve(_rounded(a), _rounded(b))


def _rounded(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT}g}")
