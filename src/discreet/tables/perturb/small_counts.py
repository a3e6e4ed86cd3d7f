"""Small count rounding: no published count below a base, all tables additive and consistent.

Only a few small inner cells change, to zero or to the base. Everything published is added up from the inner cells, so
that all tables agree whatever is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.engine.draws import Draws
from discreet.errors import InputError, ParameterError, counted
from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Ints
from discreet.progress import checkpoint
from discreet.tables.perturb.cover import Cover
from discreet.tables.perturb.exchanges import exchanged

AT_ONCE = 1000
LARGEST_BASE = 10_000
EXCHANGES = 150
"""On a table of 222,000 inner cells 0, 20, 60, 150 and 400 leave means of 0.738, 0.583, 0.568, 0.559 and 0.553."""


class RoundedCounts(NamedTuple):
    """Inner and published counts after rounding, which inner cells were candidates, and the number of rounds."""

    inner: Ints
    published: Ints
    candidates: Bools
    rounds: int


def rounded_small_counts(
    inner: Ints,
    cover: Cover,
    draw: Draws,
    *,
    base: int = 3,
    derivable: bool = True,
    every_small: bool = False,
    pre_rounded: Ints | None = None,
    difference: Ints | None = None,
    at_once: int = AT_ONCE,
    exchanges: int = EXCHANGES,
    groups: Sequence[Ints | Draws] = (),
) -> RoundedCounts:
    """Round small inner counts so that no published count lies in 1 .. base - 1.

    Parameters
    ----------
    inner
        Original inner counts.
    cover
        Published cells over the inner ones.
    draw
        One draw for each inner cell (:func:`~discreet.engine.draws.draws` of its identity), which settles
        ties; the same draws give the same result in any order of cells.
    base
        Rounding base.
    derivable
        Also round small inner cells that can be worked out from the published ones.
    every_small
        Round all small inner cells, not only those below a small published cell.
    pre_rounded
        Values of inner cells that an earlier publication has fixed; -1 where nothing is fixed.
    difference
        Differences (original less published) of earlier publications per published cell, to make up for.
    at_once
        How many candidates are looked at together.
    exchanges
        How often every candidate is offered an exchange that brings published counts nearer to the originals; 0 leaves
        it at the exchanges that the package describes.
    groups
        Kinds of families within which cells are exchanged, each one number for every inner cell, in any numbering that
        says what the cells are and not where they stand; left out, all cells are one family, which takes longer. Small
        families that share many published cells come first, large ones that share other cells after them.

    Notes
    -----
    Source: Langsrud (2021). ``O(at_once)`` candidates share one greedy search by
    residuals with exchanges; raising a cell costs as many steps as candidates share a published cell with it.
    """
    _check(inner, cover, draw, base, at_once)
    now = inner.astype(np.int64).copy()
    fixed = np.zeros(len(inner), np.bool_)
    if pre_rounded is not None:
        fixed = _apply_pre_rounded(now, pre_rounded, base)
    original = cover.sums(inner)
    if difference is not None:
        if len(difference) != cover.size:
            raise InputError(f"{len(difference)} differences are given for {counted(cover.size, 'published cell')}.")
        original = original + difference
    published = cover.sums(now)
    goal = int(inner.sum())
    touched = np.zeros(len(inner), np.bool_)
    forced = np.zeros(len(inner), np.bool_)
    start, members = cover.transposed() if derivable else (np.zeros(1, np.int64), np.zeros(0, np.int32))
    rounds, sweeps = 0, exchanges
    while True:
        small = (now > 0) & (now < base) & ~fixed
        if not every_small or rounds:
            below = below_small(cover.start, cover.published, published, base)
            small &= below | forced
        candidates = np.flatnonzero(small)
        if not len(candidates):
            ordered = np.flatnonzero(touched)
            ordered = ordered[np.argsort(draw[ordered], kind="stable")]
            exchanged(ordered, draw, cover, now, published, original, base, sweeps, groups)
            sweeps = 0
            if not derivable:
                break
            forced = derived(cover.start, cover.published, start, members, now, published) & ~fixed
            forced &= (now > 0) & (now < base)
            if not forced.any():
                break
            candidates = np.flatnonzero(forced)
        candidates = candidates[np.argsort(draw[candidates], kind="stable")]
        for at in range(0, len(candidates), at_once):
            checkpoint("round small counts", at, len(candidates))
            part = candidates[at : at + at_once]
            if at and not every_small:
                part = part[forced[part] | below_small_of(part, cover.start, cover.published, published, base)]
            _round_part(part, now, published, original, goal, cover, base)
            touched[part] = True
        rounds += 1
    return RoundedCounts(now, published, touched, rounds)


def _round_part(part: Ints, now: Ints, published: Ints, original: Ints, goal: int, cover: Cover, base: int) -> None:
    """Set some candidates to zero or to the base; the number that rises keeps the grand total."""
    if not len(part):
        return
    wanted = int(now[part].sum()) + goal - int(now.sum())
    rising = min(max((2 * wanted + base) // (2 * base), 0), len(part))
    raised = choose(part, rising, cover.start, cover.published, now, published, original, base)
    new = np.where(raised, base, 0)
    moved = np.flatnonzero(new != now[part])
    change_cells(part[moved], new[moved] - now[part[moved]], cover.start, cover.published, now, published)


def _check(inner: Ints, cover: Cover, draw: Draws, base: int, at_once: int) -> None:
    if isinstance(base, bool) or base < 2:
        raise ParameterError(f"base={base} must be at least 2.")
    if base > LARGEST_BASE:
        raise ParameterError(f"base={base} must be at most {LARGEST_BASE:,}.", hint="Counts below the base are lost.")
    if at_once < 2:
        raise ParameterError(f"at_once={at_once} must be at least 2.")
    if np.asarray(inner).dtype.kind not in "iu":
        raise InputError("Counts must be whole numbers.")
    if len(inner) != cover.inner or len(draw) != cover.inner:
        raise InputError(
            f"{counted(cover.inner, 'inner cell', 'need')} as many counts and draws, not {len(inner)} and {len(draw)}."
        )
    if len(inner) and inner.min() < 0:
        raise InputError(f"{counted(int((inner < 0).sum()), 'count', 'are')} below zero.")


def _apply_pre_rounded(now: Ints, pre_rounded: Ints, base: int) -> Bools:
    if len(pre_rounded) != len(now):
        raise InputError(f"{len(pre_rounded)} fixed values are given for {counted(len(now), 'inner cell')}.")
    fixed: Bools = pre_rounded >= 0
    if np.any((pre_rounded > 0) & (pre_rounded < base)):
        raise InputError(
            f"A cell is fixed at a count in 1 .. {base - 1}, which may not be published.",
            hint="Fix it at 0 or at the base, or leave it free.",
        )
    now[fixed] = pre_rounded[fixed]
    return fixed


# ---- kernels -----------------------------------------------------------------------------------------------------


@kernel("b1[::1](i8[::1], i4[::1], i8[::1], i8)")
def below_small(start: Ints, published_of: Codes, published: Ints, base: int) -> Bools:
    """Inner cells that lie in a published cell of 1 .. base - 1."""
    result = np.zeros(len(start) - 1, np.bool_)
    for i in range(len(result)):
        for at in range(start[i], start[i + 1]):
            count = published[published_of[at]]
            if 0 < count < base:
                result[i] = True
                break
    return result


@kernel("b1[::1](i8[::1], i8[::1], i4[::1], i8[::1], i8)")
def below_small_of(part: Ints, start: Ints, published_of: Codes, published: Ints, base: int) -> Bools:
    """The same for some inner cells."""
    result = np.zeros(len(part), np.bool_)
    for k in range(len(part)):
        for at in range(start[part[k]], start[part[k] + 1]):
            count = published[published_of[at]]
            if 0 < count < base:
                result[k] = True
                break
    return result


@kernel("void(i8[::1], i8[::1], i8[::1], i4[::1], i8[::1], i8[::1])")
def change_cells(part: Ints, change: Ints, start: Ints, published_of: Codes, now: Ints, published: Ints) -> None:
    """Change inner cells and everything that contains them."""
    for k in range(len(part)):
        now[part[k]] += change[k]
        for at in range(start[part[k]], start[part[k] + 1]):
            published[published_of[at]] += change[k]


@kernel("void(i8, i8, i8[::1], i4[::1], i8[::1], i4[::1], i8[::1])")
def _shift(cell: int, amount: int, own_start: Ints, own: Codes, start: Ints, members: Codes, score: Ints) -> None:
    """Add an amount to the score of every candidate for each published cell that it shares with one."""
    for a in range(own_start[cell], own_start[cell + 1]):
        for b in range(start[own[a]], start[own[a] + 1]):
            score[members[b]] += amount


@kernel("Tuple((i8[::1], i4[::1], i8[::1], i4[::1], i8[::1]))(i8[::1], i8[::1], i4[::1], i8[::1], i8[::1], i8[::1])")
def _shared_cells(
    part: Ints, start: Ints, published_of: Codes, now: Ints, published: Ints, original: Ints
) -> tuple[Ints, Codes, Ints, Codes, Ints]:
    """Published cells with some, but not all, candidates; the others are settled by the number that rises.

    Gives the candidates of each of them, those of each candidate, and the sum of residuals of every candidate.
    """
    n = len(part)
    entries = 0
    for k in range(n):
        entries += start[part[k] + 1] - start[part[k]]
    cells = np.empty(entries, np.int32)
    owner = np.empty(entries, np.int32)
    at = 0
    for k in range(n):
        for e in range(start[part[k]], start[part[k] + 1]):
            cells[at], owner[at] = published_of[e], k
            at += 1
    order = np.argsort(cells, kind="mergesort")
    local = np.full(entries, -1, np.int32)
    member_start = np.zeros(entries + 1, np.int64)
    members = np.empty(entries, np.int32)
    target = np.zeros(entries, np.int64)
    used, filled, first = 0, 0, 0
    while first < entries:
        last = first
        cell = cells[order[first]]
        while last < entries and cells[order[last]] == cell:
            last += 1
        if last - first < n:
            residual = original[cell] - published[cell]
            for e in range(first, last):
                k = owner[order[e]]
                residual += now[part[k]]
                members[filled] = k
                local[order[e]] = used
                filled += 1
            target[used] = residual
            used += 1
            member_start[used] = filled
        first = last
    own_start = np.zeros(n + 1, np.int64)
    own = np.empty(filled, np.int32)
    score = np.zeros(n, np.int64)
    at, e = 0, 0
    for k in range(n):
        for _ in range(start[part[k]], start[part[k] + 1]):
            if local[e] >= 0:
                own[at] = local[e]
                score[k] += target[local[e]]
                at += 1
            e += 1
        own_start[k + 1] = at
    return member_start, members, own_start, own, score


@kernel("b1[::1](i8[::1], i8, i8[::1], i4[::1], i8[::1], i8[::1], i8[::1], i8)")
def choose(
    part: Ints, rising: int, start: Ints, published_of: Codes, now: Ints, published: Ints, original: Ints, base: int
) -> Bools:
    """Which candidates rise to the base: greedy by residuals, then exchanges; ties by the order of candidates."""
    n = len(part)
    raised = np.zeros(n, np.bool_)
    if rising == n:
        raised[:] = True
    if rising == 0 or rising == n:
        return raised
    member_start, members, own_start, own, score = _shared_cells(part, start, published_of, now, published, original)
    stamp = np.zeros(n, np.int64)
    clock = 0
    for _ in range(rising):
        best = -1
        for k in range(n):
            if not raised[k] and (best < 0 or score[k] > score[best]):
                best = k
        raised[best] = True
        clock += 1
        stamp[best] = clock
        _shift(best, -base, own_start, own, member_start, members, score)
    for _ in range(rising + 100):
        worst = -1
        for k in range(n):
            if raised[k] and (
                worst < 0 or score[k] < score[worst] or (score[k] == score[worst] and stamp[k] > stamp[worst])
            ):
                worst = k
        if stamp[worst] == clock:
            break
        raised[worst] = False
        _shift(worst, base, own_start, own, member_start, members, score)
        best = worst
        for k in range(n):
            if not raised[k] and score[k] > score[best]:
                best = k
        raised[best] = True
        clock += 1
        stamp[best] = clock
        _shift(best, -base, own_start, own, member_start, members, score)
    return raised


@kernel("b1[::1](i8[::1], i4[::1], i8[::1], i4[::1], i8[::1], i8[::1])")
def derived(start: Ints, published_of: Codes, member_start: Ints, members: Codes, now: Ints, published: Ints) -> Bools:
    """Inner cells that follow from the published ones alone: all below a zero, and the last unknown of a sum."""
    cells = len(member_start) - 1
    known = np.zeros(len(start) - 1, np.bool_)
    unknown = np.diff(member_start)
    rest = published.copy()
    queue = np.empty(cells * 2 + len(members), np.int64)
    waiting = 0
    for j in range(cells):
        if unknown[j] > 0 and (rest[j] == 0 or unknown[j] == 1):
            queue[waiting] = j
            waiting += 1
    while waiting > 0:
        waiting -= 1
        j = queue[waiting]
        if unknown[j] == 0:
            continue
        for at in range(member_start[j], member_start[j + 1]):
            i = members[at]
            if known[i]:
                continue
            known[i] = True
            for e in range(start[i], start[i + 1]):
                other = published_of[e]
                unknown[other] -= 1
                rest[other] -= now[i]
                if other != j and unknown[other] > 0 and (rest[other] == 0 or unknown[other] == 1):
                    if waiting == len(queue):
                        larger = np.empty(2 * len(queue), np.int64)
                        larger[:waiting] = queue
                        queue = larger
                    queue[waiting] = other
                    waiting += 1
    return known
