"""The rule ``MinPopulation``: how many people of the population share what is known of a record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_name
from discreet.model.arrays import Ints
from discreet.model.claims.population import WEIGHT_DECIMALS
from discreet.model.records import KEY, WEIGHT, RecordSet
from discreet.parameters import AtLeastOne, Positive
from discreet.rules.records import MOST_SUBSETS, RecordFinding, RecordRule, code_places

UNIT = 10**WEIGHT_DECIMALS
LARGEST = 2**62


@dataclass(frozen=True)
class MinPopulation(RecordRule):
    """Every combination of values of the keys that occurs stands for at least ``n`` people of the population.

    How many people a record stands for is its sampling weight; those of all records with the combination are summed.
    This is the threshold rule of μ-ARGUS and of Statistics Netherlands for samples. Weights count to six decimals,
    rounded down.

    Parameters
    ----------
    n
        The least number of people. μ-ARGUS calls a combination unsafe *at* its threshold: there 99 is 100 here.
    keys
        Columns that readers may know; those with the role of keys where left out.
    size
        Readers know at most so many keys of a person: every combination of so many columns is counted. All keys at
        once where left out.
    combinations
        The sets of columns that are counted, in place of ``keys`` and ``size``:
        :func:`~discreet.level_combinations` makes them of identification levels.
    weight
        The column of weights; the one with that role where left out.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"region": ["N", "N", "S"], "w": [60.0, 50.0, 99.5]})
    >>> data = ds.Microdata(people, keys=["region"], weight="w").assess(ds.MinPopulation(100))
    >>> data.assessment.unsafe
    (1,)
    """

    kind: ClassVar[str] = "min_population"
    n: Positive
    keys: tuple[str, ...] = ()
    size: AtLeastOne | None = None
    combinations: tuple[tuple[str, ...], ...] = ()
    weight: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "combinations", _sets(self.combinations))
        if self.combinations and (self.keys or self.size is not None):
            raise ParameterError(
                "MinPopulation has combinations, and keys or a size besides.",
                hint="Give combinations= alone, or keys= and size=.",
            )

    def resolved(self, records: RecordSet) -> MinPopulation:
        """The rule with the keys and the weight of the records, where it names none."""
        keys = () if self.combinations else self.keys or records.with_role(KEY)
        weight = self.weight or next(iter(records.with_role(WEIGHT)), None)
        if not keys and not self.combinations:
            raise NeedsError(
                "MinPopulation needs to know by which columns somebody may be recognised.",
                hint="Give Microdata(keys=[...]), or MinPopulation(n, keys=[...]).",
            )
        if weight is None:
            raise NeedsError(
                "MinPopulation needs the weights of the records.",
                hint="Give Microdata(weight=...), or use KAnonymity(k), which counts records.",
            )
        named = (name for columns in self.combinations for name in columns)
        for name in (*keys, *named, weight):
            if name not in records.names:
                raise ParameterError(unknown_name("column", name, records.names, "the records (rule min_population)"))
        return MinPopulation(self.n, keys, self.size, self.combinations, weight)

    def subsets(self) -> Iterator[tuple[str, ...]]:
        """The sets of columns that are counted."""
        if self.combinations:
            return iter(self.combinations)
        return combinations(self.keys, min(self.size or len(self.keys), len(self.keys)))

    def evaluate(self, records: RecordSet) -> RecordFinding:
        """Records in a combination that stands for fewer than ``n`` people."""
        rule = self.resolved(records)
        assert rule.weight is not None
        size = min(rule.size or len(rule.keys), len(rule.keys))
        many = len(rule.combinations) or comb(len(rule.keys), size)
        if many > MOST_SUBSETS:
            raise ParameterError(
                f"{many:,} sets of columns are to be counted; at most {MOST_SUBSETS:,} are.",
                hint="Give fewer keys or a smaller size.",
            )
        units = weight_units(records, rule.weight)
        least = Fraction(str(rule.n)) * UNIT
        names = dict.fromkeys(name for columns in rule.subsets() for name in columns)
        codes = {name: code_places(records[name]) for name in names}
        unsafe = np.zeros(len(records), np.bool_)
        fewest = int(units.sum())
        for columns in rule.subsets():
            sums = _sums([codes[name] for name in columns], units)
            unsafe |= sums < -(-least.numerator // least.denominator)
            fewest = min(fewest, int(sums.min(initial=fewest)))
        shown = "one of the stated combinations of columns" if rule.combinations else _shown(rule.keys, rule.size)
        words = (
            f"{counted(int(unsafe.sum()), 'record', 'have')} a combination of {shown} that stands for fewer than "
            f"{rule.n:,.15g} people; the rarest stands for {fewest / UNIT:,.6g}"
        )
        return RecordFinding(unsafe, words)


def _shown(keys: tuple[str, ...], size: int | None) -> str:
    return listed(keys) if size is None or size >= len(keys) else f"any {size} of {listed(keys)}"


def _sets(given: Any) -> tuple[tuple[str, ...], ...]:
    """Sets of columns as they are kept; what is none is refused."""
    good = isinstance(given, tuple | list) and all(
        isinstance(columns, tuple | list)
        and columns
        and all(isinstance(name, str) and name for name in columns)
        and len(set(columns)) == len(columns)
        for columns in given
    )
    if not good:
        raise ParameterError(
            "combinations= takes sets of columns, each column once in a set.",
            hint="For example combinations=[('region', 'sex'), ('region', 'age')].",
        )
    return tuple(dict.fromkeys(tuple(columns) for columns in given))


def weight_units(records: RecordSet, name: str) -> Ints:
    """Weights as whole numbers of millionths, rounded down; gaps and weights of 0 or less are refused."""
    import pyarrow as pa

    column = records[name]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"The weights in {name!r} are no numbers.", hint="Give the column the role of the weight.")
    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    values = encoded.dictionary.to_pylist()
    bad = column.null_count + _times(encoded, [place for place, value in enumerate(values) if value <= 0])
    if bad:
        raise InputError(
            f"{counted(bad, 'record', 'have')} no weight above 0 in {name!r}.",
            hint="A record stands for at least one person: correct the weights, or leave these records out.",
        )
    exact = [int(Fraction(repr(value)) * UNIT) for value in values]
    if sum(exact) > LARGEST or max(exact, default=0) * len(records) > LARGEST:
        raise InputError(f"The weights in {name!r} are too large to be summed exactly.", hint="Check their unit.")
    found: Ints = np.array(exact, np.int64)[np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)]
    return found


def _times(encoded: Any, places: Iterable[int]) -> int:
    """How many values of an encoded column are one of some distinct ones."""
    places = list(places)
    if not places:
        return 0
    indices = encoded.indices.drop_null().to_numpy(zero_copy_only=False)
    return int(np.isin(indices, places).sum())


def _sums(codes: list[tuple[Ints, int]], units: Ints) -> Ints:
    """For every record the sum of the weights of those that share its combination of codes."""
    group = codes[0][0]
    for place, distinct in codes[1:]:
        _, dense = np.unique(group, return_inverse=True)
        group = dense.astype(np.int64) * distinct + place
    _, dense = np.unique(group, return_inverse=True)
    total = np.zeros(int(dense.max(initial=0)) + 1, np.int64)
    np.add.at(total, dense, units)
    found: Ints = total[dense]
    return found
