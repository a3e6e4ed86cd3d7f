"""Records considered for release beside a dictionary: which persons are consistent with what is published of a record.

A *dictionary* is a list of identities that an intruder has, with some attributes of each. What is withheld and what is
missing look the same to the intruder, on either side: it could be any value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.engine.any_records import records_of
from discreet.errors import InputError, ParameterError, counted, unknown_name
from discreet.files.frames import no_records
from discreet.measures.decision.agreement import EXACTLY, AgreeingCodes, Match, agreeing_codes
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import IDENTIFIER, RecordSet, stands_for_unknown
from discreet.rules.key_counts import compacted, numbered


@dataclass(frozen=True, eq=False)
class ComparedAttribute:
    """An attribute of records and, where the dictionary has it, of its entries.

    ``records`` and ``entries`` are numbers of codes from 1, 0 where there is none; ``values`` are the records' values.
    """

    name: str
    records: Ints
    values: tuple[Any, ...]
    entries: Ints | None = None
    agreeing: AgreeingCodes | None = None


@dataclass(frozen=True, eq=False)
class DecisionProblem:
    """What may be released of some records, and whom an intruder with a dictionary may take them for.

    Make one with :func:`decision_problem` or :func:`release_problem`.

    Parameters
    ----------
    attributes
        What may be disclosed of a record, and what the dictionary says of it.
    person
        Whose entry each entry of the dictionary is, as numbers from 0.
    own
        Whose record each record is, as such a number; -1 for nobody in the dictionary, or nobody knows.
    selection
        How readily an intruder picks each person, where not all alike.
    notes
        What to know before using the numbers.
    """

    attributes: tuple[ComparedAttribute, ...]
    person: Ints
    own: Ints
    selection: Floats | None = None
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.own)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def persons(self) -> int:
        """How many persons the dictionary has."""
        return int(self.person.max()) + 1

    @cached_property
    def available(self) -> Bools:
        """Which fields of the records hold something that could be disclosed, by record and attribute."""
        return np.stack([attribute.records > 0 for attribute in self.attributes], axis=1)

    def mask(self, disclosed: Any = None) -> Bools:
        """A mask by record and attribute: everything, or what was given; nothing is disclosed that is not there.

        ``disclosed`` may be a mask, or names of attributes that are disclosed of every record.
        """
        if disclosed is None:
            return self.available
        if isinstance(disclosed, str) or (
            isinstance(disclosed, Sequence) and all(isinstance(n, str) for n in disclosed)
        ):
            chosen = (disclosed,) if isinstance(disclosed, str) else tuple(disclosed)
            for name in chosen:
                if name not in self.names:
                    raise ParameterError(unknown_name("attribute", name, self.names, "the records"))
            wanted: Bools = np.array([name in chosen for name in self.names], np.bool_)
            return np.asarray(self.available & wanted)
        given = np.asarray(disclosed)
        if given.dtype.kind != "b" or given.shape != self.available.shape:
            raise ParameterError(
                "disclosed= does not say of every field whether it is disclosed.",
                hint=f"Give true or false for {counted(len(self), 'record')} by "
                f"{counted(len(self.names), 'attribute')}, or names of attributes.",
            )
        return np.asarray(self.available & given)

    def consistent(self, disclosed: Any = None) -> Ints:
        """For every record how many persons of the dictionary are consistent with what is disclosed.

        Examples
        --------
        >>> import pyarrow as pa, discreet as ds
        >>> people = pa.table({"id": ["a", "b", "c"], "sex": ["f", "f", "m"], "town": ["Aby", "Bro", "Bro"]})
        >>> problem = ds.measures.decision_problem(people, people, "id")
        >>> problem.consistent().tolist(), problem.consistent("sex").tolist()
        ([1, 1, 1], [2, 2, 1])
        """
        return self._index.weights(self._shared(self.mask(disclosed)), None).astype(np.int64)

    def chances(self, disclosed: Any = None) -> tuple[Ints, Floats]:
        """How many persons are consistent with each record, and how likely the right one is picked: 0 if nobody is."""
        rows = self._shared(self.mask(disclosed))
        many = self._index.weights(rows, None)
        alike = np.where(many > 0, 1.0 / np.maximum(many, 1.0), 0.0)
        if self.selection is None:
            return many.astype(np.int64), alike
        total = self._index.weights(rows, self.selection)
        mine = self.selection[np.maximum(self.own, 0)]
        drawn = np.where(total > 0, mine / np.where(total > 0, total, 1.0), 0.0)
        return many.astype(np.int64), np.where(self._own_agrees(rows), drawn, alike)

    def holds_own(self) -> Bools:
        """For every record whether its person has an entry that is consistent with all of it."""
        return self._own_agrees(self._shared(self.available))

    def _shared(self, mask: Bools) -> Ints:
        """Codes of what is disclosed and what the dictionary has, too; 0 elsewhere."""
        both = [place for place, attribute in enumerate(self.attributes) if attribute.entries is not None]
        codes = [np.where(mask[:, place], self.attributes[place].records, 0) for place in both]
        return np.stack(codes, axis=1) if codes else np.zeros((len(self), 0), np.int64)

    @cached_property
    def _index(self) -> _EntryIndex:
        return _EntryIndex([one for one in self.attributes if one.entries is not None], self.person, self.persons)

    def _own_agrees(self, rows: Ints) -> Bools:
        order = np.argsort(self.person, kind="stable")
        first = np.searchsorted(self.person[order], np.arange(self.persons + 1))
        mine = np.flatnonzero(self.own >= 0)
        lengths = first[self.own[mine] + 1] - first[self.own[mine]]
        record = np.repeat(mine, lengths)
        offset = np.arange(len(record)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        entry = order[np.repeat(first[self.own[mine]], lengths) + offset]
        good = np.ones(len(record), np.bool_)
        shared = [attribute for attribute in self.attributes if attribute.entries is not None]
        for place, attribute in enumerate(shared):
            asked, there = rows[record, place], attribute.entries[entry]  # type: ignore[index]
            good &= (asked == 0) | (there == 0) | _pairs_agree(attribute.agreeing, asked, there)
        found = np.zeros(len(self), np.bool_)
        found[record[good]] = True
        return found


def _pairs_agree(agreeing: AgreeingCodes | None, asked: Ints, there: Ints) -> Bools:
    assert agreeing is not None
    size = int(max(agreeing.codes.max(initial=0), there.max(initial=0))) + 1
    owner = np.repeat(np.arange(len(agreeing.starts) - 1), np.diff(agreeing.starts))
    return np.isin(asked * size + there, owner * size + agreeing.codes)


class _EntryIndex:
    """Entries of a dictionary in lists by the codes of every attribute; entries that say the same stand there once."""

    def __init__(self, attributes: Sequence[ComparedAttribute], person: Ints, persons: int) -> None:
        self.attributes, self.persons = attributes, persons
        columns = [attribute.entries for attribute in attributes if attribute.entries is not None]
        sizes = [int(column.max(initial=0)) + 1 for column in columns]
        alone = persons == len(person)
        self.group, many = compacted(numbered(columns, sizes, len(person))[0])
        if not alone:
            self.group, many = compacted(self.group * persons + person)
        first = np.zeros(many, np.int64)
        first[self.group[::-1]] = np.arange(len(person))[::-1]
        self.rows = (
            np.stack([column[first] for column in columns], axis=1) if columns else np.zeros((many, 0), np.int64)
        )
        self.first, self.source = first, person
        self.person = np.zeros(0, np.int64) if alone else person[first]
        self._make_lists(sizes)

    def _make_lists(self, sizes: Sequence[int]) -> None:
        starts, codes, reach, lists, entries = [], [], [], [], []
        self.first_code, self.first_list = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
        codes_before, code_place, list_place = 0, 0, 0
        for place, (attribute, size) in enumerate(zip(self.attributes, sizes, strict=True)):
            agreeing = attribute.agreeing
            assert agreeing is not None
            order = np.argsort(self.rows[:, place], kind="stable")
            begins = np.searchsorted(self.rows[order, place], np.arange(size + 1))
            length = np.diff(begins)
            owner = np.repeat(np.arange(len(agreeing.starts) - 1), np.diff(agreeing.starts))
            here = np.bincount(owner, length[agreeing.codes], len(agreeing.starts)).astype(np.int64) + length[0]
            self.first_code[place], self.first_list[place] = code_place, list_place
            starts.append(agreeing.starts + codes_before)
            codes.append(agreeing.codes)
            reach.append(here)
            lists.append(begins + place * len(self.rows))
            entries.append(order)
            codes_before += len(agreeing.codes)
            code_place += len(agreeing.starts)
            list_place += len(begins)
        none = [np.zeros(0, np.int64)]
        self.starts, self.codes, self.reach, self.list_starts, self.listed = (
            np.concatenate([*none, *part]).astype(np.int64) for part in (starts, codes, reach, lists, entries)
        )

    def weights(self, rows: Ints, selection: Floats | None) -> Floats:
        """For every row the number of persons that agree with it, or what they are picked by."""
        from discreet.measures.decision.kernels import agreeing_weight

        weight: Floats
        if selection is None and not len(self.person):
            weight = np.bincount(self.group, minlength=len(self.rows)).astype(np.float64)
        elif selection is None:
            weight = np.ones(len(self.rows))
        elif len(self.person):
            weight = selection[self.person]
        else:
            weight = np.bincount(self.group, selection[self.source], len(self.rows)).astype(np.float64)
        everybody = float(self.persons if selection is None else selection.sum())
        distinct, place = _distinct(rows)
        found = np.empty(len(distinct))
        agreeing_weight(
            distinct,
            np.ascontiguousarray(self.rows),
            self.person,
            weight,
            everybody,
            self.first_code,
            self.starts,
            self.codes,
            self.reach,
            self.first_list,
            self.list_starts,
            self.listed,
            np.full(self.persons if len(self.person) else 0, -1, np.int64),
            found,
        )
        return found[place]


def _distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Every row once, and where each row stands there."""
    columns = [np.ascontiguousarray(column) for column in rows.T]
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    group, many = compacted(numbered(columns, sizes, len(rows))[0])
    first = np.zeros(many, np.int64)
    first[group[::-1]] = np.arange(len(rows))[::-1]
    return np.ascontiguousarray(rows[first]), group


