"""Which keys together set records apart: unsafe combinations by set of keys, and by key and number of keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb

import numpy as np

from discreet.errors import ParameterError
from discreet.model.arrays import Bools, Ints
from discreet.progress import steps
from discreet.rules.key_counts import KeyCodes, Meaning, records_like

MOST_SETS = 20_000


@dataclass(frozen=True)
class KeySetCount:
    """One set of keys: how many of its combinations occur, and how many of them fewer than ``k`` times.

    ``records`` have such a combination, ``uniques`` one that nobody else has; the rarest occurs ``fewest`` times.
    """

    keys: tuple[str, ...]
    combinations: int
    unsafe: int
    records: int
    uniques: int
    fewest: int


@dataclass(frozen=True, eq=False)
class KeyTables:
    """All sets of up to so many keys.

    ``at_risk`` marks records with an unsafe combination of at most so many keys, by the number of keys from 1 on.
    """

    k: int
    sets: tuple[KeySetCount, ...]
    at_risk: tuple[Bools, ...]

    @property
    def size(self) -> int:
        """The most keys of a set."""
        return len(self.at_risk)

    def worst(self) -> list[KeySetCount]:
        """The sets with most records at risk first; of equal ones, the smaller."""
        return sorted(self.sets, key=lambda one: (-one.records, len(one.keys), one.keys))

    def by_key(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Per key the unsafe combinations of the sets that hold it, by the number of keys from 1 on."""
        found = {name: [0] * self.size for name in names}
        for one in self.sets:
            for name in one.keys:
                found[name][len(one.keys) - 1] += one.unsafe
        return {name: tuple(counts) for name, counts in found.items()}


def count_key_tables(keys: KeyCodes, k: int, size: int, missing: Meaning = "category") -> KeyTables:
    """Count every combination of up to ``size`` keys.

    Examples
    --------
    >>> age, sex = np.array([1, 1, 2, 2]), np.array([1, 1, 1, 2])
    >>> found = count_key_tables(KeyCodes(("age", "sex"), (age, sex), (3, 3)), 2, 2)
    >>> [(one.keys, one.unsafe, one.records) for one in found.worst()]
    [(('age', 'sex'), 2, 2), (('sex',), 1, 1), (('age',), 0, 0)]
    """
    most = min(size, len(keys.names))
    many = sum(comb(len(keys.names), number) for number in range(1, most + 1))
    if many > MOST_SETS:
        raise ParameterError(
            f"{len(keys.names)} keys have {many:,} sets of up to {most}; at most {MOST_SETS:,} are counted.",
            hint="Give fewer keys or a smaller size.",
        )
    chosen = [names for number in range(1, most + 1) for names in combinations(keys.names, number)]
    at_risk = [np.zeros(len(keys), np.bool_) for _ in range(most)]
    found = []
    for names in steps("combinations of keys", chosen):
        one, unsafe = _counted(keys.of(names), k, missing)
        found.append(one)
        if one.records:
            at_risk[len(names) - 1] |= unsafe
    for smaller, larger in pairwise(at_risk):
        larger |= smaller
    return KeyTables(k, tuple(found), tuple(at_risk))


def _counted(keys: KeyCodes, k: int, missing: Meaning) -> tuple[KeySetCount, Bools]:
    """One set of keys, and the records with an unsafe combination."""
    gaps = any(bool((codes == 0).any()) for codes in keys.columns)
    group, many = keys.groups()
    if missing == "category" or not gaps:
        counts = np.bincount(group, minlength=many)
        rare = (counts > 0) & (counts < k)
        numbers = int((counts > 0).sum()), int(rare.sum()), int(counts[rare].sum()), int((counts == 1).sum())
        unsafe = rare[group] if numbers[2] else np.zeros(len(keys), np.bool_)
        return KeySetCount(keys.names, *numbers, int(counts[counts > 0].min(initial=len(keys)))), unsafe
    like = records_like(keys, missing)
    judged = np.isfinite(like)
    unsafe = judged & (like < k)
    fewest = int(like[judged].min(initial=len(keys)))
    numbers = _occurring(group[judged]), _occurring(group[unsafe]), int(unsafe.sum()), int((like == 1).sum())
    return KeySetCount(keys.names, *numbers, fewest), unsafe


def _occurring(group: Ints) -> int:
    return len(np.unique(group))
