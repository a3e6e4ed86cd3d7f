"""Altered values that are not what their method says: for every refusal a release that is forged with care."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import discreet as ds
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.model.evidence import Certificates
from discreet.model.table import CellStatus
from discreet.verify import check_release
from tests.verify.forging import RELEASES, UNSAFE, Forgery, made

Forge = Callable[[Forgery], object]
WORDING = "the release claims something that this checker cannot show"
"""Figures of a forged release differ from those of its claim, which is noticed besides."""


def refused_for(name: str, forge: Forge, message: str, *, alone: bool = False) -> list[str]:
    """Where a forged release is refused for one reason; with nothing but the wording besides, if asked."""
    forgery = Forgery(name)
    forge(forgery)
    found = forgery.reasons()
    assert message in found, f"{message!r} is not among {sorted(found)}"
    if alone:
        assert set(found) <= {message, WORDING}, sorted(found)
    return found[message]


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
    "name", [n for n in RELEASES if not n.startswith(("redistribute", "adjust-linked", "intervals-linked"))]
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


# ---- cell keys ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [-1, 1])
def test_counts_are_what_their_cell_keys_stand_for(by):
    for row in range(len(made("cell-key").custodian.published[0])):
        forgery = Forgery("cell-key")
        if forgery.table.empty[row] or forgery.published[0][row] + by < 0:
            continue
        forgery.published[0][row] += by
        assert set(forgery.reasons()) == {"a value is not what its cell key stands for"}


@pytest.mark.parametrize("by", [-3, 3])
def test_magnitudes_are_what_their_cell_keys_stand_for(by):
    for row in range(len(made("cell-key-values").custodian.published[0])):
        forgery = Forgery("cell-key-values")
        forgery.published[0][row] += by
        assert set(forgery.reasons()) == {"a value is not what its cell key stands for"}


@pytest.mark.parametrize("name", ["cell-key", "cell-key-whole"])
@pytest.mark.parametrize("by", [-1, 1])
def test_cell_keys_are_the_sums_of_record_keys(name, by):
    """Whole record keys and fractional ones; the published value is the one of the forged key."""

    def forge(f: Forgery) -> None:
        key = f.evidence.parts["cells"]["key_sum"].copy()
        row = f.rows(f.table.value > 0)[3]
        key[row] = (key[row] + by) % f.evidence.facts["noise"]["modulus"]
        f.part("cells", key_sum=key)

    assert refused_for(name, forge, "a cell key is not the sum of the record keys") == [
        made(name).public.tables[0].name
    ]


@pytest.mark.parametrize("by", [-1, 1])
def test_cell_keys_go_with_the_number_of_records(by):
    def forge(f: Forgery) -> None:
        count = f.evidence.parts["cells"]["contributors"].copy()
        count[0] += by
        f.part("cells", contributors=count)

    refused_for("cell-key", forge, "the number of records of a cell is not that of the table")


@pytest.mark.parametrize("key", [-1, "modulus"])
def test_cell_keys_lie_in_the_noise_table(key):
    def forge(f: Forgery) -> None:
        column = f.evidence.parts["cells"]["key_sum"].copy()
        column[0] = f.evidence.facts["noise"]["modulus"] if key == "modulus" else key
        f.part("cells", key_sum=column)

    refused_for("cell-key", forge, "a cell key or count lies outside the noise table")


@pytest.mark.parametrize("key", [-1, 10**15])
def test_cell_keys_of_magnitudes_lie_between_zero_and_one(key):
    def forge(f: Forgery) -> None:
        column = f.evidence.parts["cells"]["key_sum"].copy()
        column[0] = key
        f.part("cells", key_sum=column)

    refused_for("cell-key-values", forge, "a cell key lies outside 0 .. 1")


def test_every_cell_has_a_key():
    def shorter(f: Forgery) -> None:
        f.part("cells", key_sum=f.evidence.parts["cells"]["key_sum"][1:])

    message = "there is not one cell key for every cell"
    refused_for("cell-key", shorter, message, alone=True)

    def without(f: Forgery) -> None:
        cells = {k: v for k, v in f.evidence.parts["cells"].items() if k != "contributors"}
        f.set(parts={**f.evidence.parts, "cells": cells})

    refused_for("cell-key", without, message, alone=True)


@pytest.mark.parametrize("by", [-1, 1])
def test_contributions_of_magnitudes_add_up_to_their_value(by):
    def forge(f: Forgery) -> None:
        total = f.evidence.parts["cells"]["total"].copy()
        total[0] += by
        f.part("cells", total=total)

    refused_for("cell-key-values", forge, "the contributions of a cell are not those of its value")


def test_it_is_stated_how_magnitudes_change():
    refused_for("cell-key-values", lambda f: f.method(magnitudes=None), "it is not stated how magnitudes are changed")


@pytest.mark.parametrize("fact", ["moved_most", "moved_sum"])
@pytest.mark.parametrize("by", [-1, 1])
def test_what_moved_for_additivity_is_what_is_stated(fact, by):
    def forge(f: Forgery) -> None:
        f.facts(**{fact: str(int(f.evidence.facts[fact]) + by)})

    refused_for("cell-key-additive", forge, "values moved further for additivity than stated, or less", alone=True)


def test_additive_values_stay_at_least_zero():
    def forge(f: Forgery) -> None:
        rows = f.rows(f.finest() & (f.published[0] == f.published[0][f.finest()].min()))
        f.move(rows[0], -int(f.published[0][rows[0]]) - 1)

    assert len(refused_for("cell-key-additive", forge, "a value became negative")) == 1


def turned(noise: dict) -> dict:
    """The first row with more than two entries has two of its limits the wrong way round."""
    start, upper = noise["start"], list(noise["upper"])
    at = next(a for a, b in itertools.pairwise(start) if b - a > 2)
    upper[at], upper[at + 1] = upper[at + 1], upper[at]
    return {**noise, "upper": upper}


@pytest.mark.parametrize(
    "change",
    [
        lambda n: {**n, "upper": list(n["upper"])[:-1]},
        lambda n: {**n, "change": list(n["change"])[:-1]},
        lambda n: {**n, "values": list(n["values"])[:-1]},
        lambda n: {**n, "start": [1, *n["start"][1:]]},
        lambda n: {**n, "start": [*n["start"][:-1], n["start"][-1] + 1]},
        lambda n: {**n, "modulus": n["modulus"] + 1},
        lambda n: {**n, "upper": [-1, *n["upper"][1:]]},
        turned,
    ],
)
def test_a_noise_table_that_is_none(change):
    def forge(f: Forgery) -> None:
        f.facts(noise=change(f.evidence.facts["noise"]))

    forgery = Forgery("cell-key")
    forge(forgery)
    (found,) = forgery.reasons()
    assert found.startswith("what is stated of the method cannot be used")


def test_a_claim_with_the_moments_of_another_noise_table():
    def forge(f: Forgery) -> None:
        noise = dict(f.evidence.facts["noise"])
        noise["change"] = [2 * c for c in noise["change"]]
        f.facts(noise=noise)

    forgery = Forgery("cell-key")
    forge(forgery)
    assert {WORDING, "a value is not what its cell key stands for"} <= set(forgery.reasons())


# ---- small counts -------------------------------------------------------------------------------------------

BASE = 4


@pytest.mark.parametrize("left", [1, 2, BASE - 1])
def test_a_small_count_that_was_forgotten(left):
    """An inner cell stays what it was, and so does everything above it: consistent, but for the small count."""

    def forge(f: Forgery) -> None:
        inner = f.evidence.parts["inner"]
        place = next(i for i, n in enumerate(inner["count"].tolist()) if n == left and inner["rounded"][i] != n)
        codes = [sorted_codes[int(inner[f"code{k}"][place])] for k, sorted_codes in enumerate(listing(f))]
        row = f.table.row(**dict(zip(f.table.variables, codes, strict=True)))
        f.move(row, int(inner["count"][place] - inner["rounded"][place]))
        rounded = inner["rounded"].copy()
        rounded[place] = inner["count"][place]
        f.part("inner", rounded=rounded)

    found = refused_for("small-count", forge, "a small count is published", alone=True)
    assert found


def listing(f: Forgery) -> list[list[str]]:
    from discreet.model.inner import inner_codes

    return [list(codes) for codes in inner_codes(ds.TableSet(f.tables)).values()]


@pytest.mark.parametrize("to", ["above", "below", "base from large", "zero from large"])
def test_an_inner_cell_that_changed_as_it_must_not(to):
    def forge(f: Forgery) -> None:
        inner = f.evidence.parts["inner"]
        small = (inner["count"] > 0) & (inner["count"] < BASE)
        large = inner["count"] > BASE
        place = f.rows(large if "large" in to else small)[0]
        new = {"above": BASE + 1, "below": -1, "base from large": BASE, "zero from large": 0}[to]
        codes = [words[int(inner[f"code{k}"][place])] for k, words in enumerate(listing(f))]
        row = f.table.row(**dict(zip(f.table.variables, codes, strict=True)))
        f.move(row, new - int(inner["rounded"][place]))
        rounded = inner["rounded"].copy()
        rounded[place] = new
        f.part("inner", rounded=rounded)

    message = f"1 inner cell changed without being small, or to something else than 0 or {BASE}"
    forgery = Forgery("small-count")
    forge(forgery)
    assert message in forgery.reasons()


@pytest.mark.parametrize("column", ["count", "rounded"])
def test_an_inner_cell_that_stands_in_no_cell_of_the_table(column):
    """A combination that the table does not have holds people, who are in no total."""

    def forge(f: Forgery) -> None:
        lists = listing(f)
        inner = f.evidence.parts["inner"]
        width = len(lists)
        there = {tuple(int(inner[f"code{k}"][i]) for k in range(width)) for i in range(len(inner["count"]))}
        free = next(c for c in np.ndindex(*(len(words) for words in lists)) if c not in there)
        amounts = {"count": 0, "rounded": 0, column: 5}
        amounts = {"count": 5, "rounded": 5} if column == "count" else amounts
        more = {f"code{k}": np.append(inner[f"code{k}"], free[k]) for k in range(width)}
        more |= {name: np.append(inner[name], amount) for name, amount in amounts.items()}
        f.part("inner", **more)

    what = "original" if column == "count" else "published"
    refused_for("small-count", forge, f"inner cells are missing among the {what} counts")


@pytest.mark.parametrize("column", ["count", "rounded"])
@pytest.mark.parametrize("by", [-1, 1])
def test_counts_are_the_sums_of_their_inner_cells(column, by):
    def forge(f: Forgery) -> None:
        values = f.evidence.parts["inner"][column].copy()
        values[f.rows(values > 5)[0]] += by
        f.part("inner", **{column: values})

    what = "original" if column == "count" else "published"
    refused_for("small-count", forge, f"a {what} count is not the sum of its inner cells")


def test_an_inner_cell_that_an_earlier_publication_fixed():
    def forge(f: Forgery) -> None:
        inner = f.evidence.parts["inner"]
        place = f.rows(inner["count"] > BASE)[0]
        codes = [words[int(inner[f"code{k}"][place])] for k, words in enumerate(listing(f))]
        f.method(pre_rounded=[[*codes, int(inner["rounded"][place]) + 1]])

    refused_for("small-count", forge, "an inner cell is not what an earlier publication fixed")


@pytest.mark.parametrize("base", [1, 0, 4.0, "4"])
def test_a_base_that_is_none(base):
    message = "the base or the tables are not such that this checker knows them"
    refused_for("small-count", lambda f: f.method(base=base), message, alone=True)


# ---- noise --------------------------------------------------------------------------------------------------


def noisy(f: Forgery, row: int, by: int) -> None:
    """Move a cell with all its sums, and what the records are said to add up to."""
    f.move(row, by)
    f.part("altered", value=np.concatenate(f.published))


def test_a_single_contributor_whose_value_moved_too_little():
    """The true value is published of a company that is alone in a cell."""
    forgery = Forgery("noise")
    alone = (forgery.table.contributions["holding"].count == 1) & forgery.finest() & (forgery.true > 100)
    row = forgery.rows(alone)[0]
    noisy(forgery, row, int(forgery.true[row] - forgery.published[0][row]))
    found = [message for message in forgery.reasons() if "single contributor" in message]
    assert found, forgery.verdict()
    assert any(forgery.table.cell_name(row) in where for m in found for where in forgery.reasons()[m])


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_value_that_moved_further_than_the_factors_allow(sign):
    def forge(f: Forgery) -> None:
        row = f.rows(f.finest() & (f.true > 1000))[0]
        noisy(f, row, int(f.true[row] - f.published[0][row]) + sign * int(f.true[row]) // 2)

    refused_for("noise", forge, "a value moved further than the factors allow")


@pytest.mark.parametrize("by", [-1, 1])
def test_counts_that_noise_changed(by):
    def forge(f: Forgery) -> None:
        noisy(f, f.rows(f.finest() & (f.published[0] > 2))[0], by)

    refused_for("noise-counts", forge, "a value moved further than the factors allow", alone=True)


@pytest.mark.parametrize("by", [-1, 1])
def test_a_value_that_is_not_what_the_records_add_up_to(by):
    def forge(f: Forgery) -> None:
        value = f.evidence.parts["altered"]["value"].copy()
        value[2] += by
        f.part("altered", value=value)

    refused_for("noise", forge, "a value is not what the records add up to")
    refused_for("swap", forge, "a value is not what the records add up to")


@pytest.mark.parametrize("by", [-1, 1])
def test_own_shares_without_weights_are_the_values(by):
    def forge(f: Forgery) -> None:
        own = f.evidence.parts["altered"]["own"].copy()
        own[0] += by
        f.part("altered", own=own)

    refused_for("noise", forge, "own shares are not the values of a table without weights", alone=True)


@pytest.mark.parametrize("change", [{"a": 1}, {"a": 0.9}, {"b": 1.05}, {"b": 1.1}, {"b": 2}, {"b": 2.5}])
def test_factors_that_lie_elsewhere(change):
    refused_for("noise", lambda f: f.method(**change), "factors do not lie where they must", alone=True)


def test_there_is_one_sum_for_every_cell():
    def shorter(f: Forgery) -> None:
        f.part("altered", value=f.evidence.parts["altered"]["value"][1:])

    refused_for("noise", shorter, "there is not one sum for every cell", alone=True)
    refused_for("drop-add", shorter, "there is not one table with what moved in every cell", alone=True)
    refused_for("swap", shorter, "there is not one sum for every cell, or a table without the area", alone=True)


@pytest.mark.parametrize("change", [{"p": 90}, {"limit": 0.01}])
def test_figures_of_a_claim_about_noise_are_counted_anew(change):
    refused_for("noise", lambda f: f.method(**change), WORDING, alone=True)


# ---- dropped and added records ------------------------------------------------------------------------------


def dropped(f: Forgery, row: int, by: int) -> None:
    """One record more or less in a finest cell, published so and said so."""
    f.move(row, by)
    moved = f.evidence.parts["altered"]["moved"].copy()
    moved[row] += by
    f.part("altered", moved=moved)


def test_a_subsample_that_adds_a_record():
    """One is added and one more is dropped, so that the number is that of the claim."""

    def forge(f: Forgery) -> None:
        moved = f.evidence.parts["altered"]["moved"]
        still = f.rows(f.finest() & (moved == 0) & (f.true > 3))
        dropped(f, still[0], 1)
        dropped(f, still[1], -1)

    refused_for("drop-q", forge, "not exactly so many records were dropped as stated", alone=True)


@pytest.mark.parametrize("by", [-1, 1])
def test_a_subsample_of_another_size(by):
    def forge(f: Forgery) -> None:
        moved = f.evidence.parts["altered"]["moved"]
        row = f.rows(f.finest() & ((moved < 0) if by > 0 else (moved == 0)) & (f.true > 3))[0]
        dropped(f, row, by)

    refused_for("drop-q", forge, "not exactly so many records were dropped as stated", alone=True)


@pytest.mark.parametrize("sign", [-1, 1])
def test_more_records_moved_than_the_cap_allows(sign):
    def forge(f: Forgery) -> None:
        row = f.rows(f.finest() & (f.true > 5) & (f.true <= 10))[0]
        moved = f.evidence.parts["altered"]["moved"]
        dropped(f, row, 2 * sign - int(moved[row]))

    assert len(refused_for("drop-add", forge, "more records moved than the cap allows", alone=True)) == 1


def test_a_cap_may_be_reached():
    forgery = Forgery("drop-add")
    row = forgery.rows(forgery.finest() & (forgery.true > 5) & (forgery.true <= 10))[0]
    dropped(forgery, row, 1 - int(forgery.evidence.parts["altered"]["moved"][row]))
    assert set(forgery.reasons()) <= {WORDING}


def test_a_count_that_is_not_that_of_the_records_that_are_left():
    def forge(f: Forgery) -> None:
        f.move(f.rows(f.finest() & (f.true > 5))[0], 1)

    message = "a count is not that of the records that are left"
    assert len(refused_for("drop-add", forge, message, alone=True)) == 1
    assert len(refused_for("drop-q", forge, message, alone=True)) == 1


@pytest.mark.parametrize("by", [-1, 1])
def test_records_move_in_finest_cells_only(by):
    def forge(f: Forgery) -> None:
        moved = f.evidence.parts["altered"]["moved"].copy()
        moved[0] = by
        f.part("altered", moved=moved)

    found = refused_for("drop-add", forge, "records moved in a cell that is a sum of others", alone=True)
    assert len(found) == 1


def test_nobody_is_dropped_who_is_not_there():
    def forge(f: Forgery) -> None:
        row = f.rows(f.finest() & (f.true == f.true[f.finest()].min()))[0]
        dropped(f, row, -int(f.published[0][row]) - 1)

    assert len(refused_for("drop-q", forge, "more records were dropped than there are")) == 1


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("by", [-1, 1])
def test_the_number_of_records_is_that_of_the_table(stated, by):
    """Also where the cell file leaves the number of records out: those of a count are the count."""

    def forge(f: Forgery) -> None:
        if not stated:
            f.cells(records=None)
        records = f.evidence.parts["altered"]["records"].copy()
        records[0] += by
        f.part("altered", records=records)

    refused_for("drop-q", forge, "the number of records of a cell is not that of the table", alone=True)


def test_a_cap_that_rests_on_records_nobody_states():
    """A thousand records would allow for three dropped ones; the table has four, and the number was left out."""

    def forge(f: Forgery) -> None:
        f.cells(records=None)
        row = f.rows(f.finest() & (f.true > 3))[0]
        records = f.evidence.parts["altered"]["records"].copy()
        records[row] = 1000
        f.part("altered", records=records)
        dropped(f, row, -3 - int(f.evidence.parts["altered"]["moved"][row]))

    refused_for("drop-add", forge, "the number of records of a cell is not that of the table", alone=True)


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("by", [-2, 2])
def test_confidence_intervals_are_those_of_their_standard_errors(end, by):
    def forge(f: Forgery) -> None:
        f.intervals[0][end][f.rows(f.intervals[0][1] - f.intervals[0][0] > 9)[0]] += by

    found = refused_for("drop-intervals", forge, "a confidence interval is not that of its standard error", alone=True)
    assert len(found) == 1


def test_confidence_intervals_need_replicate_weights():
    message = "there are confidence intervals without replicate weights"
    refused_for("drop-intervals", lambda f: f.method(replicates=()), message)

    def no_ends(f: Forgery) -> None:
        f.method(replicates=())
        f.intervals.clear()

    refused_for("drop-intervals", no_ends, message)

    def no_errors(f: Forgery) -> None:
        no_ends(f)
        altered = {k: v for k, v in f.evidence.parts["altered"].items() if k != "error"}
        f.set(parts={**f.evidence.parts, "altered": altered})

    refused_for("drop-intervals", no_errors, message)


def test_confidence_intervals_have_the_coverage_that_was_asked_for():
    message = "the confidence intervals are missing, or their coverage is not the one asked for"
    refused_for("drop-intervals", lambda f: f.intervals.clear(), message)
    refused_for("drop-intervals", lambda f: f.facts(coverage=0.99), message)


def test_the_total_of_all_weights_stays():
    def forge(f: Forgery) -> None:
        row = f.rows(f.finest())[0]
        f.move(row, 10_000)
        f.intervals = [
            tuple(end + (f.published[0] - made("drop-intervals").custodian.published[0]) for end in f.intervals[0])
        ]

    refused_for("drop-intervals", forge, "the total of all weights changed", alone=True)


@pytest.mark.parametrize("name", ["drop-add", "redistribute"])
def test_what_averages_out_or_the_threshold_tells_is_admitted(name):
    def forge(f: Forgery) -> None:
        claim = f.evidence.claim
        kept = tuple(t for t in claim.not_considered if not t.startswith(("The noise depends", "what the threshold")))
        f.set(claim=type(claim)(**{**vars(claim), "not_considered": kept}))

    forgery = Forgery(name)
    forge(forgery)
    assert any("does not admit" in message for message in forgery.reasons())


# ---- swapping -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [-1, 1])
def test_whole_areas_keep_what_they_hold(by):
    """A person more or less in one area, with all sums: the whole of all areas changes."""

    def forge(f: Forgery) -> None:
        f.move(f.rows(f.finest() & (f.published[0] > 2))[0], by)
        f.part("altered", value=f.published[0].copy())

    found = refused_for("swap", forge, "what a whole broader area holds changed", alone=True)
    assert any("area=Total, kind=Total" in where for where in found)


@pytest.mark.parametrize("change", [{"moved": 3}, {"moved": -2}, {"moved": 1000}, {"alone": -1}])
def test_numbers_of_households_fit_together(change):
    def forge(f: Forgery) -> None:
        f.part("households", **{name: np.array([n], np.int64) for name, n in change.items()})

    refused_for("swap", forge, "the numbers of households do not fit together", alone=True)


# ---- maps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", [1, 2])
def test_a_place_with_fewer_units_than_the_threshold(units):
    def forge(f: Forgery) -> None:
        shown = f.rows(f.finest() & (f.published[0] == 3))
        f.move(shown[0], units - 3)
        f.move(f.rows(f.finest() & (f.published[0] > 3))[0], 3 - units)

    forgery = Forgery("redistribute")
    forge(forgery)
    found = forgery.reasons()
    assert "an occupied place holds fewer units than the threshold" in found
    assert "what moved does not lead from the original to the published counts" in found


def test_a_threshold_of_one_is_no_map():
    for name in ("redistribute", "redistribute-values"):
        refused_for(name, lambda f: f.method(threshold=1), "there is not one map", alone=True)


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("name", ["redistribute", "redistribute-values"])
def test_maps_add_up_to_their_total(name, by):
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(~f.finest())[0]] += by

    refused_for(name, forge, "published values do not add up", alone=True)


def test_a_suppressed_place_needs_a_word_for_it():
    """Where nothing may be left out, every place that was occupied still is."""

    def forge(f: Forgery) -> None:
        f.method(outliers="none")
        row = f.rows(f.finest() & (f.published[0] == 3))[0]
        f.move(row, -3)

    refused_for("redistribute", forge, "other places are occupied than before")


@pytest.mark.parametrize("by", [-1, 1])
def test_moves_are_as_long_as_stated(by):
    def forge(f: Forgery) -> None:
        steps = f.evidence.parts["moves"]["steps"].copy()
        steps[0] += by
        f.part("moves", steps=steps)

    refused_for("redistribute", forge, "a move is said to be shorter or longer than it is", alone=True)


def test_a_move_of_nothing():
    def forge(f: Forgery) -> None:
        moves = {name: np.append(column, column[0]) for name, column in f.evidence.parts["moves"].items()}
        moves["units"][-1] = 0
        f.part("moves", **moves)

    refused_for("redistribute", forge, "a move is of nothing", alone=True)


@pytest.mark.parametrize("part", ["contributions", "repaired"])
def test_contributions_add_up_to_the_map(part):
    def forge(f: Forgery) -> None:
        value = f.evidence.parts[part]["value"].copy()
        value[0] += 1
        f.part(part, value=value)

    what = "original" if part == "contributions" else "published"
    refused_for("redistribute-values", forge, f"the contributions do not add up to the {what} map")


def test_other_contributors_than_before():
    def forge(f: Forgery) -> None:
        who = f.evidence.parts["repaired"]["contributor"].copy()
        who[0] = 10**6
        f.part("repaired", contributor=who)

    refused_for("redistribute-values", forge, "other contributors are in the map than before")


def test_places_with_too_few_contributors_or_a_broken_rule():
    refused_for(
        "redistribute-values",
        lambda f: f.method(threshold=10**4),
        "an occupied place has fewer contributors than the threshold",
    )
    refused_for("redistribute-values", lambda f: f.method(max_share=0.01), "a place breaks a rule")
    refused_for("redistribute-values", lambda f: f.method(p=5000), "a place breaks a rule")


def test_a_total_that_is_not_kept():
    def forge(f: Forgery) -> None:
        f.method(outliers="none")
        row = f.rows(f.finest() & (f.published[0] > 0))[0]
        f.move(row, 7)
        place = int(
            np.flatnonzero(
                np.array(f.table.spec.hierarchies[0].base_codes) == f.table.spec_codes(f.table.codes[row].tolist())[0]
            )[0]
        )
        repaired = f.evidence.parts["repaired"]
        value = repaired["value"].copy()
        value[np.flatnonzero(repaired["place"] == place)[0]] += 7
        f.part("repaired", value=value)

    refused_for("redistribute-values", forge, "the total is not kept")


def test_statuses_of_altered_tables_are_not_those_of_withheld_ones():
    """A cell that the rules call unsafe stays unsafe, whatever is published."""

    def forge(f: Forgery) -> None:
        f.status[0][f.rows(f.status[0] == UNSAFE)[0]] = CellStatus.SAFE

    refused_for("adjust", forge, "a cell is unsafe under the stated rules but not marked unsafe")


# ---- parts of evidence that are missing ---------------------------------------------------------------------


def without(part: str, column: str) -> Forge:
    def forge(f: Forgery) -> None:
        kept = {name: values for name, values in f.evidence.parts[part].items() if name != column}
        f.set(parts={**f.evidence.parts, part: kept})

    return forge


def twice(f: Forgery) -> None:
    """The same table once more, under another name."""
    f.tables.append(f.table.with_(spec=f.table.spec.with_(name="again")))
    f.published.append(f.published[0].copy())
    f.status.append(f.status[0].copy())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("redistribute", "there is not one map"),
        ("redistribute-values", "there is not one map"),
        ("drop-add", "there is not one table with what moved in every cell"),
    ],
)
def test_methods_of_one_table_have_one(name, message):
    refused_for(name, twice, message)


def test_magnitudes_need_their_contributions():
    refused_for("cell-key-values", without("cells", "total"), "it is not stated how magnitudes are changed")


def test_swaps_are_between_areas_of_every_table():
    message = "there is not one sum for every cell, or a table without the area"
    refused_for("swap", lambda f: f.method(area="nowhere"), message, alone=True)


def test_weighted_tables_say_how_many_records_there_are():
    message = "the number of records of a cell is not that of the table"
    refused_for("drop-intervals", lambda f: f.cells(records=None), message, alone=True)


@pytest.mark.parametrize("left", ["ends", "errors", "coverage"])
def test_each_trace_of_confidence_intervals_needs_replicate_weights(left):
    """All but one of them are gone."""

    def forge(f: Forgery) -> None:
        f.method(replicates=())
        if left != "ends":
            f.intervals.clear()
        if left != "errors":
            without("altered", "error")(f)
        if left != "coverage":
            f.set(facts={name: value for name, value in f.evidence.facts.items() if name != "coverage"})

    refused_for("drop-intervals", forge, "there are confidence intervals without replicate weights")


def test_an_outlier_that_moved_by_nothing():
    def forge(f: Forgery) -> None:
        moves = f.evidence.parts["moves"]
        nothing = {name: column[:1].copy() for name, column in moves.items()}
        nothing["units"][0] = 0
        f.part("outlier_moves", **nothing)

    refused_for("redistribute", forge, "a move is of nothing", alone=True)


@pytest.mark.parametrize("name", ["round-unbiased", "cell-key"])
def test_an_empty_cell_has_no_value_below_zero_either(name):
    def forge(f: Forgery) -> None:
        f.published[0][f.rows(f.table.empty)[0]] = -5

    assert len(refused_for(name, forge, "an empty cell got a value")) == 1


@pytest.mark.parametrize("by", [-1, 1])
def test_original_small_counts_add_up(by):
    def forge(f: Forgery) -> None:
        value = f.table.value.copy()
        value[0] += by
        f.cells(value=value)

    refused_for("small-count", forge, "true values do not add up")


def test_an_empty_cell_of_small_counts_stays_empty():
    def forge(f: Forgery) -> None:
        empty = f.table.empty.copy()
        row = f.rows(f.finest() & (f.published[0] > 0))[0]
        empty[row] = True
        f.cells(empty=empty)

    assert len(refused_for("small-count", forge, "an empty cell got a value")) == 1


def test_a_step_that_no_counts_have():
    for step in (2, 0, -1):
        forgery = Forgery("cell-key")
        forgery.facts(noise={**forgery.evidence.facts["noise"], "step": step})
        assert not forgery.verdict().holds
