"""A release of records beside a register: whom somebody who has the register may take each released record for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from discreet.engine.any_records import records_of
from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_name
from discreet.measures.decision.agreement import EXACTLY, Match, in_intervals
from discreet.measures.decision.problem import (
    ComparedAttribute,
    DecisionProblem,
    coded_values,
    compared_attribute,
    dictionary_records,
)
from discreet.model.arrays import Ints
from discreet.model.records import IDENTIFIER, KEY, RecordSet, code_text

ANY = "*"
"""The code of a class that says nothing."""
CODES_NAMED = 5


def release_problem(
    register: Any,
    released: Any,
    keys: Sequence[str] | None = None,
    *,
    original: Any = None,
    match: Mapping[str, Match] | None = None,
    strange: Literal["refuse", "nobody"] = "refuse",
) -> DecisionProblem:
    """Released records beside a register that an intruder may have, or beside their own original.

    An empty field, on either side, could be any value. A broader code of a hierarchy agrees with all codes below it,
    the name of an interval (``"15-29"``, ``"<15"``, ``"65+"``) with the numbers in it, and all else with itself.

    Parameters
    ----------
    register
        Who may be in the file, with true values of the keys; give the original records for an intruder who knows
        everybody in the file.
    released
        The released records.
    keys
        Columns that the intruder has; the keys of the released records, or of the register, where left out.
    original
        The records before they were changed, in the order of ``released``. A published code then also agrees with every
        value that it was made of somewhere: the intruder is taken to know what codes mean.
    match
        For single columns, what agrees with a published value in place of all this; as for :func:`decision_problem`.
    strange
        A published code that agrees with no value of the register is refused, and a record that agrees with nobody in
        it: they would look safe for no other reason than different codes. ``"nobody"`` takes them as they are.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": [3, 17, 25, 70], "sex": ["f", "f", "m", "m"]})
    >>> release = pa.table({"age": ["<15", "15-29", "15-29", None], "sex": ["f", None, "m", "m"]})
    >>> problem = ds.measures.release_problem(people, release, ["age", "sex"])
    >>> problem.consistent().tolist()
    [1, 2, 1, 2]
    """
    theirs, mine = dictionary_records(register), records_of(released)
    before = None if original is None else records_of(original)
    if not len(mine):
        raise InputError("There are no records.", hint="Give at least one.")
    names = tuple(keys) if keys is not None else mine.with_role(KEY) or theirs.with_role(KEY)
    _refuse_names(names, mine, theirs, before, match or {})
    if strange not in ("refuse", "nobody"):
        raise ParameterError(unknown_name("strange", str(strange), ["refuse", "nobody"]))
    compared = tuple(_compared(theirs, mine, name, before, (match or {}).get(name)) for name in names)
    notes = [note for attribute in compared for note in _strange(attribute, strange)]
    found = DecisionProblem(compared, np.arange(len(theirs)), _own(theirs, mine, before), None, tuple(notes))
    if strange == "refuse":
        _refuse_nobody(found)
    return found


def _refuse_nobody(problem: DecisionProblem) -> None:
    """Refuse records that nobody could be, although each of their codes is somebody's."""
    alone = int((problem.consistent() == 0).sum())
    if alone:
        raise InputError(
            f"{counted(alone, 'released record', 'agree')} with nobody in the register, although all codes do.",
            hint="Such records would look safe. Give original= the records before they were changed (numbers beyond a "
            "limit, say, are published as the limit), or strange='nobody' if they are in no register or were altered.",
        )


def _refuse_names(
    names: Sequence[str], mine: RecordSet, theirs: RecordSet, before: RecordSet | None, match: Mapping[str, Match]
) -> None:
    if not names:
        raise NeedsError("It is not said what the intruder knows.", hint="Give keys=[...].")
    for name in names:
        for records, where in ((mine, "the released records"), (theirs, "the register"), (before, "the original")):
            if records is not None and name not in records.names:
                raise ParameterError(unknown_name("column", name, records.names, where))
    for name in match:
        if name not in names:
            raise ParameterError(unknown_name("key", name, names, "match="))
    if before is not None and len(before) != len(mine):
        raise InputError(
            f"The original has {counted(len(before), 'record')}, the release {len(mine):,}.",
            hint="Give original= the same records in the same order.",
        )


