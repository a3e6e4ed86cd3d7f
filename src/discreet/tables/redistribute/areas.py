"""What published true totals of areas tell of a map whose places were altered.

Areas may overlap. The attacker is taken to know the true total of every part that they cut the map into, the part
outside of all areas included: that is what nested areas tell, and more than crossing ones do. Every remainder counts: a
total less what any of the places beside it must have held, whether the rest is shown or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints


def parts_of_map(places: int, areas: Sequence[Ints]) -> Ints:
    """Number of the part that every place lies in: places of the same areas."""
    member = np.zeros((places, len(areas)), np.bool_)
    for k, area in enumerate(areas):
        member[area, k] = True
    return np.unique(member, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


NEAR = 10.0
"""A sensitive value is told when a remainder comes closer than so many per cent of its largest contribution, unless the
p% rule of the map says how close."""


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


def told_values(
    part: Ints,
    before: Ints,
    after: Ints,
    given: Mapping[str, Ints],
    sensitive: Callable[[Floats], bool],
    near: float = NEAR,
) -> Bools:
    """Places of a map of magnitudes whose value the totals of parts tell although it is sensitive.

    Parameters
    ----------
    part, before, after
        As for :func:`told_small`, with values.
    given
        True contributions: ``place``, ``contributor`` and ``value``.
    sensitive
        Whether the values of contributors, one each, break a rule.
    near
        How close to a sensitive value a remainder may not come, in per cent of its largest contribution.

    Notes
    -----
    Told are totals that break a rule themselves; the altered places of a part where they do so together, because the
    total less the others is what they hold; and places, or all that are left out of a part, of which the total less
    what the map shows of the others is too close to the truth.
    """
    there = before > 0
    changed = there & (before != after)
    told: Bools = there & np.isin(part, _sensitive(part[given["place"]], given, sensitive))
    inside = _only(given, changed)
    told |= changed & np.isin(part, _sensitive(part[inside["place"]], inside, sensitive))
    off = before - after
    error = np.abs(_sums(part, off)[part] - off)
    largest = _largest(given, given["place"], len(before))
    own = np.zeros(len(before), np.bool_)
    own[_sensitive(given["place"], given, sensitive)] = True
    told |= own & (100 * error < near * largest)
    gone = there & (after == 0)
    inside = _only(given, gone)
    unseen = _sensitive(part[inside["place"]], inside, sensitive)
    shown_off = np.abs(_sums(part, np.where(gone, 0, off)))
    close = 100 * shown_off < near * _largest(inside, part[inside["place"]], len(shown_off))
    told |= gone & np.isin(part, unseen) & close[part]
    return told


def _only(given: Mapping[str, Ints], places: Bools) -> dict[str, Ints]:
    """Contributions to some places."""
    rows = places[given["place"]]
    return {name: column[rows] for name, column in given.items()}


def _largest(given: Mapping[str, Ints], group: Ints, groups: int) -> Ints:
    """The largest contribution of one contributor to each group."""
    pairs, number = np.unique(np.stack([group, given["contributor"]]), axis=1, return_inverse=True)
    held = np.zeros(pairs.shape[1], np.int64)
    np.add.at(held, number.ravel(), given["value"])
    result = np.zeros(groups, np.int64)
    np.maximum.at(result, pairs[0], held)
    return result


def _sensitive(group: Ints, given: Mapping[str, Ints], sensitive: Callable[[Floats], bool]) -> Ints:
    """Groups of contributions whose contributors break a rule."""
    order = np.lexsort((given["contributor"], group))
    group, who, value = group[order], given["contributor"][order], given["value"][order]
    new = np.ones(len(group), np.bool_)
    new[1:] = (np.diff(group) != 0) | (np.diff(who) != 0)
    starts = np.flatnonzero(new)
    held = np.add.reduceat(value, starts).astype(np.float64) if len(starts) else np.zeros(0)
    owner = group[starts]
    ends = np.append(np.flatnonzero(np.diff(owner)) + 1, len(owner))
    found, first = [], 0
    for end in ends.tolist():
        if end > first and held[first:end].sum() > 0 and sensitive(held[first:end]):
            found.append(int(owner[first]))
        first = end
    return np.array(found, np.int64)
