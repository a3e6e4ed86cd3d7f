"""Fields that are emptied together: those of related columns, and of all members of a household."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InputError, NeedsError, ParameterError, counted, unknown_name
from discreet.model.arrays import Bools, Ints
from discreet.model.records import HOUSEHOLD, IDENTIFIER, WEIGHT, RecordSet, stands_for_unknown
from discreet.records.blank_cells import BlankPrices


@dataclass(frozen=True, eq=False)
class FieldsTogether:
    """What goes with what.

    ``names`` are the keys and further columns that are emptied with them, ``full`` says where each has a value,
    ``pairs`` which column takes which other along, by their places; ``shared`` are columns that all members of a
    household lose at once, and ``home`` is the household of each record.
    """

    names: tuple[str, ...]
    full: Bools
    pairs: tuple[tuple[int, int], ...]
    shared: tuple[int, ...]
    home: Ints

    def spread(self, blank: Bools) -> Bools:
        """Empty fields with all that go with them."""
        found = blank.copy()
        while True:
            before = int(found.sum())
            for one, other in self.pairs:
                found[:, other] |= found[:, one] & self.full[:, other]
            for place in self.shared:
                hit = np.bincount(self.home, found[:, place], int(self.home.max(initial=0)) + 1) > 0
                found[:, place] |= hit[self.home] & self.full[:, place]
            if int(found.sum()) == before:
                return found

    def of_households(self, prices: BlankPrices, codes: Ints, columns: Sequence[int]) -> BlankPrices:
        """Prices of codes by how many fields go with one of them on average, where all members of a household lose it.

        ``columns`` are the places of the columns that have prices.
        """
        found = list(prices.codes)
        for place, column in enumerate(columns):
            if column in self.shared:
                members = np.bincount(self.home, self.full[:, column])[self.home]
                many = np.bincount(codes[:, place], minlength=len(found[place]))
                sums = np.bincount(codes[:, place], members, len(found[place]))
                found[place] = found[place] * sums / np.maximum(many, 1)
        return BlankPrices(tuple(found), prices.weight)


def fields_together(
    records: RecordSet,
    keys: Sequence[str],
    strata: Sequence[str],
    full: Bools,
    together: Mapping[str, Sequence[str]],
    of_household: Sequence[str],
) -> FieldsTogether:
    """What goes with what in some records; ``full`` says where the keys have values."""
    _refuse_strange(records, keys, strata, together, of_household)
    more = [name for names in together.values() for name in names if name not in keys]
    names = tuple(dict.fromkeys((*keys, *more)))
    wider = [full, *(_filled(records, name)[:, None] for name in names[len(keys) :])]
    place = {name: at for at, name in enumerate(names)}
    pairs = tuple((place[one], place[other]) for one, others in together.items() for other in others)
    home = np.arange(len(records))
    if of_household:
        home = _homes(records)
        for name in of_household:
            _refuse_several(records, name, home, full[:, place[name]])
    shared = tuple(place[name] for name in of_household)
    return FieldsTogether(names, np.concatenate(wider, axis=1), pairs, shared, home)


def _refuse_strange(
    records: RecordSet,
    keys: Sequence[str],
    strata: Sequence[str],
    together: Mapping[str, Sequence[str]],
    of_household: Sequence[str],
) -> None:
    others = [name for names in together.values() for name in names]
    for name in (*of_household, *(name for name in together if name not in others)):
        if name not in keys:
            what = "of_household=" if name in of_household else "together="
            raise ParameterError(unknown_name("key", name, keys, what))
    for name in others:
        if name not in records.names:
            raise ParameterError(unknown_name("column", name, records.names, "together="))
        if name in strata:
            raise ParameterError(
                f"together= empties {name!r}, and strata are never emptied.", hint="Take it out of one of the two."
            )
        if records.about(name).role in (IDENTIFIER, HOUSEHOLD, WEIGHT):
            raise ParameterError(
                f"together= empties {name!r}, which has the role {records.about(name).role!r}.",
                hint="Name columns of values.",
            )
    if of_household and not records.with_role(HOUSEHOLD):
        raise NeedsError("of_household= needs to know who lives together.", hint="Give Microdata(household=...).")


def _refuse_several(records: RecordSet, name: str, home: Ints, full: Bools) -> None:
    """Refuse households with members of different codes: such a column says nothing of the household."""
    encoded: Any = records[name].combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if hasattr(encoded, "chunk") else encoded
    codes = np.asarray(encoded.indices.fill_null(0).to_numpy(zero_copy_only=False), np.int64)[full]
    pairs = np.unique(np.stack((home[full], codes)), axis=1)
    several = int((np.bincount(pairs[0]) > 1).sum())
    if several:
        raise InputError(
            f"{counted(several, 'household', 'have')} members with different codes of {name!r}, which of_household= "
            "calls one of the household.",
            hint=f"Take it out of of_household=, or check {records.with_role(HOUSEHOLD)[0]!r}.",
        )


def _filled(records: RecordSet, name: str) -> Bools:
    """Where a column has a value that is known."""
    encoded: Any = records[name].combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if hasattr(encoded, "chunk") else encoded
    unknown = records.about(name).missing
    known = np.array([not stands_for_unknown(value, unknown) for value in encoded.dictionary.to_pylist()] + [False])
    place = np.asarray(encoded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False), np.int64)
    return np.asarray(known[place], np.bool_)


def _homes(records: RecordSet) -> Ints:
    """The number of each record's household; records without one live alone."""
    column: Any = records[records.with_role(HOUSEHOLD)[0]].combine_chunks().dictionary_encode()
    column = column.chunk(0) if hasattr(column, "chunk") else column
    place = np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
    alone = place < 0
    place[alone] = len(column.dictionary) + np.arange(int(alone.sum()))
    return place
