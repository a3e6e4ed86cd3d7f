"""When a place of a map of magnitudes is sensitive, and how far its largest contributions must fall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.errors import ParameterError
from discreet.model.arrays import Bools, Ints
from discreet.model.units import as_fraction
from discreet.rules.concentration import Concentration, Dominance, MaxShare, PPercent
from discreet.rules.contributors import ContributorRule, broken_groups
from discreet.rules.frequency import MinContributors

NEAR = 10
"""A sensitive value is told by what comes closer to it than so many per cent of its largest contribution, unless the
p% rule of the map says how close."""


@dataclass(frozen=True)
class MapRules:
    """The rules of a map of magnitudes, in exact numbers; what is left out is not tested.

    Parameters
    ----------
    threshold
        Least number of contributors.
    max_share
        A largest contributor above this share is too much.
    dominance
        (n, k): the n largest together reach the share k.
    p
        p% rule: the remainder without the two largest is below p per cent of the largest.
    """

    threshold: int = 3
    max_share: float | None = None
    dominance: tuple[int, float] | None = None
    p: float | None = None

    def __post_init__(self) -> None:
        if self.threshold < 2:
            raise ParameterError(f"threshold={self.threshold} must be at least 2.")
        if self.max_share is not None and not 0 < self.max_share < 1:
            raise ParameterError(f"max_share={self.max_share} must lie between 0 and 1.")
        if self.dominance is not None and (self.dominance[0] < 1 or not 0 < self.dominance[1] < 1):
            raise ParameterError(f"dominance={self.dominance} must be (n >= 1, 0 < k < 1).")
        if self.p is not None and not 0 < self.p <= 100:
            raise ParameterError(f"p={self.p} must lie in (0, 100].")
        self.of_shares  # noqa: B018  # the rules' own checks

    @cached_property
    def of_shares(self) -> tuple[Concentration, ...]:
        """The rules against large contributors, in the order in which places are repaired."""
        rules: list[Concentration] = []
        if self.max_share is not None:
            rules.append(MaxShare(self.max_share))
        if self.dominance is not None:
            rules.append(Dominance(self.dominance[0], _percentage(self.dominance[1]), inclusive=True, below_one=True))
        if self.p is not None:
            rules.append(PPercent(self.p, below_one=True))
        return tuple(rules)

    @property
    def near(self) -> Fraction:
        """What is told of a sensitive value misses it by this share of its largest contribution at least."""
        return as_fraction(NEAR if self.p is None else self.p) / 100

    def sensitive(self, place: Ints, contributor: Ints, value: Ints, places: int) -> Bools:
        """Places that have too few contributors or break another rule.

        Examples
        --------
        >>> rules = MapRules(max_share=0.5)
        >>> rules.sensitive(np.array([0, 0, 0, 1, 1, 1]), np.arange(6), np.array([8, 1, 1, 5, 3, 2]), 2).tolist()
        [True, False]
        """
        few: list[ContributorRule] = [MinContributors(self.threshold)]
        return _any_of(broken_groups(place, contributor, value, places, [*few, *self.of_shares]), places)

    def dominated(self, place: Ints, contributor: Ints, value: Ints, places: int) -> Bools:
        """Places that break a rule against large contributors."""
        return _any_of(broken_groups(place, contributor, value, places, self.of_shares), places)

    def broken(self, values: Sequence[int]) -> Concentration | None:
        """The first rule against large contributors that a place with these contributions breaks, one each."""
        held = np.array(values, np.int64)
        broken = broken_groups(np.zeros(len(held), np.int64), np.arange(len(held)), held, 1, self.of_shares)
        return next((rule for rule, found in zip(self.of_shares, broken, strict=True) if found[0]), None)

    def hopeless(self, contributors: int) -> str:
        """Why a place of so many contributors cannot be repaired by value, if it cannot."""
        for rule in self.of_shares:
            if isinstance(rule, MaxShare) and as_fraction(rule.share) * contributors < 1:
                return f"{contributors} equal contributors already exceed the share of {rule.share:g}"
            if isinstance(rule, Dominance) and as_fraction(rule.k) * contributors <= 100 * rule.n:
                return f"the {rule.n} largest of {contributors} equal contributors reach {rule.k / 100:g}"
            if isinstance(rule, PPercent) and contributors < 3:
                return "the p% rule needs three contributors"
        return ""


def _any_of(broken: Sequence[Bools], places: int) -> Bools:
    result: Bools = np.zeros(places, np.bool_)
    for some in broken:
        result |= some
    return result


def _percentage(share: float) -> float:
    """A share in per cent, exactly, or an error: a rule that is not quite the one that was asked for is another one."""
    percent = float(as_fraction(share) * 100)
    if as_fraction(percent) != as_fraction(share) * 100:
        raise ParameterError(f"dominance: the share {share!r} has too many digits.", hint="Round it, 0.667 for 2/3.")
    return percent


def reduced(values: Sequence[int], rule: Concentration) -> list[int]:
    """Whole contributions with the dominating ones reduced to the limit of a rule that they break; the others stay.

    Nobody is left without anything.

    Examples
    --------
    >>> reduced([48, 7, 4, 9, 6], MaxShare(0.5)), reduced([178, 99, 2, 1, 4, 3, 2], PPercent(10))
    ([26, 7, 4, 9, 6], [120, 99, 2, 1, 4, 3, 2])
    """
    order = sorted(range(len(values)), key=lambda i: (-values[i], i))
    result, total = list(values), sum(values)
    first = order[0]
    if isinstance(rule, MaxShare):
        share = as_fraction(rule.share)
        result[first] = math.floor(share / (1 - share) * (total - values[first]))
    elif isinstance(rule, Dominance):
        share, largest = as_fraction(rule.k) / 100, order[: rule.n]
        together = sum(values[i] for i in largest)
        wanted = math.ceil(share / (1 - share) * (total - together)) - 1  # the limit itself is too much
        for i in largest:
            result[i] = values[i] * wanted // together
    elif isinstance(rule, PPercent):
        result[first] = math.floor(100 / as_fraction(rule.p) * (total - sum(values[i] for i in order[:2])))
    return [max(value, 1) for value in result]


def spread(values: Sequence[int], amount: int) -> list[int]:
    """Contributions with an amount added, or taken away where it is negative, in proportion to them.

    What whole numbers leave over goes to the smallest, or comes from the largest: that makes nobody dominate.

    Examples
    --------
    >>> spread([10, 8, 6], 13), spread([10, 8, 6], -2)
    ([15, 12, 10], [9, 7, 6])
    """
    total, step = sum(values), 1 if amount > 0 else -1
    shares = [value * abs(amount) // total for value in values]
    result = [value + step * share for value, share in zip(values, shares, strict=True)]
    order = sorted(range(len(values)), key=lambda i: (step * values[i], i))
    for i in order[: abs(amount) - sum(shares)]:
        result[i] += step
    return result
