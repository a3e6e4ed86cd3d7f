"""Rules that look at a population: how many units of it a record may be, and who is known to be in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from discreet.errors import NeedsError, ParameterError, counted, listed, unknown_name
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.microdata import Microdata
from discreet.model.records import KEY, RecordSet, code_text, stands_for_unknown
from discreet.parameters import Number, Share
from discreet.rules.key_counts import compacted, numbered
from discreet.rules.records import RecordFinding, RecordRule

MOST_KEPT = 100_000
"""So many combinations of a population are kept in plain data, so that the checker can count again."""
BLANK, STRANGE = 0, 1
"""Numbers of an empty field and of a code that the population does not have; its codes begin at 2."""
LITTLE = 1e-9


@dataclass(frozen=True, eq=False)
class PopulationCounts:
    """Combinations of keys that occur in a population, with their numbers of units.

    ``columns`` are numbers of ``codes``, -1 for an empty field. ``total`` and ``distinct`` are all that is known of
    a population that is too large to be kept in plain data.
    """

    keys: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    columns: tuple[Ints, ...]
    units: Ints
    total: int
    distinct: int

    @property
    def countable(self) -> bool:
        """Whether the combinations are there."""
        return len(self.units) == self.distinct

    def plain(self) -> dict[str, Any]:
        """As plain data: without the combinations where there are too many."""
        found: dict[str, Any] = {"keys": list(self.keys), "total": self.total, "distinct": self.distinct}
        if self.countable and self.distinct <= MOST_KEPT:
            found["codes"] = [list(codes) for codes in self.codes]
            found["combinations"] = [column.tolist() for column in self.columns]
            found["units"] = self.units.tolist()
        return found

    @classmethod
    def from_plain(cls, given: Mapping[str, Any]) -> PopulationCounts:
        """From plain data."""
        try:
            keys = tuple(str(name) for name in given["keys"])
            columns = tuple(np.array(column, np.int64) for column in given.get("combinations", [[] for _ in keys]))
            codes = tuple(tuple(str(code) for code in one) for one in given.get("codes", [[] for _ in keys]))
            units = np.array(given.get("units", []), np.int64)
            good = len(keys) == len(columns) == len(codes) and all(len(column) == len(units) for column in columns)
            if not good:
                raise ValueError
            return cls(keys, codes, columns, units, int(given["total"]), int(given["distinct"]))
        except (KeyError, TypeError, ValueError):
            raise ParameterError(
                "population= is a mapping that is no population.", hint="Give a data frame, a file or Microdata."
            ) from None

    @classmethod
    def gathered(
        cls, keys: Sequence[str], codes: Sequence[Sequence[str]], columns: Sequence[Ints], units: Ints, total: int
    ) -> PopulationCounts:
        """Every combination once, with all of its units."""
        group, _ = numbered([column + 1 for column in columns], [len(one) + 1 for one in codes], len(units))
        group, many = compacted(group)
        first = np.zeros(many, np.int64)
        first[group[::-1]] = np.arange(len(group))[::-1]
        return cls(
            tuple(keys),
            tuple(tuple(one) for one in codes),
            tuple(column[first] for column in columns),
            np.bincount(group, units, many).astype(np.int64),
            total,
            many,
        )

    def of(self, chosen: Sequence[str]) -> PopulationCounts:
        """The same by some of the keys."""
        at = [self.keys.index(name) for name in chosen]
        columns, codes = [self.columns[i] for i in at], [self.codes[i] for i in at]
        return self.gathered(chosen, codes, columns, self.units, self.total)


def population_counts(source: Any, keys: Sequence[str] = ()) -> PopulationCounts:
    """Combinations of keys in a population: its keys where none are named, all columns of a plain frame."""
    from discreet.engine.record_set import read_record_set

    data = source if isinstance(source, Microdata) else Microdata(source)
    records = read_record_set(data)
    chosen = tuple(keys) or records.with_role(KEY) or records.names
    columns, codes = [], []
    for name in chosen:
        if name not in records.names:
            raise ParameterError(unknown_name("column", name, records.names, "the population"))
        place, texts = _text_codes(records, name)
        columns.append(place)
        codes.append(texts)
    return PopulationCounts.gathered(chosen, codes, columns, np.ones(len(records), np.int64), len(records))


def _text_codes(records: RecordSet, name: str) -> tuple[Ints, tuple[str, ...]]:
    """Codes of a column as numbers from 0 of their texts; -1 where it is empty or stands for "unknown"."""
    import pyarrow as pa

    encoded = records[name].combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    place: Ints = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
    values, unknown = encoded.dictionary.to_pylist(), records.about(name).missing
    empty = np.array([*(stands_for_unknown(value, unknown) for value in values), False])
    return np.where(empty[place], -1, place), tuple(code_text(value) for value in values)


@dataclass(frozen=True, eq=False)
class Match:
    """Rows of a file that are empty in the same columns, each of which occurs once, beside the population.

    ``row`` are the rows' numbers; ``group`` says which group of the population each of them is, ``unit_group`` it of
    every combination of the population, ``units`` how many units each group has.
    """

    row: Ints
    group: Ints
    unit_group: Ints
    units: Ints


def matches(columns: Sequence[Ints], population: PopulationCounts) -> Iterator[Match]:
    """Distinct rows of a file beside a population; an empty field of a row agrees with every unit."""
    rows = len(columns[0])
    pattern = np.zeros(rows, np.int64)
    for place, codes in enumerate(columns):
        pattern |= (codes == BLANK).astype(np.int64) << place
    for blanks in np.unique(pattern).tolist():
        mine = np.flatnonzero(pattern == blanks)
        kept = [place for place in range(len(columns)) if not blanks >> place & 1]
        # An empty field of the population agrees with nothing but an empty field of the file.
        theirs = [np.where(population.columns[i] < 0, BLANK, population.columns[i] + 2) for i in kept]
        both = [np.concatenate((columns[i][mine], their)) for i, their in zip(kept, theirs, strict=True)]
        group, many = numbered(both, [len(population.codes[i]) + 2 for i in kept], len(mine) + len(population.units))
        units = np.bincount(group[len(mine) :], population.units, many).astype(np.int64)
        yield Match(mine, group[: len(mine)], group[len(mine) :], units)


@dataclass(frozen=True, kw_only=True)
class PopulationRule(RecordRule):
    """Base of rules that look at a population.

    An empty field of the file, or a code for "unknown", agrees with every unit of the population. Its codes must be
    those of the file: a combination that it does not have is nobody's, and unsafe.
    """

    population: Any
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.population
        if isinstance(given, Mapping):
            object.__setattr__(self, "population", PopulationCounts.from_plain(given))
        elif given is None:
            raise ParameterError(
                f"{type(self).__name__} needs a population.", hint="Give population= a data frame, a file or Microdata."
            )
        elif not isinstance(given, PopulationCounts | str | Path):
            object.__setattr__(self, "population", population_counts(given, self.keys))

    def with_files_read(self, find: Callable[[str], Path] = Path) -> Self:
        """The rule with what the file of its population says."""
        if not isinstance(self.population, str | Path):
            return self
        return replace(self, population=population_counts(find(str(self.population)), self.keys))

    def record(self) -> dict[str, Any]:
        """The rule as plain data."""
        read = self.with_files_read().population
        own = {name: getattr(self, name) for name in (f.name for f in fields(self)) if name != "population"}
        return {"kind": self.kind, **own, "population": read.plain()}

    @property
    def countable(self) -> bool:
        """Whether the population is there to be counted in."""
        return isinstance(self.population, str | Path) or self.population.countable

    def resolved(self, records: RecordSet) -> Self:
        """The rule with the keys that it is about, and its population by these keys."""
        read = self.with_files_read()
        counts: PopulationCounts = read.population
        keys = self.keys or counts.keys
        for name in keys:
            if name not in counts.keys:
                raise ParameterError(unknown_name("key", name, counts.keys, "the population"))
            if name not in records.names:
                raise ParameterError(unknown_name("column", name, records.names, f"the records (rule {self.kind})"))
        if not counts.countable:
            raise NeedsError(
                f"The population of {type(self).__name__} has {counts.distinct:,} combinations of keys, too many to be "
                "kept with the release.",
                hint="Give it again: population= a data frame, a file or Microdata.",
            )
        return replace(read, keys=tuple(keys), population=counts.of(keys))

    def _rows(self, records: RecordSet) -> tuple[list[Ints], Ints, Ints]:
        """Distinct rows of the file in the population's codes, the row of each record, and how often each occurs."""
        columns = [_shared_codes(records, name, self.population.codes[i]) for i, name in enumerate(self.keys)]
        group, many = numbered(columns, [len(codes) + 2 for codes in self.population.codes], len(records))
        group, many = compacted(group)
        first = np.zeros(many, np.int64)
        first[group[::-1]] = np.arange(len(group))[::-1]
        return [column[first] for column in columns], group, np.bincount(group, minlength=many)


