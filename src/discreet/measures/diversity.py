"""What keys tell of a sensitive column: how many values are left to guess from, and how far a group is from the file.

Groups are records with the same keys. Of each, ``l`` is the number of different sensitive values (distinct), or the
number of equally frequent values that would be as hard to guess (entropy): *e* to the power of the entropy. ``t`` is
the distance of the values in a group from those of the whole file: total variation where values have no order, and for
numbers the earth mover's distance over their order, both between 0 and 1. Sources: Machanavajjhala et al. 2007, Li et
al. 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class GroupValues:
    """How often each sensitive value occurs in each group: one entry for each pair that occurs, by group and value.

    ``start`` is where the entries of a group begin, ``total`` is the number of its records; groups without records
    are left out. ``overall`` counts the values of the whole file.
    """

    value: Ints
    count: Ints
    start: Ints
    total: Ints
    overall: Ints

    @property
    def group(self) -> Ints:
        """The group of each entry."""
        return np.repeat(np.arange(len(self.total)), np.diff(np.append(self.start, len(self.value))))


def group_values(group: Ints, value: Ints) -> GroupValues:
    """Count sensitive values in groups; both are numbers from 0 on, values in their order where they have one.

    Examples
    --------
    >>> found = group_values(np.array([0, 0, 1]), np.array([2, 2, 0]))
    >>> found.value.tolist(), found.count.tolist(), found.total.tolist(), found.overall.tolist()
    ([2, 0], [2, 1], [2, 1], [1, 0, 2])
    """
    if not len(group) or len(group) != len(value):
        raise InputError("Every record has one group and one value, and there is at least one record.")
    values = int(value.max()) + 1
    pairs, counts = np.unique(group * values + value, return_counts=True)
    owner = pairs // values
    start = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    overall = np.bincount(value, minlength=values)
    return GroupValues(pairs % values, counts, start, np.add.reduceat(counts, start), overall)


def distinct_values(found: GroupValues) -> Ints:
    """How many different values each group has.

    Examples
    --------
    >>> distinct_values(group_values(np.array([0, 0, 1]), np.array([2, 1, 0]))).tolist()
    [2, 1]
    """
    return np.diff(np.append(found.start, len(found.value)))


def entropy_values(found: GroupValues) -> Floats:
    """How many equally frequent values would be as hard to guess, of each group.

    Examples
    --------
    >>> entropy_values(group_values(np.array([0, 0, 1, 1, 1, 1]), np.array([0, 1, 0, 0, 0, 1]))).round(3).tolist()
    [2.0, 1.755]
    """
    share = found.count / found.total[found.group]
    return np.exp(np.add.reduceat(-share * np.log(share), found.start))


def distances_apart(found: GroupValues) -> Floats:
    """Total variation between the values of each group and those of the file.

    Examples
    --------
    >>> distances_apart(group_values(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]))).tolist()
    [0.25, 0.25]
    """
    share = found.count / found.total[found.group]
    whole = (found.overall / found.overall.sum())[found.value]
    apart = (1 + np.add.reduceat(np.abs(share - whole) - whole, found.start)) / 2
    return np.asarray(np.clip(apart, 0.0, 1.0), np.float64)


def distances_ordered(found: GroupValues) -> Floats:
    """Earth mover's distance between the values of each group and those of the file, neighbours being one step apart.

    It is divided by the number of steps from the first value to the last.

    Examples
    --------
    >>> distances_ordered(group_values(np.array([0, 1, 2]), np.array([0, 1, 2]))).round(6).tolist()
    [0.5, 0.333333, 0.5]
    """
    steps = len(found.overall) - 1
    if steps == 0:
        return np.zeros(len(found.total))
    whole = np.cumsum(found.overall) / found.overall.sum()
    sums = np.concatenate(([0.0], np.cumsum(whole)))
    own = np.cumsum(found.count)
    reached = (own - np.repeat(np.append(0, own)[found.start], distinct_values(found))) / found.total[found.group]
    following = np.append(found.value[1:], steps)
    following[np.append(found.start[1:], len(found.value)) - 1] = steps
    before = sums[found.value[found.start]]  # nothing of the group lies below its first value
    between = _area(sums, whole, found.value, following, reached)
    return np.asarray((before + np.add.reduceat(between, found.start)) / steps, np.float64)


def _area(sums: Floats, whole: Floats, low: Ints, high: Ints, level: Floats) -> Floats:
    """The sum of what shares up to each value differ from a level, from one value to before another."""
    cross = np.clip(np.searchsorted(whole, level), low, high)
    below = level * (cross - low) - (sums[cross] - sums[low])
    above = (sums[high] - sums[cross]) - level * (high - cross)
    return np.asarray(below + above, np.float64)


@dataclass(frozen=True)
class SensitiveRisk:
    """What keys tell of one sensitive column.

    Parameters
    ----------
    name
        The column.
    distinct
        The fewest different values of a group (distinct l).
    entropy
        The lowest entropy l.
    t
        The largest distance of a group from the file.
    ordered
        Whether ``t`` goes by the order of the values.
    known
        Records of groups that all have one value: it is known of whoever has their keys.
    spread
        Such records in groups of two and more, in which nobody is unique.
    """

    name: str
    distinct: int
    entropy: float
    t: float
    ordered: bool
    known: int
    spread: int


def sensitive_risk(name: str, group: Ints, value: Ints, *, ordered: bool = False) -> SensitiveRisk:
    """The weakest group for each measure.

    Examples
    --------
    >>> sensitive_risk("illness", np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1])).known
    3
    """
    found = group_values(group, value)
    different = distinct_values(found)
    apart = distances_ordered(found) if ordered else distances_apart(found)
    sole = different == 1
    return SensitiveRisk(
        name,
        int(different.min()),
        float(entropy_values(found).min()),
        float(apart.max()),
        ordered,
        int(found.total[sole].sum()),
        int(found.total[sole & (found.total > 1)].sum()),
    )
