"""What published true totals of areas tell of a map whose places were altered.

Areas may overlap. The attacker is taken to know the true total of every part that they cut the map into, the part
outside of all areas included: that is what nested areas tell, and more than crossing ones do.
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


def told_small(part: Ints, before: Ints, after: Ints, received: Ints, threshold: int) -> Bools:
    """Places of a map of counts that the totals of parts tell to hold less than the threshold.

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

    Notes
    -----
    A place that shows more than the threshold was not filled up, and held at least what it shows; one that shows the
    threshold held at least one unit. What the others must have held is taken from the total of the part.

    Examples
    --------
    >>> told_small(np.array([0, 0, 1]), np.array([8, 1, 9]), np.array([8, 3, 7]), np.zeros(3, int), 3).tolist()
    [False, True, False]
    """
    total = np.bincount(part, before).astype(np.int64)
    listed = after > 0
    least = np.where(after > threshold, np.maximum(after - received, 1), np.where(listed, 1, 0))
    most = total[part] - (np.bincount(part, least).astype(np.int64)[part] - least)
    unlisted = (np.bincount(part, listed) == 0)[part] & (before > 0)
    result: Bools = (listed & (after <= threshold) & (most < threshold)) | (unlisted & (total[part] < threshold))
    return result


def told_values(
    part: Ints, before: Ints, after: Ints, given: Mapping[str, Ints], sensitive: Callable[[Floats], bool]
) -> Bools:
    """Places of a map of magnitudes whose value the totals of parts tell although it is sensitive.

    The total of a part must not be sensitive itself, and where one place of a part alone was altered, the total less
    what the map shows of the others is its true value.

    Parameters
    ----------
    part, before, after
        As for :func:`told_small`, with values.
    given
        True contributions: ``place``, ``contributor`` and ``value``.
    sensitive
        Whether the values of contributors, one each, break a rule.
    """
    changed = before != after
    alone = np.bincount(part, changed)[part] == 1
    told: Bools = np.isin(part, _sensitive(part[given["place"]], given, sensitive))
    told &= before > 0
    own = _sensitive(given["place"], given, sensitive)
    told[own] |= (alone & changed)[own]
    return told


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