def _shared_codes(records: RecordSet, name: str, codes: Sequence[str]) -> Ints:
    """A column of the file in the codes of the population."""
    place, texts = _text_codes(records, name)
    known = {code: number for number, code in enumerate(codes, 2)}
    numbers = np.array([*(known.get(text, STRANGE) for text in texts), BLANK], np.int64)
    return numbers[place]


@dataclass(frozen=True)
class KMap(PopulationRule):
    """Every record of the file may be at least ``k`` units of a population, by its keys.

    Parameters
    ----------
    k
        The least number of units.
    population
        Those among whom readers may look for somebody: a data frame, a file or Microdata, with the codes of the file.
    keys
        Columns that readers may know; the keys of the population where left out, or all of its columns.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> everybody = pa.table({"age": ["20", "20", "30"]})
    >>> data = ds.Microdata(pa.table({"age": ["20", "30"]}), keys="age").assess(ds.KMap(2, population=everybody))
    >>> print(data.assessment)
    1 record fits fewer than 2 units of the population ('age'); the rarest fits 1
    """

    kind: ClassVar[str] = "k_map"
    k: Annotated[int, Number(least=2)]

    def evaluate(self, records: RecordSet) -> RecordFinding:
        """Records that fit fewer than ``k`` units."""
        rule = self.resolved(records)
        columns, group, _ = rule._rows(records)
        units = np.zeros(len(columns[0]), np.int64)
        for match in matches(columns, rule.population):
            units[match.row] = match.units[match.group]
        unsafe = (units < self.k)[group]
        words = (
            f"{counted(int(unsafe.sum()), 'record', 'fit')} fewer than {self.k} units of the population "
            f"({listed(rule.keys)}); the rarest fits {int(units.min(initial=rule.population.total)):,}"
        )
        return RecordFinding(unsafe, words)


