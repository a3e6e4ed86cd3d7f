"""Which cells are whole numbers, and the system in which they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as ds
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.relations import System, build_system
from discreet.relations.whole_counts import in_whole_counts, whole_cells
from tests.tables.rounding.making import table


def both(**spec: object) -> System:
    """Counts in the first four cells, and a magnitude with two decimals in the others."""
    counts = table([1, 2, 3], counts=True, name="people")
    counts = counts.with_(spec=counts.spec.with_(**spec))
    return build_system(ds.TableSet([counts, table([1.25, 2.5, 3.0], name="pay")]))


def test_only_unweighted_counts_are_whole():
    assert whole_cells(both()).tolist() == [True] * 4 + [False] * 4
    assert not whole_cells(both(weight="w")).any()


def test_counts_have_steps_of_one_beside_decimals():
    system = both()
    assert system.decimals == 2
    low, high = system.lower_bound.copy(), system.upper_bound.copy()
    low[:4], high[:4] = [NO_LOWER, 150, 100, -150], [NO_UPPER, 450, 400, 499]
    found = in_whole_counts(replace(system, lower_bound=low, upper_bound=high, lower_level=np.full(8, 101)))
    assert found.unit.tolist() == [100] * 4 + [1] * 4
    assert found.system.value.tolist() == [6, 1, 2, 3, 675, 125, 250, 300]
    assert found.system.lower_bound[:4].tolist() == [NO_LOWER, 2, 1, -1]
    assert found.system.upper_bound[:4].tolist() == [NO_UPPER, 4, 4, 4]
    assert found.system.lower_level.tolist() == [2] * 4 + [101] * 4


@pytest.mark.parametrize("system", [build_system(table([1, 2], counts=True)), build_system(table([1.5, 2.5]))])
def test_where_nothing_changes_the_system_stays_the_same(system):
    found = in_whole_counts(system)
    assert found.system is system
    assert set(found.unit.tolist()) == {1}
