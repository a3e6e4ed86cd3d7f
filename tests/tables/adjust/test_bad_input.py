"""Bad input to all methods that alter tables of cells: refused in words, with nothing released."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InputError, ProtectionError
from tests.tables.rounding.making import table

METHODS = [ds.Adjust(), ds.Round(5), ds.Intervals(insecure_seed=1)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.kind)
def test_a_table_that_does_not_add_up_is_refused_with_the_worst_relation(method):
    made = table(np.array([[50, 60], [70, 80]])).marked({("a0", "b0"): "U"}, protection=(3, 3)).assess()
    value = made.value.copy()
    value[made.row(v0="a0", v1="b0")] += 11
    with pytest.raises(InputError, match=r"do not add up; the worst is"):
        ds.protect(made.with_(value=value), method)


def test_rounding_refuses_a_level_above_what_its_base_can_hide():
    made = table(np.array([[5, 60], [70, 80]])).marked({("a0", "b0"): "U"}, protection=(9, 9)).assess()
    with pytest.raises(ProtectionError, match=r"cannot be protected by rounding.*'v0=a0, v1=b0'"):
        ds.protect(made, ds.Round(5))


def test_fixed_margins_that_leave_no_way_are_explained_with_the_price_of_relaxing_them():
    # The only other cell of the row is a zero that is kept.
    made = table(np.array([[50, 0], [70, 80]])).marked({("a0", "b0"): "U"}, protection=(5, 5)).assess()
    with pytest.raises(ProtectionError, match=r"the limits of .* stand in the way") as caught:
        ds.protect(made, ds.Adjust(fixed="margins"))
    assert "Least that would do" in caught.value.details
    assert " by 5" in caught.value.details
    assert ds.protect(made, ds.Adjust(fixed="margins", zeros="movable")).verify().holds
