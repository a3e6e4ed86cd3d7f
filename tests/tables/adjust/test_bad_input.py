"""Bad input to all methods that alter tables of cells: refused in words, with nothing released."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
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
    assert "v0=a0, v1=b0 by" not in caught.value.details  # it is others that stand in the way of the unsafe cell
    assert ds.protect(made, ds.Adjust(fixed="margins", zeros="movable")).verify().holds


@pytest.mark.parametrize("large", [False, True])
def test_clashing_limits_of_a_tangled_table_are_explained_by_squares(monkeypatch, large):
    monkeypatch.setattr("discreet.tables.adjust.programs.EXPLAINED_UP_TO", 50)
    if large:
        monkeypatch.setattr("discreet.tables.adjust.programs.SIMPLEX_UP_TO", 50)
    rng = np.random.default_rng(1)
    made = table(rng.integers(200, 900, (5, 5, 5)))
    made = made.marked({("a0", "b0", "c0"): "U", ("a3", "b2", "c1"): "U"}, protection=(90, 90)).assess()
    with pytest.raises(ProtectionError, match=r"stand in the way, as far as the directions that were tried") as caught:
        ds.protect(made, ds.Adjust(limit=1))
    assert "Least that would do" in caught.value.details
    assert ds.protect(made, ds.Adjust(limit=60, algorithm="directions")).verify().holds


@pytest.mark.parametrize("method", [*METHODS[::2], ds.Intervals(ends="least", insecure_seed=1)], ids=repr)
def test_a_level_larger_than_the_value_reaches_down_to_zero_only(method):
    made = table(np.array([[4, 60], [70, 80]])).marked({("a0", "b0"): "U"}, protection=(9, 9)).assess()
    done = ds.protect(made, method)
    assert done.verify().holds
    assert done.public.tables[0].value.min() >= 0
    assert done.public.tables[0].lower is None or done.public.tables[0].lower.min() >= 0


@pytest.mark.parametrize("method", [ds.Round(20), *METHODS[::2]], ids=lambda m: m.kind)
def test_all_cells_unsafe(method):
    made = table(np.array([[50, 60], [70, 80]]))
    every = {tuple(codes): "U" for codes in (made.spec_codes(c) for c in made.codes.tolist())}
    done = ds.protect(made.marked(every, protection=(3, 3)).assess(), method)
    assert done.verify().holds


@pytest.mark.parametrize("method", [ds.Adjust(fixed="margins"), ds.Intervals(fixed="margins", insecure_seed=1)])
def test_a_fixed_unsafe_cell_is_refused(method):
    made = table(np.array([[50, 60], [70, 80]])).marked({("Total", "b0"): "U"}, protection=(3, 3)).assess()
    with pytest.raises(ProtectionError, match="cannot be protected, being fixed"):
        ds.protect(made, method)


def test_a_base_that_does_not_fit_fractional_data_is_refused_and_negative_data_are_taken():
    made = table(np.array([[-50, 60], [70, -85]])).assess()
    done = ds.protect(made, ds.Round(20))
    assert np.all(done.public.tables[0].value % 20 == 0)
    assert done.verify().holds
    with pytest.raises(InputError, match="not a whole number of the smallest unit"):
        ds.protect(made, ds.Round("2.5"))


def test_a_base_below_the_minimum_frequency_is_refused_and_warned_of_without_levels():
    made = table(np.array([[2, 60], [70, 80]]), counts=True).assess(ds.MinFrequency(5))
    with pytest.raises(ProtectionError, match="cannot be protected by rounding"):
        ds.protect(made, ds.Round(2))
    warned = ds.protect(made, ds.Round(2, levels=False)).summary()
    assert "level" in warned.split("not considered", 1)[1]


@pytest.mark.parametrize(
    "method", [ds.Adjust(effort=0), ds.Round(20, effort=0), ds.Intervals(ends="least", effort=0, insecure_seed=1)]
)
def test_no_effort_still_gives_a_table_that_verifies(method):
    made = table(np.array([[50, 60], [70, 80]])).marked({("a0", "b0"): "U"}, protection=(3, 3)).assess()
    assert ds.protect(made, method).verify().holds


def test_limits_of_other_cells_are_named_and_never_the_level_of_the_unsafe_one():
    made = table(np.array([[50, 60], [70, 80]])).marked({("a0", "b0"): "U"}, protection=(5, 5)).assess()
    with pytest.raises(ProtectionError, match=r"1 unsafe cell cannot be protected \('v0=a0, v1=b0'\)") as caught:
        ds.protect(made, ds.Adjust(fixed="margins", limit=0))
    assert caught.value.details == "Least that would do: v0=a0, v1=b1 by 5; v0=a1, v1=b0 by 5; v0=a1, v1=b1 by 5."
    with pytest.raises(ProtectionError, match=r"the sums that are to be kept \(keep_mean\) stand in the way"):
        ds.protect(made, ds.Adjust(keep_mean="unsafe"))


def test_weights_by_a_variable_need_costs():
    made = table(np.array([[50, 60], [70, 80]])).marked({("a0", "b0"): "U"}, protection=(5, 5)).assess()
    with pytest.raises(NeedsError, match=r"has no cost column.*weight='unit'"):
        ds.protect(made, ds.Adjust(weight="variable"))


def test_what_is_no_table_or_no_method_is_refused_with_what_to_write():
    made = table(np.array([[50, 60], [70, 80]])).assess()
    with pytest.raises(ParameterError, match=r"takes tables or records, not dict.*from_cells"):
        ds.protect({"a": 1}, ds.Round(5))
    with pytest.raises(ParameterError, match=r"Round was not called. Write ds.Round\(...\)"):
        ds.protect(made, ds.Round)
    with pytest.raises(ParameterError, match=r"Adjust was not called"):
        ds.protect(made, [ds.Adjust])
    with pytest.raises(ParameterError, match=r"protect takes methods, not a str"):
        ds.protect(made, "round")


def test_a_single_name_may_stand_alone():
    assert ds.Round(5, rule="semi", control="region").control == ("region",)
    assert ds.Swap("area", "home", profile="age").profile == ("age",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": []}, "empty list"),
        ({"objective": ["l1", "mdi"]}, "'mdi' stands alone"),
        ({"objective": ("compromise", "l1")}, "'compromise' stands alone"),
        ({"randomised": "no"}, "randomised='no'.*True or False"),
        ({"draws": 1.5}, r"draws=1.5.*whole number"),
    ],
)
def test_adjustments_that_mean_nothing_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        ds.Adjust(**options)


def test_levels_are_wanted_or_not():
    with pytest.raises(ParameterError, match=r"levels='no'.*True or False"):
        ds.Round(5, levels="no")
