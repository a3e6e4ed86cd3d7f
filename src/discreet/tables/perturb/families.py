"""Families of rounded inner cells, and the published cells that move together when members of one family change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.engine.draws import Draws
from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints
from discreet.tables.perturb.cover import turned

LEAST = 64
"""Variables are held fixed as long as families have so many cells on average."""


class CandidateFamilies(NamedTuple):
    """Candidates family by family, and the published cells of each family in bundles.

    A bundle has the published cells that contain the same members of the family: whatever members change, its cells
    change alike, so that their costs are added up once and not at every look. A cell of an area, of its district and
    of its region are one bundle for the family of the area.

    ``order`` are the candidates, ``start`` where each family begins among them and ``bundle_start`` among the bundles.
    ``cell_start`` and ``cells`` are the published cells of each bundle, ``own_start`` and ``own`` the bundles of each
    candidate in this order, ``member_start`` and ``members`` the reverse. The bundle of a candidate alone, if there is
    one, is its last.
    """

    order: Ints
    start: Ints
    bundle_start: Ints
    cell_start: Ints
    cells: Codes
    own_start: Ints
    own: Codes
    member_start: Ints
    members: Codes


def two_kinds(variables: Sequence[Ints | Draws]) -> tuple[Draws, Draws]:
    """Two kinds of families of inner cells, as numbers: those with the same codes of some variables, and of others.

    ``variables`` has for each variable a number of every inner cell's code. The first kind holds the variable with the
    most codes fixed, and further ones as long as families stay large; the second holds those fixed that the first lets
    vary, again as long as families stay large, so that for small tables it is one family of all.
    """
    count = len(variables[0])
    widest, *others = sorted(variables, key=lambda codes: -len(np.unique(codes)))
    first, second = widest.astype(np.uint64), np.zeros(count, np.uint64)
    left = []
    for codes in others:
        both = _together(first, codes)
        if len(np.unique(both)) * LEAST <= count:
            first = both
        else:
            left.append(codes)
    for codes in left:
        both = _together(second, codes)
        if len(np.unique(both)) * LEAST <= count:
            second = both
    return first, second


def _together(one: Draws, other: Ints | Draws) -> Draws:
    """One number for each pair of numbers."""
    result: Draws = one * np.uint64(0x9E3779B97F4A7C15) + other.astype(np.uint64)
    return result


def families_of(group: Ints | Draws, draw: Draws, start: Ints, cells: Codes, size: int) -> CandidateFamilies:
    """Families of candidates with the same number in ``group``.

    ``start`` and ``cells`` are the published cells of each candidate, below ``size``. The order of families follows
    their numbers, that of bundles the draws of their members: neither depends on the order of published cells.
    """
    order = np.argsort(group, kind="stable")
    changes = np.flatnonzero(np.diff(group[order]))
    family_start = np.concatenate(([0], changes + 1, [len(order)])).astype(np.int64)
    bundle_start, cell_start, bundled, own_start, own = bundles(family_start, order, start, cells, draw, size)
    member_start, members = turned(own_start, own, len(cell_start) - 1)
    own_start, own = turned(member_start, members, len(order))
    return CandidateFamilies(
        order, family_start, bundle_start, cell_start, bundled, own_start, own, member_start, members
    )


@kernel("u8(u8)")
def mixed(number: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64: spreads a number over all bits."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@kernel(
    "Tuple((i8[::1], i8[::1], i4[::1], i8[::1], i4[::1]))(i8[::1], i8[::1], i8[::1], i4[::1], u8[::1], i8)",
)
def bundles(
    family_start: Ints, order: Ints, start: Ints, cells: Codes, draw: Draws, size: int
) -> tuple[Ints, Ints, Codes, Ints, Codes]:
    """Bundles of every family: their first numbers, their published cells, and the bundles of every candidate.

    Cells have the same members where the sums of their members' marks of 64 bits agree.
    """
    seen_in = np.full(size, -1, np.int64)
    place = np.empty(size, np.int32)
    bundle_start = np.zeros(len(family_start), np.int64)
    cell_start = np.zeros(len(cells) + 1, np.int64)
    bundled = np.empty(len(cells), np.int32)
    own_start = np.zeros(len(order) + 1, np.int64)
    own = np.empty(len(cells), np.int32)
    made, filled, owned = 0, 0, 0
    for family in range(len(family_start) - 1):
        entries = 0
        for k in range(family_start[family], family_start[family + 1]):
            entries += start[order[k] + 1] - start[order[k]]
        seen = np.empty(entries, np.int32)
        mark = np.zeros(entries, np.uint64)
        members = np.zeros(entries, np.int64)
        known = 0
        for k in range(family_start[family], family_start[family + 1]):
            own_mark = mixed(draw[order[k]])
            for e in range(start[order[k]], start[order[k] + 1]):
                cell = cells[e]
                if seen_in[cell] != family:
                    seen_in[cell] = family
                    place[cell] = known
                    seen[known] = cell
                    known += 1
                mark[place[cell]] += own_mark
                members[place[cell]] += 1
        by_mark = np.argsort(mark[:known], kind="mergesort")
        bundle_of = np.empty(known, np.int32)
        for single in range(2):
            last = np.int64(-1)
            for i in by_mark:
                if (members[i] == 1) != (single == 1):
                    continue
                if last < 0 or mark[i] != mark[last]:
                    cell_start[made] = filled
                    made += 1
                last = i
                bundle_of[i] = made - 1
                bundled[filled] = seen[i]
                filled += 1
        last_owner = np.full(made - bundle_start[family], -1, np.int64)
        for k in range(family_start[family], family_start[family + 1]):
            for e in range(start[order[k]], start[order[k] + 1]):
                bundle = bundle_of[place[cells[e]]]
                if last_owner[bundle - bundle_start[family]] != k:
                    last_owner[bundle - bundle_start[family]] = k
                    own[owned] = bundle
                    owned += 1
            own_start[k + 1] = owned
        bundle_start[family + 1] = made
    cell_start[made] = filled
    return bundle_start, cell_start[: made + 1].copy(), bundled[:filled].copy(), own_start, own[:owned].copy()
