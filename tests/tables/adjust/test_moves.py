"""How far cells must and may move, before any program is solved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ProtectionError
from discreet.model.arrays import NO_UPPER
from discreet.relations import System, build_system
from discreet.tables.adjust.moves import (
    MoveLimits,
    fixed_cells,
    known_of_others,
    limits_of_moves,
    needed,
    share_of,
    whole,
)
from tests.tables.rounding.making import table


def system_with(lower: int, upper: int, sliding: int) -> System:
    """Two cells and their total; the first cell has these levels."""
    made = build_system(table([10, 20]).marked({("a0",): "U"}).assess())
    levels = {"lower_level": lower, "upper_level": upper, "sliding_level": sliding}
    return replace(made, **{name: np.where(made.unsafe, level, 0) for name, level in levels.items()})


@pytest.mark.parametrize(
    ("lower", "upper", "sliding", "up", "down"),
    [(3, 5, 0, 5, 3), (0, 0, 4, 4, 4), (3, 5, 4, 5, 4), (5, 3, 4, 4, 5), (0, 0, 0, 1, 1)],
)
def test_a_cell_must_move_by_its_level_its_sliding_level_and_one_unit(lower, upper, sliding, up, down):
    system = system_with(lower, upper, sliding)
    cell = int(np.flatnonzero(system.unsafe)[0])
    rise, fall = needed(system)
    assert (rise[cell], fall[cell]) == (up, down)


def test_a_cell_can_move_where_it_may_go_just_as_far_as_it_must():
    cells, least = np.array([0, 1, 2]), np.array([5.0, 5.0, 5.0])
    most = np.array([4.0, 5.0, 6.0])
    made = MoveLimits(1, cells, least, least, most, most, np.ones(3))
    assert made.can_rise.tolist() == made.can_fall.tolist() == [False, True, True]


def test_levels_are_stretched_up_to_whole_units_and_never_shrink():
    level = np.array([0, 1, 3, 10])
    assert whole(level, Fraction(3, 2)).tolist() == [0, 2, 5, 15]
    assert whole(level, Fraction(1)).tolist() == whole(level, Fraction(1, 2)).tolist() == level.tolist()


def test_a_share_of_a_negative_value_is_one_of_its_size():
    assert share_of(np.array([-150, 150, 0, -9]), Fraction(10)).tolist() == [15, 15, 0, 0]


def test_which_cells_are_fixed():
    rows = ds.Hierarchy.from_parents({"x": "part", "y": "part", "part": "all", "z": "all"})
    made = table([[1, 2], [3, 4], [5, 6]], hierarchies=[rows, ds.Hierarchy.flat(["b0", "b1"])])
    system = build_system(made.marked({("x", "b0"): "P"}))

    def names(what: str) -> set[tuple[str, ...]]:
        fixed = fixed_cells(system, what)[system.of[0]]
        return {tuple(made.spec_codes(made.codes[row].tolist())) for row in np.flatnonzero(fixed)}

    forced, total = {("x", "b0")}, {("all", "Total")}
    one_way = {(row, "Total") for row in rows.codes} | {("all", "b0"), ("all", "b1")}
    assert names("none") == forced
    assert names("total") == forced | total
    assert names("one-way") == forced | one_way
    assert names("margins") == forced | one_way | {("part", "b0"), ("part", "b1")}


def test_a_value_that_might_be_beyond_all_bounds_is_known_up_to_the_bound():
    _, high = known_of_others(np.array([2**61]), Fraction(99))
    assert high.tolist() == [NO_UPPER]


def test_an_unsafe_cell_that_is_fixed_is_named():
    system = build_system(table([[1, 2], [3, 4]]).marked({("a0", "Total"): "U"}).assess())
    with pytest.raises(
        ProtectionError, match=r"1 unsafe cell cannot be protected, being fixed: 'v0=a0, v1=Total'"
    ) as e:
        limits_of_moves(
            system,
            most=None,
            limit=None,
            fixed="margins",
            movable_zeros=True,
            weight=np.ones(len(system)),
            stretch=None,
        )
    assert "fixed='total'" in str(e.value)
