"""Coalitions of two contributors: who rules alternatives out, and who is no attacker of a cell.

A coalition is a set of one insider (with anybody) or of two. Whoever is not listed in a cell has no more than the last
one who is; what an insider can rule out together with such a one counts as ruled out by that insider alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.relations.insiders import EVERYBODY

Coalition = frozenset[int]


@dataclass
class Rulers:
    """Who rules an alternative out: coalitions with one of some insiders, and further pairs."""

    alone: set[int]
    pairs: set[Coalition] = field(default_factory=set)

    def include(self, pair: Coalition) -> bool:
        """Whether a pair is among them."""
        return pair in self.pairs or not self.alone.isdisjoint(pair)


@dataclass(frozen=True)
class Spared:
    """Coalitions from whom a cell need not be hidden: any with some people, two who fill it, two who leave no room.

    Where the two who fill it are not named, two who are not named either are taken for them.
    """

    people: set[int]
    filling: Coalition = frozenset()
    unnamed: bool = False
    own: Mapping[int, float] = field(default_factory=dict)
    left: float | None = None

    def has(self, pair: Coalition) -> bool:
        """Whether a pair is among them."""
        if not self.people.isdisjoint(pair) or pair == self.filling:
            return True
        if self.unnamed and len(pair) == 2 and max(pair) < -1:
            return True
        return self.left is not None and sum(self.own.get(who, 0) for who in pair) > self.left


def narrowed(left: set[Coalition] | None, rulers: Rulers | None, spared: Spared) -> set[Coalition] | None:
    """Coalitions that ruled out all alternatives so far, and rule out a further one; those of one, with anybody."""
    if rulers is EVERYBODY:
        return left
    if left is EVERYBODY:
        single = {one for one in rulers.alone if not spared.has(Coalition((one,)))}
        pairs = set(rulers.pairs)
    else:
        before = {one for coalition in left if len(coalition) == 1 for one in coalition}
        single = before & rulers.alone
        pairs = {coalition for coalition in left if len(coalition) == 2 and rulers.include(coalition)}
        # Whoever saw through all others needs somebody who sees through this one, or does so with the two together.
        pairs.update(Coalition((one, other)) for one in before - single for other in rulers.alone)
        pairs.update(pair for pair in rulers.pairs if not before.isdisjoint(pair))
    found = {Coalition((one,)) for one in single}
    return found | {pair for pair in pairs if single.isdisjoint(pair) and not spared.has(pair)}
