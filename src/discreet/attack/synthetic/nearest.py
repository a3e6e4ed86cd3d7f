"""Nearest records of files with numbers, categories and gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from discreet.attack.synthetic.compared_files import ComparedFiles, FileColumns
from discreet.model.arrays import Floats, Ints
from discreet.progress import steps

SAME = 1e-12
"""Distances that differ by less are equal; they are sums of a few numbers below 1."""
PART = 256
"""So many records are asked at once, so that work can be stopped between."""


def parts_of(many: int) -> Iterator[slice]:
    """Slices of so many attempts; progress is reported after each."""
    for begin in steps("attempts", range(0, many, PART)):
        yield slice(begin, begin + PART)


class NearestFound(NamedTuple):
    """Distances to the nearest record, and how many records are as near."""

    distance: Floats
    ties: Ints


def nearest_records(asked: FileColumns, rows: Ints, among: FileColumns) -> NearestFound:
    """The nearest records of one file to some rows of another; both scaled.

    Examples
    --------
    >>> one = FileColumns(np.array([[0.0, 0.5]]), np.arange(2))
    >>> other = FileColumns(np.array([[0.25, 0.75, 1e300]]), np.arange(3))
    >>> found = nearest_records(one, np.arange(2), other)
    >>> found.distance.tolist(), found.ties.tolist()
    ([0.25, 0.25], [1, 2])
    """
    from discreet.attack.synthetic.nearest_kernels import nearest

    distance, ties = np.empty(len(rows)), np.empty(len(rows), np.int64)
    points = np.ascontiguousarray(asked.values[:, rows].T)
    for part in parts_of(len(rows)):
        nearest(points[part], among.values, distance[part], ties[part])
    return NearestFound(distance, ties)


def answer_shares(files: ComparedFiles, asked: FileColumns, rows: Ints, answers: AnswerColumn) -> Floats:
    """For some rows the share of the nearest released records that hold the true answer; files are scaled."""
    from discreet.attack.synthetic.nearest_kernels import agreeing_nearest

    distance, share = np.empty(len(rows)), np.empty(len(rows))
    points = np.ascontiguousarray(asked.values[:, rows].T)
    for part in parts_of(len(rows)):
        agreeing_nearest(
            points[part], files.released.values, answers.true[part], answers.released, answers.tolerance,
            distance[part], share[part],
        )  # fmt: skip
    return share


class AnswerColumn(NamedTuple):
    """The true answers of the asked rows, those of all released records, and by which share of it they may differ."""

    true: Floats
    released: Floats
    tolerance: float
