"""Altered values that are not what their method says: adjustment, rounding, intervals, and what all have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as ds
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.model.evidence import Certificates
from discreet.verify import check_release
from tests.verify.forging import RELEASES, UNSAFE, Forgery, made, refused_for


@pytest.mark.parametrize("name", RELEASES)
def test_honest_releases_hold(name):
    assert Forgery(name).verdict().holds


# ---- what all of them have in common ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["adjust-linked", "intervals-linked", "cell-key-linked"])
@pytest.mark.parametrize("by", [-1, 1])
def test_cells_that_mean_the_same_are_published_alike(name, by):
    def forge(f: Forgery) -> None:
        f.published[1][f.tables[1].row(area="N2")] += by

    found = refused_for(name, forge, "cells that mean the same are published differently")
    assert "area: area=N2" in found


@pytest.mark.parametrize("name", ["adjust", "round", "cell-key", "small-count", "noise", "swap"])
def test_no_method_publishes_intervals_that_it_does_not_vouch_for(name):
    def forge(f: Forgery) -> None:
        f.intervals = [(p - 1, p + 1) for p in f.published]

    refused_for(name, forge, "intervals are published that no method vouches for")


@pytest.mark.parametrize("name", ["adjust", "round", "intervals"])
@pytest.mark.parametrize("decimals", [-1, 19])
def test_units_of_altered_values_are_those_of_the_tables(name, decimals):
    custodian = made(name).custodian
    evidence = replace(custodian.evidence[0], decimals=decimals)
    verdict = check_release(replace(custodian, evidence=(evidence,)), made(name).public)
    assert "the altered values do not fit the tables" in {refusal.message for refusal in verdict.refused}


@pytest.mark.parametrize("name", RELEASES)
def test_a_method_without_its_parameters_is_refused_and_never_raises(name):
    """Whatever is left out of what is stated, the answer is a verdict."""
    method = made(name).custodian.evidence[0].method
    for left_out in (set(method), {"base", "rule"}, {"additive", "magnitudes"}, {"threshold", "area"}):
        forgery = Forgery(name)
        forgery.set(method={k: v for k, v in method.items() if k not in left_out})
        if left_out == set(method) and name[:6] not in ("adjust", "interv", "cell-k"):
            assert not forgery.verdict().holds
        else:
            forgery.verdict()


@pytest.mark.parametrize(
    "name", ["adjust", "round", "intervals", "cell-key-additive", "small-count", "noise", "drop-add", "swap"]
)
@pytest.mark.parametrize("by", [-1, 1])
def test_no_published_value_of_any_row_leaves_its_sums(name, by):
    """Every row of the table in turn, not one of them only."""
    for row in range(len(made(name).custodian.published[0])):
        forgery = Forgery(name)
        forgery.published[0][row] += by
        forgery.intervals = [
            (np.minimum(i[0], p), np.maximum(i[1], p))
            for i, p in zip(forgery.intervals, forgery.published, strict=False)
        ]
        assert "published values do not add up" in forgery.reasons(), row


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in RELEASES
        if not n.startswith(("redistribute", "adjust-linked", "intervals-linked", "drop-weighted", "drop-values"))
    ],
)
@pytest.mark.parametrize("by", [-1, 1])
def test_no_value_moves_by_a_unit_with_all_its_sums(name, by):
    """Every finest cell in turn moves with everything above it, so that all relations still hold."""
    noticed, tried = 0, 0
    for row in np.flatnonzero(Forgery(name).finest()).tolist():
        forgery = Forgery(name)
        forgery.move(row, by)
        if forgery.published[0].min() < 0:
            continue
        tried += 1
        noticed += not forgery.verdict().holds
    if name.startswith(("adjust", "intervals", "drop-intervals", "cell-key-additive")):
        # Another table may be within all limits; unsafe cells at their least move are not.
        assert noticed > 0
    else:
        assert noticed == tried > 0


# ---- adjustment ---------------------------------------------------------------------------------------------


def test_unsafe_cells_that_stay_where_they_are():
    def forge(f: Forgery) -> None:
        f.published[0][:] = f.true

    found = refused_for("adjust", forge, "an unsafe cell moves less than its level", alone=True)
    assert len(found) == int(made("adjust").custodian.tables.tables[0].unsafe.sum())


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_a_move_one_unit_below_the_level(side):
    """Another level on the side that a cell moved to, one unit beyond its move; so far away on the other."""

    def forge(f: Forgery) -> None:
        move = f.published[0] - f.true
        row = f.rows((f.status[0] == UNSAFE) & ((move > 0) if side == "upper" else (move < 0)))[0]
        assessment = f.table.assessment
        levels = {s: getattr(assessment, s).copy() for s in ("lower", "upper")}
        for s in levels:
            levels[s][row] = abs(int(move[row])) + 1
        f.cells(assessment=ds.model.table.Assessment(**{**vars(assessment), **levels}))

    found = refused_for("adjust-total", forge, "an unsafe cell moves less than its level", alone=True)
    assert len(found) == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_unsafe_cells_that_move_further_than_stated(sign):
    def forge(f: Forgery) -> None:
        move = f.published[0] - f.true
        f.published[0] = f.true + sign * np.sign(move[f.rows(f.status[0] == UNSAFE)[0]]) * 40 * move

    refused_for("adjust", forge, "an unsafe cell moves further than allowed")


def test_safe_cells_that_move_further_than_stated():
    refused_for("adjust", lambda f: f.method(limit=0.0001), "a cell moves further than allowed")


def test_a_limit_is_a_share_of_the_value_exactly():
    """The largest move of a safe cell in per cent is allowed, a little less is not."""
    honest = Forgery("adjust")
    safe = honest.rows((honest.status[0] != UNSAFE) & (honest.published[0] != honest.true))
    shares = [abs(int(honest.published[0][r] - honest.true[r])) * 100 / int(honest.true[r]) for r in safe]
    for limit, good in ((max(shares) * 1.000001, True), (max(shares) * 0.999999, False)):
        forgery = Forgery("adjust")
        forgery.method(limit=limit)
        assert ("a cell moves further than allowed" not in forgery.reasons()) == good


@pytest.mark.parametrize("by", [-1, 1])
def test_a_total_that_is_fixed(by):
    def forge(f: Forgery) -> None:
        rows = f.rows(f.finest() & (f.status[0] != UNSAFE) & (f.published[0] > 2) & (f.true > 0))
        f.move(rows[0], by)

    found = refused_for("adjust-total", forge, "a fixed cell moves")
    assert found == ["value_by_area_kind: area=Total, kind=Total"]


@pytest.mark.parametrize("by", [-1, 1])
def test_a_cell_that_is_published_by_force(by):
    def forge(f: Forgery) -> None:
        f.move(f.table.row(area="S1", kind="y"), by)

    found = refused_for("adjust-forced", forge, "a fixed cell moves")
    assert "value_by_area_kind: area=South, kind=y" in found


def test_margins_that_are_fixed():
    honest = Forgery("adjust-total")
    moved = honest.published[0] != honest.true
    margins = moved & ~honest.finest() & (honest.status[0] != UNSAFE)
    found = refused_for("adjust-total", lambda f: f.method(fixed="margins"), "a fixed cell moves")
    assert len(found) == min(int(margins.sum()), 20) > 0


def test_zeros_that_are_kept():
    """A safe cell becomes zero in the original, so that it moved from zero."""

    def forge(f: Forgery) -> None:
        row = f.rows(f.finest() & (f.status[0] != UNSAFE) & (f.published[0] != f.true))[0]
        value = f.table.value.copy()
        value[f.above(row)] -= value[row]
        f.cells(value=value)

    assert refused_for("adjust-total", forge, "a fixed cell moves")
    movable = Forgery("adjust-total")
    forge(movable)
    movable.method(zeros="movable")
    row = movable.rows(movable.finest() & (movable.true == 0))[0]
    assert movable.table.cell_name(row) not in str(movable.reasons().get("a fixed cell moves"))


@pytest.mark.parametrize("name", ["adjust", "adjust-total"])
def test_values_beyond_their_bounds(name):
    """One unit beyond what everybody knows of a cell, above and below; at the bound itself is good."""
    for side, sign in (("upper_bound", 1), ("lower_bound", -1)):
        honest = Forgery(name)
        move = honest.published[0] - honest.true
        row = honest.rows((sign * move > 0) & (honest.status[0] != UNSAFE))[0]
        for beyond in (0, 1):
            bound = np.full(len(move), NO_UPPER if sign > 0 else NO_LOWER)
            bound[row] = honest.published[0][row] - sign * beyond
            if beyond:
                found = refused_for(name, lambda f, s=side, b=bound: f.cells(**{s: b}), "a bound of a cell is broken")
                assert found == [f"{honest.table.name}: {honest.table.cell_name(row)}"]
            else:
                forgery = Forgery(name)
                forgery.cells(**{side: bound})
                assert "a bound of a cell is broken" not in forgery.reasons()


# ---- rounding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "name"),
    [({"base": 0}, "round"), ({"base": -5}, "round"), ({"base": 0.3}, "round"), ({"rule": "up"}, "round-unbiased")],
)
def test_a_base_or_rule_that_nobody_knows(change, name):
    refused_for(name, lambda f: f.method(**change), "the base or the rule is not one that this checker knows")


@pytest.mark.parametrize("name", ["round", "round-unbiased", "round-conventional"])
@pytest.mark.parametrize("by", [-1, 1])
def test_values_that_are_no_multiples(name, by):
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(f.published[0] > 0)[1]] += by

    assert len(refused_for(name, forge, "a value is not a multiple of the base")) == 1


@pytest.mark.parametrize("sign", [-1, 1])
def test_multiples_that_are_not_the_neighbouring_ones(sign):
    def forge(f: Forgery) -> None:
        row = f.rows(f.published[0] >= 10)[0]
        base = 5 * (f.true[row] // 5)
        f.published[0][row] = base + 10 if sign > 0 else base - 5

    refused_for("round-unbiased", forge, "a value is further away than stated", alone=True)


def test_a_multiple_that_a_whole_base_away_is_refused_and_the_true_one_is_not():
    """Values that are multiples already must stay: away from them lies a whole base."""

    def forge(f: Forgery) -> None:
        row = f.rows((f.true % 5 == 0) & (f.true > 0))[0]
        f.published[0][row] = f.true[row] + 5

    refused_for("round-unbiased", forge, "a value is further away than stated", alone=True)


@pytest.mark.parametrize("name", ["round-unbiased", "cell-key", "swap"])
def test_empty_cells_stay_empty(name):
    def forge(f: Forgery) -> None:
        row = f.rows(f.table.empty & f.finest())[0]
        f.move(row, 5) if name == "swap" else f.published[0].__setitem__(row, 5)

    if name == "swap":
        forgery = Forgery(name)
        forge(forgery)
        assert not forgery.verdict().holds
    else:
        assert len(refused_for(name, forge, "an empty cell got a value")) == 1


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_multiple_that_is_not_the_nearest(sign):
    def forge(f: Forgery) -> None:
        rest = f.true % 5
        row = f.rows(((rest == 3) | (rest == 4)) if sign < 0 else ((rest == 1) | (rest == 2)))[0]
        f.published[0][row] = 5 * (f.true[row] // 5) + (0 if sign < 0 else 5)

    refused_for("round-conventional", forge, "a value is not the nearest multiple", alone=True)


def test_halves_are_rounded_up():
    def forge(f: Forgery) -> None:
        f.method(base=2)
        f.published[0] = 2 * (f.true // 2) + 2 * (f.true % 2)
        row = f.rows((f.true % 2 == 1) & (f.true > 2))[0]
        f.published[0][row] -= 2

    refused_for("round-conventional", forge, "a value halfway between multiples is not rounded up", alone=True)


def test_the_worst_violation_is_that_of_the_values():
    refused_for(
        "round",
        lambda f: f.facts(worst_violation=1),
        "the stated worst violation is not that of the published values",
        alone=True,
    )


def test_a_rule_of_neighbouring_multiples_has_a_reach_of_one():
    refused_for(
        "round-unbiased", lambda f: f.facts(reach=2), "a rule that takes neighbouring multiples states a longer reach"
    )


@pytest.mark.parametrize("name", ["round", "intervals"])
def test_levels_need_certificates_that_lie_within_what_is_published(name):
    none = Certificates.none()
    refused_for(name, lambda f: f.set(certificates=none), "a proof names a cell or certificate that is not there")

    def further(f: Forgery) -> None:
        c = f.evidence.certificates
        f.set(certificates=Certificates(**{**vars(c), "amount": c.amount * 1000}))

    refused_for(name, further, "a certificate leaves what is known of a cell")

    def shorter(f: Forgery) -> None:
        c = f.evidence.certificates
        f.set(certificates=Certificates(**{**vars(c), "denominator": c.denominator * 10**6}))

    forgery = Forgery(name)
    shorter(forgery)
    assert any("protection level is not reached" in message for message in forgery.reasons())


# ---- intervals ----------------------------------------------------------------------------------------------


def restated(f: Forgery) -> None:
    """The width that belongs to forged intervals."""
    f.facts(width=str(int((f.intervals[0][1] - f.intervals[0][0]).sum())))


@pytest.mark.parametrize("what", ["true", "published"])
@pytest.mark.parametrize("end", [0, 1])
def test_intervals_hold_the_true_and_the_published_value(what, end):
    """An end one unit inside of one of the two, which the other does not notice."""

    def forge(f: Forgery) -> None:
        mine, other = (f.true, f.published[0]) if what == "true" else (f.published[0], f.true)
        row = f.rows((mine < other) if end == 0 else (mine > other))[0]
        f.intervals[0][end][row] = mine[row] + (1 if end == 0 else -1)
        restated(f)

    found = refused_for("intervals", forge, "an interval does not hold the true and the published value")
    assert len(found) == 1


def test_an_interval_may_end_at_both_values():
    forgery = Forgery("intervals")
    low, high = forgery.intervals[0]
    row = forgery.rows((low < high) & (forgery.status[0] != UNSAFE))[0]
    ends = sorted((int(forgery.true[row]), int(forgery.published[0][row])))
    low[row], high[row] = ends
    restated(forgery)
    assert "an interval does not hold the true and the published value" not in forgery.reasons()


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("by", [-1, 1])
def test_intervals_of_cells_that_mean_the_same_agree(end, by):
    def forge(f: Forgery) -> None:
        wide = f.intervals[1][1] - f.intervals[1][0] > 3
        f.intervals[1][end][f.rows(wide)[0]] += by

    refused_for("intervals-linked", forge, "cells that mean the same have other intervals")


@pytest.mark.parametrize("by", [-1, 1])
def test_the_width_of_intervals_is_the_stated_one(by):
    def forge(f: Forgery) -> None:
        f.facts(width=str(int(f.evidence.facts["width"]) + by))

    refused_for("intervals", forge, "the stated width is not that of the intervals", alone=True)


def test_intervals_must_be_there():
    refused_for("intervals", lambda f: f.intervals.clear(), "there are no intervals")


def test_levels_are_kept_against_who_knows_the_intervals():
    """Intervals that hold nothing but the two values leave no room for any other table."""

    def forge(f: Forgery) -> None:
        f.intervals = [(np.minimum(f.true, f.published[0]), np.maximum(f.true, f.published[0]))]
        restated(f)

    refused_for("intervals", forge, "a certificate leaves what is known of a cell")


@pytest.mark.parametrize("by", [-1, 1])
def test_zeros_that_are_kept_do_not_move(by):
    def forge(f: Forgery) -> None:
        f.published[0][f.rows((f.true == 0) & (f.status[0] != UNSAFE))[0]] += by

    assert len(refused_for("adjust-zeros", forge, "a fixed cell moves")) == 1