def decision_problem(
    records: Any,
    dictionary: Any,
    id: str | None = None,
    attributes: Sequence[str] | None = None,
    *,
    match: Match | Mapping[str, Match] = EXACTLY,
    selection: str | None = None,
) -> DecisionProblem:
    """Records considered for release beside a list of identities that an intruder may have.

    Parameters
    ----------
    records
        The records: a data frame, a file, ``Microdata`` or a ``RecordSet``.
    dictionary
        The list of identities, likewise. Several entries may be one person's.
    id
        Column that says who somebody is, in both; the identifier of the records where left out. It is never disclosed.
    attributes
        What may be disclosed of a record; all other columns where left out.
    match
        When a published value agrees with that of an entry: ``"exact"``; ``ds.measures.Jaro(0.8)``, similar texts; a
        hierarchy, a code agrees with those below and above it; or a function of the two values. One for all, or a
        mapping from attributes.
    selection
        Column of the dictionary that says how readily an intruder picks a person; all alike where left out.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> register = pa.table({"id": [1, 2, 3], "name": ["Mary", "Mary", "John"]})
    >>> problem = ds.measures.decision_problem(register.slice(0, 1), register, "id")
    >>> problem.consistent().tolist(), problem.persons
    ([2], 3)
    """
    mine, theirs = records_of(records), dictionary_records(dictionary)
    who = id or next(iter(mine.with_role(IDENTIFIER)), None)
    if who is None:
        raise ParameterError("It is not said who a record is.", hint="Give id= the column that both files have.")
    if not len(mine):
        raise InputError("There are no records.", hint="Give at least one.")
    chosen = tuple(name for name in mine.names if name != who) if attributes is None else tuple(attributes)
    if not chosen or who in chosen:
        raise ParameterError(f"attributes={list(chosen)!r} is not allowed.", hint=f"Name columns other than {who!r}.")
    by_name = match if isinstance(match, Mapping) else dict.fromkeys(chosen, match)
    for name in by_name:
        if name not in chosen:
            raise ParameterError(unknown_name("attribute", name, chosen, "match="))
    own, person, people = _persons(mine, theirs, who)
    compared = tuple(compared_attribute(mine, theirs, name, by_name.get(name, EXACTLY)) for name in chosen)
    shared = [attribute.name for attribute in compared if attribute.entries is not None]
    notes = []
    if not shared:
        notes.append("The dictionary has none of the attributes, so that every entry is consistent with every record.")
    picked = None if selection is None else _selection(theirs, selection, person, people)
    return DecisionProblem(compared, person, own, picked, tuple(notes))


