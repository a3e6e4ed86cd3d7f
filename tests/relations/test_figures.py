"""What a published figure tells of the cells behind it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.model.arrays import LARGEST, NO_UPPER
from discreet.model.figure import ONE, Linear
from discreet.relations import build_system
from discreet.relations.figures import HiddenSum, _refuse_large, _simplest, hidden_sums
from tests.tables.rounding.making import table


def figure(
    above: Mapping[str, int], interval: tuple[str, str], below: Mapping[str, int] | None = None, constant: int = 0
) -> Any:
    """A figure over the cells of a table of one variable, by their codes."""
    codes = [*above, *(below or {})]
    ratio = SimpleNamespace(
        above=Linear({codes.index(code): Fraction(n) for code, n in above.items()}, Fraction(constant)),
        below=ONE if below is None else Linear({codes.index(code): Fraction(n) for code, n in below.items()}),
    )
    return SimpleNamespace(
        cells=[("t", (code,)) for code in codes],
        ratio=ratio,
        interval=tuple(map(Fraction, interval)),
        formula="the formula",
        value="1",
        decimals=0,
    )


def told(given: Any, known: str = "", values: tuple[int, ...] = (10, 20, 30)) -> list[HiddenSum]:
    """What a figure tells of a0, a1 and a2, the cells 1 to 3; their total is cell 0."""
    made = table(list(values))
    system = build_system(made)
    mask = np.isin(np.arange(len(system)), list(map(int, known)))
    return hidden_sums([given], system.tables, system.of, system.value, mask, 0)


def test_a_sum_is_known_between_its_ends_and_at_an_end_only_where_it_is_there():
    assert told(figure({"a0": 1, "a1": 1}, ("29", "31"))) == [HiddenSum(0, {1: 1, 2: 1}, 30, 30, 30)]
    assert told(figure({"a0": 1, "a1": 1}, ("30", "35"))) == [HiddenSum(0, {1: 1, 2: 1}, 30, 30, 34)]
    assert told(figure({"a0": 1, "a1": 1}, ("25", "30"))) == [HiddenSum(0, {1: 1, 2: 1}, 30, 26, 30)]
    assert told(figure({"Total": 1}, ("55", "65"))) == [HiddenSum(0, {0: 1}, 60, 56, 64)]


@pytest.mark.parametrize("interval", [("31", "35"), ("20", "29")])
def test_a_figure_that_its_cells_do_not_give_is_refused(interval):
    with pytest.raises(InputError, match="The figure 'the formula' is not 1 to 0 decimals"):
        told(figure({"a0": 1, "a1": 1}, interval))


def test_a_ratio_over_what_everybody_knows_is_one_sum():
    ratio = figure({"a0": 1}, ("1/10", "3/10"), below={"a1": 1, "a2": 1})
    assert told(ratio, known="23") == [HiddenSum(0, {1: 1}, 10, 6, 14)]
    for known in ("", "2", "3"):
        assert len(told(ratio, known=known)) == 3


def test_a_ratio_over_nothing_is_refused():
    with pytest.raises(InputError, match="The figure 'the formula' divides by zero"):
        told(figure({"a0": 1}, ("0", "1"), below={"a2": 1}), values=(10, 20, 0))


def test_cells_that_are_not_there_are_zero():
    made = table([10, 20, 30])
    less = made.at(np.array([0, 1, 2]))
    system = build_system(less)
    given = figure({"a0": 1, "a2": 1}, ("9", "11"))
    assert hidden_sums([given], system.tables, system.of, system.value, np.zeros(3, np.bool_), 0) == [
        HiddenSum(0, {1: 1}, 10, 10, 10)
    ]


@pytest.mark.parametrize(
    ("low", "high", "found"), [("3/2", "2", "2"), ("3/2", "5/2", "2"), ("4/3", "3/2", "3/2"), ("1/3", "1/3", "1/3")]
)
def test_the_simplest_fraction_between_two(low, high, found):
    assert _simplest(Fraction(low), Fraction(high)) == Fraction(found)


@pytest.mark.parametrize("place", ["value", "end", "coefficient"])
def test_figures_that_are_too_fine_are_refused(place):
    most, given = LARGEST // 4, figure({"a0": 1}, ("0", "1"))

    def check(number: int) -> None:
        one = number if place == "value" else 1
        end = number if place == "end" else 5
        times = number if place == "coefficient" else 1
        _refuse_large(given, HiddenSum(0, {0: times}, one, -1, end), np.array([one]))

    check(most - 1)
    with pytest.raises(InputError, match="too fine to be kept exactly in 64 bits"):
        check(most)
    _refuse_large(given, HiddenSum(0, {0: 1}, 1, 0, NO_UPPER), np.array([1]))