@dataclass(frozen=True)
class DeltaPresence(PopulationRule):
    """Nobody in a population is nearly certain to be in the file, or not to be in it.

    The chance that a unit is in the file is the number of records with its keys over the number of units with them. A
    record with empty fields adds its share to every unit that it fits.

    Parameters
    ----------
    lower, upper
        The least and the greatest chance. With ``lower`` above 0 every combination of the population must occur.
    population
        Those who may be in the file: a data frame, a file or Microdata, with the codes of the file.
    keys
        Columns that readers may know; the keys of the population where left out, or all of its columns.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> everybody = pa.table({"age": ["20", "20", "30"]})
    >>> data = ds.Microdata(pa.table({"age": ["20", "30"]}), keys="age")
    >>> print(data.assess(ds.DeltaPresence(0, 0.5, population=everybody)).assessment)
    1 record has keys ('age') of which not 0 to 0.5 of the population are in the file; chances lie between 0.5 and 1
    """

    kind: ClassVar[str] = "delta_presence"
    lower: Share
    upper: Share

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower > self.upper:
            raise ParameterError(f"lower={self.lower} lies above upper={self.upper}.", hint="Exchange them.")

    def evaluate(self, records: RecordSet) -> RecordFinding:
        """Records that fit units whose chance to be in the file is too small or too great."""
        rule = self.resolved(records)
        columns, group, count = rule._rows(records)
        most, least, nobody = presence(columns, count, rule.population)
        found = list(matches(columns, rule.population))
        wrong = nobody.copy()
        unit_wrong = (most > self.upper + LITTLE) | (least < self.lower - LITTLE)
        for match in found:
            touched = np.zeros(len(match.units), np.bool_)
            touched[match.unit_group[unit_wrong]] = True
            wrong[match.row] |= touched[match.group]
        absent = int((least == 0).sum()) if self.lower > 0 else 0
        if absent:
            wrong[:] = True
        unsafe = wrong[group]
        return RecordFinding(unsafe, self._words(rule, int(unsafe.sum()), most, least, absent))

    def _words(self, rule: Self, unsafe: int, most: Floats, least: Floats, absent: int) -> str:
        there = least > 0
        low, high = (float(least[there].min()), float(most[there].max())) if there.any() else (0.0, 0.0)
        gone = f"; {counted(absent, 'combination of the population', 'are')} not in the file at all" if absent else ""
        return (
            f"{counted(unsafe, 'record', 'have')} keys ({listed(rule.keys)}) of which not {self.lower:g} to "
            f"{self.upper:g} of the population are in the file; chances lie between {low:.4g} and {high:.4g}{gone}"
        )


def presence(columns: Sequence[Ints], count: Ints, population: PopulationCounts) -> tuple[Floats, Floats, Bools]:
    """For every combination of a population the most and the least chance of its units to be in the file, and which
    distinct rows of the file are nobody's."""
    most, least = np.zeros(len(population.units)), np.zeros(len(population.units))
    nobody = np.zeros(len(columns[0]), np.bool_)
    for match in matches(columns, population):
        units = match.units[match.group]
        nobody[match.row] = units == 0
        share = np.zeros(len(match.units))
        share[match.group] = count[match.row] / np.maximum(units, 1)
        most += share[match.unit_group]
        least = np.maximum(least, share[match.unit_group])
    return most, least, nobody
