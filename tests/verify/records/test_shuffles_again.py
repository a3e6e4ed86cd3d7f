"""True shuffles and exchanges of ranks where strata are awkward: the checker draws the same places by its own code."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.rank_swap import rank_swapped_claim
from discreet.verify import check_records
from discreet.verify.records import rank_kernels
from discreet.verify.records.shuffled import _out_of_order
from tests.verify.records.test_forged_shuffles import ShuffleForgery, same_area

KEY = ds.Key(bytes(32))


@cache
def awkward() -> pa.Table:
    """Strata with gaps everywhere, with few records in common, with one value only, and with none."""
    draw = np.random.default_rng(8)
    rows: list[tuple[Any, ...]] = []
    kinds = {"gaps": 18, "two": 10, "three": 10, "same x": 10, "same y": 10, "no x": 10, "no y": 10}
    for level, (area, many) in enumerate(kinds.items()):
        for i in range(many):
            z = int(draw.integers(0, 5))
            x, y = float(draw.integers(0, 40)), float(draw.integers(0, 9) + 2 * z)
            if area == "gaps":
                x, y = (None if i % 4 == 0 else x), (None if i % 6 == 0 else y)
            elif area in ("two", "three"):
                common = 2 if area == "two" else 3
                x, y = (x if i < 5 else None), (y if i >= 5 - common else None)
            x = None if area == "no x" else 7.0 if area == "same x" else x
            y = None if area == "no y" else 7.0 if area == "same y" else y
            rows.append((x, y, z, 2 * z, level, area))
    names = ("x", "y", "z", "again", "level", "area")
    return pa.table(dict(zip(names, (list(one) for one in zip(*rows, strict=True)), strict=True)))


@pytest.mark.parametrize("scale", ["rank", "product_moment"])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("given", [["z"], ["z", "again"], ["level"], []])
def test_awkward_strata_are_drawn_alike(scale, exact, given):
    data = ds.Microdata(awkward(), numeric=["x", "y"], strata=["area"])
    release = ds.protect(data, ds.Shuffle(["x", "y"], given=given, scale=scale, exact=exact), key=KEY)
    verdict = release.verify()
    assert verdict.holds, verdict.refused
    assert any("Every place is the one that the secret key draws." in text for text in verdict.proved)


@pytest.mark.parametrize("exact", [True, False])
def test_latin_hypercubes_in_awkward_strata_are_drawn_alike(exact):
    data = ds.Microdata(awkward(), numeric=["x", "y"], strata=["area"])
    release = ds.protect(data, ds.Shuffle(["x", "y"], exact=exact, sample="latin_hypercube"), key=KEY)
    verdict = release.verify()
    assert verdict.holds, verdict.refused
    assert any("Every place is the one that the secret key draws." in text for text in verdict.proved)


def test_a_latin_hypercube_that_was_not_drawn():
    """A true release of normal draws that says it was another sample, and one with given columns."""
    forgery = ShuffleForgery("exact")
    forgery.method["sample"] = "latin_hypercube"
    refused = {refusal.message for refusal in forgery.verdict().refused}
    assert "a Latin hypercube sample pairs ranks, without given columns" in refused
    forgery = ShuffleForgery("plain")
    forgery.method["sample"] = "latin_hypercube"
    refused = {refusal.message for refusal in forgery.verdict().refused}
    assert "a Latin hypercube sample pairs ranks, without given columns" in refused
    forgery = ShuffleForgery("hypercube")
    assert not forgery.verdict().refused
    forgery.method["sample"] = "normal"
    assert any("another value than the key draws" in refusal.message for refusal in forgery.verdict().refused)


def test_two_neighbours_that_changed_places():
    forgery = ShuffleForgery("plain")
    areas, values = forgery.old["area"].to_pylist(), forgery.changed["y"]
    order = sorted((row for row in range(80) if areas[row] == "n"), key=values.__getitem__)
    forgery.exchange("y", order[20], order[21])
    assert same_area(forgery, "y")
    messages = {refusal.message for refusal in forgery.verdict().refused}
    assert "1 record has another value than the key draws" in messages


def test_values_that_stand_in_another_order_than_their_numbers():
    values = np.array([1, 1, 2, 3])
    assert _out_of_order(values, np.array([0.3, 0.1, 0.4, 0.5])) == 0
    assert _out_of_order(values, np.array([0.3, 0.1, 0.2, 0.5])) == 1
    assert _out_of_order(values, np.array([0.9, 0.1, 0.2, 0.5])) == 2


# ---- ranks ----------------------------------------------------------------------------------------------------------


def test_strata_of_one_and_of_two():
    table = pa.table({"x": [5, 3, 1, 8, 9, 2, 7], "area": list("aabccde")})
    release = ds.protect(ds.Microdata(table, numeric=["x"], strata=["area"]), ds.RankSwap(["x"], 1.0), key=KEY)
    assert release.verify().holds
    assert release.custodian.steps[0].changed["x"].to_pylist()[:5] == [3, 5, 1, 9, 8]


def test_equal_values_that_changed_places_where_nobody_should():
    """A tenth of five records is nobody; of two equal values, nobody sees an exchange but by the partners."""
    table = pa.table({"x": [4, 4, 5, 6, 7, *range(20, 60)], "area": ["s"] * 5 + ["n"] * 40})
    custodian = ds.protect(
        ds.Microdata(table, numeric=["x"], strata=["area"]), ds.RankSwap(["x"], 0.1), key=KEY
    ).custodian
    step = custodian.steps[0]
    partner = step.evidence.parts["records"]["partner_0"].copy()
    partner[0], partner[1] = 1, 0
    claim = rank_swapped_claim(step.evidence.method, step.evidence.facts)
    evidence = replace(step.evidence, claim=claim, parts={"records": {"partner_0": partner}})
    lie = replace(custodian, steps=(replace(step, evidence=evidence),))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert messages == {"2 records have another partner than the key draws"}


def test_the_last_free_rank_within_reach():
    assert rank_kernels.drawn_partners(np.ones(6), 2).tolist() == [2, 3, 0, 1, 5, 4]
    assert rank_kernels.drawn_partners(np.zeros(5), 2).tolist() == [1, 0, 3, 2, 4]