def _compared(
    theirs: RecordSet, mine: RecordSet, name: str, before: RecordSet | None, match: Match | None
) -> ComparedAttribute:
    if match is not None:
        return compared_attribute(mine, theirs, name, match)
    hierarchies = (records.hierarchies.get(name) for records in (theirs, before, mine) if records is not None)
    hierarchy = next((one for one in hierarchies if one is not None), None)
    published, entries = (coded_values(records, name)[1] for records in (mine, theirs))
    also = in_intervals(published, entries)
    if hierarchy is None and ANY not in map(code_text, entries):
        also[ANY] = {code_text(value) for value in entries}
    for code, texts in _made_of(before, mine, name).items():
        also[code] = also.get(code, set()) | texts
    return compared_attribute(mine, theirs, name, EXACTLY if hierarchy is None else hierarchy, also)


def _made_of(before: RecordSet | None, mine: RecordSet, name: str) -> dict[str, set[str]]:
    """For every published code the texts of values that became it."""
    if before is None:
        return {}
    (old, values), (new, codes) = coded_values(before, name), coded_values(mine, name)
    pairs = np.unique(np.stack([new, old], axis=1)[(new > 0) & (old > 0)], axis=0)
    found: dict[str, set[str]] = {}
    for code, value in pairs.tolist():
        found.setdefault(code_text(codes[code - 1]), set()).add(code_text(values[value - 1]))
    return found


def _strange(attribute: ComparedAttribute, strange: str) -> list[str]:
    """Refuse, or say, that published codes agree with nothing."""
    assert attribute.agreeing is not None
    assert attribute.entries is not None
    if bool((attribute.entries == 0).all()):
        return []
    alone = np.flatnonzero(np.diff(attribute.agreeing.starts)[1:] == 0)
    if not len(alone):
        return []
    rows = int(np.isin(attribute.records, alone + 1).sum())
    codes = listed([code_text(attribute.values[place]) for place in alone[:CODES_NAMED].tolist()])
    more = f" and {len(alone) - CODES_NAMED:,} more" if len(alone) > CODES_NAMED else ""
    said = (
        f"Key {attribute.name!r} has {counted(len(alone), 'published code')} in {counted(rows, 'record')} that "
        f"{'agrees' if len(alone) == 1 else 'agree'} with no value of the register: {codes}{more}"
    )
    if strange == "refuse":
        raise InputError(
            f"{said}.",
            hint="Such records would look safe. Give original= the records before they were changed, "
            f"match={{{attribute.name!r}: ...}} that says what agrees, or strange='nobody' if nobody in the "
            "register has these values.",
        )
    return [f"{said}; they are taken for nobody."]


def _own(theirs: RecordSet, mine: RecordSet, before: RecordSet | None) -> Ints:
    """Where each released record's person stands in the register, by identifiers or by being the same records."""
    if theirs is before or (before is not None and before.columns is theirs.columns):
        return np.arange(len(mine))
    who = theirs.with_role(IDENTIFIER)
    source = mine if all(name in mine.names for name in who) else before
    if not who or source is None or any(name not in source.names for name in who):
        return np.full(len(mine), -1)
    places = {key: place for place, key in enumerate(zip(*(_plain(theirs, name) for name in who), strict=True))}
    return np.array(
        [places.get(key, -1) for key in zip(*(_plain(source, name) for name in who), strict=True)], np.int64
    )


def _plain(records: RecordSet, name: str) -> list[Any]:
    found: list[Any] = records[name].to_pylist()
    return found
