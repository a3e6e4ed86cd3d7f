"""When the risk under the custodian's own list bounds the risk under the intruder's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.engine.any_records import records_of
from discreet.errors import InputError, counted, unknown_column
from discreet.model.records import RecordSet, code_text, stands_for_unknown


@dataclass(frozen=True)
class DictionaryDominance:
    """Whether one dictionary dominates another, and why not.

    Parameters
    ----------
    holds
        Whether every entry of the estimated dictionary has one of the same person in the true one that says no more.
    absent
        How many persons of the estimated dictionary the true one does not have.
    fuller
        How many entries the true dictionary has only with other values, or with values where they have none.
    """

    holds: bool
    absent: int
    fuller: int

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return "The true dictionary has everybody of the estimated one and says no more of them."
        return (
            f"{counted(self.absent, 'person of the estimated dictionary', 'are')} not in the true one; of "
            f"{counted(self.fuller, 'entry')} it says more, or something else."
        )


def dominates(estimated: Any, true: Any, id: str, attributes: Sequence[str] | None = None) -> DictionaryDominance:
    """Whether the risk under an estimated dictionary is an upper bound of that under the true one.

    It is, for every policy, if the true dictionary has at least the persons of the estimated one and knows no more of
    them, and if every released person has an entry in the estimated dictionary that is consistent with the whole record
    (``DecisionProblem.holds_own``). This looks at the first of the two.

    Parameters
    ----------
    estimated, true
        Two dictionaries: data frames, files, ``Microdata`` or ``RecordSet``.
    id
        Column that says who somebody is, in both.
    attributes
        Attributes of the released records, which are all that matter; all columns of both where left out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ours = pa.table({"id": [1, 2], "town": ["Aby", "Bro"]})
    >>> bool(dominates(ours, pa.table({"id": [1, 2, 3], "town": ["Aby", None, "Cam"]}), "id"))
    True
    >>> print(dominates(ours, pa.table({"id": [1], "town": ["Cam"]}), "id"))
    1 person of the estimated dictionary is not in the true one; of 1 entry it says more, or something else.
    """
    ours, theirs = records_of(estimated), records_of(true)
    for records in (ours, theirs):
        if id not in records.names:
            raise unknown_column(id, records.names, "a dictionary")
    if not len(ours):
        raise InputError("The estimated dictionary has no entries.", hint="Give at least one identity.")
    names = tuple(dict.fromkeys([*ours.names, *theirs.names])) if attributes is None else tuple(attributes)
    names = tuple(name for name in names if name != id)
    rows, others = _entries(ours, id, names), _entries(theirs, id, names)
    known: dict[str | None, list[tuple[str | None, ...]]] = {}
    for person, values in others:
        known.setdefault(person, []).append(values)
    absent = {person for person, _ in rows if person not in known}
    fuller = sum(
        person in known and not any(_no_more(values, other) for other in known[person]) for person, values in rows
    )
    return DictionaryDominance(not absent and not fuller, len(absent), fuller)


def _no_more(ours: Sequence[str | None], theirs: Sequence[str | None]) -> bool:
    """Whether an entry says nothing but what another says; an empty field of ours is no licence to say anything."""
    return all(other is None or other == mine for mine, other in zip(ours, theirs, strict=True))


def _entries(records: RecordSet, who: str, names: Sequence[str]) -> list[tuple[str | None, tuple[str | None, ...]]]:
    columns = [_texts(records, name) if name in records.names else [None] * len(records) for name in (who, *names)]
    return [(person, tuple(values)) for person, *values in zip(*columns, strict=True)]


def _texts(records: RecordSet, name: str) -> list[str | None]:
    unknown = records.about(name).missing
    return [
        None if value is None or stands_for_unknown(value, unknown) else code_text(value)
        for value in records[name].to_pylist()
    ]
