"""Distances between series, and how they are normalised.

Minkowski, short time series (slopes), cross-correlation and dynamic time warping, as used for linking records of
series by Nin and Torra (2006), with three repairs: powers are of absolute differences, slopes end at the last time but
one, and correlations are divided by the number of times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from discreet.attack.series_files import SeriesFile, stamps
from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Floats, Ints
from discreet.parameters import AtLeastOne, Declared, Natural, Number, Positive

Distance = Literal["minkowski", "sts", "cc", "dtw"]
Normalisation = Literal["pooled", "series", "component", "range"]
DISTANCES: dict[str, str] = {
    "minkowski": "Minkowski distance",
    "sts": "slopes (STS)",
    "cc": "cross-correlation",
    "dtw": "dynamic time warping",
}


@dataclass(frozen=True)
class SeriesQuestion(Declared):
    """How series are compared; :func:`link_series` says what each part means."""

    distance: Distance = "sts"
    normalise: Normalisation | None = "pooled"
    q: Annotated[int, Number(least=1, most=64)] = 2
    beta: Positive = 1.0
    combine: Literal["sum", "rms"] = "sum"
    ties: Literal["expected", "first", "random"] = "expected"
    split: AtLeastOne = 1
    band: Natural | None = None
    normalise_path: bool = True
    gaps: Literal["refuse", "interpolate", "drop"] = "refuse"
    paper_literal: bool = False
    seed: Natural = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.band is not None and self.distance != "dtw":
            raise ParameterError(f'band= is for distance="dtw", not {self.distance!r}.', hint="Leave it out.")
        if self.paper_literal and self.beta != int(self.beta):
            raise ParameterError(
                f"beta={self.beta!r} has no meaning with the printed formulas, whose ratios are negative.",
                hint="Give a whole number, or leave paper_literal= out.",
            )

    @property
    def words(self) -> str:
        """The distance by name."""
        said = {"minkowski": f", q = {self.q}", "cc": f", beta = {self.beta:g}" if self.beta != 1 else ""}
        how = {"component": ", every time for itself", "range": ", every time for itself", "series": ", own scales"}
        return f"{DISTANCES[self.distance]}{said.get(self.distance, '')}{how.get(self.normalise or '', '')}"


class SeriesPart(NamedTuple):
    """One series of all units, or a piece of it: values by unit and time, and the times."""

    values: Floats
    times: Floats


def series_parts(file: SeriesFile, split: int) -> list[SeriesPart]:
    """Every series by itself, cut into so many consecutive pieces of nearly equal length."""
    many = len(file.times)
    if split > many:
        raise ParameterError(
            f"split={split} is more than the {counted(many, 'time')} there are.", hint=f"Give at most {many}."
        )
    if split > 1 and file.ragged:
        raise ParameterError("Series of unequal length are not split.", hint="Leave split= out.")
    pieces = np.array_split(np.arange(many), split)
    return [
        SeriesPart(np.ascontiguousarray(file.values[:, series, piece]), file.times[piece])
        for series in range(file.values.shape[1])
        for piece in pieces
    ]


def normalised_series(values: Floats, how: Normalisation | None = "pooled") -> Floats:
    """One series of all units, by unit and time, on a common scale.

    Parameters
    ----------
    values
        The values; a gap is not a number.
    how
        ``"pooled"``: less the mean of all values, over their standard deviation. ``"series"``: the same for every unit
        by itself. ``"component"``: the same for every time by itself, which standard record linkage does. ``"range"``:
        every time by itself from 0 to 1. ``None``: as they are. What does not vary becomes 0.

    Examples
    --------
    >>> prices = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 9.0]])
    >>> normalised_series(prices, "series").round(2).tolist()
    [[-1.0, 0.0, 1.0], [-0.83, -0.28, 1.11]]
    >>> normalised_series(prices, "range").tolist()
    [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    if how is None:
        return values
    axis = {"pooled": None, "series": 1, "component": 0, "range": 0}[how]
    there = ~np.isnan(values)
    many = there.sum(axis=axis, keepdims=True)
    if how == "range":
        least = np.where(there, values, np.inf).min(axis=0, keepdims=True)
        width = np.where(there, values, -np.inf).max(axis=0, keepdims=True) - least
        return np.where(there, (values - least) / np.where(width > 0, width, 1.0), np.nan)
    middle = np.where(there, values, 0.0).sum(axis=axis, keepdims=True) / np.maximum(many, 1)
    moved = np.where(there, values - middle, 0.0)
    far = np.abs(moved).max(axis=axis, keepdims=True)
    far = np.where(far > 0, far, 1.0)  # squares of shares of it neither vanish nor overflow
    spread = far * np.sqrt(((moved / far) ** 2).sum(axis=axis, keepdims=True) / np.maximum(many - 1, 1))
    least = np.where(there, values, np.inf).min(axis=axis, keepdims=True)
    most = np.where(there, values, -np.inf).max(axis=axis, keepdims=True)
    varies = (most > least) & (spread > 0)  # the mean of equal numbers may differ from them in the last digit
    return np.where(there, np.where(varies, moved / np.where(varies, spread, 1.0), 0.0), np.nan)


def refuse_undefined(question: SeriesQuestion, original: Sequence[SeriesPart], released: Sequence[SeriesPart]) -> None:
    """Refuse distances that the series do not have."""
    for first, second in zip(original, released, strict=True):
        if question.distance == "dtw":
            continue
        if len(first.times) != len(second.times):
            raise InputError(
                f"Original series have {counted(len(first.times), 'time')}, released ones {len(second.times)}.",
                hint='Series of unequal length need distance="dtw".',
            )
        if question.distance in ("sts", "cc") and len(first.times) < 2:
            raise InputError(
                f"A series of one time has no {'slope' if question.distance == 'sts' else 'correlation'}.",
                hint='Give distance="minkowski", longer series, or a smaller split=.',
            )


def flat_series(parts: Sequence[SeriesPart]) -> int:
    """How many series do not vary over time."""
    return sum(
        int((np.nanmax(part.values, axis=1) == np.nanmin(part.values, axis=1)).sum())
        for part in parts
        if part.values.size
    )


def distance_block(question: SeriesQuestion, left: SeriesPart, right: SeriesPart) -> Floats:
    """Distances of one series between some units and others, both normalised."""
    from discreet.attack import series_kernels as kernels

    found = np.empty((len(left.values), len(right.values)))
    if question.distance == "minkowski":
        kernels.minkowski_block(left.values, right.values, question.q, question.paper_literal, found)
    elif question.distance == "sts":
        kernels.slopes_block(left.values, right.values, left.times, found)
    elif question.distance == "cc":
        kernels.correlation_block(left.values, right.values, float(question.beta), question.paper_literal, found)
    else:
        band = -1 if question.band is None else question.band
        pair = (*_to_the_left(left.values), *_to_the_left(right.values))
        kernels.warping_block(*pair, band, question.normalise_path, float(question.beta), found)
    return found


def _to_the_left(values: Floats) -> tuple[Floats, Ints]:
    """Rows with their values first and their gaps last, and how many values there are."""
    gone = np.isnan(values)
    lengths = (~gone).sum(axis=1)
    if not gone.any():
        return values, lengths
    order = np.argsort(gone, axis=1, kind="stable")
    return np.ascontiguousarray(np.take_along_axis(values, order, axis=1)), lengths


def series_distance(x: Any, v: Any, distance: Distance = "sts", times: Any = None, **options: Any) -> float:
    """How far two series are apart, as they are: nothing is normalised.

    Parameters
    ----------
    x, v
        Two series, of unequal length for ``"dtw"`` only.
    distance
        ``"minkowski"`` (of order ``q``), ``"sts"`` (slopes), ``"cc"`` (cross-correlation) or ``"dtw"``.
    times
        When the values were; 0, 1, 2 and so on where left out.
    options
        ``q``, ``beta``, ``band``, ``normalise_path``, ``gaps="drop"`` and ``paper_literal`` of :func:`link_series`.

    Examples
    --------
    >>> series_distance([1, 2, 4], [2, 3, 5]), series_distance([1, 2, 4], [2, 3, 5], "minkowski", q=1)
    (0.0, 3.0)
    """
    question = SeriesQuestion(distance=distance, normalise=None, **options)
    rows = [np.atleast_1d(np.asarray(one, np.float64)) for one in (x, v)]
    if any(row.ndim != 1 or not len(row) for row in rows):
        raise ParameterError("A series is a list of numbers, one for each time.", hint="Give two such lists.")
    gaps = sum(int(np.isnan(row).sum()) for row in rows)
    if gaps and question.gaps != "drop":
        raise InputError(f"The series have {counted(gaps, 'gap')}.", hint='Give gaps="drop", or fill them.')
    parts = [SeriesPart(np.ascontiguousarray(row[None, :]), stamps(times, len(row))) for row in rows]
    refuse_undefined(question, parts[:1], parts[1:])
    return float(distance_block(question, *parts)[0, 0])


class WarpingPath(NamedTuple):
    """The least sum of squares over all ways to warp a series onto another, and the steps of the shortest of these."""

    cost: float
    steps: int


def warping_path(x: Any, v: Any, band: int | None = None) -> WarpingPath:
    """Dynamic time warping of two series.

    Parameters
    ----------
    x, v
        Two series, of any lengths.
    band
        How many places apart warped values may be (Sakoe and Chiba); at least the difference of the lengths.

    Examples
    --------
    >>> warping_path([1, 2, 3], [1, 1, 2, 3])
    WarpingPath(cost=0.0, steps=4)
    """
    from discreet.attack.series_kernels import warp

    SeriesQuestion(distance="dtw", band=band)
    first, second = (np.ascontiguousarray(one, np.float64) for one in (x, v))
    if any(row.ndim != 1 or not len(row) or np.isnan(row).any() for row in (first, second)):
        raise ParameterError("A series is a list of numbers without gaps.", hint="Give two such lists.")
    cost, steps = np.empty(len(second) + 1), np.empty(len(second) + 1, np.int64)
    reach = -1 if band is None else band
    total = warp(first, len(first), second, len(second), reach, cost, steps)
    return WarpingPath(float(total), int(steps[len(second)]))
