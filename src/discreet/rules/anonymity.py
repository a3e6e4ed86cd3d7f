"""``KAnonymity``: nobody stands out by a combination of keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, combinations
from math import comb
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_name
from discreet.model.arrays import Floats
from discreet.model.records import HOUSEHOLD, KEY, WEIGHT, RecordSet
from discreet.parameters import AtLeastOne, Number
from discreet.progress import steps
from discreet.rules.key_counts import KeyCodes, codes_of, households_like, key_codes, records_like
from discreet.rules.records import RecordFinding, RecordRule

MOST_SUBSETS = 20_000


@dataclass(frozen=True)
class KeyTable:
    """Keys that readers may know together, and how often each combination of their values must occur.

    The rule's own ``k`` holds where none is stated here.
    """

    keys: tuple[str, ...]
    k: int | None = None


@dataclass(frozen=True)
class KAnonymity(RecordRule):
    """Every combination of values of the keys that occurs, occurs at least ``k`` times.

    Parameters
    ----------
    k
        The least number of records.
    keys
        Columns that readers may know; those with the role of keys where left out.
    size
        Readers know at most so many keys of a person: every combination of so many columns is counted. All keys at
        once where left out.
    combinations
        The combinations of columns that are counted, in place of ``keys`` and ``size``: lists of names, or
        ``{"keys": [...], "k": 5}`` for one with a number of its own.
    missing
        What an empty field means: ``"category"``, a value of its own; ``"any"``, it agrees with every value, as
        sdcMicro counts; ``"exempt"``, a record is not judged by combinations in which it is empty, as μ-ARGUS counts.
        Only the first says something of every public row.
    weight
        Column of weights: what counts is the sum of weights, an estimate of the number in the population.
    household
        Column of households: what counts is the number of households.

    Examples
    --------
    >>> KAnonymity(3, keys=["age", "sex"]).record()
    {'kind': 'k_anonymity', 'k': 3, 'keys': ('age', 'sex'), 'missing': 'category'}
    >>> KAnonymity(3, combinations=[["age"], {"keys": ["age", "sex"], "k": 2}]).record()["combinations"]
    ({'keys': ('age',), 'k': 3}, {'keys': ('age', 'sex'), 'k': 2})
    """

    kind: ClassVar[str] = "k_anonymity"
    k: Annotated[int, Number(least=2)]
    keys: tuple[str, ...] = ()
    size: AtLeastOne | None = None
    combinations: tuple[Any, ...] = ()
    missing: Literal["category", "any", "exempt"] = "category"
    weight: str | None = None
    household: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "combinations", _key_tables(self.combinations, self.k))
        if self.combinations and (self.keys or self.size is not None):
            raise ParameterError("combinations= stands in place of keys= and size=.", hint="Leave these out.")
        if self.household is not None and (self.weight is not None or self.missing != "category"):
            raise ParameterError(
                'household= counts households, without weights and with missing="category".',
                hint="Give two rules: one with household=, one without.",
            )

    def record(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {name: value for name, value in super().record().items() if name != "combinations" or value}

    def resolved(self, records: RecordSet) -> KAnonymity:
        """The rule with the keys of the records, where it names none."""
        named = tuple(dict.fromkeys(chain.from_iterable(table.keys for table in self.combinations)))
        keys = named or self.keys or records.with_role(KEY)
        if not keys:
            raise NeedsError(
                "KAnonymity needs to know by which columns somebody may be recognised.",
                hint="Give Microdata(keys=[...]), or KAnonymity(k, keys=[...]).",
            )
        for name in (*keys, self.weight, self.household):
            if name is not None and name not in records.names:
                raise ParameterError(unknown_name("column", name, records.names, "the records (rule k_anonymity)"))
        for role, name in ((WEIGHT, self.weight), (HOUSEHOLD, self.household)):
            if name is not None and records.about(name).role != role:
                raise ParameterError(
                    f"Column {name!r} does not have the role of a {role}: sums of anything else say nothing.",
                    hint=f"Give Microdata({role}={name!r}), or leave {role}= out of the rule.",
                )
        return self if named else replace(self, keys=keys)

    @property
    def named(self) -> tuple[str, ...]:
        """All keys that are counted."""
        return self.keys or tuple(dict.fromkeys(name for table in self.combinations for name in table.keys))

    def tables(self) -> Iterator[KeyTable]:
        """The sets of columns that are counted, of a rule that is resolved.

        Smaller sets than those asked for occur at least as often, except where records are exempt.
        """
        if self.combinations:
            return iter(self.combinations)
        return (KeyTable(chosen, self.k) for size in self._sizes() for chosen in combinations(self.keys, size))

    def _sizes(self) -> range:
        """How many keys at once are counted."""
        most = len(self.keys) if self.size is None else min(self.size, len(self.keys))
        return range(1 if self.missing == "exempt" and self.size is not None else most, most + 1)

    def _refuse_too_many(self) -> None:
        many = sum(comb(len(self.keys), size) for size in self._sizes()) if self.keys else len(self.combinations)
        if many > MOST_SUBSETS:
            what = f"{len(self.keys)} keys have {many:,} subsets of {self.size}"
            what = what if self.keys else f"combinations= has {many:,} combinations"
            raise ParameterError(
                f"{what}; at most {MOST_SUBSETS:,} are counted.",
                hint="Give fewer keys or a smaller size." if self.keys else "Give fewer.",
            )

    def counted_in_cells(self, cells: RecordSet, times: Floats) -> RecordFinding:
        """What :meth:`evaluate` says of records, from their combinations of keys and how often each occurs.
        Weights and households are those of single records: a rule that counts them is refused before.
        """
        assert self.weight is None
        assert self.household is None
        rule = self.resolved(cells)
        rule._refuse_too_many()
        codes = key_codes(cells, rule.named, rule.missing)
        unsafe, fewest = np.zeros(len(cells), np.bool_), float(times.sum())
        for table in steps("combinations of keys", list(rule.tables())):
            like = records_like(codes.of(table.keys), rule.missing, times)
            unsafe |= like < float(table.k or rule.k)
            fewest = min(fewest, float(like.min(initial=fewest)))
        return RecordFinding(unsafe, rule._words(int(times[unsafe].sum()), fewest))

    def evaluate(self, records: RecordSet) -> RecordFinding:
        """Records in a combination that occurs fewer than ``k`` times."""
        rule = self.resolved(records)
        rule._refuse_too_many()
        codes = key_codes(records, rule.named, rule.missing)
        weight = None if rule.weight is None else weights_of(records, rule.weight)
        unsafe = np.zeros(len(records), np.bool_)
        fewest = float(len(records)) if weight is None else float(weight.sum())
        for table in steps("combinations of keys", list(rule.tables())):
            like = rule._counted(records, codes.of(table.keys), weight)
            unsafe |= like < float(table.k or rule.k)
            fewest = min(fewest, float(like.min(initial=fewest)))
        return RecordFinding(unsafe, rule._words(int(unsafe.sum()), fewest))

    def _counted(self, records: RecordSet, keys: KeyCodes, weight: Floats | None) -> Floats:
        if self.household is None:
            return records_like(keys, self.missing, weight)
        return households_like(keys, *codes_of(records[self.household]))

    def _words(self, unsafe: int, fewest: float) -> str:
        what = listed(self.keys) if self.size is None else f"any {self.size} of {listed(self.keys)}"
        what = "keys" if self.combinations else what
        thresholds = sorted({table.k or self.k for table in self.combinations} or {self.k})
        unit, units, verb = "time", "times", "occurs"
        if self.household is not None:
            unit, units, verb = "household", "households", "has"
        elif self.weight is not None:
            unit, units, verb = "unit of weight", "units of weight", "has"
        rarest = f"{fewest:,.6g} {unit if fewest == 1 else units}"
        return (
            f"{counted(unsafe, 'record', 'have')} a combination of {what} that {verb} fewer than "
            f"{' or '.join(map(str, thresholds))} {units}; the rarest {verb} {rarest}"
        )


def weights_of(records: RecordSet, name: str) -> Floats:
    """Weights of records, which must all be above zero."""
    import pyarrow as pa

    column = records[name]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"Weight {name!r} holds {column.type}, not numbers.", hint="Name a column of numbers.")
    weight = np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(), np.float64)
    wrong = int((~(weight > 0) | np.isinf(weight)).sum())
    if wrong:
        raise InputError(
            f"{counted(wrong, 'record', 'have')} no weight above 0 in {name!r}.",
            hint="Every record stands for somebody: correct or leave out those without a weight.",
        )
    return weight


def _key_tables(given: Any, k: int) -> tuple[KeyTable, ...]:
    """Combinations of keys as they are kept, each with its number."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ParameterError("combinations= takes lists of names.", hint="For example combinations=[['age', 'sex']].")
    found = []
    for one in given:
        table = asdict(one) if isinstance(one, KeyTable) else one
        table = table if isinstance(table, Mapping) else {"keys": table}
        names, own = table.get("keys"), table.get("k")
        names = [names] if isinstance(names, str) else list(names) if isinstance(names, list | tuple) else []
        good = all(isinstance(name, str) and name for name in names) and 0 < len(set(names)) == len(names)
        good = good and set(table) <= {"keys", "k"} and (own is None or (type(own) is int and own >= 2))
        if not good:
            raise ParameterError(
                f"combinations= has {one!r}, which is no combination of keys.",
                hint='Give lists of different names, or {"keys": [...], "k": 3} with k of at least 2.',
            )
        found.append(KeyTable(tuple(names), k if own is None else own))
    return tuple(found)
