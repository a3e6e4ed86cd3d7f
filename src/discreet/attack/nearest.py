"""The nearest of many points: numbers by squared difference, codes by 1 where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import checkpoint

AT_ONCE = 2**14
"""Points that are asked for between two reports of progress."""


class NearestRecords(NamedTuple):
    """For every point that was asked for the squared distance to the nearest one, the first row that is so near (-1
    where there is none), and how many are."""

    apart: Floats
    row: Ints
    ties: Ints


class PointTree:
    """Points to be searched; equal ones are kept once.

    Parameters
    ----------
    points
        One row each: numbers first, codes after them.
    numbers
        How many columns are numbers.
    degree
        0 for plain distances, or the degree of a polynomial kernel; that one has no codes.
    """

    def __init__(self, points: Floats, numbers: int, degree: int = 0) -> None:
        from discreet.attack.nearest_kernels import build_boxes, lay_out, leaf_norms, node_norms

        self.numbers, self.degree = numbers, degree
        self.first_row, self.many = _distinct(points)
        kept = np.ascontiguousarray(points[self.first_row])
        self.who, self.first, self.low, self.high, self.side, self.cut = build_boxes(kept, numbers)
        self.block = lay_out(kept, self.who, self.first)
        self.norms = leaf_norms(self.block) if degree else np.zeros((1, 1))
        self.norm = node_norms(self.norms, self.first) if degree else np.zeros((1, 2))

    def nearest(self, asked: Floats) -> NearestRecords:
        """The nearest of every asked point."""
        from discreet.attack.nearest_kernels import count_within, leaf_of_each, search_nearest

        best, row, ties = np.zeros(len(asked)), np.zeros(len(asked), np.int64), np.zeros(len(asked), np.int64)
        order = np.argsort(leaf_of_each(asked, self.side, self.cut), kind="stable")
        tree = (self.block, self.norms, self.norm, self.first, self.who, self.first_row, self.many, self.low, self.high)
        for part in _parts(order):
            search_nearest(asked, part, *tree, self.numbers, self.degree, best, row, ties)
        # Distances that differ by rounding only were seen on the way: these are counted with the reach known.
        unsure = order[ties[order] < 0]
        if len(unsure):
            count_within(asked, unsure, *tree, self.numbers, self.degree, best, row, ties)
        return NearestRecords(best, row, ties)


def _parts(order: Ints) -> Iterator[Ints]:
    checkpoint("links", 0, len(order))
    for start in range(0, len(order), AT_ONCE):
        yield order[start : start + AT_ONCE]
        checkpoint("links", min(start + AT_ONCE, len(order)), len(order))


def _distinct(points: Floats) -> tuple[Ints, Ints]:
    """The first row of every distinct point, and how many have it.

    Points are brought together by a hash. Two different ones with the same hash may keep equal ones apart, which costs
    time and changes nothing.
    """
    words = np.ascontiguousarray(points + 0.0).view(np.uint64)  # one zero
    mixed = np.zeros(len(points), np.uint64)
    with np.errstate(over="ignore"):
        for column in range(words.shape[1]):
            mixed = (mixed ^ words[:, column]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
    order = np.argsort(mixed, kind="stable")
    new = np.r_[True, mixed[order[1:]] != mixed[order[:-1]]]
    same = np.flatnonzero(~new)
    new[same] = (words[order[same]] != words[order[same - 1]]).any(axis=1)
    begins = np.flatnonzero(new)
    return order[begins], np.diff(np.r_[begins, len(order)])


def nearest_in_blocks(
    asked: Floats, points: Floats, numbers: int, degree: int, blocks: tuple[Ints, Ints] | None
) -> NearestRecords:
    """The nearest of every asked point, or of those of its own block.

    Raises
    ------
    InputError
        Where coordinates are not finite: nothing would be near, and the file would look safe.
    """
    if not (np.isfinite(asked).all() and np.isfinite(points).all()):
        raise InputError(
            "Values of a column lie too far apart to be compared.", hint="Leave out the column, or its largest values."
        )
    if blocks is None:
        return PointTree(points, numbers, degree).nearest(asked)
    found = NearestRecords(np.full(len(asked), np.inf), np.full(len(asked), -1), np.zeros(len(asked), np.int64))
    for mine, theirs in rows_of_blocks(*blocks):
        here = PointTree(points[theirs], numbers, degree).nearest(np.ascontiguousarray(asked[mine]))
        found.apart[mine], found.row[mine], found.ties[mine] = here.apart, theirs[here.row], here.ties
    return found


def rows_of_blocks(asked: Ints, searched: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Rows of both files that have the same block, block by block; those without a partner are left out."""
    order, other = np.argsort(asked, kind="stable"), np.argsort(searched, kind="stable")
    kinds, begins = np.unique(asked[order], return_index=True)
    ends = np.r_[begins[1:], len(order)]
    ranked = searched[other]
    low, high = np.searchsorted(ranked, kinds, "left"), np.searchsorted(ranked, kinds, "right")
    for place in np.flatnonzero(high > low):
        yield order[begins[place] : ends[place]], other[low[place] : high[place]]


def is_near(apart: Floats, found: NearestRecords) -> Bools:
    """Whether distances are those of the nearest ones, up to rounding."""
    from discreet.attack.nearest_kernels import NEARLY

    return np.asarray((found.ties > 0) & (apart <= found.apart * (1 + NEARLY)))
