"""The method ``LocalSuppress``: empty single fields until nobody stands out by a combination of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from discreet.errors import ParameterError, ProtectionError, counted, unknown_name
from discreet.keys import Key
from discreet.methods.base import RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.records import blanked_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.parameters import AtLeastOne, Number
from discreet.progress import steps
from discreet.records.blanking import MOST_KEYS, cells_of, column_sets, columns_to_blank, least_costs
from discreet.rules.anonymity import KAnonymity
from discreet.rules.key_counts import key_codes


@dataclass(frozen=True)
class LocalSuppress(RecordMethod):
    """Empty single fields of the keys until every combination of values that is left occurs at least ``k`` times.

    An empty field is a value of its own, so that everybody can count in the public file what is claimed.

    Parameters
    ----------
    k
        The least number of records.
    keys
        Columns by which somebody may be recognised; those with the role of keys where left out.
    size
        Readers know at most so many keys of a person: every combination of so many columns is protected. All keys at
        once where left out.
    importance
        What it costs to empty a field, per column; 1 where a column is not named.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": ["20", "20", "30", "30", "40", "50"], "sex": ["f", "f", "m", "m", "m", "m"]})
    >>> data = ds.Microdata(people, keys=["age", "sex"])
    >>> release = ds.protect(data, ds.LocalSuppress(2), rules=ds.KAnonymity(2), keep_order=True)
    >>> release.public.records.shown()["age"], release.verify().holds
    (['20', '20', '30', '30', None, None], True)
    """

    kind: ClassVar[str] = "local_suppress"
    k: Annotated[int, Number(least=2)]
    keys: tuple[str, ...] = ()
    size: AtLeastOne | None = None
    importance: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, weight in self.importance.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < np.inf:
                raise ParameterError(f"importance[{name!r}]={weight!r} is not allowed.", hint="Give a number above 0.")

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Empty fields."""
        rule = KAnonymity(self.k, self.keys, self.size).resolved(records)
        keys, size = rule.keys, min(rule.size or len(rule.keys), len(rule.keys))
        weight = self._weights(keys)
        if size > MOST_KEYS:
            raise ParameterError(
                f"{len(keys)} keys have {2 ** len(keys):,} sets of columns to empty.",
                hint=f"Give at most {MOST_KEYS} keys, or size= for combinations of fewer.",
            )
        if len(records) < self.k:
            raise ProtectionError(
                f"Every combination of keys is to occur {self.k} times, in {counted(len(records), 'record')}.",
                hint="Give more records or a smaller k.",
            )
        codes = np.stack(key_codes(records, keys).columns, axis=1)
        sets = [tuple(keys.index(name) for name in table.keys) for table in rule.tables()]
        blank, least = blanked_codes(codes, sets, self.k, weight)
        outcome = self._outcome(records, keys, blank, least, weight)
        # Keys of very many codes are told apart by random numbers, which might meet: count what is left.
        if rule.evaluate(records.with_columns(outcome.changed)).unsafe.any():
            raise ProtectionError(
                "A combination of keys that is left still occurs too rarely.",
                hint="Nothing is published. Recode keys with very many codes first, and please report it.",
            )
        return outcome

    def _weights(self, keys: Sequence[str]) -> Floats:
        for name in self.importance:
            if name not in keys:
                raise ParameterError(unknown_name("key", name, keys, "importance="))
        return np.array([float(self.importance.get(name, 1.0)) for name in keys])

    def _outcome(
        self, records: RecordSet, keys: Sequence[str], blank: Bools, least: float, weight: Floats
    ) -> RecordOutcome:
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = blank.sum(axis=0).tolist()
        changed = {}
        for place, name in enumerate(keys):
            if numbers[place]:
                column = records[name]
                mask = pa.chunked_array([pa.array(blank[:, place])])
                changed[name] = pc.if_else(mask, pa.scalar(None, column.type), column)
        facts = {
            "keys": list(keys),
            "blanks": numbers,
            "records": int(blank.any(axis=1).sum()),
            "rows": len(records),
            "cost": float(numbers @ weight),
            "least": least,
        }
        plain = self.record()
        notes = () if changed else ("Nothing had to be emptied.",)
        return RecordOutcome(changed, Evidence(plain, blanked_claim(plain, facts), facts=facts), notes)


def blanked_codes(codes: Ints, sets: Sequence[Sequence[int]], k: int, weight: Floats) -> tuple[Bools, float]:
    """Which codes to blank so that every combination of the columns of each set occurs ``k`` times, and a bound.

    Sets of columns are protected one after the other until a round over all of them changes nothing. All columns at
    once are tried, too: that protects every set, and is sometimes cheaper.
    """
    every = tuple(range(codes.shape[1]))
    if [tuple(one) for one in sets] == [every] or len(every) == 1:
        return _blanked(codes, every, k, weight)
    shown, least = codes.copy(), np.zeros(len(codes))
    for chosen in sets:
        cells, cell = cells_of(np.ascontiguousarray(codes[:, chosen]))
        least = np.maximum(least, least_costs(cells, k, column_sets(weight[list(chosen)].tolist()))[cell])
    changed = True
    while changed:
        changed = False
        for chosen in steps("combinations of keys", list(sets)):
            bits = columns_to_blank(np.ascontiguousarray(shown[:, chosen]), k, weight[list(chosen)].tolist())
            for place, column in enumerate(chosen):
                shown[(bits >> place) & 1 == 1, column] = 0
            changed |= bool(bits.any())
    blank, bound = (shown == 0) & (codes != 0), float(least.sum())
    if len(every) <= MOST_KEYS:
        whole, _ = _blanked(codes, every, k, weight)
        if (whole.sum(axis=0) @ weight) < (blank.sum(axis=0) @ weight):
            blank = whole
    return blank, bound


def _blanked(codes: Ints, every: Sequence[int], k: int, weight: Floats) -> tuple[Bools, float]:
    bits = columns_to_blank(codes, k, weight.tolist())
    cells, _ = cells_of(codes)
    least = least_costs(cells, k, column_sets(weight.tolist()))
    return (bits[:, None] >> np.array(every)) & 1 == 1, float((least * cells.records).sum())
