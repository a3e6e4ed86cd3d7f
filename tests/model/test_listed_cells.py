"""Which cells of an altered table are listed: those where anything is published that is not zero."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import ProtectionError
from discreet.model.public import altered_table


def table(total: str | None = "Total") -> ds.Table:
    regions = ["a", "b", "c", "d"]
    frame = pa.table({"region": regions, "value": [5, 3, 2, 9]})
    if total is None:
        return ds.Table.from_cells(frame, by={"region": ds.Hierarchy.flat(regions, total=None)})
    return ds.Table.from_cells(frame, by={"region": ds.Hierarchy.flat(regions)}, compute_totals=True)


def listed(subject: ds.Table, values: dict[str, int], ends: dict[str, tuple[int, int]] | None = None) -> set[str]:
    names = [subject.spec_codes(c)[0] for c in subject.codes.tolist()]
    value = np.array([values.get(name, 0) for name in names], np.int64)
    both = None
    if ends is not None:
        both = tuple(
            np.array([ends.get(n, (v, v))[k] for n, v in zip(names, value.tolist(), strict=False)], np.int64)
            for k in (0, 1)
        )
    public = altered_table(subject, value, 0, both, None)
    return {public.code_lists[0][c] for c in public.codes[:, 0].tolist()}


def test_a_zero_is_not_listed_and_a_negative_value_is():
    assert listed(table(), {"Total": 4, "a": 5, "b": -1}) == {"Total", "a", "b"}


@pytest.mark.parametrize("ends", [(0, 7), (-7, 0), (-3, 4)])
def test_a_zero_within_an_interval_is_listed(ends):
    assert listed(table(), {"Total": 5, "a": 5}, {"c": ends}) == {"Total", "a", "c"}
    assert listed(table(), {"Total": 5, "a": 5}, {}) == {"Total", "a"}


def test_the_grand_total_is_listed_whatever_it_is():
    assert listed(table(), {"a": 5, "b": -5}) == {"Total", "a", "b"}
    assert listed(table(), {}) == {"Total"}


def test_a_table_of_nothing_but_zeros_is_refused():
    with pytest.raises(ProtectionError, match="would be published as zero"):
        listed(table(total=None), {})
