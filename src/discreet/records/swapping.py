"""Record swapping: households exchange their places before tabulation (Shlomo and Young 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.engine.draws import draws
from discreet.errors import InputError, ParameterError
from discreet.jit import kernel
from discreet.model.arrays import Bools, Floats, Ints


class Swaps(NamedTuple):
    """Pairs of households that exchange places, and those that found no partner.

    ``rate`` is the share of households that moved. The pairs are confidential.
    """

    first: Ints
    second: Ints
    alone: Ints
    rate: float


def swapped_households(
    identity: Ints,
    area: Ints,
    broad_area: Ints,
    profile: Ints,
    key: bytes,
    *,
    rate: float = 0.1,
    risk: Floats | None = None,
    version: int = 1,
) -> Swaps:
    """Pairs of households for swapping: the same profile and broad area, different areas, none used twice.

    Parameters
    ----------
    identity
        Identity of each household.
    area
        Small area of each household.
    broad_area
        Area within which households are swapped; every area lies in one.
    profile
        Number of each household's matching values (size, age-sex pattern, hard-to-count index and the like).
    key
        The secret key of 32 bytes.
    rate
        Share of households selected, within every broad area. Partners need not be selected, so that up to twice as
        many move.
    risk
        How risky each household is; risky ones are selected first in proportion (targeted swapping): the chance of
        selection grows with the risk. Left out, all are equally likely.
    version
        Version of the draws.
    """
    _check(identity, area, broad_area, profile, rate, risk)
    chance = draws(key, "swap/select", version, identity)
    size = np.ones(len(identity)) if risk is None else risk
    # The smallest of -log(u) / size are a sample without replacement in proportion to size.
    uniform = (chance.astype(np.float64) + 1) / 2.0**64
    with np.errstate(divide="ignore"):
        rank = -np.log(uniform) / size
    selected = _selected(rank, broad_area, rate, size > 0)
    order = np.lexsort((draws(key, "swap/partner", version, identity), profile, broad_area))
    group = np.empty(len(order), np.int64)
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(profile[order]) != 0) | (np.diff(broad_area[order]) != 0)
    group[order] = np.cumsum(new) - 1
    start = np.append(np.flatnonzero(new), len(order))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    turn = np.flatnonzero(selected)
    turn = turn[np.argsort(rank[turn], kind="stable")]
    partner = matched(turn, order, start, group, place, area)
    pairs = np.flatnonzero(partner > np.arange(len(partner)))
    alone = turn[partner[turn] < 0]
    moved = int((partner >= 0).sum())
    return Swaps(pairs, partner[pairs], alone, moved / max(len(identity), 1))


def _selected(rank: Floats, broad_area: Ints, rate: float, eligible: Bools) -> Bools:
    """The share of every broad area with the lowest ranks, rounded to the nearest household."""
    order = np.lexsort((rank, broad_area))
    sizes = np.bincount(broad_area)
    within = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    wanted = np.floor(sizes * rate + 0.5).astype(np.int64)
    selected = np.zeros(len(rank), np.bool_)
    selected[order] = within < wanted[broad_area[order]]
    return selected & eligible


@kernel("i8[::1](i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1])")
def matched(turn: Ints, order: Ints, start: Ints, group: Ints, place: Ints, area: Ints) -> Ints:
    """Give each selected household the next unused one of its group in another area; -1 where there is none."""
    partner = np.full(len(order), -1, np.int64)
    for t in range(len(turn)):
        i = turn[t]
        if partner[i] >= 0:
            continue
        low, high = start[group[i]], start[group[i] + 1]
        at = place[i]
        for _ in range(high - low - 1):
            at = at + 1 if at + 1 < high else low
            other = order[at]
            if partner[other] < 0 and area[other] != area[i]:
                partner[i], partner[other] = other, i
                break
    return partner


def _check(identity: Ints, area: Ints, broad_area: Ints, profile: Ints, rate: float, risk: Floats | None) -> None:
    if not 0 < rate <= 1:
        raise ParameterError(f"rate={rate} must lie in (0, 1].")
    columns = [area, broad_area, profile, *([risk] if risk is not None else [])]
    if any(len(column) != len(identity) for column in columns):
        raise InputError("Every household needs an area, a broad area and a profile.")
    if len(np.unique(identity)) < len(identity):
        raise InputError("A household stands there twice.", hint="Give one row per household, not a person.")
    if len(area) and (min(area.min(), broad_area.min(), profile.min()) < 0):
        raise InputError("Areas and profiles must be numbered from 0.")
    pairs = np.unique(np.stack([area, broad_area]), axis=1) if len(area) else np.zeros((2, 0))
    if pairs.shape[1] > len(np.unique(area)):
        raise InputError("An area lies in two broad areas.", hint="Use areas that are nested.")
    if risk is not None and len(risk) and (not np.isfinite(risk).all() or risk.min() < 0):
        raise InputError("Risks must be numbers of at least zero.")


def with_swapped_areas(area: Ints, swaps: Swaps) -> Ints:
    """Areas after the exchange.

    Examples
    --------
    >>> with_swapped_areas(np.array([1, 2, 3]), Swaps(np.array([0]), np.array([2]), np.zeros(0, int), 2 / 3)).tolist()
    [3, 2, 1]
    """
    result = area.copy()
    result[swaps.first], result[swaps.second] = area[swaps.second], area[swaps.first]
    return result


def household_profiles(household: Ints, *columns: Ints, largest: int = 8) -> Ints:
    """Profiles of households from their members: size (the largest band open) and how often each value occurs.

    Parameters
    ----------
    household
        Number of each person's household, from 0.
    *columns
        Codes of the persons (broad age by sex, say), from 0; two households match when every code occurs as often.
    largest
        Sizes from here on are one band.

    Returns
    -------
    numpy.ndarray
        A number for every household; equal numbers match.
    """
    sizes = np.bincount(household)
    parts = [np.minimum(sizes, largest)[:, None]]
    for column in columns:
        counts = np.zeros((len(sizes), int(column.max(initial=0)) + 1), np.int64)
        np.add.at(counts, (household, column), 1)
        parts.append(counts)
    _, profile = np.unique(np.concatenate(parts, axis=1), axis=0, return_inverse=True)
    result: Ints = profile.ravel().astype(np.int64)
    return result