def dictionary_records(given: Any) -> RecordSet:
    """A list of identities as records; an empty one is refused: it would make every release look safe."""
    nobody = InputError(
        "The dictionary has no entries, so that nobody could be identified.",
        hint="Give at least one identity: the register or list that an intruder may have.",
    )
    try:
        found = records_of(given)
    except InputError as error:
        raise (nobody if error.message == no_records().message else error) from None
    if not len(found):
        raise nobody
    return found


def _persons(records: RecordSet, dictionary: RecordSet, who: str) -> tuple[Ints, Ints, int]:
    """Whose record and whose entry each is, as numbers of the dictionary's persons; and how many these are."""
    ids, entries = (_texts(file, who) for file in (records, dictionary))
    for texts, what in ((ids, "record"), (entries, "entry of the dictionary")):
        gone = sum(text is None for text in texts)
        if gone:
            raise InputError(f"{counted(gone, what, 'have')} no {who!r}.", hint="Correct them, or leave them out.")
    again = len(ids) - len(set(ids))
    if again:
        raise InputError(
            f"{counted(again, 'record', 'have')} the {who!r} of an earlier one.", hint="Give every person one record."
        )
    number: dict[str | None, int] = {}
    person = np.array([number.setdefault(text, len(number)) for text in entries], np.int64)
    return np.array([number.get(text, -1) for text in ids], np.int64), person, len(number)


