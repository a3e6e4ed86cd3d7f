"""Both holders in one process: for teaching and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError
from discreet.private.parties.conversation import conversation, plan_of
from discreet.private.parties.digests import digest_of
from discreet.private.parties.places import MeetingPlace
from discreet.private.parties.rounds import PartyTask
from discreet.private.parties.together import run_together
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript
from discreet.private.union.codes import joined_sizes
from discreet.private.union.protocol import UnionResult, UnionTerms, union_task
from discreet.private.union.records import NORMALISER, read_records
from discreet.private.union.run_log import entered

UNLISTED = "No list of unions was kept here: another one with changed records can show single ones."


def unite(
    holders: Mapping[str, Any],
    id_columns: Sequence[str],
    data_columns: Sequence[str],
    *,
    min_records: int = 10,
    sum_column: str | None = None,
    min_shared: int = 10,
    pad_to: int = 0,
) -> UnionResult:
    """The data of the union of two files, of which neither holder sees the other's identifiers.

    Both run in this process, each as it would alone; for holders in two places see ``discreet union``.

    Parameters
    ----------
    holders
        Records of the initiator, who gets the data, and of the helper, by their names in this order.
    id_columns, data_columns
        Columns that identify, and columns with data; no column is both.
    min_records
        Records that each must bring.
    sum_column
        A column of the helper with whole numbers: both learn its total over shared records.
    min_shared
        Shared records below which no total is told.
    pad_to
        Hide sizes: add made-up records up to so many on both sides.

    Raises
    ------
    ProtocolError
        ``too small``, ``duplicate record`` and what else ends a run; there is no partial result.

    Examples
    --------
    >>> import discreet as ds
    >>> a = {"id": [f"p{k}" for k in range(12)], "x": list(range(12))}
    >>> b = {"id": [f"P{k}" for k in range(8, 18)], "x": list(range(108, 118))}
    >>> found = ds.private.unite({"A": a, "B": b}, ["id"], ["x"])
    >>> found.union, found.shared, sorted(row["x"] for row in found.rows)[-6:]
    (18, 4, [112, 113, 114, 115, 116, 117])
    """
    names = _two(holders)
    terms = UnionTerms(
        tuple(id_columns),
        tuple(data_columns),
        min_records=min_records,
        sum_column=sum_column,
        min_shared=min_shared,
        pad_to=pad_to,
    )
    record = Transcript()
    talks = {
        name: conversation(name, union_task(names, name, data, terms), record=record) for name, data in holders.items()
    }
    return replace(run_together(talks, record)[names[0]], transcript=record)


def unite_as(
    me: str,
    data: Any,
    parties: Sequence[str],
    place: MeetingPlace,
    terms: UnionTerms,
    *,
    log: str | Path | None = None,
    without_log: bool = False,
) -> UnionResult:
    """One of two holders in its own place: the first of ``parties`` gets the data of the union, the other sizes.

    Parameters
    ----------
    me
        This holder's name, as its certificate has it.
    data
        Its records.
    parties
        Initiator and helper.
    place
        Where they meet: :class:`AtCoordinator`, :class:`AsHost` or :class:`SharedFolder`.
    terms
        What this holder wants; both name the same columns and purpose.
    log
        File in which this holder lists the unions that it began: a second one with the same counterpart for the same
        purpose is refused. :func:`new_union_log` begins it; one that is not there is refused.
    without_log
        Keep no list, for tries with made-up records; the result says so.

    Raises
    ------
    ParameterError
        When neither a list is named nor that there is none.
    InputError
        When there is no such list.

    Examples
    --------
    >>> import discreet as ds
    >>> terms = ds.private.UnionTerms(("id",), ("x",), "study of 2026")
    >>> terms.min_records  # ds.private.unite_as("A", records, ("A", "B"), place, terms, log="unions")
    10
    """
    if (log is None) == (not without_log):
        raise ParameterError(
            "A holder says where it lists its unions: a second one with the same counterpart can show single records."
            if log is None
            else "A holder keeps a list or keeps none.",
            hint="Give log=FILE, always the same; or without_log=True.",
        )
    record, task = Transcript(), union_task(parties, me, data, terms)
    if log is not None:
        (other,) = [name for name in parties if name != me]
        task = entered(task, Path(log), other, terms.purpose)
    found = place.meet(me, task, record)
    notes = found.notes if log is not None else (*found.notes, UNLISTED)
    return replace(found, transcript=record, notes=notes)


def union_sizes(holders: Mapping[str, Any], id_columns: Sequence[str], *, min_records: int = 10) -> dict[str, int]:
    """How many records several files have together and in common; nobody sees identifiers of others.

    Parameters
    ----------
    holders
        Records of two or more, by name.
    id_columns
        Columns that identify.
    min_records
        Records that each must bring.

    Returns
    -------
    dict
        By names joined with ``&``, and ``"union"``.

    Examples
    --------
    >>> import discreet as ds
    >>> files = {name: {"id": list(range(k, k + 20))} for name, k in {"A": 0, "B": 10, "C": 15}.items()}
    >>> ds.private.union_sizes(files, ["id"])
    {'A': 20, 'B': 20, 'C': 20, 'A&B': 10, 'A&C': 5, 'B&C': 15, 'union': 35}
    """
    record = Transcript()
    talks = {
        name: conversation(name, sizes_task(list(holders), name, data, id_columns, min_records), record=record)
        for name, data in holders.items()
    }
    return run_together(talks, record)[next(iter(holders))]


def sizes_task(
    parties: Sequence[str], me: str, data: Any, id_columns: Sequence[str], min_records: int, purpose: str = ""
) -> PartyTask[dict[str, int]]:
    """What a holder agrees on with others to learn sizes alone, and what it does then."""
    if len(set(parties)) < 2 or me not in parties:
        raise ProtocolError("too few parties", "One holder alone has no others.", hint="Give at least two.")
    records = read_records(data, id_columns, ())
    identifiers, kinds = records.identifiers, {f"kind of {name!r}": kind for name, kind in records.kinds.items()}
    terms = {"id columns": list(id_columns), "normaliser": NORMALISER, "purpose": purpose, **kinds}
    work = partial(joined_sizes, identifiers=identifiers, min_records=min_records)
    digest = digest_of("\0".join(one) for one in identifiers)
    return PartyTask(plan_of("union sizes 1", list(parties), terms), work, digest)


def _two(holders: Mapping[str, Any]) -> tuple[str, str]:
    if len(holders) != 2:
        raise ParameterError(f"{len(holders)} holders are given; a union has two.", hint="The initiator comes first.")
    first, second = holders
    return first, second
