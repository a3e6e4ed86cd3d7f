"""Weights of groups of records: exact sums, shares and copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NAMED = 5
"""So many groups are named in a message."""
NEARLY = 1e-9
"""Numbers are multiples of others where quotients differ by less."""
LEAST_KNOWN = 10
"""So many multiples, or all of fewer records, are no chance."""

MANY_ALIKE = 5
"""So many equal adjustments in one group only are no chance: fewer may be, of weights that differ in all records."""

Codes = tuple[Any, ...]
"""What a group has in the columns that make it."""


class DesignGroups(NamedTuple):
    """Groups of records: what each has in its columns, and the number of every record's group."""

    codes: list[Codes]
    group: Ints

    @property
    def counts(self) -> Ints:
        """How many records each has."""
        return np.bincount(self.group, minlength=len(self.codes))


def groups_of(table: pa.Table, names: Sequence[str]) -> DesignGroups:
    """Records by what they have in some columns; a gap is a value of its own."""
    group, codes = np.zeros(table.num_rows, np.int64), list[Codes]([()])
    for name in names:
        encoded = table[name].combine_chunks().dictionary_encode()
        place = np.asarray(encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(), np.int64)
        values = [*encoded.dictionary.to_pylist(), None]
        both, group = np.unique(group * len(values) + place, return_inverse=True)
        codes = [(*codes[int(one) // len(values)], values[int(one) % len(values)]) for one in both]
    return DesignGroups(codes, group.ravel().astype(np.int64))


def exact_totals(groups: DesignGroups, weights: Floats) -> dict[Codes, Fraction]:
    """The sum of weights in every group, to the last bit, whatever the order of rows."""
    found = dict.fromkeys(groups.codes, Fraction(0))
    distinct, place = np.unique(weights, return_inverse=True)
    both, many = np.unique(groups.group * len(distinct) + place.ravel(), return_counts=True)
    for one, count in zip(both.tolist(), many.tolist(), strict=True):
        codes = groups.codes[one // len(distinct)]
        found[codes] += Fraction(float(distinct[one % len(distinct)])) * count
    return found


def varying(groups: DesignGroups, weights: Floats) -> list[Codes]:
    """Groups whose records do not all have the same weight."""
    least, most = np.full(len(groups.codes), np.inf), np.full(len(groups.codes), -np.inf)
    np.minimum.at(least, groups.group, weights)
    np.maximum.at(most, groups.group, weights)
    return [groups.codes[place] for place in np.flatnonzero(least < most)]


def shared_equally(totals: Mapping[Codes, Fraction], now: DesignGroups) -> Floats:
    """The population of every group by the number of its records."""
    each = [float(totals[codes] / int(many)) for codes, many in zip(now.codes, now.counts, strict=True)]
    return np.array(each)[now.group]


def shared_by_factors(totals: Mapping[Codes, Fraction], now: DesignGroups, factors: Floats) -> Floats:
    """The population of every group in proportion to factors of its records."""
    found = np.empty(len(factors))
    order = np.argsort(now.group, kind="stable")
    for codes, rows in zip(now.codes, np.split(order, np.cumsum(now.counts)[:-1]), strict=True):
        found[rows] = factors[rows] * (float(totals[codes]) / fsum(factors[rows]))
    return found


def adjustment_factors(before: DesignGroups, weights: Floats) -> Floats:
    """Every weight by the mean of its group: what non-response and calibration made of it."""
    totals = exact_totals(before, weights)
    mean = [float(totals[codes] / int(many)) for codes, many in zip(before.codes, before.counts, strict=True)]
    return np.asarray(weights / np.array(mean)[before.group])


def telling_factors(before: DesignGroups, factors: Floats) -> int:
    """How many records have an adjustment that some others have, all of them of one group: it tells which that was."""
    value = np.unique([f"{one:.9g}" for one in factors.tolist()], return_inverse=True)[1].ravel()
    pairs = np.unique(value * len(before.codes) + before.group)
    owners = np.bincount(pairs // len(before.codes))
    return int(((owners[value] == 1) & (np.bincount(value)[value] >= MANY_ALIKE)).sum()) if len(before.codes) > 1 else 0


def copied(before: DesignGroups, now: DesignGroups, weights: Floats) -> Floats:
    """The old weight of whoever had what is published of a record."""
    first = dict(zip(before.codes, _first_rows(before).tolist(), strict=True))
    return np.asarray(weights[[first[codes] for codes in now.codes]][now.group])


def _first_rows(groups: DesignGroups) -> Ints:
    first = np.empty(len(groups.codes), np.int64)
    first[groups.group[::-1]] = np.arange(len(groups.group))[::-1]
    return first


def refuse_unmatched(now: DesignGroups, known: Mapping[Codes, Any], names: Sequence[str], instead: str) -> None:
    """Refuse published values that nobody had, or whose population is not known."""
    unmatched = [codes for codes in now.codes if codes not in known]
    if unmatched:
        raise InputError(
            f"{counted(len(unmatched), 'group', 'are')} published that no original record is in, so that there is no "
            f"weight for {'it' if len(unmatched) == 1 else 'them'}: {said_of(unmatched, names)}.",
            hint=instead,
        )


def said_of(groups: Sequence[Codes], names: Sequence[str]) -> str:
    """Some groups in words."""
    said = [" and ".join(f"{name} {code!r}" for name, code in zip(names, codes, strict=True)) for codes in groups]
    said = sorted(said)
    return "; ".join(said[:MOST_NAMED]) + (f"; and {len(said) - MOST_NAMED} more" if len(said) > MOST_NAMED else "")


def known_population(given: Mapping[str, float], names: Sequence[str], now: DesignGroups) -> dict[Codes, Fraction]:
    """Populations that a user states, by the codes of groups."""
    if len(names) != 1:
        raise ParameterError(
            "population= is stated by the codes of one column, and by= names several.",
            hint="Make one column of them, or leave population out: it is then the sum of the old weights.",
        )
    by_text = {str(codes[0]): codes for codes in now.codes}
    return {by_text.get(code, (code,)): Fraction(size) for code, size in given.items()}


def is_multiple(one: Floats, other: Floats) -> bool:
    """Whether the numbers of a column are the same multiple of another's, or of one by them; gaps and zeros aside.

    Where few are left, or the other column is the same in all of them, that says nothing.
    """
    there = np.isfinite(one) & (one != 0) & (other != 0)
    if there.sum() < min(LEAST_KNOWN, len(one)) or np.ptp(other[there]) == 0:
        return False
    return _constant(one[there] / other[there]) or _constant(one[there] * other[there])


def _constant(values: Floats) -> bool:
    return bool(np.ptp(values) <= NEARLY * np.abs(values).max())
