"""What steers groups and means besides the numbers themselves: categories, and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, NeedsError, ParameterError, counted
from discreet.model.arrays import Floats, Ints
from discreet.model.records import NEVER_PUBLIC, WEIGHT, RecordSet
from discreet.rules.key_counts import codes_of

MILLION = 10**6


class GroupMaterial(NamedTuple):
    """Records as algorithms see them: standardised points, those that clusters are made of, and codes of categories."""

    points: Floats
    symmetric: Floats
    codes: Ints

    def of(self, rows: Ints, columns: Sequence[int]) -> GroupMaterial:
        """Some rows and columns of it."""
        return GroupMaterial(
            np.ascontiguousarray(self.points[rows][:, columns]),
            np.ascontiguousarray(self.symmetric[rows][:, columns]),
            np.ascontiguousarray(self.codes[rows]),
        )


def category_codes(records: RecordSet, categories: Sequence[str], columns: Sequence[str]) -> Ints:
    """A number for every category, in the order of the values; 0 for gaps and for "unknown"."""
    found = np.zeros((len(records), len(categories)), np.int64)
    for place, name in enumerate(categories):
        column = records[name]
        role = records.about(name).role
        if name in columns or role in (*NEVER_PUBLIC, WEIGHT):
            what = "is averaged itself" if name in columns else f"is a {role}"
            raise ParameterError(
                f"Column {name!r} {what}, and cannot steer groups as a category.", hint="Leave it out."
            )
        codes, _ = codes_of(column, records.about(name).missing)
        values = column.combine_chunks().dictionary_encode()
        values = getattr(values, "chunks", [values])[0].dictionary.to_pylist()
        order = sorted(range(len(values)), key=lambda code, values=values: values[code])  # type: ignore[misc]
        rank = np.zeros(len(values) + 1, np.int64)
        rank[np.array(order, np.int64) + 1] = np.arange(1, len(values) + 1)
        found[:, place] = np.unique(rank[codes], return_inverse=True)[1].ravel()
    return found


def weights_of(records: RecordSet) -> tuple[str, Ints]:
    """The column of weights, and the weights in millionths."""
    names = records.with_role(WEIGHT)
    if not names:
        raise NeedsError("weighted=True needs weights.", hint='Name their column: Microdata(weight="...").')
    column = records[names[0]]
    raw = np.asarray(column.to_numpy(), np.float64)
    bad = ~(np.isfinite(raw) & (raw >= 1 / MILLION) & (raw < 2**62 / MILLION))
    if bad.any():
        raise InputError(
            f"{counted(int(bad.sum()), 'record', 'have')} no weight, or one of 0 or less, in column {names[0]!r}.",
            hint="Correct the weights, or leave weighted= out.",
        )
    return names[0], np.rint(raw * MILLION).astype(np.int64)