def _texts(records: RecordSet, name: str) -> list[str | None]:
    from discreet.model.records import code_text

    return [None if value is None else code_text(value) for value in records[name].to_pylist()]


def _selection(dictionary: RecordSet, name: str, person: Ints, people: int) -> Floats:
    column = dictionary[name]
    values = np.array([np.nan if value is None else value for value in column.to_pylist()], np.float64)
    if not (np.isfinite(values) & (values > 0)).all():
        raise InputError(f"Column {name!r} holds numbers that are not above 0, or gaps.", hint="Give every person one.")
    found = np.zeros(people)
    found[person] = values
    if (found[person] != values).any():
        raise InputError(f"Entries of one person differ in {name!r}.", hint="Give them the same number.")
    return found


def compared_attribute(
    records: RecordSet,
    dictionary: RecordSet,
    name: str,
    match: Match,
    also: Mapping[str, set[str]] | None = None,
) -> ComparedAttribute:
    """An attribute of both files as numbers of codes."""
    codes, values = coded_values(records, name)
    if name not in dictionary.names:
        return ComparedAttribute(name, codes, values)
    entries, theirs = coded_values(dictionary, name)
    return ComparedAttribute(name, codes, values, entries, agreeing_codes(values, theirs, match, also))


def coded_values(records: RecordSet, name: str) -> tuple[Ints, tuple[Any, ...]]:
    """Numbers of a column's values from 1, 0 where it is empty or stands for "unknown"; and the values."""
    import pyarrow as pa

    encoded = records[name].combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    place: Ints = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64) + 1
    values, unknown = encoded.dictionary.to_pylist(), records.about(name).missing
    empty = np.array([True, *(stands_for_unknown(value, unknown) for value in values)])
    if not empty[1:].any():
        return place, tuple(values)
    number = np.cumsum(~empty)
    return np.where(empty[place], 0, number[place]), tuple(
        value for value, gone in zip(values, empty[1:], strict=True) if not gone
    )
