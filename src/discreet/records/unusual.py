"""Which records are drawn anew: unusual ones, those that a column marks, and others at random beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import NEVER_PUBLIC, RecordSet
from discreet.records.exact_columns import ExactColumn

UNUSUAL, FLAGGED, CAMOUFLAGE = 1, 2, 3
"""Why a record is chosen; 0 where it is not."""


def outlyingness(columns: Sequence[ExactColumn], names: Sequence[str]) -> Floats:
    """How far every record lies from the median, in median distances, in the column where that is farthest.

    Where more than half of the values are equal, distances are measured by their mean. A field without a value lies
    at the median.
    """
    found = np.zeros(len(columns[0].units))
    for name, column in zip(names, columns, strict=True):
        known = column.units[~column.gaps].astype(np.float64)
        if not len(known):
            continue
        middle = float(np.median(known))
        distance = np.abs(column.units - middle)
        spread = float(np.median(np.abs(known - middle))) or float(np.sort(np.abs(known - middle)).mean())
        if not spread:
            raise InputError(
                f"Column {name!r} has the same value in all records, and nobody is unusual in it.",
                hint="Leave it out of by= (or of columns=, where by= is not given).",
            )
        found = np.maximum(found, np.where(column.gaps, 0.0, distance / spread))
    return found


def flagged_rows(records: RecordSet, name: str) -> Bools:
    """Records that a column of true/false, or of numbers, marks; it must be one that never goes out."""
    import pyarrow as pa

    column, role = records[name], records.about(name).role
    if role not in NEVER_PUBLIC:
        raise ParameterError(
            f"Column {name!r} would be public, and tell which records were altered.",
            hint=f"Give it a role that no public file has: Microdata(request={name!r}).",
        )
    if not (pa.types.is_boolean(column.type) or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"Column {name!r} holds {column.type}, not flags.", hint="Give true/false, or 1 and 0.")
    flags: Any = column.fill_null(False if pa.types.is_boolean(column.type) else 0).to_numpy()
    return np.asarray(flags != 0, np.bool_)


def chosen_rows(
    able: Bools, score: Floats | None, unusual: int, flagged: Bools, chance: Floats, camouflage: int, identity: Ints
) -> Ints:
    """Why every record is chosen, 0 where it is not.

    Parameters
    ----------
    able
        Records that have a value that can be drawn anew: no other is chosen.
    score, unusual
        How unusual records are, and how many of the most unusual ones are chosen.
    flagged
        Records that are chosen in any case.
    chance, camouflage
        A draw for every record: those with so many smallest ones are chosen of all others.
    identity
        Decides among records that are equally unusual.
    """
    why = np.zeros(len(able), np.int64)
    if score is not None:
        order = np.lexsort((identity, -score))
        why[order[able[order]][:unusual]] = UNUSUAL
    why[able & flagged & (why == 0)] = FLAGGED
    left = np.flatnonzero(able & (why == 0))
    why[left[np.lexsort((identity[left], chance[left]))][:camouflage]] = CAMOUFLAGE
    return why
