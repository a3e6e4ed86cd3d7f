"""What published true totals of areas tell of a map whose places were altered.

Areas may overlap. The attacker is taken to know the true total of every part that they cut the map into, the part
outside of all areas included: that is what nested areas tell, and more than crossing ones do. Every remainder counts: a
total less what any of the places beside it must have held, whether the rest is shown or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.rules.base import combine
from discreet.rules.contributors import contributions_by_group
from discreet.tables.redistribute.limits import MapRules


def parts_of_map(places: int, areas: Sequence[Ints]) -> Ints:
    """Number of the part that every place lies in: places of the same areas."""
    member = np.zeros((places, len(areas)), np.bool_)
    for k, area in enumerate(areas):
        member[area, k] = True
    return np.unique(member, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def told_small(part: Ints, before: Ints, after: Ints, received: Ints, threshold: int, *, kept: bool = False) -> Bools:
    """Places of a map of counts that the totals of parts tell to hold less than the threshold, or to be left out.

    Parameters
    ----------
    part
        Part of each place, see :func:`parts_of_map`.
    before, after
        True and published counts.
    received
        Units that each place took in from outliers.
    threshold
        Places are filled up to it.
    kept
        Whether the units of outliers went to other places; otherwise they are missing in the published total.

    Notes
    -----
    A place that shows more than the threshold was not filled up, and held at least what it shows; one that shows the
    threshold held at least one unit; all of them together held what they show. What the others must have held is taken
    from the total of the part. Of the remainder that lies where no place is shown it must be possible that it is
    nothing, or that it is enough.

    Examples
    --------
    >>> told_small(np.array([0, 0, 1]), np.array([8, 1, 9]), np.array([8, 3, 7]), np.zeros(3, int), 3).tolist()
    [False, True, False]
    >>> told_small(np.array([0, 0]), np.array([7, 2]), np.array([7, 0]), np.zeros(2, int), 3).tolist()
    [False, True]
    """
    listed = after > 0
    total = _sums(part, before)
    least, reach = most_beyond(part, total, after, received, threshold)
    small = listed & (least + reach[part] < threshold)
    there, unseen = _sums(part, listed) > 0, _sums(part, ~listed) > 0
    if kept:
        # Units of outliers may have come to any place; nobody is told to which.
        held = np.where(after > threshold, after, np.where(listed, 1, 0))
        short = _sums(part, held) - total
        others = int(np.where(unseen, short, np.maximum(short, 0)).sum()) - short
        at_least, at_most = np.maximum(others, 0), total - _sums(part, listed)
    else:
        left = total - _sums(part, least)
        elsewhere = int(left[unseen & there].sum()) - left
        spare = int(after.sum() - least.sum() - left[~unseen].sum())
        at_least, at_most = left - reach, left - np.maximum(spare - elsewhere, 0)
    told = ~there | (at_least > 0) | (at_most < threshold)
    result: Bools = small | (~listed & (before > 0) & told[part])
    return result


def most_beyond(part: Ints, total: Ints, after: Ints, received: Ints, threshold: int) -> tuple[Ints, Ints]:
    """What places must have held, and how much more the places of each part can have held together.

    Parts of which all places are shown held exactly their total; the others what these leave of the units that places
    on the threshold can have got.
    """
    listed = after > 0
    least = np.where(after > threshold, np.maximum(after - received, 1), np.where(listed, 1, 0))
    left, unseen = total - _sums(part, least), _sums(part, ~listed) > 0
    spare = int(after.sum() - received.sum() - least.sum()) - int(left[~unseen].sum())
    return least, np.where(unseen, np.minimum(left, spare), left)


def _sums(part: Ints, values: Ints | Bools) -> Ints:
    """Sums of whole numbers by part."""
    result = np.zeros(int(part.max(initial=-1)) + 1, np.int64)
    np.add.at(result, part, values)
    return result


def regions_of_map(places: int, areas: Sequence[Ints]) -> list[Bools]:
    """Regions whose totals follow from those of areas: areas, what lies outside, overlaps, differences, parts, all."""
    inside = []
    for area in areas:
        mask = np.zeros(places, np.bool_)
        mask[area] = True
        inside.append(mask)
    found = [np.ones(places, np.bool_), *inside, *(~mask for mask in inside)]
    for one, two in combinations(inside, 2):
        if np.any(one & two):
            found += [one & two, one & ~two, two & ~one]
    part = parts_of_map(places, areas)
    found += [part == k for k in range(int(part.max(initial=-1)) + 1)]
    return list({mask.tobytes(): mask for mask in found if mask.any()}.values())


def told_values(
    regions: Sequence[Bools], before: Ints, after: Ints, given: Mapping[str, Ints], rules: MapRules
) -> Bools:
    """Places of a map of magnitudes whose value the totals of regions tell although it is sensitive.

    Parameters
    ----------
    regions
        The places of each region whose total is known, see :func:`regions_of_map`.
    before, after
        True and published values.
    given
        True contributions: ``place``, ``contributor`` and ``value``.
    rules
        The rules of the map, which also say how close to a sensitive value a remainder may not come.

    Notes
    -----
    Told are totals that break a rule themselves; the altered places of a region where they do so together, because the
    total less the others is what they hold; and places, or all that are left out of a region, of which the total less
    what the map shows of the others is too close to the truth.
    """
    there, off = before > 0, before - after
    own = rules.sensitive(*_columns(given), len(before))
    largest = contributions_by_group(*_columns(given), len(before), 1).top[:, 0]
    told: Bools = np.zeros(len(before), np.bool_)
    for region in regions:
        error = int(off[region].sum())
        if error:  # otherwise the remainder is what the map shows of the place
            told |= region & own & _closer(error - off, largest, rules)
        gone = region & there & (after == 0)
        for group, remainder in ((region, False), (region & there & (off != 0), False), (gone, True)):
            inside = _only(given, group)
            if not rules.sensitive(*inside, 1)[0]:
                continue
            rest = np.array([error - int(off[group].sum())])
            if not remainder or _closer(rest, contributions_by_group(*inside, 1, 1).top[:, 0], rules)[0]:
                told |= group & there
    return told


def _closer(distance: Ints, largest: Ints, rules: MapRules) -> Bools:
    """Where a value is missed by less than the share of its largest contribution that the rules allow, exactly."""
    near = rules.near
    missing = combine((near.denominator, np.abs(distance)), (-near.numerator, largest))
    return np.asarray(missing < 0, np.bool_)


def _columns(given: Mapping[str, Ints]) -> tuple[Ints, Ints, Ints]:
    return given["place"], given["contributor"], given["value"]


def _only(given: Mapping[str, Ints], places: Bools) -> tuple[Ints, Ints, Ints]:
    """Contributions to some places, taken together as one."""
    rows = places[given["place"]]
    return np.zeros(int(rows.sum()), np.int64), given["contributor"][rows], given["value"][rows]
