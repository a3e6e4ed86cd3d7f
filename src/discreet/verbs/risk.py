"""Records to the risk of whoever is in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from discreet.attack.record_audit import RecordAudit
from discreet.engine.any_records import records_of
from discreet.errors import InputError, ParameterError, unknown_name
from discreet.measures.record_risk import RiskQuestion, measure_risk
from discreet.measures.risk_result import RecordRisk
from discreet.model.custodian import RecordCustodian
from discreet.model.microdata import Microdata
from discreet.model.records import HOUSEHOLD, KEY, NEVER_PUBLIC, NUMERIC, SENSITIVE, WEIGHT, RecordSet
from discreet.model.release import Release
from discreet.verbs.audit_records import audit_records, audit_two_files, known_columns
from discreet.watching import watched

if TYPE_CHECKING:
    from discreet.model.microdata import Names

COUNTED_AS_THEY_ARE = ("recode", "local_suppress", "generalise")
"""Methods after which every value that is left is still true, if coarser."""


@watched
def risk(
    data: Microdata | Release[Any] | Any,
    keys: Names | None = None,
    *,
    sensitive: Names | None = None,
    weight: str | None = None,
    household: str | None = None,
    k: int = 3,
    size: int = 3,
    missing: Literal["category", "any", "exempt"] = "category",
    threshold: float = 0.1,
    fraction: float | None = None,
    attacks: bool = True,
    original: Microdata | Any = None,
    numeric: Names | None = None,
    truth: str | Sequence[int] | None = None,
    same_order: bool = False,
) -> RecordRisk:
    """Who can be recognised in a file of records, by whom, and why.

    Parameters
    ----------
    data
        Records, a data frame, the path of a file; or a release of records, of which the public rows are measured.
    keys
        Columns that an intruder may know; those with the role of keys where left out.
    sensitive
        Columns that nobody should learn of a person; those with that role where left out.
    weight
        Column of sampling weights; that with the role where left out. Without weights the file is taken for the whole
        population, and a record that shares its keys with ``f - 1`` others has a risk of ``1 / f``.
    household
        Column of households; that with the role where left out.
    k
        Combinations that occur fewer times are unsafe.
    size
        Sets of up to so many keys are counted.
    missing
        What an empty field means: ``"category"``, a value of its own; ``"any"``, it agrees with every value;
        ``"exempt"``, a record is not judged by sets of keys in which it is empty.
    threshold
        Individual risks above it are counted.
    fraction
        The share of the population that is in the file, where it has no weights.
    attacks
        Whether a release is linked with its original, too; see :func:`discreet.audit`.
    original
        Records that an intruder may have, in original values: the file is linked with them and attacked as a release
        is. Releases bring their own.
    numeric
        Beside ``original``: numbers of which the intruder has original values besides keys; those with that role where
        left out.
    truth
        Beside ``original``: which record is whose. A column of both files, or for each original row that of the file,
        -1 for none; an identifier by its role where left out. Without any, records are not linked, and that is said.
    same_order
        Beside ``original``, in place of ``truth``: row ``i`` of one file is row ``i`` of the other.

    Returns
    -------
    RecordRisk
        All numbers; print it to read them.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> people = pa.table({"age": ["old", "old", "young", "young"], "sex": ["f", "m", "m", "m"]})
    >>> found = ds.risk(people, keys=["age", "sex"], k=2)
    >>> found.uniques, found.k, round(found.file.expected, 3)
    (2, 1, 3.0)
    """
    _refuse_links(data, original, numeric, truth, same_order)
    numbers = _names("numeric", numeric, ())
    records, notes = _records(data, weight, numbers)
    question = RiskQuestion(
        keys=_names("keys", keys, records.with_role(KEY)),
        sensitive=_names("sensitive", sensitive, records.with_role(SENSITIVE)),
        weight=_one(weight, records.with_role(WEIGHT), fraction),
        household=_one(household, records.with_role(HOUSEHOLD), None),
        k=k,
        size=size,
        missing=missing,
        threshold=threshold,
        fraction=fraction,
    )
    if not isinstance(data, Release):
        _refuse_empty(records, question.keys)
    found = measure_risk(records, question).with_notes(notes)
    if original is not None:
        return replace(found, attacks=_linked(original, records, question, numbers, truth, same_order))
    if not isinstance(data, Release):
        return found
    found = replace(found, released=True)
    return (
        found
        if not attacks
        else replace(found, attacks=audit_records(data, known_columns(data.custodian, question.keys)))
    )


def _refuse_links(data: Any, original: Any, numeric: Any, truth: Any, same_order: bool) -> None:
    if original is not None and isinstance(data, Release):
        raise ParameterError("A release brings its original along.", hint="Leave original= out.")
    if original is None and (numeric is not None or truth is not None or same_order):
        raise ParameterError(
            "numeric=, truth= and same_order= say how a file is linked with its original.", hint="Give original=, too."
        )


def _linked(
    original: Any, records: RecordSet, question: RiskQuestion, numbers: Sequence[str], truth: Any, same_order: bool
) -> RecordAudit:
    """What an intruder finds again who has the keys and numbers of an original."""
    before, keys = records_of(original, numbers), question.keys
    roles = {*keys, *numbers, *before.with_role(KEY, NUMERIC), *records.with_role(NUMERIC)}
    for name in (*keys, *numbers):
        if name not in before.names:
            raise InputError(
                unknown_name("column", name, before.names, "the original"),
                hint="Name columns that both files have.",
            )
    hidden = {*before.with_role(*NEVER_PUBLIC), *records.with_role(*NEVER_PUBLIC), *question.sensitive}
    known = [name for name in dict.fromkeys((*before.names, *keys)) if name in roles - hidden]
    return audit_two_files(before, records, known, sensitive=question.sensitive, truth=truth, same_order=same_order)


def _records(data: Any, weight: str | None, numeric: Sequence[str] = ()) -> tuple[RecordSet, list[str]]:
    """The records that are measured, and what to know about them."""
    if isinstance(data, Release):
        if not isinstance(data.custodian, RecordCustodian):
            raise ParameterError(
                "This is a release of tables, and risk is measured of records.", hint="Use ds.audit(release)."
            )
        return data.custodian.released, _taken_for_true(data.custodian)
    return records_of(data, (*numeric, *(() if weight is None else (weight,)))), []


def _taken_for_true(custodian: RecordCustodian) -> list[str]:
    """What a count of altered values does not say."""
    altered = {
        name
        for step in custodian.steps
        if step.evidence.claim.method not in COUNTED_AS_THEY_ARE
        for name in step.changed.column_names
        if name in custodian.original.with_role(KEY)
    }
    if not altered:
        return []
    return [
        f"Values of {', '.join(map(repr, sorted(altered)))} were altered and may be false. They are counted as if "
        "they were true: an intruder who finds one person cannot be sure, and these numbers do not say how unsure."
    ]


def _names(argument: str, given: Any, role: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return role
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"{argument}={given!r} is not allowed.", hint="Give names of columns in a list.")
    return tuple(names)


def _one(given: str | None, role: tuple[str, ...], instead: Any) -> str | None:
    if given is not None or instead is not None:
        return given
    return role[0] if role else None


def _refuse_empty(records: RecordSet, keys: Sequence[str]) -> None:
    """Refuse keys without any value: a file that was read wrongly looks like that."""
    for name in keys:
        if name in records.names and records[name].null_count == len(records):
            raise InputError(
                f"Key {name!r} is empty in every record.", hint="Leave it out, or correct how the file is read."
            )
